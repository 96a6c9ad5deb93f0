/* Messages: recorded with their spans, printed with lines and columns worked out from the source. */
#include "diag.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "utf8.h"

enum {
    MOST_SHOWN = 20,                /* messages of a severity in one go */
    WINDOW_BEFORE = 60,             /* characters of a long line in front of the span */
    WINDOW = 120,                   /* characters of a line in all */
    TAB_CELLS = 4,
};

enum severity { SEVERITY_ERROR, SEVERITY_WARNING, SEVERITY_NOTE };

static const char *severity_text[] = {"error", "warning", "note"};
static const char *severity_color[] = {"\033[1;31m", "\033[1;35m", "\033[1;36m"};
static const char strong[] = "\033[1m", mark_color[] = "\033[1;32m", plain[] = "\033[0m";

static const char *slug_text[] = {
#define DIAG(name, slug) slug,
#include "diag.def"
#undef DIAG
};

struct note {
    struct span span;
    const char *text;
};

struct message {
    enum severity severity;
    const char *slug;               /* NULL: the environment's failure */
    bool placed;                    /* span is valid */
    struct span span;
    const char *text;
    VEC(struct note) notes;
    size_t order;                   /* in which it was recorded */
};

struct diags {
    struct arena *arena;
    const struct source *source;
    VEC(struct message) messages;   /* since the last print */
    size_t recorded;
    bool warnings_are_errors;
    enum exit_status status;
};

struct diags *diags_new(struct arena *arena, const struct source *source)
{
    struct diags *diags = ARENA_NEW(arena, struct diags);
    diags->arena = arena;
    diags->source = source;
    return diags;
}

void diags_warnings_are_errors(struct diags *diags)
{
    diags->warnings_are_errors = true;
}

enum exit_status diags_status(const struct diags *diags)
{
    return diags->status;
}

/* ---- Recording ---- */

static void record(struct diags *diags, enum severity severity, const char *slug, const struct span *span,
                   const char *text)
{
    if (severity == SEVERITY_WARNING && diags->warnings_are_errors)
        severity = SEVERITY_ERROR;
    struct message message = {.severity = severity, .slug = slug, .text = text, .order = diags->recorded++};
    if (span) {
        message.placed = true;
        message.span = *span;
    }
    VEC_PUSH(diags->arena, &diags->messages, message);
    if (!slug)
        diags->status = EXIT_ENVIRONMENT;
    else if (severity == SEVERITY_ERROR && diags->status == EXIT_DONE)
        diags->status = EXIT_USER;
}

void diag_error(struct diags *diags, enum diag_slug slug, struct span span, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    record(diags, SEVERITY_ERROR, slug_text[slug], &span, arena_format_list(diags->arena, format, args));
    va_end(args);
}

void diag_warning(struct diags *diags, enum diag_slug slug, struct span span, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    record(diags, SEVERITY_WARNING, slug_text[slug], &span, arena_format_list(diags->arena, format, args));
    va_end(args);
}

void diag_environment(struct diags *diags, const struct span *where, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    record(diags, SEVERITY_ERROR, NULL, where, arena_format_list(diags->arena, format, args));
    va_end(args);
}

void diag_note(struct diags *diags, struct span span, const char *format, ...)
{
    if (!diags->messages.count)
        return;
    va_list args;
    va_start(args, format);
    struct note note = {span, arena_format_list(diags->arena, format, args)};
    va_end(args);
    VEC_PUSH(diags->arena, &diags->messages.at[diags->messages.count - 1].notes, note);
}

/* ---- Places ---- */

void source_position(const struct source *source, uint32_t offset, int *line, int *column)
{
    const char *end = source->text + (offset < source->length ? offset : source->length);
    const char *start = source->text;
    *line = 1;
    for (const char *newline; (newline = memchr(start, '\n', (size_t)(end - start))); start = newline + 1)
        ++*line;
    *column = (int)(end - start) + 1;
}

static size_t line_begin(const struct source *source, size_t offset)
{
    while (offset > 0 && source->text[offset - 1] != '\n')
        offset--;
    return offset;
}

static size_t line_end(const struct source *source, size_t offset)
{
    const char *newline = memchr(source->text + offset, '\n', source->length - offset);
    size_t end = newline ? (size_t)(newline - source->text) : source->length;
    return end > offset && source->text[end - 1] == '\r' ? end - 1 : end;
}

/* ---- Printing ---- */

struct printer {
    const struct source *source;
    FILE *to;
    bool color;
};

static const char *color(const struct printer *printer, const char *code)
{
    return printer->color ? code : "";
}

/* Text of the user's, harmless for a terminal: what could steer it is spelt out. */
static void print_text(FILE *to, const char *text)
{
    for (size_t left = strlen(text), used; left; text += used, left -= used) {
        uint32_t character;
        used = utf8_decode(text, left, &character);
        if (used && utf8_cells(character) >= 0) {
            fwrite(text, 1, used, to);
        } else if (*text == '\n') {
            fputs("\\n", to);
        } else if (*text == '\t') {
            fputs("\\t", to);
        } else {
            used = used ? used : 1;
            for (size_t i = 0; i < used; i++)
                fprintf(to, "\\x%02x", (unsigned char)text[i]);
        }
    }
}

