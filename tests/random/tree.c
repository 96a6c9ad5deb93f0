/* Copies of trees: what is shrunk must not change what it came from. */
#include "network.h"

struct expr *expr_new(enum expr_kind kind)
{
    struct expr *expr = pool_take(sizeof *expr);
    expr->kind = kind;
    return expr;
}

static struct expr *copy_expr(const struct expr *expr)
{
    if (!expr)
        return NULL;
    struct expr *copy = pool_take(sizeof *copy);
    *copy = *expr;
    for (int i = 0; i < expr->count; i++)
        copy->args[i] = copy_expr(expr->args[i]);
    return copy;
}

static void copy_body(struct body *to, const struct body *body)
{
    *to = *body;
    for (int i = 0; i < body->count; i++) {
        struct stmt *stmt = pool_take(sizeof *stmt);
        *stmt = *body->at[i];
        stmt->expr = copy_expr(stmt->expr);
        stmt->end = copy_expr(stmt->end);
        copy_body(&stmt->body, &body->at[i]->body);
        to->at[i] = stmt;
    }
}

struct network *network_copy(const struct network *network)
{
    struct network *copy = pool_take(sizeof *copy);
    *copy = *network;
    for (int i = 0; i < copy->constant_count; i++)
        copy->constants[i].expr = copy_expr(network->constants[i].expr);
    for (int i = 0; i < copy->block_count; i++) {
        copy_body(&copy->blocks[i].body, &network->blocks[i].body);
        copy->blocks[i].result = copy_expr(network->blocks[i].result);
    }
    for (int i = 0; i < copy->input_count; i++)
        copy->inputs[i].width = copy_expr(network->inputs[i].width);
    copy_body(&copy->body, &network->body);
    return copy;
}
