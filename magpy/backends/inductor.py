"""TorchInductor: the default backend.

`torch._inductor.compile_fx.compile_fx` is called as torch.compile calls it, inside a
tracing context (see tracing.py). The simpler entry points lose something: without the
context `torch._inductor.compile` bypasses both disk caches, and `standalone_compile`
adds a saved artifact to every compilation. AOTAutograd makes the backward, functional
forms of in-place operations and the write-back of changed inputs; parameters and
buffers are plain inputs, so a rebound Parameter is simply another argument. Where its wrappers
have nothing to do they are left out (see direct.py).
"""

import torch
import torch._inductor
from torch._inductor import config as inductor_config
from torch._inductor.compile_fx import compile_fx

from magpy.backends import direct


def compile_graph(gm, example_inputs, config=None):
    """Compile *gm* for inputs like *example_inputs*, under the grad mode now set."""
    config = dict(config or ())
    if freezes(config):
        config["freezing"] = any(True for _ in gm.buffers())
        config["freezing_discard_parameters"] = False
    outputs = len(gm.graph.output_node().args[0])
    return direct.without_wrappers(compile_fx(gm, example_inputs, config_patches=config or None), outputs)


def freezes(config):
    """Are weights to be constants, now and under these settings? Only without gradients."""
    return not torch.is_grad_enabled() and config.get("freezing", inductor_config.freezing)


def config_of(mode=None, options=None):
    """The Inductor settings that torch.compile's *mode* and *options* stand for."""
    if mode is not None and options is not None:
        raise RuntimeError("Either mode or options can be specified, but both can't be "
                           "specified at the same time.")
    settings = {}
    if mode and mode != "default":
        settings.update(torch._inductor.list_mode_options(mode))
    known = inductor_config.get_config_copy() if options else {}
    for name, value in (options or {}).items():
        key = name.replace("-", "_")
        if key not in known:
            raise RuntimeError(f"Unexpected optimization option {name}, "
                               f"known options are {sorted(known)}")
        expected = inductor_config.get_type(key)
        if isinstance(expected, type) and not isinstance(value, expected):
            raise RuntimeError(f"Unexpected type of attr {name}, got "
                               f"{type(value).__name__} should be {expected.__name__}")
        settings[key] = value
    return settings
