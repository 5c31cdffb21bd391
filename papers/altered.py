"""Scenarios altered on their way into the simulator: other seeds, and implementations that are wrong on purpose.

Stands between the scripts and `skyhop`: their scenarios are read as keys and values, changed, and run.
Differs from changing code: a wrong implementation is a change of the scenario, such as acknowledging every segment.
Leaves out the contents of captures, and files of elements.
"""

from __future__ import annotations

import re
import subprocess
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import satellite_atm

import skyhop
from skyhop import _space, equivalence, theory
from skyhop._scenario import _toml

Scenario = dict[str, Any]
#: What is added to every seed.
_added = 0


def added() -> int:
    """What is added to every seed, for scripts that draw numbers themselves."""
    return _added


def install(seeds: int = 0, mutation: str | None = None) -> None:
    """Adds `seeds` to every seed of subsequent runs, and applies a mutation by its name."""
    global _added
    _added = seeds
    if not seeds and mutation is None:
        return
    change = MUTATIONS[mutation] if mutation else lambda scenario: None
    run, survey, text, grid = skyhop.run, skyhop.survey, _space._Asked.text, equivalence.grid

    def altered_run(scenario=None, *, text=None, files=None, set=None, seed=None, out=None, base=None):
        keys, folder = read(scenario, text)
        for key, value in (set or {}).items():
            put(keys, key, value)
        change(keys)
        return run(keys, files=files, seed=(keys.get("seed", 1) if seed is None else seed) + seeds, out=out, base=base or folder)

    def altered_text(self) -> str:
        keys = tomllib.loads(text(self))
        change(keys)
        return written(keys)

    def altered_grid(**settings) -> str:
        keys = tomllib.loads(grid(**settings))
        change(keys)
        zipped = keys["sweep"]["zip"]
        if "seed" in zipped:
            zipped["seed"] = [seed + seeds for seed in zipped["seed"]]
        return written(keys)

    def altered_survey(*args, seed: int = 1, **keys):
        return survey(*args, seed=seed + 1000 * seeds, **keys)

    skyhop.run, skyhop.survey = altered_run, altered_survey
    _space._Asked.text, equivalence.grid = altered_text, altered_grid
    if mutation in FORMULAS:
        FORMULAS[mutation]()


def read(scenario: Any, text: str | None) -> tuple[Scenario, Path]:
    """Keys and values of a scenario (a file, a text, or keys and values), and the folder of its other files."""
    if text is not None:
        return tomllib.loads(text), Path.cwd()
    if isinstance(scenario, dict):
        return tomllib.loads(written(scenario)), Path.cwd()
    return tomllib.loads(Path(scenario).read_text(encoding="utf-8")), Path(scenario).resolve().parent


def written(keys: Scenario) -> str:
    return "".join(f"{_toml(key)[1:-1] if key.isidentifier() else _toml(key)} = {_toml(value)}\n" for key, value in keys.items())


def put(keys: Scenario, path: str, value: Any) -> None:
    """Sets the value at a dotted path, with members of a list by name. Texts are parsed as TOML if possible."""
    if isinstance(value, str):
        try:
            value = tomllib.loads(f"v = {value}")["v"]
        except tomllib.TOMLDecodeError:
            pass
    at: Any = keys
    *steps, last = path.split(".")
    for step in steps:
        at = next(member for member in at if member["name"] == step) if isinstance(at, list) else at.setdefault(step, {})
    at[last] = value


def times(text: Any, factor: float) -> str:
    """A number with its unit, multiplied by a factor; packets and segments stay whole."""
    number, unit = re.fullmatch(r"([0-9.eE+-]+)\s*(.*)", str(text)).groups()
    value = float(number) * factor
    return f"{max(1, round(value)) if unit in ('packets', 'packet', 'segments', 'segment', 'B') else value:.9g} {unit}".strip()


def transports(keys: Scenario, kind: str):
    """Transports of flows and of gateways."""
    of = [member.get("transport") for member in [*keys.get("flows", []), *keys.get("splices", {}).values()]]
    return [t for t in of if isinstance(t, dict) and t.get("kind") == kind]


