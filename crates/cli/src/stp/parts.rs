//! Parts: incomplete files next to their target, whose name they get when they are complete; or kept for resuming.
//!
//! Follows the practice of safe writes: fsync of the file, link or rename, fsync of the folder, as fsync(2) asks for.
//! Differs: the writer of a part holds a lock on it (flock(2)), so a part without one was left by a killed process.
//! Leaves out file systems without locks, where leftovers stay.

use super::names::shown;
use std::ffi::OsString;
use std::fs::{self, File, TryLockError};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

/// A part that this process writes; put aside when it is dropped, for the transfer to be resumed.
pub struct PartialFile {
    /// The file, open for writing.
    pub file: File,
    path: PathBuf,
    target: PathBuf,
    disposal: Disposal,
}

/// The treatment of a part when it is dropped.
#[derive(PartialEq)]
enum Disposal {
    PutAside,
    Removed,
    Named,
}

/// End of the name of a part: `.NAME.PID-NUMBER.skystp.part`.
const PART: &str = ".skystp.part";
/// End of the name of a part that was put aside: `.NAME.skystp.held`. The latest of a name is kept.
const HELD: &str = ".skystp.held";
/// Time for which a part is held.
const HELD_FOR: Duration = Duration::from_secs(7 * 86_400);
/// Largest number of parts that are held in a folder.
const HELD_MAX: usize = 64;

impl PartialFile {
    /// A new part next to its target.
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
                return Ok(PartialFile {
                    file,
                    path,
                    target: target.to_owned(),
                    disposal: Disposal::PutAside,
                });
            }
        }
        Err(io::Error::new(io::ErrorKind::AlreadyExists, "all names of parts are taken"))
    }

    /// The part of a file that was put aside, to be read from its beginning, and its length; `None` if there is none.
    pub fn held(target: &Path) -> io::Result<Option<(Self, u64)>> {
        let held = beside(target, HELD);
        let file = match File::options().read(true).write(true).open(&held) {
            Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(None),
            other => other?,
        };
        let meta = file.metadata()?;
        if !meta.is_file() || !lock(&file)? || !is_at(&file, &held) {
            return Ok(None);
        }
        let mut part = PartialFile::create(target)?;
        fs::rename(&held, &part.path)?;
        part.file = file;
        Ok(Some((part, meta.len())))
    }

    /// Lets the part be removed when it is dropped.
    pub fn discard(&mut self) {
        self.disposal = Disposal::Removed;
    }

    /// Puts the part on disk under its target's name; without `overwrite` it fails if there is a file.
    pub fn finish(mut self, overwrite: bool) -> io::Result<()> {
        self.discard();
        self.file.sync_all()?;
        if overwrite {
            fs::rename(&self.path, &self.target)?;
            self.disposal = Disposal::Named;
        } else {
            name_new(&self.path, &self.target)?;
            self.disposal = Disposal::Named;
        }
        // The file is complete: an earlier transfer's part is not needed any more.
        let _ = fs::remove_file(beside(&self.target, HELD));
        // The name is lost in a crash of the machine until the folder is on disk.
        sync(&File::open(folder(&self.target))?)
    }
}

impl Drop for PartialFile {
    fn drop(&mut self) {
        let keep =
            self.disposal == Disposal::PutAside && self.file.metadata().is_ok_and(|meta| meta.len() > 0);
        let _ = match self.disposal {
            Disposal::Named => Ok(()),
            _ if keep => fs::rename(&self.path, beside(&self.target, HELD)),
            _ => fs::remove_file(&self.path),
        };
    }
}

/// Gives a file another name, which must be new: it fails if there has come to be such a file in the meantime.
fn name_new(path: &Path, target: &Path) -> io::Result<()> {
    match fs::hard_link(path, target) {
        Ok(()) => fs::remove_file(path),
        Err(e) if e.kind() == io::ErrorKind::AlreadyExists => Err(e),
        // FAT, exFAT and others have no links.
        Err(_) => rename_new(path, target),
    }
}

/// The same for a file system without links.
fn rename_new(path: &Path, target: &Path) -> io::Result<()> {
    use rustix::fs::{CWD, RenameFlags, renameat_with};
    let renamed = renameat_with(CWD, path, CWD, target, RenameFlags::NOREPLACE).map_err(io::Error::from);
    match renamed {
        // Neither has it this flag: all that is left is to look before.
        Err(e) if e.kind() == io::ErrorKind::InvalidInput && !target.exists() => fs::rename(path, target),
        other => other,
    }
}

