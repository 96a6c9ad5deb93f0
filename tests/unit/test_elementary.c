/* Functions of constants, against mathematics to the last bit, and against the C standard at their limits. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "onnx/elementary.h"

enum function { EXP, LOG, TANH, ERF, POW };

static const struct {
    enum function function;
    double x, y, value;
} known[] = {
#include "elementary.h"
};

static double call(enum function function, double x, double y)
{
    switch (function) {
    case EXP:
        return elementary_exp(x);
    case LOG:
        return elementary_log(x);
    case TANH:
        return elementary_tanh(x);
    case ERF:
        return elementary_erf(x);
    case POW:
        break;
    }
    return elementary_pow(x, y);
}

static double of_c(enum function function, double x, double y)
{
    switch (function) {
    case EXP:
        return exp(x);
    case LOG:
        return log(x);
    case TANH:
        return tanh(x);
    case ERF:
        return erf(x);
    case POW:
        break;
    }
    return pow(x, y);
}

static void is_nearest(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        double got = call(known[i].function, known[i].x, known[i].y);
        if (got != known[i].value)
            fail_msg("function %d of %a, %a is %a, not %a", (int)known[i].function, known[i].x, known[i].y, got,
                     known[i].value);
    }
}

/* NaN, signs of zeros, infinities: what C says, which its library follows. */
static void has_limits(void **state)
{
    static const double limits[] = {0, -0.0, 1, -1, 0.5, -0.5, 2, -2, 3, -3, 2.5, -2.5, 0x1p53, -0x1p53, 0x1p53 - 1,
                                    1000, -1000, 1e300, -1e300, 1e-300, INFINITY, -INFINITY, NAN};
    enum { LIMITS = sizeof limits / sizeof *limits };
    (void)state;
    for (int f = EXP; f <= POW; f++) {
        for (size_t i = 0; i < LIMITS * LIMITS; i++) {
            double x = limits[i % LIMITS], y = limits[i / LIMITS];
            double got = call((enum function)f, x, y), wanted = of_c((enum function)f, x, y);
            bool same = isnan(wanted) ? isnan(got) : fabs(got - wanted) <= 0x1p-51 * fabs(wanted) || got == wanted;
            if (!same || (!isnan(got) && !signbit(got) != !signbit(wanted)))
                fail_msg("function %d of %g, %g is %g, not %g", f, x, y, got, wanted);
        }
    }
}

/* The nearest doubles of increasing functions never decrease. */
static void increases(void **state)
{
    (void)state;
    for (int f = EXP; f <= ERF; f++) {
        double before = -INFINITY;
        for (double x = f == LOG ? 0x1p-10 : -23; x < 23; x += 0x1.23p-8) {
            double got = call((enum function)f, x, 0), next = call((enum function)f, nextafter(x, 30), 0);
            if (!(before <= got && got <= next))
                fail_msg("function %d decreases at %a", f, x);
            before = next;
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(is_nearest),
        cmocka_unit_test(has_limits),
        cmocka_unit_test(increases),
    };
    return cmocka_run_group_tests_name("elementary", tests, NULL, NULL);
}
