// The loader: which samples a step reads, padding, errors, and threads that change nothing and
// always end.
#include "runtime/data/datasets/loader.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <map>
#include <mutex>
#include <set>
#include <thread>

#include "fixtures.h"

namespace penstock {
namespace {

using test::expect_error;
using testing::ElementsAre;

// Sample i has value {i, -i} and label i; it remembers what was asked of it.
class Numbers final : public Dataset {
 public:
  explicit Numbers(int64_t size, int64_t broken = -1) : size_(size), broken_(broken) {}
  [[nodiscard]] int64_t size() const override { return size_; }
  [[nodiscard]] const std::vector<Field>& fields() const override { return fields_; }
  [[nodiscard]] int64_t targets_per_sample() const override { return 1; }
  void read(int64_t index, const RandomStream& random, std::span<void* const> out) const override {
    if (index == broken_) fail_input("sample is broken");
    ++reads;
    if (out[0] != nullptr) {
      ++values_read;
      auto* value = static_cast<float*>(out[0]);
      value[0] = static_cast<float>(index);
      value[1] = -value[0];
    }
    if (out[1] != nullptr) *static_cast<int32_t*>(out[1]) = static_cast<int32_t>(index);
    if (out[2] != nullptr) *static_cast<int32_t*>(out[2]) = static_cast<int32_t>(random.counter[0]);
  }

  mutable std::atomic<int64_t> reads = 0;
  mutable std::atomic<int64_t> values_read = 0;

