/* Numbers of the language while compiling: exact 64-bit integers, or doubles. */
#ifndef MLPC_NUMBER_H
#define MLPC_NUMBER_H

#include <stdbool.h>
#include <stdint.h>

#include "arena.h"

struct number {
    bool real;
    int64_t integer;                /* unless real */
    double value;                   /* if real; always finite */
};

enum number_result { NUMBER_OK, NUMBER_OVERFLOWS, NUMBER_DIVIDES_BY_ZERO, NUMBER_DIVIDES_INEXACTLY };

/* a op b, where op is one of + - * / and both operands are integers or the result is a double. */
enum number_result number_apply(char op, struct number a, struct number b, struct number *result);
enum number_result number_negate(struct number a, struct number *result);

double number_real(struct number number);
/* An integer, or a double that is one. */
bool number_whole(struct number number, int64_t *integer);

/* An integer in decimal, a double with the fewest digits that read back: 0.1, 2, 1e-5. */
const char *number_text(struct arena *arena, struct number number);

#endif
