"""HT figures 4.20, 4.23 and 4.24: a satellite transfer beside a connection of 20 ms at the first router, with and without a split.

Follows sections 4.2.3 and 4.3.2: SACK-NewReno with large windows, the neighbour not over the satellite.
Differs: the router's rate and the point of the split are not stated: 10 Mbit/s, an Ethernet of the time, and the satellite's router.
Leaves out the web traffic; hosts' random delays of up to a packet's time break phase effects in its place.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from satellite import run_text

RTTS_MS = (40, 100, 200, 400, 600)
#: Payload that a link of 1.5 Mbit/s carries in packets of 1000 bytes with headers of 40, kbit/s.
CEILING_KBPS = 1500 * 1000 / 1040
SEEDS = 3


@dataclass(frozen=True)
class Outcome:
    """Means over seeds, kbit/s: goodput of both, and acknowledgments on the satellite's return link."""

    satellite: float
    spread: float
    neighbour: float
    back: float


@lru_cache(maxsize=None)
def measure(
    rtt_ms: int,
    *,
    neighbour: bool = True,
    split: bool = False,
    router_mbps: float = 10,
    duration_s: int = 300,
    variant: str = "sack-newreno",
    beyond: str = "",
) -> Outcome:
    text = scenario(rtt_ms, neighbour, split, router_mbps, duration_s, variant, beyond)
    runs = [run_text(text, seed).summary for seed in range(1, SEEDS + 1)]
    goodput = [run["flows"]["download"]["goodput_bps"] / 1e3 for run in runs]
    return Outcome(
        float(np.mean(goodput)),
        float(np.std(goodput, ddof=1)),
        float(np.mean([run["flows"]["neighbour"]["goodput_bps"] / 1e3 for run in runs])) if neighbour else 0.0,
        float(np.mean([run["links"]["satellite"]["reverse"]["bytes"] * 8 / duration_s / 1e3 for run in runs])),
    )


def scenario(rtt_ms: int, neighbour: bool, split: bool, router_mbps: float, duration_s: int, variant: str, beyond: str = "") -> str:
    """The scenario; `beyond` is the gateway's transport over the satellite, by default the flow's own TCP."""
    fast = 'rate = "100 Mbit/s"\ndelay = "1 ms"\nqueue = { kind = "drop-tail", limit = "10000 packets" }'
    slow = 'queue = { kind = "drop-tail", limit = "50 packets" }'
    tcp = (
        f'transport.kind = "tcp"\ntransport.variant = "{variant}"\ntransport.mss = "1000 B"\ntransport.window = "240 kB"\n'
        f'transport.overhead = "{8 * 1040 / router_mbps:.0f} us"'
    )
    text = f"""
        host = "1999"
        duration = "{duration_s} s"
        [links.lan]
        between = ["server", "router"]
        {fast}
        [links.shared]
        between = ["router", "gateway"]
        rate = "{router_mbps:g} Mbit/s"
        delay = "8 ms"
        {slow}
        [links.satellite]
        between = ["gateway", "user"]
        rate = "1.5 Mbit/s"
        delay = "{rtt_ms / 2 - 9:g} ms"
        {slow}
        [[flows]]
        name = "download"
        path = ["server", "lan", "shared", "satellite", "user"]
        traffic.kind = "bulk"
        {tcp}
        """
    if neighbour:
        text += f"""
        [links.neighbour-lan]
        between = ["neighbour-server", "router"]
        {fast}
        [links.neighbour-access]
        between = ["gateway", "neighbour"]
        {fast}
        [[flows]]
        name = "neighbour"
        path = ["neighbour-server", "neighbour-lan", "shared", "neighbour-access", "neighbour"]
        start = "618 ms"
        traffic.kind = "bulk"
        {tcp}
        """
    if split:
        text += f"""
        [splices.gateway]
        at = "gateway"
        flows = ["download"]
        buffer = "500 kB"
        {f"transport = {beyond}" if beyond else ""}
        """
    return text


def draw(series: dict[str, list[Outcome]], what: str, label: str):
    import matplotlib.pyplot as plt

    figure, ax = plt.subplots(figsize=(7, 4), layout="constrained")
    for (name, outcomes), dash in zip(series.items(), ("-", "--", "-.")):
        spread = [o.spread if what == "satellite" else 0 for o in outcomes]
        values = [getattr(o, what) for o in outcomes]
        ax.errorbar(RTTS_MS, values, yerr=spread, fmt="o" + dash, color="0.1", markersize=4, capsize=2, label=name)
    ax.set(xlabel="RTT (ms)", ylabel=label, ylim=(0, None))
    ax.legend(frameon=False)
    return figure
