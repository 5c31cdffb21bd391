"""KG tables 6 and 7: allocation of variation and main effects on WAN links, from the printed numbers of table 5.

Follows KG 4.4 by `papers/kota.py` and `skyhop.analysis.factorial`; without a run.
Differs: nothing known.
Leaves out the effects of table 5 as simulated here, which its own entry has.
"""

from __future__ import annotations

import kota
from rows import Reproduction

SOURCE = "Kota et al. 1999, tables 6 and 7"
CLAIM = "The flavor explains 57.5 % of the variation of efficiency and the buffer 30.24 %; of fairness the buffer 53.55 %"

#: Sums of squares and % of the variation: efficiency, fairness.
VARIATION = """
squares       14.6897  18.6266
mean          14.2331  18.3816
variation      0.4565   0.2450
tcp            0.2625   0.0526  57.50  21.49
buffer         0.1381   0.1312  30.24  53.55
drop           0.0016   0.0002   0.34   0.09
tcp*buffer     0.0411   0.0424   8.99  17.32
tcp*drop       0.0104   0.0041   2.27   1.68
buffer*drop    0.0015   0.0009   0.33   0.38
error          0.0156   0.0472
"""
#: Effect and the ends of its interval: efficiency, fairness.
EFFECTS = """
vanilla   -0.1627  -0.1734  -0.1520   -0.0308  -0.0632   0.0016
reno      -0.0208  -0.0315  -0.0101    0.0325   0.0000   0.0649
newreno    0.0939   0.0832   0.1046    0.0573   0.0248   0.0898
sack       0.0896   0.0789   0.1003   -0.0590  -0.0914  -0.0265
0.5rtt    -0.1000  -0.1087  -0.0912   -0.1034  -0.1299  -0.0769
1rtt       0.0163   0.0076   0.0250    0.0382   0.0117   0.0647
2rtt       0.0837   0.0749   0.0924    0.0651   0.0386   0.0916
epd       -0.0081  -0.0142  -0.0019   -0.0030  -0.0217   0.0157
sd         0.0081   0.0019   0.0142    0.0030  -0.0157   0.0217
"""
#: Numbers of fairness whose last digit the publication truncates instead of rounding.
CUT = {
    "squares", "mean", "tcp", "tcp %", "tcp*buffer", "tcp*buffer %", "error", "vanilla low", "reno high", "newreno low", "sack low",
    "sack high", "1rtt", "1rtt low", "1rtt high", "epd low", "sd high",
}  # fmt: skip


def reproduce() -> Reproduction:
    return Reproduction(kota.allocation(kota.printed(5), VARIATION, EFFECTS, CUT))
