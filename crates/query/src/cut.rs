//! References that a question imagines away.

use crate::asked::Subject;
use glob::Pattern;
use std::fmt;
use std::str::FromStr;

/// References to cut: those of a field, or all to one object.
#[derive(Clone, Debug)]
pub struct Cut {
    text: String,
    pub(crate) what: What,
}

/// Selection of a cut.
#[derive(Clone, Debug)]
pub(crate) enum What {
    /// References of a field, property or variable of the objects of some classes.
    Field { class: Pattern, field: Pattern },
    /// References to elements of the objects of some classes.
    Elements { class: Pattern },
    /// All references to an object.
    Object(Subject),
}

impl fmt::Display for Cut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl FromStr for Cut {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let is_object = text.starts_with('@') || !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        let what = if is_object {
            What::Object(text.parse()?)
        } else if let Some(class) = text.strip_suffix("[]").filter(|class| !class.is_empty()) {
            What::Elements { class: pattern(class)? }
        } else {
            let parts = text.rsplit_once('.').filter(|(class, field)| !class.is_empty() && !field.is_empty());
            let (class, field) = parts.ok_or_else(|| {
                format!("{text:?} is neither Class.field nor Class[] nor the number of a node nor @ and an id")
            })?;
            What::Field { class: pattern(class)?, field: pattern(field)? }
        };
        Ok(Self { text: text.to_owned(), what })
    }
}

/// A pattern in which only `*` and `?` are special: names of arrays have brackets.
fn pattern(text: &str) -> Result<Pattern, String> {
    let mut plain = text.replace('[', "[[]");
    while plain.contains("**") {
        plain = plain.replace("**", "*");
    }
    Pattern::new(&plain).map_err(|error| format!("{text:?}: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cuts_are_fields_elements_and_objects() {
        let cut = |text: &str| text.parse::<Cut>().map(|cut| cut.what);
        let field = |text: &str, class: &str, field: &str| match cut(text) {
            Ok(What::Field { class: classes, field: fields }) => classes.matches(class) && fields.matches(field),
            other => panic!("{text}: {other:?}"),
        };
        assert!(field("com.shop.Cache.entries", "com.shop.Cache", "entries"));
        assert!(field("*.Cache.e*", "com.shop.Cache", "entries"));
        assert!(field("**.Cache.e***", "com.shop.Cache", "entries"));
        assert!(field("java.lang.Object[].x", "java.lang.Object[]", "x"));
        assert!(!field("Cache.entries", "com.shop.Cache", "entries"));
        let elements = |text: &str| matches!(cut(text), Ok(What::Elements { class }) if class.matches("a.B[]"));
        assert!(elements("a.B[][]") && elements("*[]") && !elements("a.B[]"));
        assert!(matches!(cut("12"), Ok(What::Object(Subject::Node(12)))));
        assert!(matches!(cut("@0x10"), Ok(What::Object(Subject::Id(16)))));
        for wrong in ["", ".", "a.", ".b", "a", "[]", "@x"] {
            assert!(cut(wrong).is_err(), "{wrong}");
        }
    }
}
