//! Applications of a scenario's traffic, and the random streams that they draw from.
//!
//! Follows the scenario's model field by field; HT 3.2.1 for the web's default distributions.
//! Differs: files of measured distributions are read here, where their bytes are.
//! Leaves out hosts, which carry out the actions of applications.

use crate::given::RunInput;

use skyhop_chance::{Seed, Stream};
use skyhop_network::{BuildError, bytes_of};
use skyhop_scenario::{self as scenario, Files, Traffic};
use skyhop_traffic::{
    Application, Batches, Batching, Browsing, Bulk, Datagrams, Distribution, End, Fetch, FilePieces,
    Interpolation, Mah, Measured, Transfers, Web,
};
use skyhop_units::{Bytes, Span};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The application of a flow over connections, with the random streams of a run with this seed, for a driver of another kind.
///
/// # Errors
///
/// Traffic that has no connections, or a file that does not hold a distribution.
pub fn application_of(
    scenario: &scenario::Scenario,
    files: &Files,
    seed: u64,
    flow: usize,
) -> Result<Application, BuildError> {
    let fetched = fetched(scenario);
    let given = RunInput { scenario, files, seed: Seed(seed), fetched: &fetched };
    let (name, key) = (scenario.flow_name(flow), format!("flows.{flow}"));
    application(given, &scenario.flows[flow], &name, &key).map(|(application, _)| application)
}

/// The source of a flow's datagrams, as a run with this seed has it.
///
/// # Errors
///
/// Traffic that does not go in datagrams, or a file that does not hold a distribution.
pub fn datagrams_of(
    scenario: &scenario::Scenario,
    files: &Files,
    seed: u64,
    flow: usize,
) -> Result<Datagrams, BuildError> {
    let fetched = BTreeMap::new();
    let given = RunInput { scenario, files, seed: Seed(seed), fetched: &fetched };
    datagrams(given, &scenario.flows[flow].traffic, &scenario.flow_name(flow), &format!("flows.{flow}"))
}

/// Files that several flows fetch, by name.
pub(crate) fn fetched(scenario: &scenario::Scenario) -> BTreeMap<String, FilePieces> {
    let of = |flow: &scenario::Flow| match &flow.traffic {
        Traffic::Fetch { file, size, piece, .. } => {
            Some((file.clone(), FilePieces::new(size.get(), piece.get())))
        }
        _ => None,
    };
    scenario.flows.iter().filter_map(of).collect()
}

/// The application of traffic over connections, and the ends whose segments are counted in the results.
pub(crate) fn application(
    given: RunInput<'_>,
    flow: &scenario::Flow,
    name: &str,
    key: &str,
) -> Result<(Application, &'static [End]), BuildError> {
    let from = AppReader { key, files: given.files };
    let stream = streams(name, given.seed);
    Ok(match &flow.traffic {
        Traffic::Web { .. } | Traffic::RequestResponse { .. } => {
            (Application::Web(Box::new(Web::new(browsing(&from, &flow.traffic)?, stream))), &[End::Server])
        }
        Traffic::Poisson { arrivals_per_s, load, link, size, count } => {
            let size = from.sizes("size", size, Mah::Reply)?;
            let link = link.as_ref().and_then(|link| given.scenario.links.get(link));
            let per_s = match (arrivals_per_s, load, link) {
                (Some(per_s), _, _) => *per_s,
                (None, Some(load), Some(link)) => {
                    let (payload, headers) = flow.transport.packet(flow.ip).unwrap_or((1, 0));
                    let wire_bits = 8.0 * size.mean() * (1.0 + headers as f64 / payload as f64);
                    load * link.rate.as_bps() as f64 / wire_bits
                }
                _ => return Err(BuildError::new(&from.at("load"), "no link to be a share of")),
            };
            if !per_s.is_finite() || per_s <= 0.0 {
                let message = format!("comes to {per_s} transfers a second; expected more than 0");
                return Err(BuildError::new(&from.at("load"), message));
            }
            let transfers = Transfers::new(size, per_s, *count, stream);
            (Application::Transfers(Box::new(transfers)), &[End::Client])
        }
        Traffic::Batches { request, reply, requests, gap, every, count } => {
            let does = Batching {
                request: from.sizes("request", request, Mah::Request)?,
                reply: from.sizes("reply", reply, Mah::Reply)?,
                requests: from.numbers("requests", requests, Mah::Files)?,
                gap: from.times("gap", gap)?,
                every: *every,
                count: *count,
            };
            (Application::Batches(Box::new(Batches::new(does, stream))), &[End::Server])
        }
        Traffic::Fetch { file, size, piece, request } => {
            let pieces = given.fetched.get(file).cloned();
            let pieces = pieces.unwrap_or_else(|| FilePieces::new(size.get(), piece.get()));
            (Application::Fetch(Box::new(Fetch::new(pieces, request.get()))), &[End::Server])
        }
        Traffic::Bulk { size, connections } => {
            (Application::Bulk(Bulk::new(size.map(|size| size.get()), *connections)), &[End::Client])
        }
        Traffic::Ping { .. } | Traffic::Cbr { .. } | Traffic::OnOff { .. } => {
            return Err(BuildError::new(&from.at("kind"), "has no connections"));
        }
    })
}

