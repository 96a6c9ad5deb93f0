/* What all targets share: the header, the program's main, the embedded weights, and the tables of NAME_model. */
#include <inttypes.h>
#include <string.h>

#include "emit.h"
#include "forms.h"
#include "version.h"

static const char *dtype_constant[] = {
    [DTYPE_F32] = "MLP_F32", [DTYPE_TF32] = "MLP_TF32", [DTYPE_F16] = "MLP_F16", [DTYPE_BF16] = "MLP_BF16"};
static const char *dtype_c[] = {[DTYPE_F32] = "float", [DTYPE_F16] = "mlp_f16", [DTYPE_BF16] = "mlp_bf16"};
static const char *place_constant[] = {
    [PLACE_ARENA] = "MLP_ARENA", [PLACE_INPUT] = "MLP_INPUT", [PLACE_OUTPUT] = "MLP_OUTPUT"};

const char *emit_run_parameters(struct arena *arena, const struct plan *plan)
{
    const char *text = "size_t rows";
    for (size_t i = 0; i < plan->inputs.count; i++)
        text = arena_format(arena, "%s, const %s *in_%s", text, dtype_c[plan->inputs.at[i].dtype],
                            plan->inputs.at[i].name);
    for (size_t i = 0; i < plan->outputs.count; i++)
        text = arena_format(arena, "%s, %s *out_%s", text, dtype_c[plan->outputs.at[i].dtype],
                            plan->outputs.at[i].name);
    return text;
}

/* ---- NAME.h ---- */

/* On a GPU, how far apart the rows of the network's own buffer stand. */
static void emit_port_macros(struct emitter *e, const struct plan *plan, const struct plan_port *port)
{
    emit_line(e, "#define %s_%s_WIDTH %" PRId64, plan->prefix, port->name, port->width);
    if (plan->target == TARGET_CUDA)
        emit_line(e, "#define %s_%s_LD %" PRId64, plan->prefix, port->name, plan->values.at[port->value].ld);
}

static void emit_macros(struct emitter *e, const struct plan *plan)
{
    const char *name = plan->prefix;
    for (size_t i = 0; i < plan->inputs.count; i++)
        emit_port_macros(e, plan, &plan->inputs.at[i]);
    for (size_t i = 0; i < plan->outputs.count; i++)
        emit_port_macros(e, plan, &plan->outputs.at[i]);
    const char *batches = "";
    for (int i = 0; i < plan->batch_count; i++)
        batches = arena_format(e->arena, "%s%s%" PRId64, batches, i ? ", " : "", plan->batches[i]);
    emit_line(e, "#define %s_BATCHES {%s}", name, batches);
    emit_line(e, "#define %s_MAX_BATCH %" PRId64, name, plan->max_batch);
    emit_line(e, "#define %s_ARENA_BYTES %" PRId64, name, plan->arena_bytes);
    emit_line(e, "#define %s_WEIGHTS_BYTES %" PRId64, name, plan->weights_bytes);
}

static void emit_device_functions(struct emitter *e, const struct plan *plan, const char *parameters)
{
    const char *name = plan->prefix;
    emit_line(e, "/* The same from and to memory of the network's device, queued on a cudaStream_t; returns before it "
                 "has run. */");
    emit_line(e, "mlp_status %s_run_device(%s, void *stream);", name, parameters);
    emit_blank(e);
    emit_line(e,
              "/* The network's own buffer of an input or output, in the order of %s_run: device memory for "
              "%s_MAX_BATCH rows,",
              name, name);
    emit_line(e, " * each ..._LD elements behind the one before; NULL before init. Given to run_device, it saves the "
                 "copy. Leave what");
    emit_line(e, " * is behind an input's width as it is: zeros, which products read. */");
    emit_line(e, "void *%s_input(size_t index);", name);
    emit_line(e, "void *%s_output(size_t index);", name);
    emit_blank(e);
}

