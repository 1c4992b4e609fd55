"""What the tape does with each torch function that the function mode reports.

One table, keyed by the function object: a `Handling` says whether the call becomes
a graph node and which, whether its result may hold anything but tensors, and what
must be checked first. It is a **whitelist** wherever Python code could learn
something about tensor *data*: a result that is not a tensor is accepted only from
the metadata functions that `torch_names` lists, so a function nobody thought of costs a capture
and never a wrong replay.

Output shapes are the second way for data to leak (Python reads ``x.shape``
afterwards). torch tags the operators whose output shape depends on data; the tags
are read here per name, and what torch does not tag is listed by hand. What neither
covers (an integer tensor where a number is expected, operators outside aten) is
tried on fake tensors by `fake_check`.

Handlings are made lazily: a model uses a few dozen functions, torch has 2,000.
"""

import types

import torch

from magpy.recorder.torch_checks import BEFORE, CHECKS, check_no_grad_yet
from magpy.recorder.torch_names import (
    AUTOGRAD_ATTRIBUTES, AUTOGRAD_METHODS, AUTOGRAD_READS, CHANGES_NO_DATA, DATA_NAMES, META_ATTRIBUTES, META_FUNCTIONS,
    META_METHODS, OPERATORS, RANDOM_MODULES, REBINDING_METHODS, RESIZING_METHODS, RETURNS_SELF, SCALAR_TENSOR_IS_DATA,
    TENSOR_ATTRIBUTES, UNTAGGED_DYNAMIC, VETTED_MODULES)

META, OP, STATE, STOP, IGNORED = "meta", "op", "state", "stop", "ignored"
# Reads of tensor data that give a plain value, which a graph can ask for again.
VALUES_OF_DATA = frozenset("""
    item tolist equal allclose is_nonzero __bool__ __int__ __float__ __index__ __complex__
    __contains__ _local_scalar_dense numpy __array__ volatile data_ptr storage_offset
""".split())
CALL_METHOD, CALL_FUNCTION = "call_method", "call_function"


class Handling:
    """How calls of one torch function are recorded.

    ``kind``: META (no node; non-tensor results allowed), OP, STATE (a node for its
    effect on torch's global state), IGNORED (a profiler's mark) or STOP. ``op`` and ``target`` are the FX node's;
    ``getter`` is the attribute name when the function is a tensor property.
    ``check(args, kwargs)`` may raise StopCapture before the call. ``returns_self``:
    it may hand back its argument, having done nothing. ``mutates``: by its name.
    ``resizes``: a tensor of the call may
    be given another size, others not. ``foreign``: an operator of an extension, which may do anything. ``opaque``: no compiler
    may trace it. ``before(tape, args, kwargs)`` tells whether the call will do anything.
    ``autograd``: a read of what autograd knows of a tensor.
    """

    __slots__ = ("name", "kind", "op", "target", "getter", "check", "reason",
                 "returns_self", "mutates", "rng", "verify", "before", "strided",
                 "hidden_update", "foreign", "opaque", "autograd", "dynamic", "resizes")

    def __init__(self, name, kind, op=CALL_FUNCTION, target=None, getter=None,
                 check=None, reason=None, verify=False):
        self.name = name
        self.kind = kind
        self.op = op
        self.target = target
        self.getter = getter
        self.check = check
        self.reason = reason
        self.returns_self = name in RETURNS_SELF
        self.mutates = name not in CHANGES_NO_DATA and (name == "__setitem__" or (
            name.endswith("_") and not name.endswith("__")))
        self.rng = self.foreign = self.autograd = self.dynamic = self.resizes = False
        self.opaque = getattr(target, "magpy_opaque", False)
        self.verify = verify    # "always", "index" (only with integer scalars) or False
        self.before = BEFORE.get(name)
        # Running statistics are written without a new version of their tensors.
        self.hidden_update = "batch_norm" in name or "instance_norm" in name \
            or "fake_quant" in name
        self.strided = name.startswith("as_strided")

    def __repr__(self):
        return f"<Handling {self.name}: {self.kind}>"


def opaque(function, name):
    """The Handling of an operation that no compiler may trace. *function* is its target."""
    function.__name__ = function.__qualname__ = name
    function.__module__ = __name__
    function.magpy_opaque = True
    return Handling(name, OP, CALL_FUNCTION, function)


