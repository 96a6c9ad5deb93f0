/* Parameters -> the packed blob: a header, then each packed parameter at its offset. A parameter is evaluated in
 * blocks of rows, rounded, and stored; no more than a block of it ever stands in memory as doubles. */
#include "weights.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

#include "bytes.h"
#include "convert.h"
#include "hash.h"
#include "param_eval.h"
#include "progress.h"
#include "quote.h"
#include "tensor_read.h"

struct packer {
    const struct weights *weights;
    struct arena *arena, *scratch;
    struct diags *diags;
    struct progress progress;
    int64_t bytes;                  /* of all parameters */
    const struct packed *packed;    /* the parameter being packed */
    unsigned char *to;              /* where its next element goes, or its first panel stands */
    int64_t row;                    /* the next one, of a parameter in panels */
    bool good;
};

static const char *const largest[] = {
    [DTYPE_F32] = "3.4028235e38",
    [DTYPE_TF32] = "3.4028235e38",
    [DTYPE_F16] = "65504",
    [DTYPE_BF16] = "3.3895314e38",
};

/* The tensors that take part in a parameter, each once, in the order of the expression. */
struct parts {
    struct arena *arena;
    VEC(const struct param *) sources;
    VEC(const char *) names;
};

static void collect_parts(struct parts *parts, const struct param *param)
{
    for (int i = 0; i < param->of_count; i++)
        collect_parts(parts, param->of[i]);
    if (param->kind != PARAM_SOURCE)
        return;
    for (size_t i = 0; i < parts->sources.count; i++) {
        if (parts->sources.at[i] == param)
            return;
    }
    VEC_PUSH(parts->arena, &parts->sources, param);
    VEC_PUSH(parts->arena, &parts->names, param->tensor);
}

static void report_overflow(struct packer *packer, const struct param *param, int64_t overflows)
{
    const enum dtype dtype = packer->packed->round;
    struct parts parts = {.arena = packer->arena};
    collect_parts(&parts, param);
    packer->good = false;
    diag_error(packer->diags, DIAG_TENSOR_OVERFLOW, parts.sources.at[0]->span,
               "%" PRId64 " of the %" PRId64 " values %s %s become infinite in %s, whose largest number is %s",
               overflows, param->rows * param->cols, param->kind == PARAM_SOURCE ? "of" : "computed from",
               quote_list(packer->arena, parts.names.at, parts.names.count), dtype_text(dtype), largest[dtype]);
    site_notes(packer->diags, parts.sources.at[0]->site);
}

/* Rows go down the panels' columns. */
static void store_in_panels(struct packer *packer, const double *values, int64_t rows, int64_t cols)
{
    const struct packed *packed = packer->packed;
    const size_t size = dtype_size(packed->dtype);
    for (int64_t i = 0; i < rows; i++, packer->row++) {
        int64_t first = packer->row / packed->panel * packed->panel * cols + packer->row % packed->panel;
        for (int64_t j = 0; j < cols; j++)
            convert_store(packer->to + (size_t)(first + j * packed->panel) * size, values + i * cols + j, 1,
                          packed->dtype);
    }
}

/* Rows of a matrix start ld elements apart; the parts of a vector follow each other. */
static void store_rows(struct packer *packer, const double *values, int64_t rows, int64_t cols)
{
    const struct packed *packed = packer->packed;
    const size_t size = dtype_size(packed->dtype);
    const int64_t ld = packed->rows > 1 ? packed->ld : cols;
    const int64_t runs = ld == cols ? 1 : rows, length = ld == cols ? rows * cols : cols;
    for (int64_t i = 0; i < runs; i++) {
        convert_store(packer->to, values + i * length, (size_t)length, packed->dtype);
        packer->to += (size_t)(ld == cols ? length : ld) * size;
    }
}

static void show_progress(struct packer *packer, const struct param *param, int64_t row)
{
    const double done = (double)packer->packed->offset + (double)row * (double)param->cols *
                                                              (double)dtype_size(packer->packed->dtype);
    progress_show(&packer->progress, "packing weights: %.0f of %.0f MB", done / 1e6, (double)packer->bytes / 1e6);
}

/* One parameter that is not made of parts, in blocks of rows. */
static void pack_whole(struct packer *packer, const struct param *param)
{
    const struct packed *packed = packer->packed;
    const int64_t most = param_block_rows(param->cols);
    const int64_t block = most < param->rows ? most : param->rows;
    double *values = ARENA_ARRAY(packer->scratch, double, (size_t)(block * param->cols));
    int64_t overflows = 0;
    for (int64_t row = 0; row < param->rows; row += block) {
        int64_t rows = param->rows - row < block ? param->rows - row : block;
        size_t count = (size_t)(rows * param->cols);
        show_progress(packer, param, row);
        param_eval(packer->weights, param, row, rows, values);
        overflows += (int64_t)convert_round(values, count, packed->round);
        (packed->panel ? store_in_panels : store_rows)(packer, values, rows, param->cols);
    }
    if (overflows)
        report_overflow(packer, param, overflows);
}

/* What is stacked or joined is packed part by part, so that a message names the part that it is about. */
static void pack_parts(struct packer *packer, const struct param *param)
{
    if (param->kind != PARAM_STACK_ROWS && param->kind != PARAM_JOIN) {
        pack_whole(packer, param);
        return;
    }
    for (int i = 0; i < param->of_count; i++)
        pack_parts(packer, param->of[i]);
}

static uint64_t hash_word(uint64_t hash, uint64_t word)
{
    return (hash ^ word) * 0x100000001b3u;
}

/* FNV-1a of words, of every fourth; then of these four hashes: as runtime/weights.c has it. */
static uint64_t checksum(const unsigned char *payload, size_t bytes)
{
    const uint64_t start = HASH_START;
    uint64_t hashes[4] = {start, start, start, start}, hash = start;
    for (size_t i = 0; i < bytes; i += 8)
        hashes[i / 8 % 4] = hash_word(hashes[i / 8 % 4], bytes_load(payload + i, 8));
    for (int i = 0; i < 4; i++)
        hash = hash_word(hash, hashes[i]);
    return hash;
}

static void write_header(unsigned char *blob, const struct plan *plan)
{
    const size_t bytes = (size_t)plan->weights_bytes;
    memcpy(blob, "MLPWTS2\n", 8);
    bytes_store(blob + 8, plan->weights_layout, 8);
    bytes_store(blob + 16, bytes, 8);
    bytes_store(blob + 24, checksum(blob + WEIGHTS_HEADER_BYTES, bytes), 8);
}

unsigned char *weights_pack(const struct weights *weights, const struct plan *plan, struct diags *diags, size_t *size)
{
    assert(plan->weights_bytes % 8 == 0);
    if (!CHECKED_ADD(plan->weights_bytes, WEIGHTS_HEADER_BYTES, size))
        *size = SIZE_MAX;           /* is more than there is */
    unsigned char *blob = arena_alloc(plan->arena, *size);
    struct packer packer = {.weights = weights, .arena = plan->arena, .diags = diags, .good = true,
                            .bytes = plan->weights_bytes};
    progress_begin(&packer.progress);
    for (size_t i = 0; i < plan->params.count; i++) {
        packer.packed = &plan->params.at[i];
        packer.to = blob + WEIGHTS_HEADER_BYTES + packer.packed->offset;
        packer.row = 0;
        packer.scratch = arena_new();
        pack_parts(&packer, packer.packed->param);
        arena_free(packer.scratch);
    }
    write_header(blob, plan);
    progress_end(&packer.progress);
    return packer.good ? blob : NULL;
}
