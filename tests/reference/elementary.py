"""The table of tests/unit/elementary.h: python3 tests/reference/elementary.py >tests/unit/elementary.h. Needs mpmath.

Arguments at random, of the sizes that functions have something to say about, and their values rounded once to double.
"""
import random

from mpmath import erf, exp, fabs, log, mp, mpf, power, tanh

mp.prec = 400
random.seed(1)


def value(x):
    return float(mpf(x)).hex()


def spread(low, high):
    """Of either sign, as often small as large."""
    return random.choice((-1, 1)) * 2 ** random.uniform(low, high)


def single(name, function, arguments):
    for x in arguments:
        print(f"    {{{name}, {value(x)}, 0, {value(function(mpf(x)))}}},")


print("/* Written by tests/reference/elementary.py: functions, their arguments, the doubles nearest to their values. "
      "*/")
single("EXP", exp,
       [spread(-60, 3) for _ in range(30)] + [random.uniform(-700, 700) for _ in range(30)] + [709.75, -708.25])
single("LOG", log, [fabs(mpf(spread(-1000, 1000))) for _ in range(30)] + [1 + spread(-52, -2) for _ in range(30)] +
       [5e-324, 1.7e308, 0.7071, 0.70711, 1.5])
single("TANH", tanh, [spread(-70, 4.5) for _ in range(50)] + [0.17328679513998632, 1e-310, 21.5])
single("ERF", erf, [spread(-70, 2.58) for _ in range(50)] + [5.875, 5.9375])
for x, y in [(abs(spread(-20, 20)), spread(-8, 5)) for _ in range(50)] + [(1 + spread(-40, -30), spread(30, 40))
                                                                        for _ in range(20)] + \
        [(3, 33), (-3, 33), (-2.5, 8), (10, 22), (10, -22), (2, 0.5), (2, -1022), (2, 1023)]:
    print(f"    {{POW, {value(x)}, {value(y)}, {value(power(mpf(x), mpf(y)))}}},")
