"""HT figure 4.24: acknowledgments on the satellite's return link, end to end and split.

Follows section 4.3.2: an acknowledgment of 40 bytes for every second segment of 1000 bytes.
Differs: see `compete.py`.
Leaves out link layer headers.
"""

from __future__ import annotations

from compete import RTTS_MS, draw, measure
from rows import Reproduction, Row

SOURCE = "Henderson 1999, figure 4.24 and section 4.3.2"
CLAIM = "Acknowledgments of a split connection take about 20 kbit/s, 2 % of the forward rate, at any round trip"


def reproduce() -> Reproduction:
    beside = [measure(rtt) for rtt in RTTS_MS]
    split = [measure(rtt, split=True) for rtt in RTTS_MS]
    rows = [
        Row(
            f"RTT {rtt} ms, split: back over forward", "%", 2, 100 * o.back / o.satellite, 1.8, 2.6,
            "2 % is 40 bytes for two segments of 1000, of one digit; a loss is told at once"
        )
        for rtt, o in zip(RTTS_MS, split)
    ]
    rows.append(
        Row("RTT 600 ms, split: way back", "kbit/s", 20, split[-1].back, 15, 33, "about 20 of 1 Mbit/s; ours has 1.3, which makes 26")
    )
    rows.append(
        Row(
            "RTT 600 ms, end to end: back over forward", "%", None, 100 * beside[-1].back / beside[-1].satellite, 1.8, 3.5,
            "words: alike; small windows have more lone segments"
        )
    )
    remark = "20 kbit/s and 2 % are of 1 Mbit/s forward; ours has 1.3 Mbit/s."
    return Reproduction(rows, draw({"split": split, "end to end": beside}, "back", "acknowledgments (kbit/s)"), [remark], [left_open()])


def left_open() -> str:
    """The utilisation of the return link with other routers."""
    said = []
    for mbps in (4, 10, 20):
        ours = measure(600, split=True, router_mbps=mbps)
        said.append(f"{mbps} Mbit/s {100 * ours.back / ours.satellite:.2f} %")
    return (
        "The router has 10 Mbit/s, acknowledgments are delayed. Acknowledgments of what goes forward, split over 600 ms: "
        + ", ".join(said)
        + "."
    )
