/* Turns the fused graph into steps over stored values. In order:
 *   1. decide which values stand inside a concat or in a caller's array, so that nothing is copied later;
 *   2. walk the graph: a group becomes a step, a concat the copies that are still needed, a slice a view;
 *   3. copy to the outputs that are not in place already;
 *   4. give every buffer its lifetime and its place (memory.c). */
#include "plan.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "fuse.h"
#include "hash.h"
#include "label.h"
#include "names.h"
#include "plan_text.h"
#include "products.h"

struct packed_slot {
    const struct param *param;
    enum dtype round, dtype;
    int64_t panel;
    int index;
};

/* What the planner knows of a value beside what it promises. */
struct value_notes {
    int product_copy;               /* its copy that a product can read, or -1 */
    int64_t room;                   /* columns behind the last one that are its own to write */
    int tail;                       /* the value whose writer ends its rows: itself, or the last part of a concat */
};

struct planner {
    const struct graph *graph;
    const struct fusion *fusion;
    const struct source *source;
    struct plan *plan;
    struct arena *arena;
    enum dtype between;             /* the type of values between steps, as rounded */
    struct names *value_names, *param_names;
    int *value_of;                  /* node -> value, or -1 */
    int *home;                      /* node -> the concat in which its value stands, or -1 */
    int64_t *home_column;
    int *output_of;                 /* node -> the output in whose place its value stands, or -1 */
    int *reader_of;                 /* node -> the last live node that reads it, or -1 */
    int *tape_index;                /* node -> its operation in the tape being built */
    VEC(struct value_notes) notes;  /* of each value */
    struct packed_slot *packed;     /* a hash table of the parameters packed so far */
    size_t packed_size;
};

/* ---- what can be stored where ---- */

static bool is_result(const struct planner *planner, int node)
{
    int group = planner->fusion->group_of[node];
    if (group < 0)
        return false;
    const struct group *g = &planner->fusion->groups.at[group];
    return g->nodes[g->count - 1] == node;
}

static bool is_product(const struct planner *planner, int node)
{
    int group = planner->fusion->group_of[node];
    return group >= 0 && graph_node(planner->graph, planner->fusion->groups.at[group].nodes[0])->op == OP_LINEAR;
}

/* What the node's value is rounded to where it is stored. */
static enum dtype rounding_of(const struct planner *planner, int node)
{
    if (is_product(planner, node))
        return fusion_product_type(planner->fusion, planner->plan->target, node);
    return planner->fusion->stored[node];
}

/* What holds a value rounded to `round` in the network's own memory. */
static enum dtype container(const struct planner *planner, enum dtype round)
{
    return planner->plan->target == TARGET_CPU ? DTYPE_F32 : round;
}

/* A GPU's rows start at 16 bytes; a CPU's are dense. */
static int64_t leading_dimension(const struct planner *planner, int64_t width, enum dtype dtype)
{
    int64_t step = planner->plan->target == TARGET_CUDA ? 16 / (int64_t)dtype_size(dtype) : 1;
    return (width + step - 1) / step * step;
}

static bool aligned_column(const struct planner *planner, int64_t column, enum dtype dtype)
{
    return planner->plan->target == TARGET_CPU || column * (int64_t)dtype_size(dtype) % 16 == 0;
}

/* ---- values and buffers ---- */

static int add_buffer(struct planner *planner, enum place place, int port, int64_t ld, enum dtype dtype)
{
    struct plan *plan = planner->plan;
    struct buffer buffer = {.place = place, .port = port, .row_bytes = ld * (int64_t)dtype_size(dtype)};
    buffer.first = INT32_MAX;
    buffer.last = -1;
    VEC_PUSH(planner->arena, &plan->buffers, buffer);
    return (int)plan->buffers.count - 1;
}

static int push_value(struct planner *planner, const char *name, struct value value, int64_t room)
{
    int index = (int)planner->plan->values.count;
    struct value_notes notes = {.product_copy = -1, .room = room, .tail = index};
    value.name = names_make(planner->value_names, name);
    VEC_PUSH(planner->arena, &planner->plan->values, value);
    VEC_PUSH(planner->arena, &planner->notes, notes);
    return index;
}

