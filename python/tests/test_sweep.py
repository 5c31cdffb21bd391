"""Sweeps from Python: the command's folder, threads, a Dask cluster that loses a worker.

Follows the guarantee that Python and the command write the same bytes.
Differs from the command's tests: results are read by pandas, polars and duckdb.
Leaves out killing the whole process, which the command's tests do.
"""

import os
import signal
import threading
import time

import numpy as np
import pytest

import skyhop

SWEEP = """\
host = "1999"
duration = "10 s"
[links.satellite]
rate = "1 Mbit/s"
delay = "100 ms"
queue.kind = "drop-tail"
queue.limit = "100 packets"
loss = { kind = "bit-errors", bit_error_rate = 2e-7 }
[[flows]]
name = "bulk"
path = ["a", "satellite", "b"]
traffic = { kind = "bulk" }
[sweep]
seeds = 3
[sweep.grid]
"links.satellite.rate" = ["500 kbit/s", "2 Mbit/s"]
"links.satellite.delay" = ["10 ms", "20 ms", "30 ms", "40 ms", "50 ms"]
"flows.bulk.transport.variant" = ["reno", "sack"]
"""


@pytest.fixture
def grid(tmp_path):
    path = tmp_path / "grid.toml"
    path.write_text(SWEEP)
    return path


def test_a_row_is_a_run(grid, tmp_path):
    told = []
    table = skyhop.sweep(grid, out=tmp_path / "out", progress=told.append)
    assert len(table) == 60 and table.path == tmp_path / "out" / "runs.parquet"
    row = 17
    one = skyhop.run(
        grid,
        seed=int(table["seed"][row]),
        set={
            "links.satellite.rate": f"{table['links.satellite.rate_bps'][row]:.0f} bit/s",
            "links.satellite.delay": f"{table['links.satellite.delay_s'][row]} s",
            "flows.bulk.transport.variant": table["flows.bulk.transport.variant"][row],
        },
    )
    assert one.summary["flows"]["bulk"]["goodput_bps"] == table["bulk.goodput_bps"][row]
    # All runs exist, so none is repeated.
    again = skyhop.sweep(grid, out=tmp_path / "out", progress=lambda runs: pytest.fail("a run"))
    assert again.path.read_bytes() == table.path.read_bytes()


def test_data_frames_read_the_table(grid, tmp_path):
    import pandas
    import polars

    table = skyhop.sweep(grid, out=tmp_path / "out")
    frames = [pandas.read_parquet(table.path), table.to_pandas(), polars.read_parquet(table.path).to_pandas()]
    duckdb = pytest.importorskip("duckdb")
    frames.append(duckdb.sql(f"select * from '{table.path}'").df())
    for frame in frames:
        assert list(frame.columns) == table.columns
        assert np.array_equal(frame["bulk.goodput_bps"], table["bulk.goodput_bps"])
    mean = duckdb.sql(
        f"""select "flows.bulk.transport.variant" as v, avg("bulk.goodput_bps") from '{table.path}' group by v order by v"""
    ).fetchall()
    assert [v for v, _ in mean] == ["reno", "sack"] and mean[1][1] > mean[0][1]


