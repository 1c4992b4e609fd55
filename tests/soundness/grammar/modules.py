"""nn.Modules: parameters, buffers, submodules, containers, hooks."""


def module(b):
    cls, name = b.name("Net"), b.name("m")
    layers = b.choose.some(LAYERS, 1 + b.choose.below(3))
    shared = b.choose.chance(4)
    b.add(f"class {cls}(nn.Module):", "    def __init__(self, scale):", "        super().__init__()", "        self.scale = scale",
          "        self.w = P(3, 3)", "        self.register_buffer('buf', T(4, 3))", f"        self.body = {container(b, layers, shared)}",
          "        self.opt = None", "        self.seen = 0",
          "    def forward(self, x, n=1, k=1):", *[f"        {line}" for line in forward(b)], "        return x",
          f"{name} = {cls}({b.number()})")
    b.functions.append(name)
    b.feature("module")
    other = b.choose.pick(b.things).path if b.things else "2"
    return b.thing(
        name,
        nums=["@.scale", "@.seen", "(2 if @.training else 3)", "len(list(@.children()))", "len(@.body)", "len([*@.parameters()])",
              "len(dict(@.named_modules()))", "(2 if @.opt is None else 3)", "(2 if 'w' in @._parameters else 3)", "getattr(@, 'extra', 4)",
              "len(@._forward_hooks)", "(2 if hasattr(@, 'w') else 3)", "len(@.state_dict())", "@.w.shape[0]", "(2 if isinstance(@.body, nn.Sequential) else 3)"],
        tens=["@(x)", "@.w", "@.buf", "@.forward(x)", "sum(p.sum() for p in @.parameters())", "@.body[0](x)", "@.__call__(x, n)"],
        writes=["@.seen += 1", "@.scale = n", "@.buf.add_(1)", "@.buf = @.buf + 1", "@.last = x.detach()", "@.train(not @.training)", "@.opt = n",
                "@.buf = x[0].detach()", "@.eval()", "with torch.no_grad(): @.w.add_(0.5)"],
        changes=[f"@.scale = {b.number()}", "@.eval()", "@.train()", "@.w = P(9, 3)", "@.w.data = T(8, 3)", "@.buf = T(7, 3)", "@.buf.add_(1)",
                 "@.w.requires_grad_(not @.w.requires_grad)", f"@.body[0] = {b.choose.pick(LAYERS)}", "@.body[-1] = @.body[0]",
                 f"@.hook = @.register_forward_hook(lambda m, i, o: o + {b.number()} % 7)", "@.hook.remove() if hasattr(@, 'hook') else None",
                 f"@.register_forward_pre_hook(lambda m, i: (i[0] * 2,))", "@.body[0].register_forward_hook(lambda m, i, o: o - 1)",
                 "@.requires_grad_(False)", "@.opt = 3", f"@.extra = {b.number()}", f"{cls}.forward = lambda self, x, n=1, k=1: x + self.w",
                 "@.forward = lambda x, n=1, k=1: x * 3", "@.__dict__.pop('forward', None)", "@.double()", "@.float()", "@ = copy.deepcopy(@)",
                 "@.seen = 0", "@.w = None", "@._forward_hooks.clear()", "@.body.training = not @.body.training", "patch(nn.ReLU, 'forward', lambda self, x: x - 2)",
                 "@.load_state_dict({k: v + 1 for k, v in @.state_dict().items()})", f"@.scale = {other}", "@.zero_grad()",
                 f"@._modules['body'] = nn.Sequential({b.choose.pick(LAYERS)})", "@._buffers['buf'] = None", "@.register_buffer('buf2', T(1, 3))"],
        decoys=["@.decoy = 1", f"{cls}.decoy = 2", "@.w.grad = T(5, 3)", "@.w.data.mul_(0.5)"])


LAYERS = ("nn.Linear(3, 3)", "nn.ReLU()", "nn.Dropout(0.5)", "nn.BatchNorm1d(3)", "nn.LayerNorm(3)", "nn.Identity()", "nn.Tanh()",
          "nn.Sequential(nn.Linear(3, 3), nn.ReLU())", "nn.Softmax(dim=-1)")


def container(b, layers, shared):
    inner = ", ".join(layers)
    kind = b.choose.below(3)
    if kind == 0:
        b.feature("Sequential")
        return f"nn.Sequential({inner})"
    b.feature("ModuleList")
    return f"nn.ModuleList([{inner}])"


def forward(b):
    lines = b.choose.some(("x = x + self.scale % 7", "x = x * self.w", "x = x + self.buf", "self.seen += 1", "self.buf.mul_(0.5)",
                           "if self.training: x = x + 1", "x = x + n % 3", "self.last = x.detach()", "self.buf = self.buf * 0.5 + 1",
                           "if self.opt is not None: x = x + 2", "self.__dict__['seen'] = 4"), 1 + b.choose.below(3))
    if b.choose.chance(2):
        lines.append("for layer in self.body: x = layer(x)")
    return lines


def module_dict(b):
    name = b.name("md")
    first, second = b.choose.some(LAYERS, 2)
    b.add(f"{name} = nn.ModuleDict({{'p': {first}, 'q': {second}}})")
    b.feature("ModuleDict")
    return b.thing(name, nums=["len(@)", "(2 if 'q' in @ else 3)", "len([*@.keys()])"], tens=["@['p'](x)", "[*@.values()][0](x)"],
                   changes=[f"@['p'] = {second}", "@['q'] = @['p']", "@.pop('q') if 'q' in @ else None", f"@['z'] = {first}", "@.eval()",
                            "@['p'].register_forward_hook(lambda m, i, o: o * 2)"])


MAKERS = (module, module, module_dict)
