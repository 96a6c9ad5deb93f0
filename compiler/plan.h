/* What will run: steps in order, each a tape of operations over values at fixed places. Everything is decided here
 * (names, offsets, leading dimensions, epilogues, comments), so that the emitters only print.
 *
 * A step computes one value, row by row. Its tape is a list of operations; an operation reads earlier operations of
 * the same tape, values stored by earlier steps, packed parameters and numbers. A product is a step whose first
 * operation is OP_LINEAR; what follows it is its epilogue. */
#ifndef MLPC_PLAN_H
#define MLPC_PLAN_H

#include "graph.h"

enum target { TARGET_CPU, TARGET_CUDA };

enum place {
    PLACE_ARENA,                    /* at buffer.offset of the arena */
    PLACE_INPUT,                    /* the caller's array for input `port` (CPU) */
    PLACE_OUTPUT,                   /* the caller's array for output `port` (CPU) */
};

/* Storage of plan.chunk rows. Values may share one: a slice looks into it, the parts of a concat fill it. */
struct buffer {
    enum place place;
    int port;                       /* PLACE_INPUT, PLACE_OUTPUT: which; PLACE_ARENA: -1 */
    int64_t row_bytes;
    int first, last;                /* steps between which its content matters, inclusive; -1 is before the first
                                       step, plan.steps.count behind the last */
    int64_t offset;                 /* bytes into the arena, aligned to plan.alignment */
};

/* A tensor that is stored: element (r, c) stands at buffer start + (r * ld + column + c) * dtype_size. */
struct value {
    const char *name;               /* unique in the plan, a good C identifier after any prefix */
    enum dtype dtype;               /* f32, f16, bf16 */
    enum dtype round;               /* what a result is rounded to before it is stored as dtype: the CPU keeps the
                                       values of an f16 or bf16 network in f32 */
    int64_t width, ld, column;      /* elements */
    int64_t pad;                    /* zeros behind the last column that the step writes, too: a product reads them */
    int buffer;
};

/* A parameter as packed: row-major [rows, cols], in rows of ld elements, with zeros up to [stored_rows, ld]. A
 * product's weight on a CPU stands in panels instead, of `panel` rows each: element (r, c) is the one at
 * (r / panel * cols + c) * panel + r % panel. */
struct packed {
    const char *name;               /* unique, a good C identifier after any prefix: "fc1_weight" */
    const char *label;              /* what it is made of, for people: "fc1.weight", "bn folded into fc1.weight" */
    const struct param *param;
    enum dtype round;               /* values are rounded to this first, */
    enum dtype dtype;               /* and stored as this: f32, f16, bf16 */
    int64_t rows, cols;
    int64_t stored_rows, ld;        /* as many or, on a GPU, the next multiples of 16 bytes; whole panels */
    int64_t panel;                  /* rows of a panel; 0: row-major */
    int64_t offset;                 /* bytes behind the blob's header, aligned to plan.alignment */
};

enum operand_kind { OPERAND_NONE, OPERAND_OP, OPERAND_VALUE, OPERAND_PARAM, OPERAND_NUMBER };

struct operand {
    enum operand_kind kind;
    int index;                      /* of the tape's operation, the plan's value or packed parameter */
    double number;
};

struct tape_op {
    enum op op;
    int64_t width;
    struct operand in[3];           /* tensors first, then parameters: LINEAR x, weight, bias; LAYERNORM x, weight,
                                       bias; RMSNORM x, weight; AFFINE x, scale, shift. NONE where absent. A tensor
                                       of width 1 stretches in a MAP operation */
    double attr[2];
};

/* The cuBLASLt epilogue of a product on the CUDA target. */
enum epilogue {
    EPILOGUE_DEFAULT, EPILOGUE_BIAS, EPILOGUE_RELU, EPILOGUE_RELU_BIAS, EPILOGUE_GELU, EPILOGUE_GELU_BIAS
};

struct step {
    const char *name;               /* "h1": the value it computes */
    const char *function;           /* "step_0_h1": unique, a good C identifier */
    const char *text;               /* "h1 = relu(linear(x, fc1))" */
    int line;                       /* of the spec */
    struct span span;
    VEC(struct tape_op) tape;
    int out;                        /* the value stored */
    int group;                      /* of the fused graph, or -1: a copy */
    /* of a product */
    bool product;
    int64_t n, k;                   /* columns out, columns in */
    int64_t n_padded, k_padded;     /* CUDA: what is computed, zeros included */
    int sums;                       /* CPU: the f32 value that a row operation works in; -1: its output */
    enum epilogue epilogue;         /* CUDA */
    int residual;                   /* CUDA: the value that is C with beta = 1, or -1 */
    const struct step *apart;       /* CUDA: the epilogue as a step of its own, where a tuned plan may choose that; or
                                       NULL */
};

