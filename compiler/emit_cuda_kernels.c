/* NAME.cu: the static arena, and one kernel with its launch function for each step that is no product.
 *
 * A kernel walks over vectors of neighbouring columns. Each vector is loaded from every operand, the tape's
 * element-wise operations are written out once for all of its elements, and the result is stored. Where the tape ends
 * in a norm, a softmax or a reduction, the same text is what a row of mlp_cuda_kernels.cuh loads from. */
#include "emit_cuda.h"
#include "emit_map.h"
#include "forms.h"
#include "whole.h"

#include <inttypes.h>
#include <string.h>

enum {
    WIDEST_VECTOR = 8,
    ELEMENT_BLOCK = 256,            /* threads of a block that works element by element */
    ROW_BLOCK = 128,                /* or on rows that a warp or less shares */
    HELD_ELEMENTS = 32,             /* of a row, by one thread, in registers: as in mlp_cuda_kernels.cuh */
    WIDEST_BLOCK = 1024,
};

static const char *const dtype_cuda[] = {
    [DTYPE_F32] = "float", [DTYPE_F16] = "__half", [DTYPE_BF16] = "__nv_bfloat16"};

struct kernel {
    struct emitter *e;
    const struct plan *plan;
    const struct step *step;
    const struct tape_op *last;
    const struct value *out;
    enum op_kind kind;              /* of the last operation: KIND_MAP, KIND_ROW or KIND_REDUCE */
    int64_t width;                  /* of the rows that are walked */
    int vector;                     /* elements a thread takes at a time */
    int threads;                    /* that share a row, where the last operation needs the whole row */
    int block;                      /* threads of a block */
};

/* ---- Operands ---- */

static const struct value *value_at(const struct kernel *k, struct operand operand)
{
    return &k->plan->values.at[operand.index];
}

static const struct packed *param_at(const struct kernel *k, struct operand operand)
{
    return &k->plan->params.at[operand.index];
}

static int64_t operand_width(const struct kernel *k, struct operand operand)
{
    switch (operand.kind) {
    case OPERAND_OP:
        return k->step->tape.at[operand.index].width;
    case OPERAND_VALUE:
        return value_at(k, operand)->width;
    case OPERAND_PARAM:
        return param_at(k, operand)->cols;
    case OPERAND_NUMBER:
    case OPERAND_NONE:
        break;
    }
    return 1;
}

/* One number for the whole row, where the row has more. */
static bool stretches(const struct kernel *k, int64_t width)
{
    return width == 1 && k->width > 1;
}

/* Which operands of an operation are tensors of its element-wise text: norms keep theirs for the end. */
static int element_operands(const struct kernel *k, const struct tape_op *op)
{
    return op == k->last && k->kind == KIND_ROW ? 1 : 3;
}

/* Calls visit(k, operand) once for each different value (or parameter) that operations [from, to) read, in the
 * operands [first, ...) of each. */
static void each_source(const struct kernel *k, enum operand_kind kind, bool at_end,
                        void (*visit)(const struct kernel *, struct operand))
{
    size_t count = kind == OPERAND_VALUE ? k->plan->values.count : k->plan->params.count;
    struct arena *scratch = arena_new();
    bool *seen = ARENA_ARRAY(scratch, bool, count + 1);
    for (size_t i = at_end ? k->step->tape.count - 1 : 0; i < k->step->tape.count; i++) {
        const struct tape_op *op = &k->step->tape.at[i];
        int split = element_operands(k, op);
        for (int j = at_end ? split : 0; j < (at_end ? 3 : split); j++) {
            if (op->in[j].kind == kind && !seen[op->in[j].index]) {
                seen[op->in[j].index] = true;
                visit(k, op->in[j]);
            }
        }
    }
    arena_free(scratch);
}

/* ---- Vectors ---- */

static int64_t bytes_of(const struct value *value, int vector)
{
    int64_t bytes = vector * (int64_t)dtype_size(value->dtype);
    return bytes < 16 ? bytes : 16;
}

/* Buffers start at 256 bytes and rows at 16, so that the column decides. */
static bool aligned(const struct value *value, int vector)
{
    return value->column * (int64_t)dtype_size(value->dtype) % bytes_of(value, vector) == 0 &&
           value->ld * (int64_t)dtype_size(value->dtype) % bytes_of(value, vector) == 0;
}

