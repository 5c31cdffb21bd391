"""Statistics over several runs: intervals, medians, fairness, utilisation, paired comparisons.

Follows HT 4.1.2 for means over seeds, Jain's index (HT 4.1.2) and max-min fairness (Bertsekas and Gallager 6.5.2).
Differs from scipy, which does the work: arguments are columns of a sweep's table, and results are named.
Leaves out plots, which are in `skyhop.plot`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Interval:
    """An estimate and the interval that holds the true value with the stated confidence."""

    value: float
    low: float
    high: float
    count: int
    confidence: float

    def __str__(self) -> str:
        return f"{self.value:.4g} ({self.low:.4g} to {self.high:.4g}, {self.confidence:.0%} of {self.count})"


def _numbers(x: Sequence[float] | np.ndarray, least: int) -> np.ndarray:
    values = np.asarray(x, dtype=float).ravel()
    if not np.isfinite(values).all():
        raise ValueError("not all values are finite numbers; leave out runs that failed")
    if len(values) < least:
        raise ValueError(f"{len(values)} values; expected at least {least}")
    return values


def _share(confidence: float) -> float:
    if not 0 < confidence < 1:
        raise ValueError(f"confidence of {confidence} is not between 0 and 1, such as 0.95")
    return confidence


def _scipy():
    try:
        import scipy.stats
    except ImportError as e:
        raise ImportError("scipy is not installed; pip install skyhop[stats]") from e
    return scipy.stats


def mean_interval(x: Sequence[float] | np.ndarray, confidence: float = 0.95) -> Interval:
    """Mean of independent runs with Student's t interval."""
    values, confidence = _numbers(x, 2), _share(confidence)
    mean = float(values.mean())
    of_mean = float(values.std(ddof=1)) / len(values) ** 0.5
    half = float(_scipy().t.ppf(0.5 + confidence / 2, len(values) - 1)) * of_mean
    return Interval(mean, mean - half, mean + half, len(values), confidence)


def median_interval(
    x: Sequence[float] | np.ndarray, confidence: float = 0.95, *, resamples: int = 9999, seed: int = 1
) -> Interval:
    """Median with a bootstrap interval (percentiles of `resamples` medians; the seed makes it repeatable)."""
    values, confidence = _numbers(x, 2), _share(confidence)
    found = _scipy().bootstrap(
        (values,), np.median, confidence_level=confidence, n_resamples=resamples, method="percentile", rng=np.random.default_rng(seed)
    )
    low, high = found.confidence_interval
    return Interval(float(np.median(values)), float(low), float(high), len(values), confidence)


def compare(
    a: Sequence[float] | np.ndarray, b: Sequence[float] | np.ndarray, confidence: float = 0.95
) -> Interval:
    """Mean difference of `b` from `a` with its interval, for pairs run with the same seed.

    Common random numbers make it narrower than that of two separate means.
    """
    first, second = _numbers(a, 2), _numbers(b, 2)
    if len(first) != len(second):
        raise ValueError(f"{len(first)} and {len(second)} values do not make pairs")
    return mean_interval(second - first, confidence)


def compare_settings(table: Any, metric: str, column: str, a: Any, b: Any, confidence: float = 0.95) -> Interval:
    """Mean difference of `metric` between `column` at `b` and at `a`, run by run of a sweep's table, with its interval.

    A pair is two runs with the same seed and the same other varied values, which are the columns before `seed`. Failed runs,
    and their partners, are left out. Raises `ValueError` if there are fewer than two pairs, as with `common_seeds = false`.
    """
    names = list(table.columns)
    for name in (metric, column, "seed"):
        if name not in names:
            raise KeyError(f"no column {name!r}; there are {', '.join(names)}")
    varied = [name for name in names[: names.index("seed")] if name not in ("point", column)]
    if column == "seed" or column in names[names.index("seed") :]:
        raise ValueError(
            f"{column} was not varied; there are {', '.join([name for name in names[: names.index('seed')] if name != 'point'])}"
        )
    setting, values = np.asarray(table[column]), np.asarray(table[metric], dtype=float)
    others = list(zip(np.asarray(table["seed"]).tolist(), *(np.asarray(table[name]).tolist() for name in varied)))
    found: list[dict[tuple, float]] = []
    for wanted in (a, b):
        here = {key: value for key, value, s in zip(others, values, setting) if s == wanted and np.isfinite(value)}
        if not here:
            raise ValueError(f"{column} is never {wanted!r}; it is {', '.join(map(repr, dict.fromkeys(setting.tolist())))}")
        found.append(here)
    pairs = [key for key in found[0] if key in found[1]]
    if len(pairs) < 2:
        raise ValueError(f"{len(pairs)} pairs with the same seed; expected at least 2, and `common_seeds` makes them")
    return compare([found[0][key] for key in pairs], [found[1][key] for key in pairs], confidence)


def utilisation(
    payload_bytes: float | np.ndarray,
    rate_bps: float | np.ndarray,
    seconds: float | np.ndarray,
    *,
    mss: int | None = None,
    header: int = 40,
) -> Any:
    """Share of a link's capacity that a transfer used, 0 to 1 (TH 4.1: with the headers of its packets, if `mss` is given).

    `payload_bytes` were delivered in `seconds` over a link of `rate_bps`; arrays, such as a table's columns, give an array.
    """
    payload, rate, time = (np.asarray(v, dtype=float) for v in (payload_bytes, rate_bps, seconds))
    if (payload < 0).any() or (rate <= 0).any() or (time <= 0).any() or (mss is not None and mss <= 0) or header < 0:
        raise ValueError("payload is not negative, and rate, time and mss are above 0")
    wire = payload * (1 + header / mss) if mss is not None else payload
    share = wire * 8 / (rate * time)
    return float(share) if share.ndim == 0 else share


def jain(x: Sequence[float] | np.ndarray) -> float:
    """Jain's fairness index of shares: 1 if all are equal, 1/n if one has all."""
    values = _numbers(x, 1)
    if (values < 0).any():
        raise ValueError("shares are not negative")
    squares = float((values**2).sum())
    return float(values.sum()) ** 2 / (len(values) * squares) if squares > 0 else 1.0


def max_min_share(capacity: Mapping[str, float], paths: Mapping[str, Sequence[str]]) -> dict[str, float]:
    """Max-min fair rates of flows, by name, over links of given capacities. A flow's path lists its links."""
    left = {link: float(c) for link, c in capacity.items()}
    for flow, path in paths.items():
        unknown = [link for link in path if link not in left]
        if unknown or not path:
            raise ValueError(f"flow {flow}: " + (f"unknown link {unknown[0]}" if unknown else "an empty path"))
    rates: dict[str, float] = {}
    while len(rates) < len(paths):
        waiting = {flow: path for flow, path in paths.items() if flow not in rates}
        users = {link: [f for f, path in waiting.items() if link in path] for link in left}
        share, narrowest = min((left[link] / len(flows), link) for link, flows in users.items() if flows)
        for flow in users[narrowest]:
            rates[flow] = share
            for link in dict.fromkeys(waiting[flow]):
                left[link] = max(left[link] - share, 0.0)
    return rates
