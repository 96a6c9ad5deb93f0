#include <math.h>

#include "network.h"

static const struct {
    const char *name;
    int bits, least, most;          /* of the significand; exponents of the least normal number and of the largest */
} types[] = {
    [F32] = {"f32", 24, -126, 127},   [TF32] = {"tf32", 24, -126, 127}, [F16] = {"f16", 11, -14, 15},
    [BF16] = {"bf16", 8, -126, 127},  [F64] = {"f64", 53, -1022, 1023},
};

const char *type_name(enum type type)
{
    return types[type].name;
}

double type_unit(enum type type)
{
    return ldexp(1, -types[type].bits);
}

double type_largest(enum type type)
{
    return ldexp(2 - ldexp(1, 1 - types[type].bits), types[type].most);
}

double type_round(double value, enum type type)
{
    int exponent;
    if (type == F64 || value == 0 || !isfinite(value))
        return value;
    frexp(value, &exponent);
    exponent = exponent - 1 < types[type].least ? types[type].least : exponent - 1;
    double unit = ldexp(1, exponent - types[type].bits + 1);
    double rounded = rint(value / unit) * unit;
    return fabs(rounded) > type_largest(type) ? copysign(INFINITY, value) : rounded;
}
