// launch/program/runs/trained_run.cpp -- see trained_run.h.
#include "launch/program/runs/trained_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "launch/program/device_choice.h"
#include "launch/program/failure.h"
#include "launch/program/hub/folder_run.h"
#include "launch/program/runs/kept_run.h"
#include "launch/program/setup.h"
#include "launch/program/start/data_places.h"
#include "runtime/data/tokenizer/vocabulary.h"
#include "runtime/engine/training/checkpoints/from_folder.h"
#include "runtime/engine/training/checkpoints/trained_weights.h"
#include "runtime/planning/blueprint/programs.h"
#include "runtime/planning/schedule/recipe.h"
#include "runtime/records/checkpoint/layout.h"
#include "runtime/records/checkpoint/reader.h"
#include "runtime/records/run_directory/classes.h"
#include "runtime/records/run_directory/contents.h"

namespace penstock {
namespace {

size_t counted_on_first_rank(Collective& world, const CountTexts& count) {
  return std::stoull(on_first_rank(world, [&] { return std::to_string(count()); }));
}

// Reduces the number of micro-batches if there are few texts. The size of a micro-batch stays as it
// is, because the bits of a row's result depend on the number of rows in its micro-batch.
void spare_micro_batches(Config& config, size_t texts, int width) {
  PipelineConfig& pipeline = config.pipeline;
  if (texts == 0 || !pipeline.schedule_csv.empty()) return;
  const int64_t batch =
      config.run.eval_batch > 0 ? config.run.eval_batch : pipeline.micro_batch_size;
  const auto ceiling = [](int64_t a, int64_t b) { return (a + b - 1) / b; };
  // A text is computed by one replica only. These are the rows of the replica with the most texts.
  const int64_t rows = width * ceiling(static_cast<int64_t>(texts), pipeline.replicas);
  pipeline.micro_batches =
      static_cast<int>(std::min<int64_t>(pipeline.micro_batches, ceiling(rows, batch)));
}

// Fits the pipeline to the ranks. If there are not as many ranks as the network was trained on,
// there is one stage for each rank: the results do not depend on the number of stages. Settings of
// the user about the pipeline are left as they are.
void fit_ranks(const UseOptions& options, int ranks, PipelineConfig& pipeline) {
  const bool settled =
      std::any_of(options.rest.begin(), options.rest.end(), [](const std::string& argument) {
        return argument.starts_with("--stage") || argument.starts_with("--replicas") ||
               argument.starts_with("--schedule") || argument.starts_with("--pipeline.");
      });
  const int64_t needed = int64_t{ranks_per_pipeline(pipeline)} * pipeline.replicas;
  if (settled || needed == ranks) return;
  const PipelineConfig usual;
  pipeline.stages = ranks;
  pipeline.replicas = 1;
  pipeline.schedule = usual.schedule;
  pipeline.schedule_csv.clear();
  pipeline.chunks = 0;
  pipeline.stage_ranks.clear();
  pipeline.warm_up = 0;
  pipeline.kept_stages.clear();
  pipeline.split.clear();
}

// Returns the named checkpoint, or else the best or the newest of the run. Refuses a path that is
// no checkpoint, and a checkpoint whose small documents are damaged. This comes early, before ranks
// wait for each other.
std::string readable(const std::string& named, const std::string& run_directory) {
  std::error_code ignored;
  const bool is_best = named == kBest;
  const bool has_manifest = std::filesystem::exists(named + "/" + kManifestFile, ignored);
  const bool lost_it = is_step_name(named) && std::filesystem::is_directory(named, ignored);
  if (!named.empty() && !is_best && !has_manifest && !lost_it) {
    fail_input(named + " is no checkpoint: --checkpoint names a step directory, such as " +
               "runs/first/checkpoints/step-00000100, or is best");
  }
  std::string path = named.empty() ? newest_of_run(run_directory)
                     : is_best     ? best_of_run(run_directory)
                                   : named;
  try {
    (void)CheckpointReader(path);
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::Data) fail_data(error.what() + offer_beside(path));
    throw;
  }
  return path;
}

// Loads the weights. It is collective. If files are damaged, every rank throws Error(Data), and the
// error says which other checkpoints there are.
void load_checkpoint(Collective& world, const std::string& who, const std::string& checkpoint,
                     Pipeline& pipeline, Device& device) {
  try {
    agree(world, who, [&] { load_weights(checkpoint, pipeline, device); });
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::Data) throw;
    const std::string damage = error.what();
    (void)on_first_rank(world,
                        [&]() -> std::string { fail_data(damage + offer_beside(checkpoint)); });
  }
}

