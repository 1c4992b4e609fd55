# distutils: sources = magpy/native/guard_program.cpp magpy/native/push.cpp magpy/native/watch.cpp magpy/native/leaf.cpp
# cython: language_level=3
"""Building and running native guard programs.

Building is strict and in Python terms: an unknown op, a slot read before it is
written, a value that guards cannot compare are errors here, at compile time of the
entry, so that the native loop (native/guard_program.cpp) needs no checks of its own.
Why not generated Python, as the twin in emit/guards.py is: a line of it costs about
as much as three native instructions, and its attribute reads would run user code.
"""

from cpython.object cimport PyObject, PyTypeObject
from cpython.ref cimport Py_XDECREF
from libc.stdint cimport uint64_t

import collections
import enum
import functools
import os
import types

import torch

from magpy.guards import buffers
from magpy.guards.instr import Const
from magpy.guards.tensor_meta cimport (
    Content, GlobalState, TensorMeta, content_matcher, pass_maker, state_check, state_matcher, storage_check, storage_getter,
    tensor_check, tensor_matcher, tensor_pass_maker)
from magpy.refgraph.graph import ABSENT


cdef extern from "leaf.h" namespace "magpy":
    void leaf_setup(object identity_types, object equal_types, object enum_meta)
    int leaf_build(Leaf *leaf, object value) except -1
    int leaf_build_content(Leaf *leaf, object value) except -1


cdef extern from "guard_program.h" namespace "magpy":
    const char *load_name(int op)
    const char *check_name(int op)
    cdef struct Dropped:
        PyObject *value
        bint content
    bint native_ends_quietly "magpy::ends_quietly"(
        const vector[Dropped] &dropped, const vector[PyObject *] &owned, PyObject *held)
    PyObject *native_own_dict "magpy::own_dict"(object obj)

    cdef struct TorchChecks:
        pass_maker make_pass "pass"
        tensor_check tensor
        tensor_check content
        state_check state
        storage_check storage
    TorchChecks torch_checks


cdef extern from "watch.h" namespace "magpy":
    int watch_setup() except -1

    cdef cppclass WatchCounts:
        size_t facts
        size_t objects
        uint64_t changes
    WatchCounts _watch_counts "magpy::watch_counts"()


cdef extern from *:
    """
    #define magpy_steal(o) (o)
    """
    PyObject *PyList_GET_ITEM(PyObject *items, Py_ssize_t i)
    object magpy_steal(PyObject *)      # takes over a new reference
    ctypedef struct PyListObject:
        PyObject **ob_item


def watch_counts():
    """How much is watched in this process: facts, objects, and changes told so far."""
    counts = _watch_counts()
    return {"facts": counts.facts, "objects": counts.objects, "changes": counts.changes}


def verify(bint on):
    """Run every guard at each call, also those that are watched, and end the process where the
    two disagree (MAGPY_VERIFY_GUARDS)."""
    global verify_guards
    verify_guards = on


cdef dict _names(const char *(*name)(int)):
    cdef dict names = {}
    cdef int op = 0
    while name(op) != NULL:
        names[name(op).decode()] = op
        op += 1
    return names


LOAD_NUMBERS = _names(load_name)
CHECK_NUMBERS = _names(check_name)

torch_checks.tensor = tensor_matcher()
torch_checks.content = content_matcher()
torch_checks.state = state_matcher()
torch_checks.storage = storage_getter()
torch_checks.make_pass = tensor_pass_maker()
watch_setup()
verify(os.environ.get("MAGPY_VERIFY_GUARDS", "0") not in ("", "0"))
leaf_setup((torch.dtype, torch.layout, torch.memory_format, torch.qscheme),
           (torch.device,), enum.EnumMeta)

_NUMBER_KEYS = frozenset(("arg", "list", "tuple", "closure", "key"))
_NEED_SRC = frozenset(("slot", "attr", "dict", "list", "tuple", "cell", "member",
                       "instance_dict", "key", "deque", "deref"))
_DESCRIPTORS = (types.GetSetDescriptorType, types.MemberDescriptorType)


