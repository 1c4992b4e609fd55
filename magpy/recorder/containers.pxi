# Reads of the builtin containers and their subclasses, by the base type's own
# behaviour: an override in a subclass is Python code, and recorded as such.

cdef object list_getitem = list.__getitem__
cdef object dict_get = dict.get
cdef object dict_keys = dict.keys
cdef object dict_copy = dict.copy
from collections import OrderedDict, deque
cdef object ordered_keys = OrderedDict.keys


cdef object base_keys(mapping):
    return tuple(ordered_keys(mapping) if is_a(mapping, OrderedDict) else dict_keys(mapping))


cdef object snapshot(obj):
    """A shallow copy of a container's content."""
    if PyList_Check(obj):
        return list(list.__iter__(obj))
    if type(obj) is deque:
        return list(obj)
    if PyDict_Check(obj):
        if magpy_iterates_as_dict(obj):
            return dict_copy(obj)       # it hashes nothing
        keys = base_keys(obj)
        for key in keys:
            if not is_plain_key(key):
                raise StopCapture("dict-key", f"a {type(obj).__qualname__} with a key of type {type(key).__name__}")
        return {key: dict_get(obj, key) for key in keys}
    if PyAnySet_Check(obj):
        return tuple(items_of_set(obj))     # in its order, which a copy need not have
    return None


cdef items_of_set(obj):
    return set.__iter__(obj) if is_a(obj, set) else frozenset.__iter__(obj)


cdef object content_of(Node node):
    """The content at the start of the call."""
    return node.obj if node.snapshot is None else node.snapshot


cdef str item_path(Node node, key):
    """Access path of an entry, as people write it: self.fc for self._modules['fc']."""
    if node.owner is not None:
        return f"{node.owner.path}.{key}"
    table = node.path.rpartition(".")
    if table[2] in MODULE_TABLES and is_a(key, str) and table[0]:
        return f"{table[0]}[{key}]" if key.isdigit() else f"{table[0]}.{key}"
    if not is_leaf(key):        # repr() may be the program's own
        return f"{node.path}[{type(key).__qualname__}]"
    return f"{node.path}[{key!r}]"


cdef check_edge(Recorder r, Node node, str kind, expected):
    """A check of the node itself (its length, its keys), once."""
    cdef object mark = (node.index, kind, None)
    if node.changed is not None or node.owner is not None and node.owner.changed is not None:
        r.stop_changed(node if node.owner is None else node.owner)
    if mark not in r.seen:
        r.seen[mark] = True
        r.edges.append(new_edge(("slot", None), node, (kind, expected), None, node.path))


cdef object SIZED = frozenset(("list", "dict", "tuple", "set", "deque"))


cdef read_length(Recorder r, obj):
    cdef Node node = r.know(obj)
    if node is None:
        return
    if read_what_was_there(r, node):
        return
    if node.kind in SIZED:
        check_edge(r, node, "len", base_length(content_of(node)))
    else:
        r.stop("object-read", f"length of {type(obj).__name__}")


cdef bint read_what_was_there(Recorder r, Node node) except -1:
    """How long a set or dict is after the call put something in depends on whether it was in there."""
    if node.snapshot is None or node.kind not in ("set", "dict"):
        return False
    if node.kind == "set":
        read_content(r, node.obj)
    else:
        read_keys(r, node, content_of(node))
    return True


cdef Py_ssize_t base_length(obj) except -1:
    if PyList_Check(obj):
        return list.__len__(obj)
    if PyDict_Check(obj):
        return dict.__len__(obj)
    if PyTuple_Check(obj):
        return tuple.__len__(obj)
    if type(obj) is deque:
        return len(obj)
    return set.__len__(obj) if is_a(obj, set) else frozenset.__len__(obj)


cdef read_truth(Recorder r, obj):
    cdef Node node = r.know(obj)
    if node is None:
        return
    if read_what_was_there(r, node):
        return
    if node.kind in SIZED:
        check_edge(r, node, "truth", base_length(content_of(node)) > 0)
    else:
        r.stop("object-read", f"truth of {type(obj).__name__}")


cdef read_content(Recorder r, obj):
    cdef Node node = r.know(obj)
    if node is None or node.done == "content":
        return
    content = content_of(node)
    if node.kind in ("list", "tuple", "deque"):
        check_edge(r, node, "len", base_length(content))
        read_items(r, node, content)
    elif node.kind == "dict":
        read_entries(r, node, content)
    elif node.kind == "set":
        items = tuple(content if PyTuple_Check(content) else items_of_set(content))
        check_edge(r, node, "set", items)
        for item in items:
            know_key(r, item)
    else:
        r.stop("object-read", f"content of {type(obj).__name__}")
    node.done = "content"


cdef object base_items(sequence):
    """The items of a list, tuple or deque, by the base type's own iteration."""
    if PyList_Check(sequence):
        return list.__iter__(sequence)
    return tuple.__iter__(sequence) if PyTuple_Check(sequence) else iter(sequence)


cdef read_items(Recorder r, Node node, content):
    cdef Py_ssize_t i = 0
    cdef str op = node.kind
    for item in base_items(content):
        r.edge(node, op, i, item, f"{node.path}[{i}]")
        i += 1


cdef tuple read_keys(Recorder r, Node node, content):
    keys = base_keys(content)
    for key in keys:
        if not (is_fixed_key(key) or hashed_in_c(key)):
            r.stop("dict-key", f"{node.path} has a key of type {type(key).__name__}")
    check_edge(r, node, "keys", keys)
    return keys


cdef read_entries(Recorder r, Node node, content):
    keys = read_keys(r, node, content)
    for key in keys:
        know_key(r, key)
        r.edge(node, "dict", key, dict_get(content, key), item_path(node, key))


