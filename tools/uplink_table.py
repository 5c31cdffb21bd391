"""Uploads over an uplink on demand: the table of docs/links.md from a sweep of scenarios/on-demand.toml.

A row is an assignment, a column a size: mean time of the four uploads in s, in the order of the laws of requests. The last two columns
are of the longest: share of the slots that were assigned, and used.
Leaves out the number of requests.

    skyhop sweep scenarios/on-demand.toml --out on-demand && python tools/uplink_table.py on-demand
"""

from __future__ import annotations

import argparse
from pathlib import Path

import pyarrow.parquet as parquet


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("folder", type=Path, help="the sweep's")
    rows = parquet.read_table(arguments.parse_args().folder / "runs.parquet").to_pylist()
    if failed := [row["error"] for row in rows if row["error"]]:
        raise SystemExit(f"a run has failed: {failed[0]}")
    size = next(name for name in rows[0] if name.startswith("flows."))
    sizes, laws = list(dict.fromkeys(row[size] for row in rows)), list(dict.fromkeys(row["uplinks.return.like"] for row in rows))
    print("|", " | ".join(["", *(f"{value / 1e3:g} kB" for value in sizes), "assigned", "used"]), "|")
    print("|" + "---|" * (len(sizes) + 3))
    for assignment in dict.fromkeys(row["links.up-*.uplink"] for row in rows):
        own = {(row[size], row["uplinks.return.like"]): row for row in rows if row["links.up-*.uplink"] == assignment}
        cells = [", ".join(f"{own[value, law]['upload.completed_s.mean']:.2f}" for law in laws) for value in sizes]
        parts = ("constant", "rate_based", "volume_based", "free")
        longest = [own[sizes[-1], law] for law in laws]
        assigned = ", ".join(f"{sum(row[f'uplinks.return.{part}_share'] for part in parts):.2f}" for row in longest)
        used = ", ".join(f"{row['uplinks.return.used_share']:.2f}" for row in longest)
        print("|", " | ".join([f"`{assignment}`", *cells, assigned, used]), "|")


if __name__ == "__main__":
    main()
