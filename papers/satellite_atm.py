"""KG section 4: scenarios of TCP over a satellite ATM switch with UBR+, and 100 clients of the web.

Follows KG 4.1 to 4.2: the open loop of requests, the switch, the hosts. Needs the standard library alone, so that `bench/` shares it.
Differs: clients begin within the 400 ms between the shortest and the longest interval before a request, and the least timeout is two
ticks of the timer, neither of which is stated.
Leaves out LEO, for which no numbers are printed.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

PAIRS, DURATION_S, RATE_BPS = 100, 100, 45e6
KB = 1024
CELL_B, PAYLOAD_B = 53, 48
#: TCP and IP headers, LLC/SNAP, trailer of AAL5, bytes.
HEADERS_B = 20 + 20 + 8 + 8
#: The publication does not state when clients begin. The one random time of its model is the 100 to 500 ms before a request, so the
#: first request has it too; docs/deviations.md has the numbers of other readings.
SPREAD = "400 ms"
#: Rate of the access links, at which cells come to the switch.
ACCESS = "149.76 Mbit/s"


@dataclass(frozen=True)
class Link:
    """A kind of satellite link: one way in ms, segment and window in bytes, buffers in cells."""

    name: str
    delay_ms: int
    mss_b: int
    window_b: int
    ssthresh_b: int
    cells: tuple[int, int, int]

    @property
    def capacity_bps(self) -> float:
        """Capacity for TCP: full segments, and the cells around them."""
        cells = math.ceil((self.mss_b + HEADERS_B) / PAYLOAD_B)
        return RATE_BPS * self.mss_b / (cells * CELL_B)


WAN = Link("wan", 5, 1024, 65_535, 56_250, (531, 1_062, 2_300))
MEO = Link("meo", 100, 9180, 2_097_120, 1_125_000, (10_615, 21_230, 42_460))
GEO = Link("geo", 275, 9180, 4_194_240, 3_093_750, (29_190, 58_380, 116_760))
LINKS = (WAN, MEO, GEO)
BUFFERS = ("0.5rtt", "1rtt", "2rtt")
POLICIES = {"epd": "early-packet-discard", "sd": "selective-drop"}
#: Vanilla is Reno without fast retransmit: its threshold of duplicates is never reached. Reno is RFC 2581's, which KG cites: any three
#: duplicates start a repair, and the guard against several for one window is RFC 2582's, which KG cites for NewReno.
FLAVORS = {
    "vanilla": {"variant": "reno", "dupack_threshold": 1_000_000},
    "reno": {"variant": "reno", "avoid_multiple_fast_retransmits": False},
    "newreno": {"variant": "newreno"},
    "sack": {"variant": "sack1"},
}

#: Hosts of 1998: one segment at first (RFC 2001), also after an idle time (RFC 2581 4.1), no limited transmit (RFC 3042 is of 2001). The
#: timer of 100 ms ticks alike at all hosts; a timeout has two ticks at least, as in 4.4BSD and ns-2.
HOST = {
    "initial_window": "1 packets",
    "limited_transmit": False,
    "silly_window_avoidance": False,
    "delayed_ack": {"kind": "none"},
    "after_idle": "restart",
    "rto_granularity": "100 ms",
    "rto_tick": "100 ms",
    "rto_min": "200 ms",
}

Law = dict[int, float]


def poisson(mean: float, k: int) -> float:
    return math.exp(-mean) * mean**k / math.factorial(k)


def clamped(mean: float = 5) -> Law:
    """Poisson with this mean; draws below 1 become 1, and those above 9 become 9."""
    law = {k: poisson(mean, k) for k in range(1, 10)}
    law[1] += poisson(mean, 0)
    law[9] += 1 - sum(law.values())
    return law


def cut(mean: float = 5) -> Law:
    """Poisson without draws below 1 and above 9, with the parameter for which the remaining draws have this mean."""

    def law(parameter: float) -> Law:
        weights = {k: poisson(parameter, k) for k in range(1, 10)}
        return {k: weight / sum(weights.values()) for k, weight in weights.items()}

    low, high = mean / 2, mean * 2
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (middle, high) if mean_of(law(middle)) < mean else (low, middle)
    return law(low)


def mean_of(law: Law) -> float:
    return sum(k * share for k, share in law.items())


#: Table 2: share of the requests, and the step between the nine sizes of a class, bytes. Class 0 has its nine below 1 KB.
CLASSES = ((0.20, KB / 10), (0.28, KB), (0.40, 10 * KB), (0.112, 100 * KB), (0.008, 1000 * KB))


def sizes(law: Law) -> dict[float, float]:
    """Sizes of files in bytes, and their shares."""
    return {round(k * step, 1): share * part for share, step in CLASSES for k, part in law.items()}


def distribution(law: dict[float, float]) -> str:
    """Lines of value, number and share of the draws up to it."""
    total, lines = 0.0, []
    for number, (value, share) in enumerate(sorted(law.items()), 1):
        total += share
        lines.append(f"{value:g} {number} {min(total, 1):.9f}")
    return "\n".join(lines) + "\n"


LAWS = {"cut": cut, "clamped": clamped}


def files(law: str) -> dict[str, str]:
    """Contents of the files that a scenario names."""
    return {f"files-{law}.cdf": distribution(sizes(LAWS[law]())), f"requests-{law}.cdf": distribution(LAWS[law]())}


def scenario(
    link: Link,
    policy: str,
    flavor: str,
    cells: int,
    law: str = "cut",
    fast: bool = False,
    spread: str = SPREAD,
    mixing: bool = True,
    **options,
) -> str:
    """The scenario of a link; with `fast`, a link without queueing and losses, over which the scheduled data arrive.

    Cells of different flows come to the switch one between the other, at the rate of the access links; without `mixing` those of a
    packet come together.
    """
    transport = {"kind": "tcp", "mss": f"{link.mss_b} B", "window": f"{link.window_b} B", "initial_ssthresh": f"{link.ssthresh_b} B"}
    transport |= FLAVORS[flavor]
    transport |= HOST | options
    single = f', cells = "each", port_rate = "{ACCESS}"' if mixing else ""
    queue = f'{{ kind = "ubr", limit = "{cells} cells", policy = "{POLICIES[policy]}"{single} }}'
    parts = [f'duration = "{DURATION_S} s"\nhost = "1999"\n[links.satellite]\nbetween = ["west", "east"]']
    parts.append('rate = "10 Gbit/s"\ndelay = "5 us"' if fast else f'rate = "45 Mbit/s"\ndelay = "{link.delay_ms} ms"\nqueue = {queue}')
    for side, switch in (("client", "west"), ("server", "east")):
        rate = "10 Gbit/s" if fast else ACCESS
        parts.append(f'[links."{side}-*"]\ncount = {PAIRS}\nbetween = ["{side}-*-host", "{switch}"]')
        parts.append(f'rate = "{rate}"\ndelay = "5 us"\nframing = "aal5"')
    parts.append('[[flows]]\nname = "web"\nfrom = "client-*-host"\nto = "server-*-host"')
    parts.append(f'start_spread = "{spread}"\ntransport = {inline(transport)}')
    parts.append(
        'traffic = { kind = "batches", request = { kind = "fixed", value = "128 B" }, '
        f'reply = {{ kind = "measured", file = "files-{law}.cdf", between = "step" }}, '
        f'requests = {{ kind = "measured", file = "requests-{law}.cdf", between = "step" }} }}'
    )
    return "\n".join(parts) + "\n"


def inline(value) -> str:
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{key} = {inline(part)}" for key, part in value.items()) + " }"
    return f'"{value}"' if isinstance(value, str) else str(value).lower()
