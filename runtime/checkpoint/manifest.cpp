#include "runtime/checkpoint/manifest.h"

#include <limits>

#include "kernels/error.h"
#include "runtime/checkpoint/json.h"

namespace penstock {
namespace {

using nlohmann::ordered_json;

constexpr uint64_t kFormat = 1;  // of the documents here; raised when an old reader would misread
constexpr const char* kChecksum = "xxh3_64";

std::string lines_of(const ordered_json& document) {
  return document.dump(2) + "\n";
}

int64_t signed_count(const nlohmann::json& parent, const char* key, const std::string& file) {
  const uint64_t value = json_count(parent, key, file);
  if (value > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) {
    fail_input(file + ": \"" + key + "\" is too large");
  }
  return static_cast<int64_t>(value);
}

void check_plain_name(const std::string& name, const std::string& file) {
  const bool plain = !name.empty() && name.front() != '.' &&
                     name.find_first_of(std::string("/\0", 2)) == std::string::npos;
  if (!plain) fail_input(file + ": " + quoted(name) + " is not a plain file name");
}

}  // namespace

std::string encode_state(const CheckpointState& state) {
  return lines_of({{"step", state.step},
                   {"seed", state.seed},
                   {"consumed_samples", state.consumed_samples},
                   {"mini_batch", state.mini_batch},
                   {"penstock_version", state.version},
                   {"configuration", state.configuration},
                   {"run", state.run}});
}

CheckpointState parse_state(const std::string& text, const std::string& file) {
  const nlohmann::json document = parse_json(text, file);
  return {.step = signed_count(document, "step", file),
          .seed = json_count(document, "seed", file),
          .consumed_samples = signed_count(document, "consumed_samples", file),
          .mini_batch = signed_count(document, "mini_batch", file),
          .version = json_text(document, "penstock_version", file),
          .configuration = json_text(document, "configuration", file),
          .run = document.contains("run") ? json_text(document, "run", file) : ""};
}

std::string index_file(const std::string& part) {
  return part + ".safetensors.index.json";
}

std::string encode_index(const ShardIndex& index) {
  return lines_of(
      {{"metadata", {{"total_size", index.total_size_bytes}}}, {"weight_map", index.weight_map}});
}

ShardIndex parse_index(const std::string& text, const std::string& file) {
  const nlohmann::json document = parse_json(text, file);
  ShardIndex index;
  index.total_size_bytes = json_count(json_object(document, "metadata", file), "total_size", file);
  for (const auto& [name, shard] : json_object(document, "weight_map", file).items()) {
    if (!shard.is_string())
      fail_input(file + ": weight_map " + quoted(name) + " is not a file name");
    index.weight_map[name] = shard.get<std::string>();
    check_plain_name(index.weight_map[name], file);
  }
  return index;
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
    fail_input(file + ": format " + std::to_string(format) + " is not known to this version (" +
               std::to_string(kFormat) + "): use the penstock that wrote it, or a newer one");
  }
  Manifest manifest;
  for (const auto& [name, entry] : json_object(document, "files", file).items()) {
    check_plain_name(name, file);
    const std::string where = file + ": " + quoted(name);
    if (!entry.is_object()) fail_input(where + ": not an object");
    manifest.files[name] = {json_count(entry, "bytes", where), json_text(entry, kChecksum, where)};
  }
  return manifest;
}

}  // namespace penstock
