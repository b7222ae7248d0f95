#include "kernels/counting/counting_device.h"

#include "kernels/counting/counting.h"

namespace penstock {
namespace {

// Hands out addresses one after another from a range where no system maps memory for a process. So
// an op that touches such a tensor ends in a fault and changes nobody's data. The source makes no
// system call, and nothing but its addresses can run out.
class AddressSource final : public MemorySource {
 public:
  std::byte* obtain(size_t size_bytes) override {
    if (size_bytes > UINTPTR_MAX - next_) return nullptr;
    auto* data = reinterpret_cast<std::byte*>(next_);  // NOLINT(performance-no-int-to-ptr)
    next_ += size_bytes;
    return data;
  }
  void give_back(std::byte* /*data*/, size_t /*size_bytes*/) override {}
  [[nodiscard]] std::string name() const override { return "the address space"; }

 private:
  uintptr_t next_ = uintptr_t{1} << 55;
};

class Counter final : public Counting<CountingDevice> {
 public:
  explicit Counter(const DeviceModel& model) : Counting(model, std::make_unique<AddressSource>()) {
    set_facts({.description = model.name + " model",
               .model = model,
               .native_bf16 = !model.emulates_bf16,
               .host_addressable = false,
               .holds_values = false});
  }
};

}  // namespace

std::unique_ptr<CountingDevice> make_counting_device(const DeviceModel& model) {
  return std::make_unique<Counter>(model);
}

}  // namespace penstock
