// tests/distributed/reduce_test.cpp -- sums over replicas: exact, the same bits on all members, in
// pairs of replicas wherever an element lies, and nothing made in the steady state.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cstring>
#include <memory>
#include <random>
#include <vector>

#include "runtime/system/comm/network.h"
#include "tests/distributed/main.h"
#include "tests/distributed/transports.h"

namespace penstock {
namespace {

using testing::HasSubstr;

// What replica r holds at element i; small integers, so that every order of adding is exact.
float number(int replica, int64_t i) {
  return static_cast<float>((i * 31 + int64_t{replica} * 17) % 1000 - 500);
}

// Numbers of widely different sizes: the bits of a sum then depend on the order.
std::vector<float> random_numbers(int replica, int64_t elements) {
  std::mt19937 engine(static_cast<unsigned>(1000 + replica));
  std::uniform_real_distribution<float> mantissa(-1.0F, 1.0F);
  std::uniform_int_distribution<int> exponent(-20, 20);
  std::vector<float> numbers(static_cast<size_t>(elements));
  for (float& x : numbers) x = std::ldexp(mantissa(engine), exponent(engine));
  return numbers;
}

class Reduce : public testing::TestWithParam<TestTransport> {
 protected:
  Tensor buffer(int64_t elements) {
    return device_.empty({elements}, DType::F32, Purpose::Gradients);
  }
  void fill(Tensor tensor) const {
    std::vector<float> values(static_cast<size_t>(tensor.elements()));
    for (size_t i = 0; i < values.size(); ++i) values[i] = number(rank_, static_cast<int64_t>(i));
    device_.copy_from_host(tensor, values.data(), tensor.size_bytes());
  }
  [[nodiscard]] float sum_at(int64_t i) const {
    float sum = 0;
    for (int replica = 0; replica < ranks_; ++replica) sum += number(replica, i);
    return sum;
  }
  void expect_sums(const Tensor& tensor) const {
    const std::vector<float> values = values_of<float>(device_, tensor);
    for (size_t i = 0; i < values.size(); ++i) {
      ASSERT_EQ(values[i], sum_at(static_cast<int64_t>(i)))
          << "element " << i << " of " << values.size();
    }
  }
  [[nodiscard]] bool by_mpi() const { return GetParam().sums != Transport::Nccl; }

