/* NAME.c for a GPU: the products as constant data, one forward function a batch size (a straight line of calls, one a
 * step), and the network's functions, each a call of the runtime with what is constant for this network. */
#include "emit_cuda.h"
#include "forms.h"
#include "plan_file.h"
#include "whole.h"

#include <inttypes.h>

static const char *const dtype_constant[] = {
    [DTYPE_F32] = "MLP_F32", [DTYPE_TF32] = "MLP_TF32", [DTYPE_F16] = "MLP_F16", [DTYPE_BF16] = "MLP_BF16"};

static const char *const form_constant[FORM_COUNT] = {
    [FORM_STEPS] = "MLP_FORM_STEPS", [FORM_ROWS] = "MLP_FORM_ROWS", [FORM_FEW] = "MLP_FORM_FEW"};

static const struct {
    const char *constant;
    bool bias;
} epilogues[] = {
    [EPILOGUE_DEFAULT] = {"MLP_EPILOGUE_DEFAULT", false},
    [EPILOGUE_BIAS] = {"MLP_EPILOGUE_BIAS", true},
    [EPILOGUE_RELU] = {"MLP_EPILOGUE_RELU", false},
    [EPILOGUE_RELU_BIAS] = {"MLP_EPILOGUE_RELU_BIAS", true},
    [EPILOGUE_GELU] = {"MLP_EPILOGUE_GELU", false},
    [EPILOGUE_GELU_BIAS] = {"MLP_EPILOGUE_GELU_BIAS", true},
};

/* ---- The arena ---- */

static const int64_t largest_static_arena = INT64_C(1) << 30, workspace_of_products = INT64_C(32) << 20;

struct cuda_arena cuda_arena(const struct plan *plan)
{
    struct cuda_arena arena = {.values = plan->weights_bytes};
    arena.state = arena.values + plan->arena_bytes;
    arena.state_bytes = forms_emit(plan, FORM_FEW) ? (few_state_bytes(plan) + 255) / 256 * 256 : 0;
    arena.workspace = arena.state + arena.state_bytes;
    arena.workspace_bytes = plan->products.count ? workspace_of_products : 0;
    arena.bytes = arena.workspace + arena.workspace_bytes;
    arena.is_static = arena.bytes <= largest_static_arena;
    return arena;
}

int64_t cuda_port_staging(const struct plan *plan, const struct plan_port *port)
{
    return (port->width * (int64_t)dtype_size(port->dtype) * plan->max_batch + 255) / 256 * 256;
}

void emit_cuda_places(struct emitter *e, const struct plan *plan)
{
    struct cuda_arena arena = cuda_arena(plan);
    emit_line(e, "/* Device memory, in bytes from the start of the arena (%" PRId64 " in all):", arena.bytes);
    emit_line(e, " * weights, values of up to %" PRId64 " row%s%s. */", plan->max_batch,
              plan->max_batch == 1 ? "" : "s", arena.workspace_bytes ? ", the workspace of the products" : "");
    emit_line(e, "#define WEIGHTS 0");
    emit_line(e, "#define VALUES %" PRId64, arena.values);
    if (arena.state_bytes)
        emit_line(e, "#define STATE %" PRId64, arena.state);
}

const char *cuda_place(struct arena *arena, const struct plan *plan, const struct value *value)
{
    int64_t offset = plan->buffers.at[value->buffer].offset + value->column * (int64_t)dtype_size(value->dtype);
    return arena_format(arena, "VALUES + %" PRId64, offset);
}

const char *cuda_step_comment(struct arena *arena, const struct plan *plan, const struct step *step)
{
    return arena_format(arena, "%s -- %s:%d", emit_comment(arena, step->text), emit_comment(arena, plan->spec),
                        step->line);
}

/* ---- Products ---- */

static const char *matrix(struct emitter *e, const char *offset, int64_t ld, enum dtype dtype)
{
    return arena_format(e->arena, "{.offset = %s, .ld = %" PRId64 ", .dtype = %s}", offset, ld, dtype_constant[dtype]);
}

static const char *value_matrix(struct emitter *e, const struct plan *plan, int index)
{
    const struct value *value = &plan->values.at[index];
    return matrix(e, cuda_place(e->arena, plan, value), value->ld, value->dtype);
}

static const char *param_place(struct arena *arena, const struct packed *packed)
{
    return arena_format(arena, "WEIGHTS + %" PRId64, packed->offset);
}

