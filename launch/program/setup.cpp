// launch/program/setup.cpp -- see setup.h.
#include "launch/program/setup.h"

#include <fmt/format.h>

#include <charconv>
#include <filesystem>
#include <system_error>

#include "launch/program/dry_run.h"
#include "launch/program/failure.h"
#include "launch/program/options/command_line.h"
#include "launch/program/options/layer_places.h"
#include "launch/program/options/run_file.h"
#include "runtime/blueprint/programs.h"
#include "runtime/data/text/vocabulary.h"

namespace penstock {

std::unique_ptr<Network> starting_network(const Session& session, std::chrono::milliseconds limit) {
  return make_mpi_network(session, {.positions = session.ranks()}, {}, {.limit = limit});
}

Waits watched_waits(const RunConfig& config, const std::string& folder, int local_ranks) {
  return {.limit = std::chrono::milliseconds(static_cast<int64_t>(config.wait_limit * 1000.0)),
          .are_watched = true,
          .nap = config.dry_run ? waiting_nap(local_ranks) : std::chrono::microseconds(0),
          .folder = folder,
          .say = print_hang};
}

Config share(Collective& world, const std::function<Config()>& make) {
  std::string schedule_csv;
  std::string places;
  const std::string text = on_first_rank(world, [&] {
    const Config config = make();
    schedule_csv = config.pipeline.schedule_csv;
    places = places_of(config.model.sequence);
    return write_run_file(config);
  });
  Settings settings;
  parse_run_file(text, "run.toml", settings);
  settings.config.pipeline.schedule_csv = world.broadcast(schedule_csv, 0);
  set_places(settings.config.model.sequence, world.broadcast(places, 0));
  return settings.config;
}

Config shared_config(Collective& world, const std::vector<std::string>& arguments,
                     bool run_file_required, Settings* origins, DataRead read) {
  return share(world, [&] {
    const Settings settings = read_settings(arguments, run_file_required, read);
    if (origins != nullptr) *origins = settings;
    return settings.config;
  });
}

Config with_vocabulary(Collective& world, const Config& config, const std::string& folder) {
  if (!uses_pieces(config.data)) return config;
  Config complete = config;
  complete.data.vocabulary = on_first_rank(world, [&] {
    std::error_code error;
    std::filesystem::create_directories(folder, error);
    const std::string path = provide_vocabulary(config.data, folder);
    return std::filesystem::absolute(path).lexically_normal().string();
  });
  return complete;
}

Grid grid_of(const Config& config, int ranks) {
  const PipelineConfig& pipeline = config.pipeline;
  const int positions = on_every_rank([&] { return ranks_per_pipeline(pipeline); });
  const int64_t needed = int64_t{positions} * pipeline.replicas;
  if (needed != ranks) {
    const std::string here = ranks == 1 ? "is 1" : fmt::format("are {}", ranks);
    throw Error(
        ErrorKind::Input,
        fmt::format("{} stages{} x {} replicas need {} ranks, but there {}: mpirun -n {} "
                    "penstock train RUNFILE.toml, or change --stages and --replicas",
                    pipeline.stages,
                    positions == pipeline.stages ? "" : fmt::format(" on {} ranks", positions),
                    pipeline.replicas, needed, here, needed),
        ErrorScope::EveryRank);
  }
  return {.positions = positions,
          .replicas = pipeline.replicas,
          .placement = pipeline.placement == "replicas" ? Placement::Replicas : Placement::Stages};
}

ThreadPlan shared_threads(Collective& world, const Session& session, int asked) {
  const std::vector<std::string> texts = world.gather_text(text_of(own_cores(session.host())));
  const std::string text = on_first_rank(world, [&] {
    std::vector<RankCores> ranks;
    ranks.reserve(texts.size());
    for (const std::string& rank : texts) {
      ranks.push_back(parse_rank_cores(rank));
    }
    const ThreadPlan plan = plan_threads(asked, ranks);
    return fmt::format("{} {}", plan.threads, plan.warning);
  });
  ThreadPlan plan;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), plan.threads);
  if (error != std::errc()) fail_internal("the thread plan of rank 0 has no number: " + text);
  plan.warning = std::string(end + 1, text.data() + text.size());
  return plan;
}

std::string name_of_rank(const Session& session, const Grid& grid) {
  return fmt::format("rank {} (stage {}, replica {}, host {})", session.rank(),
                     grid.position_of(session.rank()), grid.replica_of(session.rank()),
                     session.host());
}

}  // namespace penstock
