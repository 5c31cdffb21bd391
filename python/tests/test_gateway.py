"""A gateway that intercepts: kernels' TCP, the firewall and routes, in network namespaces (bench/lab.py).

Follows docs/gateway.md. The satellite link is short here, so that a test takes seconds; bench/gateway.py has the thesis's path.
"""

import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench"))
lab = pytest.importorskip("lab")


def missing():
    if os.geteuid() != 0:
        return "needs root, for network namespaces"
    for program in ("nft", "ip", "curl"):
        if not shutil.which(program):
            return f"needs {program}"
    if not Path(lab.SKYHOP).exists():
        return f"needs the command: {lab.SKYHOP}"
    if not Path("/dev/net/tun").exists():
        return "needs TUN devices"
    name = f"skyhop-{os.getpid()}"
    inside = ["ip", "netns", "exec", name]
    tries = {
        "network namespaces": ["ip", "netns", "add", name],
        "a kernel with nftables": [*inside, "nft", "add table inet t"],
        "veth devices": [*inside, "ip", "link", "add", "dev", "a", "type", "veth", "peer", "name", "b"],
        "IPv6": [*inside, "sysctl", "-qw", "net.ipv6.conf.all.forwarding=1"],
    }
    try:
        for what, command in tries.items():
            if subprocess.run(command, capture_output=True).returncode:
                return f"needs {what}"
    finally:
        subprocess.run(["ip", "netns", "del", name], capture_output=True)
    return None


REASON = missing()


pytestmark = pytest.mark.skipif(REASON is not None, reason=str(REASON))

# One echo request and its reply (RFC 792), without an external program.
ECHO = """import socket, struct, sys
s = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP)
s.settimeout(5)
request = struct.pack("!BBHHH", 8, 0, 0, 77, 1)
words = sum(struct.unpack("!4H", request))
request = request[:2] + struct.pack("!H", ~words & 0xFFFF) + request[4:]
s.sendto(request, (sys.argv[1], 0))
while True:
    packet, (host, _) = s.recvfrom(100)
    if packet[20] == 0 and packet[24:28] == request[4:] and host == sys.argv[1]:
        print("answered by", host)
        break
"""

ALLOW = 'allow = ["10.4.0.0/16", "fd00:4::/32"]\n'


@pytest.fixture(scope="module")
def path():
    with lab.Lab(lab.link_scenario("20 Mbit/s", "5 Mbit/s", 20)) as made:
        made.start("server", "serve", sys.executable, ROOT / "bench/serve.py", "80", "names")
        lab.wait(lambda: made.run("server", "ss", "-Hltn", "sport = :80"), "no server", log=lambda: made.text("serve"))
        made.gateways(hub=ALLOW + 'silence = "4 s"', terminal='silence = "4 s"')
        yield made


CLIENT = """
import hashlib, json, random, socket, sys
host, port, size, seed = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4])
data = random.Random(seed).randbytes(size)
with socket.create_connection((host, port), 20) as s:
    s.settimeout(60)
    s.sendall(data)
    s.shutdown(socket.SHUT_WR)
    got = b"".join(iter(lambda: s.recv(65536), b""))
print(json.dumps([got.decode().strip(), hashlib.sha256(data).hexdigest()]))
"""


def upload(path, host, size, seed=1):
    said, expected = eval(path.run("user", sys.executable, "-c", CLIENT, host, 81, size, seed))
    assert said == f"{expected} {size}"


def download(path, host, size, *more):
    words = ["curl", "-gso", "/dev/null", "-m", "60", "-w", "%{size_download} %{time_connect}", *more, f"http://{host}/bytes/{size}"]
    got, connect = path.run("user", *words).split()
    assert int(got) == size
    return float(connect)


def split_here(path):
    """A connection is split if its handshake takes less than the round trip of 40 ms. On a busy machine one of three may take longer."""
    return any(download(path, lab.SERVER, 1000) < 0.02 for _ in range(3))


def opened(path):
    return path.status("term")["connections_opened"]


