"""Publications reproduced: a claim, a script, our number beside the published one, and a verdict.

Each script in `papers/<publication>/` has `SOURCE`, `CLAIM` and `reproduce()`, which returns rows and a figure.
Differs from a notebook: every number has a tolerance bounded on both sides, stated before the run.
Leaves out sentences of the publications; numbers are cited with their place.

    python papers/harness.py [--full] [--out DIR] [NAME ...]      # such as henderson1999/fig_6_10
"""

from __future__ import annotations

import argparse
import csv
import importlib.util
import os
import sys
import time
import traceback
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent


@dataclass(frozen=True)
class Row:
    """One number: what was published, what we got, and what we would have accepted."""

    metric: str
    unit: str
    #: None where the publication says it in words or draws it; the bounds say how the words were read.
    published: float | None
    ours: float
    low: float
    high: float
    #: Why the number is known to differ; empty where it should hold.
    known: str = ""

    @property
    def holds(self) -> bool:
        return self.low <= self.ours <= self.high

    @property
    def verdict(self) -> str:
        if self.holds:
            return "holds"
        return "differs, as known" if self.known else "differs"

    @property
    def expected(self) -> bool:
        """True if the verdict is the one on record. A known difference that has gone is news too."""
        return self.holds != bool(self.known)

    @property
    def deviation(self) -> float | None:
        """Ours minus the published number, in its unit."""
        return None if self.published is None else self.ours - self.published


@dataclass
class Reproduction:
    """Result of a script."""

    rows: list[Row]
    figure: Any = None
    #: What is different from the publication's setting, and what it may do to the numbers.
    remarks: list[str] = field(default_factory=list)
    #: What the publication leaves open: the value that was chosen, and what others do to the numbers.
    sensitivity: list[str] = field(default_factory=list)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", help="entries to run; all of them if none is given")
    parser.add_argument("--out", type=Path, default=Path("out/papers"), help="folder for tables and figures")
    parser.add_argument("--full", action="store_true", help="all points and seeds, where less is the default (SKYHOP_FULL=1)")
    arguments = parser.parse_args()
    if arguments.full:
        os.environ["SKYHOP_FULL"] = "1"

    import matplotlib

    matplotlib.use("Agg")
    known = {str(path.relative_to(HERE).with_suffix("")): path for path in sorted(HERE.glob("*/*.py"))}
    for name in arguments.names:
        if name not in known:
            parser.error(f"unknown entry {name!r}; expected one of {', '.join(known)}")
    # The table is written anew by each full run and by each partial one; it says what was run, not more.
    arguments.out.mkdir(parents=True, exist_ok=True)
    done: list[tuple[str, Any, Reproduction]] = []
    failed: list[str] = []
    for name in arguments.names or known:
        started = time.monotonic()
        module = load(name, known[name])
        try:
            result = module.reproduce()
        except Exception:
            # What the others have found is not lost with it.
            traceback.print_exc()
            failed.append(name)
            continue
        done.append((name, module, result))
        save_figure(result.figure, arguments.out / name.replace("/", "-"))
        print(f"{name}: {time.monotonic() - started:.1f} s", file=sys.stderr)
    (arguments.out / "table.md").write_text(markdown(done), encoding="utf-8")
    write_csv(done, arguments.out / "table.csv")
    print(plain(done))
    for name in failed:
        print(f"error: {name} failed", file=sys.stderr)
    return 0 if not failed and all(row.expected for _, _, result in done for row in result.rows) else 1


def load(name: str, path: Path) -> Any:
    # Scripts import the harness for `Row`; they find this one and not a second copy.
    sys.modules.setdefault("harness", sys.modules[__name__])
    spec = importlib.util.spec_from_file_location("papers." + name.replace("/", "."), path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def save_figure(figure: Any, stem: Path) -> None:
    if figure is None:
        return
    figure.savefig(stem.with_suffix(".png"), dpi=150)
    # Without a date, the same run gives the same file.
    figure.savefig(stem.with_suffix(".pdf"), metadata={"CreationDate": None})
    import matplotlib.pyplot as plt

    plt.close(figure)


COLUMNS = ["entry", "metric", "unit", "published", "ours", "deviation", "accepted", "verdict"]


def cells(name: str, row: Row) -> list[str]:
    return [
        name,
        row.metric,
        row.unit,
        "in words" if row.published is None else f"{row.published:g}",
        f"{row.ours:.4g}",
        "" if row.deviation is None else f"{row.deviation:+.3g}",
        f"{row.low:g} to {row.high:g}",
        row.verdict,
    ]


def table(done: list[tuple[str, Any, Reproduction]]) -> list[list[str]]:
    return [cells(name, row) for name, _, result in done for row in result.rows]


def plain(done: list[tuple[str, Any, Reproduction]]) -> str:
    lines = [COLUMNS, *table(done)]
    widths = [max(len(line[i]) for line in lines) for i in range(len(COLUMNS))]
    text = ["  ".join(cell.ljust(width) for cell, width in zip(line, widths)).rstrip() for line in lines]
    text += [f"{name}: left open: {said}" for name, _, result in done for said in result.sensitivity]
    return "\n".join(text)


def markdown(done: list[tuple[str, Any, Reproduction]]) -> str:
    lines = ["# Published and ours", "", "| " + " | ".join(COLUMNS) + " |", "|" + "---|" * len(COLUMNS)]
    lines += ["| " + " | ".join(row) + " |" for row in table(done)]
    for name, module, result in done:
        lines += ["", f"## {name}", "", f"{module.CLAIM} ({module.SOURCE})", ""]
        known = [f"{row.metric}: {row.known}" for row in result.rows if row.known]
        said = [f"Left open by the publication: {line}" for line in result.sensitivity]
        lines += [f"- {remark}" for remark in [*result.remarks, *known, *said]]
        if result.figure is not None:
            lines += ["", f"![{name}]({name.replace('/', '-')}.png)"]
    return "\n".join(lines) + "\n"


def write_csv(done: list[tuple[str, Any, Reproduction]], path: Path) -> None:
    with path.open("w", newline="", encoding="utf-8") as out:
        writer = csv.writer(out)
        writer.writerow(["entry", "metric", "unit", "published", "ours", "deviation", "low", "high", "verdict"])
        for name, _, result in done:
            for r in result.rows:
                writer.writerow([name, r.metric, r.unit, r.published, r.ours, r.deviation, r.low, r.high, r.verdict])


if __name__ == "__main__":
    sys.exit(main())
