//! Labels of edges of a Java heap, for chains: names of fields, and of static fields with their classes.

use super::layouts::Types;
use crate::names::NameWriter;
use heaplake_kit::{BudgetVec, Context, Scratch, StageError, StringTable, create_all};
use heaplake_schemas::chains::label;
use heaplake_schemas::ids::StringId;
use heaplake_schemas::scratch::{self as columns, STRINGS, edge_label};

/// Writes the edge labels of each class's instances, and none for `more` further classes. `class` is the label of the
/// edge to the class.
pub(crate) fn write(types: &Types, more: usize, class: StringId, scratch: &Scratch) -> Result<(), StageError> {
    let (mut start, mut names) = create_all(scratch, (columns::CLASS_LABEL_START, columns::CLASS_LABEL))?;
    start.push(0)?;
    for position in 0..types.descriptors.len() {
        names.push(class)?;
        for slot in types.slots(types.layout(position)).iter().take(usize::from(edge_label::LEAST) - 1) {
            names.push(types.fields[slot.field()].name)?;
        }
        start.push(names.len())?;
    }
    (0..more).try_for_each(|_| start.push(names.len()))?;
    start.finish()?;
    names.finish().map(drop)
}

/// Returns labels of static fields: class and name, since the class of a class object is always `java.lang.Class`.
pub(crate) fn of_statics(
    types: &Types,
    names: &mut NameWriter,
    scratch: &Scratch,
    context: &Context<'_>,
) -> Result<BudgetVec<u32>, StageError> {
    let strings = StringTable::open(scratch, STRINGS)?;
    let mut of = context.budget.filled("names of static fields", types.statics.len(), label::NONE)?;
    for class in types.descriptors.iter() {
        for (field, of) in types.statics[class.statics()].iter().zip(&mut of[class.statics()]) {
            if let Some(name) = field.name.get().filter(|_| field.value != 0) {
                let text = [strings.get(class.name.index()), b".", strings.get(name as usize)].concat();
                *of = names.intern(&text)?.0;
            }
        }
    }
    Ok(of)
}
