/* Builds the tree and prints it. */
#include "ast.h"

#include <inttypes.h>
#include <string.h>

#include "hash.h"
#include "utf8.h"

/* ---- Names ---- */

static struct name **name_slot(const struct spec *spec, const char *text, size_t length)
{
    for (size_t i = hash_bytes(HASH_START, text, length);; i++) {
        struct name **slot = &spec->name_table[i & (spec->name_table_size - 1)];
        if (!*slot || (!strncmp((*slot)->text, text, length) && !(*slot)->text[length]))
            return slot;
    }
}

static void grow_name_table(struct spec *spec, struct arena *arena)
{
    spec->name_table_size = spec->name_table_size ? 2 * spec->name_table_size : 64;
    spec->name_table = ARENA_ARRAY(arena, struct name *, spec->name_table_size);
    for (size_t i = 0; i < spec->names.count; i++) {
        struct name *name = spec->names.at[i];
        *name_slot(spec, name->text, strlen(name->text)) = name;
    }
}

const struct name *ast_name(struct spec *spec, struct arena *arena, const char *text, size_t length)
{
    if (2 * spec->names.count >= spec->name_table_size)
        grow_name_table(spec, arena);
    struct name **slot = name_slot(spec, text, length);
    if (!*slot) {
        *slot = ARENA_NEW(arena, struct name);
        **slot = (struct name){arena_copy(arena, text, length), spec->names.count};
        VEC_PUSH(arena, &spec->names, *slot);
    }
    return *slot;
}

/* ---- Expressions and statements ---- */

static int deeper(int a, int b)
{
    return a > b ? a : b;
}

struct expr *ast_leaf(struct arena *arena, enum expr_kind kind, struct span span)
{
    struct expr *expr = ARENA_NEW(arena, struct expr);
    expr->kind = kind;
    expr->span = span;
    expr->depth = 1;
    return expr;
}

struct expr *ast_call(struct arena *arena, struct identifier function, const struct args *args, struct span span)
{
    struct expr *expr = ast_leaf(arena, EXPR_CALL, span);
    expr->call.function = function;
    expr->call.args = *args;
    for (size_t i = 0; i < args->list.count; i++)
        expr->depth = deeper(expr->depth, args->list.at[i].value->depth + 1);
    return expr;
}

/* A chain on the left grows: (a + b) + c and a + b + c mean the same. */
struct expr *ast_binary(struct arena *arena, char op, struct expr *left, struct expr *right)
{
    struct expr *expr = left;
    if (left->kind != EXPR_CHAIN) {
        expr = ast_leaf(arena, EXPR_CHAIN, left->span);
        expr->chain.first = left;
        expr->depth = left->depth + 1;
    }
    struct link link = {op, right};
    VEC_PUSH(arena, &expr->chain.links, link);
    expr->span.end = right->span.end;
    expr->depth = deeper(expr->depth, right->depth + 1);
    return expr;
}

struct expr *ast_negate(struct arena *arena, struct expr *negated, struct span span)
{
    struct expr *expr = ast_leaf(arena, EXPR_NEGATE, span);
    expr->negated = negated;
    expr->depth = negated->depth + 1;
    return expr;
}

struct expr *ast_slice(struct arena *arena, struct expr *of, struct expr *begin, struct expr *end, struct span span)
{
    struct expr *expr = ast_leaf(arena, EXPR_SLICE, span);
    expr->slice.of = of;
    expr->slice.begin = begin;
    expr->slice.end = end;
    expr->depth = deeper(of->depth, deeper(begin->depth, end->depth)) + 1;
    return expr;
}

struct expr *ast_parens(struct expr *inner, struct span span)
{
    inner->span = span;
    return inner;
}

struct stmt *ast_stmt(struct spec *spec, struct arena *arena, enum stmt_kind kind, struct span span)
{
    struct stmt *stmt = ARENA_NEW(arena, struct stmt);
    stmt->kind = kind;
    stmt->span = span;
    stmt->index = spec->stmt_count++;
    return stmt;
}

