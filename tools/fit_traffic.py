#!/usr/bin/env python3
"""Fits distributions to Mah's empirical web model and prints how far each fit is from the data.

Follows HT 3.2.1, whose web traffic is drawn from these files (value, count, cumulative probability).
Differs: skyhop ships fits and not the files; the rows marked `*` are the parameters in `crates/traffic/src/mah.rs`.
Leaves out choosing by itself. Needs numpy and scipy:

    tools/fit_traffic.py ../shared/data/http-mah
"""

import pathlib
import sys

import numpy
from scipy import optimize, stats

# The fitted files; true where values are whole numbers, rounded up from the fit.
FILES = [
    ("HttpRequestLength", False),
    ("HttpReplyLength", False),
    ("HttpThinkTime", False),
    ("HttpConnections", True),
    ("HttpServerStay", True),
]

CHOSEN = [
    ("HttpRequestLength", "4 lognormals"),
    ("HttpReplyLength", "2 lognormals"),
    ("HttpThinkTime", "3 lognormals"),
    ("HttpConnections", "lognormal"),
    ("HttpServerStay", "weibull"),
]


def read(path):
    rows = [line.split() for line in path.read_text().splitlines() if line.strip()]
    values = numpy.array([float(r[0]) for r in rows])
    counts = numpy.array([float(r[1]) for r in rows])
    # Transfers of no length do not exist: 0 bytes in the files become one.
    return numpy.maximum(values, 1.0) if values[0] == 0 else values, counts


def lognormals(parameters):
    """Mixture of lognormals from [(weight, median, sigma), ...]."""

    def cdf(x):
        x = numpy.maximum(x, 1e-300)
        return sum(w * stats.norm.cdf(numpy.log(x / m) / s) for w, m, s in parameters)

    return cdf


def expectation_maximisation(values, counts, start):
    """Weighted maximum likelihood of a mixture of lognormals."""
    logs = numpy.log(values)
    share = counts / counts.sum()
    weights, means, sigmas = (numpy.array(column) for column in zip(*start))
    means = numpy.log(means)
    for _ in range(3000):
        density = numpy.array(
            [w * stats.norm.pdf(logs, m, s) for w, m, s in zip(weights, means, sigmas)]
        )
        belongs = density / numpy.maximum(density.sum(axis=0), 1e-300) * share
        weights = belongs.sum(axis=1)
        means = (belongs * logs).sum(axis=1) / weights
        sigmas = numpy.sqrt((belongs * (logs - means[:, None]) ** 2).sum(axis=1) / weights)
        sigmas = numpy.maximum(sigmas, 0.02)
    order = numpy.argsort(means)
    return [(weights[i], float(numpy.exp(means[i])), sigmas[i]) for i in order]


def whole(values, counts, cdf_of, start):
    """Maximum likelihood of a distribution with draws rounded up to whole numbers."""

    def loss(parameters):
        cdf = cdf_of(*parameters)
        p = cdf(values) - cdf(values - 1)
        return -(counts * numpy.log(numpy.maximum(p, 1e-12))).sum()

    return optimize.minimize(loss, start, method="Nelder-Mead", options={"maxiter": 20000, "xatol": 1e-7}).x


def distance(values, counts, cdf, rounded):
    """Kolmogorov and Smirnov: the largest difference of the two cumulative distributions."""
    after = numpy.cumsum(counts) / counts.sum()
    here = cdf(values)
    if rounded:
        return numpy.abs(here - after).max()
    before = numpy.concatenate([[0], after[:-1]])
    return max(numpy.abs(here - after).max(), numpy.abs(here - before).max())


def median_of(cdf, values):
    low, high = 1e-6, values.max() * 10
    for _ in range(200):
        middle = numpy.sqrt(low * high)
        low, high = (middle, high) if cdf(numpy.array([middle]))[0] < 0.5 else (low, middle)
    return high


def mean_up_to(cdf, most, rounded):
    """Mean of draws truncated at the largest value of the data."""
    if rounded:
        return (1 - cdf(numpy.arange(most))).sum()
    x = numpy.concatenate([[0], numpy.geomspace(1e-6, most, 200_001)])
    return numpy.trapezoid(1 - cdf(x), x)


