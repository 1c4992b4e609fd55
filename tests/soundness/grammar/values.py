"""Plain values and tensors as globals."""


def number(b):
    name = b.name("g")
    b.add(f"{name} = {b.number()}")
    b.feature("global number")
    thing = b.thing(name, nums=["@", "(@ + 1)", "(-@)", "abs(@)", "(1 if @ else 2)", "(3 if @ == 1 else 4)",
                                "float(f'{@}' == '1')", "(5 if type(@) is int else 6)", "(@ if @ is not None else 0)",
                                "len(str(@))", "round(@ * 0.5, 1)"],
                    changes=[f"@ = {b.number()}", f"@ = {b.other_number()}", f"@ = {b.number()}"], is_value=True)
    if b.choose.chance(3):
        thing.writes += [f"globals()['{name}'] = n"]
    return thing


def text(b):
    name = b.name("s")
    b.add(f"{name} = {b.choose.pick(TEXTS)}")
    b.feature("string")
    return b.thing(name, nums=["len(@)", "len(@.upper().split('A'))", "(2 if @ == 'ab' else 3)", "(4 if 'a' in @ else 5)",
                               "len(f'{@:>7}')", "len('%s-' % @)", "@.count('a')", "(1 if @.startswith('a') else 7)",
                               "len(@.join(['1', '2', '3']))", "{'ab': 2, 'abc': 3}.get(@, 4)", "(@ < 'b') * 2",
                               "getattr(SimpleNamespace(ab=2, abc=5), @, 8)"],
                   seqs=["map(len, @.split('b'))", "[ord(c) for c in @]"],
                   changes=[f"@ = {b.choose.pick(TEXTS)}", f"@ = {b.choose.pick(TEXTS)}"], is_value=True)


TEXTS = ("'ab'", "'abc'", "'b'", "''", "'Ab'", "'a b'")


def tensor(b):
    name = b.name("t")
    b.add(f"{name} = {b.tensor()}")
    b.feature("tensor")
    return b.thing(name, **tensor_fields(b))


def tensor_fields(b):
    return dict(
        nums=["@.shape[-1]", "@.dim()", "(2 if @.requires_grad else 3)", "@.numel()", "(4 if @.dtype is torch.float32 else 5)",
              "@.size(0)", "len(@)", "(2 if isinstance(@, nn.Parameter) else 1)", "@.stride()[0]", "getattr(@, 'tag', 7)",
              "(3 if @.is_contiguous() else 2)"],
        tens=["@", "@.relu()", "(@ * 2)", "@.detach()", "@.sum()", "@[..., :1]", "@.clone()", "torch.tanh(@)", "@.to(x.dtype)",
              "@.data", "@.mean(-1, keepdim=True)", "@.view_as(@)"],
        writes=["@.detach().add_(0.5)", "@.data.mul_(0.5)", "with torch.no_grad(): @.add_(1)",
                "with torch.no_grad(): @.copy_(x.detach())", "@.detach()[..., 0] = 2.0",
                "with torch.no_grad(): @[..., 0] += 1"],
        changes=[f"@ = {b.tensor()}", f"@ = {b.tensor()}", "@.data.add_(1)", f"@.data = {b.tensor()}.detach()",
                 "@ = @.detach().clone().requires_grad_(not @.requires_grad)", "@.tag = 3",
                 "@ = nn.Parameter(@.detach())", "@ = @.detach().double()"],
        decoys=["@.decoy = 4"])


def view(b):
    """A tensor that shares memory with another."""
    base = next((t for t in reversed(b.things) if t.path.startswith("t")), None)
    if base is None:
        return tensor(b)
    name = b.name("v")
    b.add(f"{name} = {base.path}.detach()" + b.choose.pick(("[..., :1]", "", "[:1]", ".reshape(-1)[:1]")))
    b.feature("view")
    return b.thing(name, **tensor_fields(b))


MAKERS = (number, text, tensor, view)
