"""The tape: every tensor operation of a recorded call, in order.

A TorchFunctionMode sees what the eval loop cannot: operations that C code issues
(``sum(tensors)``) and operators that fall back to their reflected form. Python-bodied
torch functions (``F.relu``) arrive as one call and are kept as one.

Tensors are known by their TensorImpl, not by their Python object: the wrapper of a
tensor that only C++ holds is destroyed and made anew. The tape holds tensors weakly
(`TensorTable`), so the recorded call frees its intermediates as eager does.

Each operation runs for real first and last: whatever the tape thinks of a call, the
user gets what torch gave. A call that cannot be in a graph ends the capture
(``recorder.stop``) and still returns its result.
"""

import enum
import sys
from types import FunctionType
import types
import weakref
from typing import Callable, NamedTuple

import numpy
import torch
from torch.overrides import TorchFunctionMode

from magpy.guards.tensor_meta import WeakTensor, impl_key, storage_key, version
from magpy.reasons import StopCapture
from magpy.fxgraph.outcome import array_check, is_array, is_plain, shape_check, value_check
from magpy.recorder import fake_check, rewrites
from magpy.recorder.constants import FOLDABLE, PLAIN_TENSORS, READS, SHARES_MEMORY, Constants
from magpy.recorder.places import user_place
from magpy.recorder.section import Arguments, Live, Section, with_arguments
from magpy.recorder.torch_checks import check_outside_autograd, tensors_in
from magpy.recorder.torch_ops import (
    CALL_METHOD, IGNORED, META, OP, STATE, STOP, VALUES_OF_DATA, Handling, handling)


class OpRef(NamedTuple):
    """The leaf-th tensor in the result of the op-th operation."""

    op: int
    leaf: int


class InputRef(NamedTuple):
    """An outside tensor, by the index of its RefGraph node."""

    node: int


class TapeOp:
    """One operation. In ``args`` and ``kwargs`` tensors are replaced by references and
    containers are copies; ``paths`` says how to reach each tensor of the result, and
    ``metas`` what each looked like (`tensor_facts`). ``opaque``: compilers must not trace it."""

    __slots__ = ("handling", "func", "args", "kwargs", "paths", "metas", "place", "rng",
                 "inplace", "opaque", "outcome")

    def __init__(self, handling, func, args, kwargs, place):
        self.handling = handling
        self.func = func
        self.args = args
        self.kwargs = kwargs
        self.place = place
        self.paths = ()
        self.metas = ()
        self.rng = handling.rng
        self.inplace = handling.mutates
        self.opaque = handling.opaque
        self.outcome = None     # why its value or shape must be checked: a StopCapture

    @property
    def outs(self):
        return len(self.paths)

    def __repr__(self):
        return f"<TapeOp {self.handling.name} -> {self.outs}>"


class TensorTable:
    """Which tensors a recording knows, by TensorImpl. A weak reference pins each
    impl's address, so that a freed tensor's key cannot be taken by a new one."""

    __slots__ = ("_refs", "_weak", "outside_memory")

    def __init__(self):
        self._refs = {}
        self._weak = []
        self.outside_memory = {}        # storages of outside numpy arrays, by address, which stays theirs

    def known(self, tensor):
        return self._refs.get(impl_key(tensor))

    def in_outside_memory(self, tensor):
        return bool(self.outside_memory) and storage_key(tensor) in self.outside_memory

    def add_input(self, tensor, node_index):
        return self._add(tensor, InputRef(node_index))

    def add_result(self, tensor, ref):
        return self._add(tensor, ref)

    def forget(self, keys):
        """Tensors with these keys are not known any more."""
        for key in keys:
            del self._refs[key]

    def _add(self, tensor, ref):
        self._refs[impl_key(tensor)] = ref
        self._weak.append(WeakTensor(tensor))
        return ref


class Replaced(NamedTuple):
    """Stands for a call that is others on the tape: ``enter(result)`` enters them."""

    enter: Callable


