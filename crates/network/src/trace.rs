//! The timeline of a link given by a trace.
//!
//! Follows `skyhop_trace`, which reads the file that a scenario names. Differs: at a rate of 0 packets wait, as a link's rate is never 0.
//! Leaves out the effect on packets, which is in `Timeline`.

use skyhop_link::{Loss, Outage, Step};
use skyhop_trace::{Losses, Sample, Trace};
use skyhop_units::Rate;

/// The steps of a trace.
pub(crate) fn steps(trace: &Trace) -> Vec<Step> {
    trace.samples.iter().map(step).collect()
}

fn step(sample: &Sample) -> Step {
    let waits = sample.rate_bps == Some(0);
    Step {
        from: sample.from,
        rate: sample.rate_bps.and_then(Rate::from_bps),
        delay: sample.delay,
        loss: sample.losses.map(|losses| match losses {
            Losses::Packets(probability) => Loss::Packets { probability },
            Losses::Bits(rate) => Loss::bit_errors(rate),
        }),
        outage: waits.then_some(Outage::Wait),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_of_zero_waits() {
        let trace = skyhop_trace::read(b"t_s,rate_bps\n0,0\n1,0.4\n2,5\n").unwrap();
        let steps = steps(&trace);
        let outages: Vec<_> = steps.iter().map(|s| s.outage).collect();
        assert_eq!(outages, [Some(Outage::Wait), Some(Outage::Wait), None]);
        assert_eq!(steps.iter().map(|s| s.rate.map(Rate::as_bps)).collect::<Vec<_>>(), [None, None, Some(5)]);
    }

    #[test]
    fn losses_are_those_of_packets_or_of_bits() {
        let of = |text: &[u8]| steps(&skyhop_trace::read(text).unwrap())[0].loss.clone();
        assert_eq!(of(b"t_s,loss\n0,0.25\n"), Some(Loss::Packets { probability: 0.25 }));
        assert_eq!(of(b"t_s,bit_error_rate\n0,1e-7\n"), Some(Loss::bit_errors(1e-7)));
    }
}
