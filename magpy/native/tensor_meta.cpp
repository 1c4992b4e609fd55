/* Reading tensors and global state. See tensor_meta.h for the idea. */

#include "tensor_meta.h"

#include "guard_program.h"

#include <ATen/Context.h>
#include <ATen/Parallel.h>
#include <ATen/PythonTorchFunctionTLS.h>
#include <ATen/SparseTensorImpl.h>
#include <c10/core/AutogradState.h>
#include <c10/core/DefaultDtype.h>
#include <c10/core/impl/LocalDispatchKeySet.h>
#include <c10/core/impl/TorchDispatchModeTLS.h>
#include <torch/csrc/DynamicTypes.h>
#include <torch/csrc/autograd/python_variable.h>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <map>
#include <sstream>

/* ATen/autocast_mode.h includes all of ATen for its macros; these four are enough. */
namespace at::autocast {
TORCH_API bool is_autocast_enabled(at::DeviceType device_type);
TORCH_API at::ScalarType get_autocast_dtype(at::DeviceType device_type);
TORCH_API bool is_autocast_cache_enabled();
}  // namespace at::autocast

namespace magpy {

using c10::DispatchKey;
using c10::TensorImpl;

/* Whether a tensor answers sizes(), strides() and device() itself or through a virtual
   or Python override is protected in TensorImpl. Reading it decides whether asking is
   cheap and free of user code. */
struct Peek : TensorImpl {
    static bool custom_sizes(const TensorImpl *impl) {
        return (impl->*(&Peek::matches_policy))(SizesStridesPolicy::CustomSizes);
    }
    static bool custom_strides(const TensorImpl *impl) {
        return (impl->*(&Peek::matches_policy))(SizesStridesPolicy::CustomStrides);
    }
    static bool custom_device(const TensorImpl *impl) {
        return static_cast<const Peek *>(impl)->device_policy_;  // a bit-field: no member pointer
    }
    static const c10::impl::SizesAndStrides &sizes_and_strides(const TensorImpl *impl) {
        return impl->*(&Peek::sizes_and_strides_);
    }
    // TensorImpl::autograd_meta() is a call into torch's library. The field comes after the storage:
    // where it does not, this is no such pointer, and Pass::add says so.
    static const c10::AutogradMetaInterface *autograd(const TensorImpl *impl) {
        const c10::AutogradMetaInterface *meta;
        memcpy(&meta, (const char *)impl + offsetof(Peek, storage_) + sizeof(c10::Storage), sizeof(meta));
        return meta;
    }
    static int64_t offset(const TensorImpl *impl) { return impl->*(&Peek::storage_offset_); }
    /* The dtype, the device, and bits that say among others which of the above are asked of
       the class: they fill one word, up to the dispatch keys. */
    static int64_t kind(const TensorImpl *impl) {
        static_assert(offsetof(Peek, key_set_) == offsetof(Peek, data_type_) + sizeof(int64_t));
        int64_t word;
        memcpy(&word, (const char *)impl + offsetof(Peek, data_type_), sizeof(word));
        return word;
    }
};

static inline TensorImpl *unpack(PyObject *tensor) {
    return THPVariable_Unpack(tensor).unsafeGetTensorImpl();
}

bool is_tensor(PyObject *value) {
    return THPVariableClass != nullptr
        && PyObject_TypeCheck(value, (PyTypeObject *)THPVariableClass);
}

static bool is_sparse(const TensorImpl *impl) { return impl->layout() == c10::kSparse; }

static const char *why_incomparable(const TensorImpl *impl) {
    if (impl == c10::UndefinedTensorImpl::singleton()) {
        return "it is undefined";
    }
    if (impl->has_symbolic_sizes_strides()) {
        return "its sizes are symbolic";
    }
    if (Peek::custom_sizes(impl)) {
        return "its class computes its sizes";
    }
    if (Peek::custom_device(impl)) {
        return "its class computes its device";
    }
    if (Peek::custom_strides(impl) && impl->layout() == c10::kStrided) {
        return "its class computes its strides";
    }
    return "";
}

bool TensorSnapshot::take(PyObject *tensor) {
    if (!is_tensor(tensor)) {
        return false;
    }
    const TensorImpl *impl = unpack(tensor);
    type = Py_TYPE(tensor);
    why_not = why_incomparable(impl);
    comparable = *why_not == '\0';
    if (impl == c10::UndefinedTensorImpl::singleton()) {
        return true;
    }
    keys = impl->key_set().raw_repr();
    scalar_type = (int)c10::typeMetaToScalarType(impl->dtype());
    requires_grad = impl->requires_grad();
    if (!Peek::custom_device(impl)) {
        device_type = (int16_t)impl->device().type();
        device_index = impl->device().index();
    }
    if (!comparable) {
        return true;
    }
    layout = (int8_t)impl->layout();
    strided = impl->layout() == c10::kStrided;
    ndim = (int)impl->dim();
    far.resize(ndim <= 5 ? 0 : 2 * ndim);
    int64_t *numbers = ndim <= 5 ? near : far.data();
    std::copy_n(impl->sizes().data(), ndim, numbers);
    if (strided) {
        std::copy_n(impl->strides().data(), ndim, numbers + ndim);
        offset = impl->storage_offset();
    }
    if (is_sparse(impl)) {
        sparse_dim = static_cast<const at::SparseTensorImpl *>(impl)->sparse_dim();
        dense_dim = static_cast<const at::SparseTensorImpl *>(impl)->dense_dim();
    }
    return true;
}

static bool same_rare(const TensorSnapshot &snapshot, const TensorImpl *impl) {
    if (snapshot.compare_offset && snapshot.strided && impl->storage_offset() != snapshot.offset) {
        return false;
    }
    if (snapshot.sparse_dim < 0) {
        return true;
    }
    auto sparse = static_cast<const at::SparseTensorImpl *>(impl);
    return sparse->sparse_dim() == snapshot.sparse_dim && sparse->dense_dim() == snapshot.dense_dim;
}

static inline bool same_numbers(const int64_t *expected, size_t n, c10::IntArrayRef actual) {
    if (actual.size() != n) {
        return false;
    }
    for (size_t i = 0; i < n; i++) {
        if (expected[i] != actual[i]) {
            return false;
        }
    }
    return true;
}

/* The dispatch key set goes first: it settles what kind of TensorImpl this is, and with
   it most other facts. */
bool TensorSnapshot::matches(PyObject *value) const {
    if (Py_TYPE(value) != type || !comparable) {
        return false;
    }
    const TensorImpl *impl = unpack(value);
    if (impl->key_set().raw_repr() != keys || Peek::custom_sizes(impl)
        || Peek::custom_device(impl)) {
        return false;
    }
    if ((int)c10::typeMetaToScalarType(impl->dtype()) != scalar_type
        || !same_numbers(sizes(), ndim, impl->sizes()) || (int8_t)impl->layout() != layout) {
        return false;
    }
    c10::Device device = impl->device();
    if ((int16_t)device.type() != device_type || device.index() != device_index) {
        return false;
    }
    if (strided && (Peek::custom_strides(impl) || !same_numbers(strides(), ndim, impl->strides()))) {
        return false;
    }
    if (impl->requires_grad() != requires_grad) {
        return false;
    }
    return (sparse_dim < 0 && !compare_offset) || same_rare(*this, impl);
}

bool snapshot_matches(const void *snapshot, PyObject *value) {
    return static_cast<const TensorSnapshot *>(snapshot)->matches(value);
}

/* --- Content --- */

static inline uint64_t word(const char *at) {
    uint64_t value;
    memcpy(&value, at, sizeof(value));
    return value;
}

/* The product of two words, folded: every bit of both decides about every bit of it. */
static inline uint64_t fold(uint64_t a, uint64_t b) {
    unsigned __int128 product = (unsigned __int128)a * b;
    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

static constexpr uint64_t Odd = 0x9E3779B97F4A7C15u, Other = 0xA0761D6478BD642Fu;

/* 16 bytes a multiplication, in eight chains that don't wait for each other. */
static uint64_t hash_by_products(uint64_t hash, const char *at, size_t bytes) {
    constexpr int Lanes = 8;
    constexpr size_t Step = 16 * Lanes;
    uint64_t lanes[Lanes];
    char rest[Step] = {0};
    for (int k = 0; k < Lanes; k++) {
        lanes[k] = Odd * (k + 1);
    }
    auto add = [&lanes](const char *block) {
        for (int k = 0; k < Lanes; k++) {
            lanes[k] = fold(word(block + 16 * k) ^ Other, word(block + 16 * k + 8) ^ lanes[k]);
        }
    };
    for (; bytes >= Step; at += Step, bytes -= Step) {
        add(at);
    }
    memcpy(rest, at, bytes);
    add(rest);
    for (uint64_t lane : lanes) {
        hash = fold(hash ^ lane, Odd);
    }
    return hash;
}

#if defined(__x86_64__)
/* Two of the processor's AES rounds for 16 bytes: each bit of them changes all of a lane. Memory
   is slower than that; it is fastest when some streams run through it at once. *bytes* are whole steps. */
constexpr int Streams = 3, StreamLanes = 4;
constexpr size_t StreamBlock = 16 * StreamLanes, StreamStep = Streams * StreamBlock, FetchAhead = 2048;

[[gnu::target("aes")]] static uint64_t hash_by_rounds(const char *at, size_t bytes) {
    const __m128i key = _mm_set_epi64x((int64_t)Odd, (int64_t)Other);
    size_t stream = bytes / Streams;
    __m128i lanes[Streams * StreamLanes], hash = key;
    for (int k = 0; k < Streams * StreamLanes; k++) {
        lanes[k] = _mm_set1_epi64x((int64_t)(Odd * (k + 1)));
    }
    for (size_t done = 0; done < stream; done += StreamBlock) {
        for (int s = 0; s < Streams; s++) {
            const char *block = at + s * stream + done;
            __builtin_prefetch(block + FetchAhead);
            for (int k = 0; k < StreamLanes; k++) {
                __m128i &lane = lanes[s * StreamLanes + k];
                __m128i data = _mm_loadu_si128((const __m128i *)(block + 16 * k));
                lane = _mm_aesenc_si128(_mm_aesenc_si128(lane, data), key);
            }
        }
    }
    for (__m128i lane : lanes) {
        hash = _mm_aesenc_si128(_mm_aesenc_si128(hash, lane), key);
    }
    hash = _mm_aesenc_si128(hash, key);
    return (uint64_t)_mm_cvtsi128_si64(hash) ^ (uint64_t)_mm_cvtsi128_si64(_mm_unpackhi_epi64(hash, hash));
}
#endif

/* Two contents by accident have one number once in 2^64. */
static uint64_t hash_of(const char *at, size_t bytes) {
    uint64_t hash = bytes;
    size_t done = 0;
#if defined(__x86_64__)
    static const bool has_rounds = __builtin_cpu_supports("aes");
    if (has_rounds && bytes >= StreamStep) {
        done = bytes / StreamStep * StreamStep;
        hash ^= hash_by_rounds(at, done);
    }
#endif
    return hash_by_products(hash, at + done, bytes - done);
}

/* Where the data of a dense CPU tensor begin, all of which are there; or NULL. */
static const char *dense_data(const TensorImpl *impl, size_t *bytes) {
    if (*why_incomparable(impl) != '\0' || impl->layout() != c10::kStrided
        || !impl->device().is_cpu() || !impl->has_storage() || !impl->is_non_overlapping_and_dense()) {
        return nullptr;
    }
    const c10::StorageImpl *storage = impl->unsafe_storage().unsafeGetStorageImpl();
    size_t start = impl->storage_offset() * impl->itemsize();
    *bytes = impl->numel() * impl->itemsize();
    if (storage == nullptr || storage->nbytes() < start + *bytes) {
        return nullptr;
    }
    const char *data = static_cast<const char *>(storage->data());
    return data == nullptr ? nullptr : data + start;
}

bool ContentSnapshot::take(PyObject *tensor) {
    const char *data = dense_data(unpack(tensor), &bytes);
    if (data != nullptr) {
        hash = hash_of(data, bytes);
    }
    return data != nullptr;
}

bool ContentSnapshot::matches(PyObject *value) const {
    size_t found = 0;
    const char *data = is_tensor(value) ? dense_data(unpack(value), &found) : nullptr;
    return data != nullptr && found == bytes && hash_of(data, bytes) == hash;
}

bool content_matches(const void *snapshot, PyObject *value) {
    return static_cast<const ContentSnapshot *>(snapshot)->matches(value);
}

/* --- Many tensors in one go --- */

namespace {

/* What a TensorSnapshot compares lies in three or four cache lines of the TensorImpl and in
   its AutogradMeta. A copy of those fields is compared first; where it differs the snapshot
   decides, and the copy is taken anew. A tensor's class is not looked at: it is a fact
   that is watched. Nothing else can make a snapshot differ while these fields are equal:
   the layout of a TensorImpl goes with its dispatch keys.

   A program over thousands of parameters waits for memory and for little else. So what many
   tensors have in common, their shape, is kept once, and a copy is a cache line at most.  */
struct Copy {
    PyObject *tensor;
    const TensorImpl *impl;
    const c10::StorageImpl *storage;
    const c10::AutogradMetaInterface *autograd;
    int64_t offset;
    uint32_t shape;             // where it begins in Pass::shapes
    bool requires_grad;
};

using AutogradMeta = torch::autograd::AutogradMeta;

/* A shape: the dispatch keys, dtype with device and policies, how many dimensions, the sizes,
   the strides. */
enum { ShapeKeys, ShapeKind, ShapeDims, ShapeSizes };

inline int64_t keys_of(const TensorImpl *impl) { return (int64_t)impl->key_set().raw_repr(); }

inline bool same_requires_grad(const c10::AutogradMetaInterface *autograd, bool expected) {
    auto state = static_cast<const AutogradMeta *>(autograd);
    return (state != nullptr && (state->requires_grad_ || state->grad_fn_ != nullptr)) == expected;
}

/* *impl* need not be what the copy is of. */
inline bool same(const Copy &copy, const int64_t *shape, const TensorImpl *impl) {
    const c10::impl::SizesAndStrides &now = Peek::sizes_and_strides(impl);
    size_t ndim = now.size();
    if (impl != copy.impl || (int64_t)ndim != shape[ShapeDims]) {
        return false;
    }
    const int64_t *sizes = now.sizes_data(), *strides = now.strides_data(), *expected = shape + ShapeSizes;
    uint64_t other = (uint64_t)(keys_of(impl) ^ shape[ShapeKeys]) | (Peek::kind(impl) ^ shape[ShapeKind])
        | (Peek::offset(impl) ^ copy.offset)
        | ((uintptr_t)impl->unsafe_storage().unsafeGetStorageImpl() ^ (uintptr_t)copy.storage)
        | ((uintptr_t)Peek::autograd(impl) ^ (uintptr_t)copy.autograd);
    for (size_t i = 0; i < ndim; i++) {
        other |= (sizes[i] ^ expected[i]) | (strides[i] ^ expected[ndim + i]);
    }
    return other == 0 && same_requires_grad(copy.autograd, copy.requires_grad);
}

class Pass : public TensorPass {
public:
    bool add(PyObject *tensor, const void *meta) override {
        auto snapshot = static_cast<const TensorSnapshot *>(meta);
        const TensorImpl *impl = unpack(tensor);
        if (!snapshot->strided || Peek::autograd(impl) != impl->autograd_meta()) {
            return false;       // a sparse tensor has more than a Copy holds
        }
        copies.emplace_back().tensor = tensor;
        metas.push_back(snapshot);
        take(copies.back());
        return true;
    }

    size_t check() override {
        const Copy *end = copies.data() + copies.size(), *ahead = copies.data() + std::min(copies.size(), Ahead);
        const int64_t *known = shapes.data();
        for (const Copy *at = copies.data(); at != end; at++) {
            if (ahead != end) {
                prefetch(*ahead++);
            }
            if (!same(*at, known + at->shape, unpack(at->tensor))) {
                if (!again(at - copies.data())) {
                    return at - copies.data();
                }
                known = shapes.data();
            }
        }
        return copies.size();
    }

    bool moved() override {
        bool answer = other_memory;
        other_memory = false;
        return answer;
    }

private:
    static constexpr size_t Ahead = 6;

    /* The cache lines that `same` reads. (GCC takes a function that does no more for one that
       does nothing, and leaves calls of it out.) */
    [[gnu::always_inline]] static void prefetch(const Copy &next) {
        const char *impl = (const char *)next.impl, *autograd = (const char *)next.autograd;
        __builtin_prefetch(next.tensor);
        __builtin_prefetch(impl + 16);
        __builtin_prefetch(impl + 80);
        __builtin_prefetch(impl + sizeof(TensorImpl) - 32);
        __builtin_prefetch(impl + sizeof(TensorImpl) - 1);
        __builtin_prefetch(autograd + offsetof(AutogradMeta, requires_grad_));
    }

    void take(Copy &copy) {
        const TensorImpl *impl = copy.impl = unpack(copy.tensor);
        copy.storage = impl->unsafe_storage().unsafeGetStorageImpl();
        copy.autograd = Peek::autograd(impl);
        copy.offset = Peek::offset(impl);
        copy.requires_grad = impl->requires_grad();
        copy.shape = shape_of(impl);
    }

    /* There are few shapes, and a tensor that still fits its snapshot has no new one. */
    uint32_t shape_of(const TensorImpl *impl) {
        const c10::impl::SizesAndStrides &now = Peek::sizes_and_strides(impl);
        std::vector<int64_t> shape{keys_of(impl), Peek::kind(impl), (int64_t)now.size()};
        shape.insert(shape.end(), now.sizes_data(), now.sizes_data() + now.size());
        shape.insert(shape.end(), now.strides_data(), now.strides_data() + now.size());
        auto [found, is_new] = known_shapes.try_emplace(shape, (uint32_t)shapes.size());
        if (is_new) {
            shapes.insert(shapes.end(), shape.begin(), shape.end());
        }
        return found->second;
    }

    bool again(size_t i) {
        if (!metas[i]->matches(copies[i].tensor)) {
            return false;
        }
        other_memory = true;
        take(copies[i]);
        return true;
    }

    std::vector<Copy> copies;
    std::vector<const TensorSnapshot *> metas;
    std::vector<int64_t> shapes;
    std::map<std::vector<int64_t>, uint32_t> known_shapes;
    bool other_memory = false;
};

}  // namespace

std::unique_ptr<TensorPass> new_tensor_pass() { return std::make_unique<Pass>(); }

PyObject *TensorSnapshot::dtype() const {
    return (PyObject *)torch::getTHPDtype((c10::ScalarType)scalar_type);
}

std::string TensorSnapshot::device_name() const {
    return c10::Device((c10::DeviceType)device_type, (c10::DeviceIndex)device_index).str();
}

std::string TensorSnapshot::layout_name() const {
    std::ostringstream out;
    out << (c10::Layout)layout;
    return out.str();
}

std::string TensorSnapshot::key_names() const {
    return c10::toString(c10::DispatchKeySet(c10::DispatchKeySet::RAW, keys));
}

/* --- Identity --- */

const void *impl_of(PyObject *value) { return unpack(value); }

const void *storage_of(PyObject *value) {
    if (!is_tensor(value)) {
        return nullptr;
    }
    return unpack(value)->unsafe_storage().unsafeGetStorageImpl();
}

int64_t version_of(PyObject *value) {
    TensorImpl *impl = unpack(value);
    return impl->is_inference() ? 0 : impl->version_counter().current_version();
}

struct WeakImpl::Ref {
    c10::weak_intrusive_ptr<TensorImpl, c10::UndefinedTensorImpl> weak;
    const void *address;
};

WeakImpl::WeakImpl(PyObject *tensor)
    : ref(new Ref{c10::weak_intrusive_ptr<TensorImpl, c10::UndefinedTensorImpl>(
                      THPVariable_Unpack(tensor).getIntrusivePtr()),
                  unpack(tensor)}) {}

WeakImpl::~WeakImpl() = default;

bool WeakImpl::alive() const { return !ref->weak.expired(); }

const void *WeakImpl::address() const { return ref->address; }

/* --- Global state --- */

static int64_t autocast_dtype(c10::DeviceType device) {
    return (int64_t)at::autocast::get_autocast_dtype(device);
}

/* Not float32MatmulPrecision(): it warns and throws when old and new switches are mixed.
   Nothing chosen means IEEE, the highest. */
static int64_t precision(at::Float32Backend backend, at::Float32Op op) {
    at::Float32Precision chosen = at::globalContext().float32Precision(backend, op);
    return (int64_t)(chosen == at::Float32Precision::NONE ? at::Float32Precision::IEEE : chosen);
}

/* The one list: what is read, and how. The dispatch keys that the thread includes and
   excludes stand for autocast on other devices, inference mode's details, and whatever
   else torch switches that way. */
#define MAGPY_FOREACH_STATE(V)                                                              \
    V(grad_mode, autograd.get_grad_mode())                                                  \
    V(inference_mode, autograd.get_inference_mode())                                        \
    V(forward_ad, autograd.get_fw_grad_mode())                                              \
    V(included_dispatch_keys, keys.included_.raw_repr())                                    \
    V(excluded_dispatch_keys, keys.excluded_.raw_repr())                                    \
    V(torch_function, at::impl::PythonTorchFunctionTLS::get_disabled_state())               \
    V(autocast_cpu, at::autocast::is_autocast_enabled(c10::kCPU))                           \
    V(autocast_cpu_dtype, autocast_dtype(c10::kCPU))                                        \
    V(autocast_cuda, at::autocast::is_autocast_enabled(c10::kCUDA))                         \
    V(autocast_cuda_dtype, autocast_dtype(c10::kCUDA))                                      \
    V(autocast_cache, at::autocast::is_autocast_cache_enabled())                            \
    V(default_dtype, c10::get_default_dtype_as_scalartype())                                \
    V(num_threads, at::get_num_threads())                                                   \
    V(deterministic_algorithms, context.deterministicAlgorithms())                          \
    V(deterministic_warn_only, context.deterministicAlgorithmsWarnOnly())                   \
    V(deterministic_fill, context.deterministicFillUninitializedMemory())                   \
    V(cudnn_enabled, context.userEnabledCuDNN())                                            \
    V(cudnn_benchmark, context.benchmarkCuDNN())                                            \
    V(cudnn_deterministic, context.deterministicCuDNN())                                    \
    V(mkldnn_enabled, context.userEnabledMkldnn())                                          \
    V(mkldnn_deterministic, context.deterministicMkldnn())                                  \
    V(flash_sdp, context.userEnabledFlashSDP())                                             \
    V(mem_efficient_sdp, context.userEnabledMemEfficientSDP())                              \
    V(math_sdp, context.userEnabledMathSDP())                                               \
    V(cudnn_sdp, context.userEnabledCuDNNSDP())                                             \
    V(fp16_reduction, context.allowFP16ReductionCuBLAS())                                   \
    V(bf16_reduction, context.allowBF16ReductionCuBLAS())                                   \
    V(cuda_matmul_precision, precision(at::Float32Backend::CUDA, at::Float32Op::MATMUL))    \
    V(cudnn_conv_precision, precision(at::Float32Backend::CUDA, at::Float32Op::CONV))       \
    V(mkldnn_matmul_precision, precision(at::Float32Backend::MKLDNN, at::Float32Op::MATMUL)) \
    V(mkldnn_conv_precision, precision(at::Float32Backend::MKLDNN, at::Float32Op::CONV))

#define V(NAME, READ) State_##NAME,
enum { MAGPY_FOREACH_STATE(V) NumStates };
#undef V

static void read_state(int64_t *values) {
    at::Context &context = at::globalContext();
    const c10::AutogradState &autograd = c10::AutogradState::get_tls_state();
    c10::impl::LocalDispatchKeySet keys = c10::impl::tls_local_dispatch_key_set();
#define V(NAME, READ) values[State_##NAME] = (int64_t)(READ);
    MAGPY_FOREACH_STATE(V)
#undef V
}

const std::vector<const char *> &StateSnapshot::names() {
#define V(NAME, READ) #NAME,
    static const std::vector<const char *> names{MAGPY_FOREACH_STATE(V)};
#undef V
    return names;
}

void StateSnapshot::take() {
    values.resize(NumStates);
    read_state(values.data());
}

bool StateSnapshot::matches() const {
    int64_t now[NumStates];
    read_state(now);
    return memcmp(now, values.data(), sizeof(now)) == 0;
}

bool state_matches(const void *snapshot) {
    return static_cast<const StateSnapshot *>(snapshot)->matches();
}

bool foreign_modes() {
    using at::impl::PythonTorchFunctionTLS;
    return PythonTorchFunctionTLS::stack_len() > 0
        || c10::impl::TorchDispatchModeTLS::any_modes_set()
        || c10::impl::tls_is_dispatch_key_included(DispatchKey::FuncTorchDynamicLayerFrontMode)
        || c10::impl::tls_is_dispatch_key_included(DispatchKey::Tracer)
        || PythonTorchFunctionTLS::get_disabled_state()
            == at::impl::TorchFunctionDisabledState::ALL_DISABLED;
}

/* --- What a call looks like --- */

namespace {

constexpr int DeepestLook = 3, MostItems = 16;

struct Mix {
    uint64_t value = 0x2545F4914F6CDD1Du;
    void add(uint64_t more) {
        value = (value ^ more) * 0x9E3779B97F4A7C15u;
        value ^= value >> 32;
    }
};

void look(Mix &mix, PyObject *value, int depth);

void look_at_tensor(Mix &mix, PyObject *value) {
    const TensorImpl *impl = unpack(value);
    if (impl == c10::UndefinedTensorImpl::singleton()) {
        return;
    }
    mix.add(impl->key_set().raw_repr());
    mix.add((uint64_t)c10::typeMetaToScalarType(impl->dtype()) * 2 + impl->requires_grad());
    if (*why_incomparable(impl) == '\0') {
        for (int64_t size : impl->sizes()) {
            mix.add(size);
        }
    }
}

void look_at_items(Mix &mix, PyObject *const *items, Py_ssize_t n, int depth) {
    mix.add(n);
    for (Py_ssize_t i = 0; depth < DeepestLook && i < std::min<Py_ssize_t>(n, MostItems); i++) {
        look(mix, items[i], depth + 1);
    }
}

void look_at_dict(Mix &mix, PyObject *dict, int depth) {
    Py_ssize_t pos = 0;
    PyObject *key, *value;
    mix.add(PyDict_GET_SIZE(dict));
    for (int i = 0; depth < DeepestLook && i < MostItems && PyDict_Next(dict, &pos, &key, &value); i++) {
        look(mix, key, depth + 1);
        look(mix, value, depth + 1);
    }
}

void look(Mix &mix, PyObject *value, int depth) {
    mix.add((uintptr_t)Py_TYPE(value));
    if (is_tensor(value)) {
        look_at_tensor(mix, value);
    }
    else if (PyUnicode_CheckExact(value) || PyLong_CheckExact(value) || PyFloat_CheckExact(value)) {
        mix.add((uint64_t)PyObject_Hash(value));
    }
    else if (PyBool_Check(value)) {
        mix.add(value == Py_True);
    }
    else if (PyTuple_CheckExact(value)) {
        look_at_items(mix, ((PyTupleObject *)value)->ob_item, PyTuple_GET_SIZE(value), depth);
    }
    else if (PyList_CheckExact(value)) {
        look_at_items(mix, ((PyListObject *)value)->ob_item, PyList_GET_SIZE(value), depth);
    }
    else if (PyDict_CheckExact(value)) {
        look_at_dict(mix, value, depth);
    }
}

}  // namespace

uint64_t call_key(const Call &call) {
    Mix mix;
    const c10::AutogradState &autograd = c10::AutogradState::get_tls_state();
    c10::impl::LocalDispatchKeySet keys = c10::impl::tls_local_dispatch_key_set();
    Py_ssize_t given = call.kwnames == nullptr ? 0 : PyTuple_GET_SIZE(call.kwnames);
    mix.add(autograd.get_grad_mode());
    mix.add(keys.included_.raw_repr());
    mix.add(keys.excluded_.raw_repr());
    mix.add(call.nargs);
    for (Py_ssize_t i = 0; i < call.nargs + given; i++) {
        look(mix, call.args[i], 0);
    }
    return mix.value;
}

}  // namespace magpy
