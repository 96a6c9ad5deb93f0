#include "memory_map.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "footprint.h"
#include "quantity.h"
#include "utf8.h"

enum { MOST_NAMED = 4, MOST_COLUMNS = 100 };

/* ---- What is where, and when ---- */

static int compare_tenants(const void *left, const void *right)
{
    const struct tenant *a = left, *b = right;
    if (a->first != b->first)
        return a->first < b->first ? -1 : 1;
    return (a->offset > b->offset) - (a->offset < b->offset);
}

/* Names of the values in each buffer: one pass over them. */
static void name_tenants(const struct plan *plan, struct tenant *by_buffer)
{
    int *widest = ARENA_ARRAY(plan->arena, int, plan->buffers.count);
    int *named = ARENA_ARRAY(plan->arena, int, plan->buffers.count);
    for (int i = (int)plan->values.count; i-- > 0;) {
        int buffer = plan->values.at[i].buffer;
        if (!by_buffer[buffer].name || plan->values.at[i].width >= plan->values.at[widest[buffer]].width) {
            by_buffer[buffer].name = plan->values.at[i].name;
            widest[buffer] = i;
        }
    }
    for (int i = 0; (size_t)i < plan->values.count; i++) {
        struct tenant *tenant = &by_buffer[plan->values.at[i].buffer];
        int *count = &named[plan->values.at[i].buffer];
        if (!tenant->others)
            tenant->others = "";
        if (i == widest[plan->values.at[i].buffer] || ++*count > MOST_NAMED + 1)
            continue;
        tenant->others = arena_format(plan->arena, "%s, %s", tenant->others,
                                      *count > MOST_NAMED ? "..." : plan->values.at[i].name);
    }
}

static void list_tenants(const struct plan *plan, struct memory_map *map)
{
    struct tenant *by_buffer = ARENA_ARRAY(plan->arena, struct tenant, plan->buffers.count);
    map->tenants = ARENA_ARRAY(plan->arena, struct tenant, plan->buffers.count);
    name_tenants(plan, by_buffer);
    for (size_t i = 0; i < plan->buffers.count; i++) {
        const struct buffer *buffer = &plan->buffers.at[i];
        struct tenant *tenant = &by_buffer[i];
        if (buffer->place != PLACE_ARENA || buffer->first > buffer->last)
            continue;
        tenant->offset = buffer->offset;
        tenant->bytes = buffer->row_bytes * plan->chunk;
        tenant->first = buffer->first;
        tenant->last = buffer->last;
        if (tenant->bytes)
            map->tenants[map->count++] = *tenant;
        else
            map->nowhere = arena_format(plan->arena, "%s%s%s", map->nowhere, *map->nowhere ? ", " : "", tenant->name);
    }
    if (map->count)
        qsort(map->tenants, (size_t)map->count, sizeof *map->tenants, compare_tenants);
}

/* Sums of what begins and ends, as a running total. */
static void count_alive(const struct plan *plan, struct memory_map *map)
{
    map->alive = ARENA_ARRAY(plan->arena, int64_t, (size_t)map->steps + 3);
    for (int i = 0; i < map->count; i++) {
        const struct tenant *tenant = &map->tenants[i];
        int64_t bytes = (tenant->bytes + plan->alignment - 1) / plan->alignment * plan->alignment;
        map->alive[tenant->first + 1] += bytes;
        map->alive[tenant->last + 2] -= bytes;
    }
    for (int i = 1; i < map->steps + 2; i++) {
        map->alive[i] += map->alive[i - 1];
        map->peak = map->alive[i] > map->alive[map->peak] ? i : map->peak;
    }
}

struct memory_map memory_map(const struct plan *plan)
{
    struct memory_map map = {.steps = (int)plan->steps.count, .nowhere = ""};
    list_tenants(plan, &map);
    count_alive(plan, &map);
    return map;
}

/* ---- As text ---- */

static void print_budget(const struct plan *plan, enum budget_entry entry, int64_t bytes, FILE *to)
{
    int64_t budget = plan->budget.bytes[entry];
    if (plan->budget.given[entry] && bytes > budget)
        fprintf(to, "; %" PRId64 " more than its budget, %" PRId64, bytes - budget, budget);
    else if (plan->budget.given[entry])
        fprintf(to, "; of its budget, %" PRId64 ", %" PRId64 " are left", budget, budget - bytes);
}

static void print_footprint(const struct plan *plan, const char *title, enum budget_entry entry,
                            const struct footprint *footprint, FILE *to)
{
    fprintf(to, "%s: %" PRId64 " bytes", title, footprint->bytes);
    if (footprint->bytes >= 1024)
        fprintf(to, ", %s", quantity_bytes(plan->arena, (double)footprint->bytes));
    print_budget(plan, entry, footprint->bytes, to);
    fputs("\n", to);
    for (size_t i = 0; i < footprint->parts.count; i++)
        fprintf(to, "%12" PRId64 "  %s\n", footprint->parts.at[i].bytes, footprint->parts.at[i].name);
}

static void print_ports(const struct plan_port *ports, size_t count, FILE *to)
{
    for (size_t i = 0; i < count; i++)
        fprintf(to, "%12" PRId64 "  bytes a row: %s, %s[%" PRId64 "]\n",
                ports[i].width * (int64_t)dtype_size(ports[i].dtype), ports[i].name, dtype_text(ports[i].dtype),
                ports[i].width);
}

/* Steps to a column, so that a line holds them all. */
static int steps_each(const struct memory_map *map)
{
    return (map->steps + MOST_COLUMNS - 1) / MOST_COLUMNS;
}

