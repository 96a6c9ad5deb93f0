/* The kernel for many rows in NAME.cu: prints what rows.c decided. A loop over tiles of rows holds the network as a
 * straight line of phases; names say what a thing is: x_h the tensor h, sum_h the sums of its product, next_x rows
 * loaded ahead, w_fc1_weight a staged matrix, b_fc1_bias a staged row, v_x an array in memory, s_... a place in shared
 * memory. */
#include <inttypes.h>
#include <string.h>

#include "emit_cuda.h"
#include "emit_map.h"
#include "rows.h"
#include "whole.h"

static const char *const dtype_cuda[] = {
    [DTYPE_F32] = "float", [DTYPE_F16] = "__half", [DTYPE_BF16] = "__nv_bfloat16"};

struct printer {
    struct emitter *e;
    struct arena *arena;
    const struct plan *plan;
    const struct rows *rows;
    const char *t;                  /* "[t]" where a warpgroup has several tiles */
    const char *s;                  /* ", S" there */
    const char *number;             /* the network's type */
    /* What an expression is about: */
    const struct step *step;
    int piece;                      /* of the row on which it works */
    const char *part;               /* the index of the part, or NULL */
    bool chunked;                   /* in a phase that goes part by part */
};

/* ---- Names ---- */

static const char *columns_name(const struct printer *p, int index)
{
    const struct rows_shape *shape = &p->rows->shapes.at[index];
    const char *name = arena_format(p->arena, "%s_%" PRId64, shape->wide ? "wide" : "columns", shape->width);
    return shape->part ? arena_format(p->arena, "%s_by_%" PRId64, name, shape->part) : name;
}

static bool in_parts(const struct printer *p, const struct rows_piece *piece)
{
    return rows_shape_of(p->rows, piece)->part > 0;
}

static int64_t part_width(const struct printer *p, const struct rows_piece *piece)
{
    const struct rows_shape *shape = rows_shape_of(p->rows, piece);
    return shape->part ? shape->part : piece->dtype == DTYPE_F32 ? rows_padded(shape) : rows_depth(shape);
}

/* "mlp_rows_fragment<number, 64, S>" */
static const char *tensor_type(const struct printer *p, const struct rows_piece *piece)
{
    int64_t width = part_width(p, piece);
    if (piece->dtype == DTYPE_F32)
        return arena_format(p->arena, "mlp_rows_acc<%" PRId64 "%s>", width, p->s);
    return arena_format(p->arena, "mlp_rows_fragment<%s, %" PRId64 "%s>",
                        piece->dtype == p->plan->dtype ? "number" : dtype_cuda[piece->dtype], width, p->s);
}

/* Where the sums of a piece stand: "sum_h[t]". */
static const char *sums_name(const struct printer *p, const struct rows_piece *piece)
{
    return arena_format(p->arena, "sum%s%s", piece->name, p->t);
}

/* "x_h[t]"; of a tensor in parts "x_h[i]"; of one on its way into the product that reads it part by part "x_h[i % 2]",
 * since the product of the part before may still read that. */
static const char *tensor_name(const struct printer *p, const struct rows_piece *piece, const char *part)
{
    if (!in_parts(p, piece))
        return arena_format(p->arena, "x%s%s", piece->name, p->t);
    if (!piece->chunked)
        return arena_format(p->arena, "x%s[%s]", piece->name, part);
    bool operand = p->plan->steps.at[piece->last_reader].tape.at[0].op == OP_LINEAR;
    return operand ? arena_format(p->arena, "x%s[%s %% 2]", piece->name, part)
                   : arena_format(p->arena, "x%s", piece->name);
}

static const struct rows_param *param_of(const struct printer *p, struct operand operand)
{
    int row = rows_row_value(p->plan, p->step);
    if (rows_operand_width(p->plan, p->step, operand) < rows_width(p->plan, p->step))
        return rows_param_of(p->rows, operand.index, 0, -1);
    const struct rows_piece *piece = rows_piece_of(p->rows, row, p->piece);
    int64_t from = piece->column - p->plan->values.at[row].column;
    return rows_param_of(p->rows, operand.index, from, piece->shape);
}

/* ---- Expressions ---- */

static const char *value_text(const struct printer *p, int value)
{
    if (p->plan->values.at[value].width < rows_width(p->plan, p->step))
        return arena_format(p->arena, "row%s[at]", rows_piece_of(p->rows, value, 0)->name);
    return arena_format(p->arena, "%s[at]", tensor_name(p, rows_piece_of(p->rows, value, p->piece), p->part));
}

static const char *operand_text(const void *printer, struct operand operand)
{
    const struct printer *p = printer;
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

static const char *linear_text(const struct printer *p, const struct tape_op *op)
{
    const struct rows_piece *piece = rows_piece_of(p->rows, p->step->out, p->piece);
    const char *sums = p->part && !piece->chunked ? arena_format(p->arena, "part%s", piece->name)
                                                  : sums_name(p, piece);
    return op->in[2].kind == OPERAND_PARAM ? arena_format(p->arena, "%s[at] + %s", sums, operand_text(p, op->in[2]))
                                           : arena_format(p->arena, "%s[at]", sums);
}

/* What a norm does to its normalised elements. */
static const char *norm_text(const struct printer *p, const struct tape_op *op)
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
static const char *reduction_text(const struct printer *p, const struct tape_op *op)
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

static const char *expression(const struct printer *p, const struct tape_op *op)
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
static void emit_tape(const struct printer *p, size_t count, const char *result)
{
    size_t lines = result ? count : count - 1;
    for (size_t i = 0; i < lines; i++)
        emit_line(p->e, "const float t%zu = %s;", i, expression(p, &p->step->tape.at[i]));
    emit_line(p->e, "return %s;", result ? result : expression(p, &p->step->tape.at[count - 1]));
}

/* ---- What stands before a step ---- */

/* Values of one column as numbers that each thread of a row has. */
static void emit_stretched(const struct printer *p)
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
                      piece->name, *p->s ? "S" : "1", tensor_name(p, piece, "0"));
        }
    }
}

