//! Text of a JSON document for people: indented, but with each object of a list on one line.

use serde::Serialize;
use serde_json::ser::{CompactFormatter, Formatter, PrettyFormatter, Serializer};
use std::io::{self, Write};

/// Writes a document.
pub(crate) fn json_text(document: &impl Serialize) -> serde_json::Result<String> {
    let mut text = Vec::new();
    let form = ObjectPerLine { indented: PrettyFormatter::new(), open: Vec::new(), lists: 0 };
    document.serialize(&mut Serializer::with_formatter(&mut text, form))?;
    // The serializer writes UTF-8 only.
    Ok(String::from_utf8_lossy(&text).into_owned())
}

/// The form: indented outside of objects in lists.
struct ObjectPerLine {
    indented: PrettyFormatter<'static>,
    /// For each open list and object, whether it is a list.
    open: Vec<bool>,
    /// Number of open objects that are elements of a list, or inside one.
    lists: usize,
}

impl ObjectPerLine {
    fn is_on_one_line(&self) -> bool {
        self.lists > 0
    }

    fn begin(&mut self, is_list: bool) {
        let is_element = !is_list && self.open.last() == Some(&true);
        self.lists += usize::from(is_element || self.lists > 0);
        self.open.push(is_list);
    }

    fn end(&mut self) {
        self.open.pop();
        self.lists = self.lists.saturating_sub(1);
    }
}

/// Calls the formatter that counts now.
macro_rules! delegate {
    ($form:ident.$method:ident($($argument:expr),*)) => {
        if $form.is_on_one_line() {
            CompactFormatter.$method($($argument),*)
        } else {
            $form.indented.$method($($argument),*)
        }
    };
}

impl Formatter for ObjectPerLine {
    fn begin_array<W: ?Sized + Write>(&mut self, to: &mut W) -> io::Result<()> {
        self.begin(true);
        delegate!(self.begin_array(to))
    }

    fn end_array<W: ?Sized + Write>(&mut self, to: &mut W) -> io::Result<()> {
        let ended = delegate!(self.end_array(to));
        self.end();
        ended
    }

    fn begin_array_value<W: ?Sized + Write>(&mut self, to: &mut W, is_first: bool) -> io::Result<()> {
        delegate!(self.begin_array_value(to, is_first))
    }

    fn end_array_value<W: ?Sized + Write>(&mut self, to: &mut W) -> io::Result<()> {
        delegate!(self.end_array_value(to))
    }

    fn begin_object<W: ?Sized + Write>(&mut self, to: &mut W) -> io::Result<()> {
        self.begin(false);
        delegate!(self.begin_object(to))
    }

    fn end_object<W: ?Sized + Write>(&mut self, to: &mut W) -> io::Result<()> {
        let ended = delegate!(self.end_object(to));
        self.end();
        ended
    }

    fn begin_object_key<W: ?Sized + Write>(&mut self, to: &mut W, is_first: bool) -> io::Result<()> {
        delegate!(self.begin_object_key(to, is_first))
    }

    fn begin_object_value<W: ?Sized + Write>(&mut self, to: &mut W) -> io::Result<()> {
        delegate!(self.begin_object_value(to))
    }

    fn end_object_value<W: ?Sized + Write>(&mut self, to: &mut W) -> io::Result<()> {
        delegate!(self.end_object_value(to))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    #[test]
    fn objects_of_lists_are_lines() {
        let document = json!({
            "a": {"b": 1, "rows": [{"x": [1, {"y": 2}], "z": {}}, {"x": []}], "none": []},
            "numbers": [1, 2],
            "tables": [[{"x": 1}]],
        });
        let text = json_text(&document).unwrap();
        let expected = "\
{
  \"a\": {
    \"b\": 1,
    \"none\": [],
    \"rows\": [
      {\"x\":[1,{\"y\":2}],\"z\":{}},
      {\"x\":[]}
    ]
  },
  \"numbers\": [
    1,
    2
  ],
  \"tables\": [
    [
      {\"x\":1}
    ]
  ]
}";
        assert_eq!(text, expected);
        assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), document);
    }
}
