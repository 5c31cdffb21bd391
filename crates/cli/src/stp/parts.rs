//! Parts: files that are still written, beside the target, whose name they get when they are whole.
//!
//! Follows the practice of safe writes: fsync of the file, link or rename, fsync of the folder, as fsync(2) asks for.
//! Differs: who writes a part holds a lock on it (flock(2)), so a part without one was left by a process that was killed.
//! Leaves out file systems without locks: there leftovers stay.

use super::names::shown;
use std::ffi::OsString;
use std::fs::{self, File, TryLockError};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// A part that this process writes; removed when it is dropped.
pub struct Part {
    /// The file, open for writing.
    pub file: File,
    path: PathBuf,
    target: PathBuf,
    whole: bool,
}

/// End of the name of a part: `.NAME.PID-NUMBER.skystp.part`.
const PART: &str = ".skystp.part";

impl Part {
    /// A new part beside the file that it is to become.
    pub fn create(target: &Path) -> io::Result<Self> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        for _ in 0..1000 {
            let number = NEXT.fetch_add(1, Ordering::Relaxed);
            let path = beside(target, &format!(".{}-{number}{PART}", std::process::id()));
            let file = match File::options().read(true).write(true).create_new(true).open(&path) {
                Err(e) if e.kind() == io::ErrorKind::AlreadyExists => continue,
                other => other?,
            };
            // Before the lock was there, another process may have taken the file for a leftover.
            if lock(&file)? && is_at(&file, &path) {
                return Ok(Part { file, path, target: target.to_owned(), whole: false });
            }
        }
        Err(io::Error::new(io::ErrorKind::AlreadyExists, "all names of parts are taken"))
    }

    /// Puts the part on disk under its target's name; without `overwrite` it fails if there is a file.
    pub fn finish(mut self, overwrite: bool) -> io::Result<()> {
        self.file.sync_all()?;
        if overwrite {
            fs::rename(&self.path, &self.target)?;
            self.whole = true;
        } else {
            // Unlike a rename, a link fails if the file has been created in the meantime.
            fs::hard_link(&self.path, &self.target)?;
            self.whole = true;
            fs::remove_file(&self.path)?;
        }
        // The name is lost in a crash of the machine until the folder is on disk.
        sync(&File::open(folder(&self.target))?)
    }
}

impl Drop for Part {
    fn drop(&mut self) {
        if !self.whole {
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// Syncs what can be synced; pipes and devices cannot.
pub fn sync(file: &File) -> io::Result<()> {
    file.sync_all().or_else(|e| if e.kind() == io::ErrorKind::InvalidInput { Ok(()) } else { Err(e) })
}

/// Removes the parts of a folder that nobody writes. Returns their number.
pub fn sweep(dir: &Path) -> io::Result<usize> {
    let mut swept = 0;
    for entry in fs::read_dir(dir)? {
        let entry = entry?;
        if entry.file_name().to_str().and_then(target_of).is_none() || !entry.file_type()?.is_file() {
            continue;
        }
        let path = entry.path();
        let Ok(file) = File::open(&path) else { continue };
        if matches!(file.try_lock(), Ok(())) && is_at(&file, &path) {
            fs::remove_file(&path)?;
            swept += 1;
        }
    }
    Ok(swept)
}

/// Sweeps before a transfer; that this fails is no reason not to transfer.
pub fn sweep_quietly(dir: &Path, quiet: bool) {
    match sweep(dir) {
        Ok(0) => {}
        Ok(swept) if !quiet => eprintln!(
            "skyhop: {swept} leftover{} of a killed transfer removed",
            if swept == 1 { "" } else { "s" }
        ),
        Err(e) if !quiet => eprintln!("warning: {}: leftovers stay: {e}", shown(&dir.to_string_lossy())),
        _ => {}
    }
}

/// The name of the file that a part is to become; `None` if the name is not a part's.
fn target_of(part: &str) -> Option<&str> {
    let (target, owner) = part.strip_prefix('.')?.strip_suffix(PART)?.rsplit_once('.')?;
    let (pid, number) = owner.split_once('-')?;
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    (digits(pid) && digits(number) && !target.is_empty()).then_some(target)
}

/// The folder that a file is in.
pub fn folder(file: &Path) -> &Path {
    file.parent().filter(|dir| !dir.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// A hidden file beside a target, with its name and an end.
fn beside(target: &Path, end: &str) -> PathBuf {
    let mut name = OsString::from(".");
    name.push(target.file_name().unwrap_or_default());
    name.push(end);
    target.with_file_name(name)
}

/// Takes the lock; false if another process has it. A file system without locks counts as if it were taken.
fn lock(file: &File) -> io::Result<bool> {
    match file.try_lock() {
        Ok(()) => Ok(true),
        Err(TryLockError::WouldBlock) => Ok(false),
        Err(TryLockError::Error(e)) if e.kind() == io::ErrorKind::Unsupported => Ok(true),
        Err(TryLockError::Error(e)) => Err(e),
    }
}

/// Returns true if the open file still has this path.
fn is_at(file: &File, path: &Path) -> bool {
    let same = |a: fs::Metadata, b: fs::Metadata| (a.dev(), a.ino()) == (b.dev(), b.ino());
    file.metadata().is_ok_and(|open| fs::symlink_metadata(path).is_ok_and(|there| same(open, there)))
}
