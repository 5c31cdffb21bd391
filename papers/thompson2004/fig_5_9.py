"""TH figure 5.9: relation of equivalence levels of different bit error rates, FACK and SACK.

Follows section 5.7, which asks whether there is a relation; table 5.1 prints the levels that the figure draws.
Differs: the relation is fitted (`skyhop.equivalence.fit_ber`), to the thesis's levels and to ours at five bit error rates.
Leaves out the thesis's stream of losses, which adds 0.02 to 0.05 to a level and hardly touches the slope.
"""

from __future__ import annotations

import numpy as np
from rows import Reproduction, Row
from thompson import FULL, columns, simulated

from skyhop import equivalence

SOURCE = "Thompson 2004, figure 5.9"
CLAIM = "Levels of different error rates lie on parallel lines: a tenth of the errors raises E by half a unit, until timeouts dominate"

WANTED = (0.5, 0.6, 0.7, 0.8)
PUBLISHED = {
    "fack": {1e-5: (1.4949, 1.6234, 1.7694, 1.9508), 1e-6: (0.84163, 0.94309, 1.0362, 1.1427), 1e-7: (0.35654, 0.44369, 0.5228, 0.6198)},
    "sack1": {1e-5: (1.5406, 1.6576, 1.7959, 1.983), 1e-6: (0.86646, 0.96657, 1.0555, 1.1675), 1e-7: (0.37675, 0.44369, 0.5528, 0.6576)},
}
#: Range of the levels of 50 to 80 %.
STRIPS = {1e-5: (1.3, 2.3), 3e-6: (1.0, 1.7), 1e-6: (0.7, 1.3), 3e-7: (0.4, 1.1), 1e-7: (0.15, 0.85)}


def reproduce() -> Reproduction:
    rows, ours, fits = [], {}, {}
    for stack, published in PUBLISHED.items():
        mine = ours[stack] = levels(stack)
        theirs = {(w, ber): e for ber, row in published.items() for w, e in zip(WANTED, row)}
        fits[stack] = {}
        for name, keep in (("up to 1e-6", lambda ber: ber <= 1e-6), ("with 1e-5", lambda ber: True)):
            thesis = equivalence.fit_ber({k: e for k, e in theirs.items() if keep(k[1])})
            fit = fits[stack][name] = equivalence.fit_ber({k: e for k, e in mine.items() if keep(k[1])})
            rows.append(
                Row(
                    f"{stack}: E per decade of bit error rate, {name}", "E", thesis.slope, fit.slope, thesis.slope - 0.06,
                    thesis.slope + 0.06, "a tenth: levels of 0.05 over two decades"
                )
            )
        plain = fits[stack]["up to 1e-6"]
        rows.append(
            Row(
                f"{stack}: levels off the lines, up to 1e-6", "E", 0, plain.residual, 0, 0.025,
                "words: parallel lines; a step of the grid's products"
            )
        )
        # Figure 5.9's other relation: the distances between utilisations are the same at each error rate.
        gap = float(np.mean([mine[0.8, ber] - mine[0.5, ber] for ber in (1e-6, 1e-7)]))
        there = float(np.mean([published[ber][3] - published[ber][0] for ber in (1e-6, 1e-7)]))
        rows.append(Row(f"{stack}: 80 % above 50 %", "E", there, gap, there - 0.05, there + 0.05, "a level's own 0.05"))
        early = float(np.mean([mine[w, 1e-5] - plain.level(w, 1e-5) for w in WANTED]))
        rows.append(
            Row(
                f"{stack}: levels at 1e-5 above the lines", "E", None, early, 0.05, 0.4,
                "drawn: above the lines; the thesis's own are 0.10 to 0.25"
            )
        )
    rows.append(
        Row(
            "the square-root law's slope, beside FACK's", "E", 0.5, fits["fack"]["up to 1e-6"].slope, 0.45, 0.58,
            "a sixth: delay and timeouts, which the law leaves out, make it steeper", of="formula"
        )
    )
    return Reproduction(rows, draw(ours, fits))


def levels(stack: str) -> dict[tuple[float, float], float]:
    found = {}
    for ber, (low, high) in STRIPS.items():
        links = equivalence.strip(low, high, every=1 if FULL else 4)
        points = dict(zip(links, simulated(stack, ber, 500)(links)))
        for wanted in WANTED:
            found[wanted, ber] = equivalence.crossing(*columns(points), wanted)
    return found


def draw(ours, fits):
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 2, figsize=(11, 4.5), layout="constrained", sharey=True)
    for ax, (stack, mine) in zip(axes, ours.items()):
        for wanted, marker in zip(WANTED, "os^D"):
            bers = sorted(STRIPS)
            (line,) = ax.plot(bers, [mine[wanted, ber] for ber in bers], marker, label=f"{wanted:.0%}")
            ax.plot(bers, [fits[stack]["up to 1e-6"].level(wanted, ber) for ber in bers], "-", color=line.get_color(), linewidth=0.9)
            theirs = [(ber, row[WANTED.index(wanted)]) for ber, row in PUBLISHED[stack].items()]
            ax.plot(*zip(*theirs), marker, mfc="none", color=line.get_color(), markersize=9)
        ax.set(xscale="log", xlabel="bit error rate", ylabel="equivalence level", title=f"{stack}: ours filled, the thesis's open")
        ax.legend(frameon=False)
    return figure