static int add_value(struct planner *planner, const char *name, int64_t width, enum dtype round, enum dtype dtype,
                     enum place place, int port)
{
    int64_t ld = leading_dimension(planner, width, dtype);
    struct value value = {.dtype = dtype, .round = round, .width = width, .ld = ld};
    value.buffer = add_buffer(planner, place, port, ld, dtype);
    return push_value(planner, name, value, ld - width);
}

static int add_view(struct planner *planner, const char *name, int base, int64_t column, int64_t width)
{
    struct value value = planner->plan->values.at[base];
    value.column += column;
    value.width = width;
    value.pad = 0;
    return push_value(planner, name, value, 0);
}

/* A view that a step writes: the last part of a concat also has what is behind it. */
static int add_part(struct planner *planner, const char *name, int whole, int64_t column, int64_t width)
{
    int part = add_view(planner, name, whole, column, width);
    if (column + width == planner->plan->values.at[whole].width) {
        planner->notes.at[part].room = planner->notes.at[whole].room;
        planner->notes.at[whole].tail = part;
    }
    return part;
}

/* Has `count` zeros written behind the value's last column, by whatever step writes it; false where there is no room.
 * The pad columns of inputs are zero from the start. */
static bool pad_with_zeros(struct planner *planner, int value, int64_t count)
{
    int tail = planner->notes.at[value].tail;
    struct value *last = &planner->plan->values.at[tail];
    if (planner->notes.at[tail].room < count)
        return false;
    last->pad = last->pad > count ? last->pad : count;
    return true;
}

static const char *layer_name(const struct planner *planner, int linear)
{
    return label_layer(planner->arena, graph_node(planner->graph, linear)->param[0]);
}

/* A slice of a merged product is named after its part of it. */
static const char *part_name(const struct planner *planner, const struct node *slice)
{
    const struct node *base = graph_node(planner->graph, slice->in[0]);
    const struct param *weight = base->op == OP_LINEAR ? base->param[0] : NULL;
    if (!weight || weight->kind != PARAM_STACK_ROWS)
        return op_info[slice->op].text;
    return label_layer(planner->arena, weight->of[slice->begin < weight->of[0]->rows ? 0 : 1]);
}

/* The spec's name; without one, that of the product's weight; of the product that reads it, with _in; or of the
 * operation. */
static const char *name_of(const struct planner *planner, int node)
{
    const struct node *n = graph_node(planner->graph, node);
    int reader = planner->reader_of[node];
    if (n->name)
        return n->name;
    if (is_product(planner, node))
        return layer_name(planner, planner->fusion->groups.at[planner->fusion->group_of[node]].nodes[0]);
    if (n->op == OP_SLICE)
        return part_name(planner, n);
    if (reader >= 0 && graph_node(planner->graph, reader)->op == OP_LINEAR)
        return arena_format(planner->arena, "%s_in", layer_name(planner, reader));
    return op_info[n->op].text;
}

static int port_value(struct planner *planner, const struct port *port, enum place place, int index)
{
    if (planner->plan->target == TARGET_CUDA) {
        place = PLACE_ARENA;
        index = -1;
    }
    return add_value(planner, port->name, port->width, port->dtype, port->dtype, place, index);
}

/* The value in which the node's result is stored; made on first request. */
static int value_for(struct planner *planner, int node)
{
    int *value = &planner->value_of[node];
    if (*value >= 0)
        return *value;
    int output = planner->output_of[node];
    if (output >= 0) {
        *value = port_value(planner, &planner->graph->outputs.at[output], PLACE_OUTPUT, output);
    } else if (planner->home[node] >= 0) {
        int base = value_for(planner, planner->home[node]);
        *value = add_part(planner, name_of(planner, node), base, planner->home_column[node],
                          graph_node(planner->graph, node)->width);
    } else {
        enum dtype round = rounding_of(planner, node);
        *value = add_value(planner, name_of(planner, node), graph_node(planner->graph, node)->width, round,
                           container(planner, round), PLACE_ARENA, -1);
    }
    return *value;
}

