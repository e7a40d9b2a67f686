//! Text of a replayed trace in brief.

use super::terminal::Look;
use heaplake_kit::text::{count, size, visible};
use heaplake_schemas::replay::{Coverage, HeldPath, Metadata};
use heaplake_schemas::run::{NamedAmount, Replay, Run};
use std::fmt::{Result, Write};

/// Writes the contents of the trace, its coverage, and allocations.
pub(crate) fn write(run: &Run, replay: &Replay, look: &Look, out: &mut String) -> Result {
    let metadata = &replay.metadata;
    let [snapshot, release, format] = [&run.snapshot, &run.release, &metadata.format].map(|text| visible(text));
    writeln!(out, "{snapshot}  (release {release}, {format}, {})", size(run.input_bytes))?;
    writeln!(out)?;
    if metadata.coverage == Coverage::Weighted {
        writeln!(out, "  {:>14}  {}", count(metadata.sampled_count), coverage(metadata))?;
        writeln!(out, "  {:>14}  allocated, as these samples tell", size(metadata.estimated_bytes))?;
    } else {
        writeln!(out, "  {:>14}  {}", count(metadata.allocated_count), coverage(metadata))?;
        writeln!(out, "  {:>14}  allocated", size(metadata.allocated_bytes))?;
    }
    writeln!(out, "  {:>14}  stacks taken", count(metadata.sampled_count - metadata.stackless_count))?;
    writeln!(out, "  {:>14}  collections", count(metadata.collection_count))?;
    if metadata.old_object_count > 0 {
        writeln!(out, "  {:>14}  old objects, sampled when they were allocated", count(metadata.old_object_count))?;
    }
    if metadata.tracked {
        writeln!(
            out,
            "  {:>14}  objects alive at the end ({})",
            count(metadata.live_count),
            size(metadata.live_bytes)
        )?;
    }
    if metadata.doubtful_count > 0 {
        writeln!(out, "  {:>14}  objects that a collection may have reclaimed or not", count(metadata.doubtful_count))?;
    }
    let missing: Vec<&str> = [
        (metadata.has_stacks, "stacks"),
        (metadata.has_moves, "moves and survivors"),
        (metadata.has_type_names, "names of types"),
        (metadata.has_times, "times"),
    ]
    .into_iter()
    .filter_map(|(there, what)| (!there).then_some(what))
    .collect();
    if !missing.is_empty() {
        writeln!(out, "\nThe trace has no {}.", missing.join(", no "))?;
    }
    if !metadata.anomalies.is_empty() {
        let list: Vec<String> = metadata
            .anomalies
            .iter()
            .map(|(name, number)| format!("{} {}", count(*number), name.replace('_', " ")))
            .collect();
        writeln!(out, "\n{}", look.wrap(&format!("Did not fit together: {}", list.join(", ")), 0, 2))?;
    }
    if let Some(left_out) = &metadata.left_out {
        writeln!(out, "\n{}: {}", look.painted("PARTIAL", "33"), look.wrap(&visible(left_out), 9, 0))?;
    }
    for remark in &metadata.remarks {
        writeln!(out, "\n{}", look.wrap(&format!("Note: {remark}"), 0, 2))?;
    }
    list(out, look, "Types by bytes allocated", &replay.types)?;
    list(out, look, "Functions by bytes allocated in them and in what they call", &replay.functions)?;
    list(out, look, "Paths of calls by bytes that died in generation 2, innermost function first", &replay.old_paths)?;
    held(out, look, &metadata.held)
}

/// Writes the holders of old objects.
fn held(out: &mut String, look: &Look, paths: &[HeldPath]) -> Result {
    if paths.is_empty() {
        return Ok(());
    }
    writeln!(out, "\nOld objects by what holds them\n")?;
    for path in paths {
        writeln!(out, "  {:>12}  {}", count(path.count), look.wrap(&visible(&path.path), 16, 16))?;
    }
    Ok(())
}

fn coverage(metadata: &Metadata) -> &'static str {
    match metadata.coverage {
        Coverage::None => "allocations: the trace has none",
        Coverage::Every => "allocations, each in the trace",
        Coverage::Sampled => "allocations, of which the trace has a sample",
        Coverage::Ticks => "allocations counted: the trace has one for every so many bytes",
        Coverage::Weighted => "samples of allocations, each with the bytes that it stands for",
    }
}

fn list(out: &mut String, look: &Look, title: &str, entries: &[NamedAmount]) -> Result {
    if entries.is_empty() {
        return Ok(());
    }
    writeln!(out, "\n{title}\n")?;
    writeln!(out, "  {:>12} {:>12}", "bytes", "count")?;
    for entry in entries {
        let bytes = entry.bytes.map_or_else(|| "?".to_owned(), size);
        let number = entry.count.map_or_else(|| "?".to_owned(), count);
        let place = entry.place.as_ref().map(|place| format!(" ({place})")).unwrap_or_default();
        writeln!(out, "  {bytes:>12} {number:>12}  {}", look.fit(&format!("{}{place}", entry.name), 29, 80))?;
    }
    Ok(())
}
