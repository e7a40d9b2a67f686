"""Alerts and dashboards against the metrics and tables that the binary really writes."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path

import duckdb
import pytest
import yaml
from places import DEPLOY, ROOT, ran

ALERTS = DEPLOY / "prometheus/alerts.yaml"
BATCHES, LAKE = DEPLOY / "grafana/batches.json", DEPLOY / "grafana/lake.json"


@pytest.fixture(scope="session")
def night(binary: Path, snapshots: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A lake with two releases of two hosts, one damaged input, and the metrics of both commands."""
    folder = tmp_path_factory.mktemp("night")
    for release, name in [("2.4.0", "s1"), ("2.4.1", "s2")]:
        (folder / f"incoming/{release}").mkdir(parents=True)
        shutil.copy(snapshots / f"{name}.heapsnapshot.zst", folder / f"incoming/{release}/web'1.heapsnapshot.zst")
    shutil.copy(snapshots / "damaged.heapsnapshot.zst", folder / "incoming/2.4.1")
    command = [binary, "analyze", folder / "incoming", "--out", folder / "lake", "--release", "{folder}"]
    command += ["--label", "host=web'1", "--quiet", "--metrics", folder / "batch.prom"]
    assert ran(command).returncode == 1
    command = [binary, "fleet", "rollup", folder / "lake", "--quiet", "--metrics", folder / "fleet.prom"]
    assert ran(command).returncode == 0
    return folder


def metrics(folder: Path) -> set[str]:
    """Families that the files declare, also those without a sample now."""
    text = "".join((folder / f"{name}.prom").read_text() for name in ["batch", "fleet"])
    return set(re.findall(r"^# TYPE (\S+) gauge$", text, re.MULTILINE))


def promtool(*words: str | Path, text: str | None = None) -> subprocess.CompletedProcess:
    assert shutil.which("promtool"), "install promtool (Debian: prometheus)"
    return ran(["promtool", *words], input=text)


def expressions() -> dict[str, str]:
    """Every expression of alerts and dashboard."""
    rules = [rule for group in yaml.safe_load(ALERTS.read_text())["groups"] for rule in group["rules"]]
    found = {f"alert {rule['alert']}": rule["expr"] for rule in rules}
    for panel in json.loads(BATCHES.read_text())["panels"]:
        found |= {f"{panel['title']} {target['refId']}": target["expr"] for target in panel["targets"]}
    return found


def test_collectors_read_the_metrics(night: Path) -> None:
    """With the parser of node_exporter's collector of files."""
    for name in ["batch", "fleet"]:
        assert promtool("check", "metrics", text=(night / f"{name}.prom").read_text()).returncode == 0


def test_expressions_name_metrics_and_labels_that_exist(night: Path, tmp_path: Path) -> None:
    known = metrics(night)
    for place, expression in expressions().items():
        named = set(re.findall(r"\bheaplake_\w+", expression))
        assert named and named <= known, (place, named - known)
    # The syntax of those of the dashboard, as rules.
    rules = [
        {"record": f"a:{number}", "expr": text.replace("$instance", ".*")}
        for number, text in enumerate(expressions().values())
    ]
    (tmp_path / "rules.yaml").write_text(yaml.safe_dump({"groups": [{"name": "a", "rules": rules}]}))
    done = promtool("check", "rules", tmp_path / "rules.yaml")
    assert done.returncode == 0, done.stdout + done.stderr


def test_every_metric_of_the_document_is_used_or_left_out_on_purpose(night: Path) -> None:
    page = (ROOT / "docs/operations.md").read_text()
    documented = set(re.findall(r"^\| `(heaplake_\w+)`", page, re.MULTILINE))
    assert documented and documented <= metrics(night)
    used = {name for text in expressions().values() for name in re.findall(r"\bheaplake_\w+", text)}
    assert documented - used == set()


def test_alerts() -> None:
    done = promtool("check", "rules", "--lint-fatal", ALERTS)
    assert done.returncode == 0, done.stdout + done.stderr
    done = promtool("test", "rules", DEPLOY / "prometheus/alerts.test.yaml")
    assert done.returncode == 0, done.stdout + done.stderr
    tested = {
        case["alertname"]
        for test in yaml.safe_load((DEPLOY / "prometheus/alerts.test.yaml").read_text())["tests"]
        for case in test["alert_rule_test"]
        if case.get("exp_alerts")
    }
    assert tested == {
        rule["alert"] for group in yaml.safe_load(ALERTS.read_text())["groups"] for rule in group["rules"]
    }


@pytest.mark.parametrize("path", [BATCHES, LAKE], ids=lambda path: path.stem)
def test_dashboards_are_whole(path: Path) -> None:
    board = json.loads(path.read_text())
    assert board["uid"].startswith("heaplake-") and board["schemaVersion"] >= 36
    ids = [panel["id"] for panel in board["panels"]]
    assert len(ids) == len(set(ids))
    cells: set[tuple[int, int]] = set()
    for panel in board["panels"]:
        place = panel["gridPos"]
        taken = {
            (x, y)
            for x in range(place["x"], place["x"] + place["w"])
            for y in range(place["y"], place["y"] + place["h"])
        }
        assert place["x"] + place["w"] <= 24 and not cells & taken, panel["title"]
        cells |= taken
        assert panel["targets"] and all(target["datasource"]["uid"] == "${datasource}" for target in panel["targets"])
    # Each variable that a panel names is there.
    text = json.dumps(board["panels"])
    variables = {one["name"] for one in board["templating"]["list"]}
    named = set(re.findall(r"\$\{(\w+)[:}]", text)) | set(re.findall(r"\$(?!__)(\w+)", text))
    assert named <= variables


def filled(sql: str, values: dict[str, list[str]]) -> str:
    """A statement as Grafana sends it."""
    sql = re.sub(r"\$__timeFilter\((\w+)\)", r"\1 BETWEEN '2000-01-01' AND '2100-01-01'", sql)

    def quoted(match: re.Match[str]) -> str:
        return ", ".join("'" + value.replace("'", "''") + "'" for value in values[match[1]])

    return re.sub(r"\$\{(\w+):sqlstring\}", quoted, sql)


def test_statements_answer(night: Path, binary: Path, tmp_path: Path) -> None:
    views = ran([binary, "lake", "views", night / "lake", "--duckdb"], check=True)
    connection = duckdb.connect(str(tmp_path / "heaps.duckdb"))
    connection.execute(views.stdout)
    board = json.loads(LAKE.read_text())
    values = {}
    for variable in board["templating"]["list"][1:]:
        rows = [row[0] for row in connection.execute(variable["query"]).fetchall()]
        values[variable["name"]] = rows if variable["multi"] else rows[:1]
    assert values == {
        "release": ["2.4.1", "2.4.0"],
        "host": ["web'1"],
        "base": values["base"],
        "target": values["target"],
    }
    values |= {"base": ["2.4.0"], "target": ["2.4.1"]}
    for panel in board["panels"]:
        answer = connection.execute(filled(panel["targets"][0]["rawSql"], values))
        columns, rows = [column[0] for column in answer.description], answer.fetchall()
        # No finding of these snapshots is high or medium.
        assert rows or panel["title"].startswith("Findings"), panel["title"]
        if panel["type"] == "timeseries":
            assert columns == ["time", "metric", "value"], panel["title"]
    grown = next(panel for panel in board["panels"] if panel["title"].startswith("Classes:"))
    rows = connection.execute(filled(grown["targets"][0]["rawSql"], values)).fetchall()
    assert any(row[0] == "Leaky" and row[3] == 25600 for row in rows)
