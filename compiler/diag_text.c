/* Messages as text, for people. */
#include "diag_message.h"

#include <string.h>
#include <unistd.h>

#include "utf8.h"

enum {
    MOST_SHOWN = 20,                /* messages of a severity in one go, unless told */
    WINDOW_BEFORE = 60,             /* characters of a long line in front of the span */
    WINDOW = 120,                   /* characters of a line in all */
    TAB_CELLS = 4,
};

static const char *const severity_text[] = {"error", "warning", "note"};
static const char *const severity_color[] = {"\033[1;31m", "\033[1;35m", "\033[1;36m"};
static const char strong[] = "\033[1m", mark_color[] = "\033[1;32m", fix_color[] = "\033[32m", plain[] = "\033[0m";

struct printer {
    const struct source *source;
    FILE *to;
    bool color;
};

static const char *color(const struct printer *printer, const char *code)
{
    return printer->color ? code : "";
}

static void print_repeated(FILE *to, char character, int count)
{
    while (count-- > 0)
        fputc(character, to);
}

/* ---- Lines ---- */

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

static bool continues_character(char byte)
{
    return ((unsigned char)byte & 0xc0) == 0x80;
}

/* The cells of the character at `offset`, and its bytes; -1: it is shown as '?'. */
static int character_cells(const struct source *source, size_t offset, size_t end, size_t *used)
{
    uint32_t character;
    *used = utf8_decode(source->text + offset, end - offset, &character);
    if (source->text[offset] == '\t')
        return TAB_CELLS;
    int cells = *used ? utf8_cells(character) : -1;
    *used = *used ? *used : 1;
    return cells;
}

/* The part of a line that is shown: bytes [begin, end). */
struct window {
    size_t begin, end;
    bool cut_before, cut_behind;
};

/* All of the line, or what is around `offset`. */
static struct window find_window(const struct source *source, size_t offset)
{
    size_t first = line_begin(source, offset), last = line_end(source, offset);
    struct window window = {.begin = first};
    if (last - first > WINDOW) {
        window.begin = offset;
        for (int i = 0; i < WINDOW_BEFORE && window.begin > first; i++) {
            do
                window.begin--;
            while (window.begin > first && continues_character(source->text[window.begin]));
        }
    }
    window.end = window.begin;
    for (size_t i = 0, used; i < WINDOW && window.end < last; i++) {
        character_cells(source, window.end, last, &used);
        window.end += used;
    }
    window.cut_before = window.begin > first;
    window.cut_behind = window.end < last;
    return window;
}

/* Cells from the begin of the printed line to `offset`. */
static int cells_before(const struct source *source, const struct window *window, size_t offset)
{
    int sum = window->cut_before ? 3 : 0;
    for (size_t at = window->begin, used; at < window->end && at < offset; at += used) {
        int cells = character_cells(source, at, window->end, &used);
        sum += cells < 0 ? 1 : cells;
    }
    return sum;
}

static void print_line(const struct printer *printer, const struct window *window)
{
    fputs(window->cut_before ? "..." : "", printer->to);
    for (size_t at = window->begin, used; at < window->end; at += used) {
        int cells = character_cells(printer->source, at, window->end, &used);
        if (printer->source->text[at] == '\t')
            print_repeated(printer->to, ' ', cells);
        else if (cells < 0)
            fputc('?', printer->to);
        else
            fwrite(printer->source->text + at, 1, used, printer->to);
    }
    fputs(window->cut_behind ? "...\n" : "\n", printer->to);
}

/* `^~~~` below what of the span is shown. */
static void print_mark(const struct printer *printer, const struct window *window, size_t begin, size_t end)
{
    int before = cells_before(printer->source, window, begin);
    int inside = cells_before(printer->source, window, end) - before;
    print_repeated(printer->to, ' ', before);
    fprintf(printer->to, "%s^", color(printer, mark_color));
    print_repeated(printer->to, '~', inside - 1);
    fprintf(printer->to, "%s\n", color(printer, plain));
}

static int text_cells(const char *text)
{
    int sum = 0;
    uint32_t character;
    for (size_t left = strlen(text), used; left; text += used, left -= used) {
        used = utf8_decode(text, left, &character);
        used = used ? used : 1;
        sum += utf8_cells(character);
    }
    return sum;
}