static void emit_functions(struct emitter *e, const struct plan *plan)
{
    const char *name = plan->prefix, *parameters = emit_run_parameters(e->arena, plan);
    emit_line(e, "/* Makes the network ready; options may be NULL. Once; again after close. */");
    emit_line(e, "mlp_status %s_init(const mlp_options *options);", name);
    emit_blank(e);
    emit_line(e, "/* Runs any number of rows from arrays in host memory to arrays in host memory, each [rows, width], "
                 "row-major.");
    emit_line(e, " * They stay the caller's; outputs must not overlap inputs or each other. 0 rows touch nothing. */");
    emit_line(e, "mlp_status %s_run(%s);", name, parameters);
    emit_blank(e);
    if (plan->target == TARGET_CUDA)
        emit_device_functions(e, plan, parameters);
    emit_line(e, "/* Replaces all weights by those of a packed file; on any error the old ones stay in use. */");
    emit_line(e, "mlp_status %s_load_weights(const char *path);", name);
    emit_blank(e);
    emit_line(e, "/* Gives everything back. Harmless twice. */");
    emit_line(e, "void %s_close(void);", name);
    emit_blank(e);
    emit_line(e, "/* What the last call that failed had to say; valid until the next call. */");
    emit_line(e, "const char *%s_error(void);", name);
    emit_blank(e);
    emit_line(e, "/* The network's description, for tools. */");
    emit_line(e, "extern const mlp_model %s_model;", name);
}

void emit_header(struct emitter *e, const struct plan *plan)
{
    const char *name = plan->prefix;
    emit_banner(e, plan);
    emit_line(e, "#ifndef MODEL_%s_H", name);
    emit_line(e, "#define MODEL_%s_H", name);
    emit_blank(e);
    emit_line(e, "#include \"mlp_runtime.h\"");
    emit_blank(e);
    emit_line(e, "#if MLP_RUNTIME_VERSION != %d", MLPC_RUNTIME_VERSION);
    emit_line(e, "#error \"made for another version of mlp_runtime.h: run mlpc again, or use its runtime\"");
    emit_line(e, "#endif");
    emit_blank(e);
    emit_line(e, "#ifdef __cplusplus");
    emit_line(e, "extern \"C\" {");
    emit_line(e, "#endif");
    emit_blank(e);
    emit_macros(e, plan);
    emit_blank(e);
    emit_functions(e, plan);
    emit_blank(e);
    emit_line(e, "#ifdef __cplusplus");
    emit_line(e, "}");
    emit_line(e, "#endif");
    emit_blank(e);
    emit_line(e, "#endif");
}

/* ---- NAME_main.c, NAME_weights.S ---- */

void emit_main(struct emitter *e, const struct plan *plan)
{
    emit_banner(e, plan);
    emit_line(e, "#include \"%s.h\"", plan->prefix);
    emit_blank(e);
    emit_line(e, "int main(int argc, char **argv)");
    emit_open(e, "{");
    emit_line(e, "return mlp_program(argc, argv, &%s_model);", plan->prefix);
    emit_close(e, "}");
}

void emit_weights(struct emitter *e, const struct plan *plan)
{
    emit_banner(e, plan);
    emit_line(
        e, "/* The packed weights, as they are in %s.weights. Assemble with -I and the folder that holds that file. */",
        plan->prefix);
    emit_line(e, "    .section .rodata");
    emit_line(e, "    .balign %" PRId64, plan->alignment);
    emit_line(e, "    .globl %s_packed", plan->prefix);
    emit_line(e, "    .hidden %s_packed", plan->prefix);
    emit_line(e, "%s_packed:", plan->prefix);
    emit_line(e, "    .incbin \"%s.weights\"", plan->prefix);
    emit_line(e, "    .section .note.GNU-stack,\"\",%%progbits");
}

/* ---- NAME_model ---- */

static const char *operand_text(struct arena *arena, struct operand operand)
{
    switch (operand.kind) {
    case OPERAND_NONE:
        break;
    case OPERAND_OP:
        return arena_format(arena, "{MLP_OP, %d, 0.0}", operand.index);
    case OPERAND_VALUE:
        return arena_format(arena, "{MLP_VALUE, %d, 0.0}", operand.index);
    case OPERAND_PARAM:
        return arena_format(arena, "{MLP_PARAM, %d, 0.0}", operand.index);
    case OPERAND_NUMBER:
        return arena_format(arena, "{MLP_NUMBER, 0, %s}", emit_double(arena, operand.number));
    }
    return "{MLP_NONE, 0, 0.0}";
}

