"""Satellites without a run: results of the functions, and rejected arguments.

Follows the commands of the same names, whose rows must be the same; ns-2's rows if they are next to the repository.
Differs from the library's tests: it goes through the bindings.
Leaves out numbers that the library's tests bound already.
"""

from __future__ import annotations

import csv

import numpy as np
import pytest

import skyhop
from beside import shared


def test_delays_are_ns2s():
    file = shared("reference/constellation/series_iridium_lat60_delay_newyork_sanfrancisco.csv")
    with file.open() as lines:
        expected = list(csv.DictReader(lines))[:180]
    cities = {
        "newyork": {"name": "newyork", "lat": "40.71 deg", "lon": "-74.01 deg"},
        "sanfrancisco": {"name": "sanfrancisco", "lat": "37.77 deg", "lon": "-122.42 deg"},
    }
    ours = skyhop.delay(
        [(cities["newyork"], cities["sanfrancisco"])],
        {"preset": "iridium", "isl_latitude_limit": "60 deg"},
        start="0.01 s",
        duration="3 h",
        step="60 s",
        antennas=1,
    )
    assert len(ours) == len(expected) == 180
    delays = np.array([float(row["delay_ms"]) for row in expected])
    assert np.max(np.abs(ours["delay_ms"] - delays)) < 0.01
    assert [row["path"] for row in expected] == list(ours["path"])


def test_several_pairs_and_a_bent_pipe():
    pairs = [("quito", "lima"), ((-0.22, -78.51), "bogota")]
    shells = {"preset": "starlink-gen1", "isls": False}
    table = skyhop.delay(pairs, shells, antennas="all", gateways=["lima"], duration="2 min", step="30 s")
    assert table.columns == ["time_s", "from", "to", "delay_ms", "satellites", "path", "status"]
    assert len(table) == 8 and set(table["status"]) == {"ok"}
    assert np.all((table["delay_ms"] > 3.6) & (table["delay_ms"] < 30))
    assert np.all((table["satellites"] >= 1) & (table["satellites"] <= 2))


def test_gateways_pass_packets_on():
    # True == 1, by which an ordinary terminal once became a gateway.
    pipe = {"preset": "starlink-550", "isls": False}
    pair = [("new york", "london")]
    alone = skyhop.delay(pair, pipe, duration="2 min", step="30 s")
    joined = skyhop.delay(pair, pipe, gateways=["london", "new york"], duration="2 min", step="30 s")
    assert set(alone["status"]) == {"noroute"} and set(joined["status"]) == {"ok"}
    # 5,570 km of fibre take 27.3 ms; up and down twice at 550 km 7.4 ms or more.
    assert np.all((joined["delay_ms"] > 34) & (joined["delay_ms"] < 38))


def test_a_scenario_is_asked_with_its_failures_and_terminals(tmp_path):
    file = tmp_path / "own.toml"
    file.write_text(
        'duration = "20 min"\n[constellation]\nisls = false\nelevation_mask = "15 deg"\n'
        'shell = { planes = 1, satellites_per_plane = 30, altitude = "1000 km", inclination = "0 deg" }\n'
        '[terminals]\nship = { lat = "0 deg", lon = "2 deg" }\nport = { lat = "0 deg", lon = "-2 deg" }\n'
        '[[failures]]\nsatellite = "0.0"\nfrom = "0 s"\nuntil = "30 s"\n'
        '[[flows]]\nfrom = "ship"\nto = "port"\ntraffic = { kind = "ping" }\n'
    )
    delays = skyhop.delay([("ship", "port")], file, duration="1 min", step="20 s")["delay_ms"]
    # At 40 s satellite 0.0 is 1000 and 1115 km from the ends; while it fails its neighbour 12 degrees on is 1558 and 1948.
    assert 11.5 < delays[0] < 11.9 and 6.9 < delays[2] < 7.2
    whole = skyhop.look("ship", file, ["0.0"], frequency_hz=1e9, duration="0 s")
    assert abs(whole["azimuth_deg"][0] - 270) < 1e-6 and whole["doppler_hz"][0] > 1000
    with pytest.raises(skyhop.ScenarioError, match="own.toml"):
        file.write_text(file.read_text().replace("15 deg", "115 deg"))
        skyhop.passes("ship", file)


