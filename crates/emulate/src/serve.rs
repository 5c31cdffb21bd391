//! Default servers, if no other is started: echo, discard, and files over HTTP.
//!
//! Follows RFC 862 (echo, port 7) and RFC 863 (discard, port 9) over TCP and UDP, and HTTP/1.1 (RFC 9112) for GET and HEAD on port
//! 80: files below a folder, and `/bytes/10MB`, a reply of that many zeros.
//! Differs from an Internet server: only programs of the emulation reach it. Each connection has a thread.
//! Leaves out other parts of HTTP: ranges, listings of folders, TLS.

use crate::error::{Error, Tried};
use crate::namespace::Namespace;
use rustix::thread::LinkNameSpaceType;
use skyhop_units::Bytes;
use std::fs::File;
use std::io::{self, BufRead, BufReader, BufWriter, Read, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::os::fd::AsFd;
use std::path::{Component, Path, PathBuf};
use std::thread;
use std::time::Duration;

const ECHO: u16 = 7;
const DISCARD: u16 = 9;
const HTTP: u16 = 80;

/// The servers of a host.
#[derive(Debug, Clone)]
pub struct Servers {
    /// Folder of HTTP's files; `None` for no files.
    pub folder: Option<PathBuf>,
}

impl Servers {
    /// Starts them in a host. They end with this process.
    ///
    /// # Errors
    ///
    /// A port cannot be opened.
    pub fn start(self, namespace: &Namespace) -> Result<(), Error> {
        let open = || -> Result<_, Error> {
            rustix::thread::move_into_link_name_space(namespace.fd.as_fd(), Some(LinkNameSpaceType::Network))
                .tried(|| "cannot enter the server's host".to_owned())?;
            // IPv6 sockets accept IPv4 connections too; some kernels have no IPv6.
            let any = [IpAddr::V6(Ipv6Addr::UNSPECIFIED), IpAddr::V4(Ipv4Addr::UNSPECIFIED)];
            let at = |port| any.map(|address| SocketAddr::new(address, port));
            let tcp =
                |port| TcpListener::bind(&at(port)[..]).tried(|| format!("cannot listen at TCP port {port}"));
            let udp =
                |port| UdpSocket::bind(&at(port)[..]).tried(|| format!("cannot listen at UDP port {port}"));
            Ok(([tcp(ECHO)?, tcp(DISCARD)?, tcp(HTTP)?], [udp(ECHO)?, udp(DISCARD)?]))
        };
        let opened = thread::scope(|scope| scope.spawn(open).join());
        let ([echo, discard, http], [udp_echo, udp_discard]) = match opened {
            Ok(opened) => opened?,
            Err(panic) => std::panic::resume_unwind(panic),
        };
        accept(echo, |stream| io::copy(&mut stream.try_clone()?, &mut &stream).map(drop));
        accept(discard, |mut stream| io::copy(&mut stream, &mut io::sink()).map(drop));
        accept(http, move |stream| serve(&stream, self.folder.as_deref()));
        thread::spawn(move || {
            let mut datagram = [0; 65_536];
            while let Ok((len, from)) = udp_echo.recv_from(&mut datagram) {
                let _ = udp_echo.send_to(&datagram[..len], from);
            }
        });
        thread::spawn(move || {
            let mut datagram = [0; 65_536];
            while udp_discard.recv(&mut datagram).is_ok() {}
        });
        Ok(())
    }
}

/// Wait after descriptors or threads have run out.
const AGAIN: Duration = Duration::from_millis(10);

/// Serves each connection in a thread.
#[expect(clippy::disallowed_methods, reason = "a server that cannot go on waits until it can")]
fn accept(listener: TcpListener, serve: impl Fn(TcpStream) -> io::Result<()> + Clone + Send + 'static) {
    thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(stream) = stream else {
                thread::sleep(AGAIN);
                continue;
            };
            // Answers are sent as soon as they are written.
            let _ = stream.set_nodelay(true);
            let serve = serve.clone();
            // A client that disconnects does not affect the others.
            if thread::Builder::new().spawn(move || serve(stream)).is_err() {
                thread::sleep(AGAIN);
            }
        }
    });
}