# ---- operations on what autograd knows of a tensor ----------------------------------------

def requires_grad_(tensor, value=True):
    return tensor.requires_grad_(value)


def detach_(tensor):
    return tensor.detach_()


def retain_grad(tensor):
    return tensor.retain_grad()


def set_data(tensor, value):
    tensor.data = value


def make_parameter(data, requires_grad=False):
    return torch.nn.Parameter(data, requires_grad)


AUTOGRAD_OPERATIONS = (requires_grad_, detach_, retain_grad)
SETTERS = {("requires_grad", "__set__"): requires_grad_, ("data", "__set__"): set_data}
_table = {}
# What torch finds by name, before anybody replaces it.
TENSOR_METHODS = {name: each for base in reversed(torch.Tensor.__mro__) for name, each in vars(base).items()}
_NAMESPACES = [(vars(place), dict(vars(place))) for place in (
    torch._C.TensorBase, torch._C._nn, torch._C._fft, torch._C._linalg, torch._C._special)]
_NAMESPACES.append((vars(torch.Tensor), TENSOR_METHODS))


def replaced_by_c():
    """The name of a C function of torch in whose place stands another one, or None. Who kept the
    old one calls it, but torch, which looks functions up by name, would hand the new one to a mode."""
    for now, before in _NAMESPACES:
        for name, found in now.items():
            if found is not before.get(name, found) and type(found) is not types.FunctionType:
                return name
    return None


def handling(func):
    """The Handling of a function, made on first sight."""
    found = _table.get(func)
    if found is None:
        found = _table[func] = _classify(func)
    return found


def _stop(name, reason):
    return Handling(name, STOP, reason=reason)


def _fill():
    """Enter what is known by object: properties, metadata, autograd, state."""
    for name in dir(torch.Tensor):
        descriptor = _raw_attribute(name)
        if isinstance(descriptor, (types.GetSetDescriptorType, property)):
            _fill_property(name, descriptor)
    for names, reason in ((AUTOGRAD_METHODS, "autograd-in-graph"),
                          (REBINDING_METHODS, "leaf-mutation")):
        for name in names:
            func = _raw_attribute(name)
            if func is not None:
                _table[func] = _stop(name, reason)
    for name in RESIZING_METHODS:
        entry = _table[_raw_attribute(name)] = Handling(name, OP, CALL_METHOD, name)
        entry.opaque = entry.resizes = True
    for name in META_METHODS:
        func = _raw_attribute(name)
        if func is not None:
            _table[func] = Handling(name, META, CALL_METHOD, name)
    for name in META_FUNCTIONS:
        func = getattr(torch, name, None)
        if func is not None:
            _table[func] = Handling(name, META, CALL_FUNCTION, func)
    _table[torch.device] = Handling("device", META, CALL_FUNCTION, torch.device)
    _table[torch._C._set_grad_enabled] = Handling(
        "_set_grad_enabled", STATE, CALL_FUNCTION, torch._C._set_grad_enabled)
    for function in AUTOGRAD_OPERATIONS:
        _table[_raw_attribute(function.__name__)] = opaque(function, function.__name__)
    _table[torch.get_rng_state] = opaque(lambda: torch.get_rng_state(), "get_rng_state")
    _table[torch.get_rng_state].rng = True
    _table[make_parameter] = opaque(make_parameter, "make_parameter")
    for func in (torch.autograd.grad, torch.autograd.backward):
        _table[func] = _stop(func.__name__, "autograd-in-graph")


def _raw_attribute(name):
    for base in torch.Tensor.__mro__:
        if name in base.__dict__:
            return base.__dict__[name]
    return None


def _fill_property(name, descriptor):
    for slot in ("__get__", "__set__", "__delete__"):
        accessor = getattr(descriptor, slot, None)
        if accessor is None:
            continue
        if (name, slot) in SETTERS:
            function = SETTERS[name, slot]
            entry = opaque(function, function.__name__)
        elif slot != "__get__" or name in AUTOGRAD_ATTRIBUTES:
            entry = _stop(name if slot == "__get__" else f"{name}.{slot}",
                          "autograd-in-graph")
        elif name in META_ATTRIBUTES:
            entry = Handling(name, META, CALL_FUNCTION, getattr, getter=name)
        elif name in TENSOR_ATTRIBUTES:
            entry = Handling(name, OP, CALL_FUNCTION, getattr, getter=name)
        elif name in AUTOGRAD_READS:
            entry = Handling(name, META, CALL_FUNCTION, getattr, getter=name,
                             check=check_no_grad_yet if name == "grad" else None)
            entry.autograd = True
        else:
            entry = _stop(name, "tensor-data")
        _table[accessor] = entry


