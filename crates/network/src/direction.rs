//! Builds the directions of links from a scenario: losses, jitter, copies, changes over time.
//!
//! Follows the model's tables `links.*`, forward and reverse, and the table in a trace's file.
//! Differs: keys that the reverse direction leaves out are filled in here.
//! Leaves out queues (`queues`), and the ends of links (`build`).

use crate::compression::Compression;
use crate::delays;
use crate::error::BuildError;
use crate::files::bytes_of;
use crate::queues::discipline;
use crate::reconstruction::Reconstructor;
use crate::trace::steps;
use crate::wire::Wire;
use skyhop_chance::Seed;
use skyhop_link::{
    Change, Corruption, Duplication, Jitter, Link, Loss, Outage, Reordering, Shape, Step, Timeline,
};
use skyhop_scenario::{self as scenario, Files, rates::Rates};
use skyhop_topology::NodeId;
use skyhop_units::{Bytes, Rate, Span, Time};

/// The parameters of one direction of a link.
pub(crate) struct LinkDirection {
    rate: Rate,
    queue: scenario::Queue,
    loss: scenario::Loss,
    timeline: Option<Timeline>,
    jitter: Option<Jitter>,
    reordering: Option<scenario::Reordering>,
    duplication: Option<scenario::Duplication>,
    corruption: Option<scenario::Corruption>,
    header_compression: bool,
    header_repair: [bool; 2],
    ack_reconstruction: Option<Bytes>,
    framing: scenario::Framing,
    mtu: Option<Bytes>,
    black_hole: bool,
    on_demand: Option<scenario::OnDemand>,
}

impl LinkDirection {
    /// One direction of a constellation's link.
    pub fn of(rates: &Rates, files: &Files) -> Result<Self, BuildError> {
        let at = rates.at.to_string();
        let rate = rates.rate.ok_or_else(|| BuildError::new(&at, "missing key \"rate\""))?;
        let timeline = match &rates.clock {
            Some(clock) => timeline(&clock.at.to_string(), clock.schedule, clock.trace, clock.repeat, files)?,
            None => None,
        };
        Ok(LinkDirection {
            rate,
            queue: rates.queue,
            loss: rates.loss.clone(),
            timeline,
            jitter: None,
            reordering: None,
            duplication: None,
            corruption: None,
            header_compression: false,
            header_repair: [false; 2],
            ack_reconstruction: None,
            framing: scenario::Framing::Ip,
            mtu: None,
            black_hole: false,
            on_demand: rates.uplink.cloned(),
        })
    }

    /// The terminal's part in an uplink, in whose slots the direction sends.
    pub fn on_demand(&self) -> Option<&scenario::OnDemand> {
        self.on_demand.as_ref()
    }

    /// The forward and reverse directions of the link called `name`.
    pub fn both_ways(name: &str, link: &scenario::Link, files: &Files) -> Result<[Self; 2], BuildError> {
        let key = format!("links.{name}");
        let forward = LinkDirection {
            rate: link.rate,
            queue: link.queue,
            loss: link.loss.clone(),
            timeline: timeline(&key, &link.schedule, link.trace.as_deref(), link.repeat, files)?,
            jitter: late(&key, link.jitter.as_ref(), files)?,
            reordering: link.reordering,
            duplication: link.duplication,
            corruption: link.corruption,
            header_compression: link.header_compression,
            header_repair: [link.header_twice, link.header_requests],
            ack_reconstruction: link.ack_reconstruction,
            framing: link.framing,
            mtu: link.mtu,
            black_hole: link.mtu_black_hole,
            on_demand: link.uplink.clone(),
        };
        let back = link.reverse.clone().unwrap_or_default();
        let own = back.schedule.is_some() || back.trace.is_some();
        let reverse = LinkDirection {
            rate: back.rate.unwrap_or(link.rate),
            queue: back.queue.unwrap_or(link.queue),
            loss: back.loss.unwrap_or_else(|| link.loss.clone()),
            timeline: if own {
                let schedule = back.schedule.unwrap_or_default();
                timeline(&format!("{key}.reverse"), &schedule, back.trace.as_deref(), link.repeat, files)?
            } else {
                forward.timeline.clone()
            },
            jitter: match &back.jitter {
                Some(own) => late(&format!("{key}.reverse"), Some(own), files)?,
                None => forward.jitter.clone(),
            },
            reordering: back.reordering.or(link.reordering),
            duplication: back.duplication.or(link.duplication),
            corruption: back.corruption.or(link.corruption),
            header_compression: link.header_compression,
            header_repair: [link.header_twice, link.header_requests],
            ack_reconstruction: link.ack_reconstruction,
            framing: link.framing,
            mtu: back.mtu.or(link.mtu),
            black_hole: link.mtu_black_hole,
            on_demand: None,
        };
        Ok([forward, reverse])
    }

