/* NAME_steps.h for a CPU: one static function a step, called in a straight line; and a file for each instruction set,
 * in which it is compiled.
 *
 * A product, its bias and its relu are a function made for its size (mlp_tile.h), which equal sizes share; what else is
 * done to its sums, another activation or a residual, is an epilogue: a function that gets some rows and columns at a
 * time. Any other step is a loop over its rows. Loops over elements take as many at a time as a vector has lanes
 * (mlp_lanes.h), and those behind the last whole vector as a few; where rows stand close, all of them are one. Values
 * between steps stand in an arena of floats; inputs and outputs are read and written where the caller has them. */
#include <inttypes.h>
#include <string.h>

#include "emit.h"
#include "emit_cpu.h"
#include "emit_map.h"
#include "hash.h"

static const char *dtype_c[] = {[DTYPE_F32] = "float", [DTYPE_F16] = "mlp_f16", [DTYPE_BF16] = "mlp_bf16"};

/* How one value of each type is read as a float, and a float stored. */
static const char *load_c[] = {
    [DTYPE_F32] = "%s", [DTYPE_F16] = "mlp_f16_load(%s)", [DTYPE_BF16] = "mlp_bf16_load(%s)"};
static const char *store_c[] = {
    [DTYPE_F32] = "%s", [DTYPE_F16] = "mlp_f16_store(%s)", [DTYPE_BF16] = "mlp_bf16_store(%s)"};
static const char *round_c[] = {
    [DTYPE_F32] = "%s", [DTYPE_F16] = "mlp_round_f16(%s)", [DTYPE_BF16] = "mlp_round_bf16(%s)"};

/* The same of vectors: what the names of their functions end in, and what rounds them. */
static const char *lanes_c[] = {[DTYPE_F32] = "", [DTYPE_F16] = "_f16", [DTYPE_BF16] = "_bf16"};
static const char *round_lanes_c[] = {
    [DTYPE_F32] = "%s", [DTYPE_F16] = "mlp_rounded_to_f16(%s)", [DTYPE_BF16] = "mlp_rounded_to_bf16(%s)"};

/* ---- threads ---- */

/* A network for several threads does of each step what `share` says; one for a single thread all `count` rows. */
static bool shared(const struct plan *plan)
{
    return plan->threads > 1;
}

/* What a function is given of it, "count", and how that is declared. */
static const char *extent(const struct plan *plan)
{
    return shared(plan) ? "share" : "count";
}

/* ---- names ---- */

static const struct buffer *buffer_of(const struct plan *plan, const struct value *value)
{
    return &plan->buffers.at[value->buffer];
}

/* The first element of the first row: "v_h1". */
static const char *base_of(struct arena *arena, const struct value *value)
{
    return arena_format(arena, "v_%s", value->name);
}

/* One template with one %s. */
static const char *fill(struct arena *arena, const char *template, const char *text)
{
    const char *hole = strstr(template, "%s");
    return arena_format(arena, "%.*s%s%s", (int)(hole - template), template, text, hole + 2);
}

/* ---- places ---- */

static void emit_places(struct emitter *e, const struct plan *plan)
{
    if (!plan->arena_bytes)
        return;
    emit_line(e, "/* Where values stand between steps, in floats: the width of each, how far apart its rows are where "
                 "that is");
    emit_line(e, " * more (a part of another value), and the steps between which it must stay. */");
    emit_open(e, "enum {");
    for (size_t i = 0; i < plan->values.count; i++) {
        const struct value *value = &plan->values.at[i];
        const struct buffer *buffer = buffer_of(plan, value);
        const char *apart =
            value->ld > value->width ? arena_format(e->arena, ", rows %" PRId64 " apart", value->ld) : "";
        if (buffer->place == PLACE_ARENA)
            emit_line(e, "at_%s = %" PRId64 ", /* [%" PRId64 "]%s, steps %d to %d */", value->name,
                      buffer->offset / 4 + value->column, value->width, apart, buffer->first, buffer->last);
    }
    emit_close(e, "};");
    emit_blank(e);
}

