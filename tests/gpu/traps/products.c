/* Products that no spec would give, described by hand and run by the runtime alone: no candidate, sums that cancel,
 * every tail of K, and a workspace that is too small or misaligned. */
#include "traps.h"

#include <cuda_runtime_api.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mlp_cuda.h"

enum { MOST_M = 64, MOST_N = 64, MOST_K = 65537 + 15, WORKSPACE = 32 << 20 };

/* ---- Numbers of each type ---- */

struct number_type {
    const char *name;
    mlp_dtype dtype;
    mlp_compute compute;
    size_t size;
};

static const struct number_type f32 = {"f32", MLP_F32, MLP_COMPUTE_F32, 4};
static const struct number_type tf32 = {"tf32", MLP_F32, MLP_COMPUTE_TF32, 4};
static const struct number_type f16 = {"f16", MLP_F16, MLP_COMPUTE_F32, 2};
static const struct number_type bf16 = {"bf16", MLP_BF16, MLP_COMPUTE_F32, 2};

/* Whole numbers of up to 8 bits, exact in every type, or NaN. */
static void put(const struct number_type *type, void *row, size_t column, float x)
{
    uint32_t bits;
    uint16_t upper;
    memcpy(&bits, &x, sizeof bits);
    upper = (uint16_t)(bits >> 16);
    if (type->dtype == MLP_F16 && isnan(x))
        upper = 0x7e00;
    else if (type->dtype == MLP_F16)
        upper = x == 0 ? 0 : (uint16_t)((bits >> 16 & 0x8000) | ((bits >> 23 & 255) - 112) << 10 | (bits >> 13 & 1023));
    if (type->size == 4)
        memcpy((float *)row + column, &x, sizeof x);
    else
        memcpy((uint16_t *)row + column, &upper, sizeof upper);
}

static float get(const struct number_type *type, const void *row, size_t column)
{
    float x;
    if (type->size == 4)
        return ((const float *)row)[column];
    uint32_t half = ((const uint16_t *)row)[column], bits = half << 16;
    if (type->dtype == MLP_BF16) {
        memcpy(&x, &bits, sizeof x);
        return x;
    }
    int exponent = (int)(half >> 10 & 31), fraction = (int)(half & 1023);
    x = exponent ? ldexpf((float)(fraction + 1024), exponent - 25) : ldexpf((float)fraction, -24);
    x = exponent == 31 ? NAN : x;
    return half & 0x8000 ? -x : x;
}

/* ---- One product at a time ---- */

static mlp_gemm gemm;
static mlp_gemm_plan plan;
static const mlp_cuda_batch steps = {.form = MLP_FORM_STEPS};
static mlp_cuda_config config = {.batches = &steps, .batch_count = 1, .gemms = &gemm, .plans = &plan, .gemm_count = 1,
                                 .gemm_calls = &mlp_gemms, .workspace_bytes = WORKSPACE};
static mlp_cuda network = {.config = &config};
static unsigned char *host;         /* as large as A, B or D, whichever is largest */

static const size_t room = ((size_t)MOST_M * MOST_K * 4 + 256) / 256 * 256;

static void make_arena(void)
{
    cudaStream_t stream;
    void *arena;
    config.workspace = 3 * room;
    config.arena_bytes = 3 * room + WORKSPACE + 256;
    CUDA(cudaMalloc(&arena, config.arena_bytes));
    CUDA(cudaMemset(arena, 0xff, config.arena_bytes));
    CUDA(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    network.arena = arena;
    network.stream = stream;
    host = malloc(room);
}

static void free_arena(void)
{
    CUDA(cudaFree(network.arena));
    CUDA(cudaStreamDestroy((cudaStream_t)network.stream));
    free(host);
}

/* A at 0, B at room, D at 2 * room; the result row-major [n, m]. */
static void describe(int64_t m, int64_t n, int64_t k, int64_t ld, const struct number_type *in,
                     const struct number_type *out)
{
    mlp_matrix a = {.offset = 0, .ld = ld, .dtype = in->dtype}, b = {.offset = room, .ld = ld, .dtype = in->dtype};
    mlp_matrix d = {.offset = 2 * room, .ld = m, .dtype = out->dtype};
    gemm = (mlp_gemm){.step = "by_hand", .m = m, .n = n, .k = k, .a = a, .b = b, .c = d, .d = d,
                      .compute = in->compute};
}

/* Fills a matrix of `rows` rows with at(row, column), and what lies behind each row with NaN. */
static void upload(size_t offset, const struct number_type *type, size_t rows, size_t k, size_t ld,
                   float (*at)(size_t, size_t))
{
    memset(host, 0xff, (rows * ld + 32) * type->size);
    for (size_t i = 0; i < rows; i++) {
        for (size_t j = 0; j < ld; j++)
            put(type, host + i * ld * type->size, j, j < k ? at(i, j) : NAN);
    }
    CUDA(cudaMemcpy(network.arena + offset, host, (rows * ld + 32) * type->size, cudaMemcpyHostToDevice));
}

/* How many elements of D differ from want(row, column). */
static size_t count_wrong(const struct number_type *type, float (*want)(size_t, size_t), float *first)
{
    size_t wrong = 0, m = (size_t)gemm.m, n = (size_t)gemm.n;
    CUDA(cudaStreamSynchronize((cudaStream_t)network.stream));
    CUDA(cudaMemcpy(host, network.arena + 2 * room, m * n * type->size, cudaMemcpyDeviceToHost));
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j < m; j++) {
            float got = get(type, host + i * m * type->size, j);
            if (got != want(i, j) && !wrong++)
                *first = got;
        }
    }
    return wrong;
}

