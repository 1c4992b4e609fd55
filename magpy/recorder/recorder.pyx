# distutils: language = c++
# cython: language_level=3
"""The recorder: runs one call for real and notes what it read and wrote outside.

The hook calls `on_event` before every instruction. A table has one handler for each
base opcode; most are empty, because an instruction that only moves values inside a
frame cannot touch outside state. A handler looks at the operands *before* the
instruction runs, works out which outside references it is going to read, and adds
an edge for each; the interpreter then does the work. So nothing of Python's
semantics is re-implemented except the question "what does this read?", and a wrong
answer there shows as an operand that the RefGraph does not know, which stops the
capture.

While a handler runs the recorder is paused: Python code that it runs (rules, the
tape) is not recorded.
"""

import functools
import gc
import inspect
import re
import sys
import time
import types
import threading
import enum

from cpython.object cimport PyObject, PyTypeObject
from cpython.ref cimport Py_INCREF, Py_DECREF
from cpython.dict cimport PyDict_GetItemWithError, PyDict_Contains
from cpython.tuple cimport PyTuple_GET_ITEM, PyTuple_GET_SIZE
from magpy.hook.execstate cimport *
from libcpp.vector cimport vector
from magpy.hook cimport provenance

import torch
from magpy import config
from magpy.reasons import StopCapture
from magpy.refgraph.graph import ABSENT, Effect, Place, Stop, Recording
from magpy.refgraph.nodes cimport Node, Edge
from magpy.guards import buffers
from magpy.guards.program import own_dict
from magpy.guards.tensor_meta import TensorMeta, GlobalState, distinct_storages
from magpy.recorder import callables, drops, places    # callables: fills the tables of rules


cdef extern from "address_map.h" namespace "magpy":
    cdef cppclass AddressMap:
        void *get(size_t address)
        void put(size_t address, void *value)
        void clear()


cdef struct UserFrame:                # a frame of the user's code, and how far it has come
    void *frame
    int offset

cdef inline Edge new_edge(tuple load, Node parent, tuple check, Node child, str text):
    """Edge(…), without the call."""
    cdef Edge edge = Edge.__new__(Edge)
    edge.load = load
    edge.parent = parent
    edge.check = check
    edge.child = child
    edge.text = text
    return edge


include "leaves.pxi"
include "attributes.pxi"
include "containers.pxi"
include "calls.pxi"
include "increments.pxi"
include "opcodes.pxi"
include "modules.pxi"
include "pending.pxi"

# Roots are edges without a parent node; nodes below a constant start from it.
GLOBAL_NAMESPACE_OPS = frozenset(("type_lookup", "type_own"))


class Watch:
    """Values of *source* that C code looks at during one instruction of *frame*."""

    __slots__ = ("frame", "source", "on_item")

    def __init__(self, frame, source, on_item):
        self.frame = frame
        self.source = source
        self.on_item = on_item