/* ---- a step ---- */

struct step_emitter {
    struct emitter *e;
    const struct plan *plan;
    const struct step *step;
    const struct value *out;
    const struct value *sums;       /* where a row operation works: the output, or f32 apart */
    bool tile;                      /* rows are those of a tile, not of a step */
    bool close;                     /* all rows are worked on as one */
    bool few;                       /* what is being written is for the few elements behind whole vectors */
};

static struct step_emitter step_emitter(struct emitter *e, const struct plan *plan, const struct step *step)
{
    return (struct step_emitter){.e = e, .plan = plan, .step = step, .out = &plan->values.at[step->out],
                                 .sums = &plan->values.at[step->sums < 0 ? step->out : step->sums]};
}

static const char *row_loop(const struct step_emitter *s)
{
    if (s->tile)
        return "for (size_t r = 0; r < count; r++) {";
    return shared(s->plan) ? "for (size_t r = share.row; r < share.row_end; r++) {"
                           : "for (size_t r = 0; r < count; r++) {";
}

/* The vector from element j on of the array `from`. */
static const char *lanes_of(const struct step_emitter *s, enum dtype dtype, const char *from)
{
    return s->few ? arena_format(s->e->arena, "mlp_load_few%s(%s + j, few)", lanes_c[dtype], from)
                  : arena_format(s->e->arena, "mlp_load%s(%s + j)", lanes_c[dtype], from);
}

static const char *operand_c(const void *emitter, struct operand operand)
{
    const struct step_emitter *s = emitter;
    struct arena *arena = s->e->arena;
    switch (operand.kind) {
    case OPERAND_OP:
        return arena_format(arena, "t%d", operand.index);
    case OPERAND_VALUE: {
        const struct value *value = &s->plan->values.at[operand.index];
        const char *row = arena_format(arena, "x_%s", value->name);
        if (value->width > 1 || s->close)
            return lanes_of(s, value->dtype, row);
        return arena_format(arena, "mlp_all(%s)", fill(arena, load_c[value->dtype], arena_format(arena, "%s[0]", row)));
    }
    case OPERAND_PARAM: {
        const struct packed *packed = &s->plan->params.at[operand.index];
        const char *row = arena_format(arena, "p_%s", packed->name);
        return packed->cols > 1 ? lanes_of(s, DTYPE_F32, row) : arena_format(arena, "mlp_all(%s[0])", row);
    }
    case OPERAND_NUMBER:
        return arena_format(arena, "mlp_all(%s)", emit_float(arena, operand.number));
    case OPERAND_NONE:
        break;
    }
    return "";
}

static const char *expression_c(const struct step_emitter *s, const struct tape_op *op)
{
    return emit_map(s->e->arena, op, operand_c, s);
}

/* What is stored for the float expression `text`: rounded, and in the output's type. */
static const char *stored_c(const struct step_emitter *s, const char *text)
{
    struct arena *arena = s->e->arena;
    if (s->out->dtype != DTYPE_F32)
        return fill(arena, store_c[s->out->dtype], text);
    return fill(arena, round_c[s->out->round], text);
}

/* Stores a vector of floats from element j of the array `to` on. */
static void emit_store(const struct step_emitter *s, enum dtype dtype, const char *to, const char *lanes)
{
    if (s->few)
        emit_line(s->e, "mlp_store_few%s(%s + j, few, %s);", lanes_c[dtype], to, lanes);
    else
        emit_line(s->e, "mlp_store%s(%s + j, %s);", lanes_c[dtype], to, lanes);
}

/* Stores it as the step's result: rounded, and in the output's type. */
static void emit_result(const struct step_emitter *s, const char *lanes)
{
    const bool wide = s->out->dtype == DTYPE_F32;
    emit_store(s, s->out->dtype, "y", wide ? fill(s->e->arena, round_lanes_c[s->out->round], lanes) : lanes);
}

