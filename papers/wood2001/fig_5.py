"""WP figure 5: cost of delayed acknowledgments for a transfer over several paths.

Follows the section on delayed acknowledgments: see `mesh.py`; 200 ms or none, threshold 3, filled gaps acknowledged at once.
Differs: the paper prints curves without numbers and no window; ours is 40 segments. A threshold of 1 is shown besides.
Leaves out the progress of the file over time.
"""

from __future__ import annotations

import numpy as np
from mesh import DELAY, NO_DELAY, SYSTEMS, VARIANTS, mean
from rows import Reproduction, Row

SOURCE = "Wood et al. 2001, figure 5"
CLAIM = "Delayed acknowledgments reduce goodput over several paths and hardly over one; acknowledging filled gaps at once helps"

CASES = {"one path": {"scheme": "shortest"}, "several paths": {}, "several paths, threshold 1": {"threshold": 1}}
#: Reasons for the variants and systems to which the claim does not apply.
RARE = (
    "SACK seldom enters recovery at a threshold of 3, and half as many acknowledgments are reordered half as often; ns-2 shows the same "
    "over a mesh of nine: 1413.7 kbit/s with delayed acknowledgments, 1406.3 without"
)
CHAOS = (
    "at single instants acknowledging filled gaps at once changes NewReno's goodput in either direction; over Spaceway NGSO the mean "
    "rises, here it falls"
)
KNOWN = {
    ("newreno", "teledesic", "cost"): "3.3 % only; over Spaceway NGSO it is 21 %",
    ("sack1", "teledesic", "cost"): RARE,
    ("sack1", "spaceway-ngso", "cost"): RARE,
    ("newreno", "teledesic", "gap"): CHAOS,
}


def reproduce() -> Reproduction:
    rows, larger = [], 0
    for system, name in SYSTEMS.items():
        for variant, label in VARIANTS.items():
            what = f"{label}, {name}"
            single, several = (cost(system, variant, case) for case in ("one path", "several paths"))
            rows += [
                Row(f"{what}: cost of delay over one path", "%", 0, single, 0, 5, "words: little, read as a twentieth"),
                Row(
                    f"{what}: its cost over several paths", "%", None, several, 5, 45,
                    "words: considerable, read as more than a twentieth and less than half", KNOWN.get((variant, system, "cost"), "")
                ),
            ]
            larger += several > max(single, 5)
            gain = mean(system, variant) / mean(system, variant, gap_fillers=False)
            rows.append(
                Row(
                    f"{what}: telling filled gaps at once over not", "times", None, gain, 1.01, 1.4,
                    "words: useful; eight instants move a mean by 1 %", KNOWN.get((variant, system, "gap"), "")
                )
            )
    rows.append(
        Row(
            "costs of delay that are a twentieth and more over several paths, and less over one, share of four", "", 1, larger / 4, 1, 1,
            "words: both variants, both systems", "one of four: " + RARE
        )
    )
    one = {s: [cost(s, v, "several paths, threshold 1") for v in VARIANTS] for s in SYSTEMS}
    remark = "Cost at a threshold of 1, where recovery is the rule: " + "; ".join(
        f"{SYSTEMS[s]} {costs[0]:.0f} % (NewReno), {costs[1]:.0f} % (SACK)" for s, costs in one.items()
    )
    return Reproduction(rows, draw(), ["Means over eight instants."], [remark + "."])


def cost(system: str, variant: str, case: str) -> float:
    """Cost of delayed acknowledgments, in % of goodput."""
    keys = CASES[case]
    return 100 * (1 - mean(system, variant, acks=DELAY, **keys) / mean(system, variant, acks=NO_DELAY, **keys))


def draw():
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 2, figsize=(10, 4), layout="constrained", sharey=True)
    places = np.arange(len(CASES) * len(SYSTEMS))
    ticks = ["\n".join([name.split()[0], *case.split(", ")]) for name in SYSTEMS.values() for case in CASES]
    for ax, (variant, label), letter in zip(axes, VARIANTS.items(), "ab"):
        kinds = (
            ("no delay", "0.1", {"acks": NO_DELAY}),
            ("delayed 200 ms", "0.5", {"acks": DELAY}),
            ("delayed, filled gaps too", "0.8", {"acks": DELAY, "gap_fillers": False}),
        )
        for k, (kind, color, acks) in enumerate(kinds):
            heights = [mean(system, variant, **acks, **case) for system in SYSTEMS for case in CASES.values()]
            ax.bar(places + 0.27 * (k - 1), heights, 0.25, color=color, label=kind)
        ax.set_title(f"5{letter} {label}")
        ax.set_xticks(places, ticks, fontsize=6)
    axes[0].set_ylabel("goodput (Mbit/s)")
    axes[0].legend(frameon=False, fontsize=8)
    return figure
