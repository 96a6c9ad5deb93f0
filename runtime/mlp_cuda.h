/* mlp_cuda.h -- what the generated code of a network on a GPU hands to its runtime. Not for users.
 *
 * The generated code holds constants: sizes, places in the arena, products, ports, and for each batch size a forward
 * function, which is a straight line of calls. The runtime does the rest: it finds the device, copies the weights,
 * asks cuBLASLt once for each product, records each forward function as a CUDA graph, and runs rows through them.
 *
 * The arena is one block of device memory: the packed parameters, then the values between steps, then the workspace
 * of the products. All offsets count from its start. No CUDA header is needed here: streams and handles are void *,
 * errors of the CUDA runtime are int. */
#ifndef MLP_CUDA_H
#define MLP_CUDA_H

#include "mlp_network.h"

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define MLP_HIDDEN __attribute__((visibility("hidden")))
#else
#define MLP_HIDDEN
#endif

#define MLP_TRY(call)                                                                                               \
    do {                                                                                                            \
        mlp_status status_ = (call);                                                                                \
        if (status_ != MLP_OK)                                                                                      \
            return status_;                                                                                         \
    } while (0)

typedef struct mlp_cuda mlp_cuda;

/* ---- Products ---- */

/* A row-major tensor [rows, width], read as the column-major matrix width x rows that it also is. */
typedef struct mlp_matrix {
    size_t offset;                  /* bytes into the arena */
    int64_t ld;                     /* elements from one row of the tensor to the next */
    mlp_dtype dtype;                /* MLP_F32, MLP_F16 or MLP_BF16 */
} mlp_matrix;

typedef enum mlp_compute { MLP_COMPUTE_F32, MLP_COMPUTE_TF32 } mlp_compute;

typedef enum mlp_epilogue {
    MLP_EPILOGUE_DEFAULT, MLP_EPILOGUE_BIAS, MLP_EPILOGUE_RELU, MLP_EPILOGUE_RELU_BIAS, MLP_EPILOGUE_GELU,
    MLP_EPILOGUE_GELU_BIAS
} mlp_epilogue;

/* Starts a generated kernel; returns an error of the CUDA runtime. */
typedef int mlp_cuda_launch(unsigned char *arena, int64_t rows, void *stream);

/* A kind of device, with the version of cuBLASLt, for which plans were tuned. */
typedef struct mlp_plan_device {
    const char *name;               /* as the CUDA runtime names it */
    int multiprocessors;
    size_t library;                 /* 10000 * major + 100 * minor + patch */
} mlp_plan_device;

/* A tuned plan of one product for one kind of device, from a plan file. */
typedef struct mlp_locked_plan {
    const mlp_plan_device *device;
    int apart;                      /* the epilogue is the kernel mlp_gemm.apart */
    mlp_algorithm algorithm;        /* readable, and as the library keeps it: */
    uint64_t bytes[8];
    uint64_t workspace;             /* bytes */
    mlp_plan_times times;           /* as the tuner measured */
} mlp_locked_plan;

/* D = epilogue(A' B + beta C + bias), column-major: A is the weight (k x m), B the operand (k x n), C the residual and
 * D the result (m x n). A row of the tensor is a column of the matrix, so that the bias has one number per row of D. */
typedef struct mlp_gemm {
    const char *step;
    const char *product;            /* all that a plan depends on, as plan files write it */
    int64_t m, n, k;                /* columns out, rows, columns in */
    mlp_matrix a, b, c, d;          /* c equals d where beta is 0: it is not read */
    float beta;
    mlp_compute compute;
    mlp_epilogue epilogue;
    size_t bias;                    /* where the epilogue has one: bytes into the arena */
    mlp_dtype bias_dtype;
    mlp_cuda_launch *apart;         /* the epilogue as a kernel on D, where a plan may choose that; or NULL */
    const mlp_locked_plan *locked;  /* for any devices */
    size_t locked_count;
} mlp_gemm;