static void forget_result(void)
{
    CUDA(cudaMemset(network.arena + 2 * room, 0xff, (size_t)(gemm.m * gemm.n) * 4));
}

/* What was copied and set went through the default stream, which the network's own does not wait for. */
static mlp_status open_and_run(void)
{
    forget_result();
    CUDA(cudaDeviceSynchronize());
    mlp_status status = mlp_gemms.open(&network);
    return status == MLP_OK ? mlp_gemms.run(&network, 0) : status;
}

static void close_product(void)
{
    CUDA(cudaStreamSynchronize((cudaStream_t)network.stream));
    if (network.handle)
        mlp_gemms.close(&network);
}

/* ---- 8: no candidate ---- */

static mlp_status forward_none(mlp_cuda *cuda)
{
    return mlp_gemm_run(cuda, 0);
}

void test_no_candidate(void)
{
    static const mlp_cuda_batch batch = {.rows = 16, .forms = {forward_none}};
    static const mlp_cuda_port in = {.offset = 4096, .pitch = 32, .row_bytes = 32, .element = 2},
                               out = {.offset = 8192, .pitch = 32, .row_bytes = 32, .element = 2, .staging = 512};
    static mlp_gemm none;
    static mlp_gemm_plan none_plan;
    static void *graphs[1];
    static const mlp_cuda_config none_config = {
        .batches = &batch, .graphs = graphs, .batch_count = 1, .inputs = &in, .outputs = &out, .input_count = 1,
        .output_count = 1, .gemms = &none, .plans = &none_plan, .gemm_count = 1, .gemm_calls = &mlp_gemms,
        .workspace = 16384, .workspace_bytes = 4096, .arena_bytes = 20480, .staging_bytes = 1024};
    static mlp_cuda none_network;
    mlp_matrix a = {.offset = 0, .ld = 16, .dtype = MLP_BF16}, b = {.offset = 4096, .ld = 16, .dtype = MLP_BF16};
    mlp_matrix d = {.offset = 8192, .ld = 16, .dtype = MLP_BF16};
    uint16_t x[16] = {0}, y[16];
    const void *inputs[] = {x};
    void *outputs[] = {y};
    /* A result of bf16 wants a bias of bf16. */
    none = (mlp_gemm){.step = "no_candidate", .m = 16, .n = 16, .k = 16, .a = a, .b = b, .c = d, .d = d,
                      .epilogue = MLP_EPILOGUE_BIAS, .bias = 12288, .bias_dtype = MLP_F32};
    memset(y, 0xff, sizeof y);
    mlp_status status = mlp_cuda_init(&none_network, &none_config, NULL);
    trap(8, status == MLP_NO_PLAN && strstr(none_network.network.error, "no_candidate"),
         "a product without a candidate is refused by name", none_network.network.error);
    status = mlp_cuda_run(&none_network, 1, inputs, outputs);
    trap(8, status == MLP_NOT_READY && y[0] == 0xffff, "and gives no output", none_network.network.error);
    mlp_cuda_close(&none_network);
}

/* ---- 9: sums that cancel ---- */

enum { HALF = 16384 };

/* The second half takes away what the first has added up, but for what the last column leaves. Half a sum is about
 * 98304: a bf16 there is a multiple of 512, and an f16 ends below. */
static float cancelling_a(size_t i, size_t k)
{
    float x = (float)(1 + (i + k % HALF * 7) % 2);
    return k < HALF ? x : -x;
}

static float cancelling_b(size_t j, size_t k)
{
    float x = (float)(1 + (j * 3 + k % HALF * 5 + k % HALF / 11) % 7);
    return k + 1 < 2 * HALF ? x : x + (float)(j % 5) - 2;
}

static float cancelled(size_t j, size_t i)
{
    return cancelling_a(i, 2 * HALF - 1) * ((float)(j % 5) - 2);
}

