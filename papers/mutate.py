"""Mutation of the papers' scenarios: for each entry wrong implementations, and the verdicts that notice.

Follows `altered.py`, which defines the mutations; a verdict detects one if it is no longer the one on record.
Differs from `tools/mutants.py`, which changes code. An entry that ends with an error has detected nothing, since it has no verdict.
Leaves out mutations that do not touch an entry's scenarios.

    python papers/mutate.py [--table papers/mutations.md] [--missing] [ENTRY ...]
"""

from __future__ import annotations

import argparse
import csv
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

HERE = Path(__file__).resolve().parent
ACK, LATE, NEWRENO, TAHOE = "acknowledge every segment", "acknowledge after 500 ms", "NewReno for SACK", "Tahoe for all"
QUEUES, DELAYS, RATES, LOSSES, WINDOWS = "queues doubled", "delays +10 %", "rates -20 %", "losses doubled", "windows halved"
POLLS, TTCP, INCREASE, SPLIT, DUPLICATES = "STP polls six times", "no T/TCP", "no increase", "no split", "two duplicates"
MASK, SEAM, LOW, HIGH, SYSTEM = (
    "elevation mask of 55 deg",
    "the seam the other way",
    "no links beyond 40 deg",
    "links up to 78 deg",
    "another system",
)
SILLY, PLAIN, EXCHANGED = "no silly windows", "plain UBR", "two levels exchanged"
CELL, CONSTANT, OPENING, PLANES = "a cell more", "a constant rate", "initial window four times", "planes closer"
REMEDIES = "no remedies"