    /// The wire with these parameters. Its random streams are named after link and direction.
    pub fn wire(
        &self,
        name: &str,
        direction: &str,
        delay: Option<Span>,
        from: NodeId,
        to: NodeId,
        seed: Seed,
    ) -> Wire {
        let stream = |what: &str| seed.stream(&format!("link/{name}/{direction}/{what}"));
        let queue = discipline(self.queue, self.rate, || stream("queue"));
        let loss = losses(&self.loss);
        let loses = loss.loses() || self.timeline.as_ref().is_some_and(Timeline::loses);
        let mut link = Link::new(self.rate, queue, loss, loses.then(|| stream("loss")));
        if self.queue.ack_filter() {
            link = link.with_ack_filter();
        }
        if let Some(timeline) = &self.timeline {
            link = link.with_timeline(timeline.clone());
        }
        if let Some(jitter) = &self.jitter {
            link = link.with_jitter(jitter.clone(), stream("jitter"));
        }
        if let Some(scenario::Reordering { probability, delay }) = self.reordering {
            link = link.with_reordering(Reordering { probability, delay }, stream("reordering"));
        }
        if let Some(scenario::Duplication { probability, delay }) = self.duplication {
            link = link.with_duplication(Duplication { probability, delay }, stream("duplication"));
        }
        if let Some(scenario::Corruption { probability }) = self.corruption {
            link = link.with_corruption(Corruption { probability }, stream("corruption"));
        }
        link.set_peer(Time::ZERO, to.0, &skyhop_link::Fixed(Span::ZERO));
        let bytes = |size: Bytes| u32::try_from(size.get()).unwrap_or(u32::MAX);
        let reconstructor = self.ack_reconstruction.map(|every| Box::new(Reconstructor::new(bytes(every))));
        if reconstructor.is_some() {
            link.watch();
        }
        let [twice, requests] = self.header_repair;
        let compression = self.header_compression.then(|| Box::new(Compression::new(twice, requests)));
        let mtu = self.mtu.map_or(u32::MAX, |mtu| u32::try_from(mtu.get()).unwrap_or(u32::MAX));
        Wire {
            link,
            delay,
            from,
            to,
            capture: None,
            compression,
            reconstructor,
            cells: self.framing == scenario::Framing::Aal5
                || matches!(self.queue, scenario::Queue::Ubr { .. }),
            mtu,
            black_hole: self.black_hole,
            too_large: 0,
            fragmented: 0,
            rate: self.rate,
            queue_limit: self.queue.limit().at(self.rate),
        }
    }
}

/// The timeline of a link, from a schedule or a trace.
fn timeline(
    key: &str,
    schedule: &[scenario::Interval],
    trace: Option<&str>,
    repeat: Option<Span>,
    files: &Files,
) -> Result<Option<Timeline>, BuildError> {
    if let Some(name) = trace {
        let key = format!("{key}.trace");
        let trace = skyhop_trace::read(bytes_of(files, name, &key)?)
            .map_err(|e| BuildError::in_file(&key, name, e))?;
        if let (Some(last), Some(repeat)) = (trace.samples.last(), repeat)
            && last.from >= Time::ZERO + repeat
        {
            let message = format!("goes on to {}, beyond repeat, which is {repeat}", last.from);
            return Err(BuildError::in_file(&key, name, message));
        }
        return Ok(Some(Timeline::new(steps(&trace), repeat.or(trace.length))));
    }
    if schedule.is_empty() {
        return Ok(None);
    }
    let mut steps = Vec::new();
    for interval in schedule {
        steps.push(Step {
            from: interval.from,
            rate: interval.rate,
            delay: interval.delay,
            loss: interval.loss.as_ref().map(losses),
            outage: interval.outage.map(|outage| match outage {
                scenario::Outage::Lose => Outage::Lose,
                scenario::Outage::Wait => Outage::Wait,
            }),
        });
        // After the interval the link has its own values, unless the next interval begins at once.
        if !schedule.iter().any(|next| next.from == interval.to) {
            steps.push(Step { from: interval.to, ..Step::default() });
        }
    }
    Ok(Some(Timeline::new(steps, repeat)))
}

/// The jitter of a link whose table has the key `key`.
fn late(key: &str, jitter: Option<&scenario::Jitter>, files: &Files) -> Result<Option<Jitter>, BuildError> {
    use scenario::Jitter as Said;
    let Some(jitter) = jitter else { return Ok(None) };
    let (correlation, reorders) = jitter.sequence();
    let shape = match jitter {
        Said::Uniform { most, .. } => Shape::Uniform { most: *most },
        Said::Exponential { mean, .. } => Shape::Exponential { mean: *mean },
        &Said::Normal { mean, deviation, .. } => Shape::Normal { mean, deviation },
        &Said::Pareto { mean, deviation, .. } => Shape::Pareto { mean, deviation },
        &Said::ParetoNormal { mean, deviation, .. } => Shape::ParetoNormal { mean, deviation },
        Said::Table { file, mean, deviation, .. } => {
            let key = format!("{key}.jitter.file");
            let table = delays::read(bytes_of(files, file, &key)?, &key, file)?;
            Shape::Table { table, mean: *mean, deviation: *deviation }
        }
    };
    Ok(Some(Jitter { shape, correlation, reorders }))
}

/// The loss model of a link.
pub(crate) fn losses(loss: &scenario::Loss) -> Loss {
    match *loss {
        scenario::Loss::List { ref packets } => Loss::list(packets.as_slice()),
        scenario::Loss::None => Loss::None,
        scenario::Loss::BitErrors { bit_error_rate } => Loss::bit_errors(bit_error_rate),
        scenario::Loss::Packets { probability } => Loss::Packets { probability },
        scenario::Loss::BySize { ref sizes } => {
            let bytes = |size: Bytes| u32::try_from(size.get()).unwrap_or(u32::MAX);
            Loss::BySize { sizes: sizes.iter().map(|by| (bytes(by.up_to), by.probability)).collect() }
        }
        scenario::Loss::GilbertElliott { good, bad, loss_good, loss_bad } => {
            Loss::bursts(Change::Times { good, bad }, [loss_good, loss_bad])
        }
        scenario::Loss::GilbertElliottPackets { to_bad, to_good, loss_good, loss_bad } => {
            Loss::bursts(Change::Packets { to_bad, to_good }, [loss_good, loss_bad])
        }
    }
}
