"""The rules behind magpy.annotate and magpy.allow_in_graph (magpy/control.py).

The rule of a C callable runs before the call, like any other. That of a Python function runs
when its frame starts, however it came to be called, and tells what is to become of the
frame: it is recorded after all (`RECORDED`), or it is run unrecorded, and then *done*(result)
is called, with ABSENT as the result of a call that raised.
"""

import collections
import types

from magpy.refgraph.graph import ABSENT
from magpy.recorder.callables.reads import fixed, is_tensor, name_of, plain
from magpy.recorder.section import operation_of
from magpy.recorder.torch_checks import tensors_in

RECORDED = object()
LISTS = (list, tuple, set, frozenset, collections.deque)
DICTS = (dict, collections.OrderedDict, collections.defaultdict)


def nothing_more(result):
    """What is to be done at the end of a frame that nobody waits for."""


# ---- the values of arguments --------------------------------------------------------------------

class Values:
    """Reads everything that the arguments of a call hold. ``instances``: also what plain
    Python objects from outside do; those that the recording made are its own anyway, and
    are gone through for what they hold."""

    def __init__(self, r, name, instances):
        self.r = r
        self.name = name
        self.instances = instances
        self.seen = {}          # keeps what it was given, so that ids stay theirs

    def read(self, obj):
        if plain(obj) or fixed(obj) or id(obj) in self.seen:
            return
        self.seen[id(obj)] = obj
        if isinstance(obj, slice):
            parts = (obj.start, obj.stop, obj.step)
        elif type(obj) in LISTS or type(obj) in DICTS:
            if self.r.know(obj) is not None:
                self.r.read_content(obj)
            parts = parts_of(obj)
        else:
            parts = self.attributes(obj)
        for part in list(parts):
            self.read(part)

    def attributes(self, obj):
        kind = type(obj)
        outside = self.r.know(obj) is not None
        if outside and not (self.instances and has_plain_attributes(kind)):
            self.r.stop("object-read", f"{self.name} gets a {kind.__qualname__}, whose content no guard holds")
        if outside:
            self.r.read_instance_dict(obj)
            self.r.read_content(obj.__dict__)
        return held(obj)


def parts_of(obj):
    return (part for pair in obj.items() for part in pair) if type(obj) in DICTS else iter(obj)


def held(obj):
    """The values in the attributes of an object, read without running its code."""
    if isinstance(obj, types.FunctionType):
        return ()
    names = getattr(type(obj), "__dict__", {}).get("__slots__", ())
    slots = [getattr(type(obj), name) for name in ((names,) if isinstance(names, str) else names)
             if isinstance(getattr(type(obj), name, None), types.MemberDescriptorType)]
    found = []
    for slot in slots:
        try:
            found.append(slot.__get__(obj))
        except AttributeError:
            pass
    return found + list(getattr(obj, "__dict__", {}).values())


def has_plain_attributes(kind):
    """Do objects of this class hold nothing but their ``__dict__``?"""
    return all(base is object or "__dict__" in base.__dict__ or base.__dict__.get("__slots__") == ()
               or not any(isinstance(each, types.MemberDescriptorType) for each in base.__dict__.values())
               for base in kind.__mro__) and kind.__basicsize__ == object.__basicsize__


def holds_tensor(args, kwargs):
    """Is there a tensor anywhere in the arguments?"""
    seen, todo = {}, [*args, *kwargs.values()]
    while todo:
        obj = todo.pop()
        if is_tensor(obj):
            return True
        if plain(obj) or fixed(obj) or id(obj) in seen:
            continue
        seen[id(obj)] = obj
        todo += parts_of(obj) if type(obj) in LISTS or type(obj) in DICTS else held(obj)
    return False


def read_values(r, func, args, kwargs, instances):
    values = Values(r, name_of(func), instances)
    for arg in (*args, *kwargs.values()):
        values.read(arg)


def reader(instances):
    def python(r, func, args, kwargs):
        """Guards do not hold the data of tensors: with one among the arguments, what the
        function does with it must be seen."""
        if holds_tensor(args, kwargs):
            return RECORDED
        read_values(r, func, args, kwargs, instances)
        return nothing_more

    def c(r, func, args, kwargs):
        if holds_tensor(args, kwargs):
            r.stop("tensor-data", f"{name_of(func)} gets a tensor, whose data no guard holds")
        read_values(r, func, args, kwargs, instances)
    return python, c


