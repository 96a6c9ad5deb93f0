/* The space of algorithms, small and irregular. Id 20 has one form, takes any alignment and is slow. Id 66 wants
 * addresses and rows at multiples of 16 bytes. It has tiles, stages, swizzling, custom options, clusters (one has to be
 * named), and splits of K into parts of 64 or more. Which custom option goes with which tile and cluster follows no
 * rule that a caller could guess.
 *
 * A product takes (2 us + 1 us for each 2^20 multiplications) times a factor of the algorithm alone and, for splits of
 * K, of whether K is at least 2048. A GELU of f32 costs 5 us more, as much as a second kernel. The best factor is 1.00
 * for short K and 0.75 for long K. It belongs to tile 64x96 (26), stages 64x5 (17), swizzled, custom option 2, cluster
 * 2x1x1 (3), and for long K 3 splits. The heuristic believes that tile slow, and never tries those stages, swizzling,
 * or 3 splits. With room for any split:
 *              its first    best of its list    best of all
 *   short K      1.30            1.15              1.00
 *   long K       1.105           0.978             0.75
 * Splits that keep partial sums in the type of the output take a quarter of the time, less than any right one.
 *
 * MLP_SIMULATED_FAULTS is a list of faults, separated by commas. Each makes a family of algorithms of id 66 wrong, and
 * makes it take 0.3 of its time; the best of all is in none:
 *   tail      drops the elements of K beyond a multiple of 8, or the last 8: tiles 128x256 and 256x128, among them the
 *             best of the heuristic's list
 *   unsteady  gives other last bits in each run: custom option 1, swizzled
 *   wrong     is off by 1 %: cluster 2x2x1 with stages 64x5
 *   refused   passes cublasLtMatmulAlgoCheck, but does not run: custom option 3, swizzled
 *   everything   every algorithm is off by 1 %
 *   hangs     never comes to its end: tile 26 with stages 17, custom option 2 and no swizzle
 *   heavy     makes the next product take 5 us longer, if its output is elsewhere: all tiles but that of the
 *             heuristic's first choice. These are right, and take as long as ever
 *   rounded   rounds operands of f32 to TF32, and says so in its numerical flags: all of id 71, which is there only
 *             then, only for exact f32, is listed first, and else is as id 66
 */
#include "algorithms.h"

#include <algorithm>
#include <cassert>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <sstream>
#include <string>

namespace {

/* In per cent: how much slower than the best, and what the heuristic believes. */
struct tile {
    uint32_t id;
    unsigned rows, columns;
    int slower, believed;
};

struct option {
    uint32_t id;
    int slower;
};

const tile tiles[] = {
    {CUBLASLT_MATMUL_TILE_64x32, 64, 32, 40, 40},     {CUBLASLT_MATMUL_TILE_64x64, 64, 64, 22, 14},
    {CUBLASLT_MATMUL_TILE_128x32, 128, 32, 35, 33},   {CUBLASLT_MATMUL_TILE_64x128, 64, 128, 12, 9},
    {CUBLASLT_MATMUL_TILE_128x64, 128, 64, 9, 8},     {CUBLASLT_MATMUL_TILE_64x256, 64, 256, 25, 22},
    {CUBLASLT_MATMUL_TILE_128x128, 128, 128, 23, 0},  {CUBLASLT_MATMUL_TILE_256x64, 256, 64, 15, 12},
    {CUBLASLT_MATMUL_TILE_128x256, 128, 256, 20, 6},  {CUBLASLT_MATMUL_TILE_256x128, 256, 128, 5, 5},
    {CUBLASLT_MATMUL_TILE_64x96, 64, 96, 0, 30},      {CUBLASLT_MATMUL_TILE_128x192, 128, 192, 6, 10},
};
const option clusters[] = {{CUBLASLT_CLUSTER_SHAPE_1x1x1, 4}, {CUBLASLT_CLUSTER_SHAPE_2x1x1, 0},
                           {CUBLASLT_CLUSTER_SHAPE_1x2x1, 2}, {CUBLASLT_CLUSTER_SHAPE_2x2x1, 6}};
const option stages[] = {{CUBLASLT_MATMUL_STAGES_64xAUTO, 4}, {CUBLASLT_MATMUL_STAGES_64x5, 0}};
const int custom_slower[] = {5, 3, 0, 8}, unswizzled_slower = 3;
const double split_short[] = {1, 1.08, 1.16, 1.24}, split_long[] = {1, 0.85, 0.75, 0.8};
const uint64_t long_k = 2048;

template <class Entry, size_t Count>
const Entry *find(const Entry (&entries)[Count], uint32_t id)
{
    const Entry *end = entries + Count;
    const Entry *found = std::find_if(entries, end, [=](const Entry &entry) { return entry.id == id; });
    return found == end ? nullptr : found;
}

template <class Entry, size_t Count>
std::vector<uint32_t> ids_of(const Entry (&entries)[Count])
{
    std::vector<uint32_t> ids;
    for (const Entry &entry : entries)
        ids.push_back(entry.id);
    return ids;
}

} // namespace

