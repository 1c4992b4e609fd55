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

/* Two specialised instructions do the work of the next instruction as well and
   skip it: their base instructions run instead, so that nothing is missed. */
#define EXECSTATE_UNFUSE()                                                  \
    if (opcode == BINARY_OP_INPLACE_ADD_UNICODE                             \
        || opcode == CALL_LIST_APPEND)                                      \
    {                                                                       \
        opcode = _PyOpcode_Deopt[opcode];                                   \
    }

/* Runs before each instruction.  On error the instruction counts as started, as
   the handler lookup at `error` expects; throwflag is for CLEANUP_THROW, which
   asserts that what it cleans up after was thrown into the frame. */
#undef PRE_DISPATCH_GOTO
#define PRE_DISPATCH_GOTO()                                                 \
    EXECSTATE_UNFUSE()                                                      \
    if (_PyExecState_IsHooked(tstate)                                       \
        && _PyExecState_Instruction(tstate, frame, stack_pointer,           \
                                    next_instr, opcode, oparg) < 0)         \
    {                                                                       \
        frame->instr_ptr = next_instr;                                      \
        next_instr++;                                                       \
        throwflag = 1;                                                      \
        goto error;                                                         \
    }

/* Re-dispatch of one instruction after (de)specialisation: no second event. */
#undef DISPATCH_SAME_OPARG
#define DISPATCH_SAME_OPARG()                                               \
    {                                                                       \
        opcode = next_instr->op.code;                                       \
        EXECSTATE_UNFUSE()                                                  \
        DISPATCH_GOTO();                                                    \
    }

#undef EXECSTATE_RAISE
#define EXECSTATE_RAISE()                                                   \
    if (_PyExecState_IsHooked(tstate)) {                                    \
        _PyExecState_Raise(tstate, frame, stack_pointer, next_instr);       \
    }

/* Instructions that re-raise do not pass by `error`; this is where they say so. */
#define monitor_reraise(TSTATE, FRAME, INSTR)                               \
    do {                                                                    \
        monitor_reraise(TSTATE, FRAME, INSTR);                              \
        if (_PyExecState_IsHooked(TSTATE)) {                                \
            _PyExecState_Reraise(TSTATE, FRAME, stack_pointer, INSTR);      \
        }                                                                   \
    } while (0)

#undef EXECSTATE_UNWIND
#define EXECSTATE_UNWIND()                                                  \
    if (_PyExecState_IsHooked(tstate)) {                                    \
        _PyExecState_Unwind(tstate, frame);                                 \
    }

#if defined(__GNUC__)
#  pragma GCC diagnostic push
#  pragma GCC diagnostic ignored "-Wunused-label"
#endif

#include "ceval.c"

#if defined(__GNUC__)
#  pragma GCC diagnostic pop
#endif
