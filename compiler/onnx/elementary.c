/* Series, in numbers of twice a double's length, made of what IEEE 754 rounds in one way only: + - * / and fma. */
#include "elementary.h"

#include <math.h>
#include <stdbool.h>

/* high + low, where high is the double nearest to the sum. */
struct twofold {
    double high, low;
};

static const struct twofold ln2 = {0x1.62e42fefa39efp-1, 0x1.abc9e3b39803fp-56};
static const struct twofold two_over_sqrt_pi = {0x1.20dd750429b6dp+0, 0x1.1ae3a914fed80p-56};

/* |a| >= |b|, or a is 0 */
static struct twofold tidy(double a, double b)
{
    double sum = a + b;
    return (struct twofold){sum, b - (sum - a)};
}

static struct twofold sum_of(double a, double b)
{
    double sum = a + b, part = sum - a;
    return (struct twofold){sum, (a - (sum - part)) + (b - part)};
}

static struct twofold product_of(double a, double b)
{
    double product = a * b;
    return (struct twofold){product, fma(a, b, -product)};
}

static struct twofold add(struct twofold a, struct twofold b)
{
    struct twofold high = sum_of(a.high, b.high), low = sum_of(a.low, b.low);
    high = tidy(high.high, high.low + low.high);
    return tidy(high.high, high.low + low.low);
}

static struct twofold multiply(struct twofold a, struct twofold b)
{
    struct twofold product = product_of(a.high, b.high);
    return tidy(product.high, product.low + (a.high * b.low + a.low * b.high));
}

static struct twofold times(struct twofold a, double b)
{
    struct twofold product = product_of(a.high, b);
    return tidy(product.high, product.low + a.low * b);
}

static struct twofold divide(struct twofold a, struct twofold b)
{
    double first = a.high / b.high;
    struct twofold rest = add(a, times(b, -first));
    double second = rest.high / b.high;
    rest = add(rest, times(b, -second));
    return add(tidy(first, second), (struct twofold){rest.high / b.high, 0});
}

static struct twofold one_of(double number)
{
    return (struct twofold){number, 0};
}

static struct twofold scaled(struct twofold a, int power)
{
    return (struct twofold){ldexp(a.high, power), ldexp(a.low, power)};
}

/* e^x - 1 of a small x: of x / 256 by its series, then e^2x - 1 = (e^x - 1) (e^x - 1 + 2) eight times. */
static struct twofold less_one(struct twofold x)
{
    enum { TERMS = 10, HALVINGS = 8 };
    struct twofold part = scaled(x, -HALVINGS), sum = one_of(1);
    for (int n = TERMS; n > 1; n--)
        sum = add(one_of(1), divide(multiply(sum, part), one_of(n)));
    sum = multiply(sum, part);
    for (int i = 0; i < HALVINGS; i++)
        sum = multiply(sum, add(sum, one_of(2)));
    return sum;
}

/* e^x is 1 + the result, times 2^power. */
static struct twofold reduced_exp(struct twofold x, int *power)
{
    double multiple = floor(x.high / ln2.high + 0.5);
    *power = (int)multiple;
    return less_one(add(x, times(ln2, -multiple)));
}

static double exp_of(struct twofold x)
{
    int power;
    if (x.high > 710)
        return INFINITY;
    if (x.high < -746)
        return 0;
    struct twofold fraction = add(one_of(1), reduced_exp(x, &power));
    return ldexp(fraction.high, power);
}

double elementary_exp(double x)
{
    return isnan(x) ? x : exp_of(one_of(x));
}

/* Of a finite x > 0: 2^k m, and log m = 2 (s + s^3 / 3 + s^5 / 5 + ...) with s = (m - 1) / (m + 1). */
static struct twofold log_of(double x)
{
    enum { TERMS = 22 };
    int power;
    double m = frexp(x, &power);
    if (m < 0.7071) {
        m *= 2;
        power--;
    }
    const struct twofold s = divide(one_of(m - 1), sum_of(m, 1)), square = multiply(s, s);
    struct twofold sum = {0};
    for (int n = TERMS; n-- > 0;)
        sum = add(multiply(sum, square), divide(one_of(1), one_of(2 * n + 1)));
    return add(times(ln2, power), scaled(multiply(s, sum), 1));
}

double elementary_log(double x)
{
    if (x == 0)
        return -INFINITY;
    if (!(x > 0))
        return NAN;
    return isinf(x) ? x : log_of(x).high;
}

/* (e^2x - 1) / (e^2x + 1) */
double elementary_tanh(double x)
{
    int power;
    if (isnan(x) || fabs(x) < 0x1p-60)
        return x;
    if (fabs(x) > 22)
        return copysign(1, x);
    struct twofold less = reduced_exp(one_of(2 * fabs(x)), &power);
    if (power)
        less = add(scaled(add(less, one_of(1)), power), one_of(-1));
    return copysign(divide(less, add(less, one_of(2))).high, x);
}

/* 2 / sqrt(pi) x e^-x^2 (1 + 2x^2 / 3 + (2x^2)^2 / (3 5) + ...), which has no differences */
double elementary_erf(double x)
{
    int power;
    if (isnan(x) || x == 0)
        return x;
    if (fabs(x) > 6)
        return copysign(1, x);
    const struct twofold square = product_of(x, x), minus = {-square.high, -square.low};
    struct twofold term = one_of(1), sum = term;
    for (int n = 1; term.high > 0x1p-110 * sum.high; n++) {
        term = divide(multiply(term, scaled(square, 1)), one_of(2 * n + 1));
        sum = add(sum, term);
    }
    struct twofold factor = times(two_over_sqrt_pi, x);
    struct twofold fraction = multiply(sum, add(one_of(1), reduced_exp(minus, &power)));
    return multiply(factor, scaled(fraction, power)).high;
}

/* Of a base or an exponent that is no other number than these. */
static double pow_of_limits(double base, double exponent, bool odd)
{
    if (isinf(exponent))
        return fabs(base) == 1 ? 1 : (fabs(base) > 1) == (exponent > 0) ? INFINITY : 0;
    double result = (base == 0) == (exponent > 0) ? 0 : INFINITY;
    return odd ? copysign(result, base) : result;
}

double elementary_pow(double base, double exponent)
{
    const bool whole = floor(exponent) == exponent, odd = whole && fabs(fmod(exponent, 2)) == 1;
    if (exponent == 0 || base == 1)
        return 1;
    if (isnan(base) || isnan(exponent))
        return NAN;
    if (base == 0 || isinf(base) || isinf(exponent))
        return pow_of_limits(base, exponent, odd);
    if (base < 0 && !whole)
        return NAN;
    struct twofold logarithm = log_of(fabs(base));
    double about = logarithm.high * exponent;
    double result = about > 710 ? INFINITY : about < -746 ? 0 : exp_of(times(logarithm, exponent));
    return base < 0 && odd ? -result : result;
}
