/* What became of the nodes of a step, and why, in words: what was fused into it, why it ends where it does, what was
 * folded into its weights, and what could not be. Each thing named with its place in the spec. */
#ifndef MLPC_WHY_H
#define MLPC_WHY_H

#include "fuse.h"
#include "plan.h"

struct why {
    struct arena *arena;
    const struct graph *graph;
    const struct fusion *fusion;
    const struct plan *plan;
    const struct source *source;
};

/* "spec.mlp:7" */
const char *why_place(const struct why *why, struct span span);

/* Lines without their end; NULL where there is nothing to say. */
const char *why_fused(const struct why *why, const struct step *step);
const char *why_ends(const struct why *why, const struct step *step);
const char *why_copied(const struct why *why, const struct step *step);

/* Prints a line, after `indent`, for each batchnorm that was folded into the step's weights or that is left, and for
 * projections that were merged. */
void why_folded(const struct why *why, const struct step *step, const char *indent, FILE *to);

#endif
