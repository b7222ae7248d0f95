// GPipe's Tables 1, 2 and 3 beside what this library's cost model, partitioner and simulator say of
// the same networks on the same devices: a program run by hand, in a second, on any machine.
//
//   paper_tables
//
// AmoebaNet-D is not among the models yet: its rows hold the paper's figures only. Fails if a
// parameter count is not exactly the one known.
#include <fmt/format.h>

#include <cstdlib>
#include <exception>
#include <string>
#include <vector>

#include "bench/paper_figures.h"
#include "bench/paper_runs.h"

namespace {

using namespace penstock;
using namespace penstock::paper;

constexpr double kGiB = int64_t{1} << 30;

std::string gib(int64_t bytes) {
  return fmt::format("{:.1f}", static_cast<double>(bytes) / kGiB);
}

// One cell for each item.
template <class Items, class Text>
void print_row(const std::string& label, const Items& items, const Text& text) {
  fmt::print("{:<38}", label);
  for (const auto& item : items) fmt::print("{:>18}", text(item));
  fmt::print("\n");
}

// ---- Table 1
bool print_counts() {
  bool exact = true;
  print_row("parameters, paper", kLargestTransformers, [](const auto& t) { return t.parameters; });
  print_row("parameters, ours", kLargestTransformers, [&](const LargestTransformer& t) {
    const int64_t counted = count_parameters(t.layers);
    exact = exact && counted == t.exact;
    return fmt::format("{} {}", counted, counted == t.exact ? "exact" : "WRONG");
  });
  return exact;
}

void print_memory_of_papers_sizes(const DeviceModel& device) {
  struct Both {
    LargestTransformer paper;
    Bytes ours;
  };
  std::vector<Both> all;
  all.reserve(kLargestTransformers.size());
  for (const LargestTransformer& t : kLargestTransformers) {
    all.push_back({t, bytes_of(gpipe_run(t.stages, t.micro_batches), device, t.layers)});
  }
  print_row("parameter memory, GiB, paper", all,
            [](const Both& b) { return b.paper.parameter_gib; });
  print_row("parameter memory, GiB, ours", all,
            [](const Both& b) { return gib(b.ours.parameters); });
  print_row("peak activations, GiB, paper", all,
            [](const Both& b) { return b.paper.activation_gib; });
  print_row("peak activations, GiB, ours", all,
            [](const Both& b) { return (b.ours.fits ? "" : "* ") + gib(b.ours.activations); });
  print_row("paper - ours, T x T matrices a layer", all, [](const Both& b) -> std::string {
    constexpr double kMatrices = 4.0 * kHeads * kContext * kContext;  // one per head, fp32
    if (b.paper.micro_batches == 1) return "-";
    const double more = b.paper.activation_gib * kGiB - static_cast<double>(b.ours.activations);
    return fmt::format("{:.1f}", more / kMatrices / static_cast<double>(b.paper.layers));
  });
}

// For `paper`, items with stages and micro-batches.
template <class Items>
void print_largest(const Items& paper, const DeviceModel& device) {
  struct Largest {
    int64_t layers;
    Bytes bytes;
  };
  std::vector<Largest> all;
  for (const auto& column : paper) {
    const Candidate candidate = gpipe_run(column.stages, column.micro_batches);
    const int64_t layers = most_layers(candidate, device);
    all.push_back({layers, layers > 0 ? bytes_of(candidate, device, layers) : Bytes{}});
  }
  const auto row = [&](const char* label, const auto& text) {
    print_row(label, all, [&](const Largest& l) { return l.layers > 0 ? text(l) : "-"; });
  };
  print_row("largest L, ours", all, [](const Largest& l) { return l.layers; });
  row("  its parameters", [](const Largest& l) {
    return fmt::format("{:.2f}B", 1e-9 * static_cast<double>(count_parameters(l.layers)));
  });
  row("  parameter memory, GiB", [](const Largest& l) { return gib(l.bytes.parameters); });
  row("  peak activations, GiB", [](const Largest& l) { return gib(l.bytes.activations); });
  row("  fullest device, GiB", [](const Largest& l) { return gib(l.bytes.fullest); });
}

bool print_table_1() {
  const DeviceModel device = device_model_named("tpu-v3");
  fmt::print("Table 1. Transformer-L, {} GiB a device, mini-batch {}\n", gib(device.memory_bytes),
             kMiniBatch);
  print_row("", kLargestTransformers, [](const auto& t) { return t.name; });
  print_row("L, paper", kLargestTransformers, [](const auto& t) { return t.layers; });
  const bool exact = print_counts();
  print_memory_of_papers_sizes(device);
  print_largest(kLargestTransformers, device);
  fmt::print(R"(
* More than the device has: the whole mini-batch at once; with how many samples the paper ran
  Naive-1 is not known. Its two memory cells stand in each other's place: 282.2M x 12 bytes = 3.15.
Our attention keeps no T x T matrix; what the paper's layers keep more has the size of three.
)");
  return exact;
}

void print_table_1_on_small_devices() {
  const DeviceModel device = device_model_named("tpu-v2");
  const auto row = [](const char* label, const auto& part) {
    print_row(label, kLargestAmoebaNets, part);
  };
  fmt::print(
      "\nTable 1. {} GiB a device; paper: AmoebaNet-D (L, D), not here yet; ours: Transformer-L\n",
      gib(device.memory_bytes));
  row("", [](const LargestAmoebaNet& a) { return a.name; });
  row("(L, D), paper", [](const LargestAmoebaNet& a) { return a.size; });
  row("parameters, paper", [](const LargestAmoebaNet& a) { return a.parameters; });
  row("parameter memory, GB, paper", [](const LargestAmoebaNet& a) { return a.parameter_gb; });
  row("peak activations, GB, paper", [](const LargestAmoebaNet& a) { return a.activation_gb; });
  print_largest(kLargestAmoebaNets, device);
}

// ---- Tables 2 and 3
void print_stages() {
  print_row("", kStages, [](int stages) { return fmt::format("K = {}", stages); });
}

void print_paper(const std::string& label, const SpeedUps& speed_ups) {
  print_row(label, speed_ups, [](double speed_up) { return speed_up; });
}

using Speeds = std::vector<Speed>;

// Over so many samples per second.
void print_ours(const std::string& label, const Speeds& speeds, double one) {
  print_row(label, speeds, [&](const Speed& speed) {
    return fmt::format("{}{:.2f}", speed.fits ? "" : "* ", speed.samples_per_s / one);
  });
}

void print_plans(const Speeds& speeds) {
  print_row("    schedule", speeds, [](const Speed& s) { return s.candidate.schedule; });
  print_row("    stages per device", speeds, [](const Speed& s) { return s.candidate.chunks; });
  print_row("    recompute", speeds, [](const Speed& s) { return s.candidate.recompute; });
}

void print_imbalance(const Speeds& speeds) {
  print_row("    slowest stage / mean", speeds,
            [](const Speed& s) { return fmt::format("{:.2f}", s.imbalance); });
}

// What `run` makes of every K.
template <class Run>
Speeds for_all_stages(int micro_batches, const Run& run) {
  Speeds speeds;
  for (const int stages : kStages) speeds.push_back(run(gpipe_run(stages, micro_batches)));
  return speeds;
}

void print_table_2() {
  const DeviceModel device = device_model_named("tpu-v3");
  constexpr int64_t kLayers = 48;
  const auto published = [&](const Candidate& c) { return simulated(c, device, kLayers, true); };
  const auto here = [&](const Candidate& c) { return simulated(c, device, kLayers, false); };
  const auto plan = [&](const Candidate& c) { return planned(c, device, kLayers); };
  const double one = published(gpipe_run(2, 1)).samples_per_s;
  fmt::print("\nTable 2. Speed-up on TPU v3 cores over gpipe, published, K = 2, M = 1\n");
  print_stages();
  for (const TpuSpeedUps& row : kTpuSpeedUps) {
    print_paper(fmt::format("AmoebaNet-D, M = {}, paper", row.micro_batches), row.amoebanet);
  }
  for (const TpuSpeedUps& row : kTpuSpeedUps) {
    const int m = row.micro_batches;
    const Speeds speeds = for_all_stages(m, published);
    const Speeds plans = for_all_stages(m, plan);
    print_paper(fmt::format("Transformer-48, M = {}, paper", m), row.transformer);
    print_ours("  gpipe, published", speeds, one);
    print_imbalance(speeds);
    print_ours("  gpipe, here", for_all_stages(m, here), one);
    print_ours("  best plan", plans, one);
    print_plans(plans);
  }
  fmt::print(R"(
* Needs more than 16 GiB on a core; simulated all the same. Best plan: the best that fits, if any.
published: the last stage recomputes too; here it does not where it turns round at once (M = 1).
The mini-batch is always {}; the paper changed it to fit the memory, and its row M = 4 is above
what this schedule can do with one mini-batch.
Whole blocks and a classifier that takes the time of 1.2 do not divide evenly: slowest stage / mean.
)",
             kMiniBatch);
}

void print_table_3() {
  const DeviceModel device = device_model_named("p100");
  constexpr int64_t kLayers = 24;
  const Speeds speeds =
      for_all_stages(32, [&](const Candidate& c) { return simulated(c, device, kLayers, true); });
  const Speeds plans =
      for_all_stages(32, [&](const Candidate& c) { return planned(c, device, kLayers); });
  const double one = speeds.front().samples_per_s;
  fmt::print("\nTable 3. Speed-up on P100s, PCIe through the host, over K = 2; M = 32\n");
  print_stages();
  print_paper("AmoebaNet-D (18, 128), paper", kGpuAmoebaNet);
  print_paper("Transformer-24, paper", kGpuTransformer);
  print_ours("  gpipe, published", speeds, one);
  print_imbalance(speeds);
  print_ours("  best plan", plans, one);
  print_plans(plans);
}

}  // namespace

int main() {
  try {
    const bool exact = print_table_1();
    print_table_1_on_small_devices();
    print_table_2();
    print_table_3();
    return exact ? EXIT_SUCCESS : EXIT_FAILURE;
  } catch (const std::exception& error) {
    fmt::print(stderr, "paper_tables: {}\n", error.what());
    return EXIT_FAILURE;
  }
}