static bool is_short(const struct value *value, int vector)
{
    (void)vector;
    return dtype_size(value->dtype) == 2;
}

/* Whether any of the rows that are read or written in full passes the test. */
static bool any_row(const struct kernel *k, bool (*test)(const struct value *, int), int vector)
{
    bool found = k->out->width == k->width && test(k->out, vector);
    for (size_t i = 0; i < k->step->tape.count; i++) {
        for (int j = 0; j < 3; j++) {
            struct operand in = k->step->tape.at[i].in[j];
            if (in.kind == OPERAND_VALUE && value_at(k, in)->width == k->width)
                found |= test(value_at(k, in), vector);
        }
    }
    return found;
}

/* 16 bytes of the shortest type among the rows, but no more than a row, and than the alignment of the best one. */
static int choose_vector(const struct kernel *k)
{
    int vector = any_row(k, is_short, 0) ? WIDEST_VECTOR : WIDEST_VECTOR / 2;
    while (vector > 1 && (vector > k->width || !any_row(k, aligned, vector)))
        vector /= 2;
    return vector;
}

static int64_t vectors_of(const struct kernel *k)
{
    return (k->width + k->vector - 1) / k->vector;
}

/* As few threads as hold the row in registers, but no fewer than take it in one go while that is a warp. */
static int choose_threads(const struct kernel *k)
{
    int threads = 1;
    while (threads < WIDEST_BLOCK && (threads < 32 ? threads < vectors_of(k) : threads * HELD_ELEMENTS < k->width))
        threads *= 2;
    return threads;
}

static int64_t row_width(const struct kernel *k)
{
    int64_t width = k->last->width;
    for (int i = 0; k->kind == KIND_REDUCE && i < 2; i++) {
        int64_t in = operand_width(k, k->last->in[i]);
        width = in > width ? in : width;
    }
    return width;
}

static struct kernel kernel_of(struct emitter *e, const struct plan *plan, const struct step *step)
{
    struct kernel k = {.e = e, .plan = plan, .step = step, .last = &step->tape.at[step->tape.count - 1]};
    k.out = &plan->values.at[step->out];
    k.kind = op_info[k.last->op].kind;
    k.width = row_width(&k);
    k.vector = choose_vector(&k);
    k.threads = k.kind == KIND_MAP ? 1 : choose_threads(&k);
    /* What is more than a warp works through shared memory and barriers: it has the block to itself. */
    k.block = k.kind == KIND_MAP ? ELEMENT_BLOCK : k.threads > 32 ? k.threads : ROW_BLOCK;
    return k;
}

/* ---- Expressions ---- */

/* What stands for an operand: a number of the vector "x_gate[j]", of the row "x_scale", "t2", "0.5f". */
static const char *operand_text(const void *kernel, struct operand operand)
{
    const struct kernel *k = kernel;
    struct arena *arena = k->e->arena;
    const char *index = stretches(k, operand_width(k, operand)) ? "" : "[j]";
    switch (operand.kind) {
    case OPERAND_OP:
        return arena_format(arena, "t%d", operand.index);
    case OPERAND_VALUE:
        return arena_format(arena, "x_%s%s", value_at(k, operand)->name, index);
    case OPERAND_PARAM:
        return arena_format(arena, "w_%s%s", param_at(k, operand)->name, index);
    case OPERAND_NUMBER:
        return emit_number(arena, operand.number);
    case OPERAND_NONE:
        break;
    }
    return "";
}

static const char *expression(const struct kernel *k, const struct tape_op *op)
{
    return emit_map(k->e->arena, op, operand_text, k);
}

/* ---- Fragments ---- */

static const char *shape_comment(const struct kernel *k, const struct value *value)
{
    return arena_format(k->e->arena, "/* [rows, %" PRId64 "], ld %" PRId64 " */", value->width, value->ld);
}

static void declare_value(const struct kernel *k, struct operand operand)
{
    const struct value *value = value_at(k, operand);
    emit_line(k->e, "const %s *v_%s = (const %s *)(arena + %s); %s", dtype_cuda[value->dtype], value->name,
              dtype_cuda[value->dtype], cuda_place(k->e->arena, k->plan, value), shape_comment(k, value));
}

static void declare_param(const struct kernel *k, struct operand operand)
{
    const struct packed *packed = param_at(k, operand);
    emit_line(k->e, "const %s *p_%s = (const %s *)(arena + WEIGHTS + %" PRId64 "); /* [%" PRId64 "] */",
              dtype_cuda[packed->dtype], packed->name, dtype_cuda[packed->dtype], packed->offset, packed->cols);
}

