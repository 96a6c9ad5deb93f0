#ifndef TESTS_RANDOM_PROVE_H
#define TESTS_RANDOM_PROVE_H

#include "mlp_runtime.h"

/* Whether memory that the plan calls dead is: NULL, or what is wrong. `arena` is the network's memory. */
const char *prove(const mlp_model *model, void *arena);

#endif
