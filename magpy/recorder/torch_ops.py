"""What the tape does with each torch function that the function mode reports.

One table, keyed by the function object: a `Handling` says whether the call becomes
a graph node and which, whether its result may hold anything but tensors, and what
must be checked first. It is a **whitelist** wherever Python code could learn
something about tensor *data*: a result that is not a tensor is accepted only from
the metadata functions listed here, so a function nobody thought of costs a capture
and never a wrong replay.

Output shapes are the second way for data to leak (Python reads ``x.shape``
afterwards). torch tags the operators whose output shape depends on data; the tags
are read here per name, and what torch does not tag is listed by hand. What neither
covers (an integer tensor where a number is expected, operators outside aten) is
tried on fake tensors by `fake_check`.

Handlings are made lazily: a model uses a few dozen functions, torch has 2,000.
"""

import operator
import types

import torch

from magpy.reasons import StopCapture

META, OP, STATE, STOP = "meta", "op", "state", "stop"
CALL_METHOD, CALL_FUNCTION = "call_method", "call_function"


class Handling:
    """How calls of one torch function are recorded.

    ``kind``: META (no node; non-tensor results allowed), OP, STATE (a node for its
    effect on torch's global state) or STOP. ``op`` and ``target`` are the FX node's;
    ``getter`` is the attribute name when the function is a tensor property.
    ``check(args, kwargs)`` may raise StopCapture before the call. ``returns_self``:
    it may hand back its argument, having done nothing. ``mutates``: by its name.
    """

    __slots__ = ("name", "kind", "op", "target", "getter", "check", "reason",
                 "returns_self", "mutates", "rng", "verify", "after", "strided",
                 "hidden_update")

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
        self.mutates = name == "__setitem__" or (
            name.endswith("_") and not name.endswith("__"))
        self.rng = False
        self.verify = verify    # "always", "index" (only with integer scalars) or False
        self.after = AFTER.get(name)
        # Running statistics are written without a new version of their tensors.
        self.hidden_update = "batch_norm" in name or "instance_norm" in name \
            or "fake_quant" in name
        self.strided = name.startswith("as_strided")

    def __repr__(self):
        return f"<Handling {self.name}: {self.kind}>"


# ---------------------------------------------------------------- the lists

# Tensor attributes that TensorMeta guards (or that follow from what it guards).
META_ATTRIBUTES = """
    shape dtype device layout ndim requires_grad itemsize nbytes
    is_cuda is_cpu is_xla is_xpu is_ipu is_hpu is_mps is_mtia is_vulkan is_maia is_meta
    is_nested is_sparse is_sparse_csr is_mkldnn is_quantized
""".split()

# Tensor attributes whose value is a tensor that shares storage with it.
TENSOR_ATTRIBUTES = "T H mT mH real imag data".split()

META_METHODS = """
    size dim numel nelement ndimension stride element_size get_device type
    is_contiguous is_floating_point is_complex is_signed is_conj is_neg is_inference
    is_same_size is_distributed is_coalesced sparse_dim dense_dim _is_zerotensor
    __len__ dim_order
""".split()

META_FUNCTIONS = """
    numel is_floating_point is_complex is_signed is_conj is_neg is_inference
    is_same_size is_distributed _is_zerotensor result_type can_cast promote_types
    get_device cudnn_is_acceptable _use_cudnn_rnn_flatten_weight
    _has_compatible_shallow_copy_type
""".split()

# Tensor methods and attributes that read or change autograd's own state.
AUTOGRAD_METHODS = """
    backward register_hook register_post_accumulate_grad_hook retain_grad detach_
    _backward_hooks
""".split()
AUTOGRAD_ATTRIBUTES = """
    grad grad_fn _grad _grad_fn _version output_nr retains_grad grad_dtype
    _backward_hooks _post_accumulate_grad_hooks _base volatile
""".split()

# Tensor methods whose effect on their tensor a graph cannot replay.
REBINDING_METHODS = """
    resize_ resize_as_ resize resize_as set_ share_memory_ module_load apply_ map_ map2_
    __setstate__ __deepcopy__ __reduce_ex__
""".split()

# Functions whose result is a number, a string or an array made of the tensor's values.
DATA_NAMES = frozenset("""
    item tolist numpy __array__ equal allclose is_nonzero __bool__ __int__ __float__
    __index__ __complex__ __contains__ __repr__ __format__ data_ptr is_set_to is_pinned
    is_shared storage untyped_storage storage_offset _is_view __dlpack__
    _local_scalar_dense
""".split())

