"""Satellites without a run: delays, passes, forwarding tables, routing schemes side by side, snapshots.

Follows the commands `skyhop delay`, `passes`, `look` and `tables`; a constellation is given as in a scenario's
`[constellation]`, with the same defaults.
Differs from them: a preset's name or a scenario's file alone suffices, and results are tables.
Leaves out packets, queues and transports, which need a scenario and `skyhop.run`.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from . import _skyhop
from ._scenario import NAME, Scenario, _toml
from ._table import Table

#: A preset's name, the keys and values of a scenario's `[constellation]`, or a scenario, of which satellites, terminals,
#: failures and routing count: its file (.toml) or a `Scenario`.
Constellation = str | os.PathLike[str] | Mapping[str, Any] | Scenario
#: A city of the built-in list, "lat,lon", a pair of degrees, or the keys and values of a scenario's terminal.
Place = str | tuple[float, float] | Mapping[str, Any]


def delay(
    pairs: Sequence[tuple[Place, Place]],
    constellation: Constellation,
    *,
    metric: str | None = None,
    start: str = "0 s",
    duration: str = "24 h",
    step: str = "60 s",
    antennas: int | str | None = None,
    gateways: Sequence[Place] = (),
    folder: str | os.PathLike[str] = ".",
) -> Table:
    """One-way propagation delays between places over time, as in `skyhop delay --csv`.

    `pairs` are (sender, receiver); `metric` is "delay" or "hops", by default the scenario's, or delay. Packets leave at `start`
    and every `step` after it, before `duration`; links and handovers are updated every `update_interval` of the constellation
    from 0 s on. `antennas` is the number of satellites that a terminal uses at once, or "all" in view, as for gateways; by
    default "all", but 1 with a `handover`, and over Iridium, Teledesic and Spaceway NGSO. Gateways are joined by fibre. Files
    of elements are read from `folder`.

    Columns: time_s, from, to, delay_ms (NaN without a path), satellites, path, status ("ok" or "noroute").
    Raises `ScenarioError` for an invalid constellation, and `ValueError` for an unknown place.

    >>> day = skyhop.delay([("quito", "london")], {"preset": "teledesic", "cross_seam_isls": False})
    >>> day["delay_ms"].max()
    """
    for pair in pairs:
        if isinstance(pair, (str, Mapping)) or len(pair) != 2 or isinstance(pair[0], float):
            raise ValueError(f"{pair!r} is no pair of places; pairs are a list of them, such as [('london', 'tokyo')]")
    asked = _Asked(constellation, folder)
    named = [(asked.terminal(a, antennas=antennas), asked.terminal(b, antennas=antennas)) for a, b in pairs]
    for place in gateways:
        asked.terminal(place, gateway=True)
    if metric not in ("delay", "hops", None):
        raise ValueError(f"metric {metric!r}; expected 'delay' or 'hops'")
    times = (_seconds(start), _seconds(duration), _seconds(step))
    if times[2] <= 0:
        raise ValueError(f"step {step!r}; expected more than 0 s")
    hops = None if metric is None else metric == "hops"
    raw = _skyhop.delay(asked.text(), asked.folder, named, hops, times)
    return Table(raw, "delays")


def passes(
    at: Place,
    constellation: Constellation,
    *,
    start: str = "0 s",
    duration: str = "24 h",
    folder: str | os.PathLike[str] = ".",
) -> Table:
    """When satellites rise above the elevation mask over a place, culminate and set.

    Columns: satellite, rise_s, culmination_s, set_s (NaN where the pass began before or ends after), max_elevation_deg,
    min_delay_ms and max_delay_ms (one way, straight up the slant range).
    """
    asked = _Asked(constellation, folder)
    name = asked.terminal(at)
    begin = _seconds(start)
    times = (begin, begin + _seconds(duration))
    return Table(_skyhop.passes(asked.text(), asked.folder, name, times), "passes")


def look(
    at: Place,
    constellation: Constellation,
    satellites: Sequence[str] = (),
    *,
    frequency_hz: float | None = None,
    start: str = "0 s",
    duration: str = "10 min",
    step: str = "30 s",
    folder: str | os.PathLike[str] = ".",
) -> Table:
    """Positions in the sky of the satellites above the elevation mask of a place, at `start` and every `step` up to `duration`.

    `satellites` are names; all if left out. Columns: time_s, satellite, azimuth_deg (from north over east), elevation_deg,
    slant_range_km, delay_ms (one way), range_rate_m_s (negative while it comes nearer) and, with `frequency_hz`, doppler_hz,
    the shift of that carrier to first order. Geometric: without refraction.

    >>> skyhop.look("oslo", "iridium", frequency_hz=1.6e9)["doppler_hz"].max()
    """
    times = tuple(_seconds(text) for text in (start, duration, step))
    if times[2] <= 0:
        raise ValueError(f"step {step!r}; expected more than 0 s")
    if isinstance(satellites, str):
        raise ValueError(f"satellites {satellites!r}; expected names in a list")
    asked = _Asked(constellation, folder)
    name = asked.terminal(at)
    raw = _skyhop.look(asked.text(), asked.folder, name, list(satellites), frequency_hz, times)
    return Table(raw, "looks")


def tables(
    constellation: Constellation,
    satellite: str = "0.0",
    *,
    states: int = 64,
    aggregate: bool = True,
    folder: str | os.PathLike[str] = ".",
) -> Table:
    """A satellite's forwarding tables through its orbit (HT 6.6), a row for each state.

    Columns: state, t_s, latitude_deg, entries (cells), next_hops, down (cells that the satellite covers itself), nowhere,
    delta (entries that are not as in the state before), overrides (entries that are not as geographic forwarding has
    them) and, if `aggregate`, entries after aggregation: greedy (the thesis's), minimised, spare_free, first_match.
    """
    asked = _Asked(constellation, folder)
    raw = _skyhop.tables(asked.text(), asked.folder, satellite, states, aggregate)
    return Table(raw, "forwarding tables")


@dataclass(frozen=True)
class Network:
    """Argument of a routing function: the links that are up at an instant, each once.

    Satellites are nodes 0 to `satellites` - 1, terminals follow. `a`, `b` and `delay_ms` are arrays over links.
    """

    t_s: float
    nodes: int
    satellites: int
    a: np.ndarray
    b: np.ndarray
    delay_ms: np.ndarray


#: Given a network, the next hop of each node (rows) to each terminal (columns); -1 for none.
Router = Callable[[Network], np.ndarray]


def survey(
    constellation: Constellation,
    scheme: str | Router,
    *,
    samples: int = 10_000,
    failed: float = 0.0,
    seed: int = 1,
    folder: str | os.PathLike[str] = ".",
) -> Table:
    """Random pairs of places at many times, routed by a scheme: "hybrid" (HT 6.5), "geographic", "shortest" or yours.

    A scheme of your own is a function of a `Network` that returns next hops. It is called when the network has changed
    and never for a packet; docs/bring-your-own.md has one.

    `failed` is the share of ISLs that have failed, drawn again at each update. Columns: t_s, separation_km, least_delay_ms and
    fewest_hops_delay_ms (of the best path by either; NaN if there is none), delay_ms and hops of the scheme (delay NaN unless
    it arrived), outcome ("delivered", "stranded(deadend)", "stranded(nopath)", "looping").
    """
    function = _called(scheme) if callable(scheme) else scheme
    asked = _Asked(constellation, folder)
    raw = _skyhop.survey(asked.text(), asked.folder, function, samples, failed, seed)
    return Table(raw, "survey")


def _called(router: Router) -> Callable[..., bytes]:
    def call(t_s: float, nodes: int, satellites: int, a: bytes, b: bytes, delay_ms: bytes) -> bytes:
        first, second = (np.frombuffer(column, dtype="<i8") for column in (a, b))
        table = np.asarray(router(Network(t_s, nodes, satellites, first, second, np.frombuffer(delay_ms, dtype="<f8"))))
        shape = (nodes, nodes - satellites)
        if table.shape != shape:
            raise ValueError(f"the routing function returned shape {table.shape}; expected {shape}: nodes by terminals")
        return table.astype("<i8").tobytes()

    return call


class Snapshot:
    """A network at an instant: `nodes` has a row per satellite, terminal and gateway, `links` one per possible link.

    Columns of `nodes`: name, kind, latitude_deg (geocentric), longitude_deg, altitude_km, plane, slot, northbound (1, 0, or NaN
    if it does not move). Columns of `links`: a, b (rows of `nodes`), kind, up (1 or 0), delay_ms.
    """

    def __init__(self, nodes: Table, links: Table) -> None:
        self.nodes = nodes
        self.links = links

    def __repr__(self) -> str:
        up = int(self.links["up"].sum())
        return f"<snapshot: {len(self.nodes)} nodes, {up} of {len(self.links)} links up>"


def snapshot(
    constellation: Constellation,
    time: str | float = "0 s",
    *,
    terminals: Sequence[Place] = (),
    folder: str | os.PathLike[str] = ".",
) -> Snapshot:
    """Positions of all satellites and terminals at `time`, and the links that are up."""
    asked = _Asked(constellation, folder)
    for place in terminals:
        asked.terminal(place)
    nodes, links = _skyhop.snapshot(asked.text(), asked.folder, _seconds(time))
    return Snapshot(Table(nodes, "nodes"), Table(links, "links"))


class _Asked:
    """A scenario with satellites, terminals and their failures only."""

    #: Keys of a scenario's file that matter besides its constellation and terminals.
    KEPT = ("duration", "seed", "routing", "failures", "random_failures")

    def __init__(self, constellation: Constellation, folder: str | os.PathLike[str]) -> None:
        self.folder = os.fspath(folder)
        self.rest: dict[str, Any] = {"duration": "1 s"}
        self.terminals: dict[str, dict[str, Any]] = {}
        file = Path(constellation) if isinstance(constellation, (str, os.PathLike)) else None
        if file is not None and file.suffix == ".toml":
            self._read(Path(folder) / file)
        elif isinstance(constellation, str):
            self.constellation: Mapping[str, Any] = {"preset": constellation}
        elif isinstance(constellation, Mapping):
            self.constellation = constellation
        elif isinstance(constellation, Scenario):
            _skyhop.check(NAME, (constellation.text, constellation.keys is None, constellation.files, constellation.base), [])
            self._take(NAME, tomllib.loads(constellation.text), constellation.base)
        else:
            kind = type(constellation).__name__
            expected = "a preset's name, a scenario's [constellation], or a scenario's file (.toml)"
            raise TypeError(f"constellation is a {kind}; expected {expected}")

    def _read(self, file: Path) -> None:
        # Mistakes in the file are reported with its lines.
        _skyhop.check(os.fspath(file), None, [])
        self._take(os.fspath(file), tomllib.loads(file.read_text(encoding="utf-8")), os.fspath(file.parent))

    def _take(self, file: str, scenario: Mapping[str, Any], folder: str) -> None:
        if "constellation" not in scenario:
            raise _skyhop.ScenarioError(f"{file}: no [constellation]; expected one")
        self.folder = folder
        self.constellation = scenario["constellation"]
        self.terminals = {name: dict(values) for name, values in scenario.get("terminals", {}).items()}
        self.rest.update({key: scenario[key] for key in self.KEPT if key in scenario})

    def terminal(self, place: Place, *, antennas: int | str | None = None, gateway: bool = False) -> str:
        """Adds a place to the terminals unless it is there, and returns its name."""
        name, values = self._place(place, gateway)
        options: dict[str, Any] = {} if antennas is None else {"antennas": antennas}
        if gateway:
            options["gateway"] = True
        if name not in self.terminals:
            self.terminals[name] = {**options, **values}
        elif isinstance(place, str) and not self.terminals[name].get("gateway"):
            # A terminal of the scenario's file, with other values in this question.
            self.terminals[name].update(options)
        return name

    def _place(self, place: Place, gateway: bool) -> tuple[str, dict[str, Any]]:
        if isinstance(place, Mapping):
            values = dict(place)
            name = str(values.pop("name", f"terminal-{len(self.terminals)}"))
        elif isinstance(place, str) and place in self.terminals and not gateway:
            return place, {}
        else:
            text = place if isinstance(place, str) else ",".join(repr(float(degrees)) for degrees in place)
            name, lat, lon = _skyhop.place(text)
            if not name[0].isalpha():
                name = f"at_{name}"
            values = {"lat": f"{lat!r} deg", "lon": f"{lon!r} deg"}
            if gateway:
                name += "-gateway"
        # A scenario's names are words; coordinates are not.
        return "".join(c if c.isalnum() or c in "-_" else "_" for c in name), values

    def text(self) -> str:
        """The scenario's text."""
        # A scenario needs two terminals and a flow; these are removed again.
        places = {"unused-south": {"lat": "-90 deg", "lon": "0 deg"}, "unused-north": {"lat": "90 deg", "lon": "0 deg"}}
        used = {**self.terminals, **({} if len(self.terminals) > 1 else places)}
        first, second = list(used)[:2]
        lines = [f"{key} = {_toml(_text(value))}" for key, value in self.rest.items()]
        lines += ["[constellation]", *(f"{key} = {_toml(_text(value))}" for key, value in self.constellation.items())]
        for name, values in used.items():
            lines += [f"[terminals.{name}]", *(f"{key} = {_toml(value)}" for key, value in values.items())]
        lines += ["[[flows]]", f'from = "{first}"', f'to = "{second}"', 'traffic = { kind = "ping" }']
        return "\n".join(lines) + "\n"


def _text(value: Any) -> Any:
    return os.fspath(value) if isinstance(value, Path) else value


_UNITS = {"ms": 1e-3, "s": 1.0, "min": 60.0, "h": 3600.0, "d": 86_400.0}


def _seconds(text: str | float) -> float:
    """Seconds of a time with its unit."""
    if isinstance(text, (int, float)):
        return float(text)
    number, _, unit = text.strip().partition(" ")
    try:
        return float(number) * _UNITS[unit.strip()]
    except (KeyError, ValueError):
        raise ValueError(f"time {text!r}; expected a number and a unit such as '60 s' ({', '.join(_UNITS)})") from None
