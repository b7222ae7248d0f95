#include "runtime/records/hub/export_folder.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <vector>

#include "kernels/error.h"
#include "runtime/network/models/adapter_names.h"
#include "runtime/records/checkpoint/format/numbers.h"
#include "runtime/records/checkpoint/reader.h"
#include "runtime/records/checkpoint/writer/shards.h"
#include "runtime/records/hub/adapters/merged_weights.h"
#include "runtime/records/hub/atomic_folder.h"
#include "runtime/records/hub/config/config_json.h"
#include "runtime/records/hub/kept_folder.h"
#include "runtime/records/hub/names.h"
#include "runtime/system/files/json.h"

namespace penstock {
namespace {

using nlohmann::ordered_json;

constexpr size_t kPieceFloats = size_t{1} << 20;

// This is a tensor of the checkpoint, or one expert's or head's part of it, with its place in a
// tensor of the folder.
struct Source {
  TensorInfo tensor;
  HubPart part;
  [[nodiscard]] size_t first() const { return static_cast<size_t>(part.first); }
  [[nodiscard]] size_t elements() const {
    size_t count = 1;
    for (const int64_t extent : part.shape) count *= static_cast<size_t>(extent);
    return count;
  }
};

struct Target {
  std::vector<Source> parts;  // in the order in which the folder's tensor holds them
  TensorInfo info;
};

// What corrects a router's choice stays fp32, as transformers keeps it: rounded it would choose
// other experts.
std::string file_dtype(const ExportRequest& request, const std::string& ours) {
  const bool narrow = request.dtype == "bf16" && !ours.ends_with(".router.correction");
  return narrow ? "BF16" : "F32";
}

void finish_target(Target& target, const std::string& name, const std::string& dtype) {
  std::sort(target.parts.begin(), target.parts.end(),
            [](const Source& a, const Source& b) { return a.part.place.part < b.part.place.part; });
  const Source& first = target.parts.front();
  const HubPlace& place = first.part.place;
  const bool large_first = place.layout == TensorLayout::LargeFirstPart;
  const std::vector<int64_t>& alike = target.parts.back().part.shape;
  bool fit = target.parts.size() == static_cast<size_t>(place.parts);
  for (const Source& source : target.parts) {
    std::vector<int64_t> shape = source.part.shape;
    if (large_first && source.part.place.part == 0) shape[0] = alike[0];
    fit = fit && shape == alike;
  }
  if (!fit) {
    fail_input("the checkpoint lacks a part of " + quoted(name) + ", or its parts differ in shape");
  }
  size_t elements = 0;
  for (const Source& part : target.parts) elements += part.elements();
  std::vector<int64_t> shape = shape_in(place, alike);
  if (large_first) shape[0] += first.part.shape[0] - alike[0];
  target.info = {name, dtype, shape, 0, elements * number_bytes(dtype)};
}

// Returns the tensors to write, by their names in the folder.
std::map<std::string, Target> targets_of(const CheckpointReader& reader, const HubConfig& config,
                                         const ExportRequest& request) {
  const HubFamily& family = hub_family(config.family);
  std::map<std::string, Target> targets;
  for (const CheckpointReader::Stored& stored : reader.model()) {
    const TensorInfo& tensor = stored.tensor;
    if (is_of_adapter(tensor.name)) {
      if (request.lora.rank == 0) fail_internal("adapters would be left out of the weights");
      continue;  // the adapter is merged into the matrix beside it
    }
    if (number_bytes(tensor.dtype) == 0) {
      fail_input(quoted(tensor.name) + " is of type " + tensor.dtype + ", which no weights are");
    }
    for (const HubPart& part :
         parts_of(place_in(family, tensor.name), tensor.shape, config.model.heads)) {
      targets[part.place.name].parts.push_back({tensor, part});
    }
  }
  for (auto& [name, target] : targets) {
    finish_target(target, name, file_dtype(request, target.parts.front().tensor.name));
  }
  return targets;
}

// Writes one file of the folder, one tensor after the other.
class FileWriter {
 public:
  FileWriter(const std::string& path, const std::vector<Target*>& targets, MergedWeights& weights)
      : file_(path), weights_(weights) {
    SafetensorsHeader header{{}, {{"format", "pt"}}};
    std::map<std::string, const Target*> by_name;
    for (const Target* target : targets) {
      header.tensors.push_back(target->info);
      by_name[target->info.name] = target;
    }
    const std::string front = encode_safetensors_header(header);
    file_.write(front.data(), front.size());
    for (const TensorInfo& info : header.tensors) {
      dtype_ = info.dtype;
      write(*by_name.at(info.name));
    }
    (void)file_.finish();
  }

 private:
  void write(const Target& target) {
    const std::span<const Source> parts = target.parts;
    const HubPlace& place = parts.front().part.place;
    if (place.layout == TensorLayout::Transposed) return write_transposed(parts, false);
    if (place.layout == TensorLayout::ColumnsOfExperts) {
      const auto each = parts.size() / static_cast<size_t>(place.experts);
      for (size_t at = 0; at < parts.size(); at += each) {
        write_transposed(parts.subspan(at, each), true);
      }
      return;
    }
    std::vector<float> piece(kPieceFloats);
    for (const Source& part : parts) {
      const size_t all = part.elements();
      for (size_t at = 0; at < all; at += kPieceFloats) {
        const auto some = std::span(piece).first(std::min(kPieceFloats, all - at));
        weights_.read(part.tensor, part.first() + at, some);
        write(some);
      }
    }
  }

