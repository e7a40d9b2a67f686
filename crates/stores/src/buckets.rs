//! Clients of buckets, each created once.

use crate::answers::Connector;
use crate::environment;
use crate::error::{broken, plain};
use heaplake_kit::panics;
use object_store::aws::AmazonS3Builder;
use object_store::azure::MicrosoftAzureBuilder;
use object_store::gcp::GoogleCloudStorageBuilder;
use object_store::path::Path as Key;
use object_store::{ClientOptions, ObjectStore, RetryConfig};
use std::collections::HashMap;
use std::io;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;
use tokio::runtime::{Builder, Runtime};

/// Maximum time to retry a request after transient failures.
pub const PATIENCE: Duration = Duration::from_secs(120);
/// Timeout of one attempt: at most a part of an object.
const ATTEMPT: Duration = Duration::from_secs(60);
/// Timeout of a connection.
const CONNECTION: Duration = Duration::from_secs(5);
/// Retries.
const REPEATS: usize = 12;
/// Threads of the runtime: they wait for the network, and decrypt.
const THREADS: usize = 2;

/// The client of a bucket.
pub(crate) type Client = Arc<dyn ObjectStore>;

/// An object, or a prefix, of a bucket.
pub(crate) struct At {
    /// The client.
    pub client: Client,
    /// `s3://bucket`.
    pub root: String,
    /// The rest of the URL.
    pub key: Key,
}

impl At {
    /// Resolves a URL; fails if it names no object, or its store cannot be used.
    pub(crate) fn new(url: &str) -> io::Result<Self> {
        let wrong = |why: &str| plain(io::ErrorKind::InvalidInput, &format!("{url}: {why}"));
        let (scheme, rest) = url.split_once("://").ok_or_else(|| wrong("this is no URL"))?;
        let (name, key) = rest.split_once('/').unwrap_or((rest, ""));
        // The name becomes a part of the URL of the server.
        if name.is_empty() || !name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_')) {
            return Err(wrong("expected a bucket after //, as in s3://bucket/lake"));
        }
        let key = Key::parse(key.trim_matches('/')).map_err(|error| wrong(&error.to_string()))?;
        let root = format!("{scheme}://{name}");
        Ok(Self { client: client(scheme, name, &root)?, root, key })
    }

    /// URL of another object of the bucket.
    pub(crate) fn url(&self, key: &Key) -> String {
        format!("{}/{key}", self.root)
    }
}

/// Returns the URL of the bucket in a URL, and its client.
pub fn bucket(url: &str) -> io::Result<(String, Client)> {
    let At { client, root, .. } = At::new(url)?;
    Ok((root, client))
}

/// Checks that a URL can be used with this environment, without a request. The error is
/// [`io::ErrorKind::InvalidInput`], in one line.
pub fn check(url: &str) -> io::Result<()> {
    let scheme = url.split_once("://").map_or("", |(scheme, _)| scheme);
    environment::check(scheme)?;
    panics::silent(|| At::new(url).map(drop)).unwrap_or_else(|| Err(broken()))
}

fn client(scheme: &str, name: &str, root: &str) -> io::Result<Client> {
    static CLIENTS: OnceLock<Mutex<HashMap<String, Client>>> = OnceLock::new();
    let mut clients = CLIENTS.get_or_init(Mutex::default).lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = clients.get(root) {
        return Ok(Arc::clone(known));
    }
    let client = made(scheme, name)?;
    clients.insert(root.to_owned(), Arc::clone(&client));
    Ok(client)
}

fn made(scheme: &str, name: &str) -> io::Result<Client> {
    let retry = RetryConfig { max_retries: REPEATS, retry_timeout: PATIENCE, ..RetryConfig::default() };
    // Unencrypted only on the user's request, as with the store's own tools.
    let http = environment::flag("AWS_ALLOW_HTTP")?;
    let options = ClientOptions::new().with_timeout(ATTEMPT).with_connect_timeout(CONNECTION);
    let client: object_store::Result<Client> = match scheme {
        "gs" => {
            let builder = GoogleCloudStorageBuilder::from_env().with_client_options(options);
            let builder = builder.with_retry(retry).with_http_connector(Connector);
            builder.with_bucket_name(name).build().map(|client| Arc::new(client) as Client)
        }
        "az" => {
            let builder = MicrosoftAzureBuilder::from_env().with_client_options(options);
            let builder = builder.with_retry(retry).with_http_connector(Connector);
            builder.with_container_name(name).build().map(|client| Arc::new(client) as Client)
        }
        _ => {
            let builder = AmazonS3Builder::from_env().with_client_options(options.with_allow_http(http));
            let builder = builder.with_retry(retry).with_http_connector(Connector);
            builder.with_bucket_name(name).build().map(|client| Arc::new(client) as Client)
        }
    };
    client.map_err(|error| plain(io::ErrorKind::InvalidInput, &format!("the environment cannot be used: {error}")))
}

/// Returns the runtime of all calls; fails if the system refuses threads.
pub(crate) fn runtime() -> io::Result<&'static Runtime> {
    static RUNTIME: OnceLock<Runtime> = OnceLock::new();
    if let Some(runtime) = RUNTIME.get() {
        return Ok(runtime);
    }
    let mut builder = Builder::new_multi_thread();
    let made =
        builder.worker_threads(THREADS).thread_name("stores").on_thread_start(panics::silence).enable_all().build()?;
    Ok(RUNTIME.get_or_init(|| made))
}

#[cfg(test)]
mod tests {
    use super::*;
    use heaplake_kit::storage::Failure;

    #[test]
    fn urls_lead_to_a_bucket_and_a_key() {
        for (url, root, key) in [
            ("s3://bucket/lake/release=1/run.json", "s3://bucket", "lake/release=1/run.json"),
            ("s3://bucket/lake/", "s3://bucket", "lake"),
            ("s3://bucket", "s3://bucket", ""),
        ] {
            let at = At::new(url).unwrap();
            assert_eq!((at.root.as_str(), at.key.as_ref()), (root, key), "{url}");
        }
        let at = At::new("s3://bucket/a").unwrap();
        assert_eq!(at.url(&Key::from("b/c")), "s3://bucket/b/c");
    }

    #[test]
    fn what_is_no_url_of_an_object_is_refused() {
        for wrong in ["s3://", "s3:///key", "bucket/key", "s3://bucket/a//b", "s3://bu cket/a", "s3://b%/a"] {
            let error = At::new(wrong).err().unwrap();
            assert!(Failure::is(&error) && error.to_string().contains(wrong), "{wrong}: {error}");
        }
    }

    #[test]
    fn a_bucket_has_one_client() {
        let [one, other] = [At::new("s3://bucket/a"), At::new("s3://bucket/b")].map(|at| at.unwrap().client);
        assert!(Arc::ptr_eq(&one, &other));
    }
}
