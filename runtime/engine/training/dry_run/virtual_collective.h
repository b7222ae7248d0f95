// runtime/engine/training/dry_run/virtual_collective.h -- small values between ranks in a dry run:
// no rank has them before the last one of its group has come, by their virtual clocks.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "kernels/counting/virtual_clock.h"
#include "runtime/system/comm/network.h"

namespace penstock {

// Both arguments must outlive it. Bytes that one member gives another take no time.
class VirtualCollective final : public Collective {
 public:
  VirtualCollective(Collective& real, VirtualClock& clock) : real_(real), clock_(clock) {}

  [[nodiscard]] int rank() const override { return real_.rank(); }
  [[nodiscard]] int size() const override { return real_.size(); }
  void barrier() override { meet(); }
  void sum(std::span<double> values) override {
    meet();
    real_.sum(values);
  }
  void gather(std::span<const double> mine, std::span<const int> counts,
              std::span<double> all) override {
    meet();
    real_.gather(mine, counts, all);
  }
  void gather_to_all(std::span<const double> mine, std::span<double> all) override {
    meet();
    real_.gather_to_all(mine, all);
  }
  [[nodiscard]] std::vector<int64_t> gather_to_all(int64_t mine) override {
    meet();
    return real_.gather_to_all(mine);
  }
  [[nodiscard]] std::vector<std::string> gather_text(const std::string& mine) override {
    meet();
    return real_.gather_text(mine);
  }
  [[nodiscard]] std::string broadcast(const std::string& text, int root) override {
    meet();
    return real_.broadcast(text, root);
  }
  void broadcast(std::span<double> values, int root) override {
    meet();
    real_.broadcast(values, root);
  }
  void give(std::span<const std::byte> bytes, int to) override { real_.give(bytes, to); }
  void take(std::span<std::byte> bytes, int from) override { real_.take(bytes, from); }

 private:
  // Waits for the last member, in both senses.
  void meet();

  Collective& real_;
  VirtualClock& clock_;
};

class VirtualLateGather final : public LateGather {
 public:
  // `real` gathers one number more from each rank than the `mine` of this one: its virtual time.
  // Collective over `world`.
  VirtualLateGather(std::unique_ptr<LateGather> real, size_t mine, Collective& world,
                    VirtualClock& clock);

  void start(std::span<const double> mine) override;
  [[nodiscard]] std::span<const double> finish() override;

 private:
  std::unique_ptr<LateGather> real_;
  VirtualClock& clock_;
  std::vector<int64_t> counts_;  // by rank, without the time
  std::vector<double> mine_, all_;
};

}  // namespace penstock
