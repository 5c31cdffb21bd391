"""TH figure 4.2: Reno, NewReno and SACK against Tahoe over rates and delays, bit error rate 1e-6, packets of 1000 bytes.

Follows section 4.6.2: Tahoe's utilisation is subtracted from each of the others'.
Differs: by default 70 points with one seed each, `SKYHOP_FULL=1` for 675 with three.
Leaves out numbers under published: the text describes the figure in words.
"""

from __future__ import annotations

import numpy as np
from rows import Reproduction, Row
from thompson import columns, left_open, surface

from skyhop import plot

SOURCE = "Thompson 2004, figure 4.2"
CLAIM = "Newer stacks gain over Tahoe as rate and delay grow, NewReno more than Reno; on slow links Tahoe is as good or better"


def reproduce() -> Reproduction:
    used = {stack: surface(stack, 1e-6, 1000) for stack in ("tahoe", "reno", "newreno", "sack1")}
    b, d, tahoe = columns(used["tahoe"])
    # Between the flat top, where all variants are alike, and the tail, where all utilisations are small.
    slope = (b * d > 60_000) & (b * d < 400_000)
    rows = []
    gain = {}
    for stack, (low, high) in {"reno": (0.3, 2.9), "newreno": (5, 14), "sack1": (5, 15)}.items():
        over = 100 * (columns(used[stack])[2] - tahoe)
        gain[stack] = float(over[slope].mean())
        rows.append(
            Row(
                f"{stack} over Tahoe, 60 to 400 kbit of rate times RTT", "points", None, gain[stack], low, high,
                "words: improves with rate and delay; drawn: some points for Reno, ten for the others"
            )
        )
        rows.append(
            Row(
                f"{stack} over Tahoe, up to 50 kbit/s, mean", "points", 0, float(over[b <= 50].mean()), -3, 3,
                "drawn: alike on slow links, Tahoe at times the better; a link's own losses are 3 points"
            )
        )
    rows.append(Row("NewReno over Reno there", "points", None, gain["newreno"] - gain["reno"], 3, 12, "words: NewReno more than Reno"))
    behind = np.mean([(columns(used[s])[2] < tahoe)[b <= 100].mean() for s in ("reno", "newreno", "sack1")])
    rows.append(
        Row(
            "links up to 100 kbit/s on which Tahoe is the better", "%", None, 100 * float(behind), 10, 60,
            "drawn: on some, read as a tenth to the half and a little more"
        )
    )
    open_ = [said for stack in ("tahoe", "newreno") for said in left_open(stack, 1e-6, 1000)]
    return Reproduction(rows, draw(used), sensitivity=open_)


def draw(used):
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 3, figsize=(14, 4.5), layout="constrained")
    b, d, tahoe = columns(used["tahoe"])
    for ax, stack in zip(axes, ("reno", "newreno", "sack1")):
        plot.difference(b, d, tahoe, columns(used[stack])[2], ax, labels=("rate (kbit/s)", "RTT (ms)", f"{stack} over Tahoe"))
    return figure
