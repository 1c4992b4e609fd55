/* Execution-state monitoring: installs the hook, reports events to it, reads
   frames for it.  Reference: Include/cpython/execstate.h. */

#include "Python.h"
#include "pycore_code.h"          // _Py_GetBaseOpcode()
#include "pycore_execstate.h"
#include "pycore_frame.h"         // _PyInterpreterFrame
#include "pycore_long.h"          // _PyLong_New()
#include "pycore_object.h"        // _PyObject_GetManagedDict()
#include "pycore_opcode_metadata.h" // _PyOpcode_Deopt
#include "pycore_opcode_utils.h"
#include "pycore_pyerrors.h"      // _PyErr_GetRaisedException()
#include "pycore_pystate.h"       // _PyThreadState_GET()
#include "opcode.h"               // MIN_INSTRUMENTED_OPCODE

#define MAGPY_PATCH_LEVEL 1

/* ---- the hook ---------------------------------------------------------- */

static inline _PyThreadStateImpl *
this_thread(void)
{
    return (_PyThreadStateImpl *)_PyThreadState_GET();
}

void
PyExecState_SetHook(PyExecState_Hook hook, void *data)
{
    _PyThreadStateImpl *impl = this_thread();
    impl->execstate_hook = hook;
    impl->execstate_data = data;
}

PyExecState_Hook
PyExecState_GetHook(void **data)
{
    _PyThreadStateImpl *impl = this_thread();
    if (data != NULL) {
        *data = impl->execstate_data;
    }
    return impl->execstate_hook;
}

const char *
PyExecState_EventName(int event)
{
    static const char *const names[] = {
#define V(NAME) #NAME,
        PyExecState_FOREACH_EVENT(V)
#undef V
    };
    return event >= 0 && event < PyExecState_NUM_EVENTS ? names[event] : NULL;
}

int
_PyExecState_Instruction(PyThreadState *tstate, _PyInterpreterFrame *frame,
                         PyObject **stack_pointer, _Py_CODEUNIT *instr,
                         int opcode, int oparg)
{
    if (frame->owner == FRAME_OWNED_BY_CSTACK) {
        return 0;
    }
    _PyThreadStateImpl *impl = (_PyThreadStateImpl *)tstate;
    PyCodeObject *code = _PyFrame_GetCode(frame);
    int offset = (int)(instr - _PyCode_CODE(code));
    opcode = opcode < MIN_INSTRUMENTED_OPCODE ? _PyOpcode_Deopt[opcode]
                                              : _Py_GetBaseOpcode(code, offset);
    PyExecState_EventInfo info = {
        .event = PyExecState_INSTRUCTION,
        .frame = frame,
        .stack_pointer = stack_pointer,
        .opcode = opcode,
        .oparg = oparg,
        .offset = offset,
    };
    return impl->execstate_hook(impl->execstate_data, &info);
}

/* The exception in flight is set aside while the hook runs. */
void
_PyExecState_Exception(PyThreadState *tstate, _PyInterpreterFrame *frame,
                       PyObject **stack_pointer, _Py_CODEUNIT *instr,
                       int event)
{
    if (frame->owner == FRAME_OWNED_BY_CSTACK) {
        return;
    }
    _PyThreadStateImpl *impl = (_PyThreadStateImpl *)tstate;
    PyObject *exc = _PyErr_GetRaisedException(tstate);
    PyExecState_EventInfo info = {
        .event = (PyExecState_Event)event,
        .frame = frame,
        .stack_pointer = stack_pointer,
        .exception = exc,
        .opcode = -1,
        .offset = (int)(instr - _PyCode_CODE(_PyFrame_GetCode(frame))),
    };
    if (impl->execstate_hook(impl->execstate_data, &info) < 0
        && _PyErr_Occurred(tstate))
    {
        Py_XDECREF(exc);
    }
    else {
        _PyErr_SetRaisedException(tstate, exc);
    }
}

/* ---- frames ------------------------------------------------------------ */

PyCodeObject *
PyExecState_FrameCode(_PyInterpreterFrame *frame)
{
    return _PyFrame_GetCode(frame);
}

/* A trampoline frame (class instantiation through an inlined __init__) has no
   function, and its globals, builtins and names are not set. */
PyObject *
PyExecState_FrameFunction(_PyInterpreterFrame *frame)
{
    PyObject *func = frame->f_funcobj;
    return func != NULL && PyFunction_Check(func) ? func : NULL;
}

PyObject *
PyExecState_FrameGlobals(_PyInterpreterFrame *frame)
{
    return PyExecState_FrameFunction(frame) ? frame->f_globals : NULL;
}

