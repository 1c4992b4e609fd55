"""Networks from torchvision, random-init, on small images: the library's own code, as it is."""
import pytest
import torch

from support.expect import batch, check

models = pytest.importorskip("torchvision.models")


def make(name, train, **kwargs):
    def build():
        m = getattr(models, name)(weights=None, num_classes=10, **kwargs)
        return m.train(train)
    return build


@pytest.mark.parametrize("train", [True, False])
def test_resnet18(train):
    check(make("resnet18", train), lambda i: batch(i, 2, 3, 32, 32), train=train)


@pytest.mark.slow
def test_resnet18_inductor():
    check(make("resnet18", False), lambda i: batch(i, 1, 3, 32, 32), backend="inductor", context=torch.no_grad)


@pytest.mark.slow
@pytest.mark.parametrize("train", [True, False])
def test_mobilenet_v3_small(train):
    check(make("mobilenet_v3_small", train), lambda i: batch(i, 2, 3, 64, 64), train=train)


@pytest.mark.slow
@pytest.mark.parametrize("train", [True, False])
def test_densenet121(train):
    check(make("densenet121", train), lambda i: batch(i, 2, 3, 32, 32), train=train)


@pytest.mark.slow
@pytest.mark.parametrize("train", [True, False])
def test_vit_b_16(train):
    """The widths of vit_b_16 are kept, its depth and its image are small."""
    check(make("vit_b_16", train, image_size=32), lambda i: batch(i, 1, 3, 32, 32), train=train)
