/* Watchpoints: callbacks that are told before one given object changes.

   CPython has such watchers for dicts, types, functions and code objects.  These
   are for the other objects whose content a program can change, with the same
   rules: lists, sets, cells, instances, functions, modules and classes.

   A watched object has a bit in its GC header, so an object that nobody watches
   pays one predictable branch when it is changed.  Who watches it is looked up
   only when the bit is set.

   Told is every change that goes through the interpreter: all bytecodes, methods,
   functions of the C API.  C code that writes into the object's memory by itself
   is not seen: PyList_SET_ITEM() and PyCell_SET() on objects that others have
   already, Cython's inlined list stores and appends, the setters of C types.

   Everything here needs the GIL (an attached thread state).  */

#ifndef Py_LIMITED_API
#ifndef Py_CPYTHON_WATCHPOINT_H
#define Py_CPYTHON_WATCHPOINT_H
#ifdef __cplusplus
extern "C" {
#endif

#define PyWatch_MAX_WATCHERS 8

/* Kinds of event: the one list from which the enum, the names and the number of
   kinds are made.

   MODIFIED       The items of a list or a set, their order or their number.
                  key and new_value are NULL.
   CELL_SET       The content of a cell.  key is NULL; new_value is the new
                  content, NULL when the cell becomes empty.
   SLOT_SET       A reference in the object itself: a member that __slots__ or C
                  code made, or one of the attributes that functions
                  (__code__, __defaults__, __kwdefaults__, __closure__, __name__,
                  __qualname__, __annotations__, __type_params__, __doc__,
                  __module__) and classes (__name__, __qualname__) keep outside a
                  dict.  key is the name, a str, or NULL when memory ran out;
                  new_value is NULL for a deletion.
   DICT_REPLACED  The object's __dict__ is now another dict.  key is NULL;
                  new_value is the new dict, NULL for none.
   CLASS_SET      The object's __class__.  key is NULL; new_value is the class.
   DEALLOCATED    The object is being destroyed, and not watched any more.  key
                  and new_value are NULL.  Before that, what the collector
                  takes out of garbage to break cycles may be told or not.

   What an instance's __dict__ contains is not among them: watch the dict itself
   (PyObject_GenericGetDict, then PyDict_Watch), and the instance for
   DICT_REPLACED. */
#define PyWatch_FOREACH_EVENT(V)                                            \
    V(MODIFIED)                                                             \
    V(CELL_SET)                                                             \
    V(SLOT_SET)                                                             \
    V(DICT_REPLACED)                                                        \
    V(CLASS_SET)                                                            \
    V(DEALLOCATED)

typedef enum {
#define V(NAME) PyWatch_EVENT_##NAME,
    PyWatch_FOREACH_EVENT(V)
#undef V
    PyWatch_NUM_EVENTS
} PyWatch_Event;

/* The callback.  It runs before the change takes effect, and before every part
   of a change between whose parts other code may run: list.sort(), which empties
   the list while it compares, gives two events, extend() from an iterator one an
   item.  An event may turn out to be no change (the same object is stored again,
   or memory runs out); a change without an event is a bug.

   The callback must not change obj or anything that takes part in the change,
   nor run code that might (Python code, or any that releases the GIL).  For
   DEALLOCATED it must not keep obj, which has no reference left and may be half
   cleared: only its address and its type are sure.  It may call the functions
   below, for other objects also PyWatch_Watch.

   An exception that was set when the change began is put aside.  To report an
   error the callback returns -1 with an exception set, which is written by
   PyErr_FormatUnraisable; the change goes on. */
typedef int (*PyWatch_Callback)(PyWatch_Event event, PyObject *obj,
                                PyObject *key, PyObject *new_value);

/* Registers a callback for this interpreter.  Returns its id, or -1 with
   RuntimeError when all PyWatch_MAX_WATCHERS are taken. */
PyAPI_FUNC(int) PyWatch_AddWatcher(PyWatch_Callback callback);

/* Gives the id back; it watches nothing any more.  -1 with ValueError for an id
   that is not registered. */
PyAPI_FUNC(int) PyWatch_ClearWatcher(int watcher_id);

/* Can obj be watched?  Lists, sets, cells, modules, functions, OrderedDicts,
   heap types, and all instances of classes written in Python (also of subclasses
   of C types).  Other objects have nothing to report, or are destroyed by C code
   that this interpreter does not know. */
PyAPI_FUNC(int) PyWatch_CanWatch(PyObject *obj);

/* Calls the watcher for all events of obj.  The object is not kept alive.  Asking
   twice is asking once.  -1 with ValueError for an id that is not registered,
   TypeError for an object that cannot be watched, or MemoryError.

   The first time that an instance of a class with slots is watched, the class
   loses its version tag (its type watchers are told): watch instances before
   types.  Its slot stores are not specialised from then on. */
PyAPI_FUNC(int) PyWatch_Watch(int watcher_id, PyObject *obj);

/* The opposite; nothing happens if the watcher does not watch obj. */
PyAPI_FUNC(int) PyWatch_Unwatch(int watcher_id, PyObject *obj);

/* How many objects the watcher watches; -1 with ValueError. */
PyAPI_FUNC(Py_ssize_t) PyWatch_CountWatched(int watcher_id);

/* "MODIFIED" and so on, or NULL. */
PyAPI_FUNC(const char *) PyWatch_EventName(int event);

#ifdef __cplusplus
}
#endif
#endif /* !Py_CPYTHON_WATCHPOINT_H */
#endif /* !Py_LIMITED_API */
