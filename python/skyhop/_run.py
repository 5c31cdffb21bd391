"""Running and checking scenarios.

Follows the command: `run` is `skyhop run`, `check` is `skyhop check`, `set` is `--set`.
Differs from it: without `out` nothing is written, and the results are objects.
Leaves out sweeps, for which the command has a pool of threads; for a few points a loop over `run` suffices.
"""

from __future__ import annotations

import errno
import json
import operator
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np

from . import _skyhop
from ._scenario import Scenario, Source, _toml, source
from ._table import Table, _cell, _html_table


class ScenarioNotFoundError(_skyhop.ScenarioError, FileNotFoundError):
    """A file that does not exist. The text names a similar one in its folder, if there is one."""

    def __str__(self) -> str:
        # With a number and a name, OSError would print those.
        return str(self.args[0])


class Run:
    """Results of a run.

    `summary` has the contents of `summary.json`; `flows` has a row per flow, `series` a row per sample.
    """

    def __init__(self, summary: dict[str, Any], flows: Table, series: Table) -> None:
        self.summary = summary
        self.flows = flows
        self.series = series

    def sample(self, entity: str, metric: str) -> tuple[np.ndarray, np.ndarray]:
        """Times in seconds and values of one metric of one entity, such as ("flow/download", "cwnd_bytes")."""
        series = self.series
        rows = (series["entity"] == entity) & (series["metric"] == metric)
        if not rows.any():
            raise KeyError(f"no samples of {metric} for {entity}; there are {_listed(series)}")
        return series["t_ns"][rows] / 1e9, series["value"][rows]

    def limits(self, flow: str) -> dict[str, float]:
        """Limits of a flow: the share of its time, 0 to 1, by cause, such as "receive_window"; the largest first.

        Empty for a flow that has not begun. `docs/results.md` has the causes.
        """
        flows = self.summary["flows"]
        if flow not in flows:
            raise KeyError(f"no flow {flow!r}; there are {', '.join(flows)}")
        if "limited_share" not in flows[flow]:
            raise KeyError(f"flow {flow!r} has no connections, which is what is held up")
        shares = {cause: share for cause, share in flows[flow]["limited_share"].items() if share is not None}
        return dict(sorted(shares.items(), key=lambda item: -item[1]))

    def __repr__(self) -> str:
        s = self.summary
        head = f"<skyhop run of {s['scenario']!r}, seed {s['seed']}, {s['simulated_s']:g} s simulated in {s['wall_s']:.3g} s"
        lines = [_many(name, population) for name, population in s.get("populations", {}).items()]
        lines += [_line(name, flow) for name, flow in s["flows"].items()]
        return "\n".join([head, *(f"  {line}" for line in lines)]) + ">"

    def _repr_html_(self) -> str:
        from html import escape

        s = self.summary
        columns = self.flows.columns
        rows = [[_cell(value) for value in row] for row in zip(*(self.flows[c] for c in columns))]
        # Columns that none of the flows uses are left out.
        keep = [i for i, _ in enumerate(columns) if any(row[i] for row in rows)]
        table = _html_table([columns[i] for i in keep], [[row[i] for i in keep] for row in rows])
        warnings = "".join(f"<p>warning: {escape(w)}</p>" for w in s["warnings"])
        return f"<div><p><b>{escape(s['scenario'])}</b>, seed {s['seed']}, {s['simulated_s']:g} s</p>{table}{warnings}</div>"


def run(
    scenario: str | os.PathLike[str] | Mapping[str, Any] | Scenario | None = None,
    *,
    text: str | None = None,
    files: Mapping[str, bytes | str] | None = None,
    base: str | os.PathLike[str] | None = None,
    seed: int | None = None,
    set: Mapping[str, Any] | None = None,
    out: str | os.PathLike[str] | None = None,
    progress: Callable[[float], object] | None = None,
) -> Run:
    """Runs a scenario and returns its results.

    `scenario` is the name of a file, keys and values as in a file, or a `Scenario`; `text`, in its place, is a file's text.
    With keys or text, `files` has contents of files that the scenario names, by name, and `base` is the folder of others.
    `seed` replaces the scenario's. `set` changes values by their dotted paths, as `--set` does:
    `set={"links.satellite.rate": "1 Mbit/s"}`. `out` is a folder for the results, which appear completely or not at all;
    captures are written only there. Ctrl-C stops a run. `progress` is called a few times a second with the simulated share of
    the duration, 0 to 1; a run ends earlier if all flows have.

    Raises `ScenarioError` for a scenario that cannot be run (also a `FileNotFoundError` if the file does not exist), and
    `OSError` for results that cannot be written.
    """
    number = None if seed is None else _seed(seed)
    folder = None if out is None else os.fspath(out)
    given = source(scenario, text, files, base)
    with _found(given):
        summary, flows, series = _skyhop.run(given.file, given.text, _sets(set), number, folder, progress)
    return Run(json.loads(summary), Table(flows, "flows"), Table(series, "series"))


