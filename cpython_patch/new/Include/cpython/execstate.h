/* Execution-state monitoring: a per-thread hook on every bytecode instruction.

   A thread that has a hook runs its Python frames in the *monitored loop*: the
   evaluation loop compiled a second time, which calls the hook before each
   instruction, when an instruction raises, and when an exception leaves a
   frame.  A thread without a hook runs the stock loop.  The loop is chosen when
   C code enters the evaluation loop (_PyEval_EvalFrame): a hook installed while
   frames of the stock loop are running takes effect at the next call from C;
   a hook that is removed is not called again, whichever loop is running.

   Everything here needs the GIL (an attached thread state).  */

#ifndef Py_LIMITED_API
#ifndef Py_CPYTHON_EXECSTATE_H
#define Py_CPYTHON_EXECSTATE_H
#ifdef __cplusplus
extern "C" {
#endif

struct _PyInterpreterFrame;

/* Kinds of event: the one list from which the enum, the names and the number
   of kinds are made. */
#define PyExecState_FOREACH_EVENT(V)                                        \
    V(INSTRUCTION)  /* an instruction is about to run */                    \
    V(RAISE)        /* the current instruction of the frame has raised */   \
    V(UNWIND)       /* an exception leaves the frame, which then dies */

typedef enum {
#define V(NAME) PyExecState_##NAME,
    PyExecState_FOREACH_EVENT(V)
#undef V
    PyExecState_NUM_EVENTS
} PyExecState_Event;

/* What a hook is told.  Every pointer is borrowed and valid only until the hook
   returns. */
typedef struct {
    PyExecState_Event event;
    struct _PyInterpreterFrame *frame;  /* never a C-stack entry frame */
    PyObject **stack_pointer;   /* one past the top of the value stack;
                                   NULL for UNWIND */
    PyObject *exception;        /* the exception for RAISE and UNWIND, else NULL */
    int opcode;                 /* base opcode: neither specialised nor
                                   instrumented; -1 for RAISE and UNWIND */
    int oparg;                  /* EXTENDED_ARG prefixes included */
    int offset;                 /* of the instruction, in code units
                                   (2 bytes) from the start of its code object;
                                   for UNWIND: where the traceback points */
} PyExecState_EventInfo;

/* The hook.  Returns 0 to go on, or -1 with an exception set: that exception is
   then raised by the instruction (INSTRUCTION), or replaces the one in flight
   (RAISE, UNWIND).

   At INSTRUCTION the value stack is complete: the hook may read
   info->stack_pointer[-1] (the top) and below, and may *replace* an entry by
   another object; it then owns the reference it took out and must give one to
   the stack.  Entries can be NULL (PUSH_NULL).  The frame points to the
   instruction (line number).

   Every instruction gives one event, also when the adaptive interpreter
   specialises or de-specialises it on the way, when tools instrument it, and
   when stock CPython fuses it with the one before.  EXTENDED_ARG gives an event
   of its own, then the instruction that it extends gives one with the whole
   oparg.  What specialisation does change:
   - a call that it inlines (class instantiation, property, __getitem__, for
     over a generator, ...) has no C call between the two frames, and a class
     instantiation has an interpreter's trampoline frame in between;
   - a for loop that ends jumps behind END_FOR and POP_TOP, but where a generator
     was inlined these two run.

   At RAISE the stack is what the instruction left of it: some or all of its
   operands may be gone.  An exception that comes back from a callee, or from
   throw(), is raised again in each frame that it reaches, and so is one that an
   instruction re-raises (RERAISE, a bare raise, END_ASYNC_FOR, CLEANUP_THROW).
   The next event of the frame is its handler's first instruction, or UNWIND.

   A hook should not fail at INSTRUCTION in the clean-up code of an exception
   handler: instructions that CPython knows not to raise (PUSH_EXC_INFO, POP_EXCEPT)
   are not protected, and sys.exception() stays set.

   A hook may run Python code; its frames run under the hook too unless it is
   removed or guards itself.  For RAISE and UNWIND no exception is set while
   the hook runs: it is in info->exception and is set again afterwards.
   A hook must not release the last reference to a running frame. */
typedef int (*PyExecState_Hook)(void *data, const PyExecState_EventInfo *info);

/* Install *hook* on the current thread in place of the one it has, or remove
   it (hook == NULL).  *data* is passed to the hook; the caller keeps it alive.
   A new thread starts without a hook.  Never fails. */
PyAPI_FUNC(void) PyExecState_SetHook(PyExecState_Hook hook, void *data);

/* The current thread's hook, or NULL.  Stores its data in *data unless data is
   NULL. */
PyAPI_FUNC(PyExecState_Hook) PyExecState_GetHook(void **data);

/* The name of an event kind, as a static string; NULL when there is no such
   kind. */
PyAPI_FUNC(const char *) PyExecState_EventName(int event);

/* --- Reading a frame that an event reports. All results are borrowed. --- */

/* The code object.  That of a trampoline frame is a constant of the interpreter:
   asking it for co_code or co_varnames crashes. */
PyAPI_FUNC(PyCodeObject *) PyExecState_FrameCode(struct _PyInterpreterFrame *frame);
/* The function object; NULL for the interpreter's own trampoline frames. */
PyAPI_FUNC(PyObject *) PyExecState_FrameFunction(struct _PyInterpreterFrame *frame);
/* Globals and builtins; NULL for trampoline frames. */
PyAPI_FUNC(PyObject *) PyExecState_FrameGlobals(struct _PyInterpreterFrame *frame);
PyAPI_FUNC(PyObject *) PyExecState_FrameBuiltins(struct _PyInterpreterFrame *frame);
/* The mapping of names for class bodies, exec and modules; NULL in optimised
   functions. */
PyAPI_FUNC(PyObject *) PyExecState_FrameNames(struct _PyInterpreterFrame *frame);
/* The array of fast locals: co_nlocalsplus entries (locals, then cells, then
   free variables), NULL where unbound; the value stack starts right after. */
PyAPI_FUNC(PyObject **) PyExecState_FrameLocals(struct _PyInterpreterFrame *frame);
/* The frame that called this one, C-stack entry frames left out; NULL at the
   bottom of the stack. */
PyAPI_FUNC(struct _PyInterpreterFrame *)
    PyExecState_FrameBack(struct _PyInterpreterFrame *frame);
/* The generator, coroutine or asynchronous generator that owns the frame, or
   NULL. */
PyAPI_FUNC(PyObject *) PyExecState_FrameGenerator(struct _PyInterpreterFrame *frame);
/* The innermost Python frame of the current thread, or NULL. */
PyAPI_FUNC(struct _PyInterpreterFrame *) PyExecState_CurrentFrame(void);

/* --- Objects --- */

/* Look *name* up in the instance's own attributes (its inline values or its
   __dict__), without descriptors, without the type, and without making a
   __dict__ that is not there.  *name* must be exactly a str.  Returns 1 and a new reference in *result; 0 and
   NULL when it is absent; -1 and an exception on error. */
PyAPI_FUNC(int) PyExecState_GetInstanceAttr(PyObject *obj, PyObject *name,
                                            PyObject **result);

/* A new int (float) equal to *value* that is not shared with anybody, not even
   when it is one of the interpreter's small constants.  Returns NULL and sets
   TypeError unless *value* is exactly an int (float). */
PyAPI_FUNC(PyObject *) PyExecState_FreshLong(PyObject *value);
PyAPI_FUNC(PyObject *) PyExecState_FreshFloat(PyObject *value);

#ifdef __cplusplus
}
#endif
#endif /* !Py_CPYTHON_EXECSTATE_H */
#endif /* !Py_LIMITED_API */
