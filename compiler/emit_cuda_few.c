/* NAME.cu: the whole network for 1 to 16 rows as one kernel of mlp_few.cuh, from the decisions of few.h. Each batch
 * size has a namespace of its own: types that say what stands where, the kernel, and behind it the launch function. */
#include <inttypes.h>
#include <string.h>

#include "emit_cuda.h"
#include "emit_map.h"
#include "few.h"
#include "whole.h"

static const char *const dtype_cuda[] = {
    [DTYPE_F32] = "float", [DTYPE_F16] = "__half", [DTYPE_BF16] = "__nv_bfloat16"};

struct printer {
    struct emitter *e;
    const struct few *few;
    /* the step that is being printed */
    int step;
    const struct few_layer *layer;  /* that computes it, or NULL */
    int place;                      /* among the layer's steps */
};

/* ---- Short ways ---- */

static const struct value *value_at(const struct printer *p, int index)
{
    return &p->few->plan->values.at[index];
}

static const struct step *step_at(const struct printer *p, int index)
{
    return &p->few->plan->steps.at[index];
}

static const struct packed *param_at(const struct printer *p, int index)
{
    return &p->few->plan->params.at[index];
}

static const struct few_rows *rows_of(const struct printer *p, const struct value *value)
{
    return &p->few->buffers[value->buffer];
}

static struct arena *arena_of(const struct printer *p)
{
    return p->e->arena;
}

static const char *place_of(const struct printer *p, const struct value *value)
{
    return cuda_place(arena_of(p), p->few->plan, value);
}

/* From an element of its first row on. */
static const char *param_place(const struct printer *p, int param, int64_t element)
{
    const struct packed *packed = param_at(p, param);
    return arena_format(arena_of(p), "arena + WEIGHTS + %" PRId64,
                        packed->offset + element * (int64_t)dtype_size(packed->dtype));
}

static void print_comment(const struct printer *p, int step)
{
    emit_line(p->e, "/* %s */", cuda_step_comment(arena_of(p), p->few->plan, step_at(p, step)));
}

/* ---- Types ---- */

static void print_plan(const struct printer *p)
{
    const struct few *f = p->few;
    emit_line(p->e, "/* Rows, blocks, warps, the ring (slots, on their way at once, bytes), hands, whether a cluster. "
                    "*/");
    emit_line(p->e, "typedef mlp_few_plan<%" PRId64 ", %d, %d, %d, %d, %d, %d, %s> plan;", f->rows, f->blocks, f->warps,
              f->slots, f->flight, f->slot_bytes, f->hands, f->cluster ? "true" : "false");
    emit_line(p->e, "constexpr int shared = plan::free + %" PRId64 ";", f->rest);
    emit_blank(p->e);
}

static void print_rows(const struct printer *p)
{
    bool any = false;
    for (size_t i = 0; i < p->few->plan->buffers.count; i++) {
        const struct few_rows *rows = &p->few->buffers[i];
        if (!rows->shared)
            continue;
        if (!any)
            emit_line(p->e, "/* Rows in shared memory: elements of a row, and where they stand behind plan::free. */");
        any = true;
        emit_line(p->e, "typedef mlp_few_rows<plan, %s, %" PRId64 ", %" PRId64 "> rows_%s;", dtype_cuda[rows->dtype],
                  rows->ld, rows->at, rows->name);
    }
    if (any)
        emit_blank(p->e);
}

static void print_layers(const struct printer *p)
{
    emit_line(p->e, "/* Products: columns in, columns out, sums for each of them. */");
    for (size_t i = 0; i < p->few->layers.count; i++) {
        const struct few_layer *layer = &p->few->layers.at[i];
        emit_line(p->e, "typedef mlp_few_layer<plan, %s, %" PRId64 ", %" PRId64 ", %d> layer_%s;",
                  dtype_cuda[layer->dtype], layer->in, layer->out, layer->sums, layer->name);
    }
    emit_blank(p->e);
}

static const char *place_arguments(const struct printer *p, const struct value *value)
{
    return arena_format(arena_of(p), "rows_%s, %" PRId64, rows_of(p, value)->name, value->column);
}