  const Session& session_ = test_session();
  const int rank_ = session_.rank();
  const int ranks_ = session_.ranks();
  std::unique_ptr<Device> owned_ = GetParam().make_device();
  Device& device_ = *owned_;
  std::unique_ptr<Network> network_ = make_mpi_network(
      session_, {.positions = 1, .replicas = ranks_}, GetParam().plan(), sleeping_waits());
  std::unique_ptr<ReduceGroup> group_ = network_->reduce_group(device_);
};

TEST_P(Reduce, SumsBuffersOfEverySize) {
  EXPECT_EQ(group_->size(), ranks_);
  for (const int64_t elements : {0, 1, 2, 3, 5, 7, 1000, 1023, 65537, (1 << 19) - 1, 1 << 19,
                                 (1 << 19) + 1, 5 * (1 << 19) + 11}) {
    const Tensor tensor = buffer(elements);
    fill(tensor);
    group_->start(tensor);
    group_->finish();
    expect_sums(tensor);
  }
}

TEST_P(Reduce, SumsManyBuffersAtOnce) {
  std::vector<Tensor> buffers;
  for (const int64_t elements : {3, 600000, 0, 1, 2000000, 17}) {
    buffers.push_back(buffer(elements));
  }
  for (int step = 0; step < 5; ++step) {
    for (const Tensor& tensor : buffers) {
      fill(tensor);
      group_->start(tensor);
      group_->progress();
    }
    group_->finish();
    for (const Tensor& tensor : buffers) expect_sums(tensor);
  }
}

// The members do other work between starts, each for another time; progress() alone must bring the
// sum to its end when all call it.
TEST_P(Reduce, EndsByProgressAlone) {
  const Tensor tensor = buffer(3000000);
  fill(tensor);
  group_->start(tensor);
  const int64_t last = tensor.elements() - 1;
  double waiting = 1.0;
  while (waiting > 0.0) {
    group_->progress();
    waiting = values_of<float>(device_, tensor.view(last, {1}))[0] == sum_at(last) ? 0.0 : 1.0;
    network_->world().sum({&waiting, 1});
  }
  group_->finish();
  expect_sums(tensor);
}

// The largest power of two of replicas, below all, and the others.
std::vector<float> sum_in_pairs(int first, int replicas, int64_t elements) {
  if (replicas == 1) return random_numbers(first, elements);
  const auto left = static_cast<int>(std::bit_ceil(static_cast<unsigned>(replicas)) / 2);
  std::vector<float> sum = sum_in_pairs(first, left, elements);
  const std::vector<float> right = sum_in_pairs(first + left, replicas - left, elements);
  for (size_t i = 0; i < sum.size(); ++i) sum[i] += right[i];
  return sum;
}

TEST_P(Reduce, AddsInPairsWhereverAnElementLies) {
  constexpr int64_t kElements = 700001;
  const std::vector<float> mine = random_numbers(rank_, kElements);
  const std::vector<float> expected = sum_in_pairs(0, ranks_, kElements);
  for (const int64_t shift : {0, 1, 12345}) {
    std::vector<float> values(static_cast<size_t>(shift), 0.0F);
    values.insert(values.end(), mine.begin(), mine.end());
    const Tensor tensor = tensor_of(device_, values, {kElements + shift}, DType::F32);
    group_->start(tensor);
    group_->finish();
    values = values_of<float>(device_, tensor);
    ASSERT_EQ(std::memcmp(values.data() + shift, expected.data(), expected.size() * sizeof(float)),
              0)
        << "shifted by " << shift;
  }
}

// The sum is made in its two halves: what each member has of it, and then everybody.
TEST_P(Reduce, SharesSumsOutWhereverTheCutsAre) {
  constexpr int64_t kElements = 1400003;
  const std::vector<float> expected = sum_in_pairs(0, ranks_, kElements);
  const Tensor between = buffer(1000);
  std::vector<Tensor> kept;  // or the next one could have the address of these cuts
  for (const int64_t first : {int64_t{4096}, kElements}) {
    std::vector<int64_t> cuts = {0};
    for (int r = 1; r < ranks_; ++r) cuts.push_back(first + (kElements - first) / 3 * (r - 1));
    for (int64_t& cut : cuts) cut = std::min(cut, kElements);
    cuts.push_back(kElements);
    Tensor shared = kept.emplace_back(buffer(kElements));
    const std::vector<float> mine = random_numbers(rank_, kElements);
    device_.copy_from_host(shared, mine.data(), shared.size_bytes());
    fill(between);
    group_->start(between);
    group_->scatter(shared, cuts);
    group_->finish();
    const auto begin = static_cast<size_t>(cuts[static_cast<size_t>(rank_)]);
    const auto end = static_cast<size_t>(cuts[static_cast<size_t>(rank_) + 1]);
    std::vector<float> values = values_of<float>(device_, shared);
    ASSERT_EQ(std::memcmp(values.data() + begin, expected.data() + begin, (end - begin) * 4), 0)
        << "cut at " << first;
    group_->gather(shared, cuts);
    group_->finish();
    values = values_of<float>(device_, shared);
    ASSERT_EQ(std::memcmp(values.data(), expected.data(), expected.size() * 4), 0)
        << "gathered, cut at " << first;
  }
}

// One of several that are under way, in any order.
TEST_P(Reduce, WaitsForOneBufferOfSeveral) {
  constexpr int64_t kElements = 900001;
  std::vector<int64_t> cuts;
  for (int r = 0; r <= ranks_; ++r) cuts.push_back(kElements * r / ranks_);
  std::vector<Tensor> buffers;
  for (int i = 0; i < 6; ++i) {
    buffers.push_back(buffer(kElements));
    std::vector<float> values(kElements, -1.0F);  // but for the own part, where the rank's number
    std::fill(values.begin() + cuts[static_cast<size_t>(rank_)],
              values.begin() + cuts[static_cast<size_t>(rank_) + 1],
              static_cast<float>(10 * i + rank_));
    device_.copy_from_host(buffers.back(), values.data(), buffers.back().size_bytes());
  }
  for (const Tensor& tensor : buffers) group_->gather(tensor, cuts);
  for (const size_t i : {size_t{0}, size_t{3}, size_t{1}, size_t{5}}) {
    group_->wait(buffers[i]);
    const std::vector<float> values = values_of<float>(device_, buffers[i]);
    for (int r = 0; r < ranks_; ++r) {
      for (const int64_t at :
           {cuts[static_cast<size_t>(r)], cuts[static_cast<size_t>(r) + 1] - 1}) {
        ASSERT_EQ(values[static_cast<size_t>(at)],
                  static_cast<float>(10 * i + static_cast<size_t>(r)))
            << i;
      }
    }
  }
  group_->finish();
}

// Kept for good, a request for each slice and member would be 129,000 for 1 GiB over 64 members.
TEST_P(Reduce, KeepsNoRequestsAndInTheSteadyStateTakesNoMemory) {
  const std::vector<Tensor> buffers = {buffer(1500000), buffer(100)};
  std::vector<int64_t> cuts(static_cast<size_t>(ranks_), 0);
  cuts.push_back(1500000);
  const auto step = [&] {
    for (const Tensor& tensor : buffers) group_->start(tensor);
    group_->finish();
    group_->scatter(buffers[0], cuts);
    group_->finish();
    group_->gather(buffers[0], cuts);
    group_->finish();
  };
  step();
  const int64_t allocations = device_.memory().use().system_allocations;
  for (int i = 0; i < 5; ++i) step();
  EXPECT_EQ(network_->requests_made(), 0);
  EXPECT_EQ(device_.memory().use().system_allocations, allocations);
}

TEST_P(Reduce, RefusesWhatIsNoGradientBuffer) {
  EXPECT_THROW(group_->start(device_.empty({4}, DType::BF16, Purpose::Gradients)), Error);
  EXPECT_THROW(group_->start(device_.empty({4, 4}, DType::F32, Purpose::Gradients)), Error);
}

TEST_P(Reduce, BuffersOfDifferentSizesAreRefused) {
  if (!by_mpi()) {
    GTEST_SKIP() << "does not apply to NCCL, which compares no sizes; sums by MPI are tested";
  }
  if (ranks_ != 2) GTEST_SKIP() << needs_ranks("2");
  const Tensor tensor = buffer(rank_ == 0 ? 1000 : 1100);
  std::string words;
  try {
    group_->start(tensor);
    group_->finish();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::Peer);
    words = error.what();
  }
  EXPECT_THAT(words, HasSubstr("summing gradients over the replicas at position 0: expected "));
  EXPECT_THAT(words, HasSubstr("is the model section the same on all ranks?"));
  (void)group_.release();  // a run ends here; its requests are never freed
}

INSTANTIATE_TEST_SUITE_P(By, Reduce, testing::ValuesIn(test_transports()), name_of_instance);

}  // namespace
}  // namespace penstock
