//! A text of the corpus.

/// How a text is held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// In a field.
    Field,
    /// As an element of an array.
    Element,
    /// As the value of a map.
    Map,
    /// As a string of several pieces; in Java as a field.
    Pieces,
    /// In Java as an array of characters; in JavaScript as a field.
    Chars,
    /// In Java as an array of bytes; in JavaScript as a field.
    Bytes,
}

impl Place {
    const ALL: [Self; 6] = [Self::Field, Self::Element, Self::Map, Self::Pieces, Self::Chars, Self::Bytes];

    /// Name, for the programs that plant.
    pub fn name(self) -> &'static str {
        match self {
            Self::Field => "field",
            Self::Element => "element",
            Self::Map => "map",
            Self::Pieces => "pieces",
            Self::Chars => "chars",
            Self::Bytes => "bytes",
        }
    }
}

/// A text of the corpus.
#[derive(Clone, Debug)]
pub struct Item {
    /// Name of the class of the only object that holds it: `Plant17`, `Miss42`.
    pub holder: String,
    /// Name of the field.
    pub field: String,
    /// Kind, for reports.
    pub kind: &'static str,
    /// The text of the string.
    pub text: String,
    /// The secret inside; empty in a near miss.
    pub secret: String,
    /// How it is held.
    pub place: Place,
}

/// Makes the items of a list of kind, field, text and secret.
pub(super) fn items(prefix: &str, texts: Vec<(&'static str, &str, String, String)>) -> Vec<Item> {
    let item = |(at, (kind, field, text, secret)): (usize, (&'static str, &str, String, String))| {
        // A field with a telling name must be the direct holder.
        let place = if field == "value" { Place::ALL[at % Place::ALL.len()] } else { Place::Field };
        // A third of the texts have characters beyond Latin-1.
        let text = if at % 3 == 1 && field == "value" { format!("{text} → ж") } else { text };
        Item { holder: format!("{prefix}{at}"), field: field.to_owned(), kind, text, secret, place }
    };
    texts.into_iter().enumerate().map(item).collect()
}
