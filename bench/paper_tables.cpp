// GPipe's Tables 1, 2 and 3 beside what this library's cost model, partitioner and simulator say of
// the same networks on the same devices: a program run by hand, in a second, on any machine.
//
//   paper_tables
//
// Fails if a parameter count is not exactly the one known.
#include <fmt/format.h>

#include <cstdlib>
#include <exception>
#include <functional>
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
std::string gb(int64_t bytes) {
  return fmt::format("{:.2f}", 1e-9 * static_cast<double>(bytes));
}

Work work_of(const LargestTransformer& column) {
  return transformer(column.layers);
}
Work work_of(const LargestAmoebaNet& column) {
  return amoebanet(column.layers, column.filters);
}

// One cell for each item.
template <class Items, class Text>
void print_row(const std::string& label, const Items& items, const Text& text) {
  fmt::print("{:<38}", label);
  for (const auto& item : items) fmt::print("{:>18}", text(item));
  fmt::print("\n");
}

// ---- Table 1
template <class Columns>
bool print_counts(const Columns& columns) {
  bool exact = true;
  print_row("parameters, paper", columns, [](const auto& column) { return column.parameters; });
  print_row("parameters, ours", columns, [&](const auto& column) {
    const int64_t counted = count_parameters(work_of(column));
    exact = exact && counted == column.exact;
    return fmt::format("{} {}", counted, counted == column.exact ? "exact" : "WRONG");
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
    const Work work = work_of(t);
    all.push_back({t, bytes_of(gpipe_run(work, t.stages, t.micro_batches), device, work)});
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

// A column's largest network of ours: transformers by L, AmoebaNets by D.
struct Largest {
  int64_t size = 0;
  int64_t parameters = 0;
  Bytes bytes;
};
template <class Column>
Largest largest_of(const Column& column, const DeviceModel& device,
                   const std::function<Work(int64_t size)>& work_at) {
  Largest found;
  found.size = largest(column.stages, column.micro_batches, device, work_at);
  if (found.size == 0) return found;
  const Work work = work_at(found.size);
  found.parameters = count_parameters(work);
  found.bytes = bytes_of(gpipe_run(work, column.stages, column.micro_batches), device, work);
  return found;
}

void print_largest(const char* label, const std::vector<Largest>& all, int64_t unit) {
  const auto row = [&](const char* what, const auto& text) {
    print_row(what, all, [&](const Largest& l) { return l.size > 0 ? text(l) : "-"; });
  };
  print_row(label, all, [&](const Largest& l) { return unit * l.size; });
  row("  its parameters", [](const Largest& l) {
    const auto n = static_cast<double>(l.parameters);
    return n < 1e9 ? fmt::format("{:.1f}M", 1e-6 * n) : fmt::format("{:.2f}B", 1e-9 * n);
  });
  row("  parameter memory, GiB", [](const Largest& l) { return gib(l.bytes.parameters); });
  row("  peak activations, GiB", [](const Largest& l) { return gib(l.bytes.activations); });
  row("  fullest device, GiB", [](const Largest& l) { return gib(l.bytes.fullest); });
}

bool print_table_1() {
  const DeviceModel device = device_model_named("tpu-v3");
  fmt::print("Table 1. Transformer-L, {} GiB a device, mini-batch {}\n", gib(device.memory_bytes),
             transformer(1).mini_batch);
  print_row("", kLargestTransformers, [](const auto& t) { return t.name; });
  print_row("L, paper", kLargestTransformers, [](const auto& t) { return t.layers; });
  const bool exact = print_counts(kLargestTransformers);
  print_memory_of_papers_sizes(device);
  std::vector<Largest> all;
  for (const LargestTransformer& t : kLargestTransformers) {
    all.push_back(largest_of(t, device, transformer));
  }
  print_largest("largest L, ours", all, 1);
  fmt::print(R"(
* More than the device has: the whole mini-batch at once; with how many samples the paper ran
  Naive-1 is not known. Its two memory cells stand in each other's place: 282.2M x 12 bytes = 3.15.
Our attention keeps no T x T matrix; what the paper's layers keep more has the size of three.
)");
  return exact;
}

bool print_table_1_of_amoebanets() {
  const DeviceModel device = device_model_named("tpu-v2");
  constexpr int64_t kUnit = 8;  // filters come in eights
  const auto row = [](const char* label, const auto& text) {
    print_row(label, kLargestAmoebaNets, text);
  };
  fmt::print("\nTable 1. AmoebaNet-D (L, D), {} GiB a device, mini-batch {}, 224 x 224 pixels\n",
             gib(device.memory_bytes), amoebanet(3, kUnit).mini_batch);
  row("", [](const LargestAmoebaNet& a) { return a.name; });
  row("(L, D), paper",
      [](const LargestAmoebaNet& a) { return fmt::format("({}, {})", a.layers, a.filters); });
  const bool exact = print_counts(kLargestAmoebaNets);
  std::vector<Bytes> ours;
  std::vector<Largest> all;
  for (const LargestAmoebaNet& a : kLargestAmoebaNets) {
    const Work work = work_of(a);
    ours.push_back(bytes_of(gpipe_run(work, a.stages, a.micro_batches), device, work));
    all.push_back(
        largest_of(a, device, [&](int64_t eights) { return amoebanet(a.layers, kUnit * eights); }));
  }
  row("parameter memory, GB, paper", [](const LargestAmoebaNet& a) { return a.parameter_gb; });
  print_row("parameter memory, GB, ours", ours, [](const Bytes& b) { return gb(b.parameters); });
  row("peak activations, GB, paper", [](const LargestAmoebaNet& a) { return a.activation_gb; });
  print_row("peak activations, GB, ours", ours,
            [](const Bytes& b) { return (b.fits ? "" : "* ") + gb(b.activations); });
  print_largest("largest D at that L, ours", all, kUnit);
  fmt::print(R"(
* More than the devices have. The paper prints neither M (here {}, Naive-1: 1) nor with how many
  images at once it ran Naive-1; its 24.62 GB of parameters would be 2.05B of them, not 1.8B.
)",
             kLargestAmoebaNets.back().micro_batches);
  return exact;
}

// ---- Tables 2 and 3
void print_stages() {
  print_row("", kStages, [](int stages) { return fmt::format("K = {}", stages); });
}

void print_paper(const std::string& label, const SpeedUps& speed_ups) {
  print_row(label, speed_ups, [](double speed_up) { return speed_up; });
}

using Speeds = std::vector<Speed>;

// Prints speed-ups over `one`, a number of samples per second.
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

// The results of `run` for every K.
template <class Run>
Speeds for_all_stages(const Work& work, int micro_batches, const Run& run) {
  Speeds speeds;
  for (const int stages : kStages) speeds.push_back(run(gpipe_run(work, stages, micro_batches)));
  return speeds;
}

void print_speed_ups(const std::string& name, const Work& work, const DeviceModel& device,
                     SpeedUps TpuSpeedUps::*paper) {
  const auto published = [&](const Arrangement& c) { return simulated(c, device, work, true); };
  const auto here = [&](const Arrangement& c) { return simulated(c, device, work, false); };
  const auto plan = [&](const Arrangement& c) { return planned(c, device, work); };
  const double one = published(gpipe_run(work, 2, 1)).samples_per_s;
  for (const TpuSpeedUps& row : kTpuSpeedUps) {
    const int m = row.micro_batches;
    const Speeds speeds = for_all_stages(work, m, published);
    const Speeds plans = for_all_stages(work, m, plan);
    print_paper(fmt::format("{}, M = {}, paper", name, m), row.*paper);
    print_ours("  gpipe, published", speeds, one);
    print_imbalance(speeds);
    print_ours("  gpipe, here", for_all_stages(work, m, here), one);
    print_ours("  best plan", plans, one);
    print_plans(plans);
  }
}

void print_table_2() {
  const DeviceModel device = device_model_named("tpu-v3");
  fmt::print("\nTable 2. Speed-up on TPU v3 cores over gpipe, published, K = 2, M = 1\n");
  print_stages();
  print_speed_ups("AmoebaNet-D (18, 256)", amoebanet(18, 256), device, &TpuSpeedUps::amoebanet);
  print_speed_ups("Transformer-48", transformer(48), device, &TpuSpeedUps::transformer);
  fmt::print(R"(
* Needs more than 16 GiB on a core; simulated all the same. Best plan: the best that fits, if any.
published: the last stage recomputes too; here it does not where it turns round at once (M = 1).
The mini-batch is always {} (AmoebaNet: {}); the paper changed it to fit the memory, and its
Transformer's row M = 4 is above what this schedule can do with one mini-batch.
Whole cells or blocks, and a classifier that takes the time of 1.2 blocks, do not divide evenly:
slowest stage / mean.
)",
             transformer(1).mini_batch, amoebanet(3, 8).mini_batch);
}

void print_table_3_of(const std::string& name, const Work& work, const SpeedUps& paper) {
  const DeviceModel device = device_model_named("p100");
  const auto published = [&](const Arrangement& c) { return simulated(c, device, work, true); };
  const auto plan = [&](const Arrangement& c) { return planned(c, device, work); };
  const Speeds speeds = for_all_stages(work, 32, published);
  const Speeds plans = for_all_stages(work, 32, plan);
  const double one = speeds.front().samples_per_s;
  print_paper(name + ", paper", paper);
  print_ours("  gpipe, published", speeds, one);
  print_imbalance(speeds);
  print_ours("  best plan", plans, one);
  print_plans(plans);
}

void print_table_3() {
  fmt::print("\nTable 3. Speed-up on P100s, PCIe through the host, over K = 2; M = 32\n");
  print_stages();
  print_table_3_of("AmoebaNet-D (18, 128)", amoebanet(18, 128), kGpuAmoebaNet);
  print_table_3_of("Transformer-24", transformer(24), kGpuTransformer);
}

}  // namespace

int main() {
  try {
    const bool transformers = print_table_1();
    const bool amoebanets = print_table_1_of_amoebanets();
    print_table_2();
    print_table_3();
    return transformers && amoebanets ? EXIT_SUCCESS : EXIT_FAILURE;
  } catch (const std::exception& error) {
    fmt::print(stderr, "paper_tables: {}\n", error.what());
    return EXIT_FAILURE;
  }
}
