"""The twin against the native program, on guards lowered from hand-made recordings.

The twin is written independently of the native loop, so each is the other's oracle:
whatever is changed in the outside world, both must give the same verdict.
"""

import collections
import types

import pytest
import torch

from magpy.emit import guards
from magpy.emit.lower import lower
from magpy.guards.instr import Instr
from magpy.guards.program import GuardProgram
from magpy.guards.tensor_meta import GlobalState, TensorMeta, distinct_storages
from magpy.refgraph.graph import Recording
from magpy.refgraph.nodes import Edge, Node


class Layer:
    kind = "layer"

    def __init__(self):
        self.scale = 2.0
        self.tags = ["a", 1]
        self.options = {"p": 0.5, "deep": (1, 2)}
        self.weight = torch.zeros(2)
        self.queue = collections.deque([1])


class Box:
    __slots__ = ("item",)


class Build:
    """A recording by hand."""

    def __init__(self, fn=None, state=True):
        self.recording = Recording(fn, (), {})
        self.recording.state = GlobalState() if state else None

    def node(self, obj, path="?", const=False):
        node = Node(len(self.recording.nodes), obj, "object", path, const)
        self.recording.nodes.append(node)
        return node

    def edge(self, op, key, parent, check, expected, text, obj=None):
        child = None if obj is None else self.node(obj, text)
        self.recording.edges.append(Edge((op, key), parent, (check, expected), child, text))
        return child

    def lower(self, *want):
        return lower(self.recording.edges, self.recording.state, want)


def closure_of(value):
    return lambda: value


def layer_recording(layer, fn, x):
    """A bit of everything, as a recorder would note it. Returns (build, wanted nodes)."""
    b = Build(fn)
    root = b.node(fn, "fn", const=True)
    self = b.edge("arg", 0, None, "type", Layer, "arg[0]", layer)
    tensor = b.edge("arg", 1, None, "tensor", TensorMeta(x), "arg[1]", x)
    box = b.edge("kwarg", "box", None, "type", Box, "kwarg['box']", Box())
    b.edge("member", Box.item, box, "absent", None, "kwarg['box'].item")
    b.edge("type_lookup", (Layer, "kind"), None, "leaf", "layer", "Layer.kind")
    b.edge("type_own", (Layer, "extra"), None, "absent", None, "Layer.extra")
    b.edge("type_mro", Layer, None, "leaf", Layer.__mro__, "Layer.__mro__")
    b.edge("attr", "scale", self, "leaf", 2.0, "arg[0].scale")
    b.edge("attr", "missing", self, "absent", None, "arg[0].missing")
    tags = b.edge("attr", "tags", self, "type", list, "arg[0].tags", layer.tags)
    b.edge("slot", None, tags, "len", 2, "arg[0].tags")
    b.edge("list", 0, tags, "leaf", "a", "arg[0].tags[0]")
    b.edge("list", -1, tags, "leaf", 1, "arg[0].tags[-1]")
    options = b.edge("attr", "options", self, "type", dict, "arg[0].options", layer.options)
    b.edge("slot", None, options, "keys", ("p", "deep"), "arg[0].options")
    b.edge("slot", None, options, "truth", True, "arg[0].options")
    b.edge("dict", "deep", options, "leaf", (1, 2), "arg[0].options['deep']")
    weight = b.edge("attr", "weight", self, "tensor", TensorMeta(layer.weight), "arg[0].weight", layer.weight)
    queue = b.edge("attr", "queue", self, "type", collections.deque, "arg[0].queue", layer.queue)
    b.edge("deque", 0, queue, "leaf", 1, "arg[0].queue[0]")
    cell = b.edge("closure", 0, root, "type", types.CellType, "fn's cell 0", fn.__closure__[0])
    b.edge("cell", None, cell, "leaf", 7, "value")
    b.edge("call", torch.is_anomaly_enabled, None, "leaf", False, "torch.is_anomaly_enabled()")
    b.edge("instance_dict", None, self, "none", None, "arg[0].__dict__")
    b.edge("slot", None, tags, "distinct", options, "arg[0].tags")
    b.edge("slots", (tensor, tags, options), None, "unique", None, "arg[1], arg[0].tags, arg[0].options")
    b.edge("slots", (tensor, weight), None, "alias", distinct_storages((x, layer.weight)), "storage of arg[1]")
    return b, (tensor, weight, root)


