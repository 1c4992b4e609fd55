"""Is this value what eager gives? One recursive comparison for everything a program may return.

``==`` and ``torch.testing`` are not enough: a capture can return the right numbers in a list where eager returns a
tuple, a tensor that lost ``requires_grad``, or two copies where eager returns one object twice. So types, tensor
metadata and *sharing* are compared along with the values: an object met twice in eager's result must be one object in
ours, and the other way round.
"""
import collections
import dataclasses
import types

import torch

# Even the same operator is not the same to the last bit on tensors at other addresses (matrix kernels by alignment).
EXACT = (1e-5, 1e-6)
COMPILED = (2e-4, 2e-5)
# Gradients that are zero by construction (a bias before batch norm) are rounding noise.
COMPILED_GRADIENT = (1e-3, 2e-4)
LEAVES = (bool, int, float, complex, str, bytes, type(None), type(Ellipsis), torch.dtype, torch.device, range, slice)


class Comparison:
    """Compares pairs of values; remembers which object of ours stands for which of eager's."""

    def __init__(self, tolerance=EXACT, strides=True):
        self.tolerance = tolerance
        self.strides = strides
        self.ours_of = {}
        self.theirs_of = {}
        self.alive = []

    def pair(self, ours, theirs):
        """Says beforehand that these two stand for each other (inputs, parameters)."""
        self.alive.append((ours, theirs))
        self.ours_of[id(theirs)] = ours
        self.theirs_of[id(ours)] = theirs

    def pair_deep(self, ours, theirs):
        """``pair`` for two equal structures and everything mutable in them."""
        if isinstance(theirs, LEAVES) or id(theirs) in self.ours_of:
            return
        self.pair(ours, theirs)
        if isinstance(theirs, dict):
            for (_, a), (_, b) in zip(ours.items(), theirs.items()):
                self.pair_deep(a, b)
        elif isinstance(theirs, (list, tuple)):
            for a, b in zip(ours, theirs):
                self.pair_deep(a, b)
        elif isinstance(theirs, torch.nn.Module):
            for a, b in zip(_tensors_of(ours), _tensors_of(theirs)):
                self.pair(a, b)

    def equal(self, ours, theirs, at="result"):
        """AssertionError saying where the two differ, if they do."""
        assert _type_name(ours) == _type_name(theirs), f"{at}: a {_type_name(ours)}, eager has a {_type_name(theirs)}"
        if isinstance(theirs, LEAVES):
            self._leaf(ours, theirs, at)
        elif isinstance(theirs, (type, types.FunctionType, types.BuiltinFunctionType, torch.nn.Module)):
            assert getattr(ours, "__qualname__", "") == getattr(theirs, "__qualname__", ""), f"{at}: another callable"
        elif not self._seen(ours, theirs, at):
            self.pair(ours, theirs)
            self._content(ours, theirs, at)

    def _seen(self, ours, theirs, at):
        if isinstance(theirs, (tuple, frozenset)):
            return False
        if id(theirs) in self.ours_of:
            assert self.ours_of[id(theirs)] is ours, f"{at}: eager has an object here that it met before, ours is another"
            return True
        assert id(ours) not in self.theirs_of, f"{at}: ours shares an object here that eager has twice"
        return False

    def _leaf(self, ours, theirs, at):
        if isinstance(theirs, float) and theirs == theirs:
            rtol, atol = self.tolerance
            assert ours == theirs or abs(ours - theirs) <= atol + rtol * abs(theirs), f"{at}: {ours!r}, eager has {theirs!r}"
            assert str(ours)[:1] == str(theirs)[:1] or theirs != 0, f"{at}: {ours!r}, eager has {theirs!r}"
        elif isinstance(theirs, float):
            assert ours != ours, f"{at}: {ours!r}, eager has NaN"
        else:
            assert ours == theirs, f"{at}: {ours!r}, eager has {theirs!r}"

    def _content(self, ours, theirs, at):
        if isinstance(theirs, torch.Tensor):
            self._tensor(ours, theirs, at)
            return
        if isinstance(theirs, dict):
            assert _keys(ours) == _keys(theirs), f"{at}: keys {_keys(ours)}, eager has {_keys(theirs)}"
            for (k, a), (_, b) in zip(_items(ours), _items(theirs)):
                self.equal(a, b, f"{at}[{k!r}]")
            if isinstance(theirs, collections.defaultdict):
                assert ours.default_factory is theirs.default_factory, f"{at}: default_factory"
        elif isinstance(theirs, (list, tuple, collections.deque)):
            assert len(ours) == len(theirs), f"{at}: {len(ours)} items, eager has {len(theirs)}"
            for i, (a, b) in enumerate(zip(ours, theirs)):
                self.equal(a, b, f"{at}[{i}]")
        elif isinstance(theirs, (set, frozenset)):
            assert sorted(map(repr, ours)) == sorted(map(repr, theirs)), f"{at}: {ours!r}, eager has {theirs!r}"
        elif isinstance(theirs, BaseException):
            self.equal(ours.args, theirs.args, f"{at}.args")
        self._attributes(ours, theirs, at)

    def _attributes(self, ours, theirs, at):
        if dataclasses.is_dataclass(theirs):
            for f in dataclasses.fields(theirs):
                self.equal(getattr(ours, f.name), getattr(theirs, f.name), f"{at}.{f.name}")
        a, b = _vars(ours), _vars(theirs)
        assert list(a) == list(b), f"{at}: attributes {list(a)}, eager has {list(b)}"
        for k in b:
            self.equal(a[k], b[k], f"{at}.{k}")

    def _tensor(self, ours, theirs, at):
        for name in ("dtype", "device", "layout", "requires_grad", "shape"):
            a, b = getattr(ours, name), getattr(theirs, name)
            assert a == b, f"{at}.{name}: {a}, eager has {b}"
        assert ours.is_inference() == theirs.is_inference(), f"{at}.is_inference()"
        assert (ours.grad_fn is None) == (theirs.grad_fn is None), f"{at}.grad_fn: {ours.grad_fn}, eager has {theirs.grad_fn}"
        if self.strides and theirs.layout == torch.strided:
            assert ours.stride() == theirs.stride(), f"{at}.stride(): {ours.stride()}, eager has {theirs.stride()}"
        a, b = ours.detach(), theirs.detach()
        if theirs.layout != torch.strided:
            a, b = a.to_dense(), b.to_dense()
        if b.is_meta:
            return
        rtol, atol = self.tolerance
        if theirs.dtype in (torch.bfloat16, torch.float16):
            rtol, atol = max(rtol, 1e-2), max(atol, 1e-2)
        same = torch.allclose(a, b, rtol=rtol, atol=atol, equal_nan=True) if _numeric(b) else torch.equal(a, b)
        assert same, f"{at}: {_short(a)}, eager has {_short(b)}"