HT, KG, TH, WP = "henderson1999", "kota1999", "thompson2004", "wood2001"
#: Mutations to be tried, by entry.
CASES: dict[str, tuple[str, ...]] = {
    f"{HT}/fig_2_1": (TTCP,),
    f"{HT}/fig_4_2": (CONSTANT,),
    f"{HT}/fig_4_3": (LATE, INCREASE),
    f"{HT}/fig_4_4": (DELAYS, RATES),
    f"{HT}/fig_4_5": (QUEUES, LATE),
    f"{HT}/fig_4_6": (CONSTANT, NEWRENO),
    f"{HT}/fig_4_7": (LATE,),
    f"{HT}/fig_4_8": (INCREASE,),
    f"{HT}/fig_4_9": (INCREASE,),
    f"{HT}/fig_4_10": (INCREASE,),
    f"{HT}/fig_4_11": (DELAYS, RATES, WINDOWS),
    f"{HT}/fig_4_12": (RATES, QUEUES, TAHOE),
    f"{HT}/fig_4_13": (NEWRENO, QUEUES),
    f"{HT}/fig_4_14": (ACK, TAHOE, QUEUES),
    f"{HT}/fig_4_15": (ACK, TAHOE, QUEUES, DELAYS),
    f"{HT}/fig_4_16": (ACK, TAHOE, DELAYS),
    f"{HT}/fig_4_17": (ACK, NEWRENO, DELAYS),
    f"{HT}/fig_4_18": (ACK, NEWRENO, DELAYS),
    f"{HT}/fig_4_19": (ACK, NEWRENO, QUEUES, DELAYS),
    f"{HT}/fig_4_20": (ACK,),
    f"{HT}/fig_4_21": (TTCP, DELAYS, LATE, OPENING),
    f"{HT}/fig_4_22": (DELAYS, SPLIT),
    f"{HT}/fig_4_23": (SPLIT,),
    f"{HT}/fig_4_24": (ACK,),
    f"{HT}/narrow_return": (OPENING, POLLS),
    f"{HT}/fig_5_2": (POLLS, DELAYS, RATES),
    f"{HT}/fig_5_3": (POLLS, RATES, OPENING),
    f"{HT}/fig_5_7": (LOSSES, RATES),
    f"{HT}/fig_5_8": (POLLS, LOSSES),
    f"{HT}/fig_5_10": (SPLIT, ACK),
    f"{HT}/fig_5_11": (POLLS, ACK),
    f"{HT}/fig_6_2": (SYSTEM, LOW, SEAM, PLANES),
    f"{HT}/fig_6_4": (SYSTEM, SEAM, MASK),
    f"{HT}/fig_6_8": (SEAM, LOW, MASK),
    f"{HT}/fig_6_10": (SEAM, HIGH),
    f"{HT}/fig_6_15": (CELL,),
    f"{HT}/fig_6_18": (LOW, HIGH),
    f"{HT}/fig_6_19": (PLANES,),
    f"{HT}/fig_6_20": (SYSTEM,),
    f"{HT}/fig_6_21": (SEAM, LOW),
    f"{HT}/fig_6_22": (SEAM,),
    f"{HT}/fig_6_24": (LOW, HIGH),
    f"{HT}/fig_6_25": (CELL,),
    f"{HT}/fig_6_26": (SEAM,),
    f"{HT}/sec_4_1_6": (REMEDIES,),
    f"{HT}/table_4_1": (INCREASE,),
    f"{HT}/table_4_2": (TTCP, DELAYS),
    f"{HT}/table_4_2_experiments": (TTCP, ACK, DELAYS),
    f"{HT}/table_5_1": (ACK,),
    f"{HT}/table_5_2": (ACK,),
    f"{HT}/table_5_3": (TTCP, POLLS, DELAYS),
    f"{HT}/table_5_4": (ACK, POLLS, DELAYS, LOSSES),
    f"{KG}/section_3": (DELAYS,),
    f"{KG}/table_1": (SYSTEM,),
    f"{KG}/table_2": (CELL,),
    f"{KG}/table_5": (SILLY, PLAIN, QUEUES, NEWRENO, TAHOE),
    f"{KG}/table_6": (EXCHANGED,),
    f"{KG}/table_8": (SILLY, PLAIN, NEWRENO, TAHOE),
    f"{KG}/table_9": (EXCHANGED,),
    f"{KG}/table_11": (SILLY, PLAIN, NEWRENO, DELAYS),
    f"{KG}/table_12": (EXCHANGED,),
    "kuhn2020/objectives": (RATES, POLLS),
    "starlink2025/leocc": (MASK,),
    f"{TH}/fig_1_1": (WINDOWS, DELAYS),
    f"{TH}/fig_3_1": (SYSTEM, MASK),
    f"{TH}/fig_3_2": (WINDOWS, OPENING),
    f"{TH}/fig_3_3": (ACK, DELAYS),
    f"{TH}/fig_4_1": (LOSSES,),
    f"{TH}/fig_4_2": (LOSSES,),
    f"{TH}/fig_4_3": (LOSSES,),
    f"{TH}/fig_4_4": (LOSSES,),
    f"{TH}/fig_4_5": (LOSSES, TAHOE),
    f"{TH}/fig_5_1": (LOSSES,),
    f"{TH}/fig_5_2": (TAHOE,),
    f"{TH}/fig_5_3": (TAHOE,),
    f"{TH}/fig_5_4": (LOSSES,),
    f"{TH}/fig_5_5": (TAHOE,),
    f"{TH}/fig_5_6": (TAHOE,),
    f"{TH}/fig_5_9": (TAHOE,),
    f"{TH}/sec_3_6_3": (REMEDIES,),
    f"{TH}/sec_3_6_4": (REMEDIES,),
    f"{TH}/sec_3_7_1": (REMEDIES,),
    f"{TH}/table_6_1": (LOSSES,),
    f"{TH}/table_6_7": (LOSSES,),
    f"{TH}/table_5_1": (TAHOE,),
    f"{WP}/fig_3": (SEAM,),
    f"{WP}/fig_4": (DUPLICATES,),
    f"{WP}/fig_5": (DUPLICATES, ACK),
    f"{WP}/remedies": (REMEDIES,),
}
#: By entry and mutation: the first row that notices, how many do, and all rows.
Found = dict[tuple[str, str], tuple[str, int, int]]
#: Five that a test runs: the quickest of each kind.
QUICK = {f"{HT}/fig_4_17": ACK, f"{HT}/fig_4_18": NEWRENO, f"{HT}/fig_4_21": TTCP, f"{HT}/fig_6_10": SEAM, f"{TH}/fig_3_3": ACK}


