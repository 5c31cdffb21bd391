"""The simulator beside this machine's kernel: seventeen paths, three TCPs and STP, as `skyhop compare` has them.

Writes docs/fidelity.md and docs/fidelity.csv. It takes three quarters of an hour with the buffers of one kind; root, or user
namespaces. Rows that are not measured again stay as they are, each with its date.

    python3 bench/fidelity.py                                  all paths and transports, equal buffers
    python3 bench/fidelity.py --buffers shipped
    python3 bench/fidelity.py --transport cubic 12 13          these rows alone
"""

import argparse
import csv

import datetime
import json
import os
import pathlib
import platform
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
TABLE = ROOT / "docs/fidelity.csv"
TRANSPORTS = ["reno", "cubic", "bbr", "stp"]
PATHS = sorted((ROOT / "bench/fidelity").glob("*.toml"))
HEAD = """# Simulated and emulated

For readers who want to know how closely a simulated TCP follows the kernel's. `skyhop compare` runs a scenario's transfers in the
simulator (`host = "linux"`) and, with the same seed, over the kernel's own TCP behind the emulated path: the same links, the same
losses by packet number. `make compare` writes this page.

Without losses the emulated time may differ by 10 %, STP's by 5 %. With losses the mean of five emulated runs must be among the
central 95 % of means of five simulated ones, so that one in twenty correct rows differs. The shares of the causes that limited the
sender (busy, receive window, send buffer; `TCP_INFO` and the simulator's causes) may differ by five points.

"""


def number(row, key):
    value = float(row[key])
    return f"{value:.4g} s" if row["metric"] != "goodput_bps" else f"{value / 1e6:.4g} Mbit/s"


def line(row):
    name = f"{row['scenario']} | {row['transport']} | {row['buffers']}"
    if row["simulated"] is None or row["emulated"] is None:
        return f"| {name} | - | - | - | - | {row['verdict']} | - | {row['date']} |"
    apart = 100 * (float(row["emulated"]) / float(row["simulated"]) - 1)
    bounds = f"{number(row, 'least')} to {number(row, 'most')}"
    both = f"{number(row, 'simulated')} | {number(row, 'emulated')}"
    return f"| {name} | {both} | {apart:+.1f} % | {bounds} | {row['verdict']} | {row['held_verdict']} | {row['date']} |"


def write(rows):
    loads = sorted(float(row["load"]) for row in rows)
    about = (
        f"Linux {platform.release()}, {os.cpu_count()} processors; load {loads[0]:.1f} to {loads[-1]:.1f}, "
        f"{loads[len(loads) // 2]:.1f} in the median.\n\n"
    )
    for kind in sorted({row["buffers"] for row in rows}):
        of_kind = [row for row in rows if row["buffers"] == kind]
        stands = sum(row["verdict"] == "holds" for row in of_kind)
        about += f"Buffers {kind}: {stands} of {len(of_kind)} rows hold.\n\n"
    head = (
        "| path | transport | buffers | simulated | emulated | difference | allowed | time | limiting causes | date |\n"
        "|---|---|---|---|---|---|---|---|---|---|\n"
    )
    (ROOT / "docs/fidelity.md").write_text(HEAD + about + head + "\n".join(map(line, rows)) + "\n" + causes())
    # Columns of datagrams, which these paths have none of, are left out.
    columns = [key for key in rows[0] if "datagrams" not in key and key not in ("beside", "simulated_delay_p99_s", "emulated_delay_p99_s")]
    with open(TABLE, "w", newline="") as file:
        table = csv.DictWriter(file, columns, extrasaction="ignore", lineterminator="\n")
        table.writeheader()
        table.writerows(rows)


def before():
    """Rows of the existing table."""
    for row in csv.DictReader(TABLE.open()) if TABLE.exists() else []:
        yield {name: text or None for name, text in row.items()}


def causes():
    """Causes of differences, written by hand."""
    page = ROOT / "docs/fidelity.md"
    mark = "\n## Where they differ\n"
    text = page.read_text() if page.exists() else ""
    return mark + text.split(mark, 1)[1] if mark in text else ""


def key(row):
    return tuple(row[name] for name in ("scenario", "flow", "transport", "buffers"))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("paths", nargs="*", help="beginnings of their names; all")
    parser.add_argument("--buffers", default="equal", choices=("equal", "shipped", "both"))
    parser.add_argument("--transport", default="reno,cubic,bbr,stp")
    asked = parser.parse_args()
    rows = {key(row): row for row in before()}
    today = str(datetime.date.today())
    for path in PATHS:
        if asked.paths and not path.name.startswith(tuple(asked.paths)):
            continue
        command = [ROOT / "target/release/skyhop", "compare", path, "--buffers", asked.buffers, "--transport", asked.transport, "--json"]
        for row in json.loads(subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout):
            # An old row stays until its replacement exists.
            rows[key(row)] = row | {"date": today}
        write(sorted(rows.values(), key=lambda row: (row["buffers"], row["scenario"], TRANSPORTS.index(row["transport"]))))


if __name__ == "__main__":
    main()
