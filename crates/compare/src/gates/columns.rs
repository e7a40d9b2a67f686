//! Columns that an expression can name, and their types.

use heaplake_schemas::column::Type;
use heaplake_schemas::diff::{COLUMNS, DiffTable, FINDINGS, TABLES};

/// Type of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Number,
    Text,
    Truth,
}

impl Kind {
    /// Name with article.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Number => "a number",
            Self::Text => "a text",
            Self::Truth => "a condition",
        }
    }
}

/// A column named by an expression.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Column {
    /// Its name in the table.
    pub name: &'static str,
    /// Index of the measure whose row has the column. Columns shared by all measures are read from the first row.
    pub measure: usize,
    pub kind: Kind,
    /// Whether it belongs to a measure, not to the subject.
    pub of_measure: bool,
    /// Whether it is an id (`u64`).
    pub is_id: bool,
    /// Whether it is a floating point number.
    pub is_real: bool,
}

impl Column {
    /// Whether it is a statistic, which is null for few runs.
    pub(crate) fn is_statistic(&self) -> bool {
        let named = ["p", "q", "delta_sum_low", "delta_sum_high"].contains(&self.name);
        named || ["p_", "shift", "smallest_effect"].iter().any(|prefix| self.name.starts_with(prefix))
    }
}

/// Columns of measures, in the order of the tables.
fn fields() -> impl Iterator<Item = &'static str> {
    COLUMNS.iter().filter(|column| column.of_measure).map(|column| column.name)
}

/// Short names of fields: means over runs (with one run a side, the value of that run).
const SHORT: [(&str, &str); 5] = [
    ("base", "base_mean"),
    ("target", "target_mean"),
    ("delta", "delta_mean"),
    ("percent", "percent_sum"),
    ("delta_percent", "percent_sum"),
];

/// Problem and advice for an unknown name.
pub(crate) type Unknown = (String, String);

/// Finds a column by name: `class`, `retained_bytes.delta`, `delta_retained_bytes`. A field without a measure is that
/// of the ranking measure.
pub(crate) fn find(table: &DiffTable, name: &[&str]) -> Result<Column, Unknown> {
    let missing = |advice| Err((format!("table {} has no column {}", short(table), name.join(".")), advice));
    match name {
        [plain] => match column(table, plain, 0).or_else(|| joined(table, plain)) {
            Some(column) => Ok(column),
            None if table.measures.contains(plain) => {
                let problem = format!("{plain} is a measure, which has many columns");
                Err((problem, format!("name a field of it, such as {plain}.delta or {plain}.percent")))
            }
            None => missing(did_you_mean(plain, plain_columns(table).chain(table.measures.iter().copied()), table)),
        },
        [measure, name] if table.measures.contains(measure) => {
            let at = table.measures.iter().position(|other| other == measure).unwrap_or(0);
            match field(name).and_then(|name| column(table, name, at)) {
                Some(column) => Ok(column),
                None => {
                    let names = || SHORT.map(|(short, _)| short).into_iter().chain(fields());
                    let all = names().collect::<Vec<_>>().join(", ");
                    missing(nearest(name, names()).map_or_else(
                        || format!("a measure has the fields {all}"),
                        |near| format!("did you mean {measure}.{near}? The fields are {all}"),
                    ))
                }
            }
        }
        [measure, ..] => missing(did_you_mean(measure, table.measures.iter().copied(), table)),
        [] => missing(String::new()),
    }
}

/// Resolves a field by full or short name.
fn field(name: &str) -> Option<&'static str> {
    let short = SHORT.iter().find(|(short, _)| *short == name).map(|(_, field)| *field);
    short.or_else(|| fields().find(|field| *field == name))
}

/// Resolves a joined field and measure, such as `delta_retained_bytes`.
fn joined(table: &DiffTable, name: &str) -> Option<Column> {
    let of = |(at, measure): (usize, &&str)| {
        let name = name.strip_suffix(*measure)?.strip_suffix('_')?;
        column(table, field(name)?, at)
    };
    table.measures.iter().enumerate().find_map(of)
}

/// Table name without `diff_`, as users write it.
pub(crate) fn short(table: &DiffTable) -> &'static str {
    table.table.name.strip_prefix("diff_").unwrap_or(table.table.name)
}

/// Table that a gate checks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct About {
    pub table: &'static DiffTable,
    /// Only findings that name the holder of the bytes: runs with the same one form a cluster.
    pub clusters: bool,
}

impl About {
    /// Name as users write it.
    pub(crate) fn name(&self) -> &'static str {
        if self.clusters { CLUSTERS } else { short(self.table) }
    }
}

const CLUSTERS: &str = "clusters";

