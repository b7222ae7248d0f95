// The tables of GPipe (Huang et al. 2019, arXiv:1811.06965) beside what this library's cost model,
// partitioner and simulator say of the same networks on the same devices: a program run by hand.
//
//   paper_tables
//
// Counted, not measured: no device is needed and no weight allocated. The networks are the paper's
// Transformer-L; its AmoebaNet-D is not built here, so those columns hold the paper's figures only.
// Fails if a parameter count is not the exact one.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <functional>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "kernels/device_model.h"
#include "runtime/engine/layer_costs.h"
#include "runtime/engine/plan_request.h"
#include "runtime/models/models.h"
#include "runtime/plan/plan.h"
#include "runtime/plan/split.h"

namespace {

using namespace penstock;

constexpr double kGiB = int64_t{1} << 30;
constexpr int kMiniBatch = 32;
constexpr int64_t kHeads = 32, kContext = 1024;

// ---- the networks

// Section 3 of the paper: vocabulary 32k, width 2048, feed-forward 8192. Biases everywhere, a
// softmax matrix of its own and no norm before it give the paper's counts to the last digit.
ModelConfig transformer(int64_t layers) {
  ModelConfig config;
  config.layers = layers;
  config.width = 2048;
  config.hidden = 8192;
  config.heads = kHeads;
  config.context = kContext;
  config.vocabulary = 32000;
  config.final_norm = false;
  return config;
}

int64_t count_parameters(int64_t layers) {
  const Sequential model = build_model(transformer(layers), 0, 0);
  ParameterSet set;
  for (const auto& layer : model.layers) layer->declare(set);
  return set.elements();
}

// Costs by size of micro-batch. All blocks from the second on cost the same: at most two are
// counted, and the second is repeated. RMSProp without momentum: 12 bytes a parameter.
CostsBySize costs_of(const DeviceModel& device, int64_t layers) {
  return [device, layers](int64_t micro_batch_size) {
    const ModelConfig config = transformer(std::min<int64_t>(layers, 2));
    OptimizerConfig optimizer;
    optimizer.kind = "rmsprop";
    optimizer.momentum = 0;
    ModelCosts costs = counted_costs(build_model(config, 0, 0), input_of(config), micro_batch_size,
                                     DType::F32, optimizer, device);
    const LayerCost block = costs.layers[config.layers];  // after the embedding
    costs.layers.insert(std::prev(costs.layers.end()), layers - config.layers, block);
    return costs;
  };
}

// ---- the ways to run them

// The paper's: every micro-batch forward, then every one back; a stage keeps its inputs only.
Candidate gpipe(int stages, int micro_batches) {
  return {.stages = stages,
          .micro_batches = micro_batches,
          .micro_batch_size = kMiniBatch / micro_batches,
          .schedule = "gpipe"};
}

// One device, the whole mini-batch at once, nothing recomputed.
Candidate naive() {
  Candidate candidate = gpipe(1, 1);
  candidate.recompute = "none";
  return candidate;
}

struct Bytes {
  int64_t parameters = 0;   // with gradients and the optimizer's state
  int64_t activations = 0;  // peaks, summed over the devices
  int64_t fullest = 0;      // the fullest device, all in all
  bool fits = true;
};

Bytes bytes_of(const Candidate& candidate, const DeviceModel& device, int64_t layers) {
  const ModelCosts costs = costs_of(device, layers)(candidate.micro_batch_size);
  const ChosenSplit chosen =
      choose_split(candidate, schedule_of(candidate), costs, device.memory_bytes);
  Bytes bytes;
  bytes.fits = chosen.fits;
  for (const RankMemory& rank : chosen.memory) {
    bytes.parameters += rank.parameters + rank.gradients + rank.optimizer;
    bytes.activations += rank.activations;
    bytes.fullest = std::max(bytes.fullest, rank.total());
  }
  return bytes;
}

// 0 if not even one layer fits. Takes it that what fits still does with a layer less.
int64_t most_layers(const Candidate& candidate, const DeviceModel& device) {
  const auto fits = [&](int64_t layers) {
    const bool enough = layers + 2 >= candidate.stages;  // with embedding and classifier
    return layers > 0 && (!enough || bytes_of(candidate, device, layers).fits);
  };
  int64_t most = 0;
  int64_t too_many = 1;
  while (fits(too_many)) most = std::exchange(too_many, 2 * too_many);
  while (too_many - most > 1) {
    const int64_t middle = (most + too_many) / 2;
    (fits(middle) ? most : too_many) = middle;
  }
  return most;
}

// ---- printing

template <class Items, class Text>
void print_row(const std::string& label, const Items& items, const Text& text) {
  fmt::print("{:<36}", label);
  for (const auto& item : items) fmt::print("{:>16}", text(item));
  fmt::print("\n");
}

std::string gib(double bytes) {
  return fmt::format("{:.1f}", bytes / kGiB);
}

std::string as_is(const std::string& text) {
  return text;
}

using Texts = std::vector<std::string>;

// ---- Table 1

struct Column {
  std::string name;
  Candidate candidate;
  int64_t layers, exact;                                  // the paper's L, and its parameters
  std::string parameters, parameter_gib, activation_gib;  // as printed
};

std::vector<Column> transformer_columns() {
  return {{"Naive-1", naive(), 3, 282'178'816, "282.2M", "11.7", "3.15"},
          {"Pipeline-1", gpipe(1, 32), 13, 785'761'536, "785.8M", "8.8", "6.4"},
          {"Pipeline-8", gpipe(8, 32), 103, 5'318'006'016, "5.3B", "59.5", "50.9"},
          {"Pipeline-32", gpipe(32, 32), 415, 21'029'786'880, "21.0B", "235.1", "199.9"},
          {"Pipeline-128", gpipe(128, 32), 1663, 83'876'910'336, "83.9B", "937.9", "796.1"}};
}

bool print_counts(const std::vector<Column>& columns) {
  bool exact = true;
  print_row("parameters, paper", columns, [](const Column& c) { return c.parameters; });
  print_row("parameters, ours", columns, [&](const Column& c) {
    const int64_t counted = count_parameters(c.layers);
    exact = exact && counted == c.exact;
    return fmt::format("{}{}", counted, counted == c.exact ? " =" : " WRONG");
  });
  return exact;
}

void print_memory_at_paper_sizes(const std::vector<Column>& columns, const DeviceModel& device) {
  std::vector<Bytes> ours;
  for (const Column& c : columns) ours.push_back(bytes_of(c.candidate, device, c.layers));
  print_row("parameter memory, GiB, paper", columns,
            [](const Column& c) { return c.parameter_gib; });
  print_row("parameter memory, GiB, ours", ours,
            [](const Bytes& b) { return gib(static_cast<double>(b.parameters)); });
  print_row("peak activations, GiB, paper", columns,
            [](const Column& c) { return c.activation_gib; });
  print_row("peak activations, GiB, ours", ours, [](const Bytes& b) {
    return gib(static_cast<double>(b.activations)) + (b.fits ? "" : " *");
  });
  // The unit of what the paper's layers keep and ours do not.
  constexpr double kSquares = 4.0 * kHeads * kContext * kContext;
  print_row("  difference / (32 T x T fp32), a layer", columns, [&](const Column& c) {
    const auto own = static_cast<double>(ours[&c - columns.data()].activations);
    return fmt::format("{:.1f}", (std::stod(c.activation_gib) * kGiB - own) /
                                     (kSquares * static_cast<double>(c.layers)));
  });
}

void print_largest(const std::vector<Candidate>& candidates, const DeviceModel& device) {
  std::vector<int64_t> most;
  std::vector<Bytes> bytes;
  for (const Candidate& candidate : candidates) {
    most.push_back(most_layers(candidate, device));
    bytes.push_back(most.back() > 0 ? bytes_of(candidate, device, most.back()) : Bytes{});
  }
  print_row("largest L, ours", most, [](int64_t layers) { return fmt::format("{}", layers); });
  print_row("  its parameters", most, [](int64_t layers) {
    return fmt::format("{:.1f}M", static_cast<double>(count_parameters(layers)) * 1e-6);
  });
  const auto row = [&](const char* label, int64_t Bytes::*part) {
    print_row(label, bytes, [&](const Bytes& b) { return gib(static_cast<double>(b.*part)); });
  };
  row("  parameter memory, GiB", &Bytes::parameters);
  row("  peak activations, GiB", &Bytes::activations);
  row("  fullest device, GiB", &Bytes::fullest);
}

bool print_table_1() {
  const DeviceModel device = device_model_named("tpu-v3");
  const std::vector<Column> columns = transformer_columns();
  std::vector<Candidate> candidates;
  for (const Column& c : columns) candidates.push_back(c.candidate);
  fmt::print("Table 1: Transformer-L, {} GiB a device, mini-batch {}\n", device.memory_bytes >> 30,
             kMiniBatch);
  print_row("", columns, [](const Column& c) { return c.name; });
  print_row("L, paper", columns, [](const Column& c) { return fmt::format("{}", c.layers); });
  const bool exact = print_counts(columns);
  print_memory_at_paper_sizes(columns, device);
  print_largest(candidates, device);
  return exact;
}

void print_table_1_small() {
  const DeviceModel device = device_model_named("tpu-v2");
  const std::vector<Candidate> candidates = {naive(), gpipe(1, 32), gpipe(2, 32), gpipe(4, 32),
                                             gpipe(8, 32)};
  fmt::print("\nTable 1: {} GiB a device; paper: AmoebaNet-D (L, D), ours: Transformer-L\n",
             device.memory_bytes >> 30);
  print_row("", Texts{"Naive-1", "Pipeline-1", "Pipeline-2", "Pipeline-4", "Pipeline-8"}, as_is);
  print_row("(L, D), paper", Texts{"(18, 208)", "(18, 416)", "(18, 544)", "(36, 544)", "(72, 512)"},
            as_is);
  print_row("parameters, paper", Texts{"82M", "318M", "542M", "1.05B", "1.8B"}, as_is);
  print_row("parameter memory, GB, paper", Texts{"1.05", "3.8", "6.45", "12.53", "24.62"}, as_is);
  print_row("peak activations, GB, paper", Texts{"6.26", "3.46", "8.11", "15.21", "26.24"}, as_is);
  print_largest(candidates, device);
}

// ---- Tables 2 and 3

struct Speed {
  double samples_per_s = 0;
  bool fits = true;
  Candidate candidate;
};

// Whatever memory it needs, with the split that is fastest.
Speed simulated(Candidate candidate, const DeviceModel& device, int64_t layers) {
  const ModelCosts costs = costs_of(device, layers)(candidate.micro_batch_size);
  const Schedule schedule = schedule_of(candidate);
  candidate.split = choose_split(candidate, schedule, costs, 0).split;
  const Prediction prediction = predict(candidate, schedule, costs, usual_machine(device));
  return {prediction.samples_per_s, prediction.fullest_bytes() <= device.memory_bytes, candidate};
}

// What plan() would take for the same devices and micro-batches; if nothing fits, without a limit.
Speed planned(const Candidate& as, const DeviceModel& device, int64_t layers) {
  PlanRequest request;
  request.ranks = as.ranks();
  request.mini_batch = kMiniBatch;
  request.machine = usual_machine(device);
  request.costs = costs_of(device, layers);
  request.replicas = 1;
  request.micro_batches = as.micro_batches;
  request.wanted = 1;
  Plan found = plan(request);
  const bool fits = found.best() != nullptr;
  if (!fits) {
    request.machine.memory_bytes = 0;
    found = plan(request);
  }
  return {found.best()->prediction.samples_per_s, fits, found.best()->candidate};
}

constexpr std::array kDevices = {2, 4, 8};

using Simulate = std::function<Speed(int devices)>;

// `unit`: samples per second that are printed as 1.
void print_speeds(const std::string& label, const Simulate& simulate, double unit) {
  print_row(label, kDevices, [&](int devices) {
    const Speed speed = simulate(devices);
    return fmt::format("{:.2f}{}", speed.samples_per_s / unit, speed.fits ? "  " : " *");
  });
}

void print_table_2() {
  const DeviceModel device = device_model_named("tpu-v3");
  constexpr int64_t kLayers = 48;
  const Texts amoeba[] = {
      {"1", "1.13", "1.38"}, {"1.07", "1.26", "1.72"}, {"1.21", "1.84", "3.48"}};
  const Texts paper[] = {{"1", "1.07", "1.3"}, {"1.7", "3.2", "4.8"}, {"1.8", "3.4", "6.3"}};
  const std::array batches = {1, 4, 32};
  const double unit = simulated(gpipe(2, 1), device, kLayers).samples_per_s;
  fmt::print("\nTable 2: speed-up over K = 2, M = 1 on TPU cores, mini-batch {}\n", kMiniBatch);
  print_row("", Texts{"K = 2", "K = 4", "K = 8"}, as_is);
  for (size_t i = 0; i < batches.size(); ++i) {
    const int m = batches[i];
    print_row(fmt::format("AmoebaNet-D (18, 256), M = {}, paper", m), amoeba[i], as_is);
  }
  for (size_t i = 0; i < batches.size(); ++i) {
    const int m = batches[i];
    const std::string label = fmt::format("Transformer-48, M = {}, ", m);
    print_row(label + "paper", paper[i], as_is);
    print_speeds(
        label + "gpipe", [&](int k) { return simulated(gpipe(k, m), device, kLayers); }, unit);
    std::vector<Speed> best;
    print_speeds(
        label + "plan",
        [&](int k) { return best.emplace_back(planned(gpipe(k, m), device, kLayers)); }, unit);
    print_row("", best, [](const Speed& s) { return s.candidate.schedule; });
    print_row("", best, [](const Speed& s) { return s.candidate.recompute; });
  }
}

void print_table_3() {
  const DeviceModel device = device_model_named("p100");
  constexpr int64_t kLayers = 24;
  fmt::print("\nTable 3: speed-up over K = 2 on P100, PCIe through the host, M = 32\n");
  print_row("", Texts{"K = 2", "K = 4", "K = 8"}, as_is);
  print_row("AmoebaNet-D (18, 128), paper", Texts{"1", "1.7", "2.7"}, as_is);
  print_row("Transformer-24, paper", Texts{"1", "1.8", "3.3"}, as_is);
  const Simulate with_gpipe = [&](int k) { return simulated(gpipe(k, 32), device, kLayers); };
  print_speeds("Transformer-24, gpipe", with_gpipe, with_gpipe(2).samples_per_s);
}

}  // namespace

int main() {
  try {
    const bool exact = print_table_1();
    print_table_1_small();
    print_table_2();
    print_table_3();
    return exact ? EXIT_SUCCESS : EXIT_FAILURE;
  } catch (const std::exception& error) {
    fmt::print(stderr, "paper_tables: {}\n", error.what());
    return EXIT_FAILURE;
  }
}
