#include "runtime/records/hub/adapters/adapter_weights.h"

#include <filesystem>
#include <set>
#include <system_error>

#include "kernels/error.h"
#include "runtime/network/models/adapter_names.h"
#include "runtime/records/checkpoint/format/number_reader.h"
#include "runtime/records/hub/adapters/adapter_folder.h"
#include "runtime/records/hub/adapters/peft_names.h"
#include "runtime/system/files/json.h"

namespace penstock {
namespace {

std::string path_of_weights(const std::string& folder) {
  std::string path = folder + "/" + kAdapterWeightsFile;
  std::error_code ignored;
  if (std::filesystem::exists(path, ignored)) return path;
  const bool pickled = std::filesystem::exists(folder + "/adapter_model.bin", ignored);
  fail_input(folder + " has " + (pickled ? "adapter_model.bin alone" : "no weights") +
             ": what is read is " + kAdapterWeightsFile +
             (pickled ? "; a .bin holds programs as well as numbers: load it with peft and "
                        "save_pretrained() the adapters elsewhere"
                      : ""));
}

}  // namespace

AdapterWeights::AdapterWeights(const std::string& folder, const HubFamily& family)
    : family_(family), file_(path_of_weights(folder), FileOwner::User) {}

const TensorInfo& AdapterWeights::find(const HubTensor& adapter) const {
  const std::string name = peft_name(family_, adapter.name);
  const TensorInfo* found = file_.find(name);
  if (found == nullptr) {
    fail_input(file_.path() + " has no tensor " + quoted(name) + ": it has no adapter for " +
               quoted(layer_of(adapter.name)) +
               "; what lora.targets names has one in every block of this network");
  }
  if (number_bytes(found->dtype) == 0) {
    fail_input(file_.path() + ": tensor " + quoted(name) + " is of type " + found->dtype +
               "; F32, BF16 and F16 are read");
  }
  const std::vector<int64_t> shape = peft_shape(adapter.name, adapter.shape);
  if (found->shape != shape) {
    fail_input(file_.path() + ": tensor " + quoted(name) + " is " + shape_text(found->shape) +
               ", but this network and lora.rank make it " + shape_text(shape) +
               ": do they belong together?");
  }
  return *found;
}

void AdapterWeights::check(std::span<const HubTensor> adapters) const {
  std::set<std::string> used;
  for (const HubTensor& adapter : adapters) used.insert(find(adapter).name);
  for (const TensorInfo& tensor : file_.tensors()) {
    if (used.contains(tensor.name)) continue;
    fail_input(file_.path() + ": this network has no place for the tensor " + quoted(tensor.name) +
               ": is it of this network, and do lora.targets name its layer?");
  }
}

void AdapterWeights::read(const std::string& ours, Tensor& to, Device& device) const {
  const auto extents = to.shape().extents();
  // The tensor is checked again: the file may have changed since the first check, or another rank
  // made that check.
  NumberReader numbers(file_, find({ours, {extents.begin(), extents.end()}}));
  numbers.refuse_not_finite();
  fill_tensor(to, device, [&](auto all) {
    numbers.read(0, all);
    if (!peft_transposes(ours)) return;
    using T = typename decltype(all)::value_type;
    const std::vector<T> theirs(all.begin(), all.end());
    transpose_matrix<T>(all, theirs, static_cast<size_t>(extents[1] * extents[2]));
  });
}

}  // namespace penstock