/* Calls visit(s, index) for the operands of one kind that some operations have, each index once. */
static void each_operand(const struct step_emitter *s, enum operand_kind kind, size_t from, size_t to,
                         void (*visit)(const struct step_emitter *, int))
{
    VEC(int) seen = {0};
    for (size_t i = from; i < to; i++) {
        for (int j = 0; j < 3; j++) {
            struct operand operand = s->step->tape.at[i].in[j];
            bool known = operand.kind != kind;
            for (size_t k = 0; !known && k < seen.count; k++)
                known = seen.at[k] == operand.index;
            if (!known) {
                VEC_PUSH(s->e->arena, &seen, operand.index);
                visit(s, operand.index);
            }
        }
    }
}

static void declare_param(const struct step_emitter *s, int index)
{
    const struct packed *packed = &s->plan->params.at[index];
    emit_line(s->e, "const float *const p_%s = mlp_weight(rows, %" PRId64 ");", packed->name, packed->offset);
}

/* Where a value's first row stands: between steps, or in the caller's array. */
static void declare_value(const struct step_emitter *s, int index)
{
    const struct value *value = &s->plan->values.at[index];
    const struct buffer *buffer = buffer_of(s->plan, value);
    const char *type = dtype_c[value->dtype], *constant = buffer->place == PLACE_INPUT ? "const " : "";
    const char *column = value->column ? arena_format(s->e->arena, " + %" PRId64, value->column) : "";
    if (buffer->place == PLACE_ARENA)
        emit_line(s->e, "float *const v_%s = mlp_between(rows, at_%s);", value->name, value->name);
    else
        emit_line(s->e, "%s%s *const v_%s = (%s%s *)mlp_%s(rows, %d, %" PRId64 ")%s;", constant, type, value->name,
                  constant, type, buffer->place == PLACE_INPUT ? "input" : "output", buffer->port, buffer->row_bytes,
                  column);
}

/* The row at hand of what begins at `base`; in a tile, from its first column on where rows have several. */
static const char *row_of(const struct step_emitter *s, const char *base, int64_t ld, int64_t width)
{
    struct arena *arena = s->e->arena;
    if (s->tile)
        return arena_format(arena, "%s + (tile->row + r) * %" PRId64 "%s", base, ld,
                            width > 1 ? " + tile->column" : "");
    if (s->close)
        return shared(s->plan) ? arena_format(arena, "%s + share.row * %" PRId64, base, ld) : base;
    return arena_format(arena, "%s + r * %" PRId64, base, ld);
}

static void declare_row(const struct step_emitter *s, int index)
{
    const struct value *value = &s->plan->values.at[index];
    emit_line(s->e, "const %s *const x_%s = %s;", dtype_c[value->dtype], value->name,
              row_of(s, base_of(s->e->arena, value), value->ld, value->width));
}

/* "t1" */
static const char *last_op(const struct step_emitter *s)
{
    return arena_format(s->e->arena, "t%zu", s->step->tape.count - 1);
}

static void emit_element_ops(const struct step_emitter *s, size_t from, size_t to)
{
    for (size_t i = from; i < to; i++)
        emit_line(s->e, "const mlp_lanes t%zu = %s;", i, expression_c(s, &s->step->tape.at[i]));
}

/* Whether every element of all rows is made of those at its place in values that stand as close. */
static bool stands_close(const struct step_emitter *s)
{
    const struct value *out = s->out;
    bool close = out->ld == out->width;
    for (size_t i = 0; i < s->step->tape.count; i++) {
        for (int j = 0; j < 3; j++) {
            const struct operand operand = s->step->tape.at[i].in[j];
            const struct value *value = operand.kind == OPERAND_VALUE ? &s->plan->values.at[operand.index] : out;
            close = close && value->ld == value->width && value->width == out->width;
            close = close && (operand.kind != OPERAND_PARAM || s->plan->params.at[operand.index].cols == 1);
        }
    }
    return close;
}