void ast_append(struct arena *arena, struct stmts *stmts, struct stmt *stmt)
{
    VEC_PUSH(arena, &stmts->list, stmt);
    if (stmt->body)
        stmts->depth = deeper(stmts->depth, stmt->body->depth + 1);
}

/* ---- Printing ---- */

static void dump_expr(const struct expr *expr, FILE *to);

static void dump_escaped(const char *text, size_t length, FILE *to)
{
    char spelt[UTF8_SPELT + 1];
    for (size_t i = 0, used = 1; i < length; i += used, used = 1) {
        switch (text[i]) {
        case '"':
        case '\\':
            fprintf(to, "\\%c", text[i]);
            break;
        case '{':
        case '}':
            fprintf(to, "%c%c", text[i], text[i]);
            break;
        default:
            fwrite(spelt, 1, utf8_spell(text + i, length - i, spelt, &used), to);
        }
    }
}

static void dump_string(const struct string *string, FILE *to)
{
    fputc('"', to);
    for (size_t i = 0; i < string->pieces.count; i++) {
        const struct piece *piece = &string->pieces.at[i];
        if (piece->name)
            fprintf(to, "{%s}", piece->name->text);
        else
            dump_escaped(piece->text, piece->length, to);
    }
    fputc('"', to);
}

static void dump_call(const struct identifier *function, const struct args *args, FILE *to)
{
    fprintf(to, "%s(", function->name->text);
    for (size_t i = 0; i < args->list.count; i++) {
        const struct arg *arg = &args->list.at[i];
        fputs(i ? ", " : "", to);
        if (arg->keyword.name)
            fprintf(to, "%s=", arg->keyword.name->text);
        dump_expr(arg->value, to);
    }
    fputc(')', to);
}

static void dump_chain(const struct expr *expr, FILE *to)
{
    for (size_t i = 0; i < expr->chain.links.count; i++)
        fputc('(', to);
    dump_expr(expr->chain.first, to);
    for (size_t i = 0; i < expr->chain.links.count; i++) {
        fprintf(to, " %c ", expr->chain.links.at[i].op);
        dump_expr(expr->chain.links.at[i].right, to);
        fputc(')', to);
    }
}

static void dump_slice(const struct expr *expr, FILE *to)
{
    dump_expr(expr->slice.of, to);
    fputc('[', to);
    dump_expr(expr->slice.begin, to);
    fputc(':', to);
    dump_expr(expr->slice.end, to);
    fputc(']', to);
}

static void dump_number(struct number number, FILE *to)
{
    if (number.real)
        fprintf(to, "%.17g", number.value);
    else
        fprintf(to, "%" PRId64, number.integer);
}

static void dump_expr(const struct expr *expr, FILE *to)
{
    switch (expr->kind) {
    case EXPR_NUMBER:
        dump_number(expr->number, to);
        break;
    case EXPR_STRING:
        dump_string(expr->string, to);
        break;
    case EXPR_TRUTH:
        fputs(expr->truth ? "true" : "false", to);
        break;
    case EXPR_NAME:
        fputs(expr->name->text, to);
        break;
    case EXPR_CALL:
        dump_call(&expr->call.function, &expr->call.args, to);
        break;
    case EXPR_CHAIN:
        dump_chain(expr, to);
        break;
    case EXPR_NEGATE:
        fputs("(-", to);
        dump_expr(expr->negated, to);
        fputc(')', to);
        break;
    case EXPR_SLICE:
        dump_slice(expr, to);
        break;
    }
}

static void dump_stmts(const struct stmts *stmts, int depth, FILE *to);

static void dump_sizes(const struct exprs *sizes, FILE *to)
{
    for (size_t i = 0; i < sizes->list.count; i++) {
        fputs(i ? ", " : "batch ", to);
        dump_expr(sizes->list.at[i], to);
    }
}

