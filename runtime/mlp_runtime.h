/* mlp_runtime.h -- what generated networks and their users share
 *
 * A program that runs a generated network (here `digits`, made by `mlpc --lib --target=cpu digits.mlp`):
 *
 *     #include "digits.h"
 *
 *     float x[2][digits_x_WIDTH], y[2][digits_y_WIDTH];
 *     if (digits_init(NULL) != MLP_OK || digits_run(2, &x[0][0], &y[0][0]) != MLP_OK)
 *         fprintf(stderr, "%s\n", digits_error());
 *     digits_close();
 *
 * Tensors are row-major [rows, width] without padding; a row is one sample. Nothing here prints or exits, and after
 * init nothing allocates. C99, usable from C++. */
#ifndef MLP_RUNTIME_H
#define MLP_RUNTIME_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Generated code and runtime must be of one version; generated code checks this with #error. */
#define MLP_RUNTIME_VERSION 1

typedef uint16_t mlp_f16;           /* IEEE binary16, as its bits */
typedef uint16_t mlp_bf16;          /* the upper half of a binary32, as its bits */

typedef enum mlp_status {
    MLP_OK = 0,
    MLP_BUSY,                       /* another thread is inside this network, whose text NAME_error has; nothing was
                                       done */
    MLP_NOT_READY,                  /* init has not succeeded, or close was called */
    MLP_BAD_ARGUMENT,               /* a pointer is NULL, an index out of range; init twice without close */
    MLP_MISALIGNED,                 /* a device pointer is not aligned to its element */
    MLP_NO_WEIGHTS,                 /* the network was built with external weights and none are loaded; or the device
                                       failed while they were exchanged */
    MLP_WEIGHTS_UNREADABLE,         /* the weights file cannot be opened or read */
    MLP_WEIGHTS_MISMATCH,           /* the weights file is damaged, packed for another network, or not a packed one */
    MLP_NO_MEMORY,                  /* host or device memory ran out */
    MLP_NO_DEVICE,                  /* no such GPU, or no driver */
    MLP_WRONG_DEVICE,               /* the program holds no code for this GPU */
    MLP_NO_THREADS,                 /* the system starts no more threads */
    MLP_WRONG_CPU,                  /* the program holds no code for this processor */
    MLP_WRONG_LIBRARY,              /* cuBLASLt is not of the major version that the network was built with */
    MLP_NO_PLAN,                    /* a product has no plan that works on this device */
    MLP_DEVICE_FAILED               /* a CUDA or cuBLASLt call failed */
} mlp_status;

/* The name of a status and what it means, in a few words: "busy: another thread is inside this network". */
const char *mlp_status_text(mlp_status status);

typedef struct mlp_options {
    int device;                     /* CUDA device index; ignored by the CPU target */
    int locked;                     /* 1: a product whose locked plan cannot be used is an error; 0: only if the network
                                       was built with --locked; -1: never, the heuristic chooses instead */
    const char *weights;            /* a packed weights file to read at init, or NULL */
    int threads;                    /* on a CPU, how many share the work, of those that the network was built for
                                       (mlpc --threads=N); 0: all */
} mlp_options;

/* ---- Description of a network, for tools. Generated; constant. ---- */

typedef enum mlp_dtype { MLP_F32, MLP_TF32, MLP_F16, MLP_BF16 } mlp_dtype;
typedef enum mlp_target { MLP_CPU, MLP_CUDA } mlp_target;

typedef enum mlp_place {
    MLP_ARENA,                      /* the network's own memory */
    MLP_INPUT,                      /* the caller's array for input `port` */
    MLP_OUTPUT                      /* the caller's array for output `port` */
} mlp_place;

/* A stored tensor: element (r, c) is `size` bytes at offset + (r * ld + c) * size from its place. */
typedef struct mlp_value {
    const char *name;
    mlp_dtype dtype;                /* MLP_F32, MLP_F16 or MLP_BF16 */
    mlp_place place;
    int port;
    size_t width, ld;               /* elements */
    size_t offset;                  /* bytes */
    mlp_dtype round;                /* what results were rounded to before they were stored as dtype: the CPU keeps
                                       the values of an f16 or bf16 network in f32 */
} mlp_value;

/* A packed parameter: row-major [rows, cols], in rows of ld elements; or in panels of `panel` rows, the last one filled
 * up with zeros: element (r, c) is the one at (r / panel * cols + c) * panel + r % panel. */
typedef struct mlp_param {
    const char *name;
    mlp_dtype dtype;
    size_t rows, cols, ld;
    size_t offset;                  /* bytes behind the weights' header */
    size_t panel;                   /* 0: row-major */
} mlp_param;