static void emit_declarations(const struct kernel *k)
{
    each_source(k, OPERAND_VALUE, false, declare_value);
    each_source(k, OPERAND_PARAM, false, declare_param);
    each_source(k, OPERAND_PARAM, true, declare_param);
    emit_line(k->e, "%s *out = (%s *)(arena + %s); %s", dtype_cuda[k->out->dtype], dtype_cuda[k->out->dtype],
              cuda_place(k->e->arena, k->plan, k->out), shape_comment(k, k->out));
    emit_blank(k->e);
}

/* Numbers that stand for a whole row. */
static void load_row_value(const struct kernel *k, struct operand operand)
{
    const struct value *value = value_at(k, operand);
    if (stretches(k, value->width))
        emit_line(k->e, "const float x_%s = mlp_float(v_%s[row * %" PRId64 "]);", value->name, value->name, value->ld);
}

static void load_row_param(const struct kernel *k, struct operand operand)
{
    const struct packed *packed = param_at(k, operand);
    if (stretches(k, packed->cols))
        emit_line(k->e, "const float w_%s = mlp_float(p_%s[0]);", packed->name, packed->name);
}

static void emit_row_numbers(const struct kernel *k)
{
    each_source(k, OPERAND_VALUE, false, load_row_value);
    each_source(k, OPERAND_PARAM, false, load_row_param);
    each_source(k, OPERAND_PARAM, true, load_row_param);
    for (size_t i = 0; i < k->step->tape.count; i++) {
        const struct tape_op *op = &k->step->tape.at[i];
        if (stretches(k, op->width) && op_info[op->op].kind == KIND_MAP)
            emit_line(k->e, "const float t%zu = %s;", i, expression(k, op));
    }
}

static void load_vector_value(const struct kernel *k, struct operand operand)
{
    const struct value *value = value_at(k, operand);
    if (stretches(k, value->width))
        return;
    emit_line(k->e, "float x_%s[%d];", value->name, k->vector);
    emit_line(k->e, "%s<%d, %" PRId64 ">(x_%s, v_%s + row * %" PRId64 ", column);",
              aligned(value, k->vector) ? "mlp_load" : "mlp_load_each", k->vector, k->width, value->name, value->name,
              value->ld);
}

static void load_vector_param(const struct kernel *k, struct operand operand)
{
    const struct packed *packed = param_at(k, operand);
    if (stretches(k, packed->cols))
        return;
    emit_line(k->e, "float w_%s[%d];", packed->name, k->vector);
    emit_line(k->e, "mlp_load<%d, %" PRId64 ">(w_%s, p_%s, column);", k->vector, k->width, packed->name, packed->name);
}

/* Operations of the vector before the last one, which has a line of its own. */
static bool needs_block(const struct kernel *k)
{
    for (size_t i = 0; i + 1 < k->step->tape.count; i++) {
        if (!stretches(k, k->step->tape.at[i].width))
            return true;
    }
    return false;
}

static void open_elements(const struct kernel *k, bool block)
{
    emit_line(k->e, "#pragma unroll");
    emit_open(k->e, "for (int j = 0; j < %d; j++)%s", k->vector, block ? " {" : "");
}

static void close_elements(const struct kernel *k, bool block)
{
    if (block)
        emit_close(k->e, "}");
    else
        k->e->depth--;
}

/* Loads a vector of every operand, and computes `to`[j] from them: what the tape's last operation is, or takes. */
static void emit_elements(const struct kernel *k, const char *to)
{
    each_source(k, OPERAND_VALUE, false, load_vector_value);
    each_source(k, OPERAND_PARAM, false, load_vector_param);
    open_elements(k, needs_block(k));
    for (size_t i = 0; i + 1 < k->step->tape.count; i++) {
        const struct tape_op *op = &k->step->tape.at[i];
        if (!stretches(k, op->width))
            emit_line(k->e, "const float t%zu = %s;", i, expression(k, op));
    }
    emit_line(k->e, "%s[j] = %s;", to,
              k->kind == KIND_ROW ? operand_text(k, k->last->in[0]) : expression(k, k->last));
    close_elements(k, needs_block(k));
}

