#include "runtime/engine/training/checkpoints/transfer.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <unordered_set>

#include "kernels/error.h"
#include "runtime/engine/training/checkpoints/trained_weights.h"
#include "runtime/network/autograd/name_patterns.h"
#include "runtime/records/checkpoint/layout.h"
#include "runtime/records/checkpoint/reader.h"

namespace penstock {
namespace {

using StoredShapes = std::map<std::string, Shape>;

StoredShapes shapes_in(const CheckpointReader& reader) {
  StoredShapes shapes;
  for (const CheckpointReader::Stored& stored : reader.model()) {
    const std::vector<int64_t>& extents = stored.tensor.shape;
    shapes.emplace(stored.tensor.name, Shape(std::span<const int64_t>(extents)));
  }
  return shapes;
}

// Returns a pattern for a tensor's layer and all that belongs to it, such as "classifier.*" for
// "classifier.weight".
std::string pattern_around(const std::string& name) {
  const size_t dot = name.rfind('.');
  return dot == std::string::npos ? name : name.substr(0, dot) + ".*";
}

void check_shape(const NetworkTensor& tensor, const Shape& stored, const std::string& checkpoint) {
  if (tensor.shape == stored) return;
  fail_input("init: '" + tensor.name + "' is " + stored.text() + " in " + checkpoint + " but " +
             tensor.shape.text() + " in this network; --init.skip '" + pattern_around(tensor.name) +
             "' lets it start afresh");
}

std::string listed(const std::string& what, const std::vector<std::string>& names) {
  constexpr size_t kShown = 4;
  if (names.empty()) return "";
  std::string text = "; " + what + ": ";
  for (size_t i = 0; i < std::min(kShown, names.size()); ++i)
    text += (i > 0 ? ", " : "") + names[i];
  if (names.size() > kShown) text += " and " + std::to_string(names.size() - kShown) + " more";
  return text;
}

}  // namespace

std::string checkpoint_at(const std::string& path) {
  if (std::filesystem::exists(path + "/" + kManifestFile)) return path;
  const auto latest = latest_checkpoint(path + "/checkpoints");
  if (!latest) {
    fail_input("init: " + path +
               " is neither a run directory with checkpoints nor a checkpoint itself");
  }
  return latest->path;
}

TransferRecord plan_transfer(const InitConfig& init, const Layout& layout) {
  std::vector<std::string> names;
  for (const NetworkTensor& tensor : layout.named) names.push_back(tensor.name);
  refuse_unmatched("init.skip", init.skip, names);
  TransferRecord record;
  record.checkpoint = init.from;
  StoredShapes stored = shapes_in(CheckpointReader(init.from));
  for (const NetworkTensor& tensor : layout.named) {
    const auto found = stored.find(tensor.name);
    if (matches_any(tensor.name, init.skip)) {
      record.skipped.push_back(tensor.name);
    } else if (found == stored.end()) {
      record.missing.push_back(tensor.name);
    } else {
      check_shape(tensor, found->second, init.from);
      record.loaded.push_back(tensor.name);
    }
    if (found != stored.end()) stored.erase(found);
  }
  for (const auto& [name, shape] : stored) record.unused.push_back(name);
  if (record.loaded.empty()) {
    fail_input("init: " + init.from + " has no tensor for this network" +
               listed("it has", record.unused) + listed("the network has", record.missing));
  }
  return record;
}

void transfer(const TransferRecord& plan, Pipeline& pipeline, Device& device) {
  const std::unordered_set<std::string> wanted(plan.loaded.begin(), plan.loaded.end());
  load_weights(plan.checkpoint, pipeline, device,
               [&](const std::string& name) { return wanted.contains(name); });
}

std::string describe(const TransferRecord& record) {
  const size_t all = record.loaded.size() + record.skipped.size() + record.missing.size();
  return "init: " + std::to_string(record.loaded.size()) + " of " + std::to_string(all) +
         " tensors from " + record.checkpoint + listed("skipped", record.skipped) +
         listed("not in the checkpoint", record.missing) +
         listed("not in the network", record.unused);
}

}  // namespace penstock