/* ---- 1. places ---- */

static void place_outputs(struct planner *planner)
{
    const struct graph *graph = planner->graph;
    for (size_t i = 0; i < graph->outputs.count; i++) {
        const struct port *port = &graph->outputs.at[i];
        bool computed = is_result(planner, port->node) || graph_node(graph, port->node)->op == OP_CONCAT;
        if (computed && planner->output_of[port->node] < 0 && rounding_of(planner, port->node) == port->dtype)
            planner->output_of[port->node] = (int)i;
    }
}

/* The type in which a concat's columns are stored. */
static enum dtype concat_container(const struct planner *planner, int concat)
{
    enum dtype round = rounding_of(planner, concat);
    return planner->output_of[concat] >= 0 ? round : container(planner, round);
}

/* On a GPU, a product of an odd width needs columns behind its own that nobody else uses. */
static bool may_be_part(const struct planner *planner, int node, enum dtype dtype, bool last)
{
    int64_t width = graph_node(planner->graph, node)->width;
    return is_result(planner, node) &&
           (last || !is_product(planner, node) || leading_dimension(planner, width, dtype) == width);
}

static void place_in_concats(struct planner *planner)
{
    const struct graph *graph = planner->graph;
    for (int i = 0; (size_t)i < graph->nodes.count; i++) {
        const struct node *concat = graph_node(graph, i);
        if (concat->op != OP_CONCAT || !planner->fusion->uses[i])
            continue;
        enum dtype dtype = concat_container(planner, i);
        int64_t column = 0;
        for (int j = 0; j < concat->in_count; j++) {
            int part = concat->in[j];
            if (may_be_part(planner, part, dtype, j + 1 == concat->in_count) && planner->home[part] < 0 &&
                planner->output_of[part] < 0 && rounding_of(planner, part) == rounding_of(planner, i) &&
                aligned_column(planner, column, dtype)) {
                planner->home[part] = i;
                planner->home_column[part] = column;
            }
            column += graph_node(graph, part)->width;
        }
    }
}

/* ---- packed parameters ---- */

static bool same_packing(const struct packed_slot *a, const struct packed_slot *b)
{
    return a->param == b->param && a->round == b->round && a->dtype == b->dtype && a->panel == b->panel;
}

/* The slot that holds such a packing, or the free one where it goes. */
static struct packed_slot *packed_slot(const struct planner *planner, const struct packed_slot *wanted)
{
    size_t hash = (size_t)((uintptr_t)wanted->param >> 4) * 2654435761u;
    for (size_t i = hash & (planner->packed_size - 1);; i = (i + 1) & (planner->packed_size - 1)) {
        struct packed_slot *slot = &planner->packed[i];
        if (!slot->param || same_packing(slot, wanted))
            return slot;
    }
}

static void grow_packed(struct planner *planner)
{
    struct packed_slot *old = planner->packed;
    size_t old_size = planner->packed_size;
    planner->packed_size = old_size ? 2 * old_size : 64;
    planner->packed = ARENA_ARRAY(planner->arena, struct packed_slot, planner->packed_size);
    for (size_t i = 0; i < old_size; i++) {
        if (old[i].param)
            *packed_slot(planner, &old[i]) = old[i];
    }
}

/* How a parameter is stored. PADDED: a GPU's rows and their number go up to multiples of 16 bytes, with zeros, so that
 * products of odd sizes run as even ones. WEIGHT: of a product, which on a CPU reads panels. */
enum packing { PACK_DENSE, PACK_PADDED, PACK_WEIGHT };

enum { PANEL = 16 };                /* as MLP_PANEL of mlp_tile.h */