static int columns(const struct memory_map *map)
{
    return map->steps ? (map->steps + steps_each(map) - 1) / steps_each(map) : 0;
}

static void print_spaces(int count, FILE *to)
{
    fprintf(to, "%*s", count, "");
}

/* The number of the first step above every tenth column. */
static void print_numbers(const struct memory_map *map, FILE *to)
{
    char line[MOST_COLUMNS + 16];
    memset(line, ' ', sizeof line);
    for (int i = 0; i < columns(map); i += 10) {
        char number[16];
        int length = snprintf(number, sizeof number, "%d", 1 + i * steps_each(map));
        memcpy(line + i, number, (size_t)length);
    }
    fprintf(to, "%12s %11s  in %.*s out  buffer\n", "offset", "bytes", columns(map), line);
}

static char mark(const struct tenant *tenant, int first, int last)
{
    return tenant->first <= last && tenant->last >= first ? '#' : '.';
}

static void print_tenant(const struct memory_map *map, const struct tenant *tenant, FILE *to)
{
    int each = steps_each(map);
    fprintf(to, "%12" PRId64 " %11" PRId64 "   %c ", tenant->offset, tenant->bytes, mark(tenant, -1, -1));
    for (int i = 0; i < columns(map); i++) {
        int last = i * each + each - 1;
        fputc(mark(tenant, i * each, last < map->steps ? last : map->steps - 1), to);
    }
    fprintf(to, "  %c   %s%s\n", mark(tenant, map->steps, map->steps), tenant->name, tenant->others);
}

static const char *moment(const struct plan *plan, const struct memory_map *map, int index)
{
    if (!index)
        return "when rows enter";
    if (index == map->steps + 1)
        return "when rows leave";
    const struct step *step = &plan->steps.at[index - 1];
    return arena_format(plan->arena, "at step %d, %s (%s:%d)", index, step->name, plan->spec, step->line);
}

/* Below the column of the peak. */
static void print_peak(const struct plan *plan, const struct memory_map *map, FILE *to)
{
    int column = map->peak == map->steps + 1 ? columns(map) + 4 : 0;
    if (map->peak && map->peak <= map->steps)
        column = 2 + (map->peak - 1) / steps_each(map);
    print_spaces(27 + column, to);
    fprintf(to, "^ peak: %" PRId64 " bytes ", map->alive[map->peak]);
    utf8_print(to, moment(plan, map, map->peak));
    if (plan->arena_bytes > map->alive[map->peak])
        fprintf(to, "; %" PRId64 " more in gaps", plan->arena_bytes - map->alive[map->peak]);
    fputs("\n", to);
}

static void print_arena(const struct plan *plan, const struct memory_map *map, FILE *to)
{
    fprintf(to, "\nvalues between steps: %" PRId64 " bytes for up to %s", plan->arena_bytes,
            quantity_rows(plan->arena, plan->chunk));
    if (plan->target == TARGET_CPU && plan->threads > 1)
        fputs(", for each thread", to);
    fputs(steps_each(map) > 1 ? arena_format(plan->arena, "; each column is %d steps\n", steps_each(map)) : "\n", to);
    if (map->count) {
        print_numbers(map, to);
        for (int i = 0; i < map->count; i++)
            print_tenant(map, &map->tenants[i], to);
        print_peak(plan, map, to);
    }
    if (*map->nowhere)
        fprintf(to, "not in memory, since every batch size is one kernel: %s\n", map->nowhere);
}

static void print_steps(const struct plan *plan, const struct memory_map *map, FILE *to)
{
    fputs("\nsteps, and the bytes alive at each\n", to);
    for (int i = 0; i < map->steps; i++) {
        const struct step *step = &plan->steps.at[i];
        fprintf(to, "%12" PRId64 "  %d. %s:%d: ", map->alive[i + 1], i + 1, plan->spec, step->line);
        utf8_print(to, step->text);
        fputs("\n", to);
    }
}

static void print_weights(const struct plan *plan, FILE *to)
{
    fprintf(to, "\nweights: %" PRId64 " bytes\n", plan->weights_bytes);
    if (plan->params.count)
        fprintf(to, "%12s %11s   parameter\n", "offset", "bytes");
    for (size_t i = 0; i < plan->params.count; i++) {
        const struct packed *packed = &plan->params.at[i];
        fprintf(to, "%12" PRId64 " %11" PRId64 "   ", packed->offset,
                packed->stored_rows * packed->ld * (int64_t)dtype_size(packed->dtype));
        utf8_print(to, packed->label);
        fprintf(to, ", %s[%" PRId64 ", %" PRId64 "]\n", dtype_text(packed->dtype), packed->rows, packed->cols);
    }
}

void memory_map_print(const struct plan *plan, bool embedded, FILE *to)
{
    struct memory_map map = memory_map(plan);
    struct footprint device = footprint_device(plan), host = footprint_host(plan, embedded);
    fprintf(to, "%s in %s for %s\n", plan->name, dtype_text(plan->dtype),
            plan->target == TARGET_CPU ? "cpu" : "cuda");
    if (plan->target == TARGET_CUDA)
        print_footprint(plan, "on the device", BUDGET_DEVICE, &device, to);
    else if (plan->budget.given[BUDGET_DEVICE])
        fputs("on the device: nothing, so that its budget does not count\n", to);
    print_footprint(plan, "on the host", BUDGET_HOST, &host, to);
    fputs("the caller's arrays\n", to);
    print_ports(plan->inputs.at, plan->inputs.count, to);
    print_ports(plan->outputs.at, plan->outputs.count, to);
    print_arena(plan, &map, to);
    print_steps(plan, &map, to);
    print_weights(plan, to);
}
