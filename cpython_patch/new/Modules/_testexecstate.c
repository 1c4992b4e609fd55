/* Test-only access to Include/cpython/execstate.h.

   A Hook object counts the events of the threads that it is installed on, may
   call a Python callable for each, and may fail on purpose.  The thread state
   does not know that the hook's data is an object, so an installed Hook is kept
   alive by a reference that install() takes and remove() gives back; a thread
   that ends with its hook installed leaks it.

   Lib/test/test_execstate.py says how each entry point is meant to be used. */


#include "Python.h"
#include "structmember.h"         // PyMemberDef

/* ---- module state ------------------------------------------------------ */

typedef struct {
    PyTypeObject *hook_type;
    PyObject *null;             /* stands for a NULL in a stack or in locals */
} module_state;

static struct PyModuleDef module_def;

static module_state *
state_of_type(PyTypeObject *type)
{
    return PyModule_GetState(PyType_GetModuleByDef(type, &module_def));
}

/* A list of n entries, the marker in place of NULL. */
static PyObject *
list_of_entries(module_state *state, PyObject **entries, Py_ssize_t n)
{
    PyObject *list = PyList_New(n);
    if (list == NULL) {
        return NULL;
    }
    for (Py_ssize_t i = 0; i < n; i++) {
        PyObject *entry = entries[i] == NULL ? state->null : entries[i];
        PyList_SET_ITEM(list, i, Py_NewRef(entry));
    }
    return list;
}

static PyObject *
object_or_none(PyObject *obj)
{
    return obj == NULL ? Py_None : obj;
}

static PyObject **
stack_base(struct _PyInterpreterFrame *frame)
{
    PyCodeObject *code = PyExecState_FrameCode(frame);
    return PyExecState_FrameLocals(frame) + code->co_nlocalsplus;
}

/* What the accessors say of the frame, as a dict. */
static PyObject *
describe_frame(module_state *state, struct _PyInterpreterFrame *frame)
{
    PyCodeObject *code = PyExecState_FrameCode(frame);
    PyObject *locals = list_of_entries(state, PyExecState_FrameLocals(frame),
                                       code->co_nlocalsplus);
    if (locals == NULL) {
        return NULL;
    }
    return Py_BuildValue(
        "{sOsOsOsOsOsNsOsN}",
        "code", (PyObject *)code,
        "function", object_or_none(PyExecState_FrameFunction(frame)),
        "globals", object_or_none(PyExecState_FrameGlobals(frame)),
        "builtins", object_or_none(PyExecState_FrameBuiltins(frame)),
        "names", object_or_none(PyExecState_FrameNames(frame)),
        "locals", locals,
        "generator", object_or_none(PyExecState_FrameGenerator(frame)),
        "address", PyLong_FromVoidPtr(frame));
}

/* The description of the frame *depth* steps out of *frame*, or None. */
static PyObject *
describe_frame_at(module_state *state, struct _PyInterpreterFrame *frame,
                  int depth)
{
    for (; frame != NULL && depth > 0; depth--) {
        frame = PyExecState_FrameBack(frame);
    }
    if (frame == NULL) {
        Py_RETURN_NONE;
    }
    return describe_frame(state, frame);
}

/* ---- the hook ---------------------------------------------------------- */

typedef struct {
    PyObject_HEAD
    PyObject *callback;         /* called for each event, or NULL */
    const PyExecState_EventInfo *info;  /* the event that callback is told of;
                                           NULL: not in the callback */
    Py_ssize_t counts[PyExecState_NUM_EVENTS];
    Py_ssize_t malformed;       /* events that break a promise of the header */
    int fail_event;             /* -1: do not fail */
    Py_ssize_t fail_countdown;
    PyObject *fail_exception;   /* None: fail without an exception */
} HookObject;

/* Does the event keep the promises that can be checked in C? */
static int
event_is_well_formed(const PyExecState_EventInfo *info)
{
    PyCodeObject *code = PyExecState_FrameCode(info->frame);
    if (PyExecState_CurrentFrame() != info->frame
        || info->offset < 0 || info->offset >= Py_SIZE(code)
        || PyErr_Occurred())
    {
        return 0;
    }
    if (info->event == PyExecState_UNWIND) {
        return info->stack_pointer == NULL && info->exception != NULL
               && info->opcode == -1;
    }
    Py_ssize_t depth = info->stack_pointer - stack_base(info->frame);
    return depth >= 0 && depth <= code->co_stacksize
           && (info->event == PyExecState_RAISE
               ? info->exception != NULL && info->opcode == -1
               : info->exception == NULL && info->opcode >= 0
                 && info->oparg >= 0);
}

