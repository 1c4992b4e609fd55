/* Test-only access to Include/cpython/watchpoint.h.

   A Watcher registers one of eight callbacks, each of which records what it is
   told in its Watcher's list "events": (event's name, address of the object,
   key, new value, what "observe" returned for the object).

   Lib/test/test_watchpoint.py says how each entry point is meant to be used. */

#include "Python.h"
#include "structmember.h"         // PyMemberDef

typedef struct {
    PyObject_HEAD
    int id;                     /* -1: closed */
    PyObject *events;
    PyObject *observe;          /* called with the object, or None; it must not
                                   change anything */
    PyObject *exception;        /* to fail with, or None */
} WatcherObject;

/* Borrowed: a Watcher takes its place back when it dies. */
static WatcherObject *registered[PyWatch_MAX_WATCHERS];

static PyObject *
event_entry(WatcherObject *self, PyWatch_Event event, PyObject *obj,
            PyObject *key, PyObject *new_value)
{
    PyObject *observed;
    if (self->observe == Py_None || event == PyWatch_EVENT_DEALLOCATED) {
        observed = Py_NewRef(Py_None);
    }
    else {
        observed = PyObject_CallOneArg(self->observe, obj);
    }
    if (observed == NULL) {
        return NULL;
    }
    return Py_BuildValue("sNOON", PyWatch_EventName(event),
                         PyLong_FromVoidPtr(obj), key ? key : Py_None,
                         new_value ? new_value : Py_None, observed);
}

static int
record(WatcherObject *self, PyWatch_Event event, PyObject *obj, PyObject *key,
       PyObject *new_value)
{
    assert(!PyErr_Occurred());
    if (self == NULL) {
        PyErr_SetString(PyExc_SystemError, "called after ClearWatcher");
        return -1;
    }
    PyObject *entry = event_entry(self, event, obj, key, new_value);
    if (entry == NULL) {
        return -1;
    }
    int err = PyList_Append(self->events, entry);
    Py_DECREF(entry);
    if (err == 0 && self->exception != Py_None) {
        PyErr_SetObject((PyObject *)Py_TYPE(self->exception), self->exception);
        return -1;
    }
    return err;
}

#define FOREACH_PLACE(V) V(0) V(1) V(2) V(3) V(4) V(5) V(6) V(7)

#define V(N)                                                                \
    static int                                                              \
    record_##N(PyWatch_Event event, PyObject *obj, PyObject *key,           \
               PyObject *new_value)                                         \
    {                                                                       \
        return record(registered[N], event, obj, key, new_value);           \
    }
FOREACH_PLACE(V)
#undef V

static const PyWatch_Callback callbacks[PyWatch_MAX_WATCHERS] = {
#define V(N) record_##N,
    FOREACH_PLACE(V)
#undef V
};

/* ---- Watcher ----------------------------------------------------------- */

/* Its place among the callbacks need not be the id. */
static int
find_place(WatcherObject *owner)
{
    for (int i = 0; i < PyWatch_MAX_WATCHERS; i++) {
        if (registered[i] == owner) {
            return i;
        }
    }
    return -1;
}

static PyObject *
watcher_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"observe", "exception", NULL};
    PyObject *observe = Py_None, *exception = Py_None;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|OO:Watcher", names,
                                     &observe, &exception)) {
        return NULL;
    }
    WatcherObject *self = (WatcherObject *)type->tp_alloc(type, 0);
    if (self == NULL) {
        return NULL;
    }
    self->id = -1;
    self->observe = Py_NewRef(observe);
    self->exception = Py_NewRef(exception);
    self->events = PyList_New(0);
    int place = find_place(NULL);
    if (self->events != NULL) {
        self->id = PyWatch_AddWatcher(callbacks[place < 0 ? 0 : place]);
    }
    if (self->id < 0) {
        Py_DECREF(self);
        return NULL;
    }
    registered[place] = self;
    return (PyObject *)self;
}

static int
unregister(WatcherObject *self)
{
    if (self->id < 0) {
        return 0;
    }
    int id = self->id;
    self->id = -1;
    registered[find_place(self)] = NULL;
    return PyWatch_ClearWatcher(id);
}

