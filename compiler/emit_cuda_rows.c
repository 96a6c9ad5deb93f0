/* The kernel for many rows in NAME.cu: prints what rows.c decided. Weights are staged in shared memory once; then a
 * loop over tiles of rows holds the network as a straight line of phases. */
#include <inttypes.h>
#include <string.h>

#include "emit_cuda.h"
#include "emit_rows.h"
#include "whole.h"

/* ---- The kernel ---- */

static void emit_column_types(const struct rows_printer *p)
{
    for (size_t i = 0; i < p->rows->pieces.count; i++) {
        int index = p->rows->pieces.at[i].shape;
        const struct rows_shape *shape = &p->rows->shapes.at[index];
        const char *name = rows_columns_name(p, index);
        bool first = true;
        for (size_t j = 0; j < i; j++)
            first &= strcmp(rows_columns_name(p, p->rows->pieces.at[j].shape), name) != 0;
        if (!first)
            continue;
        const char *part = shape->part ? arena_format(p->arena, ", %s, %" PRId64, shape->wide ? "true" : "false",
                                                      shape->part) : shape->wide ? ", true" : "";
        emit_line(p->e, "using %s = mlp_rows_columns<%" PRId64 "%s>;", name, shape->width, part);
    }
}

static void emit_weight_types(const struct rows_printer *p)
{
    for (size_t i = 0; i < p->rows->weights.count; i++) {
        const struct rows_weight *weight = &p->rows->weights.at[i];
        const char *in = weight->streamed ? arena_format(p->arena, "mlp_rows_columns<%" PRId64 ">",
                                                         p->rows->shapes.at[weight->in].part)
                                          : rows_columns_name(p, weight->in);
        emit_line(p->e, "using w%s = mlp_rows_weight<number, %s, %s>;%s", weight->name,
                  rows_columns_name(p, weight->out), in, weight->streamed ? "    /* one chunk */" : "");
    }
    emit_blank(p->e);
}

static void emit_shared_places(const struct rows_printer *p)
{
    const struct rows *rows = p->rows;
    emit_line(p->e, "/* Places in shared memory. */");
    for (size_t i = 0; i < rows->weights.count; i++)
        emit_line(p->e, "constexpr int s_w%s = %" PRId64 ";", rows->weights.at[i].name, rows->weights.at[i].place);
    for (size_t i = 0; i < rows->params.count; i++)
        emit_line(p->e, "constexpr int s_b%s = %" PRId64 ";", rows->params.at[i].name, rows->params.at[i].place);
    if (rows->stages) {
        const struct rows_weight *weight = rows_streamed_weight(p);
        emit_line(p->e, "/* Chunks that stay, and buffers for the others. */");
        emit_line(p->e, "constexpr int resident = %d, stages = %d;", rows->resident, rows->stages);
        emit_line(p->e, "constexpr int s_ring = s_w%s + resident * w%s::bytes, s_barriers = %" PRId64 ";", weight->name,
                  weight->name, rows->barriers);
    }
    emit_line(p->e, "constexpr int shared_bytes = %" PRId64 ";", rows->shared_bytes);
    emit_blank(p->e);
}

static const char *weight_source(const struct rows_printer *p, const struct rows_weight *weight)
{
    const struct packed *packed = &p->plan->params.at[weight->param];
    int64_t offset = packed->offset + weight->row * packed->ld * (int64_t)dtype_size(packed->dtype);
    return arena_format(p->arena, "arena + WEIGHTS + %" PRId64, offset);
}

