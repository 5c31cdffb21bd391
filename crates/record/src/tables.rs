//! A run as tables: one row per flow, one row per sample, in Arrow and in Parquet.
//!
//! Columns are the keys of `summary.json`, `limited_share` as a column for each cause; series are in long form (entity, metric, t_ns, value).
//! Differs from a column per series: series have clocks of their own, and long form needs no filling in.
//! Leaves out links, whose totals are in the summary, and all compression but snappy, which builds fastest.

use arrow_array::builder::{Float64Builder, Int64Builder, StringBuilder};
use arrow_array::{ArrayRef, Float64Array, Int64Array, RecordBatch, StringArray, UInt64Array};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use parquet::arrow::ArrowWriter;
use parquet::basic::Compression;
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use skyhop_sim::results::{
    Cause, CompletionsResult, DatagramResult, FlowKind, FlowResult, PingResult, RunResult, TransferResult,
};
use std::fmt;
use std::io::Write;
use std::sync::Arc;

/// Rows in one batch of the series: small enough that string offsets never overflow and memory stays flat.
const BATCH_ROWS: usize = 1 << 17;

/// Why a table could not be written; the message has the file's name if a [`crate::FolderFile`] was written to.
#[derive(Debug)]
pub struct TableError(ParquetError);

impl fmt::Display for TableError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            // The library's own prefix ("External: ") says nothing to a user; what it wraps does.
            ParquetError::External(e) => e.fmt(f),
            e => write!(f, "cannot write table: {e}"),
        }
    }
}

impl std::error::Error for TableError {}

impl From<ParquetError> for TableError {
    fn from(e: ParquetError) -> Self {
        TableError(e)
    }
}

/// The tables of a run.
#[derive(Debug, Clone)]
pub struct Tables {
    /// One row per flow, in the scenario's order. A key that the flow's kind does not have is null.
    pub flows: RecordBatch,
    /// The series' schema, which holds even if there are no samples.
    pub series_schema: SchemaRef,
    /// One row per sample, ordered as in the result.
    pub series: Vec<RecordBatch>,
}

impl Tables {
    /// Turns a run into tables.
    pub fn new(result: &RunResult) -> Self {
        Tables { flows: flows(result), series_schema: series_schema(), series: series(result) }
    }
}

/// Writes `flows.parquet` and gives the writer back. The same run gives the same bytes.
pub fn write_flows_parquet<W: Write + Send>(out: W, tables: &Tables) -> Result<W, TableError> {
    write_parquet(out, tables.flows.schema(), std::slice::from_ref(&tables.flows))
}

/// Writes `series.parquet` and gives the writer back. The same run gives the same bytes.
pub fn write_series_parquet<W: Write + Send>(out: W, tables: &Tables) -> Result<W, TableError> {
    write_parquet(out, tables.series_schema.clone(), &tables.series)
}

fn write_parquet<W: Write + Send>(
    out: W,
    schema: SchemaRef,
    batches: &[RecordBatch],
) -> Result<W, TableError> {
    let properties = WriterProperties::builder().set_compression(Compression::SNAPPY).build();
    let mut writer = ArrowWriter::try_new(out, schema, Some(properties))?;
    for batch in batches {
        writer.write(batch)?;
    }
    Ok(writer.into_inner()?)
}

/// A number that a flow may have measured.
#[derive(Debug, Clone, Copy)]
pub struct FlowMetric {
    /// Its column, and its key in `summary.json`.
    pub name: &'static str,
    /// How to get it.
    pub get: FlowNumber,
}

/// How a number is got from a flow's results; `None` if the flow's kind does not have it, or nothing was measured.
#[derive(Debug, Clone, Copy)]
pub enum FlowNumber {
    /// A count.
    Count(fn(&FlowResult) -> Option<u64>),
    /// A measure.
    Real(fn(&FlowResult) -> Option<f64>),
    /// A name.
    Text(fn(&FlowResult) -> Option<&str>),
}

const fn count(name: &'static str, get: fn(&FlowResult) -> Option<u64>) -> FlowMetric {
    FlowMetric { name, get: FlowNumber::Count(get) }
}

const fn real(name: &'static str, get: fn(&FlowResult) -> Option<f64>) -> FlowMetric {
    FlowMetric { name, get: FlowNumber::Real(get) }
}

