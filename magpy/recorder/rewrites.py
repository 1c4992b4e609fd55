"""Arguments as a graph can hold them, where known data decide the shape of a result.

``x[mask]`` has a shape that a compiler cannot tell, unless what is in *mask* is known: then
it is ``x[i, j]`` with known indices. A known one-element tensor where a number is meant is
that number.

Packed sequences are the case where the whole call is another one: with known lengths they
are an index.
"""

import numpy
import torch

from magpy.reasons import StopCapture


def rewrite(tape, how, args, kwargs):
    """The arguments of a call as they go onto the tape."""
    rule = REWRITES.get(how.name)
    return (args, kwargs) if rule is None else rule(tape, args, kwargs)


def with_numbers(constants, how, args, kwargs):
    """The arguments with known numbers in place of tensors, and whether there were any.
    The receiver of a method stays a tensor."""
    first = args[:1] if how.op == "call_method" else ()
    rest = tuple([numbers(constants, arg) for arg in args[len(first):]])
    named = {name: numbers(constants, arg) for name, arg in kwargs.items()}
    changed = any(new is not old for new, old in zip(rest, args[len(first):])) or \
        any(new is not kwargs[name] for name, new in named.items())
    return first + rest, named, changed


def numbers(constants, value):
    """*value* with each known one-element integer tensor in it as the number it is."""
    if isinstance(value, torch.Tensor):
        exact = not (value.is_floating_point() or value.is_complex())
        return value.item() if exact and value.numel() == 1 and constants.known(value) else value
    if type(value) in (tuple, list):
        items = [numbers(constants, item) for item in value]
        return type(value)(items) if any(a is not b for a, b in zip(items, value)) else value
    if type(value) is slice:
        old = (value.start, value.stop, value.step)
        new = [numbers(constants, part) for part in old]
        return slice(*new) if any(a is not b for a, b in zip(new, old)) else value
    return value


def _get_item(tape, args, kwargs):
    return _index(tape, args, masks=True), kwargs


def _set_item(tape, args, kwargs):
    return _index(tape, args, masks=False), kwargs


def _index(tape, args, masks):
    index = args[1]
    parts = []
    for part in index if type(index) is tuple else (index,):
        if isinstance(part, numpy.ndarray):
            part = _fixed(tape, torch.tensor(part))
        if type(part) is slice:
            parts.append(numbers(tape.constants, part))
        elif masks and _is_known_mask(tape, part):
            parts += [_fixed(tape, each) for each in part.nonzero(as_tuple=True)]
        else:
            parts.append(part)
    if type(index) is tuple:
        same = len(parts) == len(index) and all(a is b for a, b in zip(parts, index))
    else:
        same = parts[0] is index
    return args if same else (args[0], tuple(parts), *args[2:])


def _is_known_mask(tape, part):
    return isinstance(part, torch.Tensor) and part.dtype in (torch.bool, torch.uint8) \
        and part.dim() > 0 and tape.constants.known(part)


def _fixed(tape, tensor):
    tape.constant_input(tensor)
    return tensor


def _repeat_interleave(tape, args, kwargs):
    """With known repeats, the size of the result is known."""
    given = dict(zip(("self", "repeats", "dim"), args), **kwargs)
    repeats, tensor = given.get("repeats"), given.get("self", given.get("input"))
    if not isinstance(repeats, torch.Tensor) or "output_size" in kwargs \
            or not tape.constants.known(repeats) or tensor is None:
        return args, kwargs
    size = tensor.numel() if given.get("dim") is None else tensor.shape[given["dim"]]
    total = repeats.sum().item() * (size if repeats.numel() == 1 else 1)
    return args, {**kwargs, "output_size": total}


def _tensor_split(tape, args, kwargs):
    at = args[1] if len(args) > 1 else None
    if isinstance(at, torch.Tensor) and tape.constants.known(at):
        args = (args[0], at.tolist(), *args[2:])
    return args, kwargs


def _new(tape, args, kwargs):
    """To ``new`` a torch.Size is a size and any other tuple is data; a graph has only tuples."""
    if len(args) == 2 and type(args[1]) is torch.Size:
        if not args[1]:
            raise StopCapture("graph-argument", "new with an empty torch.Size")
        args = (args[0], *args[1])
    return args, kwargs


REWRITES = {"new": _new, "__getitem__": _get_item, "__setitem__": _set_item,
            "repeat_interleave": _repeat_interleave, "tensor_split": _tensor_split}


# ---- calls that are others on the tape -------------------------------------------------------

def replacement(tape, how, args, kwargs):
    """What enters the result of a call in other words, ``enter(result)``, or None."""
    rule = REPLACEMENTS.get(how.name)
    return None if rule is None else rule(tape, args, kwargs)


def _pack_padded(tape, args, kwargs):
    """_pack_padded_sequence(input, lengths, batch_first): the rows of *input* that count."""
    if kwargs or len(args) != 3 or not tape.constants.known(args[1]):
        return None
    padded, _, batch_first = args

    def enter(result):
        data, sizes = result
        time, batch = _positions(tape, sizes)
        where = (batch, time) if batch_first else (time, batch)
        tape.record_result(torch.Tensor.__getitem__, (padded, where), {}, data)
        tape.enter_constant(sizes)
    return enter


def _pad_packed(tape, args, kwargs):
    """_pad_packed_sequence(data, batch_sizes, batch_first, padding_value, total_length)"""
    if kwargs or len(args) != 5 or not tape.constants.known(args[1]):
        return None
    data, sizes, batch_first, value, _ = args

    def enter(result):
        padded, lengths = result
        steps = padded.transpose(0, 1) if batch_first else padded
        empty = data.new_full(steps.shape, value)
        tape.record_result(torch.Tensor.new_full, (data, tuple(steps.shape), value), {}, empty)
        where = _positions(tape, sizes)
        filled = empty.index_put(where, data)
        tape.record_result(torch.Tensor.index_put, (empty, where, data), {},
                           filled if batch_first else padded)
        if batch_first:
            tape.record_result(torch.Tensor.transpose, (filled, 0, 1), {}, padded)
        tape.enter_constant(lengths)
    return enter


def _positions(tape, sizes):
    """The time and the place in the batch of each row of a packed sequence."""
    rows = [(time, batch) for time, size in enumerate(sizes.tolist()) for batch in range(size)]
    return tuple(_fixed(tape, each.contiguous()) for each in torch.tensor(rows).unbind(1))


REPLACEMENTS = {"_pack_padded_sequence": _pack_padded, "_pad_packed_sequence": _pad_packed}
