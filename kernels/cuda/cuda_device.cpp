// kernels/cuda/cuda_device.cpp -- the CUDA backend: the op families over one queue and one pool.
#include "kernels/cuda/cuda_device.h"

#include <algorithm>

#include "kernels/cuda/cuda_device_model.h"
#include "kernels/cuda/queue/copy_lane.h"
#include "kernels/cuda/queue/event_clock.h"
#include "kernels/cuda/queue/memory_source.h"

namespace penstock {
namespace {

int visible_devices() {
  int count = 0;
  // A missing driver is no error here: the number of devices is then 0.
  if (cudaGetDeviceCount(&count) != cudaSuccess) {
    (void)cudaGetLastError();
    return 0;
  }
  return count;
}

cudaDeviceProp properties_of(int ordinal) {
  cudaDeviceProp properties{};
  PENSTOCK_CUDA(cudaGetDeviceProperties(&properties, ordinal));
  return properties;
}

std::string hexadecimal(int number, int digits) {
  constexpr const char* kDigits = "0123456789abcdef";
  std::string text;
  for (int digit = digits - 1; digit >= 0; --digit) text += kDigits[(number >> (4 * digit)) & 15];
  return text;
}

std::string describe(const cudaDeviceProp& properties) {
  return std::string(properties.name) + ", compute " + std::to_string(properties.major) + "." +
         std::to_string(properties.minor) + ", " + std::to_string(properties.totalGlobalMem >> 30) +
         " GiB";
}

int made_current(int ordinal) {
  PENSTOCK_CUDA(cudaSetDevice(ordinal));
  return ordinal;
}

// Returns how many bytes of the device are left for tensors. That is what is free before anything
// is allocated, less an estimate for the libraries' code and workspaces and for free blocks that
// fit no tensor. The estimate is a guess, the same as in bench/gpu/largest.py.
int64_t usable_bytes() {
  constexpr size_t kLibraries = size_t{3} << 29;
  size_t free_bytes = 0;
  size_t total_bytes = 0;
  PENSTOCK_CUDA(cudaMemGetInfo(&free_bytes, &total_bytes));
  return static_cast<int64_t>(free_bytes - std::min(kLibraries, free_bytes / 16));
}

class OneGpu final : public CudaDevice {
 public:
  OneGpu(int ordinal, bool graphs, int spare_processors)
      : CudaDevice(ordinal, graphs),
        properties_(properties_of(ordinal)),
        usable_bytes_(usable_bytes()),
        memory_(device_memory_source(queue())),
        pinned_(pinned_memory_source()),
        context_{queue(),  memory_,         trouble_, properties_, primitives_created_,
                 choices_, spare_processors},
        ops_{.dense = cuda_dense_ops(context_),
             .image = cuda_image_ops(context_),
             .row_norm = cuda_row_norm_ops(context_),
             .batch_norm = cuda_batch_norm_ops(context_),
             .activation = cuda_activation_ops(context_),
             .pointwise = cuda_pointwise_ops(context_),
             .layout = cuda_layout_ops(context_),
             .attention = cuda_attention_ops(context_),
             .token = cuda_token_ops(context_),
             .experts = cuda_expert_ops(context_),
             .update = cuda_update_ops(context_)} {
    set_facts(
        {.description = "cuda:" + std::to_string(ordinal) + " (" + describe(properties_) + ")",
         .model = cuda_device_model(properties_, ordinal, usable_bytes_),
         .native_bf16 = properties_.major >= 8,
         .host_addressable = false});
  }

