"""HT section 4.1.2: the three topologies of long and short round trips that share 1.5 Mbit/s, for figures 4.2 to 4.10 and table 4.1.

Follows figure 4.4 and "Configuration details": packets of 1000 bytes, RED of 50 packets (20, 40), ns-2's other values, 20 % web load.
Differs: the web load is transfers of 10 packets at Poisson times, where the thesis has Mah's generator; a few seeds, where it has fifty.
Congestion of the way back is as many long flows the other way (`both_ways`); the thesis does not say how it was made.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import lru_cache
from random import Random

import numpy as np
from altered import added
from satellite import toml

import skyhop

RTTS_MS = {1: (10, 600), 2: (10, 20, 100, 200, 300, 600), 3: (10, 10, 10, 10, 10, 300)}
#: The first seconds are excluded, as in the reference.
WARM_UP_S, END_S = 20, 320
RATE_BPS = 1.5e6
PACKET_B = 1000
HEADER_B = 40


@dataclass(frozen=True)
class Setting:
    """Varied parameters. Defaults are the thesis's, or ns-2's of the time."""

    topology: int = 2
    #: Round trips other than the topology's.
    rtts_ms: tuple[int, ...] | None = None
    stack: str = "sack1"
    queue: str = "red"
    #: Queue in packets; RED's thresholds are 0.4 and 0.8 of it, as 20 and 40 are of 50.
    limit: int = 50
    #: `increase` of the flows of `on_rtt_ms`, one or several, and of all if that is None.
    increase: str = ""
    on_rtt_ms: int | tuple[int, ...] | None = None
    #: The same flows the other way, whose data share queues with these flows' acknowledgments.
    both_ways: bool = False
    #: A flow of the usual policy and 10 ms joins each topology (figure 4.9).
    intruder: bool = False
    intruder_ms: int = 10
    web_load: float = 0.2
    web_packets: int = 10
    clock_ms: int = 10
    end_s: int = END_S

    @property
    def rtts(self) -> tuple[int, ...]:
        """Round trips of the long flows; the added flow is last."""
        own = self.rtts_ms or RTTS_MS[self.topology]
        return (*own, self.intruder_ms) if self.intruder else own


def increase_by(k: float) -> str:
    return toml({"kind": "by", "segments": k})


def constant_rate(c: float) -> str:
    return toml({"kind": "constant-rate", "c": c})


@dataclass(frozen=True)
class Outcome:
    """Means over seeds: throughput of each flow, kbit/s on the wire, Jain's index and utilisation at the first bottleneck."""

    kbps: tuple[float, ...]
    jain: float
    #: Jain's index of all long flows at any bottleneck.
    jain_all: float
    utilisation: float
    web_kbps: float


@lru_cache(maxsize=None)
def measure(setting: Setting, seeds: int = 2) -> Outcome:
    """Runs a setting with seeds 1, 2, ... As in the thesis, fairness is that of the mean throughputs."""
    runs = [one(setting, seed) for seed in range(1, seeds + 1)]
    kbps = np.mean([r[0] for r in runs], axis=0)
    first = at_first_bottleneck(setting)
    return Outcome(
        tuple(kbps),
        jain(kbps[first]),
        jain(kbps),
        float(np.mean([(r[0][first].sum() + r[1]) * 1e3 / RATE_BPS for r in runs])),
        float(np.mean([r[1] for r in runs])),
    )


def all_of(settings: list[Setting], seeds: int = 2) -> list[Outcome]:
    """Runs several settings on all available cores."""
    with ThreadPoolExecutor() as pool:
        return list(pool.map(lambda s: measure(s, seeds), settings))


def jain(x: np.ndarray) -> float:
    return float(x.sum() ** 2 / (len(x) * (x**2).sum()))


def at_first_bottleneck(setting: Setting) -> list[int]:
    every = range(len(setting.rtts))
    return [i for i in every if i not in (1, 2, 3, 4)] if setting.topology == 3 else list(every)


def one(setting: Setting, seed: int) -> tuple[np.ndarray, float]:
    """Throughput of the long flows and of the first bottleneck's web load, kbit/s on the wire."""
    run = skyhop.run(text=scenario(setting, seed), seed=seed)
    series = run.series
    at = (series["metric"] == "bytes_delivered") & (series["t_ns"] == int(WARM_UP_S * 1e9))
    early = dict(zip(series["entity"][at], series["value"][at]))
    flows = run.summary["flows"]
    payload = PACKET_B - HEADER_B

    def kbps(name: str) -> float:
        fresh = flows[name]["bytes_delivered"] - early.get(f"flow/{name}", 0)
        return fresh / payload * PACKET_B * 8 / (setting.end_s - WARM_UP_S) / 1e3

    long = np.array([kbps(name) for name in flows if name.startswith("long-")])
    return long, sum(kbps(name) for name in flows if name.startswith("web-0-"))


