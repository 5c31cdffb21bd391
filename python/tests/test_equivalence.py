"""The equivalence metric against ns-2's levels and the thesis's, and the simulator against both: five stacks, two bit error
rates.

Follows ../shared/reference/ns2/README.md section 3, TH table 5.1, and ns-2's own numbers in thompson_ns2.csv (bench/thompson_ns2.py).
Differs: by default strips of the grid around the levels and an eighth of the public points, two minutes of one core; `SKYHOP_FULL=1`
takes all 675 points. Three seeds, or ns-2's own losses (ns2_losses.py). Leaves out 90 %, which the reference's notes rule out.
"""

import csv
import os
import tempfile
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from beside import shared
from ns2_losses import draws, lost
from skyhop import sweep
from skyhop.equivalence import (
    RATES_KBPS,
    RTTS_MS,
    Simulated,
    crossing,
    equivalence,
    find_level,
    fit_ber,
    grid,
    level,
    strip,
    utilisations,
)

FULL = os.environ.get("SKYHOP_FULL", "") not in ("", "0")
OWN = Path(__file__).parent / "thompson_ns2.csv"
WANTED = (0.5, 0.6, 0.7, 0.8)
STACKS = ("tahoe", "reno", "newreno", "sack", "fack")
BERS = (1e-6, 1e-7)
# TH table 5.1 at these four utilisations.
THESIS = {
    ("tahoe", 1e-6): (0.95078, 1.0555, 1.1804, 1.3565),
    ("reno", 1e-6): (0.87942, 0.96657, 1.0757, 1.1804),
    ("newreno", 1e-6): (0.86012, 0.95078, 1.0457, 1.1675),
    ("sack", 1e-6): (0.86646, 0.96657, 1.0555, 1.1675),
    ("fack", 1e-6): (0.84163, 0.94309, 1.0362, 1.1427),
    ("tahoe", 1e-7): (0.39794, 0.49485, 0.6197, 0.7447),
    ("reno", 1e-7): (0.37675, 0.44369, 0.5528, 0.6819),
    ("newreno", 1e-7): (0.37675, 0.44369, 0.5528, 0.6576),
    ("sack", 1e-7): (0.37675, 0.44369, 0.5528, 0.6576),
    ("fack", 1e-7): (0.35654, 0.44369, 0.5228, 0.6198),
}
# At 1e-5, for the relation of levels and bit error rates.
THESIS_1E5 = {"sack": (1.5406, 1.6576, 1.7959, 1.9830), "fack": (1.4949, 1.6234, 1.7694, 1.9508)}
each_stack = pytest.mark.parametrize("stack", STACKS)
each_ber = pytest.mark.parametrize("ber", BERS)


def rows(name):
    with open(shared(f"reference/ns2/{name}")) as file:
        return list(csv.DictReader(file))


@cache
def ns2(losses, stack, ber):
    """ns-2's utilisation by link, with losses of its own at each point or with the thesis's single stream."""
    with open(OWN) as file:
        mine = [r for r in csv.DictReader(file) if (r["losses"], r["stack"], float(r["ber"])) == (losses, stack, ber)]
    assert len(mine) >= 40
    return {(float(r["bw_kbps"]), float(r["rtt_ms"])): float(r["utilisation"]) for r in mine}


@cache
def simulated(stack, ber):
    """Our utilisations, mean of three seeds, each link once for all tests."""
    measure = Simulated(variant={"sack": "sack1"}.get(stack, stack), bit_error_rate=ber, seeds=3)
    if FULL:
        measure((b, d) for b in RATES_KBPS for d in RTTS_MS)
        assert len(measure.used) == 675
    return measure


def level_of(points, wanted):
    b, d = np.array(list(points)).T
    return level(b, d, list(points.values()), wanted).level


def crossing_of(points, wanted):
    b, d = np.array(list(points)).T
    return crossing(b, d, list(points.values()), wanted)


@cache
def on_the_slope(stack, ber):
    """Our utilisations of the links in ns-2's file; at 1e-7, where runs are longest, of every second one."""
    links = list(ns2("own", stack, ber))[:: 1 if FULL or ber == 1e-6 else 2]
    return dict(zip(links, simulated(stack, ber)(links)))


@each_ber
@each_stack
def test_levels_and_utilisation_are_ns2s(stack, ber):
    theirs, used = ns2("own", stack, ber), on_the_slope(stack, ber)
    off = np.array([u / theirs[link] - 1 for link, u in used.items()])
    print(f"{stack} {ber:.0e}: {len(off)} links on the slope, utilisation {off.mean():+.2%}")
    # The mean of ns-2's four runs of a link is known to 7 % at 1e-7, with eight losses per run; that of all links to 1 %.
    assert abs(off.mean()) < 0.02
    for wanted in WANTED:
        found, reference = crossing_of(used, wanted), crossing_of(theirs, wanted)
        print(f"  {wanted:.0%}: {found:.4f}, ns-2 {reference:.4f}")
        assert found == pytest.approx(reference, abs=0.03)


