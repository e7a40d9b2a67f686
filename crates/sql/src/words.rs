//! Completion at the prompt.

/// SQL words to offer.
const WORDS: [&str; 40] = [
    "SELECT",
    "FROM",
    "WHERE",
    "GROUP BY",
    "ORDER BY",
    "HAVING",
    "LIMIT",
    "JOIN",
    "LEFT JOIN",
    "ON",
    "USING",
    "AS",
    "AND",
    "OR",
    "NOT",
    "IN",
    "IS NULL",
    "IS NOT NULL",
    "LIKE",
    "BETWEEN",
    "CASE",
    "WHEN",
    "THEN",
    "ELSE",
    "END",
    "DISTINCT",
    "UNION ALL",
    "WITH",
    "DESC",
    "ASC",
    "count(*)",
    "sum(",
    "min(",
    "max(",
    "avg(",
    "median(",
    "approx_percentile_cont(",
    "EXPLAIN",
    "SHOW TABLES",
    "DESCRIBE",
];

/// Completion candidates: words of SQL, views and their columns.
#[derive(Clone, Debug, Default)]
pub struct Words {
    views: Vec<(String, Vec<String>)>,
}

impl Words {
    /// Candidates from the views of a session with their columns.
    pub fn new(views: Vec<(String, Vec<String>)>) -> Self {
        Self { views }
    }

    /// Start of the word before the cursor, and its completions in alphabetical order. Columns are those of the views
    /// that the line names, or of all views.
    pub fn complete(&self, line: &str, cursor: usize) -> (usize, Vec<String>) {
        let is_word = |c: char| c.is_alphanumeric() || c == '_';
        let before = &line[..cursor];
        let start = before.char_indices().rev().take_while(|&(_, c)| is_word(c)).last().map_or(cursor, |(at, _)| at);
        let typed = before[start..].to_lowercase();
        if typed.is_empty() {
            return (start, Vec::new());
        }
        let named = |view: &str| line.split(|c| !is_word(c)).any(|word| word.eq_ignore_ascii_case(view));
        let any = self.views.iter().any(|(view, _)| named(view));
        let columns = self.views.iter().filter(|(view, _)| !any || named(view)).flat_map(|(_, columns)| columns);
        let names = self.views.iter().map(|(view, _)| view).chain(columns).map(String::as_str);
        let mut found: Vec<String> =
            names.chain(WORDS).filter(|word| word.to_lowercase().starts_with(&typed)).map(ToOwned::to_owned).collect();
        found.sort_by_key(|word| word.to_lowercase());
        found.dedup();
        (start, found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words() -> Words {
        let view = |name: &str, columns: &[&str]| (name.to_owned(), columns.iter().map(|&c| c.to_owned()).collect());
        Words::new(vec![view("classes", &["class", "count"]), view("chains", &["class", "depth"])])
    }

    #[test]
    fn views_columns_and_words_are_completed() {
        assert_eq!(words().complete("select * from cl", 16), (14, vec!["class".to_owned(), "classes".to_owned()]));
        assert_eq!(words().complete("sel", 3), (0, vec!["SELECT".to_owned()]));
        assert_eq!(words().complete("", 0).1, Vec::<String>::new());
    }

    #[test]
    fn columns_are_those_of_the_views_in_the_line() {
        assert_eq!(words().complete("select de from classes", 9).1, ["DESC", "DESCRIBE"]);
        assert_eq!(words().complete("select de from chains", 9).1, ["depth", "DESC", "DESCRIBE"]);
    }
}