  void synchronize() override {
    queue().synchronize();
    trouble_.check();
  }
  void copy_from_host(Tensor& to, const void* from, size_t size_bytes) override {
    before_copy();
    PENSTOCK_CUDA(
        cudaMemcpyAsync(to.raw(), from, size_bytes, cudaMemcpyHostToDevice, queue().stream()));
    synchronize();
  }
  void copy_to_host(void* to, const Tensor& from, size_t size_bytes) override {
    before_copy();
    PENSTOCK_CUDA(
        cudaMemcpyAsync(to, from.raw(), size_bytes, cudaMemcpyDeviceToHost, queue().stream()));
    synchronize();
  }
  void upload(Tensor& to, const Tensor& from) override {
    queue().flush();
    PENSTOCK_CUDA(cudaMemcpyAsync(to.raw(), from.raw(), from.size_bytes(), cudaMemcpyHostToDevice,
                                  queue().stream()));
  }
  [[nodiscard]] std::unique_ptr<UploadLane> make_upload_lane(size_t slots) override {
    return std::make_unique<CopyLane>(slots, queue());
  }
  void begin_section(int64_t key) override { queue().begin_section(key); }
  void end_section() override { queue().end_section(); }
  [[nodiscard]] std::unique_ptr<DeviceClock> make_clock(size_t points) override {
    return std::make_unique<EventClock>(points, queue());
  }
  [[nodiscard]] DeviceCounts counts() const override {
    return {primitives_created_, context_.queue.counts().issued, choices_};
  }

  OpSet& ops() override { return ops_; }
  Memory& memory() override { return memory_; }
  Memory& host_memory() override { return pinned_; }

 private:
  // A copy to or from pageable memory can wait inside the driver, where no watch sees it. So the
  // host waits here first, for all ops before the copy.
  void before_copy() {
    queue().flush();
    if (queue().host_waits().any()) queue().synchronize();
  }

  cudaDeviceProp properties_;
  int64_t usable_bytes_;
  Memory memory_;
  Memory pinned_;
  Trouble trouble_;
  int64_t primitives_created_ = 0;
  std::vector<std::string> choices_;
  CudaContext context_;
  OpSet ops_;
};

}  // namespace

CudaDevice::CudaDevice(int ordinal, bool graphs)
    : ordinal_(made_current(ordinal)), queue_(graphs) {}

std::vector<std::string> cuda_devices() {
  const int visible = visible_devices();
  std::vector<std::string> lines;
  lines.reserve(static_cast<size_t>(visible));
  for (int ordinal = 0; ordinal < visible; ++ordinal) {
    lines.push_back(describe(properties_of(ordinal)));
  }
  return lines;
}

std::string why_no_cuda() {
  int count = 0;
  const cudaError_t status = cudaGetDeviceCount(&count);
  if (status == cudaSuccess && count > 0) return {};
  (void)cudaGetLastError();
  const std::string words = status == cudaSuccess ? "none is visible (CUDA_VISIBLE_DEVICES)"
                                                  : std::string(cudaGetErrorString(status)) + " (" +
                                                        cudaGetErrorName(status) + ")";
  const bool driver = status == cudaErrorInsufficientDriver;
  return "no CUDA device: " + words + (driver ? ": install NVIDIA's driver, or a newer one" : "");
}

std::string cuda_left_out() {
  return {};
}

GpuIdentity cuda_identity(int ordinal) {
  const cudaDeviceProp properties = properties_of(ordinal);
  std::string uuid = "GPU-";
  for (const char byte : properties.uuid.bytes) uuid += hexadecimal(byte, 2);
  return {uuid, hexadecimal(properties.pciDomainID, 4) + ":" + hexadecimal(properties.pciBusID, 2) +
                    ":" + hexadecimal(properties.pciDeviceID, 2)};
}

std::unique_ptr<Device> make_cuda_device(int ordinal, bool graphs, int spare_processors) {
  const int visible = visible_devices();
  if (visible == 0) fail_resource(why_no_cuda() + ", or use --device cpu");
  if (ordinal < 0 || ordinal >= visible) {
    fail_resource("there is no CUDA device " + std::to_string(ordinal) +
                  " here (visible: " + std::to_string(visible) +
                  "): start fewer ranks per host, check CUDA_VISIBLE_DEVICES, or use --device cpu");
  }
  return std::make_unique<OneGpu>(ordinal, graphs, spare_processors);
}

CudaDevice& as_cuda(Device& device) {
  auto* cuda = dynamic_cast<CudaDevice*>(&device);
  if (cuda == nullptr) fail_internal("a CUDA link was asked to serve " + device.description());
  return *cuda;
}

}  // namespace penstock
