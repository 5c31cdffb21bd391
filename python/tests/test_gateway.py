"""A gateway that intercepts: kernels' TCP, the firewall and routes, in network namespaces (bench/lab.py).

Follows docs/gateway.md. The satellite link is short here, so that a test takes seconds; bench/gateway.py has the thesis's path.
"""

import os
import shutil
import subprocess
import sys
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

# One echo request and its reply (RFC 792). A program for it need not be installed.
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
        made.start("server", "serve", sys.executable, ROOT / "bench/serve.py", "80")
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


def opened(path):
    return path.status("term")["connections_opened"]


@pytest.mark.parametrize("host", [lab.SERVER, "[fd00:4:0::1]"])
def test_connections_of_both_versions_are_split(path, host):
    before = opened(path)
    # The handshake is the terminal's: no round trip of 40 ms.
    assert download(path, host, 1_000_000) < 0.02
    upload(path, host.strip("[]"), 500_000)
    assert opened(path) == before + 2
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
    assert path.terminal.wait(15) == 0
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
        "s.settimeout(20); print(repr(s.recv(1)))" % lab.SERVER
    )
    held = subprocess.Popen(path.inside("user", sys.executable, "-c", script), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert held.stdout.readline() == "b'x'\n"
    path.terminal.kill()
    path.terminal.wait()
    assert "ConnectionResetError" in held.communicate(timeout=20)[1]
    # The handshake is the server's now.
    assert download(path, lab.SERVER, 10_000) > 0.035
    path.start_terminal()
    lab.wait(lambda: path.status("term")["peers"][0]["up"], "no association")
    assert download(path, lab.SERVER, 10_000) < 0.02


def test_without_the_hub_connections_pass_or_are_refused(path):
    file = path.folder / "home.toml"
    text = file.read_text()
    for fail, passes in (("open", True), ("closed", False)):
        file.write_text(text.replace('fail = "open"', f'fail = "{fail}"'))
        path.terminal.send_signal(1)
        path.hub.kill()
        path.hub.wait()
        lab.wait(lambda: not path.status("term")["peers"][0]["up"], "the association stays", 20)
        done = subprocess.run(
            path.inside("user", "curl", "-gso", "/dev/null", "-m", "10", f"http://{lab.SERVER}/bytes/1000"), capture_output=True
        )
        assert (done.returncode == 0) == passes, (fail, done)
        path.start_hub()
        lab.wait(lambda: path.status("term")["peers"][0]["up"], "no association", 30)
        assert download(path, lab.SERVER, 1000) < 0.02
    file.write_text(text)
    path.terminal.send_signal(1)


def test_servers_see_the_client_if_the_file_says_so(path):
    file = path.folder / "hub.toml"
    text = file.read_text()
    script = (
        "import socket; l = socket.create_server(('10.4.0.1', 8000)); l.settimeout(20); c, a = l.accept(); c.sendall(a[0].encode())"
    )
    for source, expected in (("own", "10.4.0.2"), ("client", lab.USER)):
        if source == "client":
            path.hub.terminate()
            path.hub.wait(15)
            file.write_text(text.replace('silence =', 'source = "client"\nsilence ='))
            path.start_hub()
            lab.wait(lambda: path.status("term")["peers"][0]["up"], "no association", 30)
        server = subprocess.Popen(path.inside("server", sys.executable, "-c", script))
        lab.wait(lambda: path.run("server", "ss", "-Hltn", "sport = :8000"), "no server")
        client = "import socket; s = socket.create_connection(('%s', 8000), 10); s.settimeout(10); print(s.recv(99).decode())" % lab.SERVER
        assert path.run("user", sys.executable, "-c", client).strip() == expected, path.text("hub")
        server.wait(20)