static void dump_output(const struct stmt *stmt, FILE *to)
{
    fprintf(to, "output %s", stmt->target.name->text);
    if (stmt->type.name)
        fprintf(to, ": %s", stmt->type.name->text);
    if (stmt->value) {
        fputs(" = ", to);
        dump_expr(stmt->value, to);
    }
}

static void dump_repeat(const struct stmt *stmt, int depth, FILE *to)
{
    fprintf(to, "repeat %s in ", stmt->target.name->text);
    dump_expr(stmt->from, to);
    fputs("..", to);
    dump_expr(stmt->to, to);
    fputs(" {\n", to);
    dump_stmts(stmt->body, depth + 1, to);
    fprintf(to, "%*s}\n", 4 * depth, "");
}

static void dump_budget(const struct limits *limits, FILE *to)
{
    fputs("budget {", to);
    for (size_t i = 0; i < limits->list.count; i++) {
        const struct limit *limit = &limits->list.at[i];
        fprintf(to, " %s ", limit->what.name->text);
        dump_expr(limit->value, to);
        fprintf(to, "%s%s;", limit->unit.name ? " " : "", limit->unit.name ? limit->unit.name->text : "");
    }
    fputs(" }\n", to);
}

static void dump_stmt(const struct stmt *stmt, FILE *to)
{
    switch (stmt->kind) {
    case STMT_ASSIGN:
        fprintf(to, "%s = ", stmt->target.name->text);
        dump_expr(stmt->value, to);
        break;
    case STMT_INPUT:
        fprintf(to, "input %s: %s[", stmt->target.name->text, stmt->type.name->text);
        dump_expr(stmt->value, to);
        fputc(']', to);
        break;
    case STMT_OUTPUT:
        dump_output(stmt, to);
        break;
    case STMT_BATCH:
        dump_sizes(stmt->sizes, to);
        break;
    case STMT_DTYPE:
        fprintf(to, "dtype %s", stmt->type.name->text);
        break;
    case STMT_WEIGHTS:
        fputs("weights ", to);
        dump_expr(stmt->value, to);
        break;
    case STMT_BUDGET:
    case STMT_REPEAT:
        break;
    }
    fputs(";\n", to);
}

static void dump_stmts(const struct stmts *stmts, int depth, FILE *to)
{
    for (size_t i = 0; i < stmts->list.count; i++) {
        const struct stmt *stmt = stmts->list.at[i];
        fprintf(to, "%*s", 4 * depth, "");
        if (stmt->kind == STMT_REPEAT)
            dump_repeat(stmt, depth, to);
        else if (stmt->kind == STMT_BUDGET)
            dump_budget(stmt->limits, to);
        else
            dump_stmt(stmt, to);
    }
}

static void dump_block(const struct block *block, FILE *to)
{
    fprintf(to, "block %s(", block->name.name->text);
    for (size_t i = 0; i < block->params->list.count; i++)
        fprintf(to, "%s%s", i ? ", " : "", block->params->list.at[i].name->text);
    fputs(") {\n", to);
    dump_stmts(block->body, 1, to);
    fputs("    return ", to);
    dump_expr(block->result, to);
    fputs(";\n}\n", to);
}

void ast_dump(const struct spec *spec, FILE *to)
{
    for (size_t i = 0; i < spec->constants.count; i++) {
        fprintf(to, "const %s = ", spec->constants.at[i].name.name->text);
        dump_expr(spec->constants.at[i].value, to);
        fputs(";\n", to);
    }
    for (size_t i = 0; i < spec->blocks.count; i++)
        dump_block(spec->blocks.at[i], to);
    for (size_t i = 0; i < spec->models.count; i++) {
        fprintf(to, "model %s {\n", spec->models.at[i]->name.name->text);
        dump_stmts(spec->models.at[i]->body, 1, to);
        fputs("}\n", to);
    }
}
