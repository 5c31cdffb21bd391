"""HT figure 4.9: fairness of a constant rate after the addition of one flow with the standard window growth.

Follows section 4.1.4: as figure 4.8 with one more flow, which counts too.
Differs: the round trip of that flow is not given; ours has 10 ms and crosses the first bottleneck.
Leaves out a web load with the standard growth, for which the text states the same without numbers.
"""

from __future__ import annotations

from heterogeneous import Setting, all_of, constant_rate, constant_rates, draw_constant_rates, replace
from rows import Reproduction, Row

SOURCE = "Henderson 1999, figure 4.9 and section 4.1.4"
CLAIM = "One flow with the standard growth takes a disproportionate share, and most of the constant rate's fairness is lost"


def reproduce() -> Reproduction:
    alone, beside = constant_rates(), constant_rates(intruder=True)
    rows = []
    for topology in (1, 2, 3):
        lost = alone[topology][4.0].jain - beside[topology][4.0].jain
        rows.append(
            Row(
                f"topology {topology}, c = 4: fairness lost to one usual flow", "", None, lost, 0.1, 0.7,
                "words: much of it is lost; 0.7 is more than there was"
            )
        )
    flows = beside[2][4.0].kbps
    fair = sum(flows) / len(flows)
    rows.append(
        Row("topology 2, c = 4: its share of a fair share", "", None, flows[-1] / fair, 1.5, 7, "words: disproportionate; 7 is all of it")
    )
    gain = [beside[t][4.0].utilisation - alone[t][4.0].utilisation for t in (1, 2, 3)]
    rows.append(
        Row(
            "c = 4: utilisation gained by it, mean of the topologies", "", None, sum(gain) / 3, 0.001, 0.009,
            "words: slightly; 0.01 is what can be seen in the figure"
        )
    )
    # Round trips in the middle of the topology's range, instead of 10 ms.
    slower = replace(Setting(), increase=constant_rate(4), intruder=True, intruder_ms=100)
    (slow,) = all_of([slower], 4)
    return Reproduction(
        rows,
        draw_constant_rates("jain", "Jain's index of fairness", intruder=True),
        sensitivity=[
            f"With 100 ms in place of 10 ms that flow leaves a fairness of {slow.jain:.3f} in topology 2 at c = 4 "
            f"({beside[2][4.0].jain:.3f})."
        ],
    )