/* The replacement protocol: {index: object}, where index -1 is the top. */
static int
replace_entries(const PyExecState_EventInfo *info, PyObject *replacements)
{
    if (replacements == Py_None) {
        return 0;
    }
    if (!PyDict_Check(replacements) || info->event != PyExecState_INSTRUCTION) {
        PyErr_SetString(PyExc_TypeError,
                        "expected None, or a dict at an INSTRUCTION event");
        return -1;
    }
    Py_ssize_t depth = info->stack_pointer - stack_base(info->frame);
    Py_ssize_t pos = 0;
    PyObject *key, *value;
    while (PyDict_Next(replacements, &pos, &key, &value)) {
        Py_ssize_t index = PyLong_AsSsize_t(key);
        if (index == -1 && PyErr_Occurred()) {
            return -1;
        }
        if (index >= 0 || -index > depth) {
            PyErr_Format(PyExc_IndexError, "no stack entry %zd", index);
            return -1;
        }
        PyObject *old = info->stack_pointer[index];
        info->stack_pointer[index] = Py_NewRef(value);
        Py_XDECREF(old);
    }
    return 0;
}

static int
call_callback(HookObject *self, const PyExecState_EventInfo *info)
{
    module_state *state = state_of_type(Py_TYPE(self));
    PyObject *stack;
    if (info->stack_pointer == NULL) {
        stack = Py_NewRef(Py_None);
    }
    else {
        PyObject **base = stack_base(info->frame);
        stack = list_of_entries(state, base, info->stack_pointer - base);
    }
    if (stack == NULL) {
        return -1;
    }
    PyObject *callback = Py_NewRef(self->callback);
    self->info = info;
    PyObject *result = PyObject_CallFunction(
        callback, "sOiiiNO", PyExecState_EventName(info->event),
        (PyObject *)PyExecState_FrameCode(info->frame), info->offset,
        info->opcode, info->oparg, stack, object_or_none(info->exception));
    self->info = NULL;
    Py_DECREF(callback);
    if (result == NULL) {
        return -1;
    }
    int err = replace_entries(info, result);
    Py_DECREF(result);
    return err;
}

/* Is this the event to fail on? */
static int
must_fail(HookObject *self, const PyExecState_EventInfo *info)
{
    return self->fail_event == (int)info->event && --self->fail_countdown == 0;
}

/* Events of the callback's own frames are not reported. */
static int
hook_function(void *data, const PyExecState_EventInfo *info)
{
    HookObject *self = (HookObject *)data;
    if (self->info != NULL) {
        return 0;
    }
    Py_INCREF(self);            // the callback may remove it
    self->counts[info->event]++;
    self->malformed += !event_is_well_formed(info);
    int err = 0;
    if (must_fail(self, info)) {
        if (self->fail_exception != Py_None) {
            PyErr_SetObject((PyObject *)Py_TYPE(self->fail_exception),
                            self->fail_exception);
        }
        err = -1;
    }
    else if (self->callback != NULL) {
        err = call_callback(self, info);
    }
    Py_DECREF(self);
    return err;
}

/* The Hook installed on this thread, borrowed, or NULL. */
static HookObject *
installed_hook(void)
{
    void *data;
    return PyExecState_GetHook(&data) == hook_function ? data : NULL;
}

static PyObject *
hook_install(HookObject *self, PyObject *Py_UNUSED(ignored))
{
    HookObject *old = installed_hook();
    PyExecState_SetHook(hook_function, Py_NewRef(self));
    Py_XDECREF(old);
    Py_RETURN_NONE;
}

static PyObject *
hook_fail_on(HookObject *self, PyObject *args)
{
    int event;
    Py_ssize_t countdown;
    PyObject *exception;
    if (!PyArg_ParseTuple(args, "inO", &event, &countdown, &exception)) {
        return NULL;
    }
    if (exception != Py_None && !PyExceptionInstance_Check(exception)) {
        PyErr_SetString(PyExc_TypeError, "expected an exception or None");
        return NULL;
    }
    self->fail_event = event;
    self->fail_countdown = countdown;
    Py_XSETREF(self->fail_exception, Py_NewRef(exception));
    Py_RETURN_NONE;
}

