"""Publications reproduced: a claim, a script, our number beside the published one, and a verdict.

Each script in `papers/<publication>/` has `SOURCE`, `CLAIM` and `reproduce()`, which returns rows and a figure.
Differs from a notebook: every number has a tolerance with its reason, stated before the run; rows that could not fail are refused.
Leaves out sentences of the publications; numbers are cited with their place.

    python papers/harness.py [--full] [--seeds N] [--out DIR] [--keep] [--gallery FILE] [NAME ...]      # such as henderson1999/fig_6_10
"""

from __future__ import annotations

import argparse
import csv
import importlib.util
import math
import os
import sys
import time
import traceback
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
PAPER = "paper"
#: A range whose ends differ by this factor does not constrain a number.
WIDEST = 10.0


@dataclass(frozen=True)
class Row:
    """One number: the published value, ours, and the accepted range."""

    metric: str
    unit: str
    #: None if the publication has words or a drawing only; the bounds then say how the words are read.
    published: float | None
    ours: float
    low: float
    high: float
    #: Reason of the bounds: digits of a figure, the paper's own interval, seeds, the reading of the words.
    why: str
    #: Reason of a known difference, written by hand; empty if the row should hold.
    known: str = ""
    #: Source of `published` if other than the publication: ns-2.35, a formula, a trace.
    of: str = PAPER

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
        """True if the verdict is the one on record. A known difference that has disappeared is unexpected too."""
        return self.holds != bool(self.known)

    @property
    def deviation(self) -> float | None:
        """Ours minus the published number, in its unit."""
        return None if self.published is None else self.ours - self.published

    @property
    def kind(self) -> str:
        """The table to which the row belongs."""
        # A reason that begins with "words" or "drawn" marks a number that is not printed: "none" is 0, "once" and "as much" are 1.
        if self.published is None or (self.published in (0, 1) and self.why.startswith(("words", "drawn"))):
            return "in words"
        return "published" if self.of == PAPER else "other"

    def faults(self) -> list[str]:
        """Reasons for which the row's verdict is void; empty if the row can fail."""
        found = []
        low, high, published = self.low, self.high, self.published
        if not self.why.strip():
            found.append("the range has no reason")
        if not (math.isfinite(low) and math.isfinite(high) and low <= high):
            return [*found, f"{low:g} to {high:g} is no range"]
        if published is not None and not low - 1e-9 * abs(low) <= published <= high + 1e-9 * abs(high):
            found.append(f"{low:g} to {high:g} leaves out the published {published:g}")
        # A tolerance around zero has two sides; elsewhere the sign is part of the claim.
        if low * high <= 0 and low != high and published != 0:
            found.append(f"{low:g} to {high:g} accepts nothing, or the opposite sign")
        elif self.unit == "log10":
            if 10 ** (high - low) >= WIDEST:
                found.append(f"{low:g} to {high:g} spans a factor of ten")
        elif low * high > 0 and max(abs(low), abs(high)) >= WIDEST * min(abs(low), abs(high)):
            found.append(f"{low:g} to {high:g} spans a factor of ten")
        if self.unit == "times" and published != 1 and low < 1 < high:
            found.append(f"{low:g} to {high:g} times accepts more and less")
        return found


class RowError(ValueError):
    """Rows that cannot fail, one per line of the text."""


def refuse(name: str, rows: list[Row]) -> None:
    """Raises `RowError` if the accepted range of a row is void."""
    faults = [f"{name}: {row.metric}: {fault}" for row in rows for fault in row.faults()]
    if faults:
        raise RowError("\n".join(faults))


