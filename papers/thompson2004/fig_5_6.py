"""TH figures 5.6 to 5.8: FACK above 80 % and the equivalence level, at 1e-5, 1e-6 and 1e-7, packets of 500 bytes.

Follows section 5.6 and the row of table 5.1 that counts points on the wrong side, with their distances.
Differs as figure 5.1 does; by default the counts are of a strip around each level, every second link, scaled to the grid.
Leaves out three separate pictures: one figure has the three, circles are the points that disagree, with areas by their differences.
"""

from __future__ import annotations

import numpy as np
from rows import Reproduction, Row
from thompson import FULL, columns, simulated

from skyhop import equivalence, plot

SOURCE = "Thompson 2004, figures 5.6, 5.7 and 5.8"
CLAIM = (
    "At 1e-6 and 1e-7 few points disagree with the level, and by little; at 1e-5 some are far off, near the edge of the region of "
    "high utilisation"
)

#: Level, number of points that differ, largest and mean difference (%).
PUBLISHED = {1e-5: (1.9508, 16, 21.53, 4.8), 1e-6: (1.1427, 3, 1.43, 1.0), 1e-7: (0.6198, 15, 5.3, 2.1)}
STRIPS = {1e-5: (1.4, 3.8), 1e-6: (0.9, 1.35), 1e-7: (0.3, 0.85)}
#: Of each run, as the thesis has one a point: a point's own losses shift it by 4 % at 1e-6 and by 12 % at 1e-7; the thesis's stream
#: shifts all alike.
FEW = "a third to three times: few points, each with losses of its own; the thesis's stream moves all alike"


def reproduce() -> Reproduction:
    rows, pictures = [], {}
    every = 1 if FULL else 2
    for ber, (level, differing, most, _) in PUBLISHED.items():
        links = equivalence.strip(*STRIPS[ber], every=every)
        runs = simulated("fack", ber, 500)
        points = pictures[ber] = dict(zip(links, runs(links)))
        counted = [equivalence.level(*columns(dict(zip(links, run(links)))), 0.8) for run in runs.runs]
        differ = every * float(np.mean([one.differing for one in counted]))
        off = float(np.mean([one.max_difference_pct for one in counted]))
        name = f"{ber:.0e}"
        rows.append(
            Row(
                f"{name}: level of 80 %", "E", level, equivalence.level(*columns(points), 0.8).level, level - 0.1, level + 0.1,
                "a point's own losses, and 0.02 to 0.05 of the thesis's stream"
            )
        )
        rows.append(Row(f"{name}: points on the wrong side", "of 675", differing, differ, differing / 3, 3 * differing, FEW))
        rows.append(Row(f"{name}: the most that one of them is off", "%", most, off, most / 3, 3 * most, FEW))
    return Reproduction(rows, draw(pictures))


def draw(pictures):
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 3, figsize=(15, 4.5), layout="constrained")
    for ax, (ber, points) in zip(axes, pictures.items()):
        b, d, used = columns(points)
        level = equivalence.level(b, d, used, 0.8).level
        above = np.round(equivalence.equivalence(b, d), 9) >= level
        # Points on which both agree are not drawn: there the formula matches the measurement.
        said = np.where(above == (used >= 0.8), used, 0.8)
        plot.difference(
            b,
            d,
            said,
            np.where(above == (used >= 0.8), said, used),
            ax,
            labels=("rate (kbit/s)", "RTT (ms)", f"{ber:.0e}, E = {level:.3f}"),
        )
        rates = np.geomspace(b.min(), b.max(), 50)
        ax.plot(rates, 10 ** (6 - level) / rates, "--", color="black", linewidth=0.8)
        ax.set_ylim(18, 550)
    return figure