/* Opens the loop over rows, unless they are one, and names the row of each value that operations from one on read. */
static void open_rows(const struct step_emitter *s, size_t from, const char *y)
{
    if (!s->close)
        emit_open(s->e, "%s", row_loop(s));
    each_operand(s, OPERAND_VALUE, from, s->step->tape.count, declare_row);
    emit_line(s->e, "%s *const y = %s;", dtype_c[s->out->dtype], row_of(s, y, s->out->ld, s->out->width));
}

static void close_rows(const struct step_emitter *s)
{
    if (!s->close)
        emit_close(s->e, "}");
}

/* `body` for all columns of a row, or of all rows: for whole vectors, and for the few elements behind them where the
 * width is not a multiple of every vector's lanes. */
static void emit_columns(const struct step_emitter *s, int64_t width, void (*body)(const struct step_emitter *))
{
    const bool even = width % 16 == 0, narrow = width < 4 && !s->close;
    const char *count = arena_format(s->e->arena, "%" PRId64, width);
    const char *end = s->tile ? "columns" : s->close ? "n" : count;
    struct step_emitter few = *s;
    few.few = true;
    if (s->close)
        emit_line(s->e, "const size_t n = %s * %s;", shared(s->plan) ? "(share.row_end - share.row)" : "count", count);
    if (!narrow) {
        emit_open(s->e, "for (size_t j = 0; j %s %s; j += MLP_LANES) {", even ? "<" : "+ MLP_LANES <=", end);
        body(s);
        emit_close(s->e, "}");
    }
    if (even)
        return;
    emit_open(s->e, narrow ? "{" : "if (MLP_FEW(%s)) {", end);
    emit_line(s->e, "const size_t j = MLP_WHOLE(%s), few = MLP_FEW(%s);", end, s->close ? end : count);
    body(&few);
    emit_close(s->e, "}");
}

/* ---- products ---- */

static bool stored_as_is(const struct step_emitter *s)
{
    return s->out->dtype == DTYPE_F32 && s->out->round == DTYPE_F32;
}

/* Whether a product is stored as it leaves the tile, or its relu is. */
static bool is_plain(const struct step_emitter *s)
{
    const size_t count = s->step->tape.count;
    return stored_as_is(s) && (count == 1 || (count == 2 && s->step->tape.at[1].op == OP_RELU));
}

/* What a product's function is made for. */
struct product_size {
    int64_t k, n, ldx, ldy;
    bool relu;
    const char *epilogue;           /* "epilogue_0_h1", which knows how far rows of the output stand apart; or NULL */
};

static struct product_size product_size(const struct plan *plan, const struct step *step, const char *epilogue)
{
    const struct value *x = &plan->values.at[step->tape.at[0].in[0].index];
    const struct value *y = &plan->values.at[step->out];
    return (struct product_size){step->k, step->n, x->ld, epilogue ? 0 : y->ld, !epilogue && step->tape.count > 1,
                                 epilogue};
}

/* "product_64_to_128_relu", "product_64_to_256_then_0_h1", with the distances of rows where they are not dense:
 * "product_64_to_128_x72_y256". */
static const char *product_name(struct arena *arena, struct product_size size)
{
    const char *x = size.ldx > size.k ? arena_format(arena, "_x%" PRId64, size.ldx) : "";
    const char *y = size.ldy > size.n ? arena_format(arena, "_y%" PRId64, size.ldy) : "";
    const char *then = size.epilogue ? arena_format(arena, "_then%s", strchr(size.epilogue, '_')) : "";
    return arena_format(arena, "product_%" PRId64 "_to_%" PRId64 "%s%s%s%s", size.k, size.n, x, y,
                        size.relu ? "_relu" : "", then);
}

static bool product_known(const struct plan *plan, size_t before, struct product_size size,
                          const char *const *epilogues)
{
    for (size_t i = 0; i < before; i++) {
        if (!plan->steps.at[i].product)
            continue;
        struct product_size other = product_size(plan, &plan->steps.at[i], epilogues[i]);
        if (other.k == size.k && other.n == size.n && other.ldx == size.ldx && other.ldy == size.ldy &&
            other.relu == size.relu && other.epilogue == size.epilogue)
            return true;
    }
    return false;
}

