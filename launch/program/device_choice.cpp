#include "launch/program/device_choice.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <sstream>

#include "kernels/counting/virtual_device.h"
#include "kernels/memory/host_memory.h"

namespace penstock {
namespace {

// Returns the numbers as a list in words, for example "0, 2 and 3".
std::string numbers_text(const std::vector<int>& numbers) {
  std::string text = std::to_string(numbers.front());
  for (size_t i = 1; i < numbers.size(); ++i) {
    text += (i + 1 == numbers.size() ? " and " : ", ") + std::to_string(numbers[i]);
  }
  return text;
}

std::vector<RankFacts> everyones(Collective& world, const RankFacts& mine) {
  std::string joined;
  for (const std::string& facts : world.gather_text(text_of(mine))) joined += facts + '\n';
  std::istringstream lines(world.broadcast(joined, 0));
  std::vector<RankFacts> all;
  for (std::string line; std::getline(lines, line);) all.push_back(parse_rank_facts(line));
  return all;
}

}  // namespace

int gpu_for(int local_rank, int visible) {
  return local_rank % visible;
}

std::string sharing_complaint(std::span<const RankFacts> ranks) {
  std::map<std::string, std::vector<int>> users;
  for (size_t rank = 0; rank < ranks.size(); ++rank) {
    if (!ranks[rank].gpu.empty()) users[ranks[rank].gpu].push_back(static_cast<int>(rank));
  }
  for (const auto& [gpu, sharing] : users) {
    if (sharing.size() == 1) continue;
    const bool is_only_one = std::ranges::all_of(
        sharing, [&](int rank) { return ranks[static_cast<size_t>(rank)].visible_gpus == 1; });
    return fmt::format(
        "ranks {} would share {} on host {}{}, use --device cpu, or accept it with "
        "--allow-gpu-sharing",
        numbers_text(sharing), gpu, ranks[static_cast<size_t>(sharing.front())].host,
        is_only_one ? ", the only GPU that each of them sees: show them all of the host "
                      "(CUDA_VISIBLE_DEVICES; in Slurm --gpus-per-node=N, and no --gpu-bind)"
                    : ": start one rank for each GPU, set CUDA_VISIBLE_DEVICES so that each rank "
                      "sees its own");
  }
  return {};
}

std::string visibility_note(std::span<const RankFacts> ranks) {
  std::map<std::string, std::set<std::string>>
      alone;  // for each host, the GPUs of ranks that see a single GPU
  for (const RankFacts& rank : ranks) {
    if (!rank.gpu.empty() && rank.visible_gpus == 1) alone[rank.host].insert(rank.gpu);
  }
  for (const auto& [host, gpus] : alone) {
    if (gpus.size() < 2) continue;
    return fmt::format(
        "note: each rank on host {} sees its own GPU and no other (CUDA_VISIBLE_DEVICES, or "
        "Slurm's --gpus-per-task or --gpu-bind): messages between GPUs of a host may have to go "
        "through its memory; let every rank see them all (Slurm: --gpus-per-node=N)",
        host);
  }
  return {};
}

std::string mixture_complaint(std::span<const RankFacts> ranks, const Grid& grid) {
  const auto text_of_rank = [&](int rank) {
    const RankFacts& facts = ranks[static_cast<size_t>(rank)];
    return fmt::format("rank {} ({} of host {})", rank, facts.gpu.empty() ? "the CPU" : facts.gpu,
                       facts.host);
  };
  for (int position = 0; position < grid.positions; ++position) {
    const int first = grid.world_rank(position, 0);
    for (int replica = 1; replica < grid.replicas; ++replica) {
      const int other = grid.world_rank(position, replica);
      if (ranks[static_cast<size_t>(first)].gpu.empty() ==
          ranks[static_cast<size_t>(other)].gpu.empty()) {
        continue;
      }
      return fmt::format(
          "{} and {} hold the same stage in two replicas, and CPUs and GPUs update weights to "
          "different last bits: give both the same kind of device, or set run.device to cpu",
          text_of_rank(first), text_of_rank(other));
    }
  }
  return {};
}

DeviceChoice choose_device(Collective& world, const Session& session, const std::string& wish) {
  DeviceChoice choice;
  RankFacts mine{.host = session.host(), .gpu = {}, .bus = {}, .mpi_takes_gpu_memory = false};
  const int visible = wish == "cpu" ? 0 : static_cast<int>(cuda_devices().size());
  if (visible > 0) {
    choice.gpu = gpu_for(session.local_rank(), visible);
    mine.visible_gpus = visible;
    GpuIdentity identity = cuda_identity(choice.gpu);
    mine.gpu = std::move(identity.uuid);
    mine.bus = std::move(identity.bus);
    mine.mpi_takes_gpu_memory = Session::takes_gpu_memory();
  } else if (wish == "cuda") {
    choice.gpu = 0;
  }
  choice.ranks = everyones(world, mine);
  return choice;
}

void refuse_sharing(const DeviceChoice& choice, const RunConfig& config) {
  const std::string complaint = sharing_complaint(choice.ranks);
  if (complaint.empty() || config.allow_gpu_sharing) return;
  throw Error(ErrorKind::Resource, complaint, ErrorScope::EveryRank);
}

void refuse_mixture(const DeviceChoice& choice, const Grid& grid) {
  const std::string complaint = mixture_complaint(choice.ranks, grid);
  if (!complaint.empty()) throw Error(ErrorKind::Resource, complaint, ErrorScope::EveryRank);
}

int64_t memory_of_rank(const DeviceChoice& choice, int rank, int local_ranks,
                       const DeviceFacts& device) {
  if (!device.holds_values()) return device.model().memory_bytes;
  if (device.host_addressable()) return host_memory_bytes() / std::max(local_ranks, 1);
  const std::string& gpu = choice.ranks.at(static_cast<size_t>(rank)).gpu;
  const auto sharing = std::count_if(choice.ranks.begin(), choice.ranks.end(),
                                     [&](const RankFacts& other) { return other.gpu == gpu; });
  return device.model().memory_bytes / std::max<int64_t>(sharing, 1);
}

std::string fallback_note(const DeviceChoice& choice, const std::string& wish, bool gpu_here,
                          const std::string& left_out, const std::string& why) {
  if (choice.gpu >= 0 || wish != "auto" || (!gpu_here && left_out.empty())) return {};
  return fmt::format("note: {}the run computes on the CPU: {}",
                     gpu_here ? "this host has a GPU, but " : "", why);
}

std::string fallback_note(const DeviceChoice& choice, const std::string& wish) {
  // NVIDIA's driver makes the device file nvidiactl, and under WSL dxg, as in
  // cmake/PenstockCuda.cmake.
  const bool gpu_here =
      std::filesystem::exists("/dev/nvidiactl") || std::filesystem::exists("/dev/dxg");
  return fallback_note(choice, wish, gpu_here, cuda_left_out(), why_no_cuda());
}

std::unique_ptr<Device> open_device(const DeviceChoice& choice, int threads,
                                    const RunConfig& config, const ProcessorSpeed& speed) {
  if (config.dry_run) {
    return make_virtual_device(device_model_named(config.dry_run_model, threads, speed));
  }
  if (choice.gpu < 0) return make_cpu_device(threads, Bf16::Auto, speed);
  return make_cuda_device(choice.gpu, config.graphs, config.spare_processors);
}

}  // namespace penstock
