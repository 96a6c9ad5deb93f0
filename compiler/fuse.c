#include "fuse.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct fuser {
    const struct graph *graph;
    enum target target;
    struct fusion *fusion;
    bool *output;                   /* nodes that are outputs */
    int *inside;                    /* per node: how many of its uses lie in the group being grown */
    VEC(int) members;               /* of the group being grown */
};

static bool alive(const struct fuser *fuser, int index)
{
    return fuser->fusion->uses[index] > 0;
}

static enum op_kind kind_of(const struct fuser *fuser, int index)
{
    return op_info[graph_node(fuser->graph, index)->op].kind;
}

static void list_readers(struct fuser *fuser)
{
    const struct graph *graph = fuser->graph;
    struct fusion *fusion = fuser->fusion;
    size_t count = graph->nodes.count, total = 0;
    fusion->reader_start = ARENA_ARRAY(graph->arena, int, count + 2);
    for (size_t i = 0; i < count; i++) {
        const struct node *node = &graph->nodes.at[i];
        for (int j = 0; alive(fuser, (int)i) && j < node->in_count; j++, total++)
            fusion->reader_start[node->in[j] + 2]++;
    }
    for (size_t i = 1; i < count + 2; i++)
        fusion->reader_start[i] += fusion->reader_start[i - 1];
    fusion->readers = ARENA_ARRAY(graph->arena, int, total);
    for (size_t i = 0; i < count; i++) {
        const struct node *node = &graph->nodes.at[i];
        for (int j = 0; alive(fuser, (int)i) && j < node->in_count; j++)
            fusion->readers[fusion->reader_start[node->in[j] + 1]++] = (int)i;
    }
}

/* cuBLASLt writes the type of its operands, or f32. Row kernels, and the epilogue of a product on a CPU, write any. */
enum dtype fusion_product_type(const struct fusion *fusion, enum target target, int node)
{
    enum dtype wanted = fusion->stored[node];
    return target == TARGET_CPU || wanted == DTYPE_F32 ? wanted : fusion->between;
}

/* A value that only one output reads is stored as that output's type; anything else as the model's. */
static void decide_stored_types(struct fuser *fuser)
{
    const struct graph *graph = fuser->graph;
    struct fusion *fusion = fuser->fusion;
    fusion->between = graph->dtype == DTYPE_TF32 ? DTYPE_F32 : graph->dtype;
    for (size_t i = 0; i < graph->nodes.count; i++)
        fusion->stored[i] = fusion->between;
    for (size_t i = 0; i < graph->inputs.count; i++)
        fusion->stored[graph->inputs.at[i].node] = graph->inputs.at[i].dtype;
    for (size_t i = 0; i < graph->outputs.count; i++) {
        int node = graph->outputs.at[i].node;
        fuser->output[node] = true;
        enum op_kind kind = kind_of(fuser, node);
        if (fusion->uses[node] == 1 && kind != KIND_LEAF && kind != KIND_VIEW)
            fusion->stored[node] = graph->outputs.at[i].dtype;
    }
}

/* ---- product groups ---- */

/* Whether `operand` can be had before the product `linear` runs, so that an operation on both may follow it. */
static bool stands_before(const struct fuser *fuser, int operand, int linear)
{
    const struct node *node = graph_node(fuser->graph, operand);
    return operand < linear || node->op == OP_NUMBER || node->op == OP_PARAM;
}

static void add_member(struct fuser *fuser, int index)
{
    const struct node *node = graph_node(fuser->graph, index);
    VEC_PUSH(fuser->graph->arena, &fuser->members, index);
    for (int i = 0; i < node->in_count; i++)
        fuser->inside[node->in[i]]++;
}

static bool is_member(const struct fuser *fuser, int index)
{
    for (size_t i = 0; i < fuser->members.count; i++) {
        if (fuser->members.at[i] == index)
            return true;
    }
    return false;
}

/* Fixes the first `count` grown members as a group, and forgets the rest. */
static void close_group(struct fuser *fuser, size_t count)
{
    const struct graph *graph = fuser->graph;
    struct group group = {.count = (int)count};
    for (size_t i = 0; i < fuser->members.count; i++) {
        const struct node *node = graph_node(graph, fuser->members.at[i]);
        for (int j = 0; j < node->in_count; j++)
            fuser->inside[node->in[j]] = 0;
    }
    group.nodes = ARENA_ARRAY(graph->arena, int, count);
    memcpy(group.nodes, fuser->members.at, count * sizeof *group.nodes);
    for (size_t i = 0; i < count; i++)
        fuser->fusion->group_of[group.nodes[i]] = (int)fuser->fusion->groups.count;
    VEC_PUSH(graph->arena, &fuser->fusion->groups, group);
    fuser->members.count = 0;
}

