//! Implementation of [`Store`], on the runtime.

use crate::answers::{Heard, listening};
use crate::buckets::{At, runtime};
use crate::error::{io_error, plain};
use crate::waiting::{guarded, wait};
use bytes::Bytes;
use futures::{FutureExt, StreamExt, TryStreamExt, stream};
use heaplake_kit::fs::{File, TooLong};
use heaplake_kit::storage::{Fetch, Level, Object, Only, Store};
use object_store::path::Path as Key;
use object_store::{
    GetOptions, GetRange, ObjectMeta, ObjectStore, ObjectStoreExt, PutMode, PutOptions, PutPayload, UpdateVersion,
    WriteMultipart,
};
use std::io::{self, Read};
use std::ops::Range;
use std::path::Path;
use std::sync::mpsc::sync_channel;

/// Bytes of a part of an upload; smaller files are uploaded at once.
const PART: usize = 8 << 20;
/// Maximum parts in flight.
const PARTS: usize = 4;
/// Maximum small objects in flight.
const MANY: usize = 24;

/// All object stores.
pub(crate) struct Stores;

impl Store for Stores {
    fn about(&self, url: &str) -> io::Result<Object> {
        let at = At::new(url)?;
        wait(async { Ok(object(&at, at.client.head(&at.key).await.map_err(io_error)?)) })
    }

    fn list(&self, url: &str) -> io::Result<Level> {
        let at = At::new(url)?;
        let all = listening(async { at.client.list(Some(&at.key)).try_collect::<Vec<_>>().await });
        let (metas, heard) = wait(all.map(Ok))?;
        Ok(level(&at, Vec::new(), metas.map_err(io_error)?, heard))
    }

    fn level(&self, url: &str) -> io::Result<Level> {
        let at = At::new(url)?;
        let (found, heard) = wait(listening(at.client.list_with_delimiter(Some(&at.key))).map(Ok))?;
        let found = found.map_err(io_error)?;
        let name = |key: &Key| key.filename().map(str::to_owned);
        Ok(level(&at, found.common_prefixes.iter().filter_map(name).collect(), found.objects, heard))
    }

    fn fetch(&self, object: &Object, range: Range<u64>) -> Fetch {
        let (send, fetch) = sync_channel(1);
        match (At::new(&object.url), runtime()) {
            (Ok(at), Ok(runtime)) => {
                let if_match = object.tag.clone();
                runtime.spawn(async move {
                    // The receiver may have stopped waiting.
                    let _ = send.send(guarded(part(&at, range, if_match)).await);
                });
            }
            (Err(error), _) | (_, Err(error)) => {
                let _ = send.send(Err(error));
            }
        }
        fetch
    }

    fn read(&self, url: &str, most: u64) -> io::Result<(Object, Bytes)> {
        let at = At::new(url)?;
        wait(whole(&at, most))
    }

    fn read_all(&self, urls: &[String], most: u64) -> Vec<io::Result<(Object, Bytes)>> {
        let one = |url: String| async move { guarded(async { whole(&At::new(&url)?, most).await }).await };
        let reads = stream::iter(urls.to_vec()).map(one).buffered(MANY);
        wait(reads.collect::<Vec<_>>().map(Ok)).unwrap_or_else(|error| vec![Err(error)])
    }

    fn put(&self, url: &str, content: Bytes, only: Only) -> io::Result<()> {
        let at = At::new(url)?;
        let mode = match only {
            Only::Always => PutMode::Overwrite,
            Only::IfNone => PutMode::Create,
            Only::IfStill(tag) => PutMode::Update(UpdateVersion { e_tag: Some(tag), version: None }),
        };
        wait(async {
            let payload = PutPayload::from_bytes(content.clone());
            let options = PutOptions { mode, ..PutOptions::default() };
            match at.client.put_opts(&at.key, payload, options).await.map_err(io_error) {
                // If the answer is lost, the retry finds the first request's object, or the store does not know whether
                // it wrote.
                Err(error) => match whole(&at, content.len() as u64).await {
                    Ok((_, there)) if there == content => Ok(()),
                    _ => Err(error),
                },
                Ok(_) => Ok(()),
            }
        })
    }