static bool stretches(const struct printer *p)
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

static void emit_row_operation(const struct printer *p)
{
    const struct tape_op *last = rows_last(p->step);
    const struct rows_piece *piece = rows_piece_of(p->rows, p->step->out, 0);
    const char *columns = columns_name(p, piece->shape);
    bool norm = last->op == OP_LAYERNORM || last->op == OP_RMSNORM;
    emit_open(p->e, "const auto plain%s = mlp_rows_make<%s, %s::padded%s>(0, [&](mlp_rows_place at) {", piece->name,
              columns, columns, p->s);
    emit_tape(p, p->step->tape.count - 1, operand_text(p, last->in[0]));
    emit_close(p->e, "});");
    emit_line(p->e, "const auto normal%s = mlp_rows_%s<%s>(plain%s%s);", piece->name, op_info[last->op].text, columns,
              piece->name, norm ? arena_format(p->arena, ", %s", emit_float(p->arena, last->attr[0])) : "");
}

static void emit_reduction(const struct printer *p)
{
    const struct tape_op *last = rows_last(p->step);
    int row = rows_row_value(p->plan, p->step);
    struct printer inner = *p;
    for (int i = 0; i < p->rows->piece_count[row]; i++) {
        inner.piece = i;
        emit_open(p->e, "const auto total%d%s = mlp_rows_sum<%s%s>([&](mlp_rows_place at) {", i,
                  rows_piece_of(p->rows, p->step->out, 0)->name,
                  columns_name(p, rows_piece_of(p->rows, row, i)->shape), p->s);
        emit_tape(&inner, p->step->tape.count - 1, emit_map(p->arena, last, operand_text, &inner));
        emit_close(p->e, "});");
    }
}

static void emit_before(const struct printer *p)
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
static void emit_element(const struct printer *p, bool relu)
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

static const char *part_offset(const struct printer *p, const struct rows_piece *piece)
{
    return p->part ? arena_format(p->arena, "%" PRId64 " * %s", rows_shape_of(p->rows, piece)->part, p->part) : "0";
}

/* x_h = ..., rounded to what is stored. */
static void emit_tensor(const struct printer *p, const struct rows_piece *piece)
{
    bool relu = piece->dtype != DTYPE_F32 && ends_in_relu(p->step);
    const char *columns = columns_name(p, piece->shape), *to = tensor_name(p, piece, p->part);
    bool local = piece->chunked && !strchr(to, '[');
    to = local ? arena_format(p->arena, "const auto %s", to) : to;
    if (piece->dtype == DTYPE_F32)
        emit_open(p->e, "%s = mlp_rows_make<%s, %" PRId64 "%s>(%s, [&](mlp_rows_place at) {", to, columns,
                  part_width(p, piece), p->s, part_offset(p, piece));
    else
        emit_open(p->e, "%s = mlp_rows_pack%s<%s, %s, %" PRId64 "%s>(%s, [&](mlp_rows_place at) {", to,
                  relu ? "_relu" : "", piece->dtype == p->plan->dtype ? "number" : dtype_cuda[piece->dtype], columns,
                  part_width(p, piece), p->s, part_offset(p, piece));
    emit_element(p, relu);
    emit_close(p->e, "});");
}

/* The place in memory of an input's or output's piece, and what the address says of its alignment. */
static const struct value *port_value(const struct printer *p, const struct rows_piece *piece)
{
    const struct plan *plan = p->plan;
    return &plan->values.at[piece->input >= 0 ? plan->inputs.at[piece->input].value
                                              : plan->outputs.at[piece->output].value];
}

static const char *tile_row(const struct printer *p)
{
    return *p->t ? "row + 64 * t" : "row";
}

/* Stores the piece that the step has just made: its tensor where there is one, else straight what it computes. */
static void emit_store(const struct printer *p, const struct rows_piece *piece)
{
    int64_t width = in_parts(p, piece) ? part_width(p, piece) : rows_padded(rows_shape_of(p->rows, piece));
    emit_open(p->e, "mlp_rows_store<%s, %" PRId64 ", %" PRId64 ", %" PRId64 "%s>(v%s, %s, rows, %s, "
              "[&](mlp_rows_place at) {", columns_name(p, piece->shape), port_value(p, piece)->ld, piece->column, width,
              p->s, piece->name, tile_row(p), part_offset(p, piece));
    if (piece->readers)
        emit_line(p->e, "return %s[at];", tensor_name(p, piece, p->part));
    else
        emit_element(p, false);
    emit_close(p->e, "});");
}

/* ---- Parameters in registers ---- */

/* Calls visit(p, param) for each row beside the piece that p is about, once. */
static void each_param(const struct printer *p, bool *seen,
                       void (*visit)(const struct printer *p, const struct rows_param *param))
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

