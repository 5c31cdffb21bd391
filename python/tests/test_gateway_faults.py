"""A gateway under odd conditions: load with reloads, keys replaced, wrong clocks, missing programs and rights, doubles, old peers.

Follows docs/gateway.md. Leaves out faults of the path, which bench/gateway.py has.
"""

import os
import subprocess
import sys

import pytest
from test_gateway import ALLOW, CLIENT, REASON, ROOT, download, lab, split_here, upload

pytestmark = pytest.mark.skipif(REASON is not None, reason=str(REASON))


@pytest.fixture(scope="module")
def path():
    with lab.Lab(lab.link_scenario("20 Mbit/s", "5 Mbit/s", 20)) as made:
        made.start("server", "serve", sys.executable, ROOT / "bench/serve.py", "80", "names")
        lab.wait(lambda: made.run("server", "ss", "-Hltn", "sport = :80"), "no server", log=lambda: made.text("serve"))
        made.gateways(hub=ALLOW + 'silence = "4 s"', terminal='silence = "4 s"')
        yield made


def is_up(path, name="term"):
    return path.status(name)["peers"][0]["up"]


def reload(path, name):
    process = path.hub if name == "hub" else path.terminal
    before = path.text(name).count("reloaded")
    process.send_signal(1)
    lab.wait(lambda: path.text(name).count("reloaded") > before, "no reload", log=lambda: path.text(name))


def uploads(path, size, seed):
    """An upload in the background, which fails unless the server has had each byte."""
    words = path.inside("user", sys.executable, "-c", CLIENT, lab.SERVER, 81, size, seed)
    return subprocess.Popen(words, stdout=subprocess.PIPE, text=True)


def whole(process, size):
    said, expected = eval(process.communicate(timeout=60)[0])
    assert said == f"{expected} {size}"


def metric(path, name, what):
    port = 9465 if name == "term" else 9464
    for line in path.run(name, "curl", "-s", f"127.0.0.1:{port}/metrics").splitlines():
        if line.startswith(what + " "):
            return int(line.split()[-1])
    return None


def test_reloads_under_load_change_nothing_for_connections(path):
    running = [uploads(path, 1_500_000, seed) for seed in (1, 2)]
    for _ in range(10):
        for name in ("hub", "term"):
            reload(path, name)
        assert is_up(path)
    for process in running:
        whole(process, 1_500_000)
    # A file with a mistake, and one that needs a restart, are refused, and connections go on.
    file = path.folder / "home.toml"
    text = file.read_text()
    for old, new, said in (
        ("[intercept]", "memroy = 1\n[intercept]", "not reloaded: home.toml"),
        ('silence = "4 s"', 'silence = "5 s"', "not reloaded: silence needs a restart"),
    ):
        file.write_text(text.replace(old, new, 1))
        path.terminal.send_signal(1)
        lab.wait(lambda: said in path.text("term"), said, log=lambda: path.text("term"))
    file.write_text(text)
    assert min(download(path, lab.SERVER, 1000) for _ in range(3)) < 0.5


def test_a_key_is_replaced_without_a_lost_connection(path):
    """A second terminal with the users of the first; then the first is taken out of the file."""
    running = uploads(path, 1_500_000, 3)
    lab.run(lab.SKYHOP, "gateway", "add", "next", "--hub", "hub.toml", "--at", lab.HUB_AT, "--prefix", "10.1.0.0/16", cwd=path.folder)
    reload(path, "hub")
    whole(running, 1_500_000)
    home = path.folder / "home.toml"
    home.write_text(home.read_text().replace('key = "home.key"', 'key = "next.key"'))
    path.terminal.terminate()
    assert path.terminal.wait(60) == 0
    path.start_terminal()
    lab.wait(lambda: is_up(path), "no association", log=lambda: path.text("term"))
    hub = path.folder / "hub.toml"
    before, _, rest = hub.read_text().partition("[terminals.home]")
    hub.write_text(before + "[" + rest.split("[", 2)[-1])
    reload(path, "hub")
    assert [peer["name"] for peer in path.status("hub")["peers"]] == ["next"]
    upload(path, lab.SERVER, 100_000)
    assert split_here(path)


