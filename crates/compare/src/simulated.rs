//! Measures a contender in the simulator: the scenario's flows with its transport, for one seed or many.
//!
//! Leaves out series and captures.

use crate::contender::{Buffers, Contender};
use crate::measured::{HeldShares, MeasuredDatagrams, MeasuredFlow};
use skyhop_emulate::plan::real_flows;
use skyhop_results::{Cause, FlowKind, FlowResult, RunResult};
use skyhop_scenario::{Loaded, Real, Record, Scenario, Traffic};
use skyhop_sim::Simulation;
use skyhop_units::Span;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The scenario in which compared flows have a contender's transport.
pub fn scenario(loaded: &Loaded, contender: Contender, buffers: Buffers) -> Scenario {
    let mut scenario = loaded.scenario.clone();
    for flow in real_flows(&loaded.scenario) {
        let flow = &mut scenario.flows[flow];
        if !flow.traffic.in_datagrams() {
            flow.transport = contender.simulated(flow, buffers);
        }
        flow.real = Real::No;
    }
    scenario.record = Record { sample_interval: delay_interval(loaded), ..Record::default() };
    scenario
}

/// Least interval at which delays of datagrams are taken.
const DELAYS: Span = Span::from_millis(1);

/// An interval at which the delay of each datagram is taken, or of as many as [`DELAYS`] allows; `None` without datagrams.
fn delay_interval(loaded: &Loaded) -> Option<Span> {
    let apart = |flow: usize| match &loaded.scenario.flows[flow].traffic {
        Traffic::Cbr { rate, size } | Traffic::OnOff { rate, size, .. } => {
            Some(Span::from_secs_f64(0.5 * 8.0 * size.get() as f64 / rate.as_bps().max(1) as f64))
        }
        _ => None,
    };
    real_flows(&loaded.scenario).into_iter().filter_map(apart).min().map(|apart| apart.max(DELAYS))
}

/// Measurements of the compared flows, by seed, then by flow.
///
/// # Errors
///
/// The scenario cannot be built with this transport; the error has the key and the reason.
pub fn measure(
    loaded: &Loaded,
    (contender, buffers): (Contender, Buffers),
    seeds: &[u64],
    threads: usize,
) -> Result<Vec<Vec<MeasuredFlow>>, (String, String)> {
    let scenario = scenario(loaded, contender, buffers);
    let flows = real_flows(&loaded.scenario);
    let next = AtomicUsize::new(0);
    let found = Mutex::new(vec![None; seeds.len()]);
    std::thread::scope(|scope| {
        for _ in 0..threads.clamp(1, seeds.len().max(1)) {
            scope.spawn(|| {
                while let Some((place, seed)) = take(&next, seeds) {
                    let run = run(&scenario, loaded, seed, &flows);
                    if let Ok(mut found) = found.lock() {
                        found[place] = Some(run);
                    }
                }
            });
        }
    });
    found.into_inner().unwrap_or_else(|poisoned| poisoned.into_inner()).into_iter().flatten().collect()
}

fn take(next: &AtomicUsize, seeds: &[u64]) -> Option<(usize, u64)> {
    let place = next.fetch_add(1, Ordering::Relaxed);
    seeds.get(place).map(|seed| (place, *seed))
}

fn run(
    scenario: &Scenario,
    loaded: &Loaded,
    seed: u64,
    flows: &[usize],
) -> Result<Vec<MeasuredFlow>, (String, String)> {
    let built = Simulation::new(scenario, &loaded.files, seed);
    let mut simulation = built.map_err(|e| (e.key, e.message))?;
    let end = simulation.end();
    simulation.run_until(end);
    let result = simulation.finish();
    Ok(flows.iter().map(|flow| measured(&result.flows[*flow], &result)).collect())
}

fn measured(flow: &FlowResult, run: &RunResult) -> MeasuredFlow {
    let held = flow.limits.as_ref().map(|limits| {
        let share = |cause| limits.share(cause).unwrap_or(0.0);
        HeldShares {
            // A transfer has nothing to send only at its end, while its last data wait for acknowledgment.
            busy: 1.0 - share(Cause::Handshake),
            receive_window: share(Cause::ReceiveWindow),
            send_buffer: share(Cause::SendBuffer),
        }
    });
    let packets_lost = lost(run);
    match &flow.kind {
        FlowKind::Transfer(t) => MeasuredFlow {
            completed_s: t.completed_s,
            goodput_bps: t.goodput_bps,
            segments_retransmitted: t.segments_retransmitted,
            packets_lost,
            held,
            ..MeasuredFlow::default()
        },
        FlowKind::Completions(c) => MeasuredFlow {
            completion_mean_s: c.completion_mean_s,
            completed: c.completed,
            failed: c.failed,
            goodput_bps: c.goodput_bps,
            segments_retransmitted: c.segments_retransmitted,
            packets_lost,
            ..MeasuredFlow::default()
        },
        FlowKind::Datagrams(d) => {
            let entity = format!("flow/{}", flow.name);
            let series = run.series.iter().find(|one| one.entity == entity && one.metric == "delay_s");
            let delays = series.map(|one| one.samples.iter().map(|(_, delay)| *delay).collect());
            MeasuredFlow {
                goodput_bps: d.goodput_bps,
                packets_lost,
                datagrams: MeasuredDatagrams::of(d.sent, d.received, delays.unwrap_or_default()),
                ..MeasuredFlow::default()
            }
        }
        _ => MeasuredFlow::default(),
    }
}

/// Packets lost to errors by links.
pub fn lost(run: &RunResult) -> u64 {
    run.links.iter().map(|link| link.forward.packets_lost + link.reverse.packets_lost).sum()
}