static const char *padding_comment(struct arena *arena, const struct step *step)
{
    if (step->n_padded == step->n && step->k_padded == step->k)
        return "";
    return arena_format(arena, " /* %" PRId64 " columns from %" PRId64 ", the rest zeros */", step->n, step->k);
}

/* "step_0_h1_b64" */
static const char *gemm_name(struct arena *arena, const struct plan *plan, const struct product *product)
{
    return arena_format(arena, "%s_b%" PRId64, plan->steps.at[product->step].function, product->rows);
}

static void emit_locked(struct emitter *e, const struct product *product)
{
    if (product->lock_count)
        emit_line(e, ".locked = &locked_plans[%zu],", product->first_lock);
    else
        emit_line(e, ".locked = NULL,");
    emit_line(e, ".locked_count = %zu,", product->lock_count);
}

static void emit_gemm(struct emitter *e, const struct plan *plan, const struct product *product)
{
    const struct step *step = &plan->steps.at[product->step];
    const struct tape_op *linear = &step->tape.at[0];
    const struct packed *weight = &plan->params.at[linear->in[1].index];
    bool bias = epilogues[step->epilogue].bias, residual = step->residual >= 0;
    const struct packed *row = &plan->params.at[linear->in[bias ? 2 : 1].index];
    emit_line(e, "/* %s: %s */", gemm_name(e->arena, plan, product), cuda_step_comment(e->arena, plan, step));
    emit_open(e, "{");
    emit_line(e, ".step = \"%s\",", step->name);
    emit_line(e, ".product = \"%s\",", product->text);
    emit_line(e, ".m = %" PRId64 ", .n = %" PRId64 ", .k = %" PRId64 ",%s", step->n_padded, product->rows,
              step->k_padded,
              padding_comment(e->arena, step));
    emit_line(e, ".a = %s,", matrix(e, param_place(e->arena, weight), weight->ld, weight->dtype));
    emit_line(e, ".b = %s,", value_matrix(e, plan, linear->in[0].index));
    emit_line(e, ".c = %s,", value_matrix(e, plan, residual ? step->residual : step->out));
    emit_line(e, ".d = %s,", value_matrix(e, plan, step->out));
    emit_line(e, ".beta = %s,", residual ? "1.0f" : "0.0f");
    emit_line(e, ".compute = %s,", plan->dtype == DTYPE_TF32 ? "MLP_COMPUTE_TF32" : "MLP_COMPUTE_F32");
    emit_line(e, ".epilogue = %s,", epilogues[step->epilogue].constant);
    emit_line(e, ".bias = %s,", bias ? param_place(e->arena, row) : "0");
    emit_line(e, ".bias_dtype = %s,", dtype_constant[row->dtype]);
    if (step->apart)
        emit_line(e, ".apart = %s_%s,", plan->prefix, step->apart->function);
    else
        emit_line(e, ".apart = NULL,");
    emit_locked(e, product);
    emit_close(e, "},");
}

/* ---- Tuned plans ---- */

static void emit_plan_devices(struct emitter *e, const struct plan *plan)
{
    emit_open(e, "static const mlp_plan_device plan_devices[] = {");
    for (size_t i = 0; i < plan->plan_devices.count; i++) {
        const struct plan_device *device = &plan->plan_devices.at[i];
        emit_line(e, "{.name = %s, .multiprocessors = %d, .library = %zu},", emit_string(e->arena, device->name),
                  device->multiprocessors, device->library);
    }
    emit_close(e, "};");
    emit_blank(e);
}

static void emit_lock(struct emitter *e, const struct lock *lock)
{
    const mlp_plan_entry *entry = lock->entry;
    const mlp_algorithm *a = &entry->algorithm;
    const uint64_t *bytes = entry->bytes;
    emit_line(e, "/* %s */", emit_comment(e->arena, entry->product));
    emit_open(e, "{");
    emit_line(e, ".device = &plan_devices[%d],", lock->device);
    emit_line(e, ".apart = %d,", entry->apart);
    emit_line(e, ".algorithm = {.id = %d, .tile = %u, .stages = %u, .split_k = %u, .reduction = %u, .swizzle = %u,",
              a->id, a->tile, a->stages, a->split_k, a->reduction, a->swizzle);
    emit_line(e, "              .custom = %u, .inner_shape = %u, .cluster = %u},", a->custom, a->inner_shape,
              a->cluster);
    for (int i = 0; i < 8; i += 2)
        emit_line(e, "%sUINT64_C(0x%016" PRIx64 "), UINT64_C(0x%016" PRIx64 ")%s", i ? "          " : ".bytes = {",
                  bytes[i], bytes[i + 1], i < 6 ? "," : "},");
    emit_line(e, ".workspace = %" PRIu64 ",", entry->workspace);
    emit_line(e, ".times = {.warm = %.3f, .cold = %.3f, .first_warm = %.3f, .first_cold = %.3f,",
              entry->times.warm, entry->times.cold, entry->times.first_warm, entry->times.first_cold);
    emit_line(e, "          .listed_warm = %.3f, .listed_cold = %.3f},", entry->times.listed_warm,
              entry->times.listed_cold);
    emit_close(e, "},");
}

