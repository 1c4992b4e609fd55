"""Guard instructions: the one description that the native program and its Python twin share.

A guard program is a flat list of instructions, each *load a value from there, check
it so, perhaps keep it in a slot*. A tree of guard objects (Dynamo's way) would share
prefixes by nesting; here a shared prefix is simply a slot that was filled earlier, so
the program is one array that runs front to back without a call per guard, and its
order is the order in which the recording met the values.

Loads (``src`` is a slot number, -1 for none, or ``Const(obj)``: the object itself,
which sits in the program's frame already and costs nothing a run):

    op             key            value
    state          -              none; goes with the check "state"
    arg            i              i-th positional argument
    kwarg          name           keyword argument
    fn             -              the compiled callable
    const          object         the object itself
    slot           -              what is in slot src
    slots          slots          none; goes with the checks "alias", "unique", "apart" and "lacks"
    attr           name           the instance's own attribute: no descriptor, no type
    dict           leaf           item of a dict, no user __getitem__ or __missing__
    list, tuple    i              element (negative: from the end)
    cell           -              a cell's content
    closure        i              function src's i-th cell (src -1: of the callable)
    member         descriptor     what a C getset or member descriptor gives for src
    instance_dict  -              the __dict__ of src
    type_lookup    (type, name)   the lookup along the type's MRO, remembered by version tag
    type_own       (type, name)   the type's own __dict__, remembered by version tag
    type_mro       type           its __mro__, remembered by version tag
    key            i              i-th key of a dict, in its order
    deque          i              element of a deque
    deref          -              what weak reference src refers to, None when it is gone
    call           C function     what it returns, called without arguments; also a
                                  functools.partial of an lru_cache or dict.__contains__

A load that finds nothing gives ABSENT, which fails every check but "absent". A load
from the wrong kind of object fails whatever the check.

Checks (``expected``):

    none      -                anything that is there
    is        object           the same object
    type      type             exactly this type
    leaf      value            same exact type and same value, see native/leaf.h
    absent    -                nothing there
    tensor    TensorMeta       same metadata
    same      slot             the same object as in that slot
    distinct  slot             another object than in that slot
    len       n                number of elements, of C containers only
    keys      tuple            a dict's keys: the same leaves in the same order
    set       tuple            a set's content, in its order of iteration
    truth     bool             truth of C containers and numbers
    alias     group numbers    which of the tensors share storage
    unique    -                no two of the slots hold the same object
    apart     (written, is    what was written shares its dict with no other slot: a slot holds
              dict) for each  a dict, or an object that has its attributes in one
    lacks     -                the object in the second slot is no key of the dict in the first
    quiet     (last,          this reference (content: all that the object has) is going to be
              content)        dropped, if there is one; at the last: nothing has a finalizer or
                              weak references of what dies with all these
    state     GlobalState      torch's global state
    buffer    Snapshot         type and memory of an object of C, see buffers.py
    frozen    Content          a weight in whose memory is what the graph has as a constant
"""

from typing import Any, NamedTuple

LOADS = ("state", "arg", "kwarg", "fn", "const", "slot", "slots", "attr", "dict", "list",
         "tuple", "cell", "closure", "member", "instance_dict", "type_lookup", "type_own",
         "type_mro", "key", "call", "deque", "deref")

CHECKS = ("none", "is", "type", "leaf", "absent", "tensor", "same", "distinct", "len",
          "keys", "set", "truth", "alias", "unique", "state", "buffer", "apart", "lacks", "quiet",
          "frozen")


class Const:
    """A source that is an object instead of a slot."""

    __slots__ = ("obj",)

    def __init__(self, obj):
        self.obj = obj

    def __repr__(self):
        return f"Const({getattr(self.obj, '__name__', type(self.obj).__name__)})"


class Instr(NamedTuple):
    load: str
    src: Any
    key: Any
    check: str
    expected: Any
    dst: int
    text: str               # access path of what is loaded
    place: Any = None       # Place: where the recorded call read it
