#include "kernels/counting/virtual_device.h"

#include <utility>
#include <vector>

#include "kernels/counting/counting.h"
#include "kernels/counting/reused_pages.h"

namespace penstock {
namespace {

class VirtualMarks final : public DeviceClock {
 public:
  VirtualMarks(const VirtualClock& clock, size_t points)
      : clock_(clock), zero_(clock.now()), marks_(points) {}
  void restart() override { zero_ = clock_.now(); }
  void mark(size_t point) override { marks_[point] = clock_.now(); }
  [[nodiscard]] double seconds(size_t point) override { return marks_[point] - zero_; }

 private:
  const VirtualClock& clock_;
  double zero_;
  std::vector<double> marks_;
};

class Virtual final : public Counting<VirtualDevice> {
 public:
  explicit Virtual(const DeviceModel& model)
      : Counting(model, reused_pages_source(),
                 [this](double seconds) { clock_.advance(pace_ * seconds); }),
        host_memory_(host_memory_source()) {
    set_facts({.description = "dry run of " + model.name,
               .model = model,
               .native_bf16 = !model.emulates_bf16,
               .holds_values = false});
  }

  void set_pace(std::function<double(int64_t)> pace) override { pace_of_ = std::move(pace); }
  [[nodiscard]] VirtualClock& clock() override { return clock_; }
  void begin_section(int64_t key) override { pace_ = pace_of_ ? pace_of_(key) : 1.0; }
  void end_section() override { pace_ = 1.0; }
  [[nodiscard]] std::unique_ptr<DeviceClock> make_clock(size_t points) override {
    return std::make_unique<VirtualMarks>(clock_, points);
  }
  Memory& host_memory() override { return host_memory_; }

 private:
  VirtualClock clock_;
  Memory host_memory_;
  std::function<double(int64_t)> pace_of_;
  double pace_ = 1.0;  // of the section that is open
};

}  // namespace

std::unique_ptr<VirtualDevice> make_virtual_device(const DeviceModel& model) {
  return std::make_unique<Virtual>(model);
}

}  // namespace penstock