/// Finds a table by name, with or without `diff_`.
pub(crate) fn table(name: &str) -> Result<About, Unknown> {
    if name == CLUSTERS {
        return Ok(About { table: &FINDINGS, clusters: true });
    }
    let found = TABLES.iter().find(|table| table.table.name == name || short(table) == name);
    found.map(|table| About { table, clusters: false }).ok_or_else(|| {
        let names = || TABLES.iter().map(short).chain([CLUSTERS]);
        let near = nearest(name, names());
        let all = names().collect::<Vec<_>>().join(", ");
        let advice = near.map_or_else(String::new, |near| format!("did you mean {near}? "));
        (format!("there is no table {name}"), format!("{advice}The tables of a comparison are {all}"))
    })
}

/// Whether a column identifies the row, so that a condition on it selects rows; other columns describe its change.
pub(crate) fn says_what_a_row_is(table: &DiffTable, column: &str) -> bool {
    // `status` of duplicate sets is hidden behind that of the comparison.
    column != "status"
        && (table.keys.contains(&column)
            || ["signature", "format"].contains(&column)
            || column.ends_with("fingerprint"))
}

fn column(table: &DiffTable, name: &str, measure: usize) -> Option<Column> {
    let column = table.table.all_columns().find(|column| column.name == name && column.name != "measure")?;
    let kind = match column.data_type {
        Type::Utf8 => Kind::Text,
        Type::Boolean => Kind::Truth,
        _ => Kind::Number,
    };
    Some(Column {
        name: column.name,
        measure,
        kind,
        of_measure: column.of_measure,
        is_id: matches!(column.data_type, Type::UInt64),
        is_real: matches!(column.data_type, Type::Float64),
    })
}

/// Names of the columns that belong to no measure.
fn plain_columns(table: &DiffTable) -> impl Iterator<Item = &'static str> {
    let plain = table.table.columns.iter().filter(|column| column.name != "measure" && !column.of_measure);
    plain.map(|column| column.name)
}

fn did_you_mean(name: &str, names: impl Iterator<Item = &'static str>, table: &DiffTable) -> String {
    match nearest(name, names) {
        Some(near) if table.measures.contains(&near) => format!("did you mean {near}, as in {near}.delta?"),
        Some(near) => format!("did you mean {near}?"),
        None => {
            let columns: Vec<&str> = plain_columns(table).collect();
            let (columns, measures) = (columns.join(", "), table.measures.join(", "));
            format!(
                "the table has {columns}; and the measures {measures}, with fields such as {}.delta",
                table.measures[0]
            )
        }
    }
}

/// Returns the most similar name, if any is similar.
fn nearest(name: &str, names: impl Iterator<Item = &'static str>) -> Option<&'static str> {
    // Longer names match none.
    let name = if name.len() <= 64 { name.to_lowercase() } else { return None };
    let scored = names.map(|other| (strsim::jaro_winkler(&name, other), other));
    let best = scored.max_by(|a, b| a.0.total_cmp(&b.0))?;
    (best.0 > 0.75).then_some(best.1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use heaplake_schemas::diff::{CHAINS, CLASSES};

    #[test]
    fn all_fields_of_measures_can_be_named() {
        assert_eq!(fields().count(), 29);
        for table in TABLES {
            for (at, measure) in table.measures.iter().enumerate() {
                for field in fields().chain(SHORT.map(|(short, _)| short)) {
                    let found = find(table, &[measure, field]).unwrap();
                    assert!(found.of_measure && found.measure == at, "{measure}.{field}");
                    assert_eq!(find(table, &[&format!("{field}_{measure}")]), Ok(found));
                }
            }
            for column in table.table.columns.iter().filter(|column| column.name != "measure") {
                assert!(find(table, &[column.name]).is_ok_and(|found| found.measure == 0));
            }
        }
    }

    #[test]
    fn unknown_names_have_a_nearest() {
        let (problem, advice) = find(&CLASSES, &["retained_byte", "delta"]).unwrap_err();
        assert_eq!(problem, "table classes has no column retained_byte.delta");
        assert_eq!(advice, "did you mean retained_bytes, as in retained_bytes.delta?");
        assert!(
            find(&CLASSES, &["count", "deltapercent"]).unwrap_err().1.starts_with("did you mean count.delta_percent?")
        );
        assert_eq!(find(&CHAINS, &["clas"]).unwrap_err().1, "did you mean class?");
        assert!(find(&CLASSES, &["count"]).unwrap_err().0.contains("is a measure"));
        assert!(find(&CLASSES, &["zzzzzz"]).unwrap_err().1.contains("the measures retained_bytes"));
        assert!(find(&CLASSES, &[&"x".repeat(100)]).unwrap_err().1.contains("the measures"));
        assert!(table("class").unwrap_err().1.starts_with("did you mean classes?"));
        assert_eq!(table("diff_chains").unwrap().table.table.name, "diff_chains");
        assert_eq!(table("clusters").unwrap().name(), "clusters");
    }
}