/// Behaviour of a browser, or of a client with successive requests.
fn browsing(from: &AppReader<'_>, traffic: &Traffic) -> Result<Browsing, BuildError> {
    Ok(match traffic {
        Traffic::Web {
            request,
            reply,
            files,
            stay,
            think,
            server_time,
            connections,
            persistent,
            pipelining,
            pages,
        } => Browsing {
            request: from.sizes("request", request, Mah::Request)?,
            reply: from.sizes("reply", reply, Mah::Reply)?,
            files: from.numbers("files", files, Mah::Files)?,
            stay: from.numbers("stay", stay, Mah::Stay)?,
            think: from.times("think", think)?,
            server_time: from.times("server_time", server_time)?,
            connections: *connections,
            persistent: *persistent,
            half_close: false,
            pipelining: *pipelining,
            pages: *pages,
        },
        Traffic::RequestResponse { request, reply, think, server_time, persistent, half_close, count } => {
            Browsing {
                request: from.sizes("request", request, Mah::Request)?,
                reply: from.sizes("reply", reply, Mah::Reply)?,
                files: Distribution::Fixed(1.0),
                stay: Distribution::Fixed(f64::MAX),
                think: from.times("think", think)?,
                server_time: from.times("server_time", server_time)?,
                connections: 1,
                persistent: *persistent,
                half_close: *half_close,
                pipelining: false,
                pages: *count,
            }
        }
        _ => return Err(BuildError::new(&from.at("kind"), "has no requests")),
    })
}

/// Requests and replies of a flow one by one, for an end that talks to a program: the same draws as in a run with the same seed.
pub struct Exchanges {
    does: Browsing,
    reply: Stream,
    think: Stream,
    server_time: Stream,
}

impl Exchanges {
    /// The exchanges of a flow.
    ///
    /// # Errors
    ///
    /// Traffic without requests, or a file that does not hold a distribution.
    pub fn of(
        scenario: &scenario::Scenario,
        files: &Files,
        seed: u64,
        flow: usize,
    ) -> Result<Self, BuildError> {
        let key = format!("flows.{flow}");
        let does = browsing(&AppReader { key: &key, files }, &scenario.flows[flow].traffic)?;
        let name = scenario.flow_name(flow);
        let mut stream = streams(&name, Seed(seed));
        let [reply, think, server_time] = ["reply", "think", "server-time"].map(&mut stream);
        Ok(Self { does, reply, think, server_time })
    }

    /// Length of the next reply, bytes.
    pub fn reply(&mut self) -> u64 {
        self.does.reply.draw_whole(&mut self.reply)
    }

    /// Time from the end of an exchange to the next request.
    pub fn think(&mut self) -> Span {
        seconds(self.does.think.draw(&mut self.think))
    }

    /// Time from a request's arrival to its reply.
    pub fn server_time(&mut self) -> Span {
        seconds(self.does.server_time.draw(&mut self.server_time))
    }

    /// Returns true if a connection serves several exchanges in succession.
    pub fn persistent(&self) -> bool {
        self.does.persistent
    }