const fn text(name: &'static str, get: fn(&FlowResult) -> Option<&str>) -> FlowMetric {
    FlowMetric { name, get: FlowNumber::Text(get) }
}

/// Every number of every kind of flow, in the order of the columns.
pub const FLOW_METRICS: &[FlowMetric] = &[
    real("goodput_bps", |f| match &f.kind {
        FlowKind::Transfer(t) => Some(t.goodput_bps),
        FlowKind::Completions(c) => Some(c.goodput_bps),
        FlowKind::Datagrams(d) => Some(d.goodput_bps),
        FlowKind::Ping(_) => None,
    }),
    real("completed_s", |f| transfer(f).and_then(|t| t.completed_s)),
    count("started", |f| completions(f).map(|c| c.started)),
    count("completed", |f| completions(f).map(|c| c.completed)),
    count("failed", |f| completions(f).map(|c| c.failed)),
    count("files", |f| completions(f).map(|c| c.files)),
    count("connections", |f| completions(f).map(|c| c.connections)),
    real("completion_min_s", |f| completions(f).and_then(|c| c.completion_min_s)),
    real("completion_mean_s", |f| completions(f).and_then(|c| c.completion_mean_s)),
    real("completion_median_s", |f| completions(f).and_then(|c| c.completion_median_s)),
    real("completion_p95_s", |f| completions(f).and_then(|c| c.completion_p95_s)),
    real("completion_max_s", |f| completions(f).and_then(|c| c.completion_max_s)),
    count("bytes_delivered", |f| match &f.kind {
        FlowKind::Transfer(t) => Some(t.bytes_delivered),
        FlowKind::Completions(c) => Some(c.bytes_delivered),
        FlowKind::Datagrams(d) => Some(d.bytes_delivered),
        FlowKind::Ping(_) => None,
    }),
    count("segments_sent", |f| segments(f).map(|[sent, ..]| sent)),
    count("segments_retransmitted", |f| segments(f).map(|[_, again, _]| again)),
    count("timeouts", |f| segments(f).map(|[.., timeouts]| timeouts)),
    count("sent", |f| ping(f).map(|p| p.sent).or(datagrams(f).map(|d| d.sent))),
    count("received", |f| ping(f).map(|p| p.received).or(datagrams(f).map(|d| d.received))),
    count("reordered", |f| datagrams(f).map(|d| d.reordered)),
    real("loss", |f| datagrams(f).and_then(|d| d.loss)),
    real("delay_min_s", |f| delays(f)[0]),
    real("delay_mean_s", |f| delays(f)[1]),
    real("delay_max_s", |f| delays(f)[2]),
    real("jitter_s", |f| datagrams(f).and_then(|d| d.jitter_s)),
    real("jitter_mean_s", |f| datagrams(f).and_then(|d| d.jitter_mean_s)),
    count("answers_received", |f| ping(f).map(|p| p.answers_received)),
    real("rtt_min_s", |f| rtts(f)[0]),
    real("rtt_mean_s", |f| rtts(f)[1]),
    real("rtt_max_s", |f| rtts(f)[2]),
    text("limited_by", |f| Some(f.limits.as_ref()?.limited_by()?.name())),
    real("limited_handshake", |f| limited(f, Cause::Handshake)),
    real("limited_application", |f| limited(f, Cause::Application)),
    real("limited_receive_window", |f| limited(f, Cause::ReceiveWindow)),
    real("limited_send_buffer", |f| limited(f, Cause::SendBuffer)),
    real("limited_congestion_window", |f| limited(f, Cause::CongestionWindow)),
    real("limited_pacing", |f| limited(f, Cause::Pacing)),
    real("limited_recovery", |f| limited(f, Cause::Recovery)),
    real("limited_no_link", |f| limited(f, Cause::NoLink)),
    text("bottleneck", |f| f.limits.as_ref()?.bottleneck.as_deref()),
    count("forward_bytes", |f| Some(f.forward_bytes)),
    count("return_bytes", |f| Some(f.return_bytes)),
    count("packets_sent", |f| Some(f.packets_sent)),
    count("packets_delivered", |f| Some(f.packets_delivered)),
    count("packets_dropped", |f| Some(f.packets_dropped)),
    count("packets_lost", |f| Some(f.packets_lost)),
    count("packets_in_flight", |f| Some(f.packets_in_flight)),
];

