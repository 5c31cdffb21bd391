"""Sweeps: every combination of the values in a scenario's `[sweep]`, on all cores or on a Dask cluster.

Follows `skyhop sweep`: the same folder, the same parts, the same table; either may continue where the other stopped.
Differs from it: with a Dask client, parts are run by its workers and returned as bytes.
Leaves out starting clusters, which `dask.distributed` and similar libraries do.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from . import _skyhop
from ._run import _found, _sets
from ._scenario import Scenario, Source, source
from ._table import Table


class Sweep(Table):
    """The table of a sweep: a row per run. `path` is its Parquet file."""

    def __init__(self, path: Path) -> None:
        super().__init__(_skyhop.read_table(os.fspath(path)), "runs")
        self.path = path

    def __reduce__(self) -> tuple[Any, ...]:
        return _again, (bytes(self._raw.to_bytes()), self.path)


def _again(data: bytes, path: Path) -> Sweep:
    """A table that was pickled; its file may be on another machine."""
    sweep = Sweep.__new__(Sweep)
    Table.__init__(sweep, _skyhop.Table.from_bytes(data), "runs")
    sweep.path = path
    return sweep


def sweep(
    scenario: str | os.PathLike[str] | Mapping[str, Any] | Scenario | None = None,
    *,
    text: str | None = None,
    files: Mapping[str, bytes | str] | None = None,
    base: str | os.PathLike[str] | None = None,
    set: Mapping[str, Any] | None = None,
    out: str | os.PathLike[str] | None = None,
    shard: str = "1/1",
    threads: int | None = None,
    client: Any = None,
    progress: Callable[[int], object] | None = None,
    most_runs: int = 1_000_000,
) -> Sweep:
    """Runs the sweep of a scenario, which is given as to `run`, and returns its table.

    `out` is the sweep's folder, named after the scenario if left out; the same call again continues where it stopped. `client`
    is a `dask.distributed.Client`; parts are then run by its workers, and parts of a lost worker are run again. `progress` is
    called at intervals with the number of runs done since the last call; with a stopping rule and a client, of points.
    `shard="3/8"` runs the third of eight shares only, and returns the rows finished so far.

    Raises `ScenarioError` for a scenario that cannot be swept, `ValueError` for a folder that holds another sweep or
    is in use and for more than `most_runs` runs, and `OSError` if the folder cannot be written.
    """
    sets = _sets(set)
    given = source(scenario, text, files, base)
    with _found(given):
        folder = _skyhop.SweepFolder(given.file, given.text, sets, None if out is None else os.fspath(out), shard, most_runs)
    for path in folder.damaged():
        warnings.warn(f"{path}: damaged since it was written; done again", stacklevel=2)
    told = progress or (lambda runs: None)
    if client is None:
        folder.run(threads or os.cpu_count() or 1, told)
    else:
        _with_dask(folder, given, sets, client, told)
    path, _ = folder.merge()
    return Sweep(Path(path))


def _part(spec: tuple[bytes, str, list[tuple[str, str]], dict[str, bytes]], part: int, points: tuple[int, int]) -> tuple[int, bytes]:
    """Runs in a worker."""
    text, name, sets, files = spec
    return part, bytes(_skyhop.run_part(text, name, sets, files, points))


def _with_dask(folder: _skyhop.SweepFolder, given: Source, sets: list[tuple[str, str]], client: Any, told: Callable[[int], object]) -> None:
    try:
        from dask.distributed import as_completed
    except ImportError as e:
        raise ImportError("dask.distributed is not installed; pip install skyhop[dask]") from e
    spec = client.scatter((given.contents(), Path(given.file).name, sets, dict(folder.files())), broadcast=True)
    missing = iter(folder.missing())

    def submit(part: int) -> Any:
        # The parts of a lost worker are run again, any number of times.
        return client.submit(_part, spec, part, folder.units_of(part), pure=False, retries=3)

    # Few at once, so that a scheduler with a hundred thousand runs needs little memory.
    window = max(8, 4 * sum(client.ncores().values()))
    first = [submit(part) for _, part in zip(range(window), missing)]
    waiting = as_completed(first)
    for future in waiting:
        part, data = future.result()
        folder.write(part, data)
        begin, end = folder.units_of(part)
        told(end - begin)
        future.release()
        following = next(missing, None)
        if following is not None:
            waiting.add(submit(following))
