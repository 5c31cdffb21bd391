"""Factorial designs against a publication's tables, statsmodels, and tables that cannot be analysed.

Follows KG tables 5 to 13, Crampton's growth of teeth (1947; R's ToothGrowth), and Montgomery's filtration rates (Design and Analysis of
Experiments, the 2^4 design without replications).
Differs from the crate's tests, which check its messages.
Leaves out pictures, except their data.
"""

import csv
import itertools
import math
import re

import numpy as np
import pytest
from beside import shared

import skyhop
from skyhop.analysis import factorial

FLAVORS, BUFFERS, DROPS = ("vanilla", "reno", "newreno", "sack"), ("0.5rtt", "1rtt", "2rtt"), ("epd", "sd")
PAPER = {"TCP Flavor": "tcp", "Buffer Size": "buffer", "Drop Policy": "drop"}
PAPER |= {"Vanilla": "vanilla", "Reno": "reno", "NewReno": "newreno", "SACK": "sack", "EPD": "epd", "SD": "sd"}
PAPER |= {"0.5 RTT": "0.5rtt", "1 RTT": "1rtt", "2 RTT": "2rtt", "2 RTT cells": "2rtt"}
# Rows of the fairness of WAN whose last digit KG truncates instead of rounding (docs/deviations.md).
CUT = {
    "Individual Values", "Overall Mean", "TCP Flavor squares", "TCP Flavor %", "TCP Flavor-Buffer Size squares", "TCP Flavor-Buffer Size %",
    "Standard Error", "Vanilla low", "Reno high", "NewReno low", "SACK low", "SACK high", "1 RTT", "1 RTT low", "1 RTT high", "EPD low",
    "SD high",
}  # fmt: skip


def kota(table, metric):
    """The runs of KG table 5, 8 or 11 as columns."""
    with open(shared("papers/published.csv"), encoding="utf-8") as file:
        rows = [r for r in csv.DictReader(file) if (r["paper"], r["item"], r["metric"]) == ("kota1999", f"table-{table}", metric)]
    _, drop, tcp, buffer = zip(*(r["series"].split(",") for r in rows))
    return {"drop": drop, "tcp": tcp, "buffer": buffer, metric: np.array([float(r["value"]) for r in rows])}


def lines(table):
    """The rows of a table of KG, as cells."""
    text = shared("papers/kota1999-atm-ubr.txt").read_text(encoding="utf-8")
    block = text[text.index(f"\nTable {table} ") + 1 :]
    return [line.split("\t") for line in block[: re.search(r"\n(Table|Figure) ", block).start()].splitlines()[1:]]


def numbers(text):
    return [float(number) for number in re.findall(r"-?\d+\.\d+", text)]


def printed(found, table, column):
    """(row, printed, ours, decimals) of every number of the two tables behind `table` in this column: 0 efficiency, 1 fairness."""
    totals = {"Individual Values": found.squares, "Overall Mean": found.squares_of_mean, "Total Variation": found.variation}
    for row in lines(table + 1):
        of = [PAPER.get(name) for name in row[0].split("-")]
        if row[0] in totals:
            yield row[0], float(row[1 + column]), totals[row[0]], 4
        elif len(row) > 4 and all(of):
            component = found.component(*of)
            yield f"{row[0]} squares", float(row[1 + column]), component.sum_of_squares, 4
            yield f"{row[0]} %", float(row[3 + column]), component.percent, 2
        elif row[0].startswith("Standard Error"):
            yield "Standard Error", numbers(row[0])[column], found.paper.standard_error, 4
    effects = {effect.levels[0]: effect for effect in found.effects if len(effect.levels) == 1}
    for row in lines(table + 2):
        if len(row) > 4 and row[0] in PAPER:
            effect = effects[PAPER[row[0]]]
            low, high = numbers(row[3 + column])
            # The quantile as the paper prints it; ours has all digits, 1.94318.
            half = 1.943 * next(factor.paper_deviation for factor in found.factors if factor.name == effect.factors[0])
            assert effect.paper == pytest.approx((effect.effect - half, effect.effect + half), abs=2e-4 * half)
            yield row[0], float(row[1 + column]), effect.effect, 4
            yield f"{row[0]} low", low, effect.effect - half, 4
            yield f"{row[0]} high", high, effect.effect + half, 4


