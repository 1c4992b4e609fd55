"""What rules have in common: the reads that C code does on behalf of a call.

Each function here is one protocol of the interpreter (iterate, compare, hash, convert
to a number), told to the recorder in the order in which C does it. Python methods that
the protocol calls are recorded when they run; what must be said here is which method
the *type* has, and what C methods of outside objects read.

Items that C code takes out of a generator, or gets back from a Python function, are not
known before the call; `watch` looks at them as they come.
"""

import enum
import gc
import inspect
import itertools
import operator
import types
from collections import OrderedDict, deque

import torch

from magpy.recorder.callables.registry import BUFFER_TYPES, IDENTITY_TYPES, KINDS, RULES, TORCH_OPERATORS, is_a

SCALARS = frozenset((
    type(None), bool, int, float, complex, str, bytes, type(Ellipsis), type(NotImplemented),
    range, torch.Size, torch.device, torch.dtype, torch.layout, torch.memory_format,
    torch.qscheme))
NUMBERS = (int, float, complex)
CONTAINERS = (list, tuple, dict, set, frozenset)
C_FUNCTIONS = (types.BuiltinFunctionType, types.MethodDescriptorType,
               types.WrapperDescriptorType, types.ClassMethodDescriptorType,
               types.MethodWrapperType)
FIXED = (type, types.ModuleType, types.BuiltinFunctionType, types.MethodDescriptorType,
         types.WrapperDescriptorType, types.CodeType, types.GenericAlias, types.UnionType)
REFLECTED = {"__lt__": "__gt__", "__le__": "__ge__", "__gt__": "__lt__", "__ge__": "__le__",
             "__eq__": "__eq__", "__ne__": "__ne__"}


# ---- what an object is ----------------------------------------------------------

def plain(obj):
    """An immutable value all the way down, of builtin types: nothing outside is in it."""
    kind = type(obj)
    if kind in SCALARS:
        return True
    if kind is tuple or kind is frozenset:
        return all(plain(item) for item in obj)
    if kind is slice:
        return plain(obj.start) and plain(obj.stop) and plain(obj.step)
    return False


def fixed(obj):
    """Plain, or an object that is its own value (a type, a function of C, an enum member)."""
    kind = type(obj)
    return (plain(obj) or is_a(obj, FIXED) or kind in IDENTITY_TYPES
            or is_a(kind, enum.EnumType))


def is_tensor(obj):
    return is_a(obj, torch.Tensor)


def is_c(func):
    """Is *func* run by C code alone, so that its effect must be told by a rule?"""
    return not is_a(func, (types.FunctionType, types.MethodType)) or func in RULES


def name_of(func):
    """Words for something that is called, which must run none of its code."""
    if isinstance(getattr(type(func), "__call__", None), types.FunctionType):
        return f"a {type(func).__qualname__}"
    return getattr(func, "__qualname__", None) or getattr(func, "__name__", None) or f"a {type(func).__qualname__}"


# ---- values ---------------------------------------------------------------------

def value(r, obj):
    """C code reads the value of *obj*, an instance of a builtin type or of a subclass."""
    if fixed(obj) or is_tensor(obj):
        return
    if is_a(obj, CONTAINERS) or type(obj) is slice:
        r.read_deep(obj)
    elif type(obj) in BUFFER_TYPES:
        r.read_buffer(obj)
    elif r.know(obj) is not None:
        r.stop("object-read", f"value of {type(obj).__qualname__}")


def internal(r, obj):
    """C code reads an object of a kind whose content guards cannot hold: it must have
    been made by the recording."""
    if not fixed(obj) and r.know(obj) is not None:
        r.stop("object-read", f"content of {type(obj).__qualname__}")


def values(r, func, args, kwargs):
    """Rule: reads the values of its arguments, and nothing else."""
    for arg in args:
        value(r, arg)
    for arg in kwargs.values():
        value(r, arg)


def content(r, func, args, kwargs):
    """Rule: reads the items of its first argument."""
    items_of(r, args[0])
    for arg in args[1:]:
        value(r, arg)


