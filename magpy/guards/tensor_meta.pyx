# distutils: sources = magpy/native/tensor_meta.cpp
# cython: language_level=3
"""Snapshots of tensors and of torch's global state (the native side is native/tensor_meta.h).

The classes here are what guards and recordings hold; comparing happens in C++. Words
for people (`why`) are made here, from a second snapshot, so they cost nothing until asked.
"""

import torch    # loads the libraries that this module links to


cdef extern from "tensor_meta.h" namespace "magpy":
    cbool is_tensor(PyObject *) noexcept
    const void *impl_of(PyObject *) noexcept
    int64_t version_of(PyObject *) except +
    cbool _foreign_modes "magpy::foreign_modes"() noexcept
    uint64_t _call_key "magpy::call_key"(const Call &) noexcept
    const vector[const char *] &state_names "magpy::StateSnapshot::names"() noexcept


cdef tensor_check tensor_matcher():
    return snapshot_matches


cdef tensor_check content_matcher():
    return content_matches


cdef state_check state_matcher():
    return state_matches


cdef pass_maker tensor_pass_maker():
    return <pass_maker>new_tensor_pass


cdef storage_check storage_getter():
    return storage_of


cdef uint64_t call_key(const Call &call) noexcept:
    return _call_key(call)


cdef bint has_foreign_modes() noexcept:
    return _foreign_modes()


def foreign_modes():
    """Is a mode, a functorch transform or a JIT trace active that must see torch calls?"""
    return bool(_foreign_modes())


cdef PyObject *_tensor(value) except NULL:
    if not is_tensor(<PyObject *>value):
        raise TypeError(f"a tensor is needed, not {type(value).__name__}")
    return <PyObject *>value


def impl_key(tensor):
    """The address of the TensorImpl: a tensor's identity, whatever Python object wraps it."""
    return <size_t>impl_of(_tensor(tensor))


def storage_key(tensor):
    """The address of the StorageImpl; 0 when the tensor has none."""
    return <size_t>storage_of(_tensor(tensor))


def version(tensor):
    """The version counter, which in-place operations raise; 0 for inference tensors."""
    return version_of(_tensor(tensor))


def distinct_storages(tensors):
    """Which tensors share storage: a group number each, numbered in order of appearance.
    A tensor without storage shares with nobody but itself."""
    cdef dict groups = {}
    pattern = []
    for tensor in tensors:
        key = storage_key(tensor) or <size_t><PyObject *>tensor
        pattern.append(groups.setdefault(key, len(groups)))
    return tuple(pattern)


cdef class WeakTensor:
    """A weak reference to a TensorImpl. While it exists the address stays taken, though the
    data are freed with the tensor."""

    cdef WeakImpl *weak

    def __cinit__(self, tensor):
        self.weak = new WeakImpl(_tensor(tensor))

    def __dealloc__(self):
        del self.weak

    def alive(self):
        return bool(self.weak.alive())

    @property
    def key(self):
        return <size_t>self.weak.address()


cdef tuple _numbers(const int64_t *numbers, int n):
    cdef int i
    return tuple([numbers[i] for i in range(n)])


