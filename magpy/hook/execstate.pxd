"""Cython mirror of Include/cpython/execstate.h and of what else the hook needs."""

from cpython.object cimport PyObject, PyTypeObject


cdef extern from "Python.h":
    ctypedef struct PyCodeObject:
        int co_nlocalsplus
        int co_nfreevars
        PyObject *co_names
        PyObject *co_consts
        PyObject *co_filename

    ctypedef struct _PyInterpreterFrame:
        pass

    ctypedef enum PyExecState_Event:
        PyExecState_INSTRUCTION
        PyExecState_RAISE
        PyExecState_UNWIND

    ctypedef struct PyExecState_EventInfo:
        PyExecState_Event event
        _PyInterpreterFrame *frame
        PyObject **stack_pointer
        PyObject *exception
        int opcode
        int oparg
        int offset

    ctypedef int (*PyExecState_Hook)(void *data, const PyExecState_EventInfo *info) noexcept

    void PyExecState_SetHook(PyExecState_Hook hook, void *data)
    PyExecState_Hook PyExecState_GetHook(void **data)
    PyCodeObject *PyExecState_FrameCode(_PyInterpreterFrame *frame)
    PyObject *PyExecState_FrameFunction(_PyInterpreterFrame *frame)
    PyObject *PyExecState_FrameGlobals(_PyInterpreterFrame *frame)
    PyObject *PyExecState_FrameBuiltins(_PyInterpreterFrame *frame)
    PyObject *PyExecState_FrameNames(_PyInterpreterFrame *frame)
    PyObject **PyExecState_FrameLocals(_PyInterpreterFrame *frame)
    _PyInterpreterFrame *PyExecState_FrameBack(_PyInterpreterFrame *frame)
    PyObject *PyExecState_FrameGenerator(_PyInterpreterFrame *frame)
    _PyInterpreterFrame *PyExecState_CurrentFrame()
    int PyExecState_GetInstanceAttr(PyObject *obj, PyObject *name, PyObject **result) except -1

    ctypedef enum PyRefTracerEvent:
        PyRefTracer_CREATE
        PyRefTracer_DESTROY
    ctypedef int (*PyRefTracer)(PyObject *obj, PyRefTracerEvent event, void *data) noexcept
    int PyRefTracer_SetTracer(PyRefTracer tracer, void *data) except -1
    PyRefTracer PyRefTracer_GetTracer(void **data)

    PyObject *_PyType_Lookup(PyTypeObject *type, PyObject *name)