def check(
    scenario: str | os.PathLike[str] | Mapping[str, Any] | Scenario | None = None,
    *,
    text: str | None = None,
    files: Mapping[str, bytes | str] | None = None,
    base: str | os.PathLike[str] | None = None,
    set: Mapping[str, Any] | None = None,
) -> list[str]:
    """Checks a scenario, given as to `run`. Returns warnings; raises `ScenarioError` if it cannot be run."""
    given = source(scenario, text, files, base)
    with _found(given):
        return _skyhop.check(given.file, given.text, _sets(set))


@contextmanager
def _found(given: Source) -> Iterator[None]:
    """An error about a missing file is a `FileNotFoundError` as well."""
    try:
        yield
    except _skyhop.ScenarioError as e:
        if given.text is not None or os.path.exists(given.file):
            raise
        missing = ScenarioNotFoundError(str(e))
        missing.errno, missing.filename = errno.ENOENT, given.file
        raise missing from None


def _seed(seed: int) -> int:
    number = operator.index(seed)
    if not 0 <= number < 2**64:
        raise _skyhop.ScenarioError(f"seed: {number} is no seed; expected a whole number from 0 to {2**64 - 1}")
    return number


def _sets(values: Mapping[str, Any] | None) -> list[tuple[str, str]]:
    # A text is used unchanged, as on the command line; other values are written as in a file.
    return [(path, v if isinstance(v, str) else _toml(v)) for path, v in (values or {}).items()]


def _many(name: str, population: dict[str, Any]) -> str:
    parts = [f"{population['count']} flows"]
    for metric, what, scale, unit in [
        ("goodput_bps", "goodput", 1e-6, "Mbit/s"),
        ("completed_s", "completed in", 1, "s"),
        ("completion_mean_s", "pages or transfers in", 1, "s"),
        ("delay_mean_s", "delay", 1e3, "ms"),
    ]:
        if metric in population:
            values = "/".join(f"{population[metric][part] * scale:.4g}" for part in ("p5", "p50", "p95"))
            parts.append(f"{what} {values} {unit} (5 %, median, 95 %)")
    return f"{name}: {', '.join(parts)}"


def _line(name: str, flow: dict[str, Any]) -> str:
    if "completed" in flow:
        done = f"{flow['completed']} of {flow['started']} completed, {flow['failed']} failed"
        mean = flow["completion_mean_s"]
        took = "" if mean is None else f", in {mean:.4g} s (mean)"
        return f"{name}: {done}{took}, {flow['goodput_bps'] / 1e6:.4g} Mbit/s"
    if "jitter_s" in flow:
        mean = flow["delay_mean_s"]
        delays = "" if mean is None else f", delay {mean * 1e3:.4g} ms (mean)"
        return f"{name}: {flow['received']} of {flow['sent']} datagrams received{delays}, {flow['goodput_bps'] / 1e6:.4g} Mbit/s"
    if "goodput_bps" in flow:
        done = flow["completed_s"]
        ended = "not completed" if done is None else f"completed in {done:.4g} s"
        return f"{name}: {flow['goodput_bps'] / 1e6:.4g} Mbit/s, {ended}, {flow['segments_retransmitted']} retransmitted"
    low, mean, high = (flow[f"delay_{k}_s"] for k in ("min", "mean", "max"))
    delays = "" if mean is None else f", delay {low * 1e3:.4g}/{mean * 1e3:.4g}/{high * 1e3:.4g} ms (min/mean/max)"
    return f"{name}: {flow['received']} of {flow['sent']} pings received{delays}"


def _listed(series: Table) -> str:
    pairs = dict.fromkeys(zip(series["entity"], series["metric"]))
    return ", ".join(f"{entity} {metric}" for entity, metric in pairs) or "none"
