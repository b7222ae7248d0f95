// launch/program/options/settings.cpp -- see settings.h.
#include "launch/program/options/settings.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <limits>
#include <optional>
#include <stdexcept>
#include <vector>

#include "kernels/amount.h"
#include "kernels/error.h"
#include "kernels/joined.h"
#include "kernels/parse_number.h"
#include "kernels/suggest.h"
#include "launch/program/found_path.h"
#include "launch/program/hub/lora_section.h"
#include "launch/program/hub/model_section.h"
#include "launch/program/options/shortened.h"
#include "runtime/data/datasets/translation/language_pair.h"
#include "runtime/data/tokenizer/vocabulary.h"
#include "runtime/data/tokens/shards/token_shards.h"
#include "runtime/planning/schedule/text/csv.h"
#include "runtime/records/run_directory/names.h"
#include "runtime/system/files/input_file.h"

namespace penstock {
namespace {

namespace fs = std::filesystem;

// Settles the mini-batch B = D x M x b. M follows from B; if all four are given, they must agree. A
// B on the command line overrules an M in the run file. If the pipeline is planned, the plan
// chooses D, M and b later.
void settle_mini_batch(Settings& settings) {
  PipelineConfig& pipeline = settings.config.pipeline;
  if (pipeline.mini_batch == 0 || pipeline.automatic) return;
  const std::string place = settings.place_of("pipeline.mini_batch");
  const int64_t together = pipeline.replicas * pipeline.micro_batch_size;
  const bool follows = settings.on_command_line("pipeline.mini_batch")
                           ? !settings.on_command_line("pipeline.micro_batches")
                           : !settings.given("pipeline.micro_batches");
  if (follows) {
    const int64_t micro_batches = pipeline.mini_batch / together;
    if (pipeline.mini_batch % together != 0 || micro_batches > std::numeric_limits<int>::max()) {
      fail_input(
          fmt::format("{}: a mini-batch of {} is no multiple of {} x micro-batches of {}; change "
                      "pipeline.mini_batch, replicas or micro_batch_size",
                      place, amount_text(pipeline.mini_batch, "sample"),
                      amount_text(pipeline.replicas, "replica"), pipeline.micro_batch_size));
    }
    pipeline.micro_batches = static_cast<int>(micro_batches);
  }
  if (together * pipeline.micro_batches != pipeline.mini_batch) {
    fail_input(fmt::format(
        "{}: the mini-batch is {}, but {} x {} x {} are {}; leave out pipeline.micro_batches (it "
        "follows) or pipeline.mini_batch",
        place, amount_text(pipeline.mini_batch, "sample"),
        amount_text(pipeline.replicas, "replica"),
        amount_text(pipeline.micro_batches, "micro-batch", "es"),
        amount_text(pipeline.micro_batch_size, "sample"), together * pipeline.micro_batches));
  }
}

// Settles the number of stages where the rank of each is said. If the command line gives the one
// and the run file the other, the command line counts; if both are in one place, they must agree
// (recipe.h).
void settle_stages(Settings& settings) {
  PipelineConfig& pipeline = settings.config.pipeline;
  if (pipeline.stage_ranks.empty()) return;
  const bool list_wins = settings.on_command_line("pipeline.stage_ranks");
  const bool number_wins = settings.on_command_line("pipeline.stages");
  if (number_wins && !list_wins) {
    pipeline.stage_ranks.clear();
  } else if ((list_wins && !number_wins) || !settings.given("pipeline.stages")) {
    pipeline.stages = static_cast<int>(std::ssize(pipeline.stage_ranks));
  }
}

// Settles whether the run's length is given in steps or in epochs. If the command line gives one
// and the run file the other, the command line counts. The number of steps is 0 until it is
// computed from the epochs.
void settle_length(Settings& settings) {
  RunConfig& run = settings.config.run;
  const bool steps_given = settings.given("run.steps") && run.steps > 0;
  if (run.epochs > 0 && steps_given) {
    const bool steps_win = settings.on_command_line("run.steps");
    if (steps_win == settings.on_command_line("run.epochs")) {
      fail_input(
          fmt::format("{}: 'run.epochs' is {} and 'run.steps' is {}, and both say how long the run "
                      "is: leave one of them out",
                      settings.place_of("run.epochs"), run.epochs, run.steps));
    }
    if (steps_win) run.epochs = 0;
  }
  if (run.epochs > 0) {
    run.steps = 0;
    if (settings.config.data.kind != "synthetic" || settings.config.data.samples > 0) return;
    fail_input(
        fmt::format("{}: 'run.epochs' needs data that have an end, and made-up data have none: "
                    "give data.samples, or run.steps in place of run.epochs",
                    settings.place_of("run.epochs")));
  }
  if (run.steps > 0) return;
  fail_input(fmt::format("{}: 'run.steps' must be above 0 where 'run.epochs' is not given",
                         settings.place_of("run.steps")));
}

// Returns the path of data, which is a file or a folder. For tokens it can also be a pattern, or
// the common name of a .bin and an .idx file. For parallel text one path with placeholders stands
// for the files of all languages.
std::string data_path(const Settings& settings, const std::string& name, const std::string& path) {
  const DataConfig& data = settings.config.data;
  if (data.kind == "tokens") {
    return found_path(settings, name, path,
                      [](const fs::path& place) {
                        const std::vector<std::string> files = token_files(place.string());
                        return files.empty() ? std::vector<std::string>{place.string()} : files;
                      })
        .string();
  }
  if (data.kind != "parallel") return found_path(settings, name, path).string();
  return found_path(settings, name, path,
                    [&](const fs::path& place) {
                      std::vector<std::string> files;
                      for (const LanguagePair& pair : language_pairs(data.pairs)) {
                        files.push_back(corpus_path(place.string(), pair, pair.source));
                        files.push_back(corpus_path(place.string(), pair, pair.target));
                      }
                      return files;
                    })
      .string();
}

// Handles training data that are not given or cannot be found. To evaluate the run, the validation
// data are used in their place. For images this is an error, because the folders of the training
// data name the classes.
void settle_without_training_data(Settings& settings, DataRead read, const Error& missing) {
  DataConfig& data = settings.config.data;
  if (read == DataRead::Nothing && !data.train.empty()) {
    data.train = path_places(settings, "data.train", data.train).front().string();
    return;
  }
  const bool separate = !data.validation.empty() && !parse_number<double>(data.validation);
  if (read != DataRead::Validation || data.kind == "images") throw missing;
  if (!separate) {
    fail_input(fmt::format("{}; to evaluate without it, name a text with --data.validation PATH",
                           missing.what()));
  }
  data.train = data_path(settings, "data.validation", data.validation);
}

void settle_training_data(Settings& settings, DataRead read) {
  DataConfig& data = settings.config.data;
  try {
    if (data.train.empty()) {
      fail_input(
          fmt::format("{}: 'data.train' is not given, and data.kind = \"{}\" reads a file; "
                      "add --data.train PATH",
                      settings.place_of("data.train"), data.kind));
    }
    data.train = data_path(settings, "data.train", data.train);
  } catch (const Error& missing) {
    settle_without_training_data(settings, read, missing);
  }
}

void settle_data_paths(Settings& settings, DataRead read) {
  DataConfig& data = settings.config.data;
  if (data.kind == "synthetic") return;
  settle_training_data(settings, read);
  if (!data.vocabulary.empty()) {
    data.vocabulary = found_path(settings, "data.vocabulary", data.vocabulary).string();
  }
  if (data.validation.empty()) return;
  const std::optional<double> share = parse_number<double>(data.validation);
  if (!share) {
    if (read != DataRead::Nothing) {
      data.validation = data_path(settings, "data.validation", data.validation);
    }
  } else if (!(*share > 0.0 && *share < 1.0)) {
    fail_input(
        fmt::format("{0}: 'data.validation' must be a share above 0 and below 1 or a path, "
                    "not {1}; ./{1} is a path, and nothing means no validation",
                    settings.place_of("data.validation"), data.validation));
  }
}

// Reads the schedule if it is a file. The file also settles the numbers of stages and
// micro-batches.
void settle_schedule(Settings& settings) {
  PipelineConfig& pipeline = settings.config.pipeline;
  if (!pipeline.schedule.ends_with(".csv")) return;
  const fs::path path = found_path(settings, "pipeline.schedule", pipeline.schedule);
  pipeline.schedule = path.string();
  pipeline.schedule_csv = read_text(path, kMostScheduleBytes, FileOwner::User);
  try {
    const Schedule schedule = parse_csv(pipeline.schedule_csv, pipeline.schedule);
    if (!settings.given("pipeline.stages")) pipeline.stages = schedule.stages;
    if (!settings.given("pipeline.micro_batches")) pipeline.micro_batches = schedule.micro_batches;
  } catch (const std::invalid_argument& refusal) {
    fail_input(refusal.what());
  }
}

void settle_model_folder(Settings& settings) {
  std::string& from = settings.config.model.from;
  if (from.empty()) return;
  from = found_path(settings, "model.from", from).string();
  settle_model(settings);
}

// Settles the path of the run that this one starts from. When this run's own file is read again,
// for example to evaluate, that path is possibly gone. So a missing path is refused only when it is
// needed.
void settle_init(Settings& settings) {
  InitConfig& init = settings.config.init;
  if (init.from.empty()) {
    if (init.skip.empty()) return;
    fail_input(fmt::format("{}: 'init.skip' is for runs that start from another: add --init PATH",
                           settings.place_of("init.skip")));
  }
  init.from = likely_path(settings, "init.from", init.from).string();
}

// Settles the adapters and the path of their folder. The folder may be missing if the settings say
// all about the adapters, as a run's own file does.
void settle_lora_folder(Settings& settings) {
  std::string& from = settings.config.model.lora.from;
  if (!from.empty()) {
    from = (says_lora(settings) ? likely_path(settings, "lora.from", from)
                                : found_path(settings, "lora.from", from))
               .string();
  }
  settle_lora(settings);
}

// Settles the paths of what a run that trains is planned by. A plan reads the file of devices, too,
// and says itself where there is none.
void settle_costs(Settings& settings, DataRead read) {
  std::string& profile = settings.config.pipeline.profile;
  std::string& devices = settings.config.pipeline.devices;
  const bool trains = read == DataRead::All;
  if (trains && !profile.empty()) {
    profile = found_path(settings, "pipeline.profile", profile).string();
  }
  if (devices.empty() || devices == kMeasuredDevices) return;
  devices = (trains ? found_path(settings, "pipeline.devices", devices)
                    : likely_path(settings, "pipeline.devices", devices))
                .string();
}

// Refuses a relative path for copies in memory: a start from another directory would look elsewhere
// and find no copies.
void check_copies(const Settings& settings, DataRead read) {
  const std::string& directory = settings.config.checkpoint.partner_dir;
  if (read != DataRead::All || fs::path(directory).is_absolute()) return;
  fail_input(fmt::format(
      "{}: 'checkpoint.partner_dir' must be a path from the root, the same on every host, not '{}'",
      settings.place_of("checkpoint.partner_dir"), directory));
}

// Sets the run directory if the run file lies in one. A run file in a run directory stands for that
// directory, even if the directory was moved.
void settle_run_directory(Settings& settings) {
  std::string& out = settings.config.run.out;
  std::error_code ignored;
  const fs::path folder = settings.run_file.parent_path();
  if (!out.empty() || settings.run_file.filename() != kRunFile ||
      !fs::exists(folder / kIdentityFile, ignored)) {
    return;
  }
  out = folder.empty() ? "." : folder.string();
}

// Settles data.tokenizer and packed rows. Lines of JSON use the tokenizer of a folder, and so does
// text for a model from a folder unless data.tokenizer is given. The folder is the model's own
// unless data.vocabulary names another. The network has to know of packing, so model.packed is set,
// too.
void settle_tuning(Settings& settings) {
  DataConfig& data = settings.config.data;
  const std::string& from = settings.config.model.from;
  const bool folder_is_meant =
      data.kind == "text" && !from.empty() && !settings.given("data.tokenizer");
  if (data.kind == "jsonl" || folder_is_meant) data.tokenizer = "folder";
  if (uses_folder(data) && data.vocabulary.empty()) data.vocabulary = from;
  settings.config.model.packed = packs_rows(data);
}

void check_layers(const Settings& settings) {
  const ModelConfig& model = settings.config.model;
  const bool sequential = model.kind == "sequential";
  if (sequential && model.sequence.empty()) {
    fail_input(
        fmt::format("{}: model.kind = \"sequential\" needs its layers: one [[model.layers]] "
                    "table each, with kind = \"...\" and its options",
                    settings.place_of("model.layers")));
  }
  if (!sequential && !model.sequence.empty()) {
    fail_input(fmt::format("{}: a list of layers is for model.kind = \"sequential\", not \"{}\"",
                           model.sequence.front().where, model.kind));
  }
  if (!model.sequence.empty() && settings.on_command_line("model.layers")) {
    fail_input(fmt::format("{}: {} already lists its layers one by one",
                           settings.place_of("model.layers"), settings.run_file.string()));
  }
}

// Notes, for what the making of the network refuses, where its keys were said: the run file, and
// what has set others beside it.
void settle_places_of_network(Settings& settings) {
  std::vector<std::string> places;
  const std::string file = settings.run_file.string();
  if (!file.empty()) places.push_back(file);
  for (const auto& [name, origin] : settings.origins) {
    const bool is_of_network = name.starts_with("model.") || name.starts_with("lora.");
    const bool is_in_file = !file.empty() && origin.starts_with(file + ":");
    if (!is_of_network || is_in_file) continue;
    if (std::ranges::find(places, origin) == places.end()) places.push_back(origin);
  }
  settings.config.model.said_in = joined(places, ", ");
}

}  // namespace

bool Settings::on_command_line(const std::string& name) const {
  const auto origin = origins.find(name);
  return origin != origins.end() && origin->second.starts_with("--");
}

std::string Settings::place_of(const std::string& name) const {
  const auto origin = origins.find(name);
  if (origin != origins.end()) return origin->second;
  return run_file.empty() ? "the command line" : run_file.string();
}

void refuse_value(const Option& option, const std::string& written, const std::string& origin) {
  const std::string value = written.empty() ? "''" : shortened(written);
  fail_input(fmt::format("{}: '{}' must be {}, not {}{}", origin, option.name(), allowed(option),
                         value, did_you_mean(value, option.limits.choices)));
}

void assign(Settings& settings, const Option& option, const OptionValue& value,
            const std::string& origin) {
  if (!is_allowed(option, value)) refuse_value(option, text_of(value), origin);
  option.set(settings.config, value);
  settings.origins[option.name()] = origin;
}

void complete(Settings& settings, DataRead read) {
  settle_model_folder(settings);
  settle_lora_folder(settings);
  settle_schedule(settings);
  settle_costs(settings, read);
  settle_init(settings);
  settle_stages(settings);
  settle_mini_batch(settings);
  settle_length(settings);
  check_layers(settings);
  settle_tuning(settings);
  settle_data_paths(settings, read);
  check_copies(settings, read);
  settle_run_directory(settings);
  settle_places_of_network(settings);
}

}  // namespace penstock
