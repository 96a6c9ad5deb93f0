/* What the command line asks for, and what becomes of its result. */
#include <inttypes.h>
#include <jansson.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "budget.h"
#include "compile.h"
#include "depfile.h"
#include "format.h"
#include "forms.h"
#include "locks.h"
#include "memory_map.h"
#include "onnx/import.h"
#include "standard_files.h"
#include "toolchain.h"

/* ---- results ---- */

static void add_rendered(struct outputs *outputs, const struct outputs *rendered, const char *folder)
{
    for (size_t i = 0; i < rendered->files.count; i++) {
        const struct output_file *file = &rendered->files.at[i];
        outputs_add(outputs, arena_format(outputs->arena, "%s/%s", folder, file->path), file->bytes, file->size);
    }
}

/* External weights stand beside the program or library. */
static void add_external(const struct compilation *c, struct outputs *outputs, const char *folder)
{
    if (c->blob && c->options.external)
        outputs_add(outputs, arena_format(c->arena, "%s%s.weights", folder, c->plan->prefix), c->blob, c->blob_size);
}

static const char *folder_of(struct arena *arena, const char *path)
{
    return arena_copy(arena, path, (size_t)(path_name(path) - path));
}

/* Everything that the mode makes, aside or in memory; nothing has changed yet. */
static bool make_results(const struct compilation *c, struct outputs *outputs)
{
    struct outputs rendered = compile_render(c);
    const char *output = c->options.output;
    if (c->options.mode == MODE_PROGRAM) {
        output = output ? output : c->plan->name;
        add_external(c, outputs, folder_of(c->arena, output));
        return toolchain_program(c->plan, &rendered, output, c->options.linking, outputs);
    }
    output = output ? output : ".";
    if (!output_folder(outputs, output))
        return false;
    if (c->options.mode == MODE_LIBRARY) {
        add_external(c, outputs, arena_format(c->arena, "%s/", output));
        return toolchain_library(c->plan, &rendered, output, outputs);
    }
    add_rendered(outputs, &rendered, output);
    return true;
}

/* The rule for make, if one is asked for, into a file. */
static bool add_depfile(const struct compilation *c, struct outputs *outputs)
{
    if (!c->options.depfile && !c->options.dependencies)
        return true;
    struct depfile depfile = {.spec = strcmp(c->options.input, "-") ? c->options.input : NULL,
                              .weights = c->weights_path, .plan = c->options.plan};
    const char *path = depfile_path(c->plan, &c->options);
    const char *rule = depfile_rule(&depfile, c->plan, &c->options, c->diags);
    if (rule && path)
        outputs_add(outputs, path, rule, strlen(rule));
    else if (rule)
        fputs(rule, stdout);
    return rule;
}

static bool overwrites(struct diags *diags, const char *path, const char *input, const char *what)
{
    if (!input || !output_is_input(path, input))
        return false;
    diag_command_line(diags, "the output '%s' would take the place of the %s", path, what);
    return true;
}

/* Of an input, or of another output (a rule for make, say). */
static bool takes_place(const struct compilation *c, const struct outputs *outputs)
{
    for (size_t i = 0; i < outputs->files.count; i++) {
        const char *path = outputs->files.at[i].path;
        if (overwrites(c->diags, path, c->options.input, "spec") ||
            overwrites(c->diags, path, c->weights_path, "weights file") ||
            overwrites(c->diags, path, c->options.plan, "plan file"))
            return true;
        for (size_t j = 0; j < i; j++) {
            if (!output_same_place(c->arena, path, outputs->files.at[j].path))
                continue;
            diag_command_line(c->diags, "two outputs are '%s'", path);
            return true;
        }
    }
    return false;
}


/* --locked: every product that runs take must have a plan. Without it, that some have none is worth a word where a file
 * was given. */
static bool check_locked(const struct compilation *c)
{
    const struct plan *plan = c->plan;
    size_t missing, wanted = locks_wanted(plan, &missing);
    if (missing && !c->options.locked && c->options.plan)
        diag_remark(c->diags, "'%s' has no plan for %zu of %zu products: cuBLASLt's heuristic will choose theirs "
                    "when the program starts", c->options.plan, missing, wanted);
    if (!missing || !c->options.locked)
        return true;
    for (size_t i = 0; i < plan->products.count; i++) {
        const struct product *product = &plan->products.at[i];
        const struct step *step = &plan->steps.at[product->step];
        if (!product->lock_count && forms_run(plan, product))
            diag_error(c->diags, DIAG_NO_PLAN, step->span, "no plan for the product of '%s', %" PRId64 " rows: %s",
                       step->name, product->rows, product->text);
    }
    return false;
}

