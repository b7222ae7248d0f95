#include "launch/program/hub/export_command.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/program_options.hpp>
#include <filesystem>
#include <optional>

#include "kernels/error.h"
#include "launch/program/help/flag.h"
#include "launch/program/options/parse_bytes.h"
#include "launch/program/options/run_file.h"
#include "runtime/data/tokenizer/vocabulary.h"
#include "runtime/network/autograd/name_patterns.h"
#include "runtime/network/models/adapter_names.h"
#include "runtime/records/checkpoint/layout.h"
#include "runtime/records/checkpoint/manifest.h"
#include "runtime/records/checkpoint/reader.h"
#include "runtime/records/hub/adapters/export_adapter.h"
#include "runtime/records/hub/config/config_json.h"
#include "runtime/records/hub/config/made/made_config.h"
#include "runtime/records/hub/export_folder.h"
#include "runtime/records/hub/kept_folder.h"
#include "runtime/records/run_directory/contents.h"
#include "runtime/records/run_directory/names.h"
#include "runtime/records/telemetry/units.h"
#include "runtime/system/files/json.h"

namespace penstock {
namespace {

namespace fs = std::filesystem;
namespace po = boost::program_options;

struct ExportOptions {
  std::optional<int64_t> step;  // if empty, the newest checkpoint
  std::string dtype = "fp32";
  std::string file_size = "5GB";
  std::string base;
  bool merge = false;
};

CommandOptions export_options_into(ExportOptions& options) {
  CommandOptions known;
  known.add_options()(
      "step", po::value<int64_t>()->notifier([&](int64_t n) { options.step = n; })->value_name("N"),
      "of the checkpoint [the newest]")("dtype", po::value(&options.dtype)->value_name("fp32|bf16"),
                                        "of the weights in the folder [fp32]")(
      "file-size", po::value(&options.file_size)->value_name("SIZE"),
      "most of a file of weights, unless one tensor is larger [5GB]")(
      "base", po::value(&options.base)->value_name("NAME"),
      "of adapters: the network they belong to, as a name of the hub or a folder [the run's]")(
      "merge", flag(options.merge),
      "of a run with adapters: the whole network, the adapters added to its weights");
  return known;
}

// Returns the checkpoint to export. `run` is a run directory, or a checkpoint itself.
std::string checkpoint_of(const std::string& run, const ExportOptions& options) {
  std::error_code ignored;
  if (fs::exists(run + "/" + kManifestFile, ignored)) {
    if (options.step) fail_input("export: " + run + " is a checkpoint, so --step says nothing");
    return run;
  }
  // A step directory without a manifest is a damaged checkpoint. It is returned here, and reading
  // it reports the damage.
  if (!options.step && is_step_name(run) && fs::is_directory(run, ignored)) return run;
  if (!options.step) return newest_of_run(run);
  std::string path = run + "/" + kCheckpointFolder + "/" + step_name(*options.step);
  if (!fs::exists(path, ignored)) fail_input("export: there is no checkpoint " + path);
  return path;
}

// Holds a checkpoint, and the settings of the run that wrote it.
struct Source {
  CheckpointReader reader;
  Settings settings;

