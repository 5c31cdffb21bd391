"""Emulations: real programs behind the paths of a scenario.

Follows the command: `emulate` is `skyhop emulate`, with its options as keywords.
Differs from it: the results are objects, and may include the command's output.
Leaves out profiles, a shell, and changes while it runs: `skyhop emulate set` and `skyhop emulate watch` find an emulation of Python's too.
"""

from __future__ import annotations

import builtins
import json
import os
import pickle
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from . import _skyhop
from ._run import Run, _found, _line, _seed, _sets
from ._scenario import Scenario, source
from ._table import Table

#: How long an emulation that was interrupted may take to end in order.
PATIENCE_S = 8


class Emulation(Run):
    """Results of an emulation: `summary`, `flows` and `series` as in a `Run`, and the validity of the run.

    `emulation` is the part of the summary that `docs/emulator.md` explains, `exit_code` that of the command. `valid` is False
    if the run was too late or missed a packet; `objections` are the reasons. `stdout` and `stderr` have the output, with
    `capture_output=True`.
    """

    def __init__(
        self, summary: dict[str, Any], flows: Table, series: Table, stdout: bytes | str | None = None, stderr: bytes | str | None = None
    ) -> None:
        super().__init__(summary, flows, series)
        self.emulation: dict[str, Any] = summary["emulation"]
        self.exit_code: int = self.emulation["exit_code"]
        self.valid: bool = self.emulation["valid"]
        self.objections: list[str] = self.emulation["objections"]
        self.stdout = stdout
        self.stderr = stderr

    def __repr__(self) -> str:
        s, e = self.summary, self.emulation
        words = " ".join(e["command"]) or "no command"
        head = f"<skyhop emulation of {s['scenario']!r}, {s['simulated_s']:.3g} s, {words}: exit code {self.exit_code}"
        # A flow of programs counts packets, as one of pings does.
        lines = [_line(name, flow).replace("pings", "packets") for name, flow in s["flows"].items()]
        lines += [f"not valid: {why}" for why in self.objections]
        return "\n".join([head, *(f"  {line}" for line in lines)]) + ">"


def emulate(
    scenario: str | os.PathLike[str] | Mapping[str, Any] | Scenario | None = None,
    *,
    command: Sequence[str | os.PathLike[str]] = (),
    server: str | Sequence[str | os.PathLike[str]] | None = None,
    folder: str | os.PathLike[str] = ".",
    at: str | None = None,
    devices: Mapping[str, str] | None = None,
    tcp: str | None = None,
    sysctls: Mapping[str, Any] | None = None,
    offload: bool = True,
    late: str = "150 us",
    memory: str = "1 GB",
    pcap: str | os.PathLike[str] | None = None,
    out: str | os.PathLike[str] | None = None,
    text: str | None = None,
    files: Mapping[str, bytes | str] | None = None,
    base: str | os.PathLike[str] | None = None,
    seed: int | None = None,
    set: Mapping[str, Any] | None = None,
    capture_output: bool = False,
    encoding: str | None = None,
    timeout: float | None = None,
) -> Emulation:
    """Runs a command behind the path of a scenario, and returns the results of both.

    `scenario`, `text`, `files`, `base`, `seed`, `set` and `out` are as for `run`. `command` has a program and its arguments; it
    runs at the user's end, or at the host `at`. Without a command the emulation lasts for the scenario's duration. At the other
    end, skyhop has default servers: HTTP with the files of `folder` and `/bytes/10MB`, echo, discard; or `server` runs there, a
    command line for a shell, or a program and its arguments.

    `tcp` is the kernel's congestion control in the hosts, and `sysctls` its parameters:
    `{"net.ipv4.tcp_rmem": "4096 131072 67108864"}`. `devices` are hosts that are devices of this machine, such as
    `{"user": "eth1"}`. `offload=False` reads and writes packets one by one. `late` is the largest lateness of 99 of 100 packets
    in a valid run, `memory` the limit for packets in flight, `pcap` a file for the packets of all hosts.

    `capture_output`, as for `subprocess.run`, keeps what the command prints (and on its standard error what the server prints)
    in `stdout` and `stderr`, as bytes, or as text with an `encoding`. Otherwise it uses the standard streams of this process.
    After `timeout` seconds the emulation is stopped and cleaned up, and `subprocess.TimeoutExpired` is raised.

    Needs Linux with TUN devices, and root or a user namespace. The emulation is a separate process, so that this one may have
    other threads, and several emulations at once. KeyboardInterrupt ends it and cleans up.

    Raises `ScenarioError` for a scenario or a choice that cannot be emulated, `FileNotFoundError` and `PermissionError` for a
    command that does not exist or cannot be executed, and `OSError` if the system refuses something. A command that fails is
    not an error: see `exit_code`.

    >>> run = skyhop.emulate("geo.toml", command=["curl", "-so/dev/null", "http://server/bytes/1MB"])
    >>> run.exit_code, run.valid, run.summary["flows"]["download"]["delay_mean_s"]
    """
    if not hasattr(_skyhop, "emulate_here"):
        raise OSError("an emulation needs network namespaces and TUN devices, which Linux has; skyhop.run simulates the same scenario")
    if not sys.executable:
        raise OSError("an emulation is a process of its own, and this Python does not know its own program (sys.executable)")
    given = source(scenario, text, files, base)
    choices = {
        "seed": None if seed is None else _seed(seed),
        "at": at,
        "offload": bool(offload),
        "late": _quantity("late", late),
        "memory": _quantity("memory", memory),
        "tcp": tcp,
        "sysctls": [(name, _plain(value)) for name, value in (sysctls or {}).items()],
        "pcap": None if pcap is None else os.fspath(pcap),
        "server": ["sh", "-c", server] if isinstance(server, str) else _words("server", server or ()),
        "folder": os.fspath(folder),
        "command": _words("command", command),
        "devices": list((devices or {}).items()),
        "out": None if out is None else os.fspath(out),
    }
    kind, found, stdout, stderr = _process((given.file, given.text, _sets(set), choices), capture_output, encoding, timeout)
    if kind == "ScenarioError":
        with _found(given):
            raise _skyhop.ScenarioError(found)
    if kind != "results":
        raise getattr(builtins, kind, OSError)(found)
    summary, flows, series, _ = found
    tables = [Table(_skyhop.Table.from_bytes(data), name) for data, name in [(flows, "flows"), (series, "series")]]
    return Emulation(json.loads(summary), *tables, stdout, stderr)