/* CPU: may `index`, which reads a member of the group behind `linear`, join it? */
static bool joins_epilogue(const struct fuser *fuser, int index, int linear)
{
    const struct node *node = graph_node(fuser->graph, index);
    if (kind_of(fuser, index) != KIND_MAP || node->width != graph_node(fuser->graph, linear)->width ||
        fuser->fusion->group_of[index] >= 0 || is_member(fuser, index))
        return false;
    for (int i = 0; i < node->in_count; i++) {
        if (!is_member(fuser, node->in[i]) && !stands_before(fuser, node->in[i], linear))
            return false;
    }
    return true;
}

/* The earliest node that reads a member and may join; -1 if there is none. */
static int next_to_join(const struct fuser *fuser, int linear)
{
    const struct fusion *fusion = fuser->fusion;
    int best = -1;
    for (size_t i = 0; i < fuser->members.count; i++) {
        int member = fuser->members.at[i];
        if (fuser->inside[member] == fusion->uses[member])
            continue;
        for (int j = fusion->reader_start[member]; j < fusion->reader_start[member + 1]; j++) {
            int reader = fusion->readers[j];
            if ((best < 0 || reader < best) && joins_epilogue(fuser, reader, linear))
                best = reader;
        }
    }
    return best;
}

/* Whether nothing outside reads a member, except the newest one. */
static bool only_newest_escapes(const struct fuser *fuser)
{
    for (size_t i = 0; i + 1 < fuser->members.count; i++) {
        int member = fuser->members.at[i];
        if (fuser->inside[member] < fuser->fusion->uses[member])
            return false;
    }
    return true;
}

/* Grows behind a product as far as possible, then falls back to the last point where one value escapes. */
static void grow_behind(struct fuser *fuser, int linear)
{
    size_t best = 1;
    add_member(fuser, linear);
    for (int next; fuser->members.count < FUSION_LARGEST && (next = next_to_join(fuser, linear)) >= 0;) {
        add_member(fuser, next);
        if (only_newest_escapes(fuser))
            best = fuser->members.count;
    }
    close_group(fuser, best);
}

/* GPU: the only reader of `index`, if it is not an output; else -1. */
static int only_reader(const struct fuser *fuser, int index)
{
    const struct fusion *fusion = fuser->fusion;
    if (fusion->uses[index] != 1 || fuser->output[index])
        return -1;
    return fusion->readers[fusion->reader_start[index]];
}

/* GPU: the tensor that `index` adds to `product`, if cuBLASLt can take it as C; else -1. */
static int residual_of(const struct fuser *fuser, int index, int product)
{
    const struct node *node = graph_node(fuser->graph, index);
    if (node->op != OP_ADD || node->in[0] == node->in[1])
        return -1;
    int other = node->in[0] == product ? node->in[1] : node->in[0];
    const struct node *residual = graph_node(fuser->graph, other);
    bool stored = residual->op != OP_NUMBER && residual->op != OP_PARAM && residual->op != OP_SLICE;
    return other < product && residual->width == node->width && stored ? other : -1;
}

/* Takes [residual] [relu | gelu_tanh] behind the product. C and D have one type, so a residual joins only where it has
 * the type of what is stored at the end. */
static void grow_epilogue(struct fuser *fuser, int linear)
{
    const enum dtype *stored = fuser->fusion->stored;
    add_member(fuser, linear);
    int sum = only_reader(fuser, linear);
    int residual = sum >= 0 ? residual_of(fuser, sum, linear) : -1;
    int next = residual >= 0 ? only_reader(fuser, sum) : sum;
    enum op op = next >= 0 ? graph_node(fuser->graph, next)->op : OP_INPUT;
    bool activated = op == OP_RELU || op == OP_GELU_TANH;
    if (residual >= 0) {
        if (activated && stored[residual] != fusion_product_type(fuser->fusion, fuser->target, next))
            activated = false;
        if (!activated && stored[residual] != fusion_product_type(fuser->fusion, fuser->target, sum))
            residual = -1;
        activated = activated && residual >= 0;
    }
    if (residual >= 0)
        add_member(fuser, sum);
    if (activated)
        add_member(fuser, next);
    close_group(fuser, fuser->members.count);
}

