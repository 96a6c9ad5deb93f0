/* How the kernel for few rows is spread: a cluster or a grid, blocks, warps, the ring, and what stands where in shared
 * memory and in the state. The sizes are those that mlp_few.cuh computes from the same numbers; it asserts that they
 * fit. Every limit below was measured on an H200 at the networks of specs/ladder. */
#include "few.h"

enum {
    SHARED_BYTES = 227 * 1024,      /* of a block */
    CLUSTER_BLOCKS = 16,
    GRID_LEAST = 64, GRID_MOST = 128,
    GRID_STREAMING = 132,           /* all multiprocessors of an H200 */
    GRID_COLUMNS = 4,               /* least of the widest layer, of a block */
    SLOT = 17408, WIDE_SLOT = 33792,    /* 16 weight rows by 17 and 33 steps: 1 and 2 KiB of each, and the banks */
    LEAST_SLOTS = 4,
    WIDE_FLIGHT = 2,                /* 66 KiB of each multiprocessor on their way: less idles, more queues */
    LONG_ROW = 2048,
    STEP_BYTES = 64, TILE_ROWS = 16, PART_PITCH = 20,
    NUMBERS_BYTES = 16 * 1024,      /* most of what all blocks need whole: beyond, it is read from memory */
};

static const int64_t cluster_weights = 700 * 1024;      /* more pass faster through the whole GPU */
static const int64_t block_weights = 24 * 1024;         /* that a grid's block should have, if there are so few */
static const int64_t resident_weights = 160 * 1024;     /* of a block: less can all be on its way at once */
static const int64_t wide_layer = 400 * 1024;           /* weights of a block: 16 warps are faster than 8, */
static const int64_t many_warps_layer = 32 * 1024;      /* or, where they are resident, from here on */

static int64_t smaller(int64_t a, int64_t b) { return a < b ? a : b; }
static int64_t larger(int64_t a, int64_t b) { return a > b ? a : b; }
static int64_t ceiling(int64_t a, int64_t b) { return (a + b - 1) / b; }
static int64_t up(int64_t a, int64_t to) { return ceiling(a, to) * to; }

/* ---- As in mlp_few.cuh ---- */

static int64_t pitch_of(int64_t bytes)
{
    return STEP_BYTES * (ceiling(bytes, STEP_BYTES) | 1);
}

static int64_t share_of(const struct few *few, const struct few_layer *layer)
{
    int64_t unit = few->cluster ? 8 : 1;
    return ceiling(ceiling(layer->out, unit), few->blocks) * unit;
}

static int64_t tile_rows_of(const struct few *few, const struct few_layer *layer)
{
    return smaller(TILE_ROWS, share_of(few, layer) * layer->sums);
}

static int64_t row_bytes_of(const struct few_layer *layer)
{
    return up(layer->in * (int64_t)dtype_size(layer->dtype), 16);
}

/* Tiles of a block's part of a layer. */
static int64_t layer_tiles(const struct few *few, const struct few_layer *layer, int64_t slot_bytes)
{
    int64_t steps = ceiling(row_bytes_of(layer), STEP_BYTES);
    int64_t room = slot_bytes / (STEP_BYTES * tile_rows_of(few, layer)), odd = room % 2 ? room : room - 1;
    int64_t most = odd > few->warps ? odd / few->warps * few->warps : odd;
    int64_t along = steps <= odd ? 1 : ceiling(steps, most);
    return ceiling(share_of(few, layer), TILE_ROWS / layer->sums) * along;
}

static int64_t all_tiles(const struct few *few, int64_t slot_bytes)
{
    int64_t tiles = 0;
    for (size_t i = 0; i < few->layers.count; i++)
        tiles += layer_tiles(few, &few->layers.at[i], slot_bytes);
    return tiles;
}

static int64_t shared_bytes(const struct few *few, int64_t slots, int64_t slot_bytes)
{
    int64_t parts = up(16 * slots + 8 * few->hands, 128);
    int64_t scratch = parts + 2 * 4 * few->warps * few->rows * PART_PITCH;
    return up(scratch + 4 * few->warps, 128) + slots * slot_bytes + few->rest;
}

static bool fits(const struct few *few, int64_t slots, int64_t slot_bytes)
{
    return shared_bytes(few, slots, slot_bytes) <= SHARED_BYTES;
}

