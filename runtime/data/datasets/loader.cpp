// Threads decode parts of steps into a ring of prefetch + 1 slots (read_ahead.h says which); next()
// hands out one slot and takes back the one before. A sample is where its index says, whoever reads
// it: neither its bits nor its place depend on the number of threads.
#include "runtime/data/datasets/loader.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <exception>
#include <optional>
#include <string>
#include <system_error>
#include <thread>
#include <utility>

#include "kernels/error.h"
#include "kernels/joined.h"
#include "kernels/philox.h"
#include "runtime/data/datasets/read_ahead.h"

namespace penstock {
namespace {

// This is the number of samples that a thread takes at a time (a part). The number is small, so
// that all threads work on the step that is awaited. It is above 1, because taking a part costs
// more than reading one window of text.
constexpr int64_t kPartSamples = 8;

void check(const LoaderConfig& config) {
  if (config.micro_batch_size < 1) fail_input("pipeline.micro_batch_size must be at least 1");
  if (config.micro_batches < 1) fail_input("pipeline.micro_batches must be at least 1");
  if (config.prefetch < 1) fail_input("data.prefetch must be at least 1");
  if (config.threads < 1) fail_input("data.threads must be at least 1");
  if (config.replica < 0 || config.replica >= config.replicas) {
    fail_internal("the loader of replica " + std::to_string(config.replica) + " of " +
                  std::to_string(config.replicas));
  }
  if (config.first_sample < 0) fail_internal("a loader cannot start before sample 0");
}

size_t find_field(const Dataset& dataset, const std::string& name) {
  for (size_t f = 0; f < dataset.fields().size(); ++f) {
    if (dataset.fields()[f].name == name) return f;
  }
  fail_input("the model reads the field '" + name + "', and the data set has only " +
             joined(dataset.fields(), ", ", &Field::name) + ": change model.kind or data.kind");
}

// Returns the byte that fills a sample beyond the end of the data. Labels become -1, which no loss
// counts; other fields become 0.
uint8_t padding_byte(const Field& field, const std::string& targets) {
  const bool label =
      field.dtype == DType::I32 &&
      (field.name == targets || field.name == "labels" || field.name.ends_with("_labels"));
  return label ? 0xFF : 0;  // all bits set is -1
}

Shape batched(int64_t samples, const Shape& sample) {
  std::array<int64_t, Shape::kMaxRank + 1> extents{samples};
  std::ranges::copy(sample.extents(), extents.begin() + 1);
  return Shape(std::span<const int64_t>(extents).first(static_cast<size_t>(sample.rank()) + 1));
}

}  // namespace

struct Loader::State {
  // Describes a field of a micro-batch: where the field comes from, the bytes of one sample, and
  // what fills missing samples.
  struct WantedField {
    size_t source;  // the field's place in Dataset::fields()
    size_t sample_bytes;
    uint8_t padding;
  };

  std::shared_ptr<const Dataset> dataset;
  LoaderConfig config;
  std::vector<WantedField> wanted;
  std::vector<std::vector<Batch>> ring;  // [slot][micro-batch]
  std::optional<ReadAhead> ahead;        // nothing if no field is wanted

  int64_t taken = 0;  // steps handed out; only the consumer's thread reads it
  DataWaits waits;
  std::vector<std::thread> threads;

  [[nodiscard]] int64_t mini_batch() const {
    return int64_t{config.replicas} * config.micro_batches * config.micro_batch_size;
  }
  // Returns how many parts a micro-batch has. The last part can be shorter than the others.
  [[nodiscard]] int64_t parts_per_micro_batch() const {
    return (config.micro_batch_size + kPartSamples - 1) / kPartSamples;
  }
  // Returns the global index of the first sample of a micro-batch.
  [[nodiscard]] int64_t first_sample(int64_t step, int64_t micro_batch) const {
    return config.first_sample + step * mini_batch() +
           (int64_t{config.replica} * config.micro_batches + micro_batch) * config.micro_batch_size;
  }
  [[nodiscard]] int64_t real_samples(int64_t first) const {
    if (config.wrap) return config.micro_batch_size;
    return std::clamp<int64_t>(dataset->size() - first, 0, config.micro_batch_size);
  }

