// launch/program/commands/predict_command.cpp -- `penstock predict`: which classes images are of.
#include <fmt/format.h>

#include <algorithm>
#include <boost/program_options.hpp>
#include <nlohmann/json.hpp>
#include <numeric>

#include "launch/program/commands/commands.h"
#include "launch/program/failure.h"
#include "launch/program/help/flag.h"
#include "launch/program/output.h"
#include "launch/program/runs/trained_run.h"
#include "runtime/data/images/images.h"
#include "runtime/decoding/image_classes.h"
#include "runtime/files/input_file.h"
#include "runtime/run_directory/classes.h"

namespace penstock {
namespace {

constexpr int64_t kLargestImageBytes = int64_t{1} << 28;

// The arguments `RUN FILE... --key value...` without the files.
std::vector<std::string> take_files(Arguments& arguments) {
  const auto is_key = [](const std::string& argument) { return argument.starts_with("--"); };
  const auto keys = std::ranges::find_if(arguments, is_key);
  if (keys - arguments.begin() < 2) {
    fail_input(
        "predict needs a run directory and the files of images, before any key of the run file: "
        "penstock predict runs/latest cat.jpg dog.png");
  }
  std::vector<std::string> files(arguments.begin() + 1, keys);
  arguments.erase(arguments.begin() + 1, keys);
  return files;
}

// By label; numbers where the run has kept no names.
std::vector<std::string> names_by_label(const std::string& run_directory, int64_t classes) {
  std::vector<std::string> names = read_classes(run_directory);
  if (names.empty()) {
    for (int64_t c = 0; c < classes; ++c) names.push_back(std::to_string(c));
  }
  if (std::ssize(names) == classes) return names;
  fail_data(fmt::format("{} has {} classes in classes.json, and its network {}", run_directory,
                        names.size(), classes));
}

// The labels of the most probable classes, at most five.
std::vector<size_t> best_of(std::span<const float> probabilities) {
  std::vector<size_t> labels(probabilities.size());
  std::iota(labels.begin(), labels.end(), size_t{0});
  std::ranges::stable_sort(labels,
                           [&](size_t a, size_t b) { return probabilities[a] > probabilities[b]; });
  labels.resize(std::min<size_t>(labels.size(), 5));
  return labels;
}

// Standard output: a line an image as it is known, or JSON.
class Predictions {
 public:
  Predictions(const std::vector<std::string>& files, const std::vector<std::string>& classes,
              bool as_json)
      : files_(files), classes_(classes), as_json_(as_json) {
    for (const std::string& file : files) widest_ = std::max(widest_, file.size());
    for (const std::string& name : classes) widest_class_ = std::max(widest_class_, name.size());
  }
  void show(int64_t index, std::span<const float> probabilities) {
    const std::string& file = files_[static_cast<size_t>(index)];
    const std::vector<size_t> best = best_of(probabilities);
    if (!as_json_) {
      answer("{:<{}}  {:<{}}  {:6.2f} %\n", file, widest_, classes_[best[0]], widest_class_,
             100.0F * probabilities[best[0]]);
      return;
    }
    nlohmann::ordered_json one = {{"file", file},
                                  {"class", classes_[best[0]]},
                                  {"label", best[0]},
                                  {"probability", probabilities[best[0]]}};
    for (const size_t label : best) {
      one["best"].push_back({{"class", classes_[label]}, {"probability", probabilities[label]}});
    }
    json_.push_back(std::move(one));
  }
  void finish(const std::string& checkpoint) const {
    if (!as_json_) return;
    const nlohmann::ordered_json all = {{"checkpoint", checkpoint}, {"images", json_}};
    constexpr auto kReplace = nlohmann::ordered_json::error_handler_t::replace;
    write_answer(all.dump(-1, ' ', false, kReplace) + "\n");
  }

 private:
  const std::vector<std::string>& files_;
  const std::vector<std::string>& classes_;
  bool as_json_;
  size_t widest_ = 0, widest_class_ = 0;
  nlohmann::ordered_json json_ = nlohmann::ordered_json::array();
};

void predict(const TrainedRun& run, const UseOptions& options,
             const std::vector<std::string>& files) {
  const ModelInput& input = run.blueprint->input;
  std::vector<std::string> names;
  on_every_rank([&] {
    if (input.field != "images") {
      fail_input("this network tells no classes of images: model.kind is " + run.config.model.kind);
    }
  });
  ImageClasses classes(run.config, *run.pipeline, run.blueprint->model, input.shape, *run.network,
                       *run.device);
  (void)on_first_rank(run.network->world(), [&] {
    names = names_by_label(run.config.run.out, classes.classes());
    return std::string();
  });
  Predictions predictions(files, names, options.json);
  const auto read = [&](int64_t index, std::span<float> out) {
    const std::string& file = files[static_cast<size_t>(index)];
    const std::vector<uint8_t> bytes = InputFile(file).read_all(kLargestImageBytes);
    read_image_file(bytes, file, input.shape, run.config.data, out);
  };
  const auto show = [&](int64_t index, std::span<const float> probabilities) {
    predictions.show(index, probabilities);
  };
  classes.look(std::ssize(files), read, show);
  if (run.network->world().rank() == 0) predictions.finish(run.checkpoint);
}

void add_predict_options(CommandOptions& options, UseOptions& use) {
  add_checkpoint_option(options, use);
  options.add_options()("json", flag(use.json), "for programs, with the five most probable");
}

}  // namespace

int predict_command(Session& session, const Arguments& arguments, const ModelMaker& models) {
  std::vector<std::string> files;
  const UseOptions options = on_every_rank([&] {
    UseOptions read = read_use_options(predict_form(), add_predict_options, arguments);
    files = take_files(read.rest);
    return read;
  });
  const auto count = [&] { return files.size(); };
  const TrainedRun run(session, options, models, false, count);
  run.use(session, [&] { predict(run, options, files); });
  return 0;
}

const CommandForm& predict_form() {
  static const CommandForm form{
      .name = "predict",
      .operand = "RUN FILE...",
      .summary = "which classes images are of, with a trained network",
      .about =
          R"(Of each image, JPEG or PNG, the most probable class and how probable it is. RUN is the run
directory; the files follow it, and the keys of the run file follow them. Images are read as those
of the training data are (docs/data.md); any number of stages and replicas will do.
)",
      .needs_ranks = true};
  return form;
}

CommandOptions predict_command_options() {
  CommandOptions options;
  UseOptions unused;
  add_predict_options(options, unused);
  return options;
}

}  // namespace penstock
