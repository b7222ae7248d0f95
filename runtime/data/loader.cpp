// One thread decodes steps in order into a ring of prefetch + 1 slots; next() hands out one slot
// and takes back the one before. Two counters, `filled` and `released`, are all they share: slot
// s % ring belongs to the thread while s >= filled, and to the consumer until it is released.
#include "runtime/data/loader.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <exception>
#include <mutex>
#include <thread>
#include <utility>

#include "kernels/error.h"
#include "kernels/philox.h"

namespace penstock {
namespace {

void check(const LoaderConfig& config) {
  if (config.micro_batch_size < 1) fail_input("pipeline.micro_batch_size must be at least 1");
  if (config.micro_batches < 1) fail_input("pipeline.micro_batches must be at least 1");
  if (config.prefetch < 1) fail_input("data.prefetch must be at least 1");
  if (config.replica < 0 || config.replica >= config.replicas) {
    fail_internal("the loader of replica " + std::to_string(config.replica) + " of " +
                  std::to_string(config.replicas));
  }
  if (config.first_sample < 0) fail_internal("a loader cannot start before sample 0");
}

size_t find_field(const Dataset& dataset, const std::string& name) {
  std::string known;
  for (size_t f = 0; f < dataset.fields().size(); ++f) {
    if (dataset.fields()[f].name == name) return f;
    known += (f == 0 ? "" : ", ") + dataset.fields()[f].name;
  }
  fail_input("the model reads the field '" + name + "', and the data set has only " + known +
             ": change model.kind or data.kind");
}

// What a sample beyond the end of the data holds: labels that no loss counts.
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
  // A field of a micro-batch: where it comes from, and how far samples lie apart.
  struct WantedField {
    size_t source;  // place in Dataset::fields()
    size_t sample_bytes;
    uint8_t padding;
  };

  std::shared_ptr<const Dataset> dataset;
  LoaderConfig config;
  std::vector<WantedField> wanted;
  std::vector<std::vector<Batch>> ring;  // [slot][micro-batch]
  std::vector<void*> out;                // the thread's argument of Dataset::read

  std::mutex mutex;
  std::condition_variable changed;
  int64_t filled = 0;                  // steps decoded
  int64_t released = 0;                // steps that the consumer is done with
  std::atomic<bool> stopping = false;  // written under the mutex, also read between samples
  std::exception_ptr failure;          // what decoding step `filled` threw; the thread has ended

  int64_t taken = 0;  // the consumer's: steps handed out
  double seconds_waited = 0;
  std::thread thread;

  [[nodiscard]] int64_t mini_batch() const {
    return int64_t{config.replicas} * config.micro_batches * config.micro_batch_size;
  }
  // Global index of the first sample of a micro-batch.
  [[nodiscard]] int64_t first_sample(int64_t step, int64_t micro_batch) const {
    return config.first_sample + step * mini_batch() +
           (int64_t{config.replica} * config.micro_batches + micro_batch) * config.micro_batch_size;
  }
  [[nodiscard]] int64_t real_samples(int64_t first) const {
    if (config.wrap) return config.micro_batch_size;
    return std::clamp<int64_t>(dataset->size() - first, 0, config.micro_batch_size);
  }

  void allocate(Memory& host);
  void read_sample(const Batch& batch, int64_t place, int64_t global_index);
  void fill(std::vector<Batch>& batches, int64_t step);
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
  out.assign(dataset->fields().size(), nullptr);
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

void Loader::State::read_sample(const Batch& batch, int64_t place, int64_t global_index) {
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

void Loader::State::fill(std::vector<Batch>& batches, int64_t step) {
  for (size_t m = 0; m < batches.size(); ++m) {
    Batch& batch = batches[m];
    const int64_t first = first_sample(step, static_cast<int64_t>(m));
    batch.samples = real_samples(first);
    if (wanted.empty()) continue;
    for (int64_t j = 0; j < batch.samples && !stopping; ++j) read_sample(batch, j, first + j);
    for (size_t f = 0; f < wanted.size(); ++f) {
      const size_t used = static_cast<size_t>(batch.samples) * wanted[f].sample_bytes;
      std::memset(static_cast<std::byte*>(batch.tensors[f].raw()) + used, wanted[f].padding,
                  batch.tensors[f].size_bytes() - used);
    }
  }
}

void Loader::State::run() {
  try {
    for (int64_t step = 0;; ++step) {
      const auto slots = static_cast<int64_t>(ring.size());
      {
        std::unique_lock lock(mutex);
        changed.wait(lock, [&] { return stopping || step - released < slots; });
        if (stopping) return;
      }
      fill(ring[static_cast<size_t>(step % slots)], step);
      const std::lock_guard lock(mutex);
      filled = step + 1;
      changed.notify_all();
    }
  } catch (...) {
    const std::lock_guard lock(mutex);
    failure = std::current_exception();
    changed.notify_all();
  }
}

Loader::Loader(std::shared_ptr<const Dataset> dataset, LoaderConfig config, Memory& host)
    : state_(std::make_unique<State>()) {
  check(config);
  state_->dataset = std::move(dataset);
  state_->config = std::move(config);
  state_->allocate(host);
  if (state_->wanted.empty()) return;
  state_->thread = std::thread([state = state_.get()] { state->run(); });
}

Loader::~Loader() {
  if (!state_->thread.joinable()) return;
  {
    const std::lock_guard lock(state_->mutex);
    state_->stopping = true;
  }
  state_->changed.notify_all();
  state_->thread.join();
}

std::span<const Batch> Loader::next() {
  State& state = *state_;
  const auto slot = static_cast<size_t>(state.taken) % state.ring.size();
  if (state.wanted.empty()) {
    state.fill(state.ring[slot], state.taken++);
    return state.ring[slot];
  }
  const auto start = std::chrono::steady_clock::now();
  std::unique_lock lock(state.mutex);
  state.released = state.taken;
  state.changed.notify_all();
  state.changed.wait(lock, [&] { return state.filled > state.taken || state.failure != nullptr; });
  state.seconds_waited +=
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  if (state.filled <= state.taken) std::rethrow_exception(state.failure);
  ++state.taken;
  return state.ring[slot];
}

int64_t Loader::steps_per_epoch() const {
  const int64_t mini_batch = state_->mini_batch();
  return (state_->dataset->size() + mini_batch - 1) / mini_batch;
}

double Loader::seconds_waited() const {
  return state_->seconds_waited;
}

}  // namespace penstock