def test_levels_are_the_references():
    compared = 0
    for r in rows("thompson_equivalence_levels.csv"):
        stack, ber, wanted = r["stack"], float(r["ber"]), float(r["utilisation_level"])
        if (stack, ber) not in THESIS or wanted not in WANTED or r["wire_bytes"] != "500":
            continue
        found = level_of(simulated(stack, ber).used, wanted) if FULL else crossing_of(on_the_slope(stack, ber), wanted)
        reference = float(r["equiv_level_min_diff"])
        # A single stream of losses for all points, with eight losses a run: ns-2's own mean shows the bias of that stream.
        luck = reference - crossing_of(ns2("own", stack, ber), wanted) if ber == 1e-7 else 0.0
        print(f"{stack} {ber:.0e} {wanted:.0%}: {found:.4f} {luck:+.4f}, the reference's {r['seeds']} stream(s) {reference}")
        assert found + luck == pytest.approx(reference, abs=0.05)
        compared += 1
    assert compared >= 12


# Printed points that ns-2.35 does not reproduce even with the thesis's stream: the thesis's queue and run length are unknown.
MISSED_BY_NS2 = {("tahoe", 1e-6, 0.8), ("reno", 1e-7, 0.8)}


@each_ber
@each_stack
def test_levels_are_the_thesiss(stack, ber):
    for wanted, published in zip(WANTED, THESIS[stack, ber]):
        # The thesis's runs set no seed, so all 675 points of all stacks had the same stream of losses; ns-2 with that stream, and with
        # losses of its own at each point, shows the effect of the stream on the level.
        with_stream = crossing_of(ns2("thesis", stack, ber), wanted)
        luck = with_stream - crossing_of(ns2("own", stack, ber), wanted)
        found = crossing_of(on_the_slope(stack, ber), wanted)
        print(f"{stack} {ber:.0e} {wanted:.0%}: {found:.4f} {luck:+.4f}, ns-2 with that stream {with_stream:.4f}, thesis {published}")
        assert 0.01 < luck < 0.06
        if (stack, ber, wanted) in MISSED_BY_NS2:
            assert abs(with_stream - published) > 0.05
            published = with_stream
        assert found + luck == pytest.approx(published, abs=0.05)


def test_the_reference_generator_is_the_published_one():
    # L'Ecuyer's first draws with his seed 12345; and those of ns-2 with 7936, printed by ns-2 itself, which keeps 31 bits of them.
    assert draws(12345, 3) == pytest.approx([0.1270111, 0.3185276, 0.3091860], abs=1e-7)
    assert draws(7936, 1)[0] == pytest.approx(0.65305507586014233, abs=1e-9)
    # The result depends neither on lanes nor on the number of draws.
    assert (draws(7936, 3000, lanes=7) == draws(7936, 5000)[:3000]).all()
    assert lost(1, 1e-6, 1000) == [352, 515, 726, 880]


