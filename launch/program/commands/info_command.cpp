// launch/program/commands/info_command.cpp -- `penstock info`: versions, hardware, and what a run
// here would use.
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>

#include "kernels/cpu/processor/processor.h"
#include "launch/commit.h"
#include "launch/program/commands/commands.h"
#include "launch/program/device_choice.h"
#include "launch/program/failure.h"
#include "launch/program/output.h"
#include "launch/program/processor/measured_speed.h"
#include "launch/program/setup.h"
#include "launch/program/shell_word.h"
#include "launch/program/start/machine.h"
#include "launch/program/start/start_line.h"
#include "launch/program/start/start_record.h"
#include "launch/version.h"
#include "runtime/planning/blueprint/programs.h"
#include "runtime/records/telemetry/units.h"
#include "runtime/system/comm/cuda_versions.h"

namespace penstock {
namespace {

// Returns the line of this rank, for example "rank 0  host n1  cpu (avx512_core_bf16, 2 threads)".
std::string rank_line(const Session& session, const DeviceChoice& choice, int threads,
                      const RunConfig& config) {
  std::string device;
  try {
    device = open_device(choice, threads, config)->description();
  } catch (...) {  // the user wants the reason, so it is shown, not thrown
    device = "no device: " + current_failure().what;
  }
  return fmt::format("  rank {}  host {}  {}", session.rank(), session.host(), device);
}

// Prints how fast the processor is, as forecasts of a run on this machine assume it.
void print_speed(const ProcessorSpeed& speed, int threads) {
  if (!speed.known()) return;
  constexpr double kGiga = 1e-9;
  const auto products = [&](const char* name, const ProductSpeed& of) {
    answer(
        "            {} products {:.0f} GFLOP/s; of that linear layers {:.0f} %, attention "
        "{:.0f} %, convolutions {:.0f} %\n",
        name, kGiga * of.peak, 100 * of.linear, 100 * of.attention, 100 * of.convolution);
  };
  answer("speed       measured, of a rank's {}\n", amount_text(threads, "thread"));
  products("fp32", speed.fp32);
  products("bf16", speed.bf16);
  answer("            memory {:.0f} GB/s, {:.1f} us for an op with nothing to do\n",
         kGiga * speed.memory_bytes_per_s, 1e6 * speed.op_overhead_s);
}

void print_cuda() {
  const std::vector<std::string> gpus = cuda_devices();
  answer("CUDA        {}\n",
         gpus.empty() ? why_no_cuda() : fmt::format("{} devices on rank 0's host", gpus.size()));
  for (const std::string& gpu : gpus) answer("            {}\n", gpu);
  for (const std::string& library : cuda_library_versions()) {
    answer("            {}\n", library);
  }
}

void print_versions() {
  answer("penstock    {}{}\n", kVersion,
         kCommit.empty() ? "" : fmt::format(", commit {}", kCommit));
  answer("built with  {}, {}\n", kCompiler, kBuildType);
  answer("            with {}\n", kBuiltWith.empty() ? "none of the optional parts" : kBuiltWith);
  if (!kBuiltWithout.empty()) answer("            without {}\n", kBuiltWithout);
  if (!kKernelsLevels.empty())
    answer("kernels     for {}, of {}\n", kernels_level(), kKernelsLevels);
  answer("MPI         {}, {} GPU memory\n", Session::library_version(),
         Session::takes_gpu_memory() ? "reads" : "does not read");
  answer("oneDNN      {}\n", onednn_version());
  print_cuda();
}

// Prints by what means a run of this shape would send and sum on these ranks, or why it could not.
void print_links(const Config& config, const DeviceChoice& choice, int ranks) {
  const int positions = ranks_per_pipeline(config.pipeline);
  const bool fits = int64_t{positions} * config.pipeline.replicas == ranks;
  const Grid grid = fits ? grid_of(config, ranks) : Grid{.positions = ranks};
  const std::string complaint = sharing_complaint(choice.ranks);
  try {
    const LinkPlan plan = plan_links(config.pipeline.link, choice.ranks, grid);
    if (ranks > 1) answer("links       {}\n", plan.note.empty() ? "by mpi" : plan.note);
  } catch (const Error& refusal) {
    answer("links       {}\n", refusal.what());
  }
  if (!complaint.empty() && !config.run.allow_gpu_sharing) answer("note        {}\n", complaint);
  const std::string mixture = mixture_complaint(choice.ranks, grid);
  if (!mixture.empty()) answer("note        {}\n", mixture);
}

void print_run(const Config& config, const ThreadPlan& plan, int ranks) {
  const PipelineConfig& pipeline = config.pipeline;
  const int64_t needed = int64_t{ranks_per_pipeline(pipeline)} * pipeline.replicas;
  answer("a run       stages {} x replicas {} = ranks {}{}, schedule {}, recompute {}\n",
         pipeline.stages, pipeline.replicas, needed,
         needed == ranks ? "" : fmt::format(" (here: {})", ranks), pipeline.schedule,
         recompute_text(pipeline));
  answer(
      "            D x M x b = {} x {} x {} = {} a step, {}, threads per rank {}\n",
      pipeline.replicas, pipeline.micro_batches, pipeline.micro_batch_size,
      amount_text(pipeline.micro_batch_size * pipeline.replicas * pipeline.micro_batches, "sample"),
      config.run.precision, plan.threads);
  if (!plan.warning.empty()) answer("note        {}\n", plan.warning);
}

// Prints the line that starts such a run on this host. `arguments` can begin with its run file.
void print_start(const Session& session, const Arguments& arguments, const Config& config,
                 const Machine& machine) {
  const int64_t ranks = int64_t{ranks_per_pipeline(config.pipeline)} * config.pipeline.replicas;
  std::string run = "RUNFILE.toml";
  size_t keys = 0;
  if (!arguments.empty() && !arguments.front().starts_with("--")) {
    const std::string& path = arguments.front();
    run = std::filesystem::is_directory(path) ? shell_word(path + "/run.toml") + " --resume auto"
                                              : shell_word(path);
    keys = 1;
  }
  for (; keys < arguments.size(); ++keys) run += " " + shell_word(arguments[keys]);
  const HostShape host{.cores = machine.own_cores("").host_cores, .domains = machine.domains()};
  answer("to start it {}\n",
         start_line(session.started_by(), host,
                    static_cast<int>(std::min<int64_t>(ranks, INT32_MAX)), run));
}

}  // namespace

int info_command(Session& session, const Arguments& arguments, const ModelMaker& /*models*/) {
  const std::unique_ptr<Network> network = starting_network(session);
  Collective& world = network->world();
  const Config config = shared_config(world, arguments, false);
  const ThreadPlan plan = shared_threads(world, session, config.run);
  const DeviceChoice choice = choose_device(world, session, config.run.device);
  const std::vector<std::string> ranks =
      world.gather_text(rank_line(session, choice, plan.threads, config.run));
  const Machine machine;
  const RankCores cores = machine.own_cores(session.host());
  ProcessorSpeed speed;
  if (config.run.measure_processor) {
    speed = speed_of_ranks(world, session, plan.threads, cores.host_cores);
  }
  if (session.rank() != 0) return 0;
  print_versions();
  answer("processor   {}, {}, {} for rank 0\n", processor_name(),
         amount_text(cores.host_cores, "core"), cores.cores.size());
  print_speed(speed, plan.threads);
  answer("ranks       {}, by {}\n", session.ranks(), network->description());
  for (const std::string& rank : ranks) {
    answer("{}\n", rank);
  }
  const std::string fallback = fallback_note(choice, config.run.device);
  if (!fallback.empty()) answer("{}\n", fallback);
  print_links(config, choice, session.ranks());
  print_run(config, plan, session.ranks());
  print_start(session, arguments, config, machine);
  return 0;
}

const CommandForm& info_form() {
  static const CommandForm form{
      .name = "info",
      .operand = "[RUNFILE.toml]",
      .summary = "versions, devices, and what a run here would use",
      .about =
          "Prints versions, processor, ranks and devices, and what a run started this way would "
          "use.\n",
      .needs_ranks = true};
  return form;
}

}  // namespace penstock