fn flows(result: &RunResult) -> RecordBatch {
    let flows = &result.flows;
    let names: StringArray = flows.iter().map(|f| Some(f.name.as_str())).collect();
    let kinds: StringArray = flows.iter().map(|f| Some(kind(f))).collect();
    let seeds = UInt64Array::from(vec![result.seed; flows.len()]);
    let mut fields = vec![
        Field::new("name", DataType::Utf8, false),
        Field::new("kind", DataType::Utf8, false),
        Field::new("seed", DataType::UInt64, false),
    ];
    let mut arrays: Vec<ArrayRef> = vec![Arc::new(names), Arc::new(kinds), Arc::new(seeds)];
    for metric in FLOW_METRICS {
        let (kind, array): (_, ArrayRef) = match metric.get {
            // Counts are signed: a difference of two of them must not wrap in somebody's data frame.
            FlowNumber::Count(get) => {
                (DataType::Int64, Arc::new(flows.iter().map(|f| get(f).map(signed)).collect::<Int64Array>()))
            }
            FlowNumber::Real(get) => {
                (DataType::Float64, Arc::new(flows.iter().map(get).collect::<Float64Array>()))
            }
            FlowNumber::Text(get) => {
                (DataType::Utf8, Arc::new(flows.iter().map(get).collect::<StringArray>()))
            }
        };
        fields.push(Field::new(metric.name, kind, true));
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

/// Columns and schema are made side by side above, so a mismatch is a bug here.
fn batch(schema: SchemaRef, columns: Vec<ArrayRef>) -> RecordBatch {
    RecordBatch::try_new(schema, columns).expect("columns follow their schema")
}

fn signed(n: u64) -> i64 {
    i64::try_from(n).unwrap_or(i64::MAX)
}

fn kind(flow: &FlowResult) -> &'static str {
    match flow.kind {
        FlowKind::Transfer(_) => "transfer",
        FlowKind::Ping(_) => "ping",
        FlowKind::Completions(_) => "completions",
        FlowKind::Datagrams(_) => "datagrams",
    }
}

fn transfer(flow: &FlowResult) -> Option<&TransferResult> {
    if let FlowKind::Transfer(transfer) = &flow.kind { Some(transfer) } else { None }
}

fn ping(flow: &FlowResult) -> Option<&PingResult> {
    if let FlowKind::Ping(ping) = &flow.kind { Some(ping) } else { None }
}

fn completions(flow: &FlowResult) -> Option<&CompletionsResult> {
    if let FlowKind::Completions(completions) = &flow.kind { Some(completions) } else { None }
}

fn datagrams(flow: &FlowResult) -> Option<&DatagramResult> {
    if let FlowKind::Datagrams(datagrams) = &flow.kind { Some(datagrams) } else { None }
}

/// Segments sent, those sent again, timeouts.
fn segments(flow: &FlowResult) -> Option<[u64; 3]> {
    match &flow.kind {
        FlowKind::Transfer(t) => Some([t.segments_sent, t.segments_retransmitted, t.timeouts]),
        FlowKind::Completions(c) => Some([c.segments_sent, c.segments_retransmitted, c.timeouts]),
        FlowKind::Ping(_) | FlowKind::Datagrams(_) => None,
    }
}

fn limited(flow: &FlowResult, cause: Cause) -> Option<f64> {
    flow.limits.as_ref()?.share(cause)
}

fn rtts(flow: &FlowResult) -> [Option<f64>; 3] {
    match &flow.kind {
        FlowKind::Transfer(t) => [t.rtt_min_s, t.rtt_mean_s, t.rtt_max_s],
        FlowKind::Completions(c) => [c.rtt_min_s, c.rtt_mean_s, c.rtt_max_s],
        FlowKind::Ping(p) => [p.rtt_min_s, p.rtt_mean_s, p.rtt_max_s],
        FlowKind::Datagrams(_) => [None; 3],
    }
}

fn delays(flow: &FlowResult) -> [Option<f64>; 3] {
    match &flow.kind {
        FlowKind::Ping(p) => [p.delay_min_s, p.delay_mean_s, p.delay_max_s],
        FlowKind::Datagrams(d) => [d.delay_min_s, d.delay_mean_s, d.delay_max_s],
        FlowKind::Transfer(_) | FlowKind::Completions(_) => [None; 3],
    }
}