class Folded:
    """Stands for a call that a graph could not hold, on data that are known: what it gives
    is known, too. ``stop`` is what the call would have been stopped for."""

    __slots__ = ("stop", "args")

    def __init__(self, stop, args):
        self.stop = stop
        self.args = args


TENSOR_TYPE = type(torch.FloatTensor)
# What torch takes these types for where it wants a dtype.
PYTHON_DTYPES = {bool: torch.bool, int: torch.int64, float: torch.float64, complex: torch.complex128}
IMMUTABLE = frozenset({
    int, float, bool, complex, str, type(None), type(Ellipsis), torch.dtype, torch.device,
    torch.layout, torch.memory_format, range})
NUMPY_DTYPE_COUNTS = frozenset({
    "tensor", "as_tensor", "asarray", "new_tensor", "full", "full_like", "new_full",
    "scalar_tensor", "result_type"})


HANDLE_CODE = torch.overrides.handle_torch_function.__code__


def of_torch(func):
    """Is this Python function defined in torch, whatever it calls itself?"""
    name = func.__globals__.get("__name__")
    return type(name) is str and name.partition(".")[0] == "torch"


class Tape(TorchFunctionMode):
    """Records the torch functions called while it is the active function mode.

    *recorder* gives ``pause()``, ``resume()``, ``stopped``, ``stop(reason, detail)``
    (which raises StopCapture), ``external_tensor(tensor) -> Node | None``,
    ``node_of(obj) -> Node | None`` and ``const_node(obj, path) -> Node``.
    """

    def __init__(self, recorder):
        super().__init__()
        self.recorder = recorder
        self.ops = []
        self.prologue = []              # checks of inputs, made before all operations
        self.table = TensorTable()
        self.paths = {}                 # InputRef -> access path, in order of first use
        self._inputs = {}               # InputRef -> storage key
        self._input_storages = set()    # all that an input has or had
        self._input_tensors = {}        # InputRef -> tensor
        self._mutated_storages = set()
        self._data_reads = {}           # storage key -> the operations that reached it by .data
        self._tensors = []              # arguments of the call at hand
        self._section = None            # the opaque call that runs
        self._grad = torch.is_grad_enabled()
        self._changed_input = False     # has an operation changed memory of an input?
        self._moved_input = False       # or given one other memory?
        self.put_back = set()           # inputs that are changed before a check, which may fail
        self.draws_random = False
        self.outcomes = 0               # checks of what depends on tensor data
        self._live = None               # the call that runs and will run again behind the graph
        self._shown = None              # storages of tensors that such calls were given
        self.constants = Constants(self.table)
        self.grad_nodes = {}            # id of a node of autograd -> (it, weak reference to its tensor)
        self.hooked_cells = []          # (cell, content, id of the function) of gradient hooks

    def __torch_function__(self, func, types, args=(), kwargs=None):
        recorder = self.recorder
        if type(func) is FunctionType and not of_torch(func):
            func = self._really_called(func, sys._getframe(1))
        if recorder.paused:         # one of the recorder's own rules looks at a tensor
            return func(*args, **(kwargs or {}))
        recorder.pause()
        try:
            return self._call(func, args, kwargs or {}, recorder)
        finally:
            recorder.resume()

    def _really_called(self, func, frame):
        """torch looks up by name what it hands to a mode. Where somebody has replaced the
        function of that name, and calls the old one, that is the one to run."""
        if frame is not None and frame.f_code is HANDLE_CODE:
            caller = frame.f_back
            found = func if caller.f_code is func.__code__ else FunctionType(
                caller.f_code, caller.f_globals, caller.f_code.co_name)
        else:
            found = next((getattr(torch._C.TensorBase, name) for name, method in vars(torch.Tensor).items()
                          if method is func and hasattr(torch._C.TensorBase, name)), func)
        if found is not func:
            self._note(StopCapture("graph-argument", f"{found.__name__} of torch was replaced"))
        return found

    # ---- one call -----------------------------------------------------------

    def _call(self, func, args, kwargs, recorder):
        if recorder.stopped:
            return func(*args, **kwargs)
        if self._live is not None:
            return self._call_live(func, args, kwargs)
        tensors = ()
        try:
            how = handling(func)
            if how.getter is not None:
                args = args[:1]     # a getter may get the owner class, too
            op = None
            if how.kind is not IGNORED and (self._section is None or not self._section.own(how.name, args)):
                op, tensors = self._before(how, func, args, kwargs)
            before = [version(tensor) for tensor in tensors]
            if how.before is not None and op is not None and not how.before(self, args, kwargs):
                op = None           # it is not going to do anything
        except Exception as error:
            self._note(error)
            op = None
        result = func(*args, **kwargs)
        if op is not None:
            try:
                if type(op) is Replaced:
                    op.enter(result)
                elif type(op) is Folded:
                    self._after_folded(op, how, tensors, before, result)
                else:
                    self._after(op, how, args, kwargs, tensors, before, result)
            except Exception as error:
                self._note(error)
        return result

    def _call_live(self, func, args, kwargs):
        tensors = list(tensors_in((args, kwargs)))
        before = [version(tensor) for tensor in tensors]
        result = func(*args, **kwargs)
        try:
            changed = [tensor for tensor, old in zip(tensors, before) if version(tensor) != old]
            self._live.check(handling(func), tensors, changed, list(tensors_in(result)))
        except Exception as error:
            self._note(error)
        return result

    def _note(self, error):
        """Tell the recorder why the capture ends, unless it was the recorder who said
        so. A fault of the tape itself ends it too: the user's call must go on."""
        error.__traceback__ = None      # see StopCapture
        if self.recorder.stopped:
            return
        if not isinstance(error, StopCapture):
            error = StopCapture("internal-error", f"{type(error).__name__}: {error}")
        try:
            self.recorder.stop(error.reason, error.detail)
        except StopCapture:
            pass

    def _before(self, how, func, args, kwargs):
        try:
            return self._checked(how, func, args, kwargs)
        except StopCapture as stop:
            stop.__traceback__ = None   # an operation may keep it
            if self._section is not None or stop.reason not in FOLDABLE or how.mutates or \
                    how.kind is STOP and stop.reason == "tensor-data" and how.name not in READS \
                    or not self.constants.result_known(how, args, kwargs):
                return self._outcome(stop, how, func, args, kwargs)
            self._tensors = []
            return Folded(stop, (args, kwargs)), list(tensors_in((args, kwargs)))

    def _outcome(self, stop, how, func, args, kwargs):
        """A call whose value or shape depends on data: the graph does it again and checks
        that the outcome is the same. What has changed outside by then must be put back if not."""
        value = how.kind is STOP and stop.reason == "tensor-data" and how.name in VALUES_OF_DATA
        shape = how.kind is OP and stop.reason in ("dynamic-output-shape", "tensor-data")
        if self._section is not None or not (value or shape) or not self.recorder.allows_outcomes:
            raise stop
        op = self._operation(how, func, args, kwargs, sys._getframe(4))
        tensors, self._tensors = self._tensors, []
        if self._changed_input and not (value and self._as_at_start(tensors)):
            self._put_back_on_failure(stop)
        op.outcome, op.opaque = stop, True
        return op, tensors

    def _checked(self, how, func, args, kwargs):
        """The TapeOp of a call that a graph can hold, and the tensors it is given."""
        self.check_shared_memory()
        self.follow_grad_mode()
        if self._section is None and how.name in rewrites.REPLACEMENTS:
            enter = rewrites.replacement(self, how, args, kwargs)
            if enter is not None:
                return Replaced(enter), []
        if how.resizes and type(self.table.known(args[0])) is not OpRef:
            raise StopCapture("leaf-mutation", how.name)
        if how.kind is STOP or how.dynamic:
            raise StopCapture(how.reason, how.name)
        if self._section is not None:
            op, tensors = self._section.op, self._arguments_inside(args, kwargs)
        else:
            args, kwargs = rewrites.rewrite(self, how, args, kwargs)
            op = self._operation(how, func, args, kwargs, sys._getframe(4))
            tensors, self._tensors = self._tensors, []
        if how.check is not None:
            how.check(args, kwargs)
        if how.autograd and type(self.table.known(args[0])) is InputRef:
            check_outside_autograd(how, args[0])
        if how.strided and storage_key(args[0]) in self._input_storages:
            # Guards do not hold where in its storage an input starts.
            raise StopCapture("aliasing", how.name)
        if how.verify and (how.verify == "always" or _integer_scalar(how, tensors)):
            return self._verified(op, how, func, args, kwargs, tensors)
        return op, tensors

    def _verified(self, op, how, func, args, kwargs, tensors):
        """Try the call on fake tensors; known numbers that it needs become its arguments."""
        try:
            fake_check.check(func, args, kwargs, how.name)
        except StopCapture:
            if self._section is not None:
                raise
            args, kwargs, changed = rewrites.with_numbers(self.constants, how, args, kwargs)
            if not changed:
                raise
            fake_check.check(func, args, kwargs, how.name)
            op = self._operation(how, func, args, kwargs, sys._getframe(5))
            tensors, self._tensors = self._tensors, []
        return op, tensors

    def _operation(self, how, func, args, kwargs, frame):
        """The TapeOp of a call; its tensor arguments are then in ``_tensors``."""
        self._tensors = []
        numbers = how.name not in NUMPY_DTYPE_COUNTS
        refs = tuple([self._pack(arg, numbers) for arg in args])
        named = {key: self._pack(arg, numbers) for key, arg in kwargs.items()} \
            if kwargs else {}
        return TapeOp(how, func, refs, named, user_place(frame))

    def _after_folded(self, folded, how, tensors, before, result):
        found = []
        plain = _collect(result, (), found)
        given = {storage_key(tensor) for tensor in tensors}
        if found and not plain or any(
                not t.is_leaf or storage_key(t) in given for _, t in found) or any(
                    version(tensor) != old for tensor, old in zip(tensors, before)):
            raise folded.stop
        for _, tensor in found:
            self.enter_constant(tensor)
        if how.name in SHARES_MEMORY:
            for array in (result, *folded.args[0], *folded.args[1].values()):
                if isinstance(array, numpy.ndarray):
                    self.note_sharing(array, found[0][1] if found else tensors[0])

    def _after(self, op, how, args, kwargs, tensors, before, result):
        found = []
        plain = _collect(result, (), found)
        if how.kind is META and not found:
            if how.name == "grad_fn" and result is not None:
                self.grad_nodes[id(result)] = result, weakref.ref(args[0])
            return
        if op.outcome is not None and how.kind is STOP:
            self._check_value(op, result, found, tensors)
            return
        if how.kind is STATE:
            if self._section is None:
                self._enter_state(op)
            return
        if not plain:
            if result is NotImplemented:
                return
            raise StopCapture("tensor-data", how.name)
        changed = [tensor for tensor, old in zip(tensors, before) if version(tensor) != old]
        if kwargs.get("out") is not None:
            self._check_sizes(how, kwargs["out"])
            op.opaque = True            # it may give tensors of the call another size
        if self._section is not None:
            self._after_inside(how, tensors, changed, found)
            return
        known = self.table.known
        if found and how.returns_self and how.before is None and not changed and \
                all(known(tensor) is not None for _, tensor in found):
            return
        self._enter(op, how, tensors, changed, found, (args, kwargs))

    def _check_sizes(self, how, out):
        """An outside tensor that a result went to must have the size that it had."""
        for tensor in tensors_in(out):
            node = self.recorder.node_of(tensor)
            if node is not None and node.meta is not None and not node.meta.matches(tensor):
                raise StopCapture("leaf-mutation", f"{how.name} gives an outside tensor another size")

    def _enter(self, op, how, tensors, changed, found, given=None):
        """The operation *op* gave the tensors *found*; *given* are its arguments, if what
        it does with them is known."""
        index = len(self.ops)
        op.paths = tuple([path for path, _ in found])
        op.metas = tuple([tensor_facts(tensor) for _, tensor in found])
        op.inplace = op.inplace or bool(changed)
        self.draws_random = self.draws_random or op.rng or how.foreign
        for leaf, (_, tensor) in enumerate(found):
            check_plain(tensor)
            if self.table.known(tensor) is None:
                self.table.add_result(tensor, OpRef(index, leaf))
        changed = self._note_changes(op, how, tensors, changed, found)
        self.constants.note_results(how, given, tensors, [t for _, t in found], changed)
        self.ops.append(op)
        if given is not None and op.kwargs.pop("requires_grad", False):
            self._require_grad(found[0][1])
        if op.outcome is not None:
            for leaf, (_, tensor) in enumerate(found):
                self._check_shape(OpRef(index, leaf), op, tensor)

    def _require_grad(self, tensor):
        """The last operation made *tensor* with ``requires_grad=True``. For the graph it
        gets that afterwards: no compiler traces it."""
        maker = self.ops[-1]
        maker.metas = (maker.metas[0][:-1] + (False,),)
        how = handling(torch.Tensor.requires_grad_)
        self.ops.append(TapeOp(how, how.target, (self.table.known(tensor), True), {}, maker.place))

    # ---- outcomes ---------------------------------------------------------------

    def _check_value(self, op, result, found, tensors):
        if is_plain(result) and not found:
            self._enter_check(value_check(op.func), (_copy(result), _where(op.place), *op.args), op, tensors)
        elif is_array(result):
            self.constants.note_sharing(result, tensors[0])
            self._enter_check(array_check(op.func, result.copy()), (_where(op.place), *op.args), op, tensors)
        else:
            raise op.outcome

    def _check_shape(self, ref, op, tensor):
        self._enter_check(shape_check, (ref, tuple(tensor.shape), tensor.dtype, _where(op.place)), op, [tensor])

    def _enter_check(self, target, args, op, tensors):
        check = TapeOp(Handling(target.__name__, OP, target=target), target, args, op.kwargs
                       if target is not shape_check else {}, op.place)
        check.opaque = True
        self.outcomes += 1
        if target is not shape_check and self._as_at_start(tensors):
            self.prologue.append(check)
        else:
            if self._changed_input:
                self._put_back_on_failure(op.outcome)
            self.ops.append(check)

    def _put_back_on_failure(self, stop):
        """Should a check fail that comes now, inputs must be as they were. Their numbers can be put
        back; what autograd has noted of their change, or other memory, cannot: *stop*."""
        changed = self.mutated_inputs()
        if self._moved_input or not all(self._input_tensors[ref].is_leaf for ref in changed):
            raise stop
        self.put_back |= changed

    def _as_at_start(self, tensors):
        """Are all *tensors* inputs that no operation has changed?"""
        return all(type(self.table.known(tensor)) is InputRef
                   and storage_key(tensor) not in self._mutated_storages for tensor in tensors)

    # ---- opaque calls ---------------------------------------------------------

    def begin_section(self, how, func, args, kwargs, outcome=None, keeps=False):
        """From here to `end_section` a call runs that is one operation of the graph. With
        *outcome* it checks something itself, and what it gives is checked: else that is why
        the capture stops. *keeps*: see `Arguments`."""
        if outcome is not None:
            if not self.recorder.allows_outcomes:
                raise outcome
            if self._changed_input:
                self._put_back_on_failure(outcome)
        with torch._C.DisableTorchFunction():
            arguments = Arguments(args, kwargs, self.recorder, keeps)
            op = self._operation(with_arguments(how, arguments), func, arguments.tensors, {}, sys._getframe(1))
            op.opaque, op.outcome = True, outcome
            self.outcomes += outcome is not None
            tensors, self._tensors = self._tensors, []
            self._section = Section(op, tensors)

    def end_section(self, result):
        """The opaque call gave *result*."""
        with torch._C.DisableTorchFunction():
            section, self._section = self._section, None
            self.table.forget(section.made)
            found = []
            if not _collect(result, (), found) and not _plain_but_for_tensors(result):
                raise StopCapture("output-kind", f"a result of {section.name} that is no tensor or number")
            self._enter(section.op, section.op.handling, section.tensors, section.changed(), found)

    def begin_live(self, name, tensors):
        """From here to `end_live` a call runs that runs again at replay, after the graph."""
        with torch._C.DisableTorchFunction():
            self._live = Live(name, tensors)
            self._shown = (self._shown or set()) | {storage_key(tensor) for tensor in tensors}

    def end_live(self):
        ended, self._live = self._live, None
        with torch._C.DisableTorchFunction():
            ended.end()

    @property
    def in_section(self):
        return self._section is not None

    def _arguments_inside(self, args, kwargs):
        tensors = []
        for tensor in tensors_in((args, kwargs)):
            ref = self.table.known(tensor)
            if ref is None:
                ref = self._outside(tensor)
            self._section.use(tensor, ref, type(ref) is InputRef)
            tensors.append(tensor)
        return tensors

    def _after_inside(self, how, tensors, changed, found):
        for _, tensor in found:
            check_plain(tensor)
            if self.table.known(tensor) is None:
                self.table.add_result(tensor, OpRef(len(self.ops), None))
                self._section.made.add(impl_key(tensor))
        inside = TapeOp(how, None, (), {}, None)
        inside.inplace = inside.inplace or bool(changed)
        changed = self._changes(inside, how, tensors, changed, found)
        self._section.change(changed)
        self.constants.forget(changed)
        self._section.op.rng = self._section.op.rng or how.rng or how.foreign

    # ---- arguments ------------------------------------------------------------

    def _pack(self, value, numbers=True):
        """*value* with tensors as references and containers copied."""
        kind = type(value)
        if kind in PLAIN_TENSORS:
            self._tensors.append(value)
            ref = self.table.known(value)
            return ref if ref is not None else self._outside(value)
        if kind in IMMUTABLE:
            return value
        if kind is tuple:
            return tuple([self._pack(item, numbers) for item in value])
        if kind is list:
            return [self._pack(item, numbers) for item in value]
        if kind is slice:
            return slice(self._pack(value.start), self._pack(value.stop),
                         self._pack(value.step))
        return self._pack_rare(value, kind, numbers)

    def _pack_rare(self, value, kind, numbers):
        if isinstance(value, torch.Tensor):
            raise StopCapture("tensor-subclass", kind.__qualname__)
        if isinstance(value, tuple):    # torch.Size, namedtuples, torch.return_types
            return tuple([self._pack(item, numbers) for item in tuple.__iter__(value)])
        if kind is dict:
            return {self._pack(key): self._pack(item, numbers)
                    for key, item in value.items()}
        if isinstance(value, enum.Enum):
            return value
        if kind is type and value in PYTHON_DTYPES:
            return PYTHON_DTYPES[value]
        if kind is TENSOR_TYPE:     # x.type(torch.FloatTensor)
            return f"{value.__module__}.{value.__name__}"
        if isinstance(value, numpy.generic) and numbers and value.dtype.kind in "biufc":
            return value.item()
        raise StopCapture("graph-argument", kind.__qualname__)

    def _outside(self, tensor):
        """A tensor that no operation made: known to the recorder, or a stop."""
        node = self.recorder.external_tensor(tensor)
        if node is None:
            raise StopCapture("unknown-tensor", _kind(tensor))
        if tensor.layout is not torch.strided:
            raise StopCapture("tensor-subclass", _kind(tensor))
        ref = self.table.add_input(tensor, node.index)
        self._inputs[ref] = storage_key(tensor)
        self._input_storages.add(self._inputs[ref])
        self._input_tensors[ref] = tensor
        self.constants.forget([tensor])
        self.paths[ref] = node.path
        return ref

    # ---- changes in place -----------------------------------------------------

    def _note_changes(self, op, how, tensors, changed, found):
        changed = self._changes(op, how, tensors, changed, found)
        if not changed:
            return changed
        keys = {storage_key(tensor) for tensor in changed}
        self._mutated_storages |= keys
        self._changed_input = self._changed_input or not keys.isdisjoint(self._input_storages)
        if self._shown is not None and not keys.isdisjoint(self._shown | self._input_storages):
            raise StopCapture("effect", f"{how.name} changes a tensor after an effect may have looked at it")
        return changed

    def _changes(self, op, how, tensors, changed, found):
        """The tensors that an operation changed, also those without a new version."""
        if how.getter == "data":
            self._data_reads.setdefault(storage_key(found[0][1]), []).append(op)
        if op.inplace and not changed:
            changed = tensors       # inference tensors have no version; by name, then
        elif how.hidden_update and _may_update(op):
            changed = changed + [t for t in tensors[1:] if not t.requires_grad]
        elif isinstance(op.func, types.FunctionType) or "out" in op.kwargs:
            changed = changed + [t for t in tensors if t.is_inference()]
        for tensor in changed if self._data_reads else ():
            self._note_hidden_change(op, storage_key(tensor))
        if any(self.constants.exposed(tensor) for tensor in changed):
            raise StopCapture("aliasing", f"{how.name} on memory that a numpy array shares")
        return changed

    def _note_hidden_change(self, op, key):
        """A tensor and its ``data`` share memory but not their version: autograd does not
        notice changes, and no compiler keeps it so."""
        for read in self._data_reads.get(key, ()):
            read.opaque = op.opaque = True

    def set_data(self, tensor, value):
        """``tensor.data = value`` is about to run: *tensor* moves to the memory of *value*,
        and the two do not share a version."""
        old, new = storage_key(tensor), storage_key(value)
        self._data_reads.setdefault(new, [])
        self._mutated_storages.update((old, new))
        self._changed_input = self._changed_input or not {old, new}.isdisjoint(self._input_storages)
        for ref, key in self._inputs.items():
            if ref == self.table.known(tensor):
                self._inputs[ref] = new
                self._input_storages.add(new)
                self._moved_input = True

    def mutated_inputs(self):
        """The InputRefs whose memory some operation changed (through a view, too)."""
        return {ref for ref, key in self._inputs.items() if key in self._mutated_storages}

    # ---- for rules of the recorder ------------------------------------------

    def record_call(self, func, args=(), kwargs=None):
        """Enter a call that the function mode does not see (autocast's setters, …) and
        that the recorder lets run. Its result, if any, must not matter."""
        with torch._C.DisableTorchFunction():
            how = Handling(func.__name__, STATE, target=func)
            self._enter_state(self._operation(how, func, args, kwargs or {}, sys._getframe(1)))
            self._tensors = []

    def _enter_state(self, op):
        if op.func is torch._C._set_grad_enabled:
            self._grad = op.args[0]
        self.ops.append(op)

    def follow_grad_mode(self):
        """C++ code switches gradients off and on (around hooks of saved tensors) without
        asking the function mode; the graph says so where it matters."""
        grad = torch.is_grad_enabled()
        if self._section is None and grad != self._grad:
            self.record_call(torch._C._set_grad_enabled, (grad,))

    def record_result(self, func, args, kwargs, result):
        """Enter a call whose *result* is there already and which the function mode did
        not see: *func* is what makes the same (``torch.tensor`` for
        ``torch.FloatTensor([…])``)."""
        with torch._C.DisableTorchFunction():
            how = handling(func)
            op = self._operation(how, func, args, kwargs, sys._getframe(1))
            tensors, self._tensors = self._tensors, []
            self._after(op, how, args, kwargs, tensors, [version(t) for t in tensors], result)

    def record_opaque(self, how, args):
        """Enter an opaque operation that gives nothing and changes no data."""
        with torch._C.DisableTorchFunction():
            op = self._operation(how, how.target, args, {}, sys._getframe(1))
            tensors, self._tensors = self._tensors, []
            self._enter(op, how, tensors, [], [])

    def record_leaf(self, func, args, result):
        """`record_result` of a call whose result requires grad or not, on its own account."""
        self.record_result(func, args, {}, result)
        if result.requires_grad:
            self._require_grad(result)

    def check_shared_memory(self):
        if self.constants.changed_by_numpy():
            raise StopCapture("aliasing", "numpy wrote to memory that a tensor shares")

    def note_sharing(self, array, tensor):
        """*array* and *tensor* look at the same memory. Is it outside memory, which a copy
        of the tensor would not be?"""
        self.constants.note_sharing(array, tensor)
        while isinstance(array, numpy.ndarray):
            if self.recorder.node_of(array) is not None:
                self.table.outside_memory[storage_key(tensor)] = tensor.untyped_storage()
            array = array.base

    def enter_constant(self, tensor):
        """Enter a tensor that was made without an operation, whose data are known: the
        graph gets a copy of it each time."""
        copy = tensor.detach().clone()
        if copy.stride() != tensor.stride():
            raise StopCapture("unknown-tensor", "strides that a copy does not have")
        how = handling(torch.clone)
        op = TapeOp(how, torch.clone, (self.constant_input(copy),), {}, user_place(sys._getframe(1)))
        op.paths = ((),)
        op.metas = (tensor_facts(tensor),)
        self.table.add_result(tensor, OpRef(len(self.ops), 0))
        self.constants.add(tensor)
        self.ops.append(op)
        if tensor.requires_grad:
            self._require_grad(tensor)

    def constant_input(self, tensor):
        """A graph input that is always this very tensor, which nobody may change."""
        node = self.recorder.const_node(tensor, f"constant_{len(self.paths)}")
        ref = self.table.add_input(tensor, node.index)
        self.paths[ref] = node.path
        self.constants.add(tensor)
        return ref


