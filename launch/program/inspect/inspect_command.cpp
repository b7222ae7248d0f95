#include "launch/program/inspect/inspect_command.h"

#include <fmt/format.h>

#include <boost/program_options.hpp>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "kernels/error.h"
#include "launch/program/help/flag.h"
#include "launch/program/inspect/contents.h"
#include "launch/program/options/command_line.h"
#include "launch/program/runs/kept_run.h"
#include "runtime/records/checkpoint/compare.h"
#include "runtime/records/checkpoint/layout.h"
#include "runtime/records/run_directory/contents.h"
#include "runtime/records/run_directory/names.h"
#include "runtime/records/telemetry/units.h"
#include "runtime/system/files/json.h"

namespace penstock {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

struct InspectOptions {
  std::vector<std::string> paths;  // one or two
  bool json = false, verify = false;
  std::vector<std::string> keys;  // keys of the run file, as options
};

CommandOptions inspect_options_into(InspectOptions& options) {
  CommandOptions known;
  known.add_options()("verify", flag(options.verify),
                      "read every file and compare sizes and checksums")(
      "json", flag(options.json),
      "for programs: {parameters, layers, tensors}; of two: {equal, differences}");
  return known;
}

InspectOptions inspect_options(const std::vector<std::string>& arguments) {
  InspectOptions options;
  for (const std::string& argument :
       read_options(inspect_form(), inspect_options_into(options), arguments)) {
    const bool is_path = options.keys.empty() && !argument.starts_with("-");
    (is_path ? options.paths : options.keys).push_back(argument);
  }
  if (options.paths.empty() || options.paths.size() > 2) {
    fail_input(
        "inspect: say what to look at, or which two checkpoints to compare; see penstock "
        "inspect --help");
  }
  return options;
}

struct Subject {
  std::string path;
  bool is_checkpoint = false;  // else a run file
};

bool has_checkpoints(const std::string& root) {
  return !list_checkpoints(root).empty() || !list_without_manifest(root).empty();
}

Subject subject_at(const std::string& path) {
  if (fs::is_regular_file(path)) return {path, false};
  if (!fs::exists(path)) fail_input("inspect: " + path + " does not exist");
  // A step directory without a manifest is a damaged checkpoint, and no run directory.
  if (fs::exists(path + "/" + kManifestFile) || is_step_name(path)) return {path, true};
  const std::string root = path + "/" + kCheckpointFolder;
  if (has_checkpoints(root)) return {newest_of_run(path), true};
  if (has_checkpoints(path)) {
    const std::string run = run_directory_of(path + "/" + step_name(0));
    if (!run.empty()) return {newest_of_run(run), true};
    if (const auto latest = latest_checkpoint(path)) return {latest->path, true};
  }
  if (fs::exists(path + "/run.toml")) return {path + "/run.toml", false};
  fail_input("inspect: " + path + " is no run file, no checkpoint, and no directory that has one");
}

std::string form_in(const std::string& form) {
  return form.empty() ? "absent" : form;
}

std::string difference_line(const TensorDifference& difference) {
  if (difference.elements == 0) {
    return fmt::format("{}: {} in the first, {} in the second\n", difference.name,
                       form_in(difference.first), form_in(difference.second));
  }
  return fmt::format("{}: {} elements differ, {}\n", difference.name, difference.elements,
                     std::isnan(difference.largest)
                         ? "not all of them finite numbers"
                         : fmt::format("by {:.6g} at most", difference.largest));
}

Json difference_json(const TensorDifference& difference) {
  Json json = {{"name", difference.name}};
  if (difference.elements == 0) {
    json["first"] = difference.first.empty() ? Json(nullptr) : Json(difference.first);
    json["second"] = difference.second.empty() ? Json(nullptr) : Json(difference.second);
  } else {
    json["elements"] = difference.elements;
    json["largest_difference"] = difference.largest;  // JSON has null if it is not finite
  }
  return json;
}

// Opens a checkpoint. If it is damaged, the error offers the newest whole checkpoint of its run.
CheckpointReader open_checkpoint(const std::string& path) {
  return with_offer_beside(path, [&] { return CheckpointReader(path); });
}

Inspection comparison(const std::string& first_path, const std::string& second_path, bool json) {
  CheckpointReader first = open_checkpoint(first_path);
  CheckpointReader second = open_checkpoint(second_path);
  const auto differences = with_offer_beside(first_path, [&] {
    return with_offer_beside(second_path, [&] { return compare_checkpoints(first, second); });
  });
  const int exit_code = differences.empty() ? 0 : 1;
  if (json) {
    Json list = Json::array();
    for (const TensorDifference& one : differences) list.push_back(difference_json(one));
    const Json answer = {{"first", first_path},
                         {"second", second_path},
                         {"equal", differences.empty()},
                         {"differences", std::move(list)}};
    return {shown_json(answer) + "\n", exit_code};
  }
  std::string text;
  for (const TensorDifference& one : differences) text += difference_line(one);
  text += differences.empty()
              ? "equal: all tensors have the same bits\n"
              : fmt::format("{} differ{}\n", amount_text(std::ssize(differences), "tensor"),
                            differences.size() == 1 ? "s" : "");
  return {text, exit_code};
}

Inspection of_run_file(const InspectOptions& options, const Subject& subject,
                       const ModelMaker& models) {
  if (options.paths.size() > 1 || options.verify) {
    fail_input("inspect: " + subject.path +
               " is a run file: --verify and a second path are for "
               "checkpoints");
  }
  std::vector<std::string> arguments = {subject.path};
  arguments.insert(arguments.end(), options.keys.begin(), options.keys.end());
  const Contents contents = contents_of(
      with_kept_sizes(read_settings(arguments, true, DataRead::Nothing).config), models);
  return {options.json ? contents_json(contents) : contents_table(contents)};
}

}  // namespace

