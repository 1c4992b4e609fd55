/* Watchpoints: who watches what, and the calls of the watchers.
   Reference: Include/cpython/watchpoint.h.

   The bit in the GC header and the table say the same: an object is in the table
   exactly while its bit is set.  The bit is cleared and the entry removed when
   the object is destroyed, so no entry outlives its object, and a new object at
   the same address starts unwatched.

   Slots are stored by a specialised instruction that knows only the version of
   the type.  Testing the bit there would mean to change bytecodes.c and to
   generate the interpreter's cases in the build; instead the type of a watched
   instance with slots is entered in the table itself (SLOTS_ARE_WATCHED), its
   version is dropped once, and the specialiser leaves its slots alone. */

#include "Python.h"
#include "pycore_gc.h"            // _Py_AS_GC()
#include "pycore_interp.h"        // PyInterpreterState.watch
#include "pycore_object.h"        // _PyObject_IS_GC()
#include "pycore_pyerrors.h"      // _PyErr_SetRaisedException()
#include "pycore_pystate.h"       // _PyInterpreterState_GET()
#include "pycore_watchpoint.h"

#define ALL_WATCHERS (((uintptr_t)1 << PyWatch_MAX_WATCHERS) - 1)
#define SLOTS_ARE_WATCHED ((uintptr_t)1 << PyWatch_MAX_WATCHERS)

#define MIN_CAPACITY 64

typedef struct _Py_watch_state WatchState;

static WatchState *
get_state(void)
{
    return &_PyInterpreterState_GET()->watch;
}

/* ---- the table --------------------------------------------------------- */

static size_t
home_of(WatchState *state, PyObject *obj)
{
    // the high bits of a product mix all bits of the address
    uint64_t product = (uint64_t)(uintptr_t)obj * 0x9E3779B97F4A7C15u;
    return (size_t)(product >> 32) & (state->capacity - 1);
}

/* The entry of the object, or the free one where it would go. */
static _PyWatch_Entry *
probe(WatchState *state, PyObject *obj)
{
    size_t i = home_of(state, obj);
    while (state->entries[i].object != NULL && state->entries[i].object != obj) {
        i = (i + 1) & (state->capacity - 1);
    }
    return &state->entries[i];
}

static _PyWatch_Entry *
find(WatchState *state, PyObject *obj)
{
    if (state->entries == NULL) {
        return NULL;
    }
    _PyWatch_Entry *entry = probe(state, obj);
    return entry->object == NULL ? NULL : entry;
}