cdef class TensorMeta:
    """What guards compare of a tensor: exact Python type, dtype, device, layout, sizes, strides
    (strided layout), requires_grad, dispatch keys (conj, neg and inference show there).

    ``compare_offset`` adds the storage offset. Nothing ever matches a snapshot of a tensor
    whose sizes are symbolic or computed by its class.
    """

    def __cinit__(self, tensor, *, compare_offset=False):
        self.snapshot.take(_tensor(tensor))
        self.snapshot.compare_offset = compare_offset
        self.type = type(tensor)

    cdef const void *native(self) noexcept:
        return &self.snapshot

    cdef bint matches_c(self, PyObject *value) noexcept:
        return self.snapshot.matches(value)

    def matches(self, value):
        return bool(self.snapshot.matches(<PyObject *>value))

    @property
    def comparable(self):
        return bool(self.snapshot.comparable)

    @property
    def shape(self):
        return _numbers(self.snapshot.sizes(), self.snapshot.ndim)

    @property
    def strides(self):
        return _numbers(self.snapshot.strides(), self.snapshot.ndim) \
            if self.snapshot.strided else None

    @property
    def dtype(self):
        return <object>self.snapshot.dtype()

    @property
    def scalar_type(self):
        """The dtype as ATen's number."""
        return self.snapshot.scalar_type

    @property
    def device(self):
        return torch.device(self.snapshot.device_name().decode())

    @property
    def requires_grad(self):
        return bool(self.snapshot.requires_grad)

    @property
    def storage_offset(self):
        return self.snapshot.offset

    @property
    def dispatch_keys(self):
        return self.snapshot.keys

    def facts(self):
        cdef dict facts = {
            "type": self.type.__name__,
            "dtype": str(self.dtype),
            "device": self.snapshot.device_name().decode(),
            "layout": self.snapshot.layout_name().decode(),
            "shape": self.shape,
            "strides": self.strides,
            "requires_grad": self.requires_grad,
        }
        if self.snapshot.sparse_dim >= 0:
            facts["sparse_dim"] = self.snapshot.sparse_dim
            facts["dense_dim"] = self.snapshot.dense_dim
        if self.snapshot.compare_offset:
            facts["storage_offset"] = self.snapshot.offset
        facts["dispatch keys"] = self.snapshot.key_names().decode()
        return facts

    def differences(self, value):
        """What differs, as (name, what it was, what it is)."""
        cdef TensorMeta other
        if not is_tensor(<PyObject *>value):
            return [("type", self.type.__name__, type(value).__name__)]
        if type(value) is not self.type:
            return [("type", _type_text(self.type), _type_text(type(value)))]
        other = TensorMeta(value, compare_offset=self.snapshot.compare_offset)
        was, now = self.facts(), other.facts()
        return [(name, was[name], now.get(name)) for name in was if was[name] != now.get(name)]

    def why_incomparable(self, value):
        """Why nothing ever matches this snapshot, or no snapshot matches *value*; or ""."""
        cdef TensorMeta other
        if not self.snapshot.comparable:
            return self.snapshot.why_not.decode()
        if not is_tensor(<PyObject *>value):
            return ""
        other = TensorMeta(value)
        return "" if other.snapshot.comparable else other.snapshot.why_not.decode()

    def why(self, value):
        """What differs, as "shape: was (4, 8), is (5, 8)"; empty when nothing does."""
        reason = self.why_incomparable(value) if type(value) is self.type else ""
        if reason:
            return f"cannot be compared: {reason}"
        return ", ".join([f"{name}: was {was}, is {now}" for name, was, now in self.differences(value)])

    def __repr__(self):
        kind = self.type.__name__
        extra = ", requires_grad" if self.requires_grad else ""
        strides = f", strides={self.strides}" if self.snapshot.strided else ""
        return (f"{kind}({str(self.dtype).removeprefix('torch.')}, {self.shape}{strides}, "
                f"{self.snapshot.device_name().decode()}{extra})")


cdef str _type_text(cls):
    return f"{cls.__module__}.{cls.__qualname__}"


cdef class Content:
    """What was in the memory of *tensor*, a dense one on the CPU (else ValueError). It is compared
    whole: see native/tensor_meta.h."""

    def __cinit__(self, tensor):
        if not self.snapshot.take(_tensor(tensor)):
            raise ValueError("the tensor's memory is not one dense piece on the CPU")

    cdef const void *native(self) noexcept:
        return &self.snapshot

    def matches(self, value):
        return bool(self.snapshot.matches(<PyObject *>value))

    def __repr__(self):
        return f"Content({self.snapshot.bytes} bytes, {self.snapshot.hash:016x})"


cdef class GlobalState:
    """A snapshot of the state outside all tensors that operators read: grad and inference
    mode, autocast, default dtype, determinism, precision switches, threads."""

    def __cinit__(self):
        self.snapshot.take()

    cdef const void *native(self) noexcept:
        return &self.snapshot

    cdef bint matches_c(self) noexcept:
        return self.snapshot.matches()

    def matches(self):
        return bool(self.snapshot.matches())

    def differences(self):
        """What differs now, as (name, what it was, what it is)."""
        was, now = self.values(), GlobalState().values()
        return [(name, was[name], now[name]) for name in was if was[name] != now[name]]

    def why(self):
        """What differs now, as "grad_mode: was 1, is 0"; empty when nothing does."""
        return ", ".join([f"{name}: was {was}, is {now}" for name, was, now in self.differences()])

    def values(self):
        cdef size_t i
        return {state_names()[i].decode(): self.snapshot.values[i]
                for i in range(state_names().size())}

    def __eq__(self, other):
        if not isinstance(other, GlobalState):
            return NotImplemented
        return self.values() == (<GlobalState>other).values()

    __hash__ = None

    def __repr__(self):
        return f"GlobalState({', '.join(f'{k}={v}' for k, v in self.values().items())})"
