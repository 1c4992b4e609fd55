"""Names of torch functions and tensor attributes, by what they mean for a recording.

Lists only; `torch_ops` makes the table of functions from them. Whatever hands out
something other than a tensor must be in one of the META lists, or it ends the capture.
"""

import operator

# Tensor attributes that TensorMeta guards (or that follow from what it guards).
META_ATTRIBUTES = """
    shape dtype device layout ndim requires_grad itemsize nbytes
    is_cuda is_cpu is_xla is_xpu is_ipu is_hpu is_mps is_mtia is_vulkan is_maia is_meta
    is_nested is_sparse is_sparse_csr is_mkldnn is_quantized
""".split()

# Tensor attributes whose value is a tensor that shares storage with it.
TENSOR_ATTRIBUTES = "T H mT mH real imag data".split()

META_METHODS = """
    size dim numel nelement ndimension stride element_size get_device type
    is_contiguous is_floating_point is_complex is_signed is_conj is_neg is_inference
    is_same_size is_distributed is_coalesced sparse_dim dense_dim _is_zerotensor
    __len__ dim_order
""".split()

META_FUNCTIONS = """
    numel is_floating_point is_complex is_signed is_conj is_neg is_inference
    is_same_size is_distributed _is_zerotensor result_type can_cast promote_types
    get_device cudnn_is_acceptable _use_cudnn_rnn_flatten_weight
    _has_compatible_shallow_copy_type
""".split()

# Tensor methods and attributes that read or change autograd's own state.
AUTOGRAD_METHODS = """
    backward register_hook register_post_accumulate_grad_hook _backward_hooks
""".split()
AUTOGRAD_ATTRIBUTES = """
    _grad _grad_fn _version output_nr retains_grad grad_dtype
    _backward_hooks _post_accumulate_grad_hooks _base
""".split()

# What these say of a tensor that the call has made follows from the call.
AUTOGRAD_READS = frozenset("is_leaf grad_fn grad".split())

# Names with an underscore of operations that leave a tensor's data alone.
CHANGES_NO_DATA = frozenset("requires_grad_ detach_".split())

# Tensor methods whose effect on their tensor a graph cannot replay.
REBINDING_METHODS = """
    resize resize_as set_ share_memory_ module_load apply_ map_ map2_
    __setstate__ __deepcopy__ __reduce_ex__
""".split()

# The same, unless the tensor was made during the call.
RESIZING_METHODS = "resize_ resize_as_".split()

# Functions whose result is a number, a string or an array made of the tensor's values.
DATA_NAMES = frozenset("""
    item tolist numpy __array__ equal allclose is_nonzero __bool__ __int__ __float__
    __index__ __complex__ __contains__ __repr__ __format__ data_ptr is_set_to is_pinned
    is_shared storage untyped_storage storage_offset _is_view __dlpack__
    _local_scalar_dense
""".split())

# Names whose result's shape depends on data although torch has no tag on them.
# (F.one_hot and repeat_interleave are tagged but fixed with the right arguments.)
UNTAGGED_DYNAMIC = frozenset("""
    unique _unique _unique2 unique_consecutive nonzero argwhere masked_select bincount
    _pack_padded_sequence _pad_packed_sequence to_sparse to_sparse_csr to_sparse_csc
    to_sparse_bsr to_sparse_bsc _coalesce segment_reduce lstsq linalg_lstsq
    nested_tensor_from_mask _nested_tensor_from_mask
    _nested_view_from_buffer indices values
""".split())

# May return an argument itself; when that is all that happened, no node is needed.
RETURNS_SELF = frozenset("""
    contiguous to cpu cuda float double half bfloat16 int long short char byte bool
    type type_as dropout dropout1d dropout2d dropout3d alpha_dropout feature_dropout
    feature_alpha_dropout resolve_conj resolve_neg conj real positive expand_as
    broadcast_to coalesce requires_grad_ as_tensor asarray atleast_1d atleast_2d
    atleast_3d pin_memory
""".split())

# An integer scalar tensor is data to these, never a Python number.
SCALAR_TENSOR_IS_DATA = frozenset("""
    add add_ sub sub_ mul mul_ div div_ rsub __rsub__ remainder remainder_ fmod
    floor_divide floor_divide_ __floordiv__ true_divide pow pow_ __rpow__ __rdiv__
    eq ne lt le gt ge __eq__ maximum minimum bitwise_and bitwise_or bitwise_xor
    __and__ __or__ __xor__ logical_and logical_or logical_xor logical_not where
    embedding gather scatter scatter_ scatter_add scatter_add_ index_select index_add
    index_add_ index_copy index_copy_ index_fill index_fill_ index_put index_put_
    masked_fill masked_fill_ take take_along_dim cat concat stack copy_ type_as
    cross_entropy nll_loss clamp clamp_ clamp_min clamp_max lerp expand_as view_as
    reshape_as zeros_like ones_like full_like empty_like rand_like randn_like
    broadcast_tensors isin searchsorted bucketize __getitem__ __setitem__ dot mm
    lstm gru rnn_tanh rnn_relu _set_grad_enabled batch_norm addcmul addcmul_ addcdiv addcdiv_ _assert_async
""".split())

VETTED_MODULES = frozenset({
    "torch", "torch.functional", "torch.nn.functional", "torch._tensor", "torch.nn.init",
    "torch._lobpcg", "torch._lowrank", "torch.special", "torch.fft", "torch.linalg"})

RANDOM_MODULES = frozenset({"torch.nn.init", "torch._lobpcg", "torch._lowrank"})

OPERATORS = {
    "__getitem__": operator.getitem, "__setitem__": operator.setitem,
    "__invert__": operator.invert, "__and__": operator.and_, "__or__": operator.or_,
    "__xor__": operator.xor, "__lshift__": operator.lshift,
    "__rshift__": operator.rshift, "__eq__": operator.eq, "__iand__": operator.iand,
    "__ior__": operator.ior, "__ixor__": operator.ixor, "__pow__": operator.pow,
    "__floordiv__": operator.floordiv, "__ilshift__": operator.ilshift,
    "__irshift__": operator.irshift, "__rpow__": None, "__rsub__": None}
