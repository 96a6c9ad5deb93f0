"""The coefficients of runtime/mlp_math.h: python3 mlp_math.py, which needs mpmath.

Each pair is the P/Q (P alone: a polynomial) whose largest relative error, as the weight counts it, is least on an
interval. Coefficients are then rounded to floats, and moved by single steps while that helps."""
import struct

from mpmath import cos, erfc, exp, expm1, log1p, lu_solve, matrix, mp, mpf, pi, sqrt

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
    show("normal tail(a) = exp(-a^2 / 2) P(a) / Q(a)", tail, lambda a: 1 / tail(a), between(mpf(0), mpf("14.5")), 4, 5)


main()
