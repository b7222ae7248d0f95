// launch/program/processor/rank_speeds.cpp -- see rank_speeds.h.
#include "launch/program/processor/rank_speeds.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <utility>

#include "kernels/cpu/processor/processor_speed.h"

namespace penstock {
namespace {

constexpr double kAlikeSpeeds = 0.05;

double mean_rate(std::span<const double> rates, const std::vector<int>& ranks) {
  double sum = 0;
  for (const int rank : ranks) sum += rates[static_cast<size_t>(rank)];
  return sum / static_cast<double>(ranks.size());
}

}  // namespace

std::vector<double> measured_rates(Collective& world, int threads, const std::string& precision) {
  world.barrier();
  const ProcessorSpeed first = measure_processor(threads);
  const ProcessorSpeed speed = faster(first, measure_processor(threads));
  std::vector<double> rates(static_cast<size_t>(world.size()), 0.0);
  rates[static_cast<size_t>(world.rank())] =
      precision == "bf16" ? speed.bf16.peak : speed.fp32.peak;
  world.sum(rates);
  return rates;
}

Devices devices_of_rates(std::span<const double> rates, const DeviceKind& usual,
                         const std::string& profile_path) {
  std::vector<int> by_rate(rates.size());
  std::iota(by_rate.begin(), by_rate.end(), 0);
  const auto rate = [&](int rank) { return rates[static_cast<size_t>(rank)]; };
  std::ranges::stable_sort(by_rate, std::greater<>(), rate);
  std::vector<std::vector<int>> kinds;
  for (const int rank : by_rate) {
    if (kinds.empty() || rate(rank) < (1 - kAlikeSpeeds) * rate(kinds.back().front())) {
      kinds.emplace_back();
    }
    kinds.back().push_back(rank);
  }
  Devices devices =
      like_devices(usual.model, usual.profile ? &*usual.profile : nullptr, profile_path);
  if (kinds.size() == 1) return devices;
  const auto first = std::ranges::find_if(
      kinds, [](const std::vector<int>& ranks) { return std::ranges::count(ranks, 0) > 0; });
  std::iter_swap(kinds.begin(), first);  // devices begin with the kind of rank 0
  const double usual_rate = mean_rate(rates, kinds.front());
  devices.kinds.assign(kinds.size(), usual);
  devices.kind_of_rank.resize(rates.size());
  for (size_t kind = 0; kind < kinds.size(); ++kind) {
    devices.kinds[kind].speed = usual.speed * mean_rate(rates, kinds[kind]) / usual_rate;
    for (const int rank : kinds[kind]) {
      devices.kind_of_rank[static_cast<size_t>(rank)] = static_cast<int>(kind);
    }
  }
  devices.basis = "unlike ranks, measured; " + devices.basis;
  return devices;
}

}  // namespace penstock
