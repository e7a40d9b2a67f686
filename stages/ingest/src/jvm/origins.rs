//! Origins of classes, package and loader, for the table of owners.
//!
//! The package is the full name; an array has the package of its elements, and arrays of primitive values have none.
//! Classes of the boot loader and the platform's loader, and packages of the JDK's own name, are parts of the platform.
//! Memory: about 80 bytes per package and loader, and 8 per class, accounted.

use crate::names::NameWriter;
use heaplake_kit::{BudgetVec, ColumnWriter, Context, Reservation, Scratch, StageError, StringTable};
use heaplake_schemas::ids::{NodeId, StringId};
use heaplake_schemas::owners::{self, Origin};
use heaplake_schemas::scratch as columns;
use rustc_hash::FxHashMap;

/// No origin.
const NONE: u32 = u32::MAX;

/// Text that loader patterns match for the boot loader, which is no object.
const BOOT: &str = "(boot)";

/// Classes of the platform's loader: since Java 9, and in Java 8.
const PLATFORM_LOADERS: [&str; 2] =
    ["jdk.internal.loader.ClassLoaders$PlatformClassLoader", "sun.misc.Launcher$ExtClassLoader"];

/// Prefixes of platform packages, whatever their loader.
const PLATFORM_PACKAGES: [&str; 3] = ["java.", "jdk.", "sun."];

/// Collects the origins of classes.
pub(super) struct Origins {
    of_class: ColumnWriter<u32>,
    /// Nodes of classes, and their rows.
    nodes: BudgetVec<(NodeId, u32)>,
    rows: ColumnWriter<Origin>,
    by_row: FxHashMap<Origin, u32>,
    reservation: Reservation,
}

impl Origins {
    /// Starts empty.
    pub(super) fn create(scratch: &Scratch, context: &Context<'_>) -> Result<Self, StageError> {
        Ok(Self {
            of_class: ColumnWriter::create(scratch, columns::CLASS_ORIGIN)?,
            nodes: context.budget.growing("origins of classes"),
            rows: ColumnWriter::create(scratch, columns::ORIGIN)?,
            by_row: FxHashMap::default(),
            reservation: context.budget.reserve("origins", 0)?,
        })
    }

    /// Adds the next class: its node, its name, and the name of its loader's class (`None` for the boot loader).
    pub(super) fn class(
        &mut self,
        node: NodeId,
        name: StringId,
        loader: Option<StringId>,
        strings: &StringTable,
        names: &mut NameWriter,
    ) -> Result<(), StageError> {
        let text = strings.text(name.index());
        let row = match package(&text) {
            None => NONE,
            Some(package) => {
                let loader_text = loader.and_then(StringId::get).map(|id| strings.text(id as usize));
                let platform = loader.is_none()
                    || loader_text.is_some_and(|loader| PLATFORM_LOADERS.contains(&loader.as_ref()))
                    || PLATFORM_PACKAGES.iter().any(|start| text.starts_with(start));
                let loader = match loader {
                    Some(loader) => loader,
                    None => names.intern(BOOT.as_bytes())?,
                };
                let package = names.intern(package.as_bytes())?;
                self.row(Origin { script: NONE, package: package.0, loader: loader.0, platform: platform.into() })?
            }
        };
        self.of_class.push(row)?;
        if row != NONE { self.nodes.push((node, row)) } else { Ok(()) }
    }

    fn row(&mut self, origin: Origin) -> Result<u32, StageError> {
        if let Some(&known) = self.by_row.get(&origin) {
            return Ok(known);
        }
        self.reservation.grow(80)?;
        let row = self.by_row.len() as u32;
        self.by_row.insert(origin, row);
        self.rows.push(origin)?;
        Ok(row)
    }

    /// Completes the columns; `more` further classes have no origin.
    pub(super) fn finish(mut self, more: usize, scratch: &Scratch) -> Result<(), StageError> {
        (0..more).try_for_each(|_| self.of_class.push(NONE))?;
        self.of_class.finish()?;
        self.rows.finish()?;
        self.nodes.sort_unstable();
        let mut nodes = ColumnWriter::create(scratch, columns::ORIGIN_NODE)?;
        let mut of_node = ColumnWriter::create(scratch, columns::ORIGIN_OF_NODE)?;
        for &(node, row) in self.nodes.iter() {
            nodes.push(node)?;
            of_node.push(row)?;
        }
        nodes.finish()?;
        of_node.finish().map(drop)
    }
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