  void allocate(Memory& host);
  [[nodiscard]] std::vector<Batch>& slot_of(int64_t step) {
    return ring[static_cast<size_t>(step) % ring.size()];
  }
  void count_samples(int64_t step);
  // Reads sample `global_index` to place `place` of the batch. Each thread has its own `out`, which
  // holds the pointers that Dataset::read takes.
  void read_sample(const Batch& batch, int64_t place, int64_t global_index,
                   std::vector<void*>& out) const;
  void read_part(const ReadAhead::Part& part, std::vector<void*>& out);
  void run();
};

void Loader::State::allocate(Memory& host) {
  for (const std::string& name : config.fields) {
    const size_t source = find_field(*dataset, name);
    if (std::ranges::count(config.fields, name) > 1)
      fail_internal("'" + name + "' is loaded twice");
    const Field& field = dataset->fields()[source];
    const size_t bytes = static_cast<size_t>(field.shape.elements()) * size_of(field.dtype);
    wanted.push_back({source, bytes, padding_byte(field, config.targets)});
  }
  ring.resize(static_cast<size_t>(config.prefetch) + 1);
  for (auto& slot : ring) {
    slot.resize(static_cast<size_t>(config.micro_batches));
    for (Batch& batch : slot) {
      batch.names = config.fields;
      for (const WantedField& w : wanted) {
        const Field& field = dataset->fields()[w.source];
        const Shape shape = batched(config.micro_batch_size, field.shape);
        const size_t size_bytes = static_cast<size_t>(shape.elements()) * size_of(field.dtype);
        batch.tensors.emplace_back(host.take(size_bytes, Purpose::Workspace), shape, field.dtype);
      }
    }
  }
}

void Loader::State::count_samples(int64_t step) {
  std::vector<Batch>& batches = slot_of(step);
  for (size_t m = 0; m < batches.size(); ++m) {
    batches[m].samples = real_samples(first_sample(step, static_cast<int64_t>(m)));
  }
}

void Loader::State::read_sample(const Batch& batch, int64_t place, int64_t global_index,
                                std::vector<void*>& out) const {
  const int64_t n = dataset->size();
  const int64_t epoch = global_index / n;
  const int64_t turn = global_index % n;
  const int64_t index = config.shuffle ? shuffled(turn, n, config.seed, epoch) : turn;
  for (size_t f = 0; f < wanted.size(); ++f) {
    out[wanted[f].source] = static_cast<std::byte*>(batch.tensors[f].raw()) +
                            static_cast<size_t>(place) * wanted[f].sample_bytes;
  }
  const RandomStream random =
      random_stream(config.seed, hash_name("sample"), static_cast<uint64_t>(global_index));
  dataset->read(index, random, out);
}

void Loader::State::read_part(const ReadAhead::Part& part, std::vector<void*>& out) {
  const int64_t micro_batch = part.part / parts_per_micro_batch();
  const int64_t begin = part.part % parts_per_micro_batch() * kPartSamples;
  const int64_t end = std::min(begin + kPartSamples, config.micro_batch_size);
  const Batch& batch = slot_of(part.step)[static_cast<size_t>(micro_batch)];
  const int64_t first = first_sample(part.step, micro_batch);
  const int64_t real_end = std::clamp(real_samples(first), begin, end);
  for (int64_t j = begin; j < real_end && !ahead->stopping(); ++j) {
    read_sample(batch, j, first + j, out);
  }
  for (size_t f = 0; f < wanted.size(); ++f) {
    std::memset(static_cast<std::byte*>(batch.tensors[f].raw()) +
                    static_cast<size_t>(real_end) * wanted[f].sample_bytes,
                wanted[f].padding, static_cast<size_t>(end - real_end) * wanted[f].sample_bytes);
  }
}

void Loader::State::run() {
  std::vector<void*> out(dataset->fields().size(), nullptr);
  while (const std::optional<ReadAhead::Part> part = ahead->take()) {
    std::exception_ptr failure;
    try {
      read_part(*part, out);
    } catch (...) {
      failure = std::current_exception();
    }
    ahead->finish(*part, std::move(failure));
  }
}

Loader::Loader(std::shared_ptr<const Dataset> dataset, LoaderConfig config, Memory& host)
    : state_(std::make_unique<State>()) {
  check(config);
  State& state = *state_;
  state.dataset = std::move(dataset);
  state.config = std::move(config);
  state.allocate(host);
  if (state.wanted.empty()) return;
  const int64_t parts = state.config.micro_batches * state.parts_per_micro_batch();
  const auto slots = static_cast<int64_t>(state.ring.size());
  state.ahead.emplace(parts, slots);
  const int64_t useful = std::min<int64_t>(state.config.threads, parts * slots);
  try {
    for (int64_t i = 0; i < useful; ++i) state.threads.emplace_back([&state] { state.run(); });
  } catch (const std::system_error& error) {  // no more threads: go on with those that exist
    if (state.threads.empty()) {
      fail_resource(std::string("no thread to read data ahead can be made: ") + error.what());
    }
  }
}

Loader::~Loader() {
  if (state_->ahead) state_->ahead->stop();
  for (std::thread& thread : state_->threads) thread.join();
}

std::span<const Batch> Loader::next() {
  State& state = *state_;
  const int64_t step = state.taken;
  if (state.ahead) {
    state.ahead->release_before(step);
    const auto start = std::chrono::steady_clock::now();
    if (state.ahead->wait_for(step)) {
      if (step > 0) ++state.waits.steps;
      state.waits.seconds +=
          std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    }
    state.ahead->rethrow(step);
  }
  state.count_samples(step);
  ++state.taken;
  return state.slot_of(step);
}

int64_t Loader::steps_per_epoch() const {
  const int64_t mini_batch = state_->mini_batch();
  return (state_->dataset->size() + mini_batch - 1) / mini_batch;
}

const DataWaits& Loader::waits() const {
  return state_->waits;
}

}  // namespace penstock
