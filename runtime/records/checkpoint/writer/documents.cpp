#include "runtime/records/checkpoint/writer/documents.h"

#include <map>

#include "kernels/error.h"
#include "runtime/records/checkpoint/layout.h"
#include "runtime/records/checkpoint/writer/outcome.h"
#include "runtime/records/checkpoint/writer/retention.h"
#include "runtime/system/files/json.h"

namespace penstock {
namespace {

using nlohmann::json;

struct Shards {
  Manifest manifest;
  std::map<std::string, ShardIndex> indexes;  // by part: model or optimizer
};

void add_shard(Shards& shards, const json& shard) {
  const auto file = shard.at("file").get<std::string>();
  shards.manifest.files[file] = {shard.at("bytes").get<uint64_t>(),
                                 shard.at("checksum").get<std::string>()};
  ShardIndex& index = shards.indexes[shard.at("part").get<std::string>()];
  index.total_size_bytes += shard.at("tensor_bytes").get<uint64_t>();
  for (const json& name : shard.at("tensors")) {
    const auto [entry, is_new] = index.weight_map.emplace(name.get<std::string>(), file);
    if (!is_new) {
      fail_internal("tensor " + entry->first + " is in both " + entry->second + " and " + file);
    }
  }
}

json write_documents(const Completion& completion) {
  Shards shards;
  shards.indexes["model"];  // the model always has an index, even an empty one
  for (size_t rank = 0; rank < completion.reports.size(); ++rank) {
    const json report = unpacked_json(completion.reports[rank]);
    throw_if_failed(report, "rank " + std::to_string(rank) + ": ");
    for (const json& shard : report.at("shards")) add_shard(shards, shard);
  }
  Manifest& manifest = shards.manifest;
  const std::string& directory = completion.directory;
  const auto add = [&](const std::string& name, const std::string& text) {
    manifest.files[name] = write_text(directory + "/" + name, text);
  };
  for (const auto& [part, index] : shards.indexes) add(index_file(part), encode_index(index));
  const CheckpointRequest& request = completion.request;
  add(kStateFile, encode_state(request.state));
  const FileDigest last = write_text(directory + "/" + kManifestFile, encode_manifest(manifest));

  uint64_t size_bytes = last.size_bytes;
  for (const auto& [name, digest] : manifest.files) size_bytes += digest.size_bytes;
  return {{"path", publish_step(request.root, request.state.step)}, {"size_bytes", size_bytes}};
}

}  // namespace

json write_shard(const std::string& directory, const std::string& file, const Shard& shard,
                 Device* device) {
  // Hugging Face's loader requires "format". The value "pt" says that names and layouts are those
  // of PyTorch.
  std::vector<NamedTensor> tensors;
  json names = json::array();
  for (const PlacedTensor& tensor : shard.tensors) {
    tensors.push_back(tensor.named);
    names.push_back(tensor.named.name);
  }
  const FileDigest digest =
      write_safetensors(directory + "/" + file, tensors, {{"format", "pt"}}, device);
  return {{"part", shard.part},
          {"file", file},
          {"bytes", digest.size_bytes},
          {"checksum", digest.checksum},
          {"tensor_bytes", shard.size_bytes()},
          {"tensors", names}};
}

json complete(const Completion& completion) {
  const CheckpointRequest& request = completion.request;
  json done;
  try {
    done = write_documents(completion);
  } catch (...) {
    abandon_step(request.root, request.state.step);
    throw;
  }
  const json retiring = attempt([&] {
    retire_steps(request.root, request.retention, request.state.run, request.state.step);
    return json::object();
  });
  done["warning"] = retiring.value("error", "");
  return done;
}

}  // namespace penstock
