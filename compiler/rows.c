/* Which networks the kernel for many rows takes, and in which shape. Three things are scarce:
 *
 *   registers      what a tile of 64 rows holds at once, in each phase, is counted (rows_phases.c). A multiprocessor
 *                  has 65536 registers: 4 warpgroups leave 128 a thread, 3 leave 168, 2 leave 255. Beside what is
 *                  counted a thread needs about OTHER_REGISTERS for addresses, biases and what is being computed.
 *   the rule       Three warpgroups with two tiles each, where these fit: one tile is packed while another's product
 *                  runs, and both take their biases from the same registers. Else one tile each, and as many
 *                  warpgroups as fit, up to four. Of 64-wide layers a tile holds 56, so that 2 x 56 + 26 fit in 168; of
 *                  128-wide ones 112: three groups of one tile; of 256-wide ones 224: two.
 *   shared memory  Weights stay there. Where they do not fit, those of the largest product that reads a wide layer in
 *                  parts go through a ring of buffers that one more warpgroup fills; what room is left keeps the first
 *                  of their chunks. */
#include "rows.h"

#include <inttypes.h>
#include <string.h>

#include "whole.h"

enum {
    OTHER_REGISTERS = 26,
    REGISTERS_OF_4 = 128, REGISTERS_OF_3 = 168, REGISTERS_OF_2 = 255,
    SHARED_BYTES = 232448,          /* that a block can have on an H100 or H200 */
    RING_STAGES = 3, RING_COLUMNS = 64,
    BARRIER_BYTES = 16,             /* a stage */
    WEIGHT_ALIGNMENT = 1024,
    WIDEST = 4096,                  /* far more than registers hold */
};

/* ---- Shapes ---- */

static int64_t round_up(int64_t number, int64_t to)
{
    return (number + to - 1) / to * to;
}

int64_t rows_depth(const struct rows_shape *shape)
{
    return round_up(shape->width, shape->part ? shape->part : 16);
}

int64_t rows_padded(const struct rows_shape *shape)
{
    return shape->part || shape->wide ? rows_depth(shape) : round_up(shape->width, 8);
}

int64_t rows_parts(const struct rows_shape *shape)
{
    return shape->part ? rows_depth(shape) / shape->part : 1;
}

/* ---- What is staged ---- */

const struct rows_weight *rows_weight_of(const struct rows *rows, int param, int64_t row, int64_t column, int out,
                                         int in)
{
    for (size_t i = 0; i < rows->weights.count; i++) {
        const struct rows_weight *w = &rows->weights.at[i];
        if (w->param == param && w->row == row && w->column == column && w->out == out && w->in == in)
            return w;
    }
    return NULL;
}

const struct rows_param *rows_param_of(const struct rows *rows, int param, int64_t from, int shape)
{
    for (size_t i = 0; i < rows->params.count; i++) {
        const struct rows_param *p = &rows->params.at[i];
        if (p->param == param && p->from == from && p->shape == shape)
            return p;
    }
    return NULL;
}

/* As mlp_rows_weight lays it out: blocks of 64 columns, the last one narrower. */
static int64_t weight_bytes(int64_t rows, int64_t depth)
{
    int64_t rest = depth % 64 == 48 ? 64 : depth % 64;
    return round_up(rows * 2 * (depth / 64 * 64 + rest), WEIGHT_ALIGNMENT);
}

static void add_weight(struct rows *rows, const struct step *step, const struct rows_piece *out,
                       const struct rows_piece *in)
{
    const struct plan *plan = rows->plan;
    const struct tape_op *linear = &step->tape.at[0];
    const struct packed *packed = &plan->params.at[linear->in[1].index];
    struct rows_weight weight = {.param = linear->in[1].index, .out = out->shape, .in = in->shape};
    weight.row = out->column - plan->values.at[step->out].column;
    weight.column = in->column - plan->values.at[linear->in[0].index].column;
    if (rows_weight_of(rows, weight.param, weight.row, weight.column, weight.out, weight.in))
        return;
    bool all = out->width == packed->rows && in->width == packed->cols;
    for (size_t i = 0; i < rows->weights.count; i++)
        all &= rows->weights.at[i].param != weight.param;
    weight.name = all ? arena_format(plan->arena, "_%s", packed->name)
                      : arena_format(plan->arena, "%zu_%s", rows->weights.count, packed->name);
    weight.bytes = weight_bytes(rows_padded(rows_shape_of(rows, out)), rows_depth(rows_shape_of(rows, in)));
    VEC_PUSH(plan->arena, &rows->weights, weight);
}

