/* Leaves: taking values apart and comparing them. The rules are in leaf.h. */

#include "leaf.h"

#include <cstring>
#include <vector>

/* Walks a set's table with the hashes that it stores, so that no element's __hash__
   has to run. Exported by CPython for its own extension modules; declared here because
   its header is for the core only. */
extern "C" int _PySet_NextEntryRef(PyObject *set, Py_ssize_t *pos, PyObject **key,
                                   Py_hash_t *hash);

namespace magpy {

static PyObject *identity_types, *equal_types, *enum_meta;

void leaf_setup(PyObject *identity, PyObject *equal, PyObject *meta) {
    Py_XSETREF(identity_types, Py_NewRef(identity));
    Py_XSETREF(equal_types, Py_NewRef(equal));
    Py_XSETREF(enum_meta, Py_NewRef(meta));
}

struct LeafParts {
    std::vector<Leaf> all;
    std::vector<PyObject *> owned;                          // fresh parts: a range's bounds
    ~LeafParts() {
        for (PyObject *part : owned) {
            Py_DECREF(part);
        }
    }
};

Leaf::Leaf() = default;
Leaf::Leaf(Leaf &&) noexcept = default;
Leaf::~Leaf() = default;

size_t Leaf::size() const { return inner->all.size(); }
const Leaf *Leaf::parts() const { return inner->all.data(); }

static bool in_types(PyObject *types, PyTypeObject *type) {
    for (Py_ssize_t i = 0; types != nullptr && i < PyTuple_GET_SIZE(types); i++) {
        if (PyTuple_GET_ITEM(types, i) == (PyObject *)type) {
            return true;
        }
    }
    return false;
}

static bool is_identity(PyObject *value) {
    PyTypeObject *type = Py_TYPE(value);
    return PyBool_Check(value) || value == Py_None || value == Py_Ellipsis
        || value == Py_NotImplemented || PyType_Check(value)
        || in_types(identity_types, type)
        || (enum_meta != nullptr
            && PyType_IsSubtype(Py_TYPE((PyObject *)type), (PyTypeObject *)enum_meta));
}

static uint64_t float_bits(double value) {
    uint64_t bits;
    static_assert(sizeof(bits) == sizeof(value), "IEEE double");
    memcpy(&bits, &value, sizeof(bits));
    return bits;
}

static int build_part(Leaf *leaf, PyObject *part) {
    Leaf &built = leaf->inner->all.emplace_back();
    if (leaf_build(&built, part) == 0) {
        return 0;
    }
    if (!leaf->loose || !PyErr_ExceptionMatches(PyExc_TypeError)) {
        return -1;
    }
    PyErr_Clear();
    built.inner.reset();
    built.kind = LeafKind::Identity;
    return 0;
}

static int build_set(Leaf *leaf, PyObject *set) {
    Py_ssize_t pos = 0;
    PyObject *key;
    Py_hash_t hash;
    leaf->inner->all.reserve(PySet_GET_SIZE(set));
    while (_PySet_NextEntryRef(set, &pos, &key, &hash)) {
        Py_DECREF(key);
        if (build_part(leaf, key) < 0) {
            return -1;
        }
    }
    return 0;
}

static const char *const range_fields[] = {"start", "stop", "step"};

static int build_range(Leaf *leaf, PyObject *range) {
    for (const char *field : range_fields) {
        PyObject *part = PyObject_GetAttrString(range, field);
        if (part == nullptr) {
            return -1;
        }
        leaf->inner->owned.push_back(part);
        if (build_part(leaf, part) < 0) {
            return -1;
        }
    }
    return 0;
}

static int build_tuple(Leaf *leaf, PyObject *tuple) {
    leaf->inner->all.reserve(PyTuple_GET_SIZE(tuple));
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(tuple); i++) {
        if (build_part(leaf, PyTuple_GET_ITEM(tuple, i)) < 0) {
            return -1;
        }
    }
    return 0;
}

static int build_compound(Leaf *leaf, PyObject *value) {
    leaf->inner.reset(new LeafParts());
    if (PyTuple_Check(value) && leaf->type->tp_dictoffset == 0
        && !(leaf->type->tp_flags & Py_TPFLAGS_MANAGED_DICT)) {
        leaf->kind = LeafKind::Tuple;
        return build_tuple(leaf, value);
    }
    if (PyFrozenSet_CheckExact(value)) {
        leaf->kind = LeafKind::FrozenSet;
        return build_set(leaf, value);
    }
    if (PySlice_Check(value)) {
        PySliceObject *slice = (PySliceObject *)value;
        leaf->kind = LeafKind::Slice;
        leaf->inner->all.reserve(3);
        return build_part(leaf, slice->start) < 0 || build_part(leaf, slice->stop) < 0
            || build_part(leaf, slice->step) < 0 ? -1 : 0;
    }
    if (PyRange_Check(value)) {
        leaf->kind = LeafKind::Range;
        return build_range(leaf, value);
    }
    PyErr_Format(PyExc_TypeError, "a %T is not a value that guards compare", value);
    return -1;
}

