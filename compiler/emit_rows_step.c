/* Steps of the kernel for many rows, as expressions over what a thread holds. A step that the plan has as a step of its
 * own is one here, too: what it gives is rounded as if it were stored. */
#include <inttypes.h>
#include <string.h>

#include "emit_cuda.h"
#include "emit_map.h"
#include "emit_rows.h"

const char *const rows_dtype_cuda[] = {
    [DTYPE_F32] = "float", [DTYPE_F16] = "__half", [DTYPE_BF16] = "__nv_bfloat16"};

/* ---- Names ---- */

const char *rows_columns_name(const struct rows_printer *p, int index)
{
    const struct rows_shape *shape = &p->rows->shapes.at[index];
    const char *name = arena_format(p->arena, "%s_%" PRId64, shape->wide ? "wide" : "columns", shape->width);
    return shape->part ? arena_format(p->arena, "%s_by_%" PRId64, name, shape->part) : name;
}

bool rows_in_parts(const struct rows_printer *p, const struct rows_piece *piece)
{
    return rows_shape_of(p->rows, piece)->part > 0;
}

int64_t rows_part_width(const struct rows_printer *p, const struct rows_piece *piece)
{
    const struct rows_shape *shape = rows_shape_of(p->rows, piece);
    return shape->part ? shape->part : piece->dtype == DTYPE_F32 ? rows_padded(shape) : rows_depth(shape);
}

const char *rows_tensor_type(const struct rows_printer *p, const struct rows_piece *piece)
{
    int64_t width = rows_part_width(p, piece);
    if (piece->dtype == DTYPE_F32)
        return arena_format(p->arena, "mlp_rows_acc<%" PRId64 "%s>", width, p->s);
    return arena_format(p->arena, "mlp_rows_fragment<%s, %" PRId64 "%s>",
                        piece->dtype == p->plan->dtype ? "number" : rows_dtype_cuda[piece->dtype], width, p->s);
}

const char *rows_sums_name(const struct rows_printer *p, const struct rows_piece *piece)
{
    return arena_format(p->arena, "sum%s%s", piece->name, p->t);
}

const char *rows_tensor_name(const struct rows_printer *p, const struct rows_piece *piece, const char *part)
{
    if (!rows_in_parts(p, piece))
        return arena_format(p->arena, "x%s%s", piece->name, p->t);
    if (!piece->chunked)
        return arena_format(p->arena, "x%s[%s]", piece->name, part);
    return piece->multiplied ? arena_format(p->arena, "x%s[%s %% 2]", piece->name, part)
                             : arena_format(p->arena, "x%s", piece->name);
}

bool rows_is_local(const struct rows_printer *p, const struct rows_piece *piece)
{
    return rows_in_parts(p, piece) && piece->chunked && !piece->multiplied;
}

static const struct rows_param *param_of(const struct rows_printer *p, struct operand operand)
{
    int row = rows_row_value(p->plan, p->step);
    if (rows_operand_width(p->plan, p->step, operand) < rows_width(p->plan, p->step))
        return rows_param_of(p->rows, operand.index, 0, -1);
    const struct rows_piece *piece = rows_piece_of(p->rows, row, p->piece);
    int64_t from = piece->column - p->plan->values.at[row].column;
    return rows_param_of(p->rows, operand.index, from, piece->shape);
}

/* ---- Expressions ---- */

static const char *value_text(const struct rows_printer *p, int value)
{
    if (p->plan->values.at[value].width < rows_width(p->plan, p->step))
        return arena_format(p->arena, "row%s[at]", rows_piece_of(p->rows, value, 0)->name);
    return arena_format(p->arena, "%s[at]", rows_tensor_name(p, rows_piece_of(p->rows, value, p->piece), p->part));
}

static const char *operand_text(const void *printer, struct operand operand)
{
    const struct rows_printer *p = printer;
    const struct rows_param *param;
    switch (operand.kind) {
    case OPERAND_OP:
        return arena_format(p->arena, "t%d", operand.index);
    case OPERAND_VALUE:
        return value_text(p, operand.index);
    case OPERAND_PARAM:
        param = param_of(p, operand);
        return arena_format(p->arena, "b%s%s", param->name, param->shape < 0 ? "" : "[at]");
    case OPERAND_NUMBER:
        return emit_number(p->arena, operand.number);
    case OPERAND_NONE:
        break;
    }
    return "";
}