@pytest.mark.parametrize("table", [5, 8, 11])
@pytest.mark.parametrize("metric", ["efficiency", "fairness"])
def test_tables_of_kota_come_out_to_the_printed_digits(table, metric):
    found = factorial(kota(table, metric), metric, ["tcp", "buffer", "drop"])
    assert (found.error.df, found.paper.df, round(found.paper.t, 3)) == (6, 6, 1.943)
    rows = list(printed(found, table, ["efficiency", "fairness"].index(metric)))
    assert len(rows) == 43
    differing = set()
    for row, theirs, ours, decimals in rows:
        unit = 10.0**-decimals
        same = abs(round(ours, decimals) - theirs) < unit / 2
        print(f"table {table} {metric:<10}  {row:<32} {theirs:>10} {ours:>12.6f}{'' if same else '  cut off'}")
        if not same:
            assert math.trunc(ours / unit) * unit == pytest.approx(theirs, abs=unit / 1e3), row
            differing.add(row)
    assert differing == (CUT if table == 5 and metric == "fairness" else set())


def test_the_paper_and_the_textbook_agree_without_replications_only():
    runs = kota(5, "efficiency")
    once = factorial(runs, "efficiency", ["tcp", "buffer", "drop"])
    assert all(effect.paper == (effect.low, effect.high) for effect in once.effects if len(effect.factors) == 1)
    assert [factor.deviation for factor in once.factors] == pytest.approx([once.error.standard_error * (n / 24) ** 0.5 for n in (3, 2, 1)])
    noise = np.random.default_rng(1).normal(0, 0.001, 24)
    twice = {name: np.concatenate([values, values]) for name, values in runs.items()}
    twice["efficiency"] = np.concatenate([runs["efficiency"] + noise, runs["efficiency"] - noise])
    found = factorial(twice, "efficiency", ["tcp", "buffer", "drop"])
    assert (found.replications, found.error.df, found.paper.df) == (2, 24, 6)
    # Cell means are the paper's, and so are its error and intervals.
    assert found.paper.standard_error == pytest.approx(once.paper.standard_error)
    assert found.effect(tcp="sack").paper == pytest.approx(once.effect(tcp="sack").paper)
    assert found.error.standard_error == pytest.approx((2 * (noise**2).sum() / 24) ** 0.5)
    assert "Kota et al." in str(found) and "have the same" in str(once)


TEETH = """VC 0.5 4.2 11.5 7.3 5.8 6.4 10.0 11.2 11.2 5.2 7.0
VC 1 16.5 16.5 15.2 17.3 22.5 17.3 13.6 14.5 18.8 15.5
VC 2 23.6 18.5 33.9 25.5 26.4 32.5 26.7 21.5 23.3 29.5
OJ 0.5 15.2 21.5 17.6 9.7 14.5 10.0 8.2 9.4 16.5 9.7
OJ 1 19.7 23.3 23.6 26.4 20.0 25.2 25.8 21.2 14.5 27.3
OJ 2 25.5 26.4 22.4 24.5 24.8 30.9 26.4 27.3 29.4 23.0"""
FILTRATION = [45, 71, 48, 65, 68, 60, 80, 65, 43, 100, 45, 104, 75, 86, 70, 96]


@pytest.fixture
def teeth():
    rows = [(a, float(b), float(y)) for a, b, *ys in (line.split() for line in TEETH.splitlines()) for y in ys]
    supplement, dose, length = zip(*rows)
    return {"supplement": supplement, "dose": dose, "length": length}


@pytest.fixture
def filtration():
    """Temperature, pressure, concentration, stirring; the first changes from run to run."""
    levels = [tuple(reversed(run)) for run in itertools.product([-1, 1], repeat=4)]
    return {**dict(zip("abcd", zip(*levels))), "rate": FILTRATION}


