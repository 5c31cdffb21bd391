"""The emulator beside a naive relay: processor time a packet, lateness, round trips.

Both carry the same download over the same rate and delay, one after the other in each round, so that a busy machine slows both. The naive relay
(crates/emulate/examples/naive.rs) makes a system call for each packet and has no queue, no loss and no record.

    python3 bench/emulate.py            a table
"""

import json
import pathlib
import statistics
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
SKYHOP = ROOT / "target/release/skyhop"
NAIVE = ROOT / "target/release/examples/naive"
ROUNDS = 3
CASES = [(200, 10, "50MB"), (1000, 10, "250MB")]


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


def main():
    subprocess.run(["cargo", "build", "-q", "--release", "--locked", "-p", "skyhop-emulate", "--example", "naive"], cwd=ROOT, check=True)
    if not SKYHOP.exists():
        sys.exit("make build first")
    print("rate Mbit/s  skyhop Mbit/s  us a packet  naive Mbit/s  us a packet  ratio  late p50 us  p99 us")
    with tempfile.TemporaryDirectory() as folder:
        for rate, delay, size in CASES:
            rounds = []
            for _ in range(ROUNDS):
                rounds.append((emulated(rate, delay, size, pathlib.Path(folder)), naive(rate, delay, size)))
            ours = [statistics.median(one[0][i] for one in rounds) for i in (0, 1)]
            theirs = [statistics.median(one[1][i] for one in rounds) for i in (0, 1)]
            late = [statistics.median(one[0][2]["release"][key] for one in rounds) * 1e6 for key in ("late_p50_s", "late_p99_s")]
            ratio = statistics.median(one[0][1] / one[1][1] for one in rounds)
            print(
                f"{rate:11} {ours[0]:14.0f} {ours[1]:12.2f} {theirs[0]:13.0f} {theirs[1]:12.2f} {ratio:6.2f} {late[0]:12.0f} {late[1]:7.0f}"
            )


main()
