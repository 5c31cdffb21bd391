"""Moving terminals, populations of flows, and several constellations, from Python without a file.

Follows closed forms: a parallel of latitude, shares of members, the height of a geostationary satellite.
Leaves out the packets on the path, which the Rust tests of `sim` have.
"""

import tomllib

import pytest

import skyhop

MOVING = """\
duration = "10 min"
[constellation]
preset = "iridium"
gsl = { rate = "10 Mbit/s" }
[terminals.shore]
lat = "40 deg"
lon = "-74 deg"
[terminals.ship.track]
kind = "points"
points = [
  { at = "0 s", lat = "0 deg", lon = "-40 deg" },
  { at = "10 min", lat = "0 deg", lon = "-37 deg" },
]
[[flows]]
name = "echo"
from = "shore"
to = "ship"
traffic = { kind = "ping", interval = "10 s" }
"""

MANY = """\
duration = "10 s"
[constellation]
preset = "teledesic"
gsl = { rate = "10 Mbit/s" }
[terminals]
hub = { lat = "40 deg", lon = "-74 deg" }
[populations.users]
count = 20
around = { lat = "45 deg", lon = "-70 deg" }
radius = "300 km"
[[flows]]
name = "echo"
from = "hub"
to = "users"
count = 40
start_spread = "1 s"
traffic = { kind = "ping", interval = "1 s" }
"""

SIDE_BY_SIDE = """\
duration = "60 s"
[constellations.geo]
geostationary = ["-30 deg"]
gsl = { rate = "10 Mbit/s" }
[constellations.leo]
preset = "teledesic"
gsl = { rate = "10 Mbit/s" }
[terminals]
azores = { lat = "0 deg", lon = "-30 deg" }
ascension = { lat = "0 deg", lon = "-30.5 deg" }
[[flows]]
name = "any"
from = "azores"
to = "ascension"
traffic = { kind = "ping", interval = "1 s" }
[[flows]]
name = "high"
path = ["azores", "geo", "ascension"]
traffic = { kind = "ping", interval = "1 s" }
"""


def series(run, entity, metric):
    wanted = (run.series["entity"] == entity) & (run.series["metric"] == metric)
    return run.series["t_ns"][wanted] / 1e9, run.series["value"][wanted]


def test_a_terminal_that_moves_is_where_its_track_says():
    run = skyhop.run(text=MOVING)
    t_s, longitudes = series(run, "terminal/ship", "longitude_deg")
    # Three degrees in ten minutes along the equator, which is a great circle.
    assert len(t_s) > 10
    assert longitudes == pytest.approx(-40 + 3 * t_s / 600, abs=1e-9)
    assert series(run, "terminal/ship", "latitude_deg")[1] == pytest.approx(0, abs=1e-9)
    echo, addresses = run.summary["flows"]["echo"], run.summary["addresses"]
    assert echo["sent"] == 60 and echo["received"] >= 55
    assert list(addresses) == ["ship"] and addresses["ship"]["address_changes"] >= 1
    # The same as keys and values, with the track changed by name.
    keys = tomllib.loads(MOVING)
    assert skyhop.run(keys).summary["flows"] == run.summary["flows"]
    keys["terminals"]["ship"] = {"track": {"kind": "points", "points": keys["terminals"]["ship"]["track"]["points"][:1]}}
    still = skyhop.run(keys)
    assert "addresses" not in still.summary and len(series(still, "terminal/ship", "longitude_deg")[0]) == 0
    with pytest.raises(
        skyhop.ScenarioError, match=r"^scenario:12: terminals\.ship\.track\.points\.1: .* from the preceding point; expected at most 5 km/s"
    ):
        skyhop.check(text=MOVING.replace('"-37 deg"', '"3 deg"'))


def test_many_flows_are_told_by_their_shares():
    run = skyhop.run(text=MANY)
    assert list(run.summary["populations"]) == ["echo"]
    echo = run.summary["populations"]["echo"]
    assert echo["count"] == 40
    rtts = run.flows["rtt_mean_s"]
    assert len(rtts) == 40 and list(run.flows["name"][:2]) == ["echo.1", "echo.2"]
    told = echo["rtt_mean_s"]
    assert told["mean"] == pytest.approx(rtts.mean()) and told["worst"]["value"] == rtts.max()
    assert told["worst"]["flow"] == run.flows["name"][rtts.argmax()]
    assert told["p5"] <= told["p50"] <= told["p95"] <= told["worst"]["value"]
    # The members are the same for a number given in a text or in keys and values.
    keys = tomllib.loads(MANY)
    assert skyhop.run(keys).summary["populations"] == run.summary["populations"]
    keys["flows"][0]["count"] = 10
    assert skyhop.run(keys).summary["populations"]["echo"]["count"] == 10
    with pytest.raises(skyhop.ScenarioError, match=r'^scenario:14: flows\.0\.to: unknown end "user"; expected one of hub, '):
        skyhop.check(text=MANY.replace('to = "users"', 'to = "user"'))


def test_constellations_side_by_side_carry_flows_that_name_them():
    run = skyhop.run(text=SIDE_BY_SIDE)
    flows = run.summary["flows"]
    # Twice up and down at least 35,786 km; the lower satellites are at 1375 km.
    assert 4 * 35_786e3 / 299_792_458 < flows["high"]["rtt_min_s"] < 0.49
    assert 4 * 1375e3 / 299_792_458 < flows["any"]["rtt_min_s"] < 0.06
    assert flows["high"]["received"] > 55 and flows["any"]["received"] > 55
    assert {"gsl:azores.geo", "gsl:azores.leo"} <= set(run.summary["links"])
    preferring = skyhop.run({**tomllib.loads(SIDE_BY_SIDE), "routing": {"prefer": ["geo"]}})
    assert preferring.summary["flows"]["any"]["rtt_min_s"] > 0.47
    with pytest.raises(skyhop.ScenarioError, match=r'^scenario:\d+: flows\.1\.path\.1: .*"goe".*did you mean "geo"\?'):
        skyhop.check(text=SIDE_BY_SIDE.replace('"azores", "geo"', '"azores", "goe"'))
