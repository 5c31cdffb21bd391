"""The benchmark's cases: the same network for skyhop (a scenario) and for ns-2 (a script).

Follows the cases a, b, c1 and c2 of the project's ns-2 reference, and a long fat geostationary pipe.
Differs from an experiment: nothing is sampled or recorded, so that the engine is what is timed.
Leaves out running them, which bench.py does.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Dumbbell:
    """Flows from hosts on the left to hosts on the right of one bottleneck."""

    name: str
    flows: int
    pairs: int
    access_mbit: int
    bottleneck_mbit: int
    rtt_ms: int
    queue: int
    window: int
    duration_s: int

    def scenario(self) -> str:
        out = [
            f'duration = "{self.duration_s} s"',
            f'record = {{ sample_interval = "{self.duration_s} s" }}',
            "[links.bottleneck]",
            f'rate = "{self.bottleneck_mbit} Mbit/s"',
            f'delay = "{self.rtt_ms / 2 - 2} ms"',
            f'queue = {{ kind = "drop-tail", limit = "{self.queue} packets" }}',
            'between = ["r1", "r2"]',
        ]
        for i in range(self.pairs):
            for name, ends in ((f"a{i}", f'["s{i}", "r1"]'), (f"z{i}", f'["r2", "k{i}"]')):
                out += [
                    f"[links.{name}]",
                    f"between = {ends}",
                    f'rate = "{self.access_mbit} Mbit/s"',
                    'delay = "1 ms"',
                    'queue = { kind = "drop-tail", limit = "100000 packets" }',
                ]
        for i in range(self.flows):
            pair = i % self.pairs
            out += [
                "[[flows]]",
                f'path = ["s{pair}", "a{pair}", "bottleneck", "z{pair}", "k{pair}"]',
                f'start = "{self.start_ms(i)} ms"',
                'traffic = { kind = "bulk" }',
                f'transport = {{ kind = "tcp", variant = "sack-newreno", mss = "1000 B", window = "{self.window} kB" }}',
            ]
        return "\n".join(out) + "\n"

    def start_ms(self, i: int) -> float:
        """Starts spread over the first second, the same in both simulators."""
        return round(1000 * ((i * 0.6180339887) % 1.0), 3)

    def ns2(self) -> str:
        """The same for ns-2: routes by hand, so that its set-up is not what is timed."""
        out = [
            "set ns [new Simulator]",
            "$ns use-scheduler Calendar",
            "set r1 [$ns node]",
            "set r2 [$ns node]",
            f"$ns duplex-link $r1 $r2 {self.bottleneck_mbit}Mb {self.rtt_ms / 2 - 2}ms DropTail",
            f"$ns queue-limit $r1 $r2 {self.queue}",
            f"$ns queue-limit $r2 $r1 {self.queue}",
            f"for {{set i 0}} {{$i < {self.pairs}}} {{incr i}} {{",
            "  set s($i) [$ns node]; set k($i) [$ns node]",
            f"  $ns duplex-link $s($i) $r1 {self.access_mbit}Mb 1ms DropTail",
            f"  $ns duplex-link $r2 $k($i) {self.access_mbit}Mb 1ms DropTail",
            "  foreach {a b} [list $s($i) $r1 $r2 $k($i)] { $ns queue-limit $a $b 100000; $ns queue-limit $b $a 100000 }",
            "}",
        ]
        if self.pairs >= 100:
            out += [
                "$ns rtproto Manual",
                f"for {{set i 0}} {{$i < {self.pairs}}} {{incr i}} {{",
                "  [$s($i) get-module Manual] add-route-to-adj-node -default $r1",
                "  [$k($i) get-module Manual] add-route-to-adj-node -default $r2",
                "  [$r1 get-module Manual] add-route-to-adj-node $s($i)",
                "  [$r2 get-module Manual] add-route-to-adj-node $k($i)",
                "}",
                "[$r1 get-module Manual] add-route-to-adj-node -default $r2",
                "[$r2 get-module Manual] add-route-to-adj-node -default $r1",
            ]
        for i in range(self.flows):
            pair = i % self.pairs
            out += [
                "set t [new Agent/TCP/Sack1]; set d [new Agent/TCPSink/Sack1/DelAck]",
                f"$t set packetSize_ 1000; $t set window_ {self.window}; $t set windowInit_ 2; $d set interval_ 0.2",
                f"$ns attach-agent $s({pair}) $t; $ns attach-agent $k({pair}) $d; $ns connect $t $d",
                "set f [new Application/FTP]; $f attach-agent $t",
                f'$ns at {self.start_ms(i) / 1000} "$f start"',
            ]
        if self.pairs >= 100:
            out[1:1] = ["$ns rtproto Manual"]
        out += [
            f'$ns at {self.duration_s} "exit 0"',
            "$ns run",
        ]
        return "\n".join(out) + "\n"


CASES = [
    Dumbbell("a", 1, 1, 100, 10, 600, 721, 2000, 1000),
    Dumbbell("b", 100, 100, 100, 100, 100, 1000, 1000, 100),
    Dumbbell("c1", 1000, 10, 1000, 1000, 100, 5000, 1000, 20),
    Dumbbell("c2", 1000, 1000, 100, 1000, 100, 5000, 1000, 20),
]


def long_fat_pipe(window_bytes: int) -> str:
    """One flow over 622 Mbit/s and 270 ms one way for 20 s, with a queue that never drops."""
    return f"""
duration = "20 s"
record = {{ sample_interval = "20 s" }}
[links.satellite]
rate = "622 Mbit/s"
delay = "270 ms"
queue = {{ kind = "drop-tail", limit = "10 GB" }}
[[flows]]
path = ["server", "satellite", "user"]
traffic = {{ kind = "bulk" }}
transport = {{ kind = "tcp", variant = "sack-newreno", mss = "1460 B", window = "{window_bytes} B" }}
"""
