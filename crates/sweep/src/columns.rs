//! The columns and rows of a sweep's table.
//!
//! The columns are first the varied parameters, in SI units with the unit in the name; then seed, version, hash and error; then
//! the metrics.
//! Differs from a table of flows: one row per run, so each flow and each link has its own columns.
//! Leaves out links of constellations, of which there are thousands, and wall time, by which equal runs differ.

use crate::name::fits;
use arrow_array::builder::{BooleanBuilder, Float64Builder, Int64Builder, StringBuilder, UInt64Builder};
use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use skyhop_results::population::MemberSpread;
use skyhop_results::{DirectionResult, FlowMetric, Measure, Metric, RunResult, Type, UplinkResult};
use skyhop_scenario::Loaded;
use skyhop_units::{Amount, Angle, Bytes, Length, Rate, Span};
use std::sync::Arc;

/// Version of the program that did the runs.
const VERSION: &str = env!("CARGO_PKG_VERSION");

/// The type of a parameter's column.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Kind {
    /// A text with a unit, in SI.
    Quantity(Unit),
    Number,
    Integer,
    Boolean,
    /// Any other value, as TOML text.
    Text,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Unit {
    Seconds,
    BitsPerSecond,
    Bytes,
    Metres,
    Radians,
    Packets,
}

impl Unit {
    const ALL: [Unit; 6] =
        [Unit::Seconds, Unit::BitsPerSecond, Unit::Bytes, Unit::Metres, Unit::Radians, Unit::Packets];

    fn suffix(self) -> &'static str {
        match self {
            Unit::Seconds => "_s",
            Unit::BitsPerSecond => "_bps",
            Unit::Bytes => "_bytes",
            Unit::Metres => "_m",
            Unit::Radians => "_rad",
            Unit::Packets => "_packets",
        }
    }

    fn read(self, text: &str) -> Option<f64> {
        match self {
            Unit::Seconds => text.parse::<Span>().ok().map(Span::as_secs_f64),
            Unit::BitsPerSecond => text.parse::<Rate>().ok().map(|r| r.as_bps() as f64),
            Unit::Bytes => text.parse::<Bytes>().ok().map(|b| b.get() as f64),
            Unit::Metres => text.parse::<Length>().ok().map(|l| l.as_m()),
            Unit::Radians => text.parse::<Angle>().ok().map(|a| a.as_rad()),
            Unit::Packets => match text.parse().ok()? {
                Amount::Packets(n) => Some(n as f64),
                Amount::Bytes(_) => None,
            },
        }
    }
}

impl Kind {
    fn of(values: &[toml::Value]) -> Kind {
        let texts: Option<Vec<&str>> = values.iter().map(toml::Value::as_str).collect();
        if let Some(texts) = texts {
            let fitting = |unit: &Unit| texts.iter().all(|text| unit.read(text).is_some());
            return Unit::ALL.into_iter().find(fitting).map_or(Kind::Text, Kind::Quantity);
        }
        if values.iter().all(toml::Value::is_integer) {
            Kind::Integer
        } else if values.iter().all(|v| v.is_integer() || v.is_float()) {
            Kind::Number
        } else if values.iter().all(toml::Value::is_bool) {
            Kind::Boolean
        } else {
            Kind::Text
        }
    }

    fn data_type(self) -> DataType {
        match self {
            Kind::Quantity(_) | Kind::Number => DataType::Float64,
            Kind::Integer => DataType::Int64,
            Kind::Boolean => DataType::Boolean,
            Kind::Text => DataType::Utf8,
        }
    }
}

/// The source of a metric's column in a run.
#[derive(Debug, Clone, Copy)]
enum MetricSource {
    /// A metric of the flow with this number among those in no population.
    Flow(usize, &'static FlowMetric),
    /// A statistic, by its index, of a metric over the population with this index.
    Population(usize, usize, &'static FlowMetric),
    /// A metric of the link with this index in the scenario; true for the reverse direction.
    Link(usize, bool, &'static Metric<DirectionResult>),
    /// A metric of the uplink with this index.
    Uplink(usize, &'static Metric<UplinkResult>),
    SimulatedS,
    Events,
}

impl MetricSource {
    fn data_type(self) -> DataType {
        let kind = match self {
            MetricSource::Flow(_, metric) => metric.kind,
            MetricSource::Population(_, 0, _) => Type::Count,
            MetricSource::Population(..) => Type::Real,
            MetricSource::Link(_, _, metric) => metric.kind,
            MetricSource::Uplink(_, metric) => metric.kind,
            MetricSource::Events => Type::Count,
            MetricSource::SimulatedS => Type::Real,
        };
        match kind {
            Type::Count => DataType::Int64,
            Type::Real => DataType::Float64,
            Type::Text => DataType::Utf8,
        }
    }

    /// The value in a run; `None` if the run has no such flow or link.
    fn of<'a>(self, result: &'a RunResult, links: &[String]) -> Option<Measure<'a>> {
        Some(match self {
            MetricSource::Flow(flow, metric) => metric.of(result.single(flow)?),
            MetricSource::Population(population, part, metric) => {
                let spread = MemberSpread::of(metric, result.populations.get(population)?.members(result))?;
                let (_, value) = spread.numbers()[part];
                if part == 0 { Measure::Count(Some(spread.count)) } else { Measure::Real(Some(value)) }
            }
            MetricSource::Link(link, reverse, metric) => {
                (metric.get)(direction(result, &links[link], reverse)?)
            }
            MetricSource::Uplink(uplink, metric) => (metric.get)(result.uplinks.get(uplink)?),
            MetricSource::Events => Measure::Count(Some(result.events)),
            MetricSource::SimulatedS => Measure::Real(Some(result.simulated_s)),
        })
    }
}

fn direction<'a>(result: &'a RunResult, name: &str, reverse: bool) -> Option<&'a DirectionResult> {
    let link = result.links.binary_search_by(|l| l.name.as_str().cmp(name)).ok()?;
    let link = &result.links[link];
    Some(if reverse { &link.reverse } else { &link.forward })
}

