//! Tables whose rows are those of one scratch column: the struct of a row declares the columns.
//!
//! ```ignore
//! rows! {
//!     TABLE from Column::new("replay.walk_object");
//!     /// A row as the replay writes it.
//!     pub struct WalkRow {
//!         gc: u32 => id("Collection that ended with the walk");
//!         padding: u32;
//!         address: u64 => address("Address then; `id` in the `nodes` of the walk");
//!         object: u32 => id("Object, as in `object_tracks`; null if not in the trace").or_null();
//!         type_id: u32 => id("Type; null too").or_null() | text(TYPE_NAMES, "Its name").named("type");
//!         bytes: u64 => bytes("Size; null too").or_null();
//!     }
//! }
//! ```
//!
//! A field yields columns, in order: none, one of its name, or several, separated by `|`. [`kinds`] has the kinds of
//! columns. Null is `u32::MAX`, [`ABSENT`](crate::replay::ABSENT), `i32::MIN`, `i64::MIN` or NaN. The struct is stored
//! as it is, with padding as a field. Columns have the order of the fields; `also` puts a column elsewhere.

use crate::column::ColumnSchema;
use crate::scratch_column::{Column, StringColumns};
use crate::table::TableSchema;

/// The row of a table.
pub trait Row: bytemuck::Pod + Send + Sync {
    /// The table.
    const TABLE: &'static TableSchema;
    /// The scratch column.
    const ROWS: Column<Self>;
    /// The columns, in order.
    const COLUMNS: &'static [RowColumn<Self>];
}

/// A column of a table of rows.
#[derive(Clone, Copy)]
pub struct RowColumn<R: 'static> {
    /// Its schema.
    pub schema: ColumnSchema,
    /// Its values.
    pub value: Value<R>,
}

/// The value of a column in a row. The type of the column says how it is stored.
#[derive(Clone, Copy)]
pub enum Value<R: 'static> {
    /// The position of the row, from 0.
    Position,
    /// A number, a code, a flag.
    U32(fn(&R) -> u32),
    /// A number, an address.
    U64(fn(&R) -> u64),
    /// A distance.
    I32(fn(&R) -> i32),
    /// Microseconds since 1970.
    I64(fn(&R) -> i64),
    /// A fraction.
    F64(fn(&R) -> f64),
    /// The text at a position.
    Text(StringColumns, fn(&R) -> u32),
    /// The name at a position.
    Name(&'static [&'static str], fn(&R) -> u32),
    /// Made by the stage that writes the table; null if it makes none.
    Computed,
}

impl<R: Copy> RowColumn<R> {
    /// The same column under a name that is not that of the field.
    #[must_use]
    pub const fn named(mut self, name: &'static str) -> Self {
        self.schema.name = name;
        self
    }

    /// The same column with nulls.
    #[must_use]
    pub const fn or_null(mut self) -> Self {
        self.schema.nullable = true;
        self
    }
}

/// The schemas of columns.
pub const fn schemas<R: Copy, const N: usize>(columns: &[RowColumn<R>]) -> [ColumnSchema; N] {
    let mut schemas = [crate::column::SIGNATURE; N];
    let mut at = 0;
    while at < N {
        schemas[at] = columns[at].schema;
        at += 1;
    }
    schemas
}

/// Kinds of columns. Each function gets the name and the value of the field, then the arguments of its declaration.
pub mod kinds {
    use super::{RowColumn, Value};
    use crate::column::{self, ColumnSchema};
    use crate::scratch_column::StringColumns;

    /// Defines the kinds that are stored as they are in the row: see the functions of the same names in
    /// [`crate::column`].
    macro_rules! stored {
        ($($value:ident($native:ty): $($kind:ident)+;)*) => {
            $($(
                #[doc = concat!("See [`column::", stringify!($kind), "`].")]
                pub const fn $kind<R>(name: &'static str, of: fn(&R) -> $native, meaning: &'static str) -> RowColumn<R> {
                    RowColumn { schema: column::$kind(name, meaning), value: Value::$value(of) }
                }
            )+)*
        };
    }