def test_looks_have_an_order_and_doppler_the_sign_of_approach():
    looks = skyhop.look("oslo", "iridium", frequency_hz=1.6e9, duration="20 min", step="20 s")
    assert np.all(np.diff(looks["time_s"]) >= 0) and np.all(looks["elevation_deg"] > 8.2)
    nearer = np.diff(looks["slant_range_km"][looks["satellite"] == looks["satellite"][0]])
    rate = looks["range_rate_m_s"][looks["satellite"] == looks["satellite"][0]]
    assert np.all(np.sign(nearer) == np.sign((rate[:-1] + rate[1:]) / 2))
    assert np.allclose(looks["doppler_hz"], -1.6e9 * looks["range_rate_m_s"] / 299_793e3, rtol=1e-9)
    assert 20e3 < looks["doppler_hz"].max() < 40e3
    with pytest.raises(ValueError, match="no satellite"):
        skyhop.look("oslo", "iridium", ["9.9"])


def test_a_policy_beside_all_satellites_in_view_is_refused():
    shells = {"preset": "starlink-550", "handover": "nearest"}
    with pytest.raises(skyhop.ScenarioError, match="chooses among satellites"):
        skyhop.delay([("oslo", "rome")], shells, antennas="all", duration="1 min")
    chosen = skyhop.snapshot(shells, terminals=["oslo"]).links
    assert np.sum(chosen["kind"] == "gsl") == 1


def test_metric_and_step_are_checked():
    with pytest.raises(ValueError, match="metric 'latency'; expected 'delay' or 'hops'"):
        skyhop.delay([("oslo", "rome")], "iridium", metric="latency")
    with pytest.raises(ValueError, match="expected a number and a unit"):
        skyhop.delay([("oslo", "rome")], "iridium", step="soon")
    with pytest.raises(ValueError, match="more than 0 s"):
        skyhop.delay([("oslo", "rome")], "iridium", step="0 s")
    with pytest.raises(ValueError, match="is no pair of places"):
        skyhop.delay(("oslo", "rome"), "iridium")


def test_mistakes_name_the_nearest():
    with pytest.raises(skyhop.ScenarioError, match='did you mean "iridium"'):
        skyhop.delay([("oslo", "rome")], "iridum")
    with pytest.raises(skyhop.ScenarioError, match="handover"):
        skyhop.delay([("oslo", "rome")], {"preset": "iridium", "handovr": "highest"})
    with pytest.raises(ValueError, match="(?i)oslo"):
        skyhop.delay([("olso", "rome")], "iridium")
    with pytest.raises(ValueError, match='no satellite "9.9"'):
        skyhop.tables("iridium", "9.9", states=1)
    with pytest.raises(ValueError, match="geographic, hybrid, shortest or a function"):
        skyhop.survey("iridium", "best", samples=1)


def test_passes_have_an_order():
    passes = skyhop.passes("oslo", "iridium", duration="2 h")
    whole = np.isfinite(passes["rise_s"]) & np.isfinite(passes["set_s"])
    assert 10 < len(passes) < 80 and whole.sum() > 5
    assert np.all(passes["rise_s"][whole] < passes["culmination_s"][whole])
    assert np.all(passes["culmination_s"][whole] < passes["set_s"][whole])
    # 780 km straight up takes 2.6 ms; at 8.2 degrees it is 2460 km.
    assert np.all((passes["min_delay_ms"] > 2.59) & (passes["max_delay_ms"] < 8.3))


def test_tables_shrink():
    tables = skyhop.tables("teledesic", "3.4", states=2)
    assert list(tables["entries"]) == [21_354, 21_354]
    assert np.all(tables["minimised"] < tables["greedy"]) and np.all(tables["greedy"] < tables["entries"] / 9)
    assert np.isnan(tables["delta"][0]) and 0 < tables["delta"][1] < 21_354 * 0.3


