"""TH figure 4.3: gain from fewer bit errors, from 1e-4 to 1e-7 in steps of ten, SACK, packets of 1000 bytes.

Follows section 4.6.3: the utilisation at a higher error rate is subtracted from that at the lower.
Differs: by default 70 points with one seed each, `SKYHOP_FULL=1` for 675 with three.
Leaves out numbers under published: the text describes the figure in words.
"""

from __future__ import annotations

from rows import Reproduction, Row
from thompson import columns, left_open, surface

from skyhop import plot

SOURCE = "Thompson 2004, figure 4.3"
CLAIM = "Fewer errors help links with a large product of rate and delay; slow and short links gain nothing beyond a point"
BERS = (1e-4, 1e-5, 1e-6, 1e-7)


def reproduce() -> Reproduction:
    used = {ber: surface("sack1", ber, 1000) for ber in BERS}
    b, d, _ = columns(used[1e-4])
    product = b * d
    rows = []
    # Position of the slope at each step: a tenth of the errors, about three times the product.
    for above, below, (low, high) in zip(BERS, BERS[1:], ((2_000, 20_000), (30_000, 200_000), (100_000, 600_000))):
        gain = 100 * (columns(used[below])[2] - columns(used[above])[2])
        there = (product >= low) & (product <= high)
        name = f"{above:.0e} to {below:.0e}"
        rows.append(
            Row(
                f"{name}: gain at {low / 1e3:g} to {high / 1e3:g} kbit of rate times RTT", "points", None, float(gain[there].mean()),
                25, 90, "drawn: a ridge, read as a quarter of the rate and more"
            )
        )
        little = product <= 3_000
        bounds = {
            1e-4: (None, 50, 100, "drawn: half of the rate and more"),
            1e-5: (None, 8, 15, "drawn: errors of 1e-5 spoil 8 % of the packets, and repeats as much again at most"),
            1e-6: (0, -1.5, 1.5, "words: nothing is gained; errors of 1e-6 spoil 0.8 %"),
        }[above]
        rows.append(Row(f"{name}: gain up to 3 kbit", "points", bounds[0], float(gain[little].mean()), *bounds[1:]))
    open_ = [said for ber in (1e-5, 1e-6) for said in left_open("sack1", ber, 1000)]
    return Reproduction(rows, draw(used), sensitivity=open_)


def draw(used):
    import matplotlib.pyplot as plt

    figure = plt.figure(figsize=(11, 9), layout="constrained")
    for place, (above, below) in enumerate(zip(BERS, BERS[1:]), 1):
        b, d, worse = columns(used[above])
        ax = figure.add_subplot(2, 2, place)
        plot.difference(
            b,
            d,
            worse,
            columns(used[below])[2],
            ax,
            labels=("rate (kbit/s)", "RTT (ms)", f"({'abc'[place - 1]}) {above:.0e} to {below:.0e}"),
        )
    last = figure.add_subplot(2, 2, 4, projection="3d")
    plot.surface(*columns(used[1e-6]), last, labels=("rate (kbit/s)", "RTT (ms)", "utilisation", "(d) 1e-6"))
    return figure
