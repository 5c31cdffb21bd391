#!/usr/bin/env python3
"""Packets per CPU second beside ns-2's, and what a packet costs on a long fat pipe.

Follows cases.py. Both programs simulate the same network; goodputs stand side by side to show that they do the same work.
User and system time of each process are counted, runs alternate, and medians are told: wall time on a shared machine
is noise. ns-2's packet-hops are counted by monitors in a run of their own, which is not timed.
Differs from a profile: it says how fast, not why. Leaves out memory.
"""

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

from cases import CASES, PAYLOAD, Dumbbell, long_fat_pipe

REQUIRED_SPEED = 1.5  # times ns-2's packet-hops per CPU second
REQUIRED_EVENNESS = 1.5  # the most expensive data packet of the windows over the cheapest
REQUIRED_SECONDS = 0.5  # for the middle window
WINDOWS = {"1 MB": 10**6, "100 MB": 10**8, "1 GB": 10**9}
GOODPUTS_AGREE = 0.05


@dataclass
class Timed:
    """A program's runs of one case."""

    cpu_s: list[float] = field(default_factory=list)
    setup_s: list[float] = field(default_factory=list)
    packet_hops: int = 0
    goodput_mbps: float = 0.0

    def whole(self) -> float:
        """Packet-hops per CPU second of the whole process."""
        return self.packet_hops / statistics.median(self.cpu_s)

    def speed(self) -> float:
        """The same without what the process does before the first packet."""
        return self.packet_hops / max(statistics.median(self.cpu_s) - statistics.median(self.setup_s), 1e-3)


def main() -> int:
    args = arguments()
    skyhop = Path(args.skyhop)
    if not skyhop.is_file():
        sys.exit(f"{skyhop}: no such file; `make build` makes it")
    ns = None if args.no_ns else shutil.which("ns")
    print(machine())
    if ns is None:
        print("ns-2 is not installed (Debian's package ns2): skyhop alone\n" if not args.no_ns else "skyhop alone\n")
    failures: list[str] = []
    with tempfile.TemporaryDirectory(prefix="skyhop-bench-") as scratch:
        bench = Bench(str(skyhop.resolve()), ns, args.runs, Path(scratch))
        beside_ns2(bench, [c for c in CASES if c.name in args.cases], failures)
        if not args.no_pipe:
            fat_pipe(bench, failures)
    print("\nload average at the end: " + " ".join(f"{load:.2f}" for load in os.getloadavg()))
    for failure in failures:
        print(f"FAILED: {failure}")
    return 1 if failures and args.check else 0


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--skyhop", default="target/release/skyhop", metavar="PATH", help="the command to measure")
    parser.add_argument("--runs", type=int, default=3, metavar="N", help="runs of which the median is told (3)")
    names = [case.name for case in CASES]
    parser.add_argument("--cases", nargs="*", choices=names, default=names, help="cases to run (all)")
    parser.add_argument("--no-ns", action="store_true", help="measure skyhop alone")
    parser.add_argument("--no-pipe", action="store_true", help="leave the long fat pipe out")
    parser.add_argument("--check", action="store_true", help="exit with 1 if a requirement is not met")
    args = parser.parse_args()
    if args.runs < 1:
        parser.error("--runs: at least 1")
    return args


def machine() -> str:
    """What the numbers depend on."""
    model = "unknown processor"
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                model = line.split(":", 1)[1].strip()
                break
    except OSError:
        pass
    load = " ".join(f"{load:.2f}" for load in os.getloadavg())
    return (
        f"{model}, {os.cpu_count()} cores, load average {load}.\n"
        "CPU seconds are user and system time. On a shared machine they vary too; ratios vary less.\n"
    )