static void test_cancelling(int64_t m, int64_t n, const struct number_type *in, const struct number_type *out)
{
    char what[128], why[160] = "";
    float first = 0;
    describe(m, n, 2 * HALF, 2 * HALF, in, out);
    upload(0, in, (size_t)m, 2 * HALF, 2 * HALF, cancelling_a);
    upload(room, in, (size_t)n, 2 * HALF, 2 * HALF, cancelling_b);
    mlp_status status = open_and_run();
    size_t wrong = status == MLP_OK ? count_wrong(out, cancelled, &first) : 0;
    if (wrong)
        snprintf(why, sizeof why, "%zu wrong, the first is %g", wrong, first);
    snprintf(what, sizeof what, "K = 32768, cancelling sums, %s to %s, %d x %d", in->name, out->name, (int)m, (int)n);
    trap(9, status == MLP_OK && !wrong, what, status == MLP_OK ? why : network.network.error);
    close_product();
}

void test_cancelling_sums(void)
{
    make_arena();
    test_cancelling(64, 8, &bf16, &bf16);
    test_cancelling(64, 8, &bf16, &f32);
    test_cancelling(64, 8, &f16, &f16);
    test_cancelling(16, 64, &bf16, &bf16);
    test_cancelling(8, 1, &bf16, &bf16);
    test_cancelling(64, 8, &f32, &f32);
    free_arena();
}

/* ---- 10: the tail of K ---- */

static float ones(size_t i, size_t j)
{
    (void)i, (void)j;
    return 1;
}

static float is_k(size_t i, size_t j)
{
    (void)i, (void)j;
    return (float)gemm.k;
}

struct tail {
    size_t right, wrong, refused;
    char first[256];                /* what went wrong */
};

static void test_k(struct tail *tail, const struct number_type *type, int64_t m, int64_t n, int64_t k, int64_t ld)
{
    float first = 0;
    describe(m, n, k, ld, type, &f32);
    upload(0, type, (size_t)m, (size_t)k, (size_t)ld, ones);
    upload(room, type, (size_t)n, (size_t)k, (size_t)ld, ones);
    mlp_status status = open_and_run();
    size_t wrong = status == MLP_OK ? count_wrong(&f32, is_k, &first) : 0;
    if (status == MLP_NO_PLAN && ld == k)
        tail->refused++;
    else if (status == MLP_OK && !wrong)
        tail->right++;
    else if (!tail->wrong++)
        snprintf(tail->first, sizeof tail->first, "%d x %d, K %d, ld %d: %g %.180s", (int)m, (int)n, (int)k, (int)ld,
                 first, status == MLP_OK ? "" : network.network.error);
    close_product();
}

static int64_t next_k(int64_t k, int small)
{
    static const int64_t large[] = {4095, 4096, 8191, 16385, 32767, 65537};
    if (k < (small ? 4 : 64))
        return k + 1;
    if (k + 61 < (small ? 200 : 4095))
        return k + 61;
    for (size_t i = 0; i < sizeof large / sizeof *large; i++) {
        if (large[i] > k && !small)
            return large[i];
    }
    return 0;
}

/* Rows that stand close to each other, and rows that begin at multiples of 16 bytes, as the compiler places them. */
static void test_tail(const struct number_type *type, int small)
{
    static const int64_t shapes[][2] = {{16, 16}, {64, 1}, {10, 64}, {1, 16}, {64, 64}};
    struct tail tail = {0};
    size_t turn = 0;
    char what[160];
    int64_t step = 16 / (int64_t)type->size;
    for (int64_t k = 1; k; k = next_k(k, small)) {
        const int64_t *shape = shapes[turn++ % (sizeof shapes / sizeof *shapes)];
        test_k(&tail, type, shape[0], shape[1], k, (k + step - 1) / step * step);
        if (k % step)
            test_k(&tail, type, shape[0], shape[1], k, k);
    }
    snprintf(what, sizeof what, "the tail of K, %s: %zu products, every element exactly K (%zu dense ones refused)",
             type->name, tail.right, tail.refused);
    trap(10, tail.right && !tail.wrong, what, tail.first);
}

void test_tail_of_k(int small)
{
    make_arena();
    test_tail(&f32, small);
    test_tail(&tf32, small);
    test_tail(&f16, small);
    test_tail(&bf16, small);
    free_arena();
}

/* ---- 14: the workspace ---- */

static int result_untouched(void)
{
    CUDA(cudaStreamSynchronize((cudaStream_t)network.stream));
    CUDA(cudaMemcpy(host, network.arena + gemm.d.offset, (size_t)(gemm.m * gemm.n) * 2, cudaMemcpyDeviceToHost));
    for (size_t i = 0; i < (size_t)(gemm.m * gemm.n) * 2; i++) {
        if (host[i] != 0xff)
            return 0;
    }
    return 1;
}

