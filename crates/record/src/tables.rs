//! The tables of a run: one row per flow, one row per sample, in Arrow and in Parquet.
//!
//! Columns are the keys of `summary.json`, with a column for each cause of `limited_share`; series are in long form (entity,
//! metric, t_ns, value).
//! Differs from a column per series: series have different sample times, and the long form needs no padding.
//! Leaves out links, whose totals are in the summary, and compressions other than snappy, which builds fastest.

use arrow_array::builder::{Float64Builder, Int64Builder, StringBuilder};
use arrow_array::{ArrayRef, Float64Array, Int64Array, RecordBatch, StringArray, UInt64Array};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use parquet::arrow::ArrowWriter;
use parquet::basic::Compression;
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use skyhop_results::{FlowMetric, Measure, RunResult, Type};
use std::fmt;
use std::io::Write;
use std::sync::Arc;

/// Rows in one batch of the series: few enough that string offsets do not overflow and memory stays constant.
const BATCH_ROWS: usize = 1 << 17;

/// The error for a table that could not be written; its message has the name of the file if that is a [`crate::FolderFile`].
#[derive(Debug)]
pub struct TableWriteError(ParquetError);

impl fmt::Display for TableWriteError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            // The library's prefix ("External: ") means nothing to a user; the wrapped error does.
            ParquetError::External(e) => e.fmt(f),
            e => write!(f, "cannot write table: {e}"),
        }
    }
}

impl std::error::Error for TableWriteError {}

impl From<ParquetError> for TableWriteError {
    fn from(e: ParquetError) -> Self {
        TableWriteError(e)
    }
}

/// The tables of a run.
#[derive(Debug, Clone)]
pub struct Tables {
    /// One row per flow, in the scenario's order. A key that the flow's kind does not have is null.
    pub flows: RecordBatch,
    /// The schema of the series, which is the same without samples.
    pub series_schema: SchemaRef,
    /// One row per sample, in the order of the result.
    pub series: Vec<RecordBatch>,
}

impl Tables {
    /// Turns a run into tables.
    pub fn new(result: &RunResult) -> Self {
        Tables { flows: flows(result), series_schema: series_schema(), series: series(result) }
    }
}

/// Writes `flows.parquet` and returns the writer. The same run gives the same bytes.
pub fn write_flows_parquet<W: Write + Send>(out: W, tables: &Tables) -> Result<W, TableWriteError> {
    write_parquet(out, tables.flows.schema(), std::slice::from_ref(&tables.flows))
}

/// Writes `series.parquet` and returns the writer. The same run gives the same bytes.
pub fn write_series_parquet<W: Write + Send>(out: W, tables: &Tables) -> Result<W, TableWriteError> {
    write_parquet(out, tables.series_schema.clone(), &tables.series)
}

fn write_parquet<W: Write + Send>(
    out: W,
    schema: SchemaRef,
    batches: &[RecordBatch],
) -> Result<W, TableWriteError> {
    let properties = WriterProperties::builder().set_compression(Compression::SNAPPY).build();
    let mut writer = ArrowWriter::try_new(out, schema, Some(properties))?;
    for batch in batches {
        writer.write(batch)?;
    }
    Ok(writer.into_inner()?)
}

fn flows(result: &RunResult) -> RecordBatch {
    let flows = &result.flows;
    let names: StringArray = flows.iter().map(|f| Some(f.name.as_str())).collect();
    let kinds: StringArray = flows.iter().map(|f| Some(f.kind.name())).collect();
    let seeds = UInt64Array::from(vec![result.seed; flows.len()]);
    let mut fields = vec![
        Field::new("name", DataType::Utf8, false),
        Field::new("kind", DataType::Utf8, false),
        Field::new("seed", DataType::UInt64, false),
    ];
    let mut arrays: Vec<ArrayRef> = vec![Arc::new(names), Arc::new(kinds), Arc::new(seeds)];
    for metric in FlowMetric::all() {
        let values = flows.iter().map(|flow| metric.of(flow));
        let (kind, array): (_, ArrayRef) = match metric.kind {
            // Counts are signed, because a difference of unsigned columns would wrap in a data frame.
            Type::Count => (DataType::Int64, Arc::new(values.map(count).collect::<Int64Array>())),
            Type::Real => {
                (DataType::Float64, Arc::new(values.map(Measure::number).collect::<Float64Array>()))
            }
            Type::Text => (DataType::Utf8, Arc::new(values.map(text).collect::<StringArray>())),
        };
        fields.push(Field::new(&metric.name, kind, true));
        arrays.push(array);
    }
    batch(Arc::new(Schema::new(fields)), arrays)
}

fn series_schema() -> SchemaRef {
    Arc::new(Schema::new(vec![
        Field::new("entity", DataType::Utf8, false),
        Field::new("metric", DataType::Utf8, false),
        Field::new("t_ns", DataType::Int64, false),
        Field::new("value", DataType::Float64, false),
    ]))
}

fn series(result: &RunResult) -> Vec<RecordBatch> {
    let schema = series_schema();
    let mut rows =
        result.series.iter().flat_map(|s| s.samples.iter().map(move |&(t, v)| (s, t, v))).peekable();
    let mut batches = Vec::new();
    while rows.peek().is_some() {
        let mut entities = StringBuilder::new();
        let mut metrics = StringBuilder::new();
        let mut times = Int64Builder::new();
        let mut values = Float64Builder::new();
        for (s, t, v) in rows.by_ref().take(BATCH_ROWS) {
            entities.append_value(&s.entity);
            metrics.append_value(s.metric);
            times.append_value(signed(t.as_nanos()));
            values.append_value(v);
        }
        batches.push(batch(
            schema.clone(),
            vec![
                Arc::new(entities.finish()),
                Arc::new(metrics.finish()),
                Arc::new(times.finish()),
                Arc::new(values.finish()),
            ],
        ));
    }
    batches
}

/// Columns and schema are built together above, so a mismatch is a bug here.
fn batch(schema: SchemaRef, columns: Vec<ArrayRef>) -> RecordBatch {
    RecordBatch::try_new(schema, columns).expect("columns follow their schema")
}

fn signed(n: u64) -> i64 {
    i64::try_from(n).unwrap_or(i64::MAX)
}

fn count(value: Measure<'_>) -> Option<i64> {
    if let Measure::Count(n) = value { n.map(signed) } else { None }
}

fn text(value: Measure<'_>) -> Option<&str> {
    if let Measure::Text(text) = value { text } else { None }
}
