//! Named queries: a library of common questions about a fleet.
//!
//! Each is a file in `python/heaplake/queries/`, which the Python package runs in Spark. Its first line describes the
//! answer; a line for each parameter follows, with its type, its default if it has one, and its meaning.

use crate::error::SqlError;
use datafusion::common::ScalarValue;
use heaplake_lake::nearest::{clause, nearest};
use std::fmt;

/// A named query.
#[derive(Clone, Debug)]
pub struct Query {
    /// Name.
    pub name: &'static str,
    /// Description of the answer.
    pub about: &'static str,
    /// Parameters.
    pub parameters: Vec<Parameter>,
    /// Statement; `$NAME` is a parameter.
    pub sql: &'static str,
}

/// A parameter of a query.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parameter {
    /// Name.
    pub name: &'static str,
    /// Whether it is a number rather than a text.
    pub integer: bool,
    /// Default value; `None` if a value is required.
    pub default: Option<&'static str>,
    /// Description.
    pub meaning: &'static str,
}

macro_rules! queries {
    ($($name:literal),* $(,)?) => {
        const FILES: &[(&str, &str)] = &[$(($name, include_str!(concat!("../../../python/heaplake/queries/", $name, ".sql")))),*];
    };
}

queries!(
    "allocating-functions",
    "class-history",
    "duplicates",
    "growing-classes",
    "holding-chains",
    "largest-classes",
    "largest-owners",
    "releases",
    "worst-findings",
    "worst-hosts",
);

/// All queries, by name.
pub fn all() -> Vec<Query> {
    FILES.iter().map(|&(name, text)| Query::read(name, text)).collect()
}

/// Finds a query by name; the error lists the names.
pub fn find(name: &str) -> Result<Query, SqlError> {
    let file = FILES.iter().find(|(known, _)| *known == name);
    let query = file.map(|&(name, text)| Query::read(name, text));
    query.ok_or_else(|| {
        let names: Vec<&str> = FILES.iter().map(|(name, _)| *name).collect();
        let near = clause(&nearest(name, names.iter().map(|&name| name.to_owned())));
        SqlError::query(format!("there is no query {name:?}{near}"), format!("use one of {}", names.join(", ")))
    })
}

impl Query {
    fn read(name: &'static str, text: &'static str) -> Self {
        let header = |line: &'static str| line.strip_prefix("-- ");
        let mut lines = text.lines().map_while(header);
        let about = lines.next().unwrap_or_default();
        Self { name, about, parameters: lines.filter_map(Parameter::read).collect(), sql: text }
    }

    /// Values of all parameters: given ones, or their defaults. A missing, unknown or non-numeric value is an error.
    pub fn values(&self, given: &[(String, String)]) -> Result<Vec<(String, ScalarValue)>, SqlError> {
        let advice = || format!("heaplake sql --list-named shows the parameters of {}", self.name);
        if let Some((name, _)) = given.iter().find(|(name, _)| self.parameters.iter().all(|known| known.name != name)) {
            let near = nearest(name, self.parameters.iter().map(|known| known.name.to_owned()));
            let cause = format!("{}: there is no parameter {name:?}{}", self.name, clause(&near));
            return Err(SqlError::query(cause, advice()));
        }
        let value = |parameter: &Parameter| {
            let told = given.iter().rev().find(|(name, _)| name == parameter.name).map(|(_, value)| value.as_str());
            let Some(text) = told.or(parameter.default) else {
                let name = parameter.name;
                let cause = format!("{}: the parameter {name} has no value", self.name);
                return Err(SqlError::query(cause, format!("give one with --param {name}=VALUE")));
            };
            let value = match parameter.integer {
                true => ScalarValue::from(text.parse::<i64>().map_err(|_| {
                    SqlError::query(format!("{}: {}={text} is no whole number", self.name, parameter.name), advice())
                })?),
                false => ScalarValue::from(text),
            };
            Ok((parameter.name.to_owned(), value))
        };
        self.parameters.iter().map(value).collect()
    }
}

impl fmt::Display for Query {
    /// Formats name, description, and parameters, a line each.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}\n    {}", self.name, self.about)?;
        for Parameter { name, default, meaning, .. } in &self.parameters {
            match default {
                Some(default) => writeln!(f, "    --param {name}={default}  {meaning}")?,
                None => writeln!(f, "    --param {name}=...  {meaning}; has to be given")?,
            }
        }
        Ok(())
    }
}

impl Parameter {
    /// Parses a line such as `$limit integer 20: Rows`.
    fn read(line: &'static str) -> Option<Self> {
        let (head, meaning) = line.strip_prefix('$')?.split_once(": ")?;
        let mut words = head.split(' ');
        let (name, kind) = (words.next()?, words.next()?);
        Some(Self { name, integer: kind == "integer", default: words.next(), meaning })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::{Path, PathBuf};

    #[test]
    fn every_query_says_what_it_answers_and_what_it_takes() {
        for query in all() {
            assert!(!query.about.is_empty(), "{}", query.name);
            let declared = query.sql.lines().filter(|line| line.starts_with("-- $")).count();
            assert_eq!(query.parameters.len(), declared, "{}", query.name);
            for parameter in &query.parameters {
                let uses = query.sql.matches(&format!("${}", parameter.name)).count();
                assert!(uses > 1, "{}: {} is not used", query.name, parameter.name);
                assert!(!parameter.meaning.is_empty());
            }
        }
    }

    /// Spark and notebooks read the folder, this crate the list.
    #[test]
    fn every_file_is_in_the_list() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../python/heaplake/queries");
        let files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
        let stem = |path: PathBuf| path.file_stem().unwrap().to_str().unwrap().to_owned();
        let sql = files.filter(|path| path.extension().is_some_and(|extension| extension == "sql"));
        let mut names: Vec<String> = sql.map(stem).collect();
        names.sort_unstable();
        assert_eq!(names, FILES.iter().map(|(name, _)| *name).collect::<Vec<_>>());
    }

    #[test]
    fn parameters_have_defaults_and_types() {
        let query = find("worst-hosts").unwrap();
        let values = query.values(&[("limit".to_owned(), "3".to_owned())]).unwrap();
        let expected = [("label", ScalarValue::from("host")), ("limit", ScalarValue::from(3_i64))];
        assert_eq!(values, expected.map(|(name, value)| (name.to_owned(), value)));
    }

    #[test]
    fn wrong_parameters_are_refused() {
        let query = find("growing-classes").unwrap();
        let refused = |given: &[(&str, &str)]| {
            let given: Vec<_> = given.iter().map(|&(name, value)| (name.to_owned(), value.to_owned())).collect();
            query.values(&given).unwrap_err().cause
        };
        assert!(refused(&[]).contains("from has no value"));
        assert!(refused(&[("from", "1"), ("to", "2"), ("limit", "x")]).contains("no whole number"));
        assert!(refused(&[("since", "1")]).contains("no parameter"));
        assert!(find("worst").unwrap_err().advice.contains("worst-hosts"));
    }
}
