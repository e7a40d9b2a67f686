//! Irregular files and files that are too long.

use super::*;
use std::os::unix::fs::symlink;

#[test]
fn pipes_are_refused_and_links_are_not_written_through() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    rustix::fs::mkfifoat(rustix::fs::CWD, at("pipe"), rustix::fs::Mode::from(0o600)).unwrap();
    fs::write(at("precious"), "precious").unwrap();
    symlink(at("precious"), at("link")).unwrap();
    assert_eq!(File::open(at("pipe")).unwrap_err().kind(), io::ErrorKind::InvalidInput);
    assert!(File::lockable(at("pipe")).is_err() && File::create(at("pipe")).is_err());
    assert_eq!(File::open(folder.path()).unwrap_err().kind(), io::ErrorKind::IsADirectory);
    assert_eq!(read(at("link")).unwrap(), b"precious");
    for refused in [File::create(at("link")), File::lockable(at("link"))] {
        assert!(refused.is_err());
    }
    File::lockable(at("precious")).unwrap();
    assert_eq!(read(at("precious")).unwrap(), b"precious");
}

#[test]
fn a_long_file_is_not_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("file");
    std::fs::write(&path, "12345").unwrap();
    assert_eq!(read_at_most(&path, 5).unwrap(), b"12345");
    let error = read_at_most(&path, 4).unwrap_err();
    assert!(TooLong::is(&error), "{error}");
    assert_eq!(error.to_string(), "expected at most 4 bytes, found 5");
    // A sparse file of a terabyte: nothing of that length is allocated.
    std::fs::File::create(&path).unwrap().set_len(1 << 40).unwrap();
    assert!(TooLong::is(&read(&path).unwrap_err()));
    // The kernel reports length 0 for a file that it generates on read.
    assert!(read("/proc/sys/kernel/random/uuid").unwrap().len() > 30);
}
