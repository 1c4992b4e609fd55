# A handler for every base opcode of CPython 3.13: nothing to do (the instruction only
# moves values inside the frame, or its operands are checked elsewhere), a rule below,
# or a stop. tests/recorder/test_opcodes.py checks that none is missing.

import builtins
import dis as _dis

ctypedef int (*Handler)(Recorder r, const PyExecState_EventInfo *e) except -1

cdef Handler HANDLERS[256]
cdef int i_
for i_ in range(256):
    HANDLERS[i_] = NULL

cdef int RETURN_VALUE = opmap["RETURN_VALUE"]
cdef int RETURN_CONST = opmap["RETURN_CONST"]
cdef int YIELD_VALUE = opmap["YIELD_VALUE"]
cdef int RETURN_GENERATOR = opmap["RETURN_GENERATOR"]

# Instructions that cannot read or write outside state by themselves.
HARMLESS = frozenset("""
    CACHE NOP RESERVED POP_TOP PUSH_NULL END_FOR END_SEND COPY SWAP LOAD_CONST LOAD_FAST LOAD_FAST_CHECK
    LOAD_FAST_AND_CLEAR LOAD_FAST_LOAD_FAST STORE_FAST STORE_FAST_LOAD_FAST STORE_FAST_STORE_FAST
    DELETE_FAST POP_JUMP_IF_FALSE POP_JUMP_IF_TRUE POP_JUMP_IF_NONE POP_JUMP_IF_NOT_NONE
    JUMP_FORWARD JUMP_BACKWARD JUMP_BACKWARD_NO_INTERRUPT
    RETURN_GENERATOR MAKE_CELL COPY_FREE_VARS PUSH_EXC_INFO POP_EXCEPT RERAISE RAISE_VARARGS
    LOAD_ASSERTION_ERROR BUILD_LIST BUILD_TUPLE BUILD_SLICE BUILD_STRING BUILD_CONST_KEY_MAP
    MAKE_FUNCTION SET_FUNCTION_ATTRIBUTE LIST_APPEND EXTENDED_ARG INTERPRETER_EXIT EXIT_INIT_CHECK
    UNARY_NOT SETUP_ANNOTATIONS LOAD_LOCALS ENTER_EXECUTOR INSTRUMENTED_LINE
    MATCH_MAPPING MATCH_SEQUENCE CHECK_EXC_MATCH CHECK_EG_MATCH CLEANUP_THROW
    """.split())
# Instructions of asynchronous code: an event loop decides what happens in between.
STOPS = {name: "async" for name in """
    GET_AWAITABLE GET_AITER GET_ANEXT END_ASYNC_FOR BEFORE_ASYNC_WITH""".split()}
RULES_OF_OPCODES = {}       # name -> handler's name, filled by `on`

cdef list NAMES_ = [None] * 256


cdef on(str name, Handler handler):
    HANDLERS[opmap[name]] = handler
    RULES_OF_OPCODES[name] = name.lower()


cdef inline object top(const PyExecState_EventInfo *e, int n):
    return <object>e.stack_pointer[-n]


cdef inline object name_at(const PyExecState_EventInfo *e, int i):
    return <object>magpy_code_name(PyExecState_FrameCode(e.frame), i)


cdef int stop_here(Recorder r, const PyExecState_EventInfo *e) except -1:
    name = _dis.opname[e.opcode]
    r.stop(STOPS.get(name, "unsupported-opcode"), name)


# ---- frames -------------------------------------------------------------------

cdef int check_generator(Recorder r, const PyExecState_EventInfo *e) except -1:
    cdef PyObject *generator = PyExecState_FrameGenerator(e.frame)
    if generator == NULL:
        return 0
    if provenance.is_created(generator):
        r.generator_frames.add(<size_t>e.frame)
    elif <size_t>e.frame not in r.generator_frames:     # it may be one that is being destroyed
        r.stop("external-generator", (<object>generator).__qualname__)
    return 0


