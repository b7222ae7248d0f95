#include "kernels/cpu/onednn/onednn.h"

#include <omp.h>
#include <oneapi/dnnl/dnnl_debug.h>
#include <sys/mman.h>

#include <algorithm>

#include "kernels/cpu/loops/maps.h"
#include "kernels/cpu/onednn/onednn_state.h"
#include "kernels/cpu/processor/processor.h"
#include "kernels/fault.h"
#include "kernels/parallel.h"

namespace penstock {
namespace {

// Converts dense numbers in pieces.
template <class To, class From>
void convert(OneDnn::State& state, To* to, const From* from, int64_t elements) {
  constexpr int64_t kPiece = 8192;
  state.count_copies(elements, DTypeOf<From>::value, DTypeOf<To>::value);
  share_out(state.threads, (elements + kPiece - 1) / kPiece, [=](int64_t first, int64_t last) {
    const int64_t begin = first * kPiece;
    map_row(to + begin, from + begin, std::min(last * kPiece, elements) - begin,
            [](float number) { return number; });
  });
}

}  // namespace

OneDnn::State::State(int thread_count, Memory& scratch_memory, const Processor& processor)
    : threads(thread_count),
      memory(scratch_memory),
      native_bf16(processor.bf16),
      operand_copies(penstock::operand_copies(processor)),
      engine(dnnl::engine::kind::cpu, 0),
      stream(engine) {}

OneDnn::OneDnn(int threads, Memory& memory, Bf16 bf16) {
  Processor processor = processor_at_hand();
  if (bf16 != Bf16::Auto) processor.bf16 = false;
  state_ = std::make_unique<State>(threads, memory, processor);
}
OneDnn::~OneDnn() = default;

int64_t OneDnn::primitives_created() const {
  return state_->primitives_created;
}

bool OneDnn::native_bf16() const {
  return state_->native_bf16;
}

int64_t OneDnn::copied_bytes() const {
  return state_->copied_bytes;
}

std::string OneDnn::isa() const {
  const std::string name = dnnl_cpu_isa2str(dnnl_get_effective_cpu_isa());
  const std::string prefix = "cpu_isa_";
  return name.rfind(prefix, 0) == 0 ? name.substr(prefix.size()) : name;
}

void require_room_for_code() {
  constexpr size_t kRoom = size_t{32} << 20;  // a product makes a dozen kernels of 256 KiB or more
  void* const room =
      mmap(nullptr, kRoom, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (room == MAP_FAILED) {
    fail_out_of_memory("the host has no " + std::to_string(kRoom >> 20) +
                       " MiB left for the code of a kernel");
  }
  (void)munmap(room, kRoom);
}

Prepared::Prepared(OneDnn::State& state, dnnl::primitive primitive, const dnnl_api::Desc& scratch,
                   const std::vector<Argument>& arguments)
    : primitive_(std::move(primitive)), scratch_bytes_(static_cast<int64_t>(scratch.get_size())) {
  auto add = [&](int name, const dnnl_api::Desc& desc) {
    memories_.emplace_back(desc, state.engine, nullptr);
    arguments_.push_back({name, memories_.back().get()});
  };
  for (const Argument& argument : arguments) add(argument.name, argument.desc);
  if (scratch_bytes_ > 0) add(DNNL_ARG_SCRATCHPAD, scratch);
  ++state.primitives_created;
}

void OneDnn::State::use_threads() const {
  omp_set_dynamic(0);  // another number of threads would change the bits
  omp_set_num_threads(threads);
}

void Prepared::run(OneDnn::State& state, std::initializer_list<const void*> buffers) {
  Tensor scratch;
  if (scratch_bytes_ > 0) scratch = state.scratch(scratch_bytes_, DType::U8);
  state.use_threads();
  check(execute(state, {buffers.begin(), buffers.size()},
                scratch_bytes_ > 0 ? scratch.raw() : nullptr),
        "the execution of a primitive");
}

dnnl_status_t Prepared::execute(OneDnn::State& state, std::span<const void* const> buffers,
                                const void* scratch) noexcept {
  const size_t count = buffers.size() + (scratch_bytes_ > 0 ? 1 : 0);
  if (count != arguments_.size()) return dnnl_invalid_arguments;  // buffers are missing
  // The C functions are called here, because the C++ execute() copies its arguments into new memory
  // at every call.
  for (size_t i = 0; i < count; ++i) {
    const void* buffer = i < buffers.size() ? buffers[i] : scratch;
    const dnnl_status_t status =
        dnnl_memory_set_data_handle(arguments_[i].memory, const_cast<void*>(buffer));
    if (status != dnnl_success) return status;
  }
  const dnnl_status_t status = dnnl_primitive_execute(primitive_.get(), state.stream.get(),
                                                      static_cast<int>(count), arguments_.data());
  return status != dnnl_success ? status : dnnl_stream_wait(state.stream.get());
}

dnnl::primitive_attr new_attributes() {
  dnnl::primitive_attr attr;
  attr.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  return attr;
}

dnnl::memory::data_type library_type(DType type) {
  switch (type) {
    case DType::F32:
      return dnnl::memory::data_type::f32;
    case DType::BF16:
      return dnnl::memory::data_type::bf16;
    default:
      fail_internal(std::string("no matrix product or activation works in ") + name_of(type));
  }
}

dnnl::algorithm library_algorithm(Activation f) {
  switch (f) {
    case Activation::Relu:
      return dnnl::algorithm::eltwise_relu;
    case Activation::Gelu:
      return dnnl::algorithm::eltwise_gelu_erf;
    case Activation::GeluTanh:
      return dnnl::algorithm::eltwise_gelu_tanh;
    case Activation::Silu:
      return dnnl::algorithm::eltwise_swish;
    case Activation::Tanh:
      return dnnl::algorithm::eltwise_tanh;
  }
  fail_internal("unknown activation");
}

namespace {

std::string library_version() {
  const dnnl_version_t* v = dnnl_version();
  return std::to_string(v->major) + "." + std::to_string(v->minor) + "." + std::to_string(v->patch);
}

}  // namespace

void fail_library(const std::string& what, const dnnl::error& error) {
  const std::string text = "oneDNN " + library_version() + " refused " + what + ": " +
                           error.what() + " (status " + std::to_string(error.status) + ")";
  fail_by(error.status == dnnl_out_of_memory ? Fault::Memory : Fault::Bug, text);
}

void check(dnnl_status_t status, const char* what) {
  if (status != dnnl_success) fail_library(what, dnnl::error(status, "see ONEDNN_VERBOSE=1"));
}

void narrow(OneDnn::State& state, bfloat16* to, const float* from, int64_t elements) {
  convert(state, to, from, elements);
}

Wide::Wide(OneDnn::State& state, int64_t elements, DType type, const void* data) : state_(state) {
  if (state.computed(type) == type) return;
  copy_ = state.scratch(elements, DType::F32);
  if (data == nullptr) return;
  convert(state, copy_.data<float>(), static_cast<const bfloat16*>(data), elements);
}

void Wide::round_to(void* data) const {
  if (copy_) narrow(state_, static_cast<bfloat16*>(data), copy_.data<float>(), copy_.elements());
}

}  // namespace penstock
