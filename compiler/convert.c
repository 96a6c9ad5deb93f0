#include "convert.h"

#include <endian.h>
#include <float.h>
#include <math.h>
#include <string.h>

#include "bytes.h"

/* Or other machines write other weights. */
#if FLT_EVAL_METHOD < 0 || FLT_EVAL_METHOD > 1 || defined __FAST_MATH__
#error "an operation on doubles must round once, to double: no -ffast-math, and on 32-bit x86 -msse2 -mfpmath=sse"
#endif

static uint64_t bits_of(double number)
{
    uint64_t bits;
    memcpy(&bits, &number, sizeof bits);
    return bits;
}

static double from_bits(uint64_t bits)
{
    double number;
    memcpy(&number, &bits, sizeof number);
    return number;
}

/* The 16 bits of a smaller binary format nearest to `number`. Both formats are sign, exponent, fraction; a carry out
 * of the fraction runs into the exponent, up to infinity, as it should. */
static inline uint16_t narrow(double number, int exponent_bits, int fraction_bits)
{
    const uint64_t infinity = ((UINT64_C(1) << exponent_bits) - 1) << fraction_bits;
    const int bias = (1 << (exponent_bits - 1)) - 1;
    uint64_t bits = bits_of(number);
    uint64_t sign = bits >> 63 << 15, fraction = bits & ((UINT64_C(1) << 52) - 1);
    int exponent = (int)(bits >> 52 & 0x7ff) - 1023 + bias;
    int drop = 52 - fraction_bits;              /* bits that do not fit */
    if (exponent == 1024 + bias && fraction)
        return (uint16_t)(sign | infinity | UINT64_C(1) << (fraction_bits - 1) | fraction >> drop);
    if (exponent >= 2 * bias + 1)
        return (uint16_t)(sign | infinity);
    if (exponent <= 0)                          /* subnormal: the exponent stays, the point moves */
        drop = 1 - exponent > 63 - drop ? 63 : drop + 1 - exponent;
    uint64_t significand = fraction | UINT64_C(1) << 52;
    uint64_t kept = significand >> drop, rest = significand & ((UINT64_C(1) << drop) - 1);
    uint64_t half = UINT64_C(1) << (drop - 1);
    kept += rest > half || (rest == half && kept & 1);
    if (exponent > 1)
        kept += (uint64_t)(exponent - 1) << fraction_bits;
    return (uint16_t)(sign | kept);
}

uint16_t convert_to_f16(double number)
{
    return narrow(number, 5, 10);
}

uint16_t convert_to_bf16(double number)
{
    return narrow(number, 8, 7);
}

double convert_from_f16(uint16_t bits)
{
    uint64_t sign = (uint64_t)(bits >> 15) << 63, exponent = bits >> 10 & 0x1f, fraction = bits & 0x3ff;
    if (!exponent)
        return from_bits(sign | bits_of((double)fraction * 0x1p-24));
    exponent = exponent == 0x1f ? 0x7ff : exponent + 1023 - 15;
    return from_bits(sign | exponent << 52 | fraction << 42);
}

static float f32_from_bits(uint32_t bits)
{
    float number;
    memcpy(&number, &bits, sizeof number);
    return number;
}

double convert_from_bf16(uint16_t bits)
{
    return (double)f32_from_bits((uint32_t)bits << 16);
}

static const struct {
    const char *text;
    size_t size;
} stored_info[] = {
    [STORED_F64] = {"F64", 8},
    [STORED_F32] = {"F32", 4},
    [STORED_F16] = {"F16", 2},
    [STORED_BF16] = {"BF16", 2},
};

bool convert_stored(const char *text, enum stored *stored)
{
    for (enum stored i = STORED_F64; i <= STORED_BF16; i++) {
        if (!strcmp(text, stored_info[i].text)) {
            *stored = i;
            return true;
        }
    }
    return false;
}

size_t convert_stored_size(enum stored stored)
{
    return stored_info[stored].size;
}

static inline uint64_t load_64(const unsigned char *from)
{
    uint64_t bits;
    memcpy(&bits, from, sizeof bits);
    return le64toh(bits);
}

static inline uint32_t load_32(const unsigned char *from)
{
    uint32_t bits;
    memcpy(&bits, from, sizeof bits);
    return le32toh(bits);
}

static inline uint16_t load_16(const unsigned char *from)
{
    uint16_t bits;
    memcpy(&bits, from, sizeof bits);
    return le16toh(bits);
}

void convert_load(double *to, const unsigned char *from, size_t count, enum stored stored)
{
    switch (stored) {
    case STORED_F64:
        for (size_t i = 0; i < count; i++)
            to[i] = from_bits(load_64(from + 8 * i));
        break;
    case STORED_F32:
        for (size_t i = 0; i < count; i++)
            to[i] = (double)f32_from_bits(load_32(from + 4 * i));
        break;
    case STORED_F16:
        for (size_t i = 0; i < count; i++)
            to[i] = convert_from_f16(load_16(from + 2 * i));
        break;
    case STORED_BF16:
        for (size_t i = 0; i < count; i++)
            to[i] = convert_from_bf16(load_16(from + 2 * i));
        break;
    }
}

static inline void store_f32(unsigned char *to, double number)
{
    float rounded = (float)number;
    uint32_t bits;
    memcpy(&bits, &rounded, sizeof bits);
    bits = htole32(bits);
    memcpy(to, &bits, sizeof bits);
}

static inline void store_16(unsigned char *to, uint16_t bits)
{
    bits = htole16(bits);
    memcpy(to, &bits, sizeof bits);
}

void convert_store(unsigned char *to, const double *from, size_t count, enum dtype dtype)
{
    switch (dtype) {
    case DTYPE_F32:
    case DTYPE_TF32:
        for (size_t i = 0; i < count; i++)
            store_f32(to + 4 * i, from[i]);
        break;
    case DTYPE_F16:
        for (size_t i = 0; i < count; i++)
            store_16(to + 2 * i, convert_to_f16(from[i]));
        break;
    case DTYPE_BF16:
        for (size_t i = 0; i < count; i++)
            store_16(to + 2 * i, convert_to_bf16(from[i]));
        break;
    }
}

void convert_store_f64(unsigned char *to, const double *from, size_t count)
{
    for (size_t i = 0; i < count; i++)
        bytes_store(to + 8 * i, bits_of(from[i]), 8);
}

static inline double round_to(double number, enum dtype dtype)
{
    switch (dtype) {
    case DTYPE_F16:
        return convert_from_f16(convert_to_f16(number));
    case DTYPE_BF16:
        return convert_from_bf16(convert_to_bf16(number));
    case DTYPE_F32:
    case DTYPE_TF32:
        break;
    }
    return (double)(float)number;
}

/* Inlined with a constant type, so that the loop holds no switch. */
static inline size_t round_all(double *numbers, size_t count, enum dtype dtype)
{
    size_t overflows = 0;
    for (size_t i = 0; i < count; i++) {
        double rounded = round_to(numbers[i], dtype);
        overflows += isinf(rounded) && !isinf(numbers[i]);
        numbers[i] = rounded;
    }
    return overflows;
}

size_t convert_round(double *numbers, size_t count, enum dtype dtype)
{
    switch (dtype) {
    case DTYPE_F16:
        return round_all(numbers, count, DTYPE_F16);
    case DTYPE_BF16:
        return round_all(numbers, count, DTYPE_BF16);
    case DTYPE_F32:
    case DTYPE_TF32:
        break;
    }
    return round_all(numbers, count, DTYPE_F32);
}