static void emit_param(const struct printer *p, const struct rows_param *param)
{
    if (param->shape < 0) {
        emit_line(p->e, "const float b%s = *param_at(s_b%s);", param->name, param->name);
        return;
    }
    const char *columns = columns_name(p, param->shape);
    if (p->part)
        emit_line(p->e, "const mlp_rows_param<%s, %" PRId64 "> b%s(param_at(s_b%s), %" PRId64 " * %s);", columns,
                  p->rows->shapes.at[param->shape].part, param->name, param->name,
                  p->rows->shapes.at[param->shape].part, p->part);
    else
        emit_line(p->e, "const mlp_rows_param<%s> b%s(param_at(s_b%s));", columns, param->name, param->name);
}

/* ---- Steps ---- */

static void emit_step_comment(const struct printer *p, int index)
{
    emit_line(p->e, "/* %s */", cuda_step_comment(p->arena, p->plan, &p->plan->steps.at[index]));
}

static bool needs_scope(const struct printer *p)
{
    enum op_kind kind = op_info[rows_last(p->step)->op].kind;
    return kind == KIND_ROW || kind == KIND_REDUCE || stretches(p);
}

/* Pieces of the step in the phase: tensors first, and once products run, what goes to memory. */
static void emit_piece(struct printer p, int index, bool to_memory)
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
        emit_before(&p);
    if (to_memory)
        emit_store(&p, piece);
    else
        emit_tensor(&p, piece);
    if (scope)
        emit_close(p.e, "}");
}

static void emit_piece_in_parts(struct printer p, int index, bool to_memory)
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
        each_param(&p, seen, emit_param);
        if (p.step->product)
            emit_line(p.e, "const auto part%s = mlp_rows_part<%" PRId64 ">(%s, %s);", piece->name,
                      part_width(&p, piece), sums_name(&p, piece), part_offset(&p, piece));
    }
    emit_piece(p, index, to_memory);
    emit_close(p.e, "}");
}

static void emit_step(struct printer p, int index, bool to_memory)
{
    p.step = &p.plan->steps.at[index];
    for (int i = 0; i < p.rows->piece_count[p.step->out]; i++) {
        if (in_parts(&p, rows_piece_of(p.rows, p.step->out, i)))
            emit_piece_in_parts(p, i, to_memory);
        else
            emit_piece(p, i, to_memory);
    }
}

/* ---- Products ---- */

static const struct rows_weight *weight_of(const struct printer *p, const struct step *step,
                                           const struct rows_piece *out, const struct rows_piece *in)
{
    const struct tape_op *linear = &step->tape.at[0];
    return rows_weight_of(p->rows, linear->in[1].index, out->column - p->plan->values.at[step->out].column,
                          in->column - p->plan->values.at[linear->in[0].index].column, out->shape, in->shape);
}

/* sum_h (+)= x W': of columns from `n` on, where the sums are but a part of them. */
static void emit_product(const struct printer *p, int index, const char *n)
{
    const struct step *step = &p->plan->steps.at[index];
    int operand = step->tape.at[0].in[0].index;
    for (int i = 0; i < p->rows->piece_count[step->out]; i++) {
        const struct rows_piece *out = rows_piece_of(p->rows, step->out, i);
        for (int j = 0; j < p->rows->piece_count[operand]; j++) {
            const struct rows_piece *in = rows_piece_of(p->rows, operand, j);
            const struct rows_weight *weight = weight_of(p, step, out, in);
            const char *call = arena_format(p->arena, "backend::product<w%s>(%s, ", weight->name, sums_name(p, out));
            if (in_parts(p, in)) {
                int64_t part = rows_shape_of(p->rows, in)->part;
                emit_line(p->e, "#pragma unroll");
                emit_open(p->e, "for (int k = 0; k < %" PRId64 "; k++)", rows_parts(rows_shape_of(p->rows, in)));
                emit_line(p->e, "%s%s, memory, s_w%s, %s, %s, %" PRId64 " * k);", call, tensor_name(p, in, "k"),
                          weight->name, j ? "true" : "k > 0", n, part);
                p->e->depth--;
            } else {
                emit_line(p->e, "%s%s, memory, s_w%s, %s%s);", call, tensor_name(p, in, "0"), weight->name,
                          j ? "true" : "false", strcmp(n, "0") ? arena_format(p->arena, ", %s", n) : "");
            }
        }
    }
}

/* "x_a, x_b[0], x_b[1]": what the products read. */
static const char *operands_of(const struct printer *p, const int *steps, size_t count)
{
    const char *text = "";
    bool *seen = ARENA_ARRAY(p->arena, bool, p->rows->pieces.count + 1);
    for (size_t s = 0; s < count; s++) {
        int value = p->plan->steps.at[steps[s]].tape.at[0].in[0].index;
        for (int i = 0; i < p->rows->piece_count[value]; i++) {
            const struct rows_piece *piece = rows_piece_of(p->rows, value, i);
            if (seen[piece - p->rows->pieces.at])
                continue;
            seen[piece - p->rows->pieces.at] = true;
            for (int64_t k = 0; k < rows_parts(rows_shape_of(p->rows, piece)); k++)
                text = arena_format(p->arena, "%s%s%s", text, *text ? ", " : "",
                                    tensor_name(p, piece, arena_format(p->arena, "%" PRId64, k)));
        }
    }
    return text;
}

static void emit_starts(const struct printer *p, const struct rows_phase *phase, const char *n)
{
    if (!phase->starts.count)
        return;
    emit_line(p->e, "backend::begin(%s);", operands_of(p, phase->starts.at, phase->starts.count));
    for (size_t i = 0; i < phase->starts.count; i++)
        emit_product(p, phase->starts.at[i], n);
    emit_line(p->e, "backend::commit();");
}

