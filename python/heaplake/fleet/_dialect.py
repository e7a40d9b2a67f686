"""Statements for both engines: DataFusion, which `heaplake sql` is, and Spark.

Statements are written for DataFusion. Spark differs in few words, which are replaced:

| DataFusion | Spark |
|---|---|
| `$name` | `:name` |
| `map_extract(labels, X)[1]` | `labels[X]` |
| `first_value(A ORDER BY B DESC, C, D)` | `min_by(A, struct(-B, C, D))` |
| `array_element(A, N)` | `element_at(A, N)` |
| `array_sort(A)` | `sort_array(A)`, which sorts numbers as such; Spark's `array_sort` calls a comparison |

Nothing is done about what both understand in another way: `/` of whole numbers, places of nulls in `ORDER BY`. Statements
that are shared do without.
"""

from __future__ import annotations

import re

__all__ = ["for_spark"]


def for_spark(statement: str) -> str:
    """The statement in Spark's dialect.

    >>> for_spark("SELECT map_extract(labels, $label)[1] FROM runs LIMIT $limit")
    'SELECT labels[:label] FROM runs LIMIT :limit'
    >>> for_spark("first_value(release || '/' || snapshot ORDER BY bytes DESC, release, snapshot)")
    "min_by(release || '/' || snapshot, struct(-bytes, release, snapshot))"
    """
    code = "\n".join(line for line in statement.splitlines() if not line.startswith("--"))
    code = re.sub(r"\bmap_extract\(([^(),]+), *([^(),]+)\)\[1\]", r"\1[\2]", code)
    code = re.sub(r"\bfirst_value\(([^()]+?) ORDER BY (\w+) DESC, ([^()]+)\)", r"min_by(\1, struct(-\2, \3))", code)
    code = code.replace("array_element(", "element_at(").replace("array_sort(", "sort_array(")
    return re.sub(r"\$([a-z_]+)", r":\1", code)
