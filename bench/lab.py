"""A gateway's laboratory: a user, a terminal, a satellite link, a hub and a server in network namespaces.

The satellite link is `skyhop emulate` between two devices, and so is the path between hub and server if one is given; hub and terminal
are `skyhop gateway`. Everything is removed at the end of the `with`, even after a failure.
"""

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SKYHOP = os.environ.get("SKYHOP", str(ROOT / "target/release/skyhop"))

HUB_AT, SERVER, USER = "10.3.0.2", "10.4.0.1", "10.1.0.2"


class Failed(Exception):
    """A failed step of the laboratory."""


def run(*words, **more):
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, **more)
    if done.returncode:
        raise Failed(f"{' '.join(map(str, words))}: {done.stderr.strip() or done.stdout.strip()}")
    return done.stdout


COMPETING = """
[[flows]]
name = "competing"
path = ["server", "path", "user"]
transport = { kind = "tcp", variant = "cubic" }
traffic = { kind = "bulk" }
"""


def link_scenario(rate, back, one_way_ms, queue=500, more="", flows=""):
    """A satellite path with that rate in both directions, and a queue at either end."""
    return f'''
duration = "1 h"
[links.path]
rate = "{rate}"
delay = "{one_way_ms} ms"
queue = {{ kind = "drop-tail", limit = "{queue} packets" }}
{more}
[links.path.reverse]
rate = "{back}"
[[flows]]
path = ["server", "path", "user"]
traffic = {{ kind = "bulk" }}
real = true
{flows}'''


