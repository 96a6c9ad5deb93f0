/* Rows of stored elements to and from double. A double goes to 16 bits in one rounding: by way of f32 it would be
 * rounded twice, and a number just beside a tie would fall on the wrong side. */
#include "element.h"

#include <math.h>

#include "mlp_number.h"

static const struct dtype_info {
    const char *text;
    size_t size;
    int digits;                     /* of the significand, in bits */
    int lowest;                     /* exponent (as frexp counts) of the smallest normal number */
    double limit;                   /* halfway from the largest finite number to the next power of two */
} info[] = {
    [MLP_F32] = {"f32", 4, 24, -125, 0x1.ffffffp127},
    [MLP_TF32] = {"tf32", 4, 24, -125, 0x1.ffffffp127},
    [MLP_F16] = {"f16", 2, 11, -13, 65520.0},
    [MLP_BF16] = {"bf16", 2, 8, -125, 0x1.ffp127},
};

const char *mlp_dtype_text(mlp_dtype dtype)
{
    return info[dtype].text;
}

size_t mlp_dtype_size(mlp_dtype dtype)
{
    return info[dtype].size;
}

double mlp_dtype_limit(mlp_dtype dtype)
{
    return info[dtype].limit;
}

double mlp_dtype_half_step(mlp_dtype dtype, double size)
{
    int exponent = info[dtype].lowest;
    if (isfinite(size) && size != 0)
        frexp(size, &exponent);
    if (exponent < info[dtype].lowest)
        exponent = info[dtype].lowest;
    return ldexp(0.5, exponent - info[dtype].digits);
}

static float round_double(mlp_dtype dtype, double x)
{
    if (!isfinite(x))
        return (float)x;
    if (fabs(x) >= info[dtype].limit)
        return copysignf(INFINITY, (float)x);
    double step = 2 * mlp_dtype_half_step(dtype, x);
    return (float)(rint(x / step) * step);
}

void mlp_row_load(mlp_dtype dtype, const void *from, size_t count, double *to)
{
    const float *wide = from;
    const uint16_t *narrow = from;
    if (dtype == MLP_F16)
        for (size_t i = 0; i < count; i++)
            to[i] = mlp_f16_load(narrow[i]);
    else if (dtype == MLP_BF16)
        for (size_t i = 0; i < count; i++)
            to[i] = mlp_bf16_load(narrow[i]);
    else
        for (size_t i = 0; i < count; i++)
            to[i] = wide[i];
}

void mlp_row_store(mlp_dtype dtype, const double *from, size_t count, void *to)
{
    float *wide = to;
    uint16_t *narrow = to;
    if (dtype == MLP_F16)
        for (size_t i = 0; i < count; i++)
            narrow[i] = mlp_f16_store(round_double(MLP_F16, from[i]));
    else if (dtype == MLP_BF16)
        for (size_t i = 0; i < count; i++)
            narrow[i] = mlp_bf16_store(round_double(MLP_BF16, from[i]));
    else
        for (size_t i = 0; i < count; i++)
            wide[i] = (float)from[i];
}
