#!/usr/bin/env python3
"""Instructions per packet hop, by cachegrind: a cost that does not depend on the load of the machine.

Each case is run for two durations; the difference of instructions over the difference of hops excludes the cost of starting.
With `--against REV` the same of another revision, built in a worktree under target/instructions, and the ratio.
Differs from bench.py: no clock is read, so one run is sufficient and differences of two per cent are visible.
Leaves out costs that instructions do not show: caches, branches, and waits for memory.
"""

import argparse
import csv
import json
import math
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

from cases import CASES

ROOT = Path(__file__).resolve().parent.parent
TABLE = ROOT / "bench" / "instructions.csv"
SCRATCH = ROOT / "target" / "instructions"


def dumbbell(name: str) -> Callable[[float], str]:
    """One of bench.py's cases, for some seconds."""
    (case,) = (case for case in CASES if case.name == name)
    return lambda seconds: replace(case, duration_s=seconds).scenario()


def forwarding(seconds: float) -> str:
    """Datagrams over a chain of twenty links: forwarding without transport."""
    out = [f'duration = "{seconds} s"', f'record = {{ sample_interval = "{seconds} s" }}']
    names = [f"l{i:02}" for i in range(20)]
    for name in names:
        out += [f"[links.{name}]", 'rate = "20 Mbit/s"', 'delay = "5 ms"']
    path = ", ".join(f'"{name}"' for name in ["from", *names, "to"])
    out += ["[[flows]]", f"path = [{path}]", 'transport = { kind = "udp" }']
    out += ['traffic = { kind = "cbr", rate = "10 Mbit/s", size = "1000 B" }']
    return "\n".join(out) + "\n"


def constellation(seconds: float) -> str:
    """A hundred terminals over 1584 satellites with links between them, each downloading from its neighbour in the list."""
    out = [f'duration = "{seconds} s"', f'record = {{ sample_interval = "{seconds} s" }}']
    out += ["[constellation]", 'preset = "starlink-550"', 'update_interval = "5 s"']
    out += ['gsl = { rate = "1 Mbit/s" }', 'isl = { rate = "100 Mbit/s" }', "[terminals]"]
    # Evenly over the latitudes that the shell covers, by the golden angle.
    for i in range(100):
        latitude = math.degrees(math.asin(0.75 * (2 * (i + 0.5) / 100 - 1)))
        longitude = (i * 137.508) % 360 - 180
        out.append(f't{i:02} = {{ lat = "{latitude:.2f} deg", lon = "{longitude:.2f} deg", antennas = 1 }}')
    for i in range(0, 100, 2):
        out += ["[[flows]]", f'from = "t{i:02}"', f'to = "t{i + 1:02}"']
        out += ['transport = { kind = "tcp" }', 'traffic = { kind = "bulk" }']
    return "\n".join(out) + "\n"


# Name, scenario of so many seconds, the shorter and the longer run.
MEASURED: list[tuple[str, Callable[[float], str], float, float]] = [
    ("a", dumbbell("a"), 20, 60),
    ("b", dumbbell("b"), 2, 6),
    ("c1", dumbbell("c1"), 1.5, 2),
    ("forwarding", forwarding, 1, 11),
    ("constellation", constellation, 7, 17),
]


