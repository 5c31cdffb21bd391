"""TH figure 4.5: utilisation over rates and bit error rates.

Follows section 4.6.5; stack, delay and packets are not in the text: FACK, 80 ms of RTT and 500 bytes here.
Differs: by default 7 rates, 9 error rates and three seeds (nine where two rates are compared), `SKYHOP_FULL=1` for all rates; what
RTT and packet size do to the fall is in rows of its own.
Adds the error rate at which a model of the window alone falls to 80 %: a number of other origin.
Leaves out numbers under published: the text says in words what the figure draws, and says "increased" of the error rate where it
means that it must fall.
"""

from __future__ import annotations

import numpy as np
from rows import Reproduction, Row
from thompson import FULL, SEEDS, simulated

from skyhop import equivalence

SOURCE = "Thompson 2004, figure 4.5"
CLAIM = "The faster a link, the lower its bit error rate must be, or throughput collapses"

RATES_KBPS = equivalence.RATES_KBPS if FULL else (10, 40, 100, 400, 1000, 4000, 9000)
BERS = tuple(10.0 ** -(n / 2) for n in range(8, 17))


def reproduce() -> Reproduction:
    used = surface(80, 500)
    rows = []
    more = surface(80, 500, (1000, 4000), seeds=9)
    for rate in (1000, 4000):
        wanted = np.log10(at_80({(rate, ber): sawtooth(rate, ber) for ber in BERS}, rate))
        rows.append(
            Row(
                f"{rate} kbit/s: bit error rate at which use falls to 80 %, beside a sawtooth of windows", "log10", wanted,
                np.log10(at_80(more, rate)), wanted - 0.1, wanted + 0.1, "an eighth of the throughput, as constants of the square-root "
                "law differ (Mathis et al. 1997), is a quarter of the errors", of="formula"
            )
        )
    rows.append(
        Row(
            "decades of error rate per decade of rate, 100 kbit/s to 1 Mbit/s", "decades", None, slope(used, 100, 1000), -2, -0.5,
            "words: it falls; less than by the square-root law, since small windows end in timeouts, and by a quarter of it at least"
        )
    )
    # The square-root law: utilisation depends on rate times the root of the error rate. On slower links timeouts occur earlier.
    rows.append(
        Row(
            "decades of error rate per decade of rate, 1 to 4 Mbit/s", "decades", None, slope(more, 1000, 4000), -2.4, -1.6,
            "the square-root law has -2: a fifth"
        )
    )
    for rtt, size, low, high in ((240, 500, 200, 800), (80, 1000, 1000, 4000)):
        law = slope(surface(rtt, size, (low, high), seeds=9), low, high)
        rows.append(
            Row(
                f"the same with RTT {rtt} ms, {size} bytes, {low} to {high} kbit/s", "decades", None, law, -2.5, -1.5,
                "the square-root law has -2: a quarter"
            )
        )
    return Reproduction(rows, draw(used), sensitivity=[left_open()])


def left_open() -> str:
    said = []
    for what, variant, rtt, size in (
        ("as drawn", "fack", 80, 500),
        ("RTT 40 ms", "fack", 40, 500),
        ("RTT 240 ms", "fack", 240, 500),
        ("1000 bytes", "fack", 80, 1000),
        ("Tahoe", "tahoe", 80, 500),
        ("SACK", "sack1", 80, 500),
    ):
        said.append(f"{what} {at_80(surface(rtt, size, (1000,), variant), 1000):.1e}")
    return "Stack, delay and packets: FACK, 80 ms, 500 bytes. 1 Mbit/s falls to 80 % at a bit error rate of: " + ", ".join(said) + "."


def surface(rtt_ms: float, size: int, rates=RATES_KBPS, variant: str = "fack", seeds: int = SEEDS) -> dict[tuple[float, float], float]:
    table = {}
    for ber in BERS:
        for rate, u in zip(rates, simulated(variant, ber, size, seeds=seeds)((rate, rtt_ms) for rate in rates)):
            table[rate, ber] = u
    return table


def at_80(used: dict[tuple[float, float], float], rate: float) -> float:
    """Error rate at which utilisation falls below 80 % as errors grow, by interpolation over their logarithm."""
    bers = sorted(BERS)
    for lower, upper in zip(bers, bers[1:]):
        a, b = used[rate, lower], used[rate, upper]
        if a >= 0.8 > b:
            return float(10 ** np.interp(0.8, [b, a], [np.log10(upper), np.log10(lower)]))
    return float("nan")


def sawtooth(rate_kbps: float, ber: float, rtt: float = 0.08, size: int = 500, queue: int = 50, losses: int = 40_000) -> float:
    """Utilisation of a window that grows by a segment a round trip and is halved by random losses (Ott, Kemperman and Mathis 1996).

    Each segment is acknowledged, so that the square of the window grows by 2 per segment; the window does not grow in the round trip
    after a loss, and is halved where the queue is full. No timeouts.
    """
    packet = 8 * size / (rate_kbps * 1000)
    product = (rtt + packet) / packet
    segments = np.random.default_rng(1).exponential(1 / (1 - (1 - ber) ** (8 * size)), (losses // 1000, 1000))
    window, sent, taken = np.full(1000, product), 0.0, 0.0
    for run in segments:
        end = np.minimum(np.sqrt(window**2 + 2 * run), product + queue)
        run = (end**2 - window**2) / 2
        # Below the product a segment takes its share of the round trip, above it the time of a packet.
        below = product * (np.minimum(end, product) - np.minimum(window, product))
        above = (np.maximum(end, product) ** 2 - np.maximum(window, product) ** 2) / 2
        window = np.maximum(end / 2, 1)
        sent += run.sum() + np.minimum(window, product).sum()
        taken += below.sum() + above.sum() + 1000 * product
    return sent / taken


def slope(used: dict[tuple[float, float], float], low: float, high: float) -> float:
    return float(np.log10(at_80(used, high) / at_80(used, low)) / np.log10(high / low))


def draw(used):
    import matplotlib.pyplot as plt

    figure = plt.figure(figsize=(7.5, 5.5), layout="constrained")
    ax = figure.add_subplot(projection="3d")
    x, y = np.meshgrid(np.log10(RATES_KBPS), np.log10(BERS), indexing="ij")
    z = np.array([[used[rate, ber] for ber in BERS] for rate in RATES_KBPS])
    ax.plot_surface(x, y, z, cmap="Greys_r", edgecolor="#0b5fa5", linewidth=0.4)
    ax.set(
        xlabel="rate (kbit/s, power of ten)",
        ylabel="bit error rate (power of ten)",
        zlabel="utilisation",
        title="FACK, RTT 80 ms, 500 bytes",
    )
    ax.view_init(elev=25, azim=50)
    return figure