cdef class Recorder:
    """The state of the recording that runs on this thread."""

    cdef public object recording
    cdef public dict nodes            # id(object) -> Node
    cdef AddressMap known             # the same, borrowed
    cdef list all_nodes               # in order of discovery
    cdef public list edges
    cdef public list effects
    cdef dict seen                    # (node index, op, key) -> True
    cdef list tensors                 # nodes of kind "tensor"
    cdef list keep                    # keeps external objects alive, so ids stay valid
    cdef list identity_observed
    cdef public set asked             # calls of cached functions that are guarded
    cdef set identity_marks
    cdef public int paused
    cdef public object stop_reason    # Stop or None
    cdef public object on_stop        # what to do with the recording at its stop, or None
    cdef vector[UserFrame] user_frames
    cdef PyCodeObject *last_code      # of the last event, and whether it is the user's
    cdef bint last_is_user
    cdef object last_place
    cdef vector[void *] passed        # frames of nn.Module that are read as a whole: see modules.pxi
    cdef void *leaf_frame
    cdef bint leaf_until_exit
    cdef object leaf_done             # what to do with the result of the leaf frame, or None
    cdef void *current_frame          # of the event being handled
    cdef void *increment_frame        # a store that completes an increment is to come
    cdef int increment_offset
    cdef public long events
    cdef bint hooked
    cdef public Py_ssize_t read_after # how many effects were there at the last read
    cdef bint finalizers              # an outside object is held whose class has __del__
    cdef set generator_frames         # of generators made by the recording
    cdef list buffers                 # (node, object, content) of what read_buffer saw
    cdef list watches                 # values that C code will look at: see watch_values
    cdef list pending                 # see pending.pxi
    cdef list marks                   # (node, reference) that the current instruction is to write
    cdef bint handling                # a handler runs
    cdef list after                   # what to do with the result of a C call: see after_call
    cdef int nested                   # rules that tell of calls made by C code
    cdef public object section        # the opaque call that runs (its name), or None

    def __init__(self, recording):
        self.recording = recording
        self.nodes = {}
        self.all_nodes = recording.nodes
        self.edges = recording.edges
        self.effects = recording.effects
        self.seen = recording.seen
        self.tensors = []
        self.keep = []
        self.identity_observed = []
        self.asked = set()
        self.identity_marks = set()
        self.buffers = []
        self.watches = []
        self.pending = []
        self.marks = []
        self.after = []
        self.generator_frames = set()
        self.leaf_frame = NULL
        self.increment_frame = NULL
        self.last_code = NULL
        provenance.forget()

    # ---- running ---------------------------------------------------------

    cdef start(self):
        # In a trace function (a debugger's prompt) the hook would ignore every event.
        if PyExecState_GetHook(NULL) != NULL or PyThreadState_GetUnchecked().tracing:
            raise StopCapture("hook-in-use")
        provenance.begin()
        self.hooked = True
        PyExecState_SetHook(on_event, <void *>self)

    cdef finish(self):
        if self.hooked:
            PyExecState_SetHook(NULL, NULL)
            provenance.pause()
            self.hooked = False

    def pause(self):
        """Stop recording until the matching `resume` (nestable)."""
        self.paused += 1

    def resume(self):
        self.paused -= 1

    @property
    def allows_outcomes(self):
        """May the graph check values that depend on tensor data?"""
        return self.recording.outcomes

    @property
    def stopped(self):
        return self.stop_reason is not None

    def stop(self, reason, detail=""):
        """End the capture; the user's call goes on unrecorded. Raises StopCapture."""
        self.note_stop(reason, detail)
        raise StopCapture(reason, detail)

    cpdef note_stop(self, reason, detail):
        if self.stop_reason is None:
            filename, lineno, function = self.user_place()
            self.stop_reason = Stop(reason, detail, filename, lineno, function)
            self.pending.clear()
            self.finish()

    cpdef note_fault(self, error):
        """A bug of ours ends the capture, not the user's call."""
        self.recording.fault = error
        self.note_stop("internal-error", f"{type(error).__name__}: {error}")

    cdef let_go(self):
        """After a stop nothing of the program is kept alive: it may look whether it is."""
        if self.on_stop is not None:
            then, self.on_stop = self.on_stop, None
            self.recording.stop = self.stop_reason
            then(self.recording)
        for node in self.recording.nodes:
            node.obj = node.snapshot = None
        self.nodes.clear()
        self.known.clear()
        for held in (self.recording.nodes, self.edges, self.effects, self.tensors, self.keep,
                     self.identity_observed, self.watches):
            held.clear()

    def user_place(self):
        """(file, line, function) of the innermost frame of the user's own code."""
        return places.user_place(sys._getframe())

    # ---- what an object is -----------------------------------------------

    cdef inline Node find(self, obj):
        """The node of *obj*, if it has one."""
        return self.find_at(<void *>obj)

    cdef inline Node find_at(self, void *address):
        cdef void *found = self.known.get(<size_t>address)
        return <Node>found if found != NULL else None

    cpdef add_known(self, obj, Node node):
        """*node* is that of *obj* from now on."""
        self.all_nodes.append(node)
        self.nodes[id(obj)] = node
        self.known.put(<size_t><void *>obj, <void *>node)

    cpdef bint is_internal(self, obj):
        """Was *obj* made during this recording?"""
        return provenance.is_created(<PyObject *>obj) and self.find(obj) is None

    cpdef Node node_of(self, obj):
        return self.find(obj)

    cpdef Node external_tensor(self, tensor):
        """The node of a tensor that was reached from outside, or None."""
        cdef Node node = self.find(tensor)
        return node if node is not None and node.kind == "tensor" else None

    cpdef Node know(self, obj):
        """The node of *obj*; None for a leaf or an internal object. Else stops."""
        cdef Node node = self.find(obj)
        if node is not None:
            self.read_after = len(self.effects)
            if self.section is not None and node.written and node.kind != "object":
                self.stop_in_section(node.path)
            return node
        if provenance.is_created(<PyObject *>obj) or is_leaf(obj) or is_identity_leaf(obj):
            return None
        self.stop("unknown-object", f"{type(obj).__name__} object of unknown origin")

    # ---- nodes and edges -------------------------------------------------

    cpdef Node const_node(self, obj, str path=None):
        """The node of an object that is guarded by identity (or lives as long as the
        compiled callable), from which reads may start."""
        cdef Node node = self.find(obj)
        if node is not None:
            return node
        if path is None:
            path = path_of_constant(obj)
        return self.new_node(obj, "const", path, True)

    cdef Node new_node(self, obj, str kind, str path, bint const):
        cdef Node node = Node.__new__(Node)
        node.index = len(self.all_nodes)
        node.obj = obj
        node.type = type(obj)
        node.kind = kind
        node.path = path
        node.const = const
        self.add_known(obj, node)
        if const and magpy_is_heap_type(type(obj)) and not PyType_Check(obj):
            # Which object it is says nothing of its class, which may be assigned to.
            self.edges.append(new_edge(("slot", None), node, ("type", type(obj)), None, path))
        if kind == "object" and not const and has_finalizer(obj):
            self.finalizers = True
            if self.effects:
                self.stop("finalizer", f"{path} of type {type(obj).__qualname__}")
        if kind == "tensor":
            node.meta = TensorMeta(obj)
            self.tensors.append(node)
        return node

    cpdef Node edge(self, Node parent, str op, key, value, str text):
        """Note that reading (op, key) of *parent* gave *value* (or ABSENT).

        Only the first read of a reference counts, and none that follows a write to
        it by this recording. Returns the node of *value*, if it has one.
        """
        cdef object mark
        self.read_after = len(self.effects)
        if parent is not None:
            if parent.owner is not None and op == "dict" and type(key) is str:   # obj.__dict__[key] is obj.key
                parent = parent.owner
                op = "attr"
            if parent.changed is not None:
                self.stop_changed(parent)
            mark = (parent.index, op, key)
            if parent.written_keys is not None and (op, key) in parent.written_keys:
                return self.read_written(parent, op, key, text, value)
        else:
            mark = (-1, op, key)
        if mark in self.seen:
            return self.find(value)
        self.seen[mark] = True
        return self.add_edge(parent, op, key, value, text)

    cdef existence(self, Node parent, str op, key, value, str text):
        """Whether (op, key) of *parent* is there matters, and not what it is."""
        cdef object mark = (parent.index, op, key)
        if (value is ABSENT or mark in self.seen or parent.changed is not None or parent.owner is not None
                or parent.written_keys is not None and (op, key) in parent.written_keys):
            self.edge(parent, op, key, value, text)
        else:
            self.read_after = len(self.effects)
            self.edges.append(new_edge((op, key), parent, ("none", None), None, text))

    cdef Node read_written(self, Node parent, str op, key, str text, value):
        """A read after a write. If the write was an increment, the value seen depends
        on the one before: that one is guarded now."""
        if self.section is not None:
            self.stop_in_section(text)
        original = parent.written_keys[(op, key)]
        if original is not ABSENT:
            parent.written_keys[(op, key)] = ABSENT
            self.edges.append(new_edge((op, key), parent, ("leaf", original), None, text))
        return self.find(value)

    cdef Node add_edge(self, Node parent, str op, key, value, str text):
        cdef tuple load = (op, key)
        cdef Node node
        if value is ABSENT:
            node = self.own_key(key) if op == "dict" else None
            if node is not None:
                self.edges.append(new_edge(("slots", (parent, node)), None, ("lacks", None), None, text))
            else:
                self.edges.append(new_edge(load, parent, ("absent", None), None, text))
            return None
        if is_leaf(value):
            self.edges.append(new_edge(load, parent, ("leaf", value), None, text))
            return None
        node = self.find(value)
        if node is not None:
            if node.const:
                self.edges.append(new_edge(load, parent, ("is", value), None, text))
            else:
                self.edges.append(new_edge(load, parent, ("same", node), None, text))
            return node
        if provenance.is_created(<PyObject *>value):
            self.stop("hidden-write", f"{text} was set during the call by code no rule covers")
        if is_identity_leaf(value):
            self.edges.append(new_edge(load, parent, ("is", value), None, text))
            self.keep.append(value)
            return None
        if self.found_in_namespace(parent, op, value):
            self.edges.append(new_edge(load, parent, ("is", value), None, text))
            return self.new_node(value, kind_of(value), text, True)
        return self.add_node(load, parent, value, text)

    cdef Node own_key(self, key):
        """The node of a key that hashes by its address and that no guard may hold, or None."""
        if type(key) is str or is_fixed_key(key) or not magpy_hashes_by_identity(key):
            return None
        cdef Node node = self.find(key)
        return None if node is None or node.const else node

    cdef bint found_in_namespace(self, Node parent, str op, value):
        """Functions found in a module or a class are guarded by identity; functions
        elsewhere may be made anew for each call, so their code and closure count."""
        if op in GLOBAL_NAMESPACE_OPS:
            return True
        return (type(value) is FUNCTION and parent is not None
                and parent.const and op == "dict")

    cdef Node add_node(self, tuple load, Node parent, value, str text):
        cdef Node node
        if magpy_is_subtype(type(value), TENSOR):
            node = self.new_node(value, "tensor", text, False)
            self.edges.append(new_edge(load, parent, ("tensor", node.meta), node, text))
            return node
        node = self.new_node(value, kind_of(value), text, False)
        self.edges.append(new_edge(load, parent, ("type", type(value)), node, text))
        return node

    # ---- reads that rules ask for ----------------------------------------

    cpdef read_attr(self, obj, name):
        """Attribute lookup, as getattr does it (code that runs inside is recorded)."""
        read_attribute(self, obj, self.plain_name(name))

    def own_attribute(self, obj, name):
        """What the instance itself has by this name, or ABSENT; no read."""
        return own_attribute(obj, self.plain_name(name))

    cdef str plain_name(self, name):
        if type(name) is not str:       # it may hash and compare in a way of its own
            self.stop("object-read", f"an attribute whose name is a {type(name).__name__}")
        return name

    cpdef behind_proxy(self, proxy):
        """The mapping that a mappingproxy of the recording's own shows."""
        return behind_proxy(proxy)

    cpdef read_len(self, obj):
        read_length(self, obj)

    cpdef read_truth(self, obj):
        read_truth(self, obj)

    cpdef read_content(self, obj):
        """All items of a container, one level: order and identity of each."""
        read_content(self, obj)

    cpdef read_deep(self, obj):
        """Everything below *obj* in containers of containers."""
        read_deep(self, obj, 0)

    cpdef read_buffer(self, obj):
        """The memory behind an object of C: its content is a guard."""
        read_buffer(self, obj)

    cpdef bint read_mapping(self, mapping, by_keys=False) except -1:
        """The entries of a mapping, as C code copies them; True when they are those that the dict holds."""
        return read_mapping(self, mapping, by_keys)

    cpdef read_key(self, mapping, key):
        read_key(self, mapping, key)

    cpdef read_index(self, sequence, index):
        read_index(self, sequence, index)

    cpdef read_instance_dict(self, obj):
        """obj.__dict__ as a node of its own; returns its node (None: internal)."""
        return read_instance_dict(self, obj)

    cpdef write_attr(self, obj, name, value):
        """obj.name = value, as setattr does it."""
        write_attribute(self, obj, self.plain_name(name), value)

    cpdef delete_attr(self, obj, name):
        write_attribute(self, obj, self.plain_name(name), ABSENT)

    cpdef read_what_goes(self, Node node, obj, name, slot):
        """What `del obj.name` takes away, by a member descriptor or (ABSENT) out of the instance dict."""
        read_what_goes(self, node, obj, self.plain_name(name), slot)

    cpdef type_lookup(self, cls, str name):
        """Look *name* up in the MRO of *cls*; returns what is there, or ABSENT."""
        return look_up_type(self, cls, name)

    def raw_lookup(self, cls, name):
        """What the MRO of *cls* has for *name*, or ABSENT; no read."""
        cdef PyObject *found = _PyType_Lookup(<PyTypeObject *><PyObject *>cls, <PyObject *>name)
        return <object>found if found != NULL else ABSENT

    cpdef know_constant(self, obj):
        """*obj* is a fixed part of something that is guarded by identity."""
        know_constant(self, obj)

    cpdef know_part(self, descriptor, str name):
        """What a property (fget, fset, fdel), staticmethod or classmethod (__func__) has inside."""
        return know_part(self, descriptor, name)

    cpdef read_state(self, str text, value, predicate):
        """Guard a piece of C state: *predicate*() must keep giving *value* (a leaf)."""
        self.edge(None, "call", predicate, value, text)

    cpdef special(self, str name, tuple args):
        """An operator on args[0]: finds type(args[0]).name and applies its rule.
        Returns False when the type has no such method."""
        return apply_special(self, name, args)

    cpdef may_compare(self, obj, str name):
        """A comparison whose first method may not know asks this one of the same class next."""
        method = look_up_type(self, type(obj), name)
        if PyFunction_Check(method):
            watch_answer(self, method, name)

    cpdef call(self, func, tuple args, dict kwargs):
        """*func* is about to be called by C code."""
        self.nested += 1
        try:
            dispatch_call(self, func, args, kwargs)
        finally:
            self.nested -= 1

    cpdef read_mro(self, cls):
        """The MRO of a class, as isinstance and super read it."""
        read_mro(self, cls)

    cpdef watch_values(self, source, on_item):
        """Until the current instruction is over, call *on_item* with each value that
        *source* yields (a generator) or returns (a Python function): C code is
        going to look at it."""
        self.watches.append(Watch(<size_t>self.current_frame, source, on_item))

    cpdef after_call(self, then):
        """When the C call that the current instruction makes is over, call
        *then*(result), with ABSENT as the result of a call that raised."""
        if self.nested:
            self.stop("unknown-callable", "a function whose result matters, called by C code")
        self.after.append((<size_t>self.current_frame, then, True))

    cpdef at_end(self, then):
        """When the current instruction is over, call *then*(): what C code, called by
        whom ever, has changed can be seen then."""
        self.after.append((<size_t>self.current_frame, then, False))

    cpdef begin_section(self, str name):
        """What runs from here is one operation of the graph, and runs again at replay. It
        may read outside state (guarded as ever), and must leave it as it is."""
        self.section = name

    cpdef end_section(self):
        self.section = None

    cdef stop_in_section(self, text):
        self.stop("autograd-in-graph", f"{text} was written during the call, and {self.section} uses it")

    cpdef know_by_identity(self, obj):
        """*obj* must be the same object at replay."""
        know_by_identity(self, obj)

    cpdef enter(self, func):
        """A frame of the Python function *func* is about to start."""
        enter_function(self, func)

    cpdef observe_identity(self, obj):
        """*obj*'s identity matters: keep it distinct from others of its type."""
        node = self.know(obj)
        if node is not None and node.index not in self.identity_marks:
            self.identity_marks.add(node.index)
            self.identity_observed.append(node)

    cpdef compare_identity(self, a, b):
        """`a is b` was asked."""
        if is_leaf(a) and is_leaf(b):
            if a is not b and type(a) is type(b) and same_leaf(a, b) or a is b and not is_unique(a):
                self.stop("object-read", f"whether two equal values are one object: {a!r:.40}")
            return
        self.observe_identity(a)
        self.observe_identity(b)

    cpdef leaf(self, frame=None):
        """Run what the current instruction calls without recording it; or what that of
        *frame* (see below) goes on to call."""
        self.leaf_frame = self.current_frame if frame is None else <void *><size_t>frame
        self.leaf_until_exit = False

    cpdef frame(self):
        """The frame whose instruction is being handled, for `leaf`."""
        return <size_t>self.current_frame

    # ---- start and end of the call ---------------------------------------

    def recording_roots(self):
        """Note the callable and the arguments. A stop here is a stop of the capture."""
        try:
            roots_of_call(self)
        except StopCapture as stop:
            self.note_stop(stop.reason, stop.detail)
        except Exception as error:
            self.note_fault(error)

    def try_start(self):
        """Install the hook, unless something was wrong before: then the call runs plainly."""
        if not self.stopped:
            try:
                self.start()
            except StopCapture as stop:
                self.note_stop(stop.reason, stop.detail)

    def complete(self):
        try:
            complete_recording(self)
        except StopCapture as stop:
            self.note_stop(stop.reason, stop.detail)
        except Exception as error:
            self.note_fault(error)

    # ---- writes ----------------------------------------------------------

    cpdef effect(self, func, tuple args, dict kwargs=None):
        """*func*(*args) writes to an external object: do it again at replay."""
        if self.section is not None:
            self.stop("autograd-in-graph", f"outside state is changed inside {self.section}")
        for arg in args:
            if self.finalizers or has_finalizer(arg):
                self.stop("finalizer", f"an object of type {type(arg).__qualname__}")
        effect = Effect(func, args, kwargs, self.user_place(), len(self.recording.tape.ops))
        drops.check_dropped(self, effect)
        self.effects.append(effect)

    cpdef bint mutate(self, obj, func, tuple args, dict kwargs=None):
        """*func*(*args) changes the content of *obj*. Notes an effect, and keeps
        what the content was, when *obj* is external. Returns whether it is."""
        node = self.know(obj)
        if node is None:
            return False
        self.note_write(node)
        self.effect(func, args, kwargs)
        return True

    cpdef mutate_unseen(self, obj, str name, func, tuple args, dict kwargs):
        """As `mutate`, by a function of which nobody knows what it changes in *obj*: what is
        in there from now on, no guard could tell."""
        self.mutate(obj, func, args, kwargs)
        node = self.know(obj)
        node.changed = name
        node.done = None

    cdef stop_changed(self, Node node):
        self.stop("hidden-write", f"{node.path} is read after {node.changed} changed it")

    cpdef note_write(self, Node node):
        if not node.written:
            node.written = True
            if node.kind not in ("object", "tensor"):
                node.snapshot = self.kept_content(node.obj)
        if node.written_keys is None:
            node.written_keys = {}

    cdef object kept_content(self, obj):
        """What a container holds before the first write to it."""
        content = snapshot(obj)
        for item in content.values() if type(content) is dict else content or ():
            if has_finalizer(item):
                self.stop("finalizer", f"an object of type {type(item).__qualname__}")
        return content

    cpdef written_key(self, Node node, str op, key):
        """The reference (op, key) of *node* is the recording's own from now on."""
        if node.owner is not None and op == "dict" and type(key) is str:
            node = node.owner
            op = "attr"
        if node.written_keys is None:
            node.written_keys = {}
        mark = (op, key)
        if mark not in node.written_keys:
            self.marks.append((node, mark))
        node.written_keys[mark] = ABSENT


include "user_frames.pxi"
include "annotated.pxi"
include "hook.pxi"
include "run.pxi"
