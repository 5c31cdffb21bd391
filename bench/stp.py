#!/usr/bin/env python3
"""Cost of transfers over STP on one host, compared with kernel TCP (iperf3) and a maintained QUIC stack (quinn).

Follows quinn's bench: one connection, one direction, both ends on this host; medians of several runs that alternate.
Differs from a race: the measure is CPU time per Gbit of both ends together, including the kernel; wall time on a shared machine
is noise. TCP here is not encrypted and has segments of 64 kB: a bound from below. Then a gigabyte over a relay with a
satellite's delay and many errors, beside the simulator; as root only.
"""

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

HERE = Path(__file__).resolve().parent
PARITY = (0.9, 1.1)  # goodput over the relay as a part of the simulated
REQUIRED_GBPS = {"STP": 2.0, "STP, encrypted": 1.5}  # per core, both ends on it


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--skyhop", default=str(HERE.parent / "target/release/skyhop"), help="the command")
    parser.add_argument("--size", type=float, default=1e9, help="bytes of each run")
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--quic", help="the program of bench/quic; built here if left out")
    parser.add_argument("--no-quic", action="store_true", help="without quinn, which takes minutes to build")
    parser.add_argument("--path-size", type=float, default=1e9, help="bytes over the relay")
    parser.add_argument("--no-path", action="store_true", help="without the relay, which takes minutes")
    parser.add_argument("--only-path", action="store_true", help="the relay and nothing else")
    args = parser.parse_args()
    failures = [] if args.only_path else loopback(args)
    if not args.no_path:
        failures += relayed(int(args.path_size))
    print("\n".join(failures))
    return 1 if failures else 0


def loopback(args: argparse.Namespace) -> list[str]:
    """The table without delay, and the results below their limits."""
    if not Path(args.skyhop).is_file():
        sys.exit(f"{args.skyhop}: no such file; `make build` makes it")
    size = int(args.size)
    bench = [args.skyhop, "stp", "bench", "--quiet", "--json", "--size", f"{size} B"]
    contestants: dict[str, Callable[[], tuple[float, float]]] = {
        "STP": lambda: skyhop([*bench, "--insecure"]),
        "STP, encrypted": lambda: skyhop(bench),
    }
    if shutil.which("iperf3"):
        contestants["TCP (iperf3)"] = lambda: iperf3(size)
    else:
        print("iperf3 is not installed (Debian's package iperf3): without kernel TCP")
    quic = None if args.no_quic else args.quic or build_quic()
    if quic:
        contestants["QUIC (quinn), encrypted"] = lambda: quinn(quic, size)
    found: dict[str, list[tuple[float, float]]] = {name: [] for name in contestants}
    for _ in range(args.runs):
        for name, run in contestants.items():
            found[name].append(run())
    gigabits = size * 8 / 1e9
    print(f"{size / 1e6:.0f} MB, median of {args.runs} runs, both ends on this host of {os.cpu_count()} processors")
    print(f"{'':26}{'Gbit/s':>8}{'CPU s per Gbit':>16}{'Gbit/s per core':>17}")
    failures = []
    for name, runs in found.items():
        wall_s = statistics.median(wall for wall, _ in runs)
        cpu_s = statistics.median(cpu for _, cpu in runs)
        per_core = gigabits / cpu_s
        print(f"{name:26}{gigabits / wall_s:8.2f}{cpu_s / gigabits:16.3f}{per_core:17.2f}")
        if per_core < REQUIRED_GBPS.get(name, 0.0):
            failures.append(f"{name}: {per_core:.2f} Gbit/s per core, {REQUIRED_GBPS[name]} wanted")
    return failures


def timed(command: list[str]) -> tuple[str, float]:
    """Output of a program, and its CPU time including its children."""
    with tempfile.TemporaryFile("w+") as out:
        child = subprocess.Popen(command, stdout=out, stderr=subprocess.DEVNULL)
        _, status, usage = os.wait4(child.pid, 0)
        if status:
            sys.exit(f"{' '.join(command)}: failed")
        out.seek(0)
        return out.read(), usage.ru_utime + usage.ru_stime


def skyhop(command: list[str]) -> tuple[float, float]:
    text, cpu_s = timed(command)
    return json.loads(text)["duration_s"], cpu_s


def relayed(size: int) -> list[str]:
    """STP between two namespaces over the tests' relay, compared with the simulator."""
    if os.geteuid() or not (shutil.which("cargo") and shutil.which("ip")):
        print("the relay needs root, cargo and iproute2: without it")
        return []
    build = ["cargo", "build", "-q", "--release", "--locked", "-p", "skyhop-live", "--example", "satellite"]
    subprocess.run(build, cwd=HERE.parent, check=True)
    target = Path(os.environ.get("CARGO_TARGET_DIR", HERE.parent / "target"))
    text, cpu_s = timed([str(target / "release/examples/satellite"), str(size)])
    found = json.loads(text)
    took_s, ratio = found["duration_s"], found["simulated_s"] / found["duration_s"]
    print(f"{size / 1e6:.0f} MB over 100 Mbit/s, 600 ms, 1 % lost, 1 % altered, 1 % out of order, 0.1 % twice, both ways, encrypted:")
    print(
        f"intact, {took_s:.1f} s, {size * 8e-6 / took_s:.1f} Mbit/s, {ratio:.3f} of the simulated ({found['simulated_s']:.1f} s); "
        f"{found['packets_retransmitted']} of {found['packets_sent']} packets again, {found['return_bytes']} bytes back"
    )
    print(
        f"late: 99 % of the relay's packets {found['relay_late_s'] * 1e3:.3f} ms at most, the hosts' timers "
        f"{max(found['timers_late_s']) * 1e3:.1f} ms at worst; {cpu_s:.0f} s of CPU, relay and simulation included"
    )
    wrong = not PARITY[0] <= ratio <= PARITY[1]
    return [f"over the relay: {ratio:.3f} of the simulated goodput, {PARITY[0]} to {PARITY[1]} wanted"] if wrong else []


def quinn(program: str, size: int) -> tuple[float, float]:
    text, cpu_s = timed([program, str(size)])
    return float(text), cpu_s


def iperf3(size: int) -> tuple[float, float]:
    port = "57825"
    server = subprocess.Popen(["iperf3", "-s", "-1", "-p", port], stdout=subprocess.DEVNULL)
    time.sleep(0.5)
    text, client_s = timed(["iperf3", "-c", "127.0.0.1", "-p", port, "-n", str(size), "-J"])
    _, _, usage = os.wait4(server.pid, 0)
    return json.loads(text)["end"]["sum_sent"]["seconds"], client_s + usage.ru_utime + usage.ru_stime


def build_quic() -> str | None:
    if not shutil.which("cargo"):
        print("no cargo: without quinn")
        return None
    done = subprocess.run(["cargo", "build", "-q", "--release", "--locked"], cwd=HERE / "quic", check=False)
    target = Path(os.environ.get("CARGO_TARGET_DIR", HERE / "quic/target"))
    return str(target / "release/quic-bench") if done.returncode == 0 else None


if __name__ == "__main__":
    sys.exit(main())