static void emit_locked_plans(struct emitter *e, const struct plan *plan)
{
    if (!plan->locks.count)
        return;
    emit_line(e, "/* ---- Tuned plans, by product and device: an algorithm of cuBLASLt by its attributes and in its "
                 "own form ---- */");
    emit_blank(e);
    emit_plan_devices(e, plan);
    emit_open(e, "static const mlp_locked_plan locked_plans[] = {");
    for (size_t i = 0; i < plan->locks.count; i++)
        emit_lock(e, &plan->locks.at[i]);
    emit_close(e, "};");
    emit_blank(e);
}

static void emit_gemms(struct emitter *e, const struct plan *plan)
{
    if (!plan->products.count)
        return;
    emit_locked_plans(e, plan);
    emit_line(e, "/* ---- Products, by step and batch size: D = epilogue(A' B + beta C + bias), column-major ---- */");
    emit_blank(e);
    emit_open(e, "enum {");
    for (size_t i = 0; i < plan->products.count; i++)
        emit_line(e, "%s,", gemm_name(e->arena, plan, &plan->products.at[i]));
    emit_line(e, "GEMM_COUNT");
    emit_close(e, "};");
    emit_blank(e);
    emit_open(e, "static const mlp_gemm gemms[GEMM_COUNT] = {");
    for (size_t i = 0; i < plan->products.count; i++)
        emit_gemm(e, plan, &plan->products.at[i]);
    emit_close(e, "};");
    emit_blank(e);
    emit_line(e, "static mlp_gemm_plan plans[GEMM_COUNT];");
    emit_blank(e);
}

/* ---- Steps ---- */

/* The step of the generated kernel that belongs to a step, or NULL: of a product, its epilogue apart. */
const struct step *cuda_kernel_step(const struct plan *plan, const struct step *step)
{
    if (!forms_emit(plan, FORM_STEPS))
        return NULL;
    return step->product ? step->apart : step;
}

/* "digits_few_b1": the launch function of a whole network, NULL for steps. */
static const char *whole_launcher(struct arena *arena, const struct plan *plan, int batch, enum form form)
{
    if (form == FORM_FEW)
        return arena_format(arena, "%s_few_b%" PRId64, plan->prefix, plan->batches[batch]);
    return form == FORM_ROWS ? arena_format(arena, "%s_rows", plan->prefix) : NULL;
}

static void emit_whole_launchers(struct emitter *e, const struct plan *plan)
{
    static const char parameters[] = "(unsigned char *arena, int64_t rows, void *stream);";
    if (forms_emit(plan, FORM_ROWS))
        emit_line(e, "MLP_EXTERN MLP_HIDDEN int %s%s", whole_launcher(e->arena, plan, 0, FORM_ROWS), parameters);
    for (int b = 0; b < plan->batch_count; b++) {
        if (plan->forms[b].emitted[FORM_FEW])
            emit_line(e, "MLP_EXTERN MLP_HIDDEN int %s%s", whole_launcher(e->arena, plan, b, FORM_FEW), parameters);
    }
}

static void emit_launchers(struct emitter *e, const struct plan *plan)
{
    emit_line(e, "/* %s.cu: the arena%s, and the generated kernels. */", plan->prefix,
              cuda_arena(plan).is_static ? "" : " is not there: it is too large for an array");
    if (cuda_arena(plan).is_static)
        emit_line(e, "MLP_EXTERN MLP_HIDDEN int %s_arena(void **arena);", plan->prefix);
    for (size_t i = 0; i < plan->steps.count; i++) {
        const struct step *step = cuda_kernel_step(plan, &plan->steps.at[i]);
        if (step)
            emit_line(e, "MLP_EXTERN MLP_HIDDEN int %s_%s(unsigned char *arena, int64_t rows, void *stream);",
                      plan->prefix, step->function);
    }
    emit_whole_launchers(e, plan);
    emit_blank(e);
}

