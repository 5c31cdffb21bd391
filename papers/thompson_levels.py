"""Levels of pairs of stacks and of utilisations beside those that Thompson prints, and their regions: TH figures 5.2 to 5.5.

Follows sections 5.2 to 5.4: white regions are used well enough, beside them those above the level.
Differs: one picture for both; utilisation crosses at the line, the formula at the dashes.
Leaves out simulation (`thompson.py`).
"""

from __future__ import annotations

import numpy as np
from rows import Row
from thompson import Points, columns, found, surface

from skyhop import equivalence, plot

#: Reason for printed levels in figures 5.1 to 5.4 above ours at 1500 bytes.
OTHER_SETTINGS = (
    "figures 5.1 to 5.4 print levels 0.06 to 0.16 above those of 1500 bytes with the settings that give table 5.1; packets of 1000"
    " bytes, of chapter 4, come nearer"
)
#: Stacks whose levels differ for this reason by more than 0.1, by hand.
KNOWN = {"tahoe": OTHER_SETTINGS, "newreno": OTHER_SETTINGS, "vegas": OTHER_SETTINGS}
OPEN = "a tenth of a decade: queue, run length and the stream of losses are not stated"
#: Packets of 1000 bytes: the thesis's stream of losses changes a level of table 5.1 by 0.02 to 0.05, and queue and run length are open.
NEAR = 0.12


def stack_rows(published: dict[str, float]) -> tuple[list[Row], dict[str, Points]]:
    """Levels of 80 % at 1e-6, and the number of points that they misjudge."""
    rows, levels, surfaces = [], {}, {}
    for stack, level in published.items():
        ours = levels[stack] = found(stack, 1e-6, 1500, 0.8)
        rows.append(Row(f"{stack}, level of 80 %, 1500 bytes", "E", level, ours, level - 0.1, level + 0.1, OPEN, KNOWN.get(stack, "")))
        rows.append(Row(f"{stack}, level of 80 %, 1000 bytes", "E", level, found(stack, 1e-6, 1000, 0.8), level - NEAR, level + NEAR, OPEN))
        surfaces[f"{stack}, 80 %"] = surface(stack, 1e-6, 1500)
    first, second = published
    apart = published[first] - published[second]
    rows.append(
        Row(
            f"{first} above {second}", "E", apart, levels[first] - levels[second], 0.5 * apart, 1.5 * apart,
            "half of it: settings that are open move both, not alike"
        )
    )
    return rows, surfaces


def misjudged(name: str, points: Points, wanted: float, most: float) -> Row:
    """Points on the wrong side of the level of `wanted`."""
    found_here = equivalence.level(*columns(points), wanted)
    return Row(
        f"{name}: points on the wrong side", "%", 0, 100 * found_here.differing / found_here.points, 0, most,
        "words: it divides them; a link's own losses move it across"
    )


def draw(surfaces: dict[str, tuple[Points, float]]):
    """Utilisation and formula of each stack, in one row of pictures."""
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, len(surfaces), figsize=(6 * len(surfaces), 4.5), layout="constrained", squeeze=False)
    for ax, (name, (points, wanted)) in zip(axes[0], surfaces.items()):
        b, d, u = columns(points)
        level = equivalence.level(b, d, u, wanted).level
        plot.contours(b, d, u, levels=(wanted,), ax=ax, labels=("rate (kbit/s)", "RTT (ms)", f"{name} (line), E = {level:.3f} (dashes)"))
        ax.tricontour(np.log10(b), np.log10(d), equivalence.equivalence(b, d), levels=[level], colors="black", linestyles="--")
    return figure
