/* What the kernel for few rows computes, and in which order.
 *
 * A product becomes a layer. Element-wise steps that follow it join it, so that they are computed from its sums, as
 * long as all else that they read is there before the layer begins, and no more than one value is left that other steps
 * read: that one is handed on to all blocks. Outputs are stored on the way. A product of which two halves are read
 * element by element, as gate and up are, becomes a layer of half as many columns with two sums each.
 *
 * All other steps are computed by every block for itself, or, where nothing but outputs come of it, by one block for
 * each row. */
#include "few.h"

#include <string.h>

#include "names.h"
#include "whole.h"

enum {
    MOST_PRODUCTS = 64, MOST_STEPS = 256, MOST_JOINED = 32,
    WIDEST_ROW = 8192,              /* of a row operation: it stays in registers */
    WIDEST_WARP_ROW = 1024,
};

static const struct value *value_at(const struct few *few, int index)
{
    return &few->plan->values.at[index];
}

static const struct step *step_at(const struct few *few, int index)
{
    return &few->plan->steps.at[index];
}

static const struct value *out_of(const struct few *few, int step)
{
    return value_at(few, step_at(few, step)->out);
}

static const struct tape_op *last_of(const struct step *step)
{
    return &step->tape.at[step->tape.count - 1];
}

static enum op_kind kind_of(const struct step *step)
{
    return op_info[last_of(step)->op].kind;
}

static bool overlap(const struct value *a, const struct value *b)
{
    return a->buffer == b->buffer && a->column < b->column + b->width && b->column < a->column + a->width;
}

static bool same_place(const struct value *a, const struct value *b)
{
    return a->buffer == b->buffer && a->column == b->column && a->width == b->width;
}

/* ---- Who reads what ---- */

/* Calls visit(few, value, op, context) for each value that a step reads, until one says true. */
typedef bool visit_value(const struct few *few, const struct value *value, const struct tape_op *op,
                         const void *context);

static bool any_value(const struct few *few, int step, visit_value *visit, const void *context)
{
    const struct step *s = step_at(few, step);
    for (size_t i = 0; i < s->tape.count; i++) {
        for (int j = 0; j < 3; j++) {
            struct operand in = s->tape.at[i].in[j];
            if (in.kind == OPERAND_VALUE && visit(few, value_at(few, in.index), &s->tape.at[i], context))
                return true;
        }
    }
    return false;
}

static bool overlaps(const struct few *few, const struct value *value, const struct tape_op *op, const void *context)
{
    (void)few;
    (void)op;
    return overlap(value, context);
}

static bool reads(const struct few *few, int step, const struct value *value)
{
    return any_value(few, step, overlaps, value);
}

static int index_of(const struct few *few, const struct few_layer *layer)
{
    return layer ? (int)(layer - few->layers.at) : -1;
}

static bool is_member(const struct few_layer *layer, int step)
{
    for (size_t i = 0; i < layer->steps.count; i++) {
        if (layer->steps.at[i] == step)
            return true;
    }
    return false;
}

/* Whether any step outside the layer (NULL: any at all) reads a part of the value. */
static bool is_read(const struct few *few, const struct value *value, const struct few_layer *outside)
{
    for (int i = 0; (size_t)i < few->plan->steps.count; i++) {
        if (!(outside && is_member(outside, i)) && reads(few, i, value))
            return true;
    }
    return false;
}

int64_t few_width(const struct plan *plan, const struct step *step)
{
    const struct tape_op *last = last_of(step);
    int64_t width = last->width;
    for (int i = 0; op_info[last->op].kind == KIND_REDUCE && i < 2; i++) {
        struct operand in = last->in[i];
        int64_t of = in.kind == OPERAND_VALUE   ? plan->values.at[in.index].width
                     : in.kind == OPERAND_PARAM ? plan->params.at[in.index].cols
                     : in.kind == OPERAND_OP    ? step->tape.at[in.index].width
                                                : 1;
        width = of > width ? of : width;
    }
    return width;
}

/* ---- Layers ---- */