/* One function for all products of a size that have the same epilogue. */
static void emit_products(struct emitter *e, const struct plan *plan, const char *const *epilogues)
{
    const char *together = shared(plan) ? "_SHARED" : "";
    bool any = false;
    for (size_t i = 0; i < plan->steps.count; i++) {
        if (!plan->steps.at[i].product)
            continue;
        struct product_size size = product_size(plan, &plan->steps.at[i], epilogues[i]);
        if (product_known(plan, i, size, epilogues))
            continue;
        if (!any)
            emit_line(e, "/* Products, with a bias where there is one: columns out, in; how far rows stand apart, in, "
                         "out; relu, or an epilogue. */");
        any = true;
        if (size.epilogue)
            emit_line(e, "MLP_PRODUCT_THEN%s(%s, %" PRId64 ", %" PRId64 ", %" PRId64 ", %s)", together,
                      product_name(e->arena, size), size.n, size.k, size.ldx, size.epilogue);
        else
            emit_line(e, "MLP_PRODUCT%s(%s, %" PRId64 ", %" PRId64 ", %" PRId64 ", %" PRId64 ", %d)", together,
                      product_name(e->arena, size), size.n, size.k, size.ldx, size.ldy, size.relu);
    }
    if (any)
        emit_blank(e);
}

/* ---- epilogues ---- */

static void emit_epilogue_elements(const struct step_emitter *s)
{
    emit_line(s->e, "const mlp_lanes t0 = %s;", lanes_of(s, DTYPE_F32, "sums"));
    emit_element_ops(s, 1, s->step->tape.count);
    emit_result(s, last_op(s));
}

static void declare_tile_param(const struct step_emitter *s, int index)
{
    const struct packed *packed = &s->plan->params.at[index];
    emit_line(s->e, "const float *const p_%s = mlp_weight(rows, %" PRId64 ")%s;", packed->name, packed->offset,
              packed->cols > 1 ? " + tile->column" : "");
}

static bool reads_any(const struct step *step, size_t from)
{
    for (size_t i = from; i < step->tape.count; i++) {
        for (int j = 0; j < 3; j++) {
            enum operand_kind kind = step->tape.at[i].in[j].kind;
            if (kind == OPERAND_VALUE || kind == OPERAND_PARAM)
                return true;
        }
    }
    return false;
}

/* What follows its name, or NULL where there is nothing to do. */
static const char *epilogue_text(const struct plan *plan, const struct step *step, struct arena *arena)
{
    struct emitter text = {.arena = arena};
    struct step_emitter s = step_emitter(&text, plan, step);
    if (!step->product || is_plain(&s))
        return NULL;
    s.tile = true;
    emit_line(&text, "(const mlp_rows *rows, const mlp_tile *tile)");
    emit_open(&text, "{");
    if (!reads_any(step, 1))
        emit_line(&text, "(void)rows;");
    each_operand(&s, OPERAND_PARAM, 1, step->tape.count, declare_tile_param);
    each_operand(&s, OPERAND_VALUE, 1, step->tape.count, declare_value);
    emit_line(&text, "%s *const to = (%s *)tile->y;", dtype_c[s.out->dtype], dtype_c[s.out->dtype]);
    emit_line(&text, "const size_t count = tile->rows, columns = tile->columns;");
    open_rows(&s, 1, "to");
    emit_line(&text, "const float *const sums = tile->sums + r * MLP_TILE_WIDTH;");
    emit_columns(&s, s.out->width, emit_epilogue_elements);
    close_rows(&s);
    emit_close(&text, "}");
    return text.text;
}

