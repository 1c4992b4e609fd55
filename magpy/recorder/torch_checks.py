"""Arguments that decide whether a torch function can be in a graph.

``CHECKS[name](args, kwargs)`` runs before the call and raises StopCapture;
``BEFORE[name](tape, args, kwargs)`` tells whether the call is going to change anything.
"""

import torch

from magpy.reasons import StopCapture


def tensors_in(value):
    """The tensors in tuples, lists, slices and dicts."""
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, slice):
        yield from tensors_in((value.start, value.stop, value.step))
    elif isinstance(value, (tuple, list)):
        for item in value:
            yield from tensors_in(item)
    elif isinstance(value, dict):
        for item in value.values():
            yield from tensors_in(item)


def _check_index(args, kwargs):
    """A boolean mask gives a shape that depends on data; so does a tensor in a slice."""
    index = args[1]
    for part in index if type(index) is tuple else (index,):
        if isinstance(part, slice):
            if next(tensors_in(part), None) is not None:
                raise StopCapture("dynamic-output-shape", "a tensor in a slice")
        elif isinstance(part, torch.Tensor):
            if part.dtype in (torch.bool, torch.uint8):
                raise StopCapture("dynamic-output-shape", "indexing with a mask")
        elif isinstance(part, (list, tuple)):
            for tensor in tensors_in(part):
                if tensor.dtype in (torch.bool, torch.uint8):
                    raise StopCapture("dynamic-output-shape", "indexing with a mask")


def _check_setitem(args, kwargs):
    """``x[mask] = y`` keeps x's shape, but with a slice the shapes must not be data."""
    index = args[1]
    for part in index if type(index) is tuple else (index,):
        if isinstance(part, slice) and next(tensors_in(part), None) is not None:
            raise StopCapture("tensor-data", "a tensor in a slice")


def _check_where(args, kwargs):
    if len(args) + len(kwargs) < 3:
        raise StopCapture("dynamic-output-shape", "where with one argument")


def _check_repeat_interleave(args, kwargs):
    repeats = kwargs.get("repeats", args[1] if len(args) > 1 else None)
    if repeats is not None and not isinstance(repeats, torch.Tensor):
        return
    if kwargs.get("output_size") is None:
        raise StopCapture("dynamic-output-shape", "repeat_interleave with a tensor")


def _check_one_hot(args, kwargs):
    if kwargs.get("num_classes", args[1] if len(args) > 1 else -1) == -1:
        raise StopCapture("dynamic-output-shape", "one_hot without num_classes")


def _check_tensor_split(args, kwargs):
    rest = (args[1:], kwargs)
    if next(tensors_in(rest[0]), None) is not None or \
            next(tensors_in(rest[1]), None) is not None:
        raise StopCapture("dynamic-output-shape", "tensor_split at a tensor")


def _check_range(args, kwargs):
    bounds = [value for name, value in kwargs.items() if name != "out"]
    if next(tensors_in((args, bounds)), None) is not None:
        raise StopCapture("dynamic-output-shape", "a range whose bounds are tensors")


def _check_assert(args, kwargs):
    if isinstance(args[0], torch.Tensor):
        raise StopCapture("tensor-data", "torch._assert on a tensor")


def _check_data_list(args, kwargs):
    """``torch.tensor([t, …])`` reads the tensors' values while it builds the list."""
    data = kwargs.get("data", args[-1] if args else None)
    if isinstance(data, (list, tuple)) and next(tensors_in(data), None) is not None:
        raise StopCapture("tensor-data", "a tensor made from a list that holds tensors")


CHECKS = {
    "__getitem__": _check_index, "__setitem__": _check_setitem, "where": _check_where,
    "repeat_interleave": _check_repeat_interleave, "one_hot": _check_one_hot,
    "tensor_split": _check_tensor_split, "arange": _check_range, "range": _check_range,
    "_assert": _check_assert, "tensor": _check_data_list, "as_tensor": _check_data_list,
    "new_tensor": _check_data_list, "asarray": _check_data_list}


def _will_change_requires_grad(tape, args, kwargs):
    wanted = args[1] if len(args) > 1 else kwargs.get("requires_grad", True)
    return args[0].requires_grad != wanted


def _will_detach(tape, args, kwargs):
    return args[0].requires_grad


def _will_set_data(tape, args, kwargs):
    if isinstance(args[1], torch.Tensor):       # else an error is to come
        tape.set_data(args[0], args[1])
    return True


BEFORE = {"requires_grad_": _will_change_requires_grad, "detach_": _will_detach,
          "set_data": _will_set_data}


def check_outside_autograd(how, tensor):
    """Guards hold whether an outside tensor requires grad, not how it came to that."""
    if how.name == "grad" or tensor.requires_grad and type(tensor) is not torch.nn.Parameter:
        raise StopCapture("autograd-in-graph", how.name)


def check_no_grad_yet(args, kwargs):
    """A tensor of the call that needs no gradient has none."""
    if args[0].requires_grad:
        raise StopCapture("autograd-in-graph", "grad")
