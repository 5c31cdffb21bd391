"""HT table 5.2: STP, SACK and Reno over four low satellites, with traffic one way and both ways.

Follows section 5.2.2: 200 runs of 60 s; goodput, forward efficiency and return bandwidth, with 95 % intervals.
Differs: how many browsers the thesis has is not told; see `stp.py`, and the remarks for their effect.
Leaves out nothing of the table.
"""

from __future__ import annotations

from rows import Reproduction, Row
from stp import PROTOCOLS, RUNS, STP, draw, intervals, leo, measure, rows_of, web_row

SOURCE = "Henderson 1999, table 5.2"
CLAIM = (
    "Over low satellites SACK has slightly more goodput than STP one way and less both ways, Reno less than either; STP needs a quarter "
    "of their return bandwidth"
)

PRINTED = {
    (False, "STP"): (1668.2, 0.961, 8.5),
    (False, "SACK"): (1715.1, 0.957, 37.4),
    (False, "Reno"): (1552.9, 0.957, 33.5),
    (True, "STP"): (1440.5, 0.960, 8.0),
    (True, "SACK"): (1154.2, 0.958, 25.5),
    (True, "Reno"): (975.4, 0.957, 21.3),
}


MORE = "more, as the text says, and up to twice the printed gain: two goodputs of 12 % each"
KNOWN: dict[tuple[bool, str, str], str] = {}


def reproduce() -> Reproduction:
    ours = {(two_way, name): measure(leo(PROTOCOLS[name], two_way), RUNS["LEO"]) for two_way, name in PRINTED}
    rows = [web_row(leo(None, False), name, "a twentieth") for name in ("up", "down")] + rows_of(ours, PRINTED, KNOWN)
    goodput = {key: m.goodput_kbps[0] for key, m in ours.items()}
    rows += [
        Row(
            "one way: SACK over STP, goodput", "times", 1715.1 / 1668.2, goodput[False, "SACK"] / goodput[False, "STP"], 1, 1.1,
            "slightly more, as the text says"
        ),
        Row(
            "one way: STP over Reno, goodput", "times", 1668.2 / 1552.9, goodput[False, "STP"] / goodput[False, "Reno"], 1.02, 1.2,
            MORE, KNOWN.get((False, "STP", "Reno"), "")
        ),
        Row(
            "both ways: STP over SACK, goodput", "times", 1440.5 / 1154.2, goodput[True, "STP"] / goodput[True, "SACK"], 1.02, 1.4,
            MORE, KNOWN.get((True, "STP", "SACK"), "")
        ),
        Row(
            "both ways: SACK over Reno, goodput", "times", 1154.2 / 975.4, goodput[True, "SACK"] / goodput[True, "Reno"], 1.05, 1.35,
            MORE, KNOWN.get((True, "SACK", "Reno"), "")
        ),
    ]
    other = {
        "20 browsers of each kind": (25, 20, PROTOCOLS),
        "queues of 28 packets": (28, 13, PROTOCOLS),
        "two POLLs a round trip": (25, 13, {"STP": STP | {"polls_per_rtt": 2}}),
    }
    told = []
    for what, (queue, browsers, protocols) in other.items():
        found = {name: measure(leo(transport, False, queue, browsers), 50) for name, transport in protocols.items()}
        told.append(f"{what}: " + ", ".join(f"{name} {m.goodput_kbps[0]:.0f} and {m.return_kbps[0]:.1f} back" for name, m in found.items()))
    return Reproduction(rows, draw(ours, PRINTED, "LEO"), ["One way, kbit/s, with " + "; ".join(told) + ".", intervals(ours)])