/// The columns of a table.
pub(crate) struct Columns {
    parameters: Vec<(String, Kind)>,
    /// Name and source of the columns that are kept.
    kept: Vec<(String, MetricSource)>,
    /// Name and source of all columns.
    all: Vec<(String, MetricSource)>,
    links: Vec<String>,
    scenario_sha256: String,
    schema: SchemaRef,
}

impl Columns {
    /// The columns of a sweep over `parameters`, with the metrics that match one of the patterns.
    pub fn new(
        loaded: &Loaded,
        parameters: Vec<(String, Vec<toml::Value>)>,
        metrics: Option<&[String]>,
    ) -> Self {
        let scenario = &loaded.scenario;
        let links: Vec<String> = scenario.links.keys().cloned().collect();
        let mut all = vec![
            ("simulated_s".to_owned(), MetricSource::SimulatedS),
            ("events".into(), MetricSource::Events),
        ];
        let single = |flow: &usize| !scenario.members.iter().any(|members| members.flows.contains(flow));
        for (number, flow) in (0..scenario.flows.len()).filter(single).enumerate() {
            let name = scenario.flow_name(flow);
            all.extend(
                FlowMetric::all()
                    .iter()
                    .map(|m| (format!("{name}.{}", m.name), MetricSource::Flow(number, m))),
            );
        }
        for (population, members) in scenario.members.iter().enumerate() {
            for metric in FlowMetric::all().iter().filter(|metric| metric.kind != Type::Text) {
                all.extend(MemberSpread::NUMBERS.iter().enumerate().map(|(part, what)| {
                    let name = format!("{}.{}.{what}", members.name, metric.name);
                    (name, MetricSource::Population(population, part, metric))
                }));
            }
        }
        for (i, link) in links.iter().enumerate() {
            for (reverse, way) in [(false, "forward"), (true, "reverse")] {
                all.extend(DirectionResult::METRICS.iter().map(|metric| {
                    (format!("links.{link}.{way}.{}", metric.name), MetricSource::Link(i, reverse, metric))
                }));
            }
        }
        for (i, uplink) in scenario.uplinks.keys().enumerate() {
            all.extend(UplinkResult::METRICS.iter().map(|metric| {
                (format!("uplinks.{uplink}.{}", metric.name), MetricSource::Uplink(i, metric))
            }));
        }
        let wanted = |name: &str| metrics.is_none_or(|patterns| patterns.iter().any(|p| fits(p, name)));
        let kept: Vec<_> = all.iter().filter(|(name, _)| wanted(name)).cloned().collect();
        let parameters: Vec<(String, Kind)> = parameters
            .into_iter()
            .map(|(path, values)| {
                let kind = Kind::of(&values);
                let suffix = if let Kind::Quantity(unit) = kind { unit.suffix() } else { "" };
                (format!("{path}{suffix}"), kind)
            })
            .collect();
        let mut fields = vec![Field::new("point", DataType::Int64, false)];
        // The seed has its own column, which is enough if the seed is varied.
        let shown = parameters.iter().filter(|(name, _)| name != "seed");
        fields.extend(shown.map(|(name, kind)| Field::new(name, kind.data_type(), false)));
        fields.push(Field::new("seed", DataType::UInt64, false));
        fields.push(Field::new("version", DataType::Utf8, false));
        fields.push(Field::new("scenario_sha256", DataType::Utf8, false));
        fields.push(Field::new("error", DataType::Utf8, true));
        for (name, source) in &kept {
            fields.push(Field::new(name, source.data_type(), true));
        }
        Columns {
            parameters,
            kept,
            all,
            links,
            scenario_sha256: loaded.sha256.clone(),
            schema: Arc::new(Schema::new(fields)),
        }
    }