static void emit_store(const struct kernel *k)
{
    emit_line(k->e, "%s<%d, %" PRId64 ">(out + row * %" PRId64 ", column, y);",
              aligned(k->out, k->vector) ? "mlp_store" : "mlp_store_each", k->vector, k->width, k->out->ld);
    if (k->out->pad) {
        emit_line(k->e, "if (column + %d >= %" PRId64 ")", k->vector, k->width);
        emit_line(k->e, "    mlp_zeros<%" PRId64 ">(out + row * %" PRId64 " + %" PRId64 ");", k->out->pad, k->out->ld,
                  k->width);
    }
}

/* ---- Kernels ---- */

/* Dividing 32 bits costs less than 64. */
static const char *index_type(const struct kernel *k)
{
    int64_t count;
    return CHECKED_MUL(vectors_of(k), k->plan->max_batch, &count) && count < INT32_MAX ? "uint32_t" : "int64_t";
}

static void emit_element_body(const struct kernel *k)
{
    int64_t vectors = vectors_of(k);
    if (vectors == 1) {
        emit_open(k->e, "for (int64_t row = mlp_thread(); row < rows; row += mlp_threads()) {");
        emit_line(k->e, "const int column = 0;");
    } else {
        emit_open(k->e, "for (%s i = mlp_thread(); i < rows * %" PRId64 "; i += mlp_threads()) {", index_type(k),
                  vectors);
        emit_line(k->e, "const int64_t row = i / %" PRId64 ";", vectors);
        emit_line(k->e, "const int column = int(i %% %" PRId64 ") * %d;", vectors, k->vector);
    }
    emit_row_numbers(k);
    emit_line(k->e, "float y[%d];", k->vector);
    emit_elements(k, "y");
    emit_store(k);
    emit_close(k->e, "}");
}

/* A tape that is nothing but the last operation loads straight into the row. */
static bool loads_only(const struct kernel *k)
{
    struct operand in = k->last->in[0];
    return k->step->tape.count == 1 && k->last->op != OP_DOT && in.kind == OPERAND_VALUE;
}

static void emit_load_function(const struct kernel *k)
{
    emit_open(k->e, "auto load = [=](int column, float (&x)[%d]) {", k->vector);
    if (loads_only(k)) {
        const struct value *value = value_at(k, k->last->in[0]);
        emit_line(k->e, "%s<%d, %" PRId64 ">(x, v_%s + row * %" PRId64 ", column);",
                  aligned(value, k->vector) ? "mlp_load" : "mlp_load_each", k->vector, k->width, value->name,
                  value->ld);
    } else {
        emit_elements(k, "x");
    }
    emit_close(k->e, "};");
}

/* What a norm does to its normalised elements: "y[j] * w_ln[j] + w_b[j]"; NULL where it has no parameters. */
static const char *norm_finish(const struct kernel *k)
{
    struct arena *arena = k->e->arena;
    bool weight = k->last->in[1].kind == OPERAND_PARAM, bias = k->last->in[2].kind == OPERAND_PARAM;
    if (op_info[k->last->op].kind != KIND_ROW || (!weight && !bias))
        return NULL;
    const char *text = "y[j]";
    if (weight) {
        const char *factor = operand_text(k, k->last->in[1]);
        if (k->last->op == OP_RMSNORM && k->last->attr[1] != 0)
            factor = arena_format(arena, "(%s + %s)", emit_float(arena, k->last->attr[1]), factor);
        text = arena_format(arena, "%s * %s", text, factor);
    }
    return bias ? arena_format(arena, "%s + %s", text, operand_text(k, k->last->in[2])) : text;
}

static void emit_store_function(const struct kernel *k)
{
    const char *finish = norm_finish(k);
    emit_open(k->e, "auto store = [=](int column, float (&y)[%d]) {", k->vector);
    if (finish) {
        each_source(k, OPERAND_PARAM, true, load_vector_param);
        open_elements(k, false);
        emit_line(k->e, "y[j] = %s;", finish);
        close_elements(k, false);
    }
    emit_store(k);
    emit_close(k->e, "};");
}

static void emit_row_call(const struct kernel *k)
{
    bool norm = k->last->op == OP_LAYERNORM || k->last->op == OP_RMSNORM;
    const char *eps = norm ? arena_format(k->e->arena, "%s, ", emit_float(k->e->arena, k->last->attr[0])) : "";
    emit_line(k->e, "mlp_%s<%" PRId64 ", %d, %d>(%sload, store);", op_info[k->last->op].text, k->width, k->vector,
              k->threads, eps);
}

