"""A night of heap snapshots: analyze, then a rollup of two weeks and its page, then old runs go.

For Airflow 3. Settings are parameters of the run (PARAMS below). heaplake must be on PATH of the workers, and the folders
must have the same names on all of them.

Tasks are lists of arguments, not shell text: names cannot break out of them. An exit code that another try cannot repair
(1: damaged inputs, 2: usage) fails a task for good; 3 (memory or disk) and kills are tried again, and the same command
goes on where it was. The rollup runs after failed inputs too, since the others are in the lake.
"""

from __future__ import annotations

import subprocess
from datetime import timedelta

import pendulum
from airflow.sdk import Param, chain, dag, get_current_context, task
from airflow.sdk.exceptions import AirflowFailException

HEAPLAKE = "heaplake"
PARAMS = {
    "incoming": Param("/data/incoming", type="string", description="folder with a folder of snapshots per release"),
    "lake": Param("/data/lake", type="string", description="the lake: a folder, or a URL of an object store"),
    "scratch": Param("/scratch", type="string", description="a local disk, 1.1 times the largest snapshot (2.1: Java)"),
    "memory": Param("2GiB", type="string", pattern=r"^[0-9]+[KMGT]i?B$", description="budget of an analysis"),
    "metrics": Param("/data/metrics", type="string", description="folder for files of OpenMetrics"),
    "keep": Param(14, type="integer", minimum=1, description="nights that stay, per host"),
}
# Another try of the same command does not change these: damaged inputs, and usage or outputs.
FINAL = (1, 2)


def heaplake(*arguments: str) -> None:
    """Runs a command. Its output goes to the log of the task."""
    command = [HEAPLAKE, *arguments]
    print("running", command, flush=True)
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace")
    try:
        assert process.stdout is not None
        for line in process.stdout:
            print(line.rstrip("\n"), flush=True)
    finally:
        # The task was stopped: the command ends as after Ctrl-C, and goes on in the next try.
        if process.poll() is None:
            process.terminate()
        code = process.wait()
    if code in FINAL:
        raise AirflowFailException(f"heaplake {arguments[0]} ended with {code}; its log above says why")
    if code != 0:
        raise RuntimeError(f"heaplake {arguments[0]} ended with {code}; another try goes on")


@dag(
    schedule="0 3 * * *",
    start_date=pendulum.datetime(2026, 1, 1, tz="UTC"),
    catchup=False,
    # Nights do not overlap. Several writers may share a lake; this only keeps memory and disk to one night's.
    max_active_runs=1,
    default_args={"retries": 2, "retry_delay": timedelta(minutes=10), "execution_timeout": timedelta(hours=8)},
    params=PARAMS,
    tags=["heaplake"],
)
def heaplake_night():
    @task
    def analyze() -> None:
        given = get_current_context()["params"]
        heaplake(
            "analyze",
            "--out", given["lake"],
            "--release", "{folder}",
            "--label", "host={stem}",
            "--memory", given["memory"],
            "--scratch", given["scratch"],
            "--metrics", f"{given['metrics']}/heaplake-batch.prom",
            "--quiet",
            "--log-format", "json",
            "--report",
            "--",
            given["incoming"],
        )  # fmt: skip

    # After failed inputs too.
    @task(trigger_rule="all_done")
    def rollup() -> None:
        given = get_current_context()["params"]
        metrics = f"{given['metrics']}/heaplake-fleet.prom"
        heaplake("fleet", "rollup", "--since", "14d", "--metrics", metrics, "--", given["lake"])

    # Not after a failed rollup: old runs are what it would be repaired with.
    @task
    def drop() -> None:
        given = get_current_context()["params"]
        heaplake("lake", "drop", "--keep-last", str(given["keep"]), "--per", "host", "--yes", "--", given["lake"])

    # A run has the result of its last tasks, which succeed although inputs failed. This one fails where any failed.
    @task(trigger_rule="one_failed", retries=0)
    def result() -> None:
        raise AirflowFailException("a task failed")

    tasks = [analyze(), rollup(), drop()]
    chain(*tasks)
    tasks >> result()


heaplake_night()
