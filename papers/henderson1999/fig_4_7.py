"""HT figure 4.7: utilisation when all flows grow at a constant rate, by its constant, in three topologies.

Follows section 4.1.4: SACK, RED, clocks of 10 ms, the web load at the same rate; c from 4 to 1600.
Differs: see `heterogeneous.py`.
Leaves out NewReno, FIFO and coarse clocks, whose behaviour is erratic according to the text.
"""

from __future__ import annotations

from heterogeneous import Setting, all_of, constant_rate, constant_rates, draw_constant_rates, left_open, replace
from rows import Reproduction, Row

SOURCE = "Henderson 1999, figure 4.7 and section 4.1.4"
CLAIM = "With few flows a small constant leaves the bottleneck unused; with many it does not"


DRAWN = "words: lower; what can be seen in a figure of 0 to 1, a hundredth, to a tenth"
GAPS = "0.005 and 0.001 lost: short web transfers leave no gaps for slow growth to miss; with longer ones, nearer to Mah's, 0.02"


def reproduce() -> Reproduction:
    one, two, three = constant_rates().values()
    rows = [
        Row("topology 1, c = 4: utilisation lost", "", None, one[0.0].utilisation - one[4.0].utilisation, 0.01, 0.09, DRAWN, known=GAPS),
        Row(
            "topology 3, c = 4: utilisation lost", "", None, three[0.0].utilisation - three[4.0].utilisation, 0.01, 0.09, DRAWN, known=GAPS
        ),
        Row(
            "topology 2, c = 4: utilisation lost", "", 0, two[0.0].utilisation - two[4.0].utilisation, -0.01, 0.01,
            "words: near optimal; seeds move a point by 0.005"
        ),
        Row("topology 1, c = 1600: utilisation", "", None, one[1600.0].utilisation, 0.97, 1.005, "drawn: as the benchmark, near 1"),
    ]
    open_ = [left_open(topology, constant_rate(4)) for topology in (1, 2, 3)]
    return Reproduction(rows, draw_constant_rates("utilisation", "utilisation"), sensitivity=[*open_, long_transfers()])


def long_transfers() -> str:
    """Utilisation lost at c = 4 with the same web load in transfers of 200 packets; the thesis has no number."""
    told = []
    for topology in (1, 3):
        base = Setting(topology=topology, web_packets=200)
        usual, slow = all_of([base, replace(base, increase=constant_rate(4))], 1 if topology == 3 else 4)
        told.append(f"topology {topology} {usual.utilisation - slow.utilisation:.3f}")
    return f"Utilisation lost at c = 4 with the web load in transfers of 200 packets: {', '.join(told)}."
