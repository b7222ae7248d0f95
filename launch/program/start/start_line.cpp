#include "launch/program/start/start_line.h"

#include <fmt/format.h>

#include <algorithm>

#include "runtime/records/telemetry/units.h"

namespace penstock {
namespace {

std::string command(const std::string& starter, int ranks, int threads) {
  if (starter == "srun") {
    return fmt::format("srun -n {0} --ntasks-per-node={0} --cpus-per-task={1}", ranks, threads);
  }
  if (starter == "flux run") return fmt::format("flux run -n {} -c {}", ranks, threads);
  if (starter == "jsrun")
    return fmt::format("jsrun -n {0} -a 1 -c {1} -b packed:{1}", ranks, threads);
  if (starter == "mpiexec") return fmt::format("mpiexec -n {} -bind-to core:{}", ranks, threads);
  return fmt::format("mpirun -n {0} --map-by ppr:{0}:node:PE={1} --bind-to core", ranks, threads);
}

}  // namespace

std::string start_line(const std::string& starter, const HostShape& host, int ranks,
                       const std::string& run_file) {
  if (ranks > host.cores) {
    return fmt::format("{} are more than the {} of this host: use more hosts",
                       amount_text(ranks, "rank"), amount_text(host.cores, "core"));
  }
  const bool spreads = ranks == 1 && host.domains > 1;
  const int chosen = spreads ? std::min(host.domains, host.cores) : ranks;
  const int threads = host.cores / chosen;
  return fmt::format("{} penstock train {}{} ({} of {}{})", command(starter, chosen, threads),
                     run_file, spreads ? fmt::format(" --stages {}", chosen) : "",
                     amount_text(chosen, "rank"), amount_text(threads, "thread"),
                     spreads ? ", one for each NUMA domain" : "");
}

}  // namespace penstock
