/* The order of the work on one tile of rows. Steps keep the order of the plan. A product is started as soon as its
 * operand is there, and waited for when something needs its result: that is where a phase ends and the next begins.
 *
 * A layer that is too wide to be held whole is taken together with the product that reads it: some of its columns are
 * computed, rounded, and multiplied on at once, while the next ones are under way (ROWS_CHUNKED). Between the two may
 * stand element-wise steps and further products of the same width, as in a gated block, as long as nothing else reads
 * what they make. */
#include "rows.h"

enum {
    IN_FLIGHT = 64,                 /* registers of sums that are under way beside one another */
    BOTH_SUMS = 192,                /* registers that two products' sums may take at once */
};

enum state { NOT_YET, STARTED, DONE };

struct scheduler {
    struct rows *rows;
    const struct plan *plan;
    int64_t part, wide;
    int *consumer_of;               /* of each step: the product that ends its group, or -1 */
    enum state *state;              /* of each step */
    VEC(int) pending;               /* products whose sums are under way */
};

/* ---- Groups of steps that work part by part ---- */

struct group {
    VEC(int) steps;
    int consumer, shape, products;
};

static bool contains(const struct group *group, int step)
{
    bool found = step == group->consumer;
    for (size_t i = 0; i < group->steps.count; i++)
        found |= group->steps.at[i] == step;
    return found;
}

/* Whether a part of the piece is all that its readers need at a time: the group's own steps the same part, its consumer
 * one part after the other. */
static bool read_in_parts(const struct group *group, const struct rows_piece *piece)
{
    bool consumed = piece->last_reader == group->consumer;
    return piece->output < 0 && piece->readers == 1 && contains(group, piece->last_reader) &&
           piece->multiplied == consumed && piece->combined == !consumed;
}

/* Whether all that a step makes is read inside the group and lies like the rest of it. */
static bool stays_inside(const struct scheduler *s, const struct group *group, int index)
{
    const struct step *step = &s->plan->steps.at[index];
    enum op_kind kind = op_info[rows_last(step)->op].kind;
    if (s->consumer_of[index] >= 0 || (kind != KIND_MAP && kind != KIND_PRODUCT))
        return false;
    for (int i = 0; i < s->rows->piece_count[step->out]; i++) {
        const struct rows_piece *piece = rows_piece_of(s->rows, step->out, i);
        if (piece->shape != group->shape || !read_in_parts(group, piece))
            return false;
    }
    return true;
}

static void add_writers(const struct scheduler *s, struct group *group, int value)
{
    for (int i = 0; i < s->rows->piece_count[value]; i++) {
        int writer = rows_piece_of(s->rows, value, i)->writer;
        if (writer < 0 || contains(group, writer) || !stays_inside(s, group, writer))
            continue;
        VEC_PUSH(s->plan->arena, &group->steps, writer);
        group->products += s->plan->steps.at[writer].product;
    }
}

static void grow_group(const struct scheduler *s, struct group *group)
{
    for (size_t i = 0; i < group->steps.count; i++) {
        int index = group->steps.at[i];
        const struct step *step = &s->plan->steps.at[index];
        for (int op = 0; (size_t)op < step->tape.count; op++) {
            for (int j = 0; j < 3; j++) {
                if (rows_reads_columns(s->plan, step, op, j))
                    add_writers(s, group, step->tape.at[op].in[j].index);
            }
        }
    }
}

static void fix_group(struct scheduler *s, const struct group *group)
{
    s->consumer_of[group->consumer] = group->consumer;
    s->rows->shapes.at[group->shape].part = s->part;
    for (size_t i = 0; i < group->steps.count; i++) {
        int index = group->steps.at[i], out = s->plan->steps.at[index].out;
        s->consumer_of[index] = group->consumer;
        for (int p = 0; p < s->rows->piece_count[out]; p++) {
            struct rows_piece *piece = rows_piece_of(s->rows, out, p);
            piece->inside = piece->chunked = true;
        }
    }
}

