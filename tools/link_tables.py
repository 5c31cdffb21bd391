"""Queues, losses, late packets: a table of docs/links.md from a sweep of scenarios/queues.toml, losses.toml or late-packets.toml.

A column is a setting of the flows, a row one of the link: Mbit/s, mean over the seeds and half of Student's 95 % interval; of a
call, mean and largest delay in ms and the share that was dropped.
Differs from which_tcp.py: all settings are shown, with their spread. With --repeats: mean numbers of retransmitted segments and timeouts.
Leaves out names of rows, which the document has.

    skyhop sweep scenarios/losses.toml --out losses && python tools/link_tables.py losses
"""

from __future__ import annotations

import argparse
import math
import statistics
from pathlib import Path

import pyarrow.parquet as parquet
from scipy.stats import t


def total(row: dict, metric: str) -> float:
    return sum(value for name, value in row.items() if name.endswith("." + metric) and value is not None)


def cell(rows: list[dict], repeats: bool) -> str:
    if repeats:
        counts = ("segments_retransmitted", "timeouts")
        return ", ".join(f"{statistics.mean(total(row, count) for row in rows):.1f}" for count in counts)
    values = [total(row, "goodput_bps") / 1e6 for row in rows]
    half = float(t.ppf(0.975, len(values) - 1)) * statistics.stdev(values) / math.sqrt(len(values))
    # Rows without randomness are the same for every seed.
    text = f"{statistics.mean(values):.2f}" + (f" ± {half:.2f}" if half >= 0.005 else "")
    if "call.sent" in rows[0]:
        mean, most = (statistics.mean(row[f"call.delay_{which}_s"] for row in rows) * 1e3 for which in ("mean", "max"))
        dropped = sum(row["call.packets_dropped"] for row in rows) / sum(row["call.sent"] for row in rows)
        text += f" | {mean:.0f}, {most:.0f} | {100 * dropped:.2f} %"
    return text


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("folder", type=Path, help="the sweep's")
    arguments.add_argument("--repeats", action="store_true", help="segments sent again and timeouts instead of Mbit/s")
    arguments = arguments.parse_args()
    cells: dict[tuple[str, ...], dict[str, list[dict]]] = {}
    columns: dict[str, None] = {}
    for row in parquet.read_table(arguments.folder / "runs.parquet").to_pylist():
        if row.get("error"):
            raise SystemExit(f"a run has failed: {row['error']}")
        link = tuple(str(value) for name, value in row.items() if name.startswith("links."))
        flow = next(str(value) for name, value in row.items() if name.startswith("flows."))
        columns.setdefault(flow)
        cells.setdefault(link, {}).setdefault(flow, []).append(row)
    call = any("call.sent" in row for by_flow in cells.values() for rows in by_flow.values() for row in rows)
    of_call = ["mean, most", "dropped"] if call and not arguments.repeats else []
    header = ["", *(name for column in columns for name in (f"`{column}`", *of_call))]
    print("|", " | ".join(header), "|")
    print("|" + "---|" * len(header))
    for link, by_flow in cells.items():
        print("|", " | ".join([" ".join(f"`{v}`" for v in link), *(cell(by_flow[c], arguments.repeats) for c in columns)]), "|")


if __name__ == "__main__":
    main()
