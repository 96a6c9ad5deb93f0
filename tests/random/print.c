/* A tree as the text of a spec. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "network.h"

static int strength(const struct expr *expr)
{
    switch (expr->kind) {
    case E_ADD: case E_SUBTRACT: return 1;
    case E_MULTIPLY: case E_DIVIDE: return 2;
    case E_NEGATE: return 3;
    case E_COLUMNS: return 4;
    default: return 5;
    }
}

static void print_expr(const struct expr *expr, FILE *to);

static void print_operand(const struct expr *expr, int least, FILE *to)
{
    bool apart = strength(expr) < least;
    fputs(apart ? "(" : "", to);
    print_expr(expr, to);
    fputs(apart ? ")" : "", to);
}

/* The shortest text that reads back. */
static void print_real(double real, FILE *to)
{
    char text[40];
    for (int digits = 1; digits <= 17; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, real);
        if (strtod(text, NULL) == real)
            break;
    }
    fprintf(to, "%s%s", text, strpbrk(text, ".e") ? "" : ".0");
}

static void print_call(const struct expr *expr, FILE *to)
{
    fprintf(to, "%s(", expr->text);
    for (int i = 0; i < expr->count; i++) {
        fputs(i ? ", " : "", to);
        if (expr->keywords[i])
            fprintf(to, "%s=", expr->keywords[i]);
        print_expr(expr->args[i], to);
    }
    fputc(')', to);
}

static void print_expr(const struct expr *expr, FILE *to)
{
    static const char signs[] = {[E_ADD] = '+', [E_SUBTRACT] = '-', [E_MULTIPLY] = '*', [E_DIVIDE] = '/'};
    switch (expr->kind) {
    case E_INTEGER:
        fprintf(to, "%" PRId64, expr->integer);
        break;
    case E_REAL:
        print_real(expr->real, to);
        break;
    case E_TRUE:
        fputs(expr->integer ? "true" : "false", to);
        break;
    case E_STRING:
        fprintf(to, "\"%s\"", expr->text);
        break;
    case E_NAME:
        fputs(expr->text, to);
        break;
    case E_NEGATE:
        fputc('-', to);
        print_operand(expr->args[0], 3, to);
        break;
    case E_COLUMNS:
        print_operand(expr->args[0], 4, to);
        fputc('[', to);
        print_expr(expr->args[1], to);
        fputc(':', to);
        print_expr(expr->args[2], to);
        fputc(']', to);
        break;
    case E_CALL:
        print_call(expr, to);
        break;
    default:
        print_operand(expr->args[0], strength(expr), to);
        fprintf(to, " %c ", signs[expr->kind]);
        print_operand(expr->args[1], strength(expr) + 1, to);
    }
}

static void print_body(const struct body *body, int depth, FILE *to)
{
    for (int i = 0; i < body->count; i++) {
        const struct stmt *stmt = body->at[i];
        fprintf(to, "%*s", 4 * depth, "");
        if (stmt->kind == S_REPEAT) {
            fprintf(to, "repeat %s in ", stmt->name);
            print_expr(stmt->expr, to);
            fputs("..", to);
            print_expr(stmt->end, to);
            fputs(" {\n", to);
            print_body(&stmt->body, depth + 1, to);
            fprintf(to, "%*s}\n", 4 * depth, "");
            continue;
        }
        fprintf(to, "%s%s", stmt->kind == S_OUTPUT ? "output " : "", stmt->name);
        if (stmt->type)
            fprintf(to, ": %s", stmt->type);
        if (stmt->expr) {
            fputs(" = ", to);
            print_expr(stmt->expr, to);
        }
        fputs(";\n", to);
    }
}

static void print_block(const struct block *block, FILE *to)
{
    fprintf(to, "block %s(", block->name);
    for (int i = 0; i < block->parameter_count; i++)
        fprintf(to, "%s%s", i ? ", " : "", block->parameters[i]);
    fputs(") {\n", to);
    print_body(&block->body, 1, to);
    fputs("    return ", to);
    print_expr(block->result, to);
    fputs(";\n}\n\n", to);
}

void print_network(const struct network *network, FILE *to)
{
    for (int i = 0; i < network->constant_count; i++) {
        fprintf(to, "const %s = ", network->constants[i].name);
        print_expr(network->constants[i].expr, to);
        fputs(";\n", to);
    }
    for (int i = 0; i < network->block_count; i++)
        print_block(&network->blocks[i], to);
    fprintf(to, "model %s {\n", network->name);
    for (int i = 0; i < network->batch_count; i++)
        fprintf(to, "%s%d%s", i ? ", " : "    batch ", network->batches[i], i + 1 < network->batch_count ? "" : ";\n");
    if (network->type != F32)
        fprintf(to, "    dtype %s;\n", type_name(network->type));
    fprintf(to, "    weights \"%s.safetensors\";\n", network->name);
    for (int i = 0; i < network->input_count; i++) {
        fprintf(to, "    input %s: %s[", network->inputs[i].name, type_name(network->inputs[i].type));
        print_expr(network->inputs[i].width, to);
        fputs("];\n", to);
    }
    print_body(&network->body, 1, to);
    fputs("}\n", to);
}
