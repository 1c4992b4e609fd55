/* Watchpoints: the test of the bit, and what is called when it is set.
   See Include/cpython/watchpoint.h. */
#ifndef Py_INTERNAL_WATCHPOINT_H
#define Py_INTERNAL_WATCHPOINT_H
#ifdef __cplusplus
extern "C" {
#endif

#ifndef Py_BUILD_CORE
#  error "this header requires Py_BUILD_CORE define"
#endif

#include "pycore_gc.h"            // _PyGC_PREV_MASK_WATCHED

#ifdef Py_GIL_DISABLED
#  error "watchpoints need the GIL"
#endif
#if SIZEOF_VOID_P < 8
#  error "watchpoints need a third free bit in the addresses of GC heads"
#endif

/* A hash table from object to the set of its watchers, open addressing. */
typedef struct {
    PyObject *object;             // NULL: free
    uintptr_t watchers;           // bit i: watcher i; more bits: watchpoint.c
} _PyWatch_Entry;

struct _Py_watch_state {
    PyWatch_Callback callbacks[PyWatch_MAX_WATCHERS];
    _PyWatch_Entry *entries;      // capacity many, a power of two, or NULL
    size_t capacity;
    size_t used;
};

#if defined(__GNUC__)
#  define _PyWatch_UNLIKELY(x) __builtin_expect(!!(x), 0)
#  define _PyWatch_COLD __attribute__((cold))
#else
#  define _PyWatch_UNLIKELY(x) (x)
#  define _PyWatch_COLD
#endif

/* The object must have a GC header. */
static inline int
_PyWatch_IsWatched(PyObject *op)
{
    return _PyWatch_UNLIKELY(
        _Py_AS_GC(op)->_gc_prev & _PyGC_PREV_MASK_WATCHED);
}

// Exported for the shared modules that change lists ('_heapq').
PyAPI_FUNC(void) _PyWatch_Notify(PyWatch_Event event, PyObject *obj,
                                 PyObject *key, PyObject *new_value) _PyWatch_COLD;

/* The content of a list or a set is about to change. */
static inline void
_PyWatch_Modified(PyObject *op)
{
    if (_PyWatch_IsWatched(op)) {
        _PyWatch_Notify(PyWatch_EVENT_MODIFIED, op, NULL, NULL);
    }
}
#define _PyWatch_Modified(op) _PyWatch_Modified(_PyObject_CAST(op))

static inline void
_PyWatch_CellSet(PyObject *op, PyObject *value)
{
    if (_PyWatch_IsWatched(op)) {
        _PyWatch_Notify(PyWatch_EVENT_CELL_SET, op, NULL, value);
    }
}
#define _PyWatch_CellSet(op, value) \
    _PyWatch_CellSet(_PyObject_CAST(op), (value))

static inline void
_PyWatch_DictReplaced(PyObject *op, PyObject *dict)
{
    if (_PyWatch_IsWatched(op)) {
        _PyWatch_Notify(PyWatch_EVENT_DICT_REPLACED, op, NULL, dict);
    }
}

// As _PyWatch_Notify(SLOT_SET), for a name that is not at hand as a str.
extern void _PyWatch_NotifyNamed(PyObject *obj, const char *name,
                                 PyObject *new_value);

static inline void
_PyWatch_NamedSet(PyObject *op, const char *name, PyObject *value)
{
    if (_PyWatch_IsWatched(op)) {
        _PyWatch_NotifyNamed(op, name, value);
    }
}
#define _PyWatch_NamedSet(op, name, value) \
    _PyWatch_NamedSet(_PyObject_CAST(op), (name), (value))

/* The rest is called for watched objects only. */

// -1 with MemoryError: the class must not be changed.
extern int _PyWatch_NotifyClassSet(PyObject *obj, PyTypeObject *type);

// The object is destroyed, or goes to a free list.
extern void _PyWatch_NotifyDealloc(PyObject *obj) _PyWatch_COLD;

static inline void
_PyWatch_Dealloc(PyObject *op)
{
    if (_PyWatch_IsWatched(op)) {
        _PyWatch_NotifyDealloc(op);
    }
}
#define _PyWatch_Dealloc(op) _PyWatch_Dealloc(_PyObject_CAST(op))

/* May a store into a slot of the type's instances be specialised?  That store
   looks at the type's version only. */
extern int _PyWatch_MaySpecializeSlots(PyTypeObject *type);

// In typeobject.c: is it the destructor of classes written in Python?
extern int _PyWatch_IsSubtypeDealloc(destructor dealloc);

extern void _PyWatch_Fini(PyInterpreterState *interp);

#ifdef __cplusplus
}
#endif
#endif /* !Py_INTERNAL_WATCHPOINT_H */