def instructions(skyhop: Path, scenario: str, scratch: Path) -> tuple[int, int]:
    """Instructions and packet hops of a run."""
    file = scratch / "case.toml"
    file.write_text(scenario)
    valgrind = ["valgrind", "--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null"]
    command = [*valgrind, str(skyhop), "run", str(file), "--json", "--quiet"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    found = re.search(r"I +refs: +([\d,]+)", done.stderr)
    if done.returncode != 0 or not found:
        sys.exit(f"{' '.join(command)}: exit code {done.returncode}\n{done.stderr}")
    return int(found[1].replace(",", "")), json.loads(done.stdout)["packet_hops"]


def per_hop(skyhop: Path, measured: tuple) -> float:
    """Instructions per packet hop of a case, without the cost of starting."""
    _, scenario, short, long = measured
    with tempfile.TemporaryDirectory(prefix="skyhop-instructions-") as scratch:
        less, more = (instructions(skyhop, scenario(seconds), Path(scratch)) for seconds in (short, long))
    return (more[0] - less[0]) / (more[1] - less[1])


def measure(skyhop: Path, cases: list[tuple], jobs: int) -> dict[str, float]:
    """Instructions per packet hop of all cases."""
    with ThreadPoolExecutor(jobs) as pool:
        return dict(zip([case[0] for case in cases], pool.map(lambda case: per_hop(skyhop, case), cases)))


def git(*arguments: str, cwd: Path = ROOT) -> str:
    """Output of git."""
    return subprocess.run(["git", *arguments], cwd=cwd, check=True, capture_output=True, text=True).stdout.strip()


def built(revision: str) -> Path:
    """The command of another revision, built once."""
    commit = git("rev-parse", "--verify", f"{revision}^{{commit}}")
    command = SCRATCH / f"skyhop-{commit[:12]}"
    if command.is_file():
        return command
    worktree = SCRATCH / "worktree"
    SCRATCH.mkdir(parents=True, exist_ok=True)
    if worktree.exists():
        subprocess.run(["git", "worktree", "remove", "--force", str(worktree)], cwd=ROOT, check=False)
        shutil.rmtree(worktree, ignore_errors=True)
    git("worktree", "prune")
    git("worktree", "add", "--detach", str(worktree), commit)
    print(f"building {commit[:12]}", flush=True)
    try:
        target = SCRATCH / "target"
        build = ["cargo", "build", "--release", "--locked", "--quiet", "--bin", "skyhop", "--target-dir", str(target)]
        subprocess.run(build, cwd=worktree, check=True)
        shutil.copy2(target / "release" / "skyhop", command)
    finally:
        git("worktree", "remove", "--force", str(worktree))
    return command


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    names = [case[0] for case in MEASURED]
    parser.add_argument("--skyhop", default="target/release/skyhop", metavar="PATH", help="the command to measure")
    parser.add_argument("--cases", nargs="*", choices=names, default=names, help="cases to run (all)")
    parser.add_argument("--against", metavar="REV", help="measure another revision too, and print the ratios")
    parser.add_argument("--bar", type=float, metavar="RATIO", help="exit with 1 if a ratio is above; needs --against")
    parser.add_argument("--jobs", type=int, default=2, metavar="N", help="cases at once (2)")
    parser.add_argument("--record", action="store_true", help=f"add a row for each case to {TABLE.relative_to(ROOT)}")
    args = parser.parse_args()
    if args.bar is not None and args.against is None:
        parser.error("--bar: needs --against")
    return args


def main() -> int:
    args = arguments()
    skyhop = Path(args.skyhop)
    if not skyhop.is_file():
        sys.exit(f"{skyhop}: no such file; `make build` makes it")
    if shutil.which("valgrind") is None:
        sys.exit("valgrind is not installed; `tools/install valgrind` installs it")
    cases = [case for case in MEASURED if case[0] in args.cases]
    other = built(args.against) if args.against else None
    ours = measure(skyhop.resolve(), cases, args.jobs)
    theirs = measure(other, cases, args.jobs) if other else {}
    print("instructions per packet hop" + (f", and those of {args.against}" if theirs else ""))
    above = []
    for name, count in ours.items():
        line = f"{name:14} {count:8.1f}"
        if theirs:
            ratio = count / theirs[name]
            line += f" {theirs[name]:8.1f} {ratio:7.4f}"
            if args.bar and ratio > args.bar:
                line += f"  FAILED: above {args.bar}"
                above.append(name)
        print(line)
    if args.record:
        new = not TABLE.exists()
        # The revision's date instead of its name, which a rebase changes.
        date = git("log", "-1", "--format=%cI")
        with TABLE.open("a", newline="") as file:
            rows = csv.writer(file, lineterminator="\n")
            if new:
                rows.writerow(["revision_date", "case", "instructions_per_hop"])
            rows.writerows([date, name, f"{count:.1f}"] for name, count in ours.items())
    return 1 if above else 0


if __name__ == "__main__":
    sys.exit(main())
