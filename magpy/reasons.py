"""The one catalogue of reasons why a capture ends without an entry.

Every "no" that MagPy says has an id, one sentence, and what to do next. Counters,
``magpy.explain``, ``CaptureError`` and the logs all read this table, so a new
reason cannot stay unnamed, uncounted or without advice: `StopCapture` refuses an
id that is not here.

This module imports nothing of MagPy: every stage may use it.
"""

from typing import NamedTuple


class Reason(NamedTuple):
    """One kind of stop: what happened, and what its reader can do about it."""

    sentence: str
    advice: str


REASONS = {
    # What the recorder does not know.
    "unknown-callable": Reason(
        "a C function that no rule covers was called",
        "say what it does with magpy.annotate, or call it outside the compiled function"),
    "unknown-object": Reason(
        "an outside object was used that was reached by a way no rule covers",
        "pass the object as an argument, or read it from an attribute or a global"),
    "unknown-tensor": Reason(
        "a tensor was used that is neither an input, nor reached from one, nor a "
        "result of a recorded operation",
        "make the tensor with torch operations inside the function, or pass it in"),
    "unknown-function": Reason(
        "a function was called that the recorder did not see being entered",
        "call it directly instead of through C code"),
    "unknown-frame": Reason(
        "Python code ran in a frame that the recorder did not see being entered",
        "call it directly instead of through C code"),
    "unsupported-opcode": Reason(
        "a bytecode instruction ran that has no rule yet",
        "write that statement in another way, or move it out of the function"),
    "object-read": Reason(
        "an outside object was read in a way that no rule covers",
        "read plain attributes or items of it, or convert it before the call"),
    "object-write": Reason(
        "an outside object was written in a way that no rule covers",
        "write to it after the call, or use plain attributes, lists and dicts"),
    "hidden-write": Reason(
        "outside state was changed by code that no rule covers",
        "move the code that changes it out of the compiled function"),
    "finalizer": Reason(
        "an object whose class has __del__ was made, or may have lost its last reference",
        "make and drop such objects outside the compiled function, or close them by a call"),
    "dict-key": Reason(
        "a dict or set was used with a key whose equality may run code",
        "use strings, numbers or tuples of them as keys"),
    # What depends on tensor data.
    "tensor-data": Reason(
        "Python code looked at the values inside a tensor, in a way or at a time that the graph "
        "cannot check, or the values differed too often (magpy.config.outcome_limit)",
        "keep the decision in tensor operations (torch.where), or move it out of "
        "the function; if a library does it that does not under torch.compile, set "
        "magpy.config.is_compiling = True"),
    "dynamic-output-shape": Reason(
        "the shape of an operation's result depends on tensor data",
        "use an operation with a fixed output shape (torch.where, a mask that is "
        "multiplied), or move it out of the function"),
    "autograd-in-graph": Reason(
        "autograd state was read or changed inside the function",
        "call backward, read .grad and set requires_grad outside the compiled function"),
    "leaf-mutation": Reason(
        "a tensor that others hold was changed in a way a graph cannot replay",
        "change it with in-place operations, or outside the compiled function"),
    "aliasing": Reason(
        "tensors that share memory were changed in a way a graph cannot replay",
        "clone the tensor before it is changed in place"),
    "tensor-subclass": Reason(
        "a tensor subclass other than Parameter or Buffer was used",
        "pass plain tensors to the compiled function"),
    "graph-argument": Reason(
        "an operation got an argument that an FX graph cannot hold",
        "pass plain numbers, strings, tensors and containers of them to operations"),
    "output-kind": Reason(
        "a value that outlives the call is of a type that cannot be rebuilt",
        "return or store tensors, plain containers, dataclasses or plain instances"),
    # What is not the same on every run.
    "effect": Reason(
        "input or output was done that cannot be replayed",
        "move printing, logging and file access out of the compiled function, or into a function "
        "that magpy.annotate calls an effect"),
    "random": Reason(
        "a random number was drawn outside torch, and cannot be drawn again or never comes again",
        "draw it before the call and pass it in, or use torch's random operations"),
    "time": Reason(
        "the clock was read",
        "read the time outside the compiled function and pass it in"),
    "external-generator": Reason(
        "a generator made outside the function was advanced",
        "make the generator inside the function, or pass a list"),
    "external-iterator": Reason(
        "an iterator made outside the function was advanced",
        "make the iterator inside the function, or pass a list"),
    "import-in-forward": Reason(
        "a module was imported for the first time during the call",
        "move the import to the top of the file"),
    "global-state-changed": Reason(
        "a global setting of torch (such as the default dtype) was changed and not restored",
        "change it outside the compiled function"),
    "async": Reason(
        "a coroutine or an asynchronous generator was used",
        "compile the ordinary functions that it calls"),
    # How the call ended, or where it was made.
    "exception": Reason(
        "an exception left the function",
        "only calls that return are captured; raise outside the compiled function"),
    "entry-limit": Reason(
        "the function has as many captures as magpy.config.entry_limit allows",
        "see the misses in magpy.explain for what differs from call to call; make it "
        "constant, or raise magpy.config.entry_limit"),
    "busy": Reason(
        "another capture was under way in this process",
        "nothing to do: a later call is captured"),
    "hook-in-use": Reason(
        "the call cannot be watched: another tool uses the execution hook on this thread, or "
        "the call comes from a trace function, such as a debugger's prompt",
        "call it outside the debugger, or remove the other hook first"),
    "disabled": Reason(
        "a function marked with magpy.disable was called",
        "remove the mark, or call the function outside the compiled one"),
    "graph-break": Reason(
        "magpy.graph_break() was called",
        "nothing, if that is meant: such calls run as they are, and compiled callables inside "
        "them on their own; else remove it"),
    # What went wrong after the recording.
    "backend-failed": Reason(
        "the backend could not compile the graph",
        "read the error that follows; backend='eager' tells whether the graph is sound"),
    "internal-error": Reason(
        "MagPy itself failed",
        "please report it, with the traceback that MAGPY_LOGS=captures prints"),
}


def sentence(reason):
    """What happened, as words without an end stop."""
    return REASONS[reason].sentence


def advice(reason):
    """What to do about it, as words without an end stop."""
    return REASONS[reason].advice


#: Stops that the user asked for: the same call would stop there again, every time.
DELIBERATE = frozenset(("graph-break", "disabled"))


class StopCapture(Exception):
    """The capture cannot go on. It never reaches the user as it is.

    ``detail`` names the thing at fault in a few words (a function's name, a type).

    Its traceback holds the frames it passed, and through them those of the user's code
    below, whose variables would then live longer than their function. Whoever catches one
    and keeps it, or takes it from a function that was given it, drops the traceback.
    """

    def __init__(self, reason, detail=""):
        if reason not in REASONS:
            raise KeyError(f"{reason!r} is not in the catalogue of magpy/reasons.py")
        super().__init__(reason, detail)
        self.reason = reason
        self.detail = detail

    def __str__(self):
        text = f"{self.reason}: {sentence(self.reason)}"
        return f"{text} ({self.detail})" if self.detail else text
