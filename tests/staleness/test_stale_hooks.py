"""Hooks registered or removed after the first call: on a module, on all modules."""
import torch
from torch import nn

from support.expect import batch, check
from support.scenario import Case, scenario


def net():
    return nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 2))


def hook_case(m, register):
    """``register()`` adds the hook and gives the handle that removes it."""
    handles = []

    def back():
        while handles:
            handles.pop().remove()

    return Case(m, lambda: handles.append(register()), back)


@scenario
def test_forward_hook_changes_the_output():
    m = net()
    return hook_case(m, lambda: m[1].register_forward_hook(lambda mod, args, out: out + 1))


@scenario
def test_forward_hook_with_keywords():
    m = net()
    return hook_case(m, lambda: m[1].register_forward_hook(lambda mod, args, kwargs, out: out * 2, with_kwargs=True))


@scenario
def test_forward_hook_on_the_compiled_module_itself():
    m = net()
    return hook_case(m, lambda: m.register_forward_hook(lambda mod, args, out: out * 2))


@scenario
def test_forward_pre_hook():
    m = net()
    return hook_case(m, lambda: m[0].register_forward_pre_hook(lambda mod, args: (args[0] * 0.5,)))


@scenario
def test_forward_pre_hook_with_keywords():
    m = net()
    return hook_case(m, lambda: m[2].register_forward_pre_hook(lambda mod, a, k: ((a[0] + 1,), k), with_kwargs=True))


@scenario
def test_global_forward_hook():
    m = net()
    register = nn.modules.module.register_module_forward_hook
    return hook_case(m, lambda: register(lambda mod, args, out: out + 1 if isinstance(mod, nn.ReLU) else None))


@scenario
def test_global_forward_pre_hook():
    m = net()
    register = nn.modules.module.register_module_forward_pre_hook
    return hook_case(m, lambda: register(lambda mod, args: (args[0] + 1,)))


@scenario
def test_second_hook_beside_a_first():
    m = net()
    m[1].register_forward_hook(lambda mod, args, out: out + 1)
    return hook_case(m, lambda: m[1].register_forward_hook(lambda mod, args, out: out * 3))


@scenario
def test_hook_that_closes_over_a_number():
    m = net()
    k = 2.0
    m[1].register_forward_hook(lambda mod, args, out: out * k)

    def put(v):
        nonlocal k
        k = v

    return Case(m, lambda: put(3.0), lambda: put(2.0))


def test_hook_that_appends_what_it_sees():
    """An activation probe: the list it fills is an effect that every hit repeats."""
    def build():
        m = net()
        m.seen = []
        m[1].register_forward_hook(lambda mod, args, out: m.seen.append(out))
        return m

    check(build, state=lambda m: m.seen)


def test_hook_that_counts():
    def build():
        m = net()
        m.count = 0

        def hook(mod, args, out):
            m.count += 1

        m[1].register_forward_hook(hook)
        return m

    check(build, state=lambda m: m.count)


def test_hook_under_no_grad():
    def build():
        m = net()
        m[0].register_forward_hook(lambda mod, args, out: out - 1)
        return m

    check(build, context=torch.no_grad, inputs=batch)