static void emit_call(struct emitter *e, const struct plan *plan, const struct step *step, int64_t rows)
{
    emit_line(e, "/* %s */", cuda_step_comment(e->arena, plan, step));
    if (step->product)
        emit_line(e, "MLP_TRY(mlp_gemm_run(cuda, %s_b%" PRId64 "));", step->function, rows);
    else
        emit_line(e, "MLP_TRY(mlp_cuda_kernel(cuda, \"%s\", %s_%s, %" PRId64 "));", step->name, plan->prefix,
                  step->function, rows);
}

/* "forward_b64": where other forms are there to compare it with, "steps_b64" and "few_b64" stand beside it. */
static const char *forward_name(struct arena *arena, const struct plan *plan, int batch, enum form form)
{
    const char *name = form == plan->forms[batch].chosen ? "forward" : form_name(form);
    return arena_format(arena, "%s_b%" PRId64, name, plan->batches[batch]);
}

static void emit_forward(struct emitter *e, const struct plan *plan, int batch, enum form form)
{
    const char *whole = whole_launcher(e->arena, plan, batch, form);
    emit_line(e, "static mlp_status %s(mlp_cuda *cuda)", forward_name(e->arena, plan, batch, form));
    emit_open(e, "{");
    for (size_t i = 0; !whole && i < plan->steps.count; i++)
        emit_call(e, plan, &plan->steps.at[i], plan->batches[batch]);
    if (whole)
        emit_line(e, "MLP_TRY(mlp_cuda_kernel(cuda, \"the whole network\", %s, %" PRId64 "));", whole,
                  plan->batches[batch]);
    emit_line(e, "return MLP_OK;");
    emit_close(e, "}");
    emit_blank(e);
}

/* All forms of one batch size, by mlp_form. */
static void emit_forms(struct emitter *e, const struct plan *plan, int batch)
{
    for (int i = 0; i < FORM_COUNT; i++) {
        if (plan->forms[batch].emitted[i])
            emit_forward(e, plan, batch, (enum form)i);
    }
}

static void emit_batch(struct emitter *e, const struct plan *plan, int batch)
{
    const struct batch_form *forms = &plan->forms[batch];
    const char *list = "";
    for (int i = 0; i < FORM_COUNT; i++)
        list = arena_format(e->arena, "%s%s%s", list, i ? ", " : "",
                            forms->emitted[i] ? forward_name(e->arena, plan, batch, (enum form)i) : "NULL");
    emit_line(e, "{.rows = %" PRId64 ", .form = %s, .forms = {%s}},", plan->batches[batch],
              form_constant[forms->chosen], list);
}

static void emit_forwards(struct emitter *e, const struct plan *plan)
{
    emit_line(e, "/* ---- From input to output, for each batch size ---- */");
    emit_blank(e);
    for (int i = 0; i < plan->batch_count; i++)
        emit_forms(e, plan, i);
    emit_open(e, "static const mlp_cuda_batch forwards[] = {");
    for (int i = 0; i < plan->batch_count; i++)
        emit_batch(e, plan, i);
    emit_close(e, "};");
    emit_blank(e);
}

/* The same steps once more, for tools that run one at a time. */
static void emit_single_steps(struct emitter *e, const struct plan *plan)
{
    size_t gemm = 0;
    emit_line(e, "/* One step at a time: a kernel, or the product of this number within its batch size. */");
    emit_open(e, "static const mlp_cuda_step single_steps[] = {");
    for (size_t i = 0; i < plan->steps.count; i++) {
        const struct step *step = &plan->steps.at[i];
        if (step->product || !cuda_kernel_step(plan, step))
            emit_line(e, "{.name = \"%s\", .launch = NULL, .gemm = %zu},", step->name, gemm++);
        else
            emit_line(e, "{.name = \"%s\", .launch = %s_%s, .gemm = 0},", step->name, plan->prefix, step->function);
    }
    emit_close(e, "};");
    emit_blank(e);
}

/* ---- Ports ---- */

/* One port after the other goes through pinned memory, each from a multiple of 256 bytes on. */
static int64_t emit_ports(struct emitter *e, const struct plan *plan, const char *table, const struct plan_port *ports,
                          size_t count, int64_t staging)
{
    emit_open(e, "static const mlp_cuda_port %s[] = {", table);
    for (size_t i = 0; i < count; i++) {
        const struct value *value = &plan->values.at[ports[i].value];
        int64_t size = (int64_t)dtype_size(value->dtype), row = value->width * size;
        emit_line(e, "{.offset = %s, .pitch = %" PRId64 ", .row_bytes = %" PRId64 ", .element = %" PRId64
                  ", .dtype = %s, .staging = %" PRId64 "},     /* %s */",
                  cuda_place(e->arena, plan, value), value->ld * size, row, size, dtype_constant[value->dtype], staging,
                  ports[i].name);
        staging += cuda_port_staging(plan, &ports[i]);
    }
    emit_close(e, "};");
    return staging;
}

