#include "runtime/records/hub/adapters/export_adapter.h"

#include <map>
#include <vector>

#include "kernels/error.h"
#include "runtime/network/models/adapter_names.h"
#include "runtime/records/checkpoint/format/file.h"
#include "runtime/records/checkpoint/format/numbers.h"
#include "runtime/records/checkpoint/reader.h"
#include "runtime/records/hub/adapters/adapter_folder.h"
#include "runtime/records/hub/adapters/merged_weights.h"
#include "runtime/records/hub/adapters/peft_names.h"
#include "runtime/records/hub/atomic_folder.h"
#include "runtime/records/hub/config/config_json.h"
#include "runtime/records/hub/kept_folder.h"
#include "runtime/records/hub/names.h"

namespace penstock {
namespace {

// This is what the file of adapters holds: the header with peft's names, and the tensor of the
// checkpoint for each of these names.
struct AdapterFile {
  SafetensorsHeader header{{}, {{"format", "pt"}}};
  std::map<std::string, TensorInfo> ours;
  std::vector<std::string> names;  // their names in the checkpoint
};

AdapterFile adapters_of(const CheckpointReader& reader, const HubFamily& family,
                        const std::string& dtype) {
  AdapterFile file;
  for (const CheckpointReader::Stored& stored : reader.model()) {
    const TensorInfo& tensor = stored.tensor;
    if (!is_of_adapter(tensor.name)) continue;
    const std::string name = peft_name(family, tensor.name);
    size_t elements = 1;
    for (const int64_t extent : tensor.shape) elements *= static_cast<size_t>(extent);
    file.header.tensors.push_back(
        {name, dtype, peft_shape(tensor.name, tensor.shape), 0, elements * number_bytes(dtype)});
    file.ours[name] = tensor;
    file.names.push_back(tensor.name);
  }
  if (file.names.empty()) fail_input(reader.directory() + " has no adapters");
  return file;
}

uint64_t write_adapters(const std::string& path, AdapterFile& adapters, CheckpointReader& reader) {
  const std::string front = encode_safetensors_header(adapters.header);
  OutputFile file(path);
  file.write(front.data(), front.size());
  MergedWeights weights(reader, {});  // nothing is merged: these tensors are the adapters
  std::vector<float> floats;
  std::vector<std::byte> bytes;
  uint64_t total = 0;
  for (const TensorInfo& theirs : adapters.header.tensors) {
    floats.resize(theirs.size_bytes() / number_bytes(theirs.dtype));
    const TensorInfo& ours = adapters.ours.at(theirs.name);
    weights.read(ours, 0, floats);
    if (peft_transposes(ours.name)) {
      const std::vector<float> here = floats;
      transpose_matrix<float>(floats, here, static_cast<size_t>(ours.shape[0]));
    }
    bytes.resize(theirs.size_bytes());
    from_floats(floats, theirs.dtype, bytes);
    file.write(bytes.data(), bytes.size());
    total += bytes.size();
  }
  (void)file.finish();
  return total;
}

}  // namespace

Exported export_adapter(const ExportRequest& request) {
  const bool made = !request.config.empty();
  const HubConfig config =
      made ? parse_hub_config(request.config, kConfigFile) : read_hub_config(request.folder);
  const HubFamily& family = hub_family(config.family);
  CheckpointReader reader(request.checkpoint);
  AdapterFile adapters = adapters_of(reader, family, request.dtype == "bf16" ? "BF16" : "F32");
  AtomicFolder folder(request.to);
  // If the network did not come from a folder, request.folder is the tokenizer's folder. It does
  // not say which network the adapters belong to.
  const std::string known = made ? "" : origin_of(request.folder);
  const std::string& base = request.base.empty() ? known : request.base;
  copy_small_files(request.folder, folder.path());
  (void)write_text(folder.path() + "/" + kAdapterConfigFile,
                   adapter_config_text(request.lora, family, adapters.names, base));
  const uint64_t bytes =
      write_adapters(folder.path() + "/" + kAdapterWeightsFile, adapters, reader);
  folder.commit();
  return {adapters.names.size(), 1, bytes};
}

}  // namespace penstock