PyObject *
PyExecState_FrameBuiltins(_PyInterpreterFrame *frame)
{
    return PyExecState_FrameFunction(frame) ? frame->f_builtins : NULL;
}

PyObject *
PyExecState_FrameNames(_PyInterpreterFrame *frame)
{
    return PyExecState_FrameFunction(frame) ? frame->f_locals : NULL;
}

PyObject **
PyExecState_FrameLocals(_PyInterpreterFrame *frame)
{
    return frame->localsplus;
}

static _PyInterpreterFrame *
skip_entry_frames(_PyInterpreterFrame *frame)
{
    while (frame != NULL && frame->owner == FRAME_OWNED_BY_CSTACK) {
        frame = frame->previous;
    }
    return frame;
}

_PyInterpreterFrame *
PyExecState_FrameBack(_PyInterpreterFrame *frame)
{
    return skip_entry_frames(frame->previous);
}

PyObject *
PyExecState_FrameGenerator(_PyInterpreterFrame *frame)
{
    return frame->owner == FRAME_OWNED_BY_GENERATOR
               ? (PyObject *)_PyFrame_GetGenerator(frame) : NULL;
}

_PyInterpreterFrame *
PyExecState_CurrentFrame(void)
{
    return skip_entry_frames(_PyThreadState_GET()->current_frame);
}

/* ---- objects ----------------------------------------------------------- */

int
PyExecState_GetInstanceAttr(PyObject *obj, PyObject *name, PyObject **result)
{
    PyTypeObject *type = Py_TYPE(obj);
    *result = NULL;
    if ((type->tp_flags & Py_TPFLAGS_INLINE_VALUES)
        && _PyObject_TryGetInstanceAttribute(obj, name, result))
    {
        return *result != NULL;
    }
    PyObject *dict;
    if (type->tp_flags & Py_TPFLAGS_MANAGED_DICT) {
        dict = (PyObject *)_PyObject_GetManagedDict(obj);
    }
    else {
        PyObject **slot = _PyObject_ComputedDictPointer(obj);
        dict = slot == NULL ? NULL : *slot;
    }
    if (dict == NULL) {
        return 0;
    }
    Py_INCREF(dict);    // a key's __eq__ may run Python code
    int found = PyDict_GetItemRef(dict, name, result);
    Py_DECREF(dict);
    return found;
}

PyObject *
PyExecState_FreshLong(PyObject *value)
{
    if (!PyLong_CheckExact(value)) {
        PyErr_Format(PyExc_TypeError, "expected an int, got %T", value);
        return NULL;
    }
    PyLongObject *from = (PyLongObject *)value;
    Py_ssize_t digits = _PyLong_DigitCount(from);
    PyLongObject *fresh = _PyLong_New(digits);
    if (fresh == NULL) {
        return NULL;
    }
    fresh->long_value.lv_tag = from->long_value.lv_tag;
    fresh->long_value.ob_digit[0] = from->long_value.ob_digit[0];
    for (Py_ssize_t i = 1; i < digits; i++) {
        fresh->long_value.ob_digit[i] = from->long_value.ob_digit[i];
    }
    return (PyObject *)fresh;
}

PyObject *
PyExecState_FreshFloat(PyObject *value)
{
    if (!PyFloat_CheckExact(value)) {
        PyErr_Format(PyExc_TypeError, "expected a float, got %T", value);
        return NULL;
    }
    return PyFloat_FromDouble(PyFloat_AS_DOUBLE(value));
}

/* ---- sys.magpy_info ---------------------------------------------------- */

static PyStructSequence_Field info_fields[] = {
    {"name", "the name of this interpreter"},
    {"patch_level", "counts incompatible changes of the patch series"},
    {NULL, NULL}
};

static PyStructSequence_Desc info_desc = {
    "sys.magpy_info",
    "sys.magpy_info\n\nThe execution-state interface of this interpreter.",
    info_fields,
    2
};

PyObject *
_PyExecState_MakeInfo(PyInterpreterState *Py_UNUSED(interp))
{
    PyTypeObject *type = PyStructSequence_NewType(&info_desc);
    if (type == NULL) {
        return NULL;
    }
    PyObject *info = PyStructSequence_New(type);
    Py_DECREF(type);
    if (info == NULL) {
        return NULL;
    }
    PyObject *name = PyUnicode_FromString("magpy");
    PyObject *level = PyLong_FromLong(MAGPY_PATCH_LEVEL);
    if (name == NULL || level == NULL) {
        Py_XDECREF(name);
        Py_XDECREF(level);
        Py_DECREF(info);
        return NULL;
    }
    PyStructSequence_SetItem(info, 0, name);
    PyStructSequence_SetItem(info, 1, level);
    return info;
}
