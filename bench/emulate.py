"""The emulator beside a naive relay: processor time a packet, lateness, round trips.

Both carry the same download over the same rate and delay, alternately, so that a busy machine slows both. The naive relay
(crates/emulate/examples/naive.rs) makes a system call for each packet and has no queue, no loss and no record. rattan is measured
too if it is installed (`cargo install rattan`).

Further tables: round trips over a path, compared with a wire between the same two hosts, which includes the kernel's time; how
exactly packets leave; a chain of 16 links compared with one; 8 to 64 simultaneous paths; and runs on a machine with all processors
busy, which have to stay within the limits or report that they are not valid.

    python3 bench/emulate.py            all tables
    python3 bench/emulate.py relay rtt release chain paths loaded
"""

import argparse
import json
import os
import pathlib
import re
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
SKYHOP = ROOT / "target/release/skyhop"
NAIVE = ROOT / "target/release/examples/naive"
ROUNDS = 3
CASES = [(200, 10, "50MB"), (1000, 10, "250MB"), (10000, 10, "1000MB"), (10000, 1, "2000MB")]


def scenario(rate_mbit, delay_ms):
    return (
        'duration = "60 s"\n[links.satellite]\n'
        f'rate = "{rate_mbit} Mbit/s"\ndelay = "{delay_ms} ms"\nqueue = {{ kind = "drop-tail", limit = "100 MB" }}\n'
        '[[flows]]\nreal = true\npath = ["server", "satellite", "user"]\ntraffic = { kind = "bulk" }\n'
    )


def download(size):
    return ["curl", "-4", "-s", "-o", "/dev/null", "-w", "%{speed_download}", f"http://server/bytes/{size}"]