def directions(keys: Scenario):
    for link in keys.get("links", {}).values():
        yield link
        if "reverse" in link:
            yield link["reverse"]


def acknowledge_each(keys: Scenario) -> None:
    for tcp in transports(keys, "tcp"):
        tcp["delayed_ack"] = {"kind": "none"}


def acknowledge_late(keys: Scenario) -> None:
    for tcp in transports(keys, "tcp"):
        tcp["delayed_ack"] = {"kind": "one-shot", "timeout": "500 ms"}


def without_sack(keys: Scenario) -> None:
    for tcp in transports(keys, "tcp"):
        if tcp.get("variant", "").startswith(("sack", "fack")):
            tcp["variant"] = "newreno"


def tahoe(keys: Scenario) -> None:
    for tcp in transports(keys, "tcp"):
        tcp["variant"] = "tahoe"


def double_queues(keys: Scenario) -> None:
    for link in directions(keys):
        for key in ("limit", "min", "max"):
            if key in link.get("queue", {}):
                link["queue"][key] = times(link["queue"][key], 2)


def longer_delays(keys: Scenario) -> None:
    for link in directions(keys):
        if "delay" in link:
            link["delay"] = times(link["delay"], 1.1)


def slower_links(keys: Scenario) -> None:
    for link in directions(keys):
        if "rate" in link:
            link["rate"] = times(link["rate"], 0.8)


def double_losses(keys: Scenario) -> None:
    for link in directions(keys):
        loss = link.get("loss", {})
        for key in ("probability", "bit_error_rate"):
            if key in loss:
                loss[key] = min(1.0, 2 * loss[key])


def halve_windows(keys: Scenario) -> None:
    for tcp in transports(keys, "tcp"):
        for key in ("window", "initial_window", "initial_ssthresh"):
            if key in tcp:
                tcp[key] = times(tcp[key], 0.5)
    for stp in transports(keys, "stp"):
        stp["window"] = "60 kB"


def double_openings(keys: Scenario) -> None:
    for stp in transports(keys, "stp"):
        stp["initial_window"] = "4 packets"
    for tcp in transports(keys, "tcp"):
        tcp["initial_window"] = times(tcp.get("initial_window", "1 segments"), 4)


def poll_often(keys: Scenario) -> None:
    for stp in transports(keys, "stp"):
        stp["polls_per_rtt"] = 6


def no_ttcp(keys: Scenario) -> None:
    for tcp in transports(keys, "tcp"):
        tcp.pop("open", None)


def no_increase(keys: Scenario) -> None:
    for tcp in transports(keys, "tcp"):
        tcp.pop("increase", None)


def constant_rate(keys: Scenario) -> None:
    for tcp in transports(keys, "tcp"):
        tcp["increase"] = {"kind": "constant-rate", "c": 25.0}


def no_splices(keys: Scenario) -> None:
    keys.pop("splices", None)


def one_duplicate(keys: Scenario) -> None:
    for tcp in transports(keys, "tcp"):
        tcp["dupack_threshold"] = 2


def no_silly_windows(keys: Scenario) -> None:
    for tcp in transports(keys, "tcp"):
        tcp.pop("silly_window_avoidance", None)


def late_discard(keys: Scenario) -> None:
    for link in directions(keys):
        if "policy" in link.get("queue", {}):
            link["queue"]["policy"] = "tail-drop"


def mask(keys: Scenario) -> None:
    if "constellation" in keys:
        keys["constellation"]["elevation_mask"] = "55 deg"


def all_seams(keys: Scenario) -> None:
    if "constellation" in keys:
        of = keys["constellation"]
        of["cross_seam_isls"] = not of.get("cross_seam_isls", of.get("preset") != "iridium")


def no_links_at(latitude: str) -> Callable[[Scenario], None]:
    def change(keys: Scenario) -> None:
        if "constellation" in keys:
            keys["constellation"]["isl_latitude_limit"] = latitude

    return change


def other_system(keys: Scenario) -> None:
    other = {
        "teledesic": "iridium",
        "iridium": "teledesic",
        "spaceway-ngso": "ico",
        "ico": "spaceway-ngso",
        "molniya": "ico",
        "geo-3": "ico",
        "teledesic-288": "teledesic",
        "celestri": "skybridge",
        "skybridge": "celestri",
    }
    of = keys.get("constellation", {})
    if of.get("preset") in other:
        of["preset"] = other[of["preset"]]
    if "shell" in of:
        of["shell"] |= {"inclination": "75 deg", "altitude": times(of["shell"]["altitude"], 1.5)}


