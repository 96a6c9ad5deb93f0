/* The graph's own operations: building nodes and parameters, counting uses, checking, printing. */
#include "graph.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

#include "hash.h"
#include "utf8.h"

const struct op_info op_info[OP_COUNT] = {
#define OP(name, text, kind, operands, attributes) {text, #name, KIND_##kind, operands, attributes},
#include "ops.def"
#undef OP
};

static const struct {
    const char *text;
    size_t size;
} dtype_info[] = {
    [DTYPE_F32] = {"f32", 4},
    [DTYPE_TF32] = {"tf32", 4},
    [DTYPE_F16] = {"f16", 2},
    [DTYPE_BF16] = {"bf16", 2},
};

const char *dtype_text(enum dtype dtype)
{
    return dtype_info[dtype].text;
}

size_t dtype_size(enum dtype dtype)
{
    return dtype_info[dtype].size;
}

bool dtype_parse(const char *text, enum dtype *dtype)
{
    for (enum dtype i = DTYPE_F32; i <= DTYPE_BF16; i++) {
        if (!strcmp(text, dtype_info[i].text)) {
            *dtype = i;
            return true;
        }
    }
    return false;
}

/* Sources are found again by a hash of their tensor's name: a thousand layers ask for two thousand. */
struct source_table {
    int *slots;                     /* index into graph->sources + 1, or 0 */
    size_t size;                    /* a power of two */
};

struct graph_private {
    struct graph graph;             /* first, so that one pointer is both */
    struct source_table table;
};

struct graph *graph_new(struct arena *arena)
{
    struct graph *graph = &ARENA_NEW(arena, struct graph_private)->graph;
    graph->arena = arena;
    return graph;
}

int graph_add(struct graph *graph, enum op op, int64_t width, const int *in, int in_count, struct span span)
{
    struct node node = {.op = op, .width = width, .in_count = in_count, .span = span, .site = graph->site};
    if (in_count) {
        node.in = ARENA_ARRAY(graph->arena, int, (size_t)in_count);
        memcpy(node.in, in, (size_t)in_count * sizeof *in);
    }
    VEC_PUSH(graph->arena, &graph->nodes, node);
    return (int)graph->nodes.count - 1;
}

struct node *graph_node(const struct graph *graph, int index)
{
    return &graph->nodes.at[index];
}

static int *source_slot(struct graph *graph, const struct source_table *table, const char *tensor, int64_t rows,
                        int64_t cols, bool transposed, enum param_role role)
{
    for (size_t i = hash_text(HASH_START, tensor) & (table->size - 1);; i = (i + 1) & (table->size - 1)) {
        int *slot = &table->slots[i];
        if (!*slot)
            return slot;
        const struct param *source = graph->sources.at[*slot - 1];
        if (!strcmp(source->tensor, tensor) && source->rows == rows && source->cols == cols &&
            source->transposed == transposed && source->role == role)
            return slot;
    }
}

static void grow_source_table(struct graph *graph, struct source_table *table)
{
    table->size = table->size ? 2 * table->size : 64;
    table->slots = ARENA_ARRAY(graph->arena, int, table->size);
    for (size_t i = 0; i < graph->sources.count; i++) {
        const struct param *source = graph->sources.at[i];
        *source_slot(graph, table, source->tensor, source->rows, source->cols, source->transposed, source->role) =
            (int)i + 1;
    }
}

struct param *graph_source(struct graph *graph, const char *tensor, int64_t rows, int64_t cols, bool transposed,
                           enum param_role role, const char *user, struct span span)
{
    struct source_table *table = &((struct graph_private *)graph)->table;
    if (2 * graph->sources.count >= table->size)
        grow_source_table(graph, table);
    int *slot = source_slot(graph, table, tensor, rows, cols, transposed, role);
    if (*slot)
        return graph->sources.at[*slot - 1];
    struct param *source = graph_param(graph, PARAM_SOURCE, rows, cols, NULL, 0);
    source->tensor = tensor;
    source->transposed = transposed;
    source->role = role;
    source->user = user;
    source->span = span;
    source->site = graph->site;
    VEC_PUSH(graph->arena, &graph->sources, source);
    *slot = (int)graph->sources.count;
    return source;
}

struct param *graph_param(struct graph *graph, enum param_kind kind, int64_t rows, int64_t cols,
                          struct param *const *of, int of_count)
{
    struct param *param = ARENA_NEW(graph->arena, struct param);
    *param = (struct param){.kind = kind, .rows = rows, .cols = cols, .of_count = of_count};
    if (of_count) {
        param->of = ARENA_ARRAY(graph->arena, struct param *, (size_t)of_count);
        memcpy(param->of, of, (size_t)of_count * sizeof *of);
    }
    for (int i = 0; i < of_count; i++)
        param->depth = of[i]->depth < param->depth ? param->depth : of[i]->depth + 1;
    return param;
}