def nothing(r, func, args, kwargs):
    """Rule: reads nothing that is not guarded already by how the arguments were reached."""


def known(r, func, args, kwargs):
    """Rule: holds on to its arguments, or looks only at their types."""
    for arg in args:
        r.know(arg)
    for arg in kwargs.values():
        r.know(arg)


def internals(r, func, args, kwargs):
    """Rule of methods of a kind of object that is covered only if the recording made it."""
    internal(r, args[0])
    for arg in args[1:]:
        value(r, arg)


def stops(reason):
    """A rule that ends the capture."""
    def stop(r, func, args, kwargs):
        r.stop(reason, name_of(func))
    stop.reason = reason
    return stop


# ---- protocols ------------------------------------------------------------------

def convert(r, obj, *names):
    """Conversion of *obj* by the first of the methods *names* that its type has."""
    if fixed(obj):
        return
    if is_a(obj, (*NUMBERS, str, bytes, bytearray)):
        value(r, obj)
    for name in names:
        if r.special(name, (obj,)):
            return


def number(r, obj):
    """float(obj), as math functions do it."""
    convert(r, obj, "__float__", "__index__")


def index(r, obj):
    if obj is not None:
        convert(r, obj, "__index__")


def text(r, obj, conversion="__str__"):
    """str(obj) or repr(obj)."""
    if not plain(obj):
        r.special(conversion, (obj,))


def truth(r, obj):
    """bool(obj)."""
    if fixed(obj) and not is_a(obj, type):
        return
    if type(obj) in CONTAINERS:
        r.read_truth(obj)
    elif not r.special("__bool__", (obj,)):
        r.special("__len__", (obj,))


def truth_of_answer(r, answer):
    """bool(answer), *answer* being what a comparison gave. A tensor's truth is an operation, seen as one."""
    if answer is not NotImplemented and not is_tensor(answer):
        truth(r, answer)


def hashes(r, key):
    """*key* is looked up in, or put into, a dict or set."""
    if fixed(key):
        return
    kind = type(key)
    if kind.__hash__ is object.__hash__ or is_tensor(key):
        r.observe_identity(key)
    elif kind is tuple:
        r.read_deep(key)
        for item in key:
            hashes(r, item)
    else:
        r.special("__hash__", (key,))
        r.type_lookup(kind, "__eq__")


def safe_key(key):
    """Can a rule look *key* up without running code of the user's?"""
    kind = type(key)
    if kind is tuple:
        return all(safe_key(item) for item in key)
    return fixed(key) or kind.__hash__ is object.__hash__ and kind.__eq__ is object.__eq__


def compare(r, a, b, name="__eq__"):
    """a == b, or another comparison, by the methods of their types."""
    if plain(a) and plain(b):
        return
    if type(b) is not type(a) and is_a(b, type(a)):
        a, b, name = b, a, REFLECTED[name]
    r.special(name, (a, b))
    if type(a) is not type(b):
        r.special(REFLECTED[name], (b, a))
    else:
        r.may_compare(b, REFLECTED[name])


def compared(r, obj, name="__lt__", depth=0):
    """*obj* is going to be compared with others of its kind, which are not known, or too many
    to try each pair: everything that such a comparison may look at."""
    if plain(obj):
        return
    kind = type(obj)
    for base in (list, tuple):
        if is_a(obj, base) and getattr(kind, name) is getattr(base, name):
            if depth > 50:
                r.stop("object-read", "containers nested too deeply, or in a cycle")
            r.read_content(obj)
            for item in base.__iter__(obj):
                compared(r, item, name, depth + 1)
            return
    if r.know(obj) is not None or is_a(getattr(kind, name), types.FunctionType):
        compare(r, obj, obj, "__eq__")
        compare(r, obj, obj, name)


def same_or_equal(r, a, b):
    """How C containers compare items: identity first, then ``==``."""
    if type(a) is float and a != a or type(b) is float and b != b:
        r.stop("object-read", "a container with a NaN was compared")
    if fixed(a) and fixed(b):
        return
    if not (is_a(a, CONTAINERS) or is_a(b, CONTAINERS)):
        r.compare_identity(a, b)
    if a is not b:
        compare(r, a, b)


