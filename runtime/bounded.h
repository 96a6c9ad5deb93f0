/* Numbers in double with a bound on how far the same computation in f32 may be from them. */
#ifndef MLP_BOUNDED_H
#define MLP_BOUNDED_H

#include "mlp_runtime.h"

/* An infinite bound: anything may come out (a logarithm of what may be 0, a sum that may overflow). A value that is
 * NaN or infinite for certain has the bound 0. */
typedef struct mlp_bounded {
    double value, bound;
} mlp_bounded;

#define MLP_UNIT 0x1p-24            /* relative error of one rounding in f32 */
#define MLP_OVERFLOW 0x1.ffffffp127 /* what is rounded to infinity in f32 */

/* What f32 makes of it: overflow is infinity, and near the smallest normal number digits may be lost. */
mlp_bounded mlp_bounded_settle(double value, double bound);

/* A number of the spec, which generated code holds in f32. */
mlp_bounded mlp_bounded_number(double number);

/* Operations element by element; attr as in mlp_op, b only where there are two operands. */
mlp_bounded mlp_bounded_map(mlp_op_code code, const double attr[2], mlp_bounded a, mlp_bounded b);

#endif
