//! Opens files without following symbolic links.

use super::{File, flags, irregular, opened};
use rustix::fs::OFlags;
use rustix::io::Errno;
use std::fs::{OpenOptions, symlink_metadata};
use std::io;
use std::path::Path;

impl File {
    /// Opens a regular file for reading. The folders above it may be links, it may not.
    ///
    /// # Errors
    /// [`io::ErrorKind::InvalidInput`] for a symbolic link, a pipe, a socket or a device.
    pub fn open_itself(path: impl AsRef<Path>) -> io::Result<Self> {
        // As in `open`: a pipe is not even opened.
        if symlink_metadata(&path).is_ok_and(|there| !there.is_file() && !there.is_dir() && !there.is_symlink()) {
            return Err(irregular());
        }
        let wanted = OFlags::NONBLOCK | OFlags::NOFOLLOW;
        opened(path.as_ref(), flags(OpenOptions::new().read(true), wanted)).map_err(|error| {
            match error.raw_os_error() == Some(Errno::LOOP.raw_os_error()) {
                true => io::Error::new(io::ErrorKind::InvalidInput, "this is a symbolic link"),
                false => error,
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::symlink;

    #[test]
    fn links_and_pipes_are_no_files_themselves() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::write(at("secret"), "secret").unwrap();
        symlink(at("secret"), at("link")).unwrap();
        symlink(at("missing"), at("dangling")).unwrap();
        rustix::fs::mkfifoat(rustix::fs::CWD, at("pipe"), rustix::fs::Mode::from(0o600)).unwrap();
        for refused in ["link", "dangling", "pipe"] {
            assert_eq!(File::open_itself(at(refused)).unwrap_err().kind(), io::ErrorKind::InvalidInput, "{refused}");
        }
        assert_eq!(File::open_itself(at("missing")).unwrap_err().kind(), io::ErrorKind::NotFound);
        assert_eq!(File::open_itself(folder.path()).unwrap_err().kind(), io::ErrorKind::IsADirectory);
        assert!(File::open_itself(at("secret")).is_ok());
    }
}
