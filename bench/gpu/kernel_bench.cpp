// bench/gpu/kernel_bench.cpp -- every op of a training step alone on a GPU: its time, the bytes it
// moves a second beside what a plain copy moves, the FLOPs it does a second beside the peak of the
// part, and what the libraries granted (epilogues, algorithms, workspaces, fused attention).
//
//   kernel_bench [--toy] [--only TEXT] [--json FILE] [--device cuda|cpu]
//
// Bytes and FLOPs are those of kernels/counting: every operand once, so a kernel that reads twice
// shows as slow. A row is printed when it was measured: what a time limit cuts off is missing at
// the end, no more. Exit codes: 0 measured, 1 a row failed, 2 bad usage, 77 there is no such
// device.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "bench/gpu/kernel_cases.h"
#include "kernels/counting/counting_device.h"

namespace penstock::gpu_bench {
namespace {

constexpr int kRounds = 15;
constexpr const char* kCopy = "copy on the device";

struct Options {
  bool toy = false;
  std::string only, json, device = "cuda";
};

struct Row {
  std::string name;
  double seconds = 0;  // the median of kRounds
  double flops = 0, bytes = 0;
};

// Times `run` on the device that it was set up for.
double median_seconds(Device& device, const std::function<void()>& run) {
  const std::unique_ptr<DeviceClock> clock = device.make_clock(2 * kRounds);
  for (int i = 0; i < 2; ++i) run();  // plans are made, and narrowed weights
  for (size_t i = 0; i < kRounds; ++i) {
    clock->mark(2 * i);
    run();
    clock->mark(2 * i + 1);
  }
  device.synchronize();
  std::vector<double> times;
  for (size_t i = 0; i < kRounds; ++i) {
    times.push_back(clock->seconds(2 * i + 1) - clock->seconds(2 * i));
  }
  std::nth_element(times.begin(), times.begin() + kRounds / 2, times.end());
  return times[kRounds / 2];
}

// Counts the FLOPs and bytes of one run on the counting device: the second one, which finds the
// copies of weights that the first has made.
void count(const KernelCase& kernel, const DeviceModel& model, Row& row) {
  row.flops = kernel.flops;
  row.bytes = kernel.bytes;
  if (row.bytes > 0) return;
  const std::unique_ptr<CountingDevice> device = make_counting_device(model);
  const std::function<void()> run = kernel.set_up(*device);
  if (!run) return;
  run();
  const OpCount before = device->count();
  run();
  row.flops = device->count().flops - before.flops;
  row.bytes = device->count().bytes - before.bytes;
}

class Table {
 public:
  Table(const DeviceModel& model, const std::string& device) : peak_flops_(model.bf16.peak) {
    fmt::print("{}; peak of bf16 products {:.1f} TFLOP/s\n", device, peak_flops_ / 1e12);
    fmt::print("{:48} {:>10} {:>9} {:>8} {:>9} {:>8}\n", "op", "ms", "GB/s", "of copy", "TFLOP/s",
               "of peak");
  }

  void add(const Row& row) {
    const double bytes_per_s = row.bytes / row.seconds;
    if (row.name == kCopy) copy_bytes_per_s_ = bytes_per_s;
    fmt::print("{:48} {:10.4f} {:9.1f} {:>8} {:9.2f} {:>8}\n", row.name, 1e3 * row.seconds,
               bytes_per_s / 1e9, share(bytes_per_s, copy_bytes_per_s_),
               row.flops / row.seconds / 1e12, share(row.flops / row.seconds, peak_flops_));
    (void)std::fflush(stdout);
  }

 private:
  static std::string share(double part, double whole) {
    return whole > 0 ? fmt::format("{:.1f} %", 100.0 * part / whole) : "-";
  }

  double peak_flops_;
  double copy_bytes_per_s_ = 0;
};

void write_json(const std::string& path, const Device& device, const std::vector<Row>& rows) {
  const auto choices = device.counts().library_choices;
  nlohmann::json document = {{"device", device.description()},
                             {"bf16_flops", device.model().bf16.peak},
                             {"choices", std::vector<std::string>(choices.begin(), choices.end())}};
  for (const Row& row : rows) {
    document["rows"].push_back(
        {{"name", row.name}, {"seconds", row.seconds}, {"flops", row.flops}, {"bytes", row.bytes}});
  }
  std::ofstream(path) << document.dump(1) << "\n";
}

// Returns 0, or 1 where a row failed: the others are measured none the less.
int measure(const Options& options, Device& device) {
  const DeviceModel model = device.model();
  Table table(model, device.description());
  std::vector<Row> rows;
  int code = 0;
  for (const KernelCase& kernel : kernel_cases(options.toy ? toy_extents() : training_extents())) {
    if (kernel.name.find(options.only) == std::string::npos) continue;
    Row row{.name = kernel.name};
    try {
      const std::function<void()> run = kernel.set_up(device);
      if (!run) {
        fmt::print("{:48} not granted\n", kernel.name);
        continue;
      }
      row.seconds = median_seconds(device, run);
      count(kernel, model, row);
      table.add(row);
      rows.push_back(row);
    } catch (const Error& error) {
      fmt::print("{:48} failed: {}\n", kernel.name, error.what());
      code = 1;
    }
    device.memory().trim();
    if (!options.json.empty()) write_json(options.json, device, rows);
  }
  fmt::print("\nwhat the libraries chose:\n");
  for (const std::string& path :
       attention_paths(device, options.toy ? toy_extents() : training_extents())) {
    fmt::print("  {}\n", path);
  }
  for (const std::string& choice : device.counts().library_choices) fmt::print("  {}\n", choice);
  return code;
}

// False where the command line is not one of ours.
bool parse(int argc, char** argv, Options& options) {
  for (int i = 1; i < argc; ++i) {
    const std::string key = argv[i];
    if (key == "--toy") {
      options.toy = true;
      continue;
    }
    if (i + 1 == argc) return false;
    const std::string value = argv[++i];
    if (key == "--only") {
      options.only = value;
    } else if (key == "--json") {
      options.json = value;
    } else if (key == "--device" && (value == "cuda" || value == "cpu")) {
      options.device = value;
    } else {
      return false;
    }
  }
  return true;
}

int run(int argc, char** argv) {
  Options options;
  if (!parse(argc, argv, options)) {
    (void)std::fputs(
        "usage: kernel_bench [--toy] [--only TEXT] [--json FILE] [--device cuda|cpu]\n", stderr);
    return 2;
  }
  if (options.device == "cuda" && cuda_devices().empty()) {
    fmt::print("nothing measured: {}\n", why_no_cuda());
    return 77;
  }
  const std::unique_ptr<Device> device =
      options.device == "cuda" ? make_cuda_device(0) : make_cpu_device(1);
  return measure(options, *device);
}

}  // namespace
}  // namespace penstock::gpu_bench

int main(int argc, char** argv) {
  try {
    return penstock::gpu_bench::run(argc, argv);
  } catch (const std::exception& error) {
    (void)std::fprintf(stderr, "kernel_bench: %s\n", error.what());
    return 1;
  }
}
