//! The verdict on two measurements: within the tolerance or not.
//!
//! Follows the rule that a tolerance is fixed before the run and bounds both sides: without losses the emulated time may differ
//! from the simulated one by a share of it; with losses the mean of the emulated runs must lie within the central 95 % of means of
//! as many simulated ones.
//! Leaves out causes.

use crate::contender::Contender;
use crate::measured::{HeldShares, JudgedMetric, MeasuredDatagrams, MeasuredFlow};
use skyhop_chance::{Seed, Stream};

/// Tolerance of an emulated time without losses, as a share of the simulated one.
pub const TOLERANCE: f64 = 0.10;
/// The same for STP, with or without losses.
pub const TOLERANCE_STP: f64 = 0.05;
/// Tolerance of the shares of limiting causes.
pub const TOLERANCE_HELD: f64 = 0.05;
/// Tolerance of the share of datagrams that arrive; their delays have [`TOLERANCE`].
pub const TOLERANCE_ARRIVED: f64 = 0.02;
/// Number of means drawn from simulated runs, and the share of them between the bounds.
pub const DRAWS: usize = 200;
const CENTRAL: f64 = 0.95;

/// Measurements of a flow, and their comparison.
#[derive(Debug, Clone, PartialEq)]
pub struct Judged {
    /// The number that is compared.
    pub metric: JudgedMetric,
    /// Mean of the simulated runs with the seeds of the emulated ones.
    pub simulated: f64,
    /// Mean of the emulated runs.
    pub emulated: f64,
    /// Smallest and largest acceptable emulated mean.
    pub bounds: [f64; 2],
    /// True if the bounds are those of chance, and not of a tolerance.
    pub by_chance: bool,
    /// Shares of the causes that limited the sender, simulated and emulated.
    pub held: Option<[HeldShares; 2]>,
    /// True if both sides count the receive window by the same rule. For a model of the path, the simulator attributes a pace set
    /// by the window to the window (docs/results.md), and the kernel calls it busy.
    pub one_rule: bool,
    /// Datagrams, simulated and emulated, if the flow goes in these.
    pub datagrams: Option<[MeasuredDatagrams; 2]>,
}

impl Judged {
    /// Compares the measurements of a flow: simulated runs with seeds from the first on, of which there may be more, and emulated
    /// runs. `None` if one side has none.
    pub fn of(contender: Contender, simulated: &[MeasuredFlow], emulated: &[MeasuredFlow]) -> Option<Self> {
        let metric = JudgedMetric::of(simulated.iter().chain(emulated));
        let values =
            |all: &[MeasuredFlow]| all.iter().map(|one| metric.value(one)).collect::<Option<Vec<f64>>>();
        let (pool, found) = (values(simulated)?, values(emulated)?);
        let same = &pool[..found.len().min(pool.len())];
        if same.is_empty() {
            return None;
        }
        let connections = metric != JudgedMetric::DelayMedian;
        let by_chance =
            connections && contender != Contender::Stp && simulated.iter().any(|one| one.packets_lost > 0);
        let expected = mean(same);
        let bounds = if by_chance {
            central(&pool, found.len())
        } else {
            let tolerance =
                if connections && contender == Contender::Stp { TOLERANCE_STP } else { TOLERANCE };
            [expected * (1.0 - tolerance), expected * (1.0 + tolerance)]
        };
        let held = mean_held(&simulated[..same.len()]).zip(mean_held(emulated)).map(|(a, b)| [a, b]);
        Some(Self {
            metric,
            simulated: expected,
            emulated: mean(&found),
            bounds,
            by_chance,
            held,
            one_rule: contender != Contender::Bbr,
            datagrams: mean_datagrams(&simulated[..same.len()])
                .zip(mean_datagrams(emulated))
                .map(|(a, b)| [a, b]),
        })
    }

    /// Returns true if the emulated mean lies between the bounds, and the datagrams agree if there are any.
    pub fn holds(&self) -> bool {
        (self.bounds[0]..=self.bounds[1]).contains(&self.emulated) && self.datagrams_hold()
    }

    /// Returns true if as many datagrams arrive, and 99 in 100 within the same time.
    fn datagrams_hold(&self) -> bool {
        self.datagrams.is_none_or(|[simulated, emulated]| {
            let apart = emulated.delay_p99_s / simulated.delay_p99_s - 1.0;
            apart.abs() <= TOLERANCE && (simulated.share() - emulated.share()).abs() <= TOLERANCE_ARRIVED
        })
    }

    /// Largest difference between shares of limiting causes.
    pub fn held_apart(&self) -> Option<f64> {
        let [a, b] = self.held?;
        let window = if self.one_rule { a.receive_window - b.receive_window } else { 0.0 };
        let apart = [a.busy - b.busy, window, a.send_buffer - b.send_buffer];
        Some(apart.into_iter().map(f64::abs).fold(0.0, f64::max))
    }