static struct packed packed_form(struct planner *planner, const struct packed_slot *wanted, enum packing packing)
{
    const struct param *param = wanted->param;
    struct packed packed = {.param = param, .round = wanted->round, .dtype = wanted->dtype, .panel = wanted->panel};
    packed.label = label_param(planner->arena, param);
    packed.name = names_make(planner->param_names, packed.label);
    packed.rows = packed.stored_rows = param->rows;
    packed.cols = packed.ld = param->cols;
    if (packing != PACK_DENSE)
        packed.ld = leading_dimension(planner, param->cols, wanted->dtype);
    if (packed.panel)
        packed.stored_rows = (param->rows + PANEL - 1) / PANEL * PANEL;
    else if (packing == PACK_WEIGHT)
        packed.stored_rows = leading_dimension(planner, param->rows, wanted->dtype);
    return packed;
}

/* The packed form of a parameter, added on first request. */
static struct operand pack(struct planner *planner, const struct param *param, enum dtype round, enum dtype dtype,
                           enum packing packing)
{
    if (!param)
        return (struct operand){.kind = OPERAND_NONE};
    struct plan *plan = planner->plan;
    if (2 * plan->params.count >= planner->packed_size)
        grow_packed(planner);
    int64_t panel = packing == PACK_WEIGHT && plan->target == TARGET_CPU ? PANEL : 0;
    struct packed_slot wanted = {param, round, dtype, panel, (int)plan->params.count};
    struct packed_slot *slot = packed_slot(planner, &wanted);
    if (!slot->param) {
        *slot = wanted;
        VEC_PUSH(planner->arena, &plan->params, packed_form(planner, &wanted, packing));
    }
    return (struct operand){.kind = OPERAND_PARAM, .index = slot->index};
}

static struct operand pack_vector(struct planner *planner, const struct param *param)
{
    return pack(planner, param, planner->between, DTYPE_F32, PACK_DENSE);
}

/* ---- steps ---- */

static struct operand value_operand(int value)
{
    return (struct operand){.kind = OPERAND_VALUE, .index = value};
}

static void add_step(struct planner *planner, struct step step, const char *name)
{
    struct plan *plan = planner->plan;
    int line = 0, column = 0;
    source_position(planner->source, step.span.begin, &line, &column);
    step.line = line;
    step.name = name;
    step.function = arena_format(planner->arena, "step_%zu_%s", plan->steps.count, name);
    VEC_PUSH(planner->arena, &plan->steps, step);
}

/* A step that copies value `from` to value `to`, converting between their types. */
static void add_copy(struct planner *planner, int from, int to, struct span span)
{
    struct step step = {.span = span, .out = to, .group = -1, .sums = -1, .residual = -1};
    struct tape_op copy = {.op = OP_IDENTITY, .width = planner->plan->values.at[to].width};
    copy.in[0] = value_operand(from);
    VEC_PUSH(planner->arena, &step.tape, copy);
    add_step(planner, step, planner->plan->values.at[to].name);
}

/* How many zeros bring a row of `width` elements to a multiple of 16 bytes on a GPU; none on a CPU. */
static int64_t missing_columns(const struct planner *planner, int64_t width, enum dtype dtype)
{
    return leading_dimension(planner, width, dtype) - width;
}

/* The value itself where a product can read it; else a copy of the right type, alignment and padding, made once. */
static int product_operand(struct planner *planner, int value, struct span span)
{
    const struct value *v = &planner->plan->values.at[value];
    enum dtype dtype = container(planner, planner->between);
    int64_t missing = missing_columns(planner, v->width, dtype);
    if (v->dtype == dtype && aligned_column(planner, v->column, dtype) && pad_with_zeros(planner, value, missing))
        return value;
    if (planner->notes.at[value].product_copy < 0) {
        int copy = add_value(planner, v->name, v->width, planner->between, dtype, PLACE_ARENA, -1);
        pad_with_zeros(planner, copy, missing);
        planner->notes.at[value].product_copy = copy;
        add_copy(planner, value, copy, span);
    }
    return planner->notes.at[value].product_copy;
}