typedef enum mlp_op_code {
    MLP_OP_LINEAR, MLP_OP_AFFINE,
    MLP_OP_RELU, MLP_OP_RELU6, MLP_OP_GELU, MLP_OP_GELU_TANH, MLP_OP_SILU, MLP_OP_MISH, MLP_OP_HARDSWISH,
    MLP_OP_HARDSIGMOID, MLP_OP_SIGMOID, MLP_OP_TANH, MLP_OP_SOFTPLUS, MLP_OP_IDENTITY, MLP_OP_EXP, MLP_OP_LOG,
    MLP_OP_SQRT, MLP_OP_ABS, MLP_OP_NEG, MLP_OP_LEAKY_RELU, MLP_OP_ELU, MLP_OP_CLAMP,
    MLP_OP_ADD, MLP_OP_SUB, MLP_OP_MUL, MLP_OP_DIV, MLP_OP_MAXIMUM, MLP_OP_MINIMUM,
    MLP_OP_SOFTMAX, MLP_OP_LOG_SOFTMAX, MLP_OP_LAYERNORM, MLP_OP_RMSNORM,
    MLP_OP_SUM, MLP_OP_MEAN, MLP_OP_DOT
} mlp_op_code;

typedef enum mlp_operand_kind { MLP_NONE, MLP_OP, MLP_VALUE, MLP_PARAM, MLP_NUMBER } mlp_operand_kind;

typedef struct mlp_operand {
    mlp_operand_kind kind;
    int index;                      /* of the operation in this step, of the value, of the parameter */
    double number;
} mlp_operand;

/* One operation on whole rows. Operands: LINEAR x, weight [out, in], bias; LAYERNORM x, weight, bias; RMSNORM x,
 * weight; AFFINE x, scale, shift; else one or two tensors. attr: LEAKY_RELU slope; ELU alpha; CLAMP lo, hi;
 * LAYERNORM eps; RMSNORM eps, offset. A tensor of width 1 stretches; a parameter is the same for every row. */
typedef struct mlp_op {
    mlp_op_code code;
    size_t width;
    mlp_operand in[3];
    double attr[2];
} mlp_op;

/* A step computes the value `out`: the result of its last operation. */
typedef struct mlp_step {
    const char *name;
    const char *text;               /* "h1 = relu(linear(x, fc1))" */
    int line;                       /* of the spec */
    const mlp_op *ops;
    size_t op_count;
    int out;
} mlp_step;

typedef struct mlp_port {
    const char *name;
    mlp_dtype dtype;                /* of the caller's array: MLP_F32, MLP_F16 or MLP_BF16 */
    size_t width;
    int value;                      /* where the network reads it or leaves it */
} mlp_port;

/* An algorithm of cuBLASLt by its attributes (CUBLASLT_ALGO_CONFIG_...), all plain numbers of the library's enums. */
typedef struct mlp_algorithm {
    int id;
    unsigned tile, stages, split_k, reduction, swizzle, custom, inner_shape, cluster;
} mlp_algorithm;

/* How a batch size is computed on a GPU: step by step, or by one generated kernel for the whole network: for many rows,
 * for few. */
typedef enum mlp_form { MLP_FORM_STEPS, MLP_FORM_ROWS, MLP_FORM_FEW, MLP_FORMS } mlp_form;

/* "steps", "rows", "few". */
const char *mlp_form_text(mlp_form form);

/* Where the algorithm of a product comes from. In all states but MLP_PLAN_LOCKED it is the heuristic's, asked at
 * start, because the plan that was compiled in ... */
typedef enum mlp_plan_state {
    MLP_PLAN_HEURISTIC,             /* does not exist */
    MLP_PLAN_LOCKED,                /* is used */
    MLP_PLAN_FOREIGN,               /* is for another kind of device */
    MLP_PLAN_STALE,                 /* is for another version of cuBLASLt */
    MLP_PLAN_DAMAGED,               /* has attributes and bytes that are not the same algorithm */
    MLP_PLAN_REFUSED,               /* is not accepted by cuBLASLt for this product */
    MLP_PLAN_STATES
} mlp_plan_state;

/* "stale: tuned with another version of cuBLASLt". */
const char *mlp_plan_state_text(mlp_plan_state state);

/* The times of a product on the device, medians in microseconds: warm with what it reads in the L2 cache where that
 * fits, cold after the cache was flushed. */
typedef struct mlp_plan_times {
    double warm, cold;              /* of the plan */
    double first_warm, first_cold;  /* of the first choice of the library's heuristic */
    double listed_warm;             /* of the best of all that the heuristic lists */
    double listed_cold;             /* the same, cold */
} mlp_plan_times;

