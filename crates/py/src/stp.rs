//! Streams of STP between real hosts, for Python.
//!
//! Follows `skyhop_live`'s blocking streams.
//! Differs from them: a call that waits lets other threads run, and ends at Ctrl-C.
//! Leaves out defaults and conveniences, which are in `python/skyhop/stp.py`.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use skyhop_live::associations::Config;
use skyhop_live::keys::Keys;
use skyhop_live::{Congestion, Endpoint, NOTHING_HAPPENED, Options, Security, StpListener, StpStream};
use skyhop_units::{Bytes, Rate};
use std::io::{self, Read, Write};
use std::net::{Shutdown, SocketAddr};
use std::path::PathBuf;
use std::str::FromStr;
use std::sync::{Mutex, MutexGuard};
use std::time::{Duration, Instant};

/// Interval at which a waiting call looks for Ctrl-C.
const GLANCE: Duration = Duration::from_millis(200);

pub fn add(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<StpEndpoint>()?;
    module.add_class::<StpConnection>()
}

fn wrong(keyword: &str, why: impl std::fmt::Display) -> PyErr {
    PyValueError::new_err(format!("{keyword}: {why}"))
}

fn quantity<T: FromStr<Err: std::fmt::Display>>(keyword: &str, text: Option<&str>) -> PyResult<Option<T>> {
    text.map(|text| text.parse().map_err(|why: T::Err| wrong(keyword, why))).transpose()
}

fn address(keyword: &str, text: &str) -> PyResult<SocketAddr> {
    text.parse().map_err(|_| {
        wrong(keyword, format!("{text:?} is no address: write 192.0.2.7:57824 or [2001:db8::7]:57824"))
    })
}

/// Repeats a call that waits for `GLANCE` at most, until it is done, the timeout has passed or the user interrupts.
#[expect(clippy::disallowed_methods, reason = "an application waits by the clock")]
fn wait<T: Send>(
    py: Python<'_>,
    timeout_s: Option<f64>,
    mut attempt: impl FnMut(Duration) -> io::Result<T> + Send,
) -> PyResult<T> {
    let whole = timeout_s.map(|seconds| {
        Duration::try_from_secs_f64(seconds)
            .map_err(|_| wrong("timeout_s", format!("{seconds} is no time to wait")))
    });
    let end = whole.transpose()?.map(|whole| Instant::now() + whole);
    loop {
        let left = end.map_or(GLANCE, |end| end.saturating_duration_since(Instant::now()).min(GLANCE));
        match py.detach(|| attempt(left)) {
            Err(e) if e.kind() == io::ErrorKind::TimedOut && e.to_string() == NOTHING_HAPPENED => {
                py.check_signals()?;
                if end.is_some_and(|end| Instant::now() >= end) {
                    return Err(e.into());
                }
            }
            done => return done.map_err(PyErr::from),
        }
    }
}

/// A socket with its associations and connections.
#[pyclass(frozen)]
pub struct StpEndpoint {
    endpoint: Mutex<Option<(Endpoint, Option<StpListener>)>>,
}

fn closed() -> PyErr {
    io::Error::new(io::ErrorKind::NotConnected, "this end is closed").into()
}

impl StpEndpoint {
    fn listener(&self) -> io::Result<StpListener> {
        let mut endpoint = self.lock();
        let closed = || io::Error::new(io::ErrorKind::NotConnected, "this end is closed");
        let (endpoint, listening) = endpoint.as_mut().ok_or_else(closed)?;
        listening.get_or_insert_with(|| endpoint.listen());
        Ok(endpoint.listen())
    }

    fn lock(&self) -> MutexGuard<'_, Option<(Endpoint, Option<StpListener>)>> {
        self.endpoint.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

/// Bytes written, acknowledged, received, and sent with headers; round trip, s, and pace, bit/s.
type StreamNumbers = (u64, u64, u64, u64, Option<f64>, Option<f64>);

#[pymethods]
impl StpEndpoint {
    #[new]
    #[pyo3(signature = (listen, key, peers, mtu, rate, window, memory))]
    fn new(
        listen: &str,
        key: Option<PathBuf>,
        peers: Vec<PathBuf>,
        mtu: Option<u32>,
        rate: Option<&str>,
        window: Option<&str>,
        memory: Option<&str>,
    ) -> PyResult<Self> {
        let security = match key {
            Some(key) => {
                let keys = Keys::read(&key, &peers).map_err(|why| wrong("key", why))?;
                Security::Sealed(Box::new(Config::new(keys)))
            }
            None => Security::Insecure,
        };
        let mut options = Options::new(security);
        if let Some(mtu) = mtu {
            (options.mtu, options.mtu_base) = (mtu, None);
        }
        if let Some(rate) = quantity::<Rate>("rate", rate)? {
            (options.stp.max_rate, options.stp.congestion) = (Some(rate), Congestion::Rate);
        }
        if let Some(window) = quantity::<Bytes>("window", window)? {
            options.stp.window = window.get();
        }
        if let Some(memory) = quantity::<Bytes>("memory", memory)? {
            options.memory = memory.get();
        }
        let endpoint = Endpoint::bind(address("listen", listen)?, options)?;
        Ok(StpEndpoint { endpoint: Mutex::new(Some((endpoint, None))) })
    }