def test_a_foreign_tables_counters_stay(path):
    """Start, reload, stop and SIGKILL leave another table as it is, with its counters."""
    # No packet passes its rule, and so its counter stays as it was set.
    path.run(
        "term", "nft",
        "table inet other {\nchain c {\ntype filter hook prerouting priority -160\ntcp dport 7 counter packets 5 bytes 300 drop\n}\n}\n",
    )
    listed = lambda: path.run("term", "nft", "list", "table", "inet", "other")
    before = listed()
    assert "packets 5 bytes 300" in before
    reload(path, "term")
    assert listed() == before
    path.terminal.kill()
    path.terminal.wait()
    assert "skyhop" in path.run("term", "nft", "list", "tables") and listed() == before
    path.start_terminal()
    lab.wait(lambda: is_up(path), "no association")
    assert listed() == before
    path.terminal.terminate()
    assert path.terminal.wait(60) == 0
    assert "skyhop" not in path.run("term", "nft", "list", "tables") and listed() == before
    path.start_terminal()
    lab.wait(lambda: is_up(path), "no association")
    path.run("term", "nft", "delete table inet other")


def test_marks_say_what_is_split_and_rules_and_users_are_counted(path):
    mark = "table inet marks {\nchain c {\ntype filter hook prerouting priority -300\niifname lan tcp dport 80 meta mark set 0x5\n}\n}\n"
    path.run("term", "nft", mark)
    file = path.folder / "home.toml"
    text = file.read_text()
    users = f'skyhop_gateway_user_connections_total{{user="{lab.USER}"}}'
    for keys, splits in (("except_marks = [5]", False), ("marks = [5, 6]", True), ("marks = [6]", False)):
        file.write_text(text.replace("[intercept]", f"[intercept]\n{keys}", 1))
        reload(path, "term")
        before = metric(path, "term", users) or 0
        download(path, lab.SERVER, 1000)
        assert ((metric(path, "term", users) or 0) == before + 1) == splits, keys
        if "except" in keys:
            assert metric(path, "term", 'skyhop_gateway_rule_packets_total{rule="except_marks"}') >= 1
        elif splits:
            assert metric(path, "term", 'skyhop_gateway_rule_packets_total{rule="new, ipv4"}') == 1
    file.write_text(text)
    reload(path, "term")
    path.run("term", "nft", "delete table inet marks")
    got = f'skyhop_gateway_user_bytes_total{{user="{lab.USER}",direction="to-client"}}'
    before = metric(path, "term", got)
    download(path, lab.SERVER, 50_000)
    assert 50_000 < metric(path, "term", got) - before < 51_000


def test_status_says_why_it_is_slow(path):
    words = ["curl", "-gso", "/dev/null", "-m", "60", f"http://{lab.SERVER}/bytes/8000000"]
    running = subprocess.Popen(path.inside("user", *words))
    said = lambda: path.run("hub", lab.SKYHOP, "gateway", "status", path.folder / "hub.toml")
    lab.wait(lambda: "rate" in said() and "more data wait" in said(), "no reason", log=said)
    assert running.wait(60) == 0


