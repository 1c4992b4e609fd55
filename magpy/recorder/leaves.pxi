# Which objects are values (compared by content) and which are their own identity.

cdef extern from "Python.h":
    int PyType_Check(object o)
    int PyModule_Check(object o)
    object PyObject_GenericGetDict(object obj, void *context)
    PyObject *magpy_module_dict "PyModule_GetDict"(object module)
    int PyCode_Check(object o)
    int PyCFunction_Check(object o)
    int PyFunction_Check(object o)
    int PyMethod_Check(object o)
    int PyCell_Check(object o)
    object PyCell_GET(object cell)
    int PyLong_CheckExact(object o)
    int PyUnicode_CheckExact(object o)
    int PyFloat_CheckExact(object o)
    int PyTuple_CheckExact(object o)
    int PyDict_CheckExact(object o)
    int PyList_CheckExact(object o)
    int PyList_Check(object o)
    int PyDict_Check(object o)
    int PyTuple_Check(object o)
    int PyAnySet_Check(object o)
    int PyBool_Check(object o)

cdef extern from *:
    """
    static inline int magpy_is_heap_type(PyObject *t) {
        return (((PyTypeObject *)t)->tp_flags & Py_TPFLAGS_HEAPTYPE) != 0;
    }
    static inline int magpy_is_immutable_type(PyObject *t) {
        return (((PyTypeObject *)t)->tp_flags & Py_TPFLAGS_IMMUTABLETYPE) != 0;
    }
    static inline int magpy_has_descr_set(PyObject *d) {
        return Py_TYPE(d)->tp_descr_set != NULL;
    }
    static inline int magpy_has_descr_get(PyObject *d) {
        return Py_TYPE(d)->tp_descr_get != NULL;
    }
    static inline int magpy_has_instance_dict(PyObject *t) {
        PyTypeObject *type = (PyTypeObject *)t;
        return type->tp_dictoffset != 0 || (type->tp_flags & Py_TPFLAGS_MANAGED_DICT);
    }
    /* Is this bound C method made from this method descriptor? */
    static inline int magpy_is_method_of(PyObject *bound, PyObject *descr) {
        return Py_IS_TYPE(descr, &PyMethodDescr_Type) && PyCFunction_Check(bound)
            && ((PyCFunctionObject *)bound)->m_ml == ((PyMethodDescrObject *)descr)->d_method;
    }
    /* A slot wrapper around the generic attribute functions, whichever type has it. */
    static inline int magpy_is_generic(PyObject *wrapper) {
        if (!Py_IS_TYPE(wrapper, &PyWrapperDescr_Type)) {
            return 0;
        }
        void *wrapped = ((PyWrapperDescrObject *)wrapper)->d_wrapped;
        return wrapped == (void *)PyObject_GenericGetAttr
            || wrapped == (void *)PyObject_GenericSetAttr;
    }
    /* Of whichever version of Cython. */
    static inline int magpy_is_cython_function(PyObject *o) {
        return strstr(Py_TYPE(o)->tp_name, "cython_function_or_method") != NULL;
    }
    static inline int magpy_iterates_as_dict(PyObject *o) {
        return Py_TYPE(o)->tp_iter == PyDict_Type.tp_iter;
    }
    static inline int magpy_has_attributes(PyObject *function) {
        return ((PyFunctionObject *)function)->func_dict != NULL;
    }
    static inline int magpy_hashes_by_identity(PyObject *o) {
        return Py_TYPE(o)->tp_hash == PyBaseObject_Type.tp_hash;
    }
    static inline int magpy_is_subtype(PyObject *sub, PyObject *type) {
        return PyType_IsSubtype((PyTypeObject *)sub, (PyTypeObject *)type);
    }
    static inline PyObject *magpy_cell_content(PyObject *cell) {
        return PyCell_GET(cell);
    }
    static inline PyObject *magpy_code_name(PyCodeObject *code, int i) {
        return PyTuple_GET_ITEM(code->co_names, i);
    }
    static inline PyObject *magpy_code_const(PyCodeObject *code, int i) {
        return PyTuple_GET_ITEM(code->co_consts, i);
    }
    """
    bint magpy_is_heap_type(object t)
    bint magpy_is_immutable_type(object t)
    bint magpy_has_descr_set(object d)
    bint magpy_has_descr_get(object d)
    bint magpy_has_instance_dict(object t)
    bint magpy_is_method_of(object bound, object descr)
    bint magpy_is_generic(object wrapper)
    bint magpy_has_attributes(object function)
    bint magpy_iterates_as_dict(object o)
    bint magpy_is_cython_function(object o)
    bint magpy_hashes_by_identity(object o)
    bint magpy_is_subtype(object sub, object type)
    PyObject *magpy_cell_content(PyObject *cell)
    PyObject *magpy_code_name(PyCodeObject *code, int i)
    PyObject *magpy_code_const(PyCodeObject *code, int i)

