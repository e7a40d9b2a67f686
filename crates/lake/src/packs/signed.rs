//! Column types of packs: signed numbers only.
//!
//! Iceberg, Spark, Trino and Athena have no unsigned types: they refuse them, or read them as decimals or as negative
//! numbers. So packs hold 8 and 16 bits as `Int32`, 32 bits as `Int64`, and the bits of 64 as `Int64`. The original
//! type of each converted column is a member of a JSON object in the metadata of the file, by the path of the column;
//! readers convert back, and get the values of the run's own table.

use arrow::array::{Array, ArrayRef, AsArray, Int64Array, ListArray, StructArray, UInt64Array};
use arrow::compute::{CastOptions, cast_with_options};
use arrow::datatypes::{DataType, Field, FieldRef, Fields, Int64Type, Schema, SchemaRef, UInt64Type};
use arrow::error::ArrowError;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Original types by path of the column, `list.field` for elements of a list.
pub(crate) type Originals = BTreeMap<String, String>;

/// The unsigned types, by name.
const UNSIGNED: [(&str, DataType, DataType); 4] = [
    ("UInt8", DataType::UInt8, DataType::Int32),
    ("UInt16", DataType::UInt16, DataType::Int32),
    ("UInt32", DataType::UInt32, DataType::Int64),
    ("UInt64", DataType::UInt64, DataType::Int64),
];

/// Returns the schema with signed types, and the original ones.
pub(crate) fn signed(schema: &Schema) -> (SchemaRef, Originals) {
    let mut originals = Originals::new();
    let of_leaf = |path: &str, kind: &DataType| match UNSIGNED.iter().find(|(_, unsigned, _)| unsigned == kind) {
        Some((name, _, signed)) => {
            originals.insert(path.to_owned(), (*name).to_owned());
            signed.clone()
        }
        None => kind.clone(),
    };
    (mapped(schema, of_leaf), originals)
}

/// Returns the schema with the original types.
pub(crate) fn original(schema: &Schema, originals: &Originals) -> SchemaRef {
    let of_leaf = |path: &str, kind: &DataType| {
        let name = originals.get(path);
        let known = UNSIGNED.iter().find(|(known, _, signed)| name.is_some_and(|name| name == known) && signed == kind);
        known.map_or_else(|| kind.clone(), |(_, unsigned, _)| unsigned.clone())
    };
    mapped(schema, of_leaf)
}

/// Maps the types of all leaves, which are named by path.
fn mapped(schema: &Schema, mut of_leaf: impl FnMut(&str, &DataType) -> DataType) -> SchemaRef {
    let fields = schema.fields().iter().map(|field| of_field(field, field.name(), &mut of_leaf));
    Arc::new(Schema::new(fields.collect::<Fields>()))
}

fn of_field(field: &FieldRef, path: &str, of_leaf: &mut dyn FnMut(&str, &DataType) -> DataType) -> FieldRef {
    let kind = match field.data_type() {
        // The only member of a list has the path of the list.
        DataType::List(element) => DataType::List(of_field(element, path, of_leaf)),
        DataType::Struct(fields) => {
            let field = |field: &FieldRef| of_field(field, &format!("{path}.{}", field.name()), of_leaf);
            DataType::Struct(fields.iter().map(field).collect())
        }
        leaf => of_leaf(path, leaf),
    };
    Arc::new(Field::new(field.name(), kind, field.is_nullable()))
}

/// Converts a column between its original type and the signed one.
pub(crate) fn converted(column: &ArrayRef, to: &DataType) -> Result<ArrayRef, ArrowError> {
    match (column.data_type(), to) {
        (from, to) if from == to => Ok(Arc::clone(column)),
        (DataType::UInt64, DataType::Int64) => {
            let column = column.as_primitive::<UInt64Type>();
            Ok(Arc::new(Int64Array::new(column.values().inner().clone().into(), column.nulls().cloned())))
        }
        (DataType::Int64, DataType::UInt64) => {
            let column = column.as_primitive::<Int64Type>();
            Ok(Arc::new(UInt64Array::new(column.values().inner().clone().into(), column.nulls().cloned())))
        }
        (DataType::List(_), DataType::List(element)) => {
            let list = column.as_list::<i32>();
            let values = converted(list.values(), element.data_type())?;
            let list = ListArray::try_new(Arc::clone(element), list.offsets().clone(), values, list.nulls().cloned())?;
            Ok(Arc::new(list))
        }
        (DataType::Struct(_), DataType::Struct(fields)) => {
            let structs = column.as_struct();
            let columns = structs.columns().iter().zip(fields);
            let columns =
                columns.map(|(column, field)| converted(column, field.data_type())).collect::<Result<_, _>>()?;
            Ok(Arc::new(StructArray::try_new(fields.clone(), columns, structs.nulls().cloned())?))
        }
        // A value that does not fit is an error, not a null.
        _ => cast_with_options(column, to, &CastOptions { safe: false, ..CastOptions::default() }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use heaplake_schemas::tables;

    #[test]
    fn all_tables_have_a_signed_form_and_return_from_it() {
        let unsigned = |kind: &DataType| format!("{kind:?}").contains("UInt");
        for table in tables::ALL {
            let schema = table.schema();
            let (signed, originals) = signed(&schema);
            assert!(signed.fields().iter().all(|field| !unsigned(field.data_type())), "{}", table.name);
            let back = original(&signed, &originals);
            for (field, back) in schema.fields().iter().zip(back.fields()) {
                assert_eq!(field.data_type(), back.data_type(), "{}.{}", table.name, field.name());
            }
        }
    }

    #[test]
    fn all_values_return() {
        use arrow::array::{UInt8Array, UInt32Array};
        let columns: [(ArrayRef, DataType); 3] = [
            (Arc::new(UInt64Array::from(vec![Some(u64::MAX), None, Some(1 << 63), Some(0)])), DataType::Int64),
            (Arc::new(UInt32Array::from(vec![Some(u32::MAX), None, Some(0)])), DataType::Int64),
            (Arc::new(UInt8Array::from(vec![255, 0])), DataType::Int32),
        ];
        for (column, signed) in columns {
            let there = converted(&column, &signed).unwrap();
            assert_eq!(there.data_type(), &signed);
            assert_eq!(&converted(&there, column.data_type()).unwrap(), &column);
        }
    }

    #[test]
    fn a_number_that_does_not_fit_is_an_error() {
        let column: ArrayRef = Arc::new(Int64Array::from(vec![-1]));
        assert!(converted(&column, &DataType::UInt32).is_err());
    }
}