static struct operand tensor_operand(struct planner *planner, int node, int group)
{
    const struct node *n = graph_node(planner->graph, node);
    if (planner->fusion->group_of[node] == group)
        return (struct operand){.kind = OPERAND_OP, .index = planner->tape_index[node]};
    if (n->op == OP_NUMBER)
        return (struct operand){.kind = OPERAND_NUMBER, .number = n->attr[0]};
    if (n->op == OP_PARAM)
        return pack_vector(planner, n->param[0]);
    return value_operand(value_for(planner, node));
}

static struct tape_op tape_op(struct planner *planner, int node, int group, enum dtype out)
{
    const struct node *n = graph_node(planner->graph, node);
    struct tape_op op = {.op = n->op, .width = n->width, .attr = {n->attr[0], n->attr[1]}};
    for (int i = 0; i < n->in_count; i++)
        op.in[i] = tensor_operand(planner, n->in[i], group);
    switch (n->op) {
    case OP_LINEAR: {
        enum dtype dtype = container(planner, planner->between);
        op.in[0] = value_operand(product_operand(planner, op.in[0].index, n->span));
        op.in[1] = pack(planner, n->param[0], planner->between, dtype, PACK_WEIGHT);
        op.in[2] = pack(planner, n->param[1], planner->between, container(planner, out), PACK_PADDED);
        break;
    }
    case OP_AFFINE:
        op.in[1] = pack(planner, n->param[0], DTYPE_F32, DTYPE_F32, PACK_DENSE);
        op.in[2] = pack(planner, n->param[1], DTYPE_F32, DTYPE_F32, PACK_DENSE);
        break;
    case OP_LAYERNORM:
    case OP_RMSNORM:
        op.in[1] = pack_vector(planner, n->param[0]);
        op.in[2] = pack_vector(planner, n->param[1]);
        break;
    default:
        break;
    }
    return op;
}

/* What of the tape behind the linear cuBLASLt does itself: fuse.c has let nothing else in. */
static void choose_epilogue(struct step *step)
{
    bool bias = step->tape.at[0].in[2].kind == OPERAND_PARAM;
    enum op last = step->tape.at[step->tape.count - 1].op;
    if (last == OP_RELU)
        step->epilogue = bias ? EPILOGUE_RELU_BIAS : EPILOGUE_RELU;
    else if (last == OP_GELU_TANH)
        step->epilogue = bias ? EPILOGUE_GELU_BIAS : EPILOGUE_GELU;
    else
        step->epilogue = bias ? EPILOGUE_BIAS : EPILOGUE_DEFAULT;
    if (step->tape.count > 1 && step->tape.at[1].op == OP_ADD) {
        const struct operand *in = step->tape.at[1].in;
        step->residual = in[0].kind == OPERAND_VALUE ? in[0].index : in[1].index;
    }
}

/* CUDA: lets the residual be read with the padding of the output, through a copy if need be. */
static bool pad_residual(struct planner *planner, struct step *step, int64_t missing)
{
    if (step->residual < 0 || pad_with_zeros(planner, step->residual, missing))
        return true;
    if (planner->plan->values.at[step->residual].dtype != planner->between)
        return false;
    int padded = product_operand(planner, step->residual, step->span);
    for (int i = 0; i < 2; i++) {
        struct operand *operand = &step->tape.at[1].in[i];
        if (operand->kind == OPERAND_VALUE && operand->index == step->residual)
            operand->index = padded;
    }
    step->residual = padded;
    return true;
}

/* CUDA: products of sizes that are no multiples of 16 bytes take slower kernels, and some that round twice. Where
 * there is room behind the output's rows, zeros make up the difference; operands are padded already. */
static void pad_product(struct planner *planner, struct step *step)
{
    int64_t missing = missing_columns(planner, step->n, planner->between);
    if (planner->notes.at[step->out].room >= missing && pad_residual(planner, step, missing))
        step->n_padded = step->n + missing;
    else
        planner->notes.at[step->out].room = 0;  /* what is there stays as it is */
    step->k_padded = leading_dimension(planner, step->k, planner->between);
}

static void plan_product(struct planner *planner, struct step *step, const struct node *linear)
{
    step->product = true;
    step->span = linear->span;
    step->n = step->n_padded = linear->width;
    step->k = step->k_padded = linear->param[0]->cols;
    if (planner->plan->target == TARGET_CUDA) {
        choose_epilogue(step);
        pad_product(planner, step);
    }
}

