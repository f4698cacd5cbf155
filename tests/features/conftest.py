"""A small data set, and stores that are looked for anew."""

import pytest

from kit.features import store
from tests.builders import save_data_set


@pytest.fixture
def fresh(monkeypatch):
    """A store is looked for once in a process and manifest; tests make several."""
    monkeypatch.delenv(store.VARIABLE, raising=False)
    store._checked.cache_clear()


@pytest.fixture
def data(tmp_path):
    """Five tile kernels, and five layout graphs of 5 configurations and 2 configurable nodes."""
    return save_data_set(tmp_path / "data")
