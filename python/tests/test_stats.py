"""Statistics against scipy, statsmodels and coverage by simulation.

Follows `skyhop.stats`.
Differs from its own formulas: the numbers are other libraries', or counts of intervals that contain the true value.
Leaves out pictures of intervals.
"""

import numpy as np
import pytest

import skyhop

stats = pytest.importorskip("scipy.stats")
from skyhop.stats import (  # noqa: E402
    compare,
    compare_settings,
    jain,
    max_min_share,
    mean_interval,
    median_interval,
    utilisation,
)

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


LOSSY = """\
host = "1999"
duration = "60 s"
[links.satellite]
rate = "2 Mbit/s"
delay = "100 ms"
queue.kind = "drop-tail"
queue.limit = "100 packets"
loss = { kind = "packets", probability = 0.05 }
[[flows]]
name = "bulk"
path = ["a", "satellite", "b"]
traffic = { kind = "bulk" }
[sweep]
seeds = 6000
metrics = ["bulk.goodput_bps"]
[sweep.grid]
"flows.bulk.transport.variant" = ["reno", "sack"]
"""


@pytest.fixture(scope="module")
def lossy(tmp_path_factory):
    """6000 seeds of each of two settings."""
    file = tmp_path_factory.mktemp("lossy") / "lossy.toml"
    file.write_text(LOSSY)
    return skyhop.sweep(file, out=file.parent / "sweep")


def test_intervals_of_simulated_experiments_hold_the_mean_19_times_in_20(lossy):
    reno, sack = (lossy["bulk.goodput_bps"][lossy["flows.bulk.transport.variant"] == v].reshape(2000, 3) for v in ("reno", "sack"))
    assert len(np.unique(reno)) > 50, "seeds differ"
    # 2,000 experiments of three seeds each; the true value is the mean of all 6000 runs. Where the link is the limit, the distribution is
    # skewed and intervals miss their level: 85 % with five seeds of 20 s at 400 kbit/s, 40 ms and 1 % of losses.
    for values in (reno, sack):
        held = sum(i.low <= values.mean() <= i.high for i in map(mean_interval, values))
        print(f"mean: {held / 2000:.4f}")
        assert 0.93 <= held / 2000 <= 0.97
    # The difference of two settings over the same seeds.
    truth = (sack - reno).mean()
    paired = [compare(a, b) for a, b in zip(reno, sack)]
    held = sum(i.low <= truth <= i.high for i in paired)
    print(f"paired difference: {held / 2000:.4f}")
    assert 0.93 <= held / 2000 <= 0.97
    # Common seeds narrow the interval: it is wider without pairs.
    apart = [compare(a, b) for a, b in zip(reno, np.roll(sack, 1, axis=0))]
    assert np.mean([i.high - i.low for i in paired]) < 0.95 * np.mean([i.high - i.low for i in apart])


def test_a_comparison_of_settings_pairs_seeds_and_everything_else(lossy):
    variant, goodput = lossy["flows.bulk.transport.variant"], lossy["bulk.goodput_bps"]
    ours = compare_settings(lossy, "bulk.goodput_bps", "flows.bulk.transport.variant", "reno", "sack")
    theirs = stats.ttest_rel(goodput[variant == "sack"], goodput[variant == "reno"]).confidence_interval(0.95)
    assert (ours.count, ours.low, ours.high) == (6000, pytest.approx(theirs.low, rel=1e-9), pytest.approx(theirs.high, rel=1e-9))
    back = compare_settings(lossy, "bulk.goodput_bps", "flows.bulk.transport.variant", "sack", "reno")
    assert back.value == pytest.approx(-ours.value)
    for wrong, told in (
        (("bulk.goodput", "flows.bulk.transport.variant", "reno", "sack"), "no column 'bulk.goodput'; there are point"),
        (("bulk.goodput_bps", "flows.bulk.transport.variant", "reno", "tahoe"), "is never 'tahoe'; it is 'reno', 'sack'"),
        (("bulk.goodput_bps", "version", "0", "1"), "version was not varied; there are flows.bulk.transport.variant"),
    ):
        with pytest.raises((KeyError, ValueError), match=told):
            compare_settings(lossy, *wrong)


