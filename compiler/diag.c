/* Messages, recorded with their spans. */
#include "diag_message.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

static const char *const slug_text[] = {
#define DIAG(name, slug) slug,
#include "diag.def"
};

/* Warnings that are shown unless told otherwise. */
static const bool is_usual[DIAG_COUNT] = {
#define DIAG(name, slug)
#define WARN(name, slug, usual) [DIAG_##name] = usual,
#include "diag.def"
};

struct diags *diags_new(struct arena *arena, const struct source *source, const struct diag_options *options)
{
    struct diags *diags = ARENA_NEW(arena, struct diags);
    diags->arena = arena;
    diags->source = source;
    diags->options = options;
    return diags;
}

enum diag_form diags_form(const struct diags *diags)
{
    return diags->options->form;
}

enum exit_status diags_status(const struct diags *diags)
{
    return diags->status;
}

/* What is said of one warning counts more than what is said of all. */
bool diag_warns(const struct diags *diags, enum diag_slug slug)
{
    const struct diag_options *options = diags->options;
    if (options->shown[slug])
        return options->shown[slug] > 0;
    return options->all ? options->all > 0 : is_usual[slug];
}

static bool is_fatal(const struct diag_options *options, enum diag_slug slug)
{
    return options->fatal[slug] ? options->fatal[slug] > 0 : options->warnings_are_errors;
}

static void record(struct diags *diags, struct message message, const struct span *span)
{
    message.order = diags->recorded++;
    if (span) {
        message.placed = true;
        message.span = *span;
    }
    VEC_PUSH(diags->arena, &diags->messages, message);
    diags->open = &diags->messages.at[diags->messages.count - 1];
    if (message.severity == SEVERITY_ERROR && message.slug && diags->status == EXIT_DONE)
        diags->status = EXIT_USER;
}

void diag_error(struct diags *diags, enum diag_slug slug, struct span span, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    struct message message = {.severity = SEVERITY_ERROR, .slug = slug_text[slug],
                              .text = arena_format_list(diags->arena, format, args)};
    va_end(args);
    record(diags, message, &span);
}

void diag_warning(struct diags *diags, enum diag_slug slug, struct span span, const char *format, ...)
{
    diags->open = NULL;
    if (!diag_warns(diags, slug))
        return;
    const bool fatal = is_fatal(diags->options, slug);
    va_list args;
    va_start(args, format);
    struct message message = {.severity = fatal ? SEVERITY_ERROR : SEVERITY_WARNING, .promoted = fatal,
                              .slug = slug_text[slug], .text = arena_format_list(diags->arena, format, args)};
    va_end(args);
    record(diags, message, &span);
}

void diag_environment(struct diags *diags, const struct span *where, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    struct message message = {.severity = SEVERITY_ERROR, .cause = "environment",
                              .text = arena_format_list(diags->arena, format, args)};
    va_end(args);
    record(diags, message, where);
    diags->status = EXIT_ENVIRONMENT;
}

void diag_command_line(struct diags *diags, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    struct message message = {.severity = SEVERITY_ERROR, .cause = "command-line",
                              .text = arena_format_list(diags->arena, format, args)};
    va_end(args);
    record(diags, message, NULL);
    diags->status = EXIT_COMMAND_LINE;
}

void diag_remark(struct diags *diags, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    struct message message = {.severity = SEVERITY_NOTE, .cause = "remark",
                              .text = arena_format_list(diags->arena, format, args)};
    va_end(args);
    record(diags, message, NULL);
}

void diag_error_in(struct diags *diags, enum diag_slug slug, const char *path, size_t line, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    struct message message = {.severity = SEVERITY_ERROR, .slug = slug_text[slug], .path = path, .line = line,
                              .text = arena_format_list(diags->arena, format, args)};
    va_end(args);
    record(diags, message, NULL);
}

void diag_note(struct diags *diags, struct span span, const char *format, ...)
{
    if (!diags->open)
        return;
    va_list args;
    va_start(args, format);
    struct note note = {span, arena_format_list(diags->arena, format, args)};
    va_end(args);
    VEC_PUSH(diags->arena, &diags->open->notes, note);
}

void diag_fix(struct diags *diags, struct span span, const char *format, ...)
{
    if (!diags->open)
        return;
    va_list args;
    va_start(args, format);
    struct fix fix = {span, arena_format_list(diags->arena, format, args)};
    va_end(args);
    VEC_PUSH(diags->arena, &diags->open->fixes, fix);
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

bool diag_reads(const struct diags *diags, struct span span, const char *text)
{
    const size_t length = span.end - span.begin;
    return span.end <= diags->source->length && strlen(text) == length &&
           !memcmp(diags->source->text + span.begin, text, length);
}

/* ---- Printing ---- */

static int compare_messages(const void *left, const void *right)
{
    const struct message *a = left, *b = right;
    if (a->placed != b->placed)
        return a->placed ? -1 : 1;
    if (a->placed && a->span.begin != b->span.begin)
        return a->span.begin < b->span.begin ? -1 : 1;
    return a->order < b->order ? -1 : a->order > b->order;
}

void diags_sort(struct diags *diags)
{
    if (diags->messages.count)
        qsort(diags->messages.at, diags->messages.count, sizeof *diags->messages.at, compare_messages);
    diags->open = NULL;
}

void diags_finish(struct diags *diags, FILE *to, enum exit_status status)
{
    diags_print(diags, to);
    diags_sort(diags);
    if (diags->options->form == DIAG_SARIF)
        diags_print_sarif(diags, to, status);
}
