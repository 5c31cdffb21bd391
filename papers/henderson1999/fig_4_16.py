"""HT figure 4.16: NewReno with a burst at the end of recovery, over a geostationary path.

Follows section 4.2.3: as figure 4.15 with the window reopened to the threshold at once, as the first specifications had it.
Differs: the queue, which is not stated, is 50 packets; `left_open` has 20.
Leaves out nothing that the figure shows.
"""

from __future__ import annotations

import numpy as np
from rows import Reproduction, Row
from satellite import Trace, draw, trace

SOURCE = "Henderson 1999, figure 4.16 and section 4.2.3"
CLAIM = "The burst at the end of recovery overflows the queue again: the next recovery begins at once"

VARIANT = "newreno-slow-but-steady"


def reproduce() -> Reproduction:
    ours, short = (trace(VARIANT, burst_after_recovery=True, queue=queue) for queue in ("50 packets", "20 packets"))
    without = trace(VARIANT)
    rows = [
        # Three duplicate acknowledgments of the burst, a round trip and a full queue later.
        Row(
            "from the end of recovery to the next reduction", "s", None, again_s(ours), 0.6, 3,
            "words: at once; a round trip at least, and five at most"
        ),
        Row(
            "reductions of the threshold in a minute", "", None, ours.reductions, 2, 4,
            "words: again; each recovery takes 20 s or more of the minute"
        ),
        Row("the same, without the burst (figure 4.15)", "", 1, without.reductions, 1, 1, "words: one"),
        Row(
            "goodput, over that without the burst", "", None, ours.flow["goodput_bps"] / without.flow["goodput_bps"], 0.2, 0.8,
            "words: worse; a second recovery in the minute costs a fifth at least, and leaves the first half"
        ),
        Row("timeouts", "", 0, ours.flow["timeouts"], 0, 0, "drawn: none"),
    ]
    remark = f"With 20 packets of queue the next reduction comes {again_s(short):.1f} s after recovery, {short.reductions} in a minute."
    return Reproduction(rows, draw(ours, "NewReno with a burst after recovery, RTT 600 ms"), sensitivity=[remark])


def again_s(ours: Trace) -> float:
    """From the end of the first recovery to the second fall of the threshold; NaN if there is none."""
    falls = ours.t[1:][np.diff(np.nan_to_num(ours.threshold, nan=1e12)) < 0]
    return float(falls[1] - falls[0]) - ours.recovery_s if len(falls) > 1 else float("nan")