    pub fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }

    /// Names of all metrics.
    pub fn metrics(&self) -> impl Iterator<Item = &str> {
        self.all.iter().map(|(name, _)| name.as_str())
    }

    pub fn has_metric(&self, name: &str) -> bool {
        self.metrics().any(|n| n == name)
    }

    pub fn any_metric(&self, pattern: &str) -> bool {
        self.metrics().any(|name| fits(pattern, name))
    }

    pub fn rows(&self) -> Rows<'_> {
        Rows {
            columns: self,
            point: Int64Builder::new(),
            parameters: self.parameters.iter().map(|(_, kind)| Builder::new(&kind.data_type())).collect(),
            seed: UInt64Builder::new(),
            error: StringBuilder::new(),
            kept: self.kept.iter().map(|(_, source)| Builder::new(&source.data_type())).collect(),
            count: 0,
        }
    }
}

/// The data of one run for its row.
pub(crate) struct Row<'a> {
    pub point: u64,
    /// The value of each parameter.
    pub values: &'a [toml::Value],
    pub seed: u64,
    pub outcome: Result<&'a RunResult, &'a String>,
}

enum Builder {
    Real(Float64Builder),
    Count(Int64Builder),
    Truth(BooleanBuilder),
    Text(StringBuilder),
}

impl Builder {
    fn new(kind: &DataType) -> Self {
        match kind {
            DataType::Float64 => Builder::Real(Float64Builder::new()),
            DataType::Int64 => Builder::Count(Int64Builder::new()),
            DataType::Boolean => Builder::Truth(BooleanBuilder::new()),
            _ => Builder::Text(StringBuilder::new()),
        }
    }

    fn finish(self) -> ArrayRef {
        match self {
            Builder::Real(mut b) => Arc::new(b.finish()),
            Builder::Count(mut b) => Arc::new(b.finish()),
            Builder::Truth(mut b) => Arc::new(b.finish()),
            Builder::Text(mut b) => Arc::new(b.finish()),
        }
    }
}

/// Rows under construction.
pub(crate) struct Rows<'a> {
    columns: &'a Columns,
    point: Int64Builder,
    parameters: Vec<Builder>,
    seed: UInt64Builder,
    error: StringBuilder,
    kept: Vec<Builder>,
    count: usize,
}

impl Rows<'_> {
    /// Adds a run. Returns its value of `metric`.
    pub fn push(&mut self, row: &Row<'_>, metric: Option<&str>) -> Option<f64> {
        let columns = self.columns;
        self.count += 1;
        self.point.append_value(row.point as i64);
        for ((builder, (_, kind)), value) in
            self.parameters.iter_mut().zip(&columns.parameters).zip(row.values)
        {
            match builder {
                Builder::Real(b) => b.append_value(match kind {
                    Kind::Quantity(unit) => value.as_str().and_then(|t| unit.read(t)).unwrap_or(f64::NAN),
                    _ => value.as_float().or(value.as_integer().map(|n| n as f64)).unwrap_or(f64::NAN),
                }),
                Builder::Count(b) => b.append_value(value.as_integer().unwrap_or_default()),
                Builder::Truth(b) => b.append_value(value.as_bool().unwrap_or_default()),
                Builder::Text(b) => match value.as_str() {
                    Some(text) => b.append_value(text),
                    None => b.append_value(value.to_string()),
                },
            }
        }
        self.seed.append_value(row.seed);
        self.error.append_option(row.outcome.err());
        let result = row.outcome.ok();
        for (builder, (_, source)) in self.kept.iter_mut().zip(&columns.kept) {
            match (builder, result.and_then(|result| source.of(result, &columns.links))) {
                (Builder::Count(b), Some(Measure::Count(Some(n)))) => {
                    b.append_value(i64::try_from(n).unwrap_or(i64::MAX));
                }
                (Builder::Count(b), _) => b.append_null(),
                (Builder::Real(b), value) => b.append_option(value.and_then(Measure::number)),
                (Builder::Text(b), Some(Measure::Text(text))) => b.append_option(text),
                (Builder::Text(b), _) => b.append_null(),
                (Builder::Truth(_), _) => {}
            }
        }
        let (_, source) = columns.all.iter().find(|(name, _)| Some(name.as_str()) == metric)?;
        source.of(result?, &columns.links)?.number()
    }

    pub fn finish(mut self) -> RecordBatch {
        let repeated = |text: &str| -> ArrayRef {
            let mut builder = StringBuilder::new();
            (0..self.count).for_each(|_| builder.append_value(text));
            Arc::new(builder.finish())
        };
        let (version, sha256) = (repeated(VERSION), repeated(&self.columns.scenario_sha256));
        let mut arrays: Vec<ArrayRef> = vec![Arc::new(self.point.finish())];
        let shown = self.parameters.into_iter().zip(&self.columns.parameters);
        arrays.extend(shown.filter(|(_, (name, _))| name != "seed").map(|(builder, _)| builder.finish()));
        arrays.push(Arc::new(self.seed.finish()));
        arrays.extend([version, sha256]);
        arrays.push(Arc::new(self.error.finish()));
        arrays.extend(self.kept.into_iter().map(Builder::finish));
        // Fields and arrays are built together, so a mismatch is a bug here.
        RecordBatch::try_new(self.columns.schema(), arrays).expect("columns follow their schema")
    }
}
