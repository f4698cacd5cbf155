"""Gradient-boosted trees on feature tables: pointwise on ranks, LambdaRank, or pairs of configurations."""

import json
import time
from pathlib import Path

import numpy as np
from scipy.stats import rankdata

from evaluation.errors import InputError
from evaluation.files import atomic
from kit.distinct import distinct_configs
from kit.models.tables import dataset, distinct_features, feature_module, rows_within, tables

OBJECTIVES = ("ranks", "lambdarank", "pairwise")
FEATURE_SETS = ("physical", "wide")
GRADES = 31  # lambdarank takes labels 0..30 with LightGBM's default gains
MOST_ROWS = 10_000  # LightGBM refuses larger queries
ROUNDS, PATIENCE = 400, 60
MODEL_FILE, RECORD_FILE = "model.txt", "ranker.json"


class Gbdt:
    """LightGBM on `kit.features`; a query, and a unit of validation, is a graph.

    The defaults suit few graphs: small trees, columns drawn for each tree, and the monotone constraints of
    the feature set, which say that larger means slower.
    """

    def fit(self, train, valid, *, seed=0, minutes=None, steps=None, folder=None, threads=1, objective="ranks",
            features="physical", rows=MOST_ROWS, memory=None, engine=None):
        """Fit to the labelled graphs.

        Parameters
        ----------
        train, valid : sequence of graphs
            Graphs with nothing to rank are passed over. Boosting stops early on the mean within-graph rank
            correlation of `valid`; without validation graphs, or with `steps`, all rounds are kept.
        seed : int
        minutes : float, optional
            Boosting ends after the round in which this time is reached.
        steps : int, optional
            Exactly so many boosting rounds.
        folder : Path, optional
            Part of the protocol; nothing is written before `save`.
        threads : int
        objective : {"ranks", "lambdarank", "pairwise"}
            Regression on within-graph ranks; LambdaRank on 31 grades; a classifier of pairs
            (`kit.models.pairwise`).
        features : {"physical", "wide"}
        rows : int
            At most so many configurations a graph, see `kit.models.tables.stratified`; never more than 10,000.
        memory : int, optional
            Bytes that the process may take; fewer rows are learnt from where it is tight.
        engine : optional
            Dask workers (`evaluation.engine.open_engine`): feature tables are computed there, the same ones, and trees
            grow there, see `kit.models.gbdt_dask`.

        Raises
        ------
        InputError
            For an unknown objective or feature set, where no graph has anything to rank, or for `minutes` with
            `engine`.
        """
        for value, known in ((objective, OBJECTIVES), (features, FEATURE_SETS)):
            if value not in known:
                raise InputError(f"{value!r} is unknown to the gbdt; it takes one of {', '.join(known)}")
        self.objective, self.feature_set, self.threads = objective, features, threads
        if engine and minutes:
            raise InputError("Dask workers cannot all stop at the same minute; leave --minutes out with --cluster")
        if not len(train):
            raise InputError("there is no training graph")
        columns = len(feature_module(train[0]).columns(features))
        rows = rows_within(memory, train, columns, min(rows, MOST_ROWS))
        learn = tables(train, features, rows, seed, engine)
        if not len(learn):
            raise InputError("no training graph has two configurations that differ in runtime")
        judge = [] if steps else tables(valid, features, rows, seed, engine)
        self.booster = self._boost(learn, judge, self._parameters(train[0], learn, seed), steps, minutes, seed, engine)

    def _parameters(self, graph, learn, seed):
        """LightGBM's parameters; `graph` tells the kind."""
        sign = -1 if self.objective == "lambdarank" else 1  # there a high score is a fast configuration
        module = feature_module(graph)
        monotone = module.MONOTONE[self.feature_set]
        rows = len(learn.runtime)
        return {
            "objective": {"ranks": "regression", "lambdarank": "lambdarank", "pairwise": "binary"}[self.objective],
            "metric": "none", "learning_rate": 0.05, "num_leaves": 15, "min_data_in_leaf": min(20, 1 + rows // 50),
            "feature_fraction": 0.7, "bagging_fraction": 0.7, "bagging_freq": 1, "lambda_l2": 1.0,
            "monotone_constraints": [sign * monotone.get(c, 0) for c in module.columns(self.feature_set)],
            "label_gain": list(range(GRADES)), "seed": seed, "num_threads": self.threads, "deterministic": True,
            "force_row_wise": True, "verbose": -1,
        }

    def _boost(self, learn, judge, parameters, steps, minutes, seed, engine):
        import lightgbm as lgb

        from kit.models import pairwise

        data = pairwise.dataset(learn, seed) if self.objective == "pairwise" else _dataset(learn, parameters, engine)
        metric = _rank_correlation(judge, -1 if self.objective == "lambdarank" else 1)
        if engine:
            from kit.models import gbdt_dask

            return gbdt_dask.train(engine, parameters, data, steps or ROUNDS,
                                   np.array(judge.features) if len(judge) else None, metric, PATIENCE)
        callbacks = [_deadline(minutes)] if minutes else []
        valid_sets = []
        if len(judge):
            valid_sets = [lgb.Dataset(np.array(judge.features), np.zeros(len(judge.runtime)), reference=data)]
            callbacks.append(lgb.early_stopping(PATIENCE, verbose=False))
        booster = lgb.train(parameters, data, steps or ROUNDS, valid_sets=valid_sets, callbacks=callbacks,
                            feval=metric)
        return lgb.Booster(model_str=booster.model_to_string(num_iteration=booster.best_iteration or None))

    def scores(self, graph):
        """Predicted rank of every configuration: float64, shape (c,), lower = faster."""
        table, inverse = distinct_features(graph, self.feature_set), distinct_configs(graph).inverse
        if self.objective == "pairwise":
            from kit.models import pairwise

            return pairwise.scores(self.booster, table, self.threads)[inverse]
        predicted = self.booster.predict(table, num_threads=self.threads)[inverse]
        return -predicted if self.objective == "lambdarank" else predicted

    def save(self, folder):
        """Write LightGBM's text format and a small JSON record."""
        with atomic(Path(folder) / MODEL_FILE) as out:
            out.write(self.booster.model_to_string())
        with atomic(Path(folder) / RECORD_FILE) as out:
            json.dump({"objective": self.objective, "features": self.feature_set, "threads": self.threads}, out)

    @classmethod
    def load(cls, folder):
        """Read what `save` wrote; `InputError` where a file is missing or damaged."""
        import lightgbm as lgb

        ranker = cls()
        try:
            record = json.loads((Path(folder) / RECORD_FILE).read_text(encoding="utf-8"))
            ranker.objective, ranker.feature_set = record["objective"], record["features"]
            ranker.threads = record["threads"]
            ranker.booster = lgb.Booster(model_str=(Path(folder) / MODEL_FILE).read_text(encoding="utf-8"))
        except (OSError, ValueError, KeyError, lgb.basic.LightGBMError) as error:
            raise InputError(f"{folder}: not a saved gbdt ({error}); train again") from error
        return ranker


def _dataset(learn, parameters, engine):
    """Rows of all graphs as a LightGBM data set; graphs weigh the same, whatever their number of rows."""
    plain = engine is not None
    ranks = np.concatenate([t.ranks for t in learn])
    if parameters["objective"] == "lambdarank":
        grades = np.rint((1 - ranks) * (GRADES - 1)).astype(np.int32)
        return dataset(learn, grades, parameters, plain, group=learn.sizes)
    weight = np.repeat(np.mean(learn.sizes) / learn.sizes, learn.sizes)
    return dataset(learn, ranks, parameters, plain, weight=weight)


def _rank_correlation(judge, sign):
    """Mean within-graph Spearman correlation: it orders models as Kendall's tau does, at a fraction of the cost."""
    if not len(judge):
        return None
    ends = np.cumsum([len(t.runtime) for t in judge])[:-1]
    targets = [rankdata(t.runtime) for t in judge]

    def metric(predicted, _):
        parts = np.split(sign * predicted, ends)
        return "rank_correlation", np.mean([_correlation(rankdata(p), t)
                                            for p, t in zip(parts, targets, strict=True)]), True

    return metric


def _correlation(a, b):
    a, b = a - a.mean(), b - b.mean()
    norm = np.sqrt((a @ a) * (b @ b))
    return (a @ b) / norm if norm else 0.0


def _deadline(minutes):
    """A LightGBM callback that ends boosting after so many minutes."""
    from lightgbm.callback import EarlyStopException

    end = time.monotonic() + 60 * minutes

    def callback(env):
        if time.monotonic() > end:
            raise EarlyStopException(env.iteration, env.evaluation_result_list or [])

    return callback