static const char *sums_of(const struct printer *p, const int *steps, size_t count)
{
    const char *text = "";
    for (size_t s = 0; s < count; s++) {
        int out = p->plan->steps.at[steps[s]].out;
        for (int i = 0; i < p->rows->piece_count[out]; i++)
            text = arena_format(p->arena, "%s, %s", text, sums_name(p, rows_piece_of(p->rows, out, i)));
    }
    return text;
}

/* ---- Rows in memory ---- */

static bool is_loaded(const struct rows_piece *piece)
{
    return piece->input >= 0 && piece->readers;
}

static const char *array_of(const struct printer *p, const struct rows_piece *piece)
{
    if (in_parts(p, piece))
        return arena_format(p->arena, "[%" PRId64 "]", rows_parts(rows_shape_of(p->rows, piece)));
    return *p->t ? "[T]" : "";
}

/* Tensors of the inputs: `to` is "next" or "x". */
static void emit_load(const struct printer *p, const struct rows_piece *piece, const char *to, const char *row)
{
    const char *column = piece->column ? arena_format(p->arena, ", %" PRId64, piece->column) : "";
    const char *load = arena_format(p->arena, "mlp_rows_load<%s, %" PRId64 "%s>", columns_name(p, piece->shape),
                                    port_value(p, piece)->ld, column);
    if (in_parts(p, piece)) {
        emit_line(p->e, "#pragma unroll");
        emit_line(p->e, "for (int i = 0; i < %" PRId64 "; i++)", rows_parts(rows_shape_of(p->rows, piece)));
        emit_line(p->e, "    %s(%s%s[i], v%s, %s, rows, %" PRId64 " * i);", load, to, piece->name, piece->name, row,
                  part_width(p, piece));
    } else {
        emit_line(p->e, "%s(%s%s%s, v%s, %s, rows);", load, to, piece->name, p->t, piece->name, row);
    }
}

static void open_tiles(const struct printer *p)
{
    if (!*p->t)
        return;
    emit_line(p->e, "#pragma unroll");
    emit_open(p->e, "for (int t = 0; t < T; t++) {");
}

static void close_tiles(const struct printer *p)
{
    if (*p->t)
        emit_close(p->e, "}");
}

static bool any_input(const struct printer *p)
{
    bool any = false;
    for (size_t i = 0; i < p->rows->pieces.count; i++)
        any |= is_loaded(&p->rows->pieces.at[i]);
    return any;
}

static void emit_loads(const struct printer *p, const char *to, const char *row)
{
    if (!any_input(p))
        return;
    open_tiles(p);
    for (size_t i = 0; i < p->rows->pieces.count; i++) {
        if (is_loaded(&p->rows->pieces.at[i]))
            emit_load(p, &p->rows->pieces.at[i], to,
                      *p->t ? arena_format(p->arena, "%s + 64 * t", row) : row);
    }
    close_tiles(p);
}

static void emit_take(const struct printer *p)
{
    for (size_t i = 0; i < p->rows->pieces.count; i++) {
        const struct rows_piece *piece = &p->rows->pieces.at[i];
        if (!is_loaded(piece))
            continue;
        if (in_parts(p, piece)) {
            emit_line(p->e, "#pragma unroll");
            emit_line(p->e, "for (int i = 0; i < %" PRId64 "; i++)", rows_parts(rows_shape_of(p->rows, piece)));
            emit_line(p->e, "    x%s[i] = mlp_rows_take(next%s[i], rows);", piece->name, piece->name);
        } else {
            emit_line(p->e, "x%s%s = mlp_rows_take(next%s%s, rows);", piece->name, p->t, piece->name, p->t);
        }
    }
}

static void emit_next(const struct printer *p)
{
    if (p->rows->ahead)
        emit_loads(p, "next", "row + stride");
}

/* ---- Phases ---- */

static void emit_phase_comments(const struct printer *p, const struct rows_phase *phase)
{
    for (size_t i = 0; i < phase->steps.count; i++)
        emit_step_comment(p, phase->steps.at[i]);
    for (size_t i = 0; i < phase->starts.count && phase->kind == ROWS_PLAIN && !phase->steps.count; i++)
        emit_step_comment(p, phase->starts.at[i]);
}

/* Rows of parameters that the phase reads whole, before it waits; each is there for all tiles. */
static void emit_phase_params(struct printer p, const struct rows_phase *phase)
{
    bool *seen = ARENA_ARRAY(p.arena, bool, p.rows->params.count + 1);
    for (size_t i = 0; i < phase->steps.count; i++) {
        p.step = &p.plan->steps.at[phase->steps.at[i]];
        int row = rows_row_value(p.plan, p.step);
        for (p.piece = 0; p.piece < p.rows->piece_count[row]; p.piece++) {
            if (!in_parts(&p, rows_piece_of(p.rows, row, p.piece)))
                each_param(&p, seen, emit_param);
        }
    }
}

/* Groups of products that are younger than those waited for: of the tiles behind this one, and, where this phase
 * starts products too, of those before it. */
static const char *pending_groups(const struct printer *p, const struct rows_phase *phase)
{
    if (!*p->t)
        return "0";
    return phase->starts.count ? "T - 1" : "T - 1 - t";
}

