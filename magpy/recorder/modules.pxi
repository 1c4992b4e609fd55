# What every call of an nn.Module runs through: __getattr__ and the two functions behind __call__. Two thirds of a
# model's instructions are theirs. When a frame of one starts, what it is going to read is noted at once, in the order
# of its code, and its instructions are passed over, but for the call that it makes. That is done in the plain case
# only: no hooks, dicts of torch's own; any other module, and any other code, is recorded like all Python.

cdef struct ModuleCode:
    PyCodeObject *getattr
    PyCodeObject *wrapped_call
    PyCodeObject *call

cdef ModuleCode MODULE_CODE
cdef tuple HOOKS = ("_backward_hooks", "_backward_pre_hooks", "_forward_hooks", "_forward_pre_hooks")
cdef tuple GLOBAL_HOOKS = ("_global_backward_pre_hooks", "_global_backward_hooks", "_global_forward_hooks",
                           "_global_forward_pre_hooks")
cdef tuple GETATTR_TABLES = ("_parameters", "_buffers", "_modules")
cdef object ORDERED_DICT = OrderedDict
cdef object TRACING_STATE = torch._C._get_tracing_state
cdef int CALL_FUNCTION_EX = opmap["CALL_FUNCTION_EX"]


cdef PyCodeObject *known_code(function, names):
    """The code of *function* if it mentions *names* in this order (it does in the torch that this was written for)."""
    cdef object found = [name for name in function.__code__.co_names if name in names]
    if list(names) != found:
        return NULL
    return <PyCodeObject *><PyObject *>function.__code__


cdef find_module_code():
    cls = torch.nn.Module
    MODULE_CODE.getattr = known_code(cls.__getattr__, ("__dict__", "AttributeError"))
    MODULE_CODE.wrapped_call = known_code(cls._wrapped_call_impl, ("_compiled_call_impl", "_call_impl"))
    MODULE_CODE.call = known_code(cls._call_impl, (
        "torch", "_C", "_get_tracing_state", "_slow_forward", "forward", *HOOKS, *GLOBAL_HOOKS))

find_module_code()
cdef list KEPT_CODE = [torch.nn.Module.__getattr__.__code__, torch.nn.Module._wrapped_call_impl.__code__,
                       torch.nn.Module._call_impl.__code__]


cdef int enter_module(Recorder r, const PyExecState_EventInfo *e) except -1:
    """A frame starts: is it one of the three?"""
    cdef PyCodeObject *code = PyExecState_FrameCode(e.frame)
    if code == MODULE_CODE.getattr:
        read_from_tables(r, e)
    elif code == MODULE_CODE.wrapped_call or code == MODULE_CODE.call:
        stop_passing(r, e.frame)        # of a frame that was here before
        if reads_wrapped_call(r, e) if code == MODULE_CODE.wrapped_call else reads_call(r, e):
            r.passed.push_back(e.frame)
    return 0


cdef bint passed_over(Recorder r, const PyExecState_EventInfo *e) noexcept:
    cdef PyCodeObject *code = PyExecState_FrameCode(e.frame)
    if code != MODULE_CODE.call and code != MODULE_CODE.wrapped_call:
        return False
    if e.opcode == CALL_FUNCTION_EX or e.opcode == RESUME:
        return False
    cdef int i = <int>r.passed.size() - 1
    while i >= 0 and r.passed[i] != e.frame:
        i -= 1
    if i < 0:
        return False
    if e.opcode == RETURN_VALUE:        # somebody may watch what it gives
        r.passed.resize(i)
        return False
    return True


cdef void stop_passing(Recorder r, void *frame) noexcept:
    cdef size_t i = 0
    while i < r.passed.size() and r.passed[i] != frame:
        i += 1
    r.passed.resize(i)


cdef Node module_of(Recorder r, const PyExecState_EventInfo *e):
    """The node of an outside module in the frame's first argument, if looking up its attributes is plain."""
    cdef PyObject *first = PyExecState_FrameLocals(e.frame)[0]
    if first != NULL and PyCell_Check(<object>first):
        first = magpy_cell_content(first)
    if first == NULL:
        return None
    cdef Node node = r.find_at(<void *>first)
    if node is None or not magpy_has_instance_dict(node.type) \
            or not magpy_is_generic(look_up_type(r, node.type, "__getattribute__")):
        return None
    return node


