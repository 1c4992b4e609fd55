/* The native guard program: an array of instructions and one loop over it.

   What the instructions mean is listed in magpy/guards/instr.py. What matters here:

   - No instruction runs Python code or lets another thread run (two exceptions, which
     are the user's own dict keys: a key with the same hash as the one looked up has its
     __eq__ called, as in the program itself). So slots hold borrowed pointers: what
     was reached stays alive until the loop ends. Only values that a load makes are owned.
   - The frame is one array: slots, then constants. It belongs to the program and is
     reused, because constants then cost nothing; a nested run (see above) gets a copy.
   - Lookups on types are remembered by tp_version_tag: CPython gives a tag to one
     state of one type, ever, so an equal non-zero tag means the same result.

   Every pointer in a Program is borrowed. GuardProgram (guards/program.pyx) owns the
   objects in Python containers, where the cycle collector sees them.  */

#ifndef MAGPY_GUARD_PROGRAM_H
#define MAGPY_GUARD_PROGRAM_H

#include <Python.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "leaf.h"

namespace magpy {

/* The one list of loads and checks: enums and names are made from it. */
#define MAGPY_FOREACH_LOAD(V)                                                        \
    V(state) V(arg) V(kwarg) V(fn) V(const) V(slot) V(slots) V(attr) V(dict) V(list) \
    V(tuple) V(cell) V(closure) V(member) V(instance_dict) V(type_lookup)            \
    V(type_own) V(type_mro) V(key) V(call) V(deque) V(deref)
#define MAGPY_FOREACH_CHECK(V)                                                       \
    V(none) V(is) V(type) V(leaf) V(absent) V(tensor) V(same) V(distinct) V(len)     \
    V(keys) V(set) V(truth) V(alias) V(unique) V(state) V(buffer) V(apart) V(lacks) V(quiet) \
    V(frozen)

#define V(NAME) Load_##NAME,
enum LoadOp : uint8_t { MAGPY_FOREACH_LOAD(V) NumLoads };
#undef V
#define V(NAME) Check_##NAME,
enum CheckOp : uint8_t { MAGPY_FOREACH_CHECK(V) NumChecks };
#undef V

/* The object's own __dict__, borrowed, or NULL: none is made for the question. */
PyObject *own_dict(PyObject *obj);

/* A reference to *value*; for *content* all those that *value* has. */
struct Dropped {
    PyObject *value;
    bool content;
};

/* Does no Python code run when these references are dropped, and does nobody watch what dies?
   *owned* are references of the asker's own; *held* (or NULL) is a dict with the addresses of
   objects to which a recorder and locals have references. */
bool ends_quietly(const std::vector<Dropped> &dropped, const std::vector<PyObject *> &owned,
                  PyObject *held);

const char *load_name(int op);      // NULL when there is no such op
const char *check_name(int op);

/* Tensors whose metadata is compared at each call, in one go. */
class TensorPass {
public:
    virtual ~TensorPass() = default;
    // A tensor for which the metadata (a TensorSnapshot) holds now. It is borrowed. False for
    // tensors that are compared one by one.
    virtual bool add(PyObject *tensor, const void *meta) = 0;
    // The first for which it does not hold any more; their number when all do.
    virtual size_t check() = 0;
    // Has any of them got other memory since this was last asked?
    virtual bool moved() = 0;
};

/* What the torch side gives (native/tensor_meta.h): this file needs no torch header. */
struct TorchChecks {
    std::unique_ptr<TensorPass> (*pass)() = nullptr;
    bool (*tensor)(const void *meta, PyObject *value) = nullptr;
    bool (*content)(const void *content, PyObject *value) = nullptr;
    bool (*state)(const void *state) = nullptr;
    const void *(*storage)(PyObject *value) = nullptr;  // NULL: not a tensor, or no storage
};
extern TorchChecks torch_checks;

/* Which slots, and what of each: for the check "apart" how attributes are held. */
struct Alias {
    std::vector<int> slots, groups;
};

/* The memory behind an object of C (a numpy array): what the buffer protocol shows of it. */
struct Buffer {
    PyTypeObject *type = nullptr;
    std::string format;
    std::vector<Py_ssize_t> shape, strides;
    bool readonly = false;
    std::string bytes;                  // in C order

