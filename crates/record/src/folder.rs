//! A results folder that appears completely or not at all.
//!
//! Files are written into a temporary folder on the same filesystem, synced, and renamed into place.
//! Differs from writing in place: after a full disk or an interrupt the folder has exactly the old results.
//! Leaves out locking: if two runs finish into one folder at once, each file is from one or the other.

use std::ffi::OsString;
use std::fmt;
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// The error for results that could not be written. The message names the file or folder and the cause.
#[derive(Debug)]
pub enum FolderError {
    /// An I/O error.
    Io {
        /// The operation, such as "write".
        action: &'static str,
        /// The file or folder, by the name that the user knows.
        path: PathBuf,
        /// The cause.
        source: io::Error,
    },
    /// A file is in the folder's place, or a folder in a file's place.
    InTheWay {
        /// Path of the obstacle.
        path: PathBuf,
        /// The expected kind: "folder" or "file".
        wanted: &'static str,
    },
    /// A file was neither finished nor abandoned before the folder was committed.
    Unfinished {
        /// Path of the file.
        path: PathBuf,
    },
}

impl fmt::Display for FolderError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            FolderError::Io { action, path, source } => {
                write!(f, "cannot {action} {}: {}", path.display(), cause(source))
            }
            FolderError::InTheWay { path, wanted } => {
                write!(f, "cannot write {}: it exists and is not a {wanted}", path.display())
            }
            FolderError::Unfinished { path } => write!(f, "{} was not finished", path.display()),
        }
    }
}

impl std::error::Error for FolderError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            FolderError::Io { source, .. } => Some(source),
            _ => None,
        }
    }
}

/// The system's message without Rust's "(os error 28)" and its capital.
fn cause(e: &io::Error) -> String {
    let text = e.to_string();
    let text = text.split(" (os error").next().unwrap_or(&text);
    let mut chars = text.chars();
    chars.next().map(|first| first.to_lowercase().chain(chars).collect()).unwrap_or_default()
}

/// A folder being written. If it is dropped without [`Folder::commit`], it leaves no trace.
#[derive(Debug)]
pub struct Folder {
    /// Final folder of the files.
    dir: PathBuf,
    /// Folder of the files until the commit.
    temporary: PathBuf,
    /// True if `dir` existed before.
    existed: bool,
    /// Parent folders of `dir` that had to be created, the deepest first.
    made: Vec<PathBuf>,
    files: Vec<Pending>,
    committed: bool,
}

#[derive(Debug)]
struct Pending {
    name: String,
    finished: Arc<AtomicBool>,
}

impl Folder {
    /// Prepares to write into `dir`, which need not exist; it does not change before [`Folder::commit`].
    ///
    /// The temporary folder is created next to a new `dir` and inside an existing one, which may be a mount point or the only place
    /// where the user may write.
    pub fn create(dir: impl Into<PathBuf>) -> Result<Self, FolderError> {
        let dir = dir.into();
        let existed = match fs::metadata(&dir) {
            Ok(meta) if meta.is_dir() => true,
            Ok(_) => return Err(FolderError::InTheWay { path: dir, wanted: "folder" }),
            Err(e) if e.kind() == io::ErrorKind::NotFound => false,
            Err(source) => return Err(FolderError::Io { action: "create", path: dir, source }),
        };
        let mut folder = Folder {
            temporary: PathBuf::new(),
            dir: dir.clone(),
            existed,
            made: Vec::new(),
            files: Vec::new(),
            committed: false,
        };
        let failed = |source| FolderError::Io { action: "create", path: dir.clone(), source };
        let (place, stem) = if existed {
            (dir.clone(), OsString::from("skyhop"))
        } else {
            let parent = match dir.parent() {
                Some(p) if !p.as_os_str().is_empty() => p.to_path_buf(),
                _ => PathBuf::from("."),
            };
            folder.make_parents(&parent).map_err(failed)?;
            (parent, dir.file_name().map_or_else(|| OsString::from("skyhop"), OsString::from))
        };
        folder.temporary = make_temporary(&place, &stem).map_err(failed)?;
        Ok(folder)
    }

    /// Begins a file of the folder. It must be finished with [`FolderFile::finish`] before the commit.
    ///
    /// # Panics
    /// If `name` is not a plain file name; names come from the program.
    pub fn file(&mut self, name: &str) -> Result<FolderFile, FolderError> {
        assert!(
            Path::new(name).file_name().is_some_and(|n| n == name),
            "\"{name}\" is not a plain file name"
        );
        let path = self.dir.join(name);
        let file = OpenOptions::new()
            .write(true)
            .create_new(true)
            .open(self.temporary.join(name))
            .map_err(|source| FolderError::Io { action: "create", path: path.clone(), source })?;
        let finished = Arc::new(AtomicBool::new(false));
        self.files.push(Pending { name: name.to_owned(), finished: finished.clone() });
        Ok(FolderFile { out: BufWriter::with_capacity(1 << 16, file), path, finished })
    }

    /// Writes a whole file.
    pub fn write(&mut self, name: &str, bytes: &[u8]) -> Result<(), FolderError> {
        let mut file = self.file(name)?;
        file.put(bytes)?;
        file.finish()
    }