  // The columns of the parts stand one part behind the other, or take turns.
  void write_transposed(std::span<const Source> parts, bool in_turns) {
    const auto width = static_cast<size_t>(parts.front().part.shape[0]);
    const size_t rows = parts.front().elements() / width;
    std::vector<float> whole(width * parts.size() * rows);  // stored as [columns, rows]
    for (size_t i = 0; i < parts.size(); ++i) {
      const auto part = std::span(whole).subspan(i * width * rows, width * rows);
      weights_.read(parts[i].tensor, parts[i].first(), part);
    }
    const size_t columns = whole.size() / rows;
    std::vector<float> row(columns);
    for (size_t j = 0; j < rows; ++j) {
      for (size_t i = 0; i < columns; ++i) {
        const size_t column = in_turns ? i % parts.size() * width + i / parts.size() : i;
        row[i] = whole[column * rows + j];
      }
      write(row);
    }
  }

  void write(std::span<const float> floats) {
    bytes_.resize(floats.size() * number_bytes(dtype_));
    from_floats(floats, dtype_, bytes_);
    file_.write(bytes_.data(), bytes_.size());
  }

  OutputFile file_;
  MergedWeights& weights_;
  std::string dtype_;
  std::vector<std::byte> bytes_;
};

std::vector<std::vector<Target*>> cut(std::map<std::string, Target>& targets, uint64_t most_bytes) {
  std::vector<std::vector<Target*>> files;
  uint64_t bytes = 0;
  for (auto& [name, target] : targets) {
    if (files.empty() || bytes + target.info.size_bytes() > most_bytes) {
      files.emplace_back();
      bytes = 0;
    }
    bytes += target.info.size_bytes();
    files.back().push_back(&target);
  }
  return files;
}

std::string in_folder(std::string folder, const std::string& file) {
  return folder.append("/").append(file);
}

void write_weights(const std::string& folder, std::map<std::string, Target>& targets,
                   const ExportRequest& request, MergedWeights& weights, Exported& exported) {
  const auto files = cut(targets, request.shard_bytes);
  ShardIndex index;
  for (size_t i = 0; i < files.size(); ++i) {
    const std::string file = files.size() == 1 ? "model.safetensors"
                                               : shard_file("model", static_cast<int64_t>(i + 1),
                                                            static_cast<int64_t>(files.size()));
    (void)FileWriter(in_folder(folder, file), files[i], weights);
    for (const Target* target : files[i]) {
      index.weight_map[target->info.name] = file;
      index.total_size_bytes += target->info.size_bytes();
    }
  }
  if (files.size() > 1) (void)write_text(folder + "/" + index_file("model"), encode_index(index));
  exported.tensors = targets.size();
  exported.files = files.size();
  exported.size_bytes = index.total_size_bytes;
}

// Returns the text of config.json, in which the export has changed the type of the weights and the
// number of positions, and which says nothing of quantised weights; that is written to `exported`,
// too.
std::string config_text(const ExportRequest& request, const CheckpointReader& reader,
                        Exported& exported) {
  constexpr int64_t kMostBytes = int64_t{1} << 20;
  const std::string text = request.config.empty() ? read_text(request.folder + "/" + kConfigFile,
                                                              kMostBytes, FileOwner::User)
                                                  : request.config;
  auto config = ordered_json::parse(text);
  const char* key = config.contains("torch_dtype") ? "torch_dtype" : "dtype";
  config[key] = request.dtype == "bf16" ? "bfloat16" : "float32";
  exported.unpacked = config.erase(kQuantisation) > 0;
  for (const CheckpointReader::Stored& stored : reader.model()) {
    if (stored.tensor.name != "embedding.position.weight") continue;
    for (const char* positions : {"n_positions", "n_ctx"}) {
      if (!config.contains(positions)) continue;
      exported.positions = stored.tensor.shape[0];
      if (exported.folder_positions == 0) exported.folder_positions = config[positions];
      config[positions] = exported.positions;
    }
  }
  return config.dump(2) + "\n";
}

// Writes a generation_config.json if the folder has none. It says which tokens begin, end and pad
// texts, as config.json does.
void provide_generation_config(const std::string& folder, const std::string& config_text) {
  const std::string path = folder + "/generation_config.json";
  if (std::filesystem::exists(path)) return;
  const auto config = ordered_json::parse(config_text);
  ordered_json generation = {{"_from_model_config", true}};
  for (const char* key : {"bos_token_id", "eos_token_id", "pad_token_id"}) {
    if (config.contains(key) && !config[key].is_null()) generation[key] = config[key];
  }
  (void)write_text(path, generation.dump(2) + "\n");
}

}  // namespace

Exported export_folder(const ExportRequest& request) {
  const HubConfig config = request.config.empty() ? read_hub_config(request.folder)
                                                  : parse_hub_config(request.config, kConfigFile);
  CheckpointReader reader(request.checkpoint);
  std::map<std::string, Target> targets = targets_of(reader, config, request);
  MergedWeights weights(reader, request.lora);
  AtomicFolder folder(request.to);
  copy_small_files(request.folder, folder.path());
  Exported exported;
  const std::string text = config_text(request, reader, exported);
  (void)write_text(folder.path() + "/" + kConfigFile, text);
  provide_generation_config(folder.path(), text);
  write_weights(folder.path(), targets, request, weights, exported);
  folder.commit();
  return exported;
}

}  // namespace penstock