cdef int resume(Recorder r, const PyExecState_EventInfo *e) except -1:
    check_generator(r, e)
    if e.oparg & 3:
        return 0
    cdef PyObject *func = PyExecState_FrameFunction(e.frame)
    cdef PyObject *first
    if func != NULL:
        if (<object>func).__code__ in LEAF_CODE:
            r.leaf_frame = e.frame
            r.leaf_until_exit = True
            return 0
        first = PyExecState_FrameLocals(e.frame)[0]
        if first != NULL and PyExecState_FrameCode(e.frame).co_nlocalsplus \
                and <size_t>func not in r.nodes and not provenance.is_created(func):
            found_by_slot(r, <object>func, <object>first)
        enter_function(r, <object>func)
    return 0


# ---- names --------------------------------------------------------------------

cdef int load_global(Recorder r, const PyExecState_EventInfo *e) except -1:
    read_global(r, e, name_at(e, e.oparg >> 1), True)
    return 0


cdef read_global(Recorder r, const PyExecState_EventInfo *e, str name, bint may_count):
    names = <object>PyExecState_FrameGlobals(e.frame)
    cdef object value = dict_get(names, name, ABSENT)
    node = r.nodes.get(id(names))
    if node is None and not provenance.is_created(<PyObject *>names):
        node = namespace(r, names)
    if node is not None:
        if may_count and take_increment(r, e, node, "dict", name, value,
                                        f"{node.path}.{name}", names):
            return
        r.edge(node, "dict", name, value, f"{node.path}.{name}")
    if value is ABSENT:
        read_builtin(r, e, name)


cdef read_builtin(Recorder r, const PyExecState_EventInfo *e, str name):
    names = <object>PyExecState_FrameBuiltins(e.frame)
    if not PyDict_Check(names):
        r.stop("object-read", "builtins that are not a dict")
    r.edge(namespace(r, names), "dict", name, dict_get(names, name, ABSENT), f"builtins.{name}")


cdef int load_name(Recorder r, const PyExecState_EventInfo *e) except -1:
    cdef str name = name_at(e, e.oparg)
    cdef PyObject *names = PyExecState_FrameNames(e.frame)
    if names != NULL and names != PyExecState_FrameGlobals(e.frame):
        if not provenance.is_created(names):
            r.stop("object-read", f"name {name!r} in an outside namespace")
        if name in <object>names:
            return 0
    read_global(r, e, name, False)
    return 0


cdef int load_from_dict_or_globals(Recorder r, const PyExecState_EventInfo *e) except -1:
    cdef str name = name_at(e, e.oparg)
    if name not in top(e, 1):
        read_global(r, e, name, False)
    return 0


cdef int store_global(Recorder r, const PyExecState_EventInfo *e) except -1:
    if completes_increment(r, e):
        return 0
    write_global(r, e, dict.__setitem__, (name_at(e, e.oparg), top(e, 1)))
    return 0


cdef int delete_global(Recorder r, const PyExecState_EventInfo *e) except -1:
    write_global(r, e, dict.__delitem__, (name_at(e, e.oparg),))
    return 0


cdef write_global(Recorder r, const PyExecState_EventInfo *e, func, tuple rest):
    names = <object>PyExecState_FrameGlobals(e.frame)
    if provenance.is_created(<PyObject *>names):
        return
    node = namespace(r, names)
    r.note_write(node)
    r.written_key(node, "dict", rest[0])
    r.effect(func, (names,) + rest)


cdef int store_name(Recorder r, const PyExecState_EventInfo *e) except -1:
    cdef PyObject *names = PyExecState_FrameNames(e.frame)
    if names == NULL or not provenance.is_created(names):
        r.stop("object-write", "a name in an outside namespace")
    return 0


# ---- cells --------------------------------------------------------------------

