// launch/program/commands/train_command.cpp -- `penstock train`: everything around the run.
#include <fmt/format.h>

#include <chrono>
#include <memory>
#include <optional>
#include <set>
#include <utility>

#include "launch/program/commands/commands.h"
#include "launch/program/device_choice.h"
#include "launch/program/failure.h"
#include "launch/program/hub/folder_run.h"
#include "launch/program/output.h"
#include "launch/program/planning/files/profile_file.h"
#include "launch/program/processor/measured_speed.h"
#include "launch/program/runs/destination.h"
#include "launch/program/runs/dry_run.h"
#include "launch/program/runs/kept_run.h"
#include "launch/program/runs/planned_run.h"
#include "launch/program/runs/run_length.h"
#include "launch/program/runs/searched_schedule.h"
#include "launch/program/setup.h"
#include "launch/program/shell_word.h"
#include "launch/program/start/data_places.h"
#include "launch/program/start/excluded_hosts.h"
#include "launch/program/start/rank_table.h"
#include "launch/program/start/start_record.h"
#include "launch/program/stopping/replan_requests.h"
#include "launch/program/stopping/start_watch.h"
#include "launch/program/stopping/stop_requests.h"
#include "runtime/data/tokenizer/vocabulary.h"
#include "runtime/engine/training/checkpoints/transfer.h"
#include "runtime/engine/training/partner/rescue.h"
#include "runtime/engine/training/run.h"
#include "runtime/planning/blueprint/layout.h"
#include "runtime/records/checkpoint/reader.h"
#include "runtime/records/run_directory/classes.h"
#include "runtime/records/run_directory/contents.h"
#include "runtime/records/run_directory/names.h"
#include "runtime/records/telemetry/reporter.h"

