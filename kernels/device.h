// kernels/device.h -- Device: memory plus every op, on one accelerator. The seam under which the
// CPU (kernels/cpu) and CUDA (kernels/cuda) backends live; nothing above kernels/ knows which it
// has.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "kernels/clock.h"
#include "kernels/device_model.h"
#include "kernels/memory/memory.h"
#include "kernels/memory/upload_lane.h"
#include "kernels/tensor.h"

namespace penstock {

class DenseOps;
class ImageOps;
class NormOps;
class PointwiseOps;
class LayoutOps;
class AttentionOps;
class TokenOps;
class UpdateOps;

class Device {
 public:
  virtual ~Device() = default;

  // "cpu (avx512_core_bf16, 2 threads)"
  [[nodiscard]] virtual std::string description() const = 0;
  // What plans and forecasts reckon with.
  [[nodiscard]] virtual DeviceModel model() const = 0;
  // True when bf16 matrix products run at the hardware's own speed.
  [[nodiscard]] virtual bool native_bf16() const = 0;
  // True when the host may read and write tensor memory directly.
  [[nodiscard]] virtual bool host_addressable() const = 0;
  // False when tensors have no contents (kernels/counting): values need not be made for it.
  [[nodiscard]] virtual bool holds_values() const { return true; }
  // Returns when all work issued so far has ended.
  virtual void synchronize() = 0;
  // Copies size_bytes between host memory and this device's, in issue order with the ops.
  virtual void copy_from_host(Tensor& to, const void* from, size_t size_bytes) = 0;
  // They have done with the host's bytes when they return.
  virtual void copy_to_host(void* to, const Tensor& from, size_t size_bytes) = 0;
  // The whole of `from`, a tensor in host_memory(), in issue order with the ops, without waiting:
  // `from` must stay as it is until the next synchronize() or copy_to_host().
  virtual void upload(Tensor& to, const Tensor& from) {
    copy_from_host(to, from.raw(), from.size_bytes());
  }
  // Copies like upload()'s that need not wait for the ops issued before, nor they for these.
  [[nodiscard]] virtual std::unique_ptr<UploadLane> make_upload_lane(size_t slots);
  // Ops between the two come in the same order in every step, under the same `key`: a device may
  // then replay them as one. Sections do not nest; results are the same with and without.
  virtual void begin_section(int64_t /*key*/) {}
  virtual void end_section() {}
  // A clock with that many points, from now on.
  [[nodiscard]] virtual std::unique_ptr<DeviceClock> make_clock(size_t points) {
    return std::make_unique<HostClock>(points);
  }
  // Called now and then while the host waits for this device, where such a wait may be long and
  // messages should move meanwhile; empty: nothing is called.
  virtual void set_progress(const std::function<void()>& /*progress*/) {}
  // Kernel-library primitives (plans, descriptors) made since the start; flat in the steady state.
  [[nodiscard]] virtual int64_t primitives_created() const = 0;
  // What the libraries granted for each primitive, a line each (algorithm, workspace, what is fused
  // and what is refused): the answer to "why is this op slow". Empty where there is nothing to say.
  [[nodiscard]] virtual std::vector<std::string> library_choices() const { return {}; }

  // Commands given to an accelerator one by one since the start; those replayed within a section
  // (begin_section) do not count. Small in the steady state.
  [[nodiscard]] virtual int64_t commands_issued() const { return 0; }

  // Whether weight gradients that the first micro-batch of a step overwrites are faster than zeros
  // to which all are added: large ones save two passes over them, small ones are filled one by one.
  [[nodiscard]] virtual bool overwrites_gradients() const { return false; }

  // The ops by family, one header each under kernels/ops/. All outputs are given by the caller and
  // overwritten (=) unless a comment says added to (+=).
  virtual DenseOps& dense() = 0;          // matrix products
  virtual ImageOps& image() = 0;          // convolution, pooling
  virtual NormOps& norm() = 0;            // layer norm, batch norm
  virtual PointwiseOps& pointwise() = 0;  // activations, sums, dropout, casts
  virtual LayoutOps& layout() = 0;        // concat, split, transpose
  virtual AttentionOps& attention() = 0;  // softmax, multi-head attention
  virtual TokenOps& token() = 0;          // embedding, cross-entropy
  virtual UpdateOps& update() = 0;        // optimizer arithmetic
  virtual Memory& memory() = 0;
  // Memory that the host reads and writes and that this device copies from and to fastest.
  virtual Memory& host_memory() { return memory(); }

  // A new tensor with undefined contents; `zeros` fills it. Throws Error(Resource) when full.
  [[nodiscard]] Tensor empty(const Shape& shape, DType dtype, Purpose purpose) {
    const size_t size_bytes = static_cast<size_t>(shape.elements()) * size_of(dtype);
    return {memory().take(size_bytes, purpose), shape, dtype};
  }
  [[nodiscard]] Tensor zeros(const Shape& shape, DType dtype, Purpose purpose);
};

enum class Bf16 : uint8_t {
  Auto,     // native where the processor has it, else emulated
  Emulate,  // widen to fp32, compute, round: what an older processor does, here for tests
};

// The CPU backend with that many OpenMP threads (>= 1) for every op. The calling thread, which is
// the one to use it, and its OpenMP threads compute without denormal numbers from here on.
[[nodiscard]] std::unique_ptr<Device> make_cpu_device(int threads, Bf16 bf16 = Bf16::Auto);

// One line per accelerator that the CUDA backend can use; empty without one (or without the
// backend).
[[nodiscard]] std::vector<std::string> cuda_devices();
// Why there is none of them: what the driver says, or that this build has no backend; empty when
// there is one.
[[nodiscard]] std::string why_no_cuda();
// What was missing when this build was configured without the backend although one might expect it
// (a toolkit without cuDNN, say); empty in all other builds.
[[nodiscard]] std::string cuda_left_out();
// Which GPU that ordinal is: an identity that no other in the world has, and its place on the
// host's bus, which the parts of one GPU (MIG) have in common.
struct GpuIdentity {
  std::string uuid;  // "GPU-3f8a..."
  std::string bus;   // "0000:17:00"
};
[[nodiscard]] GpuIdentity cuda_identity(int ordinal);
// The GPU of that ordinal among the visible ones. `graphs`: sections are replayed as CUDA graphs.
// Matrix products are chosen for a GPU of `spare_processors` multiprocessors less, which the
// library then leaves to others; their bits may depend on it. Throws Error(Resource) in a build
// without CUDA (naming the option) and where there is no device.
[[nodiscard]] std::unique_ptr<Device> make_cuda_device(int ordinal, bool graphs = true,
                                                       int spare_processors = 0);

}  // namespace penstock