@dataclass
class Reproduction:
    """Result of a script."""

    rows: list[Row]
    figure: Any = None
    #: Differences from the publication's setting, and their likely effect on the numbers.
    remarks: list[str] = field(default_factory=list)
    #: Parameters that the publication does not state: the value chosen here, and the effect of other values.
    sensitivity: list[str] = field(default_factory=list)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", help="entries to run; all of them if none is given")
    parser.add_argument("--out", type=Path, default=Path("out/papers"), help="folder for tables and figures")
    parser.add_argument("--keep", action="store_true", help="entries that are not run stay as DIR has them, in tables and gallery")
    parser.add_argument("--full", action="store_true", help="all points and seeds, where less is the default (SKYHOP_FULL=1)")
    parser.add_argument("--seeds", type=int, default=0, metavar="N", help="add N to every seed: the verdicts are to stay")
    parser.add_argument("--mutate", metavar="NAME", help="a wrong implementation, which the verdicts are to notice (papers/mutate.py)")
    parser.add_argument(
        "--gallery", type=Path, metavar="FILE", help="write the gallery to FILE, with small figures in images/papers beside it"
    )
    arguments = parser.parse_args()
    if arguments.full:
        os.environ["SKYHOP_FULL"] = "1"

    import matplotlib

    matplotlib.use("Agg")
    import altered

    altered.install(arguments.seeds, arguments.mutate)
    known = entries()
    for name in arguments.names:
        if name not in known:
            parser.error(f"unknown entry {name!r}; expected one of {', '.join(known)}")
    # Every run rewrites the table, which then has the entries of that run.
    arguments.out.mkdir(parents=True, exist_ok=True)
    done: Done = []
    failed: list[str] = []
    kept = read_csv(arguments.out / "table.csv") if arguments.keep else {}
    pictures = arguments.gallery.parent / "images" / "papers" if arguments.gallery else None
    if pictures:
        pictures.mkdir(parents=True, exist_ok=True)
    for name in arguments.names or known:
        started = time.monotonic()
        module = load(name, known[name])
        try:
            result = module.reproduce()
            refuse(name, result.rows)
        except Exception:
            # The results of the other entries stay.
            traceback.print_exc()
            failed.append(name)
            continue
        done.append((name, module, result))
        small = pictures / name.replace("/", "-") if pictures else None
        save_figure(result.figure, arguments.out / name.replace("/", "-"), small)
        print(f"{name}: {time.monotonic() - started:.1f} s", file=sys.stderr)
    names = list(known)
    run = {name for name, _, _ in done} | set(failed)
    done += [(name, load(name, known[name]), Reproduction(rows)) for name, rows in kept.items() if name in known and name not in run]
    done.sort(key=lambda entry: names.index(entry[0]))
    (arguments.out / "table.md").write_text(markdown(done), encoding="utf-8")
    write_csv(done, arguments.out / "table.csv")
    print(plain(done))
    if arguments.gallery:
        from gallery import markdown as page

        arguments.gallery.write_text(page(done, pictures, arguments.gallery), encoding="utf-8")
    for name in failed:
        print(f"error: {name} failed", file=sys.stderr)
    return 0 if not failed and all(row.expected for _, _, result in done for row in result.rows) else 1


def entries() -> dict[str, Path]:
    """Scripts by name."""
    return {str(path.relative_to(HERE).with_suffix("")): path for path in sorted(HERE.glob("*/*.py"))}


