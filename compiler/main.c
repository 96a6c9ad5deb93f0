/* The passes in order, and what becomes of their result. */
#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "arena.h"
#include "ast.h"
#include "budget.h"
#include "check.h"
#include "depfile.h"
#include "diag.h"
#include "dot.h"
#include "emit.h"
#include "emit_cpu.h"
#include "explain.h"
#include "fold.h"
#include "format.h"
#include "forms.h"
#include "fuse.h"
#include "gate.h"
#include "graph.h"
#include "locks.h"
#include "lower.h"
#include "memory_map.h"
#include "onnx/import.h"
#include "options.h"
#include "output.h"
#include "plan.h"
#include "simplify.h"
#include "toolchain.h"
#include "weights.h"

struct compilation {
    struct arena *arena;
    struct options options;
    struct source source;
    struct diags *diags;
    const struct spec *spec;
    struct graph *graph;
    struct fusion *fusion;
    struct plan *plan;
    struct weights *weights;        /* NULL: they come when the program runs */
    const char *weights_path;       /* the file they come from, or NULL */
    const unsigned char *blob;      /* packed */
    size_t blob_size;
};

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static uint64_t checksum(const char *text, size_t length)
{
    uint64_t hash = 0xcbf29ce484222325u;
    for (size_t i = 0; i < length; i++)
        hash = (hash ^ (unsigned char)text[i]) * 0x100000001b3u;
    return hash;
}

static bool wants(const struct compilation *c, enum dump dump)
{
    return c->options.mode == MODE_DUMP && c->options.dump == dump;
}

/* ---- passes ---- */

static bool good(const struct compilation *c)
{
    return diags_status(c->diags) == EXIT_DONE;
}

static bool front_end(struct compilation *c)
{
    c->spec = parse_spec(c->arena, c->diags, &c->source);
    if (!good(c))
        return false;
    if (wants(c, DUMP_AST))
        return true;
    if (!check_spec(c->spec, c->arena, c->diags))
        return false;
    c->graph = lower_spec(c->arena, c->spec, c->diags);
    return good(c);
}

static void middle_end(struct compilation *c)
{
    c->graph = simplify_graph(c->graph);
    c->graph = fold_batchnorm(c->graph);
    if (c->options.target == TARGET_CUDA)
        c->graph = gate_merge(c->graph);
    c->graph = simplify_graph(c->graph);
    c->fusion = fuse_graph(c->graph, c->options.target);
}

/* The weights file as the spec means it, relative to the spec's folder; or as the command line says. */
static const char *find_weights(const struct compilation *c)
{
    const char *path = c->graph->weights, *input = c->options.input;
    if (c->options.weights || !path)
        return c->options.weights;
    size_t folder = (size_t)(base_name(input) - input);
    return *path == '/' ? path : arena_format(c->arena, "%.*s%s", (int)folder, input, path);
}

static bool open_weights(struct compilation *c)
{
    c->weights_path = c->options.random ? NULL : find_weights(c);
    if (c->options.random)
        c->weights = weights_random(c->arena, c->options.seed);
    else if (c->weights_path)
        c->weights = weights_open(c->arena, c->diags, c->weights_path, c->graph->weights_span);
    return good(c) && (!c->weights || weights_check(c->weights, c->graph, c->diags));
}

static bool back_end(struct compilation *c)
{
    struct plan_request request = {.target = c->options.target,
                                   .spec_checksum = checksum(c->source.text, c->source.length)};
    request.spec = strcmp(c->options.input, "-") ? base_name(c->options.input) : c->source.path;
    c->plan = plan_make(c->graph, c->fusion, &c->source, &request, c->diags);
    if (c->plan) {
        c->plan->locked = c->options.locked;
        c->plan->cpu_levels = c->options.cpu_levels;
        c->plan->threads = c->options.threads;
    }
    return c->plan;
}