@pytest.mark.parametrize("host", [lab.SERVER, "[fd00:4:0::1]"])
def test_connections_of_both_versions_are_split(path, host):
    before, times = opened(path), []
    # The terminal completes the handshake, without the round trip of 40 ms. On a busy machine one of five may take longer.
    while len(times) < 5 and not (times and times[-1] < 0.02):
        times.append(download(path, host, 1_000_000))
    assert times[-1] < 0.02, times
    upload(path, host.strip("[]"), 500_000)
    assert opened(path) == before + len(times) + 1
    lab.wait(lambda: path.status("hub")["connections"] == 0, "connections stay")


def test_a_refused_port_is_a_reset(path):
    script = "import socket; s = socket.create_connection(('%s', 9), 5); s.settimeout(5); print(repr(s.recv(1)))" % lab.SERVER
    done = subprocess.run(path.inside("user", sys.executable, "-c", script), capture_output=True, text=True)
    assert "ConnectionResetError" in done.stderr, done


def test_what_is_not_to_be_split_passes(path):
    before = opened(path)
    # A tunnel's port, and the terminal itself.
    for host, port in ((lab.SERVER, 1194), ("10.1.0.1", 80)):
        script = f"import socket; socket.create_connection(('{host}', {port}), 5)"
        done = subprocess.run(path.inside("user", sys.executable, "-c", script), capture_output=True, text=True)
        assert "ConnectionRefusedError" in done.stderr, done
    assert path.run("user", sys.executable, "-c", ECHO, lab.SERVER)
    assert opened(path) == before


def test_a_foreign_table_is_left_alone(path):
    foreign = "table inet other {\nchain c {\ntype filter hook forward priority 0\ncounter\n}\n}\n"
    path.run("term", "nft", foreign)
    listed = lambda: path.run("term", "nft", "-s", "list", "table", "inet", "other")
    before = listed()
    path.terminal.send_signal(1)
    lab.wait(lambda: "reloaded" in path.text("term"), "no reload")
    assert listed() == before
    path.terminal.terminate()
    assert path.terminal.wait(60) == 0
    tables = path.run("term", "nft", "list", "tables")
    assert "skyhop" not in tables and "other" in tables
    assert "0x736b79" not in path.run("term", "ip", "rule")
    assert listed() == before
    path.start_terminal()
    lab.wait(lambda: path.status("term")["peers"][0]["up"], "no association")
    assert listed() == before
    path.run("term", "nft", "delete table inet other")


