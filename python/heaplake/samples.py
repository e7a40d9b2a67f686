"""Small snapshots of a made-up web shop, healthy or with a leak, to try things out without a service of one's own.

>>> from heaplake import samples
>>> samples.write("incoming/web1.heapsnapshot", leak="sessions", seed=1)
PosixPath('incoming/web1.heapsnapshot')

They are files of V8 (`.heapsnapshot`) of a few hundred kilobytes. The same arguments give the same bytes.
"""

from __future__ import annotations

import json
import os
import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

__all__ = ["LEAKS", "snapshot", "write"]

#: What can grow: its name, and how it is held.
LEAKS = {
    "sessions": "shop.sessions, a map of sessions that nobody ends",
    "orders": "shop.pending, a list of orders that are never sent",
    "events": "bus.log, a list of all messages",
    "cache": "shop.cache, an object with a property per entry",
    "callbacks": "shop.timers, a set of closures",
}

_KINDS = ["hidden", "array", "string", "object", "code", "closure", "regexp", "number", "native", "synthetic"]
_MORE_KINDS = ["concatenated string", "sliced string", "symbol", "bigint", "object shape"]
_EDGES = ["context", "element", "property", "internal", "hidden", "shortcut", "weak"]
_META = {
    "node_fields": ["type", "name", "id", "self_size", "edge_count", "trace_node_id", "detachedness"],
    "node_types": [_KINDS + _MORE_KINDS, "string", "number", "number", "number", "number", "number"],
    "edge_fields": ["type", "name_or_index", "to_node"],
    "edge_types": [_EDGES, "string_or_number", "node"],
    "trace_function_info_fields": ["function_id", "name", "script_name", "script_id", "line", "column"],
    "trace_node_fields": ["id", "function_info_index", "count", "size", "children"],
    "sample_fields": ["timestamp_us", "last_assigned_id"],
    "location_fields": ["object_index", "script_id", "line", "column"],
}

#: Files of the shop, by what they define: classes, functions that allocate.
_SHOP = "shop.js"
_FILES = {
    "Session": "node_modules/session-store/index.js",
    "openSession": "node_modules/session-store/index.js",
    "Order": "node_modules/orders/index.js",
    "placeOrder": "node_modules/orders/index.js",
    "Message": "node_modules/bus/index.js",
    "publish": "node_modules/bus/index.js",
    "Entry": "node_modules/page-cache/lib/cache.js",
    "lookUp": "node_modules/page-cache/lib/cache.js",
}
_SCRIPTS = [_SHOP, *sorted(set(_FILES.values()))]


@dataclass
class _Call:
    """A node of the tree of calls that allocated, with what it allocated itself."""

    number: int
    function: int
    count: int = 0
    size: int = 0
    callees: list[_Call] = field(default_factory=list)

    def said(self) -> list[Any]:
        callees = [part for callee in self.callees for part in callee.said()]
        return [self.number, self.function, self.count, self.size, callees]


@dataclass
class _Heap:
    """A graph of objects, and the calls that allocated them."""

    nodes: list[list[Any]] = field(default_factory=list)
    edges: list[list[tuple[int, str | int, int]]] = field(default_factory=list)
    functions: list[tuple[str, int]] = field(default_factory=lambda: [("(root)", 0)])
    calls: list[_Call] = field(default_factory=lambda: [_Call(1, 0)])
    locations: list[int] = field(default_factory=list)

    def call(self, stack: Sequence[tuple[str, int]]) -> _Call:
        """The node of a stack of functions, each with its line, the outermost first."""
        at = self.calls[0]
        for function in stack:
            if function not in self.functions:
                self.functions.append(function)
            number = self.functions.index(function)
            below = next((callee for callee in at.callees if callee.function == number), None)
            if below is None:
                below = _Call(len(self.calls) + 1, number)
                self.calls.append(below)
                at.callees.append(below)
            at = below
        return at

    def node(self, kind: str, name: str, size: int, by: _Call | None = None) -> int:
        if by is not None:
            by.count, by.size = by.count + 1, by.size + size
        self.nodes.append([(_KINDS + _MORE_KINDS).index(kind), name, size, 0 if by is None else by.number])
        self.edges.append([])
        return len(self.nodes) - 1

    def located(self, node: int, name: str, line: int) -> int:
        """The node, with the place of the constructor of its class, or of the function that it is."""
        self.locations += [7 * node, 1 + _SCRIPTS.index(_FILES.get(name, _SHOP)), line, 0]
        return node

    def edge(self, start: int, kind: str, label: str | int, end: int) -> None:
        self.edges[start].append((_EDGES.index(kind), label, end))

    def said(self, tracked: bool) -> str:
        texts: dict[str, int] = {"": 0}

        def text(said: str) -> int:
            return texts.setdefault(said, len(texts))

        nodes: list[int] = []
        edges: list[int] = []
        for at, (kind, name, size, call) in enumerate(self.nodes):
            nodes += [kind, text(name), 2 * at + 1, size, len(self.edges[at]), call if tracked else 0, 0]
            for kind_of_edge, label, end in self.edges[at]:
                edges += [kind_of_edge, label if isinstance(label, int) else text(label), 7 * end]
        functions = [
            part
            for number, (name, line) in enumerate(self.functions)
            for part in (number, text(name), text(_file(name) if number else ""), _script(name, number), line, 0)
        ]
        snapshot = {
            "snapshot": {
                "meta": _META,
                "node_count": len(self.nodes),
                "edge_count": len(edges) // 3,
                "trace_function_count": len(self.functions) if tracked else 0,
            },
            "nodes": nodes,
            "edges": edges,
            "trace_function_infos": functions if tracked else [],
            "trace_tree": self.calls[0].said() if tracked else [],
            "samples": [],
            "locations": self.locations,
            "strings": list(texts),
        }
        return json.dumps(snapshot, separators=(",", ":"))


