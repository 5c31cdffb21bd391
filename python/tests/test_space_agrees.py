"""`skyhop delay`, `skyhop.delay` and a run of the same satellites, with defaults only: the same delays.

Follows a user's first step: a constellation's name or a file of elements, and two cities.
Differs from the other tests: no key, option or keyword is given that has a default.
Leaves out the delays themselves, which other tests compare with ns-2 and Hypatia.
"""

from __future__ import annotations

import csv
import os
import subprocess
from pathlib import Path

import numpy as np
import pytest

import skyhop

ROOT = Path(__file__).parents[2]
SKYHOP = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "release" / "skyhop"
ELEMENTS = ROOT.parent / "shared" / "data" / "tle"

#: Constellation and two cities; a file ends in .tle. Where there are no ISLs, cities that one satellite sees.
CASES = [
    ("iridium", "new york", "san francisco"),
    ("teledesic", "quito", "london"),
    ("spaceway-ngso", "quito", "tokyo"),
    ("celestri", "oslo", "cairo"),
    ("starlink-550", "london", "paris"),
    ("starlink", "london", "new york"),
    ("kuiper", "miami", "madrid"),
    ("oneweb", "london", "paris"),
    ("globalstar", "rome", "athens"),
    ("geo-3", "lagos", "cairo"),
    ("unknown.tle", "london", "paris"),
    ("called-starlink.tle", "london", "new york"),
    ("called-oneweb.tle", "london", "paris"),
    ("called-iridium.tle", "new york", "san francisco"),
    ("starlink.tle", "london", "new york"),
    ("iridium_next.tle", "new york", "san francisco"),
    ("oneweb.tle", "london", "paris"),
    ("gps.tle", "london", "new york"),
]
#: Files generated here: presets as elements, under the names of their satellites.
MADE = {
    "unknown.tle": ("kuiper-630", None),
    "called-starlink.tle": ("kuiper-630", "STARLINK-{}"),
    "called-oneweb.tle": ("oneweb", "ONEWEB-{}"),
    "called-iridium.tle": ("iridium", "IRIDIUM {}"),
}
#: At an update a run's packet precedes it and a command's follows it; a second later both have the new state.
TIMES = ["--start", "1", "--duration", "600"]


def command(*args: str) -> str:
    done = subprocess.run([SKYHOP, *args], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def elements(name: str, folder: Path) -> Path:
    if name not in MADE:
        if not (ELEMENTS / name).exists():
            pytest.skip(f"no {ELEMENTS / name}")
        return ELEMENTS / name
    preset, called = MADE[name]
    lines = command("constellation", "export", preset, "--tle").splitlines()
    if called:
        lines[::3] = [called.format(number) for number in range(len(lines) // 3)]
    file = folder / name
    file.write_text("\n".join(lines) + "\n")
    return file


@pytest.mark.parametrize(("what", "a", "b"), CASES)
def test_the_same_satellites_are_the_same_distance(what: str, a: str, b: str, tmp_path: Path):
    if not SKYHOP.exists():
        pytest.skip(f"no {SKYHOP}; cargo build --release makes it")
    file = elements(what, tmp_path) if what.endswith(".tle") else None
    option = ["--tle", str(file)] if file else ["--constellation", what]
    told = list(csv.DictReader(command("delay", a, b, *option, *TIMES, "--csv").splitlines()))
    assert len(told) == 10

    ours = skyhop.delay([(a, b)], {"tle": str(file)} if file else what, start="1 s", duration="600 s")
    assert [f"{delay:.6f}" for delay in ours["delay_ms"]] == [row["delay_ms"] for row in told]
    assert list(ours["path"]) == [row["path"] for row in told]
    assert list(ours["status"]) == [row["status"] for row in told]

    key, value = ("tle", str(file)) if file else ("preset", what)
    ends = {name.replace(" ", "-"): skyhop._skyhop.place(name)[1:] for name in (a, b)}
    scenario = tmp_path / "asked.toml"
    scenario.write_text(
        # Links without transmission time leave only propagation.
        f'duration = "602 s"\n[constellation]\n{key} = "{value}"\n'
        'isl = { rate = "1 Tbit/s" }\ngsl = { rate = "1 Tbit/s" }\n[terminals]\n'
        + "".join(f'{name} = {{ lat = "{lat!r} deg", lon = "{lon!r} deg" }}\n' for name, (lat, lon) in ends.items())
        + '[[flows]]\nname = "ping"\nfrom = "{}"\nto = "{}"\n'.format(*ends)
        + 'traffic = { kind = "ping", interval = "60 s" }\nstart = "1 s"\nstop = "596 s"\n'
    )
    run = skyhop.run(scenario)
    delays = np.array([float(row["delay_ms"]) for row in told])
    there = np.isfinite(delays)
    assert run.summary["flows"]["ping"]["received"] == there.sum()
    if there.any():
        sent_s, delay_s = run.sample("flow/ping", "delay_s")
        assert list(np.round((sent_s - 1) / 60).astype(int)) == list(np.flatnonzero(there))
        # A packet's time is rounded to nanoseconds at each hop.
        assert np.max(np.abs(delay_s * 1e3 - delays[there])) < 3e-5

    asked = command("delay", *ends, "--scenario", str(scenario), *TIMES, "--csv")
    assert [row["delay_ms"] for row in csv.DictReader(asked.splitlines())] == [row["delay_ms"] for row in told]
    again = skyhop.delay([tuple(ends)], scenario, start="1 s", duration="600 s")
    assert np.array_equal(again["delay_ms"], ours["delay_ms"], equal_nan=True)


def test_what_is_not_known_of_a_file_is_not_made_up(tmp_path: Path):
    if not SKYHOP.exists():
        pytest.skip(f"no {SKYHOP}; cargo build --release makes it")
    unknown, starlink, oneweb = (
        skyhop.snapshot({"tle": str(elements(name, tmp_path))}).links
        for name in ("unknown.tle", "called-starlink.tle", "called-oneweb.tle")
    )
    # 34 planes of 34 with a link ahead and one to the side; no unused laser.
    assert (len(unknown), len(starlink), len(oneweb)) == (0, 2 * 34 * 34, 0)
    asked = skyhop.snapshot({"tle": str(tmp_path / "unknown.tle"), "isls": True}).links
    assert len(asked) == 2 * 34 * 34