static void try_group(struct scheduler *s, int consumer)
{
    int value = s->plan->steps.at[consumer].tape.at[0].in[0].index;
    const struct rows_piece *piece = rows_piece_of(s->rows, value, 0);
    const struct rows_shape *shape = rows_shape_of(s->rows, piece);
    struct group group = {.consumer = consumer, .shape = piece->shape};
    if (s->rows->piece_count[value] != 1 || shape->width < s->wide || shape->whole)
        return;
    add_writers(s, &group, value);
    grow_group(s, &group);
    if (group.products)
        fix_group(s, &group);
}

/* ---- Phases ---- */

static struct rows_phase *current(const struct scheduler *s)
{
    return &s->rows->phases.at[s->rows->phases.count - 1];
}

static bool is_empty(const struct rows_phase *phase)
{
    return !phase->waits.count && !phase->steps.count && !phase->starts.count && phase->consumer < 0;
}

static void begin_phase(struct scheduler *s, enum rows_phase_kind kind)
{
    struct rows_phase phase = {.kind = kind, .consumer = -1};
    if (s->rows->phases.count && is_empty(current(s)))
        s->rows->phases.count--;
    VEC_PUSH(s->plan->arena, &s->rows->phases, phase);
}

static void compute(struct scheduler *s, int step)
{
    VEC_PUSH(s->plan->arena, &current(s)->steps, step);
    s->state[step] = DONE;
}

/* A new phase, which waits for everything under way. */
static void collect_sums(struct scheduler *s, enum rows_phase_kind kind)
{
    begin_phase(s, kind);
    for (size_t i = 0; i < s->pending.count; i++) {
        VEC_PUSH(s->plan->arena, &current(s)->waits, s->pending.at[i]);
        compute(s, s->pending.at[i]);
    }
    s->pending.count = 0;
}

static bool is_pending(const struct scheduler *s, int value)
{
    bool pending = false;
    for (int i = 0; i < s->rows->piece_count[value]; i++) {
        int writer = rows_piece_of(s->rows, value, i)->writer;
        pending |= writer >= 0 && s->state[writer] == STARTED;
    }
    return pending;
}

static bool needs_pending(const struct scheduler *s, const struct step *step)
{
    bool needs = false;
    for (size_t i = 0; i < step->tape.count; i++) {
        for (int j = 0; j < 3; j++) {
            struct operand in = step->tape.at[i].in[j];
            needs |= in.kind == OPERAND_VALUE && is_pending(s, in.index);
        }
    }
    return needs;
}

/* Registers that the sums of a step's product take: of each thread, half as many as columns. */
static int sum_registers(const struct rows *rows, int step)
{
    int64_t columns = 0;
    int out = rows->plan->steps.at[step].out;
    for (int i = 0; i < rows->piece_count[out]; i++) {
        const struct rows_piece *piece = rows_piece_of(rows, out, i);
        const struct rows_shape *shape = rows_shape_of(rows, piece);
        columns += piece->chunked ? shape->part : rows_padded(shape);
    }
    return (int)(columns / 2);
}

static int all_sums(const struct rows *rows, const int *steps, size_t count)
{
    int sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += sum_registers(rows, steps[i]);
    return sum;
}

/* Whether the product can read its operand part by part, straight from the sums that it waits for. */
static bool takes_parts(const struct scheduler *s, int consumer)
{
    int value = s->plan->steps.at[consumer].tape.at[0].in[0].index;
    const struct rows_piece *piece = rows_piece_of(s->rows, value, 0);
    return s->pending.count == 1 && s->rows->piece_count[value] == 1 && piece->writer == s->pending.at[0] &&
           rows_parts(rows_shape_of(s->rows, piece)) > 1 && piece->readers == 1 && piece->output < 0 &&
           !piece->combined &&
           s->rows->piece_count[s->plan->steps.at[piece->writer].out] == 1 &&
           sum_registers(s->rows, piece->writer) + sum_registers(s->rows, consumer) <= BOTH_SUMS;
}

static void end_with_consumer(struct scheduler *s, int consumer)
{
    current(s)->consumer = consumer;
    s->state[consumer] = STARTED;
    VEC_PUSH(s->plan->arena, &s->pending, consumer);
    begin_phase(s, ROWS_PLAIN);
}

