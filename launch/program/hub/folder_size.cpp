#include "launch/program/hub/folder_size.h"

#include <fmt/format.h>

#include <filesystem>

#include "runtime/records/hub/config/config_json.h"
#include "runtime/records/hub/kept_folder.h"
#include "runtime/records/hub/weights.h"
#include "runtime/records/telemetry/units.h"
#include "runtime/system/files/json.h"

namespace penstock {
namespace {

namespace fs = std::filesystem;

// The type that config.json names; texts have its configuration in a member of its own.
std::string type_of(const nlohmann::json& config) {
  for (const char* key : {"dtype", "torch_dtype"}) {
    if (config.contains(key) && config[key].is_string()) return config[key].get<std::string>();
  }
  if (config.contains("text_config")) return type_of(config["text_config"]);
  return "bfloat16";
}

}  // namespace

FolderSize folder_size(const std::string& folder, int64_t parameters) {
  FolderSize size;
  // A run's copy of a folder has no weights; where those of its origin are gone, a plan is made all
  // the same.
  const std::string place = has_hub_weights(folder) ? folder : origin_of(folder);
  std::error_code absent;
  for (const fs::directory_entry& file : fs::directory_iterator(place, absent)) {
    if (file.path().extension() != ".safetensors") continue;
    const auto bytes = file.file_size(absent);
    if (absent) continue;
    size.bytes += static_cast<int64_t>(bytes);
    ++size.files;
  }
  if (size.files > 0) return size;
  constexpr int64_t kMostBytes = int64_t{1} << 20;
  const auto config = read_json_file(folder + "/" + kConfigFile, kMostBytes, FileOwner::User);
  size.type = type_of(config);
  const bool is_wide = size.type == "float32";
  size.bytes = parameters * (is_wide ? 4 : 2);
  if (!config.contains(kQuantisation)) return size;
  const ModelConfig model = read_hub_config(folder).model;  // refuses what is not MXFP4
  const int64_t packed = model.layers * model.experts * 3 * model.width * model.hidden;
  size.type = "mxfp4";
  size.bytes = (parameters - packed) * 2 + packed / 32 * 17;  // a block of 32 has 17 bytes
  return size;
}

std::string folder_size_text(const std::string& folder, const FolderSize& size) {
  const std::string bytes = fmt::format("weights of {}: {}", folder, bytes_text(size.bytes));
  if (size.files > 0) return fmt::format("{} in {}\n", bytes, amount_text(size.files, "file"));
  return fmt::format("{} in {} once they are downloaded\n", bytes, size.type);
}

}  // namespace penstock
