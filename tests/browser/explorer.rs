//! Servers of `heaplake explore` for the browser.

use heaplake_support::fixtures;
use heaplake_support::lake::{Lake, binary};
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// A server, which ends with this value.
pub(crate) struct Server {
    process: Child,
    pub url: String,
}

impl Server {
    fn start(lake: &Path) -> Self {
        let mut command = Command::new(binary());
        let mut process = command.arg("explore").arg(lake).stdout(Stdio::piped()).spawn().unwrap();
        let mut url = String::new();
        BufReader::new(process.stdout.take().unwrap()).read_line(&mut url).unwrap();
        Self { process, url: url.trim_end().to_owned() }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Serves a lake whose newer run is of `leaking`, and one of `hostile`.
pub(crate) fn serve((lake, leaking): (&Lake, &Path), (other, hostile): (&Lake, &Path)) -> Vec<Server> {
    lake.analyze(fixtures::v8("s1")).args(["--release", "2.3.0", "--label", "host=web1"]).assert().success();
    let options = ["--release", "2.4.0", "--label", "host=web1", "--edges", "--values"];
    lake.analyze(leaking).args(options).assert().success();
    other.analyze(hostile).args(["--edges", "--values"]).assert().success();
    [lake, other].map(|lake| Server::start(&lake.path())).into()
}
