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
#include "runtime/data/datasets/images/decoding/orientation.h"
#include "runtime/data/datasets/images/images.h"
#include "runtime/engine/decoding/image_classes.h"
#include "runtime/records/run_directory/classes.h"
#include "runtime/records/run_directory/names.h"
#include "runtime/system/files/input_file.h"
#include "runtime/system/files/json.h"

namespace penstock {
namespace {

constexpr int64_t kLargestImageBytes = int64_t{1} << 28;

struct PredictArguments {
  UseOptions use;
  std::vector<std::string> files;
};

CommandOptions predict_options_into(UseOptions& use) {
  CommandOptions options;
  add_checkpoint_option(options, use);
  options.add_options()("json", flag(use.json), "for programs, with the five most probable");
  return options;
}

// Reads the arguments `RUN FILE... --key value... -- FILE...`. All arguments behind "--" are files,
// even those that begin with "--".
PredictArguments read_arguments(const Arguments& arguments) {
  const auto end = std::ranges::find(arguments, "--");
  PredictArguments read;
  read.use = read_use_options(predict_form(), predict_options_into, {arguments.begin(), end});
  Arguments& rest = read.use.rest;
  const auto is_key = [](const std::string& argument) { return argument.starts_with("--"); };
  const auto keys = std::ranges::find_if(rest, is_key);
  if (keys != rest.begin()) {
    read.files.assign(rest.begin() + 1, keys);
    rest.erase(rest.begin() + 1, keys);
  }
  if (end != arguments.end()) read.files.insert(read.files.end(), end + 1, arguments.end());
  if (keys == rest.begin() || read.files.empty()) {
    fail_input(
        "predict needs a run directory and the files of images, before any key of the run file: "
        "penstock predict runs/latest cat.jpg dog.png");
  }
  return read;
}

// Returns the names of the classes by label, or no names if the run has kept none.
std::vector<std::string> names_by_label(const std::string& run_directory, int64_t classes) {
  std::vector<std::string> names = read_classes(run_directory);
  if (names.empty()) {
    tell(fmt::format(
        "note: classes are told by their numbers: {}/{}, which has their names, is not there (an "
        "earlier version did not write it, and data without folders of classes have no names)",
        run_directory, kClassesFile));
  }
  if (names.empty() || std::ssize(names) == classes) return names;
  fail_data(fmt::format("{} has {} classes in classes.json, and its network {}", run_directory,
                        names.size(), classes));
}

// Returns the labels of the most probable classes, at most five, the most probable first.
std::vector<size_t> best_of(std::span<const float> probabilities) {
  std::vector<size_t> labels(probabilities.size());
  std::iota(labels.begin(), labels.end(), size_t{0});
  std::ranges::stable_sort(labels,
                           [&](size_t a, size_t b) { return probabilities[a] > probabilities[b]; });
  labels.resize(std::min<size_t>(labels.size(), 5));
  return labels;
}

// Reads the image files on rank 0. A file that cannot be read is reported at once. If there are
// several files, the remaining files are still read.
class ImageFiles {
 public:
  ImageFiles(const std::vector<std::string>& files, const Shape& image, const DataConfig& data)
      : files_(files), image_(image), data_(data), whys_(files.size()) {}

  // Fills `out` with an image, or with black if the file cannot be read.
  void read(int64_t index, std::span<float> out) {
    const std::string& file = files_[static_cast<size_t>(index)];
    try {
      const std::vector<uint8_t> bytes = InputFile(file).read_all(kLargestImageBytes);
      read_image_file(bytes, file, image_, data_, out);
      turned_ += is_turned(bytes) ? 1 : 0;
    } catch (const Error& error) {
      const bool of_file = error.kind() == ErrorKind::Input || error.kind() == ErrorKind::Data;
      if (!of_file || files_.size() == 1) throw;
      std::ranges::fill(out, 0.0F);
      whys_[static_cast<size_t>(index)] = error.what();
      tell(fmt::format("warning: {}", error.what()));
      if (++failed_ == 1) kind_ = error.kind();
    }
  }
  // Returns why a file could not be read, or an empty text if it was read.
  [[nodiscard]] const std::string& why(int64_t index) const {
    return whys_[static_cast<size_t>(index)];
  }
  void note_turned() const {
    if (turned_ == 0) return;
    tell(
        fmt::format("note: {} of {} images ask to be turned or mirrored by EXIF, which is not "
                    "looked at (docs/data.md)",
                    turned_, files_.size()));
  }
  // Throws if any file could not be read. The error has the kind of the first failure.
  void finish() const {
    if (failed_ == 0) return;
    const char* others = failed_ < std::ssize(files_) ? "; what the others are is told" : "";
    throw Error(kind_, fmt::format("{} of {} images could not be read, as told above{}", failed_,
                                   files_.size(), others));
  }