    /// Number of exchanges; `None` without end.
    pub fn count(&self) -> Option<u64> {
        self.does.pages
    }
}

/// A drawn number of seconds as a span, limited so that it can be added to any time.
fn seconds(s: f64) -> Span {
    Span::from_secs_f64(s.clamp(0.0, 1e9))
}

/// The source of datagrams for a traffic model.
pub(crate) fn datagrams(
    given: RunInput<'_>,
    traffic: &Traffic,
    name: &str,
    key: &str,
) -> Result<Datagrams, BuildError> {
    let from = AppReader { key, files: given.files };
    match traffic {
        Traffic::Cbr { rate, size } => Ok(Datagrams::constant(*rate, size.get() as u32)),
        Traffic::OnOff { rate, size, on, off, sources } => {
            let (on, off) = (from.times("on", on)?, from.times("off", off)?);
            let mut stream = streams(name, given.seed);
            let streams = (0..*sources).map(|source| stream(&format!("source/{source}")));
            Ok(Datagrams::by_turns(*rate, size.get() as u32, &on, &off, streams))
        }
        _ => Err(BuildError::new(&from.at("kind"), "does not go in datagrams")),
    }
}

/// The random streams of a flow's traffic.
fn streams(name: &str, seed: Seed) -> impl FnMut(&str) -> Stream {
    move |what| seed.stream(&format!("flow/{name}/traffic/{what}"))
}

/// Builds distributions; errors name the flow's key.
struct AppReader<'a> {
    key: &'a str,
    files: &'a Files,
}

/// The kinds of distribution, independent of their unit.
macro_rules! made {
    ($self:ident, $of:ident, $key:ident, $given:ident, $mah:expr, $plain:expr) => {{
        let plain = $plain;
        let cut = |inner, most: &Option<_>| match most {
            Some(most) => Distribution::Cut(Box::new(inner), plain(most)),
            None => inner,
        };
        match $given {
            scenario::$of::Fixed { value } => Distribution::Fixed(plain(value)),
            scenario::$of::Uniform { least, most } => {
                Distribution::Uniform { least: plain(least), most: plain(most) }
            }
            scenario::$of::Exponential { mean } => Distribution::Exponential { mean: plain(mean) },
            scenario::$of::Lognormal { median, sigma, most } => {
                cut(Distribution::Lognormal { median: plain(median), sigma: *sigma }, most)
            }
            scenario::$of::Weibull { scale, shape, most } => {
                cut(Distribution::Weibull { scale: plain(scale), shape: *shape }, most)
            }
            scenario::$of::Pareto { least, shape, most } => {
                cut(Distribution::Pareto { least: plain(least), shape: *shape }, most)
            }
            scenario::$of::Mah => $mah.distribution(),
            scenario::$of::Measured { file, between } => $self.measured($key, file, *between)?,
        }
    }};
}

impl AppReader<'_> {
    fn at(&self, key: &str) -> String {
        format!("{}.traffic.{key}", self.key)
    }

    fn sizes(&self, key: &str, given: &scenario::Sizes, mah: Mah) -> Result<Distribution, BuildError> {
        Ok(made!(self, Sizes, key, given, mah, |bytes: &Bytes| bytes.get() as f64))
    }

    fn numbers(&self, key: &str, given: &scenario::Numbers, mah: Mah) -> Result<Distribution, BuildError> {
        Ok(made!(self, Numbers, key, given, mah, |number: &f64| *number))
    }

    fn times(&self, key: &str, given: &scenario::Times) -> Result<Distribution, BuildError> {
        Ok(made!(self, Times, key, given, Mah::Think, |span: &Span| span.as_secs_f64()))
    }

    fn measured(
        &self,
        key: &str,
        file: &str,
        between: scenario::Between,
    ) -> Result<Distribution, BuildError> {
        let key = format!("{}.file", self.at(key));
        let between = match between {
            scenario::Between::Step => Interpolation::Step,
            scenario::Between::Line => Interpolation::Line,
        };
        let bytes = bytes_of(self.files, file, &key)?;
        let measured = Measured::parse(bytes, between).map_err(|e| BuildError::in_file(&key, file, e))?;
        Ok(Distribution::Measured(Arc::new(measured)))
    }
}