cdef object cell_node(Recorder r, const PyExecState_EventInfo *e, int index):
    """The node of the closure cell in fast local *index*; None if it is internal."""
    cdef PyObject *cell = PyExecState_FrameLocals(e.frame)[index]
    if cell == NULL:
        return None
    node = r.nodes.get(<size_t>cell)
    if node is not None or provenance.is_created(cell):
        return node
    func = <object>PyExecState_FrameFunction(e.frame)
    owner = r.nodes.get(id(func))
    closure = func.__closure__ or ()
    for i, item in enumerate(closure):
        if <PyObject *>item == cell:
            break
    else:
        r.stop("unknown-object", "a cell of unknown origin")
    if owner is None or owner.const:
        r.keep.append(item)
        return r.new_node(item, "cell", f"{func.__qualname__}.{func.__code__.co_freevars[i]}", True)
    return r.edge(owner, "closure", i, item, f"{owner.path}.__closure__[{i}]")


cdef object cell_value(object cell):
    cdef PyObject *content = magpy_cell_content(<PyObject *>cell)
    return ABSENT if content == NULL else <object>content


cdef int load_deref(Recorder r, const PyExecState_EventInfo *e) except -1:
    node = cell_node(r, e, e.oparg)
    if node is not None:
        value = cell_value(node.obj)
        if not take_increment(r, e, node, "cell", None, value, node.path, node.obj):
            r.edge(node, "cell", None, value, node.path)
    return 0


cdef int load_from_dict_or_deref(Recorder r, const PyExecState_EventInfo *e) except -1:
    names = top(e, 1)
    if not provenance.is_created(<PyObject *>names):
        r.stop("object-read", "a name in an outside namespace")
    node = cell_node(r, e, e.oparg)
    if node is not None:
        r.edge(node, "cell", None, cell_value(node.obj), node.path)
    return 0


cdef int store_deref(Recorder r, const PyExecState_EventInfo *e) except -1:
    if completes_increment(r, e):
        return 0
    node = cell_node(r, e, e.oparg)
    if node is not None:
        r.note_write(node)
        r.written_key(node, "cell", None)
        r.effect(set_cell, (node.obj, top(e, 1)))
    return 0


cdef int delete_deref(Recorder r, const PyExecState_EventInfo *e) except -1:
    if cell_node(r, e, e.oparg) is not None:
        r.stop("object-write", "del of a closure variable")
    return 0


def set_cell(cell, value):
    """The effect of STORE_DEREF."""
    cell.cell_contents = value


# ---- attributes ---------------------------------------------------------------

cdef int load_attr(Recorder r, const PyExecState_EventInfo *e) except -1:
    obj = top(e, 1)
    cdef str name = name_at(e, e.oparg >> 1)
    if not e.oparg & 1 and counts_attribute(r, e, obj, name):
        return 0
    read_attribute(r, obj, name)
    return 0


cdef bint counts_attribute(Recorder r, const PyExecState_EventInfo *e, obj, str name) except -1:
    """`obj.n += 1` on a plain instance attribute."""
    node = r.nodes.get(id(obj))
    if node is None or node.kind == "tensor" or PyType_Check(obj) or PyModule_Check(obj):
        return False
    cdef type cls = type(obj)
    if not magpy_has_instance_dict(cls):
        return False
    value = own_attribute(obj, name)
    if increment_at(r, e, value) is None:
        return False
    setter = look_up_type(r, cls, "__setattr__")
    if not magpy_is_generic(look_up_type(r, cls, "__getattribute__")):
        return False
    if setter is not module_setattr and not magpy_is_generic(setter):
        return False
    descriptor = look_up_type(r, cls, name)
    if descriptor is not ABSENT and magpy_has_descr_set(descriptor):
        return False
    if setter is module_setattr:
        for table in MODULE_TABLES:
            entries = own_attribute(obj, table)
            if entries is ABSENT or name in entries:
                return False
            r.edge(node, "attr", table, entries, node.path + "." + table)
            read_key(r, entries, name)
    return take_increment(r, e, node, "attr", name, value, node.path + "." + name, obj)


