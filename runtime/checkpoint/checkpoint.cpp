#include "runtime/checkpoint/checkpoint.h"

#include <array>
#include <cstdio>
#include <exception>

#include "kernels/error.h"
#include "runtime/checkpoint/json.h"
#include "runtime/checkpoint/layout.h"

namespace penstock {
namespace {

using nlohmann::json;

// JSON between ranks. Messages may quote paths that are not UTF-8.
std::string packed(const json& value) {
  return value.dump(-1, ' ', false, json::error_handler_t::replace);
}

// Runs `work` and returns its result, or {kind, error} when it throws: a rank that fails still
// takes part in what follows, or the others would wait for it forever.
template <class Work>
json attempt(const Work& work) {
  try {
    return work();
  } catch (const Error& error) {
    return {{"kind", error.exit_code()}, {"error", error.what()}};
  } catch (const std::exception& error) {
    return {{"kind", static_cast<int>(ErrorKind::Internal)}, {"error", error.what()}};
  }
}

void throw_if_failed(const json& outcome, const std::string& prefix) {
  if (!outcome.contains("error")) return;
  throw Error(static_cast<ErrorKind>(outcome.at("kind").get<int>()),
              prefix + outcome.at("error").get<std::string>());
}

// Rank 0 works, everyone gets the outcome, or throws the same error.
template <class Work>
json on_leader(Collective& world, const std::string& prefix, const Work& work) {
  std::string text;
  if (world.rank() == 0) text = packed(attempt(work));
  json outcome = json::parse(world.broadcast(text, 0));
  throw_if_failed(outcome, prefix);
  return outcome;
}

// "model-00002-of-00004.safetensors": this rank's place among those with something to write.
std::string shard_name(const char* part, bool writes, Collective& world) {
  const std::vector<int64_t> writers = world.gather_to_all(int64_t{writes ? 1 : 0});
  int64_t number = 1;
  int64_t total = 0;
  for (size_t rank = 0; rank < writers.size(); ++rank) {
    if (rank < static_cast<size_t>(world.rank())) number += writers[rank];
    total += writers[rank];
  }
  std::array<char, 64> name{};
  std::snprintf(name.data(), name.size(), "%s-%05lld-of-%05lld.safetensors", part,
                static_cast<long long>(number), static_cast<long long>(total));
  return name.data();
}

// What rank 0 must know of a shard.
json write_shard(const std::string& directory, const char* part, const std::string& name,
                 const std::vector<NamedTensor>& tensors, Device& device) {
  // "format" is what Hugging Face's loader asks for: names and layouts as in PyTorch.
  const FileDigest digest =
      write_safetensors(directory + "/" + name, tensors, {{"format", "pt"}}, device);
  uint64_t tensor_bytes = 0;
  json names = json::array();
  for (const NamedTensor& tensor : tensors) {
    tensor_bytes += tensor.tensor.size_bytes();
    names.push_back(tensor.name);
  }
  return {{"part", part},
          {"file", name},
          {"bytes", digest.size_bytes},
          {"checksum", digest.checksum},
          {"tensor_bytes", tensor_bytes},
          {"tensors", names}};
}

struct Shards {
  Manifest manifest;
  std::map<std::string, ShardIndex> indexes;  // by part
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

// Writes the documents over the shards that all ranks reported, and gives the whole its name.
json complete(const CheckpointRequest& request, const std::string& directory,
              const std::vector<std::string>& reports) {
  Shards shards;
  shards.indexes["model"];  // there is always one, even if it is empty
  for (size_t rank = 0; rank < reports.size(); ++rank) {
    const json report = json::parse(reports[rank]);
    throw_if_failed(report, "rank " + std::to_string(rank) + ": ");
    for (const json& shard : report.at("shards")) add_shard(shards, shard);
  }
  Manifest& manifest = shards.manifest;
  const auto add = [&](const std::string& name, const std::string& text) {
    manifest.files[name] = write_text(directory + "/" + name, text);
  };
  for (const auto& [part, index] : shards.indexes) add(index_file(part), encode_index(index));
  add(kStateFile, encode_state(request.state));
  FileDigest last = write_text(directory + "/" + kManifestFile, encode_manifest(manifest));

  uint64_t size_bytes = last.size_bytes;
  for (const auto& [name, digest] : manifest.files) size_bytes += digest.size_bytes;
  return {{"path", publish_step(request.root, request.state.step)}, {"size_bytes", size_bytes}};
}

}  // namespace

CheckpointResult save_checkpoint(const CheckpointRequest& request, Collective& world,
                                 Device& device) {
  const int64_t step = request.state.step;
  const std::string prefix =
      "cannot save checkpoint " + request.root + "/" + step_name(step) + ": ";
  const json begun = on_leader(world, prefix, [&] {
    return json{{"directory", begin_step(request.root, step)}};
  });
  const auto directory = begun.at("directory").get<std::string>();

  const std::string model_shard = shard_name("model", !request.model.empty(), world);
  const std::string optimizer_shard = shard_name("optimizer", !request.optimizer.empty(), world);
  const json report = attempt([&] {
    json shards = json::array();
    const auto write = [&](const char* part, const std::string& name,
                           const std::vector<NamedTensor>& tensors) {
      if (!tensors.empty()) {
        shards.push_back(write_shard(directory, part, name, tensors, device));
      }
    };
    write("model", model_shard, request.model);
    write("optimizer", optimizer_shard, request.optimizer);
    return json{{"shards", shards}};
  });
  const std::vector<std::string> reports = world.gather_text(packed(report));

  const json outcome = on_leader(world, prefix, [&] {
    json done = attempt([&] { return complete(request, directory, reports); });
    if (done.contains("error")) {
      abandon_step(request.root, step);
      return done;
    }
    const json retired = attempt([&] {
      retire_steps(request.root, request.keep, step);
      return json::object();
    });
    done["warning"] = retired.value("error", "");
    return done;
  });
  return {outcome.at("path").get<std::string>(), outcome.at("size_bytes").get<uint64_t>(),
          outcome.at("warning").get<std::string>()};
}

}  // namespace penstock