# Names whose result's shape depends on data although torch has no tag on them.
# (F.one_hot and repeat_interleave are tagged but fixed with the right arguments.)
UNTAGGED_DYNAMIC = frozenset("""
    unique _unique _unique2 unique_consecutive nonzero argwhere masked_select bincount
    _pack_padded_sequence _pad_packed_sequence to_sparse to_sparse_csr to_sparse_csc
    to_sparse_bsr to_sparse_bsc _coalesce segment_reduce lstsq linalg_lstsq
    istft nested_tensor_from_mask _nested_tensor_from_mask
    _nested_view_from_buffer indices values
""".split())

# May return an argument itself; when that is all that happened, no node is needed.
RETURNS_SELF = frozenset("""
    contiguous to cpu cuda float double half bfloat16 int long short char byte bool
    type type_as dropout dropout1d dropout2d dropout3d alpha_dropout feature_dropout
    feature_alpha_dropout resolve_conj resolve_neg conj real positive expand_as
    broadcast_to coalesce requires_grad_ as_tensor asarray atleast_1d atleast_2d
    atleast_3d pin_memory
""".split())

# An integer scalar tensor is data to these, never a Python number.
SCALAR_TENSOR_IS_DATA = frozenset("""
    add add_ sub sub_ mul mul_ div div_ rsub __rsub__ remainder remainder_ fmod
    floor_divide floor_divide_ __floordiv__ true_divide pow pow_ __rpow__ __rdiv__
    eq ne lt le gt ge __eq__ maximum minimum bitwise_and bitwise_or bitwise_xor
    __and__ __or__ __xor__ logical_and logical_or logical_xor logical_not where
    embedding gather scatter scatter_ scatter_add scatter_add_ index_select index_add
    index_add_ index_copy index_copy_ index_fill index_fill_ index_put index_put_
    masked_fill masked_fill_ take take_along_dim cat concat stack copy_ type_as
    cross_entropy nll_loss clamp clamp_ clamp_min clamp_max lerp expand_as view_as
    reshape_as zeros_like ones_like full_like empty_like rand_like randn_like
    broadcast_tensors isin searchsorted bucketize __getitem__ __setitem__ dot mm
    _set_grad_enabled batch_norm addcmul addcmul_ addcdiv addcdiv_ _assert_async
""".split())

VETTED_MODULES = frozenset({
    "torch", "torch.functional", "torch.nn.functional", "torch._tensor", "torch.nn.init",
    "torch._lobpcg", "torch._lowrank", "torch.special", "torch.fft", "torch.linalg"})

OPERATORS = {
    "__getitem__": operator.getitem, "__setitem__": operator.setitem,
    "__invert__": operator.invert, "__and__": operator.and_, "__or__": operator.or_,
    "__xor__": operator.xor, "__lshift__": operator.lshift,
    "__rshift__": operator.rshift, "__eq__": operator.eq, "__iand__": operator.iand,
    "__ior__": operator.ior, "__ixor__": operator.ixor, "__pow__": operator.pow,
    "__floordiv__": operator.floordiv, "__ilshift__": operator.ilshift,
    "__irshift__": operator.irshift, "__rpow__": None, "__rsub__": None}


# ------------------------------------------------- checks before the call

def _tensors_in(value):
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, slice):
        yield from _tensors_in((value.start, value.stop, value.step))
    elif isinstance(value, (tuple, list)):
        for item in value:
            yield from _tensors_in(item)
    elif isinstance(value, dict):
        for item in value.values():
            yield from _tensors_in(item)


def _check_index(args, kwargs):
    """A boolean mask gives a shape that depends on data; so does a tensor in a slice."""
    index = args[1]
    for part in index if type(index) is tuple else (index,):
        if isinstance(part, slice):
            if next(_tensors_in(part), None) is not None:
                raise StopCapture("dynamic-output-shape", "a tensor in a slice")
        elif isinstance(part, torch.Tensor):
            if part.dtype in (torch.bool, torch.uint8):
                raise StopCapture("dynamic-output-shape", "indexing with a mask")
        elif isinstance(part, (list, tuple)):
            for tensor in _tensors_in(part):
                if tensor.dtype in (torch.bool, torch.uint8):
                    raise StopCapture("dynamic-output-shape", "indexing with a mask")