def emulated(rate_mbit, delay_ms, size, folder):
    file, out = folder / "scenario.toml", folder / "out"
    file.write_text(scenario(rate_mbit, delay_ms))
    command = [SKYHOP, "emulate", file, "--tcp", "cubic", "--quiet", "--out", out, "--", *download(size)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    found = json.loads((out / "summary.json").read_text())["emulation"]
    packets = sum(host["read_packets"] for host in found["hosts"].values())
    return float(done.stdout) * 8e-6, found["cpu_s"] / packets * 1e6, found


def naive(rate_mbit, delay_ms, size):
    command = [NAIVE, str(rate_mbit), str(delay_ms), *download(size)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    found = json.loads(done.stderr.strip().splitlines()[-1])
    return float(done.stdout) * 8e-6, found["cpu_s"] / found["packets"] * 1e6


def rattan(rate_mbit, delay_ms, size, folder):
    """The same download through rattan (`cargo install rattan`), if installed: the processor time of rattan without the command."""
    (folder / "zeros").touch()
    os.truncate(folder / "zeros", int(size.removesuffix("MB")) * 1_000_000)
    server = subprocess.Popen(
        [sys.executable, "-m", "http.server", "-d", folder, "8099"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        time.sleep(0.5)
        ways = [
            option for way in ("uplink", "downlink") for option in (f"--{way}-delay={delay_ms}ms", f"--{way}-bandwidth={rate_mbit}Mbps")
        ]
        inside = 'curl -s -o /dev/null -w "%{speed_download}\n" "http://$RATTAN_BASE:8099/zeros"; cat /proc/net/dev'
        process = subprocess.Popen(
            ["rattan", "link", *ways, "--", "sh", "-c", inside], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )
        ticks = 0
        while process.poll() is None:
            times = pathlib.Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()[11:13]
            ticks = max(ticks, sum(map(int, times)))
            time.sleep(0.02)
        lines = process.stdout.read().splitlines()
    finally:
        server.kill()
    device = next(line for line in lines if line.startswith("vL")).partition(":")[2].split()
    packets = int(device[1]) + int(device[9])
    speed = next(float(line) for line in lines if line.replace(".", "").isdigit())
    return speed * 8e-6, ticks / os.sysconf("SC_CLK_TCK") / packets * 1e6


def relay():
    subprocess.run(["cargo", "build", "-q", "--release", "--locked", "-p", "skyhop-emulate", "--example", "naive"], cwd=ROOT, check=True)
    if others := shutil.which("rattan") is not None:
        print("rattan is installed: the last three columns are its results, and the last one skyhop's ratio to it")
    print("rate Mbit/s  skyhop Mbit/s  us a packet  naive Mbit/s  us a packet  ratio  late p50 us  p99 us")
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        for rate, delay, size in CASES:
            rounds = []
            for _ in range(ROUNDS):
                row = [emulated(rate, delay, size, folder), naive(rate, delay, size)]
                rounds.append(row + ([rattan(rate, delay, size, folder)] if others else []))

            def median(of, rounds=rounds):
                return statistics.median(of(*row) for row in rounds)

            columns = [rate]
            columns += [median(lambda ours, *_, i=i: ours[i]) for i in (0, 1)]
            columns += [median(lambda _, naive, *__, i=i: naive[i]) for i in (0, 1)]
            columns.append(median(lambda ours, naive, *_: ours[1] / naive[1]))
            columns += [median(lambda ours, *_, key=key: ours[2]["release"][key] * 1e6) for key in ("late_p50_s", "late_p99_s")]
            line = "{:11} {:14.0f} {:12.2f} {:13.0f} {:12.2f} {:6.2f} {:12.0f} {:7.0f}".format(*columns)
            if others:
                theirs = [median(lambda *row, i=i: row[2][i]) for i in (0, 1)]
                line += " {:6.0f} {:6.2f} {:6.3f}".format(*theirs, median(lambda *row: row[0][1] / row[2][1]))
            print(line, flush=True)


def wire(interval):
    """Round trips of two hosts over a wire (veth): mean and deviation in ms. The hosts' own time is included."""
    script = f"""ip link set lo up; ip link add name wire0 type veth peer name wire1
ip netns add "$0" && trap 'ip netns delete "$0"' EXIT
ip link set wire1 netns "$0"
ip address add 10.0.0.1/24 dev wire0; ip link set wire0 up
ip -n "$0" address add 10.0.0.2/24 dev wire1; ip -n "$0" link set wire1 up
ping -4 -q -c 3 -i 0.2 10.0.0.2 >/dev/null; ping -4 -q -c 200 -i {interval} 10.0.0.2"""
    done = subprocess.run(["unshare", "--net", "sh", "-c", script, f"wire-{os.getpid()}"], capture_output=True, text=True, check=True)
    return round_trips(done.stdout)


def round_trips(text):
    """Mean and deviation of ping's output, in ms."""
    _, mean, _, deviation = map(float, re.search(r"= ([0-9.]+)/([0-9.]+)/([0-9.]+)/([0-9.]+) ms", text).groups())
    return mean, deviation


def rtt():
    """The excess of round trips over a delay in each direction, and over the delay and the wire."""
    print("one way ms  interval ms  more ms  a wire's ms  beyond it ms  deviation  late p50 us  p99 us  most us")
    for delay, interval in [(20, 0.02), (250, 0.02), (20, 0.1), (250, 0.1)]:
        text = f'duration = "60 s"\n[links.l]\nrate = "10 Gbit/s"\ndelay = "{delay} ms"\n'
        text += '[[flows]]\nreal = true\npath = ["user", "l", "server"]\ntraffic = { kind = "ping" }\n'
        with tempfile.TemporaryDirectory() as folder:
            mean, deviation, found = pings(text, pathlib.Path(folder), 200, interval)
        bare, _ = wire(interval)
        late = [found["release"][key] * 1e6 for key in ("late_p50_s", "late_p99_s", "late_max_s")]
        more = mean - 2 * delay
        print(
            f"{delay:10} {interval * 1000:12.0f} {more:8.3f} {bare:12.3f} {more - bare:13.3f} {deviation:10.3f} {late[0]:12.0f} "
            f"{late[1]:7.0f} {late[2]:8.0f}"
        )


def pings(text, folder, count=100, interval=0.02, *options):
    """Round trips over a scenario, mean and deviation in ms, and the run's own statement of its validity."""
    file, out = folder / "scenario.toml", folder / "out"
    file.write_text(text)
    ping = ["ping", "-4", "-q", "-c", str(count), "-i", str(interval), "server"]
    command = [SKYHOP, "emulate", file, "--quiet", *options, "--out", out, "--", *ping]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return *round_trips(done.stdout), json.loads((out / "summary.json").read_text())["emulation"]


BLAST = """import socket, sys, time
rate, seconds = float(sys.argv[1]), float(sys.argv[2])
sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
sender.setsockopt(socket.SOL_UDP, 103, 100)  # UDP_SEGMENT: datagrams of 100 bytes
sender.connect((socket.gethostbyname("server"), 9))
began, sent = time.monotonic(), 0
while (now := time.monotonic() - began) < seconds:
    due = int(rate * now) + 1 - sent
    if due >= min(64, rate / 1000):
        sender.send(bytes(100 * min(due, 64)))
        sent += min(due, 64)
    time.sleep(0.0002)
"""


def release():
    """How exactly packets leave a link: datagrams of 128 bytes with headers, which the link's rate spaces equally."""
    print("packets/s  one way ms  packets  wrong p50 us  p99 us  most us  wake p99 us")
    for rate in (1_000, 10_000, 50_000, 200_000):
        for delay in (10, 270):
            text = f'duration = "60 s"\n[links.l]\nrate = "{rate * 128 * 8} bit/s"\ndelay = "{delay} ms"\n'
            text += '[[flows]]\nreal = true\npath = ["user", "l", "server"]\ntraffic = { kind = "ping" }\n'
            with tempfile.TemporaryDirectory() as folder:
                file, out = pathlib.Path(folder) / "scenario.toml", pathlib.Path(folder) / "out"
                file.write_text(text)
                command = [SKYHOP, "emulate", file, "--quiet", "--out", out, "--", sys.executable, "-c", BLAST, str(rate), "3"]
                subprocess.run(command, capture_output=True, text=True, check=True)
                found = json.loads((out / "summary.json").read_text())["emulation"]
            wrong = [found["release"][key] * 1e6 for key in ("late_p50_s", "late_p99_s", "late_max_s")]
            print(
                f"{rate:9} {delay:11} {found['release']['count']:8} {wrong[0]:13.0f} {wrong[1]:7.0f} {wrong[2]:8.0f} "
                f"{found['wake']['late_p99_s'] * 1e6:12.0f}"
            )


def chain_of(links, delay_ms):
    """A chain of links with this total delay."""
    names = [f"l{i}" for i in range(links)]
    parts = "".join(f'[links.{name}]\nrate = "1 Gbit/s"\ndelay = "{delay_ms / links} ms"\n' for name in names)
    path = ", ".join(f'"{node}"' for node in ["user", *names, "server"])
    return f'duration = "60 s"\n{parts}[[flows]]\nreal = true\npath = [{path}]\ntraffic = {{ kind = "ping" }}\n'


def chain():
    print("links  rtt mean ms  deviation  late p50 us  p99 us")
    with tempfile.TemporaryDirectory() as folder:
        for links in (1, 16):
            mean, deviation, found = pings(chain_of(links, 20), pathlib.Path(folder), 300)
            late = [found["release"][key] * 1e6 for key in ("late_p50_s", "late_p99_s")]
            print(f"{links:5} {mean:12.3f} {deviation:10.3f} {late[0]:12.0f} {late[1]:7.0f}")


def paths():
    """Simultaneous downloads, each over its own path and between its own hosts."""
    print("paths  simulated Mbit/s  emulated Mbit/s     least     most")
    with tempfile.TemporaryDirectory() as folder:
        for count in (8, 32, 64):
            text = 'duration = "60 s"\n'
            text += "".join(f'[links.l{i}]\nrate = "16 Mbit/s"\ndelay = "10 ms"\n' for i in range(count))
            flow = '[[flows]]\nreal = true\npath = ["s{i}", "l{i}", "u{i}"]\ntraffic = {{ kind = "bulk", size = "16 MB" }}\n'
            text += "".join(flow.format(i=i) for i in range(count))
            file = pathlib.Path(folder) / "paths.toml"
            file.write_text(text)
            done = subprocess.run([SKYHOP, "compare", file, "--transport", "cubic", "--quiet", "--json"], capture_output=True, text=True)
            if done.returncode != 0:
                print(f"{count:5} none: {signal.Signals(-done.returncode).name if done.returncode < 0 else done.stderr.strip()}")
                continue
            rows = json.loads(done.stdout)
            rates = [[128 / row[world] for row in rows] for world in ("simulated", "emulated")]
            means = [statistics.mean(rate) for rate in rates]
            valid = "" if all(row["objection"] is None for row in rows) else f"  {rows[0]['objection']}"
            print(f"{count:5} {means[0]:17.3f} {means[1]:16.3f} {min(rates[1]):9.3f} {max(rates[1]):8.3f}{valid}")


def loaded():
    """A busy process on each processor. A run whose mean ping is off by more than 0.3 ms has to report that it is not valid."""
    runs, wrong, marked, worst = 50, 0, 0, 0.0
    busy = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(os.cpu_count())]
    try:
        with tempfile.TemporaryDirectory() as folder:
            for _ in range(runs):
                mean, _, found = pings(chain_of(1, 20), pathlib.Path(folder), 50)
                off = abs(mean - 40.0)
                marked += not found["valid"]
                wrong += found["valid"] and off > 0.3
                worst = max(worst, off if found["valid"] else 0.0)
    finally:
        for process in busy:
            process.kill()
    print(
        f"busy machine: of {runs} runs {marked} not valid and marked, {wrong} wrong and unmarked; the worst valid mean is "
        f"{worst:.3f} ms off"
    )


def main():
    tables = {"relay": relay, "rtt": rtt, "release": release, "chain": chain, "paths": paths, "loaded": loaded}
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tables", nargs="*", metavar="TABLE", help=f"some of {', '.join(tables)}; all by default")
    wanted = parser.parse_args().tables
    if unknown := [name for name in wanted if name not in tables]:
        parser.error(f"{unknown[0]}: {', '.join(tables)} are the tables")
    if not SKYHOP.exists():
        sys.exit("make build first")
    if not shutil.which("ping"):
        sys.exit("no ping: tools/install ping=iputils-ping")
    for name in wanted or tables:
        tables[name]()


main()