static void add_weights(struct rows *rows, const struct step *step)
{
    int in = step->tape.at[0].in[0].index;
    for (int i = 0; i < rows->piece_count[step->out]; i++) {
        for (int j = 0; j < rows->piece_count[in]; j++)
            add_weight(rows, step, rows_piece_of(rows, step->out, i), rows_piece_of(rows, in, j));
    }
}

static void add_param(struct rows *rows, int index, int64_t from, int shape)
{
    const struct packed *packed = &rows->plan->params.at[index];
    struct rows_param param = {.param = index, .from = from, .shape = shape};
    if (rows_param_of(rows, index, from, shape))
        return;
    bool first = from == 0;
    for (size_t i = 0; i < rows->params.count; i++)
        first &= rows->params.at[i].param != index;
    param.name = first ? arena_format(rows->plan->arena, "_%s", packed->name)
                       : arena_format(rows->plan->arena, "%zu_%s", rows->params.count, packed->name);
    VEC_PUSH(rows->plan->arena, &rows->params, param);
}

int rows_row_value(const struct plan *plan, const struct step *step)
{
    if (plan->values.at[step->out].width == rows_width(plan, step))
        return step->out;
    for (int i = 0; (size_t)i < step->tape.count; i++) {
        for (int j = 0; j < 3; j++) {
            if (rows_reads_columns(plan, step, i, j))
                return step->tape.at[i].in[j].index;
        }
    }
    return -1;
}

static void add_params(struct rows *rows, const struct step *step)
{
    const struct plan *plan = rows->plan;
    int row = rows_row_value(plan, step);
    if (row < 0) {
        rows->refusal = arena_format(plan->arena, "'%s' is a reduction of parameters alone", step->name);
        return;
    }
    for (size_t i = 0; i < step->tape.count; i++) {
        for (int j = step->tape.at[i].op == OP_LINEAR ? 2 : 0; j < 3; j++) {
            struct operand in = step->tape.at[i].in[j];
            bool number = rows_operand_width(plan, step, in) < rows_width(plan, step);
            if (in.kind != OPERAND_PARAM)
                continue;
            if (number)
                add_param(rows, in.index, 0, -1);
            for (int p = 0; !number && p < rows->piece_count[row]; p++) {
                const struct rows_piece *piece = rows_piece_of(rows, row, p);
                add_param(rows, in.index, piece->column - plan->values.at[row].column, piece->shape);
            }
        }
    }
}

static void list_staged(struct rows *rows)
{
    for (size_t i = 0; i < rows->plan->steps.count; i++) {
        const struct step *step = &rows->plan->steps.at[i];
        if (step->product)
            add_weights(rows, step);
        add_params(rows, step);
    }
}

/* ---- Shared memory ---- */

/* Staging fills them up with zeros, a single number like a row of one column. */
static int64_t param_bytes(const struct rows *rows, const struct rows_param *param)
{
    const struct rows_shape number = {.width = 1};
    return 4 * rows_depth(param->shape < 0 ? &number : &rows->shapes.at[param->shape]);
}