static void schedule_group(struct scheduler *s, int consumer)
{
    if (s->pending.count)
        collect_sums(s, ROWS_PLAIN);
    begin_phase(s, ROWS_CHUNKED);
    for (int i = 0; i < consumer; i++) {
        if (s->consumer_of[i] != consumer)
            continue;
        if (s->plan->steps.at[i].product)
            VEC_PUSH(s->plan->arena, &current(s)->starts, i);
        compute(s, i);
    }
    end_with_consumer(s, consumer);
}

static void schedule_parts(struct scheduler *s, int consumer)
{
    int value = s->plan->steps.at[consumer].tape.at[0].in[0].index;
    collect_sums(s, ROWS_PARTS);
    rows_piece_of(s->rows, value, 0)->inside = true;
    end_with_consumer(s, consumer);
}

static void schedule_product(struct scheduler *s, int step)
{
    int operand = s->plan->steps.at[step].tape.at[0].in[0].index;
    if (takes_parts(s, step)) {
        schedule_parts(s, step);
        return;
    }
    int under_way = all_sums(s->rows, s->pending.at, s->pending.count);
    if (is_pending(s, operand) || (under_way && under_way + sum_registers(s->rows, step) > IN_FLIGHT))
        collect_sums(s, ROWS_PLAIN);
    VEC_PUSH(s->plan->arena, &current(s)->starts, step);
    VEC_PUSH(s->plan->arena, &s->pending, step);
    s->state[step] = STARTED;
}

static void schedule_step(struct scheduler *s, int index)
{
    const struct step *step = &s->plan->steps.at[index];
    if (s->consumer_of[index] == index) {
        schedule_group(s, index);
    } else if (s->consumer_of[index] >= 0) {
        return;                     /* with its group */
    } else if (step->product) {
        schedule_product(s, index);
    } else {
        if (needs_pending(s, step))
            collect_sums(s, ROWS_PLAIN);
        compute(s, index);
    }
}

/* ---- Registers ---- */

static int piece_registers(const struct rows *rows, const struct rows_piece *piece)
{
    const struct rows_shape *shape = rows_shape_of(rows, piece);
    return (int)(piece->dtype == DTYPE_F32 ? rows_padded(shape) / 2 : rows_depth(shape) / 4);
}

/* The phase in which a step is computed; of a product's start, where `started`. */
static int phase_of(const struct rows *rows, int step, bool started)
{
    for (int i = 0; (size_t)i < rows->phases.count; i++) {
        const struct rows_phase *phase = &rows->phases.at[i];
        for (size_t j = 0; j < phase->steps.count && !started; j++) {
            if (phase->steps.at[j] == step)
                return i;
        }
        for (size_t j = 0; j < phase->starts.count && started; j++) {
            if (phase->starts.at[j] == step)
                return i;
        }
        if (started && phase->consumer == step)
            return i;
    }
    return 0;
}

/* When a piece is there: from the phase `made` on, to the steps of one phase and the products started in another. */
struct life {
    int made, steps, starts;
};

static struct life *find_lives(const struct rows *rows)
{
    const struct plan *plan = rows->plan;
    struct life *lives = ARENA_ARRAY(plan->arena, struct life, rows->pieces.count + 1);
    for (size_t i = 0; i < rows->pieces.count; i++) {
        int writer = rows->pieces.at[i].writer;
        lives[i] = (struct life){writer >= 0 ? phase_of(rows, writer, false) : -1, -1, -1};
    }
    for (int i = 0; (size_t)i < plan->steps.count; i++) {
        const struct step *step = &plan->steps.at[i];
        for (size_t op = 0; op < step->tape.count; op++) {
            bool started = step->tape.at[op].op == OP_LINEAR;
            int phase = phase_of(rows, i, started);
            for (int j = 0; j < 3; j++) {
                struct operand in = step->tape.at[op].in[j];
                for (int p = 0; in.kind == OPERAND_VALUE && p < rows->piece_count[in.index]; p++) {
                    struct life *life = &lives[rows->first_piece[in.index] + p];
                    int *last = started ? &life->starts : &life->steps;
                    *last = phase > *last ? phase : *last;
                }
            }
        }
    }
    return lives;
}

struct live {
    int before, made, after;        /* registers of pieces: there already, new, and needed when products run */
};