/* A network with parameters and no source for them takes them when it runs; whoever asked for more is told. */
static bool check_embedding(const struct compilation *c)
{
    if (!c->options.embed || c->weights || !c->plan->weights_bytes)
        return true;
    diag_error(c->diags, DIAG_WEIGHTS_FILE, c->graph->weights_span,
               "there are no weights to embed: the spec names no file, and neither --weights=FILE nor --random-weights "
               "is given");
    return false;
}

static bool pack_weights(struct compilation *c)
{
    if (!check_embedding(c))
        return false;
    if (c->weights && c->plan->weights_bytes)
        c->blob = weights_pack(c->weights, c->plan, c->diags, &c->blob_size);
    return good(c);
}

/* ---- results ---- */

static void render(struct outputs *outputs, const char *path, struct emitter *emitter)
{
    outputs_add(outputs, path, emitter->text, emitter->length);
    *emitter = (struct emitter){.arena = emitter->arena};
}

/* The steps for each instruction set. */
static void render_levels(struct outputs *outputs, const struct plan *plan, struct emitter *emitter)
{
    for (int level = 0; level <= CPU_LEVELS; level++) {
        if (!cpu_level_wanted(plan, level))
            continue;
        emit_cpu_level(emitter, plan, level);
        render(outputs, arena_format(plan->arena, "%s.c", cpu_steps_name(plan->arena, plan, level)), emitter);
    }
}

/* Whether the weights are in the program. */
static bool embeds(const struct compilation *c)
{
    return c->blob && !c->options.external;
}

/* All generated files, under bare names. Without a source of weights, they are external. */
static struct outputs render_all(const struct compilation *c)
{
    const struct plan *plan = c->plan;
    bool embedded = embeds(c);
    struct outputs outputs = {.arena = c->arena, .diags = c->diags};
    struct emitter emitter = {.arena = c->arena};
    emit_header(&emitter, plan);
    render(&outputs, arena_format(c->arena, "%s.h", plan->prefix), &emitter);
    if (plan->target == TARGET_CUDA) {
        emit_cuda_host(&emitter, plan, embedded);
        render(&outputs, arena_format(c->arena, "%s.c", plan->prefix), &emitter);
        emit_cuda_device(&emitter, plan);
        render(&outputs, arena_format(c->arena, "%s.cu", plan->prefix), &emitter);
    } else {
        emit_cpu(&emitter, plan, embedded);
        render(&outputs, arena_format(c->arena, "%s.c", plan->prefix), &emitter);
        emit_cpu_steps(&emitter, plan);
        render(&outputs, arena_format(c->arena, "%s_steps.h", plan->prefix), &emitter);
        render_levels(&outputs, plan, &emitter);
    }
    emit_main(&emitter, plan);
    render(&outputs, arena_format(c->arena, "%s_main.c", plan->prefix), &emitter);
    if (embedded) {
        emit_weights(&emitter, plan);
        render(&outputs, arena_format(c->arena, "%s_weights.S", plan->prefix), &emitter);
    }
    if (c->blob)
        outputs_add(&outputs, arena_format(c->arena, "%s.weights", plan->prefix), c->blob, c->blob_size);
    return outputs;
}

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
    return arena_format(arena, "%.*s", (int)(base_name(path) - path), path);
}

