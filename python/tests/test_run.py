"""Running from Python: the command's numbers, files and errors.

Follows the summary's guarantee: stable keys, with SI units.
Differs from the Rust tests: the interface of Python is tested.
Leaves out the correctness of numbers, which the simulator's tests have.
"""

import json
import os
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

import skyhop


def test_a_run_has_the_summarys_keys(run):
    flow = run.summary["flows"]["download"]
    assert flow["bytes_delivered"] == 2_000_000
    assert 0.5e6 < flow["goodput_bps"] < 1.5e6
    assert 0.6 <= flow["rtt_min_s"] <= 0.65
    assert run.summary["version"] == skyhop.__version__
    assert "set" not in run.summary


def test_what_held_a_flow_up_adds_up_and_names_the_window(scenario):
    window = {"flows.download.transport.window": "20 kB", "links.satellite.rate": "10 Mbit/s"}
    run = skyhop.run(scenario, set=window)
    shares = run.limits("download")
    assert next(iter(shares)) == run.summary["flows"]["download"]["limited_by"] == "receive_window"
    assert len(shares) == 8 and sum(shares.values()) == pytest.approx(1, abs=1e-12)
    assert shares["receive_window"] == run.flows["limited_receive_window"][0] > 0.9
    assert (run.flows["limited_by"][0], run.flows["bottleneck"][0]) == ("receive_window", "satellite")
    assert any("transport.window" in warning for warning in run.summary["warnings"])
    with pytest.raises(KeyError, match="there are download"):
        run.limits("upload")


def test_set_takes_texts_numbers_and_tables(scenario):
    slow = skyhop.run(
        scenario,
        set={
            "links.satellite.rate": "1 Mbit/s",
            "links.satellite.queue": {"kind": "drop-tail", "limit": "20 packets"},
            "flows.download.transport.dupack_threshold": np.int64(4),
            "flows.download.transport.limited_transmit": False,
        },
    )
    assert slow.summary["flows"]["download"]["goodput_bps"] < 1e6
    assert slow.summary["set"][0] == "links.satellite.rate=1 Mbit/s"
    with pytest.raises(TypeError, match="give a text"):
        skyhop.run(scenario, set={"links.satellite.rate": object()})


def test_a_seed_takes_the_place_of_the_scenarios(scenario):
    assert skyhop.run(scenario).summary["seed"] == 1
    assert skyhop.run(scenario, seed=5).summary["seed"] == 5


def test_out_leaves_the_results_folder(scenario, tmp_path):
    run = skyhop.run(scenario, out=tmp_path / "results")
    names = sorted(p.name for p in (tmp_path / "results").iterdir())
    assert names == ["flows.parquet", "packets.pcapng", "series.parquet", "summary.json"]
    assert json.loads((tmp_path / "results/summary.json").read_text()) == run.summary
    import pyarrow.parquet

    for name, table in [("flows", run.flows), ("series", run.series)]:
        assert pyarrow.parquet.read_table(tmp_path / f"results/{name}.parquet").to_pandas().equals(table.to_pandas())


def test_without_out_nothing_is_written(scenario):
    before = sorted(scenario.parent.iterdir())
    skyhop.run(scenario)
    assert sorted(scenario.parent.iterdir()) == before


def test_mistakes_are_named_with_file_and_line(scenario):
    scenario.write_text(scenario.read_text().replace("1.5 Mbit/s", "1.5 mbps"))
    for call in (skyhop.run, skyhop.check):
        with pytest.raises(skyhop.ScenarioError, match=r"geo.toml:5: links.satellite.rate: .*Mbit/s"):
            call(scenario)
    assert issubclass(skyhop.ScenarioError, ValueError)
    with pytest.raises(skyhop.ScenarioError, match="missing.toml"):
        skyhop.check(scenario.parent / "missing.toml")


def test_check_returns_warnings(scenario):
    assert skyhop.check(scenario) == []


def test_results_that_cannot_be_written_are_an_os_error(scenario):
    with pytest.raises(OSError, match="geo.toml: it exists and is not a folder"):
        skyhop.run(scenario, out=scenario)


def test_other_threads_run_meanwhile(scenario):
    ticks = []
    stop = threading.Event()

    def tick():
        while not stop.wait(0.001):
            ticks.append(time.monotonic())

    thread = threading.Thread(target=tick)
    thread.start()
    # A busy machine may keep the other thread from running during one of them.
    during = []
    while not during or during[-1] < 3 and len(during) < 5:
        started = time.monotonic()
        skyhop.run(scenario, set={"links.satellite.rate": "30 Mbit/s", "links.satellite.delay": "10 ms",
                                  "flows.download.traffic.size": "100 MB"})
        ended = time.monotonic()
        during.append(sum(started < t < ended for t in ticks))
    stop.set()
    thread.join()
    assert during[-1] >= 3, during