static bool continues_character(char byte)
{
    return ((unsigned char)byte & 0xc0) == 0x80;
}

/* One character of a source line; returns the cells it took, *used the bytes. */
static int print_character(const struct printer *printer, size_t offset, size_t end, size_t *used)
{
    const char *at = printer->source->text + offset;
    uint32_t character;
    *used = utf8_decode(at, end - offset, &character);
    if (*at == '\t') {
        fprintf(printer->to, "%*s", TAB_CELLS, "");
        return TAB_CELLS;
    }
    int cells = *used ? utf8_cells(character) : -1;
    if (cells < 0) {
        *used = *used ? *used : 1;
        fputc('?', printer->to);
        return 1;
    }
    fwrite(at, 1, *used, printer->to);
    return cells;
}

static void print_repeated(FILE *to, char character, int count)
{
    while (count-- > 0)
        fputc(character, to);
}

static size_t window_begin(const struct source *source, size_t first, size_t begin)
{
    for (int i = 0; i < WINDOW_BEFORE && begin > first; i++) {
        do
            begin--;
        while (begin > first && continues_character(source->text[begin]));
    }
    return begin;
}

/* The part of the source line around the span's begin, and `^~~~` below what of the span is on it. */
static void print_excerpt(const struct printer *printer, struct span span)
{
    size_t length = printer->source->length;
    size_t begin = span.begin < length ? span.begin : length;
    size_t first = line_begin(printer->source, begin), end = line_end(printer->source, begin);
    if (first == end)
        return;                         /* nothing to see */
    size_t from = end - first <= WINDOW ? first : window_begin(printer->source, first, begin);
    int before = 0, inside = 0, shown = 0;
    if (from > first) {
        fputs("...", printer->to);
        before = 3;
    }
    for (size_t at = from, used; at < end && shown < WINDOW; at += used, shown++) {
        int cells = print_character(printer, at, end, &used);
        if (at < begin)
            before += cells;
        else if (at < span.end)
            inside += cells;
        if (shown + 1 == WINDOW && at + used < end)
            fputs("...", printer->to);
    }
    fputc('\n', printer->to);
    print_repeated(printer->to, ' ', before);
    fprintf(printer->to, "%s^", color(printer, mark_color));
    print_repeated(printer->to, '~', inside - 1);
    fprintf(printer->to, "%s\n", color(printer, plain));
}

static void print_one(const struct printer *printer, enum severity severity, const struct span *span,
                      const char *text, const char *slug)
{
    fputs(color(printer, strong), printer->to);
    if (span) {
        int line, column;
        source_position(printer->source, span->begin, &line, &column);
        print_text(printer->to, printer->source->path);
        fprintf(printer->to, ":%d:%d: ", line, column);
    } else {
        fputs("mlpc: ", printer->to);
    }
    fprintf(printer->to, "%s%s:%s ", color(printer, severity_color[severity]), severity_text[severity],
            color(printer, plain));
    print_text(printer->to, text);
    if (slug)
        fprintf(printer->to, " [%s]", slug);
    fputc('\n', printer->to);
    if (span)
        print_excerpt(printer, *span);
}

static void print_message(const struct printer *printer, const struct message *message)
{
    print_one(printer, message->severity, message->placed ? &message->span : NULL, message->text, message->slug);
    for (size_t i = 0; i < message->notes.count; i++)
        print_one(printer, SEVERITY_NOTE, &message->notes.at[i].span, message->notes.at[i].text, NULL);
}

/* In the order of the source; messages without a place behind all others. */
static int compare_messages(const void *left, const void *right)
{
    const struct message *a = left, *b = right;
    if (a->placed != b->placed)
        return a->placed ? -1 : 1;
    if (a->placed && a->span.begin != b->span.begin)
        return a->span.begin < b->span.begin ? -1 : 1;
    return a->order < b->order ? -1 : a->order > b->order;
}

void diags_print(struct diags *diags, FILE *to, enum diag_color when)
{
    bool colored = when == COLOR_ALWAYS || (when == COLOR_AUTO && isatty(fileno(to)));
    struct printer printer = {diags->source, to, colored};
    size_t seen[2] = {0, 0};
    if (diags->messages.count)
        qsort(diags->messages.at, diags->messages.count, sizeof *diags->messages.at, compare_messages);
    for (size_t i = 0; i < diags->messages.count; i++) {
        const struct message *message = &diags->messages.at[i];
        if (seen[message->severity]++ < MOST_SHOWN)
            print_message(&printer, message);
    }
    for (enum severity i = SEVERITY_ERROR; i <= SEVERITY_WARNING; i++) {
        if (seen[i] > MOST_SHOWN)
            fprintf(to, "%zu more %s%s\n", seen[i] - MOST_SHOWN, severity_text[i],
                    seen[i] > MOST_SHOWN + 1 ? "s" : "");
    }
    diags->messages.count = 0;
}