static void emit_values(struct emitter *e, const struct plan *plan)
{
    emit_open(e, "static const mlp_value values[] = {");
    for (size_t i = 0; i < plan->values.count; i++) {
        const struct value *value = &plan->values.at[i];
        const struct buffer *buffer = &plan->buffers.at[value->buffer];
        int64_t offset = (buffer->place == PLACE_ARENA ? buffer->offset : 0) +
                         value->column * (int64_t)dtype_size(value->dtype);
        emit_line(e,
                  "{.name = \"%s\", .dtype = %s, .place = %s, .port = %d, .width = %" PRId64 ", .ld = %" PRId64
                  ", .offset = %" PRId64 ", .round = %s},",
                  value->name, dtype_constant[value->dtype], place_constant[buffer->place],
                  buffer->port < 0 ? 0 : buffer->port, value->width, value->ld, offset, dtype_constant[value->round]);
    }
    emit_close(e, "};");
    emit_blank(e);
}

static void emit_params(struct emitter *e, const struct plan *plan)
{
    if (!plan->params.count)
        return;
    emit_open(e, "static const mlp_param params[] = {");
    for (size_t i = 0; i < plan->params.count; i++) {
        const struct packed *packed = &plan->params.at[i];
        emit_line(e, "{.name = %s, .dtype = %s, .rows = %" PRId64 ", .cols = %" PRId64 ", .ld = %" PRId64
                  ", .offset = %" PRId64 ", .panel = %" PRId64 "},",
                  emit_string(e->arena, packed->label), dtype_constant[packed->dtype], packed->rows, packed->cols,
                  packed->ld, packed->offset, packed->panel);
    }
    emit_close(e, "};");
    emit_blank(e);
}

static void emit_ops(struct emitter *e, const struct step *step, size_t index)
{
    emit_open(e, "static const mlp_op ops_%zu[] = {", index);
    for (size_t i = 0; i < step->tape.count; i++) {
        const struct tape_op *op = &step->tape.at[i];
        emit_line(e, "{.code = MLP_OP_%s, .width = %" PRId64 ", .in = {%s, %s, %s}, .attr = {%s, %s}},",
                  op_info[op->op].constant, op->width, operand_text(e->arena, op->in[0]),
                  operand_text(e->arena, op->in[1]), operand_text(e->arena, op->in[2]),
                  emit_double(e->arena, op->attr[0]), emit_double(e->arena, op->attr[1]));
    }
    emit_close(e, "};");
}

static void emit_steps(struct emitter *e, const struct plan *plan)
{
    for (size_t i = 0; i < plan->steps.count; i++)
        emit_ops(e, &plan->steps.at[i], i);
    emit_blank(e);
    emit_open(e, "static const mlp_step steps[] = {");
    for (size_t i = 0; i < plan->steps.count; i++) {
        const struct step *step = &plan->steps.at[i];
        emit_line(e, "{.name = \"%s\", .text = %s, .line = %d, .ops = ops_%zu, .op_count = %zu, .out = %d},",
                  step->name, emit_string(e->arena, step->text), step->line, i, step->tape.count, step->out);
    }
    emit_close(e, "};");
    emit_blank(e);
}

static void emit_ports(struct emitter *e, const char *table, const struct plan_port *ports, size_t count)
{
    emit_open(e, "static const mlp_port %s[] = {", table);
    for (size_t i = 0; i < count; i++)
        emit_line(e, "{.name = \"%s\", .dtype = %s, .width = %" PRId64 ", .value = %d},", ports[i].name,
                  dtype_constant[ports[i].dtype], ports[i].width, ports[i].value);
    emit_close(e, "};");
    emit_blank(e);
}

/* mlp_model.run: the typed run, with its pointers in two arrays. */
static void emit_run_any(struct emitter *e, const struct plan *plan)
{
    const char *arguments = "rows";
    for (size_t i = 0; i < plan->inputs.count; i++)
        arguments =
            arena_format(e->arena, "%s, (const %s *)inputs[%zu]", arguments, dtype_c[plan->inputs.at[i].dtype], i);
    for (size_t i = 0; i < plan->outputs.count; i++)
        arguments = arena_format(e->arena, "%s, (%s *)outputs[%zu]", arguments, dtype_c[plan->outputs.at[i].dtype], i);
    emit_line(e, "static mlp_status run_any(size_t rows, const void *const *inputs, void *const *outputs)");
    emit_open(e, "{");
    if (!plan->inputs.count)
        emit_line(e, "(void)inputs;");
    emit_line(e, "return %s_run(%s);", plan->prefix, arguments);
    emit_close(e, "}");
    emit_blank(e);
}

static void emit_batches(struct emitter *e, const struct plan *plan)
{
    emit_line(e, "static const size_t batches[] = %s_BATCHES;", plan->prefix);
    emit_blank(e);
}