def with_the_references_losses(stack, ber, stream):
    """Utilisations of the public points and ours with the same packets lost, by their number."""
    theirs = {}
    most = 0
    for r in rows("thompson_grid_500.csv"):
        if (r["stack"], float(r["ber"]), int(r["seed"])) == (stack, ber, stream):
            theirs[float(r["bw_kbps"]), float(r["rtt_ms"])] = float(r["utilisation"])
            most = max(most, int(r["data_pkts_sent"]))
    links = list(theirs)[:: 1 if FULL else 8 if ber > 1e-7 else 4]
    variant = {"sack": "sack1"}.get(stack, stack)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "grid.toml"
        file.write_text(grid(variant=variant, lost=lost(stream, ber, most + most // 10), links=links))
        used = utilisations(sweep(file, out=Path(folder) / "sweep"))
    return np.array([theirs[link] for link in links]), np.array([used[link] for link in links])


# Stack, bit error rate, stream of losses; mean deviation and share of points within 2 %, as far as the differences are explained.
EXACT = [(stack, 1e-6, 1, 0.003, 0.95) for stack in ("reno", "newreno", "sack", "fack")]
EXACT += [(stack, 1e-6, stream, 0.006, 0.93) for stack in ("reno", "fack") for stream in (2, 3)]
EXACT += [("reno", 1e-7, 1, 0.002, 0.95), ("fack", 1e-7, 1, 0.003, 0.95)]
EXACT += [("reno", 1e-5, 1, 0.002, 0.95), ("newreno", 1e-5, 1, 0.003, 0.95), ("sack", 1e-5, 1, 0.01, 0.9), ("tahoe", 1e-5, 1, 0.002, 0.95)]
# One packet more or less in the overflow of the first slow start shifts every later loss for Tahoe: ns-2 itself, with a queue of 49 or 51
# instead of 50, is 4 % off where ours is. FACK at 1e-5 is dominated by timeouts.
EXACT += [("tahoe", 1e-6, 1, 0.008, 0.75), ("fack", 1e-5, 1, 0.01, 0.4)]


@pytest.mark.parametrize(("stack", "ber", "stream", "mean", "share"), EXACT)
def test_utilisation_is_ns2s_where_the_same_packets_are_lost(stack, ber, stream, mean, share):
    theirs, ours = with_the_references_losses(stack, ber, stream)
    off = ours / theirs - 1
    within = [(abs(off) < bound).mean() for bound in (0.005, 0.02, 0.1)]
    said = ", ".join(f"{share:.1%} within {bound}" for share, bound in zip(within, ("0.5 %", "2 %", "10 %")))
    print(f"{stack} {ber:.0e} stream {stream}: {len(off)} points, mean {off.mean():+.2%}, {said}, at most {abs(off).max():.1%}")
    assert len(off) >= (150 if FULL else 35)
    assert abs(off.mean()) < mean and within[1] >= share and within[2] >= 0.98


@pytest.mark.parametrize("stack", ["reno", "fack"])
def test_utilisation_with_other_losses_is_that_of_the_public_grid(stack):
    # Three streams in ns-2 and three seeds here. For the other stacks the grid has only one stream, the least favourable of the three.
    theirs = {}
    for r in rows("thompson_grid_500.csv"):
        if (r["stack"], float(r["ber"])) == (stack, 1e-6):
            theirs.setdefault((float(r["bw_kbps"]), float(r["rtt_ms"])), []).append(float(r["utilisation"]))
    links = list(theirs)[:: 1 if FULL else 8]
    assert all(len(theirs[link]) == 3 for link in links) and len(links) >= (400 if FULL else 50)
    off = np.array(simulated(stack, 1e-6)(links)) / np.array([np.mean(theirs[link]) for link in links]) - 1
    print(f"{stack}: {len(off)} points, mean {off.mean():+.2%}, within 10 %: {(abs(off) < 0.1).mean():.1%}")
    assert abs(off.mean()) < 0.02 and (abs(off) < 0.1).mean() >= 0.95


@each_ber
@each_stack
def test_a_tenth_of_the_points_finds_the_level(stack, ber):
    measure = simulated(stack, ber)
    for wanted in WANTED if FULL else (0.7,):
        if not FULL and (ber == 1e-7) != (stack == "fack"):
            continue
        asked = []

        def tell(links):
            asked.extend(links)
            return measure(links)

        found = find_level(tell, wanted)
        # The whole grid, or all links near the level of ns-2, beyond which no link is on the wrong side.
        near = level_of(ns2("own", stack, ber), wanted)
        links = strip(near - 0.12, near + 0.12)
        full = measure.level(wanted).level if FULL else level_of(dict(zip(links, measure(links))), wanted)
        print(f"{stack} {ber:.0e} {wanted:.0%}: {found.level:.4f} from {len(asked)} points, {full:.4f} from all")
        assert len(asked) <= 67 and len(set(asked)) == len(asked) == len(found.points)
        # An enclosed strip contains all links in doubt: its level equals that of the whole grid.
        assert found.level == pytest.approx(full, abs=1e-9 if found.enclosed else 0.03)


@pytest.mark.parametrize("doubt", [0.0, 0.02, 0.05])
def test_the_level_of_few_points_is_that_of_all_whatever_the_luck(doubt):
    # Surfaces that rise with E, with independent noise at each link: 0.05 exceeds that of three seeds at 1e-7.
    links = [(float(b), float(d)) for b in RATES_KBPS for d in RTTS_MS]
    rates, rtts = np.array(links).T
    e = equivalence(rates, rtts)
    off, asked = [], []
    for seed in range(60):
        chance = np.random.default_rng(seed)
        used = 1 / (1 + np.exp(-(e - chance.uniform(0.2, 1.3)) / 0.2)) + chance.normal(0, max(doubt, 1e-12), len(e))
        table = dict(zip(links, used))
        found = find_level(lambda some: [table[link] for link in some], 0.7)
        off.append(found.level - level(rates, rtts, used, 0.7).level)
        asked.append(len(found.points))
        if found.enclosed and doubt < 0.05:
            assert off[-1] == 0
    print(f"{doubt}: exact in {np.mean(np.equal(off, 0)):.0%}, at most {np.abs(off).max():.4f} off, {np.mean(asked):.0f} points")
    assert np.abs(off).max() <= 0.03 and max(asked) <= 67
    # Without noise: 14 links enclose the level, 32 are beside it.
    assert doubt or max(asked) < 55


def test_a_budget_is_kept_and_said_to_be_short():
    links = [(float(b), float(d)) for b in RATES_KBPS for d in RTTS_MS]

    def measure(some):
        return [float(equivalence(*link) >= 0.8) for link in some]

    whole = find_level(measure, 0.5)
    assert whole.enclosed and whole.level == level(*zip(*((*link, measure([link])[0]) for link in links)), 0.5).level
    for budget in (3, 12, 20):
        short = find_level(measure, 0.5, budget=budget)
        assert len(short.points) == budget and not short.enclosed
    assert short.level == pytest.approx(0.8, abs=0.05)
    # A grid of ten links is simulated whole instead of being enclosed.
    few = find_level(measure, 0.5, rates_kbps=[100, 1000], rtts_ms=[20, 100, 140, 160, 400], budget=10)
    assert len(few.points) == 10 and few.level == pytest.approx(0.85387, abs=1e-5)
    with pytest.raises(ValueError, match="no point"):
        find_level(lambda some: [0.1] * len(some), 0.5)


def test_seeds_of_a_link_do_not_depend_on_what_else_is_asked():
    alone, together = Simulated(seeds=2), Simulated(seeds=2)
    (one,) = alone([(9000, 500)])
    assert together([(10, 20), (9000, 500), (9000.0, 500.0)])[1:] == [one, one]
    # The seeds of different links differ.
    text = grid(links=[(9000, 500), (9000, 480)])
    seeds = text.split("seed = [")[1].split("]")[0].split(",")
    assert len(set(map(int, seeds))) == 2


def test_levels_fall_by_half_with_a_tenth_of_the_errors():
    # The square-root law with slope one half, recovered from its own levels.
    law = {(w, ber): a + 0.5 * (np.log10(ber) + 6) for w, a in {0.5: 0.8, 0.8: 1.1}.items() for ber in (1e-8, 1e-7, 1e-6)}
    fit = fit_ber(law)
    assert fit.slope == pytest.approx(0.5) and fit.residual < 1e-9
    assert fit.level(0.8, 1e-7) == pytest.approx(0.6)
    for stack in ("fack", "sack"):
        published = {(w, ber): e for ber in BERS for w, e in zip(WANTED, THESIS[stack, ber])}
        found = {(w, ber): crossing_of(on_the_slope(stack, ber), w) for ber in BERS for w in WANTED}
        thesis, mine = fit_ber(published), fit_ber(found)
        print(f"{stack}: slope {mine.slope:.3f}, thesis {thesis.slope:.3f}; off the lines by {mine.residual:.4f} and {thesis.residual:.4f}")
        # The thesis: 0.505 and 0.506. Timeouts, which the law ignores, increase the slope slightly.
        assert mine.slope == pytest.approx(thesis.slope, abs=0.06)
        assert 0.49 < mine.slope < 0.58 and mine.residual < 0.03
        # At 1e-5 timeouts dominate: the levels lie above the line.
        with_1e5 = fit_ber(published | {(w, 1e-5): e for w, e in zip(WANTED, THESIS_1E5[stack])})
        assert with_1e5.slope > thesis.slope + 0.08
    with pytest.raises(ValueError, match="one bit error rate each"):
        fit_ber({(0.5, 1e-6): 0.8, (0.8, 1e-6): 1.1})


def test_doubtful_input():
    with pytest.raises(ValueError, match="every point"):
        level([1, 2], [10, 10], [0.9, 0.9], 0.5)
    with pytest.raises(ValueError, match="no point"):
        level([1, 2], [10, 10], [0.1, 0.2], 0.5)
    with pytest.raises(ValueError, match="2 links and 1 utilisations"):
        level([1, 2], [10, 10], [0.1], 0.5)
    with pytest.raises(ValueError, match="50 is not between"):
        level([1, 2], [10, 10], [0.1, 0.9], 50)
    with pytest.raises(ValueError, match="2 points have a utilisation within 0.15 of 0.5"):
        crossing([1, 2, 3], [10, 10, 10], [0.6, 0.4, 0.1], 0.5)
    with pytest.raises(ValueError, match="does not rise with E"):
        crossing([1, 2, 3], [10, 10, 10], [0.4, 0.5, 0.6], 0.5)
