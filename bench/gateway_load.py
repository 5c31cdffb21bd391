"""A gateway under load and under attack: its memory, its processor time and the effect on others. Cases of bench/gateway.py.

Memory is the kernel's VmRSS of each daemon, processor time its utime and stime, so a busy machine changes neither.
"""

import json
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

from lab import HUB_AT, ROOT, SERVER, SKYHOP, Failed, Lab, fetch, link_scenario, run, serve, wait

ALLOW = 'allow = ["10.4.0.0/16", "fd00:4::/32"]\n'
USERS = [f"10.1.0.{n}" for n in range(100, 200)]


def pid_of(process):
    """The PID of the daemon: `ip netns exec` has replaced itself with it."""
    return process.pid


def memory_mb(process):
    for line in Path(f"/proc/{pid_of(process)}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) / 1024
    raise Failed("no VmRSS")


def cpu_s(process):
    fields = Path(f"/proc/{pid_of(process)}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def users(lab):
    for address in USERS:
        lab.run("user", "ip", "address", "add", f"{address}/24", "dev", "eth0")


def load_program():
    """Builds crates/gateway/examples/load.rs; an interpreter could not open a hundred connections a second during the measurement."""
    run("cargo", "build", "-q", "--release", "--locked", "-p", "skyhop-gateway", "--example", "load", cwd=ROOT)
    return ROOT / "target/release/examples/load"


def load_server(lab):
    lab.start("server", "load", load_program(), "serve", "90")
    wait(lambda: lab.run("server", "ss", "-Hltn", "sport = :90"), "no server", log=lambda: lab.text("load"))


def learnt(hold):
    """The same load with rates that STP learns."""
    load(hold, promised=False)


def endings(lab, name, port):
    """Connections that did not end cleanly, by the daemon's counters."""
    text = lab.run(name, "curl", "-s", f"http://127.0.0.1:{port}/metrics").splitlines()
    counted = [line.removeprefix("skyhop_gateway_") for line in text if line.startswith(("skyhop_gateway_refused", "skyhop_gateway_conn"))]
    return [line for line in counted if ("refused" in line or "over_total" in line) and not line.endswith(" 0")]


def load(hold, seconds=600, promised=True):
    """10,000 connections of 100 users, 200 new ones per second, for 10 minutes, with a permanent download of each user."""
    with Lab(link_scenario("20 Mbit/s", "10 Mbit/s", 30, queue=500)) as lab:
        load_server(lab)
        users(lab)
        # As on a provisioned link; the rest of each direction is for headers of the link and for the emulator's own time.
        rates = [f'rate = "{rate} Mbit/s"\npromised = true\n' if promised else "" for rate in ("19.5", "9.5")]
        lab.gateways(hub=ALLOW + rates[0], terminal=rates[1])
        words = lab.inside("user", load_program(), "hold", f"{SERVER}:90", "10000", "200", seconds, *USERS)
        client = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
        print("| s | open | hub, MB | terminal, MB |\n|---|---|---|---|")
        held, said = [], {}
        for line in client.stdout:
            said = json.loads(line)
            if "at" in said:
                both = [memory_mb(lab.hub), memory_mb(lab.terminal)]
                held.append((said["at"], *both))
                if said["at"] % 60 < 10:
                    print(f"| {said['at']} | {said['open']} | {both[0]:.0f} | {both[1]:.0f} |", flush=True)
        client.wait()
        status = [lab.status(name) for name in ("hub", "term")]
        print("; ".join(f"{name}: {', '.join(endings(lab, name, port))}" for name, port in (("hub", 9464), ("term", 9465))))
    print(f"{said}; lost with an association: {[s['connections_lost'] for s in status]}")
    full = [(hub, terminal) for at, hub, terminal in held if at > 60]
    halves = full[: len(full) // 2], full[len(full) // 2 :]
    most = [max(max(pair) for pair in half) for half in halves]
    hold(said["lost"] == 0, f"none of {said['opened']} connections is lost")
    hold(said["closed"] == said["opened"], "each is closed at both ends, with what was sent")
    hold(said["jain"] >= 0.95, f"Jain among users {said['jain']}, at least 0.95")
    # The buffers of an association's connections in both directions, and a tenth more.
    hold(most[1] < 2 * 64 * 1.1, f"at most {most[1]:.0f} MB, within the budget of 64 MB each way")
    hold(most[1] <= most[0] * 1.1 + 2, f"flat: {most[0]:.0f} MB in the first half, {most[1]:.0f} MB in the second")


def idle(hold):
    """10,000 idle connections: memory and processor time of each daemon."""
    with Lab(link_scenario("100 Mbit/s", "100 Mbit/s", 5)) as lab:
        load_server(lab)
        users(lab)
        lab.gateways(hub=ALLOW)
        both = (lab.hub, lab.terminal)
        before = [memory_mb(process) for process in both]
        words = lab.inside("user", load_program(), "idle", f"{SERVER}:90", "10000", *USERS)
        client = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        said = client.stdout.readline().split()
        after = [memory_mb(process) for process in both]
        begun, spent = time.monotonic(), [cpu_s(process) for process in both]
        time.sleep(10)
        spent = [cpu_s(process) - s for process, s in zip(both, spent)]
        took = time.monotonic() - begun
        client.stdin.close()
        client.wait()
    for name, b, a, s in zip(("hub", "terminal"), before, after, spent):
        each = (a - b) * 1024 / 1e4
        print(f"{name}: {b:.1f} MB before, {a:.1f} MB with {said[1]} connections, {each:.2f} kB each, {s / took:.3f} of a processor")
    hold(said == ["open", "10000"], "10,000 are open")
    hold(max(after) <= 100, "at most 100 MB in each daemon")
    hold(max(spent) / took <= 0.05, "idle: at most 5 % of a processor")


FLOOD = """
import random, socket, struct, sys, time
source, target, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
def total(data):
    words = sum(struct.unpack("!%dH" % (len(data) // 2), data))
    words = (words & 0xffff) + (words >> 16)
    return ~((words & 0xffff) + (words >> 16)) & 0xffff
s = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_RAW)
addresses = socket.inet_aton(source) + socket.inet_aton(target)
begun = time.monotonic()
for n in range(count):
    tcp = struct.pack("!HHIIBBHHH", 1024 + n % 60000, 80, random.getrandbits(32), 0, 0x50, 2, 65535, 0, 0)
    sum_ = total(addresses + struct.pack("!HH", 6, len(tcp)) + tcp)
    tcp = tcp[:16] + struct.pack("!H", sum_) + tcp[18:]
    s.sendto(struct.pack("!BBHHHBBH", 0x45, 0, 40, n & 0xffff, 0, 64, 6, 0) + addresses + tcp, (target, 0))
    late = n / 4000 - (time.monotonic() - begun)
    if late > 0.01:
        time.sleep(late)
print(time.monotonic() - begun)
"""


def flood(hold):
    """20,000 SYN of a user that does not answer, during the download of another."""
    size = 8_000_000
    with Lab(link_scenario("10 Mbit/s", "2 Mbit/s", 100)) as lab:
        serve(lab)
        lab.gateways(hub=ALLOW)
        fetch(lab, size)
        alone = min(fetch(lab, size) for _ in range(2))
        before = [memory_mb(process) for process in (lab.hub, lab.terminal)]
        most = before[:]
        # The source address is unassigned: no host there answers with a reset.
        words = lab.inside("user", sys.executable, "-c", FLOOD, "10.1.0.66", SERVER, 20_000)
        attack = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
        time.sleep(0.5)
        begun = time.monotonic()
        user = subprocess.Popen(lab.inside("user", "curl", "-gso", "/dev/null", "-w", "%{size_download}", f"http://{SERVER}/bytes/{size}"),
                                stdout=subprocess.PIPE, text=True)
        while user.poll() is None:
            most = [max(m, memory_mb(p)) for m, p in zip(most, (lab.hub, lab.terminal))]
            time.sleep(0.1)
        took = time.monotonic() - begun
        got = int(user.stdout.read())
        lasted = float(attack.communicate()[0])
        after = [lab.status(name)["connections"] for name in ("hub", "term")]
    print(f"alone {alone:.2f} s, during 20,000 SYN in {lasted:.1f} s {took:.2f} s; hub {before[0]:.1f} to {most[0]:.1f} MB, "
          f"terminal {before[1]:.1f} to {most[1]:.1f} MB; connections then {after}")
    hold(got == size and alone / took >= 0.8, f"the other keeps {100 * alone / took:.0f} %, at least 80 %")
    hold(all(m <= b + 16 for m, b in zip(most, before)), "memory is bounded: at most 16 MB more")


RELAY = """
import socket, sys, time
host, port, size = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
with socket.create_connection((host, port)) as s:
    s.sendall(b"GET /zeros/%d HTTP/1.1\\r\\n\\r\\n" % size)
    buffer, left, begun = bytearray(1 << 20), size, time.monotonic()
    while left > 0:
        left -= s.recv_into(buffer)
print(time.monotonic() - begun)
"""

ZEROS = """
import socket, sys, threading
server = socket.create_server(("0.0.0.0", int(sys.argv[1])))
piece = bytes(1 << 20)
def answer(s):
    try:
        left = int(s.recv(4096).split()[1].split(b"/")[-1])
        while left > 0:
            left -= s.send(piece[: min(left, len(piece))])
        s.close()
    except OSError:
        pass
while True:
    threading.Thread(target=answer, args=(server.accept()[0],), daemon=True).start()
"""


def processor(hold, size=1_000_000_000, turns=3):
    """Processor time per Gbit of both gateways and of a plain relay in user space (socat), over links that take no processor time."""
    with Lab(None) as lab:
        lab.start("server", "zeros", sys.executable, "-c", ZEROS, 80)
        wait(lambda: lab.run("server", "ss", "-Hltn", "sport = :80"), "no server", log=lambda: lab.text("zeros"))
        relay = lab.start("term", "socat", "socat", "-b", "65536", "TCP-LISTEN:81,reuseaddr,fork", f"TCP:{SERVER}:80")
        wait(lambda: lab.run("term", "ss", "-Hltn", "sport = :81"), "no relay", log=lambda: lab.text("socat"))
        # One child per connection: its time is added to the relay's when it ends.
        fields = lambda: Path(f"/proc/{pid_of(relay)}/stat").read_text().rsplit(")", 1)[1].split()[13:15]
        of_relay = lambda: sum(map(int, fields())) / os.sysconf("SC_CLK_TCK")

        def plain():
            before = of_relay()
            took = relayed(lab, 81, "10.1.0.1", size)
            wait(lambda: of_relay() > before, "the relay's child has not ended")
            return of_relay() - before, took

        def both():
            before = cpu_s(lab.hub) + cpu_s(lab.terminal)
            took = relayed(lab, 80, SERVER, size)
            return cpu_s(lab.hub) + cpu_s(lab.terminal) - before, took

        rows = []
        for mtu in (1500, 9000):
            devices(lab, mtu)
            relayed(lab, 80, SERVER, size)
            plain()
            # In turns, as other work on this machine changes both.
            rows.append((mtu, [(both(), plain()) for _ in range(turns)]))
    gbit = size * 8 / 1e9
    print("| packets | hub and terminal, s a Gbit | socat, s a Gbit | ratios | Gbit/s |\n|---|---|---|---|---|")
    for mtu, pairs in rows:
        ours, its = (statistics.median(pair[n][0] for pair in pairs) / gbit for n in (0, 1))
        ratios = sorted(one[0] / other[0] for one, other in pairs)
        rate = statistics.median(gbit / one[1] for one, _ in pairs)
        print(f"| {mtu} | {ours:.3f} | {its:.3f} | {', '.join(f'{ratio:.1f}' for ratio in ratios)} | {rate:.2f} |", flush=True)
        hold(statistics.median(ratios) <= 3, f"at most three times a plain relay's, packets of {mtu}")


def relayed(lab, port, host, size):
    """The duration of a download by the user, s."""
    return float(lab.run("user", sys.executable, "-c", RELAY, host, port, size))


def devices(lab, mtu):
    """Sets the MTU between hub and terminal, and starts both with it."""
    for name in ("term", "sat", "hub"):
        for device in {"term": ["wan"], "sat": ["home", "hub"], "hub": ["link"]}[name]:
            lab.run(name, "ip", "link", "set", "dev", device, "mtu", mtu)
    if mtu == 1500:
        return lab.gateways(hub=ALLOW)
    for name in ("hub.toml", "home.toml"):
        file = lab.folder / name
        file.write_text(file.read_text().replace("memory =", f"mtu = {mtu}\nmemory ="))
    for process in (lab.terminal, lab.hub):
        process.terminate()
        process.wait()
    lab.start_hub()
    lab.start_terminal()
    wait(lambda: all(lab.status(end)["peers"][0]["up"] for end in ("hub", "term")), "no association", 30)


def held(hold, size=25_000_000):
    """Bytes that the hub holds of one download (HT 4.3.1: two to three times rate times round trip), by the memory of both gateways."""
    rate, product, rows = 10e6, 10e6 / 8 * 0.582, []
    for memory in (1_500_000, 2_000_000, 4_000_000, 64_000_000):
        with Lab(link_scenario("10 Mbit/s", "1 Mbit/s", 290, queue=500)) as lab:
            serve(lab)
            lab.gateways(hub=ALLOW + 'rate = "10 Mbit/s"\npromised = true\n')
            for process in (lab.terminal, lab.hub):
                process.terminate()
                process.wait()
            for name in ("hub.toml", "home.toml"):
                file = lab.folder / name
                file.write_text(file.read_text().replace('"64 MB"', f'"{memory} B"'))
            lab.start_hub()
            lab.start_terminal()
            wait(lambda: all(lab.status(end)["peers"][0]["up"] for end in ("hub", "term")), "no association", 30)
            words = ["curl", "-gso", "/dev/null", "-m", 120, "-w", "%{size_download} %{time_total}", f"http://{SERVER}/reno/bytes/{size}"]
            download = subprocess.Popen(lab.inside("user", *words), stdout=subprocess.PIPE, text=True)
            samples = []
            while download.poll() is None:
                state = lab.status("hub")
                flows = [flow for flow in state["flows"] if flow["state"] == "open"]
                waiting = lab.run("hub", "ss", "-Htn", "state", "established", "dst", SERVER).split()
                if flows and waiting:
                    samples.append((state["peers"][0]["in_flight_bytes"] + flows[0]["unsent_bytes"], int(waiting[0])))
                time.sleep(1.0)
            loaded, took = download.stdout.read().split()
            hold(int(loaded) == size, f"memory of {memory / 1e6} MB: whole")
            stream, both = max(own for own, _ in samples), max(map(sum, samples))
            rows.append((memory, size * 8 / float(took), stream, both))
    print("| memory | of the product | Mbit/s | in the association at most | with the socket's buffer |\n|---|---|---|---|---|")
    for memory, goodput, stream, both in rows:
        held = [f"{count / 1e6:.2f} MB, {count / product:.1f}" for count in (stream, both)]
        print(f"| {memory / 1e6:g} MB | {memory / product:.1f} | {goodput / 1e6:.2f} | {held[0]} | {held[1]} |")
    enough = [stream for _, goodput, stream, _ in rows if goodput >= 0.85 * rate]
    hold(bool(enough), "85 % of the rate is reached")
    hold(all(product < stream <= 3 * product for stream in enough), "with one to three products held in the association")


def terminals(hold):
    """1,000 idle and 50 busy terminals on one hub, on loopback (crates/gateway/tests/terminals.rs)."""
    words = ["cargo", "test", "-q", "--release", "--locked", "-p", "skyhop-gateway", "--test", "terminals"]
    words += ["--", "--ignored", "--exact", "a_thousand_terminals_share_a_hub", "--nocapture"]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True)
    print(done.stdout + done.stderr, end="")
    hold(done.returncode == 0, "1,000 idle and 50 busy terminals on one hub")
