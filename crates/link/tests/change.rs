//! Links reconfigured while packets wait for them.

use skyhop_chance::Seed;
use skyhop_link::{Fixed, Label, Limit, Link, Loss};
use skyhop_units::{Rate, Span, Time};

fn ms(n: u64) -> Time {
    Time::ZERO + Span::from_millis(n)
}

fn arrivals(link: &mut Link<u32>, medium: Fixed) -> Vec<(u32, Time, bool)> {
    let mut found = Vec::new();
    while let Some(at) = link.poll_timeout() {
        while let Some(arrival) = link.poll_arrival(at, &medium) {
            found.push((arrival.packet, at, arrival.lost));
        }
    }
    found
}

#[test]
fn what_waits_leaves_at_the_new_rate_and_what_has_begun_at_the_old() {
    let mut link = Link::new(Rate::mbit(1), Limit::packets(50), Loss::None, None);
    let (before, after) = (Fixed(Span::from_millis(100)), Fixed(Span::from_millis(300)));
    // 1250 bytes take 10 ms, and 5 ms at twice the rate.
    for packet in 0..4 {
        link.handle_packet(ms(0), packet, 1250, Label::default(), &before).unwrap();
    }
    // The second is on the transmitter.
    link.change(ms(15), Rate::mbit(2), None, &before);
    let found = arrivals(&mut link, after);
    assert_eq!(found, [(0, ms(110), false), (1, ms(120), false), (2, ms(325), false), (3, ms(330), false)]);
}

#[test]
fn a_shorter_delay_lets_nothing_overtake() {
    let mut link = Link::new(Rate::mbit(1), Limit::packets(50), Loss::None, None);
    let (before, after) = (Fixed(Span::from_millis(300)), Fixed(Span::from_millis(10)));
    for packet in 0..3 {
        link.handle_packet(ms(0), packet, 1250, Label::default(), &before).unwrap();
    }
    link.change(ms(5), Rate::mbit(1), None, &before);
    assert_eq!(arrivals(&mut link, after), [(0, ms(310), false), (1, ms(310), false), (2, ms(310), false)]);
}

#[test]
fn losses_begin_with_what_leaves_after_the_change() {
    let mut link = Link::new(Rate::mbit(1), Limit::packets(50), Loss::None, None);
    let medium = Fixed(Span::ZERO);
    for packet in 0..3 {
        link.handle_packet(ms(0), packet, 1250, Label::default(), &medium).unwrap();
    }
    let all = Loss::Packets { probability: 1.0 };
    link.change(ms(5), Rate::mbit(1), Some((all, Some(Seed(1).stream("loss")))), &medium);
    assert_eq!(arrivals(&mut link, medium), [(0, ms(10), false), (1, ms(20), true), (2, ms(30), true)]);
    link.change(ms(31), Rate::mbit(1), Some((Loss::None, None)), &medium);
    link.handle_packet(ms(31), 3, 1250, Label::default(), &medium).unwrap();
    assert_eq!(arrivals(&mut link, medium), [(3, ms(41), false)]);
}
