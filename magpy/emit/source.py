"""Writing Python source: names, constants, and functions whose tracebacks show it.

Emitted code is plain text that is compiled once. Its globals are a namespace of its
own with exactly the names it uses, so nothing that the user's program rebinds later
can change its meaning. The text travels as the namespace's ``__loader__``, where
``linecache`` finds it when a traceback or a debugger asks: registering it in
``linecache.cache`` would keep it alive for ever.
"""

import builtins
import keyword
import re
import types

from magpy.refgraph.values import Const, FromSlot, GraphOut

_LITERALS = frozenset((type(None), bool, int, str, bytes, type(Ellipsis)))
_LONGEST_LITERAL = 80
_NAMED = (type, types.FunctionType, types.BuiltinFunctionType)


class Loader:
    """Hands out a source text to linecache."""

    def __init__(self, text):
        self.text = text

    def get_source(self, name):
        return self.text


class Namespace:
    """The globals of emitted code: names for objects, each object named once."""

    def __init__(self, known):
        self.names = dict(known)
        self._name_of = {id(obj): name for name, obj in known.items()}
        self._counts = {}

    def name(self, obj, hint):
        """A name for *obj*, made from *hint*."""
        name = self._name_of.get(id(obj))
        if name is None:
            name = self._name_of[id(obj)] = self.free_name(hint)
            self.names[name] = obj
        return name

    def free_name(self, hint):
        base = identifier(hint)
        count = self._counts.get(base, 0)
        while True:
            name = base if count == 0 else f"{base}_{count}"
            count += 1
            if name not in self.names and not hasattr(builtins, name):
                self._counts[base] = count
                return name

    def function(self, text, name, filename):
        """Compile *text*, which defines *name*, and return that function."""
        scope = dict(self.names)
        scope["__builtins__"] = {}
        scope["__name__"] = filename
        scope["__loader__"] = Loader(text)
        exec(compile(text, filename, "exec"), scope)
        return scope[name]


def identifier(text):
    """The nearest thing to *text* that is a Python identifier."""
    name = re.sub(r"\W+", "_", text, flags=re.ASCII).strip("_") or "x"
    if name[0].isdigit() or keyword.iskeyword(name):
        name = f"v_{name}"
    return name


class Writer:
    """Turns recipes into text. ``slot_text`` maps a node's index to the expression
    that holds it; ``made`` maps the id of a New to the name it was given."""

    def __init__(self, namespace, slot_text):
        self.namespace = namespace
        self.slot_text = slot_text
        self.made = {}

    def ref(self, recipe):
        kind = type(recipe)
        if kind is GraphOut:
            return f"g{recipe.index}"
        if kind is FromSlot:
            return self.slot_text[recipe.node.index]
        if kind is Const:
            return self.literal(recipe.obj)
        return self.made[id(recipe)]

    def refs(self, recipes):
        return ", ".join(map(self.ref, recipes))

    def tuple(self, recipes):
        """A tuple display, right for one element too."""
        return f"({self.ref(recipes[0])},)" if len(recipes) == 1 else f"({self.refs(recipes)})"

    def literal(self, obj):
        if _is_literal(obj):
            text = repr(obj)
            if len(text) <= _LONGEST_LITERAL:
                return text if text != "Ellipsis" else "..."
        return self.constant(obj, _hint(obj))

    def constant(self, obj, hint):
        return self.namespace.name(obj, hint)

    def type(self, cls):
        return self.namespace.name(cls, cls.__name__)


def _is_literal(obj):
    """Does repr() give source text that makes the same value?"""
    t = type(obj)
    if t is int:
        return -10**40 < obj < 10**40       # repr() of a huge int may be refused
    if t is float:
        return obj - obj == 0               # neither infinite nor NaN
    return t in _LITERALS or (t is tuple and len(obj) < 8 and all(map(_is_literal, obj)))


def _hint(obj):
    """Words for a constant's name."""
    if issubclass(type(obj), _NAMED):
        return obj.__name__
    return f"c_{type(obj).__name__}"
