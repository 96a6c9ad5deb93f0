/* Phases of the kernel for many rows: what is waited for, computed and started, in the order of rows_phases.c; and the
 * loads of the rows that come next. */
#include <inttypes.h>
#include <string.h>

#include "emit_rows.h"

/* ---- Products ---- */

static const struct rows_weight *weight_of(const struct rows_printer *p, const struct step *step,
                                           const struct rows_piece *out, const struct rows_piece *in)
{
    const struct tape_op *linear = &step->tape.at[0];
    return rows_weight_of(p->rows, linear->in[1].index, out->column - p->plan->values.at[step->out].column,
                          in->column - p->plan->values.at[linear->in[0].index].column, out->shape, in->shape);
}

/* sum_h (+)= x W' of one piece of the result and one of the operand, `first` of those; of columns from `n` on, where
 * the sums are but a part of them. */
static void emit_piece_product(const struct rows_printer *p, const struct step *step, const struct rows_piece *out,
                               const struct rows_piece *in, bool first, const char *n)
{
    const struct rows_weight *weight = weight_of(p, step, out, in);
    const struct rows_shape *shape = rows_shape_of(p->rows, in);
    const char *call = arena_format(p->arena, "backend::product<w%s>(%s, %s, memory, s_w%s", weight->name,
                                    rows_sums_name(p, out), rows_tensor_name(p, in, "k"), weight->name);
    if (rows_in_parts(p, in)) {
        emit_line(p->e, "#pragma unroll");
        emit_line(p->e, "for (int k = 0; k < %" PRId64 "; k++)", rows_parts(shape));
        emit_line(p->e, "    %s, %s, %s, %" PRId64 " * k);", call, first ? "k > 0" : "true", n, shape->part);
    } else {
        emit_line(p->e, "%s, %s%s);", call, first ? "false" : "true",
                  strcmp(n, "0") ? arena_format(p->arena, ", %s", n) : "");
    }
}

static void emit_product(const struct rows_printer *p, int index, const char *n)
{
    const struct step *step = &p->plan->steps.at[index];
    int operand = step->tape.at[0].in[0].index;
    for (int i = 0; i < p->rows->piece_count[step->out]; i++) {
        for (int j = 0; j < p->rows->piece_count[operand]; j++)
            emit_piece_product(p, step, rows_piece_of(p->rows, step->out, i), rows_piece_of(p->rows, operand, j),
                               j == 0, n);
    }
}

/* "x_a, x_b[0], x_b[1]": what the products read. */
static const char *operands_of(const struct rows_printer *p, const int *steps, size_t count)
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
                                    rows_tensor_name(p, piece, arena_format(p->arena, "%" PRId64, k)));
        }
    }
    return text;
}

static void emit_starts(const struct rows_printer *p, const struct rows_phase *phase, const char *n)
{
    if (!phase->starts.count)
        return;
    emit_line(p->e, "backend::begin(%s);", operands_of(p, phase->starts.at, phase->starts.count));
    for (size_t i = 0; i < phase->starts.count; i++)
        emit_product(p, phase->starts.at[i], n);
    emit_line(p->e, "backend::commit();");
}

static const char *sums_of(const struct rows_printer *p, const int *steps, size_t count)
{
    const char *text = "";
    for (size_t s = 0; s < count; s++) {
        int out = p->plan->steps.at[steps[s]].out;
        for (int i = 0; i < p->rows->piece_count[out]; i++)
            text = arena_format(p->arena, "%s, %s", text, rows_sums_name(p, rows_piece_of(p->rows, out, i)));
    }
    return text;
}

/* ---- Rows in memory ---- */

bool rows_is_loaded(const struct rows_piece *piece)
{
    return piece->input >= 0 && piece->readers;
}

const char *rows_array_of(const struct rows_printer *p, const struct rows_piece *piece)
{
    if (rows_in_parts(p, piece))
        return arena_format(p->arena, "[%" PRId64 "]", rows_parts(rows_shape_of(p->rows, piece)));
    return *p->t ? "[T]" : "";
}