    /// Returns true if these agree, or if there are none.
    pub fn held_holds(&self) -> bool {
        self.held_apart().is_none_or(|apart| apart <= TOLERANCE_HELD)
    }
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// Central range of means of `count` values each, drawn from a pool.
fn central(pool: &[f64], count: usize) -> [f64; 2] {
    let mut stream: Stream = Seed(0).stream("compare/draws");
    let mut draw = || {
        let of = |_| pool[(stream.uniform() * pool.len() as f64) as usize];
        mean(&(0..count).map(of).collect::<Vec<_>>())
    };
    let mut means: Vec<f64> = (0..DRAWS).map(|_| draw()).collect();
    means.sort_by(f64::total_cmp);
    let tail = ((1.0 - CENTRAL) / 2.0 * DRAWS as f64) as usize;
    [means[tail], means[DRAWS - 1 - tail]]
}

fn mean_datagrams(all: &[MeasuredFlow]) -> Option<MeasuredDatagrams> {
    let all: Vec<MeasuredDatagrams> = all.iter().map(|one| one.datagrams).collect::<Option<_>>()?;
    let of = |part: fn(&MeasuredDatagrams) -> f64| mean(&all.iter().map(part).collect::<Vec<_>>());
    (!all.is_empty()).then(|| MeasuredDatagrams {
        sent: of(|one| one.sent),
        received: of(|one| one.received),
        delay_p50_s: of(|one| one.delay_p50_s),
        delay_p99_s: of(|one| one.delay_p99_s),
    })
}

fn mean_held(all: &[MeasuredFlow]) -> Option<HeldShares> {
    let all: Vec<HeldShares> = all.iter().map(|one| one.held).collect::<Option<_>>()?;
    let of = |part: fn(&HeldShares) -> f64| mean(&all.iter().map(part).collect::<Vec<_>>());
    (!all.is_empty()).then(|| HeldShares {
        busy: of(|held| held.busy),
        receive_window: of(|held| held.receive_window),
        send_buffer: of(|held| held.send_buffer),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn took(completed_s: f64, packets_lost: u64) -> MeasuredFlow {
        MeasuredFlow { completed_s: Some(completed_s), packets_lost, ..MeasuredFlow::default() }
    }

    #[test]
    fn without_losses_the_tolerance_has_two_sides() {
        let judge = |contender, emulated| {
            Judged::of(contender, &[took(10.0, 0)], &[took(emulated, 0)]).unwrap().holds()
        };
        assert_eq!([8.9, 9.1, 10.9, 11.1].map(|s| judge(Contender::Cubic, s)), [false, true, true, false]);
        assert_eq!([9.4, 9.6, 10.4, 10.6].map(|s| judge(Contender::Stp, s)), [false, true, true, false]);
    }

    #[test]
    fn with_losses_the_bounds_are_those_of_means_of_as_many() {
        // Times from 5 to 15 s: means of five have a deviation of 1.3 s, means of one of 2.9.
        let pool: Vec<MeasuredFlow> = (0..=100).map(|i| took(5.0 + 0.1 * f64::from(i), 1)).collect();
        let five = Judged::of(Contender::Reno, &pool, &vec![took(10.0, 1); 5]).unwrap();
        let one = Judged::of(Contender::Reno, &pool, &[took(10.0, 1)]).unwrap();
        assert!(five.by_chance && five.holds(), "{five:?}");
        let width = |judged: &Judged| judged.bounds[1] - judged.bounds[0];
        assert!((4.2..=5.8).contains(&width(&five)) && (8.8..=9.8).contains(&width(&one)));
        assert!(!Judged::of(Contender::Reno, &pool, &vec![took(13.5, 1); 5]).unwrap().holds());
        assert!(!Judged::of(Contender::Reno, &pool, &vec![took(6.5, 1); 5]).unwrap().holds());
    }

    #[test]
    fn a_transfer_that_does_not_end_is_judged_by_its_rate() {
        let rate = |goodput_bps| MeasuredFlow { goodput_bps, ..MeasuredFlow::default() };
        let judged = Judged::of(Contender::Bbr, &[took(3.0, 0)], &[rate(5e6)]).unwrap();
        assert_eq!((judged.metric, judged.holds()), (JudgedMetric::Goodput, false));
        assert!(Judged::of(Contender::Bbr, &[], &[rate(5e6)]).is_none());
    }

    #[test]
    fn datagrams_agree_in_their_delays_and_in_how_many_arrive() {
        let flow = |received, delay_p50_s, delay_p99_s| MeasuredFlow {
            datagrams: Some(MeasuredDatagrams { sent: 1000.0, received, delay_p50_s, delay_p99_s }),
            packets_lost: 9,
            ..MeasuredFlow::default()
        };
        let judge =
            |emulated| Judged::of(Contender::Stp, &[flow(950.0, 0.300, 0.400)], &[emulated]).unwrap().holds();
        assert!(judge(flow(950.0, 0.300, 0.400)) && judge(flow(935.0, 0.328, 0.438)));
        assert!(!judge(flow(925.0, 0.300, 0.400)) && !judge(flow(975.0, 0.300, 0.400)));
        assert!(!judge(flow(950.0, 0.300, 0.445)) && !judge(flow(950.0, 0.300, 0.355)));
        assert!(!judge(flow(950.0, 0.335, 0.400)) && !judge(flow(950.0, 0.265, 0.400)));
        let delays = (1..=100).rev().map(f64::from).collect();
        let found = MeasuredDatagrams::of(120, 100, delays).unwrap();
        assert_eq!((found.lost(), found.delay_p50_s, found.delay_p99_s), (20.0, 51.0, 99.0));
        assert_eq!(MeasuredDatagrams::of(120, 0, Vec::new()), None);
    }

    #[test]
    fn what_held_a_sender_up_agrees_within_five_points() {
        let held = |send_buffer| MeasuredFlow {
            held: Some(HeldShares { busy: 0.98, receive_window: 0.0, send_buffer }),
            ..took(10.0, 0)
        };
        let judge = |emulated| Judged::of(Contender::Cubic, &[held(0.5)], &[held(emulated)]).unwrap();
        assert!(judge(0.54).held_holds() && !judge(0.56).held_holds() && !judge(0.44).held_holds());
    }
}
