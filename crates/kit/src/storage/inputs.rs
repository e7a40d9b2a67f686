//! Metadata of inputs in a store, each asked for once.
//!
//! A command looks at the length and the tag of an input many times. All reads of an input demand its tag, so an
//! overwritten one fails however old its metadata is. Therefore they are remembered for the process, from a listing or
//! from the first question, until [`input_anew`].

use super::about::{About, about};
use super::store::{Level, Object, store};
use crate::scheme::url;
use crate::threads::locked;
use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::sync::Mutex;

static KNOWN: Mutex<BTreeMap<String, Object>> = Mutex::new(BTreeMap::new());

/// Returns the metadata of an input: a regular file, or an object as remembered.
pub fn input(path: &Path) -> io::Result<About> {
    match url(path) {
        Some(url) => object(url).map(About::from),
        None => about(path),
    }
}

/// As [`input`], but asks the store again.
pub fn input_anew(path: &Path) -> io::Result<About> {
    if let Some(url) = url(path) {
        locked(&KNOWN).remove(url);
    }
    input(path)
}

/// Lists all objects below a prefix, and remembers them.
pub fn list_inputs(url: &str) -> io::Result<Level> {
    let level = store()?.list(url)?;
    locked(&KNOWN).extend(level.objects.iter().map(|object| (object.url.clone(), object.clone())));
    Ok(level)
}

/// Returns an input in a store as remembered.
pub(super) fn object(url: &str) -> io::Result<Object> {
    if let Some(object) = locked(&KNOWN).get(url) {
        return Ok(object.clone());
    }
    let object = store()?.about(url)?;
    locked(&KNOWN).insert(url.to_owned(), object.clone());
    Ok(object)
}
