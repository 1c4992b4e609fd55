# cython: language_level=3
# distutils: language = c++
"""Nodes and edges of the RefGraph. A recording makes thousands of them, and the recorder
reads their fields at every instruction; so their fields are C's."""


cdef class Node:
    """An external object.

    ``path`` is the access path as text (``arg[0].training``). A ``const`` node is
    guarded by identity, so what is read of it can start from the object itself
    instead of from the call's arguments. ``obj`` is held only while recording.
    """

    def __init__(self, Py_ssize_t index, obj, str kind, str path, bint const=False):
        self.index = index
        self.obj = obj
        self.type = type(obj)
        self.kind = kind
        self.path = path
        self.const = const
        self.meta = None
        self.written = False
        self.snapshot = None
        self.owner = None
        self.written_keys = None
        self.done = None
        self.changed = None     # name of what changed it in a way that was not seen

    def __repr__(self):
        return f"<Node {self.index} {self.path}: {self.type.__name__}>"


cdef class Edge:
    """One read, and the guard that it would give the same answer again."""

    def __init__(self, tuple load, Node parent, tuple check, Node child, str text):
        self.load = load        # (load op, key)
        self.parent = parent    # Node, or None for roots and constants
        self.check = check      # (check op, expected)
        self.child = child      # Node that this edge introduced, or None
        self.text = text        # access path of what is loaded
        self.place = None       # Place in the user's code, if it was read by one

    def __repr__(self):
        return f"<Edge {self.text}: {self.check[0]}>"
