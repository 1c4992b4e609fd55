/* Included by ceval.c at its end, in the first pass only: compiles the
   evaluation loop a second time as the monitored loop.

   The loop is not copied and not slowed down.  ceval.c includes itself with
   EXECSTATE_LOOP defined, which leaves nothing of it but the loop function; the
   macros redefined here call the hook.  The obvious alternative, a test in the
   stock loop's DISPATCH(), costs every program a branch an instruction. */

#define EXECSTATE_LOOP

#ifdef _Py_TIER2
#  error "the monitored loop does not support the tier 2 interpreter"
#endif

#undef EVAL_FRAME_FUNCTION
#define EVAL_FRAME_FUNCTION _PyExecState_EvalFrame

/* Runs before each instruction.  On error the instruction counts as started, as
   the handler lookup at `error` expects. */
#undef PRE_DISPATCH_GOTO
#define PRE_DISPATCH_GOTO()                                                 \
    if (_PyExecState_IsHooked(tstate)                                       \
        && _PyExecState_Instruction(tstate, frame, stack_pointer,           \
                                    next_instr, opcode, oparg) < 0)         \
    {                                                                       \
        frame->instr_ptr = next_instr;                                      \
        next_instr++;                                                       \
        goto error;                                                         \
    }

/* Re-dispatch of one instruction after (de)specialisation: no second event. */
#undef DISPATCH_SAME_OPARG
#define DISPATCH_SAME_OPARG()                                               \
    {                                                                       \
        opcode = next_instr->op.code;                                       \
        DISPATCH_GOTO();                                                    \
    }

#undef EXECSTATE_RAISE
#define EXECSTATE_RAISE()                                                   \
    if (_PyExecState_IsHooked(tstate)) {                                    \
        _PyExecState_Exception(tstate, frame, stack_pointer, next_instr-1,  \
                               PyExecState_RAISE);                          \
    }

#undef EXECSTATE_UNWIND
#define EXECSTATE_UNWIND()                                                  \
    if (_PyExecState_IsHooked(tstate)) {                                    \
        _PyExecState_Exception(tstate, frame, NULL, frame->instr_ptr,       \
                               PyExecState_UNWIND);                         \
    }

#if defined(__GNUC__)
#  pragma GCC diagnostic push
#  pragma GCC diagnostic ignored "-Wunused-label"
#endif

#include "ceval.c"

#if defined(__GNUC__)
#  pragma GCC diagnostic pop
#endif
