"""Types of the contract as readers name them, said here once more: what a reader must make of each."""

from __future__ import annotations

import pyarrow as pa

from heaplake._tables import ListOf, StructOf, Type

ARROW = {
    "Boolean": pa.bool_(),
    "UInt8": pa.uint8(),
    "UInt32": pa.uint32(),
    "UInt64": pa.uint64(),
    "Int32": pa.int32(),
    "Int64": pa.int64(),
    "Float64": pa.float64(),
    "Utf8": pa.string(),
    "Timestamp": pa.timestamp("us", tz="UTC"),
}

# Spark has no numbers without sign: each takes the next larger type that holds it.
SPARK = {
    "Boolean": "boolean",
    "UInt8": "smallint",
    "UInt32": "bigint",
    "UInt64": "decimal(20,0)",
    "Int32": "int",
    "Int64": "bigint",
    "Float64": "double",
    "Utf8": "string",
    "Timestamp": "timestamp",
    "Map": "map<string,string>",
}


def same_arrow(type: Type, found: pa.DataType) -> bool:
    """Whether a reader by Arrow has the type; names of the parts of lists and maps do not matter."""
    if isinstance(type, ListOf):
        return pa.types.is_list(found) and same_arrow(type.item, found.value_type)
    if isinstance(type, StructOf):
        if not pa.types.is_struct(found) or found.num_fields != len(type.fields):
            return False
        parts = zip(type.fields, found.fields, strict=True)
        return all(wanted.name == part.name and same_arrow(wanted.type, part.type) for wanted, part in parts)
    if type == "Map":
        return pa.types.is_map(found) and found.key_type == pa.string() and found.item_type == pa.string()
    return bool(found == ARROW[type])


def spark(type: Type) -> str:
    """A type as Spark prints it."""
    if isinstance(type, ListOf):
        return f"array<{spark(type.item)}>"
    if isinstance(type, StructOf):
        return f"struct<{','.join(f'{field.name}:{spark(field.type)}' for field in type.fields)}>"
    return SPARK[type]