/* ---- Lifetimes ---- */

static const struct value *value_at(const struct few *few, int index)
{
    return &few->plan->values.at[index];
}

static const struct step *step_at(const struct few *few, int index)
{
    return &few->plan->steps.at[index];
}

static void touch(struct few *few, int buffer, int stage)
{
    struct few_rows *rows = &few->buffers[buffer];
    rows->first = stage < rows->first ? stage : rows->first;
    rows->last = stage > rows->last ? stage : rows->last;
}

/* The operand of a product is read before the block's threads meet to finish sums; all else when they have met. */
static void touch_operands(struct few *few, int step, int stage, bool beside_sums)
{
    const struct step *s = step_at(few, step);
    for (size_t i = 0; i < s->tape.count; i++) {
        for (int j = 0; j < 3; j++) {
            struct operand in = s->tape.at[i].in[j];
            if (in.kind != OPERAND_VALUE)
                continue;
            touch(few, value_at(few, in.index)->buffer, stage);
            few->buffers[value_at(few, in.index)->buffer].beside_sums |= beside_sums && s->tape.at[i].op != OP_LINEAR;
        }
    }
}

static void touch_stage(struct few *few, int number)
{
    const struct few_stage *stage = &few->stages.at[number];
    switch (stage->kind) {
    case FEW_LOAD:
        touch(few, stage->index, number);
        break;
    case FEW_RECEIVE:
    case FEW_RECEIVE_FOR:
    case FEW_RECEIVE_ROWS:
        touch(few, value_at(few, few->layers.at[stage->index].hand)->buffer, number);
        break;
    case FEW_PRODUCT:
        for (size_t i = 0; i < few->layers.at[stage->index].steps.count; i++)
            touch_operands(few, few->layers.at[stage->index].steps.at[i], number, true);
        break;
    case FEW_STEP:
    case FEW_STEP_ROWS:
        touch_operands(few, stage->index, number, false);
        touch(few, value_at(few, step_at(few, stage->index)->out)->buffer, number);
        break;
    }
}

static void find_lifetimes(struct few *few)
{
    for (size_t i = 0; i < few->plan->buffers.count; i++) {
        few->buffers[i].first = INT32_MAX;
        few->buffers[i].last = -1;
        few->buffers[i].beside_sums = false;
    }
    for (size_t i = 0; i < few->stages.count; i++)
        touch_stage(few, (int)i);
}

/* ---- Places in shared memory ---- */

static int64_t bytes_of(const struct few *few, const struct few_rows *rows)
{
    return few->rows * pitch_of(rows->ld * (int64_t)dtype_size(rows->dtype));
}

static int last_of(const struct few *few, const struct few_rows *rows)
{
    return rows->beside_sums && !few->tight ? INT32_MAX : rows->last;
}

/* In a cluster other blocks write to this one's memory while it may lag behind: nothing takes another's place. */
static bool at_a_time(const struct few *few, const struct few_rows *a, const struct few_rows *b)
{
    return few->cluster || (a->first <= last_of(few, b) && b->first <= last_of(few, a));
}

static bool meet_in_memory(const struct few *few, const struct few_rows *a, const struct few_rows *b)
{
    return a->at < b->at + bytes_of(few, b) && b->at < a->at + bytes_of(few, a);
}

/* The first place from `least` on that nobody has at the same time. */
static void place_rows(struct few *few, struct few_rows *rows, int64_t least)
{
    bool moved = true;
    rows->at = least;
    while (moved) {
        moved = false;
        for (size_t i = 0; i < few->plan->buffers.count; i++) {
            const struct few_rows *other = &few->buffers[i];
            if (other == rows || other->at == FEW_NOWHERE || !at_a_time(few, rows, other) ||
                !meet_in_memory(few, rows, other))
                continue;
            rows->at = other->at + bytes_of(few, other);
            moved = true;
        }
    }
    few->rest = larger(few->rest, rows->at + bytes_of(few, rows));
}

/* Where rows take the place of others that are read beside sums, the block's threads meet before the first stage that
 * writes. (An operand of a product has been read by all when the last tile's sums meet.) */
static void note_meeting(struct few *few, const struct few_rows *rows)
{
    for (size_t i = 0; i < few->plan->buffers.count; i++) {
        const struct few_rows *other = &few->buffers[i];
        if (other != rows && other->at != FEW_NOWHERE && other->beside_sums && other->last < rows->first &&
            meet_in_memory(few, rows, other))
            few->stages.at[rows->first].meet = true;
    }
}

