/* The memory map as a picture: steps to the right, the arena's bytes downwards, a rectangle for each buffer. Each has
 * its name where there is room, and says all about itself when pointed at. Numbers are rounded to a tenth, and nothing
 * depends on fonts: the same plan gives the same bytes. */
#include "memory_map.h"

#include <inttypes.h>
#include <string.h>

#include "footprint.h"
#include "quantity.h"
#include "utf8.h"

enum {
    LEFT = 110, TOP = 60, HEIGHT = 420, WIDTH = 960,    /* of the arena's field */
    LINE = 18,                                          /* of text */
    LETTER = 7,                                         /* about the width of one, at 12 pixels */
    LEAST_COLUMN = 2, MOST_COLUMN = 120,
};

struct canvas {
    const struct plan *plan;
    const struct memory_map *map;
    double column;                  /* width of a step */
    FILE *to;
};

/* ---- Text ---- */

/* Characters that XML does not admit, or that steer a line of text, become a mark that says so. */
static void print_character(uint32_t character, const char *text, size_t length, FILE *to)
{
    static const char *const escapes[] = {['&'] = "&amp;", ['<'] = "&lt;", ['>'] = "&gt;", ['"'] = "&quot;"};
    if (!length || utf8_cells(character) < 0)
        fputs("&#xfffd;", to);
    else if (character < sizeof escapes / sizeof *escapes && escapes[character])
        fputs(escapes[character], to);
    else
        fwrite(text, 1, length, to);
}

static void print_escaped(const char *text, FILE *to)
{
    for (size_t left = strlen(text), used; left; text += used, left -= used) {
        uint32_t character = 0;
        size_t length = utf8_decode(text, left, &character);
        print_character(character, text, length, to);
        used = length ? length : 1;
    }
}