    bool matches(PyObject *value) const;
};

/* What a check compares with. The program owns leaves, aliases and buffers. */
union Expected {
    PyObject *object;           // is, type
    const Leaf *leaf;           // leaf, keys, set
    const Alias *alias;
    const Buffer *buffer;
    const void *meta;           // tensor, state, frozen
    Py_ssize_t number;          // len, truth; same, distinct: the slot; quiet: see there
};

struct Instr {
    uint8_t load = Load_const;
    uint8_t check = Check_none;
    int src = -1;
    int dst = -1;
    unsigned version = 0;           // type loads: tag at the last success
    PyObject *key = nullptr;
    Py_ssize_t number = 0;          // key as a number, or the hash of a dict key
    PyObject *cached = nullptr;     // type loads: what was found; NULL when absent
    Expected expected = {nullptr};
};

/* A call as the vectorcall protocol gives it (PEP 590): keyword values after the others. */
struct Call {
    PyObject *fn;
    PyObject *const *args;
    Py_ssize_t nargs;
    PyObject *kwnames;                  // a tuple, or NULL
};

/* What loads and checks need besides their instruction. */
struct Run {
    const Call &call;
    PyObject **frame;
    std::vector<PyObject *> &owned;     // values that loads made
    std::vector<Dropped> dropped;       // what the check "quiet" has met so far
};

enum Found { Miss = -1, Nothing = 0, Loaded = 1 };

// Load for *instr*, without its check.
Found load_value(Instr &instr, PyObject **out, Run &run);
// Load, check and keep: does *instr* hold?
bool step(Instr &instr, Run &run);

class Pushed;

/* What a program that holds gives: the wanted slots' values. Borrowed, good until Python
   code runs, while *list* is NULL; else the list owns them. */
struct Match {
    PyObject *const *slots = nullptr;
    PyObject *list = nullptr;
};

class Program {
public:
    Program();
    ~Program();
    std::vector<Instr> instrs;
    std::vector<PyObject *> frame;      // slots, then constants
    std::vector<PyObject *> kwnames;
    std::vector<int> want;
    std::vector<std::unique_ptr<Leaf>> leaves;
    std::vector<std::unique_ptr<Alias>> aliases;
    std::vector<std::unique_ptr<Buffer>> buffers;
    Py_ssize_t nargs = 0;
    Py_ssize_t nslots = 0;
    PyObject *absent = nullptr;         // what a wanted slot holds when nothing was there

    Leaf *new_leaf() { return leaves.emplace_back(new Leaf()).get(); }
    Alias *new_alias() { return aliases.emplace_back(new Alias()).get(); }
    Buffer *new_buffer() { return buffers.emplace_back(new Buffer()).get(); }

    // Does every instruction hold? All of them are run. Returns the index of the one that
    // failed, their number when all passed, -1 for another call signature. When all passed
    // *result* gets a list of the wanted slots (NULL and an exception without memory).
    Py_ssize_t run(const Call &call, PyObject **result);
    // The same, by what was watched since the last time where that is possible (push.h).
    Py_ssize_t match(const Call &call, Match *result);
    // What instruction *i* loads now: a new reference, or NULL without an exception when
    // it or an instruction before it finds nothing. *state* says which: 1 loaded,
    // 0 nothing there, -1 wrong kind of source or not reached.
    PyObject *probe(const Call &call, Py_ssize_t i, int *state);
    // Stop watching.
    void disarm();
    const Pushed *armed() const;

private:
    friend class Pushed;
    PyObject *wanted(PyObject *const *slots) const;     // as a list
    Py_ssize_t run_all(const Call &call, PyObject **result, bool arm);
    void verify(const Call &call, Py_ssize_t at, const Match &match);
    bool busy = false;
    std::unique_ptr<Pushed> pushed;
};

}  // namespace magpy

#endif
