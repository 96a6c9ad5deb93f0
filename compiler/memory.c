/* Places the arena's buffers: two that are alive at the same step never overlap, and the peak is kept low.
 *
 * No layout can be smaller than the largest sum of sizes alive at one step. The first strategy gets there for every
 * chain, and wherever no more than two are alive at once: it gives each buffer, in order of birth, the free end of an
 * arena of just that size. Where that fails (branches), two greedy ones compete: by size, largest first, and by birth;
 * each puts a buffer into the lowest gap. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "plan.h"

enum { MANY_BUFFERS = 4096 };       /* beyond this, placing by size takes too long: it is quadratic */

struct block {
    int buffer;
    int first, last;
    int64_t size, offset;
};

struct layout {
    struct block *blocks;           /* in order of birth */
    int count;
    int64_t bound;                  /* the largest sum of sizes alive at once */
};

static int compare_births(const void *a, const void *b)
{
    const struct block *x = a, *y = b;
    if (x->first != y->first)
        return x->first < y->first ? -1 : 1;
    return (x->buffer > y->buffer) - (x->buffer < y->buffer);
}

static int compare_sizes(const void *a, const void *b)
{
    const struct block *x = *(struct block *const *)a, *y = *(struct block *const *)b;
    if (x->size != y->size)
        return x->size > y->size ? -1 : 1;
    return compare_births(x, y);
}

static int compare_offsets(const void *a, const void *b)
{
    const struct block *x = *(struct block *const *)a, *y = *(struct block *const *)b;
    return (x->offset > y->offset) - (x->offset < y->offset);
}

static bool list_blocks(const struct plan *plan, struct layout *layout)
{
    layout->blocks = ARENA_ARRAY(plan->arena, struct block, plan->buffers.count);
    int64_t total = 0;
    for (size_t i = 0; i < plan->buffers.count; i++) {
        const struct buffer *buffer = &plan->buffers.at[i];
        int64_t size;
        if (buffer->place != PLACE_ARENA)
            continue;
        if (!CHECKED_MUL(buffer->row_bytes, plan->chunk, &size) || !CHECKED_ADD(size, plan->alignment - 1, &size) ||
            !CHECKED_ADD(total, size, &total))
            return false;
        size -= size % plan->alignment;
        layout->blocks[layout->count++] =
            (struct block){.buffer = (int)i, .first = buffer->first, .last = buffer->last, .size = size};
    }
    qsort(layout->blocks, (size_t)layout->count, sizeof *layout->blocks, compare_births);
    return true;
}

/* Those of `live` that still matter at step `now` stay; returns how many. */
static int drop_dead(struct block **live, int count, int now)
{
    int kept = 0;
    for (int i = 0; i < count; i++) {
        if (live[i]->last >= now)
            live[kept++] = live[i];
    }
    return kept;
}

static void find_bound(struct arena *arena, struct layout *layout)
{
    struct block **live = ARENA_ARRAY(arena, struct block *, (size_t)layout->count);
    int count = 0;
    for (int i = 0; i < layout->count; i++) {
        int64_t sum = layout->blocks[i].size;
        count = drop_dead(live, count, layout->blocks[i].first);
        for (int j = 0; j < count; j++)
            sum += live[j]->size;
        live[count++] = &layout->blocks[i];
        layout->bound = sum > layout->bound ? sum : layout->bound;
    }
}

/* The lowest offset at which `size` bytes fit between blocks that are sorted by offset. */
static int64_t lowest_gap(struct block *const *sorted, int count, int64_t size)
{
    int64_t offset = 0;
    for (int i = 0; i < count; i++) {
        if (sorted[i]->offset - offset >= size)
            break;
        int64_t end = sorted[i]->offset + sorted[i]->size;
        offset = end > offset ? end : offset;
    }
    return offset;
}

/* The highest offset below `top` at which `size` bytes fit; negative if there is none. */
static int64_t highest_gap(struct block *const *sorted, int count, int64_t size, int64_t top)
{
    for (int i = count; i-- > 0;) {
        if (top - (sorted[i]->offset + sorted[i]->size) >= size)
            break;
        top = sorted[i]->offset < top ? sorted[i]->offset : top;
    }
    return top - size;
}

/* Places in order of birth. With `ends`, at the free end of [0, bound), the lower one if both are, and gives up where
 * there is no room; without, always in the lowest gap. */
static bool place_by_birth(struct arena *arena, struct layout *layout, bool ends)
{
    struct block **live = ARENA_ARRAY(arena, struct block *, (size_t)layout->count);
    int count = 0;
    for (int i = 0; i < layout->count; i++) {
        struct block *block = &layout->blocks[i];
        count = drop_dead(live, count, block->first);
        qsort(live, (size_t)count, sizeof *live, compare_offsets);
        int64_t low = lowest_gap(live, count, block->size);
        if (ends) {
            int64_t high = highest_gap(live, count, block->size, layout->bound);
            bool low_fits = low + block->size <= layout->bound;
            if (!low_fits && high < 0)
                return false;
            block->offset = (low == 0 && low_fits) || high < 0 ? low : high;
        } else {
            block->offset = low;
        }
        live[count++] = block;
    }
    return true;
}

static void place_by_size(struct arena *arena, struct layout *layout)
{
    struct block **order = ARENA_ARRAY(arena, struct block *, (size_t)layout->count);
    struct block **placed = ARENA_ARRAY(arena, struct block *, (size_t)layout->count);   /* sorted by offset */
    struct block **rivals = ARENA_ARRAY(arena, struct block *, (size_t)layout->count);
    for (int i = 0; i < layout->count; i++)
        order[i] = &layout->blocks[i];
    qsort(order, (size_t)layout->count, sizeof *order, compare_sizes);
    for (int i = 0; i < layout->count; i++) {
        struct block *block = order[i];
        int count = 0, at = i;
        for (int j = 0; j < i; j++) {
            if (placed[j]->first <= block->last && block->first <= placed[j]->last)
                rivals[count++] = placed[j];
        }
        block->offset = lowest_gap(rivals, count, block->size);
        for (; at > 0 && placed[at - 1]->offset > block->offset; at--)
            placed[at] = placed[at - 1];
        placed[at] = block;
    }
}

static int64_t peak_of(const struct layout *layout)
{
    int64_t peak = 0;
    for (int i = 0; i < layout->count; i++) {
        int64_t end = layout->blocks[i].offset + layout->blocks[i].size;
        peak = end > peak ? end : peak;
    }
    return peak;
}

static void place(struct arena *arena, struct layout *layout)
{
    if (place_by_birth(arena, layout, true))
        return;
    if (layout->count <= MANY_BUFFERS) {
        place_by_size(arena, layout);
        int64_t by_size = peak_of(layout);
        place_by_birth(arena, layout, false);
        if (by_size < peak_of(layout))
            place_by_size(arena, layout);
    } else {
        place_by_birth(arena, layout, false);
    }
}

bool memory_assign(struct plan *plan)
{
    struct layout layout = {0};
    if (!list_blocks(plan, &layout))
        return false;
    find_bound(plan->arena, &layout);
    place(plan->arena, &layout);
    for (int i = 0; i < layout.count; i++)
        plan->buffers.at[layout.blocks[i].buffer].offset = layout.blocks[i].offset;
    plan->arena_bytes = peak_of(&layout);
    return true;
}