cdef object plain_attribute(Recorder r, Node node, str name):
    """Read an attribute that the instance itself has; ABSENT where the lookup is any other."""
    descriptor = look_up_type(r, node.type, name)
    if descriptor is not ABSENT and magpy_has_descr_set(descriptor):
        return ABSENT
    value = own_attribute(node.obj, name)
    if value is not ABSENT:
        r.edge(node, "attr", name, value, node.path + "." + name)
    return value


cdef bint reads_method(Recorder r, Node node, str name) except -1:
    """Read what the instance has, or else a function of its class. Either way no code runs that could
    change what is read next."""
    read_attribute(r, node.obj, name)
    found = look_up_type(r, node.type, name)
    if found is not ABSENT and magpy_has_descr_set(found):
        return False
    return type(found) is FUNCTION or own_attribute(node.obj, name) is not ABSENT


cdef int read_from_tables(Recorder r, const PyExecState_EventInfo *e) except -1:
    """Module.__getattr__(self, name)"""
    cdef PyObject *wanted = PyExecState_FrameLocals(e.frame)[1]
    cdef Node node = module_of(r, e)
    if node is None or wanted == NULL or not PyUnicode_CheckExact(<object>wanted) \
            or type(look_up_type(r, node.type, "__dict__")) is not GETSET:
        return 0
    cdef str name = <object>wanted
    for table in GETATTR_TABLES:
        entries = own_attribute(node.obj, table)
        if not (PyDict_CheckExact(entries) or type(entries) is ORDERED_DICT):
            return 0
        r.edge(node, "attr", table, entries, node.path + "." + table)
        read_key(r, entries, name)
        if dict_get(entries, name, ABSENT) is not ABSENT:
            r.leaf_frame = e.frame
            r.leaf_until_exit = True
            return 0
    return 0


cdef bint reads_wrapped_call(Recorder r, const PyExecState_EventInfo *e) except -1:
    """Module._wrapped_call_impl(self, *args, **kwargs)"""
    cdef Node node = module_of(r, e)
    if node is None or plain_attribute(r, node, "_compiled_call_impl") is not None:
        return False
    return reads_method(r, node, "_call_impl")


cdef bint reads_call(Recorder r, const PyExecState_EventInfo *e) except -1:
    """Module._call_impl(self, *args, **kwargs)"""
    cdef Node node = module_of(r, e)
    if node is None or not reads_tracing_state(r, e):
        return False
    if not reads_method(r, node, "forward"):
        return False
    for name in HOOKS:
        if not reads_as_empty(r, plain_attribute(r, node, name)):
            return False
    for name in GLOBAL_HOOKS:
        read_global(r, e, name, False)
        if not reads_as_empty(r, dict_get(<object>PyExecState_FrameGlobals(e.frame), name, ABSENT)):
            return False
    return True


cdef bint reads_as_empty(Recorder r, hooks) except -1:
    if not (PyDict_CheckExact(hooks) or type(hooks) is ORDERED_DICT):
        return False
    if PyDict_CheckExact(hooks):
        read_truth(r, hooks)
    else:
        read_length(r, hooks)
    return base_length(hooks) == 0


cdef bint reads_tracing_state(Recorder r, const PyExecState_EventInfo *e) except -1:
    """torch._C._get_tracing_state(): is nothing being traced?"""
    read_global(r, e, "torch", False)
    module = dict_get(<object>PyExecState_FrameGlobals(e.frame), "torch", ABSENT)
    for name in ("_C", "_get_tracing_state"):
        if type(module) is not MODULE:
            return False
        read_module_attribute(r, module, name)
        module = dict_of_module(module).get(name, ABSENT)
    if module is not TRACING_STATE:
        return False
    dispatch_call(r, module, (), None)
    return module() is None
