"""Made the modules of this folder, with JAX 0.10.2: ``python tests/data/hlo/make.py``.

``<name>.pb`` is a serialized HloModuleProto, ``<name>.txt`` the same module as text, the independent reference.
"""

import io
from pathlib import Path

import jax
import jax.numpy as jnp
from jax import lax

FOLDER = Path(__file__).parent
jax.config.update("jax_hlo_source_file_canonicalization_regex", r".*/")  # no folders of whoever runs this


def loop(x, w):
    """A loop with calls, dots, reductions and a transpose."""
    return lax.fori_loop(0, 4, lambda _, c: jax.nn.softmax(jax.nn.relu(c @ w)), x).T


def windows(x, k, d, i):
    """Convolutions with all attributes, windows, slices, padding, dynamic slices, a stable sort, a reversal."""
    numbers = ("NHWC", "HWIO", "NHWC")
    y = lax.conv_general_dilated(x, k, (2, 1), [(1, 2), (0, 1)], rhs_dilation=(1, 2), dimension_numbers=numbers)
    z = lax.conv_general_dilated(x, d, (1, 1), "SAME", feature_group_count=4, dimension_numbers=numbers)
    u = lax.conv_transpose(y, jnp.flip(k, (0, 1)), (2, 1), "SAME", dimension_numbers=numbers, transpose_kernel=True)
    p = lax.reduce_window(z, -jnp.inf, lax.max, (1, 3, 2, 1), (1, 2, 2, 1), ((0, 0), (1, 1), (0, 1), (0, 0)))
    padded = lax.pad(p, 0.0, ((0, 0, 0), (1, 2, 0), (0, -1, 1), (0, 0, 0)))
    s = lax.slice(padded, (0, 1, 0, 0), (2, 5, 4, 4), (1, 2, 1, 1))
    t = lax.dynamic_slice(s, (0, i, 0, 0), (2, 1, 3, 4))
    return jnp.einsum("bijc,bikc->bjk", t, t), lax.sort(lax.rev(u, (1,)), dimension=2, is_stable=True)


def grouped(x, k, y):
    """Gradients of a grouped convolution: batch groups and window reversal."""
    def loss(k):
        z = lax.conv_general_dilated(x, k, (2, 2), "SAME", feature_group_count=2,
                                     dimension_numbers=("NHWC", "HWIO", "NHWC"))
        return (jnp.tanh(z) * y).sum()
    return jax.grad(loss)(k)


def _shapes(*dims, kind=jnp.float32):
    return [jax.ShapeDtypeStruct(d, kind) for d in dims]


def save(name, module):
    """Write both forms."""
    (FOLDER / f"{name}.pb").write_bytes(module.as_serialized_hlo_module_proto())
    text = module.to_string() if hasattr(module, "to_string") else module.as_hlo_text()
    (FOLDER / f"{name}.txt").write_text(text, encoding="utf-8")


def main():
    """Make everything."""
    traced = jax.jit(loop).lower(*_shapes((8, 16), (16, 16), kind=jnp.bfloat16))
    save("loop", traced.compiler_ir("hlo"))
    save("compiled", traced.compile().runtime_executable().hlo_modules()[0])
    stream = io.BytesIO()
    traced.compiler_ir("stablehlo").operation.write_bytecode(stream)
    (FOLDER / "loop.mlirbc").write_bytes(stream.getvalue())
    index = jax.ShapeDtypeStruct((), jnp.int32)
    save("windows", jax.jit(windows).lower(*_shapes((2, 9, 8, 4), (3, 3, 4, 6), (3, 3, 1, 4)), index)
         .compiler_ir("hlo"))
    save("grouped", jax.jit(grouped).lower(*_shapes((2, 8, 8, 4), (3, 3, 2, 6), (2, 4, 4, 6))).compiler_ir("hlo"))


if __name__ == "__main__":
    main()