/* ---- row groups ---- */

/* Takes in every element-wise operand whose readers all lie in the group, and theirs in turn. Members are appended
 * as they come and sorted at the end. */
static void absorb_operands(struct fuser *fuser, int64_t width)
{
    for (size_t i = 0; i < fuser->members.count; i++) {
        const struct node *node = graph_node(fuser->graph, fuser->members.at[i]);
        for (int j = 0; j < node->in_count && fuser->members.count < FUSION_LARGEST; j++) {
            int operand = node->in[j];
            if (kind_of(fuser, operand) == KIND_MAP && graph_node(fuser->graph, operand)->width == width &&
                fuser->fusion->group_of[operand] < 0 && fuser->inside[operand] == fuser->fusion->uses[operand] &&
                !is_member(fuser, operand))
                add_member(fuser, operand);
        }
    }
}

static int compare_ints(const void *a, const void *b)
{
    int x = *(const int *)a, y = *(const int *)b;
    return (x > y) - (x < y);
}

static void grow_rows(struct fuser *fuser, int sink)
{
    const struct node *node = graph_node(fuser->graph, sink);
    add_member(fuser, sink);
    absorb_operands(fuser, graph_node(fuser->graph, node->in[0])->width > node->width
                               ? graph_node(fuser->graph, node->in[0])->width : node->width);
    qsort(fuser->members.at, fuser->members.count, sizeof *fuser->members.at, compare_ints);
    close_group(fuser, fuser->members.count);
}

/* ---- */

static int result_of(const struct group *group)
{
    return group->nodes[group->count - 1];
}

static int compare_groups(const void *a, const void *b)
{
    int x = result_of(a), y = result_of(b);
    return (x > y) - (x < y);
}

/* A group's operands are results of groups with smaller results, so that ascending results are an order to run in. */
static void order_groups(struct fusion *fusion)
{
    if (fusion->groups.count)       /* an output may be an input: nothing to compute */
        qsort(fusion->groups.at, fusion->groups.count, sizeof *fusion->groups.at, compare_groups);
    for (size_t i = 0; i < fusion->groups.count; i++) {
        for (int j = 0; j < fusion->groups.at[i].count; j++)
            fusion->group_of[fusion->groups.at[i].nodes[j]] = (int)i;
    }
}

struct fusion *fuse_graph(const struct graph *graph, enum target target)
{
    struct arena *arena = graph->arena;
    size_t count = graph->nodes.count;
    struct fusion *fusion = ARENA_NEW(arena, struct fusion);
    fusion->group_of = ARENA_ARRAY(arena, int, count);
    fusion->stored = ARENA_ARRAY(arena, enum dtype, count);
    fusion->uses = graph_uses(graph, arena);
    struct fuser fuser = {.graph = graph, .target = target, .fusion = fusion};
    fuser.output = ARENA_ARRAY(arena, bool, count);
    fuser.inside = ARENA_ARRAY(arena, int, count);
    for (size_t i = 0; i < count; i++)
        fusion->group_of[i] = -1;
    list_readers(&fuser);
    decide_stored_types(&fuser);
    for (int i = 0; (size_t)i < count; i++) {
        if (kind_of(&fuser, i) == KIND_PRODUCT && alive(&fuser, i)) {
            if (target == TARGET_CPU)
                grow_behind(&fuser, i);
            else
                grow_epilogue(&fuser, i);
        }
    }
    for (int i = (int)count; i-- > 0;) {
        enum op_kind kind = kind_of(&fuser, i);
        if ((kind == KIND_MAP || kind == KIND_ROW || kind == KIND_REDUCE) && alive(&fuser, i) &&
            fusion->group_of[i] < 0)
            grow_rows(&fuser, i);
    }
    order_groups(fusion);
    return fusion;
}

void fusion_dump(const struct graph *graph, const struct fusion *fusion, FILE *to)
{
    for (size_t i = 0; i < fusion->groups.count; i++) {
        const struct group *group = &fusion->groups.at[i];
        const struct node *result = graph_node(graph, result_of(group));
        fprintf(to, "group %zu", i);
        if (result->name)
            fprintf(to, " %s", result->name);
        fprintf(to, " [%" PRId64 "] %s:", result->width, dtype_text(fusion->stored[result_of(group)]));
        for (int j = 0; j < group->count; j++)
            fprintf(to, " %s(%%%d)", op_info[graph_node(graph, group->nodes[j])->op].text, group->nodes[j]);
        fputs("\n", to);
    }
}