// Returns whether the weights are those of a Hugging Face folder as it was published. That is so if
// the command line names the folder and no checkpoint.
bool is_folder_itself(Collective& world, const Settings& settings, const std::string& checkpoint) {
  const std::string answer = on_first_rank(world, [&]() -> std::string {
    if (!settings.on_command_line("model.from")) return "";
    if (checkpoint.empty()) return "folder";
    fail_input("--model.from names weights, and so does --checkpoint: leave one out");
  });
  return !answer.empty();
}

// A search weighs forwards against backwards, and here are forwards alone. A run that was trained
// with a searched schedule is used with a known one: results do not depend on it.
void refuse_search(Collective& world, const Settings& settings) {
  (void)on_first_rank(world, [&] {
    if (settings.config.pipeline.schedule == kSearched &&
        settings.on_command_line("pipeline.schedule")) {
      fail_input(
          "--schedule searched: a schedule is searched for training, and this command runs "
          "forwards alone: leave it out, or name a known schedule");
    }
    return std::string();
  });
}

}  // namespace

TrainedRun::TrainedRun(Session& session, const UseOptions& options, const ModelMaker& models,
                       bool with_data, const CountTexts& count, int width) {
  DeviceChoice choice;
  bool uses_folder = false;
  std::chrono::microseconds nap = {};
  {
    // There is no time limit if `count` is given, because rank 0 then possibly waits for a person
    // to type.
    const std::unique_ptr<Network> all =
        starting_network(session, count ? std::chrono::milliseconds(0) : kWaitLimit);
    Collective& world = all->world();
    const DataRead read = with_data ? DataRead::Validation : DataRead::Nothing;
    Settings settings;
    const Config asked = shared_config(world, options.rest, true, &settings, read);
    uses_folder = is_folder_itself(world, settings, options.checkpoint);
    if (uses_folder) {
      config = with_data ? asked : with_folder_text(asked);
    } else {
      config = share(world, [&] {
        return with_kept(asked, options.checkpoint == kBest ? "" : options.checkpoint);
      });
    }
    config.run.dry_run = false;  // this key concerns training only
    refuse_search(world, settings);
    config.pipeline = with_known_schedule(config.pipeline);
    fit_ranks(options, session.ranks(), config.pipeline);
    const ThreadPlan plan = shared_threads(world, session, config.run);
    config.run.threads = plan.threads;
    config.data.spare_cores = plan.spare;
    config.data.cut_threads = plan.threads;
    nap = nap_of(plan);
    choice = choose_device(world, session, config.run.device);
    refuse_sharing(choice, config.run);
    agree(world, fmt::format("rank {} (host {})", session.rank(), session.host()),
          [&] { device = open_device(choice, plan.threads, config.run); });
    if (uses_folder) {
      check_model_folder(world, config, models);
      checkpoint = config.model.from;
    } else {
      checkpoint =
          on_first_rank(world, [&] { return readable(options.checkpoint, config.run.out); });
    }
    grid = grid_of(config, session.ranks(), session.started_by());
    if (count) spare_micro_batches(config, counted_on_first_rank(world, count), width);
  }
  const LinkPlan links =
      on_every_rank([&] { return plan_links(config.pipeline.link, choice.ranks, grid); });
  network = make_mpi_network(session, grid, links, watched_waits(config.run, nap));
  if (with_data) source = std::make_unique<DataSource>(config, models, network->world());
  if (source && !config.run.out.empty()) {
    (void)on_first_rank(network->world(), [&] {
      refuse_other_classes(config.run.out, source->class_names(), config.data.train);
      return std::string();
    });
  }
  blueprint = std::make_unique<Blueprint>(on_every_rank([&] {
    const int64_t vocabulary = source ? source->facts().vocabulary : known_vocabulary(config.data);
    return draw_up(config, models, vocabulary, source ? source->facts().classes : 0);
  }));
  constexpr bool kTrains = false;
  pipeline = std::make_unique<Pipeline>(config, *blueprint, grid, *network, *device, kTrains);
  if (source) {
    refuse_missing_data(network->world(), session, grid, config.data, *blueprint);
    source->open(pipeline->reads().fields);
  }
  const std::string who = name_of_rank(session, grid);
  if (!uses_folder) {
    load_checkpoint(network->world(), who, checkpoint, *pipeline, *device);
    return;
  }
  agree(network->world(), who, [&] {
    load_folder(config.model, *pipeline, *device);
    if (!config.model.lora.from.empty()) load_adapters(config.model, *pipeline, *device);
  });
}

void TrainedRun::use(const Session& session, const std::function<void()>& work) const {
  try {
    work();
  } catch (...) {
    if (session.ranks() == 1) throw;
    rethrow_naming(name_of_rank(session, grid));
  }
  pipeline->drain();
}

}  // namespace penstock
