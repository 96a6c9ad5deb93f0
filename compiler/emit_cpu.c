/* NAME.c for a CPU: the memory of the network, its steps for each instruction set, and the library's functions, which
 * cpu_network.c does. */
#include <inttypes.h>

#include "emit.h"
#include "emit_cpu.h"

/* ---- state ---- */

static void emit_level_row(struct emitter *e, const struct plan *plan, int level)
{
    const int above = cpu_level_above(plan, level);
    const char *name = cpu_steps_name(e->arena, plan, level);
    if (above)
        emit_line(e, "#if MLP_LEVEL_GIVEN < %d", above);
    if (level)
        emit_line(e, "    {MLP_LEVEL_AT_LEAST(%d), &%s},", level, name);
    else
        emit_line(e, "    {MLP_LEVEL_GIVEN, &%s},", name);
    if (above)
        emit_line(e, "#endif");
}

static void emit_levels(struct emitter *e, const struct plan *plan)
{
    struct arena *arena = e->arena;
    const int lowest = plan->cpu_levels ? 1 : 0;
    for (int level = CPU_LEVELS; level >= lowest; level--) {
        if (cpu_level_wanted(plan, level))
            emit_line(e, "MLP_EXTERN const mlp_steps %s; /* %s.c */", cpu_steps_name(arena, plan, level),
                      cpu_steps_name(arena, plan, level));
    }
    emit_blank(e);
    emit_line(e, "/* The steps for each instruction set, the best first. Where the compiler may count on one of them "
                 "anyway, those");
    emit_line(e, " * below are left out. */");
    emit_line(e, "static const mlp_cpu_level levels[] = {");
    for (int level = CPU_LEVELS; level >= lowest; level--) {
        if (cpu_level_wanted(plan, level))
            emit_level_row(e, plan, level);
    }
    emit_line(e, "};");
    emit_blank(e);
}

/* Multiplications with addition for a row; any other operation on an element may take as long as a few. */
static double row_work(const struct plan *plan)
{
    double work = 0;
    for (size_t i = 0; i < plan->steps.count; i++) {
        const struct step *step = &plan->steps.at[i];
        for (size_t j = step->product; j < step->tape.count; j++)
            work += 8 * (double)step->tape.at[j].width;
        if (step->product)
            work += (double)step->n * (double)step->k;
    }
    return work;
}

static void emit_state(struct emitter *e, const struct plan *plan, bool embedded)
{
    const char *name = plan->prefix;
    embedded = embedded && plan->weights_bytes;
    emit_levels(e, plan);
    if (embedded)
        emit_line(e, "MLP_EXTERN const unsigned char %s_packed[]; /* %s_weights.S */", name, name);
    if (plan->arena_bytes)
        emit_line(e, "MLP_ALIGN(%" PRId64 ") static float arena[%s%" PRId64 "]; /* values between steps, of %" PRId64
                  " rows */", plan->alignment,
                  plan->threads > 1 ? arena_format(e->arena, "%d * ", plan->threads) : "", plan->arena_bytes / 4,
                  plan->chunk);
    emit_blank(e);
    emit_open(e, "static const mlp_cpu_parts parts = {");
    emit_line(e, ".model = &%s_model,", name);
    emit_line(e, ".packed = %s,", embedded ? arena_format(e->arena, "%s_packed", name) : "NULL");
    emit_line(e, ".arena = %s,", plan->arena_bytes ? "arena" : "NULL");
    emit_line(e, ".levels = levels,");
    emit_line(e, ".level_count = sizeof levels / sizeof *levels,");
    emit_line(e, ".threads = %s,", plan->threads > 1 ? "&mlp_cpu_threads_shared" : "NULL");
    emit_line(e, ".row_work = %.1f,", row_work(plan));
    emit_close(e, "};");
    emit_blank(e);
    emit_line(e, "static mlp_cpu_network network;");
    emit_blank(e);
}

/* ---- the library's functions ---- */

/* A function that does what the runtime's does, which takes the network first. */
static void emit_same(struct emitter *e, const char *head, const char *body)
{
    emit_line(e, "%s", head);
    emit_open(e, "{");
    emit_line(e, "%s", body);
    emit_close(e, "}");
    emit_blank(e);
}

/* "const void *const inputs[] = {in_x};" */
static void emit_arrays(struct emitter *e, const char *type, const char *name, const char *prefix,
                        const struct plan_port *ports, size_t count)
{
    const char *text = "";
    for (size_t i = 0; i < count; i++)
        text = arena_format(e->arena, "%s%s%s_%s", text, i ? ", " : "", prefix, ports[i].name);
    emit_line(e, "%s *const %s[] = {%s};", type, name, count ? text : "NULL");
}

static void emit_run(struct emitter *e, const struct plan *plan)
{
    emit_line(e, "mlp_status %s_run(%s)", plan->prefix, emit_run_parameters(e->arena, plan));
    emit_open(e, "{");
    emit_arrays(e, "const void", "from", "in", plan->inputs.at, plan->inputs.count);
    emit_arrays(e, "void", "to", "out", plan->outputs.at, plan->outputs.count);
    emit_line(e, "return mlp_cpu_run(&network, rows, from, to);");
    emit_close(e, "}");
    emit_blank(e);
}

static void emit_library(struct emitter *e, const struct plan *plan)
{
    const char *name = plan->prefix;
    emit_same(e, arena_format(e->arena, "mlp_status %s_init(const mlp_options *options)", name),
              "return mlp_cpu_init(&network, &parts, options);");
    emit_run(e, plan);
    emit_same(e, arena_format(e->arena, "mlp_status %s_load_weights(const char *path)", name),
              "return mlp_cpu_load_weights(&network, path);");
    emit_same(e, arena_format(e->arena, "void %s_close(void)", name), "mlp_cpu_close(&network);");
    emit_same(e, arena_format(e->arena, "const char *%s_error(void)", name), "return network.guard.error;");
}

/* For --verify, --profile and --info. */
static void emit_tools(struct emitter *e)
{
    emit_same(e, "static mlp_status begin(size_t rows, const void *const *from, void *const *to)",
              "return mlp_cpu_begin(&network, rows, from, to);");
    emit_same(e, "static mlp_status run_step(size_t step)", "return mlp_cpu_run_step(&network, step);");
    emit_same(e, "static mlp_status read_arena(size_t offset, size_t bytes, void *to)",
              "return mlp_cpu_read_arena(&network, offset, bytes, to);");
    emit_same(e, "static mlp_status read_weights(size_t offset, size_t bytes, void *to)",
              "return mlp_cpu_read_weights(&network, offset, bytes, to);");
    emit_same(e, "static const char *instructions(void)", "return mlp_cpu_instructions(&network);");
}

void emit_cpu(struct emitter *e, const struct plan *plan, bool embedded)
{
    emit_banner(e, plan);
    emit_line(e, "#include \"%s.h\"", plan->prefix);
    emit_blank(e);
    emit_line(e, "#include \"mlp_cpu_network.h\"");
    emit_blank(e);
    emit_state(e, plan, embedded);
    emit_library(e, plan);
    emit_tools(e);
    emit_model(e, plan, embedded);
}
