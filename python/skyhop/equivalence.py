"""The equivalence metric: one number for a transport's use of links of all rates and delays.

Follows TH chapter 5: E = log10(1 / (B D)) + 6 with B in kbit/s and D the round-trip time in ms, so that B D is the
bandwidth-delay product in bits; a stack's level for a utilisation is the E above which links have at least that utilisation.
Differs from TH in defining the level's estimate: the one with which fewest points disagree, as the reference showed.
Leaves out surfaces (`skyhop.plot`). `grid` makes the sweep and `Simulated` runs it, `level` reads its table, `find_level` needs
few points only, `fit_ber` relates levels to bit error rates.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from zlib import crc32

import numpy as np

#: TH's grid: 27 rates by 25 round-trip times, 675 points.
RATES_KBPS = tuple(m * d for d in (10, 100, 1000) for m in range(1, 10))
RTTS_MS = tuple(range(20, 501, 20))


def equivalence(rate_kbps: np.ndarray | float, rtt_ms: np.ndarray | float) -> np.ndarray:
    """E of a link."""
    return 6 - np.log10(np.asarray(rate_kbps, dtype=float) * np.asarray(rtt_ms, dtype=float))


@dataclass(frozen=True)
class Level:
    """A level, and its agreement with the points from which it was found."""

    #: Links with E at or above it are used at least as well as asked for.
    level: float
    #: Points on the wrong side of it.
    differing: int
    #: By how much their utilisation is off, largest and mean, in hundredths.
    max_difference_pct: float
    mean_difference_pct: float
    #: Points that there were.
    points: int
    #: The level at which as many points are above it as are used well enough: equal areas.
    equal_area: float


def level(
    rate_kbps: Sequence[float] | np.ndarray,
    rtt_ms: Sequence[float] | np.ndarray,
    utilisation: Sequence[float] | np.ndarray,
    wanted: float,
) -> Level:
    """The equivalence level of `wanted` (0 to 1) from points of utilisation (0 to 1).

    Among levels with which equally many points disagree, that with the most similar numbers of both kinds of error is taken.
    Raises `ValueError` if no point, or every point, has that utilisation: there is no level then.
    """
    e = np.round(equivalence(np.asarray(rate_kbps, dtype=float), np.asarray(rtt_ms, dtype=float)), 9).ravel()
    used = np.asarray(utilisation, dtype=float).ravel()
    if e.shape != used.shape:
        raise ValueError(f"{len(e)} links and {len(used)} utilisations")
    if not 0 < wanted < 1:
        raise ValueError(f"utilisation of {wanted} is not between 0 and 1")
    well = used >= wanted
    if well.all() or not well.any():
        raise ValueError(f"{'every' if well.all() else 'no'} point has a utilisation of {wanted:g}: no level")
    candidates = np.unique(e)
    # Points below a candidate with the utilisation, and points from it on without.
    below_well = np.array([(well & (e < c)).sum() for c in candidates])
    above_ill = np.array([(~well & (e >= c)).sum() for c in candidates])
    order = np.lexsort((np.abs(below_well - above_ill), below_well + above_ill))
    best = candidates[order[0]]
    wrong = well != (e >= best)
    off = 100 * np.abs(used[wrong] - wanted)
    area = np.sort(e)[::-1][int(well.sum()) - 1]
    return Level(
        level=float(best),
        differing=int(wrong.sum()),
        max_difference_pct=float(off.max()) if len(off) else 0.0,
        mean_difference_pct=float(off.mean()) if len(off) else 0.0,
        points=len(e),
        equal_area=float(area),
    )


def crossing(
    rate_kbps: Sequence[float] | np.ndarray,
    rtt_ms: Sequence[float] | np.ndarray,
    utilisation: Sequence[float] | np.ndarray,
    wanted: float,
    *,
    within: float = 0.15,
) -> float:
    """The E at which utilisation is `wanted`, on a straight line through the points that are `within` that of it.

    `level` is always the E of some link, and on part of a grid these are far apart; this is the best estimate from few points.
    Raises `ValueError` if fewer than three points are that near, or utilisation does not rise with E there.
    """
    e, used = (
        equivalence(np.asarray(rate_kbps, dtype=float), np.asarray(rtt_ms, dtype=float)).ravel(),
        np.asarray(utilisation, dtype=float).ravel(),
    )
    near = abs(used - wanted) < within
    if near.sum() < 3:
        raise ValueError(f"{near.sum()} points have a utilisation within {within:g} of {wanted:g}; expected three or more")
    slope, at_0 = np.polyfit(e[near], used[near], 1)
    if slope <= 0:
        raise ValueError(f"utilisation does not rise with E near {wanted:g}: no level")
    return float((wanted - at_0) / slope)


@dataclass(frozen=True)
class Found:
    """A level found with few points, and those points: rate in kbit/s, RTT in ms, utilisation."""

    level: float
    points: list[tuple[float, float, float]]
    #: True if all links in doubt were measured: the level is then that of the whole grid. If not, the budget was too small.
    enclosed: bool


#: So many links in a row that are used as their E says end the strip in which links are in doubt.
SETTLED = 16


def find_level(
    measure: Callable[[list[tuple[float, float]]], Sequence[float]],
    wanted: float,
    *,
    rates_kbps: Sequence[float] = RATES_KBPS,
    rtts_ms: Sequence[float] = RTTS_MS,
    budget: int | None = None,
) -> Found:
    """The level of `wanted` from at most a tenth of the grid's points (or `budget`), as TH 5.7 suggests.

    `measure` gets a list of (rate in kbit/s, RTT in ms) and returns their utilisations. Links on the wrong side of the level
    are in a strip around it, and only they decide it: the level is enclosed, three links at a time, and from there every link
    is measured by its E, both ways, until `SETTLED` links in a row are on the right side. `level` of those links is that of the
    grid.
    Raises `ValueError` if no point, or every point, is used that well.
    """
    links = [(float(b), float(d)) for b in rates_kbps for d in rtts_ms]
    links.sort(key=lambda link: (round(float(equivalence(*link)), 9), link))
    budget = budget if budget is not None else max(len(links) // 10, 1)
    known: dict[int, float] = {}

    def ask(ranks: Iterable[int]) -> None:
        new = [r for r in dict.fromkeys(ranks) if r not in known][: budget - len(known)]
        if new:
            known.update(zip(new, map(float, measure([links[r] for r in new]))))

    def well(rank: int) -> bool:
        return known[rank] >= wanted

    # Links up to `low` are used badly, those from `high` on well, as far as three in each round can show.
    low, high = -1, len(links)
    while high - low > 4 and len(known) < budget:
        ask(probes := [low + (high - low) * part // 4 for part in (1, 2, 3)])
        edges = [low, *probes, high]
        ill = sum(not well(p) for p in probes if p in known)
        low, high = edges[ill], edges[ill + 1]

    # The strip from `first` to `last`, measured without gaps; it grows at an end where fewer links are on the right side.
    first = last = min(max((low + high) // 2, 0), len(links) - 1)
    ask([first])
    while True:
        while first - 1 in known:
            first -= 1
        while last + 1 in known:
            last += 1
        strip = range(first, last + 1)
        below = next((n for n, r in enumerate(strip) if r not in known or well(r)), len(strip))
        above = next((n for n, r in enumerate(reversed(strip)) if r not in known or not well(r)), len(strip))
        more: list[int] = []
        down, up = first - 1, last + 1
        # Eight at a time, so that they can be measured side by side.
        while len(more) < 8:
            grow_down, grow_up = down >= 0 and below < SETTLED, up < len(links) and above < SETTLED
            if grow_down and (below <= above or not grow_up):
                more, down, below = [*more, down], down - 1, below + 1
            elif grow_up:
                more, up, above = [*more, up], up + 1, above + 1
            else:
                break
        if not more or len(known) >= budget:
            break
        ask(more)
    points = [(*links[r], u) for r, u in sorted(known.items())]
    rates, rtts, used = (np.array(column, dtype=float) for column in zip(*points))
    return Found(level(rates, rtts, used, wanted).level, points, not more)


def grid(
    *,
    variant: str = "fack",
    packet_bytes: int = 500,
    bit_error_rate: float = 1e-6,
    lost: Sequence[int] | None = None,
    packets: int = 20_000,
    queue_packets: int = 50,
    errors_before_queue: bool = False,
    seeds: int = 1,
    first_seed: int = 1,
    rates_kbps: Sequence[float] = RATES_KBPS,
    rtts_ms: Sequence[float] = RTTS_MS,
    links: Iterable[tuple[float, float]] | None = None,
) -> str:
    """A scenario whose sweep is TH's experiment: two nodes, one link, errors on data, a transfer without end.

    All rates with all round-trip times, or the pairs of them in `links` only. Each point has its own seeds: with common ones
    all points of the grid would be off by the same few hundredths. The seeds of a pair in `links` depend on the pair only, so
    that its utilisation does not depend on the other pairs; they are consecutive from `first_seed`. With `lost` the packets of
    these numbers are lost, the SYN being 1, and no others. Each run lasts `packets` packets at the link's rate, 300 s at least
    and 2000 s at most, as the reference did.
    With `errors_before_queue` packets are lost before the link, and take none of its time, as with ns-2's `lossmodel`.
    """
    pairs = None if links is None else list(links)
    rates = rates_kbps if pairs is None else [rate for rate, _ in pairs]
    rtts = rtts_ms if pairs is None else [rtt for _, rtt in pairs]
    seconds = [min(2000.0, max(300.0, packets * packet_bytes * 8 / (1000 * rate))) for rate in rates]

    def texts(values: Iterable[str]) -> str:
        return "[" + ", ".join(f'"{v}"' for v in values) + "]"

    # The defaults of ns-2.35, with which the reference was made (docs/tcp.md).
    more = "\ntransport.precise_halving = true" if variant.startswith(("reno", "newreno")) else ""
    if variant.startswith("newreno"):
        more += "\ntransport.burst_after_recovery = true\ntransport.recovery_burst = 2"
    loss = (
        f'{{ kind = "bit-errors", bit_error_rate = {bit_error_rate} }}' if lost is None else f'{{ kind = "list", packets = {list(lost)} }}'
    )
    here, there = "", f"loss = {loss}\nreverse = {{ loss = {{ kind = \"none\" }} }}\n"
    path = '"n0", "link", "n1"'
    if errors_before_queue:
        here, there = there, ""
        here, path = f'[links.errors]\nrate = "100 Gbit/s"\ndelay = "0 ms"\n{here}', '"n0", "errors", "link", "n1"'
    delays = f'"links.link.delay" = {texts(f"{rtt / 2:g} ms" for rtt in rtts)}'
    own_seeds = "" if pairs is None else f"seed = {[first_seed + 1000 * crc32(f'{rate:g} {rtt:g}'.encode()) for rate, rtt in pairs]}"
    return f"""host = "1999"\nduration = "300 s"\nseed = {first_seed}
{here}[links.link]
rate = "1 Mbit/s"
delay = "100 ms"
queue = {{ kind = "drop-tail", limit = "{queue_packets} packets" }}
{there}[[flows]]
name = "bulk"
path = [{path}]
transport.kind = "tcp"
transport.variant = "{variant}"
transport.mss = "{packet_bytes - 40} B"
transport.window = "20000 segments"
transport.rto_initial = "3 s"
transport.delayed_ack = {{ kind = "none" }}
transport.grow_unused = true{more}
traffic = {{ kind = "bulk" }}
[sweep]
seeds = {seeds}
common_seeds = {"false" if pairs is None else "true"}
metrics = ["bulk.bytes_delivered"]
[sweep.zip]
"links.link.rate" = {texts(f"{rate:g} kbit/s" for rate in rates)}
duration = {texts(f"{s:g} s" for s in seconds)}
{own_seeds or "[sweep.grid]"}
{delays}
"""


def utilisations(table, packet_bytes: int = 500) -> dict[tuple[float, float], float]:
    """Utilisation, mean of the seeds, by rate in kbit/s and RTT in ms, of the table of a sweep that `grid` made."""
    payload = packet_bytes - 40
    wire = table["bulk.bytes_delivered"] / payload * packet_bytes * 8
    used = wire / (table["links.link.rate_bps"] * table["duration_s"])
    sums: dict[tuple[float, float], list[float]] = {}
    keys = zip(np.round(table["links.link.rate_bps"] / 1e3, 6), np.round(table["links.link.delay_s"] * 2e3, 6))
    for key, u in zip(keys, used):
        sums.setdefault((float(key[0]), float(key[1])), []).append(float(u))
    return {key: float(np.mean(values)) for key, values in sums.items()}


class Simulated:
    """Utilisation of links by simulation, each once, for `find_level` and `level`.

    `settings` are those of `grid`. `used` has the simulated links: utilisation by rate in kbit/s and RTT in ms.
    """

    def __init__(self, *, seeds: int = 1, threads: int | None = None, **settings) -> None:
        self.used: dict[tuple[float, float], float] = {}
        self._seeds = seeds
        self._threads = threads
        self._settings = settings

    def __call__(self, links: Iterable[tuple[float, float]]) -> list[float]:
        """Utilisations of these links, mean of the seeds."""
        from ._sweep import sweep

        asked = [(float(rate), float(rtt)) for rate, rtt in links]
        new = [link for link in dict.fromkeys(asked) if link not in self.used]
        if new:
            text = grid(links=new, seeds=self._seeds, **self._settings)
            with tempfile.TemporaryDirectory() as folder:
                file = Path(folder) / "links.toml"
                file.write_text(text, encoding="utf-8")
                table = sweep(file, out=Path(folder) / "sweep", threads=self._threads)
                self.used.update(utilisations(table, self._settings.get("packet_bytes", 500)))
        return [self.used[link] for link in asked]

    def level(self, wanted: float) -> Level:
        """The level of `wanted` from all simulated links."""
        rates, rtts = zip(*self.used)
        return level(rates, rtts, list(self.used.values()), wanted)


def strip(low: float, high: float, *, every: int = 1) -> list[tuple[float, float]]:
    """Links of TH's grid with E from `low` to `high`, by E; each, or every second or third.

    If no link below `low` has the wanted utilisation and all above `high` have, the level is that of the whole grid.
    """
    links = [(float(b), float(d)) for b in RATES_KBPS for d in RTTS_MS]
    inside = [link for link in links if low <= float(equivalence(*link)) <= high]
    return sorted(inside, key=lambda link: (float(equivalence(*link)), link))[::every]


@dataclass(frozen=True)
class BerFit:
    """Levels as a straight line over the logarithm of the bit error rate, with one slope for all utilisations (TH figure 5.9).

    By the square-root law, rate times RTT is proportional to 1 / sqrt(p) for a packet error rate p: a slope of one half.
    """

    #: By how much the level rises with ten times the bit error rate.
    slope: float
    #: Level at a bit error rate of 1e-6, by utilisation.
    at_1e6: dict[float, float]
    #: Root of the mean squared deviation of the levels from the lines.
    residual: float

    def level(self, wanted: float, bit_error_rate: float) -> float:
        """The level of a fitted utilisation."""
        return self.at_1e6[wanted] + self.slope * (float(np.log10(bit_error_rate)) + 6)


def fit_ber(levels: Mapping[tuple[float, float], float]) -> BerFit:
    """The relation between levels and bit error rates, by least squares; `levels` are by (utilisation, bit error rate).

    Raises `ValueError` if no utilisation has levels at two bit error rates.
    """
    wanted = sorted({w for w, _ in levels})
    decades = np.array([np.log10(ber) + 6 for _, ber in levels])
    column = np.array([wanted.index(w) for w, _ in levels])
    values = np.array(list(levels.values()), dtype=float)
    if all(len(set(decades[column == i])) < 2 for i in range(len(wanted))):
        raise ValueError("levels at one bit error rate each; expected two or more of them for a utilisation")
    terms = np.column_stack([decades, *(column == i for i in range(len(wanted)))]).astype(float)
    solution = np.linalg.lstsq(terms, values, rcond=None)[0]
    residual = float(np.sqrt(np.mean((terms @ solution - values) ** 2)))
    return BerFit(float(solution[0]), {w: float(a) for w, a in zip(wanted, solution[1:])}, residual)
