//! `skyhop stp bench`: measures the speed of STP and its CPU cost.
//!
//! Follows iperf3 and quinn's bench: one connection, one direction, zeros.
//! Differs: CPU time is that of this process, for both ends if both are here; it includes the kernel's share.
//! Leaves out the disk, and any verdict.

use super::options::{Common, address, bind_failure};
use super::report::{Bar, bit_rate, line, numbers};
use super::transfer::{Ask, Patient, ReceivedPrefix, Reply, TransferRequest, take_data};
use super::upload::{SendError, endpoint_for, open, send};
use crate::engine::interrupted;
use crate::failure::Failure;
use crate::stopwatch::Stopwatch;
use clap::Args;
use serde_json::Value;
use skyhop_live::Endpoint;
use skyhop_units::Bytes;
use std::io::{self, Read};
use std::net::SocketAddr;
use std::time::Duration;

/// `skyhop stp bench`.
#[derive(Debug, Args)]
pub struct Bench {
    /// Host that serves; without it both ends are here.
    pub to: Option<String>,
    /// Amount of data to send.
    #[arg(long, value_name = "SIZE", conflicts_with = "seconds")]
    pub size: Option<Bytes>,
    /// Duration of sending.
    #[arg(long, value_name = "SECONDS", default_value_t = 5, value_parser = crate::command::values::whole::<u64>(1..=86_400))]
    pub seconds: u64,
    /// Print the results as JSON.
    #[arg(long)]
    pub json: bool,
    /// Common options.
    #[command(flatten)]
    pub common: Common,
}

/// Runs the command.
pub fn run(args: &Bench) -> Result<(), Failure> {
    let here = args.to.is_none();
    let options = args.common.options(here)?;
    let any = SocketAddr::from(([127, 0, 0, 1], 0));
    let server = match &args.to {
        Some(_) => None,
        None => Some(Endpoint::bind(any, options.clone()).map_err(|e| bind_failure(any, e))?),
    };
    let to = match (&args.to, &server) {
        (Some(to), _) => address(to)?,
        (None, server) => server.as_ref().map_or(any, Endpoint::local_addr),
    };
    let endpoint = endpoint_for(to, options)?;
    let cpu = cpu_time();
    let begin = Stopwatch::start();
    let (sent, stats) = std::thread::scope(|scope| {
        if let Some(server) = &server {
            scope.spawn(move || swallow(server));
        }
        let stream = open(&endpoint, to)?;
        let mut bar = Bar::new("bench", args.size.map(Bytes::get), args.common.quiet);
        let mut zeros = Zeros {
            left: args.size.map_or(u64::MAX, Bytes::get),
            begin,
            most: args.size.is_none().then_some(Duration::from_secs(args.seconds)),
        };
        let request =
            TransferRequest { ask: Ask::Sink, name: "bench".into(), size: args.size.map(Bytes::get) };
        let sent = request.open(&stream).map_err(SendError::Network).and_then(|()| {
            send(&stream, &mut zeros, ReceivedPrefix::of_measurement(), |bytes| {
                bar.show(bytes, || stream.stats())
            })
        });
        bar.clear();
        Ok::<_, Failure>((sent, stream.stats()))
    })?;
    let elapsed = begin.elapsed();
    let cpu_s = cpu_time().zip(cpu).map(|(now, before)| now - before);
    let (bytes, ours, theirs) = sent.map_err(|e| match e {
        SendError::Interrupted => Failure::Stopped("interrupted".into()),
        SendError::Receiver(why) => Failure::Run(format!("the receiver says: {why}")),
        SendError::OtherFile(_) => Failure::Run("the receiver holds another file".into()),
        SendError::Source(e) | SendError::Network(e) => {
            Failure::Run(format!("not all data have arrived: {e}"))
        }
    })?;
    if ours != theirs {
        return Err(Failure::Run("the received data are not the sent data".into()));
    }
    let gigabits = bytes as f64 * 8.0 / 1e9;
    let per_gigabit = cpu_s.map(|cpu_s| cpu_s / gigabits.max(1e-9));
    let mut value = numbers(bytes, 0, elapsed, &stats);
    value["cpu_s"] = Value::from(cpu_s);
    value["cpu_s_per_gbit"] = Value::from(per_gigabit);
    value["both_ends"] = Value::from(here);
    value["encrypted"] = Value::from(!args.common.insecure);
    if args.json {
        return crate::command::print(&format!("{value:#}\n"));
    }
    let cost = match (cpu_s, per_gigabit) {
        (Some(cpu_s), Some(per_gigabit)) => format!(
            "{cpu_s:.2} CPU s of {}, {:.3} for each Gbit: {} per core\n",
            if here { "both ends" } else { "this end" },
            per_gigabit,
            bit_rate(1e9 / per_gigabit.max(1e-9)),
        ),
        _ => String::new(),
    };
    crate::command::print(&format!("{}\n{cost}", line(true, "zeros", bytes, 0, elapsed, &stats)))
}

/// The other end, if both are here: reads and discards.
fn swallow(server: &Endpoint) -> io::Result<()> {
    let listener = server.listen();
    loop {
        let stream = match listener.accept_timeout(Duration::from_millis(200)) {
            Ok((stream, _)) => stream,
            Err(e) if e.kind() == io::ErrorKind::TimedOut && !interrupted() => continue,
            Err(e) => return Err(e),
        };
        let mut patient = Patient::new(&stream)?;
        TransferRequest::take(&mut patient)?;
        let Ok((_, found, _)) =
            take_data(&mut patient, &mut io::sink(), ReceivedPrefix::of_measurement(), |_| !interrupted())
        else {
            return Ok(());
        };
        Reply::Done(found).put(&mut patient)?;
        patient.finish()?;
        return Ok(());
    }
}

/// A source of zeros, of a given size or for a given time.
struct Zeros {
    left: u64,
    begin: Stopwatch,
    most: Option<Duration>,
}

impl Read for Zeros {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        if self.most.is_some_and(|most| self.begin.elapsed() >= most) {
            return Ok(0);
        }
        let len = (buf.len() as u64).min(self.left) as usize;
        buf[..len].fill(0);
        self.left -= len as u64;
        Ok(len)
    }
}

/// CPU time of this process so far, user and kernel, s; `None` without /proc.
fn cpu_time() -> Option<f64> {
    let stat = std::fs::read_to_string("/proc/self/stat").ok()?;
    // After the name, which may contain anything; it ends at the last parenthesis.
    let mut fields = stat[stat.rfind(')')? + 1..].split_whitespace().skip(11);
    let ticks = fields.next()?.parse::<f64>().ok()? + fields.next()?.parse::<f64>().ok()?;
    // USER_HZ is 100 on all Linux systems.
    Some(ticks / 100.0)
}
