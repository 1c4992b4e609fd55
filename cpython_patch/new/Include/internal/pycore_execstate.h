/* Execution-state monitoring: what the evaluation loop needs of it.
   See Include/cpython/execstate.h. */
#ifndef Py_INTERNAL_EXECSTATE_H
#define Py_INTERNAL_EXECSTATE_H
#ifdef __cplusplus
extern "C" {
#endif

#ifndef Py_BUILD_CORE
#  error "this header requires Py_BUILD_CORE define"
#endif

#include "pycore_code.h"          // _Py_CODEUNIT
#include "pycore_tstate.h"        // _PyThreadStateImpl

/* One load and one predictable branch: the whole cost of a thread without a
   hook, paid once a call from C. */
static inline int
_PyExecState_IsHooked(PyThreadState *tstate)
{
    return ((_PyThreadStateImpl *)tstate)->execstate_hook != NULL;
}

/* The monitored loop: ceval.c's loop, compiled a second time. */
extern PyObject *_PyExecState_EvalFrame(PyThreadState *tstate,
                                        struct _PyInterpreterFrame *frame,
                                        int throwflag);

/* Called by the monitored loop. */
extern int _PyExecState_Instruction(PyThreadState *tstate,
                                    struct _PyInterpreterFrame *frame,
                                    PyObject **stack_pointer,
                                    _Py_CODEUNIT *instr, int opcode, int oparg);
extern void _PyExecState_Raise(PyThreadState *tstate,
                               struct _PyInterpreterFrame *frame,
                               PyObject **stack_pointer,
                               _Py_CODEUNIT *next_instr);
extern void _PyExecState_Reraise(PyThreadState *tstate,
                                 struct _PyInterpreterFrame *frame,
                                 PyObject **stack_pointer,
                                 _Py_CODEUNIT *instr);
extern void _PyExecState_Unwind(PyThreadState *tstate,
                                struct _PyInterpreterFrame *frame);

/* sys.magpy_info */
extern PyObject *_PyExecState_MakeInfo(PyInterpreterState *interp);

#ifdef __cplusplus
}
#endif
#endif /* !Py_INTERNAL_EXECSTATE_H */