/* CPU: what works on a whole row of f32 before it is stored in a shorter type needs a place for it. */
static void add_sums(struct planner *planner, struct step *step)
{
    const struct value *out = &planner->plan->values.at[step->out];
    bool row = op_info[step->tape.at[step->tape.count - 1].op].kind == KIND_ROW;
    if (planner->plan->target == TARGET_CPU && row && out->dtype != DTYPE_F32)
        step->sums = add_value(planner, arena_format(planner->arena, "%s_f32", out->name), out->width, DTYPE_F32,
                               DTYPE_F32, PLACE_ARENA, -1);
}

static void plan_group(struct planner *planner, int group)
{
    const struct group *g = &planner->fusion->groups.at[group];
    int result = g->nodes[g->count - 1];
    const struct node *head = graph_node(planner->graph, g->nodes[0]);
    struct step step = {.out = value_for(planner, result), .group = group, .sums = -1, .residual = -1};
    step.span = graph_node(planner->graph, result)->span;
    enum dtype out = planner->plan->values.at[step.out].dtype;
    for (int i = 0; i < g->count; i++) {
        planner->tape_index[g->nodes[i]] = i;
        VEC_PUSH(planner->arena, &step.tape, tape_op(planner, g->nodes[i], group, out));
    }
    if (head->op == OP_LINEAR)
        plan_product(planner, &step, head);
    add_sums(planner, &step);
    add_step(planner, step, planner->plan->values.at[step.out].name);
}

static void plan_concat(struct planner *planner, int index)
{
    const struct node *concat = graph_node(planner->graph, index);
    int whole = value_for(planner, index);
    int64_t column = 0;
    for (int i = 0; i < concat->in_count; i++) {
        int part = concat->in[i];
        int64_t width = graph_node(planner->graph, part)->width;
        if (planner->home[part] != index || planner->home_column[part] != column) {
            int view = add_part(planner, name_of(planner, part), whole, column, width);
            add_copy(planner, value_for(planner, part), view, concat->span);
        }
        column += width;
    }
}

static void plan_node(struct planner *planner, int index)
{
    const struct node *node = graph_node(planner->graph, index);
    if (!planner->fusion->uses[index])
        return;
    if (is_result(planner, index))
        plan_group(planner, planner->fusion->group_of[index]);
    else if (node->op == OP_CONCAT)
        plan_concat(planner, index);
    else if (node->op == OP_SLICE)
        planner->value_of[index] =
            add_view(planner, name_of(planner, index), value_for(planner, node->in[0]), node->begin, node->width);
}

static void plan_inputs(struct planner *planner)
{
    for (size_t i = 0; i < planner->graph->inputs.count; i++) {
        const struct port *port = &planner->graph->inputs.at[i];
        struct plan_port plan_port = {.name = port->name, .dtype = port->dtype, .width = port->width};
        plan_port.value = planner->value_of[port->node] = port_value(planner, port, PLACE_INPUT, (int)i);
        VEC_PUSH(planner->arena, &planner->plan->inputs, plan_port);
    }
}

static void plan_outputs(struct planner *planner)
{
    for (size_t i = 0; i < planner->graph->outputs.count; i++) {
        const struct port *port = &planner->graph->outputs.at[i];
        struct plan_port plan_port = {.name = port->name, .dtype = port->dtype, .width = port->width};
        if (planner->output_of[port->node] == (int)i) {
            plan_port.value = planner->value_of[port->node];
        } else {
            plan_port.value = port_value(planner, port, PLACE_OUTPUT, (int)i);
            add_copy(planner, value_for(planner, port->node), plan_port.value, port->span);
        }
        VEC_PUSH(planner->arena, &planner->plan->outputs, plan_port);
    }
}

/* ---- 4. lifetimes, sizes ---- */