bool few_computes(const struct few *few, const struct few_layer *layer, const struct value *value, int *half)
{
    const struct value *product = out_of(few, layer->steps.at[0]);
    *half = -1;
    for (size_t i = layer->sums == 1 ? 0 : 1; i < layer->steps.count; i++) {
        if (same_place(value, out_of(few, layer->steps.at[i])))
            return true;
    }
    if (layer->sums == 1 || value->buffer != product->buffer || value->width != layer->out)
        return false;
    *half = value->column == product->column ? 0 : value->column == product->column + layer->out ? 1 : -1;
    return *half >= 0;
}

/* Whether a value, if it is none of the layer's own, is there before the layer begins. */
static bool there_before(const struct few *few, const struct value *value, const struct few_layer *layer)
{
    for (int i = 0; (size_t)i < few->plan->steps.count; i++) {
        int when = few->layer_of[i] >= 0 ? few->layers.at[few->layer_of[i]].steps.at[0] : i;
        if (overlap(out_of(few, i), value) && when >= layer->steps.at[0])
            return false;
    }
    return true;
}

struct joining {
    const struct few_layer *layer;
    bool own;                       /* looks for values that the layer computes, else for those that keep a step out */
};

static bool decides_joining(const struct few *few, const struct value *value, const struct tape_op *op,
                            const void *context)
{
    const struct joining *joining = context;
    int half;
    (void)op;
    bool own = few_computes(few, joining->layer, value, &half);
    return joining->own ? own : !own && !there_before(few, value, joining->layer);
}

static bool may_join(const struct few *few, const struct few_layer *layer, int step)
{
    const struct step *s = step_at(few, step);
    struct joining own = {layer, true}, not_there = {layer, false};
    if (s->product || few->layer_of[step] >= 0 || out_of(few, step)->width != layer->out)
        return false;
    for (size_t i = 0; i < s->tape.count; i++) {
        if (op_info[s->tape.at[i].op].kind != KIND_MAP)
            return false;
    }
    return any_value(few, step, decides_joining, &own) && !any_value(few, step, decides_joining, &not_there);
}

/* Whether 16 bytes at a time may be written to a value's place: the pad behind its last column is nobody else's. */
static bool has_room(const struct few *few, const struct value *value)
{
    int64_t vector = 16 / (int64_t)dtype_size(value->dtype);
    struct value pad = *value;
    pad.column += value->width;
    pad.width = (value->width + vector - 1) / vector * vector - value->width;
    if (value->column % vector || pad.column + pad.width > value->ld)
        return false;
    for (int i = 0; pad.width && (size_t)i < few->plan->steps.count; i++) {
        if (overlap(&pad, out_of(few, i)))
            return false;
    }
    return true;
}

/* Whether at most one value leaves the layer other than as an output; which one goes to layer->hand. */
static bool leaves_one(const struct few *few, struct few_layer *layer)
{
    layer->hand = -1;
    for (size_t i = 0; i < layer->steps.count; i++) {
        const struct value *out = out_of(few, layer->steps.at[i]);
        bool leaves = is_read(few, out, layer), halves = layer->sums > 1 && i == 0;
        if (halves && (leaves || few->buffers[out->buffer].output))
            return false;
        if (leaves && (layer->hand >= 0 || !has_room(few, out)))
            return false;
        if (leaves)
            layer->hand = step_at(few, layer->steps.at[i])->out;
    }
    return true;
}

/* Takes in steps as long as may be, then falls back to the last point where at most one value leaves. */
static bool grow(struct few *few, struct few_layer *layer)
{
    size_t best = 0;
    int product = layer->steps.at[0], hand = -1;
    for (int i = product; (size_t)i < few->plan->steps.count && layer->steps.count < MOST_JOINED; i++) {
        if (i > product && !may_join(few, layer, i))
            continue;
        if (i > product)
            VEC_PUSH(few->plan->arena, &layer->steps, i);
        few->layer_of[i] = index_of(few, layer);
        if (leaves_one(few, layer)) {
            best = layer->steps.count;
            hand = layer->hand;
        }
    }
    for (size_t i = best > 1 ? best : 1; i < layer->steps.count; i++)
        few->layer_of[layer->steps.at[i]] = -1;
    layer->steps.count = best > 1 ? best : 1;
    layer->hand = hand;
    return best > 0;
}