static int
grow(WatchState *state)
{
    WatchState old = *state;
    size_t capacity = old.capacity == 0 ? MIN_CAPACITY : old.capacity * 2;
    _PyWatch_Entry *entries = PyMem_RawCalloc(capacity, sizeof(*entries));
    if (entries == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    state->entries = entries;
    state->capacity = capacity;
    for (size_t i = 0; i < old.capacity; i++) {
        if (old.entries[i].object != NULL) {
            *probe(state, old.entries[i].object) = old.entries[i];
        }
    }
    PyMem_RawFree(old.entries);
    return 0;
}

static int
add_watchers(WatchState *state, PyObject *obj, uintptr_t watchers)
{
    _PyWatch_Entry *entry = find(state, obj);
    if (entry == NULL) {
        if (state->used >= state->capacity / 2 && grow(state) < 0) {
            return -1;
        }
        entry = probe(state, obj);
        entry->object = obj;
        entry->watchers = 0;
        state->used++;
        _Py_AS_GC(obj)->_gc_prev |= _PyGC_PREV_MASK_WATCHED;
    }
    entry->watchers |= watchers;
    return 0;
}

/* Frees the entry, and moves those that it had pushed on: no tombstones. */
static void
remove_entry(WatchState *state, _PyWatch_Entry *entry)
{
    size_t mask = state->capacity - 1;
    size_t hole = (size_t)(entry - state->entries);
    _Py_AS_GC(entry->object)->_gc_prev &= ~_PyGC_PREV_MASK_WATCHED;
    state->used--;
    for (size_t i = (hole + 1) & mask; state->entries[i].object != NULL;
         i = (i + 1) & mask)
    {
        size_t home = home_of(state, state->entries[i].object);
        if (((i - home) & mask) >= ((i - hole) & mask)) {
            state->entries[hole] = state->entries[i];
            hole = i;
        }
    }
    state->entries[hole].object = NULL;
}

static void
drop_watchers(WatchState *state, _PyWatch_Entry *entry, uintptr_t watchers)
{
    entry->watchers &= ~watchers;
    if (entry->watchers == 0) {
        remove_entry(state, entry);
    }
}

/* ---- events ------------------------------------------------------------ */

const char *
PyWatch_EventName(int event)
{
    static const char *const names[] = {
#define V(NAME) #NAME,
        PyWatch_FOREACH_EVENT(V)
#undef V
    };
    return event >= 0 && event < PyWatch_NUM_EVENTS ? names[event] : NULL;
}

static void
call_watchers(WatchState *state, uintptr_t watchers, PyWatch_Event event,
              PyObject *obj, PyObject *key, PyObject *new_value)
{
    PyObject *exc = PyErr_GetRaisedException();
    for (int i = 0; i < PyWatch_MAX_WATCHERS; i++) {
        PyWatch_Callback callback = state->callbacks[i];
        if ((watchers & ((uintptr_t)1 << i)) && callback != NULL
            && callback(event, obj, key, new_value) < 0)
        {
            // the hook might keep the object: it gets the address alone
            PyErr_FormatUnraisable(
                "Exception ignored in %s watcher callback for <%s at %p>",
                PyWatch_EventName(event), Py_TYPE(obj)->tp_name, obj);
        }
        assert(!PyErr_Occurred());
    }
    PyErr_SetRaisedException(exc);
}

void
_PyWatch_Notify(PyWatch_Event event, PyObject *obj, PyObject *key,
                PyObject *new_value)
{
    WatchState *state = get_state();
    _PyWatch_Entry *entry = find(state, obj);
    if (entry != NULL && (entry->watchers & ALL_WATCHERS)) {
        call_watchers(state, entry->watchers, event, obj, key, new_value);
    }
}

void
_PyWatch_NotifyNamed(PyObject *obj, const char *name, PyObject *new_value)
{
    PyObject *exc = PyErr_GetRaisedException();
    PyObject *key = PyUnicode_InternFromString(name);
    PyErr_SetRaisedException(exc);          // in place of a MemoryError
    _PyWatch_Notify(PyWatch_EVENT_SLOT_SET, obj, key, new_value);
    Py_XDECREF(key);
}

void
_PyWatch_NotifyDealloc(PyObject *obj)
{
    WatchState *state = get_state();
    _PyWatch_Entry *entry = find(state, obj);
    if (entry == NULL) {
        // the table went before the object, at the end of the interpreter
        _Py_AS_GC(obj)->_gc_prev &= ~_PyGC_PREV_MASK_WATCHED;
        return;
    }
    uintptr_t watchers = entry->watchers;
    remove_entry(state, entry);
    call_watchers(state, watchers, PyWatch_EVENT_DEALLOCATED, obj, NULL, NULL);
}

/* ---- slots ------------------------------------------------------------- */

/* Has an instance members that the specialised store could set? */
static int
has_object_members(PyTypeObject *type)
{
    for (PyTypeObject *base = type; base != NULL; base = base->tp_base) {
        for (PyMemberDef *m = base->tp_members; m != NULL && m->name; m++) {
            if ((m->type == Py_T_OBJECT_EX || m->type == _Py_T_OBJECT)
                && !(m->flags & Py_READONLY))
            {
                return 1;
            }
        }
    }
    return 0;
}

static int
watch_slots_of_type(WatchState *state, PyTypeObject *type)
{
    if (!_PyType_HasFeature(type, Py_TPFLAGS_HEAPTYPE)
        || !_PyWatch_MaySpecializeSlots(type) || !has_object_members(type))
    {
        return 0;
    }
    if (add_watchers(state, (PyObject *)type, SLOTS_ARE_WATCHED) < 0) {
        return -1;
    }
    PyType_Modified(type);
    return 0;
}

int
_PyWatch_MaySpecializeSlots(PyTypeObject *type)
{
    if (!_PyType_HasFeature(type, Py_TPFLAGS_HEAPTYPE)) {
        return 0;       // its version cannot be dropped; it may have no GC header
    }
    if (!_PyWatch_IsWatched((PyObject *)type)) {
        return 1;
    }
    _PyWatch_Entry *entry = find(get_state(), (PyObject *)type);
    return entry == NULL || !(entry->watchers & SLOTS_ARE_WATCHED);
}

int
_PyWatch_NotifyClassSet(PyObject *obj, PyTypeObject *type)
{
    if (watch_slots_of_type(get_state(), type) < 0) {
        return -1;
    }
    _PyWatch_Notify(PyWatch_EVENT_CLASS_SET, obj, NULL, (PyObject *)type);
    return 0;
}

/* ---- the interface ----------------------------------------------------- */

static int
check_watcher_id(WatchState *state, int watcher_id)
{
    if (watcher_id < 0 || watcher_id >= PyWatch_MAX_WATCHERS) {
        PyErr_Format(PyExc_ValueError, "Invalid watcher ID %d", watcher_id);
        return -1;
    }
    if (state->callbacks[watcher_id] == NULL) {
        PyErr_Format(PyExc_ValueError, "No watcher set for ID %d", watcher_id);
        return -1;
    }
    return 0;
}

int
PyWatch_AddWatcher(PyWatch_Callback callback)
{
    WatchState *state = get_state();
    for (int i = 0; i < PyWatch_MAX_WATCHERS; i++) {
        if (state->callbacks[i] == NULL) {
            state->callbacks[i] = callback;
            return i;
        }
    }
    PyErr_SetString(PyExc_RuntimeError, "no more watcher IDs available");
    return -1;
}

int
PyWatch_ClearWatcher(int watcher_id)
{
    WatchState *state = get_state();
    if (check_watcher_id(state, watcher_id) < 0) {
        return -1;
    }
    state->callbacks[watcher_id] = NULL;
    uintptr_t watcher = (uintptr_t)1 << watcher_id;
    for (size_t i = 0; i < state->capacity; i++) {
        // an entry that is removed is replaced by one not looked at yet
        while (state->entries[i].object != NULL
               && (state->entries[i].watchers & watcher))
        {
            drop_watchers(state, &state->entries[i], watcher);
        }
    }
    return 0;
}

int
PyWatch_CanWatch(PyObject *obj)
{
    return _PyObject_IS_GC(obj)
           && (PyList_CheckExact(obj) || PySet_CheckExact(obj)
               || PyCell_Check(obj) || PyFunction_Check(obj)
               || PyModule_CheckExact(obj) || PyType_Check(obj)
               || PyODict_CheckExact(obj)
               || _PyWatch_IsSubtypeDealloc(Py_TYPE(obj)->tp_dealloc));
}

int
PyWatch_Watch(int watcher_id, PyObject *obj)
{
    WatchState *state = get_state();
    if (check_watcher_id(state, watcher_id) < 0) {
        return -1;
    }
    if (!PyWatch_CanWatch(obj)) {
        PyErr_Format(PyExc_TypeError, "cannot watch '%.200s' object",
                     Py_TYPE(obj)->tp_name);
        return -1;
    }
    if (watch_slots_of_type(state, Py_TYPE(obj)) < 0) {
        return -1;
    }
    return add_watchers(state, obj, (uintptr_t)1 << watcher_id);
}

int
PyWatch_Unwatch(int watcher_id, PyObject *obj)
{
    WatchState *state = get_state();
    if (check_watcher_id(state, watcher_id) < 0) {
        return -1;
    }
    _PyWatch_Entry *entry = find(state, obj);
    if (entry != NULL) {
        drop_watchers(state, entry, (uintptr_t)1 << watcher_id);
    }
    return 0;
}

Py_ssize_t
PyWatch_CountWatched(int watcher_id)
{
    WatchState *state = get_state();
    if (check_watcher_id(state, watcher_id) < 0) {
        return -1;
    }
    Py_ssize_t count = 0;
    for (size_t i = 0; i < state->capacity; i++) {
        count += state->entries[i].object != NULL
                 && (state->entries[i].watchers & ((uintptr_t)1 << watcher_id));
    }
    return count;
}

void
_PyWatch_Fini(PyInterpreterState *interp)
{
    PyMem_RawFree(interp->watch.entries);
    interp->watch = (WatchState){0};
}