cdef int store_attr(Recorder r, const PyExecState_EventInfo *e) except -1:
    if completes_increment(r, e):
        r.leaf()
        return 0
    write_attribute(r, top(e, 1), name_at(e, e.oparg), top(e, 2))
    return 0


cdef int delete_attr(Recorder r, const PyExecState_EventInfo *e) except -1:
    write_attribute(r, top(e, 1), name_at(e, e.oparg), ABSENT)
    return 0


cdef int load_super_attr(Recorder r, const PyExecState_EventInfo *e) except -1:
    global_super = top(e, 3)
    cls = top(e, 2)
    obj = top(e, 1)
    cdef str name = name_at(e, e.oparg >> 2)
    if global_super is not super:
        dispatch_call(r, global_super, (cls, obj) if e.oparg & 2 else (), None)
        return 0
    if not isinstance(cls, type):
        return 0
    start = obj if isinstance(obj, type) and issubclass(obj, cls) else type(obj)
    read_super_attribute(r, cls, obj, start, name)
    return 0


# ---- operators ----------------------------------------------------------------

cdef tuple BINARY = ("add", "and", "floordiv", "lshift", "matmul", "mul", "mod", "or", "pow",
                     "rshift", "sub", "truediv", "xor")
cdef tuple IN_PLACE = (list, dict, set, deque)
cdef tuple COMPARE = ("__lt__", "__le__", "__eq__", "__ne__", "__gt__", "__ge__")
cdef dict SWAPPED = {"__lt__": "__gt__", "__le__": "__ge__", "__gt__": "__lt__", "__ge__": "__le__",
                     "__eq__": "__eq__", "__ne__": "__ne__"}


cdef int binary_op(Recorder r, const PyExecState_EventInfo *e) except -1:
    left = top(e, 2)
    right = top(e, 1)
    if type(left) in SCALARS and type(right) in SCALARS:
        return 0
    cdef str name = BINARY[e.oparg % 13]
    if e.oparg >= 13 and type(left) not in SCALARS:
        if apply_special(r, f"__i{name}__", (left, right)) \
                and isinstance(left, IN_PLACE) and not magpy_is_heap_type(type(right)):
            return 0    # done there
    apply_special(r, f"__{name}__", (left, right))
    if type(right) is not type(left):
        apply_special(r, f"__r{name}__", (right, left))
    return 0


cdef int compare_op(Recorder r, const PyExecState_EventInfo *e) except -1:
    left = top(e, 2)
    right = top(e, 1)
    if type(left) in SCALARS and type(right) in SCALARS:
        return 0
    cdef str name = COMPARE[e.oparg >> 5]
    apply_special(r, name, (left, right))
    if type(right) is not type(left):
        apply_special(r, SWAPPED[name], (right, left))
    return 0


cdef int is_op(Recorder r, const PyExecState_EventInfo *e) except -1:
    r.compare_identity(top(e, 2), top(e, 1))
    return 0


cdef int unary_negative(Recorder r, const PyExecState_EventInfo *e) except -1:
    return unary(r, top(e, 1), "__neg__")


cdef int unary_invert(Recorder r, const PyExecState_EventInfo *e) except -1:
    return unary(r, top(e, 1), "__invert__")


cdef int unary(Recorder r, obj, str name) except -1:
    if type(obj) not in SCALARS:
        apply_special(r, name, (obj,))
    return 0


cdef int to_bool(Recorder r, const PyExecState_EventInfo *e) except -1:
    return truth_of(r, top(e, 1))


cdef int truth_of(Recorder r, obj) except -1:
    if type(obj) in SCALARS or type(obj) in IDENTITIES:
        return 0
    if PyDict_CheckExact(obj) or PyList_CheckExact(obj) or PyTuple_CheckExact(obj):
        read_truth(r, obj)
        return 0
    if not apply_special(r, "__bool__", (obj,)):
        apply_special(r, "__len__", (obj,))
    return 0


# ---- items --------------------------------------------------------------------