    fn upload(&self, from: &Path, url: &str) -> io::Result<()> {
        let at = At::new(url)?;
        let mut file = File::open(from)?;
        let mut first = Vec::new();
        (&mut file).take(PART as u64).read_to_end(&mut first)?;
        if first.len() < PART {
            return wait(async { at.client.put(&at.key, first.into()).await.map(drop).map_err(io_error) });
        }
        let upload = wait(async { at.client.put_multipart(&at.key).await.map_err(io_error) })?;
        let mut writer = WriteMultipart::new_with_chunk_size(upload, PART);
        match wait(in_parts(&mut writer, first, file)) {
            Ok(()) => wait(async { writer.finish().await.map(drop).map_err(io_error) }),
            Err(error) => {
                // Parts of an aborted upload are no object; if the abort fails too, the store's own rules remove them.
                let _ = wait(async { writer.abort().await.map_err(io_error) });
                Err(error)
            }
        }
    }

    fn remove(&self, urls: Vec<String>) -> io::Result<()> {
        let one = |url: String| async move {
            let at = At::new(&url)?;
            match at.client.delete(&at.key).await.map_err(io_error) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
                _ => Ok(()),
            }
        };
        wait(stream::iter(urls).map(one).buffer_unordered(MANY).try_collect())
    }
}

/// Sends the parts of an upload, the first of which is already read.
async fn in_parts(writer: &mut WriteMultipart, first: Vec<u8>, mut file: File) -> io::Result<()> {
    let mut part = first;
    while !part.is_empty() {
        writer.wait_for_capacity(PARTS).await.map_err(io_error)?;
        writer.put(part.into());
        part = Vec::new();
        (&mut file).take(PART as u64).read_to_end(&mut part)?;
    }
    Ok(())
}

async fn part(at: &At, range: Range<u64>, if_match: Option<String>) -> io::Result<Bytes> {
    let wanted = range.end - range.start;
    let options = GetOptions { range: Some(GetRange::Bounded(range)), if_match, ..GetOptions::default() };
    let bytes = match at.client.get_opts(&at.key, options).await {
        Ok(answer) => answer.bytes().await.map_err(io_error)?,
        Err(object_store::Error::Precondition { .. }) => {
            return Err(plain(io::ErrorKind::Other, "the object changed while it was read"));
        }
        Err(error) => return Err(io_error(error)),
    };
    match bytes.len() as u64 == wanted {
        true => Ok(bytes),
        false => Err(plain(io::ErrorKind::UnexpectedEof, &format!("expected {wanted} bytes, got {}", bytes.len()))),
    }
}

async fn whole(at: &At, most: u64) -> io::Result<(Object, Bytes)> {
    let answer = at.client.get(&at.key).await.map_err(io_error)?;
    // The length is in the header of the answer, so its body is not read.
    TooLong::check(answer.meta.size, most)?;
    let meta = answer.meta.clone();
    Ok((object(at, meta), answer.bytes().await.map_err(io_error)?))
}

fn object(at: &At, meta: ObjectMeta) -> Object {
    let ObjectMeta { location, last_modified, size, e_tag, .. } = meta;
    Object { url: at.url(&location), bytes: size, tag: e_tag, changed: last_modified.into() }
}

fn level(at: &At, mut folders: Vec<String>, metas: Vec<ObjectMeta>, heard: Heard) -> Level {
    let mut objects: Vec<Object> = metas.into_iter().map(|meta| object(at, meta)).collect();
    objects.sort_by(|a, b| a.url.cmp(&b.url));
    let mut foreign: Vec<String> = heard.foreign.into_iter().map(|key| format!("{}/{key}", at.root)).collect();
    folders.sort();
    foreign.sort();
    Level { folders, objects, foreign, answered: heard.answered }
}