static void touch(struct plan *plan, int value, int step)
{
    struct buffer *buffer = &plan->buffers.at[plan->values.at[value].buffer];
    buffer->first = step < buffer->first ? step : buffer->first;
    buffer->last = step > buffer->last ? step : buffer->last;
}

static void find_lifetimes(struct plan *plan)
{
    for (int i = 0; (size_t)i < plan->steps.count; i++) {
        const struct step *step = &plan->steps.at[i];
        touch(plan, step->out, i);
        if (step->sums >= 0)
            touch(plan, step->sums, i);
        for (size_t j = 0; j < step->tape.count; j++) {
            for (int k = 0; k < 3; k++) {
                if (step->tape.at[j].in[k].kind == OPERAND_VALUE)
                    touch(plan, step->tape.at[j].in[k].index, i);
            }
        }
    }
    for (size_t i = 0; i < plan->inputs.count; i++) {
        touch(plan, plan->inputs.at[i].value, -1);
        touch(plan, plan->inputs.at[i].value, (int)plan->steps.count);
    }
    for (size_t i = 0; i < plan->outputs.count; i++)
        touch(plan, plan->outputs.at[i].value, (int)plan->steps.count);
}

/* All that a reader of the packed parameter must know. */
static const char *layout_text(const struct plan *plan, const struct packed *packed)
{
    const char *panel = packed->panel ? arena_format(plan->arena, " panels %" PRId64, packed->panel) : "";
    return arena_format(plan->arena, "%s %s %s %" PRId64 " %" PRId64 " %" PRId64 " %" PRId64 "%s\n", packed->label,
                        dtype_text(packed->round), dtype_text(packed->dtype), packed->rows, packed->cols, packed->ld,
                        packed->offset, panel);
}

/* Offsets of the packed parameters, and the checksum by which a packed file is recognised as made for this plan. */
static bool lay_out_weights(struct plan *plan)
{
    int64_t offset = 0;
    uint64_t hash = HASH_START;
    for (size_t i = 0; i < plan->params.count; i++) {
        struct packed *packed = &plan->params.at[i];
        int64_t bytes;
        packed->offset = offset;
        if (!CHECKED_MUL(packed->stored_rows, packed->ld, &bytes) ||
            !CHECKED_MUL(bytes, (int64_t)dtype_size(packed->dtype), &bytes) ||
            !CHECKED_ADD(offset, bytes, &offset) || !CHECKED_ADD(offset, plan->alignment - 1, &offset))
            return false;
        offset -= offset % plan->alignment;
        hash = hash_text(hash, layout_text(plan, packed));
    }
    plan->weights_bytes = offset;
    plan->weights_layout = hash;
    return true;
}

/* Offsets of the values in the arena: on a CPU first those for one row, whose size decides how many there are to be. */
static bool lay_out_values(struct plan *plan)
{
    plan->chunk = plan->target == TARGET_CPU ? 1 : plan->max_batch;
    if (!memory_assign(plan))
        return false;
    if (plan->target == TARGET_CUDA)
        return true;
    plan->chunk = chunk_rows(plan, plan->arena_bytes);
    return memory_assign(plan);
}

/* The largest arena that can be a static array (on the GPU, a larger one is allocated at start). */
static const int64_t largest_cpu_arena = INT64_C(1) << 30;

static bool check_sizes(const struct plan *plan, bool fits, struct diags *diags, struct span span)
{
    if (!fits || plan->arena_bytes > INT64_C(1) << 40 || plan->weights_bytes > INT64_C(1) << 40) {
        diag_error(diags, DIAG_TOO_LARGE, span, "the network does not fit: its size in bytes is beyond 2^40");
        return false;
    }
    if (plan->target == TARGET_CPU && plan->arena_bytes > largest_cpu_arena) {
        diag_error(diags, DIAG_TOO_LARGE, span,
                   "the values between steps take %" PRId64 " bytes for %" PRId64
                   " rows; the CPU target's static arena holds at most %" PRId64 ": use smaller batch sizes",
                   plan->arena_bytes, plan->chunk, largest_cpu_arena);
        return false;
    }
    return true;
}