static void print_hands(const struct printer *p)
{
    if (p->few->hands)
        emit_line(p->e, "/* What is handed on: columns, place in the state, number, and where it arrives. */");
    for (size_t i = 0; i < p->few->layers.count; i++) {
        const struct few_layer *layer = &p->few->layers.at[i];
        if (layer->hand < 0)
            continue;
        const struct value *hand = value_at(p, layer->hand);
        emit_line(p->e, "typedef mlp_few_hand<plan, %s, %" PRId64 ", %" PRId64 ", %d, %s> hand_%s;",
                  dtype_cuda[hand->dtype], hand->width, layer->hand_offset, layer->hand_index,
                  layer->hand_stays ? "void, 0" : place_arguments(p, hand), hand->name);
    }
    if (p->few->hands)
        emit_blank(p->e);
}

/* As they are stored; in shared memory they are f32. */
static void print_numbers(const struct printer *p)
{
    bool any = p->few->numbers.count > 0;
    for (size_t i = 0; i < p->few->layers.count; i++)
        any |= p->few->layers.at[i].columns.count > 0;
    if (any)
        emit_line(p->e, "/* Parameters in shared memory: of a block's columns of a layer, or all of them. */");
    for (size_t i = 0; i < p->few->layers.count; i++) {
        const struct few_layer *layer = &p->few->layers.at[i];
        for (size_t j = 0; j < layer->columns.count; j++)
            emit_line(p->e, "typedef mlp_few_columns<plan, %s, layer_%s, %" PRId64 "> columns_%s;",
                      dtype_cuda[param_at(p, layer->columns.at[j].param)->dtype], layer->name,
                      layer->columns.at[j].at, layer->columns.at[j].name);
    }
    for (size_t i = 0; i < p->few->numbers.count; i++) {
        const struct few_numbers *numbers = &p->few->numbers.at[i];
        if (numbers->at == FEW_NOWHERE)
            continue;
        emit_line(p->e, "typedef mlp_few_numbers<plan, %s, %" PRId64 ", %" PRId64 "> numbers_%s;",
                  dtype_cuda[param_at(p, numbers->param)->dtype], numbers->count, numbers->at, numbers->name);
    }
    if (any)
        emit_blank(p->e);
}

/* ---- Expressions ---- */

/* "column", "column + 8", or the one column of a value that stretches. */
static const char *column_text(const struct printer *p, const struct value *value)
{
    if (value->width == 1)
        return arena_format(arena_of(p), "%" PRId64, value->column);
    if (value->column)
        return arena_format(arena_of(p), "column + %" PRId64, value->column);
    return "column";
}

/* An element of rows in memory: "v_x[row * 16 + column]". */
static const char *memory_text(const struct printer *p, const struct value *value)
{
    return arena_format(arena_of(p), "v_%s[row * %" PRId64 " + %s]", rows_of(p, value)->name, value->ld,
                        column_text(p, value));
}

/* The rounded value of a step that the same layer computes: "x_h". */
static const char *own_text(const struct printer *p, const struct value *value, int half)
{
    if (half >= 0)
        return arena_format(arena_of(p), "x%d_%s", half, value_at(p, step_at(p, p->layer->steps.at[0])->out)->name);
    for (size_t i = 0; i < p->layer->steps.count; i++) {
        const struct value *out = value_at(p, step_at(p, p->layer->steps.at[i])->out);
        if (out->buffer == value->buffer && out->column == value->column && out->width == value->width)
            return arena_format(arena_of(p), "x_%s", out->name);
    }
    return "";
}

static const char *value_text(const struct printer *p, const struct value *value)
{
    int half;
    if (p->layer && few_computes(p->few, p->layer, value, &half))
        return own_text(p, value, half);
    if (rows_of(p, value)->shared)
        return arena_format(arena_of(p), "rows_%s::number(row, %s)", rows_of(p, value)->name, column_text(p, value));
    return arena_format(arena_of(p), "mlp_float(%s)", memory_text(p, value));
}

static const char *numbers_text(const struct printer *p, int param, int64_t from)
{
    const struct few_numbers *numbers = few_numbers_of(p->few, p->step, param, from);
    bool one = param_at(p, param)->cols == 1;
    bool stored = !one && numbers->at == FEW_NOWHERE && param_at(p, param)->dtype != DTYPE_F32;
    return arena_format(arena_of(p), one ? "w_%s" : stored ? "mlp_float(w_%s[column])" : "w_%s[column]", numbers->name);
}