def scenario(setting: Setting, seed: int, sample_interval: str = "20 s") -> str:
    """The whole network and its flows as a scenario file."""
    hops = 5 if setting.topology == 3 else 1
    chance = Random(f"starts {seed + added()}")
    text = [f'host = "1999"\nduration = "{setting.end_s} s"', f'record.sample_interval = "{sample_interval}"']
    flows: list[str] = []
    for hop in range(hops):
        text.append(
            f'[links.b{hop}]\nbetween = ["r{hop}", "r{hop + 1}"]\nrate = "1.5 Mbit/s"\ndelay = "1 ms"\n'
            f"{queue(setting)}\n" + back(setting)
        )
    for i, rtt in enumerate(setting.rtts):
        intrudes = setting.intruder and i == len(setting.rtts) - 1
        # The added flow crosses the first bottleneck only, with the standard window growth.
        a, b = (0, 1) if intrudes else (i, i + 1) if setting.topology == 3 and i < 5 else (0, hops)
        increase = "" if intrudes else policy(setting, rtt)
        text += [access(f"s{i}", f"r{a}", rtt / 2 - (b - a) - 1), access(f"r{b}", f"k{i}", 1)]
        way = ", ".join(f'"b{hop}"' for hop in range(a, b))
        flows.append(
            f'[[flows]]\nname = "long-{i}"\npath = ["s{i}", "s{i}-r{a}", {way}, "r{b}-k{i}", "k{i}"]\n'
            f'start = "{chance.uniform(0, 5000):.0f} ms"\ntraffic.kind = "bulk"\n{transport(setting, increase)}'
        )
        if setting.both_ways:
            returns = ", ".join(f'"b{hop}"' for hop in reversed(range(a, b)))
            flows.append(
                f'[[flows]]\nname = "back-{i}"\npath = ["k{i}", "r{b}-k{i}", {returns}, "s{i}-r{a}", "s{i}"]\n'
                f'start = "{chance.uniform(0, 5000):.0f} ms"\ntraffic.kind = "bulk"\n{transport(setting, "")}'
            )
    per_s = setting.web_load * RATE_BPS / (8 * PACKET_B * setting.web_packets)
    size = setting.web_packets * (PACKET_B - HEADER_B)
    for hop in range(hops if per_s else 0):
        text += [access(f"ws{hop}", f"r{hop}", 23), access(f"r{hop + 1}", f"wk{hop}", 1)]
        chance = Random(f"web {hop} {seed + added()}")
        # The web load has the window growth common to all flows, not that of a single flow.
        carrier = transport(setting, setting.increase if setting.on_rtt_ms is None else "")
        at, n = chance.expovariate(per_s), 0
        while at < setting.end_s:
            n += 1
            flows.append(
                f'[[flows]]\nname = "web-{hop}-{n}"\npath = ["ws{hop}", "ws{hop}-r{hop}", "b{hop}", "r{hop + 1}-wk{hop}", "wk{hop}"]\n'
                f'start = "{at * 1e6:.0f} us"\ntraffic.kind = "bulk"\ntraffic.size = "{size} B"\n{carrier}'
            )
            at += chance.expovariate(per_s)
    return "\n".join([*text, *flows]) + "\n"


def policy(setting: Setting, rtt_ms: int) -> str:
    on = setting.on_rtt_ms
    chosen = on is None or rtt_ms in (on if isinstance(on, tuple) else (on,))
    return setting.increase if chosen else ""


def back(setting: Setting) -> str:
    """The way back of a bottleneck: as the way there, or wide."""
    if setting.both_ways:
        return "\n".join(f"reverse.{line}" for line in queue(setting).splitlines())
    return 'reverse = { queue = { kind = "drop-tail", limit = "10000 packets" } }'


def queue(setting: Setting) -> str:
    if setting.queue == "red":
        # ns-2's RED does not count the packet being sent.
        low, high = 0.4 * setting.limit, 0.8 * setting.limit
        return (
            f'queue.kind = "red"\nqueue.limit = "{setting.limit + 1} packets"\nqueue.min = "{low:.0f} packets"\n'
            f'queue.max = "{high:.0f} packets"\nqueue.weight = 0.002\nqueue.max_p = 0.1\nqueue.wait = true\nqueue.gentle = false'
        )
    return f'queue.kind = "drop-tail"\nqueue.limit = "{setting.limit} packets"'


def access(a: str, b: str, ms: float) -> str:
    return (
        f'[links.{a}-{b}]\nbetween = ["{a}", "{b}"]\nrate = "10 Mbit/s"\ndelay = "{ms:g} ms"\n'
        'queue = { kind = "drop-tail", limit = "10000 packets" }'
    )