def candidates(values, counts, rounded):
    share = counts / counts.sum()
    logs = numpy.log(values)
    mu = (share * logs).sum()
    sigma = numpy.sqrt((share * (logs - mu) ** 2).sum())
    if rounded:
        m, s = whole(values, counts, lambda m, s: lognormals([(1, abs(m), abs(s))]), [2.0, 1.0])
        m, s = round(m, 4), round(s, 4)
        yield "lognormal", f"median {m}, sigma {s}", lognormals([(1, m, s)])

        def weibull(scale, shape):
            return lambda x: 1 - numpy.exp(-((numpy.maximum(x, 0) / abs(scale)) ** abs(shape)))

        scale, shape = whole(values, counts, weibull, [2.0, 0.7])
        scale, shape = round(scale, 4), round(shape, 4)
        yield "weibull", f"scale {scale}, shape {shape}", weibull(scale, shape)

        def lomax(scale, shape):
            return lambda x: 1 - (1 + numpy.maximum(x, 0) / abs(scale)) ** -abs(shape)

        scale, shape = whole(values, counts, lomax, [2.0, 2.0])
        yield "pareto (from 0)", f"scale {scale:.4f}, shape {shape:.4f}", lomax(scale, shape)
        return
    yield "lognormal", f"median {numpy.exp(mu):.5g}, sigma {sigma:.4f}", lognormals([(1, numpy.exp(mu), sigma)])

    def cost(p):
        return -(share * stats.weibull_min.logpdf(values, numpy.exp(p[0]), scale=numpy.exp(p[1]))).sum()

    shape, scale = numpy.exp(optimize.minimize(cost, [numpy.log(0.5), mu], method="Nelder-Mead").x)
    fitted = stats.weibull_min(shape, scale=scale)
    yield "weibull", f"scale {scale:.5g}, shape {shape:.4f}", fitted.cdf
    least, most = values.min(), values.max()

    def pareto(a):
        return lambda x: numpy.clip((1 - (least / numpy.maximum(x, least)) ** a) / (1 - (least / most) ** a), 0, 1)

    best = optimize.minimize_scalar(
        lambda a: -(share * (numpy.log(a) + a * numpy.log(least) - (a + 1) * logs - numpy.log(1 - (least / most) ** a))).sum(),
        bounds=(0.01, 5), method="bounded",
    ).x
    yield "pareto, bounded", f"least {least:.5g}, shape {best:.4f}, most {most:.6g}", pareto(best)
    for count in (2, 3, 4):
        middles = numpy.interp((numpy.arange(count) + 0.5) / count, numpy.cumsum(share), values)
        start = [(1 / count, m * (1 + 0.01 * i), sigma / count) for i, m in enumerate(middles)]
        fit = expectation_maximisation(values, counts, start)
        # The crate has four digits, so the rounded parameters are measured.
        fit = [(round(w, 4), float(f"{m:.4g}"), round(s, 4)) for w, m, s in fit]
        total = sum(w for w, _, _ in fit[:-1])
        fit[-1] = (round(1 - total, 4), *fit[-1][1:])
        text = ", ".join(f"({w:.4f}, {m:.5g}, {s:.4f})" for w, m, s in fit)
        yield f"{count} lognormals", text, lognormals(fit)


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    for name, rounded in FILES:
        values, counts = read(pathlib.Path(sys.argv[1]) / f"{name}.cdf")
        mean = (values * counts).sum() / counts.sum()
        median = values[numpy.searchsorted(numpy.cumsum(counts) / counts.sum(), 0.5)]
        print(f"{name}: {len(values)} values, mean {mean:.5g}, median {median:.5g}, largest {values.max():.6g}")
        for kind, text, cdf in candidates(values, counts, rounded):
            ks = distance(values, counts, cdf, rounded)
            fitted_mean = mean_up_to(cdf, values.max(), rounded)
            middle = median_of(cdf, values)
            middle = numpy.ceil(middle) if rounded else middle
            chosen = "*" if (name, kind) in CHOSEN else " "
            print(f"{chosen} KS {ks:.4f}  mean {fitted_mean:10.5g}  median {middle:8.5g}  {kind}: {text}")


if __name__ == "__main__":
    main()
