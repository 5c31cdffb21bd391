"""TH figure 5.2: regions in which Tahoe and Reno use 80 % of a link, measured and by the equivalence formula.

Follows section 5.2; packets of 1500 bytes and 1e-6 as in figure 5.1, since the text names none, and 1000 bytes beside it.
Differs as figure 5.1 does: levels from the links in doubt, pictures from 70 points, `SKYHOP_FULL=1` for 675; three seeds.
Leaves out nothing that the figure shows.
"""

from __future__ import annotations

from rows import Reproduction
from thompson_levels import draw, misjudged, stack_rows

SOURCE = "Thompson 2004, figure 5.2"
CLAIM = "The formula also holds for other stacks: Tahoe's level is above Reno's"


def reproduce() -> Reproduction:
    rows, surfaces = stack_rows({"tahoe": 1.25, "reno": 1.0965})
    rows += [misjudged(name, points, 0.8, 5) for name, points in surfaces.items()]
    return Reproduction(rows, draw({name: (points, 0.8) for name, points in surfaces.items()}))
