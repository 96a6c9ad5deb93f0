#include "compiled.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "budget.h"
#include "diag_message.h"

/* Packing takes the time that it takes. */
enum { MOST_WEIGHTS = 1 << 16 };

static void check_span(const struct source *source, struct span span)
{
    REQUIRE(span.begin <= span.end && span.end <= source->length);
}

/* Messages that are recorded: each has a text, and a place in the source or a reason to have none. */
static void check_messages(const struct compilation *c)
{
    for (size_t i = 0; i < c->diags->messages.count; i++) {
        const struct message *message = &c->diags->messages.at[i];
        REQUIRE(message->text && *message->text);
        REQUIRE(message->placed || message->path || message->cause);
        if (message->placed)
            check_span(&c->source, message->span);
        for (size_t j = 0; j < message->notes.count; j++)
            check_span(&c->source, message->notes.at[j].span);
        for (size_t j = 0; j < message->fixes.count; j++)
            check_span(&c->source, message->fixes.at[j].span);
    }
}

static bool is_c(const char *path)
{
    const char *ending = strrchr(path, '.');
    return ending && (!strcmp(ending, ".c") || !strcmp(ending, ".h") || !strcmp(ending, ".cu"));
}

static void render(const struct compilation *c, FILE *to)
{
    const struct outputs outputs = compile_render(c);
    for (size_t i = 0; i < outputs.files.count; i++) {
        const struct output_file *file = &outputs.files.at[i];
        REQUIRE(!strchr(file->path, '/') && fuzz_is_plain(file->path, strlen(file->path)));
        if (is_c(file->path))
            REQUIRE(fuzz_is_c(file->bytes, file->size));
        else if (strstr(file->path, ".S"))
            REQUIRE(fuzz_is_plain(file->bytes, file->size));
        fprintf(to, "%s\n", file->path);
        fwrite(file->bytes, 1, file->size, to);
    }
}

static bool has_small_weights(const struct compilation *c)
{
    return c->plan && c->plan->weights_bytes <= MOST_WEIGHTS;
}

/* As main.c does, without files. */
static enum exit_status run(struct compilation *c, struct compiled *compiled)
{
    const bool done = compile_plan(c) && (!has_small_weights(c) || compile_pack(c));
    check_messages(c);
    diags_print(c->diags, compiled->messages.to);
    enum exit_status status = done ? compile_forms(c) : diags_status(c->diags);
    REQUIRE(done == (diags_status(c->diags) == EXIT_DONE));
    if (status == EXIT_DONE && c->options.mode == MODE_DUMP)
        compile_dump(c, compiled->results.to);
    else if (status == EXIT_DONE && !budget_holds(c->plan, compile_embeds(c), c->diags))
        status = EXIT_USER;
    else if (status == EXIT_DONE)
        render(c, compiled->results.to);
    check_messages(c);
    diags_finish(c->diags, compiled->messages.to, status);
    return status;
}

static void compile(struct compilation *c, struct compiled *compiled)
{
    c->options.plan = NULL;
    c->source.path = c->options.input;
    c->diags = diags_new(c->arena, &c->source, &c->options.messages);
    compiled->status = run(c, compiled);
    if (c->weights)
        weights_close(c->weights);
}

static bool is_json(const struct fuzz_text *text)
{
    json_t *json = json_loadb(text->bytes, text->size, 0, NULL);
    json_decref(json);
    return json;
}

static void check_texts(const struct compiled *compiled, const struct compilation *c, bool compiles)
{
    const struct fuzz_text *messages = &compiled->messages, *results = &compiled->results;
    const struct options *options = &c->options;
    REQUIRE(compiled->status == EXIT_DONE || messages->size);
    REQUIRE(compiled->status == EXIT_DONE || !results->size);
    REQUIRE(options->messages.color == COLOR_ALWAYS || fuzz_is_plain(messages->bytes, messages->size));
    if (compiles && options->messages.form == DIAG_SARIF)
        REQUIRE(is_json(messages));
    if (options->mode == MODE_DUMP)
        REQUIRE(fuzz_is_plain(results->bytes, results->size));
}

void fuzz_compile(struct compiled *compiled, const char *const *argv, const char *text, size_t size)
{
    struct compilation c = {.arena = arena_new(), .source = {.text = text, .length = size}};
    int argc = 0;
    bool done = false;
    while (argv[argc])
        argc++;
    char **own = ARENA_ARRAY(c.arena, char *, (size_t)argc + 1);
    for (int i = 0; i < argc; i++)
        own[i] = arena_copy(c.arena, argv[i], strlen(argv[i]));
    fuzz_redirect(&compiled->results, &compiled->messages);
    compiled->status = options_parse(c.arena, argc, own, &c.options, &done);
    const bool compiles = compiled->status == EXIT_DONE && !done;
    if (compiles)
        compile(&c, compiled);
    fuzz_restore(&compiled->results, &compiled->messages);
    check_texts(compiled, &c, compiles);
    arena_free(c.arena);
}

void fuzz_compiled_free(struct compiled *compiled)
{
    fuzz_text_free(&compiled->messages);
    fuzz_text_free(&compiled->results);
}
