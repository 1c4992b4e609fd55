"""Language models from transformers, two layers, random-init: dict-like outputs and caches come back as they are."""
import pytest
import torch

from support.expect import check

transformers = pytest.importorskip("transformers")
pytestmark = pytest.mark.slow


def tokens(i, n=6):
    return torch.randint(0, 50, (2, n), generator=torch.Generator().manual_seed(i))


def bert(train=False, **kwargs):
    config = transformers.BertConfig(
        vocab_size=50, hidden_size=16, num_hidden_layers=2, num_attention_heads=2, intermediate_size=32,
        max_position_embeddings=32, **kwargs)
    return transformers.BertModel(config).train(train)


def gpt2(train=False, **kwargs):
    config = transformers.GPT2Config(vocab_size=50, n_embd=16, n_layer=2, n_head=2, n_positions=32, **kwargs)
    return transformers.GPT2LMHeadModel(config).train(train)


@pytest.mark.parametrize("train", [True, False])
def test_bert(train):
    check(lambda: bert(train), tokens, train=train)


def test_bert_with_all_outputs():
    def build():
        m = bert()
        m(tokens(99), output_hidden_states=True)    # the library installs its hooks at the first such call
        return m
    check(build, lambda i: ((tokens(i),), {"output_hidden_states": True}), context=torch.no_grad)


def padded(i):
    mask = torch.ones(2, 6, dtype=torch.long)
    mask[1, 4 - i % 2:] = 0
    return (tokens(i),), {"attention_mask": mask}


def test_bert_with_a_padding_mask():
    check(bert, padded, context=torch.no_grad)


def test_bert_tuple_output():
    check(lambda: bert(), lambda i: ((tokens(i),), {"return_dict": False}))


def test_bert_classifier_with_loss():
    def build():
        config = transformers.BertConfig(
            vocab_size=50, hidden_size=16, num_hidden_layers=2, num_attention_heads=2, intermediate_size=32,
            max_position_embeddings=32, num_labels=3, problem_type="single_label_classification")
        return transformers.BertForSequenceClassification(config).train()

    check(build, lambda i: ((tokens(i),), {"labels": torch.tensor([0, 2])}), train=True)


@pytest.mark.parametrize("train", [True, False])
def test_gpt2(train):
    """The output carries past_key_values, a cache object made during the call."""
    check(lambda: gpt2(train), tokens, train=train)


def test_gpt2_without_cache():
    def inputs(i):
        return (tokens(i),), {"use_cache": False, "attention_mask": torch.ones(2, 6, dtype=torch.long)}
    check(lambda: gpt2(attn_implementation="eager"), inputs, context=torch.no_grad)


def test_gpt2_that_looks_for_packed_sequences():
    check(gpt2, lambda i: ((tokens(i),), {"use_cache": False}), context=torch.no_grad)


def test_gpt2_with_loss():
    check(lambda: gpt2(True), lambda i: ((tokens(i),), {"labels": tokens(i)}), train=True)


def test_gpt2_attention_implementations():
    for kind in ("eager", "sdpa"):
        check(lambda: gpt2(attn_implementation=kind), tokens, context=torch.no_grad)


def test_bert_with_a_padding_mask_captured_as_under_torch_compile():
    """With the switch, the library skips its look into the mask, as it does for torch.compile."""
    import magpy

    def masked(i):
        (ids,), kwargs = padded(i)
        return (ids,), {"attention_mask": kwargs["attention_mask"].clone()}
    with magpy.config.patch(is_compiling=True):
        check(bert, masked)
    assert not torch.compiler.is_compiling()