def _words(keyword: str, words: Any) -> list[str]:
    if isinstance(words, (str, bytes)):
        raise TypeError(
            f"{keyword} is a {type(words).__name__}; expected a program and its arguments, such as ['ping', '-c', '3', 'server']"
        )
    return [os.fspath(word) for word in words]


def _quantity(keyword: str, value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(
            f"{keyword} is a {type(value).__name__}; expected a text with a unit, such as {'5 ms' if keyword == 'late' else '2 GB'!r}"
        )
    return value


def _plain(value: Any) -> str:
    """A parameter's value in the kernel's form: 1, or "4096 131072 67108864"."""
    if isinstance(value, (list, tuple)):
        return " ".join(map(_plain, value))
    return str(int(value)) if isinstance(value, bool) else str(value)


def _process(request: Any, capture_output: bool, encoding: str | None, timeout: float | None) -> tuple[str, Any, Any, Any]:
    """Runs the emulation in a separate process; returns its outcome and output."""
    program = Path(__file__).with_name("_emulator.py")
    pipe = subprocess.PIPE if capture_output else None
    with open(os.memfd_create("skyhop-request"), "w+b") as asked, open(os.memfd_create("skyhop-answer"), "w+b") as told:
        pickle.dump(request, asked)
        asked.seek(0)
        descriptors = asked.fileno(), told.fileno()
        # It imports nothing from the environment or the current folder.
        words = [sys.executable, "-I", "-S", program, _skyhop.__file__, os.getpid(), *descriptors]
        child = subprocess.Popen(list(map(str, words)), stdout=pipe, stderr=pipe, encoding=encoding, pass_fds=descriptors)
        try:
            stdout, stderr = child.communicate(timeout=timeout)
        except BaseException:
            _end(child)
            raise
        told.seek(0)
        answer = told.read()
    if not answer:
        code = child.returncode
        how = f"signal {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"
        raise OSError(f"the process of the emulation has ended before the emulation: {how}")
    return (*pickle.loads(answer), stdout, stderr)


def _end(child: subprocess.Popen[Any]) -> None:
    """Ends an emulation with its cleanup; at once if that takes too long or there is another interrupt."""
    try:
        child.send_signal(signal.SIGTERM)
        child.communicate(timeout=PATIENCE_S)
    except subprocess.TimeoutExpired:
        pass
    finally:
        child.kill()
        child.wait()
