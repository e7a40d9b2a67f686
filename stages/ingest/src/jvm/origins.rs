//! Origins of classes, package and loader, for the table of owners.
//!
//! The package is the full name; an array has the package of its elements, and arrays of primitive values have none.
//! Classes of the boot loader and the platform's loader, and packages of the JDK's own name, are parts of the platform.

use crate::names::NameWriter;
use crate::origins::NONE;
use heaplake_kit::{StageError, StringTable};
use heaplake_schemas::ids::StringId;
use heaplake_schemas::owners::{self, Origin};

/// Text that loader patterns match for the boot loader, which is no object.
const BOOT: &str = "(boot)";

/// Classes of the platform's loader: since Java 9, and in Java 8.
const PLATFORM_LOADERS: [&str; 2] =
    ["jdk.internal.loader.ClassLoaders$PlatformClassLoader", "sun.misc.Launcher$ExtClassLoader"];

/// Prefixes of platform packages, whatever their loader.
const PLATFORM_PACKAGES: [&str; 3] = ["java.", "jdk.", "sun."];

/// Returns the origin of a class with this name; `loader` is the name of its loader's class, `None` for the boot loader.
pub(super) fn of(
    name: StringId,
    loader: Option<StringId>,
    strings: &StringTable,
    names: &mut NameWriter,
) -> Result<Option<Origin>, StageError> {
    let text = strings.text(name.index());
    let Some(package) = package(&text) else { return Ok(None) };
    let loader_text = loader.and_then(StringId::get).map(|id| strings.text(id as usize));
    let platform = loader.is_none()
        || loader_text.is_some_and(|loader| PLATFORM_LOADERS.contains(&loader.as_ref()))
        || PLATFORM_PACKAGES.iter().any(|start| text.starts_with(start));
    let loader = loader.map_or_else(|| names.intern(BOOT.as_bytes()), Ok)?;
    let package = names.intern(package.as_bytes())?;
    Ok(Some(Origin { script: NONE, package: package.0, loader: loader.0, platform: platform.into() }))
}

/// Returns the package of a class.
fn package(class: &str) -> Option<&str> {
    const PRIMITIVES: [&str; 8] = ["boolean", "char", "float", "double", "byte", "short", "int", "long"];
    let element = class.trim_end_matches("[]");
    if PRIMITIVES.contains(&element) || element.starts_with('(') || element.is_empty() {
        return None;
    }
    // A class generated at run time may have a number after a dot.
    let name = element.find("$$").map_or(element, |end| &element[..end]);
    Some(name.rfind('.').map_or(owners::UNNAMED, |end| &name[..end]))
}

#[cfg(test)]
mod tests {
    use super::package;

    #[test]
    fn packages_of_classes() {
        for (class, expected) in [
            ("java.util.HashMap$Node", Some("java.util")),
            ("com.acme.Cache[][]", Some("com.acme")),
            ("com.acme.Cache$$Lambda$14.0x0000000800c03000", Some("com.acme")),
            ("Main", Some("(unnamed package)")),
            ("Main[]", Some("(unnamed package)")),
            ("byte[][]", None),
            ("int", None),
            ("(unnamed class 0x10)", None),
            ("", None),
        ] {
            assert_eq!(package(class), expected, "{class}");
        }
    }
}
