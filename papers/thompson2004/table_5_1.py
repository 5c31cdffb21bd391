"""TH table 5.1: equivalence levels of five stacks at three bit error rates, and how many points each level misjudges.

Follows chapter 5 and the settings that the reference found to give its numbers: 500 bytes, 20,000 packets a point, D the round trip.
Differs: levels from every third of the links around them (`SKYHOP_FULL=1`: all), nine to 48 seeds, losses of its own at each. The
thesis's runs had one stream of losses; its effect on a level is known from ns-2 (`python/tests/thompson_ns2.csv`), and rows add it.
At 1e-5 errors strike before the queue, as only then 90 % of a rate can be used of which 4 % are lost. Leaves out D, M and A one by
one: they are compared as a sum, a largest and a mean over stacks and utilisations.
"""

from __future__ import annotations

import csv
import math
from pathlib import Path

import numpy as np
from rows import Reproduction, Row
from thompson import FULL, columns, simulated

from skyhop import equivalence

SOURCE = "Thompson 2004, table 5.1"
CLAIM = "For each stack one number, the equivalence level, separates the rates and delays at which it uses a link well; FACK's is lowest"

NS2 = Path(__file__).resolve().parents[2] / "python" / "tests" / "thompson_ns2.csv"
WANTED = (0.5, 0.6, 0.7, 0.8)
PUBLISHED = {
    "tahoe": {1e-6: (0.95078, 1.0555, 1.1804, 1.3565), 1e-7: (0.39794, 0.49485, 0.6197, 0.7447)},
    "reno": {1e-6: (0.87942, 0.96657, 1.0757, 1.1804), 1e-7: (0.37675, 0.44369, 0.5528, 0.6819)},
    "newreno": {1e-6: (0.86012, 0.95078, 1.0457, 1.1675), 1e-7: (0.37675, 0.44369, 0.5528, 0.6576)},
    "sack1": {1e-6: (0.86646, 0.96657, 1.0555, 1.1675), 1e-7: (0.37675, 0.44369, 0.5528, 0.6576)},
    "fack": {1e-6: (0.84163, 0.94309, 1.0362, 1.1427), 1e-7: (0.35654, 0.44369, 0.5228, 0.6198)},
}
#: At 1e-5 from 50 to 90 %, and 90 % of the others. 3.7 is the link of 10 kbit/s and 20 ms, the grid's smallest.
AT_1E_5 = {
    "tahoe": (1.6198, 1.7447, 1.9208, 2.2218, 3.7),
    "reno": (1.5654, 1.7167, 1.8665, 2.1427, 3.7),
    "newreno": (1.5171, 1.6498, 1.7959, 2.0, 2.7447),
    "sack1": (1.5406, 1.6576, 1.7959, 1.983, 2.4202),
    "fack": (1.4949, 1.6234, 1.7694, 1.9508, 2.301),
}
AT_90 = {
    "tahoe": {1e-6: 1.9208, 1e-7: 1.3768},
    "reno": {1e-6: 1.4437, 1e-7: 0.92081},
    "newreno": {1e-6: 1.4437, 1e-7: 0.92081},
    "sack1": {1e-6: 1.3979, 1e-7: 0.92081},
    "fack": {1e-6: 1.3768, 1e-7: 0.89279},
}
#: Of all stacks and utilisations: sum of D, largest M, mean of A, the last two in %.
DIFFERING = {1e-5: (411, 32.1, 6.82), 1e-6: (132, 4.19, 0.69), 1e-7: (323, 39.5, 2.46)}
ALL = (*WANTED, 0.9)
AT_1E_5_TOLERANCE, AT_90_TOLERANCE = 0.125, 0.1
LEAST_TIMEOUT = "an eighth of a decade: one packet in 25 is lost, and timeouts dominate, whose minimum is not stated; a seed is 0.03"
SHORT_OF_90 = "0.1: the last tenth of a rate depends on the queue and the length of a run, which are not stated"
WHOLE = "half to double: one stream of losses for all points makes a pattern of its own"
#: Points of 675 on the wrong side of the thesis's levels, of all stacks at these utilisations: 0 to 11 at 1e-6, 3 to 15 at 1e-7.
STRIPS = {1e-6: (0.75, 1.4), 1e-7: (0.22, 0.82)}
#: The same with 90 %, and at 1e-5.
WIDE = {1e-5: (1.3, 3.75), 1e-6: (0.75, 2.0), 1e-7: (0.22, 1.45)}
TOLERANCE = 0.025
WHY = "0.025: a level is that of one of the links, whose E are 0.01 apart, and three standard errors of nine seeds are 0.015"
CORRECTED = "and ns-2.35's stream"
CORRECTED_TOLERANCE = 0.05
WHY_CORRECTED = "0.05: ns-2's own four seeds are 0.02, and queue and run length, which are not stated, 0.03"
#: Standard deviation of a level from three seeds and every third link, measured with 30 seeds.
DEVIATION = {1e-6: 0.005, 1e-7: 0.009}
STREAM = (
    "all runs of the thesis share one random stream of losses, which in ns-2.35 adds 0.02 to 0.05 to a level; ours draws losses for "
    "each link separately"
)
#: Levels within the tolerance of the printed ones, by hand; all others are below by more, as STREAM says.
NEAR = {("reno", 1e-6): WANTED, ("fack", 1e-6): (0.5,)}
#: Levels for which the stream is not all.
ALSO = {
    ("tahoe", 1e-6, 0.8): "; ns-2.35 with that stream has 1.287, also below: the thesis's queue and run length are not known",
    ("reno", 1e-7, 0.8): "; ns-2.35 with that stream has 0.628, also below: the thesis's queue and run length are not known",
}