static int64_t emit_all_ports(struct emitter *e, const struct plan *plan)
{
    int64_t staging = 0;
    emit_line(e, "/* Where rows enter and leave. */");
    if (plan->inputs.count)
        staging = emit_ports(e, plan, "input_ports", plan->inputs.at, plan->inputs.count, staging);
    staging = emit_ports(e, plan, "output_ports", plan->outputs.at, plan->outputs.count, staging);
    emit_blank(e);
    return staging;
}

/* ---- The network ---- */

static void emit_config(struct emitter *e, const struct plan *plan, bool embedded, int64_t staging)
{
    struct cuda_arena arena = cuda_arena(plan);
    bool products = plan->products.count > 0, inputs = plan->inputs.count > 0;
    emit_line(e, "static void *graphs[%d];", plan->batch_count);
    emit_blank(e);
    emit_open(e, "static const mlp_cuda_config config = {");
    emit_line(e, ".batches = forwards,");
    emit_line(e, ".graphs = graphs,");
    emit_line(e, ".batch_count = %d,", plan->batch_count);
    emit_line(e, ".inputs = %s,", inputs ? "input_ports" : "NULL");
    emit_line(e, ".outputs = output_ports,");
    emit_line(e, ".input_count = %zu,", plan->inputs.count);
    emit_line(e, ".output_count = %zu,", plan->outputs.count);
    emit_line(e, ".steps = single_steps,");
    emit_line(e, ".step_count = %zu,", plan->steps.count);
    emit_line(e, ".gemms = %s,", products ? "gemms" : "NULL");
    emit_line(e, ".plans = %s,", products ? "plans" : "NULL");
    emit_line(e, ".gemm_count = %s,", products ? "GEMM_COUNT" : "0");
    emit_line(e, ".locked = %d,", plan->locked);
    emit_line(e, ".gemm_calls = %s,", products ? "&mlp_gemms" : "NULL");
    if (arena.is_static)
        emit_line(e, ".find_arena = %s_arena,", plan->prefix);
    else
        emit_line(e, ".find_arena = NULL,");
    emit_line(e, ".workspace = %" PRId64 ",", arena.workspace);
    emit_line(e, ".workspace_bytes = %" PRId64 ",", arena.workspace_bytes);
    emit_line(e, ".arena_bytes = %" PRId64 ",", arena.bytes);
    emit_line(e, ".staging_bytes = %" PRId64 ",", staging);
    emit_line(e, ".weights_bytes = %s_WEIGHTS_BYTES,", plan->prefix);
    emit_line(e, ".weights_layout = UINT64_C(0x%016" PRIx64 "),", plan->weights_layout);
    emit_line(e, ".network = \"%s\",", plan->network);
    if (embedded && plan->weights_bytes)
        emit_line(e, ".weights = %s_packed,", plan->prefix);
    else
        emit_line(e, ".weights = NULL,");
    emit_close(e, "};");
    emit_blank(e);
    emit_line(e, "static mlp_cuda network;");
    emit_blank(e);
}

static void emit_function(struct emitter *e, const char *head, const char *body)
{
    emit_line(e, "%s", head);
    emit_open(e, "{");
    emit_line(e, "%s", body);
    emit_close(e, "}");
    emit_blank(e);
}

/* The typed pointers in two arrays, as the runtime takes them. */
static void emit_run(struct emitter *e, const struct plan *plan, const char *function, const char *more_parameters,
                     const char *call)
{
    const char *inputs = "", *outputs = "";
    for (size_t i = 0; i < plan->inputs.count; i++)
        inputs = arena_format(e->arena, "%s%sin_%s", inputs, i ? ", " : "", plan->inputs.at[i].name);
    for (size_t i = 0; i < plan->outputs.count; i++)
        outputs = arena_format(e->arena, "%s%sout_%s", outputs, i ? ", " : "", plan->outputs.at[i].name);
    emit_line(e, "mlp_status %s_%s(%s%s)", plan->prefix, function, emit_run_parameters(e->arena, plan),
              more_parameters);
    emit_open(e, "{");
    emit_line(e, "const void *from[] = {%s};", *inputs ? inputs : "NULL");
    emit_line(e, "void *to[] = {%s};", outputs);
    emit_line(e, "return %s;", call);
    emit_close(e, "}");
    emit_blank(e);
}