/* The first of a few products whose plan needs a workspace is open afterwards. */
static int open_with_workspace(void)
{
    static const int64_t shapes[][3] = {{64, 8, 2 * HALF}, {64, 64, 2 * HALF}, {64, 64, 8192}, {8, 1, 2 * HALF}};
    static const struct number_type *const types[] = {&bf16, &f16, &tf32, &f32};
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        for (size_t j = 0; j < sizeof types / sizeof *types; j++) {
            describe(shapes[i][0], shapes[i][1], shapes[i][2], shapes[i][2], types[j], types[j]);
            if (mlp_gemms.open(&network) == MLP_OK && plan.workspace)
                return 1;
            close_product();
        }
    }
    return 0;
}

void test_workspace(void)
{
    make_arena();
    if (open_with_workspace()) {
        forget_result();
        config.workspace_bytes = plan.workspace - 1;
        mlp_status status = mlp_gemms.run(&network, 0);
        trap(14, status == MLP_NO_PLAN && result_untouched(), "one byte of workspace too few: nothing is launched",
             network.network.error);
        config.workspace_bytes = WORKSPACE;
        config.workspace++;
        status = mlp_gemms.run(&network, 0);
        trap(14, status == MLP_NO_PLAN && result_untouched(), "a misaligned workspace: nothing is launched",
             network.network.error);
        config.workspace--;
        status = mlp_gemms.run(&network, 0);
        trap(14, status == MLP_OK && !result_untouched(), "as it was: it runs", network.network.error);
        close_product();
    } else {
        trap_not_here(14, "no product asked for a workspace");
    }
    free_arena();
}

/* ---- 11, 12: plans that were compiled in ---- */

static mlp_plan_device made_for;
static mlp_locked_plan locked;

/* What the heuristic chooses, as a plan for this device. */
static int lock_first_choice(void)
{
    static struct cudaDeviceProp properties;
    mlp_plan_info info;
    describe(256, 8, 512, 512, &bf16, &bf16);
    CUDA(cudaGetDeviceProperties(&properties, 0));
    made_for = (mlp_plan_device){properties.name, properties.multiProcessorCount, mlp_gemms.version()};
    if (mlp_gemms.open(&network) != MLP_OK || mlp_gemms.describe(&network, 0, &info) != MLP_OK)
        return 0;
    locked = (mlp_locked_plan){.device = &made_for, .algorithm = info.algorithm, .workspace = info.workspace};
    memcpy(locked.bytes, plan.algorithm, sizeof locked.bytes);
    close_product();
    gemm.locked = &locked;
    gemm.locked_count = 1;
    return 1;
}

static float one(size_t row, size_t column)
{
    (void)row, (void)column;
    return 1;
}

static float sum_of_ones(size_t row, size_t column)
{
    (void)row, (void)column;
    return 512;
}

/* Opens, expects this state, and, where the network does not insist on its plans, a right result. */
static void test_state(int number, mlp_plan_state state, const char *what)
{
    float first = 0;
    upload(gemm.a.offset, &bf16, (size_t)gemm.m, 512, 512, one);
    upload(gemm.b.offset, &bf16, (size_t)gemm.n, 512, 512, one);
    network.locked = 0;
    mlp_status status = open_and_run();
    int good = status == MLP_OK && plan.state == state && count_wrong(&bf16, sum_of_ones, &first) == 0;
    close_product();
    trap(number, good, what, network.network.error);
    if (state == MLP_PLAN_LOCKED)
        return;
    network.locked = 1;
    status = mlp_gemms.open(&network);
    trap(12, status == MLP_NO_PLAN && strstr(network.network.error, mlp_plan_state_text(state)) != NULL,
         "where the plan is insisted on: an error that says so", network.network.error);
    network.locked = 0;
    close_product();
}

void test_locked_plans(void)
{
    make_arena();
    if (!lock_first_choice()) {
        trap(11, 0, "a plan made of the first choice", network.network.error);
        free_arena();
        return;
    }
    test_state(11, MLP_PLAN_LOCKED, "a plan for this device and library is used");
    made_for.library++;
    test_state(11, MLP_PLAN_STALE, "a plan of another version: named, not used");
    made_for.library--;
    made_for.multiprocessors++;
    test_state(11, MLP_PLAN_FOREIGN, "a plan for another device: named, not used");
    made_for.multiprocessors--;
    for (size_t i = 0; i < sizeof locked.bytes; i += 7) {
        ((unsigned char *)locked.bytes)[i] ^= 1;
        test_state(11, MLP_PLAN_DAMAGED, "one corrupt byte of a plan: named, not used");
        ((unsigned char *)locked.bytes)[i] ^= 1;
    }
    locked.algorithm.cluster = 60000;
    test_state(11, MLP_PLAN_DAMAGED, "an attribute that cannot be: named, not used");
    free_arena();
}