namespace penstock {
namespace {

// Holds everything that is settled before ranks take their places.
struct Preparation {
  std::vector<std::string> notes;  // only rank 0 has any
  Destination to;
  TimeLimit limit;
  std::unique_ptr<StartWatch> start;  // kept until the run's files change
  std::unique_ptr<StopRequests> stopping;
  std::unique_ptr<ReplanRequests> replans;  // on rank 0, with run.replan
  int64_t until = 0;                        // RunOrder::until
  std::string onward;  // advice on going on after a stop; if empty, that of train
  ThreadPlan threads;
  DeviceChoice choice;
  std::unique_ptr<Device> device;
  PlannedRun run;
  Grid grid;
};

// Keeps the length of the run and the sizes of the data. So the run can be used and resumed on
// machines that do not have its data.
void keep_sizes(const Run& run, const RunConfig& config, RunDirectory* directory) {
  if (directory == nullptr) return;
  const DataFacts& facts = run.facts();
  const DataSizes sizes{.vocabulary = facts.vocabulary,
                        .classes = facts.classes,
                        .training_samples = facts.training_samples,
                        .validation_samples = facts.validation_samples};
  directory->keep(sizes, {.steps = config.steps, .epochs = config.epochs});
  if (!run.class_names().empty()) write_classes(directory->path(), run.class_names());
}

// Refuses a start after the time limit. It is collective: the clock of rank 0 decides.
void refuse_late_start(Collective& world, const TimeLimit& limit) {
  (void)on_first_rank(world, [&] {
    refuse_past_end(limit, std::chrono::system_clock::now());
    return std::string();
  });
}

// Refuses a run that goes on with other classes than it began with. It is collective.
void check_kept_classes(Collective& world, const Run& run, const Preparation& made) {
  if (made.to.resume_from.empty()) return;
  (void)on_first_rank(world, [&] {
    refuse_other_classes(made.to.path, run.class_names(), made.run.config.data.train);
    return std::string();
  });
}

// Returns the exit code of a stopped run. Rank 0 also notes how to resume the run.
int stopped(const RunSummary& summary, const Session& session, const Preparation& made,
            Reporter* reporter) {
  if (reporter != nullptr) {
    const RunConfig& run = made.run.config.run;
    std::string onward = made.onward;
    if (onward.empty()) {
      onward =
          fmt::format("with a checkpoint; to go on: {} -n {} penstock train {} --resume auto",
                      session.started_by(), session.ranks(), shell_word(run.out + "/" + kRunFile));
    }
    reporter->note(fmt::format("stopped after step {} of {}, by {}, {}", summary.steps, run.steps,
                               summary.stopped, onward));
  }
  return kStoppedExitCode;
}

// Returns the speed of the processor if rank 0 computes on it or a dry run models it, else no
// speed. It is collective.
ProcessorSpeed speed_for(Collective& world, const Session& session, const ThreadPlan& threads,
                         const DeviceChoice& choice, const RunConfig& config) {
  const bool reckons =
      config.dry_run ? config.dry_run_model == "cpu" : choice.ranks.front().gpu.empty();
  if (!reckons || !config.measure_processor) return {};
  const int cores = session.rank() == 0 ? threads.ranks.front().host_cores : 0;
  return speed_of_ranks(world, session, threads.threads, cores);
}

// Refuses a network that cannot be made before a directory is made for its run. Where a size
// follows from the data, which are not read yet, another one stands for it, since a built-in
// network takes any; one of a program's own may not, and waits for the data. It is collective.
void refuse_bad_network(Collective& world, const Config& config, const ModelMaker& models) {
  (void)on_first_rank(world, [&] {
    constexpr int64_t kUsualVocabulary = 32768;
    constexpr int64_t kUsualClasses = 10;
    const ModelInput input = models.input(config.model);
    const bool has_tokens = input.field == "tokens" || input.field == "source_tokens";
    int64_t vocabulary = config.model.vocabulary;
    int64_t classes = config.model.classes;
    if (has_tokens && vocabulary == 0) vocabulary = known_vocabulary(config.data);
    const bool waits_for_data = has_tokens ? vocabulary == 0 : classes < 2;
    // One class alone is refused with the data, which say how many there are.
    const bool is_refused_later = !has_tokens && config.model.classes == 1;
    if (waits_for_data && (config.model.kind == "own" || is_refused_later)) return std::string();
    if (waits_for_data && has_tokens) vocabulary = kUsualVocabulary;
    if (waits_for_data && !has_tokens) classes = kUsualClasses;
    const Sequential model = models.build(config.model, vocabulary, classes);
    check_model(config.model, model, input, config.pipeline.micro_batch_size);
    return std::string();
  });
}

// Returns everything that is settled before the run, or nothing if nothing is left to train. It is
// collective.
std::optional<Preparation> prepare(Session& session, const Arguments& arguments,
                                   const ModelMaker& models) {
  Preparation made;
  made.start = std::make_unique<StartWatch>(session);
  const std::unique_ptr<Network> all = starting_network(session, kWaitLimit, &made.notes);
  Collective& world = all->world();
  Settings settings;
  Config config = shared_config(world, arguments, true, &settings);
  const TimeLimit limit = on_every_rank([&] { return time_limit(config.run.time_limit); });
  refuse_late_start(world, limit);
  made.limit = limit;
  refuse_bad_network(world, config, models);
  if (!config.pipeline.automatic) {
    (void)grid_of(config, session.ranks(), session.started_by());  // refuses other numbers of ranks
  }
  made.to = open_destination(world, config, settings);
  if (made.to.directory) made.start->obey_file_in(*made.to.directory);
  made.stopping = std::make_unique<StopRequests>(limit, made.to.directory.get());
  if (made.to.directory && config.run.replan != "never") {
    made.replans = std::make_unique<ReplanRequests>(*made.to.directory);
  }
  if (!config.run.dry_run) {
    settle_checkpoint(world, config, made.to);
    for (std::string& note : rescue_memory(world, session, config, made.to)) {
      made.notes.push_back(std::move(note));
    }
  }
  if (!config.run.dry_run) config = with_steps_of_checkpoint(world, config, made.to.resume_from);
  refuse_hidden_folder(world, session, made.to.path);
  config.run.out = made.to.path;
  if (made.to.resume_from.empty()) check_model_folder(world, config, models);
  config = with_vocabulary(world, config, made.to.path);
  if (!config.run.dry_run && nothing_is_left(world, config, made.to)) {
    // If there are still copies in memory, they are of a run that was killed between its last
    // checkpoint and its end. These copies are of no use any more.
    forget_memory(config.checkpoint.partner_dir, made.to.run, session);
    return std::nullopt;
  }
  made.threads = shared_threads(world, session, config.run);
  config.run.threads = made.threads.threads;
  config.data.spare_cores = made.threads.spare;
  config.data.cut_threads = made.threads.threads;
  made.choice = choose_device(world, session, config.run.device);
  refuse_sharing(made.choice, config.run);
  if (config.run.dry_run) {
    made.choice = without_gpus(std::move(made.choice));
    config.pipeline.link = "auto";
  }
  const ProcessorSpeed speed = speed_for(world, session, made.threads, made.choice, config.run);
  agree(world, fmt::format("rank {} (host {})", session.rank(), session.host()),
        [&] { made.device = open_device(made.choice, made.threads.threads, config.run, speed); });
  const int64_t bytes =
      memory_of_rank(made.choice, session.rank(), session.local_ranks(), *made.device);
  made.run = planned_run(session, world, settings, config, made.device->model(), bytes, models,
                         run_directory_of(made.to.resume_from));
  const bool is_measured = !config.pipeline.profile.empty() && config.pipeline.devices.empty();
  if (made.run.devices && is_measured && !config.run.dry_run) {
    made.notes.push_back(other_device_text(*made.run.devices->kinds.front().profile,
                                           config.pipeline.profile, made.device->description()));
  }
  made.run.config = with_steps_of_data(world, made.run.config, models);
  made.notes.push_back(length_note(made.run.config.run));
  made.grid = grid_of(made.run.config, session.ranks(), session.started_by());
  refuse_mixture(made.choice, made.grid);
  InitConfig& init = made.run.config.init;
  if (!init.from.empty()) {
    init.from = on_first_rank(world, [&] {
      std::string path = checkpoint_at(init.from);
      with_offer_beside(path, [&] { (void)CheckpointReader(path); });
      return path;
    });
  }
  return made;
}

// Tells on rank 0 which rank holds what, and where the rank is.
void tell_ranks(const Preparation& made, const Blueprint& blueprint, Reporter& reporter) {
  constexpr size_t kMostShown = 16;
  const std::vector<RankRow> rows =
      rank_rows(blueprint, made.grid, made.choice.ranks, made.threads.ranks);
  std::string shown = rank_table(rows, kMostShown);
  if (rows.size() > kMostShown) {
    shown += fmt::format("\nall ranks are in {}/{}", made.to.path, kLogFile);
  }
  reporter.note(shown, rank_table(rows, rows.size()));
  const std::string neighbours = neighbours_text(made.grid, made.choice.ranks);
  if (!neighbours.empty()) reporter.note(neighbours);
}

int train(Preparation& made, const Station& station, const ModelMaker& models, Reporter* reporter) {
  const Config& config = made.run.config;
  const auto drawn_up = [&](const Blueprint& blueprint) {
    if (reporter != nullptr) tell_ranks(made, blueprint, *reporter);
    refuse_missing_data(station.network.world(), station.session, made.grid, config.data,
                        blueprint);
  };
  AskForReplan asked_to_replan;
  if (made.replans) asked_to_replan = [&] { return made.replans->take(); };
  const auto keep = [&](const std::string& csv, const Certificate& certificate) {
    keep_schedule(csv, certificate, made.to.path);
  };
  const RunOrder order{.config = config,
                       .models = models,
                       .run_file = kept_run_file(config),
                       .run_file_of = kept_run_file,
                       .identity = made.to.run,
                       .attempt = made.to.attempt,
                       .keep_schedule = keep,
                       .devices = made.run.devices ? &*made.run.devices : nullptr,
                       .stopping = made.stopping.get(),
                       .asked_to_replan = asked_to_replan,
                       .resume_from = made.to.resume_from,
                       .is_verified = true,  // settle_checkpoint() has verified it
                       .until = made.until,
                       .drawn_up = drawn_up};
  Run run(order, station, reporter);
  check_kept_classes(station.network.world(), run, made);
  refuse_late_start(station.network.world(), made.limit);  // reading the data can have taken long
  run.begin_copies();
  made.start.reset();  // files change from here on, so a stop waits for the first step
  begin(station.network.world(), config, made.to, reporter);
  keep_sizes(run, config.run, made.to.directory.get());
  if (made.run.certificate) {
    keep_schedule(config.pipeline.schedule_csv, *made.run.certificate, made.to.path);
  }
  const RunSummary summary = run.to_the_end();
  if (summary.stopped.empty()) return 0;
  return stopped(summary, station.session, made, reporter);
}

// Trains as train() does. If a write failed because the directory was moved or removed, the error
// says so.
int train_in_place(Preparation& made, const Station& station, const ModelMaker& models,
                   Reporter* reporter) {
  try {
    return train(made, station, models, reporter);
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::Resource && made.to.directory) made.to.directory->check();
    throw;
  }
}

// Takes the steps of a training on a device that computes nothing.
int try_out(const Preparation& made, const Station& station, const ModelMaker& models) {
  const auto drawn_up = [&](const Blueprint& blueprint) {
    if (station.session.rank() == 0) {
      const std::vector<RankRow> rows =
          rank_rows(blueprint, made.grid, made.choice.ranks, made.threads.ranks);
      answer("{}\n", rank_table(rows, rows.size()));
    }
    refuse_missing_data(station.network.world(), station.session, made.grid, made.run.config.data,
                        blueprint);
  };
  return dry_run(made.run, station, models, made.to.path, {made.notes, drawn_up});
}

}  // namespace