static void emit_load(const struct rows_printer *p, const struct rows_piece *piece, const char *to, const char *row)
{
    const char *column = piece->column ? arena_format(p->arena, ", %" PRId64, piece->column) : "";
    const char *load = arena_format(p->arena, "mlp_rows_load<%s, %" PRId64 "%s>", rows_columns_name(p, piece->shape),
                                    rows_port_value(p, piece)->ld, column);
    if (rows_in_parts(p, piece)) {
        emit_line(p->e, "#pragma unroll");
        emit_line(p->e, "for (int i = 0; i < %" PRId64 "; i++)", rows_parts(rows_shape_of(p->rows, piece)));
        emit_line(p->e, "    %s(%s%s[i], v%s, %s, rows, %" PRId64 " * i);", load, to, piece->name, piece->name, row,
                  rows_part_width(p, piece));
    } else {
        emit_line(p->e, "%s(%s%s%s, v%s, %s, rows);", load, to, piece->name, p->t, piece->name, row);
    }
}

static void open_tiles(const struct rows_printer *p)
{
    if (!*p->t)
        return;
    emit_line(p->e, "#pragma unroll");
    emit_open(p->e, "for (int t = 0; t < T; t++) {");
}

static void close_tiles(const struct rows_printer *p)
{
    if (*p->t)
        emit_close(p->e, "}");
}

static bool any_input(const struct rows_printer *p)
{
    bool any = false;
    for (size_t i = 0; i < p->rows->pieces.count; i++)
        any |= rows_is_loaded(&p->rows->pieces.at[i]);
    return any;
}

void emit_rows_loads(const struct rows_printer *p, const char *to, const char *row)
{
    if (!any_input(p))
        return;
    open_tiles(p);
    for (size_t i = 0; i < p->rows->pieces.count; i++) {
        if (rows_is_loaded(&p->rows->pieces.at[i]))
            emit_load(p, &p->rows->pieces.at[i], to,
                      *p->t ? arena_format(p->arena, "%s + 64 * t", row) : row);
    }
    close_tiles(p);
}

static void emit_take(const struct rows_printer *p)
{
    for (size_t i = 0; i < p->rows->pieces.count; i++) {
        const struct rows_piece *piece = &p->rows->pieces.at[i];
        if (!rows_is_loaded(piece))
            continue;
        if (rows_in_parts(p, piece)) {
            emit_line(p->e, "#pragma unroll");
            emit_line(p->e, "for (int i = 0; i < %" PRId64 "; i++)", rows_parts(rows_shape_of(p->rows, piece)));
            emit_line(p->e, "    x%s[i] = mlp_rows_take(next%s[i], rows);", piece->name, piece->name);
        } else {
            emit_line(p->e, "x%s%s = mlp_rows_take(next%s%s, rows);", piece->name, p->t, piece->name, p->t);
        }
    }
}

/* The rows at hand: loaded ahead, or now. */
static void emit_first(const struct rows_printer *p)
{
    if (p->rows->ahead)
        emit_take(p);
    else
        emit_rows_loads(p, "x", "row");
}

static void emit_next(const struct rows_printer *p)
{
    if (p->rows->ahead)
        emit_rows_loads(p, "next", "row + stride");
}

/* ---- Phases ---- */

static void emit_phase_comments(const struct rows_printer *p, const struct rows_phase *phase)
{
    for (size_t i = 0; i < phase->steps.count; i++)
        emit_rows_comment(p, phase->steps.at[i]);
    for (size_t i = 0; i < phase->starts.count && phase->kind == ROWS_PLAIN && !phase->steps.count; i++)
        emit_rows_comment(p, phase->starts.at[i]);
}

/* Rows of parameters that the phase reads whole, before it waits; each is there for all tiles. */
static void emit_phase_params(struct rows_printer p, const struct rows_phase *phase)
{
    bool *seen = ARENA_ARRAY(p.arena, bool, p.rows->params.count + 1);
    for (size_t i = 0; i < phase->steps.count; i++) {
        p.step = &p.plan->steps.at[phase->steps.at[i]];
        int row = rows_row_value(p.plan, p.step);
        for (p.piece = 0; p.piece < p.rows->piece_count[row]; p.piece++) {
            if (!rows_in_parts(&p, rows_piece_of(p.rows, row, p.piece)))
                rows_each_param(&p, seen, emit_rows_param);
        }
    }
}