/* What cuBLASLt needs to run one: its descriptors and the algorithm, in its own form. Made once, by init. */
typedef struct mlp_gemm_plan {
    uint64_t operation[32], a[8], b[8], c[8], d[8], algorithm[8];
    uint64_t workspace;             /* bytes of it that the algorithm asks for */
    mlp_cuda_launch *apart;         /* what follows the product, or NULL */
    mlp_plan_state state;
    const mlp_locked_plan *locked;  /* the plan that is used, or that could not be used, or NULL */
} mlp_gemm_plan;

/* Products as a whole: descriptors, layouts and algorithms of all of them are made by open. */
typedef struct mlp_gemm_calls {
    mlp_status (*open)(mlp_cuda *cuda);
    mlp_status (*run)(mlp_cuda *cuda, size_t gemm);
    void (*close)(mlp_cuda *cuda);
    size_t (*version)(void);        /* of the library: 10000 * major + 100 * minor + patch */
    mlp_status (*describe)(mlp_cuda *cuda, size_t gemm, mlp_plan_info *info);
} mlp_gemm_calls;
extern const mlp_gemm_calls mlp_gemms;

/* ---- Constants of a network ---- */

typedef struct mlp_cuda_port {
    size_t offset;                  /* of the network's own buffer: bytes into the arena */
    size_t pitch;                   /* bytes from one row to the next there */
    size_t row_bytes;               /* of a row without padding, as the caller has it */
    size_t element;                 /* bytes of an element */
    mlp_dtype dtype;
    size_t staging;                 /* bytes into the pinned memory through which host rows go */
} mlp_cuda_port;

typedef struct mlp_cuda_step {
    const char *name;
    mlp_cuda_launch *launch;        /* of a generated kernel; NULL for a product, */
    size_t gemm;                    /* which is this one of its batch size */
} mlp_cuda_step;

typedef mlp_status mlp_cuda_forward(mlp_cuda *cuda);

typedef struct mlp_cuda_batch {
    size_t rows;
    mlp_form form;                  /* how it is computed */
    mlp_cuda_forward *forms[MLP_FORMS];     /* NULL where the program does not hold a form */
} mlp_cuda_batch;

typedef struct mlp_cuda_config {
    const mlp_cuda_batch *batches;  /* ascending */
    void **graphs;                  /* one for each batch size, filled by init */
    size_t batch_count;
    const mlp_cuda_port *inputs, *outputs;
    size_t input_count, output_count;
    const mlp_cuda_step *steps;
    size_t step_count;
    const mlp_gemm *gemms;          /* those of the first batch size, those of the second, ... */
    mlp_gemm_plan *plans;           /* one for each gemm, filled by init */
    size_t gemm_count;              /* of all batch sizes together */
    int locked;                     /* built with --locked: a product whose plan cannot be used is an error */
    const mlp_gemm_calls *gemm_calls;   /* &mlp_gemms; NULL where there is no product: then cuBLASLt is not linked */
    int (*find_arena)(void **arena);    /* address of the static arena; NULL: init allocates it */
    size_t workspace;               /* where it begins in the arena */
    size_t workspace_bytes, arena_bytes, staging_bytes;
    size_t weights_bytes;
    uint64_t weights_layout;
    const char *network;            /* name and steps, as plan files write them: "policy layout=0123456789abcdef" */
    const unsigned char *weights;   /* embedded blob with its header, or NULL */
} mlp_cuda_config;

/* ---- State of a network ---- */

struct mlp_cuda {
    mlp_network network;
    const mlp_cuda_config *config;
    int device;
    int locked;                     /* insists on its plans */
    int uploaded;                   /* the arena holds weights, whole */
    unsigned char *arena;
    unsigned char *staging;         /* pinned host memory */
    void *stream;                   /* of the network's own */
    void *idle;                     /* event: what was asked of the arena so far is done */
    void *handle;                   /* of cuBLASLt */
    size_t batch;                   /* index of the batch size at hand: what `begin` chose */
};