def test_published_examples_come_out(teeth, filtration):
    # As R's documentation prints anova(lm(len ~ supp * factor(dose), ToothGrowth)).
    found = factorial(teeth, "length", ["supplement", "dose"])
    rows = [(c.name, c.df, round(c.sum_of_squares, 2), c.f and round(c.f, 3)) for c in found.components]
    assert rows == [
        ("supplement", 1, 205.35, 15.572), ("dose", 2, 2426.43, 92.0), ("supplement * dose", 2, 108.32, 4.107), ("error", 54, 712.11, None)
    ]  # fmt: skip
    assert found.component("supplement").p == pytest.approx(0.0002312, rel=1e-3)
    assert found.component("dose", "supplement").p == pytest.approx(0.02186, rel=1e-3)
    # Montgomery's effects are from one level to the other, twice those from the mean.
    found = factorial(filtration, "rate", list("abcd"))
    assert [2 * found.effect(**{factor: 1}).effect for factor in "abcd"] == pytest.approx([21.625, 3.125, 9.875, 14.625])
    assert 2 * found.effect(a=1, c=1).effect == pytest.approx(-18.125) and 2 * found.effect(a=1, d=1).effect == pytest.approx(16.625)
    squares = [round(found.component(factor).sum_of_squares, 4) for factor in "abcd"]
    assert squares == [1870.5625, 39.0625, 390.0625, 855.5625] and found.variation == pytest.approx(5730.9375)


@pytest.mark.parametrize("name", ["teeth", "filtration"])
@pytest.mark.parametrize("confidence", [0.9, 0.95])
def test_statsmodels_has_the_same(name, confidence, request):
    pandas, ols = pytest.importorskip("pandas"), pytest.importorskip("statsmodels.formula.api").ols
    anova_lm = pytest.importorskip("statsmodels.stats.anova").anova_lm
    frame = pandas.DataFrame(request.getfixturevalue(name))
    *factors, response = frame.columns
    model = ols(f"{response} ~ ({' + '.join(f'C({factor}, Sum)' for factor in factors)}) ** 2", frame).fit()
    theirs, found = anova_lm(model), factorial(frame, response, factors, confidence=confidence)
    rows = [row for row in theirs.itertuples()]
    assert len(rows) == len(found.components)
    for row, ours in zip(rows, found.components):
        assert (ours.df, ours.sum_of_squares) == (row.df, pytest.approx(row.sum_sq, rel=1e-9)), row.Index
        if ours.f is not None:
            assert (ours.f, ours.p) == pytest.approx((row.F, row[5]), rel=1e-8)
    assert found.error.standard_error == pytest.approx(model.mse_resid**0.5)
    intervals = model.conf_int(alpha=1 - confidence)
    held = 0
    for key in model.params.index[1:]:
        levels = dict(re.findall(r"C\((\w+), Sum\)\[S\.([^\]]+)\]", key))
        effect = next(e for e in found.effects if dict(zip(e.factors, e.levels)) == {n: v.removesuffix(".0") for n, v in levels.items()})
        assert effect.effect == pytest.approx(model.params[key])
        assert (effect.low, effect.high) == pytest.approx(tuple(intervals.loc[key]))
        held += 1
    assert held == sum(component.df for component in found.components if component.factors)


def test_findings_are_those_that_the_intervals_show(teeth):
    found = factorial(teeth, "length", ["supplement", "dose"])
    assert found.findings[1] == "dose explains 70.29 % of the variation of length."
    assert "Where dose is 0.5, length is 8.21 below its mean (90 % interval -9.32 to -7.10)." in found.findings
    assert not found.effect(dose=1).significant and not any(line.startswith("Where dose is 1,") for line in found.findings)
    assert all(line in str(found) and line in found.to_markdown() for line in found.findings)
    noise = np.random.default_rng(3).normal(size=60)
    none = factorial({**teeth, "noise": noise}, "noise", ["supplement", "dose"], confidence=0.9999)
    assert none.findings == ("No effect on noise is significant at 99.99 %.",)