def own_dict(obj):
    """The object's own __dict__ if it has one by now, else None."""
    cdef PyObject *found = native_own_dict(obj)
    return <object>found if found != NULL else None


def ends_quietly(list owned not None, bint content, dict held=None):
    """Does no code run when the reference to owned[0] that the caller got it from goes (for *content*: all that
    it has)? To each of *owned* the caller has one more reference; *held*: ids of what a recorder holds."""
    cdef vector[Dropped] dropped
    cdef vector[PyObject *] known
    cdef Py_ssize_t i
    for i in range(len(owned)):
        known.push_back(PyList_GET_ITEM(<PyObject *>owned, i))
        known.push_back(PyList_GET_ITEM(<PyObject *>owned, i))      # the list's own
    dropped.push_back(Dropped(PyList_GET_ITEM(<PyObject *>owned, 0), content))
    return native_ends_quietly(dropped, known, <PyObject *>held if held is not None else NULL)


def is_leaf(value):
    """Can guards compare *value* by content?"""
    cdef Leaf leaf
    try:
        leaf_build(&leaf, value)
    except TypeError:
        return False
    return True


cdef class _Arguments:
    """A call from Python, as the vectorcall protocol would give it."""

    cdef Call call
    cdef tuple names
    cdef list values
    cdef object fn

    def __init__(self, fn, tuple args, dict kwargs):
        self.fn = fn
        self.names = tuple(kwargs) if kwargs else None
        self.values = [*args, *kwargs.values()] if kwargs else list(args)
        self.call.fn = <PyObject *>fn
        self.call.args = (<PyListObject *><PyObject *>self.values).ob_item
        self.call.nargs = len(args)
        self.call.kwnames = <PyObject *>self.names if kwargs else NULL


cdef class GuardProgram:
    """The guards of one entry, compiled.

    ``instrs`` are `Instr`s, ``nargs`` and ``kwnames`` the call's signature, ``want`` the
    slots whose values `run` gives. The program keeps the objects it compares with alive.
    """

    def __cinit__(self):
        self.program = new Program()
        self.failed = -1

    def __dealloc__(self):
        del self.program

    def __init__(self, instrs, Py_ssize_t nargs, kwnames, Py_ssize_t nslots, want):
        if self.keep is not None:
            raise TypeError("a GuardProgram is built once")
        self.keep = [ABSENT]
        self.instrs = tuple(instrs)
        self.program.absent = <PyObject *>ABSENT
        self.program.nargs = nargs
        self.program.nslots = nslots
        for name in kwnames or ():
            self.keep.append(name)
            self.program.kwnames.push_back(<PyObject *>name)
        _Builder(self, nslots).build(want)

    cdef bint match_c(self, const Call &call, Match &match) except -1:
        """Do the guards hold? If so, *match* has the wanted slots' values."""
        cdef Py_ssize_t at
        if self.keep is None:       # taken apart by the cycle collector
            return False
        at = self.program.match(call, &match)
        if at != <Py_ssize_t>self.program.instrs.size():
            self.failed = at
            return False
        if match.list == NULL and match.slots == NULL and self.program.want.size():
            raise MemoryError()
        return True

    cdef list slots_c(self, Match &match):
        """The wanted slots' values as a list."""
        cdef size_t i
        if match.list != NULL:
            return <list>match.list
        return [<object>match.slots[i] for i in range(self.program.want.size())]

    def match(self, fn, tuple args not None, dict kwargs):
        """As `run`, but what is watched and was not told of is not asked again."""
        cdef Match match
        cdef _Arguments call = _Arguments(fn, args, kwargs)
        try:
            return self.slots_c(match) if self.match_c(call.call, match) else None
        finally:
            Py_XDECREF(match.list)

    def run(self, fn, tuple args not None, dict kwargs):
        """The wanted slots' values when all guards hold, else None: then see ``failed``."""
        cdef PyObject *result = NULL
        cdef _Arguments call = _Arguments(fn, args, kwargs)
        cdef Py_ssize_t at
        if self.keep is None:
            return None
        at = self.program.run(call.call, &result)
        if at != <Py_ssize_t>self.program.instrs.size():
            self.failed = at
            return None
        if result == NULL:
            raise MemoryError()
        return magpy_steal(result)

    def probe(self, Py_ssize_t i, fn, tuple args not None, dict kwargs):
        """What instruction *i* loads now: (1, value), (0, None) when there is nothing, and
        (-1, None) when it cannot be reached."""
        cdef int state = -1
        cdef PyObject *value
        cdef _Arguments call = _Arguments(fn, args, kwargs)
        if self.keep is None or not 0 <= i < <Py_ssize_t>self.program.instrs.size():
            return -1, None
        value = self.program.probe(call.call, i, &state)
        return state, (magpy_steal(value) if value != NULL else None)

    def pushed(self):
        """How many guards are polled, compared by version, and watched, or None when the
        program is not armed (native/push.h)."""
        cdef const Pushed *pushed = self.program.armed()
        if pushed == NULL or not pushed.is_armed():
            return None
        return {"polled": pushed.polls(), "tensors": pushed.tensor_polls(), "versions": pushed.versions(), "watched": pushed.watches()}

    @property
    def kwnames(self):
        cdef PyObject *name
        return tuple([<object>name for name in self.program.kwnames])

    @property
    def nargs(self):
        return self.program.nargs

    def __len__(self):
        return self.program.instrs.size()


