"""TH tables 6.7, 6.8 and 6.9: utilisation of 20 kbit/s with 80 ms of RTT by FACK, by packet size, at three bit error rates.

Follows section 6.4.4's simulated columns. 600 s: the printed shares of 20 kbit/s are whole numbers of packets then (7 of 1250, 1400 and
1500 bytes make 0.58, 0.65 and 0.70 %). Errors before the queue: more than 98.8 % of 1500 bytes at 1e-6 is printed, and lost packets alone
are 1.2 %. Differs: means of twenty runs and more where the thesis has one. Leaves out the emulated columns, a Linux kernel of 2002.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from rows import Reproduction, Row
from satellite import run_text

SOURCE = "Thompson 2004, tables 6.7 to 6.9"
CLAIM = (
    "At 1e-6 packets of any size use the link well, at 1e-5 small ones do; at 1e-4 packets of 250 bytes lose most of the rate and "
    "large ones all of it"
)

SIZES_B = (100, 250, 500, 750, 1000, 1250, 1400, 1500)
PRINTED = {
    1e-4: (52.19, 30.23, 7.67, 2.25, 0.60, 0.58, 0.65, 0.70),
    1e-5: (98.55, 97.88, 94.83, 91.65, 81.47, 79.33, 77.43, 75.00),
    1e-6: (98.09, 98.30, 98.60, 98.85, 99.20, 99.33, 99.45, 99.60),
}
RATE_BPS, DURATION_S = 20e3, 600
#: Runs at 1e-4, where a run has few packets, and elsewhere.
RUNS = (60, 20)
SLOW = "3 %: how a run begins and ends is 12 s of 600 (the printed 98.09 of 100 bytes is 11.5 s less than all), and one run is off by 1"
FEW = "a tenth: one run of the thesis, whose standard deviation is 1 to 4 of 100 in ours"
MORE = "a sixth: one run of the thesis, whose standard deviation is 6 to 8 of 100 in ours"
TIMEOUTS = "a third: one run of the thesis, in which timeouts follow one another"
COUNTED = "a count of packets in one run: three and a half roots of it, and no less than a quarter"
#: Why large packets are far below at 1e-5.
TIMED_OUT = (
    "our FACK loses repeats, and then times out, as ns-2.35's does, which has 45 % of 1500 bytes at 10 and 30 kbit/s with errors after the "
    "link, and ours 46; the printed column lies between ours with thresholds of two duplicates and of one, and SACK has 84 %"
)
LUCK = "7 to 9 packets of one run; ours has a mean of 20, and single runs have 3 to 40"
KNOWN = {(1e-4, 1000): LUCK, (1e-5, 1250): TIMED_OUT, (1e-5, 1400): TIMED_OUT, (1e-5, 1500): TIMED_OUT}


def reproduce() -> Reproduction:
    ours = {(ber, size): float(np.mean(utilisations(ber, size))) for ber in PRINTED for size in SIZES_B}
    rows = []
    for ber, printed in PRINTED.items():
        for size, there in zip(SIZES_B, printed):
            low, high, why = bounds(ber, size, there)
            rows.append(Row(f"{ber:.0e}, {size} B", "%", there, ours[ber, size], low, high, why, KNOWN.get((ber, size), "")))
    spread = ", ".join(f"{size} B {np.std(utilisations(1e-4, size), ddof=1):.2f}" for size in SIZES_B)
    told = [f"Standard deviation of one run at 1e-4, %: {spread}."]
    after = ", ".join(f"{size} B {np.mean(utilisations(1e-5, size, before=False)):.1f}" for size in SIZES_B)
    open_ = [f"The place of the errors and the queue are not stated. At 1e-5 with errors after the link, %: {after}."]
    return Reproduction(rows, draw(ours), told, open_)


def bounds(ber: float, size: int, there: float) -> tuple[float, float, str]:
    if ber == 1e-6:
        return there - 3, min(there + 3, 100), SLOW
    if ber == 1e-5 and size >= 750:
        return there * 5 / 6, min(there * 7 / 6, 100), MORE
    if ber == 1e-5:
        return 0.9 * there, min(1.1 * there, 100), FEW
    if size <= 500:
        return there * 2 / 3, there * 4 / 3, TIMEOUTS
    packet = 100 * 8 * size / (RATE_BPS * DURATION_S)
    count = round(there / packet)
    return max(count - 3.5 * count**0.5, 0.25 * count) * packet, (count + 3.5 * count**0.5) * packet, COUNTED


@lru_cache(maxsize=None)
def utilisations(ber: float, size: int, before: bool = True) -> tuple[float, ...]:
    """Share of the rate that packets in order take, %, of each run."""
    loss = f'loss = {{ kind = "bit-errors", bit_error_rate = {ber} }}\nreverse = {{ loss = {{ kind = "none" }} }}\n'
    text = f"""host = "1999"
duration = "{DURATION_S} s"
record.sample_interval = "{DURATION_S} s"
[links.errors]
rate = "1 Gbit/s"
delay = "0 ms"
{loss if before else ""}
[links.satellite]
rate = "20 kbit/s"
delay = "40 ms"
queue = {{ kind = "drop-tail", limit = "50 packets" }}
{"" if before else loss}
[[flows]]
name = "transfer"
path = ["ground", "errors", "satellite", "micro-satellite"]
traffic = {{ kind = "bulk" }}
[flows.transport]
kind = "tcp"
variant = "fack"
mss = "{size - 40} B"
window = "20000 segments"
initial_window = "2 segments"
rto_initial = "3 s"
delayed_ack = {{ kind = "none" }}
"""
    shares = []
    for seed in range(1, RUNS[ber != 1e-4] + 1):
        delivered = run_text(text, seed).summary["flows"]["transfer"]["bytes_delivered"]
        shares.append(100 * delivered / (size - 40) * size * 8 / (RATE_BPS * DURATION_S))
    return tuple(shares)


def draw(ours):
    import matplotlib.pyplot as plt

    figure, ax = plt.subplots(figsize=(7, 4), layout="constrained")
    for (ber, printed), mark in zip(PRINTED.items(), "os^"):
        (line,) = ax.plot(SIZES_B, [ours[ber, size] for size in SIZES_B], "-" + mark, label=f"{ber:.0e}")
        ax.plot(SIZES_B, printed, mark, mfc="none", color=line.get_color())
    ax.set(xlabel="packet (B)", ylabel="utilisation (%)", title="20 kbit/s, 80 ms: ours filled, the thesis's open")
    ax.legend(frameon=False)
    return figure