@pytest.mark.skipif(os.name != "posix", reason="signals are sent as on POSIX")
def test_ctrl_c_stops_a_run_and_leaves_nothing(scenario):
    text = scenario.read_text().replace('duration = "60 s"', 'duration = "10000 h"').replace(', size = "2 MB"', "")
    scenario.write_text(text)
    out = scenario.parent / "results"
    # A shell that starts the tests in the background ignores SIGINT, and children inherit that.
    listen = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); "
    code = listen + f"import skyhop; print('ready', flush=True); skyhop.run({str(scenario)!r}, out={str(out)!r})"
    child = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        assert child.stdout.readline() == "ready\n"
        time.sleep(0.5)
        child.send_signal(signal.SIGINT)
        _, errors = child.communicate(timeout=60)
    finally:
        child.kill()
    assert "KeyboardInterrupt" in errors
    assert [p.name for p in scenario.parent.iterdir()] == ["geo.toml"]


def test_a_run_introduces_itself(run):
    text = repr(run)
    assert text.startswith("<skyhop run of 'geo', seed 1, ") and "download: " in text and " of 20 pings received" in text
    assert "<table>" in run._repr_html_() and "<table>" in run.series._repr_html_()


APPLICATIONS = """
duration = "20 s"
[links.sat]
rate = "1 Mbit/s"
delay = "100 ms"
[[flows]]
name = "APP"
path = ["a", "sat", "b"]
traffic = TRAFFIC
"""


@pytest.mark.parametrize(
    ("traffic", "told"),
    [
        ('{ kind = "web", think = { kind = "fixed", value = "1 s" } }', " completed, 0 failed"),
        ('{ kind = "request-response", reply = { kind = "fixed", value = "10 kB" } }', "completed"),
        ('{ kind = "poisson", arrivals_per_s = 1.0, size = { kind = "fixed", value = "10 kB" } }', "completed"),
        ('{ kind = "cbr", rate = "100 kbit/s", size = "100 B" }', "datagrams received, delay 10"),
        (
            '{ kind = "on-off", rate = "100 kbit/s", size = "100 B", '
            'on = { kind = "fixed", value = "1 s" }, off = { kind = "fixed", value = "1 s" } }',
            "datagrams received",
        ),
        ('{ kind = "ping" }', "20 of 20 pings received"),
        ('{ kind = "bulk", size = "10 kB" }', "completed in"),
    ],
)
def test_a_run_of_any_traffic_prints_and_shows_itself(tmp_path, traffic, told):
    file = tmp_path / "app.toml"
    file.write_text(APPLICATIONS.replace("APP", "app").replace("TRAFFIC", traffic))
    run = skyhop.run(file)
    assert told in repr(run) and "app: " in repr(run), repr(run)
    assert "<table>" in run._repr_html_()


def test_runs_and_tables_can_be_pickled(run):
    import pickle

    again = pickle.loads(pickle.dumps(run))
    assert again.summary == run.summary and repr(again) == repr(run)
    for mine, other in [(run.flows, again.flows), (run.series, again.series)]:
        assert mine.columns == other.columns and len(mine) == len(other) and repr(mine) == repr(other)
        assert mine.to_pandas().equals(other.to_pandas())
    t, cwnd = again.sample("flow/download", "cwnd_bytes")
    assert (cwnd == run.sample("flow/download", "cwnd_bytes")[1]).all() and len(t) > 10


def test_progress_of_a_run_rises_to_its_end(scenario):
    shares = []
    skyhop.run(scenario, set={"flows.download.traffic.size": "100 MB", "duration": "500 s"}, progress=shares.append)
    assert shares and shares == sorted(shares) and 0 <= shares[0] and shares[-1] <= 1
    with pytest.raises(ZeroDivisionError):
        skyhop.run(scenario, progress=lambda share: 1 / 0)


def test_a_seed_that_is_none_is_told(scenario):
    for seed in (-1, 2**64):
        with pytest.raises(skyhop.ScenarioError, match="expected a whole number from 0 to 18446744073709551615"):
            skyhop.run(scenario, seed=seed)
    with pytest.raises(TypeError):
        skyhop.run(scenario, seed=1.5)


def test_a_missing_file_is_both_errors(scenario):
    slip = os.fspath(scenario)[:-5] + ".tml"
    for call in (skyhop.run, skyhop.check, skyhop.sweep):
        with pytest.raises(FileNotFoundError, match="no such file; did you mean") as caught:
            call(slip)
        assert isinstance(caught.value, skyhop.ScenarioError) and caught.value.filename == slip
    with pytest.raises(skyhop.ScenarioError) as caught:
        skyhop.run(scenario, set={"duration": "5 sec"})
    assert not isinstance(caught.value, FileNotFoundError)
