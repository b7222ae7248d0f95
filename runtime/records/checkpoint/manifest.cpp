#include "runtime/records/checkpoint/manifest.h"

#include <limits>
#include <utility>

#include "kernels/error.h"
#include "runtime/system/files/json.h"
#include "runtime/system/files/json_events.h"

namespace penstock {
namespace {

using nlohmann::ordered_json;

// The format of these documents is to be raised if a change would mislead an old reader.
constexpr uint64_t kFormat = 1;
constexpr const char* kChecksum = "xxh3_64";

std::string lines_of(const ordered_json& document) {
  return document.dump(2) + "\n";
}

int64_t signed_count(const nlohmann::json& parent, const char* key, const std::string& file) {
  const uint64_t value = json_count(parent, key, file);
  if (value > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) {
    fail_data(file + ": \"" + key + "\" is too large");
  }
  return static_cast<int64_t>(value);
}

// Returns whether `name` is the name of a file in the same folder. A path could lead out of the
// checkpoint.
bool is_plain_name(const std::string& name) {
  return !name.empty() && name.front() != '.' &&
         name.find_first_of(std::string("/\0", 2)) == std::string::npos;
}

// Reads the members of an index that are needed, and ignores what other programs put into its
// metadata. Some write no "total_size", and nothing here depends on it.
class IndexReader final : public JsonReader {
 public:
  explicit IndexReader(const std::string& file) : file_(file) {}

  void text(const JsonPlace& place, const std::string& value) override {
    if (place.keys[0] != kWeightMap) return;
    if (place.keys.size() != 2 || place.lists > 0) refuse_map(place);
    if (!is_plain_name(value)) {
      fail_at(file_, place.byte, quoted(value) + " is not a plain file name");
    }
    index_.weight_map[place.keys[1]] = value;
  }
  void count(const JsonPlace& place, uint64_t value) override {
    if (place.keys[0] == kWeightMap) refuse_map(place);
    if (is_total(place)) index_.total_size_bytes = value;
  }
  void other(const JsonPlace& place) override {
    if (place.keys[0] == kWeightMap) refuse_map(place);
  }
  void open(const JsonPlace& place, bool is_list) override {
    if (place.keys[0] != kWeightMap) return;
    if (place.keys.size() > 1 || is_list) refuse_map(place);
    has_map_ = true;
  }
  void close(const JsonPlace& /*place*/) override {}

  ShardIndex finished() {
    if (!has_map_) fail_data(file_ + ": \"weight_map\" is missing");
    return std::move(index_);
  }

 private:
  static constexpr const char* kWeightMap = "weight_map";

  static bool is_total(const JsonPlace& place) {
    return place.keys.size() == 2 && place.lists == 0 && place.keys[0] == "metadata" &&
           place.keys[1] == "total_size";
  }
  [[noreturn]] void refuse_map(const JsonPlace& place) const {
    fail_at(file_, place.byte, "\"weight_map\" does not give each tensor the name of a file");
  }

