"""Emulations from Python: results, errors, and cleaning up.

Follows `crates/cli/tests/emulate.rs`, which tests the emulator itself.
Differs from it: the interface of Python is tested. Programs in the hosts are this Python and `sh`.
Leaves out the accuracy of times. Without namespaces and TUN devices, each test that needs them prints a message and is skipped.
"""

import json
import os
import pathlib
import signal
import subprocess
import sys
import time

import pytest

import skyhop

WIRE = """\
name = "wire"
duration = "60 s"
[links.satellite]
rate = "10 Mbit/s"
delay = "20 ms"
[[flows]]
name = "programs"
path = ["server", "satellite", "user"]
traffic = { kind = "bulk" }
"""
FETCH = "import urllib.request; print(len(urllib.request.urlopen('http://server/bytes/100kB').read()))"


@pytest.fixture(scope="module")
def hosts():
    try:
        skyhop.emulate(text=WIRE, command=["true"])
    except OSError as why:
        pytest.skip(str(why))


def left(mark):
    """Processes with this word in their arguments."""
    found = []
    for process in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            if mark in process.joinpath("cmdline").read_bytes().decode(errors="replace"):
                found.append(process.name)
        except OSError:
            pass
    return found


def gone(mark, within_s=30):
    began = time.monotonic()
    while left(mark) and time.monotonic() - began < within_s:
        time.sleep(0.02)
    return not left(mark)


def test_a_command_has_the_path_and_results_are_a_runs(hosts, tmp_path):
    run = skyhop.emulate(text=WIRE, command=[sys.executable, "-c", FETCH], out=tmp_path / "results", capture_output=True)
    assert (run.exit_code, run.stdout) == (0, b"100000\n"), run.stderr
    flow = run.summary["flows"]["programs"]
    assert flow["delay_min_s"] >= 0.02 and flow["packets_sent"] > 70
    assert list(run.flows["name"]) == ["programs"]
    assert run.summary["links"]["satellite"]["forward"]["packets"] > 67
    assert run.emulation["command"][1] == "-c" and run.emulation["hosts"]["user"]["written_packets"] > 67
    assert run.valid == (not run.objections) == run.emulation["valid"]
    assert run.summary == json.loads((tmp_path / "results/summary.json").read_text())
    assert "programs: " in repr(run) and "exit code 0" in repr(run)
    t, values = run.sample("link/satellite/forward", "queue_packets")
    assert len(t) == len(values) > 0


def test_the_exit_code_is_the_commands_and_lateness_has_a_limit(hosts):
    ended = skyhop.emulate(text=WIRE, command=["sh", "-c", "exit 7"], late="1 min")
    assert (ended.exit_code, ended.stdout, ended.emulation["late_limit_s"]) == (7, None, 60)
    assert ended.valid and ended.objections == []
    late = skyhop.emulate(text=WIRE, command=["sleep", "0.3"], late="1 ns")
    assert not late.valid and "not valid: " + late.objections[0] in repr(late)


def test_choices_reach_the_hosts(hosts, tmp_path):
    (tmp_path / "file").write_text("skyhop was here")
    asks = "import urllib.request; print(urllib.request.urlopen('http://server/file').read().decode())"
    run = skyhop.emulate(
        {
            "duration": "10 s",
            "links": {"radio": {"rate": "1 Mbit/s", "delay": "1 ms"}},
            "flows": [{"path": ["server", "radio", "user"], "traffic": {"kind": "bulk"}}],
        },
        command=["sh", "-c", f'cat /proc/sys/net/ipv4/tcp_rmem; cat; "$0" -c "{asks}"', sys.executable],
        folder=tmp_path,
        sysctls={"net.ipv4.tcp_rmem": [4096, 131072, 7000000]},
        tcp="reno",
        offload=False,
        seed=5,
        set={"links.radio.rate": "2 Mbit/s"},
        pcap=tmp_path / "packets.pcapng",
        capture_output=True,
        encoding="utf-8",
    )
    assert run.stdout.split() == ["4096", "131072", "7000000", "skyhop", "was", "here"], run.stderr
    assert (run.summary["seed"], run.summary["set"]) == (5, ["links.radio.rate=2 Mbit/s"])
    assert (run.emulation["tcp_congestion_control"], run.emulation["offloads"]) == ("reno", "none")
    assert b"skyhop was here" in (tmp_path / "packets.pcapng").read_bytes()
    there = skyhop.emulate(text=WIRE, command=["cat", "/etc/hosts"], at="server", capture_output=True)
    assert there.emulation["user"] == "server" and b"10.0.0.1 server" in there.stdout


def test_a_server_of_ones_own_is_there_when_the_command_begins(hosts):
    answers = "import socket; s = socket.create_server(('', 4321))\nwhile True: s.accept()[0].sendall(b'answered')"
    asks = "import socket; print(socket.create_connection(('server', 4321)).recv(99).decode())"
    for server in ([sys.executable, "-c", answers], f'{sys.executable} -c "{answers}"'):
        run = skyhop.emulate(text=WIRE, command=[sys.executable, "-c", asks], server=server, capture_output=True)
        assert run.stdout == b"answered\n", run.stderr