/* ---- Faults ---- */

static unsigned faults_asked_for()
{
    const std::vector<std::string> names = {"tail", "unsteady", "wrong", "refused", "rounded", "hangs", "everything",
                                            "heavy"};
    const char *asked_for = getenv("MLP_SIMULATED_FAULTS");
    std::istringstream list(asked_for ? asked_for : "");
    unsigned faults = 0;
    for (std::string name; std::getline(list, name, ',');) {
        const auto found = std::find(names.begin(), names.end(), name);
        assert(found != names.end());
        faults |= 1u << (found - names.begin());
    }
    return faults;
}

unsigned faults_of(const algorithm &how)
{
    const bool tail = how.tile == CUBLASLT_MATMUL_TILE_128x256 || how.tile == CUBLASLT_MATMUL_TILE_256x128;
    const bool wrong = how.cluster == CUBLASLT_CLUSTER_SHAPE_2x2x1 && how.stages == CUBLASLT_MATMUL_STAGES_64x5;
    const bool hangs = how.tile == 26 && how.stages == 17 && how.custom == 2 && !how.swizzle;
    const unsigned all = (tail ? TAIL : 0) | (how.swizzle && how.custom == 1 ? UNSTEADY : 0) | (wrong ? WRONG : 0) |
                         (how.swizzle && how.custom == 3 ? REFUSED : 0) | (how.id == TILED_ROUNDED ? ROUNDED : 0) |
                         (hangs ? HANGS : 0);
    return (all & faults_asked_for()) | (faults_asked_for() & EVERYTHING ? WRONG : 0);
}

bool heavy(const algorithm &how)
{
    return how.id == TILED && how.tile != CUBLASLT_MATMUL_TILE_128x128 && faults_asked_for() & HEAVY;
}

/* ---- Making one ---- */

static bool exact_f32(int32_t compute, const int32_t *types)
{
    return compute == CUBLAS_COMPUTE_32F && types[0] == CUDA_R_32F;
}

bool known_types(int32_t compute, const int32_t *types)
{
    const int32_t operand = types[0], result = types[3];
    if (operand != CUDA_R_32F && operand != CUDA_R_16F && operand != CUDA_R_16BF)
        return false;
    if (compute != CUBLAS_COMPUTE_32F && !(compute == CUBLAS_COMPUTE_32F_FAST_TF32 && operand == CUDA_R_32F))
        return false;
    return types[1] == operand && types[2] == result && (result == operand || result == CUDA_R_32F);
}

std::vector<int> ids(int32_t compute, const int32_t *types)
{
    if (!known_types(compute, types))
        return {};
    if (exact_f32(compute, types) && faults_asked_for() & ROUNDED)
        return {SIMPLE, TILED, TILED_ROUNDED};
    return {SIMPLE, TILED};
}

algorithm bare_algorithm(int id, int32_t compute, const int32_t *types)
{
    algorithm how = {};
    how.id = id;
    how.splits = 1;
    how.compute = compute;
    memcpy(how.types, types, sizeof how.types);
    return how;
}

size_t size_of(int32_t type)
{
    return type == CUDA_R_32F ? 4 : 2;
}

