/* Tensors and torch's global state, as guards see them: read from C++ objects, never
   through Python attributes.

   Reading `x.shape` in Python costs 100 ns, makes objects, and can be intercepted by a
   __torch_function__; a guard needs about ten such facts for every tensor of a call.
   A TensorSnapshot compares them in place in a few nanoseconds.

   This header needs no torch header, so that Cython's generated code compiles fast:
   only tensor_meta.cpp pays for them.  */

#ifndef MAGPY_TENSOR_META_H
#define MAGPY_TENSOR_META_H

#include <Python.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace magpy {

/* The metadata of one tensor. */
struct TensorSnapshot {
    PyTypeObject *type = nullptr;       // exact; borrowed
    bool comparable = false;            // false: no tensor ever matches (see why_not)
    bool strided = false;               // strides mean something
    bool compare_offset = false;
    bool requires_grad = false;
    int8_t layout = 0;
    int16_t device_type = 0, device_index = 0;
    int scalar_type = 0;
    uint64_t keys = 0;                  // dispatch key set, raw
    int64_t offset = 0;
    int64_t sparse_dim = -1, dense_dim = -1;
    const char *why_not = "";

    // Sizes, then strides: inside the object up to five dimensions, so that a program over
    // a thousand parameters misses the cache less often.
    int ndim = 0;
    int64_t near[10];
    std::vector<int64_t> far;
    const int64_t *sizes() const { return ndim <= 5 ? near : far.data(); }
    const int64_t *strides() const { return sizes() + ndim; }

    // Fill from a tensor. False when *tensor* is none.
    bool take(PyObject *tensor);
    bool matches(PyObject *value) const;
    PyObject *dtype() const;            // borrowed
    std::string device_name() const;
    std::string layout_name() const;
    std::string key_names() const;
};

/* What is in a tensor's memory, as a number. Nothing less tells whether a weight was changed:
   a write through `.data`, numpy, dlpack or a C extension raises no version counter. */
struct ContentSnapshot {
    size_t bytes = 0;
    uint64_t hash = 0;

    // False when its memory is not one dense piece on the CPU.
    bool take(PyObject *tensor);
    // All of its memory is read, at about the speed of the memory.
    bool matches(PyObject *value) const;
};

class TensorPass;
std::unique_ptr<TensorPass> new_tensor_pass();

bool is_tensor(PyObject *value);
bool snapshot_matches(const void *snapshot, PyObject *value);
bool content_matches(const void *snapshot, PyObject *value);

/* The TensorImpl's address, the StorageImpl's (NULL without one), and the version
   counter (0 for inference tensors). *value* must be a tensor, except for storage_of, which
   gives NULL for other objects. */
const void *impl_of(PyObject *value);
const void *storage_of(PyObject *value);
int64_t version_of(PyObject *value);

/* A weak reference to a TensorImpl: the address is not reused while one exists. */
class WeakImpl {
public:
    explicit WeakImpl(PyObject *tensor);
    ~WeakImpl();
    bool alive() const;
    const void *address() const;

private:
    struct Ref;
    std::unique_ptr<Ref> ref;
};

/* The state outside all tensors that operators read. */
struct StateSnapshot {
    std::vector<int64_t> values;
    static const std::vector<const char *> &names();
    void take();
    bool matches() const;
};

bool state_matches(const void *snapshot);

/* Is anything active that wants to see torch calls, so that a compiled graph must not
   be used in their place? A function or dispatch mode, a functorch transform, JIT tracing,
   torch functions switched off. */
bool foreign_modes();

/* What a call looks like, as a number: types, tensors' dtypes and sizes, plain values, and the
   modes that entries most often differ by. It only chooses which entry is tried first. */
struct Call;
uint64_t call_key(const Call &call);

}  // namespace magpy

#endif
