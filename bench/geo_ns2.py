"""ns-2's own numbers for transfers over a geostationary path, where the reference has none: `crates/sim/tests/geo_ns2.csv`.

Follows the reference's notes on `geo_bulk.csv`: 10 MB in packets of 1000 bytes, window 240, a queue of 50 packets, every stack.
Differs: more round trips, two slow hops (2 and 1.5 Mbit/s, half of the delay each), and 2 Mbit/s with 20 kbit/s back.
Leaves out seeds: nothing is random. Needs Debian's package ns2, and five minutes.

    python3 bench/geo_ns2.py > crates/sim/tests/geo_ns2.csv
"""

from __future__ import annotations

import subprocess
import tempfile
from pathlib import Path

AGENTS = {
    "tahoe": ("Agent/TCP", "TCPSink"),
    "reno": ("Agent/TCP/Reno", "TCPSink"),
    "newreno": ("Agent/TCP/Newreno", "TCPSink"),
    "newreno_sbs": ("Agent/TCP/Newreno", "TCPSink"),
    "sack": ("Agent/TCP/Sack1", "TCPSink/Sack1"),
    "fack": ("Agent/TCP/Fack", "TCPSink/Sack1"),
    "vegas": ("Agent/TCP/Vegas", "TCPSink"),
}
RTTS_MS = {
    "one": [*range(30, 1001, 45), 640, 700, 850, 900, 1000],
    "two": [204, 504, 604, 804, 1004],
    "thin": [40, 104, 204, 304, 504, 604, 850],
}


def links(path: str, rtt_ms: int) -> str:
    each = rtt_ms / 2 - 2
    middle = {
        "one": f"""
one $R1 $R2 1.5Mb {each}ms 50
one $R2 $R1 1.5Mb {each}ms 1000""",
        "two": f"""
set R3 [$ns node]
one $R1 $R3 2Mb {each / 2}ms 50
one $R3 $R1 2Mb {each / 2}ms 1000
one $R3 $R2 1.5Mb {each / 2}ms 50
one $R2 $R3 1.5Mb {each / 2}ms 1000""",
        "thin": f"""
one $R1 $R2 2Mb {each}ms 50
one $R2 $R1 20kb {each}ms 50""",
    }
    return middle[path]


def script(path: str, stack: str, rtt_ms: int, delack_s: float) -> str:
    agent, sink = AGENTS[stack]
    # Vegas adds no header to its packets and sends no SYN.
    size, last = (1040, 9999) if stack == "vegas" else (1000, 10_000)
    return f"""
Agent/TCP set packetSize_ {size}
Agent/TCP set window_ 240
Agent/TCP set windowInit_ 2
Agent/TCP set rtxcur_init_ 3.0
Agent/TCP set minrto_ 1.0
Agent/TCP set maxrto_ 60
Agent/TCP set tcpTick_ 0.01
Agent/TCP set singledup_ 1
Agent/TCP set overhead_ 0
Agent/TCP/Newreno set newreno_changes1_ {int(stack == "newreno")}
Agent/TCP/Vegas set v_alpha_ 1
Agent/TCP/Vegas set v_beta_ 3
Agent/TCP/Vegas set v_gamma_ 1
Agent/TCPSink/DelAck set interval_ {delack_s or 0.1}
Agent/TCPSink/Sack1/DelAck set interval_ {delack_s or 0.1}
set ns [new Simulator]
foreach node {{S R1 R2 K}} {{ set $node [$ns node] }}
proc one {{a b rate delay limit}} {{ global ns; $ns simplex-link $a $b $rate $delay DropTail; $ns queue-limit $a $b $limit }}
proc both {{a b}} {{ one $a $b 10Mb 1ms 1000; one $b $a 10Mb 1ms 1000 }}
both $S $R1
both $R2 $K{links(path, rtt_ms)}
set tcp [new {agent}]; set sink [new Agent/{sink}{"/DelAck" if delack_s else ""}]
$ns attach-agent $S $tcp; $ns attach-agent $K $sink; $ns connect $tcp $sink
set ftp [new Application/FTP]; $ftp attach-agent $tcp
$ns at 0 "$ftp producemore {last + 1}"
proc poll {{}} {{
    global ns tcp
    if {{[$tcp set ack_] >= {last} || [$ns now] > 3000}} {{
        puts "[$ns now] [$tcp set nrexmitpack_] [$tcp set nrexmit_]"
        exit 0
    }}
    $ns at [expr [$ns now] + 0.01] poll
}}
$ns at 0.01 poll
$ns run
"""


def main() -> None:
    print("path,stack,rtt_ms,delack_s,goodput_kbps,repeats,timeouts")
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "case.tcl"
        for path, rtts_ms in RTTS_MS.items():
            for stack in AGENTS:
                for delack_s in (0, 0.2):
                    for rtt_ms in rtts_ms:
                        file.write_text(script(path, stack, rtt_ms, delack_s), encoding="utf-8")
                        run = subprocess.run(["ns", file], capture_output=True, text=True, check=True, cwd=folder)
                        ended, repeats, timeouts = run.stdout.split()
                        print(f"{path},{stack},{rtt_ms},{delack_s:g},{8e4 / float(ended):.1f},{repeats},{timeouts}", flush=True)


if __name__ == "__main__":
    main()
