"""HT figure 4.5: utilisation of the bottleneck by the length of its queue, for NewReno and SACK, FIFO and RED.

Follows section 4.1.3: topology 2, the usual growth of the window, queues of 4 to 50 packets.
Differs: see `heterogeneous.py`; RED's thresholds are 0.4 and 0.8 of the queue at all lengths.
Leaves out the confidence intervals, with three runs a point.
"""

from __future__ import annotations

from heterogeneous import benchmark, draw_benchmark, left_open
from rows import Reproduction, Row

SOURCE = "Henderson 1999, figure 4.5 and section 4.1.3"
CLAIM = "Utilisation of the bottleneck grows with the length of its queue, for each kind of TCP and of queue"


def reproduce() -> Reproduction:
    outcomes = benchmark()
    rows = []
    for name, row in outcomes.items():
        used = [outcome.utilisation for outcome in row.values()]
        # Utilisation may decrease between lengths only by the uncertainty of a few runs.
        rows.append(
            Row(
                f"{name}: largest fall from a queue to a longer one", "", 0, largest_fall(used), 0, 0.01,
                "words: never; seeds move a point by 0.005"
            )
        )
        rows.append(
            Row(
                f"{name}: utilisation gained from 4 to 50 packets", "", None, used[-1] - used[0], 0.04, 0.3,
                "words: better; RED at 4 packets is read as 0.93 at least"
            )
        )
        rows.append(
            Row(f"{name}: utilisation at 50 packets", "", None, used[-1], 0.97, 1.005, "drawn: near 1; a packet in service is 0.001")
        )
    return Reproduction(rows, draw_benchmark("utilisation", "utilisation"), sensitivity=[left_open()])


def largest_fall(values: list[float]) -> float:
    return max(0.0, *(a - b for a, b in zip(values, values[1:])))