/* Over it nothing is written; the map says what takes the memory. */
static bool check_budget(const struct compilation *c)
{
    if (budget_holds(c->plan, compile_embeds(c), c->diags))
        return true;
    diags_print(c->diags, stderr);
    if (diags_form(c->diags) == DIAG_TEXT) {
        fputs("\n", stderr);
        memory_map_print(c->plan, compile_embeds(c), stderr);
    }
    return false;
}

static enum exit_status finish(struct compilation *c)
{
    struct outputs outputs = {.arena = c->arena, .diags = c->diags};
    if (!c->options.dependencies && !check_budget(c))
        return EXIT_USER;
    if (!check_locked(c))
        return EXIT_NO_PLAN;
    if (c->options.mode == MODE_CHECK)
        return EXIT_DONE;
    if (!add_depfile(c, &outputs))
        return EXIT_COMMAND_LINE;
    bool made = c->options.dependencies || make_results(c, &outputs);
    if (made && takes_place(c, &outputs)) {
        outputs_discard(&outputs);
        return EXIT_COMMAND_LINE;
    }
    if (!made || !outputs_commit(&outputs) || !output_printed(c->diags))
        return EXIT_ENVIRONMENT;
    return EXIT_DONE;
}

static bool read_spec(struct compilation *c)
{
    c->source.text = input_read(c->arena, c->diags, c->options.input, &c->source.length);
    return c->source.text;
}

/* --format: the spec itself is the result. */
static enum exit_status format(struct compilation *c)
{
    if (!read_spec(c))
        return EXIT_ENVIRONMENT;
    if (!parse_spec(c->arena, c->diags, &c->source))
        return diags_status(c->diags);
    struct outputs outputs = {.arena = c->arena, .diags = c->diags};
    size_t length;
    const char *text = format_spec(c->arena, c->diags, &c->source, &length);
    bool differs = length != c->source.length || memcmp(text, c->source.text, length);
    if (c->options.format == FORMAT_PRINT)
        fwrite(text, 1, length, stdout);
    else if (differs && c->options.format == FORMAT_CHECK)
        printf("%s\n", c->source.path);
    else if (differs)
        outputs_add(&outputs, c->options.input, text, length);
    if (!outputs_commit(&outputs) || !output_printed(c->diags))
        return EXIT_ENVIRONMENT;
    return differs && c->options.format == FORMAT_CHECK ? EXIT_USER : EXIT_DONE;
}

static enum exit_status compile(struct compilation *c)
{
    if (!read_spec(c))
        return EXIT_ENVIRONMENT;
    bool done = compile_plan(c) && (!c->plan || c->options.dependencies || compile_pack(c));
    diags_print(c->diags, stderr);
    enum exit_status status = done ? compile_forms(c) : diags_status(c->diags);
    if (!done || status != EXIT_DONE)
        return status;
    if (ferror(stderr))
        return EXIT_ENVIRONMENT;    /* a warning that nobody sees */
    if (c->options.mode != MODE_DUMP)
        return finish(c);
    compile_dump(c, stdout);
    return output_printed(c->diags) ? EXIT_DONE : EXIT_ENVIRONMENT;
}

static enum exit_status process(struct compilation *c)
{
    c->source.path = strcmp(c->options.input, "-") ? c->options.input : "<stdin>";
    c->diags = diags_new(c->arena, &c->source, &c->options.messages);
    enum exit_status status = c->options.mode == MODE_FORMAT ? format(c) : compile(c);
    diags_finish(c->diags, stderr, status);
    return status;
}

/* One spec after the other; the worst status counts. */
static enum exit_status process_all(struct compilation *c)
{
    enum exit_status worst = process(c);
    for (size_t i = 0; i < c->options.more_inputs.count; i++) {
        c->options.input = c->options.more_inputs.at[i];
        enum exit_status status = process(c);
        worst = status > worst ? status : worst;
    }
    return worst;
}

static enum exit_status compile_main(int argc, char **argv)
{
    struct compilation compilation = {.arena = arena_new()};
    bool done;
    enum exit_status status = options_parse(compilation.arena, argc, argv, &compilation.options, &done);
    if (status == EXIT_DONE && !done)
        status = process_all(&compilation);
    if (compilation.weights)
        weights_close(compilation.weights);
    arena_free(compilation.arena);
    return status;
}

int main(int argc, char **argv)
{
    mlp_hold_standard_files();
    signal(SIGXFSZ, SIG_IGN);       /* a write beyond `ulimit -f` fails like any other */
    json_set_alloc_funcs(sure_malloc, free);
    const bool imports = argc > 1 && !strcmp(argv[1], "import");
    enum exit_status status = imports ? import_main(argc - 1, argv + 1) : compile_main(argc, argv);
    if (status == EXIT_DONE && (!output_printed(NULL) || ferror(stderr)))
        status = EXIT_ENVIRONMENT;
    return (int)status;
}