/* Public C names, and file names, are the model's name with something behind it, `_run` or `.h`. A model whose name
 * could so meet a name of the runtime, of the generated file itself or of the C library is given a prefix. */
static const char *choose_prefix(struct arena *arena, const char *name)
{
    static const char *const beginnings[] = {"mlp", "MLP", "pthread", "posix", "step_", "at_",
                                             "v_",  "p_",  "x_",      "in_",   "out_",  "_"};
    static const char *const names[] = {"at",  "v",    "p",       "x",   "in",    "out",   "r",         "read",
                                        "aio", "argp", "cnd",     "fts", "fts64", "gai",   "inet6_opt", "inet6_rth",
                                        "sem", "mtx",  "inotify", "mq",  "iconv", "fanotify"};
    bool clash = false;
    for (size_t i = 0; i < sizeof beginnings / sizeof *beginnings; i++)
        clash |= !strncmp(name, beginnings[i], strlen(beginnings[i]));
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        clash |= !strcmp(name, names[i]);
    return clash ? arena_format(arena, "model_%s", name) : name;
}

static struct plan *plan_new(const struct graph *graph, const struct plan_request *request)
{
    struct plan *plan = ARENA_NEW(graph->arena, struct plan);
    plan->arena = graph->arena;
    plan->target = request->target;
    plan->name = graph->name;
    plan->prefix = choose_prefix(graph->arena, graph->name);
    plan->spec = request->spec;
    plan->spec_checksum = request->spec_checksum;
    plan->dtype = graph->dtype;
    plan->budget = graph->budget;
    plan->batches = graph->batches.at;
    plan->batch_count = (int)graph->batches.count;
    plan->max_batch = graph->batches.at[graph->batches.count - 1];
    plan->alignment = request->target == TARGET_CUDA ? 256 : 64;
    return plan;
}

static struct planner planner_new(const struct graph *graph, const struct fusion *fusion, const struct source *source,
                                  struct plan *plan)
{
    size_t count = graph->nodes.count;
    struct arena *arena = graph->arena;
    struct planner planner = {.graph = graph, .fusion = fusion, .source = source, .plan = plan, .arena = arena};
    planner.between = fusion->between;
    planner.value_names = names_new(arena);
    planner.param_names = names_new(arena);
    planner.value_of = ARENA_ARRAY(arena, int, count);
    planner.home = ARENA_ARRAY(arena, int, count);
    planner.home_column = ARENA_ARRAY(arena, int64_t, count);
    planner.output_of = ARENA_ARRAY(arena, int, count);
    planner.reader_of = ARENA_ARRAY(arena, int, count);
    planner.tape_index = ARENA_ARRAY(arena, int, count);
    for (size_t i = 0; i < count; i++)
        planner.value_of[i] = planner.home[i] = planner.output_of[i] = planner.reader_of[i] = -1;
    for (int i = 0; (size_t)i < count; i++) {
        const struct node *node = graph_node(graph, i);
        for (int j = 0; fusion->uses[i] && j < node->in_count; j++)
            planner.reader_of[node->in[j]] = i;
    }
    return planner;
}

struct plan *plan_make(const struct graph *graph, const struct fusion *fusion, const struct source *source,
                       const struct plan_request *request, struct diags *diags)
{
    struct plan *plan = plan_new(graph, request);
    struct planner planner = planner_new(graph, fusion, source, plan);
    place_outputs(&planner);
    place_in_concats(&planner);
    plan_inputs(&planner);
    for (int i = 0; (size_t)i < graph->nodes.count; i++)
        plan_node(&planner, i);
    plan_outputs(&planner);
    for (size_t i = 0; i < plan->steps.count; i++)
        plan->steps.at[i].text = plan_text(plan, &plan->steps.at[i]);
    find_lifetimes(plan);
    bool fits = lay_out_weights(plan) && lay_out_values(plan);
    if (!check_sizes(plan, fits, diags, graph->outputs.at[0].span))
        return NULL;
    if (plan->target == TARGET_CUDA)
        products_list(plan);
    plan_check(plan);
    return plan;
}
