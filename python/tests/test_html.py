"""What Jupyter shows of runs and lakes."""

from __future__ import annotations

import json
import shutil
from html.parser import HTMLParser
from pathlib import Path

import pytest

import heaplake
from heaplake import samples
from heaplake._words import shortened, size, visible


class Reader(HTMLParser):
    """Texts and tags; fails where tags do not close."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: set[str] = set()
        self.texts: list[str] = []
        self.feed(page)
        assert not self.open, self.open

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.tags.add(tag)
        if tag != "br":
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


def test_a_run_shows_its_findings_and_classes(shop: heaplake.Lake) -> None:
    run = shop.run("web1", release="2.4.2")
    texts = Reader(run._repr_html_()).texts
    said = " ".join(texts)
    finding = run.findings().row(0, named=True)
    assert finding["message"] in said and finding["severity"].upper() in said
    assert {"Session", "web1", "2.4.2", "v8-heapsnapshot"} <= set(texts)
    assert f"{size(run.heap_bytes or 0)} in {run.nodes:,} objects" in said and "2026-11-23 03:00 UTC" in said


def test_a_lake_shows_its_runs(shop: heaplake.Lake, everything: heaplake.Lake) -> None:
    texts = Reader(shop._repr_html_()).texts
    assert texts[0] == "9 runs" and texts.count("web2") == 6 and {"host", "region", "eu", "us"} <= set(texts)
    for lake in (shop, everything):
        for shown in [lake, *lake, lake.tables]:
            page = shown._repr_html_()
            assert str(lake.path) not in page
            Reader(page)
    assert repr(shop) == f"<Lake {shop.path}: 9 runs of 3 releases>" and "3,0" not in repr(shop.runs[0])


def test_answers_are_shown(shop: heaplake.Lake) -> None:
    said = Reader(shop.diff("release=2.4.0", "release=2.4.2")._repr_html_()).texts
    assert "Session" in said and any(text.startswith("+") and text.endswith("MiB") for text in said)
    said = Reader(shop.rollup()._repr_html_()).texts
    assert "Clusters (1)" in said and any("Shop.sessions" in text for text in said)


def test_names_are_data(tmp_path: Path) -> None:
    hostile = "<script>alert(1)</script>&\u202e\n"
    said = json.loads(samples.snapshot(leak="sessions", seed=1))
    said["strings"][said["strings"].index("Session")] = hostile
    (tmp_path / "a.heapsnapshot").write_text(json.dumps(said))
    labels = {"host": "<i>web"}
    lake = heaplake.analyze(tmp_path / "a.heapsnapshot", out=tmp_path / "lake", labels=labels)
    for page in (lake._repr_html_(), lake.runs[0]._repr_html_()):
        reader = Reader(page)
        assert not reader.tags & {"script", "i"} and "\u202e" not in page
    assert any("<script>" in text for text in Reader(lake.runs[0]._repr_html_()).texts)


@pytest.mark.filterwarnings("ignore::heaplake.DamagedRun")
def test_damaged_runs_are_shown(shop: heaplake.Lake, tmp_path: Path) -> None:
    shutil.copytree(shop.runs[0].path, tmp_path / "release=1/snapshot=torn")
    (tmp_path / "release=1/snapshot=torn/run.json").write_text("{")
    texts = Reader(heaplake.open(tmp_path)._repr_html_()).texts
    assert texts[0] == "0 runs" and "damaged" in texts


def test_words() -> None:
    assert [size(n) for n in (0, 1023, 1536, -(5 << 20), 3 << 40)] == [
        "0 B",
        "1,023 B",
        "1.5 KiB",
        "-5.0 MiB",
        "3.0 TiB",
    ]
    assert visible("a\tb\x1b\u200b é") == "a\\tb\\u{1b}\\u{200b} é"
    assert shortened("abcdefghij", 5) == "ab…ij" and shortened("abc", 3) == "abc"