static void emit_reduce_call(const struct kernel *k)
{
    const char *mean = k->last->op == OP_MEAN ? arena_format(k->e->arena, " / %" PRId64, k->width) : "";
    emit_line(k->e, "const float sum = mlp_sum<%" PRId64 ", %d, %d>(load);", k->width, k->vector, k->threads);
    emit_open(k->e, "if (threadIdx.x %% %d == 0) {", k->threads);
    emit_line(k->e, "mlp_round(sum%s, out[row * %" PRId64 "]);", mean, k->out->ld);
    if (k->out->pad)
        emit_line(k->e, "mlp_zeros<%" PRId64 ">(out + row * %" PRId64 " + 1);", k->out->pad, k->out->ld);
    emit_close(k->e, "}");
}

static void emit_row_body(const struct kernel *k)
{
    emit_open(k->e, "for (int64_t row = mlp_first_row<%d>(); row < rows; row += mlp_next_row<%d>()) {", k->threads,
              k->threads);
    emit_row_numbers(k);
    emit_load_function(k);
    if (k->kind == KIND_ROW) {
        emit_store_function(k);
        emit_row_call(k);
    } else {
        emit_reduce_call(k);
    }
    emit_close(k->e, "}");
}

static void emit_kernel(const struct kernel *k)
{
    emit_line(k->e, "/* %s */", cuda_step_comment(k->e->arena, k->plan, k->step));
    emit_line(k->e, "static __global__ void __launch_bounds__(%d) %s(unsigned char *arena, int64_t rows)", k->block,
              k->step->function);
    emit_open(k->e, "{");
    emit_line(k->e, "mlp_begin();");
    emit_declarations(k);
    if (k->kind == KIND_MAP)
        emit_element_body(k);
    else
        emit_row_body(k);
    emit_close(k->e, "}");
    emit_blank(k->e);
}

static void emit_launcher(const struct kernel *k)
{
    int64_t threads = k->kind == KIND_MAP ? vectors_of(k) : k->threads;
    emit_line(k->e, "extern \"C\" MLP_HIDDEN int %s_%s(unsigned char *arena, int64_t rows, void *stream)",
              k->plan->prefix, k->step->function);
    emit_open(k->e, "{");
    emit_line(k->e, "return mlp_start(%s, rows * %" PRId64 ", %d, arena, rows, stream);", k->step->function, threads,
              k->block);
    emit_close(k->e, "}");
    emit_blank(k->e);
}

/* ---- The file ---- */

static void emit_arena(struct emitter *e, const struct plan *plan)
{
    struct cuda_arena arena = cuda_arena(plan);
    if (!arena.is_static)
        return;
    emit_line(e, "static __device__ __align__(%" PRId64 ") unsigned char device_arena[%" PRId64 "];", plan->alignment,
              arena.bytes);
    emit_blank(e);
    emit_line(e, "extern \"C\" MLP_HIDDEN int %s_arena(void **at)", plan->prefix);
    emit_open(e, "{");
    emit_line(e, "return cudaGetSymbolAddress(at, device_arena);");
    emit_close(e, "}");
    emit_blank(e);
}

void emit_cuda_device(struct emitter *e, const struct plan *plan)
{
    emit_banner(e, plan);
    emit_line(e, "#include \"mlp_cuda_kernels.cuh\"");
    if (forms_emit(plan, FORM_ROWS))
        emit_line(e, "#include \"mlp_rows.cuh\"");
    if (forms_emit(plan, FORM_FEW))
        emit_line(e, "#include \"mlp_few.cuh\"");
    emit_blank(e);
    emit_cuda_places(e, plan);
    emit_blank(e);
    emit_arena(e, plan);
    for (size_t i = 0; i < plan->steps.count; i++) {
        const struct step *step = cuda_kernel_step(plan, &plan->steps.at[i]);
        if (!step)
            continue;
        struct kernel k = kernel_of(e, plan, step);
        emit_kernel(&k);
        emit_launcher(&k);
    }
    if (forms_emit(plan, FORM_ROWS))
        emit_cuda_rows(e, plan);
    for (int b = 0; b < plan->batch_count; b++) {
        if (plan->forms[b].emitted[FORM_FEW])
            emit_cuda_few(e, plan, plan->batches[b]);
    }
}
