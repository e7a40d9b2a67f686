//! Implementation of [`Store`], on the runtime.

use crate::answers::{Heard, listening};
use crate::buckets::{At, runtime};
use crate::error::{io_error, plain};
use crate::waiting::{guarded, wait};
use bytes::Bytes;
use futures::{FutureExt, StreamExt, TryStreamExt, stream};
use heaplake_kit::fs::{File, TooLong};
use heaplake_kit::storage::{AT_ONCE, Fetch, Level, Object, Only, Store};
use object_store::path::Path as Key;
use object_store::{
    GetOptions, GetRange, ObjectMeta, ObjectStore, ObjectStoreExt, PutMode, PutOptions, PutPayload, UpdateVersion,
    WriteMultipart,
};
use std::io::{self, Read};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::mpsc::sync_channel;
use tokio::sync::Semaphore;

/// Bytes of a part of an upload; smaller files are uploaded at once.
const PART: usize = 8 << 20;
/// Maximum parts of a file in flight.
const PARTS: usize = 4;
/// Bytes of whole files in flight.
const ROOM: u32 = 32 << 20;

/// Permits of fetches and of uploads of small files.
static REQUESTS: Semaphore = Semaphore::const_new(AT_ONCE);

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

    fn pieces(&self, url: &str, cuts: &[String], take: &mut dyn FnMut(Level)) -> io::Result<()> {
        let at = &At::new(url)?;
        let keys: Vec<Key> = cuts.iter().map(|cut| Ok(At::new(cut)?.key)).collect::<io::Result<_>>()?;
        // Other stores would list everything for each piece.
        let keys = if at.root.starts_with("s3://") { keys } else { Vec::new() };
        let starts = std::iter::once(None).chain(keys.iter().map(Some));
        let ends = keys.iter().map(Some).chain(std::iter::once(None));
        let pieces = stream::iter(starts.zip(ends)).map(|(start, end)| listening(piece(at, start, end)));
        wait(async {
            let mut pieces = pieces.buffer_unordered(AT_ONCE);
            while let Some((metas, heard)) = pieces.next().await {
                take(level(at, Vec::new(), metas.map_err(io_error)?, heard));
            }
            Ok(())
        })
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
                    let _permit = REQUESTS.acquire().await;
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
        let reads = stream::iter(urls.to_vec()).map(one).buffered(AT_ONCE);
        wait(reads.collect::<Vec<_>>().map(Ok)).unwrap_or_else(|error| vec![Err(error)])
    }

    fn put(&self, url: &str, content: Bytes, only: Only) -> io::Result<Option<String>> {
        wait(put(url, content, only))
    }

    fn put_all(&self, puts: Vec<(String, Bytes, Only)>) -> Vec<io::Result<Option<String>>> {
        let count = puts.len();
        let one = |(url, content, only): (String, Bytes, Only)| async move {
            let _permit = REQUESTS.acquire().await;
            Ok(guarded(put(&url, content, only)).await)
        };
        let puts = stream::iter(puts).map(one).buffered(AT_ONCE);
        match wait(puts.try_collect::<Vec<_>>()) {
            Ok(done) => done,
            Err(error) => (0..count).map(|_| Err(io::Error::new(error.kind(), error.to_string()))).collect(),
        }
    }

    fn upload(&self, files: &[(PathBuf, String)]) -> io::Result<()> {
        let (mut small, mut large) = (Vec::new(), Vec::new());
        for (from, url) in files {
            let bytes = from.metadata()?.len();
            if bytes < PART as u64 { small.push((from, url, bytes)) } else { large.push((from, url)) }
        }
        let room = &Semaphore::new(ROOM as usize);
        let uploads = stream::iter(small).map(|(from, url, bytes)| short(from, url, (room, bytes)));
        wait(uploads.buffer_unordered(AT_ONCE).try_collect::<()>())?;
        large.into_iter().try_for_each(|(from, url)| long(from, url))
    }

    fn remove(&self, urls: Vec<String>) -> io::Result<()> {
        let Some(first) = urls.first() else { return Ok(()) };
        let client = At::new(first)?.client;
        let keys = urls.iter().map(|url| Ok(At::new(url)?.key)).collect::<io::Result<Vec<Key>>>()?;
        let mut removed = client.delete_stream(stream::iter(keys).map(Ok).boxed());
        wait(async {
            while let Some(removed) = removed.next().await {
                match removed.map_err(io_error) {
                    Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                    _ => {}
                }
            }
            Ok(())
        })
    }
}

async fn put(url: &str, content: Bytes, only: Only) -> io::Result<Option<String>> {
    let at = At::new(url)?;
    let mode = match only {
        Only::Always => PutMode::Overwrite,
        Only::IfNone => PutMode::Create,
        Only::IfStill(tag) => PutMode::Update(UpdateVersion { e_tag: Some(tag), version: None }),
    };
    let payload = PutPayload::from_bytes(content.clone());
    let options = PutOptions { mode, ..PutOptions::default() };
    match at.client.put_opts(&at.key, payload, options).await.map_err(io_error) {
        // If the answer is lost, the retry finds the first request's object, or the store does not know whether it
        // wrote.
        Err(error) => match whole(&at, content.len() as u64).await {
            Ok((object, there)) if there == content => Ok(object.tag),
            _ => Err(error),
        },
        Ok(put) => Ok(put.e_tag),
    }
}

/// Lists the objects after `start` up to `end`, both optional.
async fn piece(at: &At, start: Option<&Key>, end: Option<&Key>) -> object_store::Result<Vec<ObjectMeta>> {
    let objects = match start {
        Some(start) => at.client.list_with_offset(Some(&at.key), start),
        None => at.client.list(Some(&at.key)),
    };
    let is_within = |meta: &ObjectMeta| end.is_none_or(|end| meta.location <= *end);
    objects.try_take_while(|meta| std::future::ready(Ok(is_within(meta)))).try_collect().await
}

/// Uploads a file of less than [`PART`] bytes, which takes as much of a room of [`ROOM`] bytes.
async fn short(from: &Path, url: &str, (room, bytes): (&Semaphore, u64)) -> io::Result<()> {
    let at = At::new(url)?;
    let _held = room.acquire_many(bytes.min(ROOM.into()) as u32).await;
    let _permit = REQUESTS.acquire().await;
    let mut content = Vec::new();
    File::open(from)?.take(PART as u64).read_to_end(&mut content)?;
    at.client.put(&at.key, content.into()).await.map(drop).map_err(io_error)
}

/// Uploads a file in parts.
fn long(from: &Path, url: &str) -> io::Result<()> {
    let at = At::new(url)?;
    let file = File::open(from)?;
    let upload = wait(async { at.client.put_multipart(&at.key).await.map_err(io_error) })?;
    let mut writer = WriteMultipart::new_with_chunk_size(upload, PART);
    match wait(in_parts(&mut writer, file)) {
        Ok(()) => wait(async { writer.finish().await.map(drop).map_err(io_error) }),
        Err(error) => {
            // Parts of an aborted upload are no object; if the abort fails too, the store's own rules remove them.
            let _ = wait(async { writer.abort().await.map_err(io_error) });
            Err(error)
        }
    }
}

/// Sends the parts of an upload.
async fn in_parts(writer: &mut WriteMultipart, mut file: File) -> io::Result<()> {
    loop {
        let mut part = Vec::new();
        (&mut file).take(PART as u64).read_to_end(&mut part)?;
        if part.is_empty() {
            return Ok(());
        }
        writer.wait_for_capacity(PARTS).await.map_err(io_error)?;
        writer.put(part.into());
    }
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