def transport(setting: Setting, increase: str) -> str:
    # Without random delays in the hosts drop-tail queues show phase effects, which the thesis's web load breaks up.
    overhead = "0 s" if setting.queue == "red" else "5.3333 ms"
    law = f"\nincrease = {increase}" if increase else ""
    return (
        f'[flows.transport]\nkind = "tcp"\nvariant = "{setting.stack}"\nmss = "{PACKET_B - HEADER_B} B"\nwindow = "240 segments"\n'
        f'initial_ssthresh = "240 segments"\nrto_initial = "3 s"\ngrow_unused = true\nrto_granularity = "{setting.clock_ms} ms"\n'
        f'delayed_ack.kind = "none"\noverhead = "{overhead}"{law}'
    )


@lru_cache(maxsize=None)
def left_open(topology: int = 2, increase: str = "") -> str:
    """Parameters of these topologies that the thesis does not state, and the effect of other values."""
    base = Setting(topology=topology, increase=increase)
    cases = {
        "as chosen, transfers of 10 packets as web load, a clock of 10 ms, accesses of 10 Mbit/s": base,
        "transfers of 40 packets": replace(base, web_packets=40),
        "no web load": replace(base, web_load=0),
        "a clock of 500 ms": replace(base, clock_ms=500),
    }
    said = (f"{name}: {o.utilisation:.3f}, {o.jain_all:.3f}" for name, o in zip(cases, all_of(list(cases.values()))))
    return f"Topology {topology}, SACK over RED, utilisation and fairness: " + "; ".join(said) + "."


LIMITS = (4, 10, 20, 30, 40, 50)
STACKS = {"NewReno": "newreno", "SACK": "sack1"}
QUEUES = {"FIFO": "fifo", "RED": "red"}
#: Line styles that are distinct without colours.
DASHES = ("-", "--", "-.", ":")


@lru_cache(maxsize=None)
def benchmark(limits: tuple[int, ...] = LIMITS, seeds: int = 3) -> dict[str, dict[int, Outcome]]:
    """Topology 2 with the standard window growth, by kind of TCP and queue, then by length of the queue."""
    settings = {
        (f"{tcp}, {queue}", limit): Setting(stack=stack, queue=kind, limit=limit)
        for tcp, stack in STACKS.items()
        for queue, kind in QUEUES.items()
        for limit in limits
    }
    outcomes: dict[str, dict[int, Outcome]] = {}
    for (name, limit), outcome in zip(settings, all_of(list(settings.values()), seeds)):
        outcomes.setdefault(name, {})[limit] = outcome
    return outcomes


def draw_benchmark(what: str, label: str):
    import matplotlib.pyplot as plt

    figure, ax = plt.subplots(figsize=(7, 4), layout="constrained")
    for (name, row), dash in zip(benchmark().items(), DASHES):
        ax.plot(list(row), [getattr(outcome, what) for outcome in row.values()], dash, color="0.1", marker="o", markersize=3, label=name)
    ax.set(xlabel="queue (packets)", ylabel=label, title="topology 2")
    ax.legend(frameon=False)
    return figure


CONSTANTS = (4.0, 25.0, 100.0, 400.0, 1600.0)


@lru_cache(maxsize=None)
def constant_rates(intruder: bool = False) -> dict[int, dict[float, Outcome]]:
    """Runs by topology and c, with all flows at the same constant rate; c of 0 is the standard growth, without an added flow."""
    outcomes: dict[int, dict[float, Outcome]] = {}
    for topology in (1, 2, 3):
        base = Setting(topology=topology)
        settings = [base, *(replace(base, increase=constant_rate(c), intruder=intruder) for c in CONSTANTS)]
        outcomes[topology] = dict(zip((0.0, *CONSTANTS), all_of(settings, seeds_of(topology))))
    return outcomes


def seeds_of(topology: int) -> int:
    # The third topology has five times the web load and takes five times as long; its bottlenecks are five samples of the same.
    return 1 if topology == 3 else 4


def draw_constant_rates(what: str, label: str, intruder: bool = False):
    import matplotlib.pyplot as plt

    figure, ax = plt.subplots(figsize=(7, 4), layout="constrained")
    for (topology, row), dash in zip(constant_rates(intruder).items(), DASHES):
        values = [getattr(row[c], what) for c in CONSTANTS]
        ax.semilogx(CONSTANTS, values, dash, color="0.1", marker="o", markersize=3, label=f"topology {topology}")
        ax.axhline(getattr(row[0.0], what), linestyle=dash, color="0.7", linewidth=0.8)
    ax.set(xlabel="c (grey: the usual growth)", ylabel=label, ylim=(0.4, 1.02))
    ax.legend(frameon=False)
    return figure