def both(lowered, fn, args, kwargs):
    """The native program's and the twin's answer, which must agree."""
    program = GuardProgram(lowered.instrs, len(args), tuple(kwargs), lowered.nslots, lowered.want)
    native = program.run(fn, args, kwargs)
    python = guards.twin(lowered.instrs, lowered.want)(fn, args, kwargs)
    assert (native is None) == (python is None), (native, python, program.failed)
    if native is not None:
        assert all(a is b for a, b in zip(native, python, strict=True))
    return native


CHANGES = {
    "scale": lambda layer, x, box: setattr(layer, "scale", 2),
    "missing": lambda layer, x, box: setattr(layer, "missing", None),
    "tags grow": lambda layer, x, box: layer.tags.append(3),
    "tags change": lambda layer, x, box: layer.tags.__setitem__(1, True),
    "tags become a tuple": lambda layer, x, box: setattr(layer, "tags", ("a", 1)),
    "no tags": lambda layer, x, box: delattr(layer, "tags"),
    "options change": lambda layer, x, box: layer.options.__setitem__("deep", (1, 2.0)),
    "options reordered": lambda layer, x, box: layer.options.__setitem__("p", layer.options.pop("p")),
    "another options class": lambda layer, x, box: setattr(
        layer, "options", collections.OrderedDict(layer.options)),
    "weight rebound": lambda layer, x, box: setattr(layer, "weight", torch.zeros(3)),
    "weight shares": lambda layer, x, box: setattr(layer, "weight", x[:2]),
    "weight is none": lambda layer, x, box: setattr(layer, "weight", None),
    "grad": lambda layer, x, box: x.requires_grad_(),
    "queue changes": lambda layer, x, box: layer.queue.appendleft(2),
    "queue is empty": lambda layer, x, box: layer.queue.clear(),
    "box filled": lambda layer, x, box: setattr(box, "item", 1),
    "another class": lambda layer, x, box: setattr(layer, "__class__", type("Other", (Layer,), {})),
}


@pytest.fixture
def world():
    layer, x, fn = Layer(), torch.zeros(4), closure_of(7)
    build, nodes = layer_recording(layer, fn, x)
    return layer, x, fn, build.lower(*nodes)


def test_holds_and_gives_the_wanted_objects(world):
    layer, x, fn, lowered = world
    values = both(lowered, fn, (layer, x), {"box": Box()})
    assert values[0] is x and values[1] is layer.weight and values[2] is fn


@pytest.mark.parametrize("name", CHANGES)
def test_every_change_is_a_miss(world, name):
    layer, x, fn, lowered = world
    box = Box()
    CHANGES[name](layer, x, box)
    assert both(lowered, fn, (layer, x), {"box": box}) is None


def test_changes_elsewhere(world):
    layer, x, fn, lowered = world
    call = lambda **k: both(lowered, fn, (layer, x), {"box": Box()})     # noqa: E731
    Layer.extra = 1
    try:
        assert call() is None
    finally:
        del Layer.extra
    assert call() is not None
    Layer.kind = "other"
    try:
        assert call() is None
    finally:
        Layer.kind = "layer"
    with torch.no_grad():
        assert call() is None
    fn.__closure__[0].cell_contents = 8
    assert call() is None
    fn.__closure__[0].cell_contents = 7
    assert call() is not None
    assert both(lowered, fn, (3, x), {"box": Box()}) is None
    assert both(lowered, fn, (layer, layer), {"box": Box()}) is None


def test_what_hangs_on_a_constant():
    b = Build(state=False)
    module = types.ModuleType("m")
    module.x = [1]
    constant = b.node(module, "m", const=True)
    child = b.edge("attr", "x", constant, "type", list, "m.x", module.x)
    b.edge("list", 0, child, "leaf", 1, "m.x[0]")
    b.edge("attr", "x", constant, "same", child, "m.x again")
    b.edge("attr", "y", constant, "same", constant, "m.y")
    module.y = module
    lowered = b.lower()
    assert both(lowered, None, (), {}) == []
    module.x = [2]
    assert both(lowered, None, (), {}) is None
    module.x, module.y = [1], None
    assert both(lowered, None, (), {}) is None


