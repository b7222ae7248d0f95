#include "runtime/records/checkpoint/reader.h"

#include <algorithm>
#include <set>
#include <utility>

#include "kernels/error.h"
#include "runtime/records/checkpoint/format/number_reader.h"
#include "runtime/system/files/input_file.h"
#include "runtime/system/files/json.h"

namespace penstock {
namespace {

constexpr int64_t kMaximumDocumentBytes = int64_t{64} << 20;  // an index of a million tensors
// The system allows a process far more open files than this.
constexpr size_t kMostOpenFiles = 64;

}  // namespace

CheckpointReader::CheckpointReader(std::string directory, ShardCheck check)
    : directory_(std::move(directory)), check_(check) {
  const std::string path = path_of(kManifestFile);
  manifest_ = parse_manifest(read_text(path, kMaximumDocumentBytes, FileOwner::Run), path);
  state_ = parse_state(read_document(kStateFile), path_of(kStateFile));
  model_ = read_index("model");
  if (manifest_.files.contains(index_file("optimizer"))) optimizer_ = read_index("optimizer");
}

std::string CheckpointReader::read_document(const std::string& file) const {
  verify(file);
  return read_text(path_of(file), kMaximumDocumentBytes, FileOwner::Run);
}

ShardIndex CheckpointReader::read_index(const std::string& part) {
  const std::string file = index_file(part);
  ShardIndex index = parse_index(read_document(file), path_of(file));
  for (const auto& [name, shard] : index.weight_map) {
    const bool listed = manifest_.files.contains(shard);
    if (listed && file_of_.emplace(name, shard).second) continue;
    fail_data(path_of(file) + ": tensor " + quoted(name) +
              (listed ? " is in another index too" : " is in a file that the manifest lacks"));
  }
  return index;
}

std::vector<CheckpointReader::Stored> CheckpointReader::list(const ShardIndex& index) const {
  std::set<std::string> files;
  for (const auto& [name, file] : index.weight_map) files.insert(file);
  std::vector<Stored> all;
  for (const std::string& file : files) {
    const SafetensorsFile shard(path_of(file));
    for (const TensorInfo& tensor : shard.tensors()) {
      const auto listed = index.weight_map.find(tensor.name);
      if (listed == index.weight_map.end() || listed->second != file) {
        fail_data(shard.path() + " has the tensor " + quoted(tensor.name) +
                  ", which the index does not place there: use an earlier checkpoint");
      }
      all.push_back({tensor, file});
    }
  }
  if (all.size() != index.weight_map.size()) {
    fail_data(directory_ + ": its index names " + std::to_string(index.weight_map.size()) +
              " tensors, and its files have " + std::to_string(all.size()) +
              ": use an earlier checkpoint");
  }
  std::sort(all.begin(), all.end(),
            [](const Stored& a, const Stored& b) { return a.tensor.name < b.tensor.name; });
  return all;
}

void CheckpointReader::verify(const std::string& file) const {
  const auto expected = manifest_.files.find(file);
  if (expected == manifest_.files.end()) {
    fail_data(path_of(kManifestFile) + " does not list " + file);
  }
  const FileDigest found = digest_of(path_of(file));
  if (found.size_bytes != expected->second.size_bytes) {
    fail_data(path_of(file) + " has " + std::to_string(found.size_bytes) + " bytes, not the " +
              std::to_string(expected->second.size_bytes) +
              " of the manifest: it is damaged, use an earlier checkpoint");
  }
  if (found != expected->second) {
    fail_data(path_of(file) + " has the checksum " + found.checksum + ", not the " +
              expected->second.checksum +
              " of the manifest: it is damaged, use an earlier checkpoint");
  }
}

void CheckpointReader::verify(size_t part, size_t parts) const {
  size_t number = 0;
  for (const auto& [file, digest] : manifest_.files) {
    if (number++ % parts == part) verify(file);
  }
}

const SafetensorsFile& CheckpointReader::shard_of(const std::string& name) {
  const auto found = file_of_.find(name);
  if (found == file_of_.end()) fail_data(directory_ + " has no tensor " + name);
  if (!shards_.contains(found->second) && shards_.size() >= kMostOpenFiles) shards_.clear();
  std::unique_ptr<SafetensorsFile>& shard = shards_[found->second];
  if (shard == nullptr) {
    if (check_ == ShardCheck::BeforeReading) verify(found->second);
    shard = std::make_unique<SafetensorsFile>(path_of(found->second));
  }
  return *shard;
}

void CheckpointReader::read(const std::string& name, std::span<std::byte> to) {
  shard_of(name).read(name, to);
}

void CheckpointReader::read(const std::string& name, uint64_t first, std::span<std::byte> to) {
  shard_of(name).read(name, first, to);
}

void CheckpointReader::read_part(const std::string& name, const Shape& whole, int64_t first,
                                 Tensor& to, Device& device) {
  shard_of(name).read_part(name, whole, first, to, device);
}

void CheckpointReader::read(const std::string& name, Tensor& to, Device& device) {
  penstock::read_numbers(shard_of(name), name, to, device);
}

void CheckpointReader::read_numbers(const std::string& name, size_t first, std::span<float> to) {
  const SafetensorsFile& shard = shard_of(name);
  const TensorInfo* stored = shard.find(name);
  if (stored == nullptr || number_bytes(stored->dtype) == 0) {
    fail_data(shard.path() + ": tensor " + quoted(name) + " is none of F32, BF16 and F16 numbers");
  }
  NumberReader(shard, *stored).read(first, to);
}

}  // namespace penstock