static void emit_forms(struct emitter *e, const struct plan *plan)
{
    static const char *const constants[FORM_COUNT] = {
        [FORM_STEPS] = "MLP_FORM_STEPS", [FORM_ROWS] = "MLP_FORM_ROWS", [FORM_FEW] = "MLP_FORM_FEW"};
    const char *list = "";
    for (int b = 0; plan->forms && b < plan->batch_count; b++)
        list = arena_format(e->arena, "%s%s%s", list, b ? ", " : "", constants[plan->forms[b].chosen]);
    if (!plan->forms)
        return;
    emit_line(e, "static const mlp_form forms[] = {%s};", list);
    emit_blank(e);
}

void emit_model(struct emitter *e, const struct plan *plan, bool embedded)
{
    bool inputs = plan->inputs.count > 0, params = plan->params.count > 0;
    emit_line(e, "/* ---- The description of the network, for tools ---- */");
    emit_blank(e);
    emit_run_any(e, plan);
    emit_batches(e, plan);
    emit_forms(e, plan);
    if (inputs)
        emit_ports(e, "inputs", plan->inputs.at, plan->inputs.count);
    emit_ports(e, "outputs", plan->outputs.at, plan->outputs.count);
    emit_values(e, plan);
    emit_params(e, plan);
    emit_steps(e, plan);
    emit_open(e, "const mlp_model %s_model = {", plan->prefix);
    emit_line(e, ".version = MLP_RUNTIME_VERSION,");
    emit_line(e, ".name = \"%s\",", plan->name);
    emit_line(e, ".spec = %s,", emit_string(e->arena, plan->spec));
    emit_line(e, ".target = %s,", plan->target == TARGET_CPU ? "MLP_CPU" : "MLP_CUDA");
    emit_line(e, ".dtype = %s,", dtype_constant[plan->dtype]);
    emit_line(e, ".batches = batches,");
    emit_line(e, ".batch_count = %d,", plan->batch_count);
    emit_line(e, ".inputs = %s,", inputs ? "inputs" : "NULL");
    emit_line(e, ".outputs = outputs,");
    emit_line(e, ".input_count = %zu,", plan->inputs.count);
    emit_line(e, ".output_count = %zu,", plan->outputs.count);
    emit_line(e, ".values = values,");
    emit_line(e, ".value_count = %zu,", plan->values.count);
    emit_line(e, ".params = %s,", params ? "params" : "NULL");
    emit_line(e, ".param_count = %zu,", plan->params.count);
    emit_line(e, ".steps = steps,");
    emit_line(e, ".step_count = %zu,", plan->steps.count);
    emit_line(e, ".chunk = %" PRId64 ",", plan->chunk);
    emit_line(e, ".threads = %d,", plan->threads);
    emit_line(e, ".arena_bytes = %s_ARENA_BYTES,", plan->prefix);
    emit_line(e, ".weights_bytes = %s_WEIGHTS_BYTES,", plan->prefix);
    emit_line(e, ".weights_layout = UINT64_C(0x%016" PRIx64 "),", plan->weights_layout);
    emit_line(e, ".weights_embedded = %d,", embedded);
    emit_line(e, ".init = %s_init,", plan->prefix);
    emit_line(e, ".run = run_any,");
    emit_line(e, ".load_weights = %s_load_weights,", plan->prefix);
    emit_line(e, ".close = %s_close,", plan->prefix);
    emit_line(e, ".error = %s_error,", plan->prefix);
    emit_line(e, ".begin = begin,");
    emit_line(e, ".run_step = run_step,");
    emit_line(e, ".read_arena = read_arena,");
    emit_line(e, ".read_weights = read_weights,");
    emit_line(e, ".instructions = %s,", plan->target == TARGET_CPU ? "instructions" : "NULL");
    emit_line(e, ".whole_only = %d,", plan->forms && !forms_emit(plan, FORM_STEPS));
    emit_line(e, ".forms = %s,", plan->target == TARGET_CUDA ? "forms" : "NULL");
    emit_line(e, ".time_step = %s,", plan->target == TARGET_CUDA ? "time_step" : "NULL");
    emit_line(e, ".describe = %s,", plan->target == TARGET_CUDA ? "describe" : "NULL");
    emit_line(e, ".describe_plan = %s,", plan->target == TARGET_CUDA ? "describe_plan" : "NULL");
    emit_line(e, ".tune = %s,", plan->products.count ? "tune" : "NULL");
    emit_close(e, "};");
}
