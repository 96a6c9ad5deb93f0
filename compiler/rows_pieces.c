/* Cuts the rows of a plan's buffers into pieces, and finds which pieces lie alike. A cut goes where a value begins or
 * ends, and from there through every value that is combined element by element with one that has it. */
#include "rows.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_PIECES = 256, MOST_STEPS = 160, WHOLE_WIDTH = 128, PART = 64 };

struct cuts {
    bool **at;                      /* of each buffer: whether a column begins a piece; one more than columns */
    int64_t *width;                 /* of each buffer, in columns */
};

/* ---- Steps ---- */

const struct tape_op *rows_last(const struct step *step)
{
    return &step->tape.at[step->tape.count - 1];
}

int64_t rows_operand_width(const struct plan *plan, const struct step *step, struct operand operand)
{
    switch (operand.kind) {
    case OPERAND_OP:
        return step->tape.at[operand.index].width;
    case OPERAND_VALUE:
        return plan->values.at[operand.index].width;
    case OPERAND_PARAM:
        return plan->params.at[operand.index].cols;
    case OPERAND_NUMBER:
    case OPERAND_NONE:
        break;
    }
    return 1;
}

int64_t rows_width(const struct plan *plan, const struct step *step)
{
    const struct tape_op *last = rows_last(step);
    int64_t width = last->width;
    for (int i = 0; op_info[last->op].kind == KIND_REDUCE && i < 2; i++) {
        int64_t in = rows_operand_width(plan, step, last->in[i]);
        width = in > width ? in : width;
    }
    return width;
}

bool rows_reads_columns(const struct plan *plan, const struct step *step, int op, int operand)
{
    const struct tape_op *tape_op = &step->tape.at[op];
    struct operand in = tape_op->in[operand];
    return tape_op->op != OP_LINEAR && in.kind == OPERAND_VALUE &&
           plan->values.at[in.index].width == rows_width(plan, step);
}

/* Calls visit for the step's result, unless that is a reduction, and for each value that it reads column by column. */
static void each_column_value(const struct plan *plan, const struct step *step, void *context,
                              void (*visit)(void *context, int value))
{
    if (plan->values.at[step->out].width == rows_width(plan, step))
        visit(context, step->out);
    for (int i = 0; (size_t)i < step->tape.count; i++) {
        for (int j = 0; j < 3; j++) {
            if (rows_reads_columns(plan, step, i, j))
                visit(context, step->tape.at[i].in[j].index);
        }
    }
}

/* ---- Cuts ---- */

static struct cuts cuts_new(const struct plan *plan)
{
    struct cuts cuts = {.at = ARENA_ARRAY(plan->arena, bool *, plan->buffers.count + 1)};
    cuts.width = ARENA_ARRAY(plan->arena, int64_t, plan->buffers.count + 1);
    for (size_t i = 0; i < plan->values.count; i++) {
        const struct value *value = &plan->values.at[i];
        int64_t end = value->column + value->width, *width = &cuts.width[value->buffer];
        *width = end > *width ? end : *width;
    }
    for (size_t i = 0; i < plan->buffers.count; i++)
        cuts.at[i] = ARENA_ARRAY(plan->arena, bool, (size_t)cuts.width[i] + 1);
    for (size_t i = 0; i < plan->values.count; i++) {
        const struct value *value = &plan->values.at[i];
        cuts.at[value->buffer][value->column] = cuts.at[value->buffer][value->column + value->width] = true;
    }
    return cuts;
}

struct spread {
    const struct plan *plan;
    struct cuts *cuts;
    bool *row;                      /* cuts of the step's rows, together */
    int64_t width;
    bool give, changed;             /* to the values, or from them */
};

static void spread_value(void *context, int index)
{
    struct spread *spread = context;
    const struct value *value = &spread->plan->values.at[index];
    bool *at = spread->cuts->at[value->buffer] + value->column;
    for (int64_t i = 0; i <= spread->width; i++) {
        if (!spread->give) {
            spread->row[i] |= at[i];
        } else if (spread->row[i] && !at[i]) {
            at[i] = spread->changed = true;
        }
    }
}

