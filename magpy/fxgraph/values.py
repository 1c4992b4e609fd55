"""What each node's value looks like, for the compilers that ask in advance.

Dynamo leaves a fake tensor on every node (``meta["example_value"]``). AOTAutograd's disk
cache refuses a graph whose method calls lack it, and Inductor's pre-grad passes skip
what lacks it. The tape has seen the real tensors, so their metadata is noted while
recording and turned into fakes only for a compiler that wants them; running the
graph on fake tensors once more would take as long as AOTAutograd's own trace.
"""

import torch

FACTS = "magpy_facts"
OPAQUE = "magpy_opaque"     # on a node that a compiler must not trace
PART = "magpy_part"     # on a node that takes one tensor out of an operation's result


def add_example_values(gm, fake_mode):
    """Set ``example_value`` on the operations of *gm* whose values are known. Nodes that
    look alike share a fake: compilers read it, and an operation on it makes a new one."""
    fakes = {}

    def fake(facts):
        found = fakes.get(facts)
        if found is None:
            shape, stride, dtype, device, requires_grad = facts
            found = fakes[facts] = torch.empty_strided(
                shape, stride, dtype=dtype, device=device, requires_grad=requires_grad)
        return found

    with fake_mode:
        for node in gm.graph.nodes:
            facts = node.meta.pop(FACTS, None)
            if not facts:
                continue
            if isinstance(facts[0], torch.Size):
                node.meta["example_value"] = fake(facts)
            else:
                node.meta["example_value"] = tuple([fake(each) for each in facts])