# ---- effects ----------------------------------------------------------------------------------------

def replayable(r, name, obj, copies):
    """*obj* as it can be handed over again at replay. What the call made may change until
    its end, when it is looked at: of containers a copy is kept, if it may be another object."""
    if plain(obj) or fixed(obj) or is_tensor(obj):
        return obj
    kind = type(obj)
    if r.know(obj) is not None:
        return obj
    if kind is tuple or copies and kind in (list, set):
        return kind([replayable(r, name, part, copies) for part in obj])
    if copies and kind is dict:
        return {key: replayable(r, name, part, copies) for key, part in obj.items()}
    r.stop("effect", f"{name} gets a {kind.__qualname__} that the call made")


def again(r, func, args, kwargs, copies):
    """The arguments for the replay of a call."""
    name = name_of(func)
    return (tuple([replayable(r, name, arg, copies) for arg in args]),
            {key: replayable(r, name, arg, copies) for key, arg in kwargs.items()})


def live(r, func, args, kwargs, allowed):
    """From here the call runs as it will at replay, its tensor operations too. Returns what
    is to be done with its result, which is None or, if there is one, *allowed*."""
    name, tape = name_of(func), r.recording.tape
    tape.begin_live(name, list(tensors_in((args, kwargs))))

    def done(result):
        tape.end_live()
        if result is ABSENT:
            r.stop("effect", f"{name} raised")
        if result is not None and result is not allowed:
            r.stop("effect", f"{name} gave a {type(result).__qualname__}, which is not None")
    return done


def effect(r, func, args, kwargs):
    r.effect(func, *again(r, func, args, kwargs, True))
    return live(r, func, args, kwargs, None)


def mutates(r, func, args, kwargs):
    if not args:
        return RECORDED         # a TypeError, or an argument given by name
    target, *rest = args
    name = name_of(func)
    if r.know(target) is None:
        if not r.is_internal(target):
            r.stop("object-write", f"{name} of a {type(target).__qualname__}")
        return reads(r, func, args, kwargs)
    if is_tensor(target):
        r.stop("leaf-mutation", f"{name} of a tensor")
    others, named = again(r, func, rest, kwargs, False)
    r.mutate_unseen(target, name, func, (target, *others), named)
    return live(r, func, args, kwargs, target)


def leaf(r, func, args, kwargs):
    return nothing_more


def by_c(python):
    """The same for C code: the recorder waits for its result."""
    def rule(r, func, args, kwargs):
        done = python(r, func, args, kwargs)
        if done is not RECORDED and done is not nothing_more:
            r.after_call(done)
    return rule


# ---- one operation of the graph -------------------------------------------------------------------------

def operation(r, func, args, kwargs):
    tape, name = r.recording.tape, name_of(func)
    for arg in (*args, *kwargs.values()):
        r.read_deep(arg)
    if tape.in_section:
        return nothing_more         # of another operation
    tape.begin_section(operation_of(func), func, args, kwargs)

    def done(result):
        if result is ABSENT:
            r.stop("exception", f"in {name}, an operation by magpy.allow_in_graph")
        if not of_tensors(result):
            r.stop("output-kind", f"{name} gave a {type(result).__qualname__}: magpy.allow_in_graph is "
                                  "for functions that give tensors")
        tape.end_section(result)
    return done


def of_tensors(result):
    if type(result) in (tuple, list):
        return all(of_tensors(item) for item in result)
    return result is None or is_tensor(result)


pure, pure_c = reader(instances=False)
reads, reads_c = reader(instances=True)
PYTHON = {"pure": pure, "reads": reads, "mutates": mutates, "effect": effect, "leaf": leaf}


def mutates_c(r, func, args, kwargs):
    if args and r.is_internal(args[0]):
        reads_c(r, func, args, kwargs)
    else:
        by_c(mutates)(r, func, args, kwargs)


C = {"pure": pure_c, "reads": reads_c, "mutates": mutates_c, "effect": by_c(effect)}
operation_of_c = by_c(operation)
# Not "pure": the tables say of such functions that they may be called early, and that
# their results are new.
KIND_OF_RULE = {"pure": "reads", "reads": "reads", "mutates": "mutates", "effect": "effect"}
