"""Gradient hooks that a call puts on tensors of its own: ``y.register_hook(hook)``,
``y.grad_fn.register_hook(hook)``, and so the backward hooks of modules that are not "full".

A hook runs in backward, which is not recorded: all that replay must do is put the same hook
on the same tensor again. That is one opaque operation of the graph. A compiled piece of a
graph gives backward one node for all its operations; so those of whose gradient the hook
sees a part are not compiled.
"""

import dis
import functools
import sys
import types
import weakref

import torch
from torch.nn.modules.module import _WrappedHook

from magpy.reasons import StopCapture
from magpy.refgraph.nodes import Node
from magpy.refgraph.kinds import leaf
from magpy.recorder.callables.reads import is_tensor
from magpy.recorder.callables.registry import rule
from magpy.recorder.rewrites import REPLACEMENTS
from magpy.recorder.torch_ops import opaque

NODE_METHODS = {}       # name of a method of autograd's nodes -> rule


def node_rule(func, args):
    """The rule of a method of one of autograd's nodes, each of which has a type of its own."""
    if type(func) is not types.MethodDescriptorType or not args:
        return None
    return NODE_METHODS.get(func.__name__) if is_node(args[0]) else None


def is_node(obj):
    """Is *obj* one of autograd's nodes? Their types say so to nobody but torch."""
    method = type(obj).__dict__.get("_register_hook_dict")
    return type(method) is types.MethodDescriptorType and type(obj).__base__ is object


# ---- the hook, made again -------------------------------------------------------------------

class Maker:
    """Makes hooks again. What they hold of outside objects is guarded by identity, and held
    weakly; ``tensors`` are those that they hold."""

    def __init__(self, r):
        self.r = r
        self.tensors = []

    def of(self, obj):
        """``make(tensors)`` that gives *obj*, or what does the same."""
        if is_tensor(obj):
            self.tensors.append(obj)
            index = len(self.tensors) - 1
            return lambda tensors: tensors[index]
        if leaf.is_value(obj):
            return lambda tensors: obj
        if not self.r.is_internal(obj):
            self.r.know_by_identity(obj)
            return held(obj)
        make = MAKERS.get(type(obj))
        if make is None:
            self.r.stop("autograd-in-graph", f"a hook that holds an object of type {type(obj).__qualname__}")
        return make(self, obj)

    def method(self, obj):
        function, owner = self.of(obj.__func__), self.of(obj.__self__)
        return lambda tensors: types.MethodType(function(tensors), owner(tensors))

    def partial(self, obj):
        if obj.__dict__:
            self.r.stop("autograd-in-graph", "a hook with attributes")
        function = self.of(obj.func)
        args = [self.of(arg) for arg in obj.args]
        named = {name: self.of(arg) for name, arg in obj.keywords.items()}
        return lambda tensors: functools.partial(
            function(tensors), *[arg(tensors) for arg in args], **{name: arg(tensors) for name, arg in named.items()})

    def wrapped(self, obj):
        """A backward hook of a module."""
        hook = self.of(obj.hook)
        module = self.of(obj.module()) if obj.with_module else lambda tensors: None
        return lambda tensors: _WrappedHook(hook(tensors), module(tensors))

    def function(self, obj):
        """With cells of its own. That is the same unless a cell is assigned to."""
        if obj.__dict__ or any(each.opname in ("STORE_DEREF", "DELETE_DEREF", "MAKE_CELL")
                               for each in dis.get_instructions(obj.__code__)):
            self.r.stop("autograd-in-graph", f"{obj.__qualname__}, a hook with attributes or variables of its own")
        cells = []
        for cell in obj.__closure__ or ():
            content = cell.cell_contents
            self.r.recording.tape.hooked_cells.append((cell, content, id(obj)))
            cells.append(self.of(content))
        defaults, named = self.of(obj.__defaults__), obj.__kwdefaults__ or {}
        named = {name: self.of(value) for name, value in named.items()}

        def make(tensors):
            closure = tuple([types.CellType(cell(tensors)) for cell in cells])
            new = types.FunctionType(obj.__code__, obj.__globals__, obj.__name__, defaults(tensors), closure)
            new.__kwdefaults__ = {name: value(tensors) for name, value in named.items()} or None
            new.__qualname__, new.__module__, new.__doc__ = obj.__qualname__, obj.__module__, obj.__doc__
            return new
        return make

    def tuple(self, obj):
        parts = [self.of(part) for part in obj]
        return lambda tensors: tuple([part(tensors) for part in parts])


