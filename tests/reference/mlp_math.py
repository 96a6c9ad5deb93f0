"""The coefficients of runtime/mlp_math.h: python3 mlp_math.py, which needs mpmath, and NumPy for tanh.

Each pair is the P/Q (P alone: a polynomial) whose largest relative error, as the weight counts it, is least on an
interval. Coefficients are then rounded to floats, and moved by single steps while that helps."""
import random
import struct

import numpy
from mpmath import cos, erfc, exp, expm1, log1p, lu_solve, matrix, mp, mpf, pi, sqrt, tanh

mp.dps = 50


def horner(coefficients, x):
    y = mpf(0)
    for c in reversed(coefficients):
        y = y * x + c
    return y


def solve(xs, values, scales, n, d):
    """P and Q of the least sum of (scale (P - value Q))^2, Q(0) = 1."""
    a, b = matrix(n + d + 1), matrix(n + d + 1, 1)
    for x, v, s in zip(xs, values, scales):
        row = [s * x ** i for i in range(n + 1)] + [-s * v * x ** i for i in range(1, d + 1)]
        for i, left in enumerate(row):
            b[i] += left * s * v
            for j, right in enumerate(row):
                a[i, j] += left * right
    solution = lu_solve(a, b)
    return list(solution[:n + 1]), [mpf(1)] + list(solution[n + 1:])


def fit(f, weight, place, n, d):
    """P of degree n over Q of degree d; place(u) takes 0 .. 1 to the interval. Least squares, each time divided by the
    last Q, with more weight where the last error was large: what that tends to is the least largest error."""
    points = 16 * (n + d + 2)
    xs = [place((1 - cos(pi * i / points)) / 2) for i in range(points + 1)]
    values, weights = [f(x) for x in xs], [weight(x) for x in xs]
    importance, q, best = [mpf(1)] * len(xs), [mpf(1)], (mpf("inf"), None, None)
    for _ in range(40):
        scales = [w * sqrt(i) / horner(q, x) for x, w, i in zip(xs, weights, importance)]
        p, q = solve(xs, values, scales, n, d)
        errors = [abs(w * (horner(p, x) / horner(q, x) - v)) for x, v, w in zip(xs, values, weights)]
        best = min(best, (max(errors), p, q))
        importance = [i * e / max(errors) + mpf("1e-30") for i, e in zip(importance, errors)]
    return best


def to_float(x):
    return struct.unpack("f", struct.pack("f", x))[0]


def step(x, by):
    return struct.unpack("f", struct.pack("i", struct.unpack("i", struct.pack("f", x))[0] + by))[0]


def round_all(f, weight, place, p, q):
    """In double, which is exact enough to compare floats."""
    xs = [place(mpf(i) / 600) for i in range(601)]
    table = [(float(x), float(f(x)), float(weight(x))) for x in xs]
    both = [to_float(c) for c in p + q]

    def error():
        largest = 0.0
        for x, v, w in table:
            up = down = 0.0
            for c in reversed(both[:len(p)]):
                up = up * x + c
            for c in reversed(both[len(p):]):
                down = down * x + c
            largest = max(largest, abs(w * (up / down - v)))
        return largest

    best, moved = error(), True
    while moved:
        moved = False
        for i in range(len(both)):
            for by in (1, -1, 2, -2, 5, -5, 20, -20):
                old = both[i]
                both[i] = step(old, by) if i != len(p) else old
                new = error()
                if new < best * 0.999:
                    best, moved = new, True
                else:
                    both[i] = old
    return both[:len(p)], both[len(p):], best


def show(name, f, weight, place, n, d):
    error, p, q = fit(f, weight, place, n, d)
    p, q, rounded = round_all(f, weight, place, p, q)
    print("%s: error %.2g, with floats %.2g" % (name, error, rounded))
    print("    P:", ", ".join("%.9gf" % c for c in p))
    if d:
        print("    Q:", ", ".join("%.9gf" % c for c in q), flush=True)


def half_tanh_weight(s):
    """How much of a relative error of t = tanh(h), h = sqrt(s), is left in tanh(2 h) = 2 t / (1 + t^2): almost nothing
    where t is close to 1. There, something is asked for still, so that 1 + t^2 comes out as 2 t, and 1 as the limit."""
    t = tanh(sqrt(s))
    return max((1 - t * t) / (1 + t * t), mpf("3e-4")) * s * sqrt(s) / t


TANH_LIMIT = numpy.float32(9.3)


