//! The yardstick of `bench/emulate.py`: a relay between two TUN devices as one would write it first.
//!
//! One thread, one packet for each system call, one queue each way: a rate and a delay, and nothing else. It does not join, record
//! or limit.
//!
//!     naive RATE_MBIT DELAY_MS COMMAND...

#![allow(clippy::disallowed_methods, reason = "a yardstick takes real time")]

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use skyhop_emulate::namespace::Namespace;
use skyhop_emulate::netlink::Netlink;
use skyhop_emulate::offload::{LEN, Offload};
use skyhop_emulate::serve::Servers;
use skyhop_emulate::tun::Tun;
use skyhop_emulate::{Error, inside};
use std::collections::VecDeque;
use std::ffi::OsString;
use std::net::{IpAddr, Ipv4Addr};
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

static OVER: AtomicBool = AtomicBool::new(false);
static PACKETS: AtomicU64 = AtomicU64::new(0);

fn host(last: u8) -> Result<(Namespace, Tun), Error> {
    Namespace::with(|| {
        let mut netlink = Netlink::open()?;
        let loopback = netlink.index("lo")?;
        netlink.set_up(loopback, None, None)?;
        let tun = Tun::new("sky0", false)?;
        let device = netlink.index("sky0")?;
        netlink.set_up(device, Some(1500), Some(30_000))?;
        let own = IpAddr::V4(Ipv4Addr::new(10, 0, 0, last));
        netlink.add_address(device, own, 32)?;
        netlink.add_default_route(device, own, None, Some("cubic"))?;
        Ok(tun)
    })
}

fn relay(tuns: [Tun; 2], rate_bps: f64, delay: Duration) {
    let parameters = libc::sched_param { sched_priority: 50 };
    // SAFETY: the structure lives through the call.
    unsafe { libc::sched_setscheduler(0, libc::SCHED_FIFO, &raw const parameters) };
    let mut queues = [VecDeque::new(), VecDeque::new()];
    let mut free_at = [Instant::now(); 2];
    let mut packet = vec![0; LEN + 65_536];
    while !OVER.load(Ordering::Relaxed) {
        let now = Instant::now();
        for (way, queue) in queues.iter_mut().enumerate() {
            while let Some((due, bytes)) = queue.pop_front_if(|(due, _): &mut (Instant, Vec<u8>)| *due <= now)
            {
                let _: Instant = due;
                let _ = tuns[1 - way].write(Offload::default(), &bytes, &[]);
            }
        }
        let next = queues.iter().filter_map(|queue| queue.front()).map(|(due, _)| *due).min();
        let wait =
            next.map_or(Duration::from_millis(10), |due| due.saturating_duration_since(Instant::now()));
        let wait = Timespec { tv_sec: 0, tv_nsec: wait.min(Duration::from_millis(10)).as_nanos() as i64 };
        let mut ready = [PollFd::new(&tuns[0], PollFlags::IN), PollFd::new(&tuns[1], PollFlags::IN)];
        let _ = poll(&mut ready, Some(&wait));
        let ready = ready.map(|one| one.revents().contains(PollFlags::IN));
        for way in 0..2 {
            if !ready[way] {
                continue;
            }
            if let Ok(Some((_, place))) = tuns[way].read(&mut packet) {
                PACKETS.fetch_add(1, Ordering::Relaxed);
                let now = Instant::now();
                free_at[way] =
                    free_at[way].max(now) + Duration::from_secs_f64(place.len() as f64 * 8.0 / rate_bps);
                queues[way].push_back((free_at[way] + delay, packet[place].to_vec()));
            }
        }
    }
}

fn main() -> ExitCode {
    let mut arguments = std::env::args_os().skip(1);
    if std::env::args_os().nth(1).is_some_and(|first| first == inside::ARGUMENT) {
        return ExitCode::from(inside::main(arguments.skip(1)));
    }
    let mut number =
        || arguments.next().and_then(|word| word.to_str()?.parse::<f64>().ok()).expect("a number");
    let (rate_mbit, delay_ms) = (number(), number());
    let command: Vec<OsString> = arguments.collect();
    let run = || -> Result<(u8, f64), Error> {
        let ((server, a), (user, b)) = (host(1)?, host(2)?);
        Servers { folder: None }.start(&server)?;
        let delay = Duration::from_secs_f64(delay_ms * 1e-3);
        let relaying = std::thread::spawn(move || {
            relay([a, b], rate_mbit * 1e6, delay);
            let cpu = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
            cpu.tv_sec as f64 + cpu.tv_nsec as f64 * 1e-9
        });
        let names = "127.0.0.1 localhost\n10.0.0.1 server\n10.0.0.2 user\n";
        let mut child = inside::start(&user, names, (&[], &command), inside::TerminalOwner::Front)?;
        let code = child.wait().map_or(1, inside::exit_code);
        OVER.store(true, Ordering::Relaxed);
        Ok((code, relaying.join().unwrap_or_default()))
    };
    match run() {
        Ok((code, cpu_s)) => {
            eprintln!("{{\"cpu_s\": {cpu_s}, \"packets\": {}}}", PACKETS.load(Ordering::Relaxed));
            ExitCode::from(code)
        }
        Err(why) => {
            eprintln!("{why}");
            ExitCode::FAILURE
        }
    }
}
