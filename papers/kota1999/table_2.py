"""KG tables 2 and 3, and the capacities of KG 4.3: files and loads of the web, buffers, and TCP's capacity.

Follows KG 4.1, 4.2.3 and 4.3 by `papers/satellite_atm.py`; without a run.
Differs: "Poisson with mean 5 among nine" is cut so that its mean stays 5; the other reading stands beside it.
Leaves out the shares of the classes, which are parameters.
"""

from __future__ import annotations

import satellite_atm as atm
from rows import Reproduction, Row

SOURCE = "Kota et al. 1999, tables 2 and 3, sections 4.1 and 4.3"
CLAIM = "A file has 120 KB on average, a hundred clients offer 48 Mbit/s, and TCP can use 37.80 or 40.39 of the link's 45 Mbit/s"

#: Cells of a round trip of propagation at 45 Mbit/s.
ROUND_TRIPS = {"WAN": (atm.WAN, 1062), "MEO": (atm.MEO, 21230), "GEO": (atm.GEO, 58380)}


def reproduce() -> Reproduction:
    rows = []
    for name, law in atm.LAWS.items():
        numbers = law()
        mean_b = sum(size * share for size, share in atm.sizes(numbers).items())
        load = atm.PAIRS * atm.mean_of(numbers) * mean_b * 8 / 10 / 1e6
        why = "printed as around 120, of five classes whose means add up to 117.5"
        rows.append(Row(f"mean size of a file, {name}", "KB", 120, mean_b / atm.KB, 115, 125, why))
        rows.append(Row(f"load, {name}", "Mbit/s", 48, load, 47, 49, "two digits; 5 requests of 120 KB in 10 s are rounded to it"))
    for name, link, printed in (("1024 B", atm.WAN, 37.80), ("9180 B", atm.GEO, 40.39)):
        why = "the printed digits"
        rows.append(
            Row(f"capacity for segments of {name}", "Mbit/s", printed, link.capacity_bps / 1e6, printed - 0.005, printed + 0.005, why)
        )
    for name, (link, printed) in ROUND_TRIPS.items():
        cells = atm.RATE_BPS * 2 * link.delay_ms / 1e3 / 8 / atm.CELL_B
        why = "WAN's rounded up, and the others 20 and 55 times as much"
        rows.append(Row(f"cells of a round trip, {name}", "cells", printed, cells, printed * 0.999, printed * 1.001, why))
    return Reproduction(rows)