/* With two sums a column where that can be, else with one. */
static bool make_layer(struct few *few, int step)
{
    const struct step *s = step_at(few, step);
    const struct packed *weight = &few->plan->params.at[s->tape.at[0].in[1].index];
    struct few_layer layer = {.in = s->k, .dtype = weight->dtype, .weight = s->tape.at[0].in[1].index, .hand = -1};
    VEC_PUSH(few->plan->arena, &layer.steps, step);
    VEC_PUSH(few->plan->arena, &few->layers, layer);
    struct few_layer *made = &few->layers.at[few->layers.count - 1];
    for (made->sums = s->n % 2 == 0 && s->tape.count == 1 ? 2 : 1; made->sums > 0; made->sums--) {
        made->out = s->n / made->sums;
        if (grow(few, made))
            return true;
    }
    return false;
}

static bool has_result(const struct few *few, const struct few_layer *layer)
{
    bool output = false;
    for (size_t i = 0; i < layer->steps.count; i++)
        output |= few->buffers[out_of(few, layer->steps.at[i])->buffer].output;
    return output || layer->hand >= 0;
}

static const char *make_layers(struct few *few)
{
    for (int i = 0; (size_t)i < few->plan->steps.count; i++) {
        const struct step *step = step_at(few, i);
        if (!step->product)
            continue;
        const struct value *in = value_at(few, step->tape.at[0].in[0].index);
        if (in->dtype != few->plan->params.at[step->tape.at[0].in[1].index].dtype || in->ld < step->k)
            return "a product's operand is not of its weights' type";
        if (!make_layer(few, i))
            return "a product's result stands where 16 bytes at a time cannot be written";
        if (!has_result(few, &few->layers.at[few->layers.count - 1]))
            return "nothing reads what a product is for: a part of a concat that is skipped";
    }
    return NULL;
}

/* ---- Numbers beside the sums, and for all ---- */

/* NULL, or the numbers of the list that are those columns of the parameter. */
static struct few_numbers *find_numbers(struct few_numbers *at, size_t count, int param, int64_t from)
{
    for (size_t i = 0; i < count; i++) {
        if (at[i].param == param && at[i].from == from)
            return &at[i];
    }
    return NULL;
}

const struct few_numbers *few_numbers_of(const struct few *few, int step, int param, int64_t from)
{
    struct few_numbers *found = NULL;
    if (few->layer_of[step] >= 0) {
        const struct few_layer *layer = &few->layers.at[few->layer_of[step]];
        found = find_numbers(layer->columns.at, layer->columns.count, param, from);
    }
    return found ? found : find_numbers(few->numbers.at, few->numbers.count, param, from);
}

/* A single number is the same for all columns and blocks. */
static void add_numbers(struct few *few, struct names *names, int step, int param, int64_t from, int64_t count)
{
    struct arena *arena = few->plan->arena;
    struct few_numbers numbers = {.param = param, .from = from, .count = count, .at = FEW_NOWHERE};
    if (few_numbers_of(few, step, param, from))
        return;
    numbers.name = names_make(names, few->plan->params.at[param].name);
    if (few->layer_of[step] >= 0 && few->plan->params.at[param].cols > 1)
        VEC_PUSH(arena, &few->layers.at[few->layer_of[step]].columns, numbers);
    else
        VEC_PUSH(arena, &few->numbers, numbers);
}

static void list_numbers(struct few *few, struct names *names, int step)
{
    const struct step *s = step_at(few, step);
    int layer = few->layer_of[step], sums = s->product ? few->layers.at[layer].sums : 1;
    for (size_t i = 0; i < s->tape.count; i++) {
        for (int j = 0; j < 3; j++) {
            struct operand in = s->tape.at[i].in[j];
            if (in.kind != OPERAND_PARAM || (s->tape.at[i].op == OP_LINEAR && j == 1))
                continue;
            int64_t count = few->plan->params.at[in.index].cols / sums;
            for (int half = 0; half < sums; half++)
                add_numbers(few, names, step, in.index, half * count, count);
        }
    }
}

/* ---- Order ---- */

/* Whether all blocks need a value, or only the owner of each row. */
static bool is_needed_everywhere(const struct few *few, const bool *everywhere, const struct value *value,
                                 const struct few_layer *writer)
{
    for (int i = 0; (size_t)i < few->plan->steps.count; i++) {
        bool member = writer && is_member(writer, i);
        if (!member && (few->layer_of[i] >= 0 || everywhere[i]) && reads(few, i, value))
            return true;
    }
    return false;
}

