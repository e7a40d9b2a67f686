"""Snapshots of V8 for tests: small programs that hold what they are told to hold."""

from __future__ import annotations

import json
import random
from pathlib import Path

__all__ = ["write"]

_NODE_FIELDS = ["type", "name", "id", "self_size", "edge_count", "trace_node_id", "detachedness"]
_NODE_TYPES = [
    ["hidden", "array", "string", "object", "code", "closure", "regexp", "number", "native", "synthetic"],
    *("string", "number", "number", "number", "number", "number"),
]
_EDGE_TYPES = [
    ["context", "element", "property", "internal", "hidden", "shortcut", "weak"],
    *("string_or_number", "node"),
]
_OBJECT, _SYNTHETIC, _ELEMENT, _PROPERTY = 3, 9, 1, 2
_META = {
    "node_fields": _NODE_FIELDS,
    "node_types": _NODE_TYPES,
    "edge_fields": ["type", "name_or_index", "to_node"],
    "edge_types": _EDGE_TYPES,
    "trace_function_info_fields": [],
    "trace_node_fields": [],
    "sample_fields": [],
    "location_fields": [],
}


def write(path: Path, *, nodes: int = 2000, classes: int = 20, seed: int = 1) -> Path:
    """Writes a heap of so many objects: a tree in which each object refers to a few later ones. The same arguments give
    the same bytes."""
    draw = random.Random(seed)
    names = ["", "(GC roots)", *(f"Class{number}" for number in range(classes)), "child"]
    child = len(names) - 1
    children: list[list[int]] = [[] for _ in range(nodes)]
    for node in range(1, nodes):
        children[draw.randrange(max(0, node - 1000), node) if node > 1 else 0].append(node)
    node_numbers: list[int] = []
    edge_numbers: list[int] = []
    width = len(_NODE_FIELDS)
    for node in range(nodes):
        kind, name = (_SYNTHETIC, 1) if node == 0 else (_OBJECT, 2 + draw.randrange(classes))
        size = 0 if node == 0 else 8 * draw.randrange(2, 40)
        node_numbers += [kind, name, 2 * node + 1, size, len(children[node]), 0, 0]
        for number, to in enumerate(children[node]):
            edge_numbers += [_ELEMENT, number, to * width] if node == 0 else [_PROPERTY, child, to * width]
    head = {"meta": _META, "node_count": nodes, "edge_count": nodes - 1, "trace_function_count": 0}
    content = {
        "snapshot": head,
        "nodes": node_numbers,
        "edges": edge_numbers,
        "trace_function_infos": [],
        "trace_tree": [],
        "samples": [],
        "locations": [],
        "strings": names,
    }
    path.write_text(json.dumps(content, separators=(",", ":")))
    return path
