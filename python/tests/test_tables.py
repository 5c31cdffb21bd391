"""Tables: the same values through numpy, pandas, polars and pyarrow.

Follows the Arrow PyCapsule protocol, by which these libraries read skyhop's tables.
Differs from a round trip through files, which `test_run` has.
Leaves out duckdb, which takes the same stream.
"""

import numpy as np
import pytest


def test_numpy_needs_nothing_else(run):
    series = run.series.to_dict()
    assert list(series) == ["entity", "metric", "t_ns", "value"]
    assert series["t_ns"].dtype == np.int64 and series["value"].dtype == np.float64
    assert len({len(column) for column in series.values()}) == 1
    assert set(series["entity"]) >= {"flow/download", "link/satellite/forward"}
    with pytest.raises(ValueError):
        series["value"][0] = 1.0


def test_missing_numbers_are_nan_and_whole_columns_stay_whole(run):
    flows = run.flows.to_dict()
    assert list(flows["name"]) == ["download", "echo"] and list(flows["kind"]) == ["transfer", "ping"]
    assert np.isnan(flows["goodput_bps"][1]) and np.isnan(flows["sent"][0]) and flows["sent"][1] == 20
    assert flows["packets_sent"].dtype == np.int64 and flows["seed"].dtype == np.uint64


def test_pandas_polars_and_pyarrow_agree(run):
    import polars
    import pyarrow

    for table in (run.flows, run.series):
        pandas_frame, polars_frame, arrow = table.to_pandas(), table.to_polars(), pyarrow.table(table)
        assert list(pandas_frame.columns) == polars_frame.columns == arrow.column_names == table.columns
        assert len(pandas_frame) == len(polars_frame) == len(arrow) == len(table)
    assert isinstance(polars.DataFrame(run.series), polars.DataFrame)
    series = run.series
    assert np.array_equal(series.to_pandas()["value"], series["value"])
    assert np.array_equal(series.to_polars()["t_ns"].to_numpy(), series["t_ns"])


def test_a_table_can_be_taken_twice_and_outlives_its_run(scenario):
    import pyarrow
    import skyhop

    series = skyhop.run(scenario).series
    assert pyarrow.table(series) == pyarrow.table(series)


def test_a_sample_is_found_by_name_and_a_wrong_name_is_told(run):
    t, cwnd = run.sample("flow/download", "cwnd_bytes")
    assert (np.diff(t) > 0).all() and cwnd.max() > 50_000
    with pytest.raises(KeyError, match="flow/download cwnd_bytes"):
        run.sample("flow/download", "cwnd")
    with pytest.raises(KeyError, match="there are entity, metric"):
        run.series["nothing"]
