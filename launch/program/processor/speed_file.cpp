#include "launch/program/processor/speed_file.h"

#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <functional>

#include "kernels/error.h"
#include "runtime/system/files/atomic_file.h"
#include "runtime/system/files/json.h"

namespace penstock {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kMostSpeedBytes = 16 << 10;

std::string path_of(const std::string& folder, const std::string& key) {
  return fmt::format("{}/processor-{:016x}.json", folder, std::hash<std::string>()(key));
}

nlohmann::json json_of_products(const ProductSpeed& speed) {
  return {{"peak", speed.peak},
          {"linear", speed.linear},
          {"attention", speed.attention},
          {"convolution", speed.convolution}};
}

double positive(const nlohmann::json& object, const char* key) {
  const double value = object.at(key).get<double>();
  if (!std::isfinite(value) || value <= 0) fail_input("no speed");
  return value;
}

ProductSpeed products_of(const nlohmann::json& object) {
  return {.peak = positive(object, "peak"),
          .linear = positive(object, "linear"),
          .attention = positive(object, "attention"),
          .convolution = positive(object, "convolution")};
}

}  // namespace

std::string cache_folder() {
  const auto variable = [](const char* name) {
    const char* value = std::getenv(name);
    return std::string(value == nullptr ? "" : value);
  };
  const std::string cache = variable("XDG_CACHE_HOME");
  if (!cache.empty() && cache.front() == '/') return cache + "/penstock";
  const std::string home = variable("HOME");
  return home.empty() ? "" : home + "/.cache/penstock";
}

std::optional<ProcessorSpeed> read_speed(const std::string& folder, const std::string& key) {
  if (folder.empty()) return std::nullopt;
  try {
    const nlohmann::json file =
        read_json_file(path_of(folder, key), kMostSpeedBytes, FileOwner::Run);
    if (file.at("key").get<std::string>() != key) return std::nullopt;
    return ProcessorSpeed{.fp32 = products_of(file.at("fp32")),
                          .bf16 = products_of(file.at("bf16")),
                          .pass_flops = positive(file, "pass_flops"),
                          .memory_bytes_per_s = positive(file, "memory_bytes_per_s"),
                          .op_overhead_s = positive(file, "op_overhead_s"),
                          .measurements = file.at("measurements").get<int>(),
                          .undisturbed = file.at("undisturbed").get<int>()};
  } catch (const std::exception&) {  // a bad file is written anew
    return std::nullopt;
  }
}

void write_speed(const std::string& folder, const std::string& key, const ProcessorSpeed& speed) {
  if (folder.empty()) return;
  const nlohmann::json file = {{"key", key},
                               {"fp32", json_of_products(speed.fp32)},
                               {"bf16", json_of_products(speed.bf16)},
                               {"pass_flops", speed.pass_flops},
                               {"memory_bytes_per_s", speed.memory_bytes_per_s},
                               {"op_overhead_s", speed.op_overhead_s},
                               {"measurements", speed.measurements},
                               {"undisturbed", speed.undisturbed}};
  try {
    fs::create_directories(folder);
    const std::string text = file.dump(1) + "\n";
    AtomicFile replacement(path_of(folder, key), fmt::format(".{}", ::getpid()));
    replacement.write(text.data(), text.size());
    replacement.commit();
  } catch (const std::exception&) {  // training goes on without the file if it cannot be written
  }
}

}  // namespace penstock
