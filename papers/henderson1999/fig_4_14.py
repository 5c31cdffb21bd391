"""HT figure 4.14: the first minute of a large transfer by an unmodified BSD sender (Reno) over a geostationary path.

Follows section 4.2.3: `satellite.py` has the path; a loss of much of a window at the end of slow start, and Reno's recovery.
Differs: the queue, which is not stated, is 50 packets; `left_open` has 20. The sender has no guard against false fast
retransmissions, as BSD's of that time.
"""

from __future__ import annotations

from rows import Reproduction, Row
from satellite import PIPE_B, draw, trace

SOURCE = "Henderson 1999, figure 4.14 and section 4.2.3"
CLAIM = "Slow start overshoots within 10 s; Reno cannot repair the losses without a timeout, and continues with a low threshold"


#: Two segments, the lower limit of halvings (RFC 5681, equation 4), are 0.03 of rate times RTT.
LOW = "words: very low, read as less than a quarter of rate times RTT; two segments are the least"
BSD = {"avoid_multiple_fast_retransmits": False}


def reproduce() -> Reproduction:
    ours, short = trace("reno", **BSD), trace("reno", queue="20 packets", **BSD)
    best = trace("sack-newreno")
    rows = [
        Row(
            "first reduction of the window", "s", 10, float(ours.t[ours.loss]), 5, 10,
            "words: within the first 10 s, after several seconds without much"
        ),
        Row("timeouts", "", 1, ours.flow["timeouts"], 1, 3, "words: a timeout invariably; the figure has a silence or more"),
        Row(
            "reductions of the threshold", "", None, ours.reductions, 2, 8,
            "words: several, down to a very low window; 8 halvings are one segment"
        ),
        Row("threshold after it, over rate times RTT, queue of 20 packets", "", None, share(short), 0.025, 0.24, LOW),
        Row("the same, queue of 50 packets", "", None, share(ours), 0.025, 0.24, LOW),
        Row(
            "goodput of the first minute", "Mbit/s", None, ours.flow["goodput_bps"] / 1e6, 0.1, 0.6,
            "words: poor; what slow start brought, 0.5 MB, is 0.07; SACK 1.0"
        ),
        Row(
            "the same, over SACK-NewReno's", "", None, ours.flow["goodput_bps"] / best.flow["goodput_bps"], 0.1, 0.5,
            "abstract: variations of implementations reduce throughput by over half; all of it lost but slow start is 0.07"
        ),
    ]
    remark = (
        f"The queue: 50 packets. With 20 packets: first reduction after {short.t[short.loss]:.1f} s, {short.flow['timeouts']} timeout, "
        f"{short.reductions} reductions, {short.flow['goodput_bps'] / 1e6:.2f} Mbit/s. The curve as the figure has it, a burst of "
        "losses, a silence and linear growth, is there with both."
    )
    return Reproduction(rows, draw(ours, "Reno, RTT 600 ms"), sensitivity=[remark])


def share(ours) -> float:
    return float(ours.threshold[-1]) / PIPE_B