/* One function for all that are equal. Gives each step's, or NULL. */
static const char **emit_epilogues(struct emitter *e, const struct plan *plan)
{
    const size_t count = plan->steps.count;
    const char **texts = ARENA_ARRAY(e->arena, const char *, count);
    const char **names = ARENA_ARRAY(e->arena, const char *, count);
    uint64_t *hashes = ARENA_ARRAY(e->arena, uint64_t, count);
    for (size_t i = 0; i < count; i++) {
        const struct step *step = &plan->steps.at[i];
        texts[i] = epilogue_text(plan, step, e->arena);
        hashes[i] = texts[i] ? hash_text(HASH_START, texts[i]) : 0;
        for (size_t j = 0; texts[i] && j < i && !names[i]; j++) {
            if (texts[j] && hashes[i] == hashes[j] && !strcmp(texts[i], texts[j]))
                names[i] = names[j];
        }
        if (!texts[i] || names[i])
            continue;
        names[i] = arena_format(e->arena, "epilogue%s", strchr(step->function, '_'));
        emit_line(e, "/* %s: what follows the product */", emit_comment(e->arena, step->text));
        emit_line(e, "static __attribute__((noinline)) void %s%s", names[i], texts[i]);
    }
    return names;
}

static const char *param_or_null(const struct step_emitter *s, struct operand operand)
{
    if (operand.kind == OPERAND_NONE)
        return "NULL";
    return arena_format(s->e->arena, "p_%s", s->plan->params.at[operand.index].name);
}

static void emit_product(const struct step_emitter *s, const char *epilogue)
{
    const struct tape_op *linear = &s->step->tape.at[0];
    struct arena *arena = s->e->arena;
    emit_line(s->e, "%s(%s%s, %s, %s, %s, %s);", product_name(arena, product_size(s->plan, s->step, epilogue)),
              epilogue ? "rows, " : "", extent(s->plan), base_of(arena, &s->plan->values.at[linear->in[0].index]),
              param_or_null(s, linear->in[1]), param_or_null(s, linear->in[2]), base_of(arena, s->out));
}

/* ---- other steps ---- */

static void emit_row_call(const struct step_emitter *s, const struct tape_op *op, const char *row)
{
    struct emitter *e = s->e;
    const char *eps = emit_float(e->arena, op->attr[0]);
    switch (op->op) {
    case OP_SOFTMAX:
        emit_line(e, "mlp_softmax_row(%s, %" PRId64 ");", row, op->width);
        break;
    case OP_LOG_SOFTMAX:
        emit_line(e, "mlp_log_softmax_row(%s, %" PRId64 ");", row, op->width);
        break;
    case OP_LAYERNORM:
        emit_line(e, "mlp_layernorm_row(%s, %" PRId64 ", %s, %s, %s);", row, op->width, eps,
                  param_or_null(s, op->in[1]), param_or_null(s, op->in[2]));
        break;
    default:
        emit_line(e, "mlp_rmsnorm_row(%s, %" PRId64 ", %s, %s, %s);", row, op->width, eps,
                  emit_float(e->arena, op->attr[1]), param_or_null(s, op->in[1]));
        break;
    }
}

static const char *row_operated_on(const struct step_emitter *s)
{
    return s->sums != s->out ? "row" : "y";
}

static void emit_row_elements(const struct step_emitter *s)
{
    const struct tape_op *last = &s->step->tape.at[s->step->tape.count - 1];
    emit_element_ops(s, 0, s->step->tape.count - 1);
    emit_store(s, DTYPE_F32, row_operated_on(s), operand_c(s, last->in[0]));
}

static void emit_row_result(const struct step_emitter *s)
{
    emit_result(s, lanes_of(s, DTYPE_F32, row_operated_on(s)));
}

/* Element-wise operations into a row of floats, the row operation in place, then rounding into the output. */
static void emit_row_op(const struct step_emitter *s)
{
    const struct tape_op *last = &s->step->tape.at[s->step->tape.count - 1];
    open_rows(s, 0, base_of(s->e->arena, s->out));
    if (s->sums != s->out)
        emit_line(s->e, "float *const row = %s;",
                  row_of(s, base_of(s->e->arena, s->sums), s->sums->ld, s->sums->width));
    emit_columns(s, last->width, emit_row_elements);
    emit_row_call(s, last, row_operated_on(s));
    if (!stored_as_is(s))
        emit_columns(s, last->width, emit_row_result);
    close_rows(s);
}

