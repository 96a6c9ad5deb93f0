/* mlp_cpu_network.h -- a network for the CPU: what its generated functions are made of. Not for users. */
#ifndef MLP_CPU_NETWORK_H
#define MLP_CPU_NETWORK_H

#include "mlp_level.h"
#include "mlp_network.h"
#include "mlp_steps.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The steps for one instruction set. */
typedef struct mlp_cpu_level {
    int level;                      /* of x86-64, which the processor must have */
    const mlp_steps *steps;
} mlp_cpu_level;

struct mlp_cpu_network;
struct mlp_pool;

/* What networks for several threads need; others do not link it. */
typedef struct mlp_cpu_threads {
    mlp_status (*open)(struct mlp_cpu_network *network, size_t threads);
    void (*close)(struct mlp_cpu_network *network);
    void (*run)(const struct mlp_cpu_network *network, mlp_rows *all, size_t rows);
} mlp_cpu_threads;

extern const mlp_cpu_threads mlp_cpu_threads_shared;

/* What a network is made of. */
typedef struct mlp_cpu_parts {
    const mlp_model *model;
    const unsigned char *packed;    /* embedded weights, or NULL */
    float *arena;                   /* of each thread, one behind the other */
    const mlp_cpu_level *levels;    /* the best first */
    size_t level_count;
    const mlp_cpu_threads *threads; /* NULL: one thread */
    double row_work;                /* multiplications with addition for a row, or what takes as long */
} mlp_cpu_parts;

/* Its state. */
typedef struct mlp_cpu_network {
    mlp_network guard;
    const mlp_cpu_parts *parts;     /* from init on */
    const mlp_cpu_level *level;     /* the one in use */
    struct mlp_pool *pool;          /* of the threads; NULL: one */
    mlp_rows begun;                 /* for single steps */
} mlp_cpu_network;

/* What code made for a level needs, where the compiler may count on more. */
#define MLP_LEVEL_AT_LEAST(level) ((level) > MLP_LEVEL_GIVEN ? (level) : MLP_LEVEL_GIVEN)

/* The highest level of x86-64 that this processor has and the system supports; 5 on other processors. */
int mlp_cpu_level_here(void);

/* As NAME_init, NAME_run, ... */
mlp_status mlp_cpu_init(mlp_cpu_network *network, const mlp_cpu_parts *parts, const mlp_options *options);
mlp_status mlp_cpu_run(mlp_cpu_network *network, size_t rows, const void *const *inputs, void *const *outputs);
mlp_status mlp_cpu_load_weights(mlp_cpu_network *network, const char *path);
void mlp_cpu_close(mlp_cpu_network *network);

/* `rows` rows from part->first on, chunk by chunk of nearly one size, on the caller's thread. */
void mlp_cpu_run_chunks(const mlp_cpu_network *network, mlp_rows *part, size_t rows);

/* As the functions of mlp_model for tools. */
mlp_status mlp_cpu_begin(mlp_cpu_network *network, size_t rows, const void *const *inputs, void *const *outputs);
mlp_status mlp_cpu_run_step(mlp_cpu_network *network, size_t step);
mlp_status mlp_cpu_read_arena(mlp_cpu_network *network, size_t offset, size_t bytes, void *to);
mlp_status mlp_cpu_read_weights(mlp_cpu_network *network, size_t offset, size_t bytes, void *to);
const char *mlp_cpu_instructions(const mlp_cpu_network *network);

#ifdef __cplusplus
}
#endif

#endif
