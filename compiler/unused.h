/* Warnings about what a spec says in vain: values, inputs and layers. */
#ifndef MLPC_UNUSED_H
#define MLPC_UNUSED_H

#include "lowering.h"

/* After lowering, before anything is simplified. */
void warn_unused(const struct lowering *lowering);

#endif