static bool *find_everywhere(const struct few *few)
{
    bool *everywhere = ARENA_ARRAY(few->plan->arena, bool, few->plan->steps.count);
    for (size_t i = few->plan->steps.count; i-- > 0;) {
        if (few->layer_of[i] < 0)
            everywhere[i] = is_needed_everywhere(few, everywhere, out_of(few, (int)i), NULL);
    }
    return everywhere;
}

/* The only layer whose steps read what `writer` hands on, or -1. */
static int only_reader(const struct few *few, const struct few_layer *writer)
{
    const struct value *hand = value_at(few, writer->hand);
    int only = -1;
    for (int i = 0; (size_t)i < few->plan->steps.count; i++) {
        int layer = few->layer_of[i];
        if (is_member(writer, i) || !reads(few, i, hand))
            continue;
        if (layer < 0 || (only >= 0 && layer != only))
            return -1;
        only = layer;
    }
    return only;
}

static void push_stage(struct few *few, enum few_stage_kind kind, int index, int reader)
{
    struct few_stage stage = {.kind = kind, .index = index, .reader = reader};
    VEC_PUSH(few->plan->arena, &few->stages, stage);
}

static void receive(struct few *few, const bool *everywhere, int writer)
{
    const struct few_layer *layer = &few->layers.at[writer];
    int reader = only_reader(few, layer);
    if (reader >= 0)
        push_stage(few, FEW_RECEIVE_FOR, writer, reader);
    else if (is_needed_everywhere(few, everywhere, value_at(few, layer->hand), layer))
        push_stage(few, FEW_RECEIVE, writer, -1);
    else
        push_stage(few, FEW_RECEIVE_ROWS, writer, -1);
}

/* What a step reads of that which other layers hand on is received first. */
static void receive_operands(struct few *few, const bool *everywhere, bool *received, int step)
{
    for (int i = 0; (size_t)i < few->layers.count; i++) {
        const struct few_layer *layer = &few->layers.at[i];
        if (received[i] || layer->hand < 0 || layer->hand_stays || is_member(layer, step) ||
            !reads(few, step, value_at(few, layer->hand)))
            continue;
        received[i] = true;
        receive(few, everywhere, i);
    }
}

/* Inputs that products read are loaded first of all. */
static void load_inputs(struct few *few)
{
    for (int i = 0; (size_t)i < few->plan->buffers.count; i++) {
        if (few->buffers[i].input && few->buffers[i].shared)
            push_stage(few, FEW_LOAD, i, -1);
    }
}

static const struct value *input_of(const struct few *few, const struct few_layer *layer)
{
    return value_at(few, step_at(few, layer->steps.at[0])->tape.at[0].in[0].index);
}

/* A buffer is in shared memory where a product reads it, and where a step reads what another left there. */
static void choose_shared(struct few *few)
{
    for (size_t i = 0; i < few->plan->buffers.count; i++)
        few->buffers[i].shared = false;
    for (size_t i = 0; i < few->layers.count; i++) {
        const struct few_layer *layer = &few->layers.at[i];
        if (!layer->input_stays)
            few->buffers[input_of(few, layer)->buffer].shared = true;
        if (layer->hand >= 0 && !layer->hand_stays)
            few->buffers[value_at(few, layer->hand)->buffer].shared = true;
    }
    for (int i = 0; (size_t)i < few->plan->steps.count; i++) {
        if (few->layer_of[i] < 0 && is_read(few, out_of(few, i), NULL))
            few->buffers[out_of(few, i)->buffer].shared = true;
    }
}

void few_schedule(struct few *few)
{
    bool *everywhere = find_everywhere(few), *received = ARENA_ARRAY(few->plan->arena, bool, few->layers.count);
    few->stages.count = 0;
    choose_shared(few);
    load_inputs(few);
    for (int i = 0; (size_t)i < few->plan->steps.count; i++) {
        int layer = few->layer_of[i];
        if (layer < 0) {
            receive_operands(few, everywhere, received, i);
            push_stage(few, everywhere[i] ? FEW_STEP : FEW_STEP_ROWS, i, -1);
        } else if (step_at(few, i)->product) {
            for (size_t j = 0; j < few->layers.at[layer].steps.count; j++)
                receive_operands(few, everywhere, received, few->layers.at[layer].steps.at[j]);
            push_stage(few, FEW_PRODUCT, layer, -1);
        }
    }
}