def measured(stack: str, ber: float, links: list[tuple[float, float]]) -> tuple[list[float], dict[tuple[float, float], float]]:
    """Levels and utilisations, mean of batches of three seeds.

    There are three batches, and as many more, up to sixteen, as bring each level three standard errors away from both ends of its
    accepted range, so that the verdict does not depend on the seeds.
    """
    levels, used = [], []
    for batch in range(16):
        points = simulated(stack, ber, 500, seeds=3, first_seed=1 + 3 * batch)(links)
        used.append(points)
        levels.append([crossing(dict(zip(links, points)), w) for w in WANTED])
        off = np.abs(np.mean(levels, axis=0) - PUBLISHED[stack][ber])
        if batch >= 2 and min(abs(off - TOLERANCE)) > 3 * DEVIATION[ber] / math.sqrt(batch + 1):
            break
    return [float(level) for level in np.mean(levels, axis=0)], dict(zip(links, np.mean(used, axis=0)))


def reproduce() -> Reproduction:
    rows, corrected, levels, remarks = [], [], {}, []
    for stack, rates in PUBLISHED.items():
        for ber, published in rates.items():
            links = equivalence.strip(*STRIPS[ber], every=1 if FULL else 3)
            found, points = measured(stack, ber, links)
            luck = [crossing(ns2("thesis", stack, ber), w) - crossing(ns2("own", stack, ber), w) for w in WANTED]
            for wanted, there, ours in zip(WANTED, published, found):
                levels[stack, ber, wanted] = ours
                known = "" if wanted in NEAR.get((stack, ber), ()) else STREAM + ALSO.get((stack, ber, wanted), "")
                rows.append(Row(f"{stack}, {ber:.0e}, {wanted:.0%}", "E", there, ours, there - TOLERANCE, there + TOLERANCE, WHY, known))
            there = float(np.mean(published))
            corrected.append(
                Row(
                    f"{stack}, {ber:.0e}, 50 to 80 %, and what ns-2's stream adds", "E", there, float(np.mean(found) + np.mean(luck)),
                    there - CORRECTED_TOLERANCE, there + CORRECTED_TOLERANCE, WHY_CORRECTED, of=CORRECTED
                )
            )
            wrong = [equivalence.level(*columns(points), w).differing for w in WANTED]
            rows.append(
                Row(
                    f"{stack}, {ber:.0e}, points on the wrong side, most", "%", 0, 100 * max(wrong) / len(points), 0, 12,
                    "words: few; of a strip of a tenth of the grid, and a link's own losses move it across"
                )
            )
            plain = ", ".join(f"{levels[stack, ber, w]:.3f} ({stream:+.3f})" for w, stream in zip(WANTED, luck))
            remarks.append(
                f"{stack}, {ber:.0e}: levels with losses of its own at each point {plain}; in brackets what the thesis's stream adds"
            )
    rows += beyond()
    for ber in (1e-6, 1e-7):
        best = min(PUBLISHED, key=lambda stack: sum(levels[stack, ber, w] for w in WANTED))
        rows.append(
            Row(
                f"{ber:.0e}: FACK's is lowest, or no more than 0.02 above", "E", 0, mean(levels, "fack", ber) - mean(levels, best, ber),
                0, 0.02, "words: the lowest; 0.02 is three seeds' error of a mean"
            )
        )
    return Reproduction([*rows, *corrected], draw(levels), remarks)


