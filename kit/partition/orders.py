"""Topological orders: Kahn's algorithm by priority, with cheap sources placed just before their first consumer."""

import numpy as np
from numba import njit


@njit(cache=True, nogil=True)
def _push(heap, size, key, v):
    i = size
    while i > 0:
        parent = (i - 1) >> 1
        if key[heap[parent]] < key[v] or (key[heap[parent]] == key[v] and heap[parent] < v):
            break
        heap[i] = heap[parent]
        i = parent
    heap[i] = v


@njit(cache=True, nogil=True)
def _pop(heap, size, key):
    """Smallest of heap[:size] by (key, node); the heap then holds size - 1."""
    top, v = heap[0], heap[size - 1]
    size -= 1
    i = 0
    while 2 * i + 1 < size:
        child = 2 * i + 1
        if child + 1 < size:
            a, b = heap[child], heap[child + 1]
            if key[b] < key[a] or (key[b] == key[a] and b < a):
                child += 1
        c = heap[child]
        if key[v] < key[c] or (key[v] == key[c] and v < c):
            break
        heap[i] = c
        i = child
    if size > 0:
        heap[i] = v
    return top


@njit(cache=True, nogil=True)
def kahn(problem, key, attached, order):
    """Topological order by ascending priority; ties go to the smaller node number.

    Parameters
    ----------
    problem : Problem
    key : float64 (n,)
        Priority of every node.
    attached : bool (n,)
        Sources that wait for their first consumer instead of being placed by priority. Random priorities would put
        them far from it, and every stage between would pay for nothing.
    order : int64 (n,)
        Written: the nodes in order.

    Returns
    -------
    int
        How many nodes were placed; less than n only where the graph has a cycle.
    """
    n = len(key)
    waiting, heap, placed = np.empty(n, np.int64), np.empty(n, np.int64), np.zeros(n, np.bool_)
    size = 0
    for v in range(n):
        waiting[v] = 0
        for e in range(problem.pred_start[v], problem.pred_start[v + 1]):
            if not attached[problem.pred[e]]:
                waiting[v] += 1
        if waiting[v] == 0 and not attached[v]:
            _push(heap, size, key, v)
            size += 1
    count = 0
    while size > 0:
        v = _pop(heap, size, key)
        size -= 1
        for e in range(problem.pred_start[v], problem.pred_start[v + 1]):
            u = problem.pred[e]
            if attached[u] and not placed[u]:
                placed[u] = True
                order[count] = u
                count += 1
        order[count] = v
        count += 1
        for e in range(problem.succ_start[v], problem.succ_start[v + 1]):
            w = problem.succ[e]
            waiting[w] -= 1
            if waiting[w] == 0:
                _push(heap, size, key, w)
                size += 1
    return count


def attached_sources(problem, share=0.01):
    """Sources whose work is at most `share` of the mean: constants, parameters, inputs. Bool (n,)."""
    sources = (np.diff(problem.pred_start) == 0) & (np.diff(problem.succ_start) > 0)
    return sources & (problem.work <= share * problem.work.mean())


def order_by(problem, key, attached=None):
    """The order of `kahn` as a new array, int64 (n,)."""
    order = np.empty(len(problem.work), np.int64)
    if attached is None:
        attached = np.zeros(len(problem.work), bool)
    kahn(problem, np.ascontiguousarray(key, float), attached, order)
    return order


@njit(cache=True, nogil=True)
def _levels(problem, order):
    """Longest path, in edges, from a source to every node."""
    level = np.zeros(len(order))
    for v in order:
        for e in range(problem.succ_start[v], problem.succ_start[v + 1]):
            level[problem.succ[e]] = max(level[problem.succ[e]], level[v] + 1)
    return level


@njit(cache=True, nogil=True)
def _depth_first(problem, backwards):
    """Depth-first topological order: from the sources (reverse postorder), or from the sinks (postorder)."""
    n = len(problem.work)
    start, other = problem.succ_start, problem.succ
    if backwards:
        start, other = problem.pred_start, problem.pred
    state, at, stack, post = np.zeros(n, np.int8), start[:-1].copy(), np.empty(n + 1, np.int64), np.empty(n, np.int64)
    count = 0
    for root in range(n):
        if state[root] != 0:
            continue
        stack[0], size = root, 1
        state[root] = 1
        while size > 0:
            v = stack[size - 1]
            if at[v] < start[v + 1]:
                w = other[at[v]]
                at[v] += 1
                if state[w] == 0:
                    state[w] = 1
                    stack[size] = w
                    size += 1
            else:
                size -= 1
                post[count] = v
                count += 1
    return post if backwards else post[::-1].copy()


def standard_orders(problem):
    """A handful of sensible orders, each int64 (n,): as numbered, by level, depth first from both ends."""
    n, attached = len(problem.work), attached_sources(problem)
    numbered = order_by(problem, np.arange(n), attached)
    level = _levels(problem, numbered)
    orders = [numbered, order_by(problem, level, attached)]
    for backwards in (False, True):
        key = np.empty(n)
        key[_depth_first(problem, backwards)] = np.arange(n)
        orders.append(order_by(problem, key, attached))
    return orders


def keys_of(order):
    """Priorities in [0, 1) that make `kahn` give `order` back."""
    key = np.empty(len(order))
    key[order] = (np.arange(len(order)) + 0.5) / len(order)
    return key