static const char *linear_text(const struct rows_printer *p, const struct tape_op *op)
{
    const struct rows_piece *piece = rows_piece_of(p->rows, p->step->out, p->piece);
    const char *sums = p->part && !piece->chunked ? arena_format(p->arena, "part%s", piece->name)
                                                  : rows_sums_name(p, piece);
    return op->in[2].kind == OPERAND_PARAM ? arena_format(p->arena, "%s[at] + %s", sums, operand_text(p, op->in[2]))
                                           : arena_format(p->arena, "%s[at]", sums);
}

/* What a norm does to its normalised elements. */
static const char *norm_text(const struct rows_printer *p, const struct tape_op *op)
{
    const char *text = arena_format(p->arena, "normal%s[at]", rows_piece_of(p->rows, p->step->out, 0)->name);
    if (op->in[1].kind == OPERAND_PARAM) {
        const char *factor = operand_text(p, op->in[1]);
        if (op->op == OP_RMSNORM && op->attr[1] != 0)
            factor = arena_format(p->arena, "(%s + %s)", emit_float(p->arena, op->attr[1]), factor);
        text = arena_format(p->arena, "%s * %s", text, factor);
    }
    return op->in[2].kind == OPERAND_PARAM ? arena_format(p->arena, "%s + %s", text, operand_text(p, op->in[2])) : text;
}

/* A reduction whose row is kept in several pieces adds up theirs. */
static const char *reduction_text(const struct rows_printer *p, const struct tape_op *op)
{
    int row = rows_row_value(p->plan, p->step);
    const char *text = "";
    for (int i = 0; i < p->rows->piece_count[row]; i++)
        text = arena_format(p->arena, "%s%stotal%d%s[at]", text, i ? " + " : "", i,
                            rows_piece_of(p->rows, p->step->out, 0)->name);
    if (op->op != OP_MEAN)
        return text;
    return arena_format(p->arena, "(%s) / %" PRId64, text, rows_width(p->plan, p->step));
}

static const char *expression(const struct rows_printer *p, const struct tape_op *op)
{
    switch (op_info[op->op].kind) {
    case KIND_PRODUCT:
        return linear_text(p, op);
    case KIND_ROW:
        return norm_text(p, op);
    case KIND_REDUCE:
        return reduction_text(p, op);
    default:
        return emit_map(p->arena, op, operand_text, p);
    }
}

/* The tape's operations up to `count`, and what the last of them gives or `result`. */
static void emit_tape(const struct rows_printer *p, size_t count, const char *result)
{
    size_t lines = result ? count : count - 1;
    for (size_t i = 0; i < lines; i++)
        emit_line(p->e, "const float t%zu = %s;", i, expression(p, &p->step->tape.at[i]));
    emit_line(p->e, "return %s;", result ? result : expression(p, &p->step->tape.at[count - 1]));
}

/* ---- What stands before a step ---- */

/* Values of one column as numbers that each thread of a row has. */
static void emit_stretched(const struct rows_printer *p)
{
    const struct step *step = p->step;
    bool *seen = ARENA_ARRAY(p->arena, bool, p->plan->values.count + 1);
    for (size_t i = 0; i < step->tape.count; i++) {
        for (int j = 0; j < 3; j++) {
            struct operand in = step->tape.at[i].in[j];
            if (in.kind != OPERAND_VALUE || step->tape.at[i].op == OP_LINEAR || seen[in.index] ||
                p->plan->values.at[in.index].width >= rows_width(p->plan, step))
                continue;
            seen[in.index] = true;
            const struct rows_piece *piece = rows_piece_of(p->rows, in.index, 0);
            emit_line(p->e, "const auto row%s = mlp_rows_stretch<%s>([&](mlp_rows_place at) { return %s[at]; });",
                      piece->name, *p->s ? "S" : "1", rows_tensor_name(p, piece, "0"));
        }
    }
}

static bool stretches(const struct rows_printer *p)
{
    bool any = false;
    for (size_t i = 0; i < p->step->tape.count; i++) {
        for (int j = 0; j < 3; j++) {
            struct operand in = p->step->tape.at[i].in[j];
            any |= in.kind == OPERAND_VALUE && p->step->tape.at[i].op != OP_LINEAR &&
                   p->plan->values.at[in.index].width < rows_width(p->plan, p->step);
        }
    }
    return any;
}