static void emit_stage_weight(const struct rows_printer *p, const struct rows_weight *weight)
{
    int64_t ld = p->plan->params.at[weight->param].ld;
    if (weight->streamed) {
        emit_line(p->e, "const number *const chunks = reinterpret_cast<const number *>(%s);", weight_source(p, weight));
        emit_line(p->e, "for (int i = 0; i < resident; i++)");
        emit_line(p->e, "    w%s::stage<%" PRId64 ">(shared + s_w%s + i * w%s::bytes, chunks + %" PRId64
                  " * i, thread, threads);", weight->name, ld, weight->name, weight->name,
                  p->rows->shapes.at[weight->in].part);
    } else {
        const char *column = weight->column ? arena_format(p->arena, ", %" PRId64, weight->column) : "";
        emit_line(p->e, "w%s::stage<%" PRId64 "%s>(shared + s_w%s, %s, thread, threads);", weight->name, ld, column,
                  weight->name, weight_source(p, weight));
    }
}

static void emit_stage_param(const struct rows_printer *p, const struct rows_param *param, bool last)
{
    const struct packed *packed = &p->plan->params.at[param->param];
    int64_t offset = packed->offset + param->from * (int64_t)dtype_size(packed->dtype);
    const char *columns = param->shape < 0 ? "mlp_rows_columns<1>" : rows_columns_name(p, param->shape);
    emit_line(p->e, "    mlp_rows_param_source<%s, %s>{param_at(s_b%s), arena + WEIGHTS + %" PRId64 "}%s", columns,
              rows_dtype_cuda[packed->dtype], param->name, offset, last ? ");" : ",");
}

static void emit_stage_params(const struct rows_printer *p)
{
    const struct rows *rows = p->rows;
    if (!rows->params.count)
        return;
    emit_line(p->e, "mlp_rows_stage_params(thread, threads,");
    for (size_t i = 0; i < rows->params.count; i++)
        emit_stage_param(p, &rows->params.at[i], i + 1 == rows->params.count);
}

/* Weights do not depend on what ran before: their copies start first of all. */
static void emit_stage_weights(const struct rows_printer *p)
{
    for (size_t i = 0; i < p->rows->weights.count; i++)
        emit_stage_weight(p, &p->rows->weights.at[i]);
    emit_line(p->e, "mlp_begin();");
}

static void emit_pointers(const struct rows_printer *p)
{
    for (size_t i = 0; i < p->rows->pieces.count; i++) {
        const struct rows_piece *piece = &p->rows->pieces.at[i];
        if (!rows_is_loaded(piece) && piece->output < 0)
            continue;
        const struct value *value = rows_port_value(p, piece);
        struct value at = *value;
        at.column = piece->column;
        const char *constant = piece->output < 0 ? "const " : "";
        const char *type = arena_format(p->arena, "%s%s", constant, rows_dtype_cuda[value->dtype]);
        emit_line(p->e, "%s *const v%s = reinterpret_cast<%s *>(arena + %s); /* ld %" PRId64 " */", type, piece->name,
                  type, cuda_place(p->arena, p->plan, &at), value->ld);
    }
}

/* Arrays for all parts; of what is on its way into a product, for two. */
static const char *declared_array(const struct rows_printer *p, const struct rows_piece *piece)
{
    return piece->chunked ? "[2]" : rows_array_of(p, piece);
}

static void emit_tensors(const struct rows_printer *p)
{
    for (size_t i = 0; i < p->rows->pieces.count; i++) {
        const struct rows_piece *piece = &p->rows->pieces.at[i];
        if (piece->readers && !rows_is_local(p, piece))
            emit_line(p->e, "%s x%s%s;", rows_tensor_type(p, piece), piece->name, declared_array(p, piece));
    }
}

static void emit_sums(const struct rows_printer *p)
{
    for (size_t i = 0; i < p->plan->steps.count; i++) {
        const struct step *step = &p->plan->steps.at[i];
        for (int j = 0; step->product && j < p->rows->piece_count[step->out]; j++) {
            const struct rows_piece *piece = rows_piece_of(p->rows, step->out, j);
            const struct rows_shape *shape = rows_shape_of(p->rows, piece);
            emit_line(p->e, "mlp_rows_acc<%" PRId64 "%s> sum%s%s;", piece->chunked ? shape->part : rows_padded(shape),
                      p->s, piece->name, *p->t ? "[T]" : "");
        }
    }
}

