"""Scenarios without a file: as text, as keys and values, with additional files.

Follows the file: the same scenario gives the same numbers, and the same mistakes.
Differs from the tests of the file: errors of keys have no line.
Leaves out the messages for mistakes, which the Rust tests list.
"""

import tomllib

import numpy as np
import pytest

import skyhop

TEXT = """\
host = "1999"
duration = "30 s"
[links.satellite]
rate = "1.5 Mbit/s"
delay = "300 ms"
trace = "fade.csv"
[[flows]]
name = "download"
path = ["server", "satellite", "user"]
traffic = { kind = "bulk", size = "300 kB" }
"""
FADE = "t_s,rate_bps\n0,1500000\n5,300000\n"


def plain(summary):
    """The entries that depend neither on the clock nor on the scenario's name."""
    return {key: value for key, value in summary.items() if key not in ("wall_s", "scenario", "scenario_sha256")}


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "fading.toml"
    path.write_text(TEXT, encoding="utf-8")
    (tmp_path / "fade.csv").write_text(FADE, encoding="utf-8")
    return path


def test_text_keys_and_file_give_the_same(file, tmp_path):
    expected = plain(skyhop.run(file).summary)
    keys = tomllib.loads(TEXT)
    for run in (
        skyhop.run(text=TEXT, files={"fade.csv": FADE.encode()}),
        skyhop.run(text=TEXT, base=tmp_path),
        skyhop.run(keys, files={"fade.csv": FADE}),
        skyhop.run(keys, base=str(tmp_path)),
        skyhop.run(skyhop.Scenario(keys, files={"fade.csv": bytearray(FADE.encode())})),
        skyhop.run(skyhop.Scenario(text=TEXT, base=tmp_path)),
    ):
        assert plain(run.summary) == expected
        assert run.summary["scenario"] == "scenario"
    assert skyhop.run({**keys, "name": "mine"}, base=tmp_path).summary["scenario"] == "mine"
    # The trace is used, and a given one takes precedence over one in the folder.
    fast = skyhop.run(keys, files={"fade.csv": "t_s,rate_bps\n0,1500000\n"}, base=tmp_path)
    assert fast.summary["flows"]["download"]["completed_s"] < expected["flows"]["download"]["completed_s"]


def test_values_of_keys_may_be_numpy_s_and_set_beside(tmp_path):
    keys = tomllib.loads(TEXT)
    del keys["links"]["satellite"]["trace"]
    keys["seed"] = np.int64(7)
    keys["links"]["satellite"]["loss"] = {"kind": "packets", "probability": np.float64(0.01)}
    keys["flows"][0]["path"] = ("server", "satellite", "user")
    keys["description"] = "quotes \" and \\ and ü and \n and 🛰 and \x7f"
    run = skyhop.run(keys, set={"flows.download.traffic.size": "10 kB"}, out=tmp_path / "out")
    assert run.summary["flows"]["download"]["bytes_delivered"] == 10_000
    assert run.summary["seed"] == 7
    assert (tmp_path / "out" / "summary.json").exists()


def test_mistakes_of_text_have_lines_and_those_of_keys_have_none():
    wrong = TEXT.replace('"300 ms"', "300")
    with pytest.raises(skyhop.ScenarioError, match=r"^scenario:5: links\.satellite\.delay: integer 300 has no unit; expected"):
        skyhop.check(text=wrong)
    with pytest.raises(skyhop.ScenarioError, match=r"^scenario: links\.satellite\.delay: integer 300 has no unit; expected"):
        skyhop.check(tomllib.loads(wrong))
    with pytest.raises(skyhop.ScenarioError, match=r'^scenario: duratio: unknown key "duratio"; expected one of name,'):
        skyhop.check({**tomllib.loads(TEXT), "duratio": "3 s"}, files={"fade.csv": FADE})
    # Late errors, and warnings, are reported in the same way.
    for given, place in (({"text": TEXT}, "scenario:6: "), ({"scenario": tomllib.loads(TEXT)}, "scenario: ")):
        with pytest.raises(skyhop.ScenarioError, match=rf"^{place}links\.satellite\.trace: .*fade\.csv: no such file"):
            skyhop.run(**given)
        with pytest.raises(skyhop.ScenarioError, match=rf"^{place}links\.satellite\.trace"):
            skyhop.run(**given, files={"fade.csv": "t_s,rate_bps\n0,fast\n"})
    warned = TEXT.replace("[links.satellite]", "[links.satellite]\nheader_compression = true").replace("duration", 'ip = "v6"\nduration')
    assert skyhop.check(text=warned, files={"fade.csv": FADE})[0].startswith("scenario:5: links.satellite.header_compression: ")
    assert skyhop.check(tomllib.loads(warned), files={"fade.csv": FADE})[0].startswith("scenario: links.satellite.header_compression: ")
    for value, told in (
        (None, "None is a NoneType, which no key has; leave the key out"),
        (object, "is a type, which no key has; give a text"),
    ):
        keys = {"duration": "3 s", "flows": [{"path": ["a"], "stop": value}]}
        with pytest.raises(skyhop.ScenarioError, match=rf"^scenario: flows\.0\.stop: .*{told}"):
            skyhop.check(keys)
    with pytest.raises(skyhop.ScenarioError, match="key 3 is a int"):
        skyhop.check({"links": {3: {}}})


def test_a_scenario_is_given_once(file):
    keys = tomllib.loads(TEXT)
    for wrong in (
        lambda: skyhop.run(),
        lambda: skyhop.run(file, text=TEXT),
        lambda: skyhop.run(keys, text=TEXT),
        lambda: skyhop.run(file, files={}),
        lambda: skyhop.run(file, base="."),
        lambda: skyhop.run(skyhop.Scenario(keys), base="."),
        lambda: skyhop.run(text=b"duration"),
        lambda: skyhop.Scenario(),
        lambda: skyhop.Scenario([]),
        lambda: skyhop.run(keys, files={"fade.csv": 3}),
    ):
        with pytest.raises(TypeError):
            wrong()
    with pytest.raises(FileNotFoundError):
        skyhop.check("no-such.toml")


def test_a_sweep_of_keys_goes_on_where_it_stopped(file, tmp_path):
    keys = {**tomllib.loads(TEXT), "sweep": {"grid": {"flows.download.traffic.size": ["50 kB", "100 kB"]}}}
    first = skyhop.sweep(keys, files={"fade.csv": FADE}, out=tmp_path / "sweep")
    again = skyhop.sweep(keys, files={"fade.csv": FADE}, out=tmp_path / "sweep")
    assert len(first) == len(again) == 2
    assert list(first["download.bytes_delivered"]) == [50_000, 100_000]


def test_satellites_of_a_scenario_without_a_file():
    keys = {
        "duration": "60 s",
        "constellation": {"preset": "iridium"},
        "terminals": {"here": {"lat": "40 deg", "lon": "-74 deg"}, "there": {"lat": "51 deg", "lon": "0 deg"}},
        "flows": [{"from": "here", "to": "there", "traffic": {"kind": "ping"}}],
    }
    times = {"duration": "60 s", "step": "60 s"}
    expected = skyhop.delay([("40,-74", "51,0")], {"preset": "iridium"}, **times)["delay_ms"]
    found = skyhop.delay([("here", "there")], skyhop.Scenario(keys), **times)["delay_ms"]
    assert list(found) == pytest.approx(list(expected), rel=1e-3)
    with pytest.raises(skyhop.ScenarioError, match=r"no \[constellation\]"):
        skyhop.delay([("london", "oslo")], skyhop.Scenario(text=TEXT, files={"fade.csv": FADE}), **times)