/* Gives all that a step combines the same cuts; whether there were new ones. */
static bool spread_cuts(const struct plan *plan, struct cuts *cuts, const struct step *step)
{
    struct spread spread = {.plan = plan, .cuts = cuts, .width = rows_width(plan, step)};
    spread.row = ARENA_ARRAY(plan->arena, bool, (size_t)spread.width + 1);
    each_column_value(plan, step, &spread, spread_value);
    spread.give = true;
    each_column_value(plan, step, &spread, spread_value);
    return spread.changed;
}

static void close_cuts(const struct plan *plan, struct cuts *cuts)
{
    for (bool changed = true; changed;) {
        changed = false;
        for (size_t i = 0; i < plan->steps.count; i++)
            changed |= spread_cuts(plan, cuts, &plan->steps.at[i]);
    }
}

/* ---- Pieces ---- */

/* The value that is just these columns, or a name made of places. */
static const char *piece_name(const struct plan *plan, int buffer, int64_t column, int64_t width)
{
    for (size_t i = 0; i < plan->values.count; i++) {
        const struct value *value = &plan->values.at[i];
        if (value->buffer == buffer && value->column == column && value->width == width)
            return arena_format(plan->arena, "_%s", value->name);
    }
    return arena_format(plan->arena, "%d_%" PRId64, buffer, column);
}

static void add_piece(struct rows *rows, int buffer, int64_t column, int64_t width)
{
    const struct plan *plan = rows->plan;
    struct rows_piece piece = {.buffer = buffer, .column = column, .width = width, .writer = -1, .input = -1,
                               .output = -1, .last_reader = -1};
    struct rows_shape shape = {.width = width};
    piece.name = piece_name(plan, buffer, column, width);
    piece.shape = (int)rows->shapes.count;
    for (size_t i = 0; i < plan->values.count; i++) {
        if (plan->values.at[i].buffer == buffer)
            piece.dtype = plan->values.at[i].dtype;
    }
    VEC_PUSH(plan->arena, &rows->shapes, shape);
    VEC_PUSH(plan->arena, &rows->pieces, piece);
}

static void add_pieces(struct rows *rows, const struct cuts *cuts)
{
    for (int b = 0; (size_t)b < rows->plan->buffers.count; b++) {
        int64_t begin = 0;
        for (int64_t i = 1; i <= cuts->width[b]; i++) {
            if (cuts->at[b][i]) {
                add_piece(rows, b, begin, i - begin);
                begin = i;
            }
        }
    }
}

static void find_pieces(struct rows *rows)
{
    const struct plan *plan = rows->plan;
    rows->first_piece = ARENA_ARRAY(plan->arena, int, plan->values.count + 1);
    rows->piece_count = ARENA_ARRAY(plan->arena, int, plan->values.count + 1);
    for (size_t i = 0; i < plan->values.count; i++) {
        const struct value *value = &plan->values.at[i];
        for (int p = 0; (size_t)p < rows->pieces.count; p++) {
            const struct rows_piece *piece = &rows->pieces.at[p];
            if (piece->buffer != value->buffer || piece->column < value->column ||
                piece->column >= value->column + value->width)
                continue;
            if (!rows->piece_count[i]++)
                rows->first_piece[i] = p;
        }
    }
}

struct rows_piece *rows_piece_of(const struct rows *rows, int value, int i)
{
    return &rows->pieces.at[rows->first_piece[value] + i];
}

const struct rows_shape *rows_shape_of(const struct rows *rows, const struct rows_piece *piece)
{
    return &rows->shapes.at[piece->shape];
}

/* ---- Who writes and reads them ---- */

static void note_reader(struct rows *rows, int value, int step, bool multiplied)
{
    for (int i = 0; i < rows->piece_count[value]; i++) {
        struct rows_piece *piece = rows_piece_of(rows, value, i);
        if (piece->last_reader != step)
            piece->readers++;
        piece->last_reader = step;
        piece->multiplied |= multiplied;
        piece->combined |= !multiplied;
    }
}