def test_the_picture_has_every_main_effect_with_its_interval(teeth):
    pytest.importorskip("matplotlib")
    from matplotlib import pyplot

    from skyhop import plot

    found = factorial(teeth, "length", ["supplement", "dose"])
    ax = plot.effects(found)
    bars = [container for container in ax.containers]
    assert len(bars) == 5 and ax.get_ylabel() == "effect on length"
    for bar, effect in zip(bars, found.effects):
        point, _, (reach,) = bar.lines
        assert point.get_ydata() == pytest.approx([effect.effect])
        assert sorted(y for _, y in reach.get_segments()[0]) == pytest.approx([effect.low, effect.high])
        assert (point.get_markerfacecolor() == "white") == (not effect.significant)
    assert [text.get_text() for text in ax.get_xticklabels()] == ["VC", "OJ", "0.5", "1", "2"]
    pyplot.close("all")


GRID = """\
host = "1999"
duration = "5 s"
[links.satellite]
rate = "1 Mbit/s"
delay = "100 ms"
loss = { kind = "packets", probability = 0.02 }
[[flows]]
name = "bulk"
path = ["a", "satellite", "b"]
traffic = { kind = "bulk" }
[sweep]
seeds = 3
[sweep.grid]
"links.satellite.rate" = ["250 kbit/s", "1 Mbit/s"]
"flows.bulk.transport.variant" = ["reno", "sack"]
"""


def test_a_sweep_has_its_factors_itself(tmp_path):
    runs = skyhop.sweep(text=GRID, out=tmp_path / "sweep")
    found = factorial(runs, "bulk.goodput_bps")
    assert [factor.name for factor in found.factors] == ["flows.bulk.transport.variant", "links.satellite.rate_bps"]
    assert found.factors[1].levels == ("250000", "1000000") and found.replications == 3
    pandas = pytest.importorskip("pandas")
    assert str(factorial(pandas.read_parquet(runs.path), "bulk.goodput_bps")) == str(found)
    with pytest.raises(ValueError, match='"links.satellite.rate_bps" has 2 values; expected it among the factors'):
        factorial(runs, "bulk.goodput_bps", ["flows.bulk.transport.variant"])


def test_tables_that_cannot_be_analysed_are_refused(teeth):
    def refused(message, results, response="length", factors=("supplement", "dose"), **options):
        with pytest.raises(ValueError, match=message):
            factorial(results, response, factors, **options)

    holes = {name: [v for i, v in enumerate(values) if not 20 <= i < 30] for name, values in teeth.items()}
    refused(r"incomplete: 1 of 6 cells have no run\n  supplement = VC, dose = 2$", holes)
    refused(r"unbalanced: 1 cell with 9 runs where others have 10", {name: values[1:] for name, values in teeth.items()})
    failed = {**teeth, "length": [float("nan")] * 10 + list(teeth["length"][10:])}
    refused(r"incomplete.*\n  supplement = VC, dose = 0.5", failed)
    refused('"supplement" is VC in all runs', {**teeth, "supplement": ["VC"] * 60})
    refused('"length" is 3 in all runs', {**teeth, "length": [3.0] * 60})
    refused('response: no column "lenght"; did you mean "length"', teeth, "lenght")
    refused('factors: no column "doze"; did you mean "dose"', teeth, factors=["supplement", "doze"])
    refused('"supplement" is text, such as "VC"', teeth, "supplement", ["dose"])
    refused('"dose" is named twice', teeth, factors=["dose", "dose"])
    refused("each level of \"dose\" has one run", {"dose": [1, 2], "length": [3, 4]}, factors=["dose"])
    varied = {"dose": teeth["dose"], "pill": list(teeth["supplement"]), "seed": range(60), "length": teeth["length"]}
    refused('"pill" has 2 values; expected it among the factors', varied, factors=["dose"])
    # A column that coincides with a factor does not split a cell.
    step = {**varied, "pill": [dose * 2 for dose in teeth["dose"]]}
    assert factorial(step, "length", ["dose"]).replications == 20
    refused("incomplete: 6 of 9 cells", step, factors=["dose", "pill"])
    refused("confidence of 90", teeth, confidence=90.0)
    refused("factors is the text 'dose'", teeth, factors="dose")
