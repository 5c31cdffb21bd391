//! Key files: written keys are read back, and files that others may read are refused.
//!
//! Follows ssh's rules for the modes of files.
//! Differs from a test of the parser: everything goes through files.
//! Leaves out the rights of root, who may read everything.

use skyhop_live::keys::{Keys, PublicKey};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("skyhop-keys-{name}-{}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Folder(path)
    }

    fn file(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[test]
fn a_shared_key_reads_back_and_is_not_overwritten() {
    let folder = Folder::new("shared");
    let path = folder.file("link.key");
    let keys = Keys::generate_shared();
    keys.write(&path).unwrap();
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    let (Keys::Shared(written), Keys::Shared(read)) = (&keys, &Keys::read(&path, &[]).unwrap()) else {
        panic!("shared keys")
    };
    assert_eq!(written, read);
    let before = fs::read(&path).unwrap();
    let e = Keys::generate_shared().write(&path).unwrap_err().to_string();
    assert!(e.ends_with("exists and is not overwritten"), "{e}");
    assert_eq!(fs::read(&path).unwrap(), before);
    assert!(!format!("{keys:?}").contains(std::str::from_utf8(&before[20..28]).unwrap()));
}

#[test]
fn a_private_key_wants_its_peers() {
    let folder = Folder::new("pair");
    let (path, peers) = (folder.file("me.key"), folder.file("peers.pub"));
    let (keys, own) = Keys::generate_pair();
    keys.write(&path).unwrap();
    let e = Keys::read(&path, &[]).unwrap_err().to_string();
    assert!(e.contains("give the other host's public key with --peer"), "{e}");
    let others: Vec<PublicKey> = (0..2).map(|_| Keys::generate_pair().1).collect();
    fs::write(&peers, format!("# two hosts\n{}\n\n{}\n", others[0], others[1])).unwrap();
    let Keys::Pair { peers: read, .. } = Keys::read(&path, std::slice::from_ref(&peers)).unwrap() else {
        panic!("a pair")
    };
    assert_eq!(read, others);
    assert!(!read.contains(&own));
    let e = Keys::read(&path, std::slice::from_ref(&path)).unwrap_err().to_string();
    assert!(e.contains("is a private key: --peer takes the public key of that host"), "{e}");
    let e = Keys::read(&path, &[folder.file("none")]).unwrap_err().to_string();
    assert!(e.contains("none does not exist"), "{e}");
    fs::set_permissions(&peers, fs::Permissions::from_mode(0o600)).unwrap();
    let e = Keys::read(&peers, &[]).unwrap_err().to_string();
    assert!(e.ends_with("is not the file of a shared or a private key"), "{e}");
}

#[test]
fn a_key_that_others_may_read_is_refused() {
    let folder = Folder::new("exposed");
    let path = folder.file("link.key");
    let e = Keys::read(&path, &[]).unwrap_err().to_string();
    assert!(e.contains("does not exist") && e.contains("skyhop stp key --out"), "{e}");
    Keys::generate_shared().write(&path).unwrap();
    let text = fs::read_to_string(&path).unwrap();
    for mode in [0o644, 0o640, 0o604, 0o606, 0o620] {
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        let e = Keys::read(&path, &[]).unwrap_err().to_string();
        assert!(e.contains(&format!("mode {mode:04o}")) && e.contains("chmod 600"), "{e}");
        assert!(!e.contains(text.split(' ').nth(1).unwrap().trim()));
    }
    fs::set_permissions(&path, fs::Permissions::from_mode(0o400)).unwrap();
    assert!(Keys::read(&path, &[]).is_ok());
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
    for bad in ["", "skyhop-stp-shared-1", "skyhop-stp-shared-1 abcd", "skyhop-stp-shared-2 00", &text[..80]]
    {
        fs::write(&path, bad).unwrap();
        let e = Keys::read(&path, &[]).unwrap_err().to_string();
        assert!(e.ends_with("is not the file of a shared or a private key"), "{bad:?}: {e}");
    }
    let e = Keys::read(&folder.0, &[]).unwrap_err().to_string();
    assert!(e.contains("directory") || e.contains("may be read by others"), "{e}");
}