/* Groups of products that are younger than those waited for: of the tiles behind this one, and, where this phase
 * starts products too, of those before it. */
static const char *pending_groups(const struct rows_printer *p, const struct rows_phase *phase)
{
    if (!*p->t)
        return "0";
    return phase->starts.count ? "T - 1" : "T - 1 - t";
}

static void emit_plain(const struct rows_printer *p, const struct rows_phase *phase, bool first)
{
    emit_phase_params(*p, phase);
    if (first && !p->rows->ahead)
        emit_first(p);
    open_tiles(p);
    if (first && p->rows->ahead)
        emit_first(p);
    if (phase->waits.count)
        emit_line(p->e, "backend::wait(%s%s);", pending_groups(p, phase),
                  sums_of(p, phase->waits.at, phase->waits.count));
    for (size_t i = 0; i < phase->steps.count; i++)
        emit_rows_step(*p, phase->steps.at[i], false);
    emit_starts(p, phase, "0");
    for (size_t i = 0; i < phase->steps.count; i++)
        emit_rows_step(*p, phase->steps.at[i], true);
    close_tiles(p);
    if (first)
        emit_next(p);
}

/* The piece that the consumer reads part by part. */
static const struct rows_piece *consumed(const struct rows_printer *p, const struct rows_phase *phase)
{
    return rows_piece_of(p->rows, p->plan->steps.at[phase->consumer].tape.at[0].in[0].index, 0);
}

const struct rows_weight *rows_streamed_weight(const struct rows_printer *p)
{
    for (size_t i = 0; i < p->rows->weights.count; i++) {
        if (p->rows->weights.at[i].streamed)
            return &p->rows->weights.at[i];
    }
    return NULL;
}

/* Chunks of the ring become free when the product that read them is finished: two parts later. */
static void emit_release(const struct rows_printer *p)
{
    emit_line(p->e, "if (i - 2 >= resident)");
    emit_line(p->e, "    ring.release(chunk + i - 2 - resident);");
}

static void emit_last_releases(const struct rows_printer *p, int64_t parts)
{
    for (int64_t i = parts - 2; i < parts; i++) {
        if (i >= p->rows->resident)
            emit_line(p->e, "ring.release(chunk + %" PRId64 ");", i - p->rows->resident);
    }
}

static void emit_streamed_place(const struct rows_printer *p, const struct rows_weight *weight)
{
    emit_line(p->e, "int place = s_w%s + i * w%s::bytes;", weight->name, weight->name);
    emit_open(p->e, "if (i >= resident) {");
    emit_line(p->e, "ring.wait(chunk + i - resident);");
    emit_line(p->e, "place = s_ring + int((chunk + i - resident) %% stages) * w%s::bytes;", weight->name);
    emit_close(p->e, "}");
}

static bool is_streamed(const struct rows_printer *p, const struct rows_phase *phase)
{
    const struct step *step = &p->plan->steps.at[phase->consumer];
    return weight_of(p, step, rows_piece_of(p->rows, step->out, 0), consumed(p, phase))->streamed;
}

/* The consumer's product with the part at hand. */
static void emit_consumer(const struct rows_printer *p, const struct rows_phase *phase)
{
    const struct step *step = &p->plan->steps.at[phase->consumer];
    const struct rows_piece *in = consumed(p, phase);
    const char *operand = rows_tensor_name(p, in, "i");
    if (is_streamed(p, phase))
        emit_streamed_place(p, rows_streamed_weight(p));
    emit_line(p->e, "backend::begin(%s);", operand);
    for (int i = 0; i < p->rows->piece_count[step->out]; i++) {
        const struct rows_piece *out = rows_piece_of(p->rows, step->out, i);
        const struct rows_weight *weight = weight_of(p, step, out, in);
        const char *call = arena_format(p->arena, "backend::product<w%s>(%s, %s, memory", weight->name,
                                        rows_sums_name(p, out), operand);
        if (weight->streamed)
            emit_line(p->e, "%s, place, i > 0);", call);
        else
            emit_line(p->e, "%s, s_w%s, i > 0, 0, %" PRId64 " * i);", call, weight->name,
                      rows_shape_of(p->rows, in)->part);
    }
    emit_line(p->e, "backend::commit();");
}