def load(name: str, path: Path) -> Any:
    # Scripts import the harness for `Row`; this module is registered so that they do not load a second copy.
    sys.modules.setdefault("harness", sys.modules[__name__])
    spec = importlib.util.spec_from_file_location("papers." + name.replace("/", "."), path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def save_figure(figure: Any, stem: Path, small: Path | None = None) -> None:
    if figure is None:
        return
    figure.savefig(stem.with_suffix(".png"), dpi=150)
    # Without a date, equal runs give equal files.
    figure.savefig(stem.with_suffix(".pdf"), metadata={"CreationDate": None})
    if small is not None:
        from PIL import Image

        figure.savefig(small.with_suffix(".png"), dpi=55, metadata={"Software": None})
        # Sixteen colours need a third of the bytes.
        Image.open(small.with_suffix(".png")).convert("RGB").quantize(16).save(small.with_suffix(".png"), optimize=True)
    import matplotlib.pyplot as plt

    plt.close(figure)


COLUMNS = ["entry", "metric", "unit", "published", "ours", "deviation", "accepted", "verdict"]
Done = list[tuple[str, Any, Reproduction]]
#: The tables by kind of row, with their titles.
KINDS = {
    "published": "Numbers that the publications print",
    "other": "Numbers of other origin: ns-2.35, formulas, a trace",
    "in words": "Claims in words and drawings: the bounds are how they were read",
}


def cells(name: str, row: Row) -> list[str]:
    number = "" if row.published is None else f"{row.published:g}"
    return [
        name,
        row.metric,
        row.unit,
        number if row.of == PAPER else f"{number} ({row.of})",
        f"{row.ours:.4g}",
        "" if row.deviation is None else f"{row.deviation:+.3g}",
        f"{row.low:.6g} to {row.high:.6g}",
        row.verdict,
    ]


def table(done: Done, kind: str) -> list[list[str]]:
    return [cells(name, row) for name, _, result in done for row in result.rows if row.kind == kind]


def counts(done: Done) -> list[str]:
    """A line for each kind of row: the numbers of rows that hold, differ as known, and differ."""
    lines = []
    for kind, title in KINDS.items():
        verdicts = [row.verdict for _, _, result in done for row in result.rows if row.kind == kind]
        hold, known, differ = (verdicts.count(verdict) for verdict in ("holds", "differs, as known", "differs"))
        lines.append(f"{title}: {len(verdicts)}; {hold} hold, {known} known to differ, {differ} differ")
    return lines


def plain(done: Done) -> str:
    text = []
    for kind, title in KINDS.items():
        lines = [COLUMNS, *table(done, kind)]
        widths = [max(len(line[i]) for line in lines) for i in range(len(COLUMNS))]
        text += [title, *("  ".join(cell.ljust(width) for cell, width in zip(line, widths)).rstrip() for line in lines), ""]
    text += [f"{name}: left open: {said}" for name, _, result in done for said in result.sensitivity]
    return "\n".join([*text, *counts(done)])


def markdown(done: Done) -> str:
    lines = ["# Published and ours", "", *(f"- {line}" for line in counts(done))]
    for kind, title in KINDS.items():
        lines += ["", f"## {title}", "", "| " + " | ".join(COLUMNS) + " |", "|" + "---|" * len(COLUMNS)]
        lines += ["| " + " | ".join(row) + " |" for row in table(done, kind)]
    for name, module, result in done:
        lines += ["", f"## {name}", "", f"{module.CLAIM} ({module.SOURCE})", ""]
        known = [f"{row.metric}: {row.known}" for row in result.rows if row.known]
        said = [f"Left open by the publication: {line}" for line in result.sensitivity]
        lines += [f"- {remark}" for remark in [*result.remarks, *known, *said]]
        if result.figure is not None:
            lines += ["", f"![{name}]({name.replace('/', '-')}.png)"]
    return "\n".join(lines) + "\n"


def write_csv(done: Done, path: Path) -> None:
    with path.open("w", newline="", encoding="utf-8") as out:
        writer = csv.writer(out)
        writer.writerow(["entry", "metric", "unit", "published", "ours", "deviation", "low", "high", "verdict", "of", "why", "known"])
        for name, _, result in done:
            for r in result.rows:
                writer.writerow([name, r.metric, r.unit, r.published, r.ours, r.deviation, r.low, r.high, r.verdict, r.of, r.why, r.known])


def read_csv(path: Path) -> dict[str, list[Row]]:
    """Rows of an earlier run, by entry."""
    rows: dict[str, list[Row]] = {}
    if path.is_file():
        with path.open(encoding="utf-8") as file:
            for r in csv.DictReader(file):
                published = float(r["published"]) if r["published"] else None
                numbers = (published, float(r["ours"]), float(r["low"]), float(r["high"]))
                rows.setdefault(r["entry"], []).append(Row(r["metric"], r["unit"], *numbers, r["why"], r["known"], r["of"]))
    return rows


if __name__ == "__main__":
    sys.exit(main())