MAKERS = {types.MethodType: Maker.method, functools.partial: Maker.partial, _WrappedHook: Maker.wrapped,
          types.FunctionType: Maker.function, tuple: Maker.tuple}


def held(obj):
    try:
        reference = weakref.ref(obj)
    except TypeError:
        return lambda tensors: obj
    return lambda tensors: reference()


def check_cells(tape):
    """At the end: what hooks read from cells is what it was, and nobody else can change it."""
    for cell, content, _ in tape.hooked_cells:
        holders = {function for other, _, function in tape.hooked_cells if other is cell}
        entries = sum(other is cell for other, _, _ in tape.hooked_cells)
        # Besides: this loop, and the argument of getrefcount().
        if cell.cell_contents is not content or sys.getrefcount(cell) > len(holders) + entries + 2:
            raise StopCapture("autograd-in-graph", "a variable that a gradient hook reads and others can change")


# ---- the operation --------------------------------------------------------------------------

def enter_hook(r, tensor, hook, on_node, handle):
    """*tensor*, or its node, has got *hook*; *handle* is what can take it off again."""
    tape = r.recording.tape
    maker = Maker(r)
    make = maker.of(hook)

    def register_hook(tensor, *tensors):
        (tensor.grad_fn if on_node else tensor).register_hook(make(tensors))

    keep_apart(tape, tensor, on_node)
    tape.record_opaque(opaque(register_hook, "register_hook"), (tensor, *maker.tensors))
    spend(r, handle)


def keep_apart(tape, tensor, on_node):
    """No compiler gets the operations that took *tensor* so far, nor, for a hook on its node,
    the one that made it."""
    ref = tape.table.known(tensor)
    for op in tape.ops[ref.op + (not on_node):]:
        if op is tape.ops[ref.op] or op.inplace or ref in references(op):
            op.opaque = True


def references(op):
    """What *op* takes, containers opened."""
    left = [op.args, op.kwargs]
    while left:
        value = left.pop()
        if type(value) in (tuple, list):
            left += value
        elif type(value) is dict:
            left += value.values()
        else:
            yield value


def spend(r, handle):
    """Nobody may use the handle: the hook that it takes off is that of the recorded call."""
    node = Node(len(r.recording.nodes), handle, "spent", "the handle of a gradient hook", True)
    node.changed = "register_hook"
    r.add_known(handle, node)


def check_own(tape, tensor):
    """Stops at hooks on outside tensors, which each call would give one more."""
    if tape.in_section or not hasattr(tape.table.known(tensor), "op"):
        raise StopCapture("autograd-in-graph", "register_hook of an outside tensor")


def _register_on_tensor(tape, args, kwargs):
    tensor, hook = (*args, *kwargs.values())
    check_own(tape, tensor)
    return lambda handle: enter_hook(tape.recorder, tensor, hook, False, handle)


REPLACEMENTS["register_hook"] = _register_on_tensor


@rule(torch._C._FunctionBase.__dict__["register_hook"], kind="calls")
def register_on_node(r, func, args, kwargs):
    node, hook = args
    found = r.recording.tape.grad_nodes.get(id(node))
    tensor = found[1]() if found is not None else None
    if tensor is None or tensor.grad_fn is not node:
        r.stop("autograd-in-graph", "register_hook of a node that is no tensor's grad_fn any more")
    check_own(r.recording.tape, tensor)
    r.after_call(lambda handle: enter_hook(r, tensor, hook, True, handle))
    r.leaf()


NODE_METHODS["register_hook"] = register_on_node
