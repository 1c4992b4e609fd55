"""What comes with the call: dtype, shape, strides, requires_grad, aliasing, structure; in-place writes to it."""
import pytest
import torch

import magpy
from support.expect import batch, check
from support.scenario import sequence


def double(x):
    return x * 2 + x.dim()


def test_dtype():
    a, b = lambda: batch(0), lambda: batch(0).double()
    sequence(double, [a, a, b, b, a, b], [1, 1, 2, 2, 2, 2])


def test_many_dtypes():
    kinds = [torch.float32, torch.float16, torch.bfloat16, torch.int32, torch.int64, torch.bool, torch.complex64]
    makes = [lambda d=d: torch.ones(2, 3, dtype=d) for d in kinds]
    sequence(lambda x: x + 1, makes + makes, [*range(1, 8)] + [7] * 7)


def test_shape():
    a, b = lambda: batch(0, 3, 4), lambda: batch(1, 5, 4)
    sequence(lambda x: x * x.shape[0] + x.size(1), [a, a, b, b, a, b], [1, 1, 2, 2, 2, 2])


def test_number_of_dimensions():
    a, b, c = lambda: batch(0, 4), lambda: batch(0, 4, 1), lambda: batch(0)[0, 0]
    sequence(double, [a, b, c, a, b, c], [1, 2, 3, 3, 3, 3])


def test_strides():
    a, b = lambda: batch(0, 4, 4), lambda: batch(0, 4, 4).t()
    sequence(lambda x: (x * 2, x.is_contiguous(), x.stride()), [a, a, b, b, a], [1, 1, 2, 2, 2])


def test_channels_last():
    a = lambda: batch(0, 2, 3, 4, 4)  # noqa: E731
    b = lambda: a().to(memory_format=torch.channels_last)  # noqa: E731
    sequence(lambda x: torch.nn.functional.avg_pool2d(x, 2), [a, b, a, b], [1, 2, 2, 2])


def test_requires_grad():
    a, b = lambda: batch(0), lambda: batch(0).requires_grad_()
    sequence(lambda x: x * 2 if x.requires_grad else x * 3, [a, a, b, b, a], [1, 1, 2, 2, 2])


def test_requires_grad_of_the_result_only():
    a, b = lambda: batch(0), lambda: batch(0).requires_grad_()
    sequence(lambda x: x * 2, [a, b, a, b], [1, 2, 2, 2])


def test_parameter_for_tensor():
    a, b = lambda: batch(0).requires_grad_(), lambda: torch.nn.Parameter(batch(0))
    sequence(lambda x: (x * 2, isinstance(x, torch.nn.Parameter)), [a, b, a, b], [1, 2, 2, 2])


def test_layout():
    a, b = lambda: torch.eye(3), lambda: torch.eye(3).to_sparse()
    sequence(lambda x: (x.is_sparse, x + x), [a, a, b, b, a], [None] * 5, fullgraph=False)


def test_conjugate_view():
    a = lambda: torch.complex(batch(0), batch(1))  # noqa: E731
    sequence(lambda x: (x.is_conj(), x * 2), [a, lambda: a().conj(), a], [1, 2, 2])


def test_negative_view():
    a = lambda: torch.complex(batch(0), batch(1))  # noqa: E731
    sequence(lambda x: x.imag * 2, [a, lambda: a().conj()], [1, 2])


def test_inference_tensor():
    def inference():
        with torch.inference_mode():
            return batch(0)
    sequence(lambda x: x * 2, [lambda: batch(0), inference, lambda: batch(0)], [1, 2, 2])


def test_meta_device():
    a, b = lambda: batch(0), lambda: batch(0).to("meta")
    sequence(lambda x: x.device.type, [a, b, a], [1, 2, 2])


def twice():
    t = batch(0)
    return t, t


def apart():
    return batch(0), batch(0)


def test_same_tensor_twice_with_a_write():
    def f(a, b):
        a.add_(1)
        return a * b
    sequence(f, [apart, apart, twice, twice, apart, twice], [1, 1, 2, 2, 2, 2])


def test_same_tensor_twice_identity():
    sequence(lambda a, b: a is b, [apart, twice, apart, twice], [1, 2, 2, 2])


def test_same_tensor_first_then_apart():
    def f(a, b):
        a.mul_(2)
        return a + b
    sequence(f, [twice, twice, apart, apart, twice], [1, 1, 2, 2, 2])


def test_views_of_one_storage_with_a_write():
    def overlapping():
        base = batch(0, 8)
        return base[:4], base[2:6]

    def separate():
        return batch(0, 8)[:4], batch(0, 8)[2:6]

    def f(a, b):
        a.add_(1)
        return a * b
    sequence(f, [separate, separate, overlapping, overlapping, separate], [1, 1, 2, 2, 2])