int train_command(Session& session, const Arguments& arguments, const ModelMaker& models) {
  return train_until(0, {}, session, arguments, models);
}

int train_until(int64_t step, const std::string& onward, Session& session,
                const Arguments& arguments, const ModelMaker& models) {
  std::optional<Preparation> made = prepare(session, arguments, models);
  if (!made) return 0;
  made->until = step;
  made->onward = onward;
  const Config& config = made->run.config;
  const LinkPlan links = on_every_rank(
      [&] { return plan_links(config.pipeline.link, made->choice.ranks, made->grid); });
  const std::chrono::microseconds nap =
      config.run.dry_run ? waiting_nap(session.local_ranks()) : nap_of(made->threads);
  const std::unique_ptr<Network> network =
      make_mpi_network(session, made->grid, links, watched_waits(config.run, nap, config.run.out));
  // A dry run's times do not depend on this machine.
  if (!made->threads.warning.empty() && !config.run.dry_run)
    made->notes.push_back("note: " + made->threads.warning);
  made->notes.push_back(fallback_note(made->choice, config.run.device));
  made->notes.push_back(visibility_note(made->choice.ranks));
  made->notes.insert(made->notes.end(), made->run.notes.begin(), made->run.notes.end());
  made->notes.push_back(links.note);
  if (config.run.dry_run) {
    return try_out(*made, {session, *network, made->grid, *made->device}, models);
  }
  std::set<std::string> hosts;
  for (const RankCores& rank : made->threads.ranks) hosts.insert(rank.host);
  made->notes.push_back(excluded_hosts_note(config.run.out, hosts));
  const std::unique_ptr<Reporter> reporter =
      reporter_for(network->world(), config, made->to, made->notes,
                   start_record(session, arguments, static_cast<int>(hosts.size())));
  try {
    return train_in_place(*made, {session, *network, made->grid, *made->device}, models,
                          reporter.get());
  } catch (...) {
    if (session.ranks() == 1) throw;
    rethrow_naming(name_of_rank(session, made->grid));
  }
}

const CommandForm& train_form() {
  static const CommandForm form{
      .name = "train",
      .operand = "RUNFILE.toml",
      .summary = "train the network that the run file describes",
      .about =
          R"(Every key of the run file (TOML) can be given here, and then wins. true/false options may stand
alone; lists are written 3,5. Ranks = stages x replicas. In [ ]: the default.
)",
      .needs_ranks = true,
      .lists_keys = true};
  return form;
}

}  // namespace penstock