def tanh_errors(c, x, y):
    """The largest error of mlp_tanh with these coefficients, as a share of 2 units of the last digit or of 1e-7, the
    larger; without and with FMA. And what it makes of infinity."""
    f = numpy.float32

    def separate(a, b, plus):
        return a * b + plus

    def fused(a, b, plus):      # a product of two floats is exact in double
        return f(numpy.float64(a) * b + plus)

    worst, limit = 0.0, []
    for add in (separate, fused):
        s = x * x
        t = x + x * s * add(add(c[2], s, c[1]), s, c[0]) / add(add(c[4], s, c[3]), s, f(1))
        result = t / add(t * f(0.25), t, f(1))
        error = abs(result - y)
        unit = 2.0 ** (numpy.frexp(y)[1] - 24)
        worst = max(worst, numpy.minimum(error / (2 * unit), error / 1e-7).max(), 2 * float((result > 1).any()))
        limit.append(result[-1])
    return worst, all(value == 1 for value in limit)


def settle_tanh(c):
    """Coefficients nearby whose errors, with all that is rounded on the way, are smaller."""
    x = numpy.concatenate([numpy.linspace(0.4, 3, 300000), numpy.linspace(3, TANH_LIMIT, 100000)]).astype(numpy.float32)
    y = numpy.tanh(x.astype(numpy.float64))
    x[-1], y[-1] = TANH_LIMIT, 1
    draw = random.Random(1)
    c = [numpy.float32(value) for value in c]
    best, _ = tanh_errors(c, x, y)
    for _ in range(400):
        new = list(c)
        for _ in range(draw.randint(1, 3)):
            i = draw.randrange(len(c))
            new[i] = numpy.float32(step(float(new[i]), draw.choice((-1, 1)) * draw.randint(1, 2 if i == 0 else 150)))
        error, ends_in_1 = tanh_errors(new, x, y)
        if error < best and ends_in_1:
            best, c = error, new
    return c, best


def show_tanh():
    """As an expression in x = 2 h, which is less than the limit."""
    f = lambda s: (tanh(sqrt(s)) / sqrt(s) - 1) / s if s > mpf("1e-12") else mpf(-1) / 3 + s * 2 / 15
    weight = lambda s: half_tanh_weight(max(s, mpf("1e-12")))
    place = lambda u: (mpf(float(TANH_LIMIT)) / 2 * u) ** 2
    _, p, q = fit(f, weight, place, 2, 2)
    p, q, error = round_all(f, weight, place, p, q)
    c, share = settle_tanh([p[0] / 4, p[1] / 16, p[2] / 64, q[1] / 4, q[2] / 16])
    print("2 tanh(x / 2) = x + x^3 P(x^2) / Q(x^2): error %.2g; of tanh(x), %.2f of 2 units or 1e-7" % (error, share))
    print("    P:", ", ".join("%.9gf" % value for value in c[:3]))
    print("    Q: 1f,", ", ".join("%.9gf" % value for value in c[3:]), flush=True)


def between(lo, hi):
    return lambda u: lo + (hi - lo) * u


def away_from_zero(f, near):
    return lambda x: f(x) if abs(x) > mpf("1e-8") else near


def main():
    log2 = log1p(mpf(1))
    show("exp(r) = 1 + r + r^2 P(r)", away_from_zero(lambda r: (expm1(r) - r) / r ** 2, mpf(1) / 2),
         lambda r: abs(r) + mpf("1e-6"), between(-log2 / 2 - mpf("1e-4"), log2 / 2 + mpf("1e-4")), 4, 0)
    show("log(1 + f) = f - f^2 / 2 + f^3 P(f)",
         away_from_zero(lambda f: (log1p(f) - f + f ** 2 / 2) / f ** 3, mpf(1) / 3),
         lambda f: f ** 2 + mpf("1e-6"), between(sqrt(mpf(1) / 2) - 1, sqrt(mpf(2)) - 1), 7, 0)
    show("log(1 + t) = t + t^2 P(t)", away_from_zero(lambda t: (log1p(t) - t) / t ** 2, mpf(-1) / 2),
         lambda t: t + mpf("1e-6"), between(mpf(0), mpf(1)), 8, 0)
    tail = lambda a: exp(a ** 2 / 2) * erfc(a / sqrt(mpf(2))) / 2
    show_tanh()
    show("normal tail(a) = exp(-a^2 / 2) P(a) / Q(a)", tail, lambda a: 1 / tail(a), between(mpf(0), mpf("14.5")), 4, 5)


main()
