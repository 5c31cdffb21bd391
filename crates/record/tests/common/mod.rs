//! A small handmade run with every kind of result, and a writer whose disk is full.
//!
//! Numbers are round so that expected texts are readable.
//! Differs from a simulated run: nothing here depends on the simulator's behaviour.
//! Leaves out realism.
#![allow(dead_code)]

use skyhop_results::*;
use skyhop_units::Time;
use std::io::{self, Write};

pub fn run() -> RunResult {
    RunResult {
        associations: Vec::new(),
        handovers: Vec::new(),
        addresses: Vec::new(),
        failures: vec![],
        routing: None,
        splices: Vec::new(),
        uplinks: Vec::new(),
        scenario: "geo".into(),
        seed: 7,
        simulated_s: 120.0,
        events: 1234,
        packet_hops: 900,
        populations: Vec::new(),
        each_member: false,
        flows: vec![
            FlowResult {
                association: None,
                name: "download".into(),
                kind: FlowKind::Transfer(TransferResult {
                    goodput_bps: 1_234_567.5,
                    completed_s: None,
                    bytes_delivered: 18_518_512,
                    sequence_max_bytes: Some(18_520_000),
                    segments_sent: 12_700,
                    segments_retransmitted: 16,
                    timeouts: 1,
                    rtt_min_s: Some(0.6),
                    rtt_mean_s: Some(0.7),
                    rtt_max_s: Some(0.9),
                }),
                limits: Some(LimitsResult {
                    spent_ns: [600_000_000, 400_000_000, 0, 0, 90_000_000_000, 0, 29_000_000_000, 0],
                    bottleneck: Some("satellite".into()),
                }),
                forward_bytes: 19_100_000,
                return_bytes: 254_000,
                packets_sent: 19_050,
                packets_duplicated: 0,
                packets_delivered: 19_000,
                packets_dropped: 16,
                packets_lost: 4,
                packets_in_flight: 30,
            },
            FlowResult {
                association: None,
                name: "echo".into(),
                kind: FlowKind::Ping(PingResult { sent: 3, received: 0, ..PingResult::default() }),
                limits: None,
                forward_bytes: 252,
                return_bytes: 0,
                packets_sent: 3,
                packets_duplicated: 0,
                packets_delivered: 0,
                packets_dropped: 0,
                packets_lost: 3,
                packets_in_flight: 0,
            },
        ],
        links: vec![LinkResult {
            name: "satellite".into(),
            forward: DirectionResult {
                packets: 12_700,
                bytes: 19_050_000,
                utilisation: 0.99,
                ..Default::default()
            },
            reverse: DirectionResult::default(),
        }],
        series: vec![
            Series {
                entity: "flow/download".into(),
                metric: "cwnd_bytes",
                samples: (0..1200)
                    .map(|i| (Time::from_nanos(i * 100_000_000), 2920.0 + 100.0 * i as f64))
                    .collect(),
            },
            Series {
                entity: "link/satellite/forward".into(),
                metric: "queue_packets",
                samples: vec![(Time::ZERO, 0.0)],
            },
        ],
        warnings: vec!["flow \"echo\" received nothing".into()],
    }
}

/// Accepts `room` bytes and then reports a full disk.
#[derive(Debug)]
pub struct SmallDisk {
    pub room: usize,
}

impl Write for SmallDisk {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.room == 0 {
            return Err(io::Error::from_raw_os_error(28));
        }
        let n = bytes.len().min(self.room);
        self.room -= n;
        Ok(n)
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// A folder for one test, removed with its contents.
pub struct Scratch(pub std::path::PathBuf);

impl Scratch {
    pub fn new(test: &str) -> Self {
        let path = std::env::temp_dir().join(format!("skyhop-record-{test}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).unwrap();
        Scratch(path)
    }
    pub fn names(&self, sub: &str) -> Vec<String> {
        let mut names: Vec<String> = std::fs::read_dir(self.0.join(sub))
            .unwrap()
            .map(|e| e.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
