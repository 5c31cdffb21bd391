"""HT figure 4.12: the network of the simulations, the experiments' with web traffic in the background.

Follows section 4.2.2 and 4.2.3: a load of about 10 % of the satellite link's capacity, which alone does not congest it.
Differs: Mah's fitted sizes at Poisson times replace the thesis's generator.
Leaves out STP's module, the subject of chapter 5.
"""

from __future__ import annotations

from pathlib import Path

from rows import Reproduction, Row
from satellite import SCENARIO, run_text
from topology import draw

SOURCE = "Henderson 1999, figure 4.12 and sections 4.2.2 and 4.2.3"
CLAIM = "Background web traffic of a tenth of the link's capacity has no losses of its own, and reduces a long transfer by its share"

SEEDS = 3
LOADS = (0.0, 0.05, 0.1, 0.2)


def reproduce() -> Reproduction:
    goodput = {load: mean(load) for load in LOADS}
    background = [measure(0.1, seed, transfer=False) for seed in range(1, SEEDS + 1)]
    share = sum(run["links"]["satellite"]["forward"]["utilisation"] for run in background) / SEEDS
    lost = sum(run["links"]["satellite"]["forward"]["packets_dropped"] for run in background)
    sent = sum(run["links"]["satellite"]["forward"]["packets"] for run in background)
    rows = [
        Row(
            "background alone, of the satellite link", "", 0.1, share, 0.07, 0.13,
            "about 10 %; three seeds of heavy-tailed sizes move the mean by 0.02"
        ),
        Row(
            "background alone, packets dropped", "%", 0, 100 * lost / sent, 0, 0.5,
            "words: does not congest the link; a burst of one transfer may overflow the queue"
        ),
        Row(
            "goodput beside it, of that alone", "", None, goodput[0.1] / goodput[0.0], 0.8, 0.95,
            "words: light; its share is a tenth, and as much again by its losses"
        ),
    ]
    said = ", ".join(f"{load:.0%} {kbps:.0f}" for load, kbps in goodput.items())
    return Reproduction(
        rows, picture(), sensitivity=[f"The load is about 10 %. 10 MB by SACK-NewReno over 600 ms, kbit/s by load: {said}."]
    )


def mean(load: float) -> float:
    runs = [measure(load, seed) for seed in range(1, SEEDS + 1)]
    return sum(run["flows"]["transfer"]["goodput_bps"] for run in runs) / SEEDS / 1e3


def measure(load: float, seed: int, *, transfer: bool = True):
    text = Path(SCENARIO).read_text(encoding="utf-8")
    if load:
        text += f"""
            [[flows]]
            name = "web"
            path = ["source", "ethernet", "satellite", "transit", "sink"]
            [flows.traffic]
            kind = "poisson"
            load = {load}
            link = "satellite"
            size.kind = "mah"
            [flows.transport]
            kind = "tcp"
            variant = "reno"
            initial_window = "1 segments"
            window = "16 kB"
            """
    if not transfer:
        # The long transfer begins after the end of all others.
        text = text.replace('traffic = { kind = "bulk", size = "10 MB" }', 'start = "999 s"\ntraffic = { kind = "bulk", size = "1 kB" }')
    else:
        text = text.replace('duration = "1000 s"', 'duration = "90 s"').replace('{ kind = "bulk", size = "10 MB" }', '{ kind = "bulk" }')
    return run_text(text, seed).summary


def picture():
    places = {
        "source": (0.0, 0.4),
        "web": (0.0, -0.4),
        "gateway": (1.5, 0.0),
        "router": (3.0, 0.0),
        "sink": (4.5, 0.4),
        "browsers": (4.5, -0.4),
    }
    links = [
        ("source", "gateway", "100 Mbit/s"),
        ("web", "gateway", "10 % of the link"),
        ("gateway", "router", "1.3 Mbit/s, 600 ms"),
        ("router", "sink", "10 Mbit/s"),
        ("router", "browsers", ""),
    ]
    return draw({"simulations": (places, links)})
