# One recording, from start to Recording.

from torch.fx.node import _get_qualified_name as qualified_name
from magpy.recorder.torch_mode import InputRef, Tape
from magpy.recorder.torch_ops import TENSOR_METHODS, method_name, replaced_by_c

LEAF_CODE.enter(Tape.__torch_function__.__code__)     # the tape records itself

cdef object recording_lock = threading.Lock()      # one recording at a time in a process


def record(fn, tuple args, dict kwargs, finish=None, on_stop=None, bint outcomes=False):
    """Call ``fn(*args, **kwargs)`` for real under the recorder.

    Returns a Recording. It always has the call's ``result`` or ``exception``;
    when ``stop`` is set, the rest does not describe the whole call. ``finish(recording)``
    is called at the end, while the recorder still knows which objects are internal;
    ``on_stop(recording)`` at a stop, while the recording still has what was read until then.
    With *outcomes*, Python code may look into tensors: the graph then checks what it saw.
    """
    recording = Recording(fn, args, kwargs)
    recording.outcomes = outcomes
    if not recording_lock.acquire(blocking=False):
        recording.stop = Stop("busy", "", *places.user_place(sys._getframe()))
        run_plainly(recording)
        return recording
    collecting = gc.isenabled()
    gc.disable()        # finalizers of unrelated objects must not run in the middle
    started = time.perf_counter()
    callables.torch_state.leaves_of_dynamo()
    try:
        run_recorded(recording, on_stop)
        recording.seconds = time.perf_counter() - started
        if finish is not None:
            finish(recording)
    finally:
        provenance.forget()
        recording_lock.release()
        if collecting:
            gc.enable()
    return recording


cdef run_plainly(recording):
    try:
        recording.result = recording.fn(*recording.args, **recording.kwargs)
    except BaseException as error:
        recording.exception = error


cdef run_recorded(recording, on_stop):
    cdef Recorder r = Recorder(recording)
    replaced = replaced_by_c()
    if replaced is not None:
        where = places.user_place(sys._getframe())
        recording.stop = Stop("graph-argument", f"{replaced} of torch was replaced", *where)
        run_plainly(recording)
        return
    r.on_stop = on_stop
    recording.recorder = r
    recording.state = GlobalState()
    tape = Tape(r)
    recording.tape = tape
    recording.table = tape.table
    r.recording_roots()
    compiling = pretend_compiling(r) if config.is_compiling else None
    with tape:
        try:
            r.try_start()
            recording.result = recording.fn(*recording.args, **recording.kwargs)
        except BaseException as error:
            recording.exception = error
        finally:
            r.finish()
            if compiling is not None:
                torch.compiler._is_compiling_flag = compiling
    recording.events = r.events
    for left in r.pending:
        if left.fault is not None:
            r.note_fault(left.fault)
            break
    if recording.exception is not None:
        r.note_stop("exception", type(recording.exception).__name__)
    if not r.stopped:
        r.complete()
    recording.stop = r.stop_reason
    if r.stopped:
        r.let_go()


cdef object pretend_compiling(Recorder r):
    """Let torch.compiler.is_compiling() say True, and guard nothing for that. Returns
    what it said before."""
    before = torch.compiler._is_compiling_flag
    torch.compiler._is_compiling_flag = True
    cdef Node node = namespace(r, torch.compiler.__dict__)
    r.seen[(node.index, "dict", "_is_compiling_flag")] = True
    return before


cdef roots_of_call(Recorder r):
    """Edges for the callable and its arguments: what every access path starts from."""
    recording = r.recording
    fn = recording.fn
    cdef Py_ssize_t i = 0
    know_root(r, fn)
    for value in recording.args:
        r.edge(None, "arg", i, value, f"arg[{i}]")
        i += 1
    for name, value in recording.kwargs.items():
        r.edge(None, "kwarg", name, value, f"kwarg[{name!r}]")
    dispatch_call(r, fn, recording.args, recording.kwargs)


cdef know_root(Recorder r, fn):
    """The compiled callable itself lives as long as its entries: a constant."""
    if r.find(fn) is None:
        r.new_node(fn, kind_of(fn), "fn", True)
    if PyMethod_Check(fn):
        if r.find(fn.__self__) is None:
            r.new_node(fn.__self__, kind_of(fn.__self__), "fn.__self__", True)
        if r.find(fn.__func__) is None:
            r.new_node(fn.__func__, kind_of(fn.__func__), "fn.__func__", True)