static void emit_first_rows(const struct rows_printer *p)
{
    if (!p->rows->ahead)
        return;
    for (size_t i = 0; i < p->rows->pieces.count; i++) {
        const struct rows_piece *piece = &p->rows->pieces.at[i];
        if (rows_is_loaded(piece))
            emit_line(p->e, "%s next%s%s;", rows_tensor_type(p, piece), piece->name, rows_array_of(p, piece));
    }
    emit_rows_loads(p, "next", "row");
}

static void emit_body(const struct rows_printer *p)
{
    emit_tensors(p);
    emit_sums(p);
    for (size_t i = 0; i < p->rows->phases.count; i++) {
        emit_blank(p->e);
        emit_open(p->e, "{");
        emit_rows_phase(p, &p->rows->phases.at[i], i == 0);
        emit_close(p->e, "}");
    }
}

/* One warpgroup keeps the ring filled; the others compute. */
static void emit_writer(const struct rows_printer *p)
{
    const struct rows_weight *weight = rows_streamed_weight(p);
    int64_t part = p->rows->shapes.at[weight->in].part, chunks = rows_parts(&p->rows->shapes.at[weight->in]);
    emit_line(p->e, "constexpr unsigned streamed = %" PRId64 " - resident;     /* chunks a tile */", chunks);
    emit_line(p->e, "const unsigned tiles = unsigned((rows + 64 * groups - 1) / (64 * groups));");
    emit_line(p->e, "const unsigned mine = (tiles - blockIdx.x + gridDim.x - 1) / gridDim.x;");
    emit_open(p->e, "if (thread >= 128 * groups) {");
    emit_line(p->e, "mlp_rows_fewer_registers<%d>();", ROWS_WRITER_REGISTERS);
    emit_line(p->e, "unsigned from = resident;");
    emit_open(p->e, "ring.write(mine * streamed, [&](unsigned, unsigned stage) {");
    emit_line(p->e, "unsigned char *const to = shared + s_ring + stage * w%s::bytes;", weight->name);
    emit_line(p->e, "w%s::stage<%" PRId64 ">(to, chunks + %" PRId64 " * from, thread - 128 * groups, 128);",
              weight->name, p->plan->params.at[weight->param].ld, part);
    emit_line(p->e, "from = from == %" PRId64 " ? resident : from + 1;", chunks - 1);
    emit_close(p->e, "});");
    emit_line(p->e, "return;");
    emit_close(p->e, "}");
    emit_line(p->e, "mlp_rows_more_registers<%d>();", ROWS_READER_REGISTERS);
    emit_blank(p->e);
}

static void emit_ring_loop(const struct rows_printer *p)
{
    emit_writer(p);
    emit_pointers(p);
    emit_line(p->e, "const int64_t stride = int64_t(gridDim.x) * 64 * groups;");
    emit_line(p->e, "int64_t row = int64_t(blockIdx.x) * 64 * groups + thread / 128 * 64;");
    emit_line(p->e, "unsigned chunk = 0;");
    emit_first_rows(p);
    emit_blank(p->e);
    emit_line(p->e, "#pragma unroll 1");
    emit_open(p->e, "for (unsigned tile = 0; tile < mine; tile++, row += stride, chunk += streamed) {");
    emit_body(p);
    emit_close(p->e, "}");
}

static void emit_loop(const struct rows_printer *p)
{
    emit_pointers(p);
    emit_line(p->e, "const int64_t stride = int64_t(gridDim.x) * groups * %d;", p->rows->tiles * ROWS_TILE);
    emit_line(p->e, "int64_t row = (int64_t(thread / 128) * gridDim.x + blockIdx.x) * %d;", p->rows->tiles * ROWS_TILE);
    emit_first_rows(p);
    emit_stage_params(p);
    emit_line(p->e, "mlp_rows_staged();");
    emit_blank(p->e);
    emit_line(p->e, "#pragma unroll 1");
    emit_open(p->e, "for (; row < rows; row += stride) {");
    emit_body(p);
    emit_close(p->e, "}");
}

