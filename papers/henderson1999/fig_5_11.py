"""HT figure 5.11: return bandwidth on the satellite link for the transfers of figure 5.10.

Follows section 5.3: TCP acknowledges every second segment, STP polls three times a round trip.
Differs: see `compete.py` and `fig_5_10.py`.
Leaves out link layer headers.
"""

from __future__ import annotations

from compete import RTTS_MS, draw, measure
from rows import Reproduction, Row

SOURCE = "Henderson 1999, figure 5.11 and section 5.3"
CLAIM = (
    "Split STP needs up to ten times less return bandwidth than split TCP, and less for longer round trips, independent of the "
    "forward rate"
)

STP = '{ kind = "stp", format = "plain", packet_size = "1012 B" }'


#: Of 50 packets at 1.5 Mbit/s.
QUEUE_MS = 50 * 1032 * 8 / 1.5e3
MORE = "an acknowledgment for every second segment of 1000 bytes over three STATs of 44 bytes a round trip makes 14.6 of the 1286 kbit/s"


def reproduce() -> Reproduction:
    tcp = [measure(rtt, split=True) for rtt in RTTS_MS]
    stp = [measure(rtt, split=True, beyond=STP) for rtt in RTTS_MS]
    rows = [
        Row("RTT 600 ms: TCP over STP", "times", 10, tcp[-1].back / stp[-1].back, 8, 12, "up to an order of magnitude, a fifth", MORE),
        Row(
            "RTT 40 ms: TCP over STP", "times", None, tcp[0].back / stp[0].back, 1.2, 8,
            "words: much less, though less so over short round trips"
        ),
        Row(
            "least fall from one RTT to the next", "times", None, min(a.back / b.back for a, b in zip(stp, stp[1:])), 1.05, 3,
            "words: falls, at each step; with an empty queue 1.5 to 2.5"
        ),
    ]
    # Three STATs of 44 bytes a round trip, the queue before the satellite included.
    for rtt, s in zip(RTTS_MS, stp):
        rows.append(
            Row(
                f"RTT {rtt} ms: STP, over three STATs a path's round trip", "", None, s.back / (3 * 44 * 8 / rtt),
                rtt / (rtt + QUEUE_MS), 1.1, "from a full queue to an empty one; a tenth for opening and losses"
            )
        )
    return Reproduction(rows, draw({"split STP": stp, "split TCP": tcp}, "back", "return bandwidth (kbit/s)"))