def test_without_a_command_it_lasts_as_long_as_the_scenario(hosts):
    # A busy machine ends it later: one of five is in time.
    lasted = []
    while not any(s < 0.6 for s in lasted):
        assert len(lasted) < 5, lasted
        run = skyhop.emulate(text=WIRE, set={"duration": "500 ms"})
        assert run.exit_code == 0 and 0.5 <= run.summary["simulated_s"]
        lasted.append(run.summary["simulated_s"])


def test_a_wrong_scenario_is_told_as_run_tells_it(tmp_path):
    def told(function, *positional, **keywords):
        with pytest.raises(skyhop.ScenarioError) as e:
            function(*positional, **keywords)
        return type(e.value), str(e.value)

    wrong = WIRE.replace("10 Mbit/s", "10 mbps")
    (tmp_path / "wrong.toml").write_text(wrong)
    for positional, keywords in [
        ([], {"text": wrong}),
        ([tmp_path / "wrong.toml"], {}),
        ([tmp_path / "wrongg.toml"], {}),
        ([{"links": {"a": {"delay": 3}}}], {}),
        ([], {"text": WIRE, "set": {"links.satelite.rate": "1 Mbit/s"}}),
        ([], {"text": WIRE, "seed": -1}),
    ]:
        assert told(skyhop.emulate, *positional, **keywords) == told(skyhop.run, *positional, **keywords)
    with pytest.raises(FileNotFoundError):
        skyhop.emulate(tmp_path / "wrongg.toml")


def test_a_wrong_choice_is_called_by_its_keyword(hosts):
    for keywords, error, text in [
        ({"tcp": "cubik"}, skyhop.ScenarioError, '^tcp: this kernel has no "cubik"'),
        ({"at": "nobody"}, skyhop.ScenarioError, '^at: no host "nobody"; there are server, user'),
        ({"late": "5"}, skyhop.ScenarioError, "^late: .*has no unit"),
        ({"late": 5}, TypeError, "^late is a int; expected a text with a unit"),
        ({"sysctls": {"kernel.ostype": 1}}, skyhop.ScenarioError, '^sysctls: "kernel.ostype" is not below net.'),
        ({"sysctls": {"net.ipv4.no_such": 1}}, skyhop.ScenarioError, "^sysctls net.ipv4.no_such: a host has no such parameter"),
        ({"devices": {"user": "nodevice"}}, (skyhop.ScenarioError, OSError), "nodevice"),
        ({"command": ["no-such-command-here"]}, FileNotFoundError, "^no-such-command-here: command not found"),
        ({"command": "true"}, TypeError, "expected a program and its arguments"),
        ({"server": "exit 3"}, OSError, "^server: it has ended at once, with 3"),
    ]:
        with pytest.raises(error, match=text):
            skyhop.emulate(text=WIRE, **{"command": ["true"], **keywords})
    with pytest.raises(TypeError, match="both a scenario and text="):
        skyhop.emulate("a.toml", text=WIRE)


def test_several_run_beside_each_other_in_threads(hosts):
    from concurrent.futures import ThreadPoolExecutor

    def one(code):
        return skyhop.emulate(text=WIRE, command=["sh", "-c", f"exit {code}"]).exit_code

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(one, range(8))) == list(range(8))


# The command leaves an orphaned process that ends slowly.
LINGERS = """\
import skyhop
try:
    skyhop.emulate(text={wire!r}, command=["sh", "-c", "setsid sleep {mark} & echo ready; sleep {mark}"])
except KeyboardInterrupt:
    print("interrupted")
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
@pytest.mark.parametrize("terminal", [True, False])
def test_an_interrupt_leaves_nothing(hosts, number, terminal):
    devices = set(os.listdir("/sys/class/net"))
    mark = f"97{os.getpid()}"
    program = LINGERS.format(wire=WIRE, mark=mark)
    child = subprocess.Popen(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    assert child.stdout.readline() == "ready\n"
    # A terminal interrupts all of its processes, a notebook only Python's.
    (os.killpg if terminal else os.kill)(child.pid, number)
    out, err = child.communicate(timeout=60)
    if number == signal.SIGINT:
        assert (out, err, child.returncode) == ("interrupted\n", "", 0)
        # The process has been reaped.
        assert not left(f"sleep\0{mark}"), left(mark)
    assert gone(f"sleep\0{mark}"), left(mark)
    # Other tests may make devices and take them away meanwhile.
    began = time.monotonic()
    while set(os.listdir("/sys/class/net")) - devices and time.monotonic() - began < 20:
        time.sleep(0.1)
    assert not set(os.listdir("/sys/class/net")) - devices


def test_a_timeout_ends_it_in_order(hosts):
    began = time.monotonic()
    with pytest.raises(subprocess.TimeoutExpired):
        skyhop.emulate(text=WIRE, command=["sleep", "61.25"], timeout=1.5)
    assert 1.5 <= time.monotonic() - began < 20
    assert gone("61.25")
