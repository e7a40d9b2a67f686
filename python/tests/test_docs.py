"""What the pages and the docstrings show runs, and says what they say. `docs/tour.md` and `docs/python.md` are doctests."""

from __future__ import annotations

import doctest
import importlib
import pkgutil
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import heaplake
from heaplake import plots, samples

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("page", ["docs/tour.md", "docs/python.md"])
def test_a_page_says_what_it_shows(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    done = doctest.testfile(str(ROOT / page), module_relative=False)
    assert done.attempted > 8 and done.failed == 0


def _modules() -> Iterator[ModuleType]:
    yield heaplake
    for module in pkgutil.iter_modules(heaplake.__path__, "heaplake."):
        # Clusters and fleets have examples and tests of their own.
        if module.name not in ("heaplake.cluster", "heaplake.fleet"):
            yield importlib.import_module(module.name)


def _examples() -> list[doctest.DocTest]:
    found = [test for module in _modules() for test in doctest.DocTestFinder().find(module)]
    return [test for test in found if test.examples]


@pytest.mark.parametrize("test", _examples(), ids=lambda test: test.name)
def test_examples_run(
    test: doctest.DocTest, shop: heaplake.Lake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each example runs; where it shows a value, that is the value on some lake and not compared."""
    (tmp_path / "lake").symlink_to(shop.path.resolve())
    samples.write(tmp_path / "incoming/web1.heapsnapshot")
    monkeypatch.chdir(tmp_path)
    lake = heaplake.open("lake")
    run = lake.run("web1", release="2.4.1")
    node = run.findings()["node"][0]
    names: dict[str, Any] = {"heaplake": heaplake, "plots": plots, "samples": samples, "lake": lake, "run": run}
    module = importlib.import_module(_module(test))
    if module.__name__.startswith("heaplake._"):
        names.update(vars(module))
    if any("diff." in example.source for example in test.examples):
        names["diff"] = lake.diff("release=2.4.0", "release=2.4.1")
    for example in test.examples:
        source = example.source.replace('"@1462621"', str(node)).replace('"app.nettrace"', repr(str(_trace())))
        source = source.replace('out="lake', 'out="other')
        exec(compile(source, test.name, "exec"), names)


def _trace() -> Path:
    return ROOT / "tests/fixtures/dotnet/both.nettrace.zst"


def _module(test: doctest.DocTest) -> str:
    name = test.name
    while True:
        try:
            importlib.import_module(name)
            return name
        except ModuleNotFoundError:
            name = name.rpartition(".")[0]


def test_all_that_is_public_is_described() -> None:
    for module in _modules():
        assert module.__doc__, module.__name__
        for name in getattr(module, "__all__", []):
            thing = getattr(module, name)
            assert not callable(thing) or thing.__doc__, f"{module.__name__}.{name}"
            members = vars(thing).items() if isinstance(thing, type) and thing.__module__.startswith("heaplake") else ()
            for member, value in members:
                if not member.startswith("_") and (callable(value) or isinstance(value, property)):
                    assert value.__doc__, f"{module.__name__}.{name}.{member}"
