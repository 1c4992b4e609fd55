# distutils: language = c++
"""Which objects were made during the recording: a fact, told by the interpreter.

CPython 3.13's reference tracer reports every object that is created and destroyed.
An address created on the recording's thread since the start, and not destroyed
since, is an *internal* object; every other object is external. Inferring this from
the instructions instead would go wrong at the first C function that returns
something old or makes something new unseen.

The tracer is one per process; the recorder sees to it that one recording runs at a
time. A tracer that is already set (tracemalloc's, say) keeps being called.
"""

from cpython.object cimport PyObject
from magpy.hook.execstate cimport (PyRefTracer, PyRefTracerEvent, PyRefTracer_CREATE,
                                   PyRefTracer_SetTracer, PyRefTracer_GetTracer)

cdef extern from "Python.h":
    ctypedef struct PyThreadState:
        pass
    PyThreadState *PyThreadState_GetUnchecked()

cdef extern from "address_set.h" namespace "magpy":
    cdef cppclass AddressSet:
        bint contains(size_t address) noexcept
        void insert(size_t address) noexcept
        void erase(size_t address) noexcept
        void clear() noexcept

cdef AddressSet created
cdef PyThreadState *owner = NULL
cdef PyRefTracer next_tracer = NULL
cdef void *next_data = NULL


cdef int on_reference(PyObject *obj, PyRefTracerEvent event, void *data) noexcept:
    if event != PyRefTracer_CREATE:
        created.erase(<size_t>obj)
    elif PyThreadState_GetUnchecked() == owner:
        created.insert(<size_t>obj)
    if next_tracer != NULL:
        return next_tracer(obj, event, next_data)
    return 0


cdef int begin() except -1:
    """Start to collect on this thread."""
    global owner, next_tracer, next_data
    created.clear()
    owner = PyThreadState_GetUnchecked()
    next_tracer = PyRefTracer_GetTracer(&next_data)
    PyRefTracer_SetTracer(on_reference, NULL)
    return 0


cdef int pause() except -1:
    """Stop to collect, keeping what was collected."""
    global next_tracer
    cdef void *data
    if PyRefTracer_GetTracer(&data) == on_reference:
        PyRefTracer_SetTracer(next_tracer, next_data)
    next_tracer = NULL
    return 0


cdef int forget() except -1:
    """Drop what was collected."""
    global owner
    pause()
    owner = NULL
    created.clear()
    return 0


cdef bint is_created(PyObject *obj) noexcept:
    return created.contains(<size_t>obj)


cdef void disown(PyObject *obj) noexcept:
    """*obj* was made now, but might as well have been there before."""
    created.erase(<size_t>obj)