def noticed(entry: str, mutation: str) -> tuple[str, int, int]:
    """Rows whose verdict is not the one on record, and all rows; or why there are none."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, str(HERE / "harness.py"), entry, "--mutate", mutation, "--out", folder]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        table = Path(folder) / "table.csv"
        rows = list(csv.DictReader(table.read_text(encoding="utf-8").splitlines())) if table.is_file() else []
    if not rows:
        last = done.stderr.strip().splitlines()
        return next((line for line in reversed(last) if "Error" in line), "no rows"), 0, 0
    # On record, known differences differ and all other rows hold.
    news = [row["metric"] for row in rows if (row["verdict"] == "holds") == bool(row["known"])]
    return (news[0] if news else ""), len(news), len(rows)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("entries", nargs="*", help="entries; all of them if none is given")
    parser.add_argument("--table", type=Path, help="write the table to this file; entries that are not run stay as it has them")
    parser.add_argument("--missing", action="store_true", help="run what the table does not have")
    arguments = parser.parse_args()
    pairs = [(entry, mutation) for entry in CASES for mutation in CASES[entry]]
    told = read(arguments.table) if arguments.table and arguments.table.is_file() else {}
    chosen = [pair for pair in pairs if pair[0] in (arguments.entries or CASES) and not (arguments.missing and pair in told)]
    with ThreadPoolExecutor(2) as pool:
        for pair, result in zip(chosen, pool.map(lambda pair: noticed(*pair), chosen)):
            told[pair] = result
            if arguments.table:
                arguments.table.write_text(markdown({pair: told[pair] for pair in pairs if pair in told}), encoding="utf-8")
    # The others are as the table has them.
    found = {pair: told[pair] for pair in pairs if pair in told}
    print(markdown(found))
    lonely = [mutation for mutation, seen in noticers(found).items() if sum(seen) < 2]
    return 1 if blind(found) or lonely else 0


def noticers(found: Found) -> dict[str, list[bool]]:
    """For each mutation, whether each of its entries notices."""
    by_mutation: dict[str, list[bool]] = {}
    for (_, mutation), (_, news, _) in found.items():
        by_mutation.setdefault(mutation, []).append(news > 0)
    return by_mutation


def read(table: Path) -> Found:
    """Results in the table of an earlier run."""
    cells = [line.strip("| ").split(" | ") for line in table.read_text(encoding="utf-8").splitlines() if line.startswith("|")]
    lines = [line + [""] * (5 - len(line)) for line in cells if len(line) >= 4 and "/" in line[0]]
    return {(entry, mutation): (first, as_count(news), as_count(rows)) for entry, mutation, news, rows, first in lines}


def as_count(text: str) -> int:
    return int(text) if text.strip().isdigit() else 0


def blind(found: Found) -> list[str]:
    """Entries that notice none of their mutations."""
    seeing = {entry for (entry, _), (_, news, _) in found.items() if news}
    return [entry for entry in dict.fromkeys(entry for entry, _ in found) if entry not in seeing]


def markdown(found: Found) -> str:
    entries = list(dict.fromkeys(entry for entry, _ in found))
    lines = [
        "# Wrong on purpose",
        "",
        "Written by `make papers-mutate`: what each wrong implementation of [altered.py](altered.py) does to the verdicts of an entry.",
        "A row notices if its verdict is no longer the one on record. An entry that ends with an error has not noticed.",
        "",
        f"{len(entries) - len(blind(found))} of {len(entries)} entries notice at least one; "
        f"{sum(news > 0 for _, news, _ in found.values())} of {len(found)} mutations are noticed.",
        "",
        "| mutation | noticed by | of entries |",
        "|---|---|---|",
        *(f"| {mutation} | {sum(seen)} | {len(seen)} |" for mutation, seen in sorted(noticers(found).items())),
        "",
        "| entry | mutation | rows that notice | of | first of them |",
        "|---|---|---|---|---|",
    ]
    for (entry, mutation), (first, news, rows) in found.items():
        lines.append(f"| {entry} | {mutation} | {news or 'none'} | {rows or '-'} | {first} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    sys.exit(main())
