"""TH figure 5.1: utilisation and the equivalence formula as surfaces, and the region in which both are above 80 %: FACK, 1500 bytes, 1e-6.

Follows section 5.1; the level is the one with which fewest points disagree (`skyhop.equivalence`).
Differs: the level from a tenth of the grid and the picture from 70 points, `SKYHOP_FULL=1` for 675. The thesis settles neither queue
nor ACKs nor what delay is for its figures; what 1000 bytes, a queue of 10 and delay one way do to the level is in rows.
Leaves out the constant: 6, as in table 5.1.
"""

from __future__ import annotations

import math

from rows import Reproduction, Row
from thompson import beside_ns2, columns, found, surface
from thompson_levels import NEAR, OPEN, OTHER_SETTINGS

from skyhop import equivalence, plot

SOURCE = "Thompson 2004, figure 5.1"
CLAIM = "One number separates the links that FACK uses to 80 % from the others"


def reproduce() -> Reproduction:
    level = found("fack", 1e-6, 1500, 0.8)
    points = surface("fack", 1e-6, 1500)
    b, d, used = columns(points)
    all_of_them = equivalence.level(b, d, used, 0.8)
    rows = [
        Row("level of 80 %", "E", 1.06, level, 0.96, 1.16, OPEN, OTHER_SETTINGS),
        Row("the same with 1000 bytes", "E", 1.06, found("fack", 1e-6, 1000, 0.8), 1.06 - NEAR, 1.06 + NEAR, OPEN),
        Row(
            "the same with D the delay one way", "E", 1.06, level + math.log10(2), 0.96, 1.16, OPEN,
            "half the delay adds log10 2 = 0.30 to a level that is 0.14 too low"
        ),
        Row(
            "points on the wrong side of it", "%", 0, 100 * all_of_them.differing / all_of_them.points, 0, 4,
            "words: it divides them; a link's own losses move it across"
        ),
    ]
    off = beside_ns2("fack", "fack", 1e-6, 1500)
    if off is not None:
        rows.append(
            Row(
                "mean difference from ns-2, 58 points", "%", 0, off, -8, 8,
                "ns-2 has one seed here, whose stream of losses costs FACK 3.3 % (500 bytes); its spread", of="ns-2.35"
            )
        )
    left_open = (
        f"The queue: 50 packets. With 10 the level is {found('fack', 1e-6, 1500, 0.8, queue_packets=10):.3f} in place of {level:.3f}."
    )
    return Reproduction(rows, plot.equivalence(b, d, used, 0.8, title="FACK, 1500 bytes, bit error rate 1e-6"), sensitivity=[left_open])