static void place_all_rows(struct few *few)
{
    int64_t least = few->rest;
    for (size_t i = 0; i < few->plan->buffers.count; i++)
        few->buffers[i].at = FEW_NOWHERE;
    for (int stage = 0; (size_t)stage < few->stages.count; stage++) {
        for (size_t i = 0; i < few->plan->buffers.count; i++) {
            struct few_rows *rows = &few->buffers[i];
            if (!rows->shared || rows->first != stage)
                continue;
            place_rows(few, rows, least);
            note_meeting(few, rows);
        }
    }
}

static void place_numbers(struct few *few)
{
    int64_t bytes = 0;
    for (size_t i = 0; i < few->layers.count; i++) {
        struct few_layer *layer = &few->layers.at[i];
        for (size_t j = 0; j < layer->columns.count; j++) {
            layer->columns.at[j].at = few->rest;
            few->rest += up(4 * share_of(few, layer), 16);
        }
    }
    for (size_t i = 0; i < few->numbers.count; i++) {
        struct few_numbers *numbers = &few->numbers.at[i];
        int64_t size = up(4 * numbers->count, 16);
        if (numbers->count == 1 || bytes + size > NUMBERS_BYTES)
            continue;
        numbers->at = few->rest;
        bytes += size;
        few->rest += size;
    }
}

static void place_all(struct few *few, bool tight)
{
    few->rest = 0;
    few->tight = tight;
    few_schedule(few);
    find_lifetimes(few);
    place_numbers(few);
    place_all_rows(few);
}

static void place_hands(struct few *few)
{
    int64_t offset = 0;
    for (size_t i = 0; i < few->layers.count; i++) {
        struct few_layer *layer = &few->layers.at[i];
        if (layer->hand < 0)
            continue;
        const struct value *hand = value_at(few, layer->hand);
        layer->hand_offset = offset;
        offset += 2 * few->rows * up(hand->width * (int64_t)dtype_size(hand->dtype), 16);
    }
    few->state_bytes = few->cluster ? 0 : up(up(4 * few->blocks, 256) + offset, 256);
    if (few->state_bytes > INT32_MAX)
        few->refusal = "rows that are too wide";
}

/* ---- What stays in memory where shared memory is too small ---- */

static const struct value *input_of(const struct few *few, const struct few_layer *layer)
{
    return value_at(few, step_at(few, layer->steps.at[0])->tape.at[0].in[0].index);
}

/* How many operands of all steps lie in the buffer. */
static int count_reads(const struct few *few, int buffer)
{
    int count = 0;
    for (size_t i = 0; i < few->plan->steps.count; i++) {
        const struct step *step = step_at(few, (int)i);
        for (size_t j = 0; j < step->tape.count; j++) {
            for (int k = 0; k < 3; k++) {
                struct operand in = step->tape.at[j].in[k];
                count += in.kind == OPERAND_VALUE && value_at(few, in.index)->buffer == buffer;
            }
        }
    }
    return count;
}

/* The layer that hands on just the rows which are the input of another, and nothing else; or NULL. */
static struct few_layer *only_writer(struct few *few, const struct few_layer *reader)
{
    const struct value *in = input_of(few, reader);
    for (size_t i = 0; i < few->layers.count; i++) {
        const struct value *hand = few->layers.at[i].hand >= 0 ? value_at(few, few->layers.at[i].hand) : NULL;
        if (hand && hand->buffer == in->buffer && hand->column == in->column && hand->width == in->width &&
            count_reads(few, in->buffer) == 1)
            return &few->layers.at[i];
    }
    return NULL;
}

static bool may_stay(struct few *few, struct few_layer *layer)
{
    const struct few_rows *rows = &few->buffers[input_of(few, layer)->buffer];
    return !layer->input_stays && (rows->input || (!few->cluster && only_writer(few, layer)));
}

/* The widest rows that only products read are read from memory instead; false where there are none. */
static bool leave_widest(struct few *few)
{
    struct few_layer *widest = NULL;
    for (size_t i = 0; i < few->layers.count; i++) {
        struct few_layer *layer = &few->layers.at[i];
        if (may_stay(few, layer) && (!widest || row_bytes_of(layer) > row_bytes_of(widest)))
            widest = layer;
    }
    if (!widest)
        return false;
    if (!few->buffers[input_of(few, widest)->buffer].input)
        only_writer(few, widest)->hand_stays = true;
    widest->input_stays = true;
    return true;
}