static void emit_row_operation(const struct rows_printer *p)
{
    const struct tape_op *last = rows_last(p->step);
    const struct rows_piece *piece = rows_piece_of(p->rows, p->step->out, 0);
    const char *columns = rows_columns_name(p, piece->shape);
    bool norm = last->op == OP_LAYERNORM || last->op == OP_RMSNORM;
    emit_open(p->e, "const auto plain%s = mlp_rows_make<%s, %s::padded%s>(0, [&](mlp_rows_place at) {", piece->name,
              columns, columns, p->s);
    emit_tape(p, p->step->tape.count - 1, operand_text(p, last->in[0]));
    emit_close(p->e, "});");
    emit_line(p->e, "const auto normal%s = mlp_rows_%s<%s>(plain%s%s);", piece->name, op_info[last->op].text, columns,
              piece->name, norm ? arena_format(p->arena, ", %s", emit_float(p->arena, last->attr[0])) : "");
}

static void emit_reduction(const struct rows_printer *p)
{
    const struct tape_op *last = rows_last(p->step);
    int row = rows_row_value(p->plan, p->step);
    struct rows_printer inner = *p;
    for (int i = 0; i < p->rows->piece_count[row]; i++) {
        inner.piece = i;
        emit_open(p->e, "const auto total%d%s = mlp_rows_sum<%s%s>([&](mlp_rows_place at) {", i,
                  rows_piece_of(p->rows, p->step->out, 0)->name,
                  rows_columns_name(p, rows_piece_of(p->rows, row, i)->shape), p->s);
        emit_tape(&inner, p->step->tape.count - 1, emit_map(p->arena, last, operand_text, &inner));
        emit_close(p->e, "});");
    }
}

void emit_rows_before(const struct rows_printer *p)
{
    enum op_kind kind = op_info[rows_last(p->step)->op].kind;
    emit_stretched(p);
    if (kind == KIND_ROW)
        emit_row_operation(p);
    else if (kind == KIND_REDUCE)
        emit_reduction(p);
}

/* ---- Results ---- */

/* The operations of the result's own text: norms and reductions have the others before it. */
static void emit_element(const struct rows_printer *p, bool relu)
{
    enum op_kind kind = op_info[rows_last(p->step)->op].kind;
    if (kind == KIND_ROW || kind == KIND_REDUCE)
        emit_line(p->e, "return %s;", expression(p, rows_last(p->step)));
    else
        emit_tape(p, p->step->tape.count - relu, NULL);
}

/* Whether the step ends in a relu of what stands before it, which costs nothing while numbers are rounded. */
static bool ends_in_relu(const struct step *step)
{
    const struct tape_op *last = rows_last(step);
    return last->op == OP_RELU && step->tape.count > 1 && last->in[0].kind == OPERAND_OP &&
           last->in[0].index == (int)step->tape.count - 2;
}

static const char *part_offset(const struct rows_printer *p, const struct rows_piece *piece)
{
    return p->part ? arena_format(p->arena, "%" PRId64 " * %s", rows_shape_of(p->rows, piece)->part, p->part) : "0";
}

void emit_rows_tensor(const struct rows_printer *p, const struct rows_piece *piece)
{
    bool relu = piece->dtype != DTYPE_F32 && ends_in_relu(p->step);
    const char *columns = rows_columns_name(p, piece->shape), *to = rows_tensor_name(p, piece, p->part);
    const char *number = piece->dtype == p->plan->dtype ? "number" : rows_dtype_cuda[piece->dtype];
    to = rows_is_local(p, piece) ? arena_format(p->arena, "const auto %s", to) : to;
    if (piece->dtype == DTYPE_F32)
        emit_open(p->e, "%s = mlp_rows_make<%s, %" PRId64 "%s>(%s, [&](mlp_rows_place at) {", to, columns,
                  rows_part_width(p, piece), p->s, part_offset(p, piece));
    else
        emit_open(p->e, "%s = mlp_rows_pack%s<%s, %s, %" PRId64 "%s>(%s, [&](mlp_rows_place at) {", to,
                  relu ? "_relu" : "", number, columns, rows_part_width(p, piece), p->s, part_offset(p, piece));
    emit_element(p, relu);
    emit_close(p->e, "});");
}

const struct value *rows_port_value(const struct rows_printer *p, const struct rows_piece *piece)
{
    const struct plan *plan = p->plan;
    return &plan->values.at[piece->input >= 0 ? plan->inputs.at[piece->input].value
                                              : plan->outputs.at[piece->output].value];
}

static const char *tile_row(const struct rows_printer *p)
{
    return *p->t ? "row + 64 * t" : "row";
}

