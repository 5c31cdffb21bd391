"""KG table 8: efficiency and fairness of TCP over UBR+ on MEO links.

Follows KG 4.1 to 4.3 by `papers/kota.py`.
Differs: means of five seeds, where one run each is printed.
Leaves out nothing that the table prints.
"""

from __future__ import annotations

import kota
import satellite_atm
from rows import Reproduction, Row

SOURCE = "Kota et al. 1999, tables 8 to 10"
CLAIM = "SACK is best and vanilla worst, with small differences"

PRINTED = kota.parsed("""
epd vanilla 0.8476 0.9656  0.8788 0.9646  0.8995 0.9594
epd reno    0.8937 0.9659  0.9032 0.9518  0.9091 0.9634
epd newreno 0.9028 0.9658  0.9105 0.9625  0.9122 0.9616
epd sack    0.9080 0.9517  0.9123 0.9429  0.9165 0.9487
sd  vanilla 0.8358 0.9649  0.8719 0.9684  0.9009 0.9615
sd  reno    0.8760 0.9688  0.8979 0.9686  0.9020 0.9580
sd  newreno 0.8923 0.9665  0.8923 0.9504  0.8976 0.9560
sd  sack    0.9167 0.9552  0.9258 0.9674  0.9373 0.9594
""")
KNOWN: dict[tuple[kota.Setting, str], str] = {}
KNOWN_CLAIMS: dict[str, str] = {}
REMARKS = ["Cells come to the switch at the rate of the access links, those of several packets one between the other (port_rate)."]


def reproduce() -> Reproduction:
    rows = kota.rows(satellite_atm.MEO, PRINTED, KNOWN) + kota.claims(satellite_atm.MEO, PRINTED, KNOWN_CLAIMS)
    fair = kota.analysed(kota.means(satellite_atm.MEO, "fairness"))
    largest = max(abs(effect.effect) for effect in fair.effects if len(effect.factors) == 1)
    rows.append(Row("largest main effect on fairness", "", 0.0062, largest, 0.0016, 0.015, "words: very small, read as no more than 0.015"))
    return Reproduction(rows, kota.draw(satellite_atm.MEO, PRINTED), REMARKS)
