"""The benchmark's cases: the same network for skyhop (a scenario) and for ns-2 (a script).

Follows the cases a, b, c1 and c2 of the project's ns-2 reference, and a long fat geostationary pipe.
Differs from an experiment: nothing is sampled or recorded, so only the engine is timed.
Leaves out running them, which bench.py does.
"""

from dataclasses import dataclass

PAYLOAD = 1000
HEADERS = 40

# The routes of this many hosts are installed by hand: ns-2 would spend most of its time on computing them.
MANUAL_ROUTES = 100


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

    def __str__(self) -> str:
        flows = f"{self.flows} flows of {self.pairs} host pairs" if self.flows > 1 else "1 flow"
        return (
            f"{flows} over {self.bottleneck_mbit} Mbit/s, "
            f"RTT {self.rtt_ms} ms, {self.duration_s} s"
        )

    def scenario(self, only_set_up: bool = False) -> str:
        """The scenario, or one with the same network that ends when its flows begin."""
        host = "1999"
        duration = "1 us" if only_set_up else f"{self.duration_s} s"
        out = [
            f'host = "1999"\nduration = "{duration}"',
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
                f'start = "{0 if only_set_up else self.start_ms(i)} ms"',
                'traffic = { kind = "bulk" }',
                "[flows.transport]",
                'kind = "tcp"',
                'variant = "sack-newreno"',
                f'mss = "{PAYLOAD} B"',
                f'window = "{self.window * PAYLOAD} B"',
                'initial_window = "2 packets"',
                'delayed_ack = { kind = "one-shot", timeout = "200 ms" }',
                'rto_initial = "3 s"',
                'rto_min = "1 s"',
            ]
        return "\n".join(out) + "\n"

    def start_ms(self, i: int) -> float:
        """Starts spread over the first second, the same in both simulators."""
        return round(1000 * ((i * 0.6180339887) % 1.0), 3)

    def ns2(self, duration_s: float, count_hops: bool) -> str:
        """The same for ns-2; it prints the packets acknowledged and, if asked, those that left a link's queue.

        Monitors cost ns-2 time and change nothing that it simulates: count in one run, time others.
        """
        manual = self.pairs >= MANUAL_ROUTES
        out = [
            f"Agent/TCP set packetSize_ {PAYLOAD}",
            f"Agent/TCP set window_ {self.window}",
            "Agent/TCP set windowInit_ 2",
            "Agent/TCP set rtxcur_init_ 3.0",
            "Agent/TCP set minrto_ 1.0",
            "Agent/TCP set tcpTick_ 0.01",
            "Agent/TCP set overhead_ 0",
            "Agent/TCPSink/Sack1/DelAck set interval_ 0.2",
            "set ns [new Simulator]",
            "$ns use-scheduler Calendar",
            *(["$ns rtproto Manual"] if manual else []),
            "set monitors {}",
            "proc join_nodes {a b mbit delay limit} {",
            "  global ns monitors",
            "  $ns duplex-link $a $b ${mbit}Mb ${delay}ms DropTail",
            "  $ns queue-limit $a $b $limit",
            "  $ns queue-limit $b $a $limit",
        ]
        if count_hops:
            # Integrals over time are not requested: they would cost as much again.
            out += [
                "  lappend monitors [$ns monitor-queue $a $b {}] [$ns monitor-queue $b $a {}]",
            ]
        out += [
            "}",
            "set r1 [$ns node]",
            "set r2 [$ns node]",
            f"join_nodes $r1 $r2 {self.bottleneck_mbit} {self.rtt_ms / 2 - 2} {self.queue}",
            f"for {{set i 0}} {{$i < {self.pairs}}} {{incr i}} {{",
            "  set s($i) [$ns node]",
            "  set k($i) [$ns node]",
            f"  join_nodes $s($i) $r1 {self.access_mbit} 1 100000",
            f"  join_nodes $r2 $k($i) {self.access_mbit} 1 100000",
            "}",
        ]
        if manual:
            out += [
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
                f"set t({i}) [new Agent/TCP/Sack1]; set d [new Agent/TCPSink/Sack1/DelAck]",
                f"$ns attach-agent $s({pair}) $t({i}); $ns attach-agent $k({pair}) $d; $ns connect $t({i}) $d",
                f"set f [new Application/FTP]; $f attach-agent $t({i})",
                f'$ns at {self.start_ms(i) / 1000} "$f start"',
            ]
        out += [
            "proc finish {} {",
            "  global t monitors",
            "  set acked 0",
            # Packet 0 is the SYN; before its acknowledgment the highest number is -1.
            "  foreach i [array names t] { set a [$t($i) set ack_]; if {$a > 0} { incr acked $a } }",
            "  set hops 0",
            "  foreach m $monitors { incr hops [$m set pdepartures_] }",
            '  puts "acked $acked hops $hops"',
            "  exit 0",
            "}",
            f'$ns at {duration_s} "finish"',
            "$ns run",
        ]
        return "\n".join(out) + "\n"


CASES = [
    Dumbbell("a", 1, 1, 100, 10, 600, 721, 2000, 1000),
    Dumbbell("b", 100, 100, 100, 100, 100, 1000, 1000, 100),
    Dumbbell("c1", 1000, 10, 1000, 1000, 100, 5000, 1000, 20),
    Dumbbell("c2", 1000, 1000, 100, 1000, 100, 5000, 1000, 20),
]


def long_fat_pipe(window_bytes: int, duration: str = "20 s") -> str:
    """One flow over 622 Mbit/s and 270 ms one way, with a queue that never drops."""
    return f"""
host = "1999"
duration = "{duration}"
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
