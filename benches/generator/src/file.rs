//! Writes the file section by section, with one pass over the plan per section.

use std::io::{self, Write};

use crate::answers::Answers;
use crate::blocks::Structure;
use crate::header;
use crate::names;
use crate::plan::{Plan, Shape, Shard, Target};
use crate::section::{EdgeRows, LocationRows, NodeLayout, NodeRows};
use crate::strings::Strings;
use crate::write::Out;

/// Functions that the trace tree's levels alternate between.
const TRACE_FUNCTIONS: u64 = 16;

/// Makes the plan of a file.
pub fn plan(seed: u64, shape: Shape, target: Target) -> Plan {
    Plan::new(seed, shape, target, |plan, shard| {
        let mut out = Out::new(io::sink());
        let layout = layout(plan);
        let strings = shard.blocks().first().map_or(0, |(_, at)| at.string);
        let mut nodes = NodeRows::new(&mut out, layout, shard.start);
        shard.walk(&mut nodes);
        nodes.flush();
        shard.walk(&mut EdgeRows::new(&mut out, layout.width(), false));
        shard.walk(&mut LocationRows::new(&mut out, layout.width(), shard.start, false));
        write_strings(shard, &mut Strings::new(&mut out, plan.seed(), strings));
        out.written()
    })
}

/// Writes the planned file; returns its size. Memory does not depend on the size.
pub fn write(plan: &Plan, to: impl Write) -> io::Result<u64> {
    let mut out = Out::new(to);
    header(plan, &mut out);
    nodes(plan, &mut out)?;
    edges(plan, &mut out)?;
    traces(plan, &mut out)?;
    locations(plan, &mut out)?;
    strings(plan, &mut out)?;
    out.finish()
}

fn layout(plan: &Plan) -> NodeLayout {
    let trace_depth = match plan.shape() {
        Shape::DeepTrace { depth } => Some(depth),
        _ => None,
    };
    NodeLayout { trace_depth }
}

fn header<W: Write>(plan: &Plan, out: &mut Out<W>) {
    let total = plan.total();
    let functions = if layout(plan).trace_depth.is_some() { TRACE_FUNCTIONS } else { 0 };
    out.bytes(header::header(layout(plan).fields(), [total.nodes, total.edges, functions]).as_bytes());
}

fn nodes<W: Write>(plan: &Plan, out: &mut Out<W>) -> io::Result<()> {
    out.bytes(b"\"nodes\":[");
    let mut rows = NodeRows::new(out, layout(plan), 0);
    plan.walk_shared(&mut rows);
    for shard in plan.shards() {
        shard.walk(&mut rows);
        rows.flush().check()?;
    }
    out.bytes(b"],\n");
    Ok(())
}

fn edges<W: Write>(plan: &Plan, out: &mut Out<W>) -> io::Result<()> {
    out.bytes(b"\"edges\":[");
    let mut rows = EdgeRows::new(out, layout(plan).width(), true);
    plan.walk_shared(&mut rows);
    for shard in plan.shards() {
        shard.walk(&mut rows);
        rows.out().check()?;
    }
    out.bytes(b"],\n");
    Ok(())
}

fn traces<W: Write>(plan: &Plan, out: &mut Out<W>) -> io::Result<()> {
    let depth = layout(plan).trace_depth.unwrap_or(0);
    out.bytes(b"\"trace_function_infos\":[");
    let functions = if depth > 0 { TRACE_FUNCTIONS } else { 0 };
    for i in 0..functions {
        let separator = if i > 0 { "," } else { "" };
        let row = format!("{separator}{i},{},{},1,{},4\n", names::index(i), names::WINDOW, 10 + i);
        out.bytes(row.as_bytes());
    }
    out.bytes(b"],\n\"trace_tree\":[");
    for level in 0..depth {
        out.number(level + 1);
        out.comma_number(level % TRACE_FUNCTIONS);
        out.comma_number(1);
        out.comma_number(16 + level % 100);
        out.bytes(b",[");
    }
    for _ in 0..depth {
        out.bytes(b"]");
    }
    out.check()?;
    out.bytes(b"],\n\"samples\":[],\n");
    Ok(())
}

fn locations<W: Write>(plan: &Plan, out: &mut Out<W>) -> io::Result<()> {
    out.bytes(b"\"locations\":[");
    let mut rows = LocationRows::new(out, layout(plan).width(), 0, true);
    plan.walk_shared(&mut rows);
    for shard in plan.shards() {
        shard.walk(&mut rows);
        rows.out().check()?;
    }
    out.bytes(b"],\n");
    Ok(())
}

fn strings<W: Write>(plan: &Plan, out: &mut Out<W>) -> io::Result<()> {
    out.bytes(b"\"strings\":[");
    let mut table = Strings::new(out, plan.seed(), 0);
    for text in names::all() {
        table.text(&text);
    }
    for shard in plan.shards() {
        write_strings(&shard, &mut table);
        table.out().check()?;
    }
    out.bytes(b"]}");
    Ok(())
}

fn write_strings<W: Write>(shard: &Shard, table: &mut Strings<W>) {
    for (block, at) in shard.blocks() {
        debug_assert_eq!(table.count(), at.string, "{} comes too early or late", block.kind());
        block.strings(at, table);
    }
}

/// The answers of a planned file.
pub fn answers(plan: &Plan) -> Answers {
    let mut answers = plan.answers();
    if let Some(depth) = layout(plan).trace_depth {
        answers.set_trace(depth, TRACE_FUNCTIONS);
    }
    answers
}
