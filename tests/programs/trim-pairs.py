"""Trims a snapshot of pairs.cjs: python3 trim-pairs.py IN.heapsnapshot OUT.heapsnapshot

Keeps what its registry refers to, and of the engine what tells which function created an object: maps, functions, what
they share, scripts, and some edges of native contexts. Nodes keep their kind, name, id and size.
"""

import json
import sys

LISTED = {
    "object_function", "error_function", "type_error_function", "range_error_function", "array_function",
    "js_map_fun", "js_set_fun", "js_array_packed_elements_map",
}
ENGINE = {"code", "hidden", "native", "synthetic", "symbol"}


class Snapshot:
    def __init__(self, path):
        self.file = json.load(open(path))
        meta = self.file["snapshot"]["meta"]
        self.fields, self.nodes, self.edges = meta["node_fields"], self.file["nodes"], self.file["edges"]
        self.kinds, self.edge_kinds = meta["node_types"][0], meta["edge_types"][0]
        self.width, count = len(self.fields), self.fields.index("edge_count")
        self.first = [0]
        for at in range(count, len(self.nodes), self.width):
            self.first.append(self.first[-1] + self.nodes[at])

    def __len__(self):
        return len(self.first) - 1

    def name(self, node):
        return self.file["strings"][self.nodes[node * self.width + 1]]

    def kind(self, node):
        return self.kinds[self.nodes[node * self.width]]

    def outgoing(self, node):
        for at in range(self.first[node], self.first[node + 1]):
            kind, label, to = self.edges[3 * at:3 * at + 3]
            name = self.edge_kinds[kind]
            yield kind, name, label if name in ("element", "hidden") else self.file["strings"][label], to // self.width

    def is_kept(self, node, edge, label):
        kind, name = self.kind(node), self.name(node)
        if name == "system / NativeContext":
            return edge == "internal" and label in LISTED
        if kind == "closure":
            return label in ("shared", "map")
        if kind == "object shape" or name.startswith("system / Map"):
            return label in ("back_pointer", "constructor", "descriptors")
        if kind in ENGINE:
            return label in ("script", "script_or_debug_info")
        return "global" not in name and name != "(map descriptors)" and " / part of key" not in str(label)

    def kept(self, node):
        return [edge for edge in self.outgoing(node) if self.is_kept(node, edge[1], edge[2])]


def main(source, target):
    snapshot = Snapshot(source)
    pairs = lambda node: sum(str(label).startswith("pair_") for _, _, label, _ in snapshot.outgoing(node))
    registry = next(node for node in range(len(snapshot)) if snapshot.kind(node) == "object" and pairs(node) > 10)
    contexts = [node for node in range(len(snapshot)) if snapshot.name(node) == "system / NativeContext"]
    keep, leaves, work = {0, registry, *contexts}, set(), [registry, *contexts]
    while work:
        for _, _, label, to in snapshot.kept(work.pop()):
            if to not in keep:
                keep.add(to)
                (leaves.add if label in ("__proto__", "context", "previous", "receiver") else work.append)(to)
    order = sorted(keep)
    number = {node: at for at, node in enumerate(order)}
    strings = {}
    text = lambda value: strings.setdefault(value, len(strings))
    element = snapshot.edge_kinds.index("element")
    nodes, edges = [], []
    for node in order:
        row = snapshot.nodes[node * snapshot.width:(node + 1) * snapshot.width]
        row[1] = text(snapshot.name(node))
        if node == 0:
            own = [(element, at, number[to]) for at, to in enumerate([registry, *contexts])]
        elif node in leaves:
            own = []
        else:
            own = [
                (kind, text(label) if isinstance(label, str) else label, number[to])
                for kind, _, label, to in snapshot.kept(node) if to in number
            ]
        row[snapshot.fields.index("edge_count")] = len(own)
        if "trace_node_id" in snapshot.fields:
            row[snapshot.fields.index("trace_node_id")] = 0
        nodes.append(row)
        edges += [[kind, label, to * snapshot.width] for kind, label, to in own]
    head = snapshot.file["snapshot"]
    head["node_count"], head["edge_count"] = len(nodes), len(edges)
    rows = lambda rows: "[" + "\n,".join(",".join(map(str, row)) for row in rows) + "]"
    empty = {key: [] for key in ("trace_function_infos", "trace_tree", "samples", "locations")}
    rest = json.dumps({**empty, "strings": list(strings)})[1:]
    with open(target, "w") as out:
        out.write(f'{{"snapshot":{json.dumps(head)},\n"nodes":{rows(nodes)},\n"edges":{rows(edges)},\n{rest}')


main(*sys.argv[1:3])
