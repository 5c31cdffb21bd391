"""The benchmark of sweeps: runs per CPU second compared with ns-2, the gain of a second thread, and 675 points.

Follows TH chapters 4 and 5: two nodes, one link, bit errors of 1e-6, packets of 500 bytes, 20,000 packets' time a run (300 to 2000 s).
Differs from bench.py's cases: many short runs, so the starting time of processes and simulations counts too.
Leaves out the accuracy beyond the mean utilisation of both; python/tests/test_equivalence.py has that.
"""

from __future__ import annotations

import shutil
import statistics
import time
from pathlib import Path

PACKET = 500
BIT_ERROR_RATE = 1e-6
RATES_KBPS = tuple(m * d for d in (10, 100, 1000) for m in range(1, 10))
RTTS_MS = tuple(range(20, 501, 20))
#: A point of each kind: every decade of rates and the whole range of round trips.
SOME_RATES_KBPS = (20, 100, 500, 2000, 9000)
SOME_RTTS_MS = (40, 180, 320, 500)

REQUIRED_RUNS = 3.0  # ratio to ns-2's runs per CPU second
REQUIRED_THREADS = 1.8  # wall time of one thread over that of two
REQUIRED_GRID_S = 10.0  # for all 675 points on two cores
UTILISATIONS_AGREE = 0.03


def seconds(rate_kbps: float) -> float:
    """Duration of a run of 20,000 packets, s."""
    return min(2000.0, max(300.0, 20_000 * PACKET * 8 / (1000 * rate_kbps)))


def scenario(rates_kbps=RATES_KBPS, rtts_ms=RTTS_MS) -> str:
    """The sweep over a grid; the losses of each point are independent."""

    def texts(values) -> str:
        return "[" + ", ".join(f'"{value}"' for value in values) + "]"

    return f"""host = "1999"\nduration = "300 s"
[links.link]
rate = "1 Mbit/s"
delay = "100 ms"
queue = {{ kind = "drop-tail", limit = "50 packets" }}
loss = {{ kind = "bit-errors", bit_error_rate = {BIT_ERROR_RATE} }}
reverse = {{ loss = {{ kind = "none" }} }}
[[flows]]
name = "bulk"
path = ["n0", "link", "n1"]
traffic = {{ kind = "bulk" }}
[flows.transport]
kind = "tcp"
variant = "fack"
mss = "{PACKET - 40} B"
window = "20000 segments"
initial_window = "2 packets"
rto_initial = "3 s"
rto_min = "1 s"
delayed_ack = {{ kind = "none" }}
grow_unused = true
[sweep]
common_seeds = false
metrics = ["bulk.bytes_delivered"]
[sweep.zip]
"links.link.rate" = {texts(f"{rate} kbit/s" for rate in rates_kbps)}
duration = {texts(f"{seconds(rate):g} s" for rate in rates_kbps)}
[sweep.grid]
"links.link.delay" = {texts(f"{rtt / 2:g} ms" for rtt in rtts_ms)}
"""


def ns2(rate_kbps: float, rtt_ms: float, seed: int) -> str:
    """One point for ns-2, one process; it prints the packets acknowledged."""
    per = 1 - (1 - BIT_ERROR_RATE) ** (8 * PACKET)
    return f"""
$defaultRNG seed {seed}
Agent/TCP set packetSize_ {PACKET - 40}
Agent/TCP set window_ 20000
Agent/TCP set windowInit_ 2
Agent/TCP set rtxcur_init_ 3.0
Agent/TCP set minrto_ 1.0
Agent/TCP set tcpTick_ 0.01
Agent/TCP set overhead_ 0
set ns [new Simulator]
$ns use-scheduler Calendar
set a [$ns node]
set b [$ns node]
$ns duplex-link $a $b {rate_kbps}kb {rtt_ms / 2}ms DropTail
$ns queue-limit $a $b 50
$ns queue-limit $b $a 100000
set errors [new ErrorModel]
$errors unit pkt
$errors set rate_ {per:.12g}
$errors ranvar [new RandomVariable/Uniform]
$errors drop-target [new Agent/Null]
$ns link-lossmodel $errors $a $b
set t [new Agent/TCP/Fack]
set d [new Agent/TCPSink/Sack1]
$ns attach-agent $a $t
$ns attach-agent $b $d
$ns connect $t $d
set f [new Application/FTP]
$f attach-agent $t
$ns at 0 "$f start"
$ns at {seconds(rate_kbps)} {{ puts "acked [$t set ack_]"; exit 0 }}
$ns run
"""


