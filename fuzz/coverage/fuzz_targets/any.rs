//! The target named by the environment variable `FUZZ_TARGET`.
#![no_main]

use heaplake_fuzz::subject::Target;
use heaplake_fuzz::targets;
use libfuzzer_sys::fuzz_target;
use std::sync::OnceLock;

fn chosen() -> &'static Target {
    static CHOSEN: OnceLock<&Target> = OnceLock::new();
    CHOSEN.get_or_init(|| {
        let name = std::env::var("FUZZ_TARGET").unwrap_or_default();
        targets::named(&name).unwrap_or_else(|| panic!("FUZZ_TARGET={name}: there is no such target"))
    })
}

fuzz_target!(|data: &[u8]| {
    let _ = (chosen().run)(data);
});