static PyObject *
watcher_close(WatcherObject *self, PyObject *Py_UNUSED(ignored))
{
    return unregister(self) < 0 ? NULL : Py_NewRef(Py_None);
}

static PyObject *
watcher_watch(WatcherObject *self, PyObject *obj)
{
    return PyWatch_Watch(self->id, obj) < 0 ? NULL : Py_NewRef(obj);
}

static PyObject *
watcher_unwatch(WatcherObject *self, PyObject *obj)
{
    return PyWatch_Unwatch(self->id, obj) < 0 ? NULL : Py_NewRef(Py_None);
}

static PyObject *
watcher_count(WatcherObject *self, void *Py_UNUSED(closure))
{
    Py_ssize_t count = PyWatch_CountWatched(self->id);
    return count < 0 ? NULL : PyLong_FromSsize_t(count);
}

static int
watcher_traverse(WatcherObject *self, visitproc visit, void *arg)
{
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(self->events);
    Py_VISIT(self->observe);
    Py_VISIT(self->exception);
    return 0;
}

static int
watcher_clear(WatcherObject *self)
{
    if (unregister(self) < 0) {
        PyErr_WriteUnraisable(NULL);
    }
    Py_CLEAR(self->events);
    Py_CLEAR(self->observe);
    Py_CLEAR(self->exception);
    return 0;
}

static void
watcher_dealloc(WatcherObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    PyObject_GC_UnTrack(self);
    watcher_clear(self);
    type->tp_free(self);
    Py_DECREF(type);
}

static PyMethodDef watcher_methods[] = {
    {"close", (PyCFunction)watcher_close, METH_NOARGS},
    {"watch", (PyCFunction)watcher_watch, METH_O,
     PyDoc_STR("watch(obj) -> obj")},
    {"unwatch", (PyCFunction)watcher_unwatch, METH_O},
    {NULL}
};

static PyGetSetDef watcher_getset[] = {
    {"count", (getter)watcher_count, NULL, PyDoc_STR("number of objects")},
    {NULL}
};

static PyMemberDef watcher_members[] = {
    {"id", Py_T_INT, offsetof(WatcherObject, id), Py_READONLY},
    {"events", Py_T_OBJECT_EX, offsetof(WatcherObject, events), Py_READONLY},
    {NULL}
};

static PyType_Slot watcher_slots[] = {
    {Py_tp_new, watcher_new},
    {Py_tp_traverse, watcher_traverse},
    {Py_tp_clear, watcher_clear},
    {Py_tp_dealloc, watcher_dealloc},
    {Py_tp_methods, watcher_methods},
    {Py_tp_getset, watcher_getset},
    {Py_tp_members, watcher_members},
    {0, NULL}
};

static PyType_Spec watcher_spec = {
    .name = "_testwatchpoint.Watcher",
    .basicsize = sizeof(WatcherObject),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC
             | Py_TPFLAGS_IMMUTABLETYPE,
    .slots = watcher_slots,
};

/* ---- functions --------------------------------------------------------- */

static PyObject *
watch(PyObject *Py_UNUSED(module), PyObject *args)
{
    int id;
    PyObject *obj;
    if (!PyArg_ParseTuple(args, "iO", &id, &obj)
        || PyWatch_Watch(id, obj) < 0)
    {
        return NULL;
    }
    Py_RETURN_NONE;
}

static PyObject *
unwatch(PyObject *Py_UNUSED(module), PyObject *args)
{
    int id;
    PyObject *obj;
    if (!PyArg_ParseTuple(args, "iO", &id, &obj)
        || PyWatch_Unwatch(id, obj) < 0)
    {
        return NULL;
    }
    Py_RETURN_NONE;
}

static PyObject *
clear_watcher(PyObject *Py_UNUSED(module), PyObject *arg)
{
    int id = PyLong_AsInt(arg);
    if ((id == -1 && PyErr_Occurred()) || PyWatch_ClearWatcher(id) < 0) {
        return NULL;
    }
    Py_RETURN_NONE;
}

