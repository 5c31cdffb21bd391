"""Statistics against scipy, statsmodels and coverage by simulation.

Follows `skyhop.stats`.
Differs from its own formulas: the numbers are other libraries', or counts of intervals that held.
Leaves out simulations of networks.
"""

import numpy as np
import pytest

stats = pytest.importorskip("scipy.stats")
from skyhop.stats import compare, jain, max_min_share, mean_interval, median_interval  # noqa: E402

SAMPLE = np.array([3.1, 4.7, 2.2, 5.9, 4.4, 3.8, 6.1, 2.9])


def test_intervals_are_those_of_other_libraries():
    ours = mean_interval(SAMPLE, 0.9)
    low, high = stats.t.interval(0.9, len(SAMPLE) - 1, SAMPLE.mean(), stats.sem(SAMPLE))
    assert (ours.low, ours.high) == pytest.approx((low, high), rel=1e-12)
    weightstats = pytest.importorskip("statsmodels.stats.weightstats")
    theirs = weightstats.DescrStatsW(SAMPLE).tconfint_mean(alpha=0.1)
    assert (ours.low, ours.high) == pytest.approx(theirs, rel=1e-12)
    other = SAMPLE * 1.1 + np.array([0.1, -0.2, 0.3, 0.0, -0.1, 0.2, 0.0, 0.1])
    paired = compare(SAMPLE, other)
    theirs = stats.ttest_rel(other, SAMPLE).confidence_interval(0.95)
    assert (paired.low, paired.high) == pytest.approx((theirs.low, theirs.high), rel=1e-12)
    median = median_interval(SAMPLE)
    assert median.value == np.median(SAMPLE) and 2.2 <= median.low < median.value < median.high <= 6.1
    assert median == median_interval(SAMPLE), "the seed makes it repeatable"


def test_ninety_five_percent_is_ninety_five_percent():
    rng = np.random.default_rng(7)
    held = 0
    for _ in range(2000):
        interval = mean_interval(rng.exponential(1.0, 40))
        held += interval.low <= 1.0 <= interval.high
    assert 0.925 <= held / 2000 <= 0.965, "skewed samples cover a little less"
    held = 0
    for _ in range(2000):
        interval = mean_interval(rng.normal(10.0, 3.0, 6))
        held += interval.low <= 10.0 <= interval.high
    assert 0.93 <= held / 2000 <= 0.97


def test_common_random_numbers_narrow_a_comparison():
    rng = np.random.default_rng(3)
    noise = rng.normal(0, 5, 30)
    a, b = 100 + noise, 101 + noise + rng.normal(0, 0.5, 30)
    paired = compare(a, b)
    assert paired.low > 0.5 and paired.high < 1.5
    apart = mean_interval(b), mean_interval(a)
    assert apart[0].low - apart[1].high < 0, "two separate intervals tell nothing"


def test_fairness():
    assert jain([5, 5, 5]) == pytest.approx(1)
    assert jain([1, 0, 0, 0]) == pytest.approx(0.25)
    # HT table 4.1, standard TCP: 0.807 of the printed throughputs.
    published = [68.1, 116.2, 156.6, 217.1]
    assert 0.8 < jain(published) < 0.9
    # Bertsekas and Gallager's example: one long flow over two links, two short ones.
    shares = max_min_share({"a": 1.0, "b": 2.0}, {"long": ["a", "b"], "first": ["a"], "second": ["b"]})
    assert shares == pytest.approx({"long": 0.5, "first": 0.5, "second": 1.5})


def test_doubtful_input():
    with pytest.raises(ValueError, match="1 values; expected at least 2"):
        mean_interval([1.0])
    with pytest.raises(ValueError, match="finite"):
        mean_interval([1.0, float("nan")])
    with pytest.raises(ValueError, match="95 is not between 0 and 1"):
        mean_interval([1.0, 2.0], 95)
    with pytest.raises(ValueError, match="do not make pairs"):
        compare([1.0, 2.0], [1.0, 2.0, 3.0])
    with pytest.raises(ValueError, match="unknown link c"):
        max_min_share({"a": 1.0}, {"f": ["c"]})
