#include "runtime/engine/training/checkpoints/trained_weights.h"

#include "kernels/error.h"
#include "runtime/records/checkpoint/layout.h"
#include "runtime/records/checkpoint/reader.h"

namespace penstock {
namespace {

// Reads the average of the tensor if the checkpoint has one, else the tensor itself.
void read(CheckpointReader& reader, StateEntry& entry, Device& device) {
  const std::string average = entry.name + ".average";
  const std::string& name = reader.contains(average) ? average : entry.name;
  if (!reader.contains(name)) {
    fail_input(reader.directory() + " has no tensor '" + name +
               "': is it a checkpoint of this network?");
  }
  reader.read(name, entry.value, device);
  entry.changed();
}

}  // namespace

std::string newest_checkpoint(const std::string& out) {
  const auto latest = latest_checkpoint(out + "/checkpoints");
  if (!latest) {
    fail_input(out + "/checkpoints has no checkpoint: train first, or name one with --checkpoint");
  }
  return latest->path;
}

void load_weights(const std::string& checkpoint, Pipeline& pipeline, Device& device,
                  const ChooseTensor& wanted) {
  CheckpointReader reader(checkpoint);
  for (StateEntry* entry : pipeline.state()) {
    if (!wanted || wanted(entry->name)) read(reader, *entry, device);
  }
}

}  // namespace penstock