def _check_setitem(args, kwargs):
    """``x[mask] = y`` keeps x's shape, but with a slice the shapes must not be data."""
    index = args[1]
    for part in index if type(index) is tuple else (index,):
        if isinstance(part, slice) and next(_tensors_in(part), None) is not None:
            raise StopCapture("tensor-data", "a tensor in a slice")


def _check_where(args, kwargs):
    if len(args) + len(kwargs) < 3:
        raise StopCapture("dynamic-output-shape", "where with one argument")


def _check_repeat_interleave(args, kwargs):
    repeats = kwargs.get("repeats", args[1] if len(args) > 1 else None)
    if repeats is not None and not isinstance(repeats, torch.Tensor):
        return
    if kwargs.get("output_size") is None:
        raise StopCapture("dynamic-output-shape", "repeat_interleave with a tensor")


def _check_one_hot(args, kwargs):
    if kwargs.get("num_classes", args[1] if len(args) > 1 else -1) == -1:
        raise StopCapture("dynamic-output-shape", "one_hot without num_classes")


def _check_tensor_split(args, kwargs):
    rest = (args[1:], kwargs)
    if next(_tensors_in(rest[0]), None) is not None or \
            next(_tensors_in(rest[1]), None) is not None:
        raise StopCapture("dynamic-output-shape", "tensor_split at a tensor")


def _check_range(args, kwargs):
    if next(_tensors_in((args, tuple(kwargs.values()))), None) is not None:
        raise StopCapture("dynamic-output-shape", "a range whose bounds are tensors")


def _check_assert(args, kwargs):
    if isinstance(args[0], torch.Tensor):
        raise StopCapture("tensor-data", "torch._assert on a tensor")


def _check_data_list(args, kwargs):
    """``torch.tensor([t, …])`` reads the tensors' values while it builds the list."""
    data = kwargs.get("data", args[-1] if args else None)
    if isinstance(data, (list, tuple)) and next(_tensors_in(data), None) is not None:
        raise StopCapture("tensor-data", "a tensor made from a list that holds tensors")


CHECKS = {
    "__getitem__": _check_index, "__setitem__": _check_setitem, "where": _check_where,
    "repeat_interleave": _check_repeat_interleave, "one_hot": _check_one_hot,
    "tensor_split": _check_tensor_split, "arange": _check_range, "range": _check_range,
    "_assert": _check_assert, "tensor": _check_data_list, "as_tensor": _check_data_list,
    "new_tensor": _check_data_list, "asarray": _check_data_list}


# -------------------------------------------------- checks after the call

def _after_requires_grad(args, kwargs, before):
    if args[0].requires_grad != before:
        raise StopCapture("autograd-in-graph", "requires_grad_")


AFTER = {"requires_grad_": _after_requires_grad}


# ------------------------------------------------------------- the table

_table = {}


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
        if slot != "__get__" or name in AUTOGRAD_ATTRIBUTES:
            entry = _stop(name if slot == "__get__" else f"{name}.{slot}",
                          "autograd-in-graph")
        elif name in META_ATTRIBUTES:
            entry = Handling(name, META, CALL_FUNCTION, getattr, getter=name)
        elif name in TENSOR_ATTRIBUTES:
            entry = Handling(name, OP, CALL_FUNCTION, getattr, getter=name)
        elif name == "is_leaf":
            entry = Handling(name, META, CALL_FUNCTION, getattr, getter=name,
                             check=_check_is_leaf)
        else:
            entry = _stop(name, "tensor-data")
        _table[accessor] = entry


def _check_is_leaf(args, kwargs):
    """Guards don't hold is_leaf, but it follows when nothing requires grad."""
    tensor = args[0]
    if tensor.requires_grad and type(tensor) is not torch.nn.Parameter:
        raise StopCapture("autograd-in-graph", "is_leaf")


def _method_name(func):
    """The name under which torch.Tensor has this very function, or None."""
    name = getattr(func, "__name__", None)
    if name and _raw_attribute(name) is func:
        return name
    for name in OPERATORS:
        if _raw_attribute(name) is func:
            return name
    return None


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
        return _stop(entry.name, "dynamic-output-shape")
    entry.rng = _draws_random(entry.name)
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
    entry = Handling(name, OP, CALL_FUNCTION, func)
    entry.mutates = any(each._schema.is_mutable for each in overloads)
    if any(_DYNAMIC_TAGS & set(each.tags) for each in overloads):
        entry.verify = "always"
    elif namespace not in ("aten", "prims"):
        entry.verify = "always"
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