cdef int binary_subscr(Recorder r, const PyExecState_EventInfo *e) except -1:
    container = top(e, 2)
    index = top(e, 1)
    if counts_item(r, e, container, index):
        return 0
    if PyType_Check(container):     # list[int]
        if not apply_special(r, "__getitem__", (container, index)):
            look_up_type(r, container, "__class_getitem__")
        return 0
    apply_special(r, "__getitem__", (container, index))
    return 0


cdef bint counts_item(Recorder r, const PyExecState_EventInfo *e, container, index) except -1:
    """`d[key] += 1` on a plain dict."""
    if not PyDict_CheckExact(container) or not is_leaf(index):
        return False
    node = r.nodes.get(id(container))
    if node is None:
        return False
    value = dict_get(container, index, ABSENT)
    return take_increment(r, e, node, "dict", index, value, item_path(node, index), container)


cdef int binary_slice(Recorder r, const PyExecState_EventInfo *e) except -1:
    apply_special(r, "__getitem__", (top(e, 3), slice(top(e, 2), top(e, 1))))
    return 0


cdef int store_subscr(Recorder r, const PyExecState_EventInfo *e) except -1:
    if completes_increment(r, e):
        return 0
    apply_special(r, "__setitem__", (top(e, 2), top(e, 1), top(e, 3)))
    return 0


cdef int store_slice(Recorder r, const PyExecState_EventInfo *e) except -1:
    apply_special(r, "__setitem__", (top(e, 3), slice(top(e, 2), top(e, 1)), top(e, 4)))
    return 0


cdef int delete_subscr(Recorder r, const PyExecState_EventInfo *e) except -1:
    apply_special(r, "__delitem__", (top(e, 2), top(e, 1)))
    return 0


cdef int contains_op(Recorder r, const PyExecState_EventInfo *e) except -1:
    item = top(e, 2)
    container = top(e, 1)
    if type(container) in SCALARS:
        return 0
    if not apply_special(r, "__contains__", (container, item)):
        iterate(r, container)
    return 0


cdef int hash_two(Recorder r, const PyExecState_EventInfo *e) except -1:
    """MAP_ADD: key below the value on top."""
    hashes(r, top(e, 2))
    return 0


cdef int hash_one(Recorder r, const PyExecState_EventInfo *e) except -1:
    hashes(r, top(e, 1))
    return 0


cdef int build_map(Recorder r, const PyExecState_EventInfo *e) except -1:
    for i in range(e.oparg):
        hashes(r, top(e, 2 * e.oparg - 2 * i))
    return 0


cdef int build_set(Recorder r, const PyExecState_EventInfo *e) except -1:
    for i in range(e.oparg):
        hashes(r, top(e, i + 1))
    return 0


cdef hashes(Recorder r, key):
    """*key* goes into a dict or set of the recording's own."""
    if is_leaf(key) or is_identity_leaf(key):
        return
    if type(key).__hash__ is object.__hash__ or isinstance(key, torch.Tensor):
        r.observe_identity(key)
    elif PyTuple_CheckExact(key):
        read_deep(r, key, 0)
        for item in key:
            hashes(r, item)
    else:
        r.know(key)
        apply_special(r, "__hash__", (key,))


# ---- iteration ----------------------------------------------------------------

cdef iterate(Recorder r, obj):
    """iter(obj), for whoever then takes the items in C."""
    if PyList_CheckExact(obj) or PyTuple_CheckExact(obj) or PyDict_CheckExact(obj):
        read_content(r, obj)
        return
    if type(obj) in SCALARS:
        return
    if not apply_special(r, "__iter__", (obj,)):
        apply_special(r, "__getitem__", (obj, 0))
        apply_special(r, "__len__", (obj,))


cdef int get_iter(Recorder r, const PyExecState_EventInfo *e) except -1:
    iterate(r, top(e, 1))
    return 0


cdef int advance(Recorder r, const PyExecState_EventInfo *e) except -1:
    advance_iterator(r, top(e, 1))
    return 0