/* The frame that the callback is being told of, or one *depth* steps out. */
static PyObject *
hook_frame(HookObject *self, PyObject *args)
{
    int depth = 0;
    if (!PyArg_ParseTuple(args, "|i", &depth)) {
        return NULL;
    }
    if (self->info == NULL) {
        PyErr_SetString(PyExc_RuntimeError, "not in the hook's callback");
        return NULL;
    }
    return describe_frame_at(state_of_type(Py_TYPE(self)), self->info->frame,
                             depth);
}

static PyObject *
hook_address(HookObject *self, void *Py_UNUSED(closure))
{
    return PyLong_FromVoidPtr(self->info == NULL ? NULL : self->info->frame);
}

static PyObject *
hook_counts(HookObject *self, void *Py_UNUSED(closure))
{
    PyObject *counts = PyDict_New();
    for (int i = 0; counts != NULL && i < PyExecState_NUM_EVENTS; i++) {
        PyObject *count = PyLong_FromSsize_t(self->counts[i]);
        if (count == NULL
            || PyDict_SetItemString(counts, PyExecState_EventName(i), count) < 0)
        {
            Py_CLEAR(counts);
        }
        Py_XDECREF(count);
    }
    return counts;
}

static PyObject *
hook_new(PyTypeObject *type, PyObject *args, PyObject *Py_UNUSED(kwargs))
{
    PyObject *callback = Py_None;
    if (!PyArg_ParseTuple(args, "|O:Hook", &callback)) {
        return NULL;
    }
    HookObject *self = (HookObject *)type->tp_alloc(type, 0);
    if (self != NULL) {
        self->callback = callback == Py_None ? NULL : Py_NewRef(callback);
        self->fail_event = -1;
    }
    return (PyObject *)self;
}

static int
hook_traverse(HookObject *self, visitproc visit, void *arg)
{
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(self->callback);
    Py_VISIT(self->fail_exception);
    return 0;
}

static int
hook_clear(HookObject *self)
{
    Py_CLEAR(self->callback);
    Py_CLEAR(self->fail_exception);
    return 0;
}

static void
hook_dealloc(HookObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    PyObject_GC_UnTrack(self);
    hook_clear(self);
    type->tp_free(self);
    Py_DECREF(type);
}

static PyMethodDef hook_methods[] = {
    {"install", (PyCFunction)hook_install, METH_NOARGS,
     PyDoc_STR("Install on this thread, in place of the Hook it has.")},
    {"fail_on", (PyCFunction)hook_fail_on, METH_VARARGS,
     PyDoc_STR("fail_on(event, n, exception): return -1 from the n-th event.")},
    {"frame", (PyCFunction)hook_frame, METH_VARARGS,
     PyDoc_STR("frame(depth=0): describe the frame that is being reported.")},
    {NULL}
};

static PyGetSetDef hook_getset[] = {
    {"counts", (getter)hook_counts, NULL, PyDoc_STR("{event name: number}")},
    {"address", (getter)hook_address, NULL, PyDoc_STR("the frame's address")},
    {NULL}
};

static PyMemberDef hook_members[] = {
    {"malformed", Py_T_PYSSIZET, offsetof(HookObject, malformed), Py_READONLY,
     PyDoc_STR("number of events that break a promise of the header")},
    {NULL}
};

static PyType_Slot hook_slots[] = {
    {Py_tp_new, hook_new},
    {Py_tp_traverse, hook_traverse},
    {Py_tp_clear, hook_clear},
    {Py_tp_dealloc, hook_dealloc},
    {Py_tp_methods, hook_methods},
    {Py_tp_getset, hook_getset},
    {Py_tp_members, hook_members},
    {0, NULL}
};

static PyType_Spec hook_spec = {
    .name = "_testexecstate.Hook",
    .basicsize = sizeof(HookObject),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC
             | Py_TPFLAGS_IMMUTABLETYPE,
    .slots = hook_slots,
};

/* ---- functions --------------------------------------------------------- */

static PyObject *
remove_hook(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(ignored))
{
    HookObject *old = installed_hook();
    PyExecState_SetHook(NULL, NULL);
    Py_XDECREF(old);
    Py_RETURN_NONE;
}

