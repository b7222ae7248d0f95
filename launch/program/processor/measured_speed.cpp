#include "launch/program/processor/measured_speed.h"

#include <fmt/format.h>
#include <oneapi/dnnl/dnnl.h>
#include <oneapi/dnnl/dnnl_debug.h>

#include <algorithm>
#include <optional>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "kernels/cpu/processor/processor_speed.h"
#include "launch/program/processor/speed_file.h"
#include "launch/program/start/build_id.h"
#include "runtime/system/comm/agreement.h"
#include "runtime/system/files/proc.h"

namespace penstock {
namespace {

// Returns how many ranks measure at the same time. If there were more of them than the cores can
// hold, the ranks would measure how they disturb each other.
int side_by_side(int ranks, int threads, int cores) {
  return std::clamp(cores / std::max(threads, 1), 1, std::max(ranks, 1));
}

std::string key_of(int threads, int together) {
  return fmt::format("{}; {}; build {}{}; threads {}; ranks {}", processor_name(),
                     dnnl_cpu_isa2str(dnnl_get_effective_cpu_isa()), build_id(), kernels_build_id(),
                     threads, together);
}

// Returns whether a speed was measured often enough: three times undisturbed, or eight times in
// all. One measurement is not enough: if a virtual machine lends a core elsewhere, the loss is not
// seen. On a machine where other programs always compute, or whose control group takes the cores
// away many times a second, no measurement is undisturbed, and the fastest of eight is used.
bool is_enough(const ProcessorSpeed& speed) {
  return speed.known() && (speed.undisturbed >= 3 || speed.measurements >= 8);
}

// Returns the measurement combined with the known speed, and writes this result for the next
// command.
ProcessorSpeed kept(const std::string& key, const ProcessorSpeed& known,
                    const ProcessorSpeed& measured) {
  const ProcessorSpeed speed = known.known() ? faster(known, measured) : measured;
  write_speed(cache_folder(), key, speed);
  return speed;
}

}  // namespace

std::string processor_name() {
  std::istringstream file(system_text("/proc/cpuinfo"));
  for (std::string line; std::getline(file, line);) {
    const size_t colon = line.find(": ");
    if (line.starts_with("model name") && colon != std::string::npos) return line.substr(colon + 2);
  }
  return "unknown";
}

ProcessorSpeed speed_of_ranks(Collective& world, const Session& session, int threads,
                              int host_cores) {
  struct Known {
    ProcessorSpeed speed;
    int together = 1;
  };
  const auto known = numbers_of_first_rank<Known>(world, [&] {
    const int together = side_by_side(session.local_ranks(), threads, host_cores);
    const auto speed = read_speed(cache_folder(), key_of(threads, together));
    return Known{.speed = speed.value_or(ProcessorSpeed{}), .together = together};
  });
  if (is_enough(known.speed)) return known.speed;
  ProcessorSpeed measured;
  world.barrier();
  if (session.local_rank() < known.together) measured = measure_processor(threads);
  world.barrier();  // a waiting rank must not disturb one that measures
  return numbers_of_first_rank<ProcessorSpeed>(
      world, [&] { return kept(key_of(threads, known.together), known.speed, measured); });
}

ProcessorSpeed speed_for_ranks(int ranks, int threads) {
  const int cores = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
  const int together = side_by_side(ranks, threads, cores);
  const std::string key = key_of(threads, together);
  const ProcessorSpeed known = read_speed(cache_folder(), key).value_or(ProcessorSpeed{});
  if (is_enough(known)) return known;
  std::vector<ProcessorSpeed> measured(static_cast<size_t>(together));
  {
    std::vector<std::jthread> ranks_of_host;
    ranks_of_host.reserve(measured.size());
    for (ProcessorSpeed& each : measured) {
      ranks_of_host.emplace_back([&each, threads] { each = measure_processor(threads); });
    }
  }
  return kept(key, known, measured.front());
}

}  // namespace penstock
