"""STP, QUIC (quinn) and the kernel's TCP over the same emulated satellites: time and return bytes of one transfer.

Each row is one path; all contestants send the smaller of 100 MB and 10 s worth of data over it, one after another, from the opening
to the receiver's answer. Queues are one product of rate and RTT, and windows two products, so that no default limits anyone. The
losses are in both directions. A contestant that takes a minute is stopped, and its time is printed as ">60".

    python3 bench/transports.py              all rows (root or user namespaces; half an hour)
    python3 bench/transports.py 250 600      rows with this rate and RTT alone
"""

import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from stp import build_quic  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parent.parent
SKYHOP = ROOT / "target/release/skyhop"
PATIENCE_S = 60
PATHS = [(rate, rtt, loss) for rate in (10, 50, 250) for rtt in (40, 600) for loss in (0.0, 0.01)]
# Connects, sends zeros, half-closes, and waits until the server, which discards them, has closed too.
SEND_TCP = """
import socket, sys, time
began = time.monotonic()
to = socket.create_connection(("10.0.0.2", 9))
block, left = bytes(1 << 18), int(sys.argv[1])
while left:
    left -= to.send(block[:min(left, len(block))])
to.shutdown(socket.SHUT_WR)
while to.recv(1 << 16):
    pass
print(time.monotonic() - began)
"""


def scenario(rate_mbit, rtt_ms, loss):
    back = 3 if rate_mbit == 250 else rate_mbit
    queues = [max(int(rate * 1e6 / 8 * rtt_ms / 1e3), 15_000) for rate in (rate_mbit, back)]
    lossy = f"loss = {{ kind = \"packets\", probability = {loss} }}\n" if loss else ""
    return (
        f'duration = "{PATIENCE_S + 30} s"\n[links.satellite]\nrate = "{rate_mbit} Mbit/s"\ndelay = "{rtt_ms / 2} ms"\n'
        f'queue = {{ kind = "drop-tail", limit = "{queues[0]} B" }}\n{lossy}'
        f'reverse = {{ rate = "{back} Mbit/s", queue = {{ kind = "drop-tail", limit = "{queues[1]} B" }} }}\n'
        '[[flows]]\nreal = true\npath = ["user", "satellite", "server"]\ntraffic = { kind = "bulk" }\n'
    )


def contestants(quic, folder, size, window):
    """For each name: the server's command, if it is not skyhop's own, the client's, and the kernel's congestion control."""
    key, certificate = folder / "link.key", folder / "certificate"
    rows = {
        "STP": (f"{SKYHOP} stp serve --key {key} --to - --once --quiet", [SKYHOP, "stp", "bench", "10.0.0.2", "--key", key], "cubic")
    }
    rows["STP"][1].extend(["--size", f"{size} B", "--json", "--quiet"])
    for law in ("cubic", "bbr") if quic else ():
        serve = f"exec {quic} serve 0.0.0.0:4433 {certificate} {window}"
        send = [quic, "send", "10.0.0.2:4433", certificate, window, size, law]
        rows[f"QUIC {law}"] = (serve, send, "cubic")
    for law in ("cubic", "bbr"):
        rows[f"TCP {law}"] = (None, [sys.executable, "-c", SEND_TCP, size], law)
    return rows


def run(folder, server, client, law, window):
    """Seconds, or None if it was stopped; bytes that came back; the run's objections."""
    out = folder / "out"
    # The kernel takes half of a receive buffer as the window.
    limits = [f"net.ipv4.tcp_{way}mem=4096 131072 {2 * window}" for way in "rw"]
    command = [SKYHOP, "emulate", folder / "scenario.toml", "--quiet", "--late", "1 ms", "--tcp", law, "--out", out]
    command += [word for limit in limits for word in ("--sysctl", limit)]
    if server:
        command += ["--server", server]
    command += ["--", "timeout", PATIENCE_S, *client]
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True)
    found = json.loads((out / "summary.json").read_text())["emulation"]
    if done.returncode not in (0, 124):
        sys.exit(f"{client[0]}: {done.returncode}\n{done.stderr}")
    seconds = None
    if done.returncode == 0:
        try:
            seconds = float(done.stdout)
        except ValueError:
            seconds = json.loads(done.stdout)["duration_s"]
    return seconds, found["hosts"]["server"]["read_bytes"], found["objections"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rate", type=int, nargs="?", choices=sorted({path[0] for path in PATHS}), help="rows of this rate alone, Mbit/s")
    parser.add_argument("rtt", type=int, nargs="?", choices=sorted({path[1] for path in PATHS}), help="and of this RTT, ms")
    args = parser.parse_args()
    wanted = [value for value in (args.rate, args.rtt) if value]
    if not SKYHOP.exists():
        sys.exit("make build first")
    quic = build_quic()
    print("Mbit/s  RTT ms  loss %  transport    seconds  return bytes  objections")
    lost = []
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        subprocess.run([SKYHOP, "stp", "key", "--out", folder / "link.key"], check=True, capture_output=True)
        for rate, rtt, loss in PATHS:
            if wanted and [rate, rtt][: len(wanted)] != wanted:
                continue
            (folder / "scenario.toml").write_text(scenario(rate, rtt, loss))
            size = min(100_000_000, int(rate * 1e6 / 8 * 10))
            window = max(int(2 * rate * 1e6 / 8 * rtt / 1e3), 1 << 18)
            results = {}
            for name, (server, client, law) in contestants(quic, folder, size, window).items():
                seconds, back, objections = run(folder, server, client, law, window)
                results[name] = (seconds or float("inf"), back)
                shown = f"{seconds:8.2f}" if seconds else f"{'>' + str(PATIENCE_S):>8}"
                print(f"{rate:6}  {rtt:6}  {loss * 100:6.0f}  {name:11}  {shown}  {back:12}  {'; '.join(objections)}", flush=True)
            ours = results.pop("STP")
            for what, index in (("seconds", 0), ("return bytes", 1)):
                better = [name for name, theirs in results.items() if theirs[index] < ours[index]]
                if better:
                    lost.append(f"{rate} Mbit/s, {rtt} ms, {loss * 100:.0f} %: {what}: {', '.join(better)} before STP")
    print("\n".join(lost) or "STP is first in time and in return bytes on every row")


if __name__ == "__main__":
    main()
