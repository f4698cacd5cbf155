"""What the rankers by networks share: fitting, scoring in bounded memory, saving and loading."""

import hashlib
import json
import zipfile
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import torch

from evaluation.errors import InputError
from evaluation.files import atomic
from kit import npz
from kit.distinct import distinct_configs
from kit.graphs import Graphs, TileGraph
from kit.models import losses, processes
from kit.models.checkpoints import read_tensors
from kit.models.encoding import LayoutConfigs, TileConfigs, encode_distinct
from kit.models.examples import StoredExamples, encoding_folder, examples
from kit.models.network import Network
from kit.models.training import Settings, train_network

MODEL_FILE, RECORD_FILE = "model.pt", "ranker.json"
POOL_ROWS, JUDGE_ROWS, JUDGE_GRAPHS = 10_000, 500, 100
CHUNK = 1 << 22  # numbers in what the body reads of a chunk of configurations; a network holds about a dozen such
MOST_CHUNKS = 8  # at once
MOST_CONFIGS = 512  # of a chunk
JOINS, POOLS = ("early", "late"), ("attention", "meanmax")
GRAPHS = {"tile": 8, "layout": 4}  # a step


@contextmanager
def threads_of_torch(count):
    """Let torch use so many threads inside the block."""
    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def kind_of(graph):
    """``"tile"`` or ``"layout"``."""
    return "tile" if isinstance(graph, TileGraph) else "layout"


