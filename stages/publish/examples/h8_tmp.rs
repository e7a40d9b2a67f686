#![allow(unsafe_code, missing_docs)]
use heaplake_kit::{Budget, Context, Scratch};
use std::path::Path;
use std::sync::atomic::AtomicBool;
fn main() {
    let args: Vec<String> = std::env::args().collect();
    let threads: usize = args[1].parse().unwrap();
    let times: usize = args[2].parse().unwrap();
    let which = args.get(3).map_or("nodes", |s| s.as_str());
    let folder = Path::new("/tmp/h8/out");
    let scratch: Scratch = unsafe {
        std::mem::transmute_copy(&std::mem::ManuallyDrop::new(std::path::PathBuf::from(
            std::env::var("H8").unwrap_or("/tmp/h8/scratch".into()),
        )))
    };
    std::fs::create_dir_all(folder).unwrap();
    let facts: heaplake_schemas::scratch::Facts =
        serde_json::from_slice(&std::fs::read(scratch.file("facts.json")).unwrap()).unwrap();
    let cancel = AtomicBool::new(false);
    for _ in 0..times {
        let context = Context {
            budget: Budget::new(100 << 20),
            threads,
            progress: &heaplake_kit::stage::Silent,
            cancel: &cancel,
        };
        let cpu = || {
            let s = std::fs::read_to_string("/proc/self/schedstat").unwrap();
            let _ = s;
            let s = std::fs::read_to_string("/proc/self/stat").unwrap();
            let f: Vec<&str> = s.rsplit(')').next().unwrap().split_whitespace().collect();
            (f[11].parse::<f64>().unwrap() / 100.0, f[12].parse::<f64>().unwrap() / 100.0)
        };
        let (start, before) = (std::time::Instant::now(), cpu());
        if which == "edges" {
            heaplake_publish::edges::run(&facts, &scratch, folder, &context).unwrap();
        } else {
            heaplake_publish::nodes::run(&facts, &scratch, folder, &context).unwrap();
        }
        let after = cpu();
        println!(
            "{which} threads {threads}: wall {:.3} user {:.2} sys {:.2} bytes {} rss {}",
            start.elapsed().as_secs_f64(),
            after.0 - before.0,
            after.1 - before.1,
            std::fs::metadata(folder.join(format!("{which}.parquet"))).unwrap().len(),
            std::fs::read_to_string("/proc/self/status").unwrap().lines().find(|l| l.starts_with("RssAnon")).unwrap()
        );
    }
}
