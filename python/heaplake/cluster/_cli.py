"""`python -m heaplake.fleet analyze`: the command line."""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Sequence
from contextlib import redirect_stderr, redirect_stdout
from typing import Any, NoReturn

from heaplake._binary import HeaplakeError, UsageError, binary, run
from heaplake.cluster import _signals, _sizes
from heaplake.cluster._driver import Driver
from heaplake.cluster._jobs import Batch
from heaplake.cluster._ledger import Ledger, digest
from heaplake.cluster._manifest import Manifest, line_of
from heaplake.cluster._ray import Cluster
from heaplake.cluster._tell import Teller

__all__ = ["FLAGS", "OPTIONS", "main"]

# Options of `analyze` that go to each task as they are: those with a value, and those without.
OPTIONS = (
    *("release", "snapshot", "label", "scratch", "resume", "tables", "duplicates", "duplicates-of", "duplicate-work"),
    *("min-retained", "min-count", "class", "owners", "names", "symbols", "source-maps", "sizes", "referents", "walk"),
    *("texts", "texts-keep", "texts-key"),
)
FLAGS = ("edges", "no-edges", "values", "salvage", "allow-bomb", "report", "force")
# Those that `plan` takes too.
_PLANNED = ("tables", "duplicates", "duplicates-of", "duplicate-work", "edges", "no-edges", "allow-bomb")
# Options of `analyze` that concern a batch in one process.
_OF_ONE_PROCESS = {
    "findings_json": "the table findings of the lake has the findings of all runs",
    "metrics": "heaplake fleet rollup --metrics has the fleet, --manifest has each input",
}


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise UsageError(message, advice="heaplake fleet analyze --help has the options", exit_code=2)


def main(words: Sequence[str]) -> int:
    """Does what the words ask for; the exit code."""
    teller = Teller(quiet=False, json_log=False, on_stdout=True)
    try:
        _signals.listen()
        arguments = _parser().parse_args(words)
        json_log = arguments.log_format == "json"
        teller = Teller(quiet=arguments.quiet, json_log=json_log, on_stdout=not arguments.json)
        with open(os.devnull, "w") as nowhere, redirect_stdout(nowhere), redirect_stderr(nowhere):
            # Ray tells of workers and nodes that died, on both; so does the teller, once and in lines for people.
            return _analyze(arguments, teller)
    except HeaplakeError as problem:
        code = problem.exit_code or 2
        teller.failed(problem.cause, problem.advice, kind=problem.kind or "refused", exit_code=code)
        return code
    except KeyboardInterrupt:
        code = _signals.exit_code()
        teller.failed("interrupted", "run the same command again", kind="interrupted", exit_code=code)
        return code


def _analyze(arguments: argparse.Namespace, teller: Teller) -> int:
    batch = _batch(arguments)
    try:
        os.makedirs(batch.lake, exist_ok=True) if "://" not in batch.lake else None
    except OSError as problem:
        cause = f"{batch.lake}: cannot create: {problem.strerror}"
        raise UsageError(cause, advice="name a folder that can be written to", exit_code=2) from None
    manifest = Manifest(arguments.manifest)
    cluster = Cluster(arguments.address, arguments.scratch or batch.lake, batch.scratch_per_node)
    # Again, since Ray has handlers of its own.
    _signals.listen()
    interrupted = False
    try:
        _check(batch, cluster)
        driver = Driver(batch, cluster, manifest, teller, _ledger(arguments, batch))
        try:
            driver.work()
        except KeyboardInterrupt:
            interrupted = True
    finally:
        cluster.leave()
        manifest.finish()
    rows = manifest.in_order()
    if arguments.json:
        teller.print(json.dumps(rows, indent=2))
    status = ("committed", "unchanged", "failed")
    counts = {"inputs": len(rows) + driver.not_started, **{s: sum(row["status"] == s for row in rows) for s in status}}
    teller.finished(line_of(rows, driver.not_started), {**counts, "not_started": driver.not_started})
    if interrupted:
        raise KeyboardInterrupt
    return manifest.exit_code


def _ledger(arguments: argparse.Namespace, batch: Batch) -> Ledger | None:
    """What is known of the lake; None where each input is to be analysed whatever the lake has."""
    if arguments.force:
        return None
    options = digest(batch.options, batch.folder, run(["--version"]))
    return Ledger(batch.lake, batch.folder, options, page=arguments.report)


def _check(batch: Batch, cluster: Cluster) -> None:
    """Refuses what no node has, where no other nodes can come."""
    limits = cluster.limits(batch.most_memory)
    if limits is None or cluster.scales is not False:
        return
    if batch.cores is not None and batch.cores > limits.cores:
        cause = f"--threads {batch.cores}: the largest node has {limits.cores} cores"
        raise UsageError(cause, advice="ask for fewer, or add a larger node", exit_code=2)
    if (batch.memory or 0) > limits.memory:
        cause = f"--memory {_sizes.shown(batch.memory or 0)}: a task can have {_sizes.shown(limits.memory)} at most"
        raise UsageError(cause, advice="ask for less, or add a larger node", exit_code=2)