/* ---- Called by generated code ---- */

mlp_status mlp_cuda_init(mlp_cuda *cuda, const mlp_cuda_config *config, const mlp_options *options);
mlp_status mlp_cuda_load_weights(mlp_cuda *cuda, const char *path);
void mlp_cuda_close(mlp_cuda *cuda);

/* Any number of rows, in host memory. */
mlp_status mlp_cuda_run(mlp_cuda *cuda, size_t rows, const void *const *inputs, void *const *outputs);
/* Any number of rows, in memory of the network's device, in order with the work on `stream`; returns at once. A
 * pointer from mlp_cuda_buffer stands for rows that are, or stay, in the network's own buffer: no copy is made. */
mlp_status mlp_cuda_run_device(mlp_cuda *cuda, size_t rows, const void *const *inputs, void *const *outputs,
                               void *stream);
/* Device address of a port's own buffer; NULL before init. */
void *mlp_cuda_buffer(const mlp_cuda *cuda, const mlp_cuda_port *port);

/* The steps of a forward function. */
mlp_status mlp_cuda_kernel(mlp_cuda *cuda, const char *step, mlp_cuda_launch *launch, int64_t rows);
mlp_status mlp_gemm_run(mlp_cuda *cuda, size_t gemm);

/* As in mlp_model. */
mlp_status mlp_cuda_begin(mlp_cuda *cuda, size_t rows, const void *const *inputs);
mlp_status mlp_cuda_run_step(mlp_cuda *cuda, size_t step);
mlp_status mlp_cuda_read(mlp_cuda *cuda, size_t offset, size_t bytes, void *to);

mlp_status mlp_cuda_time_step(mlp_cuda *cuda, size_t step, size_t repeats, mlp_step_time *time);
mlp_status mlp_cuda_describe(mlp_cuda *cuda, const mlp_cuda_config *config, mlp_device_info *info);
mlp_status mlp_cuda_describe_plan(mlp_cuda *cuda, size_t batch, size_t step, mlp_plan_info *info);
mlp_status mlp_cuda_tune(mlp_cuda *cuda, const struct mlp_tuning *tuning);

/* ---- Between the runtime's files ---- */

/* Queues a step of the batch size at hand, or, where `step` is the number of steps, a whole run. */
mlp_status mlp_cuda_queue(mlp_cuda *cuda, size_t step);
/* Whether runs take this product: those of a batch size that is one kernel are there for tools alone. */
int mlp_cuda_takes(const mlp_cuda_config *config, size_t gemm);
/* Records that as a cudaGraph_t instead, so many times in a row. */
mlp_status mlp_cuda_capture(mlp_cuda *cuda, size_t step, size_t repeats, void **graph);

/* Takes the network for this thread and makes its device the current one; leave gives both back, and returns `status`,
 * or why that fails. */
mlp_status mlp_cuda_enter(mlp_cuda *cuda, int *device_before);
mlp_status mlp_cuda_leave(mlp_cuda *cuda, int device_before, mlp_status status);

/* Fails unless the arena holds weights, where the network has any. */
mlp_status mlp_cuda_need_weights(mlp_cuda *cuda);

/* Records the status that belongs to an error, the step (or NULL), the name of the call, and the library's words. */
mlp_status mlp_cuda_failed(mlp_cuda *cuda, const char *step, const char *call, int error);

#define MLP_CUDA_CHECK(cuda, step, call)                                                                            \
    do {                                                                                                            \
        int error_ = (int)(call);                                                                                   \
        if (error_)                                                                                                 \
            return mlp_cuda_failed((cuda), (step), #call, error_);                                                  \
    } while (0)

/* How often anything in this process has asked a heuristic or allocated memory: both stand still after init. */
typedef struct mlp_cuda_counts {
    size_t heuristic_queries, allocations;
} mlp_cuda_counts;
extern mlp_cuda_counts mlp_cuda_counted;

#ifdef __cplusplus
}
#endif

#endif
