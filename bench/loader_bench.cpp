// loader_bench: what the loader of a run gives when nothing is computed, by the number of threads
// that read. Rows of a Markdown table for bench/README.md:
//
//   loader_bench [--reading-threads 1,2,4] [--seconds 3] NAME RUNFILE.toml [--section.key value
//   ...]
//
// The first epoch decodes; where the whole set is small, later ones come from memory (images.h).
#include <fmt/format.h>

#include <chrono>
#include <cstdio>
#include <filesystem>
#include <string>
#include <vector>

#include "bench/ranks.h"
#include "kernels/error.h"
#include "launch/program/options/command_line.h"
#include "runtime/data/tokenizer/vocabulary.h"
#include "runtime/engine/training/data_source.h"
#include "runtime/network/models/models.h"

namespace penstock {
namespace {

using Clock = std::chrono::steady_clock;

struct LoaderBenchOptions {
  std::vector<int> threads = {1, 2};
  double seconds = 3.0;  // of each measurement, at most
  std::string name;      // of the row
  std::vector<std::string> run;
};

std::vector<int> numbers_of(const std::string& list) {
  std::vector<int> numbers;
  for (size_t at = 0; at <= list.size();) {
    const size_t end = std::min(list.find(',', at), list.size());
    numbers.push_back(std::stoi(list.substr(at, end - at)));
    at = end + 1;
  }
  return numbers;
}

LoaderBenchOptions options_of(const std::vector<std::string>& arguments) {
  LoaderBenchOptions options;
  size_t at = 0;
  for (; at + 1 < arguments.size() && arguments[at].starts_with("--"); at += 2) {
    if (arguments[at] == "--reading-threads") {
      options.threads = numbers_of(arguments[at + 1]);
    } else if (arguments[at] == "--seconds") {
      options.seconds = std::stod(arguments[at + 1]);
    } else {
      fail_input("loader_bench has no option " + arguments[at]);
    }
  }
  if (at + 1 >= arguments.size()) {
    fail_input("usage: loader_bench [--reading-threads 1,2] [--seconds S] NAME RUNFILE.toml ...");
  }
  options.name = arguments[at];
  options.run.assign(arguments.begin() + static_cast<ptrdiff_t>(at) + 1, arguments.end());
  return options;
}

std::vector<std::string> all_fields(const Config& config, const ModelInput& input) {
  if (config.data.kind == "parallel") {
    return {"source_tokens", "source_lengths", "target_tokens", "labels"};
  }
  return {input.field, "labels"};
}

struct LoaderRates {
  double first = 0.0, later = 0.0;  // samples a second; 0: not measured
};

LoaderRates measure(const Config& config, const LoaderConfig& order, Collective& world,
                    double seconds) {
  DataSource source(config, built_in_models(), world);  // a new one: nothing is decoded yet
  source.open(order.fields);
  Memory host(host_memory_source());
  const std::unique_ptr<Loader> loader = source.training_loader(order, host);
  const int64_t mini_batch = source.mini_batch();
  (void)loader->next();  // threads have started
  LoaderRates rates;
  for (double* const rate : {&rates.first, &rates.later}) {
    const auto start = Clock::now();
    int64_t samples = 0;
    double passed = 0.0;
    while (passed < seconds && samples < source.facts().training_samples) {
      (void)loader->next();
      samples += mini_batch;
      passed = std::chrono::duration<double>(Clock::now() - start).count();
    }
    *rate = static_cast<double>(samples) / passed;
    if (samples < source.facts().training_samples) break;  // the epoch goes on
  }
  return rates;
}

void print_row(const std::string& name, int threads, int64_t mini_batch, const LoaderRates& rates,
               int64_t tokens) {
  const auto rate = [](double value) { return value > 0.0 ? fmt::format("{:.0f}", value) : "-"; };
  fmt::print(
      "| {} | {} | {} | {} | {} | {} |\n", name, mini_batch, threads, rate(rates.first),
      rate(rates.later),
      tokens > 0 ? fmt::format("{:.2f} M", rates.first * static_cast<double>(tokens) * 1e-6) : "-");
  std::fflush(stdout);
}

void run(const Session& session, const std::vector<std::string>& arguments) {
  const LoaderBenchOptions options = options_of(arguments);
  const std::unique_ptr<Network> all = starting_network(session);
  const std::string folder =
      (std::filesystem::temp_directory_path() / "penstock-loader-bench").string();
  const Config config =
      with_vocabulary(all->world(), shared_config(all->world(), options.run, true), folder);
  const ModelInput input = built_in_models().input(config.model);
  LoaderConfig order;
  order.fields = all_fields(config, input);
  order.micro_batch_size = config.pipeline.micro_batch_size;
  order.micro_batches = config.pipeline.micro_batches;
  order.seed = config.run.seed;
  order.prefetch = config.data.prefetch;
  const int64_t mini_batch = order.micro_batch_size * order.micro_batches;
  for (const int threads : options.threads) {
    order.threads = threads;
    print_row(options.name, threads, mini_batch,
              measure(config, order, all->world(), options.seconds),
              reads_tokens(config.data) ? input.shape[0] : 0);
  }
}

}  // namespace
}  // namespace penstock

int main(int argc, char** argv) {
  return penstock::run_ranks("loader_bench", argc, argv, penstock::run);
}