def operate(r, name, a, b, reflected=True):
    """A binary operator: ``operate(r, "add", a, b)`` is ``a + b``."""
    if plain(a) and plain(b):
        return
    r.special(f"__{name}__", (a, b))
    if reflected and type(a) is not type(b):
        r.special(f"__r{name}__", (b, a))


# ---- iteration --------------------------------------------------------------------

def iterates(r, obj):
    """iter(obj)."""
    kind = type(obj)
    if kind is list or kind is tuple or kind is dict:
        r.read_content(obj)
    elif kind not in SCALARS:
        if not r.special("__iter__", (obj,)):
            r.special("__getitem__", (obj, 0))
            r.special("__len__", (obj,))
        r.type_lookup(kind, "__next__")


def items_of(r, obj):
    """C code takes all items of *obj*. Returns them, or None when that cannot be told
    without taking them."""
    iterates(r, obj)
    kind = type(obj)
    if kind in (str, bytes, range, torch.Size):
        return list(obj)
    base = base_of(kind)
    if base is not None:
        return list(base.__iter__(obj))
    return remaining(r, obj)


def base_of(kind):
    """The builtin container whose iteration *kind* has inherited."""
    for base in (list, tuple, dict, set, frozenset, OrderedDict, deque, *DICT_VIEWS):
        if issubclass(kind, base) and kind.__iter__ is base.__iter__:
            return base
    return None


DICT_VIEWS = tuple(type(view) for view in ({}.keys(), {}.values(), {}.items()))
SIMPLE_ITERATORS = {type(iter(obj)) for obj in (
    [], (), "", "\u1234", b"", range(0), range(1 << 80), {}, {}.values(), {}.items(), set())}
SIMPLE_ITERATORS |= {type(reversed(obj)) for obj in ([], {}, {}.values(), {}.items())}
ITERATORS_OF_ITERATORS = (map, filter, zip, enumerate, reversed)


def base_iter(sequence):
    """As the C iterator of a subclass goes: by the base's own ways."""
    base = next((each for each in (list, tuple, str, bytes) if issubclass(type(sequence), each)), None)
    return base.__iter__(sequence) if base is not None else iter(sequence)


def remaining(r, iterator):
    """The items that a C iterator is going to give; None when unknown."""
    kind = type(iterator)
    if kind in SIMPLE_ITERATORS:
        state = iterator.__reduce__()
        rest = list(base_iter(state[1][0]))
        position = state[2] if len(state) > 2 else None
        if kind is type(reversed([])):
            return rest[position::-1] if position is not None else []
        return rest[position or 0:]
    if kind is enumerate:
        inner, start = iterator.__reduce__()[1]
        items = remaining(r, inner)
        return None if items is None else list(enumerate(items, start))
    if kind is zip:
        columns = [remaining(r, each) for each in iterator.__reduce__()[1]]
        return None if any(each is None for each in columns) else list(zip(*columns))
    if kind is reversed:
        return list_of_reversed(iterator)
    if kind is map:
        return mapped(r, *iterator.__reduce__()[1])
    return None


def mapped(r, func, *sources):
    """What a map object is going to give, where its function can be called beforehand."""
    columns = [remaining(r, each) for each in sources]
    if any(column is None for column in columns):
        return None
    rows = list(zip(*columns))
    if type(func) is operator.itemgetter or func is len:
        if all(type(item) in CONTAINERS for item, in rows):
            return [func(item) for item, in rows]
    elif KINDS.get(func) == "pure" and all(plain(row) for row in rows):
        return [func(*row) for row in rows]
    return None


def list_of_reversed(iterator):
    state = iterator.__reduce__()
    sequence = state[1][0]
    if type(sequence) in (str, tuple, range) and len(state) > 2:
        return [sequence[i] for i in range(state[2], -1, -1)]
    return [] if sequence == () else None


