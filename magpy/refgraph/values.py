"""How a value that outlives the recorded call is made again at replay.

A `Describer` reads the real objects at the end of the recording and gives each a
recipe: a constant, an outside object that a guard slot holds, an output of the
graph, or a new object made of further recipes. One object has one recipe, so
sharing and cycles come out as they were.

Why not log how each object was built and redo that: the user's constructors would
run again, with whatever they read and write, and an object that was changed many
times would be changed as often at each replay. The final content is all that the
rest of the program can see.
"""

import torch

from magpy.guards.tensor_meta import storage_key
from magpy.reasons import StopCapture
from magpy.refgraph import kinds
from magpy.refgraph.kinds import leaf


class Const:
    """The object itself: an immutable value, or one that is guarded by identity."""

    __slots__ = ("obj",)

    def __init__(self, obj):
        self.obj = obj

    def __repr__(self):
        return f"Const({self.obj!r})"


class FromSlot:
    """An outside object, taken from where the guards found it."""

    __slots__ = ("node",)

    def __init__(self, node):
        self.node = node

    def __repr__(self):
        return f"FromSlot({self.node.path})"


class GraphOut:
    """The index-th output of the graph."""

    __slots__ = ("index",)

    def __init__(self, index):
        self.index = index

    def __repr__(self):
        return f"GraphOut({self.index})"


class New:
    """An object made anew: *kind* knows how, from *parts* (recipes) and *static*
    (whatever else the kind noted, such as field names)."""

    __slots__ = ("kind", "type", "parts", "static")

    def __init__(self, kind, type_):
        self.kind = kind
        self.type = type_
        self.parts = ()
        self.static = None

    def __repr__(self):
        return f"New({self.type.__name__}, {len(self.parts)} parts)"


class Describer:
    """Gives recipes for the live objects of one recording.

    *recorder* answers what an object is (``node_of``, ``is_internal``, ``know``); *table*
    answers what a tensor is (``known``, ``in_outside_memory``); *nodes* are the recording's. What the
    recipes need is gathered in ``outputs`` (references into the tape, in the order
    of the graph's outputs) and ``slots`` (nodes whose objects replay needs).
    """

    def __init__(self, recorder, table, nodes, tensor_type):
        self.recorder = recorder
        self.table = table
        self.nodes = nodes
        self.tensor_type = tensor_type
        self.outputs = []
        self.slots = []
        self.output_memory = set()      # storage keys of the outputs
        self._output_index = {}
        self._slot_set = set()
        self._memo = {}
        self._keep = []     # described objects, so that their ids stay theirs

    def value(self, obj):
        """The recipe of *obj*; StopCapture when it cannot be made again."""
        found = self._memo.get(id(obj))
        if found is None:
            found = self._describe(obj)
        return found

    def _describe(self, obj):
        if issubclass(type(obj), self.tensor_type):    # isinstance would ask obj.__class__
            return self._remember(obj, self._tensor(obj))
        if leaf.is_value(obj):
            return self._remember(obj, Const(obj))
        node = self.recorder.node_of(obj)
        if node is not None:
            return self._remember(obj, self.from_node(node))
        if self.recorder.is_internal(obj):
            return self._new(obj)
        self.recorder.know(obj)     # a type, a builtin function: or it stops the capture
        return self._remember(obj, Const(obj))

    def _remember(self, obj, recipe):
        self._memo[id(obj)] = recipe
        self._keep.append(obj)
        return recipe

    def _new(self, obj):
        kind = kinds.of(obj)
        if kind is None or self.recorder.is_internal(type(obj)):
            raise StopCapture("output-kind", type(obj).__qualname__)
        new = self._remember(obj, New(kind, type(obj)))
        kind.describe(obj, new, self)   # may come back to obj: it is in the memo by now
        return new

    def _tensor(self, obj):
        ref = self.table.known(obj) if self.table is not None else None
        if ref is not None and hasattr(ref, "node"):
            return self.from_node(self.nodes[ref.node])
        if ref is not None:
            # A Parameter that the call made is the result of an operation that makes one.
            if type(obj) not in (self.tensor_type, torch.nn.Parameter) or obj.__dict__:
                raise StopCapture("output-kind", "a tensor of a class or with attributes of its own")
            if self.table.in_outside_memory(obj):
                raise StopCapture("aliasing", "a tensor in the memory of an outside array outlives the call")
            self.output_memory.add(storage_key(obj))
            return GraphOut(self._output(ref))
        node = self.recorder.node_of(obj)
        if node is None:
            raise StopCapture("unknown-tensor", "a tensor that outlives the call")
        return self.from_node(node)

    def _output(self, ref):
        index = self._output_index.get(ref)
        if index is None:
            index = self._output_index[ref] = len(self.outputs)
            self.outputs.append(ref)
        return index

    def from_node(self, node):
        """The recipe of an outside object."""
        if node.kind == "spent":
            raise StopCapture("output-kind", node.path)
        if node.const:
            return Const(node.obj)
        if node.index not in self._slot_set:
            self._slot_set.add(node.index)
            self.slots.append(node)
        return FromSlot(node)

    def key(self, obj):
        """The recipe of a dict key or set element: making it must run no user code."""
        if type(obj) is tuple:
            for item in obj:
                self.key(item)
        elif not leaf.is_value(obj) and not kinds.hashes_by_identity(obj):
            raise StopCapture("dict-key", type(obj).__qualname__)
        return self.value(obj)