class Lab:
    """The namespaces, by the names user, term, sat, hub, net, server; `net` exists if the path between hub and server is emulated.
    Without a satellite path `sat` is a router."""

    made = 0

    def __init__(self, satellite, internet=None, ipv6=False):
        self.folder = Path(tempfile.mkdtemp(prefix="lab-"))
        Lab.made += 1
        self.tag = f"l{os.getpid()}-{Lab.made}"
        self.processes, self.names = [], []
        self.satellite, self.internet, self.ipv6 = satellite, internet, ipv6
        self.logs = {}

    def __enter__(self):
        try:
            self.build()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        for process in reversed(self.processes):
            if process.poll() is None:
                process.terminate()
        for process in reversed(self.processes):
            try:
                process.wait(30)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        for name in self.names:
            subprocess.run(["ip", "netns", "del", self.ns(name)], capture_output=True)

    def ns(self, name):
        return f"{self.tag}-{name}"

    def inside(self, name, *words):
        return ["ip", "netns", "exec", self.ns(name), *map(str, words)]

    def run(self, name, *words, **more):
        return run(*self.inside(name, *words), **more)

    def start(self, name, log, *words, **more):
        self.logs[log] = self.folder / f"{log}.log"
        with open(self.logs[log], "a") as out:
            process = subprocess.Popen(self.inside(name, *words), stdout=out, stderr=out, cwd=self.folder, **more)
        self.processes.append(process)
        return process

    def join(self, a, device_a, address_a, b, device_b, address_b):
        run("ip", "link", "add", "dev", device_a, "netns", self.ns(a), "type", "veth", "peer", "name", device_b, "netns", self.ns(b))
        for name, device, address in ((a, device_a, address_a), (b, device_b, address_b)):
            self.run(name, "ip", "address", "add", f"10.{address}/24", "dev", device)
            self.run(name, "ip", "-6", "address", "add", f"fd00:{v6(address)}/64", "dev", device, "nodad")
            self.run(name, "ip", "link", "set", "dev", device, "up")

    def sweep(self):
        """Removes namespaces left by a killed laboratory."""
        for line in run("ip", "netns", "list").splitlines():
            name = line.split()[0]
            pid = name[1:].split("-")[0]
            if name.startswith("l") and pid.isdigit() and "-" in name and not Path(f"/proc/{pid}").exists():
                subprocess.run(["ip", "netns", "del", name], capture_output=True)

    def build(self):
        self.sweep()
        for name in ["user", "term", "sat", "hub", "server"] + (["net"] if self.internet else []):
            run("ip", "netns", "add", self.ns(name))
            self.names.append(name)
            self.run(name, "ip", "link", "set", "lo", "up")
            self.run(name, "sysctl", "-qw", "net.ipv4.ip_forward=1", "net.ipv6.conf.all.forwarding=1")
        self.join("user", "eth0", "1.0.2", "term", "lan", "1.0.1")
        self.join("term", "wan", "2.0.2", "sat", "home", "2.0.1")
        self.join("sat", "hub", "3.0.1", "hub", "link", "3.0.2")
        if self.internet:
            self.join("hub", "net", "4.1.2", "net", "hub", "4.1.1")
            self.join("net", "server", "4.0.2", "server", "eth0", "4.0.1")
        else:
            self.join("hub", "net", "4.0.2", "server", "eth0", "4.0.1")
        for name, to, via in [
            ("user", "default", "1.0.1"), ("term", "default", "2.0.1"), ("sat", "1.0.0/16", "2.0.2"), ("sat", "4.0.0/16", "3.0.2"),
            ("hub", "1.0.0/16", "3.0.1"), ("hub", "2.0.0/16", "3.0.1"), ("server", "default", "4.0.2"),
        ] + ([("hub", "4.0.0/24", "4.1.1"), ("net", "default", "4.1.2"), ("net", "4.0.0/24", None)] if self.internet else []):
            if via:
                self.run(name, "ip", "route", "add", to if to == "default" else f"10.{to}", "via", f"10.{via}")
                to6 = to if to == "default" else f"fd00:{v6(to.split('/')[0]).rsplit('::')[0]}::/64"
                if to == "default":
                    self.run(name, "ip", "-6", "route", "add", "default", "via", f"fd00:{v6(via)}")
                else:
                    self.run(name, "ip", "-6", "route", "add", to6, "via", f"fd00:{v6(via)}")
        if self.satellite:
            self.emulate("sat", "satellite", self.satellite, "home", "hub")
        if self.internet:
            self.emulate("net", "internet", self.internet, "hub", "server")

    def emulate(self, name, log, scenario, user, server):
        path = self.folder / f"{log}.toml"
        path.write_text(scenario)
        run(SKYHOP, "check", path)
        process = self.start(name, log, SKYHOP, "emulate", path, "--device", f"user={user}", "--device", f"server={server}")
        wait(lambda: "sky-" in self.run(name, "ip", "-br", "link"), f"{log}: {self.text(log)}")
        wait(lambda: self.answers(name, process.pid), f"{log}: its loop does not answer")

    def answers(self, name, pid):
        """True if an emulation has told its state."""
        watch = self.inside(name, SKYHOP, "emulate", "watch", "--json", "--pid", pid)
        with subprocess.Popen(watch, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
            line = process.stdout.readline()
            process.kill()
        return '"now_s"' in line

    def text(self, log):
        return self.logs[log].read_text() if log in self.logs and self.logs[log].exists() else ""

    def gateways(self, hub="", terminal="", interface="lan", after="", closed=False):
        """Starts hub and terminal with these additional lines in their files; `closed` refuses connections that cannot be split."""
        run(SKYHOP, "gateway", "new", "hub.toml", cwd=self.folder)
        add = [SKYHOP, "gateway", "add", "home", "--hub", "hub.toml", "--at", HUB_AT, "--prefix", "10.1.0.0/16"]
        run(*add, *(["--interface", interface] if interface else []), cwd=self.folder)
        for name, lines in (("hub.toml", hub), ("home.toml", terminal)):
            path = self.folder / name
            head, brace, tail = path.read_text().partition("\n[")
            text = head + "\n" + lines + brace + tail + (after if name == "home.toml" else "")
            path.write_text(text.replace('fail = "open"', 'fail = "closed"') if closed else text)
        self.start_hub()
        self.start_terminal()
        wait(lambda: self.status("term")["peers"][0]["up"], "no association", log=lambda: self.text("term") + self.text("hub"))

    def alone(self, lines=""):
        """Starts a hub alone, for users on the far side of the satellite link, with these additional lines in its file."""
        text = f'role = "alone"\nmetrics = "127.0.0.1:9464"\n{lines}\n[intercept]\ninterfaces = ["link"]\n'
        (self.folder / "hub.toml").write_text(text)
        self.start_hub()

    def start_hub(self):
        self.hub = self.start("hub", "hub", SKYHOP, "gateway", "run", "hub.toml")
        wait(lambda: self.status("hub"), "no hub", log=lambda: self.text("hub"))

    def start_terminal(self):
        self.terminal = self.start("term", "term", SKYHOP, "gateway", "run", "home.toml")
        wait(lambda: self.status("term"), "no terminal", log=lambda: self.text("term"))

    def status(self, name):
        file = "hub.toml" if name == "hub" else "home.toml"
        return json.loads(self.run(name, SKYHOP, "gateway", "status", self.folder / file, "--json"))


def v6(address):
    a, b, c = address.split(".")
    return f"{a}:{b}::{c}"


def wait(true, message, seconds=60.0, log=None):
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        try:
            if true():
                return
        except (Failed, OSError, KeyError, ValueError):
            pass
        time.sleep(0.05)
    raise Failed(message + ("\n" + log() if log else ""))


def serve(lab):
    """Starts the server of bench/serve.py, with HTTP on port 80."""
    lab.start("server", "serve", sys.executable, ROOT / "bench/serve.py", "80")
    wait(lambda: lab.run("server", "ss", "-Hltn", "sport = :80"), "no server", log=lambda: lab.text("serve"))


def fetch(lab, size, variant=None, host=SERVER, most=600):
    """Duration of a download, s."""
    path = f"{variant}/bytes" if variant else "bytes"
    words = ["curl", "-gso", "/dev/null", "-m", most, "-w", "%{time_total} %{size_download}", f"http://{host}/{path}/{size}"]
    seconds, got = lab.run("user", *words).split()
    if int(got) != size:
        raise Failed(f"{got} of {size} bytes")
    return float(seconds)
