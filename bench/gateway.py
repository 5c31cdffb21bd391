"""What a gateway does for the users behind a satellite link, with the kernel's TCP at both ends.

`make bench-gateway`, or `python3 bench/gateway.py [thesis|narrow|faults|load|rules ...]` with the command built; needs root, nft and curl.
Namespaces: a server, 20 ms and a competing flow to the hub, 600 ms to the terminal, a user. docs/gateway.md has the tables.
"""

import concurrent.futures
import hashlib
import json
import socket
import struct
import subprocess
import sys
import tempfile
import time

from lab import COMPETING, HUB_AT, ROOT, SERVER, SKYHOP, Failed, Lab, link_scenario, wait

ALLOW = 'allow = ["10.4.0.0/16", "fd00:4::/32"]\n'


def serve(lab):
    lab.start("server", "serve", sys.executable, ROOT / "bench/serve.py", "80")
    wait(lambda: lab.run("server", "ss", "-Hltn", "sport = :80"), "no server", log=lambda: lab.text("serve"))


def fetch(lab, size, variant=None, host=SERVER, most=600):
    """Seconds that a download takes."""
    path = f"{variant}/bytes" if variant else "bytes"
    words = ["curl", "-gso", "/dev/null", "-m", most, "-w", "%{time_total} %{size_download}", f"http://{host}/{path}/{size}"]
    seconds, got = lab.run("user", *words).split()
    if int(got) != size:
        raise Failed(f"{got} of {size} bytes")
    return float(seconds)


def fetch_for(lab, seconds, variant):
    """Bits per second of a download in its first so many seconds."""
    words = ["curl", "-gso", "/dev/null", "-m", seconds, "-w", "%{size_download}", f"http://{SERVER}/{variant}/bytes/1000000000"]
    done = subprocess.run(lab.inside("user", *words), capture_output=True, text=True)
    return int(done.stdout) * 8 / seconds


def counters(lab, name, device):
    """Bytes and packets of a device, received and sent."""
    stats = json.loads(lab.run(name, "ip", "-s", "-j", "link", "show", "dev", device))[0]["stats64"]
    return {way: stats[way]["bytes"] for way in ("rx", "tx")}


def both_ways(lab, work):
    """What `work` takes, and the bytes that came and went over the terminal's link meanwhile."""
    before = counters(lab, "term", "wan")
    took = work()
    time.sleep(1.0)
    after = counters(lab, "term", "wan")
    return took, after["rx"] - before["rx"], after["tx"] - before["tx"]


def thesis():
    """The thesis's case (HT figures 4.13 to 4.22): 50 MB over 10 Mbit/s and 600 ms, behind 20 ms with a competing flow."""
    size, rate, seconds = 50_000_000, 10e6, 120
    internet = link_scenario("100 Mbit/s", "100 Mbit/s", 10, queue=200, flows=COMPETING)
    rows = []
    with Lab(link_scenario("10 Mbit/s", "1 Mbit/s", 290, queue=500), internet) as lab:
        serve(lab)
        for variant in ("reno", "cubic", "bbr"):
            rows.append((f"end to end, {variant}, {seconds} s", *both_ways(lab, lambda v=variant: fetch_for(lab, seconds, v))))
        lab.gateways(hub=ALLOW)
        for variant in ("reno", "cubic", "bbr"):
            rows.append((f"split, {variant} from the server", *both_ways(lab, lambda v=variant: size * 8 / fetch(lab, size, v))))
    print("| connection | Mbit/s | of the link | bytes back, of those down |\n|---|---|---|---|")
    for name, goodput, down, up in rows:
        print(f"| {name} | {goodput / 1e6:.2f} | {100 * goodput / rate:.0f} % | {100 * up / down:.2f} % |", flush=True)
    by_name = {name: (goodput, up / down) for name, goodput, down, up in rows}
    reno, split = by_name[f"end to end, reno, {seconds} s"], by_name["split, reno from the server"]
    hold(split[0] >= 0.90 * rate, "split with STP: at least 90 % of the satellite's rate")
    hold(split[0] >= 3 * reno[0], "at least 3 times end-to-end reno")
    hold(split[1] <= 0.003, "bytes back at most 0.3 %")


def narrow():
    """A page of ten objects with 1 kbit/s back (HT 5.3)."""
    with Lab(link_scenario("10 Mbit/s", "1 kbit/s", 290, queue=500)) as lab:
        serve(lab)
        lab.gateways(hub=ALLOW)
        took = []
        for _ in range(3):
            begun = time.monotonic()
            with concurrent.futures.ThreadPoolExecutor(6) as pool:
                list(pool.map(lambda _: fetch(lab, 10_000, most=300), range(10)))
            took.append(time.monotonic() - begun)
    print("1 kbit/s back, ten objects of 10 kB by six connections: " + ", ".join(f"{t:.1f} s" for t in took))
    hold(max(took) < 120, "the page loads")


results = []


def hold(true, what):
    results.append(bool(true))
    print(f"{'holds ' if true else 'FAILS '} {what}", flush=True)


def main():
    cases = {case.__name__: case for case in (thesis, narrow)}
    wanted = sys.argv[1:] or list(cases)
    for name in wanted:
        if name not in cases:
            print(f"{name}: one of {', '.join(cases)}", file=sys.stderr)
            return 2
    for name in wanted:
        print(f"\n{cases[name].__doc__.splitlines()[0]}\n")
        try:
            cases[name]()
        except Failed as e:
            hold(False, f"{name}: {e}")
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