static void emit_plain(const struct printer *p, const struct rows_phase *phase, bool first)
{
    emit_phase_params(*p, phase);
    if (first && !p->rows->ahead)
        emit_loads(p, "x", "row");
    open_tiles(p);
    if (first && p->rows->ahead)
        emit_take(p);
    if (phase->waits.count)
        emit_line(p->e, "backend::wait(%s%s);", pending_groups(p, phase),
                  sums_of(p, phase->waits.at, phase->waits.count));
    for (size_t i = 0; i < phase->steps.count; i++)
        emit_step(*p, phase->steps.at[i], false);
    emit_starts(p, phase, "0");
    for (size_t i = 0; i < phase->steps.count; i++)
        emit_step(*p, phase->steps.at[i], true);
    close_tiles(p);
    if (first)
        emit_next(p);
}

/* The piece that the consumer reads part by part. */
static const struct rows_piece *consumed(const struct printer *p, const struct rows_phase *phase)
{
    return rows_piece_of(p->rows, p->plan->steps.at[phase->consumer].tape.at[0].in[0].index, 0);
}

static const struct rows_weight *streamed_weight(const struct printer *p)
{
    for (size_t i = 0; i < p->rows->weights.count; i++) {
        if (p->rows->weights.at[i].streamed)
            return &p->rows->weights.at[i];
    }
    return NULL;
}

/* Chunks of the ring become free when the product that read them is finished: two parts later. */
static void emit_release(const struct printer *p)
{
    emit_line(p->e, "if (i - 2 >= resident)");
    emit_line(p->e, "    ring.release(chunk + i - 2 - resident);");
}

static void emit_last_releases(const struct printer *p, int64_t parts)
{
    for (int64_t i = parts - 2; i < parts; i++) {
        if (i >= p->rows->resident)
            emit_line(p->e, "ring.release(chunk + %" PRId64 ");", i - p->rows->resident);
    }
}

static void emit_streamed_place(const struct printer *p, const struct rows_weight *weight)
{
    emit_line(p->e, "int place = s_w%s + i * w%s::bytes;", weight->name, weight->name);
    emit_open(p->e, "if (i >= resident) {");
    emit_line(p->e, "ring.wait(chunk + i - resident);");
    emit_line(p->e, "place = s_ring + int((chunk + i - resident) %% stages) * w%s::bytes;", weight->name);
    emit_close(p->e, "}");
}

/* The consumer's product with the part at hand. */
static void emit_consumer(const struct printer *p, const struct rows_phase *phase, const struct rows_piece *in)
{
    const struct step *step = &p->plan->steps.at[phase->consumer];
    const char *operand = tensor_name(p, in, "i");
    int64_t part = rows_shape_of(p->rows, in)->part;
    if (weight_of(p, step, rows_piece_of(p->rows, step->out, 0), in)->streamed)
        emit_streamed_place(p, streamed_weight(p));
    emit_line(p->e, "backend::begin(%s);", operand);
    for (int i = 0; i < p->rows->piece_count[step->out]; i++) {
        const struct rows_piece *out = rows_piece_of(p->rows, step->out, i);
        const struct rows_weight *weight = weight_of(p, step, out, in);
        if (weight->streamed)
            emit_line(p->e, "backend::product<w%s>(%s, %s, memory, place, i > 0);", weight->name, sums_name(p, out),
                      operand);
        else
            emit_line(p->e, "backend::product<w%s>(%s, %s, memory, s_w%s, i > 0, 0, %" PRId64 " * i);", weight->name,
                      sums_name(p, out), operand, weight->name, part);
    }
    emit_line(p->e, "backend::commit();");
}

/* The steps of a wide layer for the part i. */
static void emit_part_steps(struct printer p, const struct rows_phase *phase)
{
    p.part = "i";
    for (size_t i = 0; i < phase->steps.count; i++) {
        p.step = &p.plan->steps.at[phase->steps.at[i]];
        for (p.piece = 0; p.piece < p.rows->piece_count[p.step->out]; p.piece++) {
            emit_before(&p);
            emit_tensor(&p, rows_piece_of(p.rows, p.step->out, p.piece));
        }
    }
}

static void emit_part_params(struct printer p, const struct rows_phase *phase)
{
    bool *seen = ARENA_ARRAY(p.arena, bool, p.rows->params.count + 1);
    p.part = "i";
    for (size_t i = 0; i < phase->steps.count; i++) {
        p.step = &p.plan->steps.at[phase->steps.at[i]];
        for (p.piece = 0; p.piece < p.rows->piece_count[p.step->out]; p.piece++)
            each_param(&p, seen, emit_param);
    }
}

static void emit_chunked(const struct printer *p, const struct rows_phase *phase, bool first)
{
    const struct rows_piece *piece = consumed(p, phase);
    const struct rows_shape *shape = rows_shape_of(p->rows, piece);
    int64_t parts = rows_parts(shape);
    bool ring = weight_of(p, &p->plan->steps.at[phase->consumer],
                          rows_piece_of(p->rows, p->plan->steps.at[phase->consumer].out, 0), piece)->streamed;
    if (first && p->rows->ahead)
        emit_take(p);
    else if (first)
        emit_loads(p, "x", "row");
    emit_starts(p, phase, "0");
    if (first)
        emit_next(p);
    emit_step_comment(p, phase->consumer);
    emit_line(p->e, "#pragma unroll");
    emit_open(p->e, "for (int i = 0; i < %" PRId64 "; i++) {", parts);
    emit_part_params(*p, phase);
    emit_line(p->e, "backend::wait(i > 0%s);", sums_of(p, phase->starts.at, phase->starts.count));
    if (ring)
        emit_release(p);
    emit_part_steps(*p, phase);
    emit_open(p->e, "if (i + 1 < %" PRId64 ") {", parts);
    emit_line(p->e, "backend::begin(%s);", tensor_name(p, piece, "i"));
    for (size_t i = 0; i < phase->starts.count; i++)
        emit_product(p, phase->starts.at[i], arena_format(p->arena, "%" PRId64 " * (i + 1)", shape->part));
    emit_line(p->e, "backend::commit();");
    emit_close(p->e, "}");
    emit_consumer(p, phase, piece);
    emit_close(p->e, "}");
    if (ring) {
        emit_line(p->e, "backend::wait(0%s);", sums_of(p, &phase->consumer, 1));
        emit_last_releases(p, parts);
    }
}