/* The steps of a wide layer for the part i. */
static void emit_part_steps(struct rows_printer p, const struct rows_phase *phase)
{
    p.part = "i";
    for (size_t i = 0; i < phase->steps.count; i++) {
        p.step = &p.plan->steps.at[phase->steps.at[i]];
        for (p.piece = 0; p.piece < p.rows->piece_count[p.step->out]; p.piece++) {
            emit_rows_before(&p);
            emit_rows_tensor(&p, rows_piece_of(p.rows, p.step->out, p.piece));
        }
    }
}

static void emit_part_params(struct rows_printer p, const struct rows_phase *phase)
{
    bool *seen = ARENA_ARRAY(p.arena, bool, p.rows->params.count + 1);
    p.part = "i";
    for (size_t i = 0; i < phase->steps.count; i++) {
        p.step = &p.plan->steps.at[phase->steps.at[i]];
        for (p.piece = 0; p.piece < p.rows->piece_count[p.step->out]; p.piece++)
            rows_each_param(&p, seen, emit_rows_param);
    }
}

/* The products of the part behind the one at hand, which run while that one is multiplied on. */
static void emit_next_part(const struct rows_printer *p, const struct rows_phase *phase)
{
    const struct rows_shape *shape = rows_shape_of(p->rows, consumed(p, phase));
    emit_open(p->e, "if (i + 1 < %" PRId64 ") {", rows_parts(shape));
    emit_line(p->e, "backend::begin(%s);", rows_tensor_name(p, consumed(p, phase), "i"));
    for (size_t i = 0; i < phase->starts.count; i++)
        emit_product(p, phase->starts.at[i], arena_format(p->arena, "%" PRId64 " * (i + 1)", shape->part));
    emit_line(p->e, "backend::commit();");
    emit_close(p->e, "}");
}

static void open_parts(const struct rows_printer *p, const struct rows_phase *phase)
{
    emit_rows_comment(p, phase->consumer);
    emit_line(p->e, "#pragma unroll");
    emit_open(p->e, "for (int i = 0; i < %" PRId64 "; i++) {", rows_parts(rows_shape_of(p->rows, consumed(p, phase))));
    emit_part_params(*p, phase);
}

static void emit_chunked(const struct rows_printer *p, const struct rows_phase *phase, bool first)
{
    bool ring = is_streamed(p, phase);
    if (first)
        emit_first(p);
    emit_starts(p, phase, "0");
    if (first)
        emit_next(p);
    open_parts(p, phase);
    emit_line(p->e, "backend::wait(i > 0%s);", sums_of(p, phase->starts.at, phase->starts.count));
    if (ring)
        emit_release(p);
    emit_part_steps(*p, phase);
    emit_next_part(p, phase);
    emit_consumer(p, phase);
    emit_close(p->e, "}");
    if (ring) {
        emit_line(p->e, "backend::wait(0%s);", sums_of(p, &phase->consumer, 1));
        emit_last_releases(p, rows_parts(rows_shape_of(p->rows, consumed(p, phase))));
    }
}

static void emit_by_parts(const struct rows_printer *p, const struct rows_phase *phase)
{
    const struct rows_piece *piece = consumed(p, phase);
    int64_t part = rows_shape_of(p->rows, piece)->part;
    emit_line(p->e, "backend::wait(0%s);", sums_of(p, phase->waits.at, phase->waits.count));
    open_parts(p, phase);
    emit_line(p->e, "const auto part%s = mlp_rows_part<%" PRId64 ">(%s, %" PRId64 " * i);", piece->name, part,
              rows_sums_name(p, piece), part);
    emit_part_steps(*p, phase);
    emit_consumer(p, phase);
    emit_close(p->e, "}");
}

void emit_rows_phase(const struct rows_printer *p, const struct rows_phase *phase, bool first)
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