cdef class _Builder:
    """Turns Instrs into native ones, checking each."""

    cdef GuardProgram owner
    cdef Program *program
    cdef Py_ssize_t nslots
    cdef set written        # slots that an earlier instruction fills
    cdef dict consts        # id -> index in the frame

    def __init__(self, GuardProgram owner, Py_ssize_t nslots):
        self.owner = owner
        self.program = owner.program
        self.nslots = nslots
        self.written = set()
        self.consts = {}

    cdef build(self, want):
        cdef Py_ssize_t i
        self.program.frame.resize(self.nslots, NULL)
        self.program.instrs.resize(len(self.owner.instrs))
        for i, instr in enumerate(self.owner.instrs):
            try:
                self.add(&self.program.instrs[i], instr)
            except Exception as error:
                error.add_note(f"in guard instruction {i}: {tuple(instr)!r:.300}")
                raise
        for slot in want:
            self.program.want.push_back(self.slot(slot))

    cdef int slot(self, number) except -1:
        if number not in self.written:
            raise ValueError(f"slot {number} is read before it is written")
        return number

    cdef int source(self, src, load) except -2:
        if isinstance(src, Const):
            if id(src.obj) not in self.consts:
                self.consts[id(src.obj)] = self.program.frame.size()
                self.program.frame.push_back(<PyObject *>src.obj)
                self.owner.keep.append(src.obj)
            return self.consts[id(src.obj)]
        if src == -1:
            if load in _NEED_SRC:
                raise ValueError(f"{load!r} needs a source")
            return -1
        return self.slot(src)

    cdef add(self, Instr *native, instr):
        load, src, key, check, expected, dst = instr[:6]
        if load not in LOAD_NUMBERS or check not in CHECK_NUMBERS:
            raise ValueError(f"no such load or check: {load!r}, {check!r}")
        native.load = LOAD_NUMBERS[load]
        native.check = CHECK_NUMBERS[check]
        native.src = self.source(src, load)
        self.set_key(native, load, key)
        self.set_expected(native, load, key, check, expected)
        if dst >= self.nslots:
            raise ValueError(f"slot {dst} of {self.nslots}")
        native.dst = dst
        if dst >= 0:
            self.written.add(dst)

    cdef set_key(self, Instr *native, load, key):
        native.key = <PyObject *>key
        self.owner.keep.append(key)
        if load in _NUMBER_KEYS:
            native.number = key
        elif load == "deque":
            native.number = key
            native.key = <PyObject *>collections.deque
        elif load == "dict":
            native.number = hash(key)
        elif load == "kwarg":
            native.number = self.owner.kwnames.index(key)
        elif load == "attr":
            if type(key) is not str:
                raise TypeError("an attribute's name is a str")
        elif load in ("type_lookup", "type_own"):
            owner, name = key
            if not isinstance(owner, type) or type(name) is not str:
                raise TypeError("the key is a class and a name")
        elif load == "type_mro":
            if not isinstance(key, type):
                raise TypeError("the key is a class")
        elif load == "member" and type(key) not in _DESCRIPTORS:
            raise TypeError("the key is a getset or member descriptor")
        elif load == "call" and type(key) is not types.BuiltinFunctionType and not (
                type(key) is functools.partial
                and (type(key.func) is functools._lru_cache_wrapper or key.func is dict.__contains__)):
            raise TypeError("the key is a C function, or a cached one with its arguments")

    cdef set_expected(self, Instr *native, load, key, check, expected):
        if (check in ("alias", "unique", "apart", "lacks")) != (load == "slots") or (check == "state") != (load == "state"):
            raise ValueError(f"the load {load!r} does not go with the check {check!r}")
        self.owner.keep.append(expected)
        if check in ("leaf", "keys", "set"):
            self.set_leaf(native, check, expected)
        elif check in ("same", "distinct"):
            native.expected.number = self.slot(expected)
        elif check == "quiet":
            last, content = expected
            native.expected.number = 2 * bool(last) + bool(content)
        elif check in ("len", "truth"):
            native.expected.number = expected
        elif check == "tensor":
            native.expected.meta = (<TensorMeta?>expected).native()
        elif check == "frozen":
            native.expected.meta = (<Content?>expected).native()
        elif check == "state":
            native.expected.meta = (<GlobalState?>expected).native()
        elif check == "alias":
            self.set_alias(native, key, expected)
        elif check == "buffer":
            self.set_buffer(native, expected)
        elif check == "apart":
            self.set_apart(native, key, expected)
        elif check == "unique":
            self.set_alias(native, key, range(len(key)))
        elif check == "lacks":
            self.set_alias(native, key, range(2))
        else:
            if check == "type" and not isinstance(expected, type):
                raise TypeError("a class is expected")
            native.expected.object = <PyObject *>expected

    cdef set_leaf(self, Instr *native, check, expected):
        cdef Leaf *leaf = self.program.new_leaf()
        native.expected.leaf = leaf
        if check == "leaf":
            leaf_build(leaf, expected)
            return
        if check == "keys" and type(expected) is not tuple:
            raise TypeError("keys are a tuple")
        if check == "set" and type(expected) is not tuple:
            raise TypeError("a set's content is a tuple")
        leaf_build_content(leaf, expected)

    cdef set_buffer(self, Instr *native, expected):
        cdef Buffer *buffer = self.program.new_buffer()
        if type(expected) is not buffers.Snapshot:
            raise TypeError("a buffers.Snapshot is expected")
        native.expected.buffer = buffer
        buffer.type = <PyTypeObject *>expected.type
        buffer.format = expected.format.encode()
        buffer.shape = expected.shape
        buffer.strides = expected.strides
        buffer.readonly = expected.readonly
        buffer.bytes = expected.bytes

    cdef set_apart(self, Instr *native, slots, flags):
        cdef Alias *alias = self.program.new_alias()
        native.expected.alias = alias
        for slot, (written, is_dict) in zip(slots, flags, strict=True):
            alias.slots.push_back(self.slot(slot))
            alias.groups.push_back(written + 2 * is_dict)

    cdef set_alias(self, Instr *native, slots, groups):
        cdef Alias *alias = self.program.new_alias()
        cdef int seen = 0
        if len(slots) != len(groups):
            raise ValueError("as many group numbers as slots")
        native.expected.alias = alias
        for slot, group in zip(slots, groups):
            if not 0 <= group <= seen:
                raise ValueError("groups are numbered in order of appearance")
            seen = max(seen, group + 1)
            alias.slots.push_back(self.slot(slot))
            alias.groups.push_back(group)
