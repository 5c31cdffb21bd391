"""HT figure 4.15: the first minute of a large transfer by NewReno ("slow but steady") over a geostationary path.

Follows section 4.2.3: one repeat a round trip, no timeout, no second reduction, no burst when recovery ends.
Differs: the queue, which is not stated, is 50 packets; `left_open` has 20.
Leaves out nothing that the figure shows.
"""

from __future__ import annotations

from rows import Reproduction, Row
from satellite import draw, trace

SOURCE = "Henderson 1999, figure 4.15 and section 4.2.3"
CLAIM = "NewReno needs a round trip for each lost segment: over half a minute for one burst of losses, without a timeout"

VARIANT = "newreno-slow-but-steady"


def reproduce() -> Reproduction:
    ours, short = trace(VARIANT), trace(VARIANT, queue="20 packets")
    repeats = ours.flow["segments_retransmitted"]
    rows = [
        Row(
            "duration of recovery", "s", 30, ours.recovery_s, 30, 45,
            "words: over half a minute; the figure shows a minute, with growth after it"
        ),
        Row("recovery, per repeat", "s", 0.6, ours.recovery_s / repeats, 0.59, 0.66, "a round trip and up to a tenth of queue"),
        Row("timeouts", "", 0, ours.flow["timeouts"], 0, 0, "words: none"),
        Row("reductions of the threshold", "", 1, ours.reductions, 1, 1, "words: one"),
    ]
    remark = (
        f"The length of recovery is that of the overshoot: {repeats} lost segments with 50 packets, "
        f"{short.flow['segments_retransmitted']} and {short.recovery_s:.1f} s with 20."
    )
    return Reproduction(rows, draw(ours, "NewReno, RTT 600 ms"), sensitivity=[remark])