static void emit_head(const struct rows_printer *p)
{
    emit_line(p->e, "using shape = mlp_rows_shape<mlp_rows_wgmma, %d>;", p->rows->tiles);
    emit_line(p->e, "using backend = shape::backend;");
    if (*p->t)
        emit_line(p->e, "constexpr int T = shape::tiles, S = shape::slabs;");
    emit_line(p->e, "extern __shared__ __align__(1024) unsigned char shared[];");
    emit_line(p->e, "const unsigned memory = mlp_rows_address(shared);");
    emit_line(p->e, "const int thread = int(threadIdx.x);");
    if (p->rows->params.count)
        emit_line(p->e, "const auto param_at = [&](int place) { return reinterpret_cast<float *>(shared + place); };");
    emit_blank(p->e);
}

static void emit_kernel(const struct rows_printer *p)
{
    emit_line(p->e, "static __global__ void __launch_bounds__(threads, 1) kernel(unsigned char *arena, int64_t rows)");
    emit_open(p->e, "{");
    emit_head(p);
    if (p->rows->stages) {
        emit_line(p->e, "const mlp_rows_ring<stages, 4 * groups> ring(shared + s_barriers);");
        emit_line(p->e, "if (thread == 0)");
        emit_line(p->e, "    ring.start();");
    }
    emit_stage_weights(p);
    if (p->rows->stages) {
        emit_stage_params(p);
        emit_line(p->e, "mlp_rows_staged();");
    }
    emit_blank(p->e);
    if (p->rows->stages)
        emit_ring_loop(p);
    else
        emit_loop(p);
    emit_close(p->e, "}");
    emit_blank(p->e);
}

static void emit_rows_launcher(const struct rows_printer *p)
{
    emit_line(p->e, "extern \"C\" MLP_HIDDEN int %s_rows(unsigned char *arena, int64_t rows, void *stream)",
              p->plan->prefix);
    emit_open(p->e, "{");
    emit_line(p->e, "return mlp_rows_start(rows_kernel::kernel, rows_kernel::threads, rows_kernel::shared_bytes, %d,",
              (p->rows->stages ? p->rows->groups : p->rows->tiles) * ROWS_TILE);
    emit_line(p->e, "                      arena, rows, stream);");
    emit_close(p->e, "}");
    emit_blank(p->e);
}

void emit_cuda_rows(struct emitter *e, const struct plan *plan)
{
    const struct rows *rows = rows_decide(plan);
    struct rows_printer p = {.e = e, .arena = e->arena, .plan = plan, .rows = rows};
    p.t = rows->tiles > 1 ? "[t]" : "";
    p.s = rows->tiles > 1 ? ", S" : "";
    emit_line(e, "/* ---- The whole network for many rows, which stay in registers from inputs to outputs ---- */");
    emit_blank(e);
    emit_line(e, "#include \"mlp_rows.cuh\"");
    emit_blank(e);
    emit_line(e, "namespace rows_kernel {");
    emit_blank(e);
    emit_line(e, "using number = %s;", rows_dtype_cuda[plan->dtype]);
    emit_column_types(&p);
    emit_weight_types(&p);
    emit_line(e, "/* Warpgroups that compute%s. */", rows->stages ? ", beside one that fetches weights" : "");
    emit_line(e, "constexpr int groups = %d, threads = %d;", rows->groups,
              (rows->groups + (rows->stages > 0)) * ROWS_GROUP_THREADS);
    emit_shared_places(&p);
    emit_kernel(&p);
    emit_line(e, "}");
    emit_blank(e);
    emit_rows_launcher(&p);
}