def test_view_of_a_parameter_with_a_write():
    m = torch.nn.Linear(4, 4)

    def f(x):
        with torch.no_grad():
            x.zero_()
        return m.weight.sum() + x.sum()

    sequence(f, [lambda: (batch(0, 4, 4),), lambda: (batch(0, 4, 4),)], [1, 1])
    sequence(f, [lambda: (m.weight.detach(),)], [1])


def test_in_place_change_of_an_input():
    def f(x):
        x.add_(1)
        return x * 2
    check(lambda: f)


def test_in_place_change_of_an_input_between_calls():
    x = batch(0)
    seen = []
    for i in range(4):
        seen.append(check(lambda: lambda t: t.sum(), inputs=lambda _: x, calls=2))
        x.add_(1)


def test_in_place_change_of_a_view_of_an_input():
    def f(x):
        x[0].zero_()
        x[:, 1] += 5
        return x.sum(), x
    check(lambda: f)


def test_in_place_metadata_change_of_an_input():
    def f(x):
        x.unsqueeze_(0)
        return x * 2
    check(lambda: f, captures=None, fullgraph=False)


def test_number_of_arguments():
    def f(*args):
        return sum(args) * len(args)
    one, two = lambda: (batch(0),), lambda: (batch(0), batch(1))
    sequence(f, [one, two, one, two], [1, 2, 2, 2])


def test_positional_for_keyword():
    def f(x, k=1.0):
        return x * k
    a, b, c = lambda: ((batch(0),), {}), lambda: ((batch(0), 2.0), {}), lambda: ((batch(0),), {"k": 2.0})
    sequence(f, [a, b, c, a, b, c], [1, 2, 3, 3, 3, 3])


def test_order_of_keywords():
    def f(x, **kw):
        for k, v in kw.items():
            x = x * v + len(k)
        return x, list(kw)
    a = lambda: ((batch(0),), {"p": 2.0, "qq": 3.0})  # noqa: E731
    b = lambda: ((batch(0),), {"qq": 3.0, "p": 2.0})  # noqa: E731
    sequence(f, [a, b, a, b], [1, 2, 2, 2])


def test_optional_argument():
    def f(x, mask=None):
        return x if mask is None else x * mask
    a, b = lambda: (batch(0), None), lambda: (batch(0), batch(1))
    sequence(f, [a, b, a, b], [1, 2, 2, 2])


def test_nested_structure():
    def f(d):
        return d["a"][0] * d["b"]["c"]
    a = lambda: ({"a": [batch(0)], "b": {"c": 2.0}},)  # noqa: E731
    b = lambda: ({"a": [batch(0)], "b": {"c": 3.0}},)  # noqa: E731
    c = lambda: ({"a": (batch(0),), "b": {"c": 3.0}},)  # noqa: E731
    sequence(f, [a, a, b, b, c, c, a], [1, 1, 2, 2, 3, 3, 3])


def test_same_list_twice_with_a_write():
    def f(x, a, b):
        a.append(1.0)
        return x * len(b)

    def same():
        v = [0.0]
        return batch(0), v, v

    def apart():
        return batch(0), [0.0], [0.0]

    sequence(f, [apart, apart, same, same, apart], [1, 1, 2, 2, 2])


def marked(tag=None, twice=False):
    """Two tensors, the first of which may have an attribute; or one twice."""
    x = batch(0)
    if tag is not None:
        x.tag = tag
    return x, x if twice else batch(1)


def test_attributes_of_tensors():
    """Read, written and read again; another attribute does not matter."""
    seen = []

    def f(x, y):
        scale = getattr(x, "tag", 2.0)
        y.seen = scale + 1
        y.doubled = y * 2
        x.tag = None
        seen.append(y)
        return x * scale * y.seen, x.tag, getattr(y, "tag", "none")

    def calls():
        for make in (marked, marked, lambda: marked(3.0), lambda: marked(twice=True)):
            yield make
            yield make

    sequence(f, list(calls()), [1, 1, 1, 1, 2, 2, 3, 3])
    for tensor in seen:
        assert tensor.seen in (3.0, 4.0) and torch.equal(tensor.doubled, tensor * 2)


def test_an_attribute_of_a_tensor_deleted():
    def f(x):
        del x.tag
        return x * 2, hasattr(x, "tag")

    def inputs(i):
        x = batch(i)
        x.tag = i
        return x,

    check(lambda: f, inputs)
    x = inputs(9)[0]
    compiled = magpy.compile(f, backend="eager", fullgraph=True)
    compiled(x)
    for each in (compiled, f):
        with pytest.raises(AttributeError):
            each(x)


def test_a_method_of_a_tensor_replaced_by_the_call():
    def f(x):
        x.relu = lambda: x - 1
        return x.relu() + 1

    compiled = magpy.compile(f, backend="eager")
    for i in range(3):
        assert torch.equal(compiled(batch(i)), f(batch(i)))
    assert magpy.explain(compiled).captures == 0