class Neural:
    """A network as a ranker; subclasses name its body.

    The network sees what `kit.models.encoding` makes of a graph and nothing that depends on the other
    configurations of a batch, unless `across` is on.
    """

    body = None

    def fit(self, train, valid, *, seed=0, minutes=None, steps=None, folder=None, threads=1, objective="listmle",
            join="early", pool="attention", width=64, rows=64, rate=3e-3, cost=True, across=False, device=None,
            memory=None):
        """Fit to the labelled graphs.

        Parameters
        ----------
        train, valid : sequence of graphs
            Graphs with nothing to rank are passed over. The weights of the best evaluation on `valid` are
            kept; without validation graphs the last ones.
        seed : int
        minutes, steps : optional
            Wall time, or optimiser steps; a run of so many steps can be repeated and, once killed, continued.
        folder : Path, optional
            Where checkpoints and the learning curve are written; without it none are.
        threads : int
        objective : {"mse", "listmle", "hinge", "logistic"}
            Loss, see `kit.models.losses`.
        join : {"early", "late"}
            Whether the configuration enters before the nodes are read or after.
        pool : {"attention", "meanmax"}
        width : int
            Of all embeddings, a multiple of 8.
        rows : int
            Configurations a graph and step, drawn without replacement from its distinct ones.
        rate : float
            Largest learning rate.
        cost : bool
            Estimate the nodes' costs by opcode; False leaves the estimate out.
        across : bool
            Let configurations scored together attend to each other; scores then depend on them.
        device : str, optional
            By default a CUDA device where there is one.
        memory : int, optional
            Bytes that the process may take; matters for graphs that come from a store.

        Raises
        ------
        InputError
            For an unknown option, where no graph has anything to rank, or for a damaged checkpoint.
        """
        for value, known in ((objective, losses.LOSSES), (join, JOINS), (pool, POOLS)):
            if value not in known:
                raise InputError(f"{value!r} is unknown to the networks; they take one of {', '.join(known)}")
        if width % 8:
            raise InputError(f"a width of {width} is not shared by two directions and four heads: use a multiple of 8")
        device = device or processes.device()
        self.threads = threads
        with threads_of_torch(threads):
            learn = examples(train, POOL_ROWS, seed, memory=memory, workers=threads)
            if not learn:
                raise InputError("no training graph has two configurations that differ in runtime")
            judge = examples(_spread(valid, JUDGE_GRAPHS), JUDGE_ROWS, seed, memory=memory, workers=threads)
            kind = "tile" if isinstance(learn[0].graph.configs, TileConfigs) else "layout"
            self.options = {"kind": kind, "join": join, "pool": pool, "width": width, "cost": cost, "across": across}
            torch.manual_seed(seed)
            self.network = self._build().to(device)
            fit_statistics(self.network, learn)
            settings = Settings(seed=seed, minutes=minutes, steps=steps, objective=objective, rows=rows,
                                graphs=GRAPHS[kind], rate=rate, kind=kind)
            train_network(self.network, learn, judge, settings, folder, device)
        self.network.cpu()

    def _build(self):
        options = dict(self.options)
        return Network(options.pop("kind"), self.body(options["width"]), **options)

    def scores(self, graph):
        """Score of every configuration: float64, shape (c,), lower = faster.

        Copies of a configuration are scored once. Configurations are looked up and scored in chunks whose
        memory does not depend on their number; each thread has chunks of its own, since a recurrent network's
        many small steps gain nothing from threads that share them.
        """
        kind = self.options["kind"]
        if kind_of(graph) != kind:
            raise InputError(f"{graph.id}: a {kind_of(graph)} graph, and this ranker learnt from {kind} graphs")
        distinct = distinct_configs(graph)
        found = np.empty(len(distinct.first))  # results kept one by one among what a chunk frees let the heap grow
        with threads_of_torch(1):
            encoding = encode_distinct(graph)
            none = encoding.rows(torch.arange(0))
            with torch.inference_mode():
                prepared = self.network.eval().prepare(none, whole=True)
            parts = torch.arange(len(distinct.first)).split(self.chunk(none))
            with ThreadPoolExecutor(min(self.threads, MOST_CHUNKS), initializer=torch.set_num_threads,
                                    initargs=(1,)) as pool:
                list(pool.map(lambda part: self._score(encoding.rows(part), prepared, found, part.numpy()), parts))
        return found[distinct.inverse]

    @torch.inference_mode()
    def _score(self, encoding, prepared, found, places):
        found[places] = self.network(encoding, prepared).numpy()

    def chunk(self, encoding):
        """How many configurations are scored at once."""
        configurable = isinstance(encoding.configs, LayoutConfigs) and self.network.body.nodes == "configurable"
        nodes = len(encoding.configs.place if configurable else encoding.opcode)
        return max(1, min(MOST_CONFIGS, CHUNK // (nodes * self.options["width"])))

    def save(self, folder):
        """Write the weights, tensors only, and a small JSON record."""
        with atomic(Path(folder) / MODEL_FILE, "wb") as out:
            torch.save(self.network.state_dict(), out)
        with atomic(Path(folder) / RECORD_FILE) as out:
            json.dump({"ranker": type(self).__name__, "options": self.options, "threads": self.threads}, out)

    @classmethod
    def load(cls, folder):
        """Read what `save` wrote; `InputError` where a file is missing or damaged."""
        ranker = cls()
        try:
            record = json.loads((Path(folder) / RECORD_FILE).read_text(encoding="utf-8"))
            if record["ranker"] != cls.__name__:
                raise ValueError(f"it holds a {record['ranker']}")
            ranker.options, ranker.threads = record["options"], record["threads"]
            ranker.network = ranker._build()
            ranker.network.load_state_dict(read_tensors(Path(folder) / MODEL_FILE))
        except (OSError, ValueError, KeyError, TypeError, RuntimeError) as error:
            raise InputError(f"{folder}: not a saved {cls.__name__} ({error}); train again") from error
        return ranker


def _spread(graphs, most):
    """At most so many graphs, evenly spaced."""
    if len(graphs) <= most:
        return graphs
    places = np.unique(np.linspace(0, len(graphs) - 1, most).astype(int))
    if isinstance(graphs, Graphs):
        return Graphs.of([graphs.files[place] for place in places], graphs.collection, graphs.store)
    return [graphs[int(place)] for place in places]


def fit_statistics(network, learn):
    """Set what a network takes from its examples before training; of stored ones it is kept beside their encodings."""
    runtimes = []
    if not isinstance(learn, StoredExamples):
        network.fit_statistics(_noting(learn, runtimes), runtimes)
        return
    names = dict(network.named_buffers())
    digest = hashlib.sha256(repr((learn.key(), sorted(names))).encode()).hexdigest()[:16]
    file = encoding_folder(learn.store) / f"statistics-{digest}.npz"
    if not file.is_file():
        network.fit_statistics(_noting(learn, runtimes), runtimes)
        npz.write(file, {name: buffer.cpu().numpy() for name, buffer in names.items()})
    with zipfile.ZipFile(file) as archive:
        for name, buffer in names.items():
            buffer.copy_(torch.from_numpy(npz.read_member(archive, name, npz.damaged).copy()))


def _noting(learn, runtimes):
    """The examples' graphs, each looked at once; their median runtimes are put down on the way."""
    for example in learn:
        runtimes.append(float(example.runtime.median()))
        yield example.graph
