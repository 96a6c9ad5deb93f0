/* The passes in order, from a spec in memory to the text of C files in memory, or to a dump. They read the files that a
 * spec or the options name, and write none; what they have to say is recorded. */
#ifndef MLPC_COMPILE_H
#define MLPC_COMPILE_H

#include <stdio.h>

#include "ast.h"
#include "fuse.h"
#include "graph.h"
#include "options.h"
#include "output.h"
#include "plan.h"
#include "weights.h"

struct compilation {
    struct arena *arena;
    struct options options;
    struct source source;
    struct diags *diags;
    const struct spec *spec;
    struct graph *graph;
    struct fusion *fusion;
    struct plan *plan;
    struct weights *weights;        /* NULL: they come when the program runs */
    const char *weights_path;       /* the file they come from, or NULL */
    const unsigned char *blob;      /* packed */
    size_t blob_size;
};

/* Spec to plan, from arena, options, source and diags. False after errors; without a plan where the AST is all that is
 * wanted. */
bool compile_plan(struct compilation *c);
/* The plan's parameters from the weights, if there are any; false after errors. */
bool compile_pack(struct compilation *c);
/* The last decisions: tuned plans, where the command line names a file of them, and forms. */
enum exit_status compile_forms(struct compilation *c);

/* Whether the weights are in the program. */
bool compile_embeds(const struct compilation *c);
/* All generated files, under bare names. Without a source of weights, they are external. */
struct outputs compile_render(const struct compilation *c);
/* What MODE_DUMP shows. */
void compile_dump(const struct compilation *c, FILE *to);

#endif
