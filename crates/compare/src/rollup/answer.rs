//! Result of a rollup, for people.

use heaplake_schemas::rollup::{Brief, Group, Rollup, TABLES, TopRow};
use schemars::JsonSchema;
use serde::Serialize;

/// Result of a rollup.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Answer {
    /// Rollup.
    #[serde(flatten)]
    pub rollup: Rollup,
    /// Number of groups computed, not reused.
    pub updated_groups: usize,
}

impl Answer {
    /// Tables that any group has, in order: their top rows over all groups, largest sums first.
    pub fn tables(&self) -> impl Iterator<Item = Vec<(&Group, &Brief, &TopRow)>> {
        TABLES.iter().filter_map(|table| {
            let briefs =
                self.rollup.groups.iter().flat_map(|group| group.brief.iter().map(move |brief| (group, brief)));
            let of_table = briefs.filter(|(_, brief)| brief.table == table.table.name);
            let mut rows: Vec<(&Group, &Brief, &TopRow)> =
                of_table.flat_map(|(group, brief)| brief.top.iter().map(move |row| (group, brief, row))).collect();
            // Older rollups may lack sums.
            rows.sort_by(|(.., a), (.., b)| {
                (b.sum, b.max).cmp(&(a.sum, a.max)).then_with(|| a.signature.cmp(&b.signature))
            });
            (!rows.is_empty()).then_some(rows)
        })
    }
}