def test_the_bootstrap_of_a_median_is_that_of_order_statistics():
    rng = np.random.default_rng(5)
    held = 0
    for n in range(300):
        values = rng.lognormal(0.0, 1.0, 60)
        ours = median_interval(values, resamples=999, seed=n)
        held += ours.low <= 1.0 <= ours.high
        # Conover 3.2: without distributional assumptions, by the order statistics of a binomial's quantiles.
        low, high = (np.sort(values)[int(stats.binom.ppf(q, 60, 0.5))] for q in (0.025, 0.975))
        assert ours.low == pytest.approx(low, rel=0.35) and ours.high == pytest.approx(high, rel=0.35)
    assert 0.91 <= held / 300 <= 0.985


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


def test_fairness_against_other_definitions():
    rng = np.random.default_rng(11)
    optimize = pytest.importorskip("scipy.optimize")
    for _ in range(40):
        shares = rng.exponential(1.0, 7)
        # Jain's index by the coefficient of variation.
        assert jain(shares) == pytest.approx(1 / (1 + stats.variation(shares) ** 2), rel=1e-12)
        # Max-min by linear programs: the largest minimum rate, then that of the remaining flows, and so on.
        links = [f"l{i}" for i in range(4)]
        capacity = {link: float(rng.uniform(1, 10)) for link in links}
        paths = {f"f{i}": list(rng.choice(links, size=rng.integers(1, 4), replace=False)) for i in range(6)}
        ours = max_min_share(capacity, paths)
        theirs: dict[str, float] = {}
        while len(theirs) < len(paths):
            free = [f for f in paths if f not in theirs]
            # Variables: the rate of each free flow, and the minimum of them.
            rows, bounds = [], []
            for link in links:
                rows.append([float(link in paths[f]) for f in free] + [0.0])
                bounds.append(capacity[link] - sum(r for f, r in theirs.items() if link in paths[f]))
            for i in range(len(free)):
                rows.append([-float(i == k) for k in range(len(free))] + [1.0])
                bounds.append(0.0)
            least = optimize.linprog([0.0] * len(free) + [-1.0], A_ub=rows, b_ub=bounds).x[-1]
            for i, f in enumerate(free):
                # A flow is fixed if its rate cannot exceed the minimum while the others have it.
                most = optimize.linprog(
                    [-float(i == k) for k in range(len(free))] + [0.0],
                    A_ub=rows,
                    b_ub=bounds,
                    bounds=[(least - 1e-9, None)] * len(free) + [(0, None)],
                )
                if -most.fun <= least + 1e-6:
                    theirs[f] = least
        assert ours == pytest.approx(theirs, rel=1e-5)


def test_utilisation_is_a_share_of_capacity(run):
    # TH 4.1: packets of 500 bytes with 40 of headers; 60 of 100 s of a link of 1 Mbit/s.
    assert utilisation(460 * 15_000, 1e6, 100, mss=460) == pytest.approx(0.6)
    assert utilisation(12_500_000, 1e6, 100) == pytest.approx(1.0)
    assert utilisation(np.array([0, 1e6]), np.array([1e6, 8e6]), 1.0) == pytest.approx([0.0, 1.0])
    flow, link = run.summary["flows"]["download"], run.summary["links"]["satellite"]["forward"]
    ours = utilisation(flow["bytes_delivered"], 1.5e6, run.summary["simulated_s"], mss=1460)
    # The link also carried retransmissions, packets dropped after it, and the pings.
    assert ours < link["utilisation"] < ours + 0.06
    with pytest.raises(ValueError, match="above 0"):
        utilisation(1, 0, 1)


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
