"""Which compiler turns a graph into a callable.

A backend is anything that torch.compile takes: a name from torch's own registry, or a
callable ``backend(gm, example_inputs) -> callable``. Its contract is torch.compile's:
``gm`` takes tensors by position and returns a tuple, the examples are the real
tensors, and the compiled callable takes and returns the same.
"""

import functools

from magpy.backends import eager
from magpy.errors import BackendError

# torch._inductor and torch._dynamo take seconds to import: only who asks for one pays.


def get(backend="inductor", mode=None, options=None):
    """The backend as ``f(gm, example_inputs) -> callable(*inputs) -> tuple or list``.

    What is wrong with the arguments is said here, as torch.compile does: an unknown
    name, an unknown option, options for a backend that takes none."""
    if backend == "inductor":
        from magpy.backends import inductor
        config = inductor.config_of(mode, options)
        compiler = _under_context(functools.partial(inductor.compile_graph, config=config))
        return _Backend("inductor", compiler, functools.partial(inductor.freezes, config))
    elif backend == "eager":
        _no_options("eager", mode, options)
        compiler = eager.compile_graph
    elif callable(backend):
        compiler = _under_context(_with_options(backend, mode, options))
    elif isinstance(backend, str):
        import torch._dynamo
        found = torch._dynamo.lookup_backend(backend)     # raises InvalidBackend
        compiler = _under_context(_with_options(found, mode, options))
    else:
        raise TypeError(f"backend must be a name or a callable, not {backend!r}")
    return _Backend(name_of(backend), compiler)


def _under_context(compiler):
    from magpy.backends import opaque, tracing
    return opaque.between_opaque(tracing.under_context(compiler))


def names():
    """The backends that can be asked for by name."""
    import torch._dynamo
    return sorted({"eager", "inductor", *torch._dynamo.list_backends(None)})


def name_of(backend):
    if isinstance(backend, str):
        return backend
    return getattr(backend, "__name__", None) or type(backend).__name__


class _Backend:
    """Calls a compiler and turns what goes wrong into a BackendError that names it.
    ``freezes()``: does it make the weights that it finds in a graph module constants?"""

    def __init__(self, name, compiler, freezes=bool):
        self.name = name
        self.compiler = compiler
        self.freezes = freezes

    def __call__(self, gm, example_inputs):
        try:
            compiled = self.compiler(gm, list(example_inputs))
        except Exception as error:
            raise BackendError(self.name, f"{type(error).__name__}: {error}") from error
        if not callable(compiled):
            raise BackendError(self.name, f"it returned {type(compiled).__name__}, "
                                          "which is not callable")
        return compiled

    def __repr__(self):
        return f"<backend {self.name}>"


def _no_options(name, mode, options):
    if mode not in (None, "default") or options:
        raise RuntimeError(f"backend {name!r} takes neither mode nor options")


def _with_options(compiler, mode, options):
    """torch.compile hands mode and options on as keywords, when there are any."""
    kwargs = {}
    if mode and mode != "default":
        kwargs["mode"] = mode
    if options:
        kwargs["options"] = options
    return functools.partial(compiler, **kwargs) if kwargs else compiler