 private:
  const std::vector<std::string>& files_;
  const Shape& image_;
  const DataConfig& data_;
  std::vector<std::string> whys_;
  int64_t failed_ = 0, turned_ = 0;
  ErrorKind kind_ = ErrorKind::Data;
};

// Writes to standard output: a line for each image as soon as its class is known, or JSON at the
// end.
class Predictions {
 public:
  // `classes` holds the names by label, or nothing if the classes have no names.
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
      const std::string name = classes_.empty() ? std::to_string(best[0]) : classes_[best[0]];
      answer("{:<{}}  {:<{}}  {:6.2f} %\n", file, widest_, name, widest_class_,
             100.0F * probabilities[best[0]]);
      return;
    }
    nlohmann::ordered_json one = {{"file", file},
                                  {"class", name_in_json(best[0])},
                                  {"label", best[0]},
                                  {"probability", probabilities[best[0]]}};
    for (const size_t label : best) {
      one["best"].push_back(
          {{"class", name_in_json(label)}, {"probability", probabilities[label]}});
    }
    json_.push_back(std::move(one));
  }
  void show_unread(int64_t index, const std::string& why) {
    if (as_json_) unread_.push_back({{"file", files_[static_cast<size_t>(index)]}, {"why", why}});
  }
  void finish(const std::string& checkpoint) const {
    if (!as_json_) return;
    nlohmann::ordered_json all = {{"checkpoint", checkpoint}, {"images", json_}};
    if (!unread_.empty()) all["not_read"] = unread_;
    write_answer(fit_for_output(shown_json(all) + "\n"));
  }

 private:
  [[nodiscard]] nlohmann::ordered_json name_in_json(size_t label) const {
    if (classes_.empty()) return label;
    return classes_[label];
  }

  const std::vector<std::string>& files_;
  const std::vector<std::string>& classes_;
  bool as_json_;
  size_t widest_ = 0, widest_class_ = 0;
  nlohmann::ordered_json json_ = nlohmann::ordered_json::array();
  nlohmann::ordered_json unread_ = nlohmann::ordered_json::array();
};

void predict(const TrainedRun& run, const UseOptions& options,
             const std::vector<std::string>& files) {
  const ModelInput& input = run.blueprint->input;
  std::vector<std::string> names;
  on_every_rank([&] {
    if (input.label_per_pixel) {
      fail_input(
          "this network tells the class of each pixel (model.per_pixel), and predict that of an "
          "image: see how good it is with eval");
    }
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
  ImageFiles images(files, input.shape, run.config.data);
  Predictions predictions(files, names, options.json);
  const auto read = [&](int64_t index, std::span<float> out) { images.read(index, out); };
  const auto show = [&](int64_t index, std::span<const float> probabilities) {
    const std::string& why = images.why(index);
    if (why.empty()) return predictions.show(index, probabilities);
    predictions.show_unread(index, why);
  };
  classes.look(std::ssize(files), read, show);
  (void)on_first_rank(run.network->world(), [&] {
    predictions.finish(run.checkpoint);
    images.note_turned();
    images.finish();
    return std::string();
  });
}

}  // namespace

int predict_command(Session& session, const Arguments& arguments, const ModelMaker& models) {
  const PredictArguments asked = on_every_rank([&] { return read_arguments(arguments); });
  const auto count = [&] { return asked.files.size(); };
  const TrainedRun run(session, asked.use, models, false, count);
  run.use(session, [&] { predict(run, asked.use, asked.files); });
  return 0;
}

const CommandForm& predict_form() {
  static const CommandForm form{
      .name = "predict",
      .operand = "RUN FILE...",
      .summary = "which classes images are of, with a trained network",
      .about =
          R"(Of each image, JPEG or PNG, the most probable class and how probable it is. RUN is the run
directory; the files follow it, and the keys of the run file follow them; or they stand at the end,
behind --, and may then begin with a dash. Images are read as those of the training data are
(docs/data.md); any number of stages and replicas will do.
)",
      .closing =
          R"(Of several files, one that cannot be read costs a warning (with --json a member of "not_read") and,
at the end, exit code 2 where it is not there, 5 where it is no image; the others are told.
)",
      .needs_ranks = true,
      .options = unread(predict_options_into)};
  return form;
}

}  // namespace penstock