/* Below the mark: what to write there instead, or `---` where that is nothing. */
static void print_fixes(const struct printer *printer, const struct window *window, const struct message *message)
{
    int column = 0;
    for (size_t i = 0; i < message->fixes.count; i++) {
        const struct fix *fix = &message->fixes.at[i];
        if (fix->span.begin < window->begin || fix->span.end > window->end)
            continue;
        int begin = cells_before(printer->source, window, fix->span.begin);
        int deleted = cells_before(printer->source, window, fix->span.end) - begin;
        if (column && begin <= column) {
            fputc('\n', printer->to);
            column = 0;
        }
        print_repeated(printer->to, ' ', begin - column);
        fputs(color(printer, fix_color), printer->to);
        if (*fix->text)
            utf8_print(printer->to, fix->text);
        else
            print_repeated(printer->to, '-', deleted);
        fputs(color(printer, plain), printer->to);
        column = begin + (*fix->text ? text_cells(fix->text) : deleted);
    }
    if (column)
        fputc('\n', printer->to);
}

/* ---- Messages ---- */

static void print_excerpt(const struct printer *printer, struct span span, const struct message *message)
{
    size_t length = printer->source->length;
    size_t begin = span.begin < length ? span.begin : length;
    struct window window = find_window(printer->source, begin);
    if (window.begin == window.end)
        return;                         /* nothing to see */
    print_line(printer, &window);
    print_mark(printer, &window, begin, span.end);
    if (message)
        print_fixes(printer, &window, message);
}

static void print_place(const struct printer *printer, struct span span)
{
    int line, column;
    source_position(printer->source, span.begin, &line, &column);
    utf8_print(printer->to, printer->source->path);
    fprintf(printer->to, ":%d:%d: ", line, column);
}

static void print_other_place(const struct printer *printer, const struct message *message)
{
    utf8_print(printer->to, message->path);
    fprintf(printer->to, ":%zu: ", message->line);
}

static void print_words(const struct printer *printer, enum severity severity, const char *text)
{
    fprintf(printer->to, "%s%s:%s ", color(printer, severity_color[severity]), severity_text[severity],
            color(printer, plain));
    utf8_print(printer->to, text);
}

/* Errors by their slug, warnings by the option that rules them. */
static void print_slug(const struct printer *printer, const struct message *message)
{
    if (message->promoted)
        fprintf(printer->to, " [-Werror=%s]", message->slug);
    else if (message->slug)
        fprintf(printer->to, " [%s%s]", message->severity == SEVERITY_WARNING ? "-W" : "", message->slug);
    fputc('\n', printer->to);
}

static void print_message(const struct printer *printer, const struct message *message)
{
    fputs(color(printer, strong), printer->to);
    if (message->placed)
        print_place(printer, message->span);
    else if (message->path)
        print_other_place(printer, message);
    else
        fputs("mlpc: ", printer->to);
    print_words(printer, message->severity, message->text);
    print_slug(printer, message);
    if (message->placed)
        print_excerpt(printer, message->span, message);
    for (size_t i = 0; i < message->notes.count; i++) {
        const struct note *note = &message->notes.at[i];
        fputs(color(printer, strong), printer->to);
        print_place(printer, note->span);
        print_words(printer, SEVERITY_NOTE, note->text);
        fputc('\n', printer->to);
        print_excerpt(printer, note->span, NULL);
    }
}

void diags_print(struct diags *diags, FILE *to)
{
    const struct diag_options *options = diags->options;
    if (options->form != DIAG_TEXT)
        return;
    bool colored = options->color == COLOR_ALWAYS || (options->color == COLOR_AUTO && isatty(fileno(to)));
    struct printer printer = {diags->source, to, colored};
    size_t seen[3] = {0, 0, 0}, most = options->limited ? options->limit : MOST_SHOWN;
    diags_sort(diags);
    for (size_t i = 0; i < diags->messages.count; i++) {
        const struct message *message = &diags->messages.at[i];
        if (seen[message->severity]++ < most || !most)
            print_message(&printer, message);
    }
    for (enum severity i = SEVERITY_ERROR; i <= SEVERITY_WARNING; i++) {
        if (most && seen[i] > most)
            fprintf(to, "%zu more %s%s\n", seen[i] - most, severity_text[i], seen[i] > most + 1 ? "s" : "");
    }
    diags->messages.count = 0;
}
