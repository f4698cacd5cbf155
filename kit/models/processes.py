"""Several processes as one: what ``torchrun`` started, or this process alone."""

import os
from datetime import timedelta

TIMEOUT = timedelta(minutes=10)


def count():
    """Number of processes that train together."""
    return int(os.environ.get("WORLD_SIZE", "1"))


def rank():
    """Number of this process, from 0; the first one writes files."""
    return int(os.environ.get("RANK", "0")) if count() > 1 else 0


def join():
    """Meet the other processes, once: gloo on the CPU, NCCL on CUDA devices. Does nothing for one process."""
    if count() == 1:
        return
    import torch
    import torch.distributed as dist

    if not dist.is_initialized():
        dist.init_process_group("cpu:gloo,cuda:nccl" if torch.cuda.is_available() else "gloo", timeout=TIMEOUT)


def device():
    """The CUDA device of this process where there is one, else the CPU."""
    import torch

    return f"cuda:{os.environ.get('LOCAL_RANK', '0')}" if torch.cuda.is_available() else "cpu"


def wait():
    """Return when all processes have come here."""
    if count() > 1:
        import torch

        join()
        add([torch.zeros(1)])


def add(tensors):
    """Replace each tensor by its sum over the processes, in place."""
    if count() == 1 or not tensors:
        return
    import torch
    import torch.distributed as dist

    flat = torch.cat([t.reshape(-1) for t in tensors])
    dist.all_reduce(flat)
    for tensor, part in zip(tensors, flat.split([t.numel() for t in tensors]), strict=True):
        tensor.copy_(part.reshape(tensor.shape))


def first(value):
    """The first process's number, for all of them."""
    if count() == 1:
        return value
    import torch
    import torch.distributed as dist

    held = torch.tensor([value], dtype=torch.float64)
    dist.broadcast(held, 0)
    return float(held)
