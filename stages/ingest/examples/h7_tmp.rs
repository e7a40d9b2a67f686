//! temporary
use heaplake_ingest::{numbers, source::Input, v8};
use heaplake_kit::{stage::Silent, Budget, Context, Scratch};
use std::sync::atomic::AtomicBool;
use std::time::Instant;

fn masked(text: &[u8], out: &mut Vec<u64>) -> usize {
    let mut at = 0usize; // start of the current number
    let mut base = 0usize;
    'outer: while let Some(window) = text.get(base..base + 72) {
        let mut mask = 0u64;
        for (i, word) in window[..64].as_chunks::<8>().0.iter().enumerate() {
            let d = u64::from_le_bytes(*word) ^ 0x3030_3030_3030_3030;
            let others = (((d & 0x7f7f_7f7f_7f7f_7f7f) + 0x7676_7676_7676_7676) | d) & 0x8080_8080_8080_8080;
            mask |= ((others >> 7).wrapping_mul(0x0102_0408_1020_4080) >> 56) << (8 * i);
        }
        while mask != 0 {
            let end = base + mask.trailing_zeros() as usize;
            let length = end.wrapping_sub(at);
            if length.wrapping_sub(1) >= 8 {
                break 'outer;
            }
            let Some(word) = text.get(at..at + 8) else { break 'outer };
            let word = u64::from_le_bytes(word.try_into().unwrap());
            out.push(weigh(word << (64 - 8 * length)));
            mask &= mask - 1;
            if text[end] == b'\n' {
                if text[end + 1] != b',' { break 'outer }
                at = end + 2;
                if mask == 0 { base += 64; base = base.max(at); continue 'outer; }
                mask &= mask - 1;
            } else if text[end] == b',' {
                at = end + 1;
            } else { break 'outer }
        }
        base += 64;
    }
    at
}
#[inline]
fn weigh(digits: u64) -> u64 {
    let pairs = (digits & 0x0f0f_0f0f_0f0f_0f0f).wrapping_mul(2561) >> 8;
    let quads = (pairs & 0x00ff_00ff_00ff_00ff).wrapping_mul(6_553_601) >> 16;
    (quads & 0x0000_ffff_0000_ffff).wrapping_mul(42_949_672_960_001) >> 32
}

fn main() {
    let args: Vec<String> = std::env::args().collect();
    let path = "/tmp/snaps/node20_big.heapsnapshot";
    if args[1] == "tok" {
        let file = std::fs::read(path).unwrap();
        for range in [886..124_582_827usize, 124_582_840..531_968_180] {
            let text = &file[range];
            let mut blocks = Vec::new();
            let mut rest = text;
            let size: usize = args.get(2).map_or(256 << 10, |s| s.parse().unwrap());
            while let Some(c) = rest.get(..size).and_then(|b| memchr::memrchr(b',', b)) { blocks.push(&rest[..c]); rest = &rest[c + 1..]; }
            let mut numbers = Vec::new();
            for _ in 0..3 {
                let t = Instant::now();
                let mut n = 0; let mut sum = 0u64;
                for b in &blocks { numbers.clear(); numbers::tokenize(b, &mut numbers).map_err(|e| e.at).unwrap(); n += numbers.len(); sum = sum.wrapping_add(numbers[numbers.len()/2]) }
                let s = t.elapsed().as_secs_f64();
                let t = Instant::now();
                let mut n2 = 0; let mut sum2 = 0u64;
                for b in &blocks { numbers.clear(); numbers.reserve(b.len()/2+1); let _at = masked(b, &mut numbers); n2 += numbers.len(); sum2 = sum2.wrapping_add(numbers[numbers.len()/2]) }
                let s2 = t.elapsed().as_secs_f64();
                println!("{n} numbers {:.3} s {:.2} GB/s | masked {n2} {:.3} s {:.2} GB/s {}", s, text.len() as f64 / s / 1e9, s2, text.len() as f64 / s2 / 1e9, sum == sum2);
            }
        }
    } else {
        let cancel = AtomicBool::new(false);
        for t in args[2..].iter().map(|t| t.parse().unwrap()) {
            let folder = std::path::PathBuf::from("/tmp/h7_scratch");
            let _ = std::fs::remove_dir_all(&folder);
            let scratch = Scratch::create(&folder).unwrap();
            let context = Context { budget: Budget::new(512 << 20), threads: t, progress: &Silent, cancel: &cancel };
            let start = Instant::now();
            v8::read::run(&Input::File(path.into()), &scratch, &context, &|_| Ok(())).unwrap();
            println!("{t} threads: {:.3} s", start.elapsed().as_secs_f64());
        }
    }
}
