/* The algorithms of the simulated cuBLASLt: what each can do, what it asks for, how long it takes, and where it is
 * wrong. */
#ifndef SIMULATED_ALGORITHMS_H
#define SIMULATED_ALGORITHMS_H

#include <cublasLt.h>

#include <vector>

/* What the 64 bytes of a cublasLtMatmulAlgo_t hold. The tag is a checksum, so that no byte can change unseen. */
struct algorithm {
    int32_t id;
    uint32_t tile, stages;
    int32_t splits;
    uint32_t reduction, swizzle, custom;
    uint16_t inner_shape, cluster;
    int32_t compute, types[4];      /* of A, B, C, D */
    uint32_t unused;
    uint64_t tag;
};
static_assert(sizeof(algorithm) == sizeof(cublasLtMatmulAlgo_t));

/* A product m x n x k; what the addresses and the rows of A, B, C and D are multiples of, in bytes. */
struct problem {
    uint64_t m, n, k;
    uint32_t alignment[4];
    bool gelu;
};

/* What a caller of the heuristic allows. */
struct limits {
    uint64_t workspace;
    uint32_t reductions;
    uint64_t flags;
};

enum { SIMPLE = 20, TILED = 66, TILED_ROUNDED = 71 };
enum { SPLITS_MOST = 4, CUSTOM_MOST = 3, TILED_ALIGNMENT = 16 };

/* Those for products of these types, and one of them with every attribute as it is before it is set. */
bool known_types(int32_t compute, const int32_t types[4]);
std::vector<int> ids(int32_t compute, const int32_t types[4]);
algorithm bare_algorithm(int id, int32_t compute, const int32_t types[4]);

std::vector<uint32_t> tile_ids(const algorithm &how);
std::vector<uint32_t> stage_ids(const algorithm &how);
uint64_t numerical_flags(const algorithm &how);
size_t size_of(int32_t type);

/* False where a byte has changed. */
bool read_algorithm(const cublasLtMatmulAlgo_t *bytes, algorithm &how);
void write_algorithm(algorithm how, cublasLtMatmulAlgo_t *bytes);

bool can_run(const algorithm &how, const problem &what);
uint64_t workspace_of(const algorithm &how, const problem &what);
double microseconds(const algorithm &how, const problem &what);

/* What is wrong with an algorithm, of what was asked for: bits. */
enum { TAIL = 1, UNSTEADY = 2, WRONG = 4, REFUSED = 8, ROUNDED = 16, HANGS = 32, EVERYTHING = 64, HEAVY = 128 };
unsigned faults_of(const algorithm &how);
/* Whether it slows down what runs after it. */
bool heavy(const algorithm &how);

/* What the heuristic believes to be fastest comes first. */
std::vector<algorithm> heuristic(int32_t compute, const int32_t types[4], const problem &what, const limits &allowed);

#endif
