//! The columns of a table that an expression can name, and what they hold.

use heaplake_schemas::diff::{DiffTable, TABLES};
use heaplake_schemas::table::Type;

/// What a column holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Number,
    Text,
    Truth,
}

impl Kind {
    /// With its article.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Number => "a number",
            Self::Text => "a text",
            Self::Truth => "a condition",
        }
    }
}

/// A column that an expression names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Column {
    /// Its name in the table.
    pub name: &'static str,
    pub kind: Kind,
    /// Whether it is an id, of 64 bits without a sign.
    pub is_id: bool,
    /// Whether it is a floating point number.
    pub is_real: bool,
}

/// The fields of a measure: the columns of measure `m` are `base_m`, `target_m` and so on.
pub(crate) const FIELDS: [&str; 14] = [
    "base",
    "target",
    "delta",
    "delta_percent",
    "base_p10",
    "base_p90",
    "target_p10",
    "target_p90",
    "shift",
    "shift_low",
    "shift_high",
    "p",
    "q",
    "smallest_effect",
];

/// A name that a table does not have: what is missing, and what to write.
pub(crate) type Unknown = (String, String);

/// Finds the column with a name: `class`, `retained_bytes.delta`, or as in the table, `delta_retained_bytes`.
pub(crate) fn find(table: &DiffTable, name: &[&str]) -> Result<Column, Unknown> {
    let missing = |advice| Err((format!("table {} has no column {}", short(table), name.join(".")), advice));
    match name {
        [plain] => match column(table, plain) {
            Some(column) => Ok(column),
            None if table.measures.contains(plain) => {
                let problem = format!("{plain} is a measure, which has many columns");
                Err((problem, format!("name a field of it, such as {plain}.delta or {plain}.delta_percent")))
            }
            None => missing(did_you_mean(plain, plain_columns(table).chain(table.measures.iter().copied()), table)),
        },
        [measure, field] if table.measures.contains(measure) => {
            match FIELDS.contains(field).then(|| column(table, &format!("{field}_{measure}"))).flatten() {
                Some(column) => Ok(column),
                None => missing(nearest(field, FIELDS.into_iter()).map_or_else(
                    || format!("a measure has the fields {}", FIELDS.join(", ")),
                    |near| format!("did you mean {measure}.{near}? The fields are {}", FIELDS.join(", ")),
                )),
            }
        }
        [measure, ..] => missing(did_you_mean(measure, table.measures.iter().copied(), table)),
        [] => missing(String::new()),
    }
}

/// Name of a table without `diff_`, as users write it.
pub(crate) fn short(table: &DiffTable) -> &'static str {
    table.table.name.strip_prefix("diff_").unwrap_or(table.table.name)
}

/// The table with a name, with or without `diff_`.
pub(crate) fn table(name: &str) -> Result<&'static DiffTable, Unknown> {
    let found = TABLES.iter().find(|table| table.table.name == name || short(table) == name);
    found.ok_or_else(|| {
        let near = nearest(name, TABLES.iter().map(short));
        let all = TABLES.iter().map(short).collect::<Vec<_>>().join(", ");
        let advice = near.map_or_else(String::new, |near| format!("did you mean {near}? "));
        (format!("there is no table {name}"), format!("{advice}The tables of a comparison are {all}"))
    })
}

/// Whether a column says what a row is, so that a condition on it chooses rows; others say what became of a row.
pub(crate) fn says_what_a_row_is(table: &DiffTable, column: &str) -> bool {
    // `status` of duplicate sets is hidden behind that of the comparison.
    column != "status" && (table.keys.contains(&column) || column == "signature" || column.ends_with("fingerprint"))
}

/// The measure to which a column belongs, if it is one of a measure.
pub(crate) fn measure_of(table: &DiffTable, column: &str) -> Option<&'static str> {
    let is_of = |measure: &&&str| {
        let field = column.strip_suffix(**measure).and_then(|rest| rest.strip_suffix('_'));
        field.is_some_and(|field| FIELDS.contains(&field))
    };
    table.measures.iter().find(is_of).copied()
}

fn column(table: &DiffTable, name: &str) -> Option<Column> {
    let column = table.table.all_columns().find(|column| column.name == name)?;
    let kind = match column.data_type {
        Type::Utf8 => Kind::Text,
        Type::Boolean => Kind::Truth,
        _ => Kind::Number,
    };
    let is_id = matches!(column.data_type, Type::UInt64);
    Some(Column { name: column.name, kind, is_id, is_real: matches!(column.data_type, Type::Float64) })
}

/// Names of the columns that belong to no measure.
fn plain_columns(table: &DiffTable) -> impl Iterator<Item = &'static str> {
    let names = table.table.columns.iter().map(|column| column.name);
    let table = *table;
    names.filter(move |name| measure_of(&table, name).is_none())
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

/// The name that is most like another one, if any is like it.
fn nearest(name: &str, names: impl Iterator<Item = &'static str>) -> Option<&'static str> {
    // A name is at most this long; a longer one is like none.
    let name = if name.len() <= 64 { name.to_lowercase() } else { return None };
    let scored = names.map(|other| (strsim::jaro_winkler(&name, other), other));
    let best = scored.max_by(|a, b| a.0.total_cmp(&b.0))?;
    (best.0 > 0.75).then_some(best.1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use heaplake_schemas::diff::{CHAINS, CLASSES, OF_MEASURE};

    #[test]
    fn all_columns_of_measures_can_be_named_by_field() {
        assert_eq!(FIELDS.len(), OF_MEASURE);
        for table in TABLES {
            for measure in table.measures {
                for field in FIELDS {
                    let found = find(table, &[measure, field]).unwrap();
                    assert_eq!(find(table, &[found.name]), Ok(found));
                    assert_eq!(measure_of(table, found.name), Some(*measure));
                }
            }
            let of_measures = table.table.columns.iter().filter(|column| measure_of(table, column.name).is_some());
            assert_eq!(of_measures.count(), OF_MEASURE * table.measures.len(), "{}", table.table.name);
            for column in table.table.columns {
                assert!(find(table, &[column.name]).is_ok());
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
        assert_eq!(table("diff_chains").unwrap().table.name, "diff_chains");
    }
}