# C iterators that call back or pull from others when they are advanced.
cdef object ACTIVE_ITERATORS = frozenset((map, filter, zip, enumerate, reversed,
                                          type(iter(int, 0))))


cdef advance_iterator(Recorder r, iterator):
    if not provenance.is_created(<PyObject *>iterator):
        advance_external(r, iterator)
    elif magpy_is_heap_type(type(iterator)) or type(iterator) in ACTIVE_ITERATORS:
        apply_special(r, "__next__", (iterator,))


cdef int show_value(Recorder r, const PyExecState_EventInfo *e) except -1:
    """A frame gives a value to its caller: is C code going to look at it?"""
    if not r.watches:
        return 0
    cdef PyObject *generator = PyExecState_FrameGenerator(e.frame)
    cdef PyObject *function = PyExecState_FrameFunction(e.frame)
    if generator != NULL and e.opcode != YIELD_VALUE:
        return 0        # what a generator returns goes into StopIteration
    for watch in list(r.watches):
        if <PyObject *>watch.source == function or (
                generator != NULL and <PyObject *>watch.source == generator):
            if e.opcode == RETURN_CONST:
                value = <object>magpy_code_const(PyExecState_FrameCode(e.frame), e.oparg)
            else:
                value = top(e, 1)
            watch.on_item(value)
    return 0


cdef advance_external(Recorder r, iterator):
    if magpy_is_heap_type(type(iterator)) and PyFunction_Check(
            look_up_type(r, type(iterator), "__next__")):
        r.know(iterator)
        return
    r.stop("external-iterator", type(iterator).__name__)


cdef int send(Recorder r, const PyExecState_EventInfo *e) except -1:
    advance_iterator(r, top(e, 2))
    return 0


cdef int unpack(Recorder r, const PyExecState_EventInfo *e) except -1:
    iterate(r, top(e, 1))
    return 0


cdef int list_extend(Recorder r, const PyExecState_EventInfo *e) except -1:
    iterate(r, top(e, 1))
    return 0


cdef int set_update(Recorder r, const PyExecState_EventInfo *e) except -1:
    iterate(r, top(e, 1))
    return 0


cdef int dict_update(Recorder r, const PyExecState_EventInfo *e) except -1:
    read_mapping(r, top(e, 1))
    return 0


cdef read_mapping(Recorder r, obj):
    """dict.update(obj): a dict's entries, or keys() and items."""
    if PyDict_Check(obj):
        look_up_type(r, type(obj), "__iter__")
        read_content(r, obj)
    elif r.know(obj) is not None and not magpy_is_heap_type(type(obj)):
        r.stop("object-read", f"entries of {type(obj).__name__}")
    else:
        read_attribute(r, obj, "keys")
        look_up_type(r, type(obj), "__getitem__")


# ---- calls --------------------------------------------------------------------

cdef tuple stack_items(const PyExecState_EventInfo *e, int first, int count):
    return tuple([<object>e.stack_pointer[-first + i] for i in range(count)])


cdef int call_at(Recorder r, const PyExecState_EventInfo *e, int count, tuple names) except -1:
    """CALL and CALL_KW: callable, self or NULL, then the arguments (and their names)."""
    cdef int depth = count + (1 if names is not None else 0)
    func = <object>e.stack_pointer[-depth - 2]
    cdef PyObject *self_or_null = e.stack_pointer[-depth - 1]
    if type(func) is FUNCTION:
        if func not in RULES and func.__code__ not in LEAF_CODE and not func.__dict__:
            enter_function(r, func)
            return 0        # the rest its frame will tell
    cdef tuple args = stack_items(e, depth, count)
    kwargs = None
    if names is not None:
        kwargs = dict(zip(names, args[count - len(names):]))
        args = args[:count - len(names)]
    if self_or_null != NULL:
        args = (<object>self_or_null,) + args
    dispatch_call(r, func, args, kwargs)
    return 0


cdef int call(Recorder r, const PyExecState_EventInfo *e) except -1:
    return call_at(r, e, e.oparg, None)


