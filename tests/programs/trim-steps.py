"""Trims a snapshot of steps.cjs: python3 trim-steps.py IN.heapsnapshot OUT.heapsnapshot

Keeps the root, a path from it to the registry, what the registry refers to, some layers deep, and for every fiftieth other
node a path too. Nodes keep their kind, name, id and size.
"""

import collections
import json
import sys


def main(source, target):
    file = json.load(open(source))
    meta = file["snapshot"]["meta"]
    fields, width, nodes, edges, strings = meta["node_fields"], len(meta["node_fields"]), file["nodes"], file["edges"], file["strings"]
    kinds, edge_kinds = meta["node_types"][0], meta["edge_types"][0]
    at = {name: fields.index(name) for name in ("type", "name", "id", "edge_count")}
    count = len(nodes) // width
    first = [0]
    for node in range(count):
        first.append(first[-1] + nodes[node * width + at["edge_count"]])

    def out(node):
        for edge in range(first[node], first[node + 1]):
            kind, label, to = edges[3 * edge:3 * edge + 3]
            yield edge_kinds[kind], label, to // width

    parent, queue = {0: 0}, collections.deque([0])
    while queue:
        node = queue.popleft()
        for kind, _, to in out(node):
            if kind != "weak" and to not in parent:
                parent[to] = node
                queue.append(to)

    keep = {0}

    def keep_path(node):
        while node not in keep:
            keep.add(node)
            node = parent[node]

    def kind(node):
        return kinds[nodes[node * width + at["type"]]]

    def name(node):
        return strings[nodes[node * width + at["name"]]]

    registry = next(n for n in parent if kind(n) == "object" and name(n) == "Registry" and any(
        e == "property" and strings[label] == "sessions" for e, label, _ in out(n)))
    keep_path(registry)
    layer = [registry]
    for _ in range(6):
        layer = [to for node in layer for k, _, to in out(node)
                 if k != "weak" and kind(to) not in ("hidden", "code", "closure", "native", "object shape") and to not in keep]
        keep.update(layer)
    for node in parent:
        if nodes[node * width + at["id"]] % 50 == 1:
            keep_path(node)

    order = sorted(keep)
    number = {node: new for new, node in enumerate(order)}
    used, texts = {}, []

    def text(index):
        if index not in used:
            used[index] = len(texts)
            texts.append(strings[index])
        return used[index]

    new_nodes, new_edges = [], []
    for node in order:
        row = nodes[node * width:(node + 1) * width]
        row[at["name"]] = text(row[at["name"]])
        kept = [(edge, to) for edge, (_, _, to) in zip(range(first[node], first[node + 1]), out(node)) if to in keep]
        row[at["edge_count"]] = len(kept)
        new_nodes += row
        for edge, to in kept:
            k, label = edges[3 * edge], edges[3 * edge + 1]
            if edge_kinds[k] not in ("element", "hidden"):
                label = text(label)
            new_edges += [k, label, number[to] * width]
    locations = meta["location_fields"]
    places = []
    for start in range(0, len(file["locations"]), len(locations)):
        place = file["locations"][start:start + len(locations)]
        if place[0] // width in keep:
            places += [number[place[0] // width] * width, *place[1:]]
    file["snapshot"].update(node_count=len(order), edge_count=len(new_edges) // 3, trace_function_count=0)
    file.update(nodes=new_nodes, edges=new_edges, strings=texts, locations=places,
                trace_function_infos=[], trace_tree=[], samples=[])
    with open(target, "w") as out_file:
        # As V8 writes it: readers of ids look for the line.
        out_file.write('{"snapshot":' + json.dumps(file.pop("snapshot"), separators=(",", ":")))
        for key, value in file.items():
            if key == "nodes":
                rows = [",".join(map(str, value[i:i + width])) for i in range(0, len(value), width)]
                out_file.write(',\n"nodes":[' + "\n,".join(rows) + "\n]")
            else:
                out_file.write(f',\n"{key}":' + json.dumps(value, separators=(",", ":")))
        out_file.write("}\n")


main(*sys.argv[1:])
