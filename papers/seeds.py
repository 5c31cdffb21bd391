"""Verdicts with other seeds: each entry runs with the seeds of its script, and with those plus a base.

Follows `altered.py`, which adds the base to every seed of an entry. A row flips if its verdict is not the one on record: known
differences differ, and all other rows hold. Differs from `mutate.py`, in which verdicts should change.
Leaves out which of two verdicts is right: a row that flips takes more seeds, or longer runs, until none does.

    python papers/seeds.py [--bases 0 1000 2000] [--table papers/seeds.md] [--missing] [ENTRY ...]
"""

from __future__ import annotations

import argparse
import datetime
import json
import math
import resource
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
#: Bases that are added to the seeds: none, and two that no script reaches by itself.
BASES = (0, 1000, 2000)
#: Entries that a test runs with another base: quick ones in which chance decides.
QUICK = ("henderson1999/fig_4_11", "henderson1999/fig_4_13", "henderson1999/fig_5_7", "thompson2004/fig_4_2")

#: Entries with a row that flips with some base.
OPEN: tuple[str, ...] = ()


@dataclass(frozen=True)
class Outcome:
    """An entry's rows with one base."""

    entry: str
    base: int
    rows: int
    #: Metrics whose verdict is not the one on record, each with its value.
    flips: tuple[str, ...]
    cpu_s: float
    date: str
    error: str = ""


def cpu_s() -> float:
    """Processor time of this process and of its children, s."""
    both = (resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN))
    return sum(used.ru_utime + used.ru_stime for used in both)


def outcomes(base: int, entries: list[str]) -> Iterator[Outcome]:
    """Runs entries one after another in this process, so that what they share is computed once."""
    import altered
    import harness
    import matplotlib
    from rows import refuse

    matplotlib.use("Agg")
    from matplotlib import pyplot

    altered.install(base)
    paths = harness.entries()
    for name in entries:
        begun, today = cpu_s(), datetime.date.today().isoformat()
        try:
            result = harness.load(name, paths[name]).reproduce()
            refuse(name, result.rows)
        except Exception as error:
            yield Outcome(name, base, 0, (), cpu_s() - begun, today, f"{type(error).__name__}: {error}".splitlines()[0])
            continue
        pyplot.close("all")
        flips = tuple(f"{row.metric}: {row.ours:.4g} of {row.low:.4g} to {row.high:.4g}" for row in result.rows if not row.expected)
        yield Outcome(name, base, len(result.rows), flips, cpu_s() - begun, today)


def apart(base: int, entries: list[str]) -> Iterator[Outcome]:
    """As [`outcomes`], in a process of its own: a base cannot be taken back."""
    command = [sys.executable, str(Path(__file__).resolve()), "--one", str(base), *entries]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        for line in child.stdout:
            told = json.loads(line)
            yield Outcome(**told | {"flips": tuple(told["flips"])})
    if child.returncode:
        raise subprocess.CalledProcessError(child.returncode, command[:4])


Found = dict[tuple[str, int], Outcome]


def markdown(found: Found, entries: list[str]) -> str:
    """The table, with each flip below it; an entry that has not run has "-"."""
    bases = sorted({base for _, base in found})
    lines = [
        "# Other seeds",
        "",
        "Written by `make papers-seeds`: verdicts of each entry that are not the ones on record, with a number added to every seed.",
        "An entry that was not run has a dash. Processor time of all bases; what entries share is in the time of the first that needs it.",
        "",
    ]
    for base in bases:
        of = [outcome for outcome in found.values() if outcome.base == base]
        rows, flips, used = sum(o.rows for o in of), sum(len(o.flips) for o in of), sum(o.cpu_s for o in of)
        lines.append(f"- Seeds + {base}: {len(of)} entries, {rows} rows, {flips} flips, {used / 60:.1f} CPU minutes")
    lines += ["", "| entry | rows | " + " | ".join(f"+ {base}" for base in bases) + " | date | CPU s |", "|---" * (len(bases) + 4) + "|"]
    for entry in entries:
        of = {base: found[entry, base] for base in bases if (entry, base) in found}
        if not of:
            lines.append(f"| {entry} | - | {' | '.join('-' for _ in bases)} | - | - |")
            continue
        told = [("error" if of[base].error else str(len(of[base].flips))) if base in of else "-" for base in bases]
        rows, date, used = max(o.rows for o in of.values()), max(o.date for o in of.values()), sum(o.cpu_s for o in of.values())
        lines.append(f"| {entry} | {rows} | {' | '.join(told)} | {date} | {used:.1f} |")
    told = [f"- {o.entry}, + {o.base}: {flip}." for o in found.values() for flip in (*o.flips, *([o.error] if o.error else []))]
    return "\n".join([*lines, *(["", *told] if told else [])]) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("entries", nargs="*", help="entries; all of them if none is given")
    parser.add_argument("--bases", nargs="+", type=int, default=list(BASES), metavar="N", help="numbers that are added to every seed")
    parser.add_argument("--run", type=Path, default=Path("out/papers/seeds.json"), help="results so far, kept from run to run")
    parser.add_argument("--table", type=Path, help="write the table to this file")
    parser.add_argument("--missing", action="store_true", help="run what --run does not have")
    parser.add_argument("--one", type=int, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.one is not None:
        for outcome in outcomes(arguments.one, arguments.entries):
            print(json.dumps(asdict(outcome)), flush=True)
        return 0
    import harness

    known = list(harness.entries())
    for name in arguments.entries:
        if name not in known:
            parser.error(f"unknown entry {name!r}; expected one of {', '.join(known)}")
    found = {key: outcome for key, outcome in read(arguments.run).items() if key[0] in known}
    used: dict[str, float] = {}
    for outcome in found.values():
        used[outcome.entry] = max(used.get(outcome.entry, 0), outcome.cpu_s)
    # The cheapest first, so that an interrupted run shows as many as possible.
    chosen = sorted(arguments.entries or known, key=lambda name: used.get(name, math.inf))
    arguments.run.parent.mkdir(parents=True, exist_ok=True)
    for base in arguments.bases:
        for outcome in apart(base, [name for name in chosen if not (arguments.missing and (name, base) in found)]):
            found[outcome.entry, base] = outcome
            print(f"{outcome.entry} + {base}: {len(outcome.flips)} of {outcome.rows} flip, {outcome.cpu_s:.1f} s", file=sys.stderr)
            arguments.run.write_text(json.dumps([asdict(o) for o in found.values()], indent=1), encoding="utf-8")
            if arguments.table:
                arguments.table.write_text(markdown(found, known), encoding="utf-8")
    print(markdown(found, known))
    return 1 if any(outcome.flips or outcome.error for outcome in found.values()) else 0


def read(path: Path) -> Found:
    """Results of earlier runs."""
    told = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else []
    return {(o["entry"], o["base"]): Outcome(**o | {"flips": tuple(o["flips"])}) for o in told}


if __name__ == "__main__":
    sys.exit(main())
