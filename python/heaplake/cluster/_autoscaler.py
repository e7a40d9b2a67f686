"""Whether a cluster has an autoscaler, which adds nodes for tasks that wait.

Ray has no public call for that. What its autoscalers write for `ray status` says it: nodes of a cluster without node types
have a type for each node, `node_` and the number of the node.
"""

from __future__ import annotations

import json
from importlib import import_module
from typing import Any

__all__ = ["scales"]

_STATUS = "__autoscaling_status"


def scales(ray: Any) -> bool | None:
    """Whether nodes may be added; None if nothing is known, as from outside the cluster (`ray://`)."""
    try:
        types = _types(ray)
    except (ImportError, LookupError, AttributeError, TypeError, ValueError, AssertionError, OSError, RuntimeError):
        # These interfaces are not public: other versions of Ray may lack them.
        return None
    except ray.exceptions.RayError:
        return None
    return None if not types else any(not kind.startswith("node_") for kind in types)


def _types(ray: Any) -> set[str]:
    """The node types of the nodes that the autoscaler knows."""
    utils = import_module("ray.autoscaler.v2.utils")
    if utils.is_autoscaler_v2():
        status = import_module("ray.autoscaler.v2.sdk").get_cluster_status(ray.get_runtime_context().gcs_address)
        nodes = [*status.active_nodes, *status.idle_nodes, *status.pending_nodes, *status.pending_launches]
        return {node.ray_node_type_name for node in nodes}
    text = import_module("ray.experimental.internal_kv")._internal_kv_get(_STATUS)
    if not text:
        return set()
    report = json.loads(text).get("autoscaler_report") or {}
    mapping = report.get("node_type_mapping") or {}
    return {*mapping.values(), *report.get("active_nodes", {}), *report.get("pending_launches", {})}