static PyObject *
count_watched(PyObject *Py_UNUSED(module), PyObject *arg)
{
    int id = PyLong_AsInt(arg);
    if (id == -1 && PyErr_Occurred()) {
        return NULL;
    }
    Py_ssize_t count = PyWatch_CountWatched(id);
    return count < 0 ? NULL : PyLong_FromSsize_t(count);
}

static PyObject *
can_watch(PyObject *Py_UNUSED(module), PyObject *obj)
{
    return PyBool_FromLong(PyWatch_CanWatch(obj));
}

static PyObject *
event_name(PyObject *Py_UNUSED(module), PyObject *arg)
{
    int event = PyLong_AsInt(arg);
    if (event == -1 && PyErr_Occurred()) {
        return NULL;
    }
    const char *name = PyWatch_EventName(event);
    return name == NULL ? Py_NewRef(Py_None) : PyUnicode_FromString(name);
}

/* Appends from C while an exception is set, as clean-up code may. */
static PyObject *
append_and_raise(PyObject *Py_UNUSED(module), PyObject *args)
{
    PyObject *list, *exception;
    if (!PyArg_ParseTuple(args, "OO", &list, &exception)) {
        return NULL;
    }
    PyErr_SetObject((PyObject *)Py_TYPE(exception), exception);
    PyObject *pending = PyErr_Occurred();
    if (PyList_Append(list, Py_None) < 0 || PyErr_Occurred() != pending) {
        PyErr_SetString(PyExc_SystemError, "the exception was changed");
    }
    return NULL;
}

static PyObject *
cell_set(PyObject *Py_UNUSED(module), PyObject *args)
{
    PyObject *cell, *value = NULL;
    if (!PyArg_ParseTuple(args, "O|O", &cell, &value)
        || PyCell_Set(cell, value) < 0)
    {
        return NULL;
    }
    Py_RETURN_NONE;
}

static PyObject *
function_set_closure(PyObject *Py_UNUSED(module), PyObject *args)
{
    PyObject *function, *closure;
    if (!PyArg_ParseTuple(args, "OO", &function, &closure)
        || PyFunction_SetClosure(function, closure) < 0)
    {
        return NULL;
    }
    Py_RETURN_NONE;
}

static PyMethodDef module_methods[] = {
    {"watch", watch, METH_VARARGS},
    {"unwatch", unwatch, METH_VARARGS},
    {"clear_watcher", clear_watcher, METH_O},
    {"count_watched", count_watched, METH_O},
    {"can_watch", can_watch, METH_O},
    {"event_name", event_name, METH_O},
    {"append_and_raise", append_and_raise, METH_VARARGS},
    {"cell_set", cell_set, METH_VARARGS},
    {"function_set_closure", function_set_closure, METH_VARARGS},
    {NULL}
};

/* ---- the module -------------------------------------------------------- */

static int
module_exec(PyObject *module)
{
    PyObject *type = PyType_FromModuleAndSpec(module, &watcher_spec, NULL);
    if (type == NULL) {
        return -1;
    }
    int err = PyModule_AddType(module, (PyTypeObject *)type);
    Py_DECREF(type);
    if (err < 0) {
        return -1;
    }
    if (PyModule_AddIntMacro(module, PyWatch_MAX_WATCHERS) < 0
        || PyModule_AddIntMacro(module, PyWatch_NUM_EVENTS) < 0)
    {
        return -1;
    }
    return 0;
}

static PyModuleDef_Slot module_slots[] = {
    {Py_mod_exec, module_exec},
    {Py_mod_multiple_interpreters, Py_MOD_MULTIPLE_INTERPRETERS_NOT_SUPPORTED},
    {0, NULL}
};

static struct PyModuleDef module_def = {
    PyModuleDef_HEAD_INIT,
    .m_name = "_testwatchpoint",
    .m_doc = PyDoc_STR("Tests of watchpoints."),
    .m_methods = module_methods,
    .m_slots = module_slots,
};

PyMODINIT_FUNC
PyInit__testwatchpoint(void)
{
    return PyModuleDef_Init(&module_def);
}
