"""LightGBM on Dask workers: the same tables, the same model with one worker, one as good with two."""

import os
import signal
import threading

import lightgbm as lgb
import numpy as np
import pytest

from evaluation.engine import open_engine
from evaluation.errors import InputError
from evaluation.metrics import kendall_tau
from kit.graphs import Graphs
from kit.models import gbdt_dask
from kit.models.gbdt import Gbdt
from kit.models.tables import tables
from kit.runs import train
from tests.builders import save_data_set

pytest.importorskip("distributed")
PARAMETERS = {"objective": "regression", "num_leaves": 7, "verbose": -1, "seed": 0, "deterministic": True,
              "force_row_wise": True, "metric": "none", "bagging_fraction": 0.7, "bagging_freq": 1}


@pytest.fixture(scope="module")
def two_workers():
    with open_engine("2") as engine:
        yield engine


@pytest.fixture(scope="module")
def graphs(tmp_path_factory):
    return Graphs(save_data_set(tmp_path_factory.mktemp("data"), train=6), "tile:xla", "train")


def smooth(rows=2_000):
    """Rows whose label the trees can learn."""
    features = np.random.default_rng(0).random((rows, 4)).astype(np.float32)
    return features, features[:, 0] + 2 * features[:, 1] ** 2


def test_tables_are_the_same_on_workers(two_workers, graphs):
    here, there = tables(graphs, "wide", 3, 1), tables(graphs, "wide", 3, 1, two_workers)
    assert len(here) == len(there) == 6
    for a, b in zip(here, there, strict=True):
        assert a.features.tobytes() == b.features.tobytes() and a.runtime.tobytes() == b.runtime.tobytes()


def test_one_worker_trains_the_same_model(graphs):
    here, there = Gbdt(), Gbdt()
    here.fit(graphs, graphs, seed=3)
    with open_engine("1") as engine:
        there.fit(graphs, graphs, seed=3, engine=engine)
    assert here.booster.num_trees() == there.booster.num_trees()
    for graph in graphs:
        assert here.scores(graph).tolist() == there.scores(graph).tolist()


def test_two_workers_learn_as_well_as_one(two_workers):
    features, label = smooth()
    alone = lgb.train(PARAMETERS, lgb.Dataset(features, label), 50).predict(features)
    both = gbdt_dask.train(two_workers, PARAMETERS, lgb.Dataset(features, label), 50).predict(features)
    assert both.tolist() != alone.tolist()  # it was trained on parts
    assert np.abs(both - label).mean() < 1.2 * np.abs(alone - label).mean() + 1e-3


def mean_tau(ranker, graphs):
    return np.mean([kendall_tau(ranker.scores(graph), graph.config_runtime) for graph in graphs])


def test_two_workers_rank_the_sample_as_well_as_none(two_workers, sample_data):
    train, valid = (Graphs(sample_data, "layout:xla:random", split) for split in ("train", "valid"))
    alone, both = Gbdt(), Gbdt()
    alone.fit(train, (), seed=0, steps=60)
    both.fit(train, (), seed=0, steps=60, engine=two_workers)
    assert abs(mean_tau(alone, valid) - mean_tau(both, valid)) < 0.02  # as the module says
    assert mean_tau(both, valid) > 0.5


def test_queries_stay_whole(two_workers):
    features, label = smooth(300)
    group = np.full(10, 30)
    dealt = gbdt_dask.deal(group, 300, 2)
    assert [len(rows) for rows in dealt] == [150, 150] and np.all(dealt[1] // 30 % 2 == 1)
    parameters = {**PARAMETERS, "objective": "lambdarank"}
    grades = np.digitize(label, [0.5, 1.0, 2.0])
    booster = gbdt_dask.train(two_workers, parameters, lgb.Dataset(features, grades, group=group), 20)
    assert np.corrcoef(booster.predict(features), label)[0, 1] > 0.8


def test_rounds_are_chosen_as_by_early_stopping():
    features, label = smooth(600)
    noisy = label + np.random.default_rng(1).normal(0, 1, 600)
    metric = lambda predicted, _: ("correlation", np.corrcoef(predicted, label[300:])[0, 1], True)  # noqa: E731
    data = lgb.Dataset(features[:300], noisy[:300], free_raw_data=False)
    valid = lgb.Dataset(features[300:], np.zeros(300), reference=data)
    stopped = lgb.train(PARAMETERS, data, 80, valid_sets=[valid], feval=metric,
                        callbacks=[lgb.early_stopping(5, verbose=False)])
    whole = lgb.train(PARAMETERS, data, 80)
    assert gbdt_dask.best_rounds(whole, features[300:], metric, 5) == stopped.best_iteration < 75


@pytest.mark.slow
@pytest.mark.parametrize("lost", [1, 2])
def test_workers_killed_while_trees_grow_cost_time_only(two_workers, lost):
    features, label = smooth(20_000)
    pids = list(two_workers.client.run(os.getpid).values())[:lost]
    timer = threading.Timer(3, lambda: [os.kill(pid, signal.SIGKILL) for pid in pids])
    timer.start()
    booster = gbdt_dask.train(two_workers, {**PARAMETERS, "num_leaves": 63}, lgb.Dataset(features, label), 800)
    assert not timer.is_alive() and booster.num_trees() == 800


def test_minutes_are_refused(graphs):
    with pytest.raises(InputError, match="--minutes"):
        Gbdt().fit(graphs, graphs, minutes=1, engine=object())


def test_rankers_that_train_here_say_so(tmp_path):
    with pytest.raises(InputError, match="torchrun"):
        train("gru", save_data_set(tmp_path / "data"), tmp_path / "run", cluster="2")
