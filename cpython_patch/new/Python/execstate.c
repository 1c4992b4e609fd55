/* Execution-state monitoring: installs the hook, reports events to it, reads
   frames for it.  Reference: Include/cpython/execstate.h. */

#include "Python.h"
#include "pycore_ceval.h"         // _PY_EVAL_EVENTS_MASK
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

#define MAGPY_PATCH_LEVEL 2

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

/* RESUME re-dispatches itself after it has brought the code object's
   instrumentation up to date: only its second run is reported. */
static inline int
resume_runs_again(PyThreadState *tstate, PyCodeObject *code)
{
    uintptr_t global_version =
        _Py_atomic_load_uintptr_relaxed(&tstate->eval_breaker)
        & ~_PY_EVAL_EVENTS_MASK;
    return code->_co_instrumentation_version != global_version
           && tstate->tracing == 0;
}

/* The frame points to the instruction while the hook runs (line numbers, code
   that the hook calls), and to the one before it again when that has gone well:
   INSTRUMENTED_LINE needs it. */
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
    if (opcode == RESUME && resume_runs_again(tstate, code)) {
        return 0;
    }
    PyExecState_EventInfo info = {
        .event = PyExecState_INSTRUCTION,
        .frame = frame,
        .stack_pointer = stack_pointer,
        .opcode = opcode,
        .oparg = oparg,
        .offset = offset,
    };
    _Py_CODEUNIT *previous = frame->instr_ptr;
    frame->instr_ptr = instr;
    int result = impl->execstate_hook(impl->execstate_data, &info);
    if (result == 0) {
        frame->instr_ptr = previous;
    }
    return result;
}

/* Reports an exception, which is set aside while the hook runs.  Returns 1 when
   the hook has replaced it. */
static int
report_exception(PyThreadState *tstate, PyExecState_EventInfo *info)
{
    if (info->frame->owner == FRAME_OWNED_BY_CSTACK) {
        return 0;
    }
    _PyThreadStateImpl *impl = (_PyThreadStateImpl *)tstate;
    PyObject *exc = _PyErr_GetRaisedException(tstate);
    info->exception = exc;
    info->opcode = -1;
    if (impl->execstate_hook(impl->execstate_data, info) < 0
        && _PyErr_Occurred(tstate))
    {
        Py_XDECREF(exc);
        return 1;
    }
    _PyErr_SetRaisedException(tstate, exc);
    return 0;
}

/* Gives the frame its traceback entry in an exception that the hook raised past
   the point where the loop makes one. */
static void
add_traceback(_PyInterpreterFrame *frame)
{
    if (!_PyFrame_IsIncomplete(frame)) {
        PyFrameObject *f = _PyFrame_GetFrameObject(frame);
        if (f != NULL) {
            PyTraceBack_Here(f);
        }
    }
}

/* The frame points to the instruction that raised, with one exception: throw()
   into a suspended generator finds it at what follows the yield (RESUME) or the
   start (POP_TOP).  Neither calls a Python function, so neither can be where the
   exception came back from a callee, the other case without an instruction of
   the frame's own. */
static int
raise_offset(_PyInterpreterFrame *frame, _Py_CODEUNIT *next_instr)
{
    int offset = _PyInterpreterFrame_LASTI(frame);
    if (next_instr == frame->instr_ptr) {
        int opcode = _Py_GetBaseOpcode(_PyFrame_GetCode(frame), offset);
        if (opcode == RESUME || opcode == POP_TOP) {
            return offset - 1;
        }
    }
    return offset;
}

void
_PyExecState_Raise(PyThreadState *tstate, _PyInterpreterFrame *frame,
                   PyObject **stack_pointer, _Py_CODEUNIT *next_instr)
{
    PyExecState_EventInfo info = {
        .event = PyExecState_RAISE,
        .frame = frame,
        .stack_pointer = stack_pointer,
        .offset = raise_offset(frame, next_instr),
    };
    report_exception(tstate, &info);
}

void
_PyExecState_Reraise(PyThreadState *tstate, _PyInterpreterFrame *frame,
                     PyObject **stack_pointer, _Py_CODEUNIT *instr)
{
    PyExecState_EventInfo info = {
        .event = PyExecState_RAISE,
        .frame = frame,
        .stack_pointer = stack_pointer,
        .offset = (int)(instr - _PyCode_CODE(_PyFrame_GetCode(frame))),
    };
    if (report_exception(tstate, &info)) {
        add_traceback(frame);
    }
}

void
_PyExecState_Unwind(PyThreadState *tstate, _PyInterpreterFrame *frame)
{
    PyExecState_EventInfo info = {
        .event = PyExecState_UNWIND,
        .frame = frame,
        .offset = _PyInterpreterFrame_LASTI(frame),
    };
    if (report_exception(tstate, &info)) {
        add_traceback(frame);
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
    if (!PyUnicode_CheckExact(name)) {
        PyErr_Format(PyExc_TypeError, "expected a str, got %T", name);
        return -1;
    }
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