/* Stores the piece that the step has just made: its tensor where there is one, else straight what it computes. */
static void emit_store(const struct rows_printer *p, const struct rows_piece *piece)
{
    int64_t width = rows_in_parts(p, piece) ? rows_part_width(p, piece) : rows_padded(rows_shape_of(p->rows, piece));
    const char *columns = rows_columns_name(p, piece->shape);
    emit_open(p->e, "mlp_rows_store<%s, %" PRId64 ", %" PRId64 ", %" PRId64 "%s>(v%s, %s, rows, %s, "
              "[&](mlp_rows_place at) {", columns, rows_port_value(p, piece)->ld, piece->column, width, p->s,
              piece->name, tile_row(p), part_offset(p, piece));
    if (piece->readers)
        emit_line(p->e, "return %s[at];", rows_tensor_name(p, piece, p->part));
    else
        emit_element(p, false);
    emit_close(p->e, "});");
}

/* ---- Parameters in registers ---- */

void rows_each_param(const struct rows_printer *p, bool *seen,
                     void (*visit)(const struct rows_printer *p, const struct rows_param *param))
{
    for (size_t i = 0; i < p->step->tape.count; i++) {
        for (int j = p->step->tape.at[i].op == OP_LINEAR ? 2 : 0; j < 3; j++) {
            struct operand in = p->step->tape.at[i].in[j];
            if (in.kind != OPERAND_PARAM)
                continue;
            const struct rows_param *param = param_of(p, in);
            size_t index = (size_t)(param - p->rows->params.at);
            if (!seen[index])
                visit(p, param);
            seen[index] = true;
        }
    }
}

void emit_rows_param(const struct rows_printer *p, const struct rows_param *param)
{
    if (param->shape < 0) {
        emit_line(p->e, "const float b%s = *param_at(s_b%s);", param->name, param->name);
        return;
    }
    const char *columns = rows_columns_name(p, param->shape);
    if (p->part)
        emit_line(p->e, "const mlp_rows_param<%s, %" PRId64 "> b%s(param_at(s_b%s), %" PRId64 " * %s);", columns,
                  p->rows->shapes.at[param->shape].part, param->name, param->name,
                  p->rows->shapes.at[param->shape].part, p->part);
    else
        emit_line(p->e, "const mlp_rows_param<%s> b%s(param_at(s_b%s));", columns, param->name, param->name);
}

/* ---- Steps ---- */

void emit_rows_comment(const struct rows_printer *p, int index)
{
    emit_line(p->e, "/* %s */", cuda_step_comment(p->arena, p->plan, &p->plan->steps.at[index]));
}

static bool needs_scope(const struct rows_printer *p)
{
    enum op_kind kind = op_info[rows_last(p->step)->op].kind;
    return kind == KIND_ROW || kind == KIND_REDUCE || stretches(p);
}

/* Pieces of the step in the phase: tensors first, and once products run, what goes to memory. */
static void emit_piece(struct rows_printer p, int index, bool to_memory)
{
    const struct rows_piece *piece = rows_piece_of(p.rows, p.step->out, index);
    p.piece = index;
    if (to_memory ? piece->output < 0 : !piece->readers)
        return;
    bool computes = !to_memory || !piece->readers;
    bool scope = computes && needs_scope(&p);
    if (scope)
        emit_open(p.e, "{");
    if (computes)
        emit_rows_before(&p);
    if (to_memory)
        emit_store(&p, piece);
    else
        emit_rows_tensor(&p, piece);
    if (scope)
        emit_close(p.e, "}");
}

static void emit_piece_in_parts(struct rows_printer p, int index, bool to_memory)
{
    const struct rows_piece *piece = rows_piece_of(p.rows, p.step->out, index);
    if (to_memory ? piece->output < 0 : !piece->readers)
        return;
    p.piece = index;
    p.part = "i";
    emit_line(p.e, "#pragma unroll");
    emit_open(p.e, "for (int i = 0; i < %" PRId64 "; i++) {", rows_parts(rows_shape_of(p.rows, piece)));
    if (!to_memory || !piece->readers) {
        bool *seen = ARENA_ARRAY(p.arena, bool, p.rows->params.count + 1);
        rows_each_param(&p, seen, emit_rows_param);
        if (p.step->product)
            emit_line(p.e, "const auto part%s = mlp_rows_part<%" PRId64 ">(%s, %s);", piece->name,
                      rows_part_width(&p, piece), rows_sums_name(&p, piece), part_offset(&p, piece));
    }
    emit_piece(p, index, to_memory);
    emit_close(p.e, "}");
}

void emit_rows_step(struct rows_printer p, int index, bool to_memory)
{
    p.step = &p.plan->steps.at[index];
    for (int i = 0; i < p.rows->piece_count[p.step->out]; i++) {
        if (rows_in_parts(&p, rows_piece_of(p.rows, p.step->out, i)))
            emit_piece_in_parts(p, i, to_memory);
        else
            emit_piece(p, i, to_memory);
    }
}