class Bench:
    """Runs programs and measures them."""

    def __init__(self, skyhop: str, ns: str | None, runs: int, scratch: Path):
        self.skyhop, self.ns, self.runs, self.scratch = skyhop, ns, runs, scratch

    def cpu(self, command: list[str]) -> tuple[float, str]:
        """User and system seconds of a program, and what it prints."""
        out, err = self.scratch / "out", self.scratch / "err"
        with out.open("wb") as stdout, err.open("wb") as stderr:
            child = subprocess.Popen(command, stdout=stdout, stderr=stderr, cwd=self.scratch)
            _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        if child.returncode != 0:
            sys.exit(f"{' '.join(command)}: exit code {child.returncode}\n{err.read_text()}")
        return usage.ru_utime + usage.ru_stime, out.read_text()

    def scenario(self, text: str) -> tuple[float, dict]:
        """CPU seconds and the summary of a scenario."""
        file = self.scratch / "case.toml"
        file.write_text(text)
        cpu, out = self.cpu([self.skyhop, "run", str(file), "--json", "--quiet"])
        return cpu, json.loads(out)

    def script(self, text: str) -> tuple[float, dict[str, int]]:
        """CPU seconds and the printed numbers of an ns-2 script."""
        file = self.scratch / "case.tcl"
        file.write_text(text)
        cpu, out = self.cpu([self.ns, str(file)])
        words = out.split()
        return cpu, {name: int(value) for name, value in zip(words[::2], words[1::2])}

    def beside(self, case: Dumbbell) -> tuple[Timed, Timed | None]:
        """Runs a case in both programs, in turn."""
        ours, theirs = Timed(), Timed() if self.ns else None
        acked = set()
        for _ in range(self.runs):
            cpu, summary = self.scenario(case.scenario())
            ours.cpu_s.append(cpu)
            ours.packet_hops = summary["packet_hops"]
            delivered = sum(flow["bytes_delivered"] for flow in summary["flows"].values())
            ours.goodput_mbps = 8e-6 * delivered / case.duration_s
            if theirs:
                cpu, numbers = self.script(case.ns2(case.duration_s, count_hops=False))
                theirs.cpu_s.append(cpu)
                acked.add(numbers["acked"])
            ours.setup_s.append(self.scenario(case.scenario(only_set_up=True))[0])
            if theirs:
                theirs.setup_s.append(self.script(case.ns2(0, count_hops=False))[0])
        if theirs:
            _, numbers = self.script(case.ns2(case.duration_s, count_hops=True))
            acked.add(numbers["acked"])
            if len(acked) != 1:
                sys.exit(f"case {case.name}: ns-2's runs differ, so that its hops are not those of the timed runs")
            theirs.packet_hops = numbers["hops"]
            theirs.goodput_mbps = 8e-6 * numbers["acked"] * PAYLOAD / case.duration_s
        return ours, theirs


def beside_ns2(bench: Bench, cases: list[Dumbbell], failures: list[str]) -> None:
    """Packet-hops per CPU second of both."""
    if not cases:
        return
    print("Packet-hops (data and acknowledgments leaving a link) in millions per CPU second, set-up left out;")
    print(f"the whole process beside it; median of {bench.runs}.")
    for case in cases:
        print(f"  {case.name}: {case}")
    print()
    print(
        f"{'':4} {'packet-hops, M':>15} {'hops/s, M':>15} {'':>7} {'whole, M/s':>15} {'':>7}"
        f" {'CPU s':>13} {'set-up s':>13} {'goodput, Mbit/s':>16}"
    )
    header = f"{'skyhop':>7} {'ns-2':>7}"
    print(
        f"case {header} {header} {'ratio':>7} {header} {'ratio':>7} {'skyhop':>6} {'ns-2':>6} {'skyhop':>6} {'ns-2':>6} {'skyhop':>8} {'ns-2':>7}"
    )
    for case in cases:
        ours, theirs = bench.beside(case)
        print(row(case, ours, theirs), flush=True)
        if not theirs:
            continue
        ratio = min(ours.speed() / theirs.speed(), ours.whole() / theirs.whole())
        if ratio < REQUIRED_SPEED:
            failures.append(f"case {case.name}: {ratio:.2f} times as fast as ns-2, {REQUIRED_SPEED} required")
        if abs(ours.goodput_mbps / theirs.goodput_mbps - 1) > GOODPUTS_AGREE:
            print(
                f"     goodputs of case {case.name} differ by {100 * (ours.goodput_mbps / theirs.goodput_mbps - 1):+.1f} %:"
                " not quite the same work"
            )
    if bench.ns:
        print(f"required: a ratio of {REQUIRED_SPEED} at least, with set-up and without")