    stored! {
        U32(u32): id count_u32 steps from_zero from_one flag code;
        U64(u64): address count bytes;
        I32(i32): edges;
        I64(i64): time;
        F64(f64): seconds;
    }

    /// A count kept in 32 bits, in a column of 64.
    pub const fn count_from_u32<R>(name: &'static str, of: fn(&R) -> u32, meaning: &'static str) -> RowColumn<R> {
        RowColumn { schema: column::count(name, meaning), value: Value::U32(of) }
    }

    /// A column of any schema, kept in 32 bits.
    pub const fn u32<R>(_: &str, of: fn(&R) -> u32, schema: ColumnSchema) -> RowColumn<R> {
        RowColumn { schema, value: Value::U32(of) }
    }

    /// A column of any schema, kept in 64 bits.
    pub const fn u64<R>(_: &str, of: fn(&R) -> u64, schema: ColumnSchema) -> RowColumn<R> {
        RowColumn { schema, value: Value::U64(of) }
    }

    /// A column of any schema, kept as a fraction.
    pub const fn f64<R>(_: &str, of: fn(&R) -> f64, schema: ColumnSchema) -> RowColumn<R> {
        RowColumn { schema, value: Value::F64(of) }
    }

    /// The text whose position is in the field.
    pub const fn text<R>(
        name: &'static str,
        of: fn(&R) -> u32,
        texts: StringColumns,
        meaning: &'static str,
    ) -> RowColumn<R> {
        RowColumn { schema: column::text(name, meaning), value: Value::Text(texts, of) }
    }

    /// The name whose position among these is in the field.
    pub const fn name<R>(
        name: &'static str,
        of: fn(&R) -> u32,
        names: &'static [&'static str],
        meaning: &'static str,
    ) -> RowColumn<R> {
        RowColumn { schema: column::text(name, meaning), value: Value::Name(names, of) }
    }

    /// The position of the row.
    pub const fn position<R, T>(_: &str, _: fn(&R) -> T, name: &'static str, meaning: &'static str) -> RowColumn<R> {
        RowColumn { schema: column::id(name, meaning), value: Value::Position }
    }

    /// A column that the stage makes.
    pub const fn computed<R, T>(_: &str, _: fn(&R) -> T, schema: ColumnSchema) -> RowColumn<R> {
        RowColumn { schema, value: Value::Computed }
    }

    /// A column computed from the row by a function of its own, whatever the field.
    pub const fn also<R, T>(_: &str, _: fn(&R) -> T, column: RowColumn<R>) -> RowColumn<R> {
        column
    }
}

/// Declares the row of a table: see [`crate::row`].
macro_rules! rows {
    (
        $table:ident from $rows:expr;
        $(#[$meta:meta])*
        pub struct $row:ident {
            $(
                $(#[$doc:meta])*
                $field:ident: $type:ty
                $(=> $($kind:ident($($argument:expr),* $(,)?) $(.$method:ident($($more:expr)?))*)|+)?;
            )*
        }
    ) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, bytemuck::Pod, bytemuck::Zeroable)]
        #[repr(C)]
        pub struct $row {
            $(
                $(#[$doc])*
                #[doc = concat!("Field `", stringify!($field), "`.")]
                pub $field: $type,
            )*
        }

        impl $row {
            /// The scratch column of rows.
            pub const ROWS: $crate::scratch_column::Column<Self> = $rows;

            /// The schemas of its columns.
            pub const SCHEMAS: &'static [$crate::column::ColumnSchema] =
                &$crate::row::schemas::<Self, { <$row as $crate::row::Row>::COLUMNS.len() }>(
                    <$row as $crate::row::Row>::COLUMNS,
                );
        }

        impl $crate::row::Row for $row {
            const TABLE: &'static $crate::table::TableSchema = &$table;
            const ROWS: $crate::scratch_column::Column<Self> = Self::ROWS;
            const COLUMNS: &'static [$crate::row::RowColumn<Self>] = {
                use $crate::row::kinds::*;
                &[
                    $($($(
                        $kind(stringify!($field), |row: &$row| row.$field, $($argument),*)$(.$method($($more)?))*,
                    )+)?)*
                ]
            };
        }
    };
}
pub(crate) use rows;