static int64_t operand_width(const struct step_emitter *s, struct operand operand)
{
    switch (operand.kind) {
    case OPERAND_OP:
        return s->step->tape.at[operand.index].width;
    case OPERAND_VALUE:
        return s->plan->values.at[operand.index].width;
    case OPERAND_PARAM:
        return s->plan->params.at[operand.index].cols;
    case OPERAND_NUMBER:
    case OPERAND_NONE:
        break;
    }
    return 1;
}

/* An operand of a reduction, with zeros in the lanes that the row has no elements for. */
static const char *term_c(const struct step_emitter *s, struct operand operand)
{
    const char *lanes = operand_c(s, operand);
    return s->few ? arena_format(s->e->arena, "mlp_keep_few(%s, few, 0.0f)", lanes) : lanes;
}

static void emit_terms(const struct step_emitter *s)
{
    const struct tape_op *last = &s->step->tape.at[s->step->tape.count - 1];
    emit_element_ops(s, 0, s->step->tape.count - 1);
    if (last->op == OP_DOT)
        emit_line(s->e, "mlp_add_up_products(&sums, %s, %s);", term_c(s, last->in[0]), term_c(s, last->in[1]));
    else
        emit_line(s->e, "mlp_add_up(&sums, %s);", term_c(s, last->in[0]));
}

/* sum, mean, dot: added up in double, as the row functions of mlp_row.h do. */
static void emit_reduce(const struct step_emitter *s)
{
    const struct tape_op *last = &s->step->tape.at[s->step->tape.count - 1];
    int64_t width = operand_width(s, last->in[0]);
    open_rows(s, 0, base_of(s->e->arena, s->out));
    emit_line(s->e, "mlp_doubles sums = mlp_no_sums();");
    emit_columns(s, width, emit_terms);
    const char *result = "(float)mlp_total(sums)";
    if (last->op == OP_MEAN)
        result = arena_format(s->e->arena, "(float)(mlp_total(sums) / %" PRId64 ")", width);
    emit_line(s->e, "y[0] = %s;", stored_c(s, result));
    close_rows(s);
}

static void emit_all_elements(const struct step_emitter *s)
{
    emit_element_ops(s, 0, s->step->tape.count);
    emit_result(s, last_op(s));
}

static void emit_elements(const struct step_emitter *step)
{
    struct step_emitter s = *step;
    s.close = stands_close(&s);
    open_rows(&s, 0, base_of(s.e->arena, s.out));
    emit_columns(&s, s.out->width, emit_all_elements);
    close_rows(&s);
}

static void emit_step(struct emitter *e, const struct plan *plan, const struct step *step, const char *epilogue)
{
    const size_t tape = step->product ? 1 : step->tape.count;    /* what follows is the epilogue's */
    struct step_emitter s = step_emitter(e, plan, step);
    emit_line(e, "/* %s -- %s:%d */", emit_comment(e->arena, step->text), emit_comment(e->arena, plan->spec),
              step->line);
    emit_line(e, "static void %s(const mlp_rows *rows)", step->function);
    emit_open(e, "{");
    if (!shared(plan))
        emit_line(e, "const size_t count = rows->count;");
    else if (step->product)
        emit_line(e, "const mlp_share share = mlp_share_of(rows, %" PRId64 ");", step->n);
    else
        emit_line(e, "const mlp_share share = mlp_share_of_rows(rows);");
    each_operand(&s, OPERAND_PARAM, 0, tape, declare_param);
    each_operand(&s, OPERAND_VALUE, 0, tape, declare_value);
    declare_value(&s, step->out);
    if (step->sums >= 0)
        declare_value(&s, step->sums);
    if (step->product)
        emit_product(&s, epilogue);
    else if (op_info[step->tape.at[step->tape.count - 1].op].kind == KIND_ROW)
        emit_row_op(&s);
    else if (op_info[step->tape.at[step->tape.count - 1].op].kind == KIND_REDUCE)
        emit_reduce(&s);
    else
        emit_elements(&s);
    emit_close(e, "}");
    emit_blank(e);
}