/* "t1": a layer's steps have their numbers in front, "t0_1", where there are several. */
static const char *operation_text(const struct printer *p, int index)
{
    if (p->layer && p->layer->steps.count > 1)
        return arena_format(arena_of(p), "t%d_%d", p->place, index);
    return arena_format(arena_of(p), "t%d", index);
}

static const char *operand_text(const void *printer, struct operand operand)
{
    const struct printer *p = printer;
    switch (operand.kind) {
    case OPERAND_OP:
        return operation_text(p, operand.index);
    case OPERAND_VALUE:
        return value_text(p, value_at(p, operand.index));
    case OPERAND_PARAM:
        return numbers_text(p, operand.index, 0);
    case OPERAND_NUMBER:
        return emit_number(arena_of(p), operand.number);
    case OPERAND_NONE:
        break;
    }
    return "";
}

/* The sum of a product, number `half`, with its bias. */
static const char *sum_text(const struct printer *p, const struct tape_op *linear, int half)
{
    if (linear->in[2].kind != OPERAND_PARAM)
        return arena_format(arena_of(p), "sum[%d]", half);
    return arena_format(arena_of(p), "sum[%d] + %s", half, numbers_text(p, linear->in[2].index, half * p->layer->out));
}

static const char *expression(const struct printer *p, const struct tape_op *op)
{
    return op->op == OP_LINEAR ? sum_text(p, op, 0) : emit_map(arena_of(p), op, operand_text, p);
}

/* All operations of the step's tape but the last. */
static void print_operations(const struct printer *p)
{
    const struct step *step = step_at(p, p->step);
    for (size_t i = 0; i + 1 < step->tape.count; i++)
        emit_line(p->e, "const float %s = %s;", operation_text(p, (int)i), expression(p, &step->tape.at[i]));
}

static const struct tape_op *last_op(const struct printer *p)
{
    const struct step *step = step_at(p, p->step);
    return &step->tape.at[step->tape.count - 1];
}

/* ---- What a layer computes from its sums ---- */

static const char *rounded(const struct printer *p, enum dtype dtype, const char *text)
{
    return dtype == DTYPE_F32 ? text
                              : arena_format(arena_of(p), "mlp_few_rounded<%s>(%s)", dtype_cuda[dtype], text);
}

/* Whether another step of the layer takes the value from here. */
static bool is_read_inside(const struct printer *p, const struct value *value)
{
    for (size_t i = 0; i < p->layer->steps.count; i++) {
        const struct step *step = step_at(p, p->layer->steps.at[i]);
        for (size_t j = 0; j < step->tape.count; j++) {
            for (int k = 0; k < 3; k++) {
                struct operand in = step->tape.at[j].in[k];
                if (in.kind == OPERAND_VALUE && value_at(p, in.index)->buffer == value->buffer &&
                    value_at(p, in.index)->column == value->column)
                    return true;
            }
        }
    }
    return false;
}

static void print_halves(const struct printer *p)
{
    const struct value *out = value_at(p, step_at(p, p->step)->out);
    for (int half = 0; half < 2; half++)
        emit_line(p->e, "const float x%d_%s = %s;", half, out->name,
                  rounded(p, out->dtype, sum_text(p, last_op(p), half)));
}

/* The output whose place is the layer's result, where nothing is handed on: the last one. */
static int stored_last(const struct printer *p)
{
    int last = -1;
    for (size_t i = 0; p->layer->hand < 0 && i < p->layer->steps.count; i++) {
        int out = step_at(p, p->layer->steps.at[i])->out;
        if (rows_of(p, value_at(p, out))->output)
            last = out;
    }
    return last;
}

static int result_of(const struct printer *p)
{
    return p->layer->hand >= 0 ? p->layer->hand : stored_last(p);
}

static void print_member(const struct printer *p)
{
    const struct step *step = step_at(p, p->step);
    const struct value *out = value_at(p, step->out);
    if (p->layer->sums == 2 && p->place == 0) {
        print_halves(p);
        return;
    }
    print_operations(p);
    const char *text = expression(p, last_op(p));
    emit_line(p->e, "const float x_%s = %s;", out->name, is_read_inside(p, out) ? rounded(p, out->dtype, text) : text);
    if (rows_of(p, out)->output && step->out != stored_last(p))
        emit_line(p->e, "mlp_round(x_%s, %s);", out->name, memory_text(p, out));
}