def equal(ours, theirs, at="result", tolerance=EXACT, strides=True):
    Comparison(tolerance, strides).equal(ours, theirs, at)


def tensors(value, found=None, seen=None):
    """Every tensor in a nested value, each once, in order."""
    found, seen = ([], set()) if found is None else (found, seen)
    if isinstance(value, LEAVES) or id(value) in seen:
        return found
    seen.add(id(value))
    if isinstance(value, torch.Tensor):
        found.append(value)
    elif isinstance(value, dict):
        for v in dict.values(value):
            tensors(v, found, seen)
    elif isinstance(value, (list, tuple, set, frozenset, collections.deque)):
        for v in value:
            tensors(v, found, seen)
    elif not isinstance(value, (type, types.FunctionType, torch.nn.Module)):
        for v in _vars(value).values():
            tensors(v, found, seen)
    return found


def shared_memory(values):
    """Which tensors in ``values`` share memory: a group number for each, by first appearance."""
    groups = {}
    return [groups.setdefault(t.untyped_storage().data_ptr(), len(groups)) if t.numel() and t.layout == torch.strided else None
            for t in tensors(values)]


def _tensors_of(module):
    return list(module.parameters()) + list(module.buffers())


def _numeric(t):
    return t.dtype.is_floating_point or t.dtype.is_complex


def _type_name(v):
    return type(v).__qualname__


def _keys(d):
    return [repr(k) if isinstance(k, LEAVES) else _type_name(k) for k, _ in _items(d)]


def _vars(v):
    if isinstance(v, torch.Tensor) or isinstance(v, BaseException):
        return {}
    found = dict(getattr(v, "__dict__", None) or {})
    for cls in type(v).__mro__:
        slots = cls.__dict__.get("__slots__", ())
        for name in (slots,) if isinstance(slots, str) else slots:
            if name not in ("__dict__", "__weakref__") and hasattr(v, name):
                found[name] = getattr(v, name)
    return found


def _short(t):
    text = " ".join(repr(t).split())
    return text if len(text) < 200 else text[:197] + "..."


def _items(d):
    """A dict's items in its own order, which for an OrderedDict is not dict's."""
    return (collections.OrderedDict if isinstance(d, collections.OrderedDict) else dict).items(d)