  const std::string& file_;
  ShardIndex index_;
  bool has_map_ = false;
};

ordered_json encode_layers(const std::vector<LayerRecord>& layers) {
  ordered_json list = ordered_json::array();
  for (const LayerRecord& layer : layers) {
    list.push_back({{"name", layer.name}, {"kind", layer.kind}, {"parameters", layer.parameters}});
  }
  return list;
}

std::vector<LayerRecord> parse_layers(const nlohmann::json& document, const std::string& file) {
  std::vector<LayerRecord> layers;
  const auto list = document.find("layers");
  if (list == document.end()) return layers;
  if (!list->is_array()) fail_data(file + ": \"layers\" is not a list");
  for (const nlohmann::json& layer : *list) {
    const std::string where = file + ": layer " + std::to_string(layers.size());
    if (!layer.is_object()) fail_data(where + ": not an object");
    layers.push_back({json_text(layer, "name", where), json_text(layer, "kind", where),
                      signed_count(layer, "parameters", where)});
  }
  return layers;
}

}  // namespace

std::string encode_state(const CheckpointState& state) {
  ordered_json document = {{"step", state.step},
                           {"seed", state.seed},
                           {"consumed_samples", state.consumed_samples},
                           {"mini_batch", state.mini_batch},
                           {"penstock_version", state.version},
                           {"configuration", state.configuration},
                           {"run", state.run},
                           {"optimizer_steps", state.optimizer_steps},
                           {"training_samples", state.training_samples},
                           {"training_content", state.training_content}};
  if (state.owes_evaluation) document["owed_evaluation"] = {{"loss", state.loss}};
  if (!state.best_metric.empty()) {
    document["best"] = {{"metric", state.best_metric},
                        {"step", state.best.step},
                        {"value", state.best.value},
                        {"evaluations_since", state.best.since},
                        {"samples", state.best.samples}};
  }
  document["layers"] = encode_layers(state.layers);
  return lines_of(document);
}

namespace {

void parse_owed_evaluation(const nlohmann::json& document, const std::string& file,
                           CheckpointState& state) {
  constexpr const char* kOwed = "owed_evaluation";
  if (!document.contains(kOwed)) return;
  const nlohmann::json& owed = json_object(document, kOwed, file);
  const auto loss = owed.find("loss");
  state.owes_evaluation = true;
  // The loss stays NaN if the member is null or missing, since JSON has no NaN.
  state.loss = std::numeric_limits<double>::quiet_NaN();
  if (loss == owed.end() || loss->is_null()) return;
  if (!loss->is_number()) fail_data(file + ": the loss of \"" + kOwed + "\" is not a number");
  state.loss = loss->get<double>();
}

void parse_best(const nlohmann::json& document, const std::string& file, CheckpointState& state) {
  if (!document.contains("best")) return;
  const nlohmann::json& best = json_object(document, "best", file);
  const auto value = best.find("value");
  if (value == best.end() || !value->is_number()) {
    fail_data(file + ": the value of \"best\" is not a number");
  }
  state.best_metric = json_text(best, "metric", file);
  state.best = {.step = signed_count(best, "step", file),
                .value = value->get<double>(),
                .since = signed_count(best, "evaluations_since", file),
                .samples = best.contains("samples") ? signed_count(best, "samples", file) : 0};
}

}  // namespace

CheckpointState parse_state(const std::string& text, const std::string& file) {
  const nlohmann::json document = parse_json(text, file);
  // Returns the count, or `without` if the file lacks it, as some older files do.
  const auto count_or = [&](const char* key, int64_t without) {
    return document.contains(key) ? signed_count(document, key, file) : without;
  };
  CheckpointState state{
      .step = signed_count(document, "step", file),
      .seed = json_count(document, "seed", file),
      .consumed_samples = signed_count(document, "consumed_samples", file),
      .mini_batch = signed_count(document, "mini_batch", file),
      .version = json_text(document, "penstock_version", file),
      .configuration = json_text(document, "configuration", file),
      .run = document.contains("run") ? json_text(document, "run", file) : "",
      .optimizer_steps = count_or("optimizer_steps", signed_count(document, "step", file)),
      .training_samples = count_or("training_samples", 0),
      .training_content = count_or("training_content", 0),
      .layers = parse_layers(document, file)};
  parse_owed_evaluation(document, file, state);
  parse_best(document, file, state);
  return state;
}

std::string index_file(const std::string& part) {
  return part + ".safetensors.index.json";
}

std::string encode_index(const ShardIndex& index) {
  return lines_of(
      {{"metadata", {{"total_size", index.total_size_bytes}}}, {"weight_map", index.weight_map}});
}

ShardIndex parse_index(const std::string& text, const std::string& file) {
  IndexReader reader(file);
  read_json(text, file, reader);
  return reader.finished();
}

std::string encode_manifest(const Manifest& manifest) {
  ordered_json files = ordered_json::object();
  for (const auto& [name, digest] : manifest.files) {
    files[name] = {{"bytes", digest.size_bytes}, {kChecksum, digest.checksum}};
  }
  return lines_of({{"format", kFormat}, {"files", files}});
}

Manifest parse_manifest(const std::string& text, const std::string& file) {
  const nlohmann::json document = parse_json(text, file);
  const uint64_t format = json_count(document, "format", file);
  if (format != kFormat) {
    fail_data(file + ": format " + std::to_string(format) + " is not known to this version (" +
              std::to_string(kFormat) + "): use the penstock that wrote it, or a newer one");
  }
  Manifest manifest;
  for (const auto& [name, entry] : json_object(document, "files", file).items()) {
    if (!is_plain_name(name)) fail_data(file + ": " + quoted(name) + " is not a plain file name");
    const std::string where = file + ": " + quoted(name);
    if (!entry.is_object()) fail_data(where + ": not an object");
    manifest.files[name] = {json_count(entry, "bytes", where), json_text(entry, kChecksum, where)};
  }
  return manifest;
}

}  // namespace penstock