/* The address of a port's own buffer, by its number. */
static void emit_buffer_of(struct emitter *e, const struct plan *plan, const char *function, const char *table,
                           size_t count)
{
    emit_line(e, "void *%s_%s(size_t index)", plan->prefix, function);
    emit_open(e, "{");
    if (count) {
        emit_line(e, "return index < %zu ? mlp_cuda_buffer(&network, &%s[index]) : NULL;", count, table);
    } else {
        emit_line(e, "(void)index;");
        emit_line(e, "return NULL;");
    }
    emit_close(e, "}");
    emit_blank(e);
}

static void emit_public(struct emitter *e, const struct plan *plan)
{
    const char *name = plan->prefix;
    emit_function(e, arena_format(e->arena, "mlp_status %s_init(const mlp_options *options)", name),
                  "return mlp_cuda_init(&network, &config, options);");
    emit_run(e, plan, "run", "", "mlp_cuda_run(&network, rows, from, to)");
    emit_run(e, plan, "run_device", ", void *stream", "mlp_cuda_run_device(&network, rows, from, to, stream)");
    emit_buffer_of(e, plan, "input", "input_ports", plan->inputs.count);
    emit_buffer_of(e, plan, "output", "output_ports", plan->outputs.count);
    emit_function(e, arena_format(e->arena, "mlp_status %s_load_weights(const char *path)", name),
                  "return mlp_cuda_load_weights(&network, path);");
    emit_function(e, arena_format(e->arena, "void %s_close(void)", name), "mlp_cuda_close(&network);");
    emit_function(e, arena_format(e->arena, "const char *%s_error(void)", name), "return network.network.error;");
}

static void emit_for_tools(struct emitter *e, bool products)
{
    emit_line(e, "static mlp_status begin(size_t rows, const void *const *from, void *const *to)");
    emit_open(e, "{");
    emit_line(e, "(void)to; /* outputs stay in the arena */");
    emit_line(e, "return mlp_cuda_begin(&network, rows, from);");
    emit_close(e, "}");
    emit_blank(e);
    emit_function(e, "static mlp_status run_step(size_t step)", "return mlp_cuda_run_step(&network, step);");
    emit_function(e, "static mlp_status read_arena(size_t offset, size_t bytes, void *to)",
                  "return mlp_cuda_read(&network, VALUES + offset, bytes, to);");
    emit_function(e, "static mlp_status read_weights(size_t offset, size_t bytes, void *to)",
                  "return mlp_cuda_read(&network, WEIGHTS + offset, bytes, to);");
    emit_function(e, "static mlp_status time_step(size_t step, size_t repeats, mlp_step_time *time)",
                  "return mlp_cuda_time_step(&network, step, repeats, time);");
    emit_function(e, "static mlp_status describe(mlp_device_info *info)",
                  "return mlp_cuda_describe(&network, &config, info);");
    emit_function(e, "static mlp_status describe_plan(size_t batch, size_t step, mlp_plan_info *info)",
                  "return mlp_cuda_describe_plan(&network, batch, step, info);");
    if (products)
        emit_function(e, "static mlp_status tune(const struct mlp_tuning *tuning)",
                      "return mlp_cuda_tune(&network, tuning);");
}

void emit_cuda_host(struct emitter *e, const struct plan *plan, bool embedded)
{
    emit_banner(e, plan);
    emit_line(e, "#include \"%s.h\"", plan->prefix);
    emit_blank(e);
    emit_line(e, "#include \"mlp_cuda.h\"");
    emit_blank(e);
    emit_cuda_places(e, plan);
    emit_blank(e);
    if (embedded && plan->weights_bytes) {
        emit_line(e, "MLP_EXTERN const unsigned char %s_packed[]; /* %s_weights.S */", plan->prefix, plan->prefix);
        emit_blank(e);
    }
    emit_launchers(e, plan);
    emit_gemms(e, plan);
    emit_forwards(e, plan);
    emit_single_steps(e, plan);
    int64_t staging = emit_all_ports(e, plan);
    emit_config(e, plan, embedded, staging);
    emit_public(e, plan);
    emit_for_tools(e, plan->products.count > 0);
    emit_model(e, plan, embedded);
}
