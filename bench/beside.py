"""STP beside the kernel's CUBIC and BBR over emulated satellites of 50 Mbit/s: what each has, and what two of the kernel's kind have.

The path has a queue of one product of rate and RTT. The second flow begins ten round trips after the first; rates are those that
arrive in the last 60 % of 60 s, or of 120 round trips if that is longer. These are the rows of one product of `stp_tails sharing`
(docs/stp.md §8.3), with the kernel's TCP and the hosts of STP. Four paths are emulated at a time.

    python3 bench/beside.py              all rows (root or user namespaces; four minutes)
    python3 bench/beside.py 600          rows of this RTT alone
"""

import argparse
import json
import pathlib
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

ROOT = pathlib.Path(__file__).resolve().parent.parent
SKYHOP = ROOT / "target/release/skyhop"
RATE_MBIT = 50
LEAST = 0.7  # part of what the other of the kernel's kind leaves
# Counts what arrives, of TCP at ports 9001 and 9002 and of STP on standard input, ten times a second, and writes it each time.
COUNT = """
import json, os, socket, sys, threading, time
counts, rows = {"first": 0, "second": 0}, []
def stream(name, read):
    while piece := read():
        counts[name] += len(piece)
def listen(name, port):
    server = socket.create_server(("0.0.0.0", port))
    link, _ = server.accept()
    stream(name, lambda: link.recv(1 << 18))
for name, port in (("first", 9001), ("second", 9002)):
    threading.Thread(target=listen, args=(name, port), daemon=True).start()
if sys.argv[1] != "none":
    threading.Thread(target=stream, args=(sys.argv[1], lambda: os.read(0, 1 << 18)), daemon=True).start()
began = time.monotonic()
while time.monotonic() - began < float(sys.argv[2]):
    time.sleep(0.1)
    rows.append((time.monotonic() - began, dict(counts)))
    with open(sys.argv[3] + ".part", "w") as out:
        json.dump(rows, out)
    os.replace(sys.argv[3] + ".part", sys.argv[3])
"""
# Begins two flows of zeros, each TCP to a port or a command, and ends after some seconds.
SEND = """
import socket, subprocess, sys, threading, time
seconds, gap = float(sys.argv[1]), float(sys.argv[2])
def tcp(port):
    link = socket.create_connection(("10.0.0.2", port))
    while True:
        link.send(bytes(1 << 18))
began, commands = time.monotonic(), []
for port, words in ((9001, sys.argv[3]), (9002, sys.argv[4])):
    if words == "tcp":
        threading.Thread(target=tcp, args=(port,), daemon=True).start()
    else:
        commands.append(subprocess.Popen(words.split(), stdin=open("/dev/zero")))
    time.sleep(gap if port == 9001 else 0)
time.sleep(max(0, seconds - (time.monotonic() - began)))
ended = [command.args[2] for command in commands if command.poll() is not None]
for command in commands:
    command.kill()
sys.exit(f"{ended} ended before its time" if ended else 0)
"""


def scenario(rtt_ms, seconds):
    queue = int(RATE_MBIT * 1e6 / 8 * rtt_ms / 1e3)
    return (
        f'duration = "{seconds + 30} s"\n[links.satellite]\nrate = "{RATE_MBIT} Mbit/s"\ndelay = "{rtt_ms / 2} ms"\n'
        f'queue = {{ kind = "drop-tail", limit = "{queue} B" }}\n'
        '[[flows]]\nreal = true\npath = ["user", "satellite", "server"]\ntraffic = { kind = "bulk" }\n'
    )


def run(folder, rtt_ms, law, kinds):
    """Rates of both flows, Mbit/s, and the run's objections; `kinds` are "tcp" or "stp"."""
    seconds = max(60, 120 * rtt_ms / 1e3)
    here = folder / f"{rtt_ms}-{law}-{'-'.join(kinds)}"
    here.mkdir()
    (here / "scenario.toml").write_text(scenario(rtt_ms, seconds))
    counts, key = here / "counts.json", folder / "link.key"
    stp = f"{SKYHOP} stp send - 10.0.0.2 --key {key} --quiet"
    name = {"stp tcp": "first", "tcp stp": "second"}.get(" ".join(kinds), "none")
    count = f"{sys.executable} {folder / 'count.py'} {name} {seconds + 5} {counts}"
    serve = f"{SKYHOP} stp serve --key {key} --to - --once --quiet | {count}" if name != "none" else f"exec {count} < /dev/null"
    buffers = [f"net.ipv4.tcp_{way}mem=4096 131072 64000000" for way in "rw"]
    command = [SKYHOP, "emulate", here / "scenario.toml", "--quiet", "--late", "1 ms", "--tcp", law, "--out", here / "out"]
    command += [word for limit in buffers for word in ("--sysctl", limit)]
    command += ["--server", serve, "--", sys.executable, folder / "send.py", seconds + 3, 10 * rtt_ms / 1e3]
    command += [stp if kind == "stp" else "tcp" for kind in kinds]
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{here.name}: {done.returncode}\n{done.stderr}")
    rows = json.loads(counts.read_text())
    (one, before), (two, after) = (next(row for row in rows if row[0] >= when) for when in (0.4 * seconds, seconds))
    rates = [(after[flow] - before[flow]) * 8e-6 / (two - one) for flow in ("first", "second")]
    if min(rates) <= 0:
        sys.exit(f"{here.name}: a flow delivered nothing: {rates}\n{done.stderr}")
    return rates, json.loads((here / "out/summary.json").read_text())["emulation"]["objections"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rtt", type=int, nargs="?", choices=(50, 600), help="rows of this RTT alone, ms")
    args = parser.parse_args()
    if not SKYHOP.exists():
        sys.exit("make build first")
    cases = [(rtt, law) for rtt in (50, 600) for law in ("cubic", "bbr") if args.rtt in (None, rtt)]
    mixes = (("tcp", "tcp"), ("stp", "tcp"), ("tcp", "stp"))
    with tempfile.TemporaryDirectory() as name, ThreadPoolExecutor(4) as pool:
        folder = pathlib.Path(name)
        (folder / "count.py").write_text(COUNT)
        (folder / "send.py").write_text(SEND)
        subprocess.run([SKYHOP, "stp", "key", "--out", folder / "link.key"], check=True, capture_output=True)
        runs = {(*case, mix): pool.submit(run, folder, *case, mix) for case in cases for mix in mixes}
        print("RTT ms  kernel  order      kernel + STP, Mbit/s    two of the kernel's   each over its own   objections")
        for rtt, law in cases:
            own, _ = runs[rtt, law, mixes[0]].result()
            for mix in mixes[1:]:
                rates, objections = runs[rtt, law, mix].result()
                ours = mix.index("stp")
                parts = [rates[1 - ours] / own[1 - ours], rates[ours] / own[ours]]
                order = "STP first" if ours == 0 else "STP late"
                mark = "  <--" if min(parts) < LEAST else ""
                print(
                    f"{rtt:6}  {law:6}  {order:9}  {rates[1 - ours]:6.1f} + {rates[ours]:5.1f} = {sum(rates):5.1f}"
                    f"    {own[1 - ours]:6.1f} + {own[ours]:5.1f}      {parts[0]:6.2f} {parts[1]:6.2f}   {'; '.join(objections)}{mark}",
                    flush=True,
                )


if __name__ == "__main__":
    main()