    /// The address that the socket is bound to.
    fn address(&self) -> PyResult<String> {
        Ok(self.lock().as_ref().ok_or_else(closed)?.0.local_addr().to_string())
    }

    /// Opens a connection.
    fn connect(&self, py: Python<'_>, peer: &str) -> PyResult<StpConnection> {
        let peer = address("peer", peer)?;
        let stream = py.detach(|| match self.lock().as_ref() {
            Some((endpoint, _)) => endpoint.connect(peer).map_err(PyErr::from),
            None => Err(closed()),
        })?;
        Ok(StpConnection::new(stream))
    }

    /// Waits for a connection.
    fn accept(&self, py: Python<'_>, timeout_s: Option<f64>) -> PyResult<(StpConnection, String)> {
        let mut own = None;
        let (stream, peer) = wait(py, timeout_s, |left| {
            let listener = match own.take() {
                Some(listener) => listener,
                // A listener of the call's own: other calls are not held up while this one waits.
                None => self.listener()?,
            };
            own.insert(listener).accept_timeout(left)
        })?;
        Ok((StpConnection::new(stream), peer.to_string()))
    }

    /// Lets others connect.
    fn listen(&self) -> PyResult<()> {
        Ok(self.listener().map(drop)?)
    }

    /// Bytes that all connections hold.
    fn memory(&self) -> PyResult<u64> {
        Ok(self.lock().as_ref().ok_or_else(closed)?.0.memory())
    }

    /// Waits until nothing is owed to a peer, and tells all that this end is done. False if that took too long.
    fn close(&self, py: Python<'_>, timeout_s: f64) -> PyResult<bool> {
        let patience = Duration::try_from_secs_f64(timeout_s).map_err(|e| wrong("timeout_s", e))?;
        let taken = self.lock().take();
        Ok(py.detach(|| taken.is_none_or(|(endpoint, _)| endpoint.close(patience))))
    }
}

/// A connection: a stream of bytes each way.
#[pyclass(frozen)]
pub struct StpConnection {
    stream: Mutex<Option<std::sync::Arc<StpStream>>>,
}

impl StpConnection {
    fn new(stream: StpStream) -> Self {
        StpConnection { stream: Mutex::new(Some(stream.into())) }
    }

    fn stream(&self) -> PyResult<std::sync::Arc<StpStream>> {
        self.stream.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).clone().ok_or_else(closed)
    }
}

#[pymethods]
impl StpConnection {
    /// Waits for data, and returns some of them; none at the end.
    fn read<'py>(
        &self,
        py: Python<'py>,
        most: usize,
        timeout_s: Option<f64>,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let stream = self.stream()?;
        let mut buffer = vec![0; most.min(1 << 20)];
        let len = wait(py, timeout_s, |left| {
            stream.set_read_timeout(Some(left))?;
            (&*stream).read(&mut buffer)
        })?;
        Ok(PyBytes::new(py, &buffer[..len]))
    }

    /// Waits until some of the data are taken, and returns how many.
    fn write(&self, py: Python<'_>, data: &[u8], timeout_s: Option<f64>) -> PyResult<usize> {
        let stream = self.stream()?;
        wait(py, timeout_s, |left| {
            stream.set_write_timeout(Some(left))?;
            (&*stream).write(data)
        })
    }

    /// Says that nothing more will be written, and waits until everything has arrived.
    fn finish(&self, py: Python<'_>, timeout_s: Option<f64>) -> PyResult<()> {
        let stream = self.stream()?;
        wait(py, timeout_s, |left| stream.finish(Some(left)))
    }

    /// Says that nothing more will be written.
    fn shutdown(&self) -> PyResult<()> {
        Ok(self.stream()?.shutdown(Shutdown::Write)?)
    }

    /// Breaks the connection off.
    fn reset(&self) -> PyResult<()> {
        Ok(self.stream()?.reset()?)
    }

    /// Lets go of the connection.
    fn close(&self) {
        self.stream.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).take();
    }

    /// Bytes written, acknowledged, received, and sent with headers; the round trip and the pace, if known.
    fn stats(&self) -> PyResult<StreamNumbers> {
        let stats = self.stream()?.stats();
        Ok((
            stats.written,
            stats.acknowledged,
            stats.delivered,
            stats.traffic.bytes_sent,
            stats.srtt.map(|srtt| srtt.as_secs_f64()),
            stats.pace_bps,
        ))
    }
}
