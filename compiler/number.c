/* Arithmetic that says where it would not be exact. */
#include "number.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

double number_real(struct number number)
{
    return number.real ? number.value : (double)number.integer;
}

bool number_whole(struct number number, int64_t *integer)
{
    if (!number.real) {
        *integer = number.integer;
        return true;
    }
    if (number.value != floor(number.value) || fabs(number.value) >= 0x1p63)
        return false;
    *integer = (int64_t)number.value;
    return true;
}

static enum number_result divide_integers(int64_t a, int64_t b, int64_t *result)
{
    if (b == 0)
        return NUMBER_DIVIDES_BY_ZERO;
    if (b == -1)                    /* INT64_MIN / -1 traps */
        return CHECKED_MUL(a, INT64_C(-1), result) ? NUMBER_OK : NUMBER_OVERFLOWS;
    if (a % b)
        return NUMBER_DIVIDES_INEXACTLY;
    *result = a / b;
    return NUMBER_OK;
}

static enum number_result apply_integers(char op, int64_t a, int64_t b, int64_t *result)
{
    switch (op) {
    case '+':
        return CHECKED_ADD(a, b, result) ? NUMBER_OK : NUMBER_OVERFLOWS;
    case '-':
        return __builtin_sub_overflow(a, b, result) ? NUMBER_OVERFLOWS : NUMBER_OK;
    case '*':
        return CHECKED_MUL(a, b, result) ? NUMBER_OK : NUMBER_OVERFLOWS;
    default:
        return divide_integers(a, b, result);
    }
}

static double apply_reals(char op, double a, double b)
{
    switch (op) {
    case '+':
        return a + b;
    case '-':
        return a - b;
    case '*':
        return a * b;
    default:
        return a / b;
    }
}

enum number_result number_apply(char op, struct number a, struct number b, struct number *result)
{
    *result = (struct number){.real = a.real || b.real};
    if (!result->real)
        return apply_integers(op, a.integer, b.integer, &result->integer);
    if (op == '/' && number_real(b) == 0)
        return NUMBER_DIVIDES_BY_ZERO;
    result->value = apply_reals(op, number_real(a), number_real(b));
    return isfinite(result->value) ? NUMBER_OK : NUMBER_OVERFLOWS;
}

enum number_result number_negate(struct number a, struct number *result)
{
    *result = a;
    if (a.real) {
        result->value = -a.value;
        return NUMBER_OK;
    }
    return __builtin_sub_overflow(INT64_C(0), a.integer, &result->integer) ? NUMBER_OVERFLOWS : NUMBER_OK;
}

/* 1e-05 -> 1e-5, 1e+22 -> 1e22 */
static void shorten_exponent(char *text)
{
    char *from = strchr(text, 'e');
    if (!from)
        return;
    char *to = ++from;
    if (*from == '-')
        to = ++from;
    from += strspn(from, "+0");
    memmove(to, from, strlen(from) + 1);
}

static const char *real_text(struct arena *arena, double value)
{
    char text[40];
    int digits = 1;
    while (snprintf(text, sizeof text, "%.*e", digits - 1, value), strtod(text, NULL) != value)
        digits++;
    int exponent = (int)strtol(strchr(text, 'e') + 1, NULL, 10);
    if (exponent >= -4 && exponent < 17)
        snprintf(text, sizeof text, "%.*f", digits - 1 > exponent ? digits - 1 - exponent : 0, value);
    else
        shorten_exponent(text);
    return arena_copy(arena, text, strlen(text));
}

const char *number_text(struct arena *arena, struct number number)
{
    if (number.real)
        return real_text(arena, number.value);
    return arena_format(arena, "%" PRId64, number.integer);
}
