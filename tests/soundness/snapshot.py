"""Outside state as a flat list of tokens: equal lists mean equal structure, types, values and sharing.

Objects are numbered by first visit, so two runs of one program give the same tokens wherever their objects lie; an
object met again is its number, which shows who shares what with whom: results, arguments and globals together.
"""
import collections
import enum
import functools
import re
import types
import weakref

import torch

from magpy.dispatch import compiled

LEAVES = frozenset((bool, int, float, complex, str, bytes, type(None), type(Ellipsis), torch.dtype, torch.device,
                    range, torch.Size, type(NotImplemented), torch.layout))
C_KINDS = (types.BuiltinFunctionType, types.MethodDescriptorType, types.WrapperDescriptorType,
           types.GetSetDescriptorType, types.MemberDescriptorType, types.MethodWrapperType, types.CodeType)
CLASS_NOISE = frozenset(("__dict__", "__weakref__", "__doc__", "__module__", "__static_attributes__",
                         "__firstlineno__", "__qualname__", "__annotations__", "__abstractmethods__", "_abc_impl"))
ADDRESS = re.compile(r"0x[0-9a-f]+")


class Snapshot:

    def __init__(self, module_name):
        self.module_name = module_name
        self.tokens = []
        self.paths = []
        self.numbers = {}
        self.storages = {}
        self.keep = []

    def put(self, token, path):
        self.tokens.append(token)
        self.paths.append(path)

    def visit(self, v, path):
        t = type(v)
        if issubclass(t, compiled.Compiled) and not isinstance(v, torch.nn.Module):
            v = compiled.table_of(v).fn
            t = type(v)
        if t in LEAVES:
            self.put((t.__name__, repr(v)), path)
            return
        if isinstance(v, tuple) or t is frozenset:
            pass
        elif t is types.MethodType or t in C_KINDS:
            pass
        else:
            number = self.numbers.get(id(v))
            if number is not None:
                self.put(("again", number), path)
                return
            self.numbers[id(v)] = len(self.numbers)
            self.keep.append(v)
        self.put(t.__qualname__, path)
        visitor = VISITORS.get(t)
        if visitor is not None:
            visitor(self, v, path)
        else:
            self.instance(v, t, path)

    # ---- kinds ------------------------------------------------------------------

    def instance(self, v, t, path):
        if isinstance(v, type):
            self.cls(v, path)
            return
        if isinstance(v, torch.Tensor):
            self.tensor(v, path)
        elif isinstance(v, enum.Enum):
            self.put(v.name, path)
            return
        elif isinstance(v, BaseException):
            self.visit(v.args, path + ".args")
            return
        else:
            for base, visitor in BASES:
                if isinstance(v, base):
                    visitor(self, v, path)
                    break
        if t.__module__ == self.module_name:
            self.visit(t, path + ".__class__")
        if isinstance(v, torch.nn.Module) or t.__module__ == self.module_name or t is types.SimpleNamespace:
            self.attributes(v, t, path)

    def attributes(self, v, t, path):
        try:
            own = object.__getattribute__(v, "__dict__")
        except AttributeError:
            own = {}
        self.mapping(own, path)
        for cls in t.__mro__:
            for name, slot in list(vars(cls).items()):
                if type(slot) is types.MemberDescriptorType:
                    try:
                        self.visit(slot.__get__(v), f"{path}.{name}")
                    except AttributeError:
                        self.put("empty", f"{path}.{name}")

    def mapping(self, d, path):
        items = list(OrderedDict.items(d) if isinstance(d, OrderedDict) else dict.items(d))
        self.put(len(items), path)
        for key, value in items:
            self.visit(key, path + "<key>")
            self.visit(value, f"{path}[{key!r}]" if type(key) in LEAVES else path + "[object]")
        if isinstance(d, collections.defaultdict):
            self.visit(d.default_factory, path + ".default_factory")

    def sequence(self, v, path):
        items = list(list.__iter__(v) if isinstance(v, list) else tuple.__iter__(v) if isinstance(v, tuple) else v)
        self.put(len(items), path)
        for i, item in enumerate(items):
            self.visit(item, f"{path}[{i}]")
        if isinstance(v, collections.deque):
            self.put(v.maxlen, path)

    def set(self, v, path):
        items = list(set.__iter__(v) if isinstance(v, set) else frozenset.__iter__(v))
        if all(type(i) in LEAVES for i in items):
            self.put(sorted((type(i).__name__, repr(i)) for i in items), path)
            return
        self.put(len(items), path)
        for item in sorted(items, key=lambda i: self.numbers.get(id(i), 1 << 30)):
            self.visit(item, path + "{}")

    def tensor(self, v, path):
        storage = None
        if v.layout == torch.strided and v.numel():
            storage = self.storages.setdefault(v.untyped_storage().data_ptr(), len(self.storages))
        self.put((v.dtype, tuple(v.shape), v.stride(), v.storage_offset(), v.requires_grad, v.grad_fn is None,
                  v.is_inference(), storage), path)
        self.put(Values(v), path)
        self.mapping(v.__dict__, path)
        if v.is_leaf and v.requires_grad:
            self.visit(v.grad, path + ".grad")

    def function(self, v, path):
        self.put((v.__name__, v.__code__.co_name, v.__code__.co_firstlineno), path)
        self.visit(v.__defaults__, path + ".__defaults__")
        self.visit(v.__kwdefaults__, path + ".__kwdefaults__")
        for name, cell in zip(v.__code__.co_freevars, v.__closure__ or ()):
            self.visit(cell, f"{path}.{name}")
        self.mapping(v.__dict__, path)

    def cell(self, v, path):
        try:
            content = v.cell_contents
        except ValueError:
            self.put("empty", path)
            return
        self.visit(content, path)

    def cls(self, v, path):
        if v.__module__ != self.module_name:
            self.put(v.__qualname__, path)
            return
        self.put(tuple(base.__qualname__ for base in v.__mro__), path)
        for name, value in list(vars(v).items()):
            if name not in CLASS_NOISE and type(value) is not types.MemberDescriptorType:
                self.put(name, path)
                self.visit(value, f"{path}.{name}")

    def method(self, v, path):
        self.visit(v.__func__, path + ".__func__")
        self.visit(v.__self__, path + ".__self__")

    def partial(self, v, path):
        self.visit(v.func, path + ".func")
        self.visit(v.args, path + ".args")
        self.mapping(v.keywords, path + ".keywords")

    def wrapped(self, v, path):
        self.visit(v.__func__ if not isinstance(v, functools._lru_cache_wrapper) else v.__wrapped__, path)

    def prop(self, v, path):
        for f in (v.fget, v.fset, v.fdel):
            self.visit(f, path)

    def named(self, v, path):
        self.put(getattr(v, "__name__", getattr(v, "co_name", "")), path)

    def reference(self, v, path):
        self.visit(v(), path + "()")

    def iterator(self, v, path):
        self.visit(v.__reduce__()[1:], path + ".__reduce__")

    def generator(self, v, path):
        frame = v.gi_frame
        self.put(None if frame is None else (frame.f_lasti, sorted(frame.f_locals)), path)


