//! `skyhop stp`: files and streams over STP between real hosts.
//!
//! Follows HT §5.1 for the protocol; `skyhop_live` has sockets, keys and streams.
//! Differs from scp and nc: the receiver itself confirms to the sender that every byte has arrived unaltered.
//! Leaves out folders, and transfers of which parts come from several hosts.

mod bench;
mod key;
mod names;
mod options;
mod parts;
mod places;
mod proxy;
mod receive;
mod report;
mod send;
mod serve;
mod several;
mod transfer;
mod upload;
mod uploads;

use crate::failure::Failure;
use clap::Subcommand;

/// Commands of `skyhop stp`.
#[derive(Debug, Subcommand)]
pub enum StpCommand {
    /// Create a key: one for two hosts to share, or a pair for each.
    #[command(after_help = KEY_EXAMPLES)]
    Key(key::KeyArgs),
    /// Serve other hosts: receive their files, send them files, and discard measurement traffic.
    #[command(after_help = SERVE_EXAMPLES)]
    Serve(serve::Serve),
    /// Send files or standard input to a serving host.
    #[command(after_help = SEND_EXAMPLES)]
    Send(send::Send),
    /// Receive a file from a serving host.
    #[command(after_help = RECEIVE_EXAMPLES)]
    Receive(receive::Receive),
    /// Carry connections of this host's programs to a hub: a SOCKS5 proxy and forwarded ports, without privileges.
    #[command(after_help = PROXY_EXAMPLES)]
    Proxy(proxy::Proxy),
    /// Measure the speed: to a serving host, or with both ends on this one.
    #[command(after_help = BENCH_EXAMPLES)]
    Bench(bench::Bench),
}

/// Runs the command.
pub fn run(what: &StpCommand) -> Result<(), Failure> {
    match what {
        StpCommand::Key(key) => key::run(key),
        StpCommand::Serve(serve) => serve::run(serve),
        StpCommand::Send(send) => send::run(send),
        StpCommand::Receive(receive) => receive::run(receive),
        StpCommand::Proxy(proxy) => proxy::run(proxy),
        StpCommand::Bench(bench) => bench::run(bench),
    }
}

/// Examples of `skyhop stp`.
pub const EXAMPLES: &str = "\
Examples:
  skyhop stp key --out link.key                              once; copy it to the other host, for example by scp
  skyhop stp serve --key link.key --dir incoming             on one host
  skyhop stp send results.tar 192.0.2.7 --key link.key       on the other
  skyhop stp bench --insecure                                what this host can do

Packets go over UDP, port 57824 unless told otherwise, encrypted and authenticated with the key.";

const KEY_EXAMPLES: &str = "\
Examples:
  skyhop stp key --out link.key                  a key for both hosts
  skyhop stp key --pair --out ground.key         a key for this host, and ground.key.pub for the others

Key files may be read by their owner only; others are refused. Exit code: 0 done, 1 the file cannot be written, 2 wrong usage.";

const SERVE_EXAMPLES: &str = "\
Examples:
  skyhop stp serve --key link.key --dir incoming                   take files into a folder, and give them from there
  skyhop stp serve --key link.key --to - --once | tar x            the first file to standard output, then end
  skyhop stp serve --key ground.key --peer ship.pub --peer buoy.pub \\
    --listen 0.0.0.0:9000
  skyhop stp serve --insecure --listen 127.0.0.1:57824             for measurements: anybody may send to the port

Exit code: 0 done, 1 a transfer failed (with --once) or the socket did, 2 wrong usage, key or address, 130 interrupted.";

const SEND_EXAMPLES: &str = "\
Examples:
  skyhop stp send results.tar ground.example --key link.key
  skyhop stp send *.csv ground.example --key link.key --json
  tar c results | skyhop stp send - ground.example:9000 --key link.key --name results.tar
  until skyhop stp send big.bin ground.example --key link.key --resume; do sleep 10; done
  skyhop stp send big.bin 192.0.2.7 --key ship.key --peer ground.pub \\
    --rate \"20 Mbit/s\"

Exit code: 0 every byte has arrived and been acknowledged by the receiver's application, which has the same SHA-256;
1 not so, or not of all files, and why; 2 wrong usage, file, key or address, or --resume of another file; 130 interrupted.";

const RECEIVE_EXAMPLES: &str = "\
Examples:
  skyhop stp receive results.tar ground.example --key link.key
  skyhop stp receive results.tar ground.example --key link.key --out - | tar x
  skyhop stp receive results.tar ground.example --key link.key --resume    go on where it stopped

Exit code: 0 the file is there, unaltered; 1 not so, and why; 2 wrong usage, key or address, or --resume of another file;
130 interrupted.";

const PROXY_EXAMPLES: &str = "\
Examples:
  skyhop stp proxy laptop.toml
  curl --proxy socks5h://127.0.0.1:1080 https://example.org
  skyhop stp proxy laptop.toml --forward 8080=www.example:80

The file is what `skyhop gateway add` writes at the hub, with a key beside it. What it intercepts is left out.
Exit code: 0 told to end, 1 the network failed, 2 wrong usage, file, key or address.";

const BENCH_EXAMPLES: &str = "\
Examples:
  skyhop stp bench                               both ends on this host, encrypted with a key of the moment
  skyhop stp bench --insecure --size \"1 GB\"
  skyhop stp bench 192.0.2.7 --key link.key --seconds 20 --json

Exit code: 0 done, 1 the transfer failed, 2 wrong usage, key or address, 130 interrupted.";
