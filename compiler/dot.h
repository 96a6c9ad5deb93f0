/* The steps as a graph for Graphviz: boxes are steps, edges carry the values between them with shapes and types. */
#ifndef MLPC_DOT_H
#define MLPC_DOT_H

#include <stdio.h>

#include "plan.h"

void dot_print(const struct plan *plan, FILE *to);

#endif