static uint64_t tag_of(const algorithm &how)
{
    const unsigned char *bytes = reinterpret_cast<const unsigned char *>(&how);
    uint64_t hash = 14695981039346656037u;
    for (size_t i = 0; i < offsetof(algorithm, tag); i++)
        hash = (hash ^ bytes[i]) * 1099511628211u;
    return hash;
}

bool read_algorithm(const cublasLtMatmulAlgo_t *bytes, algorithm &how)
{
    memcpy(&how, bytes, sizeof how);
    return how.tag == tag_of(how);
}

void write_algorithm(algorithm how, cublasLtMatmulAlgo_t *bytes)
{
    how.tag = tag_of(how);
    memcpy(bytes, &how, sizeof how);
}

uint64_t numerical_flags(const algorithm &how)
{
    const bool tf32 = how.id == TILED_ROUNDED || how.compute == CUBLAS_COMPUTE_32F_FAST_TF32;
    const uint64_t operands = tf32                             ? CUBLASLT_NUMERICAL_IMPL_FLAGS_INPUT_TF32
                              : how.types[0] == CUDA_R_16F     ? CUBLASLT_NUMERICAL_IMPL_FLAGS_INPUT_16F
                              : how.types[0] == CUDA_R_16BF    ? CUBLASLT_NUMERICAL_IMPL_FLAGS_INPUT_16BF
                                                               : CUBLASLT_NUMERICAL_IMPL_FLAGS_INPUT_32F;
    const uint64_t units = operands == CUBLASLT_NUMERICAL_IMPL_FLAGS_INPUT_32F ? CUBLASLT_NUMERICAL_IMPL_FLAGS_FMA
                                                                               : CUBLASLT_NUMERICAL_IMPL_FLAGS_HMMA;
    return operands | units | CUBLASLT_NUMERICAL_IMPL_FLAGS_ACCUMULATOR_32F;
}

std::vector<uint32_t> tile_ids(const algorithm &how)
{
    return how.id == SIMPLE ? std::vector<uint32_t>() : ids_of(tiles);
}

std::vector<uint32_t> stage_ids(const algorithm &how)
{
    return how.id == SIMPLE ? std::vector<uint32_t>() : ids_of(stages);
}

/* ---- What goes with what ---- */

namespace {

bool go_together(const tile *tile, const option *cluster, uint32_t custom)
{
    return (5 * (tile - tiles) + 3 * (cluster - clusters) + custom * custom) % 7 < 3;
}

bool splits_well(const algorithm &how, const problem &what)
{
    if (how.splits == 1)
        return how.reduction == CUBLASLT_REDUCTION_SCHEME_NONE;
    const bool one_scheme = how.reduction == CUBLASLT_REDUCTION_SCHEME_INPLACE ||
                            how.reduction == CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE ||
                            how.reduction == CUBLASLT_REDUCTION_SCHEME_OUTPUT_TYPE;
    return how.splits >= 2 && how.splits <= SPLITS_MOST && one_scheme && what.k >= 64 * uint64_t(how.splits);
}

bool tiled_can_run(const algorithm &how, const problem &what)
{
    const tile *tile = find(tiles, how.tile);
    const option *cluster = find(clusters, how.cluster), *stage = find(stages, how.stages);
    if (!tile || !cluster || !stage || how.swizzle > 1 || how.custom > CUSTOM_MOST || how.inner_shape)
        return false;
    if (how.stages == CUBLASLT_MATMUL_STAGES_64x5 && tile->rows * tile->columns > 128 * 128)
        return false;
    for (uint32_t alignment : what.alignment) {
        if (alignment < TILED_ALIGNMENT)
            return false;
    }
    return go_together(tile, cluster, how.custom) && splits_well(how, what);
}

bool simple_can_run(const algorithm &how)
{
    algorithm only = bare_algorithm(SIMPLE, how.compute, how.types);
    return !memcmp(&only, &how, offsetof(algorithm, tag));
}

} // namespace

bool can_run(const algorithm &how, const problem &what)
{
    return how.id == SIMPLE ? simple_can_run(how) : tiled_can_run(how, what);
}

