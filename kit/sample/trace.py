"""Trace the programs of the embedded sample: JAX functions to HLO to `kit/sample/programs/*.npz`.

A maintainers' tool, the only part of the kit that needs JAX (kit/sample/trace-requirements.txt)::

    python -m kit.sample.trace [--only ARCHITECTURE]...
"""

import argparse
import os
from itertools import groupby

os.environ.setdefault("JAX_PLATFORMS", "cpu")

import jax
import jax.numpy as jnp
from jax import lax

from kit.hlo import build
from kit.hlo.schema import message
from kit.progress import progress
from kit.sample import programs as store
from kit.sample.tidy import tidy
from kit.sample.zoo.catalogue import ARCHITECTURES, programs
from kit.sample.zoo.layers import BATCH_AXIS, Parameters, cross_entropy

TYPES = {"f32": jnp.float32, "bf16": jnp.bfloat16}
STEPS, REPLICAS = 100, 4


def _adam(gradient, moments, step):
    first, second = (m + (1 - decay) * (g - m) for m, g, decay in
                     zip(moments, (gradient, gradient * gradient), (0.9, 0.999), strict=True))
    rate = jnp.sqrt(1 - 0.999**step) / (1 - 0.9**step)
    return rate * first / (jnp.sqrt(second) + 1e-6), (first, second)


def _updated(kind, value, gradient, moments, step):
    """One parameter after one step of its optimizer, and the optimizer's state."""
    if kind == "momentum":
        moment = 0.9 * moments[0] + gradient
        return value - 0.1 * moment, (moment,)
    change, moments = _adam(gradient, moments, step)
    if kind == "lamb":  # You et al., 2019: steps in proportion to the size of the weights
        change = change + 0.01 * value
        sizes = [jnp.sqrt((x * x).sum()) for x in (value, change)]
        change = change * jnp.where((sizes[0] > 0) & (sizes[1] > 0), sizes[0] / sizes[1], 1.0)
    return value - 1e-3 * change, moments


def _floats(inputs, dtype):
    return [x.astype(dtype) if x.dtype == jnp.float32 else x for x in inputs]


def _forward(program, training):
    """Function (values, *inputs) -> (outputs, new statistics)."""
    a = ARCHITECTURES[program.architecture]

    def forward(values, *inputs):
        p = Parameters(TYPES[program.type], training, values)
        outputs = a.function(p, *_floats(inputs, p.dtype), **program.options)
        return outputs, p.statistics

    return forward


def _shapes(program, inputs):
    """Shapes of the parameters and of the outputs, found without computing anything."""
    a = ARCHITECTURES[program.architecture]
    p = Parameters(TYPES[program.type], False)
    outputs = jax.eval_shape(lambda *x: a.function(p, *_floats(x, p.dtype), **program.options), *inputs)
    return p.shapes, outputs


def _step(program):
    """Function (state, inputs, target) -> state of one data-parallel training step."""
    a = ARCHITECTURES[program.architecture]
    forward = _forward(program, True)

    def step(state, inputs, target):
        values, moments, count = state

        def loss(values):
            outputs, statistics = forward(values, *inputs)
            if a.loss == "classes":
                return cross_entropy(outputs, target), statistics
            return ((outputs.astype(jnp.float32) - target) ** 2).mean(), statistics

        gradients, statistics = jax.grad(loss, has_aux=True)(values)
        count = count + 1
        new = [_updated(a.optimizer, v, lax.psum(g, BATCH_AXIS) / REPLICAS, m, count)
               for v, g, m in zip(values, gradients, moments, strict=True)]
        return [n[0] for n in new], [n[1] for n in new], count, statistics

    return step


def _training(program, inputs):
    """The training function and its arguments' shapes."""
    a = ARCHITECTURES[program.architecture]
    shapes, outputs = _shapes(program, inputs)
    moments = [(s,) * (1 if a.optimizer == "momentum" else 2) for s in shapes]
    target = (jax.ShapeDtypeStruct(outputs.shape[:-1], jnp.int32) if a.loss == "classes"
              else jax.ShapeDtypeStruct(outputs.shape, jnp.float32))
    state = (shapes, moments, jax.ShapeDtypeStruct((), jnp.float32))
    step = _step(program)
    if not a.looped:
        return step, (state, inputs, target)
    kept = jax.eval_shape(jax.shard_map(step, **_replicated()), state, inputs, target)[3]
    stacked = jax.tree.map(lambda s: jax.ShapeDtypeStruct((STEPS, *s.shape), s.dtype), (inputs, target))

    def loop(state, data):
        def body(i, carried):
            one = jax.tree.map(lambda x: lax.dynamic_index_in_dim(x, i, keepdims=False), data)
            return step(carried[:3], *one)
        return lax.fori_loop(0, STEPS, body, (*state[:3], state[3]))

    return loop, ((*state, kept), stacked)


def _replicated():
    mesh = jax.sharding.AbstractMesh((REPLICAS,), (BATCH_AXIS,))
    return {"mesh": mesh, "in_specs": jax.P(), "out_specs": jax.P(), "check_vma": False}


def lowered(program):
    """A program's HLO module as JAX makes it for a TPU, from shapes alone.

    Parameters
    ----------
    program : kit.sample.zoo.catalogue.Program

    Returns
    -------
    bytes
        A serialized HloModuleProto.
    """
    inputs = ARCHITECTURES[program.architecture].inputs(program.batch, program.side)
    if program.training:
        function, arguments = _training(program, inputs)
        function = jax.shard_map(function, **_replicated())
    else:
        function, arguments = (lambda v, *x: _forward(program, False)(v, *x)[0]), (_shapes(program, inputs)[0], *inputs)
    traced = jax.jit(function).trace(*arguments).lower(lowering_platforms=("tpu",))
    return traced.compiler_ir("hlo").as_serialized_hlo_module_proto()


def traced(program):
    """A program as the arrays of the data set."""
    return build(tidy(message("HloModuleProto").FromString(lowered(program))), where=program.name)


def main():
    """Trace everything, or some architectures, and write one file an architecture."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", action="append", choices=sorted(ARCHITECTURES), help="trace only this (repeatable)")
    only = parser.parse_args().only or sorted(ARCHITECTURES)
    wanted = sorted((p for p in programs() if p.architecture in only), key=lambda p: p.architecture)
    bar = progress(total=len(wanted), desc="trace", unit="program")
    for architecture, members in groupby(wanted, key=lambda p: p.architecture):
        modules = {}
        for program in members:
            modules[program.name] = traced(program)
            bar.update()
        store.write(architecture, ARCHITECTURES[architecture].source, modules)


if __name__ == "__main__":
    main()