/// Longest line or header field of a request, bytes.
const MOST_LINE: u64 = 8192;

/// Answers requests one after another.
fn serve(stream: &TcpStream, folder: Option<&Path>) -> io::Result<()> {
    let mut input = BufReader::new(stream);
    loop {
        let mut line = String::new();
        if input.by_ref().take(MOST_LINE).read_line(&mut line)? == 0 {
            return Ok(());
        }
        let mut last = line.contains("HTTP/1.0");
        loop {
            let mut field = String::new();
            if input.by_ref().take(MOST_LINE).read_line(&mut field)? == 0 {
                return Ok(());
            }
            let field = field.trim().to_ascii_lowercase();
            last |= field == "connection: close";
            if field.is_empty() {
                break;
            }
        }
        let mut words = line.split_whitespace();
        let (method, target) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
        let mut out = BufWriter::with_capacity(1 << 16, stream);
        let found = match method {
            "GET" | "HEAD" => content(target, folder),
            _ => Err("405 Method Not Allowed"),
        };
        let close = if last { "Connection: close\r\n" } else { "" };
        match found {
            Ok((mut body, len)) => {
                write!(out, "HTTP/1.1 200 OK\r\nContent-Length: {len}\r\n{close}\r\n")?;
                if method == "GET" {
                    io::copy(&mut body.as_mut().take(len), &mut out)?;
                }
            }
            Err(status) => {
                let text = format!("{status}\n");
                let len = text.len();
                write!(out, "HTTP/1.1 {status}\r\nContent-Length: {len}\r\n{close}\r\n{text}")?;
            }
        }
        out.flush()?;
        if last {
            return Ok(());
        }
    }
}

/// Number of zeros named by a path such as `bytes/10MB`.
pub(crate) fn zeros(path: &str) -> Option<u64> {
    let size = path.strip_prefix("bytes/")?;
    let size = if size.bytes().all(|c| c.is_ascii_digit()) { format!("{size} B") } else { size.to_owned() };
    size.parse().ok().map(Bytes::get)
}

/// The bytes of a target, and their number.
fn content(target: &str, folder: Option<&Path>) -> Result<(Box<dyn Read>, u64), &'static str> {
    const NOT_FOUND: &str = "404 Not Found";
    let path = target.split(['?', '#']).next().unwrap_or_default().trim_start_matches('/');
    if path.starts_with("bytes/") {
        return Ok((Box::new(io::repeat(0)), zeros(path).ok_or(NOT_FOUND)?));
    }
    let plain = Path::new(path).components().all(|part| matches!(part, Component::Normal(_)));
    let folder = folder.filter(|_| plain).ok_or(NOT_FOUND)?;
    let mut file = folder.join(path);
    if file.is_dir() {
        file = file.join("index.html");
    }
    let file = File::open(file).map_err(|_| NOT_FOUND)?;
    let len = file.metadata().map_err(|_| NOT_FOUND)?.len();
    Ok((Box::new(file), len))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_target_is_a_file_below_the_folder_or_so_many_bytes() {
        let folder = std::env::temp_dir().join(format!("skyhop-serve-{}", std::process::id()));
        std::fs::create_dir_all(folder.join("in")).unwrap();
        std::fs::write(folder.join("in/index.html"), "page").unwrap();
        let len = |target: &str| content(target, Some(&folder)).map(|(_, len)| len);
        assert_eq!(len("/bytes/10MB"), Ok(10_000_000));
        assert_eq!(len("/bytes/1500"), Ok(1500));
        assert_eq!(len("/bytes/many"), Err("404 Not Found"));
        assert_eq!(len("/in/index.html?x=1"), Ok(4));
        assert_eq!(len("/in"), Ok(4));
        for outside in ["/../etc/hosts", "//etc/hosts", "/in/../../x", "/none"] {
            assert_eq!(len(outside), Err("404 Not Found"), "{outside}");
        }
        std::fs::remove_dir_all(folder).unwrap();
    }
}