cdef complete_recording(Recorder r):
    """What can be said only at the end: which objects must be distinct, whether
    tensors were changed that share storage, and that global state is as before."""
    recording = r.recording
    recording.tape.check_shared_memory()
    recording.tape.follow_grad_mode()
    check_cells(recording.tape)
    check_buffers(r)
    if not recording.state.matches():
        r.note_stop("global-state-changed", recording.state.why())
        return
    read_graph_names(r)
    add_distinct(r)
    add_apart(r)
    r.edges.extend(drops.dropped_quietly(r))
    mutated = [recording.nodes[ref.node] for ref in recording.tape.mutated_inputs()]
    if mutated and len(r.tensors) > 1:
        groups = distinct_storages([node.obj for node in r.tensors])
        r.edges.append(new_edge(("slots", tuple(r.tensors)), None, ("alias", groups), None,
                            "storage of " + ", ".join([n.path for n in mutated])))


cdef read_graph_names(Recorder r):
    """A graph calls the functions of torch by name, `torch.relu`, also where the program
    had the function by another way."""
    for target in {op.handling.target for op in r.recording.tape.ops
                   if op.handling.op == "call_function"}:
        module, name = graph_name(target)
        if module is not None:
            found = module.__dict__.get(name)
            if found is not target:
                r.stop("graph-argument", f"{module.__name__}.{name} was replaced")
            node = namespace(r, module.__dict__)
            r.edge(node, "dict", name, found, f"{node.path}.{name}")
    for op in r.recording.tape.ops:
        read_method_by_name(r, op)


cdef read_method_by_name(Recorder r, op):
    """The graph finds methods by name, also where the program had the function in its hands."""
    name = method_name(op.handling)
    if name is None:
        return
    first = op.args[0] if op.args else None
    cls = r.recording.nodes[first.node].type if type(first) is InputRef else torch.Tensor
    if look_up_type(r, cls, name) is not TENSOR_METHODS.get(name):
        r.stop("graph-argument", f"{cls.__qualname__}.{name} was replaced")


cdef tuple graph_name(target):
    """(module, name) by which torch.fx calls a function of torch; (None, None) for others."""
    try:
        path, _, name = qualified_name(target).rpartition(".")
    except Exception:
        return None, None       # it has none: the graph holds the function itself
    module = sys.modules.get(path)
    if module is None or not path.startswith("torch") or getattr(module, name, None) is None:
        return None, None
    return module, name


cdef add_apart(Recorder r):
    """A dict can become the __dict__ of an object, and two objects can share theirs: what was
    written through one name must not be what was read through another."""
    cdef dict holders = {}      # (node, is it the dict itself) -> was it written
    for node in r.recording.nodes:
        if node.kind == "dict":
            if node.owner is None:
                holders[node, True] = node.written
            elif node.written:
                holders[node.owner, False] = True
        elif node.written and magpy_has_instance_dict(node.type):
            holders[node, False] = True
    if True not in holders.values():
        return
    for edge in r.edges:
        if edge.load[0] == "attr" and edge.parent is not None:
            holders.setdefault((edge.parent, False), False)
    if len(holders) < 2:
        return
    cdef dict held = {}         # id(dict) -> was it written
    for (node, is_dict), written in holders.items():
        names = node.obj if is_dict else own_dict(node.obj)
        if names is None:
            continue
        if id(names) in held and (written or held[id(names)]):
            r.stop("object-write", f"{node.path} shares its dict with another object")
        held[id(names)] = written
    r.edges.append(new_edge(("slots", tuple([node for node, _ in holders])), None,
                        ("apart", tuple([(written, is_dict) for (_, is_dict), written in holders.items()])), None,
                        "apart: " + ", ".join([node.path for (node, _), written in holders.items() if written])))


cdef add_distinct(Recorder r):
    """An object that was written, or whose identity was looked at, must not be another
    one of its type at replay: one check for each type that has such an object."""
    cdef dict groups = {}
    written = {node.type for node in r.recording.nodes if node.written}
    for node in r.recording.nodes:
        if node.type in written:
            groups.setdefault(node.type, []).append(node)
    for node in r.identity_observed:
        if node.type not in written:
            groups.setdefault(node.type, []).append(node)
    for nodes in groups.values():
        if len(nodes) > 1 and not all([node.const for node in nodes]):
            r.edges.append(new_edge(("slots", tuple(nodes)), None, ("unique", None), None,
                                "distinct: " + ", ".join([node.path for node in nodes])))
