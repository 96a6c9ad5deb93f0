#include "compile.h"

#include <string.h>

#include "check.h"
#include "dot.h"
#include "emit.h"
#include "emit_cpu.h"
#include "explain.h"
#include "fold.h"
#include "forms.h"
#include "gate.h"
#include "hash.h"
#include "locks.h"
#include "lower.h"
#include "memory_map.h"
#include "simplify.h"
#include "utf8.h"

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
    size_t folder = (size_t)(path_name(input) - input);
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
                                   .spec_checksum = hash_bytes(HASH_START, c->source.text, c->source.length)};
    const char *spec = strcmp(c->options.input, "-") ? path_name(c->options.input) : c->source.path;
    request.spec = utf8_printable(c->arena, spec);
    c->plan = plan_make(c->graph, c->fusion, &c->source, &request, c->diags);
    if (c->plan) {
        c->plan->locked = c->options.locked;
        c->plan->cpu_levels = c->options.cpu_levels;
        c->plan->threads = c->options.threads;
    }
    return c->plan;
}

bool compile_plan(struct compilation *c)
{
    if (!front_end(c))
        return false;
    if (!c->graph)
        return true;
    middle_end(c);
    return open_weights(c) && back_end(c);
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

bool compile_pack(struct compilation *c)
{
    if (!check_embedding(c))
        return false;
    if (c->weights && c->plan->weights_bytes)
        c->blob = weights_pack(c->weights, c->plan, c->diags, &c->blob_size);
    return good(c);
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

enum exit_status compile_forms(struct compilation *c)
{
    enum exit_status status = read_locks(c);
    if (status == EXIT_DONE && c->plan)
        forms_choose(c->plan, c->options.whole);
    return status;
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

bool compile_embeds(const struct compilation *c)
{
    return c->blob && !c->options.external;
}

struct outputs compile_render(const struct compilation *c)
{
    const struct plan *plan = c->plan;
    bool embedded = compile_embeds(c);
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

static void print_explanation(const struct compilation *c, FILE *to)
{
    struct device own;
    const struct device *device = device_usual(c->options.target);
    const struct why why = {c->arena, c->graph, c->fusion, c->plan, &c->source};
    if (c->options.floor)
        device = device_parse(c->options.floor, &own) ? &own : device_find(c->options.floor);
    explain_print(&why, device, to);
}

void compile_dump(const struct compilation *c, FILE *to)
{
    switch (c->options.dump) {
    case DUMP_AST:
        ast_dump(c->spec, to);
        break;
    case DUMP_GRAPH:
        graph_dump(c->graph, to);
        break;
    case DUMP_FUSED:
        fusion_dump(c->graph, c->fusion, to);
        break;
    case DUMP_PLAN:
        plan_dump(c->plan, to);
        break;
    case DUMP_MEMORY:
        memory_dump(c->plan, to);
        break;
    case DUMP_MAP:
        memory_map_print(c->plan, compile_embeds(c), to);
        break;
    case DUMP_SVG:
        memory_svg_print(c->plan, compile_embeds(c), to);
        break;
    case DUMP_DOT:
        dot_print(c->plan, to);
        break;
    case DUMP_EXPLAIN:
        print_explanation(c, to);
        break;
    }
}