class Values:
    """A tensor's values. Equal to the last bit, or as near as kernels on other addresses are."""

    __slots__ = ("tensor",)

    def __init__(self, tensor):
        self.tensor = tensor.detach().clone()

    def __eq__(self, other):
        a, b = self.tensor, other.tensor
        if a.shape != b.shape or a.dtype != b.dtype:
            return False
        if torch.equal(a, b) and (not a.dtype.is_floating_point or torch.equal(a.signbit(), b.signbit())):
            return True
        return a.dtype.is_floating_point and torch.allclose(a, b, rtol=1e-6, atol=1e-7, equal_nan=True) \
            and torch.equal((a == 0) & a.signbit(), (b == 0) & b.signbit())

    __hash__ = None

    def __repr__(self):
        return " ".join(repr(self.tensor.tolist()).split())


OrderedDict = collections.OrderedDict
VISITORS = {
    dict: Snapshot.mapping, list: Snapshot.sequence, tuple: Snapshot.sequence, set: Snapshot.set,
    frozenset: Snapshot.set, torch.Tensor: Snapshot.tensor, torch.nn.Parameter: Snapshot.tensor,
    types.FunctionType: Snapshot.function, types.CellType: Snapshot.cell, types.MethodType: Snapshot.method,
    functools.partial: Snapshot.partial, staticmethod: Snapshot.wrapped, classmethod: Snapshot.wrapped,
    functools._lru_cache_wrapper: Snapshot.wrapped, property: Snapshot.prop, weakref.ref: Snapshot.reference,
    types.ModuleType: Snapshot.named, types.GeneratorType: Snapshot.generator, slice: lambda s, v, p: s.put(repr(v), p),
    **{kind: Snapshot.iterator for kind in (type(iter([])), type(iter(())), type(iter({})), type(iter(range(0))),
                                            enumerate, zip, map)},
    **{kind: Snapshot.named for kind in C_KINDS},
}
BASES = ((dict, Snapshot.mapping), (list, Snapshot.sequence), (tuple, Snapshot.sequence), (set, Snapshot.set),
         (frozenset, Snapshot.set), (collections.deque, Snapshot.sequence))


def first_difference(ours, theirs):
    """Words for where two snapshots differ, or None."""
    if ours.tokens == theirs.tokens:
        return None
    for a, b, path in zip(ours.tokens, theirs.tokens, theirs.paths):
        if a != b:
            return f"{path}: {a!r:.300}, eager has {b!r:.300}"
    return f"{len(ours.tokens)} tokens, eager has {len(theirs.tokens)}"


def message(error):
    """An exception's text without addresses, and a compiled function by the name that a function has."""
    return type(error).__qualname__, ADDRESS.sub("0x", str(error)).replace("'CompiledFunction'", "'function'")