static void print_only_member(const struct printer *p)
{
    print_operations(p);
    emit_line(p->e, "return %s;", expression(p, last_op(p)));
}

/* A step alone, whose value goes to one place, needs no name. */
static bool has_one_place(const struct printer *p)
{
    const struct value *out = value_at(p, step_at(p, p->layer->steps.at[0])->out);
    return p->layer->steps.count == 1 && !(p->layer->hand >= 0 && rows_of(p, out)->output);
}

static void print_finish(struct printer *p)
{
    emit_open(p->e, "[=](const float *sum, int row, int column) {");
    for (size_t i = 0; i < p->layer->steps.count; i++) {
        p->step = p->layer->steps.at[i];
        p->place = (int)i;
        if (has_one_place(p))
            print_only_member(p);
        else
            print_member(p);
    }
    if (!has_one_place(p))
        emit_line(p->e, "return x_%s;", value_at(p, result_of(p))->name);
    emit_close(p->e, "},");
}

/* A value that stays where it is handed on may have another name where it is read. */
static const char *hand_name(const struct printer *p, const struct value *value)
{
    for (size_t i = 0; i < p->few->layers.count; i++) {
        int hand = p->few->layers.at[i].hand;
        if (hand >= 0 && value_at(p, hand)->buffer == value->buffer && value_at(p, hand)->column == value->column)
            return value_at(p, hand)->name;
    }
    return "";
}

static const char *source_text(const struct printer *p)
{
    const struct value *in = value_at(p, step_at(p, p->layer->steps.at[0])->tape.at[0].in[0].index);
    struct arena *arena = arena_of(p);
    if (!p->layer->input_stays)
        return arena_format(arena, "few.from_shared<%s>()", place_arguments(p, in));
    if (rows_of(p, in)->input)
        return arena_format(arena, "few.from_memory(arena + %s, %" PRId64 ")", place_of(p, in),
                            in->ld * (int64_t)dtype_size(in->dtype));
    return arena_format(arena, "few.from_hand<hand_%s>()", hand_name(p, in));
}

static const char *result_text(const struct printer *p)
{
    const struct value *result = value_at(p, result_of(p));
    if (p->layer->hand >= 0)
        return arena_format(arena_of(p), "few.to<hand_%s>()", result->name);
    const char *column = result->column ? arena_format(arena_of(p), " + %" PRId64, result->column) : "";
    return arena_format(arena_of(p), "few.store(v_%s%s, %" PRId64 ")", rows_of(p, result)->name, column, result->ld);
}

static void print_product(struct printer *p, int layer)
{
    p->layer = &p->few->layers.at[layer];
    for (size_t i = 0; i < p->layer->steps.count; i++)
        print_comment(p, p->layer->steps.at[i]);
    emit_open(p->e, "few.product<layer_%s>(", p->layer->name);
    emit_line(p->e, "%s,", source_text(p));
    print_finish(p);
    emit_close(p->e, "    %s);", result_text(p));
    p->layer = NULL;
}

/* ---- Steps that are not products ---- */

/* Stores the number `text` of column `column`, which C knows as `row` and an expression for the column. */
static void print_store(const struct printer *p, const struct few_stage *stage, const char *text)
{
    const struct value *out = value_at(p, step_at(p, p->step)->out);
    const struct few_rows *rows = rows_of(p, out);
    if (rows->shared)
        emit_line(p->e, "mlp_round(%s, rows_%s::element(row, %s));", text, rows->name, column_text(p, out));
    if (rows->output && stage->kind == FEW_STEP)
        emit_line(p->e, "if (few.owns(row))");
    if (rows->output)
        emit_line(p->e, "%smlp_round(%s, %s);", stage->kind == FEW_STEP ? "    " : "", text, memory_text(p, out));
}

/* The zeros behind the last column, which a product reads. */
static void print_pad(const struct printer *p, const struct few_stage *stage)
{
    const struct value *out = value_at(p, step_at(p, p->step)->out);
    if (!out->pad || !rows_of(p, out)->shared)
        return;
    emit_open(p->e, "few.each%s_element<%" PRId64 ">([=](int row, int column) {",
              stage->kind == FEW_STEP ? "" : "_own", out->pad);
    emit_line(p->e, "mlp_round(0.0f, rows_%s::element(row, %" PRId64 " + column));", rows_of(p, out)->name,
              out->column + out->width);
    emit_close(p->e, "});");
}

