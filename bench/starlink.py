"""STP, CUBIC and BBR over a measured Starlink link: what each has in 110 s, for losses from none to one in fifty.

The link follows LeoCC's published example of rates and delays (`../shared/data`); its queue holds 300 kB, and the way back has 20 Mbit/s
and 12 ms.
Differs from the link: losses are independent, as the trace has none. Skips where there is no `../shared`.

    python3 bench/starlink.py        three seeds; Mbit/s
"""

import gzip
import json
import pathlib
import subprocess
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
SKYHOP = ROOT / "target/release/skyhop"
TRACE = ROOT.parent / "shared/data/starlink-leocc-example"
TCP = 'kind = "tcp", variant = "%s", window = "200 MB", send_buffer_max = "200 MB"'
TRANSPORTS = {"STP": 'kind = "stp"', "CUBIC": TCP % "cubic", "BBR": TCP % "bbr"}
LOSSES = [0, 0.001, 0.005, 0.02]
SECONDS = 110
SEEDS = range(9001, 9004)
SCENARIO = """duration = "%d s"
[links.starlink]
rate = "100 Mbit/s"
delay = "15 ms"
trace = "link.csv"
queue = { kind = "drop-tail", limit = "300 kB" }
loss = { kind = "packets", probability = %s }
reverse = { trace = "back.csv", loss = { kind = "none" } }
[[flows]]
name = "a"
path = ["server", "starlink", "user"]
transport = { %s }
traffic = { kind = "bulk" }
"""


def mbit(folder: pathlib.Path, transport: str, loss: float, seed: int) -> float:
    scenario = folder / "scenario.toml"
    scenario.write_text(SCENARIO % (SECONDS, loss, transport))
    command = [SKYHOP, "run", scenario, "--json", "-q", "--seed", str(seed)]
    result = json.loads(subprocess.run(command, capture_output=True, check=True, text=True).stdout)
    return result["flows"]["a"]["bytes_delivered"] * 8e-6 / SECONDS


def main() -> None:
    if not TRACE.exists():
        print(f"skipped: {TRACE} is missing")
        return
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        rates = folder / "rates.txt"
        rates.write_bytes(gzip.decompress((TRACE / "bw_example.txt.gz").read_bytes()))
        files = [rates, TRACE / "delay_example.txt", "--out", folder / "link.csv"]
        subprocess.run([SKYHOP, "trace", "import", "leocc", *files], check=True, capture_output=True)
        (folder / "back.csv").write_text("t_s,rate_bps,delay_s\n0,20000000,0.012\n")
        print("Mbit/s, three seeds")
        for loss in LOSSES:
            for kind, transport in TRANSPORTS.items():
                got = [mbit(folder, transport, loss, seed) for seed in SEEDS]
                print(f"{loss:>6} lost  {kind:<6}", *(f"{rate:6.1f}" for rate in got), flush=True)


if __name__ == "__main__":
    main()