def row(case: Dumbbell, ours: Timed, theirs: Timed | None) -> str:
    def pair(width: int, places: int, get, scale: float = 1.0) -> str:
        other = f"{get(theirs) / scale:{width}.{places}f}" if theirs else f"{'-':>{width}}"
        return f"{get(ours) / scale:{width}.{places}f} {other}"

    def ratio(get) -> str:
        return f"{get(ours) / get(theirs):7.2f}" if theirs else f"{'-':>7}"

    columns = [
        f"{case.name:4}",
        pair(7, 2, lambda t: t.packet_hops, 1e6),
        pair(7, 2, Timed.speed, 1e6),
        ratio(Timed.speed),
        pair(7, 2, Timed.whole, 1e6),
        ratio(Timed.whole),
        pair(6, 2, lambda t: statistics.median(t.cpu_s)),
        pair(6, 2, lambda t: statistics.median(t.setup_s)),
        pair(8, 2, lambda t: t.goodput_mbps).replace("  ", " ", 1),
    ]
    return " ".join(columns)


def fat_pipe(bench: Bench, failures: list[str]) -> None:
    """What a data packet costs where tens of thousands are in flight."""
    print("\nA long fat pipe: 622 Mbit/s, RTT 540 ms, 20 s, no loss; the small window is run ten times as often.")
    print(
        f"{'window':>8} {'data packets':>13} {'CPU s':>7} {'start s':>8} {'ns per data packet':>19}"
        f" {'without start':>14} {'goodput, Mbit/s':>16}"
    )
    cpu: dict[str, list[float]] = {name: [] for name in WINDOWS}
    starts: list[float] = []
    flows: dict[str, dict] = {}
    for turn in range(10 * bench.runs):
        for name, window in WINDOWS.items():
            # A run that takes milliseconds needs more of them for a median to stand still.
            if window < 10**7 or turn % 10 == 0:
                seconds, summary = bench.scenario(long_fat_pipe(window))
                cpu[name].append(seconds)
                (flows[name],) = summary["flows"].values()
        starts.append(bench.scenario(long_fat_pipe(10**6, "1 us"))[0])
    start = statistics.median(starts)
    whole, alone = {}, {}
    for name, flow in flows.items():
        seconds, packets = statistics.median(cpu[name]), flow["segments_sent"]
        whole[name], alone[name] = 1e9 * seconds / packets, 1e9 * max(seconds - start, 0) / packets
        print(
            f"{name:>8} {packets:13} {seconds:7.3f} {start:8.4f} {whole[name]:19.0f}"
            f" {alone[name]:14.0f} {flow['goodput_bps'] / 1e6:16.2f}"
        )

    def evenness(costs: dict[str, float]) -> float:
        return max(costs.values()) / max(min(costs.values()), 1e-9)

    # A process takes milliseconds to start, which a few thousand packets of a small window do not outweigh.
    even, middle = evenness(alone), statistics.median(cpu["100 MB"])
    print(f"dearest packet over cheapest: {even:.2f} (at most {REQUIRED_EVENNESS} required), start included {evenness(whole):.2f}")
    print(f"100 MB window: {middle:.3f} s (less than {REQUIRED_SECONDS} required)")
    if even > REQUIRED_EVENNESS:
        failures.append(f"a data packet's cost varies {even:.2f}-fold with the window, {REQUIRED_EVENNESS} at most required")
    if middle >= REQUIRED_SECONDS:
        failures.append(f"the 100 MB window takes {middle:.3f} s, less than {REQUIRED_SECONDS} required")


if __name__ == "__main__":
    sys.exit(main())