  explicit Source(const std::string& checkpoint) : reader(checkpoint) {
    parse_run_file(reader.state().configuration, checkpoint + ", run file", settings);
  }
  [[nodiscard]] const LoraConfig& lora() const { return settings.config.model.lora; }
};

// Makes the config.json of a network that came from no folder. It follows from the run file and the
// weights.
void make_config(const Source& source, ExportRequest& request) {
  ModelConfig model = source.settings.config.model;
  for (const CheckpointReader::Stored& stored : source.reader.model()) {
    if (stored.tensor.name == "embedding.token.weight") model.vocabulary = stored.tensor.shape[0];
  }
  request.config = make_hub_config(model).text;
  // If the data were read with the tokenizer of a folder, the tokenizer's files are taken from that
  // folder.
  const DataConfig& data = source.settings.config.data;
  if (!uses_folder(data)) return;
  std::error_code ignored;
  if (!fs::is_directory(data.vocabulary, ignored)) {
    fail_input("export: " + data.vocabulary +
               ", the folder of the run's tokenizer (data.vocabulary), is not here: put it there, "
               "so that its files come along");
  }
  request.folder = data.vocabulary;
}

// Sets request.folder to the folder of the network's origin that the run has kept. If there is
// none, a config.json is made.
void find_config(const std::string& run, const Source& source, ExportRequest& request) {
  const std::string directory =
      run == request.checkpoint ? run_directory_of(request.checkpoint) : run;
  request.folder = directory + "/" + kKeptFolder;
  std::error_code ignored;
  if (fs::exists(request.folder + "/" + kConfigFile, ignored)) return;
  request.folder.clear();
  make_config(source, request);
}

// Refuses a run that has trained more than its adapters: a folder of adapters has no place for
// other weights.
void refuse_other_trained(const Source& source, const std::string& checkpoint) {
  const std::vector<std::string>& freeze = source.settings.config.optimizer.freeze;
  for (const CheckpointReader::Stored& stored : source.reader.model()) {
    const std::string& name = stored.tensor.name;
    if (is_of_adapter(name) || matches_any(name, freeze)) continue;
    fail_input("export: " + checkpoint + " has trained " + quoted(name) +
               " beside its adapters (optimizer.freeze), which a folder of adapters has no place "
               "for: add --merge");
  }
}

Exported export_checked(const Source& source, const ExportOptions& options,
                        ExportRequest& request) {
  const bool adapters = source.lora().rank > 0;
  if (options.merge && !adapters) {
    fail_input("export: --merge is for runs with adapters, and " + request.checkpoint +
               " has none: leave it out");
  }
  request.lora = source.lora();
  if (!options.base.empty() && (!adapters || options.merge)) {
    fail_input("export: --base is for a folder of adapters: leave it out");
  }
  request.base = options.base;
  if (!adapters || options.merge) return export_folder(request);
  refuse_other_trained(source, request.checkpoint);
  return export_adapter(request);
}

int64_t file_bytes(const std::string& text) {
  try {
    return parse_bytes(text);
  } catch (const Error& error) {
    fail_input(std::string("export: --file-size: ") + error.what());
  }
}

}  // namespace

std::string export_text(const std::vector<std::string>& arguments) {
  ExportOptions options;
  const std::vector<std::string> paths =
      read_options(export_form(), export_options_into(options), arguments);
  const auto is_path = [](const std::string& path) {
    return !path.empty() && !path.starts_with("-");
  };
  if (paths.size() != 2 || !std::ranges::all_of(paths, is_path)) {
    fail_input("export: say what and where to: penstock export RUN DIR");
  }
  if (options.dtype != "fp32" && options.dtype != "bf16") {
    fail_input("export: --dtype must be fp32 or bf16, not '" + options.dtype + "'");
  }
  ExportRequest request;
  request.checkpoint = checkpoint_of(paths[0], options);
  request.to = paths[1];
  request.dtype = options.dtype;
  request.shard_bytes = static_cast<uint64_t>(file_bytes(options.file_size));
  const Exported done = with_offer_beside(request.checkpoint, [&] {
    const Source source(request.checkpoint);
    find_config(paths[0], source, request);
    return export_checked(source, options, request);
  });
  const std::string cut =
      done.positions == done.folder_positions
          ? ""
          : fmt::format(
                " (the run has learned {} of the {} positions of the folder that it came "
                "from, model.context, and config.json says so)",
                done.positions, done.folder_positions);
  const std::string plain =
      done.unpacked
          ? " (the folder that the run came from had experts in MXFP4; here they are in " +
                request.dtype + ", and config.json has no quantization_config)"
          : "";
  return fmt::format("{}: {}, {} in {}, from {}{}{}\n", request.to,
                     amount_text(static_cast<int64_t>(done.tensors), "tensor"),
                     bytes_text(static_cast<int64_t>(done.size_bytes)),
                     amount_text(static_cast<int64_t>(done.files), "file"), request.checkpoint, cut,
                     plain);
}

const CommandForm& export_form() {
  static const CommandForm form{
      .name = "export",
      .operand = "RUN DIR",
      .summary = "a trained network as a Hugging Face folder",
      .about =
          R"(Writes DIR, which must not exist: config.json, model.safetensors (or several and their index),
generation_config.json and the files of the tokenizer, for transformers and whatever else reads such
folders. RUN is a run directory, or one of its checkpoints (RUN/checkpoints/best). A decoder that
came from no folder becomes that of the family which says the same network. Of a run with adapters
(the [lora] section) DIR is a folder of adapters for peft, adapter_config.json and
adapter_model.safetensors with the files of the tokenizer, unless --merge asks for the whole
network. Needs no ranks, and memory for one tensor.
)",
      .options = unread(export_options_into)};
  return form;
}

}  // namespace penstock
