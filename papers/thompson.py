"""Shared by the reproductions of Thompson's thesis: utilisations over rates and delays, levels, and ns-2's numbers beside them.

Follows TH chapters 4 and 5 with the settings that the reference found to give table 5.1 (`skyhop.equivalence.grid`): D is the round trip.
Differs: by default a third of the rates and of the delays; `SKYHOP_FULL=1` runs all 675 points. Three seeds each; levels are from the
links in doubt in either case. Leaves out the thesis's one stream of losses for all points: here each point has its own.
"""

from __future__ import annotations

import csv
import os
from collections.abc import Iterable
from functools import cache
from pathlib import Path

import numpy as np

from skyhop import equivalence

#: All points: half an hour of one core for all of the thesis's figures, instead of five minutes.
FULL = os.environ.get("SKYHOP_FULL", "") not in ("", "0")
SEEDS = 3
RATES_KBPS = equivalence.RATES_KBPS if FULL else (10, 20, 50, 100, 200, 500, 1000, 2000, 4000, 9000)
RTTS_MS = equivalence.RTTS_MS if FULL else (20, 60, 120, 200, 300, 400, 500)
REFERENCE = Path(__file__).resolve().parents[2] / "shared" / "reference" / "ns2"

Points = dict[tuple[float, float], float]


class Runs:
    """Utilisations of links, mean of several runs.

    The thesis has one run a point, so what it counts is counted in each of `runs` separately.
    """

    def __init__(self, seeds: range, **settings) -> None:
        self.runs = [_run(first_seed=seed, **settings) for seed in seeds]

    def __call__(self, links: Iterable[tuple[float, float]]) -> list[float]:
        asked = list(links)
        return [float(u) for u in np.mean([run(asked) for run in self.runs], axis=0)]


@cache
def _run(**settings) -> equivalence.Simulated:
    """One run of each link, which all figures share."""
    return equivalence.Simulated(**settings)


def simulated(
    variant: str,
    ber: float,
    packet_bytes: int,
    queue_packets: int = 50,
    seeds: int = SEEDS,
    before: bool = False,
    first_seed: int = 1,
) -> Runs:
    """Links of one stack, bit error rate and packet size."""
    return Runs(
        range(first_seed, first_seed + seeds),
        variant=variant,
        bit_error_rate=ber,
        packet_bytes=packet_bytes,
        queue_packets=queue_packets,
        errors_before_queue=before,
    )


def surface(variant: str, ber: float, packet_bytes: int, rates_kbps=RATES_KBPS, rtts_ms=RTTS_MS) -> Points:
    """Utilisation over rates and round-trip times."""
    links = [(float(b), float(d)) for b in rates_kbps for d in rtts_ms]
    return dict(zip(links, simulated(variant, ber, packet_bytes)(links)))


def found(variant: str, ber: float, packet_bytes: int, wanted: float, queue_packets: int = 50) -> float:
    """The level of `wanted`, from the links in doubt; it equals that of the whole grid (docs/sweeps.md)."""
    return equivalence.find_level(simulated(variant, ber, packet_bytes, queue_packets), wanted).level


def columns(points: Points) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rates, round-trip times and utilisations."""
    rate, rtt = np.array(list(points)).T
    return rate, rtt, np.array(list(points.values()))


def ns2(stack: str, ber: float, packet_bytes: int) -> Points:
    """The reference's utilisations, mean of its seeds; empty if the reference is missing."""
    file = REFERENCE / ("thompson_grid_500.csv" if packet_bytes == 500 else "thompson_coarse.csv")
    sums: dict[tuple[float, float], list[float]] = {}
    if file.is_file():
        with file.open() as rows:
            for r in csv.DictReader(rows):
                if r["stack"] == stack and float(r["ber"]) == ber and int(r["wire_bytes"]) == packet_bytes:
                    sums.setdefault((float(r["bw_kbps"]), float(r["rtt_ms"])), []).append(float(r["utilisation"]))
    return {link: float(np.mean(seeds)) for link, seeds in sums.items()}


#: Links between the flat top and the tail, where unstated parameters have the largest effect.
SLOPE = ((50, 500), (100, 400), (200, 300), (400, 240), (700, 180), (1000, 140), (2000, 100), (4000, 60))


def left_open(variant: str, ber: float, packet_bytes: int) -> list[str]:
    """The effect of unstated parameters on utilisation at the slope: the queue, and the number of losses in a run."""

    def use(queue_packets: int) -> float:
        return 100 * float(np.mean(simulated(variant, ber, packet_bytes, queue_packets)(SLOPE)))

    def seen(seeds: int) -> float:
        return 100 * float(np.mean(simulated(variant, ber, packet_bytes, seeds=seeds)(SLOPE)))

    links = f"{variant} over {len(SLOPE)} links of 25 to 240 kbit, {ber:g}"
    return [
        f"The queue: 50 packets. {links}: {use(50):.1f} % of the rate in the mean, with 10 packets {use(10):.1f} %, with 200 "
        f"{use(200):.1f} %.",
        f"Seeds: {SEEDS}, and losses of its own at each link. {links}: {seen(1):.1f} % with one seed, {seen(5):.1f} % with five.",
    ]


def beside_ns2(variant: str, stack: str, ber: float, packet_bytes: int) -> float | None:
    """Mean relative difference of our utilisation from ns-2's, in per cent, over ns-2's links or a part of them."""
    theirs = ns2(stack, ber, packet_bytes)
    links = [link for link, used in theirs.items() if used > 0][:: 1 if FULL or packet_bytes != 500 else 8]
    if not links:
        return None
    ours = simulated(variant, ber, packet_bytes)(links)
    return 100 * float(np.mean([u / theirs[link] - 1 for link, u in zip(links, ours)]))
