// launch/program/setup.cpp -- see setup.h.
#include "launch/program/setup.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <filesystem>
#include <iterator>
#include <sstream>
#include <system_error>

#include "kernels/cpu/processor/processor.h"
#include "launch/program/failure.h"
#include "launch/program/options/command_line.h"
#include "launch/program/options/layer_places.h"
#include "launch/program/options/run_file.h"
#include "launch/program/start/binding.h"
#include "launch/program/start/machine.h"
#include "launch/program/start/meeting.h"
#include "runtime/data/tokenizer/vocabulary.h"
#include "runtime/planning/blueprint/programs.h"
#include "runtime/records/telemetry/units.h"

namespace penstock {

std::unique_ptr<Network> starting_network(const Session& session, std::chrono::milliseconds limit,
                                          std::vector<std::string>* notes) {
  auto network = make_mpi_network(session, {.positions = session.ranks()}, {}, {.limit = limit});
  std::vector<std::string> said = meet(network->world(), session);
  if (notes != nullptr) *notes = std::move(said);
  return network;
}

Waits watched_waits(const RunConfig& config, std::chrono::microseconds nap,
                    const std::string& folder) {
  return {.limit = std::chrono::milliseconds(static_cast<int64_t>(config.wait_limit * 1000.0)),
          .are_watched = true,
          .nap = nap,
          .folder = folder,
          .say = print_hang};
}

Config share(Collective& world, const std::function<Config()>& make) {
  std::string schedule_csv;
  std::string places;
  std::string said_in;
  const std::string text = on_first_rank(world, [&] {
    const Config config = make();
    schedule_csv = config.pipeline.schedule_csv;
    places = places_of(config.model.sequence);
    said_in = config.model.said_in;
    return write_run_file(config);
  });
  Settings settings;
  parse_run_file(text, "run.toml", settings);
  settings.config.pipeline.schedule_csv = world.broadcast(schedule_csv, 0);
  set_places(settings.config.model.sequence, world.broadcast(places, 0));
  settings.config.model.said_in = world.broadcast(said_in, 0);
  return settings.config;
}

Config shared_config(Collective& world, const std::vector<std::string>& arguments,
                     bool run_file_required, Settings* origins, DataRead read) {
  return share(world, [&] {
    Settings settings = read_settings(arguments, run_file_required, read);
    // Folders of images say how many classes there are, unless the user does.
    const std::string& kind = settings.config.data.kind;
    if ((kind == "images" || kind == "masks") && read != DataRead::Nothing &&
        !settings.given("model.classes")) {
      settings.config.model.classes = 0;
    }
    if (origins != nullptr) *origins = settings;
    return settings.config;
  });
}

Config with_vocabulary(Collective& world, const Config& config, const std::string& folder) {
  Config complete = config;
  if (uses_folder(config.data)) {
    complete.data.cache_folder = std::filesystem::absolute(folder).lexically_normal().string();
  }
  if (!uses_pieces(config.data)) return complete;
  complete.data.vocabulary = on_first_rank(world, [&] {
    std::error_code error;
    std::filesystem::create_directories(folder, error);
    const std::string path = provide_vocabulary(config.data, folder);
    return std::filesystem::absolute(path).lexically_normal().string();
  });
  complete.data.cache_folder = std::filesystem::absolute(folder).lexically_normal().string();
  return complete;
}

Grid grid_of(const Config& config, int ranks, const std::string& starter) {
  const PipelineConfig& pipeline = config.pipeline;
  const int positions = on_every_rank([&] { return ranks_per_pipeline(pipeline); });
  const int64_t needed = int64_t{positions} * pipeline.replicas;
  if (needed != ranks) {
    const std::string here = ranks == 1 ? "is 1" : fmt::format("are {}", ranks);
    throw Error(
        ErrorKind::Input,
        fmt::format("{}{} x {} need {}, but there {}: start by {} -n {}, or change --stages and "
                    "--replicas",
                    amount_text(pipeline.stages, "stage"),
                    positions == pipeline.stages ? "" : " on " + amount_text(positions, "rank"),
                    amount_text(pipeline.replicas, "replica"), amount_text(needed, "rank"), here,
                    starter, needed),
        ErrorScope::EveryRank);
  }
  return {.positions = positions,
          .replicas = pipeline.replicas,
          .placement = pipeline.placement == "replicas" ? Placement::Replicas : Placement::Stages};
}

namespace {

std::vector<RankCores> parsed_cores(const std::vector<std::string>& texts) {
  std::vector<RankCores> ranks;
  ranks.reserve(texts.size());
  for (const std::string& text : texts) ranks.push_back(parse_rank_cores(text));
  return ranks;
}

}  // namespace

ThreadPlan shared_threads(Collective& world, const Session& session, const RunConfig& config) {
  const Machine machine;
  const std::vector<std::string> texts =
      world.gather_text(text_of(machine.own_cores(session.host())));
  ThreadPlan plan;
  // The first line of the text is the plan. Then each rank has a line with the cores that the rank
  // is bound to; the line is empty if it is not bound.
  const std::string text = on_first_rank(world, [&] {
    plan = plan_threads(config.threads, parsed_cores(texts), session.started_by());
    std::string lines = fmt::format("{} {} {:d} {:d} {}", plan.threads, plan.spare, plan.naps,
                                    plan.crowded, plan.warning);
    const std::vector<std::vector<int>> bound = cores_to_bind(config.bind, plan.ranks);
    for (size_t rank = 0; rank < bound.size(); ++rank) {
      lines += fmt::format("\n{}", fmt::join(bound[rank], " "));
      if (!bound[rank].empty()) plan.ranks[rank].cores = bound[rank];
    }
    return lines;
  });
  std::istringstream lines(text);
  std::string line;
  if (!(lines >> plan.threads >> plan.spare >> plan.naps >> plan.crowded)) {
    fail_internal("the thread plan of rank 0 has no numbers: " + text);
  }
  (void)lines.get();
  std::getline(lines, plan.warning);
  for (int rank = 0; rank <= session.rank(); ++rank) std::getline(lines, line);
  std::istringstream numbers(line);
  const std::vector<int> cores{std::istream_iterator<int>(numbers), {}};
  if (!cores.empty()) machine.bind_to(cores);
  if (plan.crowded) let_idle_threads_sleep();
  return plan;
}

std::string name_of_rank(const Session& session, const Grid& grid) {
  return fmt::format("rank {} (stage {}, replica {}, host {})", session.rank(),
                     grid.position_of(session.rank()), grid.replica_of(session.rank()),
                     session.host());
}

}  // namespace penstock