static struct live live_in(const struct rows *rows, const struct life *lives, int phase)
{
    struct live live = {0};
    for (size_t i = 0; i < rows->pieces.count; i++) {
        const struct rows_piece *piece = &rows->pieces.at[i];
        int registers = piece_registers(rows, piece), last = lives[i].steps > lives[i].starts ? lives[i].steps
                                                                                              : lives[i].starts;
        if (piece->inside || !piece->readers)
            continue;
        live.before += lives[i].made < phase && last >= phase ? registers : 0;
        live.made += lives[i].made == phase ? registers : 0;
        live.after += lives[i].made <= phase && (last > phase || lives[i].starts == phase) ? registers : 0;
    }
    return live;
}

/* What a row operation holds beside its operand: the row in f32, and centred or raised. */
static int row_registers(const struct rows *rows, const struct rows_phase *phase)
{
    int64_t most = 0;
    for (size_t i = 0; i < phase->steps.count; i++) {
        const struct step *step = &rows->plan->steps.at[phase->steps.at[i]];
        int64_t padded = rows_padded(rows_shape_of(rows, rows_piece_of(rows, step->out, 0)));
        if (op_info[rows_last(step)->op].kind == KIND_ROW)
            most = padded > most ? padded : most;
    }
    return (int)most;
}

static int most(int a, int b)
{
    return a > b ? a : b;
}

/* The parts of a wide layer: those on their way into the product, of which there are two, and what they come from. */
static int part_registers(const struct rows *rows, const struct rows_phase *phase)
{
    int sum = 0;
    for (size_t i = 0; i < phase->steps.count; i++) {
        int out = rows->plan->steps.at[phase->steps.at[i]].out;
        for (int p = 0; p < rows->piece_count[out]; p++)
            sum += (int)rows_shape_of(rows, rows_piece_of(rows, out, p))->part / 4;
    }
    int last = rows->plan->steps.at[phase->consumer].tape.at[0].in[0].index;
    return sum + (int)rows_shape_of(rows, rows_piece_of(rows, last, 0))->part / 4;
}

static int phase_registers(const struct rows *rows, const struct life *lives, int index)
{
    const struct rows_phase *phase = &rows->phases.at[index];
    struct live live = live_in(rows, lives, index);
    int waited = all_sums(rows, phase->waits.at, phase->waits.count);
    int started = all_sums(rows, phase->starts.at, phase->starts.count);
    int consumed = phase->consumer >= 0 ? sum_registers(rows, phase->consumer) : 0;
    switch (phase->kind) {
    case ROWS_CHUNKED:
        return live.before + started + consumed + part_registers(rows, phase);
    case ROWS_PARTS: {
        int value = rows->plan->steps.at[phase->consumer].tape.at[0].in[0].index;
        int whole = (int)rows_padded(rows_shape_of(rows, rows_piece_of(rows, value, 0))) / 2;
        return live.before + whole + consumed;
    }
    case ROWS_PLAIN:
        break;
    }
    return most(most(live.before + waited + live.made / 2, live.before + live.made + row_registers(rows, phase)),
                live.after + started);
}

static void count_registers(struct rows *rows)
{
    const struct life *lives = find_lives(rows);
    for (int i = 0; (size_t)i < rows->phases.count; i++)
        rows->phases.at[i].registers = phase_registers(rows, lives, i);
}

void rows_schedule(struct rows *rows, int64_t part, int64_t wide)
{
    const struct plan *plan = rows->plan;
    struct scheduler s = {.rows = rows, .plan = plan, .part = part, .wide = wide};
    s.consumer_of = ARENA_ARRAY(plan->arena, int, plan->steps.count + 1);
    s.state = ARENA_ARRAY(plan->arena, enum state, plan->steps.count + 1);
    for (size_t i = 0; i < plan->steps.count; i++)
        s.consumer_of[i] = -1;
    for (int i = 0; (size_t)i < plan->steps.count; i++) {
        if (plan->steps.at[i].product && s.consumer_of[i] < 0)
            try_group(&s, i);
    }
    begin_phase(&s, ROWS_PLAIN);
    for (int i = 0; (size_t)i < plan->steps.count; i++)
        schedule_step(&s, i);
    if (s.pending.count)
        collect_sums(&s, ROWS_PLAIN);
    if (is_empty(current(&s)))
        rows->phases.count--;
    count_registers(rows);
}
