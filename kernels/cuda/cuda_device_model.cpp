#include "kernels/cuda/cuda_device_model.h"

#include <array>
#include <cstring>
#include <string>

#include "kernels/cuda/attention/attention_graphs.h"
#include "kernels/cuda/status.h"

namespace penstock {
namespace {

// Holds the FLOPs of a multiprocessor in a cycle: of fp32 multiply-adds, and of dense bf16 products
// with fp32 sums (CUDA C++ Programming Guide, arithmetic instructions; NVIDIA's architecture white
// papers). GeForce cards of compute 8.6 or newer make bf16 products at half the rate.
struct Generation {
  int compute;  // 10 x major + minor of the oldest GPUs that the row is for
  double fp32, bf16;
};
constexpr std::array kGenerations = {
    Generation{120, 256, 1024}, Generation{100, 256, 8192}, Generation{90, 256, 4096},
    Generation{86, 256, 1024},  Generation{80, 128, 2048},  Generation{0, 128, 128},
};
constexpr int kNewestKnown = 121;

// Each row has a part of a card's name, and the name of the card's model in
// kernels/device_model.cpp.
constexpr std::array<std::array<const char*, 2>, 8> kNames = {{{"H200", "h200"},
                                                               {"H100", "h100"},
                                                               {"B200", "b200"},
                                                               {"A100", "a100"},
                                                               {"RTX 4090", "rtx-4090"},
                                                               {"V100-SXM2-16GB", "v100-16gb"},
                                                               {"V100-SXM2-32GB", "v100-32gb"},
                                                               {"P100", "p100"}}};

// Returns a text that says how the peak was reckoned. A generation newer than this program is
// reckoned as the newest one that the program knows, and the text says so.
std::string clock_text(const cudaDeviceProp& properties, double kilohertz) {
  const auto version = [](int major, int minor) {
    return std::to_string(major) + "." + std::to_string(minor);
  };
  const bool unknown = 10 * properties.major + properties.minor > kNewestKnown;
  return "by clock: " + std::to_string(properties.multiProcessorCount) + " SMs at " +
         std::to_string(static_cast<int>(kilohertz / 1e3)) + " MHz" +
         (unknown ? ", reckoned as compute " + version(kNewestKnown / 10, kNewestKnown % 10) +
                        ", since " + version(properties.major, properties.minor) + " is not known"
                  : "");
}

double attribute(cudaDeviceAttr which, int ordinal) {
  int value = 0;
  PENSTOCK_CUDA(cudaDeviceGetAttribute(&value, which, ordinal));
  return value;
}

}  // namespace

DeviceModel cuda_device_model(const cudaDeviceProp& properties, int ordinal, int64_t usable_bytes) {
  DeviceModel model = device_model_named("h100");  // efficiencies are assumed to be an H100's
  model.name = "gpu";
  for (const auto& [part, name] : kNames) {
    if (std::strstr(properties.name, part) != nullptr) model.name = name;
  }
  const int compute = 10 * properties.major + properties.minor;
  const double kilohertz = attribute(cudaDevAttrClockRate, ordinal);
  const double cycles =
      1e3 * kilohertz * properties.multiProcessorCount;  // of all multiprocessors in a second
  for (const Generation& generation : kGenerations) {
    if (compute < generation.compute) continue;
    model.fp32.peak = cycles * generation.fp32;
    const bool halved = compute >= 86 && std::strstr(properties.name, "GeForce") != nullptr;
    model.bf16.peak = cycles * generation.bf16 / (halved ? 2 : 1);
    break;
  }
  model.peak_from = clock_text(properties, kilohertz);
  if (const PublishedPeak* published = published_peak(properties.name); published != nullptr) {
    model.fp32.peak = published->fp32;
    model.bf16.peak = published->bf16;
    model.peak_from = std::string("published for ") + published->part;
  }
  // Memory makes two transfers in a cycle of its clock.
  model.memory_bytes_per_s = 2.0 * 1e3 * attribute(cudaDevAttrMemoryClockRate, ordinal) *
                             attribute(cudaDevAttrGlobalMemoryBusWidth, ordinal) / 8.0;
  model.fuses_attention = compute / 10 == 9 && has_attention_graphs();
  model.fuses_gelu = compute >= 80;
  model.memory_bytes = usable_bytes;
  return model;
}

}  // namespace penstock