cdef inline object dict_of_module(module):
    return <object>magpy_module_dict(module)


cdef bint is_a(obj, classes) except -1:
    """isinstance() by the type alone: obj.__class__ may be code of the user's."""
    return issubclass(type(obj), classes)

cdef object SCALARS = frozenset((
    type(None), bool, int, float, complex, str, bytes, type(Ellipsis), type(NotImplemented),
    range, torch.Size, torch.device))

# Objects without state of their own that could change, and types: what matters is
# which one it is. A type's or module's attributes are read through edges that start at it.
cdef object IDENTITIES = frozenset((
    types.BuiltinFunctionType, type(re.compile("").match), types.MethodDescriptorType, types.WrapperDescriptorType,
    types.ClassMethodDescriptorType, types.GetSetDescriptorType, types.MemberDescriptorType,
    types.CodeType, property, staticmethod, classmethod, types.GenericAlias, types.UnionType,
    torch.dtype, torch.layout, torch.memory_format, torch.qscheme,
    torch._ops.OpOverload, torch._ops.TorchBindOpOverload, torch._ops.OpOverloadPacket))


cdef bint is_leaf(obj):
    """An immutable value without references to anything but such values."""
    cdef object item
    cdef type t = type(obj)
    if not magpy_hashes_by_identity(t):
        return False        # a metaclass's __hash__ is code of the user's
    if t in SCALARS or t in IDENTITY_SCALARS:
        return True
    if t is tuple or t is frozenset:
        for item in obj:
            if not is_leaf(item):
                return False
        return True
    if t is slice:
        return is_leaf(obj.start) and is_leaf(obj.stop) and is_leaf(obj.step)
    return False

cdef object ENUM_TYPE = enum.EnumType
cdef object IDENTITY_SCALARS = frozenset((
    torch.dtype, torch.layout, torch.memory_format, torch.qscheme))


cdef bint is_identity_leaf(obj):
    """An object for which only "the same one" counts."""
    cdef type t = type(obj)
    if not magpy_hashes_by_identity(t):
        return PyType_Check(obj)
    if t in IDENTITIES or PyType_Check(obj) or PyModule_Check(obj):
        return not (PyCFunction_Check(obj) and is_bound(obj))
    return magpy_is_subtype(type(t), ENUM_TYPE) or t in IDENTITY_TYPES or magpy_is_cython_function(obj) or (
        magpy_is_heap_type(t) and has_identity_base(t))


cdef bint has_identity_base(cls):
    for base in IDENTITY_BASES:
        if magpy_is_subtype(cls, base):
            return True
    return False



cdef bint has_finalizer(obj):
    """Does Python code run when *obj* dies? The recorder must not put that off by holding
    it, and replay does not make such an object."""
    cdef type t = type(obj)
    if not magpy_is_heap_type(t):
        return False
    cdef PyObject *found = _PyType_Lookup(<PyTypeObject *><PyObject *>t, <PyObject *>FINALIZER)
    return found != NULL and type(<object>found) not in DESCRIPTORS     # streams have one in C

cdef str FINALIZER = "__del__"


cdef bint is_bound(obj):
    """A builtin function that carries an object of its own, as list.append of a list
    does. A module, a type, or pybind11's record of the function is not one."""
    cdef object owner = obj.__self__
    if owner is None or PyModule_Check(owner) or PyType_Check(owner):
        return False
    return not type(owner).__name__.startswith(("pybind11_detail_function_record", "PyCapsule"))


cdef bint is_unique(leaf):
    """Is there only one object of this value, so that equal means identical?"""
    if leaf is None or leaf is True or leaf is False or leaf is Ellipsis or leaf is NotImplemented:
        return True
    if type(leaf) is int:
        return -5 <= leaf <= 256
    return type(leaf) in IDENTITY_SCALARS or type(leaf) is tuple and not leaf


cdef bint same_leaf(a, b):
    """Equal values of one type, as guards compare them."""
    return a == b or a != a and b != b


cdef str kind_of(obj):
    if PyList_Check(obj):
        return "list"
    if PyDict_Check(obj):
        return "dict"
    if PyTuple_Check(obj):
        return "tuple"
    if PyAnySet_Check(obj):
        return "set"
    if PyFunction_Check(obj):
        return "function"
    if PyMethod_Check(obj):
        return "method"
    if PyCell_Check(obj):
        return "cell"
    if type(obj) is deque:
        return "deque"
    return "object"


cdef str path_of_constant(obj):
    if PyType_Check(obj):
        return f"{obj.__module__}.{obj.__qualname__}"
    name = None
    if PyFunction_Check(obj) or PyCFunction_Check(obj) or type(obj) is types.ModuleType:
        name = getattr(obj, "__name__", None)       # anything else may ask code of the user's
    if name is not None and is_a(name, str):
        return name
    return f"<{type(obj).__name__}>"
