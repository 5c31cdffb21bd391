"""KG tables 12 and 13: allocation of variation and main effects on GEO links, from the printed numbers of table 11.

Follows KG 4.4 by `papers/kota.py` and `skyhop.analysis.factorial`; without a run.
Differs: nothing known.
Leaves out the effects of table 11 as simulated here, which its own entry has.
"""

from __future__ import annotations

import kota
from rows import Reproduction

SOURCE = "Kota et al. 1999, tables 12 and 13"
CLAIM = "The flavor explains 69.16 % of the variation of efficiency and the buffer 13.65 %; no main effect on fairness matters"

#: Sums of squares and % of the variation: efficiency, fairness.
VARIATION = """
squares       17.3948  21.4938
mean          17.3451  21.4884
variation      0.0497   0.0054
tcp            0.0344   0.0008  69.16  14.47
buffer         0.0068   0.0006  13.65  11.48
drop           0.0001   0.0001   0.25   2.31
tcp*buffer     0.0037   0.0012   7.54  22.16
tcp*drop       0.0025   0.0014   4.96  26.44
buffer*drop    0.0002   0.0001   0.41   1.45
error          0.0182   0.0139
"""
#: Effect and the ends of its interval: efficiency, fairness.
EFFECTS = """
vanilla   -0.0295  -0.0420  -0.0170    0.0037  -0.0058   0.0133
reno      -0.0252  -0.0377  -0.0127    0.0027  -0.0068   0.0123
newreno   -0.0095  -0.0220   0.0030    0.0034  -0.0062   0.0129
sack       0.0642   0.0517   0.0768   -0.0098  -0.0194  -0.0003
0.5rtt    -0.0138  -0.0240  -0.0036    0.0050  -0.0029   0.0128
1rtt      -0.0099  -0.0201   0.0004    0.0020  -0.0058   0.0098
2rtt       0.0237   0.0134   0.0339   -0.0070  -0.0148   0.0009
epd        0.0023  -0.0049   0.0095   -0.0023  -0.0078   0.0033
sd        -0.0023  -0.0095   0.0049    0.0023  -0.0033   0.0078
"""
CUT: set[str] = set()


def reproduce() -> Reproduction:
    return Reproduction(kota.allocation(kota.printed(11), VARIATION, EFFECTS, CUT))