def closer_planes(keys: Scenario) -> None:
    if keys.get("constellation", {}).get("preset") == "teledesic":
        shell = {"planes": 12, "satellites_per_plane": 24, "altitude": "1375 km", "inclination": "84.7 deg", "raan_spacing": "14 deg"}
        keys["constellation"] = {"shell": shell, "elevation_mask": "40 deg"}


def slow_round_trips() -> None:
    """Analysis with round trips longer by a tenth."""
    exact = theory.short_transfer
    theory.short_transfer = lambda *size, rtt_s, **keys: exact(*size, rtt_s=1.1 * rtt_s, **keys)


def no_handshake() -> None:
    exact = theory.short_transfer
    theory.short_transfer = lambda *size, handshake=True, **keys: exact(*size, handshake=True, **keys)


def exchanged_levels() -> None:
    """Printed numbers of early packet discard and selective drop exchanged."""
    import kota

    exact, other = kota.parsed, {"epd": "sd", "sd": "epd"}
    kota.parsed = lambda text: {(other[drop], *rest): pair for (drop, *rest), pair in exact(text).items()}


def one_cell() -> None:
    """An additional cell in the drawing, 16 instead of 12 cells beside the caps, and an additional ATM cell around each packet."""
    satellite_atm.HEADERS_B += satellite_atm.PAYLOAD_B
    exact = subprocess.run

    def changed(*args, **keys):
        if "input" in keys:
            keys["input"] = keys["input"].replace(".####.\n", "#####.\n#....#\n", 1)
        done = exact(*args, **keys)
        done.stdout = re.sub(r"(?m),12,", ",16,", done.stdout)
        return done

    subprocess.run = changed


def no_remedies(keys: Scenario) -> None:
    """Nothing that a text proposes against disorder, losses and thin ways back; each flow fetches a file of its own."""
    for link in keys.get("links", {}).values():
        for key in ("ack_reconstruction", "header_twice", "header_requests"):
            link.pop(key, None)
    for tcp in transports(keys, "tcp"):
        tcp.pop("ack_division", None)
    for number, flow in enumerate(keys.get("flows", [])):
        flow.pop("resequencing", None)
        if flow.get("traffic", {}).get("kind") == "fetch":
            flow["traffic"]["file"] += f"-{number}"
    if keys.get("routing", {}).get("spread") == "congestion":
        keys["routing"].pop("spread")


#: Wrong implementations and wrong settings, each a change of a scenario.
MUTATIONS: dict[str, Callable[[Scenario], None]] = {
    "acknowledge every segment": acknowledge_each,
    "acknowledge after 500 ms": acknowledge_late,
    "NewReno for SACK": without_sack,
    "Tahoe for all": tahoe,
    "queues doubled": double_queues,
    "delays +10 %": longer_delays,
    "rates -20 %": slower_links,
    "losses doubled": double_losses,
    "windows halved": halve_windows,
    "initial window four times": double_openings,
    "STP polls six times": poll_often,
    "no T/TCP": no_ttcp,
    "no increase": no_increase,
    "a constant rate": constant_rate,
    "no split": no_splices,
    "two duplicates": one_duplicate,
    "no silly windows": no_silly_windows,
    "plain UBR": late_discard,
    "elevation mask of 55 deg": mask,
    "the seam the other way": all_seams,
    "no links beyond 40 deg": no_links_at("40 deg"),
    "links up to 78 deg": no_links_at("78 deg"),
    "another system": other_system,
    "planes closer": closer_planes,
    "no remedies": no_remedies,
    "a cell more": lambda scenario: None,
    "two levels exchanged": lambda scenario: None,
}
#: Wrong implementations outside a scenario.
FORMULAS = {
    "delays +10 %": slow_round_trips,
    "no T/TCP": no_handshake,
    "a cell more": one_cell,
    "two levels exchanged": exchanged_levels,
}
