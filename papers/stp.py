"""HT section 5.2: the simulated GEO and LEO topologies of figures 5.5 and 5.6, and rows of tables 5.1 and 5.2.

Follows section 5.2.1: packets of 1000 bytes with headers, ns's TCP with delayed acknowledgments and a large window, runs of 60 s.
The web is the thesis's generator (3.2.1): browsers whose pages, files, replies and times to think are Mah's. They begin with a page as
the run does, and as many of them as take a tenth of the bottleneck in 60 s, which a row holds.
Differs: more runs, so that verdicts do not hang on seeds. Leaves out ns's agents, whose STP is not published.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from rows import Row
from satellite import run_text, toml

DURATION_S = 60
#: Runs of each kind; over GEO single runs differ most.
RUNS = {"GEO": 1000, "LEO": 200}
#: Browsers that load the bottleneck by a tenth: over GEO, and of each of LEO's two kinds by a twentieth.
BROWSERS = {"GEO": 21, "LEO": 13}

STP = {"kind": "stp", "format": "plain", "window": "2 MB"}
TCP = {
    "kind": "tcp",
    "mss": "960 B",
    "window": "1000 segments",
    "initial_window": "1 segment",
    "delayed_ack": {"kind": "one-shot", "timeout": "100 ms"},
}
SACK = TCP | {"variant": "sack1"}
RENO = TCP | {"variant": "reno"}
#: Hosts of section 5.3: an initial window of one segment, a clock of 200 ms.
BSD = {
    "kind": "tcp",
    "mss": "1460 B",
    "window": "240 kB",
    "initial_window": "1 segment",
    "limited_transmit": False,
    "rto_initial": "3 s",
    "rto_granularity": "500 ms",
    "delayed_ack": {"kind": "heartbeat", "period": "200 ms"},
}
SHORT = {"kind": "stp", "format": "plain", "packet_size": "1480 B"}
PROTOCOLS = {"STP": STP, "SACK": SACK, "Reno": RENO}


def link(name: str, a: str, b: str, rate: str, delay_ms: float, packets: int, more: str = "") -> str:
    queue = toml({"kind": "drop-tail", "limit": f"{packets} packets"})
    return f'[links.{name}]\nbetween = ["{a}", "{b}"]\nrate = "{rate}"\ndelay = "{delay_ms:g} ms"\nqueue = {queue}\n{more}\n'


def flow(name: str, a: str, b: str, transport: dict, traffic: dict) -> str:
    return f'[[flows]]\nname = "{name}"\nfrom = "{a}"\nto = "{b}"\ntransport = {toml(transport)}\ntraffic = {toml(traffic)}\n'


def web(name: str, server: str, user: str, browsers: int) -> str:
    """Browsers at `user`, whose replies come from `server`."""
    return "".join(flow(f"{name}-{n}", user, server, SACK, {"kind": "web"}) for n in range(browsers))


BULK = {"kind": "bulk"}


def head(duration_s: float = DURATION_S, sample_s: float = DURATION_S) -> str:
    return f'host = "1999"\nduration = "{duration_s:g} s"\nrecord.sample_interval = "{sample_s:g} s"\n'


def geo(transport: dict | None, two_way: bool, queue: int = 19, browsers: int = BROWSERS["GEO"]) -> str:
    """Figure 5.5: 1.5 Mbit/s, RTT 532 ms; the web alone without a transport."""
    text = head() + link("satellite", "hub", "terminal", "1.5 Mbit/s", 260, queue)
    for name, a, b in (("a", "server", "hub"), ("b", "terminal", "user"), ("c", "server-2", "hub"), ("d", "terminal", "user-2")):
        text += link(name, a, b, "10 Mbit/s", 3, 125)
    text += web("web", "server-2", "user-2", browsers)
    if transport is not None:
        text += flow("transfer", "server", "user", transport, BULK)
    if two_way:
        text += flow("back", "user", "server", SACK, BULK) + web("web-back", "user-2", "server-2", browsers)
    return text


def leo(transport: dict | None, two_way: bool, queue: int = 25, browsers: int = BROWSERS["LEO"]) -> str:
    """Figure 5.6: four satellites, 2 Mbit/s up and down, RTT 80 ms; the web on the way in and on the way out."""
    text = head() + link("up", "server", "s1", "2 Mbit/s", 5, queue) + link("down", "s4", "user", "2 Mbit/s", 5, queue)
    for n in (1, 2, 3):
        text += link(f"isl-{n}", f"s{n}", f"s{n + 1}", "100 Mbit/s", 10, 1250)
    text += link("other", "s2", "elsewhere", "2 Mbit/s", 5, queue)
    text += web("web-in", "server", "elsewhere", browsers) + web("web-out", "elsewhere", "user", browsers)
    if transport is not None:
        text += flow("transfer", "server", "user", transport, BULK)
    if two_way:
        text += flow("back", "user", "server", SACK, BULK)
        text += web("web-back-in", "user", "elsewhere", browsers) + web("web-back-out", "elsewhere", "server", browsers)
    return text


@dataclass(frozen=True)
class Means:
    """Means over runs, each with the half-width of its 95 % interval."""

    goodput_kbps: tuple[float, float]
    efficiency: tuple[float, float]
    return_kbps: tuple[float, float]


@lru_cache(maxsize=None)
def measure(text: str, runs: int) -> Means:
    """Runs a scenario with seeds 1, 2, ... and measures its flow `transfer`."""
    with ThreadPoolExecutor() as pool:
        found = np.array(list(pool.map(lambda seed: one(text, seed), range(1, runs + 1))))
    means, halves = found.mean(axis=0), 1.96 * found.std(axis=0, ddof=1) / np.sqrt(runs)
    return Means(*((float(mean), float(half)) for mean, half in zip(means, halves)))


def one(text: str, seed: int) -> tuple[float, float, float]:
    transfer = run_text(text, seed).summary["flows"]["transfer"]
    delivered, seconds = transfer["bytes_delivered"], DURATION_S
    return delivered * 8e-3 / seconds, delivered / transfer["forward_bytes"], transfer["return_bytes"] * 8e-3 / seconds


def web_row(text: str, link: str, of: str) -> Row:
    """The web's share of the rate of a link, without other traffic; `of` tells the part of the thesis's tenth."""
    part = {"a tenth": 10, "a twentieth": 5}[of]
    shares = [100 * run_text(text, seed).summary["links"][link]["forward"]["utilisation"] for seed in range(1, 101)]
    why = f"about 10 %, of which {of}: 8.5 to 11.5"
    return Row(f"web alone on link {link}", "%", part, float(np.mean(shares)), 0.85 * part, 1.15 * part, why)


def draw(ours: dict[tuple[bool, str], Means], printed: dict[tuple[bool, str], tuple[float, float, float]], title: str):
    """Goodput and return bandwidth compared with the printed values."""
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 2, figsize=(8, 3.8), layout="constrained")
    for ax, field, place, label in ((axes[0], "goodput_kbps", 0, "goodput"), (axes[1], "return_kbps", 2, "return bandwidth")):
        for i, (two_way, shade) in enumerate(((False, "0.35"), (True, "0.7"))):
            x = np.arange(3) + 0.4 * (i - 0.5)
            means = [getattr(ours[two_way, name], field) for name in PROTOCOLS]
            ax.bar(x, [m for m, _ in means], 0.36, yerr=[h for _, h in means], color=shade, label=("one way", "both ways")[two_way])
            ax.plot(x, [printed[two_way, name][place] for name in PROTOCOLS], "D", color="#cf222e", markersize=4)
        ax.set_xticks(range(3), list(PROTOCOLS))
        ax.set(ylabel=f"{label} (kbit/s)", title=title)
        ax.legend(frameon=False)
    return figure


#: Reasons of the bounds of goodput, efficiency and return bandwidth.
GOODPUT = "12 %: 95 % intervals, up to 5 % there and 2 here, and \"about\" a tenth of web, which moves goodput by 5"
EFFICIENCY = "0.025: headers are 0.04 and repeats some hundredths"
BACK = "25 %: goodput's 12, and delayed acknowledgments of another clock"


def rows_of(ours, printed, known: dict[tuple[bool, str, str], str]) -> list[Row]:
    """Rows of a table; `known` by direction, protocol and column."""
    rows = []
    for (two_way, name), (goodput, efficiency, back) in printed.items():
        m = ours[two_way, name]
        way = ("one way", "both ways")[two_way]
        rows.append(
            Row(
                f"{way}, {name}: goodput", "kbit/s", goodput, m.goodput_kbps[0], 0.88 * goodput, 1.12 * goodput, GOODPUT,
                known.get((two_way, name, "goodput"), "")
            )
        )
        rows.append(
            Row(
                f"{way}, {name}: forward efficiency", "", efficiency, m.efficiency[0], efficiency - 0.025, efficiency + 0.025,
                EFFICIENCY, known.get((two_way, name, "efficiency"), "")
            )
        )
        rows.append(
            Row(
                f"{way}, {name}: return bandwidth", "kbit/s", back, m.return_kbps[0], 0.75 * back, 1.25 * back, BACK,
                known.get((two_way, name, "return"), "")
            )
        )
    return rows


def intervals(ours) -> str:
    """Half-widths of the 95 % intervals of goodput and return bandwidth."""
    told = [f"{name} {m.goodput_kbps[1]:.1f} and {m.return_kbps[1]:.2f}" for (_, name), m in ours.items()]
    return f"Half the 95 % intervals, kbit/s: one way {', '.join(told[:3])}; both ways {', '.join(told[3:])}."
