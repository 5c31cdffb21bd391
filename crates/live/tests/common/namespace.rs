//! A network namespace, with a thread that runs jobs in it.
//!
//! Follows network_namespaces(7): a namespace is removed with its last thread and its last file, however a test ends.
//! Leaves out names: nothing of it is left in /run/netns.

use std::io;
use std::path::PathBuf;
use std::process::Command;
use std::sync::mpsc;
use std::thread;

type Job = Box<dyn FnOnce() + Send>;

/// A thread in a network namespace of its own, which runs jobs.
pub struct Namespace {
    /// The file that is the namespace.
    #[allow(dead_code, reason = "who moves no interfaces does not ask")]
    pub path: PathBuf,
    jobs: mpsc::Sender<Job>,
}

impl Namespace {
    /// An empty namespace. The error has the reason if there is none.
    pub fn new() -> io::Result<Self> {
        let (tell, told) = mpsc::channel();
        let (jobs, inbox) = mpsc::channel::<Job>();
        thread::spawn(move || {
            // SAFETY: a namespace for the network changes no memory and no file descriptor of this thread.
            let done = unsafe { rustix::thread::unshare_unsafe(rustix::thread::UnshareFlags::NEWNET) };
            let tid = rustix::thread::gettid().as_raw_nonzero();
            let path = PathBuf::from(format!("/proc/{}/task/{tid}/ns/net", std::process::id()));
            let _ = tell.send(done.map(|()| path).map_err(io::Error::from));
            if done.is_ok() {
                for job in inbox {
                    job();
                }
            }
        });
        Ok(Namespace { path: told.recv().expect("the thread tells")?, jobs })
    }

    /// Starts a job in the namespace; its result is received later.
    pub fn begin<T: Send + 'static>(&self, job: impl FnOnce() -> T + Send + 'static) -> mpsc::Receiver<T> {
        let (tell, told) = mpsc::channel();
        let sent = self.jobs.send(Box::new(move || {
            let _ = tell.send(job());
        }));
        sent.expect("the thread is there");
        told
    }

    /// Runs a job in the namespace and waits for it.
    pub fn run<T: Send + 'static>(&self, job: impl FnOnce() -> T + Send + 'static) -> T {
        self.begin(job).recv().expect("the job ends")
    }
}

/// Calls `ip` in the namespace of this thread.
pub fn ip(args: &str) -> io::Result<()> {
    let out = Command::new("ip").args(args.split_whitespace()).output()?;
    if out.status.success() {
        return Ok(());
    }
    Err(io::Error::other(format!("ip {args}: {}", String::from_utf8_lossy(&out.stderr).trim())))
}
