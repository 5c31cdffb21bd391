#!/usr/bin/env python3
"""Packets and runs per CPU second compared with ns-2, and the costs of a packet on a long fat pipe and of constellations.

Follows cases.py and thompson.py. Both programs simulate the same network; equal goodputs show that they do the same work. User
and system time of each process are counted, runs alternate, and medians are printed: wall time on a shared machine is noise.
ns-2's packet-hops are counted by monitors in a separate run, which is not timed.
Differs from a profile: it measures speed, without causes. Leaves out memory.
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
from thompson import sweeps

REQUIRED_SPEED = 2.0  # ratio to ns-2's packet-hops per CPU second
REQUIRED_EVENNESS = 1.5  # the most expensive data packet of the windows over the cheapest
REQUIRED_SECONDS = 0.5  # for the middle window
REQUIRED_ATM_S = 180  # of CPU for 72 runs: 90 s on two cores
REQUIRED_DAY_S = 1.0  # of CPU for 8,640 delays over Teledesic
NS2_DAY_S = 14.5  # ns-2's own satellite module, a sixth of the packets, measured once on a like machine
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
        """The same without the time before the first packet."""
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
        if not args.no_sweeps:
            sweeps(bench, failures)
        if not args.no_cells:
            satellite_atm(bench, failures)
        if not args.no_constellations:
            constellations(bench, failures)
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
    parser.add_argument("--no-sweeps", action="store_true", help="leave Thompson's grid out")
    parser.add_argument("--no-cells", action="store_true", help="leave satellite ATM out")
    parser.add_argument("--no-constellations", action="store_true", help="leave constellations out")
    parser.add_argument("--check", action="store_true", help="exit with 1 if a requirement is not met")
    args = parser.parse_args()
    if args.runs < 1:
        parser.error("--runs: at least 1")
    return args


def machine() -> str:
    """Conditions of the measurement."""
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
    """Runs and measures programs."""

    def __init__(self, skyhop: str, ns: str | None, runs: int, scratch: Path):
        self.skyhop, self.ns, self.runs, self.scratch = skyhop, ns, runs, scratch

    def cpu(self, command: list[str]) -> tuple[float, str]:
        """User and system seconds of a program, and its output."""
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
        return self.json([self.skyhop, "run", str(file), "--json", "--quiet"])

    def json(self, command: list[str]) -> tuple[float, dict]:
        """CPU seconds of a program, and its output as JSON."""
        cpu, out = self.cpu(command)
        return cpu, json.loads(out)

    def script(self, text: str) -> tuple[float, dict[str, int]]:
        """CPU seconds and the printed numbers of an ns-2 script."""
        file = self.scratch / "case.tcl"
        file.write_text(text)
        cpu, out = self.cpu([self.ns, str(file)])
        words = out.split()
        return cpu, {name: int(value) for name, value in zip(words[::2], words[1::2])}

    def beside(self, case: Dumbbell) -> tuple[Timed, Timed | None]:
        """Runs a case in both programs alternately."""
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
    print(" ".join([" " * 4, *(f"{title:^{width}}" for title, width, _, _ in COLUMNS)]).rstrip())
    print(" ".join(["case", *(cells(width, ratio, "skyhop", "ns-2", "ratio") for _, width, ratio, _ in COLUMNS)]))
    for case in cases:
        ours, theirs = bench.beside(case)
        ratios = [ours.speed() / theirs.speed(), ours.whole() / theirs.whole()] if theirs else []
        failed = any(ratio < REQUIRED_SPEED for ratio in ratios)
        print(row(case.name, ours, theirs) + ("  FAILED" if failed else ""), flush=True)
        if failed:
            failures.append(f"case {case.name}: {min(ratios):.2f} times as fast as ns-2, {REQUIRED_SPEED} required")
        apart = ours.goodput_mbps / theirs.goodput_mbps - 1 if theirs else 0
        if abs(apart) > GOODPUTS_AGREE:
            print(f"     the goodputs of case {case.name} are {100 * apart:+.1f} % apart: not quite the same work")
    if bench.ns:
        print(f"required: a ratio of {REQUIRED_SPEED} at least, with set-up and without")


# Title, width, presence of the ratio, and the number.
COLUMNS = [
    ("packet-hops, M", 17, False, lambda timed: timed.packet_hops / 1e6),
    ("M hops per CPU s", 25, True, lambda timed: timed.speed() / 1e6),
    ("whole process, M per s", 25, True, lambda timed: timed.whole() / 1e6),
    ("CPU s", 17, False, lambda timed: statistics.median(timed.cpu_s)),
    ("of which set-up", 17, False, lambda timed: statistics.median(timed.setup_s)),
    ("goodput, Mbit/s", 17, False, lambda timed: timed.goodput_mbps),
]


def cells(width: int, with_ratio: bool, ours: str, theirs: str, ratio: str) -> str:
    """Two or three cells side by side."""
    return f"{f'{ours:>8} {theirs:>8}' + (f' {ratio:>7}' if with_ratio else ''):>{width}}"


def row(name: str, ours: Timed, theirs: Timed | None) -> str:
    out = [f"{name:4}"]
    for _, width, with_ratio, get in COLUMNS:
        other = f"{get(theirs):.2f}" if theirs else "-"
        ratio = f"{get(ours) / get(theirs):.2f}" if theirs and with_ratio else "-"
        out.append(cells(width, with_ratio, f"{get(ours):.2f}", other, ratio))
    return " ".join(out)


def satellite_atm(bench: Bench, failures: list[str]) -> None:
    """The 72 runs per seed of Kota et al. 1999: 100 web clients for 100 s, four TCPs, three buffers, two policies, three links."""
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "papers"))
    import satellite_atm as atm

    print("\nSatellite ATM, Kota et al. 1999: a seed's 72 runs of 100 s with 100 clients.")
    print(f"{'link':>8} {'runs':>5} {'CPU s':>7} {'cell-equivalents':>17} {'a CPU second':>13}")
    for name, content in atm.files("cut").items():
        (bench.scratch / name).write_text(content)
    seconds_of_all = 0.0
    for link in atm.LINKS:
        seconds = cells = runs = 0
        for policy in atm.POLICIES:
            for flavor in atm.FLAVORS:
                for buffer in link.cells:
                    cpu, summary = bench.scenario(atm.scenario(link, policy, flavor, buffer))
                    seconds, runs = seconds + cpu, runs + 1
                    cells += sum(summary["links"]["satellite"][way]["bytes"] for way in ("forward", "reverse")) // atm.CELL_B
        print(f"{link.name:>8} {runs:5} {seconds:7.1f} {cells:17} {cells / seconds:13.3g}")
        seconds_of_all += seconds
    print(f"together {seconds_of_all:.1f} CPU s, {REQUIRED_ATM_S} at most required: 90 s on two cores")
    if seconds_of_all > REQUIRED_ATM_S:
        failures.append(f"72 runs of satellite ATM take {seconds_of_all:.1f} CPU s, {REQUIRED_ATM_S} at most required")


def constellations(bench: Bench, failures: list[str]) -> None:
    """Forwarding state, paths and positions of large constellations, and a day of delays."""
    root = Path(__file__).resolve().parent.parent
    print("\nConstellations, one core: next hops from every satellite for 100 stations, and more.")
    folder = root.parent / "shared" / "reference" / "constellation"
    command = ["cargo", "run", "--release", "--quiet", "--locked", "-p", "skyhop-routing", "--example", "speed", "--"]
    status = subprocess.run([*command, str(folder)], cwd=root, check=False).returncode
    if status not in (0, 1):
        sys.exit(f"{' '.join(command)}: exit code {status}")
    if status == 1:
        failures.append("a constellation costs more than is allowed, see above")
    delay = [bench.skyhop, "delay", "quito", "london", "--constellation", "teledesic", "--step", "10"]
    seconds = statistics.median(bench.cpu(delay)[0] for _ in range(bench.runs))
    print(
        f"a day of delays over Teledesic, every 10 s: {seconds:.2f} CPU s, {REQUIRED_DAY_S} at most required;"
        f" ns-2 took {NS2_DAY_S} s for every 60 s (recorded)"
    )
    if seconds > REQUIRED_DAY_S:
        failures.append(f"a day of delays takes {seconds:.2f} s, {REQUIRED_DAY_S} at most required")


def fat_pipe(bench: Bench, failures: list[str]) -> None:
    """Cost of a data packet with tens of thousands in flight."""
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
            # A run of milliseconds is repeated more often, until the median is stable.
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

    # The start of a process takes milliseconds, more than the few thousand packets of a small window.
    even, middle = evenness(alone), statistics.median(cpu["100 MB"])
    print(
        f"dearest packet over cheapest: {even:.2f} (at most {REQUIRED_EVENNESS} required),"
        f" start included {evenness(whole):.2f}"
    )
    print(f"100 MB window: {middle:.3f} s (less than {REQUIRED_SECONDS} required)")
    if even > REQUIRED_EVENNESS:
        failures.append(f"a data packet's cost varies {even:.2f}-fold, {REQUIRED_EVENNESS} at most required")
    if middle >= REQUIRED_SECONDS:
        failures.append(f"the 100 MB window takes {middle:.3f} s, less than {REQUIRED_SECONDS} required")


if __name__ == "__main__":
    sys.exit(main())
