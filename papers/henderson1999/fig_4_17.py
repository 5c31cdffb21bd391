"""HT figure 4.17: the first minute of a large transfer by SACK-NewReno over a geostationary path.

Follows section 4.2.3 and the appendix: one reduction, repeats by SACK, then linear growth from a large window.
Differs: the queue, which is not stated, is 50 packets; `left_open` has 20.
Leaves out nothing that the figure shows.
"""

from __future__ import annotations

from rows import Reproduction, Row
from satellite import PIPE_B, draw, trace

SOURCE = "Henderson 1999, figure 4.17 and section 4.2.3"
CLAIM = "SACK-NewReno repairs the overshoot at once, reduces its window once, and keeps the link full from then on"


def reproduce() -> Reproduction:
    ours, short, reno = trace("sack-newreno"), trace("sack-newreno", queue="20 packets"), trace("sack-reno")
    after = ours.loss + 100
    late = (ours.acked[-1] - ours.acked[after]) * 8 / (ours.t[-1] - ours.t[after])
    rows = [
        Row("timeouts", "", 0, ours.flow["timeouts"], 0, 0, "words: none"),
        Row("reductions of the threshold", "", 1, ours.reductions, 1, 1, "words: one"),
        Row(
            "threshold after it, over rate times RTT", "", None, float(ours.threshold[-1]) / PIPE_B, 0.6, 1.5,
            "words: half of the window at the overshoot, which is one to three times rate times RTT"
        ),
        Row(
            "goodput from 5 s after the loss, over the link's", "", 1, late / (1.3e6 * 1460 / 1500), 0.97, 1.001,
            "drawn: a straight line; a sample is 50 ms of 40 s"
        ),
        Row("reductions by SACK-Reno", "", None, reno.reductions, 2, 8, "words: several; 8 halvings are one segment"),
    ]
    remark = (
        f"With 20 packets {short.reductions} reductions in the minute and {short.flow['goodput_bps'] / 1e6:.2f} Mbit/s, with 50 "
        f"{ours.flow['goodput_bps'] / 1e6:.2f}: a queue shorter than half of rate times RTT runs empty after a reduction."
    )
    return Reproduction(rows, draw(ours, "SACK-NewReno, RTT 600 ms"), sensitivity=[remark])
