# A handler for every base opcode of CPython 3.13: nothing to do (the instruction only
# moves values inside the frame, or its operands are checked elsewhere) or a rule below. tests/recorder/test_opcodes.py checks that none is missing.

import builtins
import dis as _dis

ctypedef int (*Handler)(Recorder r, const PyExecState_EventInfo *e) except -1

cdef Handler HANDLERS[256]
cdef int i_
for i_ in range(256):
    HANDLERS[i_] = NULL

cdef int RESUME = opmap["RESUME"]
cdef int RETURN_VALUE = opmap["RETURN_VALUE"]
cdef int RETURN_CONST = opmap["RETURN_CONST"]
cdef int YIELD_VALUE = opmap["YIELD_VALUE"]
cdef int RETURN_GENERATOR = opmap["RETURN_GENERATOR"]

# Instructions that cannot read or write outside state by themselves.
HARMLESS = frozenset("""
    CACHE NOP RESERVED POP_TOP PUSH_NULL END_FOR END_SEND COPY SWAP LOAD_CONST LOAD_FAST LOAD_FAST_CHECK
    LOAD_FAST_AND_CLEAR LOAD_FAST_LOAD_FAST STORE_FAST STORE_FAST_LOAD_FAST STORE_FAST_STORE_FAST
    DELETE_FAST POP_JUMP_IF_FALSE POP_JUMP_IF_TRUE POP_JUMP_IF_NONE POP_JUMP_IF_NOT_NONE
    JUMP_FORWARD JUMP_BACKWARD JUMP_BACKWARD_NO_INTERRUPT
    RETURN_GENERATOR MAKE_CELL COPY_FREE_VARS PUSH_EXC_INFO POP_EXCEPT RERAISE
    LOAD_ASSERTION_ERROR BUILD_LIST BUILD_TUPLE BUILD_SLICE BUILD_STRING BUILD_CONST_KEY_MAP
    MAKE_FUNCTION SET_FUNCTION_ATTRIBUTE LIST_APPEND EXTENDED_ARG INTERPRETER_EXIT EXIT_INIT_CHECK
    UNARY_NOT SETUP_ANNOTATIONS LOAD_LOCALS ENTER_EXECUTOR INSTRUMENTED_LINE
    MATCH_MAPPING MATCH_SEQUENCE CLEANUP_THROW END_ASYNC_FOR
    """.split())
RULES_OF_OPCODES = {}       # name -> handler's name, filled by `on`

cdef list NAMES_ = [None] * 256


cdef on(str name, Handler handler):
    HANDLERS[opmap[name]] = handler
    RULES_OF_OPCODES[name] = name.lower()


cdef inline object top(const PyExecState_EventInfo *e, int n):
    return <object>e.stack_pointer[-n]


cdef inline object name_at(const PyExecState_EventInfo *e, int i):
    return <object>magpy_code_name(PyExecState_FrameCode(e.frame), i)


include "opcodes/frames.pxi"
include "opcodes/names.pxi"
include "opcodes/cells.pxi"
include "opcodes/attributes.pxi"
include "opcodes/operators.pxi"
include "opcodes/items.pxi"
include "opcodes/iteration.pxi"
include "opcodes/calls.pxi"
include "opcodes/statements.pxi"
include "opcodes/coroutines.pxi"


cdef install():
    on("RESUME", resume)
    on("LOAD_GLOBAL", load_global)
    on("LOAD_NAME", load_name)
    on("LOAD_FROM_DICT_OR_GLOBALS", load_from_dict_or_globals)
    on("STORE_GLOBAL", store_global)
    on("DELETE_GLOBAL", delete_global)
    on("STORE_NAME", store_name)
    on("DELETE_NAME", store_name)
    on("LOAD_DEREF", load_deref)
    on("LOAD_FROM_DICT_OR_DEREF", load_from_dict_or_deref)
    on("STORE_DEREF", store_deref)
    on("DELETE_DEREF", delete_deref)
    on("LOAD_ATTR", load_attr)
    on("STORE_ATTR", store_attr)
    on("DELETE_ATTR", delete_attr)
    on("LOAD_SUPER_ATTR", load_super_attr)
    on("BINARY_OP", binary_op)
    on("COMPARE_OP", compare_op)
    on("IS_OP", is_op)
    on("UNARY_NEGATIVE", unary_negative)
    on("UNARY_INVERT", unary_invert)
    on("TO_BOOL", to_bool)
    on("BINARY_SUBSCR", binary_subscr)
    on("BINARY_SLICE", binary_slice)
    on("STORE_SUBSCR", store_subscr)
    on("STORE_SLICE", store_slice)
    on("DELETE_SUBSCR", delete_subscr)
    on("CONTAINS_OP", contains_op)
    on("MAP_ADD", hash_two)
    on("SET_ADD", hash_one)
    on("BUILD_MAP", build_map)
    on("BUILD_SET", build_set)
    on("YIELD_VALUE", show_value)
    on("RETURN_VALUE", show_value)
    on("RETURN_CONST", show_value)
    on("GET_ITER", get_iter)
    on("GET_YIELD_FROM_ITER", get_iter)
    on("FOR_ITER", advance)
    on("SEND", send)
    on("UNPACK_SEQUENCE", unpack)
    on("UNPACK_EX", unpack)
    on("LIST_EXTEND", list_extend)
    on("SET_UPDATE", set_update)
    on("DICT_UPDATE", dict_update)
    on("DICT_MERGE", dict_update)
    on("CALL", call)
    on("CALL_KW", call_kw)
    on("CALL_FUNCTION_EX", call_function_ex)
    on("CALL_INTRINSIC_1", call_intrinsic_1)
    on("CALL_INTRINSIC_2", call_intrinsic_2)
    on("BEFORE_WITH", before_with)
    on("WITH_EXCEPT_START", with_except_start)
    on("RAISE_VARARGS", raise_)
    on("CHECK_EXC_MATCH", check_exception)
    on("CHECK_EG_MATCH", check_exception)
    on("FORMAT_SIMPLE", format_simple)
    on("FORMAT_WITH_SPEC", format_with_spec)
    on("CONVERT_VALUE", convert_value)
    on("IMPORT_NAME", import_name)
    on("IMPORT_FROM", import_from)
    on("LOAD_BUILD_CLASS", load_build_class)
    on("GET_LEN", get_len)
    on("MATCH_CLASS", match_class)
    on("MATCH_KEYS", match_keys)
    on("GET_AWAITABLE", get_awaitable)
    on("GET_AITER", get_aiter)
    on("GET_ANEXT", get_anext)
    on("BEFORE_ASYNC_WITH", before_async_with)

install()