static void note_step(struct rows *rows, int index)
{
    const struct step *step = &rows->plan->steps.at[index];
    for (int i = 0; i < rows->piece_count[step->out]; i++) {
        struct rows_piece *piece = rows_piece_of(rows, step->out, i);
        if (piece->writer >= 0)
            rows->refusal = "two steps write the same columns";
        piece->writer = index;
    }
    for (size_t i = 0; i < step->tape.count; i++) {
        for (int j = 0; j < 3; j++) {
            if (step->tape.at[i].in[j].kind == OPERAND_VALUE)
                note_reader(rows, step->tape.at[i].in[j].index, index, step->tape.at[i].op == OP_LINEAR);
        }
    }
}

static void note_ports(struct rows *rows)
{
    const struct plan *plan = rows->plan;
    for (int i = 0; (size_t)i < plan->inputs.count; i++) {
        for (int p = 0; p < rows->piece_count[plan->inputs.at[i].value]; p++)
            rows_piece_of(rows, plan->inputs.at[i].value, p)->input = i;
    }
    for (int i = 0; (size_t)i < plan->outputs.count; i++) {
        for (int p = 0; p < rows->piece_count[plan->outputs.at[i].value]; p++)
            rows_piece_of(rows, plan->outputs.at[i].value, p)->output = i;
    }
}

/* ---- Shapes ---- */

struct unify {
    struct rows *rows;
    int first;                      /* the value that the others follow, or -1 */
};

static void replace_shape(struct rows *rows, int old, int new)
{
    for (size_t i = 0; old != new && i < rows->pieces.count; i++) {
        if (rows->pieces.at[i].shape == old)
            rows->pieces.at[i].shape = new;
    }
}

static void unify_value(void *context, int value)
{
    struct unify *unify = context;
    struct rows *rows = unify->rows;
    if (unify->first < 0)
        unify->first = value;
    for (int i = 0; i < rows->piece_count[value]; i++)
        replace_shape(rows, rows_piece_of(rows, value, i)->shape, rows_piece_of(rows, unify->first, i)->shape);
}

/* A norm's rows are in one piece, those of a reduction may be in several, each of which it adds up. */
static void note_row_operation(struct rows *rows, const struct step *step)
{
    enum op_kind kind = op_info[rows_last(step)->op].kind;
    int value = kind == KIND_ROW ? step->out : kind == KIND_REDUCE ? rows_row_value(rows->plan, step) : -1;
    if (value < 0)
        return;
    if (kind == KIND_ROW && rows->piece_count[value] > 1)
        rows->refusal = arena_format(rows->plan->arena, "the columns of '%s' are kept in several parts, and it is a "
                                     "row operation", step->name);
    for (int i = 0; i < rows->piece_count[value]; i++)
        rows->shapes.at[rows_piece_of(rows, value, i)->shape].whole = true;
}

/* A step's tensors share a shape; tensors that meet memory lie as it is read best. Those too wide to be at hand whole
 * are kept in parts. */
static void find_shapes(struct rows *rows)
{
    const struct plan *plan = rows->plan;
    for (size_t i = 0; i < plan->steps.count; i++) {
        struct unify unify = {.rows = rows, .first = -1};
        each_column_value(plan, &plan->steps.at[i], &unify, unify_value);
    }
    for (size_t i = 0; i < plan->steps.count; i++)
        note_row_operation(rows, &plan->steps.at[i]);
    for (size_t i = 0; i < rows->pieces.count; i++) {
        const struct rows_piece *piece = &rows->pieces.at[i];
        struct rows_shape *shape = &rows->shapes.at[piece->shape];
        shape->wide |= piece->input >= 0 || piece->output >= 0;
        shape->part = !shape->whole && shape->width > WHOLE_WIDTH ? PART : 0;
    }
}

void rows_cut(struct rows *rows)
{
    const struct plan *plan = rows->plan;
    if (plan->steps.count > MOST_STEPS) {
        rows->refusal = arena_format(plan->arena, "more than %d steps: their code would be too long", MOST_STEPS);
        return;
    }
    struct cuts cuts = cuts_new(plan);
    close_cuts(plan, &cuts);
    add_pieces(rows, &cuts);
    if (rows->pieces.count > MOST_PIECES) {
        rows->refusal = "its rows fall into too many parts";
        return;
    }
    find_pieces(rows);
    for (int i = 0; (size_t)i < plan->steps.count; i++)
        note_step(rows, i);
    note_ports(rows);
    find_shapes(rows);
}
