"""What a training step and ranking cost with each baseline, and how that grows: simulated layout graphs in memory."""

from dataclasses import replace

import numpy as np

from kit.bench.growth import growth, layout_graph

GRAPHS = (4, 16, 64)  # of 2,000 configurations: what trees are grown on
ROWS, NODES = (16, 64, 256), (32, 96, 288)  # of each of the four graphs of a network's step
RANKED, RANKED_NODES = (250, 1_000, 4_000), (16, 64, 256)
NETWORKS = ("gru", "sage")


def labelled(configs, configurable=64, graphs=1):
    """Layout graphs with runtimes, of six nodes for each configurable one."""
    found = []
    for seed in range(graphs):
        graph = layout_graph(configs, 6 * configurable, configurable, seed)
        runtime = np.random.default_rng(seed).integers(10**6, 10**7, configs)
        found.append(replace(graph, id=f"{graph.id}-{seed}", config_runtime=runtime))
    return found


def fitted(model, graphs):
    """A ranker that was trained for one step."""
    from kit.models import ranker as rankers

    ranker = rankers.resolve(model)()
    options = {"features": "wide"} if model == "gbdt" else {}  # of a chain the physical ones are all alike
    ranker.fit(graphs, [], seed=0, minutes=None, steps=1, folder=None, threads=1, **options)
    return ranker


def _trees(graphs):
    """A booster with all its rows binned: features of the graphs are computed before."""
    import lightgbm as lgb

    from kit.models.tables import tables

    learn = tables(graphs, "wide", 10_000, 0)
    data = lgb.Dataset(learn.features, np.concatenate([t.ranks for t in learn]))
    return lgb.Booster({"num_leaves": 15, "num_threads": 1, "verbose": -1, "force_row_wise": True}, data)


def _batch(model, configs, rows, configurable):
    """A network, its optimiser, and four graphs with the rows of a step."""
    import torch

    from kit.models.examples import examples

    graphs = labelled(configs, configurable, 4)
    network = fitted(model, graphs[:1]).network
    drawn = [(example, torch.arange(min(rows, len(example.runtime)))) for example in examples(graphs, configs, 0)]
    return network, torch.optim.AdamW(network.parameters()), drawn


def _step(network, optimiser, drawn):
    from kit.models.neural import threads_of_torch
    from kit.models.training import loss_of

    with threads_of_torch(1):
        optimiser.zero_grad()
        loss_of(network.train(), drawn, "listmle", "cpu").backward()
        optimiser.step()


def rows():
    """Rows of the bench table."""
    yield growth("a boosting round of gbdt (wide) on graphs of 2,000 configurations", "graphs", GRAPHS,
                 lambda graphs: _trees(labelled(2_000, graphs=graphs)), lambda booster: booster.update())
    for model in NETWORKS:
        yield growth(f"a training step of {model} on 4 graphs of 64 configurable nodes", "configurations", ROWS,
                     lambda count, model=model: _batch(model, max(ROWS), count, 64), lambda made: _step(*made))
        yield growth(f"a training step of {model} on 4 graphs, 64 configurations each", "configurable nodes", NODES,
                     lambda nodes, model=model: _batch(model, 256, 64, nodes), lambda made: _step(*made))
    for model in ("gbdt", *NETWORKS):
        yield growth(f"ranking a graph of 64 configurable nodes with {model}", "configurations", RANKED,
                     lambda count, model=model: (fitted(model, labelled(100)), *labelled(count)),
                     lambda made: made[0].scores(made[1]))
        yield growth(f"ranking 500 configurations with {model}", "configurable nodes", RANKED_NODES,
                     lambda nodes, model=model: (fitted(model, labelled(100)), *labelled(500, nodes)),
                     lambda made: made[0].scores(made[1]))
