//! Text of the answer to `heaplake what-if`.

use super::terminal::Look;
use heaplake_kit::text::{count, shorten, size};
use heaplake_query::what_if::{Freed, Holder, WhatIf};

/// Characters of a name.
const NAME: usize = 60;

/// What each cut would free, and what stays.
pub fn what_if(answer: &WhatIf, _: &Look) -> String {
    let all = answer.cuts.iter().chain(&answer.together);
    all.map(|freed| freed_by(freed, answer.heap_bytes)).collect::<Vec<_>>().join("\n")
}

fn freed_by(freed: &Freed, heap: u64) -> String {
    let share = if heap == 0 { 0.0 } else { freed.freed_bytes as f64 * 100.0 / heap as f64 };
    let mut text = format!(
        "Without {} ({} to {}): {} less, {}, {share:.1} % of the heap\n",
        shorten(&freed.cut, 200),
        number(freed.references, "reference"),
        number(freed.targets, "object"),
        number(freed.freed_objects, "object"),
        size(freed.freed_bytes),
    );
    for class in &freed.classes {
        text += &line(class.bytes, class.objects, &class.class);
    }
    if !freed.kept.is_empty() {
        text += "  Objects that stay although cut references or freed objects lead to them: bytes retained, number, holders\n";
        for kept in &freed.kept {
            text += &line(kept.retained_bytes, kept.objects, &kept.class);
            for holder in &kept.holders {
                text += &format!("  {:>27}held by {}\n", "", name_of(holder));
            }
        }
    }
    text
}

fn line(bytes: u64, objects: u64, class: &str) -> String {
    format!("  {:>12} {:>11}  {}\n", size(bytes), count(objects), shorten(class, NAME))
}

fn number(amount: u64, what: &str) -> String {
    format!("{} {what}{}", count(amount), if amount == 1 { "" } else { "s" })
}

/// `Class.field`, or `Class[]`, with the number of references and an object that has one.
fn name_of(holder: &Holder) -> String {
    let class = shorten(&holder.class, NAME);
    let edge = match holder.edge.as_deref() {
        None => String::new(),
        Some("[]") => "[]".to_owned(),
        Some(name) => format!(".{}", shorten(name, NAME)),
    };
    format!("{class}{edge} (references: {}; node {})", count(holder.references), holder.node)
}