/* Everything that the mode makes, aside or in memory; nothing has changed yet. */
static bool make_results(const struct compilation *c, struct outputs *outputs)
{
    struct outputs rendered = render_all(c);
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
static void add_depfile(const struct compilation *c, struct outputs *outputs)
{
    struct depfile depfile = {.spec = strcmp(c->options.input, "-") ? c->options.input : NULL,
                              .weights = c->weights_path, .plan = c->options.plan};
    const char *path = depfile_path(c->plan, &c->options), *rule = depfile_rule(&depfile, c->plan, &c->options);
    if ((c->options.depfile || c->options.dependencies) && path)
        outputs_add(outputs, path, rule, strlen(rule));
    else if (c->options.dependencies)
        fputs(rule, stdout);
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

static void print_explanation(const struct compilation *c)
{
    struct device own;
    const struct device *device = device_usual(c->options.target);
    const struct why why = {c->arena, c->graph, c->fusion, c->plan, &c->source};
    if (c->options.floor)
        device = device_parse(c->options.floor, &own) ? &own : device_find(c->options.floor);
    explain_print(&why, device, stdout);
}

static void print_dump(const struct compilation *c)
{
    switch (c->options.dump) {
    case DUMP_AST:
        ast_dump(c->spec, stdout);
        break;
    case DUMP_GRAPH:
        graph_dump(c->graph, stdout);
        break;
    case DUMP_FUSED:
        fusion_dump(c->graph, c->fusion, stdout);
        break;
    case DUMP_PLAN:
        plan_dump(c->plan, stdout);
        break;
    case DUMP_MEMORY:
        memory_dump(c->plan, stdout);
        break;
    case DUMP_MAP:
        memory_map_print(c->plan, embeds(c), stdout);
        break;
    case DUMP_SVG:
        memory_svg_print(c->plan, embeds(c), stdout);
        break;
    case DUMP_DOT:
        dot_print(c->plan, stdout);
        break;
    case DUMP_EXPLAIN:
        print_explanation(c);
        break;
    }
}

/* Tuned plans, where the command line names a file of them. */
static enum exit_status read_locks(const struct compilation *c)
{
    size_t length;
    const char *path = c->options.plan, *text = path ? input_read(c->arena, c->diags, path, &length) : NULL;
    if (!path || !c->plan)
        return EXIT_DONE;
    if (!text)
        return EXIT_ENVIRONMENT;
    return locks_read(c->plan, c->diags, path, text, length) ? EXIT_DONE : EXIT_USER;
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
    if (budget_holds(c->plan, embeds(c), c->diags))
        return true;
    diags_print(c->diags, stderr);
    if (diags_form(c->diags) == DIAG_TEXT) {
        fputs("\n", stderr);
        memory_map_print(c->plan, embeds(c), stderr);
    }
    return false;
}

/* Whether all that went there has arrived; says so where it has not. */
static bool stdout_written(void)
{
    errno = 0;
    if (!fflush(stdout) && !ferror(stdout))
        return true;
    fprintf(stderr, "mlpc: error: standard output cannot be written%s%s\n", errno ? ": " : "",
            errno ? strerror(errno) : "");
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
    bool made = c->options.dependencies || make_results(c, &outputs);
    if (made)
        add_depfile(c, &outputs);
    if (made && takes_place(c, &outputs)) {
        outputs_discard(&outputs);
        return EXIT_COMMAND_LINE;
    }
    if (!made || !outputs_commit(&outputs) || !stdout_written())
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
    if (!outputs_commit(&outputs) || !stdout_written())
        return EXIT_ENVIRONMENT;
    return differs && c->options.format == FORMAT_CHECK ? EXIT_USER : EXIT_DONE;
}

static enum exit_status compile(struct compilation *c)
{
    if (!read_spec(c))
        return EXIT_ENVIRONMENT;
    bool done = front_end(c);
    if (done && c->graph) {
        middle_end(c);
        done = open_weights(c) && back_end(c) && (c->options.dependencies || pack_weights(c));
    }
    diags_print(c->diags, stderr);
    enum exit_status status = done ? read_locks(c) : diags_status(c->diags);
    if (!done || status != EXIT_DONE)
        return status;
    if (c->plan)
        forms_choose(c->plan, c->options.whole);
    if (c->options.mode != MODE_DUMP)
        return finish(c);
    print_dump(c);
    return stdout_written() ? EXIT_DONE : EXIT_ENVIRONMENT;
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

int main(int argc, char **argv)
{
    json_set_alloc_funcs(sure_malloc, free);
    if (argc > 1 && !strcmp(argv[1], "import"))
        return import_main(argc - 1, argv + 1);
    struct compilation compilation = {.arena = arena_new()};
    bool done;
    enum exit_status status = options_parse(compilation.arena, argc, argv, &compilation.options, &done);
    if (status == EXIT_DONE && !done)
        status = process_all(&compilation);
    if (compilation.weights)
        weights_close(compilation.weights);
    arena_free(compilation.arena);
    return (int)status;
}
