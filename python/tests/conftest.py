"""Lakes that the tests share: made once."""

from __future__ import annotations

import pytest
from lakes import make_everything, make_shop

import heaplake


@pytest.fixture(scope="session")
def shop(tmp_path_factory: pytest.TempPathFactory) -> heaplake.Lake:
    return make_shop(tmp_path_factory.mktemp("shop"))


@pytest.fixture(scope="session")
def everything(tmp_path_factory: pytest.TempPathFactory) -> heaplake.Lake:
    """Its name is awkward on purpose: brackets are a pattern to many readers."""
    return make_everything(tmp_path_factory.mktemp("everything") / "a lake [of all]")
