"""skyhop: a laboratory for Internet transport over satellites.

Follows the command of the same name: the same scenario file, the same numbers, the same results folder.
Differs from it: results are objects, and tables are Arrow, which numpy, pandas, polars and duckdb read.
Leaves out the simulator itself, which is in the extension module, and plots, which are in `skyhop.plot`.

    >>> import skyhop
    >>> run = skyhop.run("geo.toml", set={"links.satellite.rate": "1 Mbit/s"})
    >>> run.summary["flows"]["download"]["goodput_bps"]
"""

from . import theory
from ._emulate import Emulation, emulate
from ._run import Run, ScenarioNotFoundError, check, run
from ._scenario import Scenario
from ._skyhop import ScenarioError, __version__
from ._space import Network, Snapshot, delay, look, passes, snapshot, survey, tables
from ._sweep import Sweep, sweep
from ._table import Table

__all__ = [
    "Emulation",
    "Network",
    "Run",
    "Scenario",
    "ScenarioError",
    "ScenarioNotFoundError",
    "Snapshot",
    "Sweep",
    "Table",
    "__version__",
    "check",
    "delay",
    "emulate",
    "look",
    "passes",
    "run",
    "snapshot",
    "survey",
    "sweep",
    "tables",
    "theory",
]
