/* Says for each batch size how it is computed, and for each step what was fused into it, why what reads its result was
 * not, what it moves and computes, and the least time that takes on a device. */
#ifndef MLPC_EXPLAIN_H
#define MLPC_EXPLAIN_H

#include <stdio.h>

#include "device.h"
#include "why.h"

void explain_print(const struct why *why, const struct device *device, FILE *to);

#endif