def test_unique():
    b = Build(state=False)
    nodes = tuple(b.edge("arg", i, None, "type", list, f"arg[{i}]", []) for i in range(3))
    b.edge("slots", nodes, None, "unique", None, "arg[0], arg[1], arg[2]")
    lowered, one = b.lower(), []
    assert both(lowered, None, ([], [], []), {}) == []
    assert both(lowered, None, (one, [], one), {}) is None


def test_apart():
    b = Build(state=False)
    nodes = tuple(b.edge("arg", i, None, "none", None, f"arg[{i}]", object()) for i in range(3))
    b.edge("slots", nodes, None, "apart", ((True, False), (False, False), (False, True)), "arg[0], arg[1], arg[2]")
    lowered = b.lower()
    one, other = Holder(), Holder()
    assert both(lowered, None, (one, other, {}), {}) == []
    assert both(lowered, None, (one, other, vars(other)), {}) == []     # two that are only read
    assert both(lowered, None, (one, other, vars(one)), {}) is None
    other.__dict__ = vars(one)
    assert both(lowered, None, (one, other, {}), {}) is None
    assert both(lowered, None, (5, (), {}), {}) == []                   # neither has attributes


def test_lacks():
    b = Build(state=False)
    nodes = tuple(b.edge("arg", i, None, "none", None, f"arg[{i}]", object()) for i in range(2))
    b.edge("slots", nodes, None, "lacks", None, "arg[0][arg[1]]")
    lowered, key = b.lower(), Holder()
    assert both(lowered, None, ({Holder(): 1}, key), {}) == []
    assert both(lowered, None, ({key: 1}, key), {}) is None
    assert both(lowered, None, ([], key), {}) is None
    for hashed_otherwise in ("k", [], 2):
        assert both(lowered, None, ({}, hashed_otherwise), {}) is None


def test_quiet():
    b = Build(state=False)
    first = b.edge("arg", 0, None, "none", None, "arg[0]", object())
    b.edge("attr", "k", first, "quiet", (True, False), "arg[0].k")
    lowered, one = b.lower(), Holder()
    assert both(lowered, None, (one,), {}) == []
    one.k = [Holder()]
    assert both(lowered, None, (one,), {}) == []
    one.k = [Loud()]
    assert both(lowered, None, (one,), {}) is None


class Holder:
    pass


class Loud:
    def __del__(self):
        pass


def test_the_text():
    b = Build()
    module = b.node(types.ModuleType("config"), "config", const=True)
    self = b.edge("arg", 0, None, "type", Layer, "arg[0]", Holder())
    b.edge("attr", "training", self, "leaf", True, "arg[0].training")
    b.edge("attr", "scale", self, "leaf", 2.0, "arg[0].scale")
    b.edge("attr", "size", module, "absent", None, "config.size")
    b.edge("type_lookup", (Layer, "forward"), None, "is", len, "Layer.forward")
    b.edge("kwarg", "x", None, "tensor", TensorMeta(torch.zeros(1)), "kwarg['x']")
    assert guards.source(b.lower(self).instrs) == """\
def guards(fn, args, kwargs):
    if not state.matches(): return False    # torch's global state
    if type((v0 := args[0])) is not Layer: return False    # arg[0]
    if own(v0, 'training') is not True: return False    # arg[0].training
    if not equal(own(v0, 'scale'), 2.0): return False    # arg[0].scale
    if own(config, 'size') is not ABSENT: return False    # config.size
    if type_lookup(Layer, 'forward') is not len: return False    # Layer.forward
    if not meta.matches(kwargs['x']): return False    # kwarg['x']
    return True
"""


def test_one_line_an_instruction_whatever_the_text(world):
    instrs = world[3].instrs + [Instr("const", -1, "a\nb" * 50, "leaf", "a\nb" * 50, -1, "a\nb")]
    text = guards.source(instrs)
    assert len(text.splitlines()) == len(instrs) + 2
    assert guards.source(instrs) == text
    compile(text, "guards", "exec")