static void emit_by_parts(const struct printer *p, const struct rows_phase *phase)
{
    const struct rows_piece *piece = consumed(p, phase);
    const struct rows_shape *shape = rows_shape_of(p->rows, piece);
    emit_line(p->e, "backend::wait(0%s);", sums_of(p, phase->waits.at, phase->waits.count));
    emit_step_comment(p, phase->consumer);
    emit_line(p->e, "#pragma unroll");
    emit_open(p->e, "for (int i = 0; i < %" PRId64 "; i++) {", rows_parts(shape));
    emit_part_params(*p, phase);
    emit_line(p->e, "const auto part%s = mlp_rows_part<%" PRId64 ">(%s, %" PRId64 " * i);", piece->name, shape->part,
              sums_name(p, piece), shape->part);
    emit_part_steps(*p, phase);
    emit_consumer(p, phase, piece);
    emit_close(p->e, "}");
}

static void emit_phase(const struct printer *p, const struct rows_phase *phase, bool first)
{
    emit_phase_comments(p, phase);
    switch (phase->kind) {
    case ROWS_PLAIN:
        emit_plain(p, phase, first);
        break;
    case ROWS_CHUNKED:
        emit_chunked(p, phase, first);
        break;
    case ROWS_PARTS:
        emit_by_parts(p, phase);
        break;
    }
}

/* ---- The kernel ---- */

static void emit_column_types(const struct printer *p)
{
    for (size_t i = 0; i < p->rows->pieces.count; i++) {
        int index = p->rows->pieces.at[i].shape;
        const struct rows_shape *shape = &p->rows->shapes.at[index];
        const char *name = columns_name(p, index);
        bool first = true;
        for (size_t j = 0; j < i; j++)
            first &= strcmp(columns_name(p, p->rows->pieces.at[j].shape), name) != 0;
        if (!first)
            continue;
        const char *part = shape->part ? arena_format(p->arena, ", %s, %" PRId64, shape->wide ? "true" : "false",
                                                      shape->part) : shape->wide ? ", true" : "";
        emit_line(p->e, "using %s = mlp_rows_columns<%" PRId64 "%s>;", name, shape->width, part);
    }
}

static void emit_weight_types(const struct printer *p)
{
    for (size_t i = 0; i < p->rows->weights.count; i++) {
        const struct rows_weight *weight = &p->rows->weights.at[i];
        const char *in = weight->streamed ? arena_format(p->arena, "mlp_rows_columns<%" PRId64 ">",
                                                         p->rows->shapes.at[weight->in].part)
                                          : columns_name(p, weight->in);
        emit_line(p->e, "using w%s = mlp_rows_weight<number, %s, %s>;%s", weight->name, columns_name(p, weight->out),
                  in, weight->streamed ? "    /* one chunk */" : "");
    }
    emit_blank(p->e);
}

static void emit_shared_places(const struct printer *p)
{
    const struct rows *rows = p->rows;
    emit_line(p->e, "/* Places in shared memory. */");
    for (size_t i = 0; i < rows->weights.count; i++)
        emit_line(p->e, "constexpr int s_w%s = %" PRId64 ";", rows->weights.at[i].name, rows->weights.at[i].place);
    for (size_t i = 0; i < rows->params.count; i++)
        emit_line(p->e, "constexpr int s_b%s = %" PRId64 ";", rows->params.at[i].name, rows->params.at[i].place);
    if (rows->stages) {
        const struct rows_weight *weight = streamed_weight(p);
        emit_line(p->e, "constexpr int resident = %d, stages = %d;   /* chunks that stay, and buffers for the others */",
                  rows->resident, rows->stages);
        emit_line(p->e, "constexpr int s_ring = s_w%s + resident * w%s::bytes, s_barriers = %" PRId64 ";", weight->name,
                  weight->name, rows->barriers);
    }
    emit_line(p->e, "constexpr int shared_bytes = %" PRId64 ";", rows->shared_bytes);
    emit_blank(p->e);
}

static const char *weight_source(const struct printer *p, const struct rows_weight *weight)
{
    const struct packed *packed = &p->plan->params.at[weight->param];
    int64_t offset = packed->offset + weight->row * packed->ld * (int64_t)dtype_size(packed->dtype);
    return arena_format(p->arena, "arena + WEIGHTS + %" PRId64, offset);
}