def _integer_scalar(how, tensors):
    """Is there a one-element integer tensor where a number might be meant?"""
    for tensor in tensors[1:] if how.op is CALL_METHOD else tensors:
        if tensor.numel() == 1 and not (tensor.is_floating_point() or tensor.is_complex()):
            return True
    return False


def _may_update(op):
    """Does a batch_norm or instance_norm write to running statistics? Its sixth argument
    says so, whichever of them it is."""
    named = op.kwargs.get("training", op.kwargs.get("use_input_stats", True))
    return (op.args[5] if len(op.args) > 5 else named) is not False


def _copy(value):
    """A list that Python code was given, as it is now."""
    return [_copy(item) for item in value] if type(value) is list else value


def _where(place):
    return f"{place[0]}:{place[1]}"


def check_plain(tensor):
    """Stop at a result that a graph cannot hold."""
    if type(tensor) not in PLAIN_TENSORS or tensor.layout is not torch.strided:
        raise StopCapture("tensor-subclass", _kind(tensor))


def tensor_facts(tensor):
    """What a compiler may want to know of a tensor in advance."""
    return tensor.shape, tensor.stride(), tensor.dtype, tensor.device, tensor.requires_grad


def _collect(result, path, found):
    """Append (path, tensor) for each tensor in *result*; False if anything but tensors,
    None and tuples or lists of them is in it."""
    if isinstance(result, torch.Tensor):
        found.append((path, result))
        return True
    if result is None:
        return True
    if isinstance(result, (tuple, list)) and not isinstance(result, torch.Size):
        plain = True
        for i, item in enumerate(result):
            plain = _collect(item, path + (i,), found) and plain
        return plain and (bool(result) or type(result) in (tuple, list))
    return False


def _plain_but_for_tensors(result):
    if isinstance(result, (tuple, list)):
        return all(_plain_but_for_tensors(item) for item in result)
    return type(result) in IMMUTABLE or isinstance(result, torch.Tensor)


def _kind(tensor):
    layout = "" if tensor.layout is torch.strided else f", {tensor.layout}"
    return f"{type(tensor).__qualname__} of shape {tuple(tensor.shape)}{layout}"
