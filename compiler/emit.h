/* Text of generated files, rendered in memory. One sink owns indentation and newlines: callers pass whole lines. */
#ifndef MLPC_EMIT_H
#define MLPC_EMIT_H

#include <stddef.h>

#include "plan.h"

struct emitter {
    struct arena *arena;
    char *text;
    size_t length, capacity;
    int depth;
};

void emit_line(struct emitter *emitter, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* A line that opens a block; what follows is indented until emit_close, whose line ends it. */
void emit_open(struct emitter *emitter, const char *format, ...) __attribute__((format(printf, 2, 3)));
void emit_close(struct emitter *emitter, const char *format, ...) __attribute__((format(printf, 2, 3)));
void emit_blank(struct emitter *emitter);

/* Shared by the targets. */
void emit_banner(struct emitter *emitter, const struct plan *plan);     /* the head of each file */
const char *emit_float(struct arena *arena, double number);     /* "0.1f", "-INFINITY": a float literal, exact */
const char *emit_double(struct arena *arena, double number);
const char *emit_string(struct arena *arena, const char *text); /* a C string literal with its quotes */
const char *emit_comment(struct arena *arena, const char *text);/* harmless inside a comment, on one line, shortened */

/* The parameters of NAME_run: "size_t rows, const float *in_x, float *out_y". */
const char *emit_run_parameters(struct arena *arena, const struct plan *plan);

/* One file each. */
void emit_header(struct emitter *emitter, const struct plan *plan);     /* NAME.h */
void emit_main(struct emitter *emitter, const struct plan *plan);       /* NAME_main.c */
void emit_weights(struct emitter *emitter, const struct plan *plan);    /* NAME_weights.S */
void emit_cpu(struct emitter *emitter, const struct plan *plan, bool embedded);     /* NAME.c for a CPU */
void emit_cpu_steps(struct emitter *emitter, const struct plan *plan);              /* NAME_steps.h */
void emit_cpu_level(struct emitter *emitter, const struct plan *plan, int level);   /* NAME_x86_64_v3.c */
void emit_cuda_host(struct emitter *emitter, const struct plan *plan, bool embedded);   /* NAME.c for a GPU */
void emit_cuda_device(struct emitter *emitter, const struct plan *plan);                /* NAME.cu */

/* The tables that describe the network to tools, and NAME_model itself; part of NAME.c on every target. */
void emit_model(struct emitter *emitter, const struct plan *plan, bool embedded);

#endif