cdef know_key(Recorder r, key):
    """An object in an outside set, or a key of an outside dict: guards hold the very object.
    Looking a key up must run no code."""
    if is_fixed_key(key):
        if not is_leaf(key):
            know_constant(r, key)       # a tuple of types may be taken from there
        return
    if is_a(key, torch.Tensor):
        r.stop("dict-key", "an outside set or dict of tensors")
    cdef Node node = r.find(key)
    if node is None:
        know_constant(r, key)
    elif not node.const:
        check_edge(r, node, "is", key)
    r.observe_identity(key)     # what is looked up may be another


cdef bint is_fixed_key(key):
    """Is *key* a value, or always itself: also a tuple of types?"""
    cdef object item
    if type(key) is not tuple:
        return is_leaf(key) or is_identity_leaf(key)
    for item in key:
        if not (is_fixed_key(item) if type(item) is tuple else
                is_leaf(item) or is_identity_leaf(item) and hashed_in_c(item)):
            return False
    return True


cdef bint hashed_in_c(key):
    """Can *key* be looked up without running code?"""
    cls = type(key)
    if cls is weakref.ref:
        return is_a(key(), type) and type(key()).__eq__ is type.__eq__
    return cls.__hash__ is object.__hash__ and cls.__eq__ is object.__eq__


cdef read_deep(Recorder r, obj, int depth):
    if is_leaf(obj) or is_identity_leaf(obj):
        return
    if depth > 200:
        r.stop("object-read", "containers nested too deeply, or in a cycle")
    cdef object node = r.know(obj)
    if PyList_Check(obj) or PyTuple_Check(obj) or type(obj) is deque:
        if node is not None:
            read_content(r, obj)
        for item in list(base_items(obj)):
            read_deep(r, item, depth + 1)
    elif PyDict_Check(obj):
        if node is not None:
            read_content(r, obj)
        for key in base_keys(obj):
            read_deep(r, dict_get(obj, key), depth + 1)
    elif PyAnySet_Check(obj):
        if node is not None:
            read_content(r, obj)
    elif type(obj) is slice:
        read_deep(r, obj.start, depth + 1)
        read_deep(r, obj.stop, depth + 1)
        read_deep(r, obj.step, depth + 1)
    elif type(obj) in BUFFER_TYPES:
        read_buffer(r, obj)
    elif node is not None and not magpy_is_heap_type(type(obj)) and node.kind == "object":
        r.stop("object-read", f"content of {type(obj).__name__}")


cdef read_buffer(Recorder r, obj):
    """An object of BUFFER_TYPES. Whether the call changes it is looked at when it is over:
    what numpy writes to, and through which view, no rule tells."""
    cdef Node node = r.know(obj)
    cdef object mark
    if node is None:
        return
    mark = (node.index, "buffer", None)
    if mark in r.seen:
        return
    try:
        found = buffers.snapshot(obj)
    except (TypeError, ValueError, BufferError) as error:
        r.stop("object-read", f"{node.path}: a {type(obj).__qualname__} without plain memory")
    if len(found.bytes) > buffers.LARGEST:
        r.stop("object-read", f"{node.path}: {len(found.bytes)} bytes are too many to compare on each call")
    check_edge(r, node, "buffer", found)
    r.buffers.append((node, obj, found))


cdef check_buffers(Recorder r):
    for node, obj, before in r.buffers:
        if not buffers.same_buffer(obj, before):
            r.stop("object-write", f"content of {node.path}")


cdef read_key(Recorder r, mapping, key):
    cdef Node node = r.know(mapping)
    if node is None:
        return
    if not is_fixed_key(key):
        if provenance.is_created(<PyObject *>key) and type(key).__hash__ is object.__hash__:
            return          # made during the call: nothing outside can be equal to it
        if r.know(key) is None or not hashed_in_c(key):
            r.stop("dict-key", f"{node.path} looked up by a {type(key).__name__}")
    content = content_of(node)
    check_keys(r, node, content)
    value = dict_get(content, key, ABSENT)
    if value is ABSENT and r.own_key(key) is not None:
        r.observe_identity(key)
    elif not is_fixed_key(key):
        know_key(r, key)        # the dict holds it, and so may a guard
    r.edge(node, "dict", key, value, item_path(node, key))


cdef bint is_plain_key(key):
    """Does it hash and compare without code of the user's?"""
    return (PyUnicode_CheckExact(key) or is_fixed_key(key)
            or magpy_hashes_by_identity(key) or is_a(key, torch.Tensor))


cdef check_keys(Recorder r, Node node, content):
    """A key that equals others by code of the user's may be in the way of any lookup."""
    cdef object mark = (node.index, "safe keys", None)
    if mark in r.seen:
        return
    for key in base_keys(content):
        if type(key) is weakref.ref:
            key = key()         # it is hashed and compared for the reference
        if not is_plain_key(key):
            r.stop("dict-key", f"{node.path} has a key of type {type(key).__name__}")
    r.seen[mark] = True


cdef read_index(Recorder r, sequence, index):
    cdef Node node = r.know(sequence)
    if node is None:
        return
    if node.written or not is_a(index, int):
        read_content(r, sequence)
        return
    cdef Py_ssize_t size = base_length(sequence)
    cdef object i = index
    if i < 0 or i >= size:
        check_edge(r, node, "len", size)
        i += size
        if i < 0 or i >= size:
            return
    if PyTuple_Check(sequence):
        value = tuple.__getitem__(sequence, i)
    else:
        value = list_getitem(sequence, i) if PyList_Check(sequence) else sequence[i]
    r.edge(node, node.kind, int(i), value, f"{node.path}[{i}]")


cdef object behind_proxy(proxy):
    while type(proxy) is types.MappingProxyType:
        proxy = gc.get_referents(proxy)[0]
    return proxy