def test_a_hundred_thousand_runs_are_a_table_that_data_frames_open(tmp_path):
    import pandas
    import polars

    duckdb = pytest.importorskip("duckdb")
    file = tmp_path / "tiny.toml"
    rates = ", ".join(f'"{n} kbit/s"' for n in range(100, 1100, 10))
    file.write_text(
        'host = "1999"\nduration = "5 s"\n[links.path]\nrate = "1 Mbit/s"\ndelay = "5 ms"\n'
        'loss = { kind = "packets", probability = 0.05 }\n[[flows]]\nname = "tiny"\n'
        'path = ["a", "path", "b"]\ntraffic = { kind = "bulk", size = "2 kB" }\n[sweep]\nseeds = 1000\nmetrics = ["tiny.*"]\n'
        f'[sweep.grid]\n"links.path.rate" = [{rates}]\n'
    )
    done = []
    table = skyhop.sweep(file, out=tmp_path / "out", progress=done.append)
    assert len(table) == sum(done) == 100_000
    completed = table["tiny.completed_s"]
    assert 0.02 < np.nanmin(completed) < np.nanmax(completed) <= 5 and len(np.unique(table["seed"])) == 1000
    # The mean of each rate, with five readers of the file.
    ours = [float(np.nanmean(completed[table["links.path.rate_bps"] == rate])) for rate in np.unique(table["links.path.rate_bps"])]
    assert len(ours) == 100
    frame = pandas.read_parquet(table.path)
    assert list(frame.columns) == table.columns and len(frame) == 100_000 and frame["error"].isna().all()
    theirs = frame.groupby("links.path.rate_bps")["tiny.completed_s"].mean()
    assert list(theirs) == pytest.approx(ours)
    lazy = (
        polars.scan_parquet(table.path)
        .group_by("links.path.rate_bps")
        .agg(polars.col("tiny.completed_s").mean())
        .sort("links.path.rate_bps")
        .collect()
    )
    assert lazy["tiny.completed_s"].to_list() == pytest.approx(ours)
    rows = duckdb.sql(
        f"""select "links.path.rate_bps" as r, avg("tiny.completed_s"), count(*) from '{table.path}' group by r order by r"""
    ).fetchall()
    assert [mean for _, mean, _ in rows] == pytest.approx(ours) and {count for *_, count in rows} == {1000}


def test_refusals(grid, tmp_path):
    out = tmp_path / "out"
    skyhop.sweep(grid, out=out)
    with pytest.raises(ValueError, match='duration: was "10 s", is "11 s"'):
        skyhop.sweep(grid, out=out, set={"duration": "11 s"})
    with pytest.raises(ValueError, match="60 runs are more than 59"):
        skyhop.sweep(grid, out=tmp_path / "many", most_runs=59)
    with pytest.raises(ValueError, match="is not a shard"):
        skyhop.sweep(grid, out=out, shard="4/3")
    with pytest.raises(skyhop.ScenarioError, match="missing table"):
        plain = tmp_path / "plain.toml"
        plain.write_text(SWEEP.split("[sweep]")[0])
        skyhop.sweep(plain, out=tmp_path / "plain")
    assert not (tmp_path / "many").exists() and not (tmp_path / "plain").exists()


def test_an_exception_from_progress_ends_the_sweep_and_what_is_finished_stays(grid, tmp_path):
    seeds = {"sweep.seeds": 20_000, "duration": "1 s"}

    def stop(runs):
        raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        skyhop.sweep(grid, out=tmp_path / "out", set=seeds, progress=stop)
    assert not (tmp_path / "out" / "runs.parquet").exists()


@pytest.mark.filterwarnings("default")
def test_a_cluster_that_loses_a_worker_makes_the_same_table(grid, tmp_path):
    distributed = pytest.importorskip("distributed")
    seeds = {"sweep.seeds": 100}
    local = skyhop.sweep(grid, out=tmp_path / "local", set=seeds)
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=None, silence_logs=50, local_directory=str(tmp_path)
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        pids = list(client.run(os.getpid).values())
        assert len(set(pids)) == 2
        done = []

        def kill_one(points):
            done.append(points)
            if len(done) == 3:
                os.kill(pids[0], signal.SIGKILL)

        table = skyhop.sweep(grid, out=tmp_path / "cluster", set=seeds, client=client, progress=kill_one)
    assert sum(done) == 2000
    assert table.path.read_bytes() == local.path.read_bytes()


def test_two_sweeps_in_one_folder(grid, tmp_path):
    out, errors = tmp_path / "out", []
    started = threading.Event()

    def second():
        started.wait(10)
        try:
            skyhop.sweep(grid, out=out, set={"sweep.seeds": 40})
        except ValueError as e:
            errors.append(str(e))

    other = threading.Thread(target=second)
    other.start()

    def told(runs):
        started.set()
        time.sleep(0.2)

    skyhop.sweep(grid, out=out, set={"sweep.seeds": 40}, progress=told)
    other.join()
    # The second sweep either met the first at work or found it complete.
    assert all("another sweep is running" in e for e in errors)