def _batch(arguments: argparse.Namespace) -> Batch:
    for name, advice in _OF_ONE_PROCESS.items():
        if getattr(arguments, name) is not None:
            option = name.replace("_", "-")
            raise UsageError(f"--{option} is not for a cluster", advice=advice, exit_code=2)
    if "-" in arguments.inputs:
        raise UsageError("standard input cannot be sent to a node", advice="name files", exit_code=2)
    if arguments.snapshot and (len(arguments.inputs) > 1 or not _is_one(arguments.inputs[0])):
        raise UsageError("--snapshot is for a single file", advice="leave --snapshot out", exit_code=2)
    named = (*arguments.inputs, arguments.out, arguments.scratch, arguments.owners, arguments.names, arguments.texts_key)
    named = (*named, *(arguments.symbols or ()), *(arguments.source_maps or ()))
    relative = [name for name in named if name is not None and not (os.path.isabs(name) or "://" in name)]
    return Batch(
        inputs=arguments.inputs,
        lake=arguments.out,
        options=["--out", arguments.out, *_handed_on(arguments, (*OPTIONS, *FLAGS))],
        plan_options=_handed_on(arguments, _PLANNED),
        binary=str(binary().absolute()),
        # Nodes need the folder of the driver only where names depend on it.
        folder=os.getcwd() if relative else "/",
        memory=arguments.memory,
        cores=arguments.threads,
        retries=arguments.retries,
        in_flight=arguments.in_flight,
        most_memory=arguments.most_memory,
        scratch_per_node=arguments.scratch_per_node,
        wait=arguments.wait,
        time_limit=arguments.time_limit,
    )


def _is_one(name: str) -> bool:
    return "://" in name or os.path.isfile(name)


def _handed_on(arguments: argparse.Namespace, names: Sequence[str]) -> list[str]:
    """The words for options that were given."""
    words: list[str] = []
    for name in names:
        value: Any = getattr(arguments, name.replace("-", "_"))
        if value is True:
            words.append(f"--{name}")
        elif value:
            words.extend(f"--{name}={one}" for one in (value if isinstance(value, list) else [value]))
    return words


def _size(text: str) -> int:
    try:
        return _sizes.parse(text)
    except ValueError as problem:
        raise argparse.ArgumentTypeError(str(problem)) from None


def _duration(text: str) -> float:
    try:
        return _sizes.seconds(text)
    except ValueError as problem:
        raise argparse.ArgumentTypeError(str(problem)) from None


def _from(least: int) -> Any:
    def number(text: str) -> int:
        if not text.isdigit() or int(text) < least:
            raise argparse.ArgumentTypeError(f"{text!r}: a number from {least} on")
        return int(text)

    return number


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(prog="heaplake fleet", description="Many snapshots on a Ray cluster.", allow_abbrev=False)
    verbs = parser.add_subparsers(dest="verb", required=True, parser_class=_Parser, metavar="VERB")
    analyze = verbs.add_parser(
        "analyze",
        allow_abbrev=False,
        help="analyse snapshots, one task of Ray for each",
        epilog="Example: heaplake fleet analyze nightly/ --out lake --address head:6379",
    )
    add = analyze.add_argument
    add("inputs", nargs="+", metavar="FILE", help="snapshots: files, folders, glob patterns")
    add("--out", required=True, metavar="LAKE", help="the lake, on a file system that all nodes share")
    cluster = analyze.add_argument_group("cluster").add_argument
    cluster("--address", help="of the cluster: HOST:PORT of its head (default: RAY_ADDRESS, or Ray on this machine)")
    cluster("--retries", type=_from(0), default=3, metavar="N", help="tries after a loss of node or memory (3)")
    cluster("--in-flight", type=_from(1), metavar="N", help="tasks that wait or run at a time (four per core)")
    cluster("--most-memory", type=_size, metavar="SIZE", help="memory that a task may ask for (the largest node's)")
    cluster("--scratch-per-node", type=_size, metavar="SIZE", help="scratch of a node, where nodes do not declare it")
    cluster("--wait", type=_duration, metavar="TIME", help="for a node that can take an input: 90s, 10m, 1h (10m)")
    cluster("--time-limit", type=_duration, metavar="TIME", help="of a task: 90s, 10m, 1h (none)")
    cluster("--manifest", metavar="FILE", help="write a row for each input: JSON lines, or .parquet")
    task = analyze.add_argument_group("each task").add_argument
    task("--memory", type=_size, metavar="SIZE", help="memory to begin with (what heaplake plan says)")
    task("--threads", type=_from(1), metavar="N", help="cores and threads (one, or two for large inputs)")
    for name in OPTIONS:
        task(f"--{name}", metavar="X", action="append" if name in _REPEATED else "store", help="as in heaplake analyze")
    for name in FLAGS:
        task(f"--{name}", action="store_true", help="as in heaplake analyze")
    for name in _OF_ONE_PROCESS:
        task(f"--{name.replace('_', '-')}", metavar="FILE", help=argparse.SUPPRESS)
    output = analyze.add_argument_group("output").add_argument
    output("-q", "--quiet", action="store_true", help="print nothing but errors")
    output("--json", action="store_true", help="print the manifest as JSON")
    output("--log-format", choices=("text", "json"), default="text", help="of standard error")
    output("--color", help=argparse.SUPPRESS)
    # A task is a line anyway, without its stages.
    for names in (("--summary",), ("-v", "--verbose")):
        output(*names, action="store_true", help=argparse.SUPPRESS)
    return parser


_REPEATED = ("label", "duplicates-of", "class", "symbols", "source-maps", "texts-keep")