def test_a_survey_is_the_same_each_time_and_ours_delivers():
    first = skyhop.survey("iridium", "geographic", samples=200, failed=0.01, seed=4)
    again = skyhop.survey("iridium", "geographic", samples=200, failed=0.01, seed=4)
    assert np.array_equal(first["delay_ms"], again["delay_ms"], equal_nan=True)
    there = np.isfinite(first["least_delay_ms"])
    assert set(first["outcome"][there]) == {"delivered"}
    assert np.all(first["delay_ms"][there] >= first["least_delay_ms"][there] - 1e-9)


def test_a_snapshot_knows_its_links():
    snapshot = skyhop.snapshot("iridium", "100 s", terminals=["oslo", "quito"])
    nodes, links = snapshot.nodes, snapshot.links
    assert list(nodes["kind"]).count("satellite") == 66 and list(nodes["kind"]).count("terminal") == 2
    assert np.allclose(nodes["altitude_km"][:66], 780)
    gsl = links["kind"] == "gsl"
    assert gsl.sum() == 2 and np.all(links["up"][gsl] == 1)
    assert "links up" in repr(snapshot)


def test_a_map_can_be_drawn():
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    from skyhop import plot

    snapshot = skyhop.snapshot("teledesic", terminals=["oslo"])
    ax = plot.map(snapshot, path=["oslo", "0.0"])
    assert ax.get_xlim() == (-180, 180) and len(ax.lines) > 500


def test_links_on_a_map_follow_great_circles():
    pytest.importorskip("matplotlib")
    from skyhop._map import great_circle

    (one,) = great_circle(-122.4, 37.8, -0.1, 51.5)
    # It leaves at an azimuth of 32.6 degrees, so by Clairaut its northernmost point is at acos(sin 32.6 cos 37.8) = 64.8;
    # a straight line stays below 51.5.
    assert abs(one[:, 1].max() - 64.8) < 0.1
    before, after = great_circle(30, 70, -170, 80)
    assert before[-1][0] in (180, -180) and after[0][0] == -before[-1][0]
    assert before[:, 1].max() > 85


def test_a_scheme_of_ones_own_is_asked_once_a_change():
    asked = []

    def shortest(network: skyhop.Network) -> np.ndarray:
        asked.append(network.t_s)
        terminals = range(network.satellites, network.nodes)
        weight = np.full((network.nodes, network.nodes), np.inf)
        weight[network.a, network.b] = weight[network.b, network.a] = network.delay_ms
        table = np.full((network.nodes, len(terminals)), -1)
        for column, to in enumerate(terminals):
            # Bellman-Ford; other terminals do not relay.
            cost = np.full(network.nodes, np.inf)
            cost[to] = 0
            relay = weight.copy()
            relay[:, [t for t in terminals if t != to]] = np.inf
            for _ in range(network.nodes):
                through = relay + cost
                best = through.min(axis=1)
                better = best < cost - 1e-12
                if not better.any():
                    break
                cost[better], table[better, column] = best[better], through.argmin(axis=1)[better]
        return table

    ours = skyhop.survey("iridium", shortest, samples=40, seed=2)
    theirs = skyhop.survey("iridium", "shortest", samples=40, seed=2)
    assert np.allclose(ours["delay_ms"], theirs["delay_ms"], atol=1e-6, equal_nan=True)
    # Four pairs at each of ten instants.
    assert len(asked) == len(set(asked)) == 10


def test_a_scheme_that_is_wrong_says_so():
    with pytest.raises(ValueError, match="expected .*nodes by terminals"):
        skyhop.survey("iridium", lambda network: np.zeros((2, 2)), samples=4)
    with pytest.raises(ZeroDivisionError):
        skyhop.survey("iridium", lambda network: 1 // 0, samples=4)
    lost = skyhop.survey("iridium", lambda n: np.full((n.nodes, n.nodes - n.satellites), -1), samples=8)
    assert set(lost["outcome"]) <= {"stranded(deadend)", "stranded(nopath)", "delivered"}
    assert "stranded(deadend)" in set(lost["outcome"])


def test_a_pair_in_place_of_pairs_is_told():
    for pairs in (("london", "tokyo"), [("london", "tokyo", "paris")], ((51.5, -0.1), (35.7, 139.7))):
        with pytest.raises(ValueError, match=r"is no pair of places; pairs are a list of them, such as \[\('london', 'tokyo'\)\]"):
            skyhop.delay(pairs, "iridium")
