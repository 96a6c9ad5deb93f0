/* Smaller trees that still fail. Each kind of change is tried at every place, again and again until none helps; what is
 * no valid network any more is passed over. */
#include <stdlib.h>
#include <string.h>

#include "../command.h"
#include "network.h"

struct shrinking {
    const struct network *best;
    bool (*fails)(const struct network *);
    double end;
};

/* A change at the n-th place where it is possible: false when there are fewer. */
typedef bool change(struct network *network, int n);

/* ---- Statements ---- */

static bool drop_stmt(struct body *body, int *n)
{
    for (int i = 0; i < body->count; i++) {
        if ((*n)-- == 0) {
            memmove(&body->at[i], &body->at[i + 1], (size_t)(--body->count - i) * sizeof *body->at);
            return true;
        }
        if (drop_stmt(&body->at[i]->body, n))
            return true;
    }
    return false;
}

static bool drop_statement(struct network *network, int n)
{
    if (drop_stmt(&network->body, &n))
        return true;
    for (int i = 0; i < network->block_count; i++) {
        if (drop_stmt(&network->blocks[i].body, &n))
            return true;
    }
    return false;
}

/* ---- Expressions ---- */

typedef bool visit(struct expr **place, int *n);

static bool each_expr(struct expr **place, visit *at, int *n)
{
    if (!*place)
        return false;
    if (at(place, n))
        return true;
    for (int i = 0; i < (*place)->count; i++) {
        if (each_expr(&(*place)->args[i], at, n))
            return true;
    }
    return false;
}

static bool each_in_body(struct body *body, visit *at, int *n)
{
    for (int i = 0; i < body->count; i++) {
        struct stmt *stmt = body->at[i];
        if (each_expr(&stmt->expr, at, n) || each_expr(&stmt->end, at, n) || each_in_body(&stmt->body, at, n))
            return true;
    }
    return false;
}

static bool each_in_network(struct network *network, visit *at, int n)
{
    for (int i = 0; i < network->input_count; i++) {
        if (each_expr(&network->inputs[i].width, at, &n))
            return true;
    }
    for (int i = 0; i < network->block_count; i++) {
        if (each_in_body(&network->blocks[i].body, at, &n) || each_expr(&network->blocks[i].result, at, &n))
            return true;
    }
    return each_in_body(&network->body, at, &n);
}

static bool is_composed(const struct expr *expr)
{
    return expr->count > 0 && expr->kind >= E_ADD;
}

/* Its first or second operand instead of an expression. */
static bool hoist_first(struct expr **place, int *n)
{
    if (!is_composed(*place) || (*n)-- != 0)
        return false;
    *place = (*place)->args[0];
    return true;
}

static bool hoist_second(struct expr **place, int *n)
{
    if (!is_composed(*place) || (*place)->count < 2 || (*n)-- != 0)
        return false;
    *place = (*place)->args[1];
    return true;
}

static bool drop_argument(struct expr **place, int *n)
{
    struct expr *expr = *place;
    if (expr->kind != E_CALL || expr->count < 2 || (*n)-- != 0)
        return false;
    expr->count--;
    return true;
}

static int64_t smaller;             /* what whole numbers become */

static bool lessen(struct expr **place, int *n)
{
    if ((*place)->kind != E_INTEGER || (*place)->integer <= smaller || (*n)-- != 0)
        return false;
    (*place)->integer = smaller;
    return true;
}

static bool decrease(struct expr **place, int *n)
{
    if ((*place)->kind != E_INTEGER || (*place)->integer < 1 || (*n)-- != 0)
        return false;
    (*place)->integer--;
    return true;
}

static bool shorten_name(struct expr **place, int *n)
{
    if ((*place)->kind != E_STRING || strlen((*place)->text) < 3 || (*n)-- != 0)
        return false;
    (*place)->text = pool_text("w%d", *n + 100);
    return true;
}

static bool hoist_first_in(struct network *network, int n) { return each_in_network(network, hoist_first, n); }
static bool hoist_second_in(struct network *network, int n) { return each_in_network(network, hoist_second, n); }
static bool drop_argument_in(struct network *network, int n) { return each_in_network(network, drop_argument, n); }
static bool shorten_name_in(struct network *network, int n) { return each_in_network(network, shorten_name, n); }
static bool decrease_in(struct network *network, int n) { return each_in_network(network, decrease, n); }

static bool lessen_in(struct network *network, int n)
{
    static const int64_t to[] = {0, 1, 2, 4, 8, 16, 17};
    smaller = to[n % 7];
    return n / 7 < 200 && (each_in_network(network, lessen, n / 7) || n % 7);
}

/* ---- The head ---- */

static bool drop_part(struct network *network, int n)
{
    if (n < network->batch_count) {
        network->batches[n] = network->batches[--network->batch_count];
        return true;
    }
    n -= network->batch_count;
    if (n < network->block_count) {
        for (int i = n; i + 1 < network->block_count; i++)
            network->blocks[i] = network->blocks[i + 1];
        network->block_count--;
        return true;
    }
    n -= network->block_count;
    if (n < network->constant_count) {
        network->constants[n] = network->constants[--network->constant_count];
        return true;
    }
    n -= network->constant_count;
    if (n < network->input_count) {
        for (int i = n; i + 1 < network->input_count; i++)
            network->inputs[i] = network->inputs[i + 1];
        network->input_count--;
        return true;
    }
    return false;
}

static bool simplify_head(struct network *network, int n)
{
    if (n == 0) {
        network->type = F32;
    } else if (n == 1) {
        network->rows = 1;
    } else if (n == 2) {
        network->rows = network->rows > 2 ? 2 : network->rows;
    } else if (n == 3) {
        for (int i = 0; i < network->input_count; i++)
            network->inputs[i].type = F32;
    } else if (n == 4) {
        for (int i = 0; i < network->body.count; i++)
            network->body.at[i]->type = NULL;
    }
    return n < 5;
}

static size_t length_of(const struct network *network)
{
    char *text = NULL;
    size_t length = 0;
    FILE *file = open_memstream(&text, &length);
    if (!file)
        return 0;
    print_network(network, file);
    fclose(file);
    size_t weighed = 16 * length + (size_t)network->rows;
    for (size_t i = 0; i < length; i++)     /* of equal length, that with the smaller numbers */
        weighed += text[i] >= '0' && text[i] <= '9' ? (size_t)(text[i] - '0') : 10;
    free(text);
    return weighed;
}

static bool try_change(struct shrinking *s, change *make)
{
    bool better = false;
    const char *error;
    for (int n = 0; command_now() < s->end; n++) {
        struct network *candidate = network_copy(s->best);
        if (!make(candidate, n))
            break;
        if (length_of(candidate) >= length_of(s->best) || !expand(candidate, &error) || !s->fails(candidate))
            continue;
        s->best = candidate;
        better = true;
        n--;                        /* another stands in its place now */
    }
    return better;
}

struct network *shrink(const struct network *network, bool (*fails)(const struct network *), double seconds)
{
    static change *const changes[] = {drop_statement, drop_part, hoist_first_in, hoist_second_in, drop_argument_in,
                                      simplify_head, lessen_in, shorten_name_in, decrease_in};
    struct shrinking s = {network, fails, command_now() + seconds};
    bool better = true;
    while (better && command_now() < s.end) {
        better = false;
        for (size_t i = 0; i < sizeof changes / sizeof *changes; i++)
            better = try_change(&s, changes[i]) || better;
    }
    return network_copy(s.best);
}