Inspection inspect(const std::vector<std::string>& arguments, const ModelMaker& models) {
  const InspectOptions options = inspect_options(arguments);
  std::vector<Subject> subjects;
  for (const std::string& path : options.paths) subjects.push_back(subject_at(path));
  for (const Subject& subject : subjects) {
    if (!subject.is_checkpoint) return of_run_file(options, subject, models);
  }
  if (!options.keys.empty()) {
    fail_input("inspect: " + options.keys[0] +
               " is no option for a checkpoint; see penstock "
               "inspect --help");
  }
  for (const Subject& subject : subjects) {
    if (!options.verify) continue;
    with_offer_beside(subject.path, [&] { CheckpointReader(subject.path).verify(); });
  }
  if (subjects.size() == 2) return comparison(subjects[0].path, subjects[1].path, options.json);
  const Contents contents = with_offer_beside(
      subjects[0].path, [&] { return contents_of(CheckpointReader(subjects[0].path)); });
  if (options.json) return {contents_json(contents)};
  const std::string verified =
      options.verify ? "verified: every file has the size and the checksum of the manifest\n" : "";
  return {verified + contents_table(contents)};
}

const CommandForm& inspect_form() {
  static const CommandForm form{
      .name = "inspect",
      .operand = "PATH [OTHER]",
      .summary = "what a checkpoint holds, how two differ, what a run file would train",
      .about =
          R"(Lists layers and tensors: of a checkpoint, which may be given by its run directory or checkpoints
folder (then it is the latest), or of the network that a run file would train. With OTHER compares
two checkpoints tensor by tensor. Needs no ranks, and no memory for the weights.
)",
      .closing =
          "Exit codes: 0 done, or equal; 1 the two differ; 2 bad usage; 5 a checkpoint is "
          "damaged.\n",
      .options = unread(inspect_options_into)};
  return form;
}

}  // namespace penstock
