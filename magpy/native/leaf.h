/* Leaves: immutable values that guards compare by content, strictly.

   Python's == is too weak for a guard: 1 == True == 1.0, 0.0 == -0.0, and a NaN
   differs from itself although a program that reads it behaves the same. It is also
   too strong a tool: it can run user code. A Leaf is a value taken apart once, so
   that comparing is a type test and a few machine words, and never runs Python code.

   - int, str, bytes: same exact type, same value;
   - float, complex: same bits;
   - None, bool, Ellipsis, NotImplemented, classes, enum members and the torch
     constants (dtype, layout, memory_format, qscheme): identity;
   - torch.device: its own C ==, exact type on both sides;
   - tuple (torch.Size, named tuples and struct sequences too, if they have no
     __dict__), slice, range: exact type, then part by part;
   - frozenset: exact type, same elements in the same order of iteration.
   Anything else is no leaf, and saying so is an error when a program is built.  */

#ifndef MAGPY_LEAF_H
#define MAGPY_LEAF_H

#include <Python.h>

#include <cstdint>
#include <memory>

namespace magpy {

enum class LeafKind : uint8_t {
    Identity, Int, Float, Complex, Str, Bytes, Tuple, FrozenSet, Slice, Range, Equal
};

struct LeafParts;

struct Leaf {
    LeafKind kind = LeafKind::Identity;
    bool loose = false;             // parts that are no leaves count by identity
    PyObject *obj = nullptr;        // borrowed: the program's owner keeps it
    PyTypeObject *type = nullptr;
    uint64_t bits[2] = {0, 0};      // Float, Complex
    std::unique_ptr<LeafParts> inner;   // Tuple, FrozenSet, Slice, Range

    Leaf();
    Leaf(Leaf &&) noexcept;
    ~Leaf();
    size_t size() const;            // number of parts
    const Leaf *parts() const;
};

// Which types are compared by identity and which by their own ==, as two tuples of
// types; enum_meta is the metaclass of enumerations. Called once.
void leaf_setup(PyObject *identity_types, PyObject *equal_types, PyObject *enum_meta);

// Take *value* apart. Returns 0, or -1 with TypeError set when it is no leaf.
int leaf_build(Leaf *leaf, PyObject *value);

// The same for a dict's keys (a tuple) or a set's content (a tuple or a frozenset): elements
// that are no leaves are compared by identity.
int leaf_build_content(Leaf *leaf, PyObject *content);

bool leaf_match_slow(const Leaf &leaf, PyObject *value);

// Is *value* the same leaf? Runs no Python code, leaves no exception.
static inline bool leaf_match(const Leaf &leaf, PyObject *value) {
    if (value == leaf.obj) {
        return true;
    }
    if (Py_TYPE(value) != leaf.type || leaf.kind == LeafKind::Identity) {
        return false;
    }
    return leaf_match_slow(leaf, value);
}

// The same for the content of a set or frozenset: in any order (*leaf* was built from
// a frozenset) or in iteration order (from a tuple).
bool leaf_match_set(const Leaf &leaf, PyObject *set);

}  // namespace magpy

#endif