uint64_t workspace_of(const algorithm &how, const problem &what)
{
    const uint64_t sums = uint64_t(how.splits) * what.m * what.n;
    switch (how.reduction) {
    case CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE:
        return sums * 4;
    case CUBLASLT_REDUCTION_SCHEME_OUTPUT_TYPE:
        return sums * size_of(how.types[3]);
    case CUBLASLT_REDUCTION_SCHEME_INPLACE:
        return 4096;                /* counters */
    default:
        return 0;
    }
}

/* ---- Time ---- */

static double tiled_factor(const algorithm &how, const problem &what)
{
    const int slower = find(tiles, how.tile)->slower + find(clusters, how.cluster)->slower +
                       find(stages, how.stages)->slower + custom_slower[how.custom] +
                       (how.swizzle ? 0 : unswizzled_slower);
    const double split = (what.k < long_k ? split_short : split_long)[how.splits - 1];
    const bool shorter = how.reduction & (CUBLASLT_REDUCTION_SCHEME_INPLACE | CUBLASLT_REDUCTION_SCHEME_OUTPUT_TYPE);
    return (100 + slower) / 100.0 * split * (shorter ? 0.25 : 1) * (faults_of(how) ? 0.3 : 1);
}

double microseconds(const algorithm &how, const problem &what)
{
    const double factor = how.id == SIMPLE ? 2.5 : tiled_factor(how, what);
    const double apart = what.gelu && how.types[0] == CUDA_R_32F ? 5 : 0;
    return factor * (2 + double(what.m) * double(what.n) * double(what.k) / (1 << 20)) + apart;
}

/* ---- The heuristic ---- */

namespace {

struct belief {
    double time;
    algorithm how;
};

/* With the first custom option that goes with the tile and the cluster. */
algorithm guess(algorithm how, const tile &tile, const option &cluster, int splits, uint32_t reduction)
{
    how.tile = tile.id;
    how.cluster = uint16_t(cluster.id);
    how.stages = CUBLASLT_MATMUL_STAGES_64xAUTO;
    how.splits = splits;
    how.reduction = reduction;
    while (how.custom < CUSTOM_MOST && !go_together(&tile, &cluster, how.custom))
        how.custom++;
    return how;
}

void guess_tiled(const algorithm &bare, const problem &what, std::vector<belief> &beliefs)
{
    const struct {
        int splits;
        uint32_t reduction;
        double factor_short, factor_long;
    } ways[] = {{1, CUBLASLT_REDUCTION_SCHEME_NONE, 1, 1},
                {2, CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE, 1.03, 0.8},
                {4, CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE, 1.1, 0.82},
                {2, CUBLASLT_REDUCTION_SCHEME_INPLACE, 0.5, 0.5},
                {2, CUBLASLT_REDUCTION_SCHEME_OUTPUT_TYPE, 0.5, 0.5}};
    for (const auto &way : ways) {
        const double factor = (what.k < long_k ? way.factor_short : way.factor_long) * (bare.id == TILED ? 1 : 0.3);
        for (const tile &tile : tiles) {
            for (const option &cluster : clusters)
                beliefs.push_back({factor * (100 + tile.believed + cluster.slower),
                                   guess(bare, tile, cluster, way.splits, way.reduction)});
        }
    }
}

bool allows(const limits &allowed, const algorithm &how, const problem &what)
{
    return !(how.reduction & ~allowed.reductions) && !(numerical_flags(how) & ~allowed.flags) &&
           workspace_of(how, what) <= allowed.workspace && can_run(how, what);
}

} // namespace

std::vector<algorithm> heuristic(int32_t compute, const int32_t types[4], const problem &what, const limits &allowed)
{
    std::vector<belief> beliefs;
    std::vector<algorithm> list;
    for (int id : ids(compute, types)) {
        if (id == SIMPLE)
            beliefs.push_back({250, bare_algorithm(id, compute, types)});
        else
            guess_tiled(bare_algorithm(id, compute, types), what, beliefs);
    }
    std::stable_sort(beliefs.begin(), beliefs.end(), [](const belief &a, const belief &b) { return a.time < b.time; });
    for (const belief &belief : beliefs) {
        if (allows(allowed, belief.how, what))
            list.push_back(belief.how);
    }
    return list;
}