static void print_text(const struct canvas *c, double x, double y, const char *anchor, const char *text)
{
    fprintf(c->to, "  <text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">", x, y, anchor);
    print_escaped(text, c->to);
    fputs("</text>\n", c->to);
}

/* ---- The field ---- */

static double x_of(const struct canvas *c, int step)
{
    return LEFT + c->column * (step + 1);
}

static double y_of(const struct canvas *c, int64_t offset)
{
    return TOP + HEIGHT * ((double)offset / (double)c->plan->arena_bytes);
}

static const char *life(const struct canvas *c, const struct tenant *tenant)
{
    const char *from = tenant->first < 0 ? "the rows enter" : NULL;
    const char *until = tenant->last >= c->map->steps ? "the rows leave" : NULL;
    from = from ? from : arena_format(c->plan->arena, "step %d", tenant->first + 1);
    until = until ? until : arena_format(c->plan->arena, "step %d", tenant->last + 1);
    return arena_format(c->plan->arena, "from %s until %s", from, until);
}

static void print_tenant(const struct canvas *c, int index)
{
    static const char *const colors[] = {"#9ecae1", "#a1d99b", "#fdae6b", "#bcbddc", "#fc9272", "#d9d9d9"};
    const struct tenant *tenant = &c->map->tenants[index];
    double x = x_of(c, tenant->first), width = x_of(c, tenant->last + 1) - x;
    double y = y_of(c, tenant->offset), height = y_of(c, tenant->offset + tenant->bytes) - y;
    fprintf(c->to, "  <g><title>");
    print_escaped(arena_format(c->plan->arena, "%s%s: %" PRId64 " bytes at %" PRId64 ", %s", tenant->name,
                               tenant->others, tenant->bytes, tenant->offset, life(c, tenant)), c->to);
    fprintf(c->to, "</title>\n  <rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" fill=\"%s\" "
                   "stroke=\"white\"/>\n", x, y, width, height, colors[index % (int)(sizeof colors / sizeof *colors)]);
    if (height >= LINE && width >= (double)(LETTER * (strlen(tenant->name) + 1)))
        print_text(c, x + width / 2, y + height / 2 + 4, "middle", tenant->name);
    fputs("  </g>\n", c->to);
}

/* As many numbers as do not touch each other. */
static void print_steps(const struct canvas *c)
{
    int every = 1;
    while (every * c->column < 4 * LETTER)
        every++;
    print_text(c, x_of(c, -1) + c->column / 2, TOP - 8, "middle", "in");
    for (int i = 0; i < c->map->steps; i++) {
        const struct step *step = &c->plan->steps.at[i];
        if (i % every)
            continue;
        fputs("  <g><title>", c->to);
        print_escaped(arena_format(c->plan->arena, "%s:%d: %s", c->plan->spec, step->line, step->text), c->to);
        fputs("</title>\n", c->to);
        print_text(c, x_of(c, i) + c->column / 2, TOP - 8, "middle", arena_format(c->plan->arena, "%d", i + 1));
        fputs("  </g>\n", c->to);
    }
    print_text(c, x_of(c, c->map->steps) + c->column / 2, TOP - 8, "middle", "out");
}

/* The offsets at which buffers begin, where there is room beside them, and the end of the arena. */
static void print_offsets(const struct canvas *c)
{
    double last = TOP + HEIGHT;
    print_text(c, LEFT - 8, last + 4, "end", arena_format(c->plan->arena, "%" PRId64, c->plan->arena_bytes));
    print_text(c, LEFT - 8, TOP + 4, "end", "0");
    for (int eighth = 7; eighth > 0; eighth--) {
        int64_t wanted = c->plan->arena_bytes / 8 * eighth, best = -1;
        for (int i = 0; i < c->map->count; i++) {
            int64_t offset = c->map->tenants[i].offset;
            if (offset <= wanted && offset > best)
                best = offset;
        }
        if (best > 0 && last - y_of(c, best) >= LINE && y_of(c, best) - TOP >= LINE) {
            last = y_of(c, best);
            print_text(c, LEFT - 8, last + 4, "end", arena_format(c->plan->arena, "%" PRId64, best));
        }
    }
}

static void print_peak(const struct canvas *c)
{
    double x = x_of(c, c->map->peak - 1);
    fprintf(c->to, "  <rect x=\"%.1f\" y=\"%d\" width=\"%.1f\" height=\"%d\" fill=\"none\" stroke=\"#d62728\" "
                   "stroke-dasharray=\"4 3\"/>\n", x, TOP - 22, c->column, HEIGHT + 26);
}

static void print_field(const struct canvas *c)
{
    fprintf(c->to, "  <rect x=\"%d\" y=\"%d\" width=\"%.1f\" height=\"%d\" fill=\"#f7f7f7\"/>\n", LEFT, TOP,
            c->column * (c->map->steps + 2), HEIGHT);
    for (int i = 0; i < c->map->count; i++)
        print_tenant(c, i);
    print_steps(c);
    print_offsets(c);
    print_peak(c);
}

/* ---- Words below ---- */

static void print_footprint(const struct canvas *c, const char *title, const struct footprint *footprint, double *y)
{
    struct arena *arena = c->plan->arena;
    const char *line = arena_format(arena, "%s %s:", title, quantity_bytes(arena, (double)footprint->bytes));
    for (size_t i = 0; i < footprint->parts.count; i++)
        line = arena_format(arena, "%s%s %s %s", line, i ? "," : "", footprint->parts.at[i].name,
                            quantity_bytes(arena, (double)footprint->parts.at[i].bytes));
    print_text(c, LEFT, *y += LINE, "start", line);
}

static void print_words(const struct canvas *c, bool embedded, double y)
{
    struct footprint device = footprint_device(c->plan), host = footprint_host(c->plan, embedded);
    struct arena *arena = c->plan->arena;
    print_text(c, LEFT, y += LINE, "start",
               arena_format(arena, "most at once (dashed): %" PRId64 " bytes of %" PRId64 ", for up to %s",
                            c->map->alive[c->map->peak], c->plan->arena_bytes, quantity_rows(arena, c->plan->chunk)));
    if (c->plan->target == TARGET_CUDA)
        print_footprint(c, "on the device", &device, &y);
    print_footprint(c, "on the host", &host, &y);
}

void memory_svg_print(const struct plan *plan, bool embedded, FILE *to)
{
    struct memory_map map = memory_map(plan);
    struct canvas canvas = {plan, &map, (double)WIDTH / (map.steps + 2), to};
    canvas.column = canvas.column > MOST_COLUMN ? MOST_COLUMN : canvas.column;
    canvas.column = canvas.column < LEAST_COLUMN ? LEAST_COLUMN : canvas.column;
    double width = LEFT + canvas.column * (map.steps + 2) + 20, field = map.count ? HEIGHT : 0;
    width = width < 700 ? 700 : width;
    fprintf(to, "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%.0f\" font-family=\"sans-serif\" "
                "font-size=\"12\">\n", width, TOP + field + 5 * LINE);
    fprintf(to, "  <rect width=\"100%%\" height=\"100%%\" fill=\"white\"/>\n");
    print_text(&canvas, LEFT, 24, "start", arena_format(plan->arena, "%s in %s for %s: values between steps, over the "
               "steps", plan->name, dtype_text(plan->dtype), plan->target == TARGET_CPU ? "cpu" : "cuda"));
    if (map.count)
        print_field(&canvas);
    print_words(&canvas, embedded, TOP + field + 8);
    fputs("</svg>\n", to);
}