/* Gives everything its place; the ring stands behind the weights that stay. */
static void lay_out(struct rows *rows)
{
    int64_t at = 0;
    for (size_t i = 0; i < rows->weights.count; i++) {
        struct rows_weight *weight = &rows->weights.at[i];
        weight->place = at;
        at += weight->streamed ? 0 : weight->bytes;
    }
    rows->ring = at;
    for (size_t i = 0; i < rows->weights.count; i++) {
        struct rows_weight *weight = &rows->weights.at[i];
        if (!weight->streamed)
            continue;
        weight->place = rows->ring;
        at += (rows->resident + rows->stages) * rows_padded(&rows->shapes.at[weight->out]) * 2 * RING_COLUMNS;
    }
    for (size_t i = 0; i < rows->params.count; i++) {
        rows->params.at[i].place = at;
        at += param_bytes(rows, &rows->params.at[i]);
    }
    rows->barriers = at;
    rows->shared_bytes = at + rows->stages * BARRIER_BYTES;
}

/* The matrix of a product that reads a wide layer in parts, if chunks of it can be copied as they stand. */
static struct rows_weight *streamable(const struct rows *rows, const struct rows_phase *phase)
{
    const struct plan *plan = rows->plan;
    if (phase->kind != ROWS_CHUNKED)
        return NULL;
    const struct step *step = &plan->steps.at[phase->consumer];
    for (size_t i = 0; i < rows->weights.count; i++) {
        struct rows_weight *weight = &rows->weights.at[i];
        const struct packed *packed = &plan->params.at[weight->param];
        const struct rows_shape *out = &rows->shapes.at[weight->out], *in = &rows->shapes.at[weight->in];
        if (weight->param == step->tape.at[0].in[1].index && out->width == packed->rows && in->width == packed->cols &&
            rows_padded(out) == out->width && !in->wide && in->part == RING_COLUMNS && in->width % RING_COLUMNS == 0)
            return weight;
    }
    return NULL;
}

static int users_of(const struct rows *rows, int param)
{
    int users = 0;
    for (size_t i = 0; i < rows->plan->steps.count; i++) {
        const struct step *step = &rows->plan->steps.at[i];
        users += step->product && step->tape.at[0].in[1].index == param;
    }
    return users;
}

/* Lets the largest matrix that can go through a ring do so; false where that is not enough, or there is none. */
static bool stream(struct rows *rows)
{
    struct rows_weight *largest = NULL;
    for (size_t i = 0; i < rows->phases.count; i++) {
        struct rows_weight *weight = streamable(rows, &rows->phases.at[i]);
        if (weight && users_of(rows, weight->param) == 1 && (!largest || weight->bytes > largest->bytes))
            largest = weight;
    }
    if (!largest)
        return false;
    int64_t chunk = rows_padded(&rows->shapes.at[largest->out]) * 2 * RING_COLUMNS;
    int64_t chunks = rows_parts(&rows->shapes.at[largest->in]);
    largest->streamed = true;
    rows->stages = RING_STAGES;
    lay_out(rows);
    int64_t room = SHARED_BYTES - rows->shared_bytes;
    if (room < 0 || chunks <= RING_STAGES)
        return false;
    rows->resident = (int)(room / chunk < chunks - 2 ? room / chunk : chunks - 2);
    lay_out(rows);
    return true;
}

static bool fits_shared_memory(struct rows *rows)
{
    return rows->shared_bytes <= SHARED_BYTES || stream(rows);
}

/* ---- Registers ---- */

static int ahead_registers(const struct rows *rows)
{
    int64_t sum = 0;
    for (size_t i = 0; i < rows->pieces.count; i++) {
        const struct rows_piece *piece = &rows->pieces.at[i];
        const struct rows_shape *shape = rows_shape_of(rows, piece);
        if (piece->input >= 0 && piece->readers)
            sum += piece->dtype == DTYPE_F32 ? rows_padded(shape) / 2 : rows_depth(shape) / 4;
    }
    return (int)sum;
}

static const struct rows_phase *fullest(const struct rows *rows)
{
    const struct rows_phase *most = &rows->phases.at[0];
    for (size_t i = 1; i < rows->phases.count; i++) {
        if (rows->phases.at[i].registers > most->registers)
            most = &rows->phases.at[i];
    }
    return most;
}

static bool plain(const struct rows *rows)
{
    bool plain = true;
    for (size_t i = 0; i < rows->phases.count; i++)
        plain &= rows->phases.at[i].kind == ROWS_PLAIN;
    for (size_t i = 0; i < rows->shapes.count; i++)
        plain &= !rows->shapes.at[i].part;
    return plain;
}

