"""KG section 3: bandwidth on demand over a geostationary satellite, terminals of 16 to 2,048 kbit/s, beside arithmetic.

Follows KG 3.2 for the terminals' rates; frames and requests are those of OpenSAND and of SNS3 (docs/links.md).
Differs: the publication describes demand assignment without measuring it; a formula stands beside each delay.
Leaves out log-on and random access.
"""

from __future__ import annotations

import math
from typing import Any

from rows import Reproduction, Row

import skyhop

SOURCE = "Kota et al. 1999, section 3"
CLAIM = "Terminals of 16, 144, 384 and 2,048 kbit/s share an uplink on demand"

FORMULA = "formula"
#: One-way delay to the gateway behind the satellite, where the controller is located.
DELAY_MS = 250
CELL_BITS = 53 * 8
#: Room for each file: a shorter queue overflows in slow start, and the repair decides how long a transfer takes.
QUEUE = "4000 packets"
SIZES_KB = (3, 10, 30, 100, 300, 1000, 3000, 5000)
#: Assignments to each of four terminals with the same mean rate.
CONSTANT = 'constant = "512 kbit/s"'
CAPPED = 'rate_based = "512 kbit/s"'
SHARED = 'rate_based = "2048 kbit/s"'
#: Frame in ms, and frames between two requests, of the two programs.
PROGRAMS = {"opensand": (26.5, 38), "sns3": (100.0, 1)}


def uplink(
    part: str, like: str, traffic: str, rate_kbps: float = 2048, terminals: int = 1, start: str = "0 s", s: float = 20000
) -> dict[str, Any]:
    """Summary of a run with that many terminals on one carrier."""
    text = f"""
duration = "{s} s"
[uplinks.return]
rate = "{rate_kbps} kbit/s"
like = "{like}"
[links."up-*"]
count = {terminals}
between = ["terminal-*", "gateway"]
rate = "{rate_kbps} kbit/s"
delay = "{DELAY_MS} ms"
framing = "aal5"
queue = {{ kind = "drop-tail", limit = "{QUEUE}" }}
uplink = {{ name = "return", {part} }}
[[flows]]
name = "traffic"
from = "terminal-*"
to = "gateway"
start = "{start}"
traffic = {traffic}
"""
    return skyhop.run(text=text).summary


def access_delay(part: str, like: str) -> float:
    """Mean access delay of widely spaced pings of three cells, at instants that do not coincide with frames, s."""
    traffic = '{ kind = "ping", interval = "7.118377901 s", size = "100 B" }'
    return uplink(part, like, traffic, start="2 s")["uplinks"]["return"]["access_delay_mean_s"]


def on_request(like: str) -> float:
    """Half a period until the request, the round trip to the controller in whole frames, three cells at the beginning of a frame; s."""
    frame, every = PROGRAMS[like]
    slots = math.floor(2048 * frame / CELL_BITS)
    return (every * frame / 2 + 2 * math.ceil(DELAY_MS / frame) * frame + 3 * frame / slots) / 1e3


def transfers(part: str, like: str, kb: int) -> float:
    """Mean time in which each of four terminals sends a file, s."""
    found = uplink(part, like, f'{{ kind = "bulk", size = "{kb} kB" }}', terminals=4, s=600)
    return found["populations"]["traffic"]["completed_s"]["mean"]


def reproduce() -> Reproduction:
    rows = []
    for kbps in (16, 144, 384, 2048):
        traffic = '{ kind = "ping", interval = "1 s" }'
        found = uplink(f'constant = "{kbps} kbit/s"', "opensand", traffic, kbps, s=10)
        slots = found["uplinks"]["return"]["capacity_bps"] / 1e3
        why = "whole cells: 1, 9, 24 and 128 in 26.5 ms"
        rows.append(Row(f"slots of a terminal of {kbps} kbit/s", "kbit/s", kbps, slots, kbps * 0.999, kbps * 1.001, why))
    why = "3 %; some 2,800 instants"
    for like in PROGRAMS:
        expected = on_request(like)
        ours = access_delay('volume_based = "384 kB"', like)
        rows.append(Row(f"access delay by volume, {like}", "s", expected, ours, expected * 0.97, expected * 1.03, why, of=FORMULA))
    expected = on_request("sns3")
    ours = access_delay('rate_based = "2048 kbit/s"', "sns3")
    rows.append(Row("access delay by rate, sns3", "s", expected, ours, expected * 0.97, expected * 1.03, why, of=FORMULA))
    for like, least in (("opensand", 1.7), ("sns3", 1.4)):
        by_rate, constant = (transfers(part, like, 100) for part in (SHARED, CONSTANT))
        said = "words: requests cost a round trip in each round of slow start; four terminals have a quarter each either way"
        rows.append(Row(f"100 kB by rate over constant, {like}", "times", None, by_rate / constant, least, 3, said))
    said = "words: slower at each size, by a request's round trip at least; hardly noticed by a long transfer"
    for like in PROGRAMS:
        for name, part in (("at most the constant rate", CAPPED), ("shared", SHARED)):
            ratio = min(transfers(part, like, kb) / transfers(CONSTANT, like, kb) for kb in SIZES_KB)
            rows.append(Row(f"by rate over constant, least of 3 kB to 5 MB, {name}, {like}", "times", None, ratio, 1.005, 1.1, said))
    return Reproduction(rows, draw())


def draw():
    """Time of a transfer over its size, by assignment."""
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 2, figsize=(8, 3.6), layout="constrained", sharey=True)
    parts = {"constant": CONSTANT, "by rate": SHARED, "by volume": 'volume_based = "384 kB"'}
    for ax, like in zip(axes, PROGRAMS):
        for (name, part), grey in zip(parts.items(), ("0", "0.4", "0.7")):
            ax.plot(SIZES_KB, [transfers(part, like, kb) for kb in SIZES_KB], "o-", color=grey, markersize=4, label=name)
        ax.set(xscale="log", yscale="log", xlabel="size, kB", title=f"requests like {like}'s")
        ax.grid(color="#e1e4e8", linewidth=0.8)
    axes[0].set_ylabel("time of each of four, s")
    axes[0].legend(frameon=False)
    return figure