/* A product at one batch size (CUDA). */
struct product {
    int step;
    int batch;                      /* of plan.batches */
    int64_t rows;
    const char *text;               /* sizes, types and places: all that a tuned plan depends on */
    size_t first_lock, lock_count;  /* its tuned plans, of plan.locks */
};

/* How a batch size is computed (CUDA): its steps one by one, or one generated kernel for the whole network. */
enum form { FORM_STEPS, FORM_ROWS, FORM_FEW, FORM_COUNT };

struct batch_form {
    enum form chosen;
    bool emitted[FORM_COUNT];       /* the chosen one; all that are possible where --tune is to compare them */
};

/* A kind of device that tuned plans are for. */
struct plan_device {
    const char *name;
    int multiprocessors;
    size_t library;                 /* cuBLASLt: 10000 * major + 100 * minor + patch */
};

/* A tuned plan for one device, as the plan file has it. */
struct lock {
    int device;                     /* of plan.plan_devices */
    const struct mlp_plan_entry *entry;
};

struct plan_port {
    const char *name;
    enum dtype dtype;
    int64_t width;
    int value;                      /* where the network reads or leaves it */
};

enum { WEIGHTS_HEADER_BYTES = 256 };
enum { CPU_LEVELS = 4, MOST_THREADS = 32 };

struct plan {
    struct arena *arena;
    enum target target;
    const char *name;               /* the model's, as in the spec */
    const char *prefix;             /* of every public C name and file; the model's name unless that would clash */
    const char *spec;               /* file name of the spec, without folders */
    uint64_t spec_checksum;         /* FNV-1a of its bytes */
    enum dtype dtype;
    int64_t *batches;               /* ascending */
    int batch_count;
    int64_t max_batch;
    int64_t chunk;                  /* rows that go through all steps at once, for which the arena has room: on a GPU a
                                       whole batch */
    int64_t alignment;              /* of buffers and parameters: 64 on a CPU, 256 on a GPU */
    VEC(struct plan_port) inputs;
    VEC(struct plan_port) outputs;
    VEC(struct value) values;
    VEC(struct buffer) buffers;
    VEC(struct packed) params;
    VEC(struct step) steps;
    VEC(struct product) products;   /* by batch size, then by step */
    VEC(struct plan_device) plan_devices;
    VEC(struct lock) locks;         /* those of one product side by side */
    enum form *form_locks;          /* what the plan file says of each batch size, FORM_COUNT: nothing; NULL: no file */
    const char *network;            /* CUDA: what a choice of forms depends on: "policy layout=0123456789abcdef" */
    struct batch_form *forms;       /* of each batch size; NULL on a CPU */
    unsigned cpu_levels;            /* CPU: the levels of x86-64 to compile for, 1 to CPU_LEVELS, a bit each; 0: as the
                                       C compiler is told */
    int threads;                    /* CPU: that can share the work */
    bool locked;                    /* --locked: the program, too, insists on its plans */
    struct budget budget;           /* what the spec allows it to keep */
    int64_t arena_bytes;            /* of the buffers in the arena */
    int64_t weights_bytes;          /* of the packed parameters, without the header */
    uint64_t weights_layout;        /* checksum of the packed parameters' names, types, sizes and offsets */
};

struct plan_request {
    enum target target;
    const char *spec;
    uint64_t spec_checksum;
};

struct fusion;

/* NULL after a recorded error (sizes that do not fit). */
struct plan *plan_make(const struct graph *graph, const struct fusion *fusion, const struct source *source,
                       const struct plan_request *request, struct diags *diags);

/* chunk.c: how many rows of a CPU network go through its steps at once, if a row takes so many bytes of the arena. */
int64_t chunk_rows(const struct plan *plan, int64_t row_bytes);

/* memory.c: gives every arena buffer its offset; false if the size in bytes does not fit. */
bool memory_assign(struct plan *plan);

void plan_dump(const struct plan *plan, FILE *to);
void memory_dump(const struct plan *plan, FILE *to);
/* Asserts what the emitters rely on: operand order, no two live buffers overlap, alignment. */
void plan_check(const struct plan *plan);

#endif
