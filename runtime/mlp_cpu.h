/* mlp_cpu.h -- what the generated steps of a network call: products, element-wise functions and operations on whole
 * rows, all on vectors of floats and for one instruction set. C99, usable from C++. */
#ifndef MLP_CPU_H
#define MLP_CPU_H

#include "mlp_16bit.h"
#include "mlp_math.h"
#include "mlp_row.h"
#include "mlp_tile.h"

#endif
