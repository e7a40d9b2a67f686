//! The rules that heaplake brings.

use super::parse::parse;
use super::rule::Rules;
use super::values::Wrong;
use toml::de::DeTable;

/// Their file.
const FILE: &str = include_str!("default.toml");

/// The rules that heaplake brings.
///
/// # Errors
/// None, as a test checks.
pub fn builtin() -> Result<Rules, Wrong> {
    let table = DeTable::parse(FILE).map_err(|error| (0, error.to_string()))?;
    parse(table.get_ref())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rules_that_heaplake_brings_are_valid() {
        let rules = builtin().unwrap();
        assert!(rules.rules.len() > 30 && rules.remarks.is_empty(), "{:?}", rules.remarks);
        assert!(rules.rules.iter().all(|rule| !rule.description.is_empty()));
    }
}
