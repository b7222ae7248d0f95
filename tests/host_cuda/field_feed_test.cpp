// Batch fields on their way to an emulated device, whose streams run in an order that the dice
// choose: the right contents at every use, and no more of them at once than the schedule holds.
#include "runtime/engine/pipeline/field_feed.h"

#include <gtest/gtest.h>

#include <numeric>

#include "kernels/ops/pointwise.h"
#include "runtime/planning/schedule/generators/known_schedules.h"
#include "runtime/planning/schedule/lower.h"

namespace penstock {
namespace {

constexpr int64_t kNumbers = 1000;  // 4000 bytes, 4032 in whole lines
constexpr int64_t kBytes = 4032;

class Feeding : public testing::Test {
 protected:
  // A run of rank 0's program: every instruction that computes copies its micro-batch's field.
  void run(const Schedule& schedule, int64_t offset) {
    const std::vector<Instruction>& program = schedule.program[0];
    std::vector<bool> reads(static_cast<size_t>(schedule.stages), false);
    reads[0] = true;
    FieldFeed feed(program, reads, *device_);
    const std::vector<Batch> batches = loaded(schedule.micro_batches, offset);
    device_->memory().reset_peaks();
    const int64_t before = device_->memory().use().current_of(Purpose::Workspace);
    feed.begin(batches);
    EXPECT_TRUE(feed.uploads());
    std::vector<std::pair<int, Tensor>> seen;
    for (size_t i = 0; i < program.size(); ++i) {
      feed.before(i);
      if (is_compute(program[i].op)) {
        const Tensor& field = feed.batch(program[i].micro_batch).field("numbers");
        Tensor copy = device_->empty(field.shape(), field.dtype(), Purpose::Activations);
        device_->pointwise().copy(copy, field);
        seen.emplace_back(program[i].micro_batch, std::move(copy));
      }
      feed.after(i);
    }
    peak_ = device_->memory().use().peak_of(Purpose::Workspace) - before;
    feed.end();
    EXPECT_EQ(device_->memory().use().current_of(Purpose::Workspace), before);
    for (const auto& [m, copy] : seen) expect_numbers_of(m + offset, copy);
  }

  std::vector<Batch> loaded(int micro_batches, int64_t offset) {
    std::vector<Batch> batches;
    for (int m = 0; m < micro_batches; ++m) {
      Tensor field(device_->host_memory().take(kNumbers * sizeof(float), Purpose::Workspace),
                   {kNumbers}, DType::F32);
      std::iota(field.data<float>(), field.data<float>() + kNumbers,
                static_cast<float>(kNumbers * (m + offset)));
      batches.push_back({.names = {"numbers"}, .tensors = {field}, .samples = 1});
    }
    return batches;
  }

  void expect_numbers_of(int64_t which, const Tensor& copy) {
    std::vector<float> numbers(kNumbers);
    device_->copy_to_host(numbers.data(), copy, copy.size_bytes());
    std::vector<float> expected(kNumbers);
    std::iota(expected.begin(), expected.end(), static_cast<float>(kNumbers * which));
    EXPECT_EQ(numbers, expected) << which;
  }

  const std::unique_ptr<Device> device_ = make_cuda_device(0);
  int64_t peak_ = 0;  // bytes of fields in the last run
};

Schedule lowered(const char* name, int micro_batches, bool recompute) {
  return lower(make_schedule(name, 2, micro_batches), {.recompute = recompute, .update = true});
}

TEST_F(Feeding, BringsTheRightFieldsInTime) {
  for (const char* name : {"gpipe", "1f1b", "zb-h1", "interleaved-1f1b", "zb-v"}) {
    SCOPED_TRACE(name);
    for (const int64_t offset : {0, 100}) run(lowered(name, 8, offset == 0), offset);
  }
}

TEST_F(Feeding, HoldsNoMoreForMoreMicroBatches) {
  run(lowered("1f1b", 4, false), 0);
  const int64_t of_four = peak_;
  EXPECT_LE(of_four, 4 * kBytes);
  run(lowered("1f1b", 32, false), 0);
  EXPECT_EQ(peak_, of_four);
}

TEST_F(Feeding, HoldsWhatIsForecast) {
  for (const char* name : {"gpipe", "1f1b", "zb-h1"}) {
    const Schedule schedule = lowered(name, 9, true);
    run(schedule, 0);
    std::vector<bool> reads(static_cast<size_t>(schedule.stages), false);
    reads[0] = true;
    EXPECT_EQ(peak_, kBytes * most_data_held(data_use(schedule.program[0], reads), kDataAhead))
        << name;
  }
}

// Ranks whose stages read nothing have batches without tensors.
TEST_F(Feeding, LeavesEmptyBatchesAlone) {
  const Schedule schedule = lowered("1f1b", 3, false);
  FieldFeed feed(schedule.program[0], {true, false}, *device_);
  const std::vector<Batch> none(3);
  feed.begin(none);
  EXPECT_FALSE(feed.uploads());
  feed.before(0);
  EXPECT_EQ(&feed.batch(1), &none[1]);
  feed.after(0);
  feed.end();
}

}  // namespace
}  // namespace penstock