cdef int call_kw(Recorder r, const PyExecState_EventInfo *e) except -1:
    return call_at(r, e, e.oparg, top(e, 1))


cdef int call_function_ex(Recorder r, const PyExecState_EventInfo *e) except -1:
    cdef int extra = e.oparg & 1
    func = top(e, 3 + extra)
    positional = top(e, 1 + extra)
    kwargs = None
    if extra:
        kwargs = top(e, 1)
        read_mapping(r, kwargs)
    iterate(r, positional)
    if not (PyTuple_Check(positional) or PyList_Check(positional)):
        if is_python_callee(r, func):
            return 0        # its frame will show the arguments
        r.stop("unknown-callable", f"{func!r} called with *{type(positional).__name__}")
    dispatch_call(r, func, tuple(positional), dict(kwargs) if kwargs is not None else None)
    return 0


cdef int call_intrinsic_1(Recorder r, const PyExecState_EventInfo *e) except -1:
    cdef str name = _dis._intrinsic_1_descs[e.oparg]
    if name == "INTRINSIC_UNARY_POSITIVE":
        return unary(r, top(e, 1), "__pos__")
    if name == "INTRINSIC_IMPORT_STAR" or name == "INTRINSIC_PRINT":
        r.stop("unsupported-opcode", name)
    return 0


cdef int call_intrinsic_2(Recorder r, const PyExecState_EventInfo *e) except -1:
    return 0


# ---- statements ---------------------------------------------------------------

cdef int before_with(Recorder r, const PyExecState_EventInfo *e) except -1:
    manager = top(e, 1)
    exit = look_up_type(r, type(manager), "__exit__")
    read_class_value(r, exit)
    apply_special(r, "__enter__", (manager,))
    return 0


cdef int with_except_start(Recorder r, const PyExecState_EventInfo *e) except -1:
    error = top(e, 1)
    dispatch_call(r, top(e, 4), (type(error), error, error.__traceback__), None)
    return 0


cdef int format_simple(Recorder r, const PyExecState_EventInfo *e) except -1:
    obj = top(e, 1)
    if type(obj) not in SCALARS:
        apply_special(r, "__format__", (obj, ""))
    return 0


cdef int format_with_spec(Recorder r, const PyExecState_EventInfo *e) except -1:
    obj = top(e, 2)
    if type(obj) not in SCALARS:
        apply_special(r, "__format__", (obj, top(e, 1)))
    return 0


cdef int convert_value(Recorder r, const PyExecState_EventInfo *e) except -1:
    obj = top(e, 1)
    if type(obj) not in SCALARS:
        apply_special(r, "__str__" if e.oparg == 1 else "__repr__", (obj,))
    return 0


cdef int import_name(Recorder r, const PyExecState_EventInfo *e) except -1:
    """A module that was imported before is a read of sys.modules."""
    read_builtin(r, e, "__import__")
    name = name_at(e, e.oparg)
    level = top(e, 2)
    if level:
        names = <object>PyExecState_FrameGlobals(e.frame)
        package = names.get("__package__")
        r.edge(namespace(r, names), "dict", "__package__", package, "__package__")
        if not package:
            return 0
        parts = package.rsplit(".", level - 1)[0]
        name = f"{parts}.{name}" if name else parts
    node = namespace(r, sys.modules)
    for known in {name, name.partition(".")[0]}:
        module = sys.modules.get(known)
        if module is None:
            r.stop("import-in-forward", known)
        r.edge(node, "dict", known, module, f"sys.modules[{known!r}]")
    r.leaf()
    return 0


cdef int import_from(Recorder r, const PyExecState_EventInfo *e) except -1:
    read_attribute(r, top(e, 1), name_at(e, e.oparg))
    return 0


cdef int load_build_class(Recorder r, const PyExecState_EventInfo *e) except -1:
    read_builtin(r, e, "__build_class__")
    return 0