/* ---- Choices ---- */

static int64_t weight_bytes(const struct few *few)
{
    int64_t bytes = 0;
    for (size_t i = 0; i < few->layers.count; i++)
        bytes += few->layers.at[i].out * few->layers.at[i].sums * row_bytes_of(&few->layers.at[i]);
    return bytes;
}

static int64_t widest_layer(const struct few *few)
{
    int64_t columns = 0;
    for (size_t i = 0; i < few->layers.count; i++)
        columns = larger(columns, few->layers.at[i].out);
    return columns;
}

/* A block's weights of a layer. */
static int64_t part_of(const struct few *few, const struct few_layer *layer)
{
    return share_of(few, layer) * layer->sums * row_bytes_of(layer);
}

static const struct few_layer *largest_layer(const struct few *few)
{
    const struct few_layer *largest = &few->layers.at[0];
    for (size_t i = 1; i < few->layers.count; i++) {
        if (part_of(few, &few->layers.at[i]) > part_of(few, largest))
            largest = &few->layers.at[i];
    }
    return largest;
}

/* The smallest slots with which a block has the fewest tiles, if all of them fit at once. */
static bool hold_all(struct few *few)
{
    int64_t fewest = INT32_MAX;
    for (int bytes = 1024; bytes <= WIDE_SLOT; bytes += 256) {
        int64_t tiles = larger(2, all_tiles(few, bytes));
        if (tiles >= fewest || !fits(few, tiles, bytes))
            continue;
        fewest = tiles;
        few->slots = few->flight = (int)tiles;
        few->slot_bytes = bytes;
    }
    return fewest < INT32_MAX;
}

/* As many slots as fit, of this size, and so many of them on their way at once. */
static bool stream(struct few *few, int slot_bytes, int flight)
{
    int64_t slots = (SHARED_BYTES - shared_bytes(few, 0, 0)) / (slot_bytes + 16);
    while (slots > 0 && !fits(few, slots, slot_bytes))
        slots--;
    few->slots = (int)slots;
    few->flight = (int)smaller(slots, flight);
    few->slot_bytes = slot_bytes;
    return slots >= LEAST_SLOTS;
}

static bool choose_ring(struct few *few)
{
    place_all(few, false);
    if (hold_all(few))
        return true;
    place_all(few, true);
    return hold_all(few) || (row_bytes_of(largest_layer(few)) >= LONG_ROW && stream(few, WIDE_SLOT, WIDE_FLIGHT)) ||
           stream(few, SLOT, INT32_MAX);
}

static bool shape_cluster(struct few *few)
{
    if (weight_bytes(few) > cluster_weights)
        return false;
    few->cluster = true;
    few->blocks = widest_layer(few) <= 8 * CLUSTER_BLOCKS / 2 ? CLUSTER_BLOCKS / 2 : CLUSTER_BLOCKS;
    few->warps = 8;
    place_all(few, false);
    if (hold_all(few))
        return true;
    few->cluster = false;
    return false;
}

static void choose_grid(struct few *few)
{
    int64_t bytes = weight_bytes(few), blocks = (bytes / block_weights + 16) / 32 * 32;
    blocks = smaller(larger(blocks, GRID_LEAST), GRID_MOST);
    bool resident = bytes / blocks <= resident_weights;
    blocks = resident ? blocks : GRID_STREAMING;
    few->blocks = (int)larger(1, smaller(blocks, widest_layer(few) / GRID_COLUMNS));
    int64_t layer = bytes / few->blocks / (int64_t)few->layers.count;
    bool many = (resident && layer >= many_warps_layer) || part_of(few, largest_layer(few)) > wide_layer;
    few->warps = many && few->rows <= 4 ? 16 : 8;
}

void few_shape(struct few *few)
{
    bool fit = shape_cluster(few);
    if (!fit)
        choose_grid(few);
    while (!fit) {
        fit = choose_ring(few);
        if (!fit && !leave_widest(few))
            break;
    }
    if (!fit)
        few->refusal = "its rows do not fit into shared memory";
    else
        place_hands(few);
}