 private:
  std::vector<Field> fields_{
      {"values", {2}, DType::F32}, {"labels", {}, DType::I32}, {"draws", {}, DType::I32}};
  int64_t size_;
  int64_t broken_;
};

std::vector<int32_t> ints(const Batch& batch, const std::string& field) {
  const auto span = batch.field(field).span<int32_t>();
  return {span.begin(), span.end()};
}

// The given field of every sample of a step, over all replicas, in global order.
std::vector<int32_t> global_step(const std::shared_ptr<Numbers>& data, LoaderConfig config,
                                 int64_t step, const std::string& field) {
  Memory host(host_memory_source());
  std::vector<int32_t> all;
  config.fields = {field};
  config.first_sample = step * config.replicas * config.micro_batches * config.micro_batch_size;
  for (config.replica = 0; config.replica < config.replicas; ++config.replica) {
    Loader loader(data, config, host);
    for (const Batch& batch : loader.next()) {
      const auto part = ints(batch, field);
      all.insert(all.end(), part.begin(), part.end());
    }
  }
  return all;
}

TEST(Loader, GlobalOrderDoesNotDependOnReplicas) {
  const auto data = std::make_shared<Numbers>(100);
  const LoaderConfig one{.micro_batch_size = 3, .micro_batches = 8, .replicas = 1, .seed = 5};
  const LoaderConfig two{.micro_batch_size = 3, .micro_batches = 4, .replicas = 2, .seed = 5};
  const LoaderConfig eight{.micro_batch_size = 3, .micro_batches = 1, .replicas = 8, .seed = 5};
  for (int64_t step = 0; step < 10; ++step) {
    for (const char* field : {"labels", "draws"}) {
      const auto expected = global_step(data, one, step, field);
      EXPECT_EQ(global_step(data, two, step, field), expected);
      EXPECT_EQ(global_step(data, eight, step, field), expected);
    }
  }
}

TEST(Loader, StartsInTheMiddleAsIfItHadRun) {
  const auto data = std::make_shared<Numbers>(10);
  const LoaderConfig config{.fields = {"labels"}, .micro_batch_size = 4, .seed = 5};
  Memory host(host_memory_source());
  Loader loader(data, config, host);
  for (int64_t step = 0; step < 12; ++step) {
    EXPECT_EQ(ints(loader.next()[0], "labels"), global_step(data, config, step, "labels"));
  }
}

// What a resumed run does that was told another mini-batch.
TEST(Loader, GoesOnWithTheNextSampleInAnotherMiniBatch) {
  const auto data = std::make_shared<Numbers>(10);
  Memory host(host_memory_source());
  const auto samples = [&](int64_t batch, int64_t first, int steps) {
    Loader loader(
        data, {.fields = {"labels"}, .micro_batch_size = batch, .seed = 5, .first_sample = first},
        host);
    std::vector<int32_t> all;
    for (int step = 0; step < steps; ++step) {
      const auto part = ints(loader.next()[0], "labels");
      all.insert(all.end(), part.begin(), part.end());
    }
    return all;
  };
  const std::vector<int32_t> all = samples(1, 0, 27);
  EXPECT_EQ(samples(4, 0, 3), std::vector<int32_t>(all.begin(), all.begin() + 12));
  EXPECT_EQ(samples(5, 12, 3), std::vector<int32_t>(all.begin() + 12, all.end()));
}

TEST(Loader, EveryEpochVisitsEverySampleOnceInAnotherOrder) {
  const auto data = std::make_shared<Numbers>(10);
  Memory host(host_memory_source());
  Loader loader(data, {.fields = {"labels"}, .micro_batch_size = 3, .seed = 1}, host);
  std::vector<int32_t> all;
  for (int step = 0; step < 10; ++step) {
    const auto part = ints(loader.next()[0], "labels");
    all.insert(all.end(), part.begin(), part.end());
  }
  std::set<std::vector<int32_t>> orders;
  for (int epoch = 0; epoch < 3; ++epoch) {
    const std::vector<int32_t> order(all.begin() + epoch * 10, all.begin() + epoch * 10 + 10);
    EXPECT_EQ(std::set<int32_t>(order.begin(), order.end()).size(), 10U);
    orders.insert(order);
  }
  EXPECT_EQ(orders.size(), 3U);
}

TEST(Loader, DrawsAnewForTheSameSampleInTheNextEpoch) {
  const auto data = std::make_shared<Numbers>(1);
  Memory host(host_memory_source());
  Loader loader(data, {.fields = {"draws"}, .micro_batch_size = 2}, host);
  const auto draws = ints(loader.next()[0], "draws");
  EXPECT_NE(draws[0], draws[1]);
}

TEST(Loader, EvaluationReadsEachSampleOnceAndPadsTheRest) {
  const auto data = std::make_shared<Numbers>(7);
  Memory host(host_memory_source());
  const LoaderConfig config{.fields = {"values", "labels"},
                            .micro_batch_size = 2,
                            .micro_batches = 2,
                            .shuffle = false,
                            .wrap = false};
  Loader loader(data, config, host);
  ASSERT_EQ(loader.steps_per_epoch(), 2);
  auto step = loader.next();
  EXPECT_THAT(ints(step[0], "labels"), ElementsAre(0, 1));
  EXPECT_THAT(ints(step[1], "labels"), ElementsAre(2, 3));
  EXPECT_EQ(step[1].samples, 2);
  step = loader.next();
  EXPECT_THAT(ints(step[0], "labels"), ElementsAre(4, 5));
  EXPECT_THAT(ints(step[1], "labels"), ElementsAre(6, -1));
  EXPECT_EQ(step[1].samples, 1);
  EXPECT_THAT(step[1].field("values").span<float>(), ElementsAre(6, -6, 0, 0));
  step = loader.next();
  EXPECT_EQ(step[0].samples, 0);
  EXPECT_THAT(ints(step[0], "labels"), ElementsAre(-1, -1));
}

// Losses may compare with a field of another name; any other one is filled up with zeros.
TEST(Loader, PadsTargetsOfAnyNameWithWhatNoLossCounts) {
  const auto data = std::make_shared<Numbers>(1);
  Memory host(host_memory_source());
  for (const char* targets : {"", "draws", "values"}) {
    Loader loader(data,
                  {.fields = {"draws", "labels", "values"},
                   .targets = targets,
                   .micro_batch_size = 2,
                   .wrap = false},
                  host);
    const Batch& batch = loader.next()[0];
    EXPECT_EQ(ints(batch, "draws")[1], std::string(targets) == "draws" ? -1 : 0);
    EXPECT_EQ(ints(batch, "labels")[1], -1);
    EXPECT_EQ(batch.field("values").span<float>()[2], 0.0F) << "no integers";
  }
}

TEST(Loader, ReplicasPadTheirOwnShares) {
  const auto data = std::make_shared<Numbers>(5);
  Memory host(host_memory_source());
  Loader loader(data,
                {.fields = {"labels"},
                 .micro_batch_size = 4,
                 .replica = 1,
                 .replicas = 2,
                 .shuffle = false,
                 .wrap = false},
                host);
  EXPECT_EQ(loader.steps_per_epoch(), 1);
  const auto step = loader.next();
  EXPECT_THAT(ints(step[0], "labels"), ElementsAre(4, -1, -1, -1));
  EXPECT_EQ(step[0].samples, 1);
}

TEST(Loader, ReadsOnlyTheFieldsThatAreWanted) {
  const auto data = std::make_shared<Numbers>(8);
  Memory host(host_memory_source());
  Loader loader(data, {.fields = {"labels"}, .micro_batch_size = 4}, host);
  (void)loader.next();
  EXPECT_GE(data->reads, 4);
  EXPECT_EQ(data->values_read, 0);
}

TEST(Loader, WithoutFieldsCountsSamplesAndReadsNothing) {
  const auto data = std::make_shared<Numbers>(5);
  Memory host(host_memory_source());
  Loader loader(data, {.micro_batch_size = 2, .micro_batches = 2, .wrap = false}, host);
  auto step = loader.next();
  ASSERT_EQ(step.size(), 2U);
  EXPECT_TRUE(step[0].tensors.empty());
  EXPECT_EQ(step[0].samples, 2);
  step = loader.next();
  EXPECT_EQ(step[0].samples, 1);
  EXPECT_EQ(step[1].samples, 0);
  EXPECT_EQ(data->reads, 0);
}

TEST(Loader, KeepsABatchUntilTheNextCall) {
  const auto data = std::make_shared<Numbers>(1000);
  Memory host(host_memory_source());
  Loader loader(
      data, {.fields = {"labels"}, .micro_batch_size = 1, .shuffle = false, .prefetch = 1}, host);
  for (int32_t i = 0; i < 500; ++i) {
    const auto step = loader.next();
    if (i % 50 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    ASSERT_EQ(ints(step[0], "labels")[0], i);
  }
}

TEST(Loader, ReusesItsMemory) {
  const auto data = std::make_shared<Numbers>(100);
  Memory host(host_memory_source());
  {
    Loader loader(data, {.fields = {"values"}, .micro_batch_size = 4, .prefetch = 2}, host);
    const MemoryUse before = host.use();
    EXPECT_EQ(before.current_of(Purpose::Workspace), 3 * 64) << "3 slots of 32 bytes, rounded up";
    std::set<const void*> addresses;
    for (int i = 0; i < 30; ++i) addresses.insert(loader.next()[0].field("values").raw());
    EXPECT_EQ(addresses.size(), 3U);
    EXPECT_EQ(host.use().system_allocations, before.system_allocations);
  }
  EXPECT_EQ(host.use().total_current, 0);
}

TEST(Loader, RethrowsWhatReadingThrewAtTheStepThatNeedsIt) {
  const auto data = std::make_shared<Numbers>(10, 5);
  Memory host(host_memory_source());
  Loader loader(data, {.fields = {"labels"}, .micro_batch_size = 2, .shuffle = false}, host);
  EXPECT_THAT(ints(loader.next()[0], "labels"), ElementsAre(0, 1));
  EXPECT_THAT(ints(loader.next()[0], "labels"), ElementsAre(2, 3));
  for (int again = 0; again < 3; ++again) {
    expect_error(ErrorKind::Input, {"sample is broken"}, [&] { (void)loader.next(); });
  }
}

// A set whose reading blocks until the gate opens, and is slow then.
class Gated final : public Dataset {
 public:
  [[nodiscard]] int64_t size() const override { return 4; }
  [[nodiscard]] const std::vector<Field>& fields() const override { return fields_; }
  [[nodiscard]] int64_t targets_per_sample() const override { return 1; }
  void read(int64_t, const RandomStream&, std::span<void* const>) const override {
    entered = true;
    entered.notify_all();
    open_.wait(false);
    std::this_thread::sleep_for(std::chrono::microseconds(100));
    ++finished;
  }
  void open() {
    open_ = true;
    open_.notify_all();
  }
  // Opens the gate in a while, from another thread.
  [[nodiscard]] std::thread open_soon() {
    return std::thread([this] {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
      open();
    });
  }
  mutable std::atomic<bool> entered = false;
  mutable std::atomic<int> finished = 0;

 private:
  std::vector<Field> fields_{{"labels", {}, DType::I32}};
  std::atomic<bool> open_ = false;
};

// Samples that take the longer the earlier they come in a dozen, so that threads finish out of
// order. Two are broken.
class Uneven final : public Dataset {
 public:
  [[nodiscard]] int64_t size() const override { return 1000; }
  [[nodiscard]] const std::vector<Field>& fields() const override { return fields_; }
  [[nodiscard]] int64_t targets_per_sample() const override { return 1; }
  void read(int64_t index, const RandomStream& random, std::span<void* const> out) const override {
    std::this_thread::sleep_for(std::chrono::microseconds(10 * (12 - index % 12)));
    if (index == 500 || index == 515) fail_data("sample " + std::to_string(index) + " is broken");
    *static_cast<int32_t*>(out[0]) = static_cast<int32_t>(index);
    *static_cast<int32_t*>(out[1]) = static_cast<int32_t>(random.counter[0]);
  }

 private:
  std::vector<Field> fields_{{"labels", {}, DType::I32}, {"draws", {}, DType::I32}};
};

// Everything that a loader gives until it fails, and what it says then.
std::vector<int32_t> until_it_fails(LoaderConfig config, std::string& failure) {
  Memory host(host_memory_source());
  config.fields = {"draws", "labels"};
  Loader loader(std::make_shared<Uneven>(), config, host);
  std::vector<int32_t> all;
  try {
    for (int step = 0; step < 100; ++step) {
      for (const Batch& batch : loader.next()) {
        for (const char* field : {"draws", "labels"}) {
          const auto part = ints(batch, field);
          all.insert(all.end(), part.begin(), part.end());
        }
        all.push_back(static_cast<int32_t>(batch.samples));
      }
    }
  } catch (const Error& error) {
    failure = error.what();
  }
  return all;
}

TEST(LoaderThreads, ChangeNeitherBitsNorOrderNorTheFirstError) {
  for (const bool shuffle : {true, false}) {
    // A part of 8, one of 8 and one of 3 samples; sample 500 is met by a thread that takes longer.
    LoaderConfig config{.micro_batch_size = 19, .micro_batches = 2, .seed = 3, .shuffle = shuffle};
    std::string expected_failure;
    const std::vector<int32_t> expected = until_it_fails(config, expected_failure);
    ASSERT_NE(expected_failure, "");
    for (const int threads : {2, 5}) {
      config.threads = threads;
      std::string failure;
      EXPECT_EQ(until_it_fails(config, failure), expected);
      EXPECT_EQ(failure, expected_failure);
    }
  }
}

TEST(LoaderThreads, PadTheEndAsOneDoes) {
  Memory host(host_memory_source());
  Loader loader(std::make_shared<Numbers>(21),
                {.fields = {"labels"}, .micro_batch_size = 40, .wrap = false, .threads = 4}, host);
  const auto labels = ints(loader.next()[0], "labels");
  EXPECT_EQ(std::count(labels.begin(), labels.end(), -1), 19);
  EXPECT_EQ(std::set<int32_t>(labels.begin(), labels.begin() + 21).size(), 21U);
}

// A set whose samples are read once three threads read at the same time, or after a while.
class Meeting final : public Dataset {
 public:
  [[nodiscard]] int64_t size() const override { return 100; }
  [[nodiscard]] const std::vector<Field>& fields() const override { return fields_; }
  [[nodiscard]] int64_t targets_per_sample() const override { return 1; }
  void read(int64_t, const RandomStream&, std::span<void* const>) const override {
    std::unique_lock lock(mutex_);
    most_ = std::max(most_, ++inside_);
    changed_.notify_all();
    const auto all_here = [&] { return most_ >= 3 || given_up_; };
    given_up_ = !changed_.wait_for(lock, std::chrono::seconds(5), all_here) || given_up_;
    --inside_;
  }
  // The most threads that have read at the same time. The loader may be reading ahead.
  [[nodiscard]] int most() const {
    const std::lock_guard lock(mutex_);
    return most_;
  }

 private:
  std::vector<Field> fields_{{"labels", {}, DType::I32}};
  mutable int most_ = 0;
  mutable int inside_ = 0;
  mutable bool given_up_ = false;
  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
};

TEST(LoaderThreads, ReadTheStepThatIsAwaitedTogether) {
  const auto data = std::make_shared<Meeting>();
  Memory host(host_memory_source());
  Loader loader(data, {.fields = {"labels"}, .micro_batch_size = 24, .prefetch = 1, .threads = 3},
                host);
  (void)loader.next();
  EXPECT_EQ(data->most(), 3);
}

TEST(LoaderThreads, EndWhileTheyWaitForAFreeSlot) {
  const auto data = std::make_shared<Numbers>(1000);
  Memory host(host_memory_source());
  {
    const Loader loader(
        data, {.fields = {"labels"}, .micro_batch_size = 20, .prefetch = 1, .threads = 4}, host);
    while (data->reads < 40) std::this_thread::yield();
  }
  EXPECT_EQ(data->reads, 40) << "read further than the ring is long";
}

TEST(Loader, EndsWhileItsThreadWaitsForAFreeSlot) {
  const auto data = std::make_shared<Numbers>(10);
  Memory host(host_memory_source());
  {
    const Loader loader(data, {.fields = {"labels"}, .micro_batch_size = 2, .prefetch = 1}, host);
    while (data->reads < 4) std::this_thread::yield();  // both slots are full, or about to be
  }
  EXPECT_EQ(data->reads, 4) << "read further than the ring is long";
}

TEST(Loader, WaitsForTheReadUnderWayWhenItEnds) {
  const auto data = std::make_shared<Gated>();
  Memory host(host_memory_source());
  std::thread opener;
  {
    const Loader loader(data, {.fields = {"labels"}}, host);
    data->entered.wait(false);
    opener = data->open_soon();
  }
  EXPECT_GE(data->finished, 1);
  opener.join();
}

TEST(Loader, DoesNotFinishTheStepWhenItEnds) {
  const auto data = std::make_shared<Gated>();
  data->open();
  Memory host(host_memory_source());
  constexpr int kLongStep = 1 << 20;  // two minutes of reading
  {
    const Loader loader(data, {.fields = {"labels"}, .micro_batch_size = kLongStep}, host);
    data->entered.wait(false);
  }
  EXPECT_LT(data->finished, kLongStep);
}

TEST(Loader, CountsTheTimeItWaited) {
  const auto data = std::make_shared<Gated>();
  Memory host(host_memory_source());
  Loader loader(data, {.fields = {"labels"}}, host);
  EXPECT_EQ(loader.waits().seconds, 0);
  std::thread opener = data->open_soon();
  (void)loader.next();
  opener.join();
  EXPECT_GT(loader.waits().seconds, 0);
  EXPECT_EQ(loader.waits().steps, 0) << "nothing could have been read before the first";
}

TEST(Loader, RefusesWhatItCannotDo) {
  const auto data = std::make_shared<Numbers>(10);
  Memory host(host_memory_source());
  const auto make = [&](const LoaderConfig& config) { const Loader loader(data, config, host); };
  make({.fields = {"labels"}});
  expect_error(ErrorKind::Input, {"'pixels'", "values, labels, draws"},
               [&] { make({.fields = {"pixels"}}); });
  expect_error(ErrorKind::Internal, {"'labels' is loaded twice"}, [&] {
    make({.fields = {"labels", "labels"}});
  });
  expect_error(ErrorKind::Input, {"micro_batch_size"}, [&] { make({.micro_batch_size = 0}); });
  expect_error(ErrorKind::Input, {"micro_batches"}, [&] { make({.micro_batches = 0}); });
  expect_error(ErrorKind::Input, {"data.prefetch"}, [&] { make({.prefetch = 0}); });
  expect_error(ErrorKind::Input, {"data.threads"}, [&] { make({.threads = 0}); });
  expect_error(ErrorKind::Internal, {"replica 2 of 2"},
               [&] { make({.replica = 2, .replicas = 2}); });
  expect_error(ErrorKind::Internal, {"sample 0"}, [&] { make({.first_sample = -1}); });
}

}  // namespace
}  // namespace penstock