cdef int get_len(Recorder r, const PyExecState_EventInfo *e) except -1:
    apply_special(r, "__len__", (top(e, 1),))
    return 0


cdef int match_class(Recorder r, const PyExecState_EventInfo *e) except -1:
    subject = top(e, 3)
    cls = top(e, 2)
    names = top(e, 1)
    if e.oparg:
        read_attribute(r, cls, "__match_args__")
        names = tuple(getattr(cls, "__match_args__", ()))[:e.oparg] + names
    dispatch_call(r, isinstance, (subject, cls), None)
    for name in names:
        if isinstance(subject, cls) and type(name) is str:
            read_attribute(r, subject, name)
    return 0


cdef int match_keys(Recorder r, const PyExecState_EventInfo *e) except -1:
    for key in top(e, 1):
        dispatch_call(r, getattr(top(e, 2), "get"), (key,), None)
    return 0


cdef install():
    on("RESUME", resume)
    on("LOAD_GLOBAL", load_global)
    on("LOAD_NAME", load_name)
    on("LOAD_FROM_DICT_OR_GLOBALS", load_from_dict_or_globals)
    on("STORE_GLOBAL", store_global)
    on("DELETE_GLOBAL", delete_global)
    on("STORE_NAME", store_name)
    on("DELETE_NAME", store_name)
    on("LOAD_DEREF", load_deref)
    on("LOAD_FROM_DICT_OR_DEREF", load_from_dict_or_deref)
    on("STORE_DEREF", store_deref)
    on("DELETE_DEREF", delete_deref)
    on("LOAD_ATTR", load_attr)
    on("STORE_ATTR", store_attr)
    on("DELETE_ATTR", delete_attr)
    on("LOAD_SUPER_ATTR", load_super_attr)
    on("BINARY_OP", binary_op)
    on("COMPARE_OP", compare_op)
    on("IS_OP", is_op)
    on("UNARY_NEGATIVE", unary_negative)
    on("UNARY_INVERT", unary_invert)
    on("TO_BOOL", to_bool)
    on("BINARY_SUBSCR", binary_subscr)
    on("BINARY_SLICE", binary_slice)
    on("STORE_SUBSCR", store_subscr)
    on("STORE_SLICE", store_slice)
    on("DELETE_SUBSCR", delete_subscr)
    on("CONTAINS_OP", contains_op)
    on("MAP_ADD", hash_two)
    on("SET_ADD", hash_one)
    on("BUILD_MAP", build_map)
    on("BUILD_SET", build_set)
    on("YIELD_VALUE", show_value)
    on("RETURN_VALUE", show_value)
    on("RETURN_CONST", show_value)
    on("GET_ITER", get_iter)
    on("GET_YIELD_FROM_ITER", get_iter)
    on("FOR_ITER", advance)
    on("SEND", send)
    on("UNPACK_SEQUENCE", unpack)
    on("UNPACK_EX", unpack)
    on("LIST_EXTEND", list_extend)
    on("SET_UPDATE", set_update)
    on("DICT_UPDATE", dict_update)
    on("DICT_MERGE", dict_update)
    on("CALL", call)
    on("CALL_KW", call_kw)
    on("CALL_FUNCTION_EX", call_function_ex)
    on("CALL_INTRINSIC_1", call_intrinsic_1)
    on("CALL_INTRINSIC_2", call_intrinsic_2)
    on("BEFORE_WITH", before_with)
    on("WITH_EXCEPT_START", with_except_start)
    on("FORMAT_SIMPLE", format_simple)
    on("FORMAT_WITH_SPEC", format_with_spec)
    on("CONVERT_VALUE", convert_value)
    on("IMPORT_NAME", import_name)
    on("IMPORT_FROM", import_from)
    on("LOAD_BUILD_CLASS", load_build_class)
    on("GET_LEN", get_len)
    on("MATCH_CLASS", match_class)
    on("MATCH_KEYS", match_keys)
    for name in STOPS:
        HANDLERS[opmap[name]] = stop_here

install()
