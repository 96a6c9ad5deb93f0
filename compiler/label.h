/* Parameters in words, for comments, reports and names. */
#ifndef MLPC_LABEL_H
#define MLPC_LABEL_H

#include "graph.h"

/* The sources of a parameter that are of its own kind: "fc1.weight", "gate.weight+up.weight". */
const char *label_param(struct arena *arena, const struct param *param);

/* The same without the last part of each name: "fc1", "gate+up". */
const char *label_layer(struct arena *arena, const struct param *param);

#endif
