"""One training loop for all networks: seeded, resumable, alone or with other processes.

What a step sees follows from the seed and the step's number alone, so that a training that was killed and continued
does what one that was not would have done. Graphs come in a new random order each epoch, `graphs` a step; of each graph
`rows` configurations are drawn without replacement from its distinct ones, however many there are.
"""

import math
import time
from copy import deepcopy
from dataclasses import dataclass

import numpy as np
import torch

from evaluation import metrics
from kit.models import checkpoints, curve, losses, processes
from kit.progress import progress

DEFAULT_STEPS, WARM_UP, LOWEST_RATE = 600, 0.05, 0.05
EVALUATE_EVERY, PATIENCE, CLIP, DECAY = 25, 20, 1.0, 0.01
JUDGED_AT_ONCE = 250
EPSILON = 1e-6  # gradients that are zero but for rounding shall move nothing
DRAW_EVERY = 30.0  # seconds between pictures


@dataclass(frozen=True)
class Settings:
    """How to train; see `kit.models.neural.Neural.fit`."""

    seed: int
    minutes: float | None
    steps: int | None
    objective: str
    rows: int
    graphs: int
    rate: float
    kind: str

    @property
    def last_step(self):
        """Number of steps, or None where time ends the training."""
        return self.steps or (None if self.minutes else DEFAULT_STEPS)


def draw_step(examples, settings, step):
    """The graphs of a step and their rows.

    Parameters
    ----------
    examples : list of Example
    settings : Settings
    step : int

    Returns
    -------
    list of (Example, int64 tensor)
    """
    drawn, count = [], min(settings.graphs, len(examples))
    for position in range(step * count, (step + 1) * count):
        epoch, place = divmod(position, len(examples))
        example = examples[np.random.default_rng([settings.seed, 0, epoch]).permutation(len(examples))[place]]
        rows = np.random.default_rng([settings.seed, 1, position]).permutation(len(example.runtime))[:settings.rows]
        drawn.append((example, torch.from_numpy(np.sort(rows))))
    return drawn


def padded(parts, fill):
    """Vectors of different lengths as one matrix, and the mask of what is there."""
    matrix = torch.nn.utils.rnn.pad_sequence(parts, batch_first=True, padding_value=fill)
    length = torch.tensor([len(part) for part in parts], device=matrix.device)
    return matrix, torch.arange(matrix.shape[1], device=matrix.device) < length[:, None]


def learning_rate(settings, done):
    """Linear warm-up, then a half cosine to a twentieth; `done` is the part of the training that lies behind."""
    if done < WARM_UP:
        return settings.rate * (done + 1e-3) / WARM_UP
    fall = 0.5 * (1 + math.cos(math.pi * min(1.0, (done - WARM_UP) / (1 - WARM_UP))))
    return settings.rate * (LOWEST_RATE + (1 - LOWEST_RATE) * fall)


class _Training:
    """The state of a training that checkpoints carry."""

    def __init__(self, network, settings, device):
        self.network, self.settings, self.device = network, settings, device
        self.optimizer = torch.optim.AdamW(network.parameters(), lr=settings.rate, weight_decay=DECAY, eps=EPSILON)
        self.scaler = torch.amp.GradScaler("cuda", enabled=device.startswith("cuda"))
        self.step, self.seconds, self.best, self.stale = 0, 0.0, None, 0
        self.weights = None

    def state(self):
        """Tensors and plain values."""
        return {"network": self.network.state_dict(), "optimizer": self.optimizer.state_dict(),
                "scaler": self.scaler.state_dict(), "weights": self.weights, "step": self.step,
                "seconds": self.seconds, "best": self.best, "stale": self.stale}

    def restore(self, state):
        """Continue from what `state` gave."""
        self.network.load_state_dict(state["network"])
        self.optimizer.load_state_dict(state["optimizer"])
        self.scaler.load_state_dict(state["scaler"])
        self.weights, self.step, self.seconds = state["weights"], state["step"], state["seconds"]
        self.best, self.stale = state["best"], state["stale"]

    def done(self):
        """The part of the training that lies behind, from 0 to 1."""
        if self.settings.last_step:
            return self.step / self.settings.last_step
        return self.seconds / (60 * self.settings.minutes)

    def advance(self, learn):
        """One optimiser step; the loss."""
        for group in self.optimizer.param_groups:
            group["lr"] = learning_rate(self.settings, self.done())
        drawn = draw_step(learn, self.settings, self.step)
        mine = drawn[processes.rank()::processes.count()]
        self.network.train()
        self.optimizer.zero_grad(set_to_none=False)
        loss = torch.zeros((), device=self.device)
        if mine:
            loss = loss_of(self.network, mine, self.settings.objective, self.device) * (len(mine) / len(drawn))
            self.scaler.scale(loss).backward()
        found = loss.detach().clone()
        parameters = [p for p in self.network.parameters() if p.requires_grad]
        for parameter in parameters:
            parameter.grad = torch.zeros_like(parameter) if parameter.grad is None else parameter.grad
        processes.add([p.grad for p in parameters] + [found])
        self.scaler.unscale_(self.optimizer)
        torch.nn.utils.clip_grad_norm_(parameters, CLIP)
        self.scaler.step(self.optimizer)
        self.scaler.update()
        self.step += 1
        return float(found)

    def judge(self, row):
        """Keep the weights where an evaluation is the best so far; whether to go on."""
        merit = [row["tau"] if self.settings.kind == "layout" else round(row["tile_score"], 2), row["tau"]]
        if self.best is None or merit > self.best:
            self.best, self.stale, self.weights = merit, 0, deepcopy(self.network.state_dict())
        else:
            self.stale += 1
        return self.stale < PATIENCE


