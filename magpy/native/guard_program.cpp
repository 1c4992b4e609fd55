/* The loop of the native guard program. See guard_program.h for the idea. */

#include "guard_program.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <unordered_map>

#include "cpython/execstate.h"

#include "push.h"

namespace magpy {

TorchChecks torch_checks;

#define V(NAME) #NAME,
static const char *const load_names[] = {MAGPY_FOREACH_LOAD(V)};
static const char *const check_names[] = {MAGPY_FOREACH_CHECK(V)};
#undef V

const char *load_name(int op) { return op >= 0 && op < NumLoads ? load_names[op] : nullptr; }
const char *check_name(int op) { return op >= 0 && op < NumChecks ? check_names[op] : nullptr; }

/* The slot functions that CPython gives to classes with a Python __len__: calling them
   runs user code. They are read off a class made for that. */
static lenfunc python_sq_length, python_mp_length;

static void find_python_slots() {
    PyObject *space = PyDict_New(), *bases = PyTuple_New(0), *type = nullptr;
    if (space != nullptr && bases != nullptr
        && PyDict_SetItemString(space, "__len__", (PyObject *)&PyLong_Type) == 0) {
        type = PyObject_CallFunction((PyObject *)&PyType_Type, "sOO", "probe", bases, space);
    }
    if (type != nullptr) {
        python_sq_length = ((PyTypeObject *)type)->tp_as_sequence->sq_length;
        python_mp_length = ((PyTypeObject *)type)->tp_as_mapping->mp_length;
    }
    PyErr_Clear();
    Py_XDECREF(type);
    Py_XDECREF(space);
    Py_XDECREF(bases);
}

/* The number of elements as the C base class counts them; -1 when only Python code
   could tell. */
static Py_ssize_t c_length(PyObject *value) {
    if (PyList_Check(value) || PyTuple_Check(value)) {
        return Py_SIZE(value);
    }
    if (PyDict_Check(value)) {
        return PyDict_GET_SIZE(value);
    }
    if (PyAnySet_Check(value)) {
        return PySet_GET_SIZE(value);
    }
    if (PyUnicode_Check(value)) {
        return PyUnicode_GET_LENGTH(value);
    }
    if (python_sq_length == nullptr) {
        find_python_slots();
    }
    PyTypeObject *type = Py_TYPE(value);
    lenfunc length = nullptr;
    if (type->tp_as_sequence != nullptr) {
        length = type->tp_as_sequence->sq_length;
    }
    if (length == nullptr && type->tp_as_mapping != nullptr) {
        length = type->tp_as_mapping->mp_length;
    }
    if (length == nullptr || length == python_sq_length || length == python_mp_length) {
        return -1;
    }
    Py_ssize_t size = length(value);
    if (size < 0) {
        PyErr_Clear();
    }
    return size;
}

/* 1, 0, or -1 when only Python code could tell. */
static int c_truth(PyObject *value) {
    if (PyBool_Check(value) || value == Py_None) {
        return value == Py_True;
    }
    if (PyLong_CheckExact(value) || PyFloat_CheckExact(value) || PyComplex_CheckExact(value)) {
        return PyObject_IsTrue(value);
    }
    Py_ssize_t size = c_length(value);
    return size < 0 ? -1 : size > 0;
}

/* OrderedDict keeps its order beside the dict's; only its iterator knows it. */
static bool match_odict_keys(const Leaf &leaf, PyObject *dict) {
    PyObject *iterator = PyODict_Type.tp_iter(dict);
    size_t i = 0;
    bool equal = iterator != nullptr;
    while (equal) {
        PyObject *key = Py_TYPE(iterator)->tp_iternext(iterator);
        if (key == nullptr) {
            break;
        }
        equal = i < leaf.size() && leaf_match(leaf.parts()[i++], key);
        Py_DECREF(key);
    }
    Py_XDECREF(iterator);
    PyErr_Clear();
    return equal && i == leaf.size();
}

static bool match_keys(const Leaf &leaf, PyObject *value) {
    if (!PyDict_Check(value) || (size_t)PyDict_GET_SIZE(value) != leaf.size()) {
        return false;
    }
    if (PyODict_Check(value)) {
        return match_odict_keys(leaf, value);
    }
    PyObject *key;
    Py_ssize_t pos = 0;
    const Leaf *parts = leaf.parts();
    for (size_t i = 0, n = leaf.size(); i < n; i++) {
        if (!PyDict_Next(value, &pos, &key, nullptr) || !leaf_match(parts[i], key)) {
            return false;
        }
    }
    return true;
}

/* Do the tensors share storage (or, not by_storage: are the objects the same) in the
   recorded pattern? Groups are numbered in order of appearance, so the first member of
   group g has every lower group before it: it is enough that members equal their group's
   first and firsts differ from each other. A tensor without storage shares with nobody
   but the same tensor. */
static bool match_alias(const Alias &alias, PyObject *const *frame, bool by_storage) {
    static thread_local std::vector<const void *> firsts;
    static thread_local std::vector<const void *> table;
    size_t n = alias.slots.size(), capacity = 16;
    while (capacity < 2 * n) {
        capacity *= 2;
    }
    firsts.clear();
    table.assign(capacity, nullptr);
    for (size_t i = 0; i < n; i++) {
        PyObject *value = frame[alias.slots[i]];
        const void *storage = nullptr;
        if (by_storage && value != nullptr) {
            storage = torch_checks.storage(value);
        }
        if (storage == nullptr) {
            storage = value;
        }
        if ((size_t)alias.groups[i] < firsts.size()) {
            if (firsts[alias.groups[i]] != storage) {
                return false;
            }
            continue;
        }
        size_t at = ((uintptr_t)storage >> 4) * 0x9E3779B97F4A7C15u & (capacity - 1);
        for (; table[at] != nullptr; at = (at + 1) & (capacity - 1)) {
            if (table[at] == storage) {
                return false;
            }
        }
        table[at] = storage;
        firsts.push_back(storage);
    }
    return true;
}

/* Where CPython keeps the pointer to a managed dict, from the object (pycore_object.h). */
static const Py_ssize_t managed_dict = -3;

PyObject *own_dict(PyObject *obj) {
    PyTypeObject *type = Py_TYPE(obj);
    if (type->tp_flags & Py_TPFLAGS_MANAGED_DICT) {
        return ((PyObject **)obj)[managed_dict];
    }
    PyObject **place = PyType_Check(obj) ? nullptr : _PyObject_GetDictPtr(obj);
    return place == nullptr ? nullptr : *place;
}

/* Is the object in the second slot, which hashes by its address, no key of the dict in the first? */
static bool match_lacks(const Alias &alias, PyObject *const *frame) {
    PyObject *dict = frame[alias.slots[0]], *key = frame[alias.slots[1]];
    if (dict == nullptr || key == nullptr || !PyDict_Check(dict)
        || Py_TYPE(key)->tp_hash != PyBaseObject_Type.tp_hash) {
        return false;
    }
    PyObject *value = _PyDict_GetItem_KnownHash(dict, key, PyObject_GenericHash(key));
    if (value == nullptr && PyErr_Occurred()) {
        PyErr_Clear();
        return false;
    }
    return value == nullptr;
}

/* Nothing that was written (group bit 1) shares its dict with anything else. A slot holds an
   object with attributes, or (group bit 2) a dict itself. */
static bool match_apart(const Alias &alias, PyObject *const *frame) {
    static thread_local std::vector<PyObject *> written;
    size_t n = alias.slots.size();
    written.clear();
    for (int own : {1, 0}) {
        for (size_t i = 0; i < n; i++) {
            PyObject *value = frame[alias.slots[i]];
            if ((alias.groups[i] & 1) != own || value == nullptr) {
                continue;
            }
            PyObject *dict = alias.groups[i] & 2 ? value : own_dict(value);
            if (dict == nullptr) {
                continue;
            }
            if (own) {
                written.push_back(dict);
            }
            else if (std::binary_search(written.begin(), written.end(), dict)) {
                return false;
            }
        }
        if (own) {
            std::sort(written.begin(), written.end());
            if (std::adjacent_find(written.begin(), written.end()) != written.end()) {
                return false;
            }
        }
    }
    return true;
}

/* What dies when references are dropped, found as the interpreter would go on: an object dies
   with the last reference to it, and drops what it refers to. */
struct Dropping {
    const std::vector<PyObject *> &owned;
    PyObject *held;
    std::unordered_map<PyObject *, Py_ssize_t> seen;
    std::vector<PyObject *> dying;
};

static const Py_ssize_t held_references = 4;

static bool is_held(PyObject *value, PyObject *held) {
    PyObject *address = PyLong_FromVoidPtr(value);
    bool found = address != nullptr && PyDict_Contains(held, address) > 0;
    Py_XDECREF(address);
    return found;
}

static int drop(PyObject *value, void *arg) {
    Dropping *dropping = (Dropping *)arg;
    if (_Py_IsImmortal(value) || PyLong_CheckExact(value) || PyUnicode_CheckExact(value)
        || PyFloat_CheckExact(value) || PyType_Check(value) || PyModule_Check(value)) {
        return 0;
    }
    const std::vector<PyObject *> &owned = dropping->owned;
    Py_ssize_t &seen = dropping->seen[value];
    Py_ssize_t references = Py_REFCNT(value) - std::count(owned.begin(), owned.end(), value);
    if (dropping->held != nullptr && is_held(value, dropping->held)) {
        references -= held_references;
    }
    seen++;
    if (references <= seen) {
        seen = PY_SSIZE_T_MIN / 2;                  // once
        dropping->dying.push_back(value);
    }
    return 0;
}

static void drop_content(PyObject *value, Dropping &dropping) {
    if (PyObject_IS_GC(value) && Py_TYPE(value)->tp_traverse != nullptr) {
        Py_TYPE(value)->tp_traverse(value, drop, &dropping);
    }
}

/* A finalizer (that of a suspended generator runs its `finally`), or a weak reference that can
   be called or has something called. */
static bool is_watched(PyObject *value) {
    PyTypeObject *type = Py_TYPE(value);
    return type->tp_finalize != nullptr || type->tp_del != nullptr
        || (type->tp_weaklistoffset != 0
            && *(PyObject **)((char *)value + type->tp_weaklistoffset) != nullptr);
}

bool ends_quietly(const std::vector<Dropped> &dropped, const std::vector<PyObject *> &owned,
                  PyObject *held) {
    Dropping dropping{owned, held, {}, {}};
    for (const Dropped &each : dropped) {
        if (each.content) {
            drop_content(each.value, dropping);
        }
        else {
            drop(each.value, &dropping);
        }
    }
    while (!dropping.dying.empty()) {
        PyObject *dead = dropping.dying.back();
        dropping.dying.pop_back();
        if (is_watched(dead)) {
            return false;
        }
        drop_content(dead, dropping);
    }
    return true;
}

static bool same_bytes(const Py_buffer &view, const std::string &bytes) {
    if ((size_t)view.len != bytes.size()) {
        return false;
    }
    if (PyBuffer_IsContiguous(&view, 'C')) {
        return memcmp(view.buf, bytes.data(), bytes.size()) == 0;
    }
    std::vector<char> flat(bytes.size());
    if (PyBuffer_ToContiguous(flat.data(), &view, view.len, 'C') < 0) {
        PyErr_Clear();
        return false;
    }
    return memcmp(flat.data(), bytes.data(), bytes.size()) == 0;
}

bool Buffer::matches(PyObject *value) const {
    Py_buffer view;
    if (Py_TYPE(value) != type) {
        return false;
    }
    if (PyObject_GetBuffer(value, &view, PyBUF_FULL_RO) < 0) {
        PyErr_Clear();
        return false;
    }
    bool same = (size_t)view.ndim == shape.size() && view.format != nullptr
        && format == view.format && (view.readonly != 0) == readonly;
    for (int i = 0; same && i < view.ndim; i++) {
        same = view.shape[i] == shape[i]
            && (view.strides == nullptr || view.strides[i] == strides[i]);
    }
    same = same && same_bytes(view, bytes);
    PyBuffer_Release(&view);
    return same;
}

static bool check_slow(const Instr &instr, PyObject *value, Run &run) {
    switch (instr.check) {
    case Check_len:
        return c_length(value) == instr.expected.number;
    case Check_keys:
        return match_keys(*instr.expected.leaf, value);
    case Check_set:
        return PyAnySet_Check(value) && leaf_match_set(*instr.expected.leaf, value);
    case Check_truth:
        return c_truth(value) == instr.expected.number;
    case Check_alias:
        return match_alias(*instr.expected.alias, run.frame, true);
    case Check_unique:
        return match_alias(*instr.expected.alias, run.frame, false);
    case Check_apart:
        return match_apart(*instr.expected.alias, run.frame);
    case Check_lacks:
        return match_lacks(*instr.expected.alias, run.frame);
    case Check_quiet:
        if (value != nullptr) {
            run.dropped.push_back({value, (instr.expected.number & 1) != 0});
        }
        return instr.expected.number < 2 || ends_quietly(run.dropped, run.owned, nullptr);
    case Check_state:
        return torch_checks.state(instr.expected.meta);
    case Check_buffer:
        return instr.expected.buffer->matches(value);
    case Check_frozen:
        return torch_checks.content(instr.expected.meta, value);
    }
    return false;
}

static inline bool check(const Instr &instr, PyObject *value, Run &run) {
    switch (instr.check) {
    case Check_none:
        return true;
    case Check_is:
        return value == instr.expected.object;
    case Check_type:
        return (PyObject *)Py_TYPE(value) == instr.expected.object;
    case Check_leaf:
        return leaf_match(*instr.expected.leaf, value);
    case Check_absent:
        return false;
    case Check_tensor:
        return torch_checks.tensor(instr.expected.meta, value);
    case Check_same:
        return value == run.frame[instr.expected.number];
    case Check_distinct:
        return value != run.frame[instr.expected.number];
    default:
        return check_slow(instr, value, run);
    }
}

/* --- Loads --- */

static inline Found found(PyObject *value, PyObject **out) {
    *out = value;
    return value == nullptr ? Nothing : Loaded;
}

static inline Found keep(PyObject *value, PyObject **out, Run &run) {
    if (value == nullptr) {
        bool missing = !PyErr_Occurred() || PyErr_ExceptionMatches(PyExc_AttributeError);
        PyErr_Clear();
        return missing ? Nothing : Miss;
    }
    run.owned.push_back(value);
    *out = value;
    return Loaded;
}

static inline Found item(PyObject *const *items, Py_ssize_t size, Py_ssize_t i, PyObject **out) {
    if (i < 0) {
        i += size;
    }
    return i >= 0 && i < size ? found(items[i], out) : Nothing;
}

static inline Found load_attr(const Instr &instr, PyObject *src, PyObject **out) {
    int status = PyExecState_GetInstanceAttr(src, instr.key, out);
    if (status < 0) {
        PyErr_Clear();
        return Miss;
    }
    if (status > 0) {
        Py_DECREF(*out);    // its owner keeps it
    }
    return (Found)status;
}

static inline Found load_dict(const Instr &instr, PyObject *src, PyObject **out) {
    if (!PyDict_Check(src)) {
        return Miss;
    }
    *out = _PyDict_GetItem_KnownHash(src, instr.key, instr.number);
    if (*out == nullptr && PyErr_Occurred()) {
        PyErr_Clear();
        return Miss;
    }
    return *out != nullptr ? Loaded : Nothing;
}

static Found load_closure(const Instr &instr, PyObject *function, PyObject **out) {
    if (!PyFunction_Check(function)) {
        return Miss;
    }
    PyObject *cells = PyFunction_GET_CLOSURE(function);
    if (cells == nullptr) {
        return Nothing;
    }
    return item(((PyTupleObject *)cells)->ob_item, PyTuple_GET_SIZE(cells), instr.number, out);
}

static Found load_member(const Instr &instr, PyObject *src, PyObject **out, Run &run) {
    if (!PyObject_TypeCheck(src, PyDescr_TYPE(instr.key))) {
        return Miss;
    }
    return keep(Py_TYPE(instr.key)->tp_descr_get(instr.key, src, (PyObject *)Py_TYPE(src)),
                out, run);
}

static Found load_deque(const Instr &instr, PyObject *src, PyObject **out, Run &run) {
    if ((PyObject *)Py_TYPE(src) != instr.key) {
        return Miss;
    }
    PyObject *value = PySequence_GetItem(src, instr.number);
    if (value == nullptr && PyErr_ExceptionMatches(PyExc_IndexError)) {
        PyErr_Clear();
        return Nothing;
    }
    return keep(value, out, run);
}

static Found load_deref(PyObject *src, PyObject **out, Run &run) {
    if (!PyWeakref_CheckRefExact(src)) {
        return Miss;
    }
    PyObject *value;
    if (PyWeakref_GetRef(src, &value) == 0) {
        value = Py_NewRef(Py_None);     // as calling the reference gives
    }
    return keep(value, out, run);
}

static Found load_instance_dict(PyObject *src, PyObject **out, Run &run) {
    if (PyType_Check(src)) {
        return Miss;    // a class's dict is read by type_own
    }
    return keep(PyObject_GenericGetDict(src, nullptr), out, run);
}

static Found load_key(const Instr &instr, PyObject *src, PyObject **out, Run &run) {
    if (!PyDict_Check(src)) {
        return Miss;
    }
    Py_ssize_t size = PyDict_GET_SIZE(src), i = instr.number < 0 ? instr.number + size
                                                                  : instr.number;
    if (i < 0 || i >= size) {
        return Nothing;
    }
    if (!PyODict_Check(src)) {
        Py_ssize_t pos = 0;
        while (PyDict_Next(src, &pos, out, nullptr) && i-- > 0) {
        }
        return Loaded;
    }
    PyObject *iterator = PyODict_Type.tp_iter(src), *key = nullptr;
    for (; iterator != nullptr && i >= 0; i--) {
        Py_XDECREF(key);
        key = Py_TYPE(iterator)->tp_iternext(iterator);
    }
    Py_XDECREF(iterator);
    return keep(key, out, run);
}

/* The three loads from a class. The lookup itself gives the class a version tag;
   type_own and type_mro ask for one. */
static Found load_type_slow(Instr &instr, PyObject **out) {
    if (instr.load == Load_type_mro) {
        PyTypeObject *type = (PyTypeObject *)instr.key;
        PyUnstable_Type_AssignVersionTag(type);
        instr.cached = type->tp_mro;
        instr.version = type->tp_version_tag;
        return found(instr.cached, out);
    }
    PyTypeObject *type = (PyTypeObject *)PyTuple_GET_ITEM(instr.key, 0);
    PyObject *name = PyTuple_GET_ITEM(instr.key, 1);
    if (instr.load == Load_type_lookup) {
        instr.cached = _PyType_Lookup(type, name);
    }
    else {
        PyUnstable_Type_AssignVersionTag(type);
        PyObject *dict = PyType_GetDict(type);
        instr.cached = dict == nullptr ? nullptr : PyDict_GetItemWithError(dict, name);
        Py_XDECREF(dict);
    }
    if (instr.cached == nullptr && PyErr_Occurred()) {
        PyErr_Clear();
        instr.version = 0;
        return Miss;
    }
    instr.version = type->tp_version_tag;
    return found(instr.cached, out);
}

static inline Found load_type(Instr &instr, PyObject **out) {
    PyObject *type = instr.load == Load_type_mro ? instr.key : PyTuple_GET_ITEM(instr.key, 0);
    unsigned version = ((PyTypeObject *)type)->tp_version_tag;
    if (version != 0 && version == instr.version) {
        return found(instr.cached, out);
    }
    return load_type_slow(instr, out);
}

static Found load_rare(const Instr &instr, PyObject *src, PyObject **out, Run &run) {
    switch (instr.load) {
    case Load_member:
        return load_member(instr, src, out, run);
    case Load_instance_dict:
        return load_instance_dict(src, out, run);
    case Load_key:
        return load_key(instr, src, out, run);
    case Load_closure:
        return load_closure(instr, src, out);
    }
    return Miss;
}

static inline Found load(Instr &instr, PyObject **out, Run &run) {
    PyObject *src = nullptr;
    if (instr.src >= 0 && (src = run.frame[instr.src]) == nullptr) {
        return instr.load == Load_slot ? Nothing : Miss;
    }
    switch (instr.load) {
    case Load_deref:
        return load_deref(src, out, run);
    case Load_deque:
        return load_deque(instr, src, out, run);
    case Load_call:
        return keep(PyObject_CallNoArgs(instr.key), out, run);
    case Load_state:
    case Load_slots:
        return found(Py_None, out);
    case Load_arg:
        return item(run.call.args, run.call.nargs, instr.number, out);
    case Load_kwarg:    // the signature has been compared
        return found(run.call.args[run.call.nargs + instr.number], out);
    case Load_fn:
        return found(run.call.fn, out);
    case Load_const:
        return found(instr.key, out);
    case Load_slot:
        return found(src, out);
    case Load_attr:
        return load_attr(instr, src, out);
    case Load_dict:
        return load_dict(instr, src, out);
    case Load_list:
        return PyList_Check(src)
            ? item(((PyListObject *)src)->ob_item, PyList_GET_SIZE(src), instr.number, out) : Miss;
    case Load_tuple:
        return PyTuple_Check(src)
            ? item(((PyTupleObject *)src)->ob_item, PyTuple_GET_SIZE(src), instr.number, out) : Miss;
    case Load_cell:
        return PyCell_Check(src) ? found(PyCell_GET(src), out) : Miss;
    case Load_type_lookup:
    case Load_type_own:
    case Load_type_mro:
        return load_type(instr, out);
    default:
        return load_rare(instr, src == nullptr ? run.call.fn : src, out, run);
    }
}

/* --- The loop --- */

static bool same_names(const std::vector<PyObject *> &names, PyObject *given) {
    for (size_t i = 0; i < names.size(); i++) {     // **kwargs shows their order
        PyObject *name = PyTuple_GET_ITEM(given, i);
        if (name != names[i]
            && !(PyUnicode_CheckExact(name) && PyUnicode_Compare(name, names[i]) == 0)) {
            return false;
        }
    }
    return true;
}

static inline bool same_signature(const Program &program, const Call &call) {
    size_t given = call.kwnames == nullptr ? 0 : (size_t)PyTuple_GET_SIZE(call.kwnames);
    return call.nargs == program.nargs && given == program.kwnames.size()
        && (given == 0 || same_names(program.kwnames, call.kwnames));
}

static inline bool one_step(Instr &instr, Run &run) {
    PyObject *value = nullptr;
    Found status = load(instr, &value, run);
    if (status == Loaded) {
        if (!check(instr, value, run)) {
            return false;
        }
    }
    else if (status == Miss || (instr.check != Check_absent
                                && !(instr.check == Check_quiet && check(instr, nullptr, run)))) {
        return false;
    }
    if (instr.dst >= 0) {
        run.frame[instr.dst] = value;
    }
    return true;
}

static Py_ssize_t loop(std::vector<Instr> &instrs, Py_ssize_t limit, Run &run) {
    Instr *all = instrs.data();
    for (Py_ssize_t i = 0; i < limit; i++) {
        if (!one_step(all[i], run)) {
            return i;
        }
    }
    return limit;
}

Found load_value(Instr &instr, PyObject **out, Run &run) { return load(instr, out, run); }
bool step(Instr &instr, Run &run) { return one_step(instr, run); }

/* The program's own frame, or a copy when a run is in progress; and the made values. */
class Frame {
public:
    Frame(Program &program, bool &busy) : busy(busy), nested(busy) {
        if (nested) {
            copy = program.frame;
        }
        slots = nested ? copy.data() : program.frame.data();
        busy = true;
    }
    ~Frame() {
        busy = nested;
        for (PyObject *value : owned) {
            Py_DECREF(value);
        }
    }
    PyObject **slots;
    std::vector<PyObject *> owned;

private:
    bool &busy;
    bool nested;
    std::vector<PyObject *> copy;
};

Program::Program() = default;
Program::~Program() = default;

void Program::disarm() { pushed.reset(); }
const Pushed *Program::armed() const { return pushed.get(); }

PyObject *Program::wanted(PyObject *const *slots) const {
    Py_ssize_t n = (Py_ssize_t)want.size();
    PyObject *list = PyList_New(n);
    for (Py_ssize_t i = 0; list != nullptr && i < n; i++) {
        PyObject *value = slots[want[i]];
        PyList_SET_ITEM(list, i, Py_NewRef(value == nullptr ? absent : value));
    }
    return list;
}

Py_ssize_t Program::run_all(const Call &call, PyObject **result, bool arm) {
    Frame own(*this, busy);
    Run run{call, own.slots, own.owned, {}};
    Py_ssize_t n = (Py_ssize_t)instrs.size(), at = loop(instrs, n, run);
    if (at == n) {
        if (arm) {
            pushed->arm(run);
        }
        *result = wanted(own.slots);
    }
    return at;
}

Py_ssize_t Program::run(const Call &call, PyObject **result) {
    return same_signature(*this, call) ? run_all(call, result, false) : -1;
}

Py_ssize_t Program::match(const Call &call, Match *result) {
    Py_ssize_t at;
    if (!same_signature(*this, call)) {
        return -1;
    }
    if (pushed == nullptr) {
        pushed.reset(new Pushed(*this));
    }
    at = pushed->check(call, result);
    if (at == Pushed::Ask) {
        return run_all(call, &result->list, !busy && pushed->pays());
    }
    if (verify_guards) {
        verify(call, at, *result);
    }
    return at;
}

/* Both ways must agree: what was watched is only a quicker way to the same answer. */
void Program::verify(const Call &call, Py_ssize_t at, const Match &match) {
    PyObject *list = nullptr;
    Py_ssize_t all = (Py_ssize_t)instrs.size(), full = run_all(call, &list, false);
    bool same = (at == all) == (full == all);
    for (size_t i = 0; same && list != nullptr && i < want.size(); i++) {
        PyObject *was = match.list != nullptr ? PyList_GET_ITEM(match.list, i) : match.slots[i];
        same = !pushed->is_stable(want[i]) || PyList_GET_ITEM(list, i) == was;
    }
    if (!same) {
        fprintf(stderr, "magpy: MAGPY_VERIFY_GUARDS: of %zd guards the watched ones fail at %zd, "
                "all of them at %zd\n", all, at, full);
        fflush(stderr);
        abort();
    }
    Py_XDECREF(list);
}

PyObject *Program::probe(const Call &call, Py_ssize_t i, int *state) {
    *state = Miss;
    if (!same_signature(*this, call)) {
        return nullptr;
    }
    Frame own(*this, busy);
    Run run{call, own.slots, own.owned, {}};
    PyObject *value = nullptr;
    if (loop(instrs, i, run) == i) {
        *state = load(instrs[i], &value, run);
    }
    return *state == Loaded ? Py_NewRef(value) : nullptr;
}

}  // namespace magpy
