"""TH figure 4.1: FACK's utilisation over rates of 10 kbit/s to 9 Mbit/s and delays, bit error rate 1e-6, packets of 1000 bytes.

Follows section 4.6.1: the text's statements on the figure, and ns-2's numbers for its points.
Differs: by default 70 of its points, `SKYHOP_FULL=1` for 675; axes are logarithmic.
Leaves out the colours: heights are in the axes.
"""

from __future__ import annotations

import numpy as np
from rows import Reproduction, Row
from thompson import beside_ns2, columns, left_open, surface

from skyhop import plot

SOURCE = "Thompson 2004, figure 4.1"
CLAIM = "TCP uses a link well if its rate or delay is low; utilisation falls rapidly as their product grows"


def reproduce() -> Reproduction:
    points = surface("fack", 1e-6, 1000)
    b, d, used = columns(points)
    slow = used[b <= 100]
    # The decrease: over the last decade of the product, utilisation falls by nearly the same factor.
    product = np.log10(b * d)
    steep = float(-np.polyfit(product[used < 0.4], np.log10(used[used < 0.4]), 1)[0])
    rows = [
        Row(
            "10 to 100 kbit/s, least use of any delay", "%", None, 100 * float(slow.min()), 90, 100, "drawn: a flat top near the full rate"
        ),
        Row(
            "RTT 20 ms, least use up to 2 Mbit/s", "%", None, 100 * float(used[(d == 20) & (b <= 2000)].min()), 90, 100,
            "drawn: a flat top near the full rate"
        ),
        Row("9 Mbit/s, RTT 500 ms", "%", None, 100 * points[9000.0, 500.0], 1.5, 3.5, "drawn: near nothing; the square-root law has 2.6"),
        Row(
            "fall of use per decade of rate times RTT, below 40 %", "decades", None, steep, 0.9, 1.05,
            "a window that errors hold makes it one: a tenth"
        ),
    ]
    off = beside_ns2("fack", "fack", 1e-6, 1000)
    if off is not None:
        rows.append(
            Row(
                "mean difference from ns-2, 58 points", "%", 0, off, -8, 8,
                "ns-2 has one seed here, whose stream of losses costs FACK 3.3 % of its mean over three (500 bytes); its spread",
                of="ns-2.35"
            )
        )
    return Reproduction(rows, draw(points), sensitivity=left_open("fack", 1e-6, 1000))


def draw(points):
    import matplotlib.pyplot as plt

    figure = plt.figure(figsize=(10, 8), layout="constrained")
    for place, (title, low, high) in enumerate(
        (("(a) 10 to 100 kbit/s", 10, 100), ("(b) 100 kbit/s to 1 Mbit/s", 100, 1000), ("(c) all", 10, 9000)), 1
    ):
        part = {link: u for link, u in points.items() if low <= link[0] <= high}
        plot.contours(*columns(part), ax=figure.add_subplot(2, 2, place), labels=("rate (kbit/s)", "RTT (ms)", title))
    plot.surface(*columns(points), figure.add_subplot(2, 2, 4, projection="3d"), labels=("rate (kbit/s)", "RTT (ms)", "utilisation", "(d)"))
    return figure