def loss_of(network, drawn, objective, device):
    """Mean loss of the network on graphs and rows."""
    scores, runtimes = [], []
    with torch.autocast("cuda", dtype=torch.float16, enabled=device.startswith("cuda")):
        for example, rows in drawn:
            scores.append(network(example.graph.rows(rows).to(device)))
            runtimes.append(example.runtime[rows].to(device))
    matrix, mask = padded(scores, 0.0)
    return losses.named(objective)(matrix, padded(runtimes, 1.0)[0], mask)


@torch.no_grad()
def evaluate(network, examples, settings, device):
    """Means over graphs of tau, tile score, top-1 error and loss.

    Returns
    -------
    dict
        ``tau``, ``top1_error``, ``valid_loss`` and, for tiles, ``tile_score``.
    """
    network.eval()
    names = ("tau", "top1_error", "valid_loss", "tile_score")
    total = torch.zeros(len(names), dtype=torch.float64, device=device)
    for example in (examples[i] for i in range(processes.rank(), len(examples), processes.count())):
        rows = torch.arange(len(example.runtime)).split(JUDGED_AT_ONCE)
        scores = torch.cat([network(example.graph.rows(part).to(device)).float() for part in rows])
        loss = losses.named(settings.objective)(scores[None], example.runtime[None].to(device),
                                                torch.ones_like(scores[None], dtype=torch.bool))
        predicted, runtime = scores.cpu().numpy(), example.runtime.numpy()
        listed = np.argsort(predicted, kind="stable")
        total += torch.tensor([metrics.kendall_tau(predicted, runtime), metrics.top_k_error(listed, runtime, 1),
                               float(loss), metrics.tile_score(listed, runtime)], device=device)
    processes.add([total])
    means = dict(zip(names, (total / len(examples)).tolist(), strict=True))
    return means if settings.kind == "tile" else {k: v for k, v in means.items() if k != "tile_score"}


def train_network(network, learn, judge, settings, folder=None, device="cpu"):
    """Train in place; the network ends with the weights of its best evaluation.

    Parameters
    ----------
    network : Network
        Its statistics fitted.
    learn, judge : list of Example
        Without graphs to judge on there is no early stopping, and the last weights are kept.
    settings : Settings
    folder : Path, optional
        For checkpoints, which are removed at the end, and the learning curve.
    device : str

    Notes
    -----
    Layouts are judged by mean tau, tiles by the mean tile score to two places and then tau: a few kernels
    decide the third place, and tau tells more.
    """
    processes.join()
    training = _Training(network, settings, device)
    writes = folder is not None and processes.rank() == 0
    state = checkpoints.read_last(folder) if folder is not None else None
    if state is not None:
        training.restore(state)
    if writes:
        curve.restart(folder, training.step)
    _loop(training, learn, judge, folder if writes else None)
    if training.weights is not None:
        network.load_state_dict(training.weights)
    if writes:
        curve.draw(folder, settings.objective)
        checkpoints.remove(folder)


def _loop(training, learn, judge, folder):
    before, start, drawn, recent = training.seconds, time.monotonic(), -DRAW_EVERY, []
    bar = _bar(training)
    going = training.done() < 1
    while going:
        recent.append(training.advance(learn))
        training.seconds = processes.first(before + time.monotonic() - start)
        bar.update((training.step if training.settings.last_step else int(training.seconds)) - bar.n)
        going = training.done() < 1
        if training.step % EVALUATE_EVERY and going:
            continue
        row = {"step": training.step, "seconds": round(training.seconds, 3), "loss": float(np.mean(recent))}
        recent = []
        if judge:
            row |= evaluate(training.network, judge, training.settings, training.device)
            going &= training.judge(row)
        bar.set_postfix({name: row[name] for name in ("loss", "tau") if name in row}, refresh=False)
        if folder is not None:
            curve.append(folder, row)
            if training.seconds - drawn > DRAW_EVERY:
                curve.draw(folder, training.settings.objective)
                drawn = training.seconds
            checkpoints.write(folder, training.step, training.state())
    bar.close()


def _bar(training):
    """Progress in steps, or in seconds where time ends the training."""
    steps = training.settings.last_step
    total, done = (steps, training.step) if steps else (round(60 * training.settings.minutes), int(training.seconds))
    return progress(total=total, initial=done, desc="training", unit="step" if steps else "s",
                    disable=processes.rank() > 0)