static void emit_stage_weight(const struct printer *p, const struct rows_weight *weight)
{
    int64_t ld = p->plan->params.at[weight->param].ld;
    if (weight->streamed) {
        emit_line(p->e, "const number *const chunks = reinterpret_cast<const number *>(%s);", weight_source(p, weight));
        emit_line(p->e, "for (int i = 0; i < resident; i++)");
        emit_line(p->e, "    w%s::stage<%" PRId64 ">(shared + s_w%s + i * w%s::bytes, chunks + %" PRId64
                  " * i, thread, threads);", weight->name, ld, weight->name, weight->name,
                  p->rows->shapes.at[weight->in].part);
    } else {
        const char *column = weight->column ? arena_format(p->arena, ", %" PRId64, weight->column) : "";
        emit_line(p->e, "w%s::stage<%" PRId64 "%s>(shared + s_w%s, %s, thread, threads);", weight->name, ld, column,
                  weight->name, weight_source(p, weight));
    }
}

static void emit_stage_param(const struct printer *p, const struct rows_param *param)
{
    const struct packed *packed = &p->plan->params.at[param->param];
    int64_t offset = packed->offset + param->from * (int64_t)dtype_size(packed->dtype);
    const char *columns = param->shape < 0 ? "mlp_rows_columns<1>" : columns_name(p, param->shape);
    emit_line(p->e, "mlp_rows_stage_param<%s, %s>(param_at(s_b%s), arena + WEIGHTS + %" PRId64 ", thread, threads);",
              columns, dtype_cuda[packed->dtype], param->name, offset);
}

static void emit_staging(const struct printer *p)
{
    for (size_t i = 0; i < p->rows->weights.count; i++)
        emit_stage_weight(p, &p->rows->weights.at[i]);
    for (size_t i = 0; i < p->rows->params.count; i++)
        emit_stage_param(p, &p->rows->params.at[i]);
}

static void emit_pointers(const struct printer *p)
{
    for (size_t i = 0; i < p->rows->pieces.count; i++) {
        const struct rows_piece *piece = &p->rows->pieces.at[i];
        if (!is_loaded(piece) && piece->output < 0)
            continue;
        const struct value *value = port_value(p, piece);
        struct value at = *value;
        at.column = piece->column;
        const char *type = arena_format(p->arena, "%s%s", piece->output < 0 ? "const " : "", dtype_cuda[value->dtype]);
        emit_line(p->e, "%s *const v%s = reinterpret_cast<%s *>(arena + %s); /* ld %" PRId64 " */", type, piece->name,
                  type, cuda_place(p->arena, p->plan, &at), value->ld);
    }
}

/* Arrays for all parts; of what is on its way into a product, for two. */
static const char *declared_array(const struct printer *p, const struct rows_piece *piece)
{
    return piece->chunked ? "[2]" : array_of(p, piece);
}

static void emit_tensors(const struct printer *p)
{
    for (size_t i = 0; i < p->rows->pieces.count; i++) {
        const struct rows_piece *piece = &p->rows->pieces.at[i];
        bool local = piece->chunked && !strchr(tensor_name(p, piece, "i"), '[');
        if (piece->readers && !local)
            emit_line(p->e, "%s x%s%s;", tensor_type(p, piece), piece->name, declared_array(p, piece));
    }
}

static void emit_sums(const struct printer *p)
{
    for (size_t i = 0; i < p->plan->steps.count; i++) {
        const struct step *step = &p->plan->steps.at[i];
        for (int j = 0; step->product && j < p->rows->piece_count[step->out]; j++) {
            const struct rows_piece *piece = rows_piece_of(p->rows, step->out, j);
            const struct rows_shape *shape = rows_shape_of(p->rows, piece);
            emit_line(p->e, "mlp_rows_acc<%" PRId64 "%s> sum%s%s;", piece->chunked ? shape->part : rows_padded(shape),
                      p->s, piece->name, *p->t ? "[T]" : "");
        }
    }
}

static void emit_first_rows(const struct printer *p)
{
    if (!p->rows->ahead)
        return;
    for (size_t i = 0; i < p->rows->pieces.count; i++) {
        const struct rows_piece *piece = &p->rows->pieces.at[i];
        if (is_loaded(piece))
            emit_line(p->e, "%s next%s%s;", tensor_type(p, piece), piece->name, array_of(p, piece));
    }
    emit_loads(p, "next", "row");
}

static void emit_body(const struct printer *p)
{
    emit_tensors(p);
    emit_sums(p);
    for (size_t i = 0; i < p->rows->phases.count; i++) {
        emit_blank(p->e);
        emit_open(p->e, "{");
        emit_phase(p, &p->rows->phases.at[i], i == 0);
        emit_close(p->e, "}");
    }
}

/* One warpgroup keeps the ring filled; the others compute. */
static void emit_writer(const struct printer *p)
{
    const struct rows_weight *weight = streamed_weight(p);
    int64_t part = p->rows->shapes.at[weight->in].part, chunks = rows_parts(&p->rows->shapes.at[weight->in]);
    emit_line(p->e, "constexpr unsigned streamed = %" PRId64 " - resident;     /* chunks a tile */", chunks);
    emit_line(p->e, "const unsigned tiles = unsigned((rows + 64 * groups - 1) / (64 * groups));");
    emit_line(p->e, "const unsigned mine = (tiles - blockIdx.x + gridDim.x - 1) / gridDim.x;");
    emit_open(p->e, "if (thread >= 128 * groups) {");
    emit_line(p->e, "mlp_rows_fewer_registers<%d>();", ROWS_WRITER_REGISTERS);
    emit_line(p->e, "unsigned from = resident;");
    emit_open(p->e, "ring.write(mine * streamed, [&](unsigned, unsigned stage) {");
    emit_line(p->e, "w%s::stage_async<%" PRId64 ">(shared + s_ring + stage * w%s::bytes, chunks + %" PRId64
              " * from, thread - 128 * groups,", weight->name, p->plan->params.at[weight->param].ld, weight->name, part);
    emit_line(p->e, "    128);");
    emit_line(p->e, "from = from == %" PRId64 " ? resident : from + 1;", chunks - 1);
    emit_close(p->e, "});");
    emit_line(p->e, "return;");
    emit_close(p->e, "}");
    emit_line(p->e, "mlp_rows_more_registers<%d>();", ROWS_READER_REGISTERS);
    emit_blank(p->e);
}