int leaf_build(Leaf *leaf, PyObject *value) {
    leaf->obj = value;
    leaf->type = Py_TYPE(value);
    if (is_identity(value)) {
        leaf->kind = LeafKind::Identity;
    }
    else if (PyLong_CheckExact(value)) {
        leaf->kind = LeafKind::Int;
    }
    else if (PyFloat_CheckExact(value)) {
        leaf->kind = LeafKind::Float;
        leaf->bits[0] = float_bits(PyFloat_AS_DOUBLE(value));
    }
    else if (PyComplex_CheckExact(value)) {
        Py_complex number = PyComplex_AsCComplex(value);
        leaf->kind = LeafKind::Complex;
        leaf->bits[0] = float_bits(number.real);
        leaf->bits[1] = float_bits(number.imag);
    }
    else if (PyUnicode_CheckExact(value)) {
        leaf->kind = LeafKind::Str;
    }
    else if (PyBytes_CheckExact(value)) {
        leaf->kind = LeafKind::Bytes;
    }
    else if (in_types(equal_types, leaf->type)) {
        leaf->kind = LeafKind::Equal;
    }
    else {
        return build_compound(leaf, value);
    }
    return 0;
}

int leaf_build_content(Leaf *leaf, PyObject *content) {
    if (leaf_build(leaf, content) == 0) {
        return 0;
    }
    if (!PyErr_ExceptionMatches(PyExc_TypeError)) {
        return -1;
    }
    PyErr_Clear();
    leaf->loose = true;
    return leaf_build(leaf, content);
}

static bool equal_objects(PyObject *a, PyObject *b) {
    int equal = PyObject_RichCompareBool(a, b, Py_EQ);  // exact C types: no user code
    if (equal < 0) {
        PyErr_Clear();
    }
    return equal > 0;
}

static bool match_int(PyObject *expected, PyObject *value) {
    PyLongObject *a = (PyLongObject *)expected, *b = (PyLongObject *)value;
    if (PyUnstable_Long_IsCompact(a) && PyUnstable_Long_IsCompact(b)) {
        return PyUnstable_Long_CompactValue(a) == PyUnstable_Long_CompactValue(b);
    }
    return equal_objects(expected, value);
}

static bool match_str(PyObject *a, PyObject *b) {
    Py_ssize_t length = PyUnicode_GET_LENGTH(a);
    return length == PyUnicode_GET_LENGTH(b) && PyUnicode_KIND(a) == PyUnicode_KIND(b)
        && memcmp(PyUnicode_DATA(a), PyUnicode_DATA(b), length * PyUnicode_KIND(a)) == 0;
}

static bool match_bytes(PyObject *a, PyObject *b) {
    Py_ssize_t length = PyBytes_GET_SIZE(a);
    return length == PyBytes_GET_SIZE(b)
        && memcmp(PyBytes_AS_STRING(a), PyBytes_AS_STRING(b), length) == 0;
}

static bool match_complex(const Leaf &leaf, PyObject *value) {
    Py_complex number = PyComplex_AsCComplex(value);
    return leaf.bits[0] == float_bits(number.real) && leaf.bits[1] == float_bits(number.imag);
}

static bool match_tuple(const Leaf &leaf, PyObject *value) {
    size_t length = (size_t)PyTuple_GET_SIZE(value);
    if (length != leaf.size()) {
        return false;
    }
    for (size_t i = 0; i < length; i++) {
        if (!leaf_match(leaf.parts()[i], PyTuple_GET_ITEM(value, i))) {
            return false;
        }
    }
    return true;
}

static bool match_slice(const Leaf &leaf, PyObject *value) {
    PySliceObject *slice = (PySliceObject *)value;
    return leaf_match(leaf.parts()[0], slice->start) && leaf_match(leaf.parts()[1], slice->stop)
        && leaf_match(leaf.parts()[2], slice->step);
}

static bool match_range(const Leaf &leaf, PyObject *value) {
    for (int i = 0; i < 3; i++) {
        PyObject *part = PyObject_GetAttrString(value, range_fields[i]);
        if (part == nullptr) {
            PyErr_Clear();
            return false;
        }
        bool equal = leaf_match(leaf.parts()[i], part);
        Py_DECREF(part);
        if (!equal) {
            return false;
        }
    }
    return true;
}

bool leaf_match_set(const Leaf &leaf, PyObject *set) {
    if ((size_t)PySet_GET_SIZE(set) != leaf.size()) {
        return false;
    }
    Py_ssize_t pos = 0;
    PyObject *key;
    Py_hash_t hash;
    size_t i = 0;
    while (_PySet_NextEntryRef(set, &pos, &key, &hash)) {
        Py_DECREF(key);
        if (!leaf_match(leaf.parts()[i++], key)) {
            return false;
        }
    }
    return true;
}

bool leaf_match_slow(const Leaf &leaf, PyObject *value) {
    switch (leaf.kind) {
    case LeafKind::Int:
        return match_int(leaf.obj, value);
    case LeafKind::Float:
        return leaf.bits[0] == float_bits(PyFloat_AS_DOUBLE(value));
    case LeafKind::Complex:
        return match_complex(leaf, value);
    case LeafKind::Str:
        return match_str(leaf.obj, value);
    case LeafKind::Bytes:
        return match_bytes(leaf.obj, value);
    case LeafKind::Tuple:
        return match_tuple(leaf, value);
    case LeafKind::FrozenSet:
        return leaf_match_set(leaf, value);
    case LeafKind::Slice:
        return match_slice(leaf, value);
    case LeafKind::Range:
        return match_range(leaf, value);
    case LeafKind::Equal:
        return equal_objects(leaf.obj, value);
    case LeafKind::Identity:
        break;
    }
    return false;
}

}  // namespace magpy
