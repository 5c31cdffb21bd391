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
import os
import sys
import time
import traceback
from pathlib import Path
from typing import Any

from rows import KINDS, PAPER, Done, Reproduction, Row, counts, refuse

HERE = Path(__file__).resolve().parent


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