    /// Moves the files into place, in the order in which they were begun. Other files of an existing folder are kept.
    pub fn commit(mut self) -> Result<(), FolderError> {
        for file in &self.files {
            let path = self.dir.join(&file.name);
            if !file.finished.load(Ordering::Acquire) {
                return Err(FolderError::Unfinished { path });
            }
            // Checked before any move, so that the old results are not half replaced.
            if self.existed && path.is_dir() {
                return Err(FolderError::InTheWay { path, wanted: "file" });
            }
        }
        sync_folder(&self.temporary).map_err(|source| FolderError::Io {
            action: "write",
            path: self.dir.clone(),
            source,
        })?;
        if self.existed {
            for file in &self.files {
                let path = self.dir.join(&file.name);
                fs::rename(self.temporary.join(&file.name), &path).map_err(|source| FolderError::Io {
                    action: "replace",
                    path,
                    source,
                })?;
            }
            // The folder is empty now. If it cannot be removed, the results are still right.
            let _ = fs::remove_dir(&self.temporary);
        } else {
            fs::rename(&self.temporary, &self.dir).map_err(|source| FolderError::Io {
                action: "create",
                path: self.dir.clone(),
                source,
            })?;
        }
        self.committed = true;
        // The renames are done, even on a filesystem that cannot sync a folder.
        let _ = sync_folder(if self.existed { &self.dir } else { self.dir.parent().unwrap_or(&self.dir) });
        Ok(())
    }

    fn make_parents(&mut self, parent: &Path) -> io::Result<()> {
        let missing: Vec<PathBuf> = parent
            .ancestors()
            .take_while(|p| !p.as_os_str().is_empty() && !p.exists())
            .map(Path::to_path_buf)
            .collect();
        for path in missing.iter().rev() {
            match fs::create_dir(path) {
                Ok(()) => self.made.insert(0, path.clone()),
                Err(e) if e.kind() == io::ErrorKind::AlreadyExists && path.is_dir() => {}
                Err(e) => return Err(e),
            }
        }
        Ok(())
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        if self.committed {
            return;
        }
        if !self.temporary.as_os_str().is_empty() {
            let _ = fs::remove_dir_all(&self.temporary);
        }
        for path in &self.made {
            // Only an empty folder is removed, so other files are not at risk.
            let _ = fs::remove_dir(path);
        }
    }
}

/// A file of a [`Folder`]. It is buffered, and its errors have its name.
#[derive(Debug)]
pub struct FolderFile {
    out: BufWriter<File>,
    path: PathBuf,
    finished: Arc<AtomicBool>,
}

impl FolderFile {
    /// Flushes the buffer and syncs the file to disk.
    pub fn finish(mut self) -> Result<(), FolderError> {
        let failed = |source| FolderError::Io { action: "write", path: self.path.clone(), source };
        self.out.flush().map_err(failed)?;
        self.out.get_ref().sync_all().map_err(failed)?;
        self.finished.store(true, Ordering::Release);
        Ok(())
    }

    /// Makes the file readable by its owner only, on systems with owners; best called before anything is written.
    pub fn owner_only(&self) -> Result<(), FolderError> {
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            let failed = |source| FolderError::Io { action: "create", path: self.path.clone(), source };
            self.out.get_ref().set_permissions(fs::Permissions::from_mode(0o600)).map_err(failed)?;
        }
        Ok(())
    }

    fn put(&mut self, bytes: &[u8]) -> Result<(), FolderError> {
        self.out.write_all(bytes).map_err(|source| FolderError::Io {
            action: "write",
            path: self.path.clone(),
            source,
        })
    }

    fn named(&self, source: io::Error) -> io::Error {
        io::Error::new(source.kind(), FolderError::Io { action: "write", path: self.path.clone(), source })
    }
}

impl Write for FolderFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.out.write(bytes).map_err(|e| self.named(e))
    }
    fn flush(&mut self) -> io::Result<()> {
        self.out.flush().map_err(|e| self.named(e))
    }
}

/// Writes whole files into `dir`, either all or none.
pub fn write_all(dir: impl Into<PathBuf>, files: &[(&str, &[u8])]) -> Result<(), FolderError> {
    let mut folder = Folder::create(dir)?;
    for (name, bytes) in files {
        folder.write(name, bytes)?;
    }
    folder.commit()
}

fn make_temporary(place: &Path, stem: &OsString) -> io::Result<PathBuf> {
    let pid = std::process::id();
    let mut tries = 0u32;
    loop {
        let mut name = OsString::from(".");
        name.push(stem);
        name.push(format!(".partial-{pid}-{tries}"));
        let path = place.join(name);
        match fs::create_dir(&path) {
            Ok(()) => return Ok(path),
            // It belongs to another thread, or was left by a killed process with this number.
            Err(e) if e.kind() == io::ErrorKind::AlreadyExists && tries < 10_000 => tries += 1,
            Err(e) => return Err(e),
        }
    }
}

fn sync_folder(path: &Path) -> io::Result<()> {
    // An empty parent of a relative path is the current folder.
    let path = if path.as_os_str().is_empty() { Path::new(".") } else { path };
    if cfg!(unix) { File::open(path)?.sync_all() } else { Ok(()) }
}