/* A node is live when an output needs it; walking backwards, all its readers have been seen before it. */
int *graph_uses(const struct graph *graph, struct arena *arena)
{
    int *uses = ARENA_ARRAY(arena, int, graph->nodes.count + 1);
    for (size_t i = 0; i < graph->outputs.count; i++)
        uses[graph->outputs.at[i].node]++;
    for (size_t i = graph->nodes.count; i-- > 0;) {
        const struct node *node = &graph->nodes.at[i];
        for (int j = 0; uses[i] && j < node->in_count; j++)
            uses[node->in[j]]++;
    }
    return uses;
}

static void check_widths(const struct graph *graph, const struct node *node)
{
    int64_t columns = 0;
    for (int i = 0; i < node->in_count; i++) {
        int64_t width = graph_node(graph, node->in[i])->width;
        columns += width;
        if (op_info[node->op].kind == KIND_MAP)
            assert(width == node->width || width == 1);
    }
    switch (op_info[node->op].kind) {
    case KIND_ROW:
        assert(columns == node->width);
        break;
    case KIND_REDUCE:
        assert(node->width == 1);
        break;
    case KIND_VIEW:
        if (node->op == OP_SLICE)
            assert(node->begin >= 0 && node->begin + node->width <= columns);
        else
            assert(columns == node->width);
        break;
    case KIND_PRODUCT:
        assert(node->param[0]->rows == node->width && node->param[0]->cols == columns);
        break;
    case KIND_LEAF:
    case KIND_MAP:
        break;
    }
}

void graph_check(const struct graph *graph)
{
    for (size_t i = 0; i < graph->nodes.count; i++) {
        const struct node *node = &graph->nodes.at[i];
        assert(node->width >= 1);
        assert(op_info[node->op].operands < 0 || op_info[node->op].operands == node->in_count);
        for (int j = 0; j < node->in_count; j++)
            assert(node->in[j] >= 0 && (size_t)node->in[j] < i);
        check_widths(graph, node);
    }
    for (size_t i = 0; i < graph->outputs.count; i++)
        assert(graph_node(graph, graph->outputs.at[i].node)->width == graph->outputs.at[i].width);
}

static const char *param_kind_text[] = {
    [PARAM_SOURCE] = "source",
    [PARAM_ZERO] = "zero",
    [PARAM_BN_SCALE] = "bn_scale",
    [PARAM_BN_SHIFT] = "bn_shift",
    [PARAM_SCALE_ROWS] = "scale_rows",
    [PARAM_SCALE_COLUMNS] = "scale_columns",
    [PARAM_MATVEC] = "matvec",
    [PARAM_MULTIPLY] = "multiply",
    [PARAM_ADD] = "add",
    [PARAM_STACK_ROWS] = "stack_rows",
    [PARAM_JOIN] = "join",
};

static void param_dump(const struct param *param, FILE *to)
{
    if (param->kind == PARAM_SOURCE) {
        fputs("\"", to);
        utf8_print(to, param->tensor);
        fputs("\"", to);
        return;
    }
    fprintf(to, "%s(", param_kind_text[param->kind]);
    for (int i = 0; i < param->of_count; i++) {
        fputs(i ? ", " : "", to);
        param_dump(param->of[i], to);
    }
    fputs(")", to);
}

static void node_dump(const struct graph *graph, int index, FILE *to)
{
    const struct node *node = graph_node(graph, index);
    fprintf(to, "  %%%d", index);
    if (node->name)
        fprintf(to, " %s", node->name);
    fprintf(to, " [%" PRId64 "] = %s", node->width, op_info[node->op].text);
    for (int i = 0; i < node->in_count; i++)
        fprintf(to, " %%%d", node->in[i]);
    if (node->op == OP_SLICE)
        fprintf(to, " %" PRId64 ":%" PRId64, node->begin, node->begin + node->width);
    for (int i = 0; i < op_info[node->op].attributes; i++)
        fprintf(to, " %.17g", node->attr[i]);
    for (int i = 0; i < 2; i++) {
        if (node->param[i]) {
            fputs(" ", to);
            param_dump(node->param[i], to);
        }
    }
    fputs("\n", to);
}

void graph_dump(const struct graph *graph, FILE *to)
{
    fprintf(to, "graph %s %s\n", graph->name, dtype_text(graph->dtype));
    for (size_t i = 0; i < graph->nodes.count; i++)
        node_dump(graph, (int)i, to);
    for (size_t i = 0; i < graph->outputs.count; i++) {
        const struct port *port = &graph->outputs.at[i];
        fprintf(to, "  output %s: %s[%" PRId64 "] = %%%d\n", port->name, dtype_text(port->dtype), port->width,
                port->node);
    }
}

enum budget_entry budget_entry(const char *name)
{
    if (!strcmp(name, "device"))
        return BUDGET_DEVICE;
    return strcmp(name, "host") ? BUDGET_ENTRIES : BUDGET_HOST;
}
