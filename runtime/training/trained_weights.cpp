#include "runtime/training/trained_weights.h"

#include "kernels/error.h"
#include "runtime/checkpoint/layout.h"
#include "runtime/checkpoint/reader.h"
#include "runtime/optimizer/state.h"

namespace penstock {
namespace {

// The average of that tensor where there is one, else itself.
void read(CheckpointReader& reader, const std::string& name, Tensor& to, Device& device) {
  const std::string average = StateTensor{name, "average", to}.name();
  if (reader.contains(average)) {
    reader.read(average, to, device);
    return;
  }
  if (!reader.contains(name)) {
    fail_input(reader.directory() + " has no tensor '" + name +
               "': is it a checkpoint of this network?");
  }
  reader.read(name, to, device);
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
  for (const auto& stage : pipeline.stages()) {
    for (Parameter* parameter : stage->held()) {
      if (wanted && !wanted(parameter->name)) continue;
      Tensor value = parameter->weight.value();
      read(reader, parameter->name, value, device);
      parameter->weight.changed();
    }
    for (Buffer& buffer : stage->set().buffers()) {
      if (!wanted || wanted(buffer.name)) read(reader, buffer.name, buffer.value, device);
    }
  }
}

}  // namespace penstock