/* ---- all steps ---- */

static void emit_forward(struct emitter *e, const struct plan *plan)
{
    emit_line(e, "/* The network, for at most %" PRId64 " rows. */", plan->chunk);
    emit_line(e, "static void forward(const mlp_rows *rows)");
    emit_open(e, "{");
    for (size_t i = 0; i < plan->steps.count; i++)
        emit_line(e, "%s(rows);", plan->steps.at[i].function);
    emit_close(e, "}");
    emit_blank(e);
}

static void emit_table(struct emitter *e, const struct plan *plan)
{
    emit_open(e, "static void (*const steps[])(const mlp_rows *) = {");
    for (size_t i = 0; i < plan->steps.count; i++)
        emit_line(e, "%s,", plan->steps.at[i].function);
    emit_close(e, "};");
    emit_blank(e);
    emit_line(e, "MLP_EXTERN const mlp_steps MLP_STEPS;");
    emit_line(e, "const mlp_steps MLP_STEPS = {forward, steps};");
    emit_blank(e);
}

void emit_cpu_steps(struct emitter *e, const struct plan *plan)
{
    emit_banner(e, plan);
    emit_line(e, "/* The steps. What includes this says for which instruction set (mlp_level.h), and names them. */");
    emit_line(e, "#include <math.h>");
    emit_line(e, "#include <string.h>");
    emit_blank(e);
    emit_line(e, "#include \"mlp_steps.h\"");
    emit_blank(e);
    emit_line(e, "#include \"mlp_level_begin.h\"");
    emit_line(e, "#include \"mlp_cpu.h\"");
    emit_blank(e);
    emit_places(e, plan);
    const char **epilogues = emit_epilogues(e, plan);
    emit_products(e, plan, epilogues);
    for (size_t i = 0; i < plan->steps.count; i++)
        emit_step(e, plan, &plan->steps.at[i], epilogues[i]);
    emit_forward(e, plan);
    emit_table(e, plan);
    emit_line(e, "#include \"mlp_level_end.h\"");
}

/* ---- instruction sets ---- */

bool cpu_level_wanted(const struct plan *plan, int level)
{
    return level ? (plan->cpu_levels & 1u << level) != 0 : !plan->cpu_levels;
}

/* "x86-64-v3" */
static const char *level_text(struct arena *arena, int level)
{
    return level > 1 ? arena_format(arena, "x86-64-v%d", level) : "x86-64";
}

const char *cpu_steps_name(struct arena *arena, const struct plan *plan, int level)
{
    if (!level)
        return arena_format(arena, "%s_native", plan->prefix);
    return level > 1 ? arena_format(arena, "%s_x86_64_v%d", plan->prefix, level)
                     : arena_format(arena, "%s_x86_64", plan->prefix);
}

int cpu_level_above(const struct plan *plan, int level)
{
    for (int above = level + 1; level && above <= CPU_LEVELS; above++) {
        if (cpu_level_wanted(plan, above))
            return above;
    }
    return 0;
}

void emit_cpu_level(struct emitter *e, const struct plan *plan, int level)
{
    const int above = cpu_level_above(plan, level);
    emit_banner(e, plan);
    emit_line(e, "#include \"mlp_steps.h\"");
    emit_line(e, "#include \"mlp_level.h\"");
    emit_blank(e);
    if (above)
        emit_line(e, "#if MLP_LEVEL_GIVEN < %d /* else the compiler may count on %s anyway */", above,
                  level_text(e->arena, above));
    if (level)
        emit_line(e, "#define MLP_LEVEL %d /* %s */", level, level_text(e->arena, level));
    emit_line(e, "#define MLP_STEPS %s", cpu_steps_name(e->arena, plan, level));
    emit_line(e, "#include \"%s_steps.h\"", plan->prefix);
    if (above)
        emit_line(e, "#endif");
}