def _method_name(func):
    """The name under which torch.Tensor has this very function, or None."""
    name = getattr(func, "__name__", None)
    if name and _raw_attribute(name) is func:
        return name
    for name in OPERATORS:
        if _raw_attribute(name) is func:
            return name
    return None


def method_name(how):
    """The name of the method or attribute of torch.Tensor that the graph looks up for this, or None."""
    if how.op == CALL_METHOD:
        return how.target
    if how.getter is not None:
        return how.getter
    if how.target is not None and (OPERATORS.get(how.name) is how.target or how.target in AUTOGRAD_OPERATIONS):
        return how.name
    return "data" if how.target is set_data else None


def _classify(func):
    if isinstance(func, (torch._ops.OpOverload, torch._ops.OpOverloadPacket)):
        return _classify_operator(func)
    name = _method_name(func)
    if name is not None:
        if OPERATORS.get(name) is not None:
            entry = Handling(name, OP, CALL_FUNCTION, OPERATORS[name])
        else:
            entry = Handling(name, OP, CALL_METHOD, name)
    elif isinstance(func, types.BuiltinFunctionType) and _from_torch(func):
        entry = Handling(func.__name__, OP, CALL_FUNCTION, func)
    elif isinstance(func, types.FunctionType) and func.__module__ in VETTED_MODULES:
        entry = Handling(func.__name__, OP, CALL_FUNCTION, func)
    else:
        name = getattr(func, "__qualname__", None) or repr(func)
        return _stop(f"{getattr(func, '__module__', '')}.{name}", "unknown-callable")
    if entry.name in DATA_NAMES:
        return _stop(entry.name, "tensor-data")
    entry.check = CHECKS.get(entry.name)
    if entry.check is None and _dynamic_by_name(entry.name):
        entry.dynamic, entry.reason = True, "dynamic-output-shape"
    entry.rng = _draws_random(entry.name) or \
        getattr(func, "__module__", None) in RANDOM_MODULES
    if entry.name not in SCALAR_TENSOR_IS_DATA:
        entry.verify = "index"
    return entry


def _from_torch(func):
    module = getattr(func, "__module__", None) or ""
    return module == "torch" or module.startswith("torch._C")


def _classify_operator(func):
    """torch.ops.…: an aten operator goes by its tags, any other is tried on fakes."""
    if isinstance(func, torch._ops.OpOverload):
        namespace, overloads = func.namespace, [func]
        name = func._schema.name.split("::")[-1]
    else:
        name = func.__name__
        namespace = func._qualified_op_name.split("::")[0]
        overloads = [getattr(func, each) for each in func.overloads()]
    if namespace == "profiler":
        return Handling(name, IGNORED)
    entry = Handling(name, OP, CALL_FUNCTION, func)
    entry.mutates = any(each._schema.is_mutable for each in overloads)
    if any(_DYNAMIC_TAGS & set(each.tags) for each in overloads):
        entry.verify = "always"
    elif namespace not in ("aten", "prims"):
        entry.verify = "always"
        entry.foreign = True
    elif name not in SCALAR_TENSOR_IS_DATA:
        entry.verify = "index"
    entry.rng = any(torch.Tag.nondeterministic_seeded in each.tags for each in overloads)
    return entry


_DYNAMIC_TAGS = {torch.Tag.dynamic_output_shape, torch.Tag.data_dependent_output}


def _aten_tags(name):
    packet = getattr(torch.ops.aten, name, None) if name.isidentifier() else None
    if not isinstance(packet, torch._ops.OpOverloadPacket):
        return set()
    return {tag for each in packet.overloads() for tag in getattr(packet, each).tags}


def _dynamic_by_name(name):
    return name in UNTAGGED_DYNAMIC or bool(_DYNAMIC_TAGS & _aten_tags(name))


def _draws_random(name):
    return torch.Tag.nondeterministic_seeded in _aten_tags(name) or any(
        part in name for part in ("dropout", "rrelu", "gumbel", "rand", "attention",
                                  "lstm", "gru", "rnn", "fractional", "init"))


_fill()