/* The rule at the top of this file; false where a tile does not fit. */
static bool choose_groups(struct rows *rows)
{
    static const struct {
        int groups, registers;
    } choices[] = {{4, REGISTERS_OF_4}, {3, REGISTERS_OF_3}, {2, REGISTERS_OF_2}};
    int tile = fullest(rows)->registers + (rows->ahead ? ahead_registers(rows) : 0);
    rows->tiles = 1;
    rows->groups = 2;
    if (rows->stages)
        return tile + OTHER_REGISTERS <= ROWS_READER_REGISTERS;
    if (plain(rows) && 2 * tile + OTHER_REGISTERS <= REGISTERS_OF_3) {
        rows->tiles = 2;
        rows->groups = 3;
        return true;
    }
    for (size_t i = 0; i < sizeof choices / sizeof *choices; i++) {
        rows->groups = choices[i].groups;
        if (tile + OTHER_REGISTERS <= choices[i].registers)
            return true;
    }
    return false;
}

/* ---- The whole ---- */

static const char *refuse_kind(const struct plan *plan)
{
    bool product = false;
    if (plan->dtype != DTYPE_F16 && plan->dtype != DTYPE_BF16)
        return arena_format(plan->arena, "its products are in %s, not in f16 or bf16", dtype_text(plan->dtype));
    for (size_t i = 0; i < plan->steps.count; i++)
        product |= plan->steps.at[i].product;
    if (!product)
        return "it has no products";
    for (size_t i = 0; i < plan->values.count; i++) {
        const struct value *value = &plan->values.at[i];
        if (value->width > WIDEST)
            return arena_format(plan->arena, "'%s' has %" PRId64 " columns, more than registers hold", value->name,
                                value->width);
    }
    return NULL;
}

static const char *refuse_registers(const struct rows *rows)
{
    const struct rows_phase *most = fullest(rows);
    int step = most->consumer >= 0 ? most->consumer : most->starts.count ? most->starts.at[0] : most->steps.at[0];
    return arena_format(rows->plan->arena, "a row takes about %d registers a thread around '%s', of %d", most->registers
                        + ahead_registers(rows) + OTHER_REGISTERS, rows->plan->steps.at[step].name, REGISTERS_OF_2);
}

/* One way to do it: with wide layers in parts of so many columns, if at least so wide. */
struct way {
    int64_t part, wide;
    bool ahead;
};

/* Refuses what is scheduled but does not fit. */
static void check_fit(struct rows *rows)
{
    struct arena *arena = rows->plan->arena;
    lay_out(rows);
    int64_t wanted = rows->shared_bytes;
    if (!fits_shared_memory(rows))
        rows->refusal = arena_format(arena, "its weights take %" PRId64 " bytes of shared memory, of %d, and only "
                                     "those of one product can go through a ring", wanted, SHARED_BYTES);
    else if (!choose_groups(rows))
        rows->refusal = refuse_registers(rows);
}

static struct rows *attempt(const struct plan *plan, struct way way)
{
    struct rows *rows = ARENA_NEW(plan->arena, struct rows);
    rows->plan = plan;
    rows->ahead = way.ahead;
    rows->refusal = refuse_kind(plan);
    if (!rows->refusal)
        rows_cut(rows);
    if (rows->refusal)
        return rows;
    rows_schedule(rows, way.part, way.wide);
    list_staged(rows);
    if (!rows->refusal)
        check_fit(rows);
    return rows;
}

struct rows *rows_decide(const struct plan *plan)
{
    static const struct way ways[] = {
        {64, 129, true}, {32, 129, true}, {64, 257, true}, {64, 129, false}, {32, 129, false}, {64, 257, false}};
    struct rows *first = NULL;
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        struct rows *rows = attempt(plan, ways[i]);
        if (!rows->refusal)
            return rows;
        first = first ? first : rows;
    }
    return first;
}

const char *rows_refusal(const struct plan *plan)
{
    return rows_decide(plan)->refusal;
}
