"""HT figure 4.18: SACK's repair of the losses of figure 4.17, enlarged.

Follows section 4.2.3: all losses of the burst are repaired in less than two seconds.
Differs: the queue, which is not stated, is 50 packets; `left_open` has others.
Leaves out nothing that the figure shows.
"""

from __future__ import annotations

from rows import Reproduction, Row
from satellite import draw, trace

SOURCE = "Henderson 1999, figure 4.18 and section 4.2.3"
CLAIM = "The burst of losses is repaired in less than two seconds, which is more than a round trip for the queue that has built up"


def reproduce() -> Reproduction:
    ours, short, long = (trace("sack-newreno", queue=f"{n} packets") for n in (50, 20, 60))
    start = float(ours.t[ours.loss])
    rows = [
        Row("duration of recovery", "s", 2, ours.recovery_s, 0.6, 2, "words: less than two seconds, more than a round trip"),
        Row("segments repeated", "", None, ours.flow["segments_retransmitted"], 25, 100, "drawn: tens of losses, half to twice the queue"),
        Row("timeouts", "", 0, ours.flow["timeouts"], 0, 0, "words: none"),
    ]
    remark = f"With 20 packets of queue recovery takes {short.recovery_s:.2f} s, with 60 {long.recovery_s:.2f} s."
    return Reproduction(rows, draw(ours, "SACK-NewReno, the first loss", (start - 1.5, start + 4)), sensitivity=[remark])
