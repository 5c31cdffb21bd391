"""ns-2's own numbers for Thompson's experiment, with losses of its own for each point: `python/tests/thompson_ns2.csv`.

Follows the reference's notes on Thompson: two nodes, one link, 500 bytes, errors after the queue on data only, TH chapter 5.
Differs from the reference, whose seeds each have one stream of losses for all points: seeds differ from point to point, so that
the mean is the expected one. With `--thesis` all points have ns-2's default stream, and windows are cut as ns-2 did it in 2004.
Leaves out points far from the levels, and of the others half; needs Debian's package ns2, and ten minutes.

    (python3 bench/thompson_ns2.py; python3 bench/thompson_ns2.py --thesis --every 2 2 | tail -n +2) > python/tests/thompson_ns2.csv
"""

from __future__ import annotations

import argparse
import math
import subprocess
import tempfile
from pathlib import Path

AGENTS = {
    "tahoe": ("Agent/TCP", "Agent/TCPSink"),
    "reno": ("Agent/TCP/Reno", "Agent/TCPSink"),
    "newreno": ("Agent/TCP/Newreno", "Agent/TCPSink"),
    "sack": ("Agent/TCP/Sack1", "Agent/TCPSink/Sack1"),
    "fack": ("Agent/TCP/Fack", "Agent/TCPSink/Sack1"),
}
#: Bounds of E, between which the levels of 50 to 80 % lie.
STRIPS = {1e-6: (0.75, 1.4), 1e-7: (0.22, 0.82)}
WIRE = 500


def script(stack: str, ber: float, rate_kbps: int, rtt_ms: int, seed: int | None) -> str:
    agent, sink = AGENTS[stack]
    seconds = min(2000.0, max(300.0, 20_000 * WIRE * 8 / (1000 * rate_kbps)))
    loss = -math.expm1(8 * WIRE * math.log1p(-ber))
    # A script that sets no seed has the same losses in every run. precisionReduce_ has been true since 2006.
    own = f"ns-random {seed}" if seed is not None else "Agent/TCP set precisionReduce_ false"
    return f"""
Agent/TCP set packetSize_ {WIRE - 40}
Agent/TCP set window_ 20000
Agent/TCP set windowInit_ 2
Agent/TCP set rtxcur_init_ 3.0
Agent/TCP set minrto_ 1.0
Agent/TCP set tcpTick_ 0.01
{own}
set ns [new Simulator]
set a [$ns node]; set b [$ns node]
$ns duplex-link $a $b {rate_kbps}kb {rtt_ms / 2}ms DropTail
$ns queue-limit $a $b 50
set tcp [new {agent}]; set sink [new {sink}]
$ns attach-agent $a $tcp; $ns attach-agent $b $sink; $ns connect $tcp $sink
set ftp [new Application/FTP]; $ftp attach-agent $tcp
set errors [new ErrorModel]
$errors set rate_ {loss!r}
$errors unit pkt
$errors drop-target [new Agent/Null]
$ns link-lossmodel $errors $a $b
$ns at 0 "$ftp start"
$ns at {seconds} {{ puts [expr 8.0 * {WIRE} * [$tcp set ack_] / ({rate_kbps} * 1000.0 * {seconds})]; exit 0 }}
$ns run
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--thesis", action="store_true")
    parser.add_argument("--seeds", type=int, default=4)
    parser.add_argument("--every", type=int, nargs="*", default=[3, 2], help="of the points of each bit error rate")
    parser.add_argument("--stacks", nargs="*", default=list(AGENTS))
    parser.add_argument("--bers", nargs="*", type=float, default=list(STRIPS))
    args = parser.parse_args()
    links = [(m * d, rtt) for d in (10, 100, 1000) for m in range(1, 10) for rtt in range(20, 501, 20)]
    links.sort(key=lambda link: (link[0] * link[1], link))
    seed = 1000
    print("losses,stack,ber,bw_kbps,rtt_ms,seeds,utilisation")
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "case.tcl"
        for ber, every in zip(args.bers, args.every):
            low, high = STRIPS[ber]
            strip = [link for link in links if low <= 6 - math.log10(link[0] * link[1]) <= high][::every]
            for stack in args.stacks:
                for rate_kbps, rtt_ms in strip:
                    used = []
                    for _ in range(1 if args.thesis else args.seeds):
                        seed += 1
                        text = script(stack, ber, rate_kbps, rtt_ms, None if args.thesis else seed)
                        file.write_text(text, encoding="utf-8")
                        run = subprocess.run(["ns", file], capture_output=True, text=True, check=True, cwd=folder)
                        used.append(float(run.stdout))
                    mean = sum(used) / len(used)
                    losses = "thesis" if args.thesis else "own"
                    print(f"{losses},{stack},{ber:g},{rate_kbps},{rtt_ms},{len(used)},{mean:.5f}", flush=True)


if __name__ == "__main__":
    main()