/// Syncs a file, unless it is a pipe or a device.
pub fn sync(file: &File) -> io::Result<()> {
    file.sync_all().or_else(|e| if e.kind() == io::ErrorKind::InvalidInput { Ok(()) } else { Err(e) })
}

/// Sets aside the parts in a folder that have no writer. Returns their number.
pub fn sweep(dir: &Path) -> io::Result<usize> {
    let mut swept = 0;
    for (path, target) in files(dir, target_of)? {
        let Ok(file) = File::open(&path) else { continue };
        if file.try_lock().is_err() || !is_at(&file, &path) {
            continue;
        }
        let meta = file.metadata()?;
        // One with a second name was whole.
        match meta.len() > 0 && meta.nlink() == 1 {
            true => fs::rename(&path, beside(&dir.join(target), HELD))?,
            false => fs::remove_file(&path)?,
        }
        swept += 1;
    }
    Ok(swept)
}

/// Removes held parts that are too old, too many, or together too large; the latest stay.
pub fn expire(dir: &Path, bytes_max: u64) -> io::Result<()> {
    let named = |name: &str| Some(name.strip_prefix('.')?.strip_suffix(HELD)?.to_owned());
    let mut held = Vec::new();
    for (path, _) in files(dir, named)? {
        // Others may take or remove it at this moment.
        let Ok(meta) = fs::symlink_metadata(&path) else { continue };
        held.push((meta.modified()?, meta.len(), path));
    }
    held.sort_by(|a, b| b.cmp(a));
    let mut bytes = 0_u64;
    for (number, (modified, len, path)) in held.into_iter().enumerate() {
        bytes = bytes.saturating_add(len);
        if number < HELD_MAX && bytes <= bytes_max && age(modified) <= HELD_FOR {
            continue;
        }
        let Ok(file) = File::open(&path) else { continue };
        if file.try_lock().is_ok() && is_at(&file, &path) {
            fs::remove_file(&path)?;
        }
    }
    Ok(())
}

/// Sweeps and expires before a transfer; that this fails is no reason not to transfer.
pub fn tidy(dir: &Path, bytes_max: u64, quiet: bool) {
    let tidied = sweep(dir).and_then(|swept| expire(dir, bytes_max).map(|()| swept));
    match tidied {
        Ok(0) => {}
        Ok(swept) if !quiet => {
            eprintln!(
                "skyhop: {swept} leftover{} of a killed transfer put aside",
                if swept == 1 { "" } else { "s" }
            );
        }
        Err(e) if !quiet => eprintln!("warning: {}: leftovers stay: {e}", shown(&dir.to_string_lossy())),
        _ => {}
    }
}

/// The files of a folder whose names fit, with that for which they do.
fn files(dir: &Path, fits: impl Fn(&str) -> Option<String>) -> io::Result<Vec<(PathBuf, String)>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(dir)? {
        let entry = entry?;
        let target = entry.file_name().to_str().and_then(&fits);
        if let Some(target) = target
            && entry.file_type()?.is_file()
        {
            found.push((entry.path(), target));
        }
    }
    Ok(found)
}

/// Time since a file was written.
#[expect(clippy::disallowed_methods, reason = "parts age by the clock of their files")]
fn age(modified: SystemTime) -> Duration {
    SystemTime::now().duration_since(modified).unwrap_or_default()
}

/// The name of the file that a part is to become; `None` if the name is not a part's.
fn target_of(part: &str) -> Option<String> {
    let (target, owner) = part.strip_prefix('.')?.strip_suffix(PART)?.rsplit_once('.')?;
    let (pid, number) = owner.split_once('-')?;
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    (digits(pid) && digits(number) && !target.is_empty()).then(|| target.to_owned())
}

