// kernels/device.h -- Device: memory, transfers and every op, on one accelerator. The interface of
// the CPU (kernels/cpu) and CUDA (kernels/cuda) backends; code above kernels/ does not know
// which of them it uses.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "kernels/clock.h"
#include "kernels/device_facts.h"
#include "kernels/memory/memory.h"
#include "kernels/memory/transfers.h"
#include "kernels/ops/families.h"
#include "kernels/tensor.h"

namespace penstock {

class Device : public DeviceFacts, public Transfers, public OpFamilies {
 public:
  virtual Memory& memory() = 0;
  // Memory that the host reads and writes, with the fastest copies to and from this device.
  virtual Memory& host_memory() { return memory(); }
  // A new tensor: empty() leaves its contents undefined, zeros() fills it. Throw Error(Resource)
  // where memory is full.
  [[nodiscard]] Tensor empty(const Shape& shape, DType dtype, Purpose purpose) {
    const size_t size_bytes = static_cast<size_t>(shape.elements()) * size_of(dtype);
    return {memory().take(size_bytes, purpose), shape, dtype};
  }
  [[nodiscard]] Tensor zeros(const Shape& shape, DType dtype, Purpose purpose);

  // Between begin_section(key) and end_section() the caller calls the same ops in the same order in
  // every step, so that a device may replay them all at once. Sections do not nest; results are the
  // same with and without.
  virtual void begin_section(int64_t /*key*/) {}
  virtual void end_section() {}
  // A clock with that many points to mark; time zero is now.
  [[nodiscard]] virtual std::unique_ptr<DeviceClock> make_clock(size_t points) {
    return std::make_unique<HostClock>(points);
  }
  // Sets the function that is called now and then while the host waits for this device, where such
  // a wait may be long and messages should move meanwhile; empty: nothing is called.
  virtual void set_progress(const std::function<void()>& /*progress*/) {}
};

// How the CPU backend computes in bf16.
enum class Bf16 : uint8_t {
  Auto,     // native where the processor has it, else emulated
  Emulate,  // widen to fp32, compute, round: what an older processor does, here for tests
};

// The CPU backend with that many OpenMP threads (1 to OMP_THREAD_LIMIT, else Error(Input)) for
// every op. The calling thread, which is the one to use it, and its OpenMP threads compute without
// denormal numbers from here on. `speed`: measured speeds for its model(); by default usual
// figures.
[[nodiscard]] std::unique_ptr<Device> make_cpu_device(int threads, Bf16 bf16 = Bf16::Auto,
                                                      const ProcessorSpeed& speed = {});

// One line per accelerator that the CUDA backend can use; empty without one (or without the
// backend).
[[nodiscard]] std::vector<std::string> cuda_devices();
// Why cuda_devices() is empty: what the driver says, or that this build has no backend; "" when it
// is not empty.
[[nodiscard]] std::string why_no_cuda();
// What was missing when this build was configured without the backend although one might expect it
// (a toolkit without cuDNN, say); empty in all other builds.
[[nodiscard]] std::string cuda_left_out();
// Names a GPU. `uuid` is unique in the world. `bus` is the GPU's place on the host's bus, which the
// parts of one GPU (MIG) have in common.
struct GpuIdentity {
  std::string uuid;  // "GPU-3f8a..."
  std::string bus;   // "0000:17:00"
};
// The identity of the visible GPU of that ordinal. Throws Error(Resource) in a build without CUDA.
[[nodiscard]] GpuIdentity cuda_identity(int ordinal);
// The GPU of that ordinal among the visible ones. `graphs`: sections are replayed as CUDA graphs.
// `spare_processors`: multiprocessors that matrix products leave to others; their number may change
// the products' bits. Throws Error(Resource) in a build without CUDA (naming the option) and where
// there is no device.
[[nodiscard]] std::unique_ptr<Device> make_cuda_device(int ordinal, bool graphs = true,
                                                       int spare_processors = 0);

}  // namespace penstock
