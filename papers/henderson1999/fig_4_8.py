"""HT figure 4.8: fairness when all flows grow at a constant rate, by its constant, in three topologies.

Follows section 4.1.4: as figure 4.7, with Jain's index of the flows through the first bottleneck.
Differs: see `heterogeneous.py`.
Leaves out NewReno, FIFO and coarse clocks, whose behaviour is erratic according to the text.
"""

from __future__ import annotations

from heterogeneous import CONSTANTS, constant_rate, constant_rates, draw_constant_rates, left_open
from rows import Reproduction, Row

SOURCE = "Henderson 1999, figure 4.8 and section 4.1.4"
CLAIM = "A constant below 100 makes the sharing much fairer; with a large one the unfairness returns"


def reproduce() -> Reproduction:
    outcomes = constant_rates()
    two = outcomes[2]
    rows = [
        # ns-2.35 has 0.996.
        Row("topology 2, c = 4: fairness", "", None, two[4.0].jain, 0.97, 1, "words: near optimal; ns-2.35 has 0.996"),
        Row(
            "topology 2, c = 100: fairness gained", "", None, two[100.0].jain - two[0.0].jain, 0.04, 0.15,
            "words: substantial; the benchmark leaves 0.19 to gain"
        ),
    ]
    for topology, row in outcomes.items():
        small = max(row[c].jain for c in CONSTANTS if c < 100)
        rows.append(
            Row(
                f"topology {topology}: most fairness gained by c < 100", "", None, small - row[0.0].jain, 0.08, 0.5,
                "words: substantial; 0.5 is all that two flows have to gain"
            )
        )
        rows.append(
            Row(
                f"topology {topology}: of that lost again at c = 1600", "", None, small - row[1600.0].jain, 0.051, 0.5,
                "words: reappears, not in what measure; 0.5 is all that two flows have to lose"
            )
        )
    rows.append(
        Row(
            "topology 3, most fairness (never equal)", "", None, max(outcomes[3][c].jain for c in CONSTANTS), 0.6, 0.97,
            "words: not equal; improved over the benchmark"
        )
    )
    return Reproduction(
        rows,
        draw_constant_rates("jain", "Jain's index of fairness"),
        sensitivity=[left_open(topology, constant_rate(4)) for topology in (1, 2, 3)],
    )