static void print_map(const struct printer *p, const struct few_stage *stage)
{
    emit_open(p->e, "few.each%s_element<%" PRId64 ">([=](int row, int column) {",
              stage->kind == FEW_STEP ? "" : "_own", last_op(p)->width);
    print_operations(p);
    emit_line(p->e, "const float y = %s;", expression(p, last_op(p)));
    print_store(p, stage, "y");
    emit_close(p->e, "});");
}

/* What a norm does to its normalised elements: "y * w_ln[column] + w_b[column]". */
static const char *norm_text(const struct printer *p)
{
    const struct tape_op *last = last_op(p);
    struct arena *arena = arena_of(p);
    const char *text = "y";
    if (last->in[1].kind == OPERAND_PARAM) {
        const char *factor = numbers_text(p, last->in[1].index, 0);
        if (last->op == OP_RMSNORM && last->attr[1] != 0)
            factor = arena_format(arena, "(%s + %s)", emit_float(arena, last->attr[1]), factor);
        text = arena_format(arena, "%s * %s", text, factor);
    }
    if (last->in[2].kind == OPERAND_PARAM)
        text = arena_format(arena, "%s + %s", text, numbers_text(p, last->in[2].index, 0));
    return text;
}

static void print_row_call(const struct printer *p, const struct few_stage *stage)
{
    const struct tape_op *last = last_op(p);
    bool norm = last->op == OP_LAYERNORM || last->op == OP_RMSNORM;
    const char *eps = norm ? arena_format(arena_of(p), "%s, ", emit_float(arena_of(p), last->attr[0])) : "";
    emit_open(p->e, "line.%s(%s[=](int column, float y) {", op_info[last->op].text, eps);
    print_store(p, stage, norm ? norm_text(p) : "y");
    emit_close(p->e, "});");
}

static void print_reduction(const struct printer *p, const struct few_stage *stage, int64_t width)
{
    const char *mean = last_op(p)->op == OP_MEAN ? arena_format(arena_of(p), " / %" PRId64, width) : "";
    emit_line(p->e, "const float y = line.sum()%s;", mean);
    emit_open(p->e, "if (line.column(0) == 0) {");
    print_store(p, stage, "y");
    emit_close(p->e, "}");
}

/* One row: its numbers from the tape, then the operation on all of them. */
static void print_row(const struct printer *p, const struct few_stage *stage)
{
    const struct tape_op *last = last_op(p);
    int64_t width = few_width(p->few->plan, step_at(p, p->step));
    int count = few_row_threads(p->few, stage);
    const char *threads = count ? arena_format(arena_of(p), "%d", count) : "plan::workers";
    if (stage->kind == FEW_STEP)
        emit_open(p->e, "few.each_row<%s>([=](int row) {", threads);
    else
        emit_open(p->e, "few.each_own_row([=](int row) {");
    emit_open(p->e, "const mlp_few_row<plan, %" PRId64 ", %s> line([=](int column) {", width, threads);
    print_operations(p);
    emit_line(p->e, "return %s;", op_info[last->op].kind == KIND_ROW ? operand_text(p, last->in[0])
                                                                       : expression(p, last));
    emit_close(p->e, "});");
    if (op_info[last->op].kind == KIND_ROW)
        print_row_call(p, stage);
    else
        print_reduction(p, stage, width);
    emit_close(p->e, "});");
}

static void print_step(struct printer *p, const struct few_stage *stage)
{
    p->step = stage->index;
    print_comment(p, p->step);
    print_pad(p, stage);
    if (op_info[last_op(p)->op].kind == KIND_MAP)
        print_map(p, stage);
    else
        print_row(p, stage);
}

/* ---- The kernel ---- */

/* Whether an input is read from memory element by element. */
static bool is_read_in_memory(const struct printer *p, int buffer)
{
    for (size_t i = 0; i < p->few->plan->steps.count; i++) {
        const struct step *step = step_at(p, (int)i);
        for (size_t j = 0; j < step->tape.count; j++) {
            for (int k = 0; k < 3; k++) {
                struct operand in = step->tape.at[j].in[k];
                if (in.kind == OPERAND_VALUE && value_at(p, in.index)->buffer == buffer &&
                    step->tape.at[j].op != OP_LINEAR)
                    return true;
            }
        }
    }
    return false;
}