static PyObject *
get_hook(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(ignored))
{
    if (PyExecState_GetHook(NULL) == NULL) {
        Py_RETURN_NONE;
    }
    HookObject *hook = installed_hook();
    if (hook == NULL) {
        PyErr_SetString(PyExc_RuntimeError, "somebody else's hook");
        return NULL;
    }
    return Py_NewRef(hook);
}

static PyObject *
event_name(PyObject *Py_UNUSED(module), PyObject *arg)
{
    int event = PyLong_AsInt(arg);
    if (event == -1 && PyErr_Occurred()) {
        return NULL;
    }
    const char *name = PyExecState_EventName(event);
    return name == NULL ? Py_NewRef(Py_None) : PyUnicode_FromString(name);
}

static PyObject *
current_frame(PyObject *module, PyObject *args)
{
    int depth = 0;
    if (!PyArg_ParseTuple(args, "|i", &depth)) {
        return NULL;
    }
    return describe_frame_at(PyModule_GetState(module),
                             PyExecState_CurrentFrame(), depth);
}

/* Calls *func* from C, without arguments. */
static PyObject *
call(PyObject *Py_UNUSED(module), PyObject *func)
{
    return PyObject_CallNoArgs(func);
}

static PyObject *
get_instance_attr(PyObject *module, PyObject *args)
{
    PyObject *obj, *name, *result;
    if (!PyArg_ParseTuple(args, "OO", &obj, &name)) {
        return NULL;
    }
    int found = PyExecState_GetInstanceAttr(obj, name, &result);
    if (found < 0) {
        assert(result == NULL);
        return NULL;
    }
    assert(found == (result != NULL));
    return found ? result
                 : Py_NewRef(((module_state *)PyModule_GetState(module))->null);
}

static PyObject *
fresh_long(PyObject *Py_UNUSED(module), PyObject *value)
{
    return PyExecState_FreshLong(value);
}

static PyObject *
fresh_float(PyObject *Py_UNUSED(module), PyObject *value)
{
    return PyExecState_FreshFloat(value);
}

static PyMethodDef module_methods[] = {
    {"remove_hook", remove_hook, METH_NOARGS},
    {"get_hook", get_hook, METH_NOARGS},
    {"event_name", event_name, METH_O},
    {"current_frame", current_frame, METH_VARARGS},
    {"call", call, METH_O},
    {"get_instance_attr", get_instance_attr, METH_VARARGS},
    {"fresh_long", fresh_long, METH_O},
    {"fresh_float", fresh_float, METH_O},
    {NULL}
};

/* ---- the module -------------------------------------------------------- */

static int
module_exec(PyObject *module)
{
    module_state *state = PyModule_GetState(module);
    state->hook_type = (PyTypeObject *)PyType_FromModuleAndSpec(
        module, &hook_spec, NULL);
    if (state->hook_type == NULL
        || PyModule_AddType(module, state->hook_type) < 0)
    {
        return -1;
    }
    state->null = PyUnicode_FromString("<NULL>");
    if (state->null == NULL
        || PyModule_AddObjectRef(module, "NULL", state->null) < 0)
    {
        return -1;
    }
    for (int i = 0; i < PyExecState_NUM_EVENTS; i++) {
        if (PyModule_AddIntConstant(module, PyExecState_EventName(i), i) < 0) {
            return -1;
        }
    }
    return 0;
}

static int
module_traverse(PyObject *module, visitproc visit, void *arg)
{
    module_state *state = PyModule_GetState(module);
    Py_VISIT(state->hook_type);
    Py_VISIT(state->null);
    return 0;
}

static int
module_clear(PyObject *module)
{
    module_state *state = PyModule_GetState(module);
    Py_CLEAR(state->hook_type);
    Py_CLEAR(state->null);
    return 0;
}

static PyModuleDef_Slot module_slots[] = {
    {Py_mod_exec, module_exec},
    {Py_mod_multiple_interpreters, Py_MOD_PER_INTERPRETER_GIL_SUPPORTED},
    {0, NULL}
};

static struct PyModuleDef module_def = {
    PyModuleDef_HEAD_INIT,
    .m_name = "_testexecstate",
    .m_doc = PyDoc_STR("Tests of the execution-state interface."),
    .m_size = sizeof(module_state),
    .m_methods = module_methods,
    .m_slots = module_slots,
    .m_traverse = module_traverse,
    .m_clear = module_clear,
};

PyMODINIT_FUNC
PyInit__testexecstate(void)
{
    return PyModuleDef_Init(&module_def);
}