def _file(function: str) -> str:
    return _FILES.get(function, _SHOP)


def _script(function: str, number: int) -> int:
    """The number of its script; the root of all calls has none."""
    return 1 + _SCRIPTS.index(_file(function)) if number else 0


def snapshot(*, leak: str | None = None, seed: int = 0, size: float = 1.0, tracked: bool = False) -> str:
    """A snapshot as text.

    - `leak`: what grows, one of `LEAKS`, or None for a healthy shop
    - `seed`: another one is another host, or another moment: numbers of objects differ a little
    - `size`: how far the leak has grown; 1 is about 6,000 objects and 3 MB
    - `tracked`: whether the runtime tracked who allocated what, which makes a tree of calls

    Raises `ValueError` if there is no such leak.
    """
    if leak is not None and leak not in LEAKS:
        raise ValueError(f"there is no leak {leak!r}; there are {', '.join(LEAKS)}")
    chance = random.Random(seed)

    def between(low: int, high: int) -> int:
        return low + int(chance.random() * (high - low))

    heap = _Heap()
    root = heap.node("synthetic", "", 0)
    roots = heap.node("synthetic", "(GC roots)", 0)
    main = heap.call([("main", 4)])
    world = heap.node("object", "global", 40, main)
    heap.edge(root, "element", 1, roots)
    heap.edge(root, "shortcut", 1, world)
    _define(heap, roots)
    shop, bus = (heap.located(heap.node("object", name, 56, main), name, 8) for name in ("Shop", "Bus"))
    heap.edge(world, "property", "shop", shop)
    heap.edge(world, "property", "bus", bus)
    _container(heap, (shop, "config"), "Array", ("object", "Setting"), between(300, 400), "readConfig", 12)
    _container(heap, (shop, "catalog"), "Map", ("object", "Product"), between(500, 900), "loadCatalog", 31)
    _container(heap, (shop, "recent"), "Array", ("object", "Session"), between(20, 60), "openSession", 52)
    _grow(heap, leak, shop, bus, int(between(5000, 7000) * size))
    return heap.said(tracked)


def _define(heap: _Heap, roots: int) -> None:
    """The constructors of the shop, which say in which script their objects are written."""
    for number, script in enumerate(_SCRIPTS):
        code = heap.node("code", f"system / Script / {script}", 120)
        for at, name in enumerate(
            ["Shop", "Bus"] if script == _SHOP else sorted(n for n in _FILES if _FILES[n] == script)
        ):
            function = heap.located(heap.node("closure", name, 64), name, 8)
            shared = heap.node("code", name, 56)
            heap.edge(roots, "element", 10 * number + at, function)
            heap.edge(function, "internal", "shared", shared)
            heap.edge(shared, "internal", "script", code)


def _grow(heap: _Heap, leak: str | None, shop: int, bus: int, count: int) -> None:
    if leak == "sessions":
        _container(heap, (shop, "sessions"), "Map", ("object", "Session"), count, "openSession", 52)
    elif leak == "orders":
        _container(heap, (shop, "pending"), "Array", ("object", "Order"), count, "placeOrder", 70)
    elif leak == "events":
        _container(heap, (bus, "log"), "Array", ("object", "Message"), count, "publish", 88)
    elif leak == "callbacks":
        _container(heap, (shop, "timers"), "Set", ("closure", "tick"), count, "schedule", 101)
    elif leak == "cache":
        by = heap.call([("main", 4), ("handle", 44), ("lookUp", 120)])
        cache = heap.node("object", "Object", 56, by)
        heap.edge(shop, "property", "cache", cache)
        table = heap.node("array", "(object properties)", 16 + 24 * count, by)
        heap.edge(cache, "internal", "properties", table)
        for at in range(count):
            entry = heap.located(heap.node("object", "Entry", 56, by), "Entry", 8)
            heap.edge(cache, "property", f"key{at}", entry)
            heap.edge(entry, "property", "value", heap.node("string", f"value {at}", 400, by))


def _container(
    heap: _Heap, holder: tuple[int, str], name: str, element: tuple[str, str], count: int, function: str, line: int
) -> None:
    """A container of `count` objects of a class, each with a text of its own."""
    outer = [("main", 4)] if line < 44 else [("main", 4), ("handle", 44)]
    by = heap.call([*outer, (function, line)])
    texts = heap.call([*outer, (function, line), ("render", 140)])
    container = heap.node("object", name, 32, by)
    heap.edge(holder[0], "property", holder[1], container)
    table = heap.node("array", "(object elements)", 16 + 8 * count, by)
    heap.edge(container, "internal", "table", table)
    for at in range(count):
        one = heap.located(heap.node(*element, 56, by), element[1], 8)
        heap.edge(table, "element", at, one)
        heap.edge(one, "property", "text", heap.node("string", f"{holder[1]} {at}", 400, texts))


def write(
    path: str | os.PathLike[str],
    *,
    leak: str | None = None,
    seed: int = 0,
    size: float = 1.0,
    tracked: bool = False,
    captured_at: datetime | None = None,
) -> Path:
    """Writes a snapshot to a file, with its folder, and returns the path. See `snapshot`.

    `captured_at` becomes the time of the file: V8 does not say when a snapshot was taken, so that counts.
    """
    place = Path(path)
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(snapshot(leak=leak, seed=seed, size=size, tracked=tracked), encoding="utf-8")
    if captured_at is not None:
        os.utime(place, (captured_at.timestamp(), captured_at.timestamp()))
    return place