/* The plan of a step at one batch size. */
typedef struct mlp_plan_info {
    mlp_plan_state state;
    int apart;                      /* the epilogue is a kernel of its own */
    mlp_algorithm algorithm;        /* the one in use */
    uint64_t workspace;             /* bytes that it needs */
    mlp_plan_times times;           /* of a locked plan, as the tuner measured; else 0 */
    const char *device;             /* what the plan compiled in was tuned on, or NULL */
    int multiprocessors;
    size_t library;
} mlp_plan_info;

struct mlp_tuning;                  /* mlp_tuning.h */

/* What a GPU needs for a step, or for all of them. */
typedef struct mlp_step_time {
    double seconds;                 /* repeated without pause, so that what it reads is in the caches where it fits */
    size_t kernels, copies;         /* what it is made of; memsets count as copies */
} mlp_step_time;

typedef struct mlp_device_info {
    size_t arena_bytes;             /* device memory in all: weights, values, workspace */
    int arena_static;               /* an array of the program; else init allocates it */
    size_t workspace_bytes;         /* of the products */
    size_t staging_bytes;           /* pinned host memory */
    size_t products;                /* that runs take, of all batch sizes together */
    /* The rest is known from init on. */
    char name[256];
    int device, multiprocessors;
    int driver, runtime;            /* CUDA versions: 1000 * major + 10 * minor */
    size_t library;                 /* cuBLASLt: 10000 * major + 100 * minor + patch; 0 where there is no product */
    size_t plans[MLP_PLAN_STATES];  /* products by where their algorithm comes from */
} mlp_device_info;

typedef struct mlp_model {
    int version;                    /* MLP_RUNTIME_VERSION */
    const char *name, *spec;
    mlp_target target;
    mlp_dtype dtype;
    const size_t *batches;          /* ascending */
    size_t batch_count;
    const mlp_port *inputs, *outputs;
    size_t input_count, output_count;
    const mlp_value *values;
    size_t value_count;
    const mlp_param *params;
    size_t param_count;
    const mlp_step *steps;
    size_t step_count;
    size_t chunk;                   /* rows that go through all steps at once: on a GPU the largest batch */
    size_t threads;                 /* that can share the work; 1 on a GPU */
    size_t arena_bytes;             /* values between steps, of a chunk */
    size_t weights_bytes;           /* packed parameters */
    uint64_t weights_layout;        /* what a packed weights file must have been made for */
    int weights_embedded;

    /* As NAME_init, NAME_run, ...; inputs and outputs in the order of the tables above. */
    mlp_status (*init)(const mlp_options *options);
    mlp_status (*run)(size_t rows, const void *const *inputs, void *const *outputs);
    mlp_status (*load_weights)(const char *path);
    void (*close)(void);
    const char *(*error)(void);

    /* For --verify and --profile: one step for at most a chunk of rows, whose inputs were put in place by `begin`;
     * and copies out of the network's memory. */
    mlp_status (*begin)(size_t rows, const void *const *inputs, void *const *outputs);
    mlp_status (*run_step)(size_t step);
    mlp_status (*read_arena)(size_t offset, size_t bytes, void *to);
    mlp_status (*read_weights)(size_t offset, size_t bytes, void *to);

    /* On a CPU, after init: the instruction set of the steps in use, "x86-64-v3"; NULL on a GPU. */
    const char *(*instructions)(void);

    /* On a GPU. */
    int whole_only;                 /* run_step does not work: the network is in kernels of its own as a whole */
    const mlp_form *forms;          /* of each batch size; NULL on a CPU */
    /* On a GPU; NULL elsewhere. The time of one step of the batch size that `begin` chose, or, where `step` is
     * step_count, of all in a row, as a run launches them. */
    mlp_status (*time_step)(size_t step, size_t repeats, mlp_step_time *time);
    mlp_status (*describe)(mlp_device_info *info);      /* before init, MLP_NOT_READY after filling the first part */
    /* After init; MLP_BAD_ARGUMENT for a step that is no product. `batch`: index of a batch size. */
    mlp_status (*describe_plan)(size_t batch, size_t step, mlp_plan_info *info);
    mlp_status (*tune)(const struct mlp_tuning *tuning);    /* NULL where there is no product */
} mlp_model;

/* A ready-made main() for any network: see `--help` of a generated program. Returns the exit status. */
int mlp_program(int argc, char **argv, const mlp_model *model);

#ifdef __cplusplus
}
#endif

#endif
