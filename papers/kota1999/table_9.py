"""KG tables 9 and 10: allocation of variation and main effects on MEO links, from the printed numbers of table 8.

Follows KG 4.4 by `papers/kota.py` and `skyhop.analysis.factorial`; without a run.
Differs: nothing known.
Leaves out the effects of table 8 as simulated here, which its own entry has.
"""

from __future__ import annotations

import kota
from rows import Reproduction

SOURCE = "Kota et al. 1999, tables 9 and 10"
CLAIM = "The flavor explains 56.75 % of the variation of efficiency and the buffer 21.73 %; no main effect on fairness matters"

#: Sums of squares and % of the variation: efficiency, fairness.
VARIATION = """
squares       19.3453  22.1369
mean          19.3334  22.1357
variation      0.0119   0.0012
tcp            0.0067   0.0003  56.75  29.20
buffer         0.0026   0.0001  21.73   7.70
drop           0.0001   0.0001   0.80   6.02
tcp*buffer     0.0016   0.0001  13.42  10.16
tcp*drop       0.0007   0.0003   6.11  22.60
buffer*drop    0.0001   0.0001   0.53   6.03
error          0.0036   0.0060
"""
#: Effect and the ends of its interval: efficiency, fairness.
EFFECTS = """
vanilla   -0.0251  -0.0276  -0.0226    0.0037  -0.0004   0.0078
reno      -0.0005  -0.0030   0.0019    0.0024  -0.0017   0.0065
newreno    0.0038   0.0013   0.0062    0.0001  -0.0040   0.0042
sack       0.0219   0.0194   0.0244   -0.0062  -0.0103  -0.0020
0.5rtt    -0.0134  -0.0154  -0.0114    0.0027  -0.0007   0.0060
1rtt       0.0016  -0.0005   0.0036   -0.0008  -0.0042   0.0026
2rtt       0.0119   0.0098   0.0139   -0.0019  -0.0052   0.0015
epd        0.0020   0.0006   0.0034   -0.0017  -0.0041   0.0007
sd        -0.0020  -0.0034  -0.0006    0.0017  -0.0007   0.0041
"""
CUT: set[str] = set()


def reproduce() -> Reproduction:
    return Reproduction(kota.allocation(kota.printed(8), VARIATION, EFFECTS, CUT))