NOT_90 = (
    "our links, and those of ns-2.35 with this and shorter queues and its default stream, reach 90 % of the rate at levels 0.1 to 0.4 "
    "below the printed ones; the queue and the run length are not stated"
)
TIMED_OUT = "the printed stack times out more often, or for longer: its minimum timeout is not stated"
#: By stack and bit error rate: the utilisations whose levels differ.
OFF_BEYOND = {
    ("tahoe", 1e-5): {0.8: TIMED_OUT, 0.9: NOT_90},
    ("reno", 1e-5): {0.9: NOT_90},
    ("newreno", 1e-5): {0.8: TIMED_OUT, 0.9: NOT_90},
    ("sack1", 1e-5): {0.8: TIMED_OUT, 0.9: NOT_90},
    ("fack", 1e-5): {0.9: "our FACK loses retransmissions and times out where the printed stack does not, contrary to SACK"},
    ("tahoe", 1e-6): {0.9: NOT_90},
    ("newreno", 1e-6): {0.9: NOT_90},
    ("sack1", 1e-6): {0.9: NOT_90},
    ("fack", 1e-6): {0.9: NOT_90},
    **{(stack, 1e-7): {0.9: NOT_90} for stack in PUBLISHED},
}
OWN = (
    "separate losses at each link make neighbouring points differ by a few hundredths, where a common stream moves them together: "
    "1.6 % for 0.7"
)
KNOWN_DIFFERING = {
    (1e-6, "most that one is off"): OWN,
    (1e-6, "mean that they are off"): OWN,
    (1e-7, "most that one is off"): (
        "39.5 is a single point of NewReno in the thesis, caused by its stream; without that stack the thesis has 6.65"
    ),
}


def beyond() -> list[Row]:
    """Rows of 1e-5, of 90 %, and of the points that differ: a run at each link, as in the thesis."""
    rows = []
    for ber, strip in WIDE.items():
        counted = []
        for stack, printed in AT_1E_5.items():
            links = equivalence.strip(*strip)
            points = dict(zip(links, simulated(stack, ber, 500, seeds=1, before=ber == 1e-5)(links)))
            pairs = list(zip(ALL, printed)) if ber == 1e-5 else [(0.9, AT_90[stack][ber])]
            for wanted, there in pairs:
                far, why = (AT_90_TOLERANCE, SHORT_OF_90) if wanted == 0.9 else (AT_1E_5_TOLERANCE, LEAST_TIMEOUT)
                known = OFF_BEYOND.get((stack, ber), {}).get(wanted, "")
                ours = found_or_last(points, wanted)
                rows.append(Row(f"{stack}, {ber:.0e}, {wanted:.0%}", "E", there, ours, there - far, there + far, why, known))
            counted += [equivalence.level(*columns(points), w) for w in ALL if max(points.values()) > w]
        ours_of = (
            float(sum(level.differing for level in counted)),
            max(level.max_difference_pct for level in counted),
            float(np.mean([level.mean_difference_pct for level in counted])),
        )
        names = ("points that differ, all stacks and utilisations", "most that one is off", "mean that they are off")
        for name, unit, there, ours in zip(names, ("", "%", "%"), DIFFERING[ber], ours_of):
            rows.append(Row(f"{ber:.0e}: {name}", unit, there, ours, there / 2, 2 * there, WHOLE, KNOWN_DIFFERING.get((ber, name), "")))
    return rows


def found_or_last(points: dict[tuple[float, float], float], wanted: float) -> float:
    """The level of `wanted`; that of the grid's smallest link if none is used so well."""
    try:
        return crossing(points, wanted)
    except ValueError:
        pass
    try:
        return equivalence.level(*columns(points), wanted).level
    except ValueError:
        return 3.7 if max(points.values()) < wanted else min(float(equivalence.equivalence(*link)) for link in points)


def mean(levels, stack: str, ber: float) -> float:
    return float(np.mean([levels[stack, ber, w] for w in WANTED]))


def crossing(points: dict[tuple[float, float], float], wanted: float) -> float:
    return equivalence.crossing(*columns(points), wanted)


def ns2(losses: str, stack: str, ber: float) -> dict[tuple[float, float], float]:
    """ns-2's utilisations: losses of its own at each point, or the thesis's stream."""
    wanted = (losses, {"sack1": "sack"}.get(stack, stack), ber)
    with NS2.open() as file:
        mine = [r for r in csv.DictReader(file) if (r["losses"], r["stack"], float(r["ber"])) == wanted]
    return {(float(r["bw_kbps"]), float(r["rtt_ms"])): float(r["utilisation"]) for r in mine}


def draw(levels):
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 2, figsize=(11, 4.2), layout="constrained")
    for ax, ber in zip(axes, (1e-6, 1e-7)):
        for stack, marker in zip(PUBLISHED, "os^Dv"):
            (line,) = ax.plot(WANTED, [levels[stack, ber, w] for w in WANTED], "-" + marker, label=stack)
            ax.plot(WANTED, PUBLISHED[stack][ber], marker, mfc="none", color=line.get_color())
        ax.set(xlabel="utilisation", ylabel="equivalence level", title=f"{ber:.0e}: ours filled, the thesis's open")
        ax.legend(frameon=False)
    return figure