static void emit_ring_loop(const struct printer *p)
{
    emit_writer(p);
    emit_pointers(p);
    emit_line(p->e, "const int64_t stride = int64_t(gridDim.x) * 64 * groups;");
    emit_line(p->e, "int64_t row = int64_t(blockIdx.x) * 64 * groups + thread / 128 * 64;");
    emit_line(p->e, "unsigned chunk = 0;");
    emit_first_rows(p);
    emit_blank(p->e);
    emit_line(p->e, "#pragma unroll 1");
    emit_open(p->e, "for (unsigned tile = 0; tile < mine; tile++, row += stride, chunk += streamed) {");
    emit_body(p);
    emit_close(p->e, "}");
}

static void emit_loop(const struct printer *p)
{
    emit_pointers(p);
    emit_line(p->e, "const int64_t stride = int64_t(gridDim.x) * groups * %d;", p->rows->tiles * ROWS_TILE);
    emit_line(p->e, "int64_t row = (int64_t(thread / 128) * gridDim.x + blockIdx.x) * %d;", p->rows->tiles * ROWS_TILE);
    emit_first_rows(p);
    emit_line(p->e, "mlp_rows_staged();");
    emit_blank(p->e);
    emit_line(p->e, "#pragma unroll 1");
    emit_open(p->e, "for (; row < rows; row += stride) {");
    emit_body(p);
    emit_close(p->e, "}");
}

static void emit_head(const struct printer *p)
{
    emit_line(p->e, "using shape = mlp_rows_shape<mlp_rows_wgmma, %d>;", p->rows->tiles);
    emit_line(p->e, "using backend = shape::backend;");
    if (*p->t)
        emit_line(p->e, "constexpr int T = shape::tiles, S = shape::slabs;");
    emit_line(p->e, "extern __shared__ __align__(1024) unsigned char shared[];");
    emit_line(p->e, "const unsigned memory = mlp_rows_address(shared);");
    emit_line(p->e, "const int thread = int(threadIdx.x);");
    if (p->rows->params.count)
        emit_line(p->e, "const auto param_at = [&](int place) { return reinterpret_cast<float *>(shared + place); };");
    emit_blank(p->e);
}

static void emit_kernel(const struct printer *p)
{
    emit_line(p->e, "static __global__ void __launch_bounds__(threads, 1) kernel(unsigned char *arena, int64_t rows)");
    emit_open(p->e, "{");
    emit_head(p);
    if (p->rows->stages) {
        emit_line(p->e, "const mlp_rows_ring<stages, 4 * groups> ring(shared + s_barriers);");
        emit_line(p->e, "if (thread == 0)");
        emit_line(p->e, "    ring.start();");
    }
    emit_staging(p);
    if (p->rows->stages)
        emit_line(p->e, "mlp_rows_staged();");
    emit_blank(p->e);
    if (p->rows->stages)
        emit_ring_loop(p);
    else
        emit_loop(p);
    emit_close(p->e, "}");
    emit_blank(p->e);
}

static void emit_rows_launcher(const struct printer *p)
{
    emit_line(p->e, "extern \"C\" MLP_HIDDEN int %s_rows(unsigned char *arena, int64_t rows, void *stream)",
              p->plan->prefix);
    emit_open(p->e, "{");
    emit_line(p->e, "return mlp_rows_start(rows_kernel::kernel, rows_kernel::threads, rows_kernel::shared_bytes, %d,",
              (p->rows->stages ? p->rows->groups : p->rows->tiles) * ROWS_TILE);
    emit_line(p->e, "                      arena, rows, stream);");
    emit_close(p->e, "}");
    emit_blank(p->e);
}

void emit_cuda_rows(struct emitter *e, const struct plan *plan)
{
    const struct rows *rows = rows_decide(plan);
    struct printer p = {.e = e, .arena = e->arena, .plan = plan, .rows = rows};
    p.number = dtype_cuda[plan->dtype];
    p.t = rows->tiles > 1 ? "[t]" : "";
    p.s = rows->tiles > 1 ? ", S" : "";
    emit_line(e, "/* ---- The whole network for many rows, which stay in registers from the inputs to the outputs ---- */");
    emit_blank(e);
    emit_line(e, "#include \"mlp_rows.cuh\"");
    emit_blank(e);
    emit_line(e, "namespace rows_kernel {");
    emit_blank(e);
    emit_line(e, "using number = %s;", p.number);
    emit_column_types(&p);
    emit_weight_types(&p);
    emit_line(e, "/* Warpgroups that compute%s. */", rows->stages ? ", beside one that fetches weights" : "");
    emit_line(e, "constexpr int groups = %d, threads = %d;", rows->groups,
              (rows->groups + (rows->stages > 0)) * ROWS_GROUP_THREADS);
    emit_shared_places(&p);
    emit_kernel(&p);
    emit_line(e, "}");
    emit_blank(e);
    emit_rows_launcher(&p);
}