def test_killed_it_lets_new_connections_pass_and_resets_the_others(path):
    script = (
        "import socket, sys; s = socket.create_connection(('%s', 82), 5); s.sendall(b'x'); print(s.recv(1), flush=True); "
        "s.settimeout(50); print(repr(s.recv(1)))" % lab.SERVER
    )
    held = subprocess.Popen(path.inside("user", sys.executable, "-c", script), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert held.stdout.readline() == "b'x'\n"
    path.terminal.kill()
    path.terminal.wait()
    assert "ConnectionResetError" in held.communicate(timeout=60)[1]
    # The handshake is now with the server.
    assert download(path, lab.SERVER, 10_000) > 0.035
    path.start_terminal()
    lab.wait(lambda: path.status("term")["peers"][0]["up"], "no association")
    assert split_here(path)


def test_without_the_hub_connections_pass_or_are_refused(path):
    file = path.folder / "home.toml"
    text = file.read_text()
    for fail, passes in (("open", True), ("closed", False)):
        file.write_text(text.replace('fail = "open"', f'fail = "{fail}"'))
        path.terminal.send_signal(1)
        path.hub.kill()
        path.hub.wait()
        lab.wait(lambda: not path.status("term")["peers"][0]["up"], "the association stays")
        done = subprocess.run(
            path.inside("user", "curl", "-gso", "/dev/null", "-m", "10", f"http://{lab.SERVER}/bytes/1000"), capture_output=True
        )
        assert (done.returncode == 0) == passes, (fail, done)
        path.start_hub()
        lab.wait(lambda: path.status("term")["peers"][0]["up"], "no association")
        assert split_here(path)
    file.write_text(text)
    path.terminal.send_signal(1)


SERVICE = """
import socket, sys
host, dscp = sys.argv[1], int(sys.argv[2])
family = socket.AF_INET6 if ":" in host else socket.AF_INET
with socket.socket(family) as s:
    s.settimeout(10)
    if family == socket.AF_INET:
        s.setsockopt(socket.IPPROTO_IP, socket.IP_TOS, dscp << 2)
        s.setsockopt(socket.IPPROTO_IP, socket.IP_RECVTOS, 1)
    else:
        s.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_TCLASS, dscp << 2)
    s.connect((host, 84))
    print(int(s.recv(99)) >> 2)
"""


def reconfigured(path, name, old, new):
    """Changes a gateway's file, and reloads it."""
    file = path.folder / ("hub.toml" if name == "hub" else "home.toml")
    text = file.read_text()
    assert old in text
    file.write_text(text.replace(old, new, 1))
    process, log = (path.hub, "hub") if name == "hub" else (path.terminal, "term")
    before = path.text(log).count("reloaded")
    process.send_signal(1)
    lab.wait(lambda: path.text(log).count("reloaded") > before, "no reload", log=lambda: path.text(log))
    return text


def test_code_points_pass_and_the_table_changes_them(path):
    asked = lambda host, dscp: int(path.run("user", sys.executable, "-c", SERVICE, host, dscp))
    for host in (lab.SERVER, "fd00:4:0::1"):
        assert [asked(host, dscp) for dscp in (0, 10, 46)] == [0, 10, 46], host
    text = reconfigured(path, "hub", "[terminals", '[[dscp]]\nclient = ["ef", "cs1"]\nserver = "af41"\n\n[terminals')
    assert [asked(lab.SERVER, dscp) for dscp in (10, 46, 8)] == [10, 34, 34]
    # Packets towards the client are counted by the terminal's table, so tcpdump is not required.
    count = "table inet count {\nchain c {\ntype filter hook postrouting priority 0\noifname lan ip dscp cs2 counter\n}\n}\n"
    path.run("term", "nft", count)
    home = reconfigured(path, "term", "[intercept]", '[[dscp]]\nclient = ["cs3"]\nback = "cs2"\npriority = 1\n\n[intercept]')
    assert asked(lab.SERVER, 24) == 24
    listed = path.run("term", "nft", "list", "table", "inet", "count")
    assert "packets 0 " not in listed and "packets" in listed, listed
    path.run("term", "nft", "delete table inet count")
    for name, before in (("hub", text), ("term", home)):
        (path.folder / ("hub.toml" if name == "hub" else "home.toml")).write_text(before)
        (path.hub if name == "hub" else path.terminal).send_signal(1)


DATAGRAMS = """
import socket, sys, time
host, port, sizes = sys.argv[1], int(sys.argv[2]), [int(size) for size in sys.argv[3].split(",")]
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.settimeout(5)
for size in sizes:
    data = bytes([size & 0xFF]) * size
    for attempt in range(5):
        s.sendto(data, (host, port))
        try:
            got, (source, source_port) = s.recvfrom(65535)
            break
        except TimeoutError:
            continue
    assert got == data and (source, source_port) == (host, port), (len(got), source, source_port)
print("echoed")
"""


def test_datagrams_are_carried_whole_and_come_from_the_server(path):
    text = reconfigured(path, "term", 'quic = "pass"', 'quic = "refuse"\nudp = "carry"')
    lab.wait(lambda: "57825" in path.run("term", "ss", "-Hlun"), "no socket for datagrams")

    def metrics(name, what):
        lines = path.run(name, "curl", "-s", f"127.0.0.1:{9465 if name == 'term' else 9464}/metrics").splitlines()
        return sum(int(line.split()[1]) for line in lines if line.startswith(what))

    before = metrics("term", 'skyhop_gateway_datagrams_total{to="link"}')
    # A datagram too large for a packet goes in the stream.
    assert path.run("user", sys.executable, "-c", DATAGRAMS, lab.SERVER, 82, "1,200,1300,1472,9000,60000").strip() == "echoed"
    assert metrics("term", 'skyhop_gateway_datagrams_total{to="link"}') >= before + 6
    assert metrics("hub", 'skyhop_gateway_datagrams_total{to="nobody"}') == 0
    # QUIC is refused, with a report to the client.
    script = (
        "import socket; s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.settimeout(5); "
        f"s.connect(('{lab.SERVER}', 443)); s.send(b'x'); s.recv(1)"
    )
    done = subprocess.run(path.inside("user", sys.executable, "-c", script), capture_output=True, text=True)
    assert "ConnectionRefusedError" in done.stderr, done
    (path.folder / "home.toml").write_text(text)
    path.terminal.send_signal(1)


QUESTIONS = """
import socket, struct, sys, time
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.settimeout(5)
out = []
for n, name in enumerate(sys.argv[2:]):
    if name == "wait":
        time.sleep(3.2)
        continue
    query = struct.pack("!6H", 1000 + n, 0x100, 1, 0, 0, 0)
    query += b"".join(bytes([len(label)]) + label.encode() for label in name.split(".")) + b"\\0\\0\\1\\0\\1"
    begun = time.monotonic()
    s.sendto(query, (sys.argv[1], 53))
    got = s.recv(4096)
    assert got[:2] == query[:2] and got[12:len(query)] == query[12:]
    out.append("%d:%d:%d" % (got[-1], struct.unpack("!I", got[-10:-6])[0], time.monotonic() - begun > 0.03))
print(" ".join(out))
"""


@pytest.mark.parametrize("tcp", [True, False])
def test_names_are_answered_out_of_the_cache_until_their_time_is_over(path, tcp):
    text = reconfigured(path, "term", 'quic = "pass"', 'quic = "pass"\ndns = "cache"')
    lab.wait(lambda: "57825" in path.run("term", "ss", "-Hlun"), "no socket for datagrams")
    if not tcp:
        deny = "table inet deny {\nchain c {\ntype filter hook input priority 0\ntcp dport 53 reject with tcp reset\n}\n}\n"
        path.run("server", "nft", deny)
        # The open stream ends.
        path.terminal.terminate()
        path.terminal.wait(60)
        path.start_terminal()
        lab.wait(lambda: path.status("term")["peers"][0]["up"], "no association")
        lab.wait(lambda: "57825" in path.run("term", "ss", "-Hlun"), "no socket for datagrams")
    names = ["a.example", "A.Example", "b.example", "a.example", "wait", "a.example"]
    asked = lambda: [
        tuple(map(int, word.split(":"))) for word in path.run("user", sys.executable, "-c", QUESTIONS, lab.SERVER, *names).split()
    ]
    said = asked()
    if tcp:
        # Number of the answer, its time to live, and true if it has crossed the link.
        def cached(said):
            as_expected = [(n - said[0][0], slow) for n, _, slow in said] == [(0, 1), (0, 0), (1, 1), (0, 0), (2, 1)]
            return as_expected and all(ttl in ((2, 3) if not slow else (3,)) for _, ttl, slow in said)

        # On a busy machine an answer out of the cache may be late, or too old: once more, when all names are forgotten.
        for _ in range(2):
            if not cached(said):
                time.sleep(3.5)
                said = asked()
        assert cached(said), said
    else:
        assert [slow for *_, slow in said] == [1] * 5 and "takes no TCP" in path.text("term"), said
        path.run("server", "nft", "delete table inet deny")
    (path.folder / "home.toml").write_text(text)
    path.terminal.send_signal(1)


def test_quic_is_limited_each_way(path):
    text = reconfigured(path, "term", 'quic = "pass"', 'quic = "limit"\nquic_rate = "400 kbit/s"')
    rules = path.run("term", "nft", "list", "table", "inet", "skyhop")
    assert rules.count("limit rate over 50") == 2, rules
    (path.folder / "home.toml").write_text(text)
    path.terminal.send_signal(1)


WITHOUT_PORTS = """
import socket, struct, sys
def opened():
    s = socket.create_connection((sys.argv[1], 82), 10)
    s.settimeout(10)
    s.sendall(b"x")
    return s
held = [opened() for _ in range(8)]
assert all(s.recv(1) == b"x" for s in held)
late = opened()
late.settimeout(2)
try:
    print(repr(late.recv(1)))
except TimeoutError:
    print("waits")
# A reset frees the port of the hub at once, and an end would not.
held[0].setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
held[0].close()
late.settimeout(15)
print(late.recv(1) == b"x", all(s.send(b"y") == 1 for s in held[1:]))
"""


def test_connections_wait_while_the_hub_has_no_free_port(path):
    before = path.run("hub", "sysctl", "-n", "net.ipv4.ip_local_port_range").split()
    path.run("hub", "sysctl", "-qw", "net.ipv4.ip_local_port_range=40000 40007")
    try:
        said = path.run("user", sys.executable, "-c", WITHOUT_PORTS, lab.SERVER).split()
    finally:
        path.run("hub", "sysctl", "-qw", f"net.ipv4.ip_local_port_range={' '.join(before)}")
    assert said == ["waits", "True", "True"], path.text("hub")
    assert "no port is free for a connection to 10.4.0.1:82" in path.text("hub")
    metrics = path.run("hub", "curl", "-s", "http://127.0.0.1:9464/metrics")
    waits = int(metrics.split("\nskyhop_gateway_port_waits_total ")[1].split()[0])
    # A hundred of them in ten seconds, as there is one connection.
    assert 1 <= waits <= 100, waits


def test_servers_see_the_client_if_the_file_says_so(path):
    file = path.folder / "hub.toml"
    text = file.read_text()
    script = (
        "import socket; l = socket.create_server(('10.4.0.1', 8000)); l.settimeout(20); c, a = l.accept(); c.sendall(a[0].encode())"
    )
    for source, expected in (("own", "10.4.0.2"), ("client", lab.USER)):
        if source == "client":
            path.hub.terminate()
            path.hub.wait(60)
            file.write_text(text.replace('silence =', 'source = "client"\nsilence ='))
            path.start_hub()
            lab.wait(lambda: path.status("term")["peers"][0]["up"], "no association")
        server = subprocess.Popen(path.inside("server", sys.executable, "-c", script))
        lab.wait(lambda: path.run("server", "ss", "-Hltn", "sport = :8000"), "no server")
        client = "import socket; s = socket.create_connection(('%s', 8000), 10); s.settimeout(10); print(s.recv(99).decode())" % lab.SERVER
        assert path.run("user", sys.executable, "-c", client).strip() == expected, path.text("hub")
        server.wait(60)


def test_a_hub_alone_splits_for_users_who_have_no_gateway():
    with lab.Lab(lab.link_scenario("20 Mbit/s", "5 Mbit/s", 20)) as made:
        made.start("server", "serve", sys.executable, ROOT / "bench/serve.py", "80")
        lab.wait(lambda: made.run("server", "ss", "-Hltn", "sport = :80"), "no server", log=lambda: made.text("serve"))
        made.alone('congestion = "cubic"')
        for host in (lab.SERVER, "[fd00:4:0::1]"):
            # The hub completes the handshake, across the link.
            assert 0.038 < download(made, host, 1_000_000)
            upload(made, host.strip("[]"), 500_000)
        lab.wait(lambda: made.status("hub")["connections"] == 0, "connections stay")
        assert made.status("hub")["connections_closed"] == 4
        test_a_refused_port_is_a_reset(made)
        assert int(made.run("user", sys.executable, "-c", SERVICE, lab.SERVER, 46)) == 46
        held = (
            "import socket, sys; s = socket.create_connection(('%s', 82), 5); s.sendall(b'x'); print(s.recv(1), flush=True); "
            "s.settimeout(50); print(repr(s.recv(1)))" % lab.SERVER
        )
        words = made.inside("user", sys.executable, "-c", held)
        held = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        assert held.stdout.readline() == "b'x'\n"
        made.hub.kill()
        made.hub.wait()
        assert "ConnectionResetError" in held.communicate(timeout=60)[1]
        assert download(made, lab.SERVER, 10_000) > 0.038, "passes unsplit"


STALLED = """
import socket, sys, time
ends = []
for _ in range(int(sys.argv[2])):
    try:
        end = socket.create_connection((sys.argv[1], 80), 10)
        end.sendall(b"GET /bytes/20000000 HTTP/1.0\\r\\nHost: server\\r\\n\\r\\n")
        ends.append(end)
    except ConnectionError:
        pass
    time.sleep(0.2)
time.sleep(1)
waits = []
for end in ends:
    end.settimeout(0.1)
    try:
        assert end.recv(1, socket.MSG_PEEK)
    except TimeoutError:
        waits.append(end)
print(len(waits), flush=True)
sys.stdin.readline()
for end in ends:
    if end not in waits:
        end.close()
for end in waits:
    end.settimeout(20)
    assert end.recv(1)
print("opened", flush=True)
sys.stdin.readline()
"""


def test_a_user_who_does_not_read_leaves_memory_of_a_hub_alone_to_others():
    with lab.Lab(lab.link_scenario("20 Mbit/s", "5 Mbit/s", 20)) as made:
        made.start("server", "serve", sys.executable, ROOT / "bench/serve.py", "80")
        lab.wait(lambda: made.run("server", "ss", "-Hltn", "sport = :80"), "no server", log=lambda: made.text("serve"))
        made.alone('memory = "1 MiB"\nconnect_timeout = "60 s"')
        words = made.inside("user", sys.executable, "-c", STALLED, lab.SERVER, 30)
        stalled = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        waiting = int(stalled.stdout.readline())
        # Each holds 68 to 110 kB of the 786 kB that one user may have.
        assert 15 <= waiting <= 24, waiting
        # The same host is another user by its other address.
        assert download(made, "[fd00:4:0::1]", 200_000) > 0.038
        metrics = made.run("hub", "curl", "-s", "http://127.0.0.1:9464/metrics")
        assert 'user_connections_total{user="fd00:1::/64"} 1\n' in metrics
        # Those that wait are opened when the others end.
        stalled.stdin.write("\n")
        stalled.stdin.flush()
        assert stalled.stdout.readline() == "opened\n"
        stalled.communicate("\n", timeout=60)
        lab.wait(lambda: made.status("hub")["connections"] == 0, "connections stay")
        assert download(made, lab.SERVER, 200_000) > 0.038


def test_ends_of_connections_pass_as_without_a_gateway(path):
    tester = ROOT / "bench/half_close.py"
    path.start("server", "ends", sys.executable, tester, "serve", 91)
    lab.wait(lambda: path.run("server", "ss", "-Hltn", "sport = :91"), "no server", log=lambda: path.text("ends"))
    before = opened(path)
    done = subprocess.run(path.inside("user", sys.executable, tester, "try", lab.SERVER, 91), capture_output=True, text=True, timeout=180)
    assert done.returncode == 0 and done.stdout.count("holds") == 7, done.stdout + done.stderr
    assert opened(path) > before + 7


def test_a_simulated_gateway_takes_as_long_as_a_real_one(tmp_path):
    """scenarios/gateway.toml, shortened: at most 10 % apart, which `compare` judges. Without the flow that shares the server's link, beside
    which a short download takes 7.0 to 9.7 s, as it begins earlier or later. A busy machine only adds time: up to three more tries, and a
    run within the bounds holds although its packets left late."""
    text = (ROOT / "scenarios/gateway.toml").read_text()
    scenario = tmp_path / "gateway.toml"
    scenario.write_text(text[: text.index('[[flows]]\nname = "competing"')])
    keys = ('flows.download.traffic.size="8 MB"', 'flows.download.start="6 s"', 'duration="40 s"')
    words = ["compare", scenario, "--transport", "cubic", "--quiet", "--json"]
    words += [word for key in keys for word in ("--set", key)]
    for _ in range(4):
        done = subprocess.run([lab.SKYHOP, *words], capture_output=True, text=True)
        [row] = json.loads(done.stdout)
        assert row["least"] == pytest.approx(0.9 * row["simulated"]) and row["most"] == pytest.approx(1.1 * row["simulated"])
        # Two round trips over the satellite before the first data, and a full link from then on, with all headers and what two gateways
        # read ahead; a rate that is found late costs 0.6 s for each round trip.
        assert 5.9 < row["simulated"] < 7.2
        late = row["verdict"] == "not valid"
        if row["verdict"] == "holds" or late and row["least"] < row["emulated"] < row["most"]:
            return
    if late or row["load"] > 4 * os.cpu_count():
        found = f"simulated {row['simulated']:.2f} s, emulated {row['emulated']:.2f} s"
        pytest.skip(f"a load of {row['load']}, {row['objection']}: {found}")
    raise AssertionError(row)


@pytest.fixture
def files(tmp_path):
    """The files of a terminal that intercepts, and of its hub."""
    add = ["add", "home", "--hub", "hub.toml", "--at", "127.0.0.1", "--interface", "lo", "--prefix", "10.1.0.0/16"]
    for words in (["new", "hub.toml"], add):
        subprocess.run([lab.SKYHOP, "gateway", *words], cwd=tmp_path, check=True, capture_output=True)
    return tmp_path


def alone(folder, *words, before=""):
    """Runs a command in a network namespace of its own, where only the programs in `folder`/bin are found."""
    (folder / "bin").mkdir(exist_ok=True)
    script = f'{before} "$0" "$@"; echo "rc $?" >&2; {shutil.which("nft")} list tables'
    inside = [shutil.which("unshare"), "--net", "--mount", shutil.which("sh"), "-c", script]
    inside += [shutil.which("timeout"), "20", lab.SKYHOP, *words]
    done = subprocess.run(inside, cwd=folder, capture_output=True, text=True, env={"PATH": str(folder / "bin")})
    return done.stderr, done.stdout


def test_a_missing_program_or_right_is_named_and_leaves_nothing_behind(files):
    run = ("gateway", "run", "home.toml")
    said, tables = alone(files, *run)
    assert said == "error: home.toml: there is no program nft, by which connections are intercepted: install nftables\nrc 2\n"
    (files / "bin/nft").symlink_to(shutil.which("nft"))
    said, tables = alone(files, *run)
    assert said == "error: home.toml: there is no program ip: install iproute2\nrc 2\n"
    assert tables == "", "the table stayed"
    (files / "bin/ip").symlink_to(shutil.which("ip"))
    setpriv = f"{shutil.which('setpriv')} --bounding-set -net_admin --inh-caps -net_admin"
    said, tables = alone(files, *run, before=setpriv)
    reason = "nft: netlink: Error: cache initialization failed: Operation not permitted (needs CAP_NET_ADMIN)"
    assert said == f"error: home.toml: {reason}\nrc 2\n"
    assert tables == ""


def test_a_lab_without_tun_devices_says_so(files):
    for program in ("ip", "nft"):
        (files / "bin").mkdir(exist_ok=True)
        (files / "bin" / program).symlink_to(shutil.which(program))
    hidden = f"{shutil.which('mount')} --bind bin /dev/net && "
    said, _ = alone(files, "gateway", "lab", "--size", "1 MB", before=hidden)
    device = 'there is no /dev/net/tun: load the module "tun" (modprobe tun), or give the container that device'
    assert said == f"error: emulate has ended: error: {device}\nrc 1\n"