/// The folder that a file is in.
pub fn folder(file: &Path) -> &Path {
    file.parent().filter(|dir| !dir.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// A hidden file next to a target, with its name and a suffix.
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    struct Dir(PathBuf);

    impl Dir {
        fn new(name: &str) -> Self {
            let path = std::env::temp_dir().join(format!("skyhop-parts-{name}-{}", std::process::id()));
            let _ = fs::remove_dir_all(&path);
            fs::create_dir_all(&path).unwrap();
            Dir(path)
        }

        fn names(&self) -> Vec<String> {
            let entries = fs::read_dir(&self.0).unwrap();
            let mut names: Vec<String> =
                entries.map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
            names.sort();
            names
        }
    }

    impl Drop for Dir {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn a_part_is_named_put_aside_or_removed() {
        let dir = Dir::new("ends");
        let target = dir.0.join("a");
        drop(PartialFile::create(&target).unwrap());
        assert!(dir.names().is_empty(), "an empty part is of no use");
        for text in ["first", "second"] {
            let mut part = PartialFile::create(&target).unwrap();
            part.file.write_all(text.as_bytes()).unwrap();
            drop(part);
            assert_eq!(dir.names(), [".a.skystp.held"]);
        }
        let (part, len) = PartialFile::held(&target).unwrap().unwrap();
        assert_eq!((len, dir.names().len()), (6, 1), "the latest is held");
        assert!(PartialFile::held(&target).unwrap().is_none(), "taken by one only");
        assert_eq!(sweep(&dir.0).unwrap(), 0, "its lock went with it");
        part.finish(false).unwrap();
        assert_eq!(fs::read(&target).unwrap(), b"second");
        let part = PartialFile::create(&target).unwrap();
        assert_eq!(part.finish(false).unwrap_err().kind(), io::ErrorKind::AlreadyExists);
        assert_eq!(dir.names(), ["a"]);
    }

    #[test]
    fn a_name_that_is_taken_is_not_given_again() {
        let dir = Dir::new("taken");
        let (part, target) = (dir.0.join("part"), dir.0.join("target"));
        for name in [name_new, rename_new] {
            fs::write(&part, "part").unwrap();
            name(&part, &target).unwrap();
            assert_eq!((fs::read(&target).unwrap(), dir.names().len()), (b"part".to_vec(), 1));
            fs::write(&part, "other").unwrap();
            assert_eq!(name(&part, &target).unwrap_err().kind(), io::ErrorKind::AlreadyExists);
            assert_eq!((fs::read(&target).unwrap(), dir.names().len()), (b"part".to_vec(), 2));
            fs::remove_file(&target).unwrap();
        }
    }

    #[test]
    fn parts_from_the_future_are_held() {
        let dir = Dir::new("future");
        let file = File::create(dir.0.join(".a.skystp.held")).unwrap();
        #[expect(clippy::disallowed_methods, reason = "parts age by the clock of their files")]
        let now = SystemTime::now();
        for days in [365, 6, 0] {
            file.set_modified(now + Duration::from_secs(days * 86_400)).unwrap();
            expire(&dir.0, u64::MAX).unwrap();
            assert_eq!(dir.names().len(), 1);
        }
        // This host's clock is a year ahead of that which wrote the part.
        file.set_modified(now - Duration::from_secs(365 * 86_400)).unwrap();
        expire(&dir.0, u64::MAX).unwrap();
        assert!(dir.names().is_empty());
    }

    #[test]
    fn leftovers_are_put_aside_and_the_oldest_expire() {
        let dir = Dir::new("sweep");
        fs::write(dir.0.join(".a.b.12-3.skystp.part"), "part").unwrap();
        fs::write(dir.0.join(".empty.12-4.skystp.part"), "").unwrap();
        fs::write(dir.0.join("whole"), "whole").unwrap();
        fs::hard_link(dir.0.join("whole"), dir.0.join(".whole.12-5.skystp.part")).unwrap();
        assert_eq!(sweep(&dir.0).unwrap(), 3);
        assert_eq!(dir.names(), [".a.b.skystp.held", "whole"]);
        for number in 0..100_u64 {
            let file = File::create(dir.0.join(format!(".{number:03}.skystp.held"))).unwrap();
            file.set_len(1000).unwrap();
            let days = if number < 10 { 8 } else { 6 };
            #[expect(clippy::disallowed_methods, reason = "parts age by the clock of their files")]
            file.set_modified(SystemTime::now() - Duration::from_secs(days * 86_400 - number)).unwrap();
        }
        expire(&dir.0, u64::MAX).unwrap();
        let held: Vec<String> = dir.names().into_iter().filter(|name| name.ends_with(HELD)).collect();
        assert_eq!((held.len(), held[0].as_str()), (HELD_MAX, ".037.skystp.held"));
        expire(&dir.0, 3500).unwrap();
        assert_eq!(
            dir.names(),
            [".097.skystp.held", ".098.skystp.held", ".099.skystp.held", ".a.b.skystp.held", "whole"]
        );
        let taken = PartialFile::held(&dir.0.join("099")).unwrap();
        expire(&dir.0, 0).unwrap();
        assert!(
            taken.is_some() && dir.names().len() == 2,
            "one that is being written stays: {:?}",
            dir.names()
        );
    }
}
