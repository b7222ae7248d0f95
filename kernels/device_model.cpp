#include "kernels/device_model.h"

#include <algorithm>
#include <array>
#include <vector>

#include "kernels/cpu/processor/processor.h"
#include "kernels/error.h"

namespace penstock {
namespace {

constexpr int64_t kGiB = int64_t{1} << 30;
constexpr double kTera = 1e12;
constexpr double kGiga = 1e9;

// Says what a device's libraries compute in one pass (DeviceModel::fuses_attention, fuses_gelu).
struct FusedPasses {
  bool attention = false, gelu = false;
};
constexpr FusedPasses kFusesNothing;
constexpr FusedPasses kFusesGelu = {.gelu = true};  // on devices with bf16 products
// Only Hopper is modelled with both: the workspace that fused attention needs on other GPUs is not
// known.
constexpr FusedPasses kFusesBoth = {.attention = true, .gelu = true};

// Makes the model of an accelerator. kReached and memory_efficiency are the shares of the peak that
// large products and streaming kernels of the vendors' libraries usually reach; the overhead is the
// cost of a launch from a queue that is never empty.
DeviceModel accelerator(const char* name, double fp32_tera, double bf16_tera, double giga_bytes_s,
                        int64_t gibibytes, FusedPasses fused) {
  constexpr double kReached = 0.6;
  const auto products = [](double tera) {
    return ProductSpeed{
        .peak = tera * kTera, .linear = kReached, .attention = kReached, .convolution = kReached};
  };
  return {.name = name,
          .fp32 = products(fp32_tera),
          .bf16 = products(bf16_tera),
          .peak_from = std::string("published for ") + name,
          .memory_bytes_per_s = giga_bytes_s * kGiga,
          .memory_efficiency = 0.8,
          .op_overhead_s = 5e-6,
          .memory_bytes = gibibytes * kGiB,
          .own_memory = true,
          .fuses_attention = fused.attention,
          .fuses_gelu = fused.gelu};
}

// The peaks are of dense products summed in fp32, without sparsity and without TF32. For NVIDIA
// they are the peaks of the SXM forms; those of a B200 are for HGX at 1,000 W, and those of a
// GeForce RTX 4090 come from NVIDIA's paper on Ada. Volta and Pascal have no bf16 and compute it in
// fp32. A TPU multiplies fp32 numbers in bf16 passes unless told otherwise. A TPU is one
// of a chip's two cores here, so its figures are half of the chip's. To add a model, add a row here
// and a row for its links in runtime/planning/costs/interconnects.cpp.
std::vector<DeviceModel> accelerators() {
  return {accelerator("h200", 66.9, 989.4, 4800, 140, kFusesBoth),
          accelerator("h100", 66.9, 989.4, 3352, 80, kFusesBoth),
          accelerator("b200", 75, 2250, 7700, 180, kFusesGelu),
          accelerator("a100", 19.5, 312, 2039, 80, kFusesGelu),
          accelerator("rtx-4090", 82.6, 165.2, 1008, 24, kFusesGelu),
          accelerator("v100-16gb", 15.7, 15.7, 900, 16, kFusesNothing),
          accelerator("v100-32gb", 15.7, 15.7, 900, 32, kFusesNothing),
          accelerator("p100", 10.6, 10.6, 732, 16, kFusesNothing),
          accelerator("tpu-v2", 22.5, 22.5, 350, 8, kFusesNothing),
          accelerator("tpu-v3", 61.5, 61.5, 450, 16, kFusesNothing)};
}

// A row has a part of the name that the driver gives to a GPU, and the peak in NVIDIA's data sheet.
// The sheets are those of H100 (SXM5), H200 (SXM), B200 (HGX), A100 (SXM4 and PCIe) and GeForce RTX
// 4090. The driver calls these "NVIDIA H100 80GB HBM3", "NVIDIA H200", "NVIDIA B200", "NVIDIA
// A100-SXM4-80GB", "NVIDIA A100 80GB PCIe" and "NVIDIA GeForce RTX 4090".
struct PartName {
  std::string_view in_name;
  PublishedPeak peak;
};
constexpr PublishedPeak kA100 = {"A100", 19.5 * kTera, 312 * kTera};
constexpr std::array kParts = {
    PartName{"H100", {"H100 SXM", 66.9 * kTera, 989.4 * kTera}},
    PartName{"H200", {"H200 SXM", 66.9 * kTera, 989.4 * kTera}},
    PartName{"A100-SXM4", kA100},
    PartName{"A100-PCIE", kA100},
    PartName{"A100 80GB PCIe", kA100},
    PartName{"NVIDIA B200", {"B200 HGX", 75 * kTera, 2250 * kTera}},
    PartName{"RTX 4090", {"RTX 4090", 82.6 * kTera, 165.2 * kTera}},
};
// A name with one of these words has no published peak here. It is the name of another board, with
// another clock and fewer multiprocessors, or of a slice of a GPU.
constexpr std::array<std::string_view, 6> kOthers = {"H100 PCIe", "NVL",    "GH200",
                                                     "MIG",       "4090 D", "Laptop"};

}  // namespace

const PublishedPeak* published_peak(std::string_view device_name) {
  const auto named = [&](std::string_view words) {
    return device_name.find(words) != std::string_view::npos;
  };
  if (std::any_of(kOthers.begin(), kOthers.end(), named)) return nullptr;
  const auto* found = std::find_if(kParts.begin(), kParts.end(),
                                   [&](const PartName& part) { return named(part.in_name); });
  return found == kParts.end() ? nullptr : &found->peak;
}

OperandCopies operand_copies(const Processor& processor) {
  if (!processor.avx512) return OperandCopies::PaddedRows;
  return processor.amx && processor.bf16 ? OperandCopies::Tiles : OperandCopies::None;
}

// The usual figures here were measured with kernels/cpu on two cores of a server with AVX-512 and
// its bf16 products, so they need no factor for efficiency. The cores share the memory's bandwidth.
DeviceModel cpu_model(const Processor& processor, int threads, const ProcessorSpeed& speed) {
  if (threads < 1) fail_input("a device model needs at least 1 thread");
  const double fp32 = (processor.avx512 ? 268 : 134) * kGiga * threads;
  DeviceModel model{.name = "cpu",
                    .fp32 = {.peak = fp32},
                    .bf16 = {.peak = processor.bf16 ? 524 * kGiga * threads : fp32},
                    .peak_from = "a usual core's, x " + std::to_string(threads),
                    .memory_bytes_per_s = 33 * kGiga,
                    .op_overhead_s = 2e-6,
                    .memory_bytes = 16 * kGiB,
                    .packs_filters = true,
                    .filter_blocks = processor.amx      ? FilterBlocks::Tiles
                                     : processor.avx512 ? FilterBlocks::Of16
                                                        : FilterBlocks::Of8,
                    .at_hand = processor.at_hand,
                    .emulates_bf16 = !processor.bf16,
                    .operand_copies = operand_copies(processor),
                    .threads = threads};
  if (!speed.known()) return model;
  model.fp32 = speed.fp32;
  model.bf16 = speed.bf16;
  model.peak_from = "measured on this processor";
  model.pass_flops = speed.pass_flops;
  model.memory_bytes_per_s = speed.memory_bytes_per_s;
  model.op_overhead_s = speed.op_overhead_s;
  return model;
}

std::vector<std::string> device_model_names() {
  std::vector<std::string> names = {"cpu"};
  for (const DeviceModel& model : accelerators()) names.push_back(model.name);
  return names;
}

DeviceModel device_model_named(const std::string& name, int threads, const ProcessorSpeed& speed) {
  if (threads < 1) fail_input("a device model needs at least 1 thread");
  if (name == "cpu") return cpu_model(processor_at_hand(), threads, speed);
  for (const DeviceModel& model : accelerators()) {
    if (model.name == name) return model;
  }
  std::string known;
  for (const std::string& one : device_model_names()) known += (known.empty() ? "" : ", ") + one;
  fail_input("unknown device model '" + name + "'; known are " + known);
}

}  // namespace penstock
