"""HT figure 6.21: the hybrid geographic protocol against shortest paths by hops, by distance.

Follows section 6.5.3: Teledesic, four times 10,000 random pairs, routing radius 2 hops, 3 beyond 45 degrees, bins of 1000 km.
Differs: pairs are drawn over many hours; so the seam separates some pairs of each distance.
Leaves out pairs that the protocol did not deliver; they are counted.
"""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
from rows import Reproduction, Row

import skyhop

SOURCE = "Henderson 1999, figure 6.21 and section 6.5.3"
CLAIM = "On average the hybrid protocol is no more than about 3 ms worse than fewest hops; it fails at the seam"

TELEDESIC = {"preset": "teledesic", "isl_latitude_limit": "70 deg"}
SEEDS = (1, 2, 3, 4)
COMPARABLE = "words: no more than about 3 ms worse, half of the digit; not better, as fewest hops is what it approximates"
#: Of 10,000 pairs 250 are so far apart, and their mean has a standard error of 0.57 ms.
OPPOSITE = "words: no more than about 3 ms worse, half of the digit and twice the standard error of the 250 pairs of the thesis's 10,000"
#: Nearer pairs are within the routing radius.
FAR_KM = 5000
#: Beyond this distance, up to half the Earth's circumference, pairs are few.
ANTIPODES_KM = 18_000


def reproduce() -> Reproduction:
    tables = [skyhop.survey(TELEDESIC, "hybrid", samples=10_000, seed=seed) for seed in SEEDS]
    table = {name: np.concatenate([t[name] for t in tables]) for name in ("separation_km", "delay_ms", "fewest_hops_delay_ms", "outcome")}
    km, behind = table["separation_km"], table["delay_ms"] - table["fewest_hops_delay_ms"]
    arrived = np.isfinite(behind)
    far = arrived & (km > FAR_KM)
    means = np.array([behind[far & (km // 1000 == k)].mean() for k in range(FAR_KM // 1000, ANTIPODES_KM // 1000)])
    opposite = behind[arrived & (km > ANTIPODES_KM)]
    outcome, count = np.unique(table["outcome"], return_counts=True)
    counts = dict(zip(outcome, count))
    rows = [
        Row("behind fewest hops, mean above 5000 km", "ms", 3, float(behind[far].mean()), 0.5, 3.5, COMPARABLE),
        Row("behind fewest hops, worst bin's mean from 5000 to 18,000 km", "ms", 3, float(means.max()), 0.5, 3.5, COMPARABLE),
        Row("behind fewest hops, mean above 18,000 km", "ms", 3, float(opposite.mean()), 0.5, 4.65, OPPOSITE),
        Row(
            "loops", "% of pairs", 0, 100 * counts.get("looping", 0) / len(km), 0, 0.1,
            "words: none; a pair in a thousand may meet a handover"
        ),
    ]
    outcomes = ", ".join(f"{name}: {number}" for name, number in counts.items())
    remark = (
        f"{len(opposite)} pairs are above 18,000 km. Of {len(km)} packets {outcomes}. The thesis was not successful at the seam "
        "either, and gives no number."
    )
    return Reproduction(rows, figure(km[arrived], behind[arrived]), [remark])


def figure(km: np.ndarray, behind: np.ndarray) -> plt.Figure:
    figure, ax = plt.subplots(figsize=(7, 4.5), layout="constrained")
    groups = [behind[km // 1000 == k] for k in range(20)]
    x = np.arange(20) + 0.5
    mean, spread = [of.mean() for of in groups], [of.std() for of in groups]
    ax.errorbar(x, mean, spread, fmt="ko", ms=4, lw=0.8, capsize=2, label="mean, one standard deviation")
    ax.plot(x, [of.max() for of in groups], "x", color="0.4", label="largest")
    ax.axhline(0, color="0.6", lw=0.8)
    ax.axvline(FAR_KM / 1000, color="0.5", ls=":", lw=1)
    ax.set(xlabel="separation (1000 km)", ylabel="delay above that of fewest hops (ms)", xlim=(0, 20.2))
    ax.set_title("Teledesic: hybrid geographic routing against fewest hops")
    ax.legend(frameon=False, fontsize=8, loc="upper left")
    return figure