CLOCK = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <time.h>
int clock_gettime(clockid_t id, struct timespec *at) {
    static int (*real)(clockid_t, struct timespec *);
    if (!real) real = dlsym(RTLD_NEXT, "clock_gettime");
    int done = real(id, at);
    if (id == CLOCK_REALTIME) at->tv_sec += atol(getenv("WRONG_BY"));
    return done;
}
"""


@pytest.mark.parametrize("years", [-1, 1])
def test_a_clock_that_is_wrong_by_a_year_does_not_matter(path, years):
    source, library = path.folder / "clock.c", path.folder / "clock.so"
    source.write_text(CLOCK)
    if subprocess.run(["cc", "-shared", "-fPIC", "-o", library, source, "-ldl"], capture_output=True).returncode:
        pytest.skip("needs a C compiler")
    environment = {**os.environ, "LD_PRELOAD": str(library), "WRONG_BY": str(years * 365 * 86_400)}
    path.hub.terminate()
    path.hub.wait(60)
    path.hub = path.start("hub", "hub", lab.SKYHOP, "gateway", "run", "hub.toml", env=environment)
    lab.wait(lambda: is_up(path) and is_up(path, "hub"), "no association", log=lambda: path.text("hub"))
    upload(path, lab.SERVER, 200_000)
    path.hub.terminate()
    path.hub.wait(60)
    path.start_hub()
    lab.wait(lambda: is_up(path), "no association")


def fails(path, *words, code=2, name="term", **more):
    done = subprocess.run(path.inside(name, *words), capture_output=True, text=True, cwd=path.folder, timeout=60, **more)
    assert done.returncode == code, done
    return done.stderr.strip()


def test_a_missing_program_right_or_device_is_named(path):
    run = (lab.SKYHOP, "gateway", "run", "home.toml")
    path.terminal.terminate()
    path.terminal.wait(60)
    said = subprocess.run(
        ["nsenter", f"--net=/run/netns/{path.ns('term')}", "env", "-i", "PATH=/nowhere", *run],
        capture_output=True, text=True, cwd=path.folder, timeout=60,
    )
    assert (said.returncode, said.stderr.strip().splitlines()[-1]) == (
        2, "error: home.toml: there is no program nft, by which connections are intercepted: install nftables",
    ), said
    without = lambda *names: ("setpriv", *(f"--{kind}=" + ",".join("-" + n for n in names) for kind in ("bounding-set", "inh-caps")))
    said = fails(path, *without("net_admin"), *run)
    assert said.startswith("error: home.toml: nft: ") and said.endswith("Operation not permitted (needs CAP_NET_ADMIN)"), said
    said = fails(path, *without("net_admin", "net_raw"), *run)
    assert said == (
        "error: home.toml: intercept: port 57825: no right to take connections that are meant for others: "
        "run with CAP_NET_ADMIN, or as root"
    ), said
    path.start_terminal()
    lab.wait(lambda: is_up(path), "no association")


def test_of_two_gateways_with_one_role_the_second_is_refused(path):
    file = path.folder / "home.toml"
    other = path.folder / "other.toml"
    other.write_text(file.read_text().replace("127.0.0.1:9465", "127.0.0.1:9999"))
    rules = path.run("term", "nft", "-s", "list", "table", "inet", "skyhop")
    said = fails(path, lab.SKYHOP, "gateway", "run", "other.toml")
    taken = "in use: another gateway runs on this host, or another program has the port"
    assert said == f"error: other.toml: intercept: port 57825: {taken}", said
    assert path.run("term", "nft", "-s", "list", "table", "inet", "skyhop") == rules and split_here(path)
    said = fails(path, lab.SKYHOP, "gateway", "run", "hub.toml", name="hub")
    assert said == f"error: hub.toml: listen: [::]:57824: {taken}", said


def test_two_terminals_with_one_key_are_told_of(path):
    file = path.folder / "home.toml"
    other = path.folder / "double.toml"
    head, _, tail = file.read_text().partition("[intercept]")
    other.write_text(head.replace("127.0.0.1:9465", "127.0.0.1:9998") + '[socks]\nlisten = "127.0.0.1:1080"\n')
    double = path.start("hub", "double", lab.SKYHOP, "gateway", "run", "double.toml")
    message = "its association is replaced again and again: two terminals use its key"
    lab.wait(lambda: message in path.text("hub"), "not told", log=lambda: path.text("hub") + path.text("double"))
    double.terminate()
    double.wait(60)
    lab.wait(lambda: is_up(path), "no association")


RELAY = """
import select, socket, sys
version = int(sys.argv[1])
users, hub = socket.socket(socket.AF_INET, socket.SOCK_DGRAM), socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
users.bind(("10.3.0.2", 40000))
hub.connect(("10.3.0.2", 57824))
print("relays", flush=True)
while True:
    for ready in select.select([users, hub], [], [])[0]:
        if ready is users:
            packet, user = users.recvfrom(65535)
            if packet[0] == HELLO:
                packet = packet[:1] + bytes([version]) + packet[2:]
            hub.send(packet)
        else:
            users.sendto(hub.recv(65535), user)
"""


def test_a_peer_of_another_version_is_refused_by_name(path):
    hello = next(
        int(line.split("=")[1].strip(" ;"), 0)
        for line in (ROOT / "crates/live/src/handshake.rs").read_text().splitlines()
        if "const HELLO: u8" in line
    )
    relay = path.start("hub", "relay", sys.executable, "-c", RELAY.replace("HELLO", str(hello)), 0)
    lab.wait(lambda: "relays" in path.text("relay"), "no relay", log=lambda: path.text("relay"))
    old = path.folder / "old.toml"
    head, _, tail = (path.folder / "home.toml").read_text().partition("[intercept]")
    head = head.replace("127.0.0.1:9465", "127.0.0.1:9997").replace(f'hub = "{lab.HUB_AT}', 'hub = "10.3.0.2:40000')
    old.write_text("\n".join("hub = \"10.3.0.2:40000\"" if l.startswith("hub = ") else l for l in head.splitlines())
                   + '\n[socks]\nlisten = "127.0.0.1:1081"\n')
    terminal = path.start("hub", "old", lab.SKYHOP, "gateway", "run", "old.toml")
    message = "hub: no association: refused: the two hosts speak different versions of the association"
    lab.wait(lambda: message in path.text("old"), "not told", log=lambda: path.text("old"))
    assert "refused: the two hosts speak different versions of the association" in path.text("hub")
    terminal.terminate()
    terminal.wait(60)
    relay.terminate()
    relay.wait()
    assert is_up(path)