def inputs(iterator):
    """The iterators below a map, filter, zip or enumerate object."""
    parts = iterator.__reduce__()[1]
    if type(iterator) is enumerate:
        return parts[:1]
    return parts[1:] if type(iterator) in (map, filter) else parts


def watch(r, obj, on_item):
    """Call *on_item* for each value that *obj*, a generator or a Python function,
    gives to the C code of the current call."""
    r.watch_values(obj, on_item)


def each_item(r, obj, on_item):
    """C code takes all items of *obj* and does *on_item* with each."""
    items = items_of(r, obj)
    if items is None:
        unseen(r, obj, on_item)
    else:
        for item in items:
            on_item(item)


def unseen(r, iterator, on_item, depth=0):
    """The items of an iterator that cannot be told beforehand. What could become one is
    looked at: what generators and Python functions give, as it comes, and the items of
    containers below. That is more than the items that come out, never less."""
    kind = type(iterator)
    if depth > 20:
        r.stop("object-read", "iterators nested too deeply")
    if kind is types.GeneratorType:
        watch(r, iterator, on_item)
        return
    if kind in SIMPLE_ITERATORS:
        for item in remaining(r, iterator):
            on_item(item)
        return
    if by_python(r, kind, on_item):
        return
    parts = iterator.__reduce__()[1][:1] if kind is map else gc.get_referents(iterator)
    if kind is itertools.chain:
        on_item = flattened(r, on_item)
    for part in parts:
        unseen_part(r, part, on_item, depth)


def by_python(r, kind, on_item):
    """Iteration that a class does in Python. Returns whether it does."""
    for name in ("__next__", "__iter__", "__getitem__"):
        method = getattr(kind, name, None)
        if is_a(method, types.FunctionType):
            if name == "__iter__" and not method.__code__.co_flags & inspect.CO_GENERATOR:
                watch(r, method, lambda iterator: unseen(r, iterator, on_item))
            else:
                watch(r, method, on_item)
            return True
        if method is not None:
            return False
    return False


def flattened(r, on_item):
    """For what chain() is made of: its parts, or what gives them."""
    def on_part(part):
        on_item(part)
        if type(part) in CONTAINERS or hasattr(type(part), "__next__"):
            each_item(r, part, on_item)
    return on_part


def unseen_part(r, part, on_item, depth):
    """Something that a C iterator holds: its source, its function, items kept for later."""
    if is_a(part, (types.FunctionType, types.MethodType)):
        watch(r, getattr(part, "__func__", part), on_item)
    elif type(part) in CONTAINERS:
        for item in part:
            on_item(item)
    elif hasattr(type(part), "__next__"):
        unseen(r, part, on_item, depth + 1)
    elif callable(part) and not is_a(part, type) and not makes_new(part):
        r.stop("unknown-callable", f"values of {name_of(part)}, from an iterator")


def makes_new(func):
    """Are the results of this C function plain, or made by it?"""
    if type(func).__hash__ is None:
        return False
    return func in TORCH_OPERATORS or func is len or func is type or KINDS.get(func) in ("pure", "allocates")


# ---- calls --------------------------------------------------------------------------

# Kinds of rules whose functions may be called at another time than the rule runs.
TIMELESS = ("pure", "reads", "allocates", "calls", "state")


# They look at nothing of what they are given but its type.
HOLDS = (type, itertools.repeat)


def calls(r, func, args, kwargs=None):
    """C code calls *func* with these arguments."""
    if is_a(func, types.FunctionType) and func not in RULES:
        r.know(func)
    else:
        r.call(func, args, kwargs or {})


def calls_later(r, func):
    """C code will call *func* with arguments that cannot be told now."""
    if is_a(func, types.FunctionType) and func not in RULES:
        r.know(func)
    elif is_a(func, types.MethodType):
        calls(r, func, ())
    elif func in TORCH_OPERATORS or func in HOLDS or KINDS.get(func) == "pure":
        pass
    else:
        r.stop("unknown-callable", f"{name_of(func)} called with values from an iterator")