int few_row_threads(const struct few *few, const struct few_stage *stage)
{
    int64_t width = few_width(few->plan, step_at(few, stage->index));
    return stage->kind == FEW_STEP && few->rows > 1 && width <= WIDEST_WARP_ROW ? 32 : 0;
}

/* ---- What fits ---- */

static const char *check_plan(const struct plan *plan, int64_t rows)
{
    size_t products = 0;
    for (size_t i = 0; i < plan->steps.count; i++)
        products += plan->steps.at[i].product;
    if (rows > FEW_MOST_ROWS)
        return "more than 16 rows";
    if (plan->dtype == DTYPE_TF32)
        return "tf32";
    if (!products)
        return "no product";
    if (products > MOST_PRODUCTS || plan->steps.count > MOST_STEPS)
        return "too many steps for one kernel";
    return NULL;
}

static const char *check_steps(const struct few *few)
{
    for (int i = 0; (size_t)i < few->plan->steps.count; i++) {
        const struct step *step = step_at(few, i);
        bool row = !step->product && kind_of(step) != KIND_MAP;
        if (few->layer_of[i] < 0 && row && few_width(few->plan, step) > WIDEST_ROW)
            return "a row operation on rows that are too wide for registers";
        if (few_width(few->plan, step) > INT32_MAX / 256 || (step->product && step->k > INT32_MAX / 256))
            return "rows that are too wide";
    }
    return NULL;
}

static void describe_buffers(struct few *few)
{
    const struct plan *plan = few->plan;
    few->buffers = ARENA_ARRAY(plan->arena, struct few_rows, plan->buffers.count);
    for (size_t i = plan->values.count; i-- > 0;) {     /* the first value of a buffer is the whole of it */
        const struct value *value = &plan->values.at[i];
        struct few_rows *rows = &few->buffers[value->buffer];
        *rows = (struct few_rows){.name = value->name, .dtype = value->dtype, .ld = value->ld, .at = FEW_NOWHERE};
    }
    for (size_t i = 0; i < plan->inputs.count; i++)
        few->buffers[value_at(few, plan->inputs.at[i].value)->buffer].input = true;
    for (size_t i = 0; i < plan->outputs.count; i++)
        few->buffers[value_at(few, plan->outputs.at[i].value)->buffer].output = true;
}

static void name_all(struct few *few)
{
    struct names *names = names_new(few->plan->arena);
    for (int i = 0; (size_t)i < few->plan->steps.count; i++)
        list_numbers(few, names, i);
    for (size_t i = 0; i < few->layers.count; i++) {
        struct few_layer *layer = &few->layers.at[i];
        layer->name = step_at(few, layer->steps.at[0])->name;
        layer->hand_index = few->hands;
        few->hands += layer->hand >= 0;
    }
}

struct few *few_decide(const struct plan *plan, int64_t rows)
{
    struct few *few = ARENA_NEW(plan->arena, struct few);
    *few = (struct few){.plan = plan, .rows = rows, .refusal = check_plan(plan, rows)};
    if (few->refusal)
        return few;
    few->layer_of = ARENA_ARRAY(plan->arena, int, plan->steps.count);
    for (size_t i = 0; i < plan->steps.count; i++)
        few->layer_of[i] = -1;
    describe_buffers(few);
    few->refusal = make_layers(few);
    few->refusal = few->refusal ? few->refusal : check_steps(few);
    if (few->refusal)
        return few;
    name_all(few);
    few_shape(few);
    return few;
}

/* ---- The state ---- */

int64_t few_state_offset(const struct plan *plan, int64_t rows)
{
    int64_t bytes = 0;
    for (int i = 0; i < plan->batch_count && plan->batches[i] < rows; i++) {
        const struct few *few = few_decide(plan, plan->batches[i]);
        bytes += few->refusal ? 0 : few->state_bytes;
    }
    return bytes;
}

/* ---- whole.h ---- */

const char *few_refusal(const struct plan *plan, int64_t rows)
{
    return few_decide(plan, rows)->refusal;
}

int64_t few_state_bytes(const struct plan *plan)
{
    return few_state_offset(plan, FEW_MOST_ROWS + 1);
}
