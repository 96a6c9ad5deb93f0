/* exp, log, tanh, erf and pow, rounded to the nearest double (but for one in some 2^30 numbers, and below 2^-1022): C
 * libraries differ in the last bits, from version to version and from processor to processor, and a model's constants
 * must not. */
#ifndef MLPC_ONNX_ELEMENTARY_H
#define MLPC_ONNX_ELEMENTARY_H

double elementary_exp(double x);
double elementary_log(double x);
double elementary_tanh(double x);
double elementary_erf(double x);
double elementary_pow(double base, double exponent);    /* NaN, zeros and infinities as in C */

#endif