def sweeps(bench, failures: list[str]) -> None:
    """Runs per CPU second of both, then two threads and the whole grid."""
    points = [(rate, rtt) for rate in SOME_RATES_KBPS for rtt in SOME_RTTS_MS]
    print(f"\nThompson's grid, FACK, {PACKET} bytes, bit errors {BIT_ERROR_RATE:g}: {len(points)} of its points, median of {bench.runs}.")
    some = bench.scratch / "some.toml"
    some.write_text(scenario(SOME_RATES_KBPS, SOME_RTTS_MS))
    swept, alone, theirs, used, used_there = [], [], [], [], []
    for turn in range(bench.runs):
        swept.append(sweep(bench, some, 1)[0])
        cpu_s = [point(bench, some, n, rate, rtt) for n, (rate, rtt) in enumerate(points)]
        alone.append(sum(cpu for cpu, _ in cpu_s))
        used.append(statistics.fmean(share for _, share in cpu_s))
        if bench.ns:
            cpu_s = [script(bench, 1 + n + len(points) * turn, rate, rtt) for n, (rate, rtt) in enumerate(points)]
            theirs.append(sum(cpu for cpu, _ in cpu_s))
            used_there.append(statistics.fmean(share for _, share in cpu_s))
    print(f"{'':34} {'CPU s':>7} {'runs per CPU s':>15} {'mean utilisation':>17}")
    rows = [
        ("skyhop sweep, one process", swept, used),
        ("skyhop run, a process each", alone, used),
        ("ns-2, a process each", theirs, used_there),
    ]
    speeds = []
    for name, taken, share in rows:
        if taken:
            speeds.append(len(points) / statistics.median(taken))
            print(f"{name:34} {statistics.median(taken):7.2f} {speeds[-1]:15.1f} {statistics.fmean(share):17.3f}")
    if bench.ns:
        print(
            f"a sweep does {speeds[0] / speeds[2]:.2f} times ns-2's runs per CPU second ({REQUIRED_RUNS} required), a process "
            f"each {speeds[1] / speeds[2]:.2f} times"
        )
        if speeds[0] < REQUIRED_RUNS * speeds[2]:
            failures.append(f"a sweep does {speeds[0] / speeds[2]:.2f} times ns-2's runs per CPU second, {REQUIRED_RUNS} required")
        apart = statistics.fmean(used) - statistics.fmean(used_there)
        if abs(apart) > UTILISATIONS_AGREE:
            failures.append(f"mean utilisations are {apart:+.3f} apart: not the same work")
    whole(bench, failures)


def whole(bench, failures: list[str]) -> None:
    """All 675 points with one and with two threads, alternately."""
    grid = bench.scratch / "grid.toml"
    grid.write_text(scenario())
    one, two, ratios = [], [], []
    for _ in range(max(bench.runs, 5)):
        one.append(sweep(bench, grid, 1))
        two.append(sweep(bench, grid, 2))
        ratios.append(one[-1][1] / two[-1][1])
    count = len(RATES_KBPS) * len(RTTS_MS)
    print(
        f"\nAll {count} points, median of {len(one)}. Wall times mean something on an idle machine only; CPU times show what threads cost."
    )
    for name, taken in (("one thread", one), ("two threads", two)):
        cpu, wall = (statistics.median(value[i] for value in taken) for i in (0, 1))
        print(f"{name:12} {wall:6.2f} s, {cpu:6.2f} CPU s, fastest {min(value[1] for value in taken):.2f} s")
    ratio, fastest = statistics.median(ratios), statistics.median(value[1] for value in two)
    print(f"one thread takes {ratio:.2f} times as long as two ({REQUIRED_THREADS} required): " + " ".join(f"{r:.2f}" for r in ratios))
    print(f"two threads: {fastest:.2f} s ({REQUIRED_GRID_S:g} at most required)")
    if ratio < REQUIRED_THREADS:
        failures.append(f"two threads are {ratio:.2f} times as fast as one, {REQUIRED_THREADS} required")
    if fastest > REQUIRED_GRID_S:
        failures.append(f"{count} points take {fastest:.1f} s on two cores, {REQUIRED_GRID_S:g} at most required")


def sweep(bench, file: Path, threads: int) -> tuple[float, float]:
    """CPU seconds and wall seconds of a sweep without earlier results."""
    out = bench.scratch / "sweep"
    shutil.rmtree(out, ignore_errors=True)
    began = time.monotonic()
    cpu, _ = bench.cpu([bench.skyhop, "sweep", str(file), "--out", str(out), "--threads", str(threads), "--quiet"])
    return cpu, time.monotonic() - began


def point(bench, file: Path, seed: int, rate_kbps: float, rtt_ms: float) -> tuple[float, float]:
    """CPU seconds and utilisation of one point, run by itself."""
    sets = [f"links.link.rate={rate_kbps} kbit/s", f"links.link.delay={rtt_ms / 2:g} ms", f"duration={seconds(rate_kbps):g} s"]
    command = [bench.skyhop, "run", str(file), "--json", "--quiet", "--seed", str(seed + 1)]
    cpu, summary = bench.json(command + [word for value in sets for word in ("--set", value)])
    packets = summary["flows"]["bulk"]["bytes_delivered"] / (PACKET - 40)
    return cpu, utilisation(packets, rate_kbps)


def script(bench, seed: int, rate_kbps: float, rtt_ms: float) -> tuple[float, float]:
    """CPU seconds and utilisation of one point in ns-2."""
    cpu, numbers = bench.script(ns2(rate_kbps, rtt_ms, seed))
    return cpu, utilisation(numbers["acked"], rate_kbps)


def utilisation(packets: float, rate_kbps: float) -> float:
    return packets * PACKET * 8 / (1000 * rate_kbps * seconds(rate_kbps))
