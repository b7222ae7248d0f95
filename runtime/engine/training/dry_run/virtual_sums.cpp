#include "runtime/engine/training/dry_run/virtual_sums.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace penstock {
namespace {

// A buffer that has been started, and not waited for.
struct UnderWay {
  const void* buffer = nullptr;
  double ready = 0;    // when this rank, and from meet() on every rank, has started it
  double holds = 0;    // for how long it keeps the members from moving the next one
  double latency = 0;  // from then on until it is there
  double there = 0;    // set by meet()
};

class VirtualSums final : public ReduceGroup {
 public:
  VirtualSums(std::unique_ptr<ReduceGroup> real, Collective& members, const LinkTimes& link,
              bool late_weights, VirtualClock& clock)
      : real_(std::move(real)),
        members_(members),
        link_(link),
        late_weights_(late_weights && !link.receiver_copies),
        clock_(clock) {}

  [[nodiscard]] int size() const override { return real_->size(); }
  void progress() override { real_->progress(); }

  void start(const Tensor& buffer) override {
    sum(buffer, 2);
    real_->start(buffer);
  }
  void scatter(const Tensor& buffer, std::span<const int64_t> cuts) override {
    sum(buffer, 1);
    real_->scatter(buffer, cuts);
  }
  void gather(const Tensor& buffer, std::span<const int64_t> cuts) override {
    const double moving = seconds_of_half(buffer);
    if (late_weights_) {
      add({.buffer = buffer.raw(), .holds = moving, .latency = link_.latency});
    } else {
      clock_.advance(moving + (std::exchange(gathers_, true) ? 0.0 : link_.latency));
    }
    real_->gather(buffer, cuts);
  }

  void wait(const Tensor& buffer) override {
    real_->wait(buffer);
    meet();
    for (const UnderWay& each : under_way_) {
      if (each.buffer == buffer.raw()) clock_.wait_until(each.there);
    }
  }
  void finish() override {
    real_->finish();
    meet();
    clock_.pay();
    for (const UnderWay& each : under_way_) clock_.wait_until(each.there);
    under_way_.clear();
    met_ = 0;
    gathers_ = false;
  }

 private:
  // Each half of a sum moves the shares of all members but one (half_sum_share(), costs.h).
  [[nodiscard]] double seconds_of_half(const Tensor& buffer) const {
    const double members = size();
    return (members - 1) / members * static_cast<double>(buffer.size_bytes()) *
           link_.seconds_per_byte;
  }

  void sum(const Tensor& buffer, int halves) {
    const double moving = halves * seconds_of_half(buffer);
    if (link_.receiver_copies) clock_.owe(moving);
    add({.buffer = buffer.raw(),
         .holds = halves * link_.latency + (link_.receiver_copies ? 0.0 : moving)});
  }

  void add(UnderWay started) {
    started.ready = clock_.now();
    under_way_.push_back(started);
  }

  // Asks when the other members have started what is new, and computes when that is there. All
  // members have started the same buffers, and wait at the same places of their programs.
  void meet() {
    const size_t count = under_way_.size() - met_;
    if (count == 0) return;
    std::vector<double> mine;
    for (size_t i = met_; i < under_way_.size(); ++i) mine.push_back(under_way_[i].ready);
    std::vector<double> all(count * static_cast<size_t>(members_.size()));
    members_.gather_to_all(mine, all);
    for (size_t i = 0; i < count; ++i) {
      UnderWay& started = under_way_[met_ + i];
      for (size_t at = i; at < all.size(); at += count) {
        started.ready = std::max(started.ready, all[at]);
      }
      free_at_ = std::max(free_at_, started.ready) + started.holds;
      started.there = free_at_ + started.latency;
    }
    met_ = under_way_.size();
  }

  std::unique_ptr<ReduceGroup> real_;
  Collective& members_;
  LinkTimes link_;
  bool late_weights_;
  VirtualClock& clock_;
  std::vector<UnderWay> under_way_;
  size_t met_ = 0;        // how many of under_way_ have been through meet()
  double free_at_ = 0;    // when the members can move the next buffer
  bool gathers_ = false;  // whether gather() was called since the last finish()
};

}  // namespace

std::unique_ptr<ReduceGroup> make_virtual_sums(std::unique_ptr<ReduceGroup> real,
                                               Collective& members, const LinkTimes& link,
                                               bool late_weights, VirtualClock& clock) {
  return std::make_unique<VirtualSums>(std::move(real), members, link, late_weights, clock);
}

}  // namespace penstock