static void print_pointers(const struct printer *p)
{
    const struct plan *plan = p->few->plan;
    for (size_t i = 0; i < plan->inputs.count; i++) {
        const struct value *value = value_at(p, plan->inputs.at[i].value);
        const struct few_rows *rows = rows_of(p, value);
        if (!rows->shared && is_read_in_memory(p, value->buffer))
            emit_line(p->e, "const %s *v_%s = (const %s *)(arena + %s); /* [rows, %" PRId64 "], ld %" PRId64 " */",
                      dtype_cuda[rows->dtype], rows->name, dtype_cuda[rows->dtype], place_of(p, value), value->width,
                      value->ld);
    }
    for (size_t i = 0; i < plan->outputs.count; i++) {
        const struct value *value = value_at(p, plan->outputs.at[i].value);
        const struct few_rows *rows = rows_of(p, value);
        emit_line(p->e, "%s *v_%s = (%s *)(arena + %s); /* [rows, %" PRId64 "], ld %" PRId64 " */",
                  dtype_cuda[rows->dtype], rows->name, dtype_cuda[rows->dtype], place_of(p, value), value->width,
                  value->ld);
    }
}

static void print_open(const struct printer *p)
{
    const char *hands = "";
    for (size_t i = 0; i < p->few->layers.count; i++) {
        int hand = p->few->layers.at[i].hand;
        if (hand >= 0)
            hands = arena_format(arena_of(p), "%s%shand_%s", hands, *hands ? ", " : "", value_at(p, hand)->name);
    }
    if (p->few->cluster)
        emit_line(p->e, "mlp_few<plan> few(nullptr, rows);");
    else
        emit_line(p->e, "mlp_few<plan> few(arena + STATE + %" PRId64 ", rows);",
                  few_state_offset(p->few->plan, p->few->rows));
    emit_line(p->e, "few.open<%s>();", hands);
}

static void print_feeds(const struct printer *p)
{
    for (size_t i = 0; i < p->few->layers.count; i++) {
        const struct few_layer *layer = &p->few->layers.at[i];
        emit_line(p->e, "few.feed<layer_%s>(%s);", layer->name, param_place(p, layer->weight, 0));
    }
}

/* "const float *w_b = ...;", on two lines where one would be long. */
static void print_staged(const struct printer *p, const char *name, const char *text)
{
    if (strlen(name) + strlen(text) < 88) {
        emit_line(p->e, "const float *w_%s = %s;", name, text);
    } else {
        emit_line(p->e, "const float *w_%s =", name);
        emit_line(p->e, "    %s;", text);
    }
}

static void print_columns(const struct printer *p, const struct few_numbers *numbers)
{
    print_staged(p, numbers->name, arena_format(arena_of(p), "few.stage_columns<columns_%s>(%s)", numbers->name,
                                                param_place(p, numbers->param, numbers->from)));
}

static void print_shared_numbers(const struct printer *p, const struct few_numbers *numbers)
{
    const struct packed *param = param_at(p, numbers->param);
    const char *dtype = dtype_cuda[param->dtype], *place = param_place(p, numbers->param, 0);
    if (param->cols == 1)
        emit_line(p->e, "const float w_%s = mlp_float(*(const %s *)(%s));", numbers->name, dtype, place);
    else if (numbers->at == FEW_NOWHERE)
        emit_line(p->e, "const %s *w_%s = (const %s *)(%s);", dtype, numbers->name, dtype, place);
    else
        print_staged(p, numbers->name,
                     arena_format(arena_of(p), "few.stage_numbers<numbers_%s>(%s)", numbers->name, place));
}

static void print_staging(const struct printer *p)
{
    for (size_t i = 0; i < p->few->layers.count; i++) {
        const struct few_layer *layer = &p->few->layers.at[i];
        for (size_t j = 0; j < layer->columns.count; j++)
            print_columns(p, &layer->columns.at[j]);
    }
    for (size_t i = 0; i < p->few->numbers.count; i++)
        print_shared_numbers(p, &p->few->numbers.at[i]);
}

/* Behind the first product, while the blocks wait for each other anyway. */
static void print_clearing(const struct printer *p)
{
    for (size_t i = 0; !p->few->cluster && i < p->few->layers.count; i++) {
        int hand = p->few->layers.at[i].hand;
        if (hand >= 0)
            emit_line(p->e, "few.clear<hand_%s>();", value_at(p, hand)->name);
    }
}

