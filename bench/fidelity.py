"""The simulator beside this machine's kernel: sixteen paths, three TCPs and STP, as `skyhop compare` has them.

Writes docs/fidelity.md and docs/fidelity.csv. It takes three quarters of an hour with the buffers of one kind; root, or user namespaces.

    python3 bench/fidelity.py [equal|shipped|both]
"""

import datetime
import json
import os
import pathlib
import platform
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
PATHS = sorted((ROOT / "bench/fidelity").glob("*.toml"))
HEAD = """# Simulated and emulated

For whoever wants to know how far a simulated TCP is the kernel's. `skyhop compare` runs a scenario's transfers in the simulator (`host = "linux"`) and, with
the same seed, over the kernel's own TCP behind the emulated path: the same links, the same losses by packet number. `make compare` writes this page.

Without losses the emulated time may be 10 % off, STP's 5 %. With losses the mean of five emulated runs has to lie among the central 95 % of means of five
simulated ones, so that one true row in twenty differs. What held the sender up (busy, receive window, send buffer; `TCP_INFO` beside the simulator's causes)
may be five points apart.

"""


def number(row, key):
    value = row[key]
    return f"{value:.4g} s" if row["metric"] != "goodput_bps" else f"{value / 1e6:.4g} Mbit/s"


def line(row):
    name = f"{row['scenario']} | {row['transport']} | {row['buffers']}"
    if row["simulated"] is None or row["emulated"] is None:
        return f"| {name} | - | - | - | - | {row['verdict']} | - |"
    apart = 100 * (row["emulated"] / row["simulated"] - 1)
    bounds = f"{number(row, 'least')} to {number(row, 'most')}"
    both = f"{number(row, 'simulated')} | {number(row, 'emulated')}"
    return f"| {name} | {both} | {apart:+.1f} % | {bounds} | {row['verdict']} | {row['held_verdict']} |"


def write(rows, load):
    about = f"{datetime.date.today()}, Linux {platform.release()}, {os.cpu_count()} processors, load {load:.1f} before and {os.getloadavg()[0]:.1f} after.\n\n"
    stands = sum(row["verdict"] == "holds" for row in rows)
    about += f"{stands} of {len(rows)} rows hold.\n\n"
    head = "| path | transport | buffers | simulated | emulated | apart | may be | time | what held it up |\n|---|---|---|---|---|---|---|---|---|\n"
    (ROOT / "docs/fidelity.md").write_text(HEAD + about + head + "\n".join(map(line, rows)) + "\n" + causes())
    keys = list(rows[0])
    cells = [",".join("" if row[key] is None else str(row[key]).replace(",", ";") for key in keys) for row in rows]
    (ROOT / "docs/fidelity.csv").write_text("\n".join([",".join(keys), *cells]) + "\n")


def causes():
    """Causes of what differs, written by hand."""
    page = ROOT / "docs/fidelity.md"
    mark = "\n## Where they differ\n"
    text = page.read_text() if page.exists() else ""
    return mark + text.split(mark, 1)[1] if mark in text else ""


def main():
    kind = sys.argv[1] if len(sys.argv) > 1 else "equal"
    load = os.getloadavg()[0]
    rows = []
    for path in PATHS:
        command = [ROOT / "target/release/skyhop", "compare", path, "--buffers", kind, "--json"]
        rows += json.loads(subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout)
    write(rows, load)


if __name__ == "__main__":
    main()
