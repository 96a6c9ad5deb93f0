/* Number formats. Numbers are computed in double; a stored one is rounded once, to nearest even, and NaN stays NaN.
 * Bytes in files and in the packed blob are little endian, at any alignment. */
#ifndef MLPC_CONVERT_H
#define MLPC_CONVERT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "graph.h"

uint16_t convert_to_f16(double number);
uint16_t convert_to_bf16(double number);
double convert_from_f16(uint16_t bits);
double convert_from_bf16(uint16_t bits);

/* Types in which a weights file may hold a parameter. */
enum stored { STORED_F64, STORED_F32, STORED_F16, STORED_BF16 };

/* By the file's word for it, "BF16"; false for a type that no parameter can have. */
bool convert_stored(const char *text, enum stored *stored);
size_t convert_stored_size(enum stored stored);

void convert_load(double *to, const unsigned char *from, size_t count, enum stored stored);
void convert_store(unsigned char *to, const double *from, size_t count, enum dtype dtype);
void convert_store_f64(unsigned char *to, const double *from, size_t count);    /* which no network computes in */

/* Rounds in place to what `dtype` can hold; returns how many finite numbers became infinite. */
size_t convert_round(double *numbers, size_t count, enum dtype dtype);

#endif