static const char *received_name(const struct printer *p, const struct few_stage *stage)
{
    return value_at(p, p->few->layers.at[stage->index].hand)->name;
}

static void print_load(const struct printer *p, int buffer)
{
    for (size_t i = 0; i < p->few->plan->inputs.count; i++) {
        const struct value *value = value_at(p, p->few->plan->inputs.at[i].value);
        if (value->buffer == buffer)
            emit_line(p->e, "few.load<rows_%s>(arena + %s);", rows_of(p, value)->name, place_of(p, value));
    }
}

static void print_stage(struct printer *p, const struct few_stage *stage)
{
    if (stage->meet)
        emit_line(p->e, "few.meet();");
    switch (stage->kind) {
    case FEW_LOAD:
        print_load(p, stage->index);
        break;
    case FEW_RECEIVE:
        emit_line(p->e, "few.receive<hand_%s>();", received_name(p, stage));
        break;
    case FEW_RECEIVE_FOR:
        emit_line(p->e, "few.receive_for<hand_%s, layer_%s>();", received_name(p, stage),
                  p->few->layers.at[stage->reader].name);
        break;
    case FEW_RECEIVE_ROWS:
        emit_line(p->e, "few.receive_rows<hand_%s>();", received_name(p, stage));
        break;
    case FEW_PRODUCT:
        print_product(p, stage->index);
        break;
    case FEW_STEP:
    case FEW_STEP_ROWS:
        print_step(p, stage);
        break;
    }
}

static bool stages_numbers(const struct few *few)
{
    for (size_t i = 0; i < few->numbers.count; i++) {
        if (few->numbers.at[i].at != FEW_NOWHERE)
            return true;
    }
    return false;
}

static void print_work(struct printer *p)
{
    bool cleared = false;
    print_pointers(p);
    print_staging(p);
    emit_line(p->e, "few.begin();");
    if (stages_numbers(p->few) && p->few->stages.at[0].kind != FEW_LOAD)
        emit_line(p->e, "few.meet();");
    for (size_t i = 0; i < p->few->stages.count; i++) {
        print_stage(p, &p->few->stages.at[i]);
        if (p->few->stages.at[i].kind == FEW_PRODUCT && !cleared) {
            cleared = true;
            print_clearing(p);
        }
    }
}

static void print_kernel(struct printer *p)
{
    emit_line(p->e, "static __global__ void __launch_bounds__(plan::threads, 1)");
    emit_line(p->e, "whole(unsigned char *arena, int64_t rows)");
    emit_open(p->e, "{");
    print_open(p);
    emit_open(p->e, "if (few.feeds()) {");
    print_feeds(p);
    emit_close(p->e, "} else {");
    p->e->depth++;
    print_work(p);
    emit_close(p->e, "}");
    emit_line(p->e, "few.end();");
    emit_close(p->e, "}");
    emit_blank(p->e);
}

static void print_launcher(const struct printer *p)
{
    int64_t rows = p->few->rows;
    emit_line(p->e, "extern \"C\" MLP_HIDDEN int %s_few_b%" PRId64 "(unsigned char *arena, int64_t rows, void *stream)",
              p->few->plan->prefix, rows);
    emit_open(p->e, "{");
    emit_line(p->e, "return mlp_few_start<few_b%" PRId64 "::plan, few_b%" PRId64 "::shared>(few_b%" PRId64
              "::whole, arena, rows, stream);", rows, rows, rows);
    emit_close(p->e, "}");
    emit_blank(p->e);
}

void emit_cuda_few(struct emitter *e, const struct plan *plan, int64_t rows)
{
    struct printer p = {.e = e, .few = few_decide(plan, rows)};
    emit_line(e, "/* ---- The whole network for up to %" PRId64 " row%s: a %s of %d blocks ---- */", rows,
              rows == 1 ? "" : "s", p.few->cluster ? "cluster" : "grid", p.few->blocks);
    emit_blank(e);
    emit_line(e, "namespace few_b%" PRId64 " {", rows);
    emit_blank(e);
    print_plan(&p);
    print_rows(&p);
    print_layers(&p);
    print_hands(&p);
    print_numbers(&p);
    print_kernel(&p);
    emit_line(e, "}");
    emit_blank(e);
    print_launcher(&p);
}
