// Channels: between two stages of one rank, and between ranks, over links that write down what is
// asked of them.
#include "runtime/engine/pipeline/links/channel.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>
#include <memory>

#include "runtime/engine/pipeline/links/narrow_links.h"

namespace penstock {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class Sent final : public SendLink {
 public:
  void send(std::span<const Tensor> message) override {
    messages.emplace_back(message.begin(), message.end());
  }
  void progress() override {}
  void hand_over() override {}
  void drain() override {}
  void reserve(std::span<const TensorSpec> message, int count) override {
    reserved = {message.size(), count};
  }
  std::vector<std::vector<Tensor>> messages;
  std::pair<size_t, int> reserved = {0, 0};
};

class Received final : public ReceiveLink {
 public:
  void expect(std::span<const TensorSpec> specs) override {
    ++expected_;
    most_expected = std::max(most_expected, expected_);
    ++all_expected;
    for (const TensorSpec& each : specs) {
      asked.push_back(each.shape.elements());
      types.push_back(each.dtype);
    }
  }
  [[nodiscard]] int expected() const override { return expected_; }
  void receive(std::span<Tensor> message) override {
    ASSERT_GT(expected_--, 0) << "nothing was announced";
    ASSERT_FALSE(arriving.empty());
    for (size_t i = 0; i < message.size(); ++i) message[i] = arriving.front()[i];
    arriving.pop_front();
  }
  void progress() override {}
  std::deque<std::vector<Tensor>> arriving;
  std::vector<int64_t> asked;
  std::vector<DType> types;
  int most_expected = 0, all_expected = 0;

 private:
  int expected_ = 0;
};

class Channels : public testing::Test {
 protected:
  Tensor tensor(float value) {
    Tensor t = device_->empty({2}, DType::F32, Purpose::Activations);
    device_->pointwise().fill(t, value);
    return t;
  }
  static float value_of(const Tensor& t) { return t ? t.span<float>()[0] : -1.0F; }
  static Channel::Message message() {
    const TensorSpec two{Shape{2}, DType::F32};
    return {.tensors = {two, two}, .given = {0, 2}, .taken = {1, 0}};
  }

  std::unique_ptr<Device> device_ = make_cpu_device(1);
  Sent out_;
  Received in_;
};

TEST_F(Channels, WithinARankMoveTensorsToTheirPlaces) {
  Channel channel(message(), 2, nullptr, nullptr);
  channel.begin(0);
  for (int m = 0; m < 2; ++m) {
    Tensors given = {tensor(10.0F + static_cast<float>(m)), tensor(20.0F), tensor(30.0F)};
    channel.put(m, given);
    EXPECT_FALSE(given[0]) << "taken out";
    EXPECT_EQ(value_of(given[1]), 20.0F) << "another channel's";
    EXPECT_FALSE(given[2]);
  }
  for (int m : {1, 0}) {  // whatever the order
    Tensors taken(3);
    channel.take(m, taken);
    EXPECT_EQ(value_of(taken[0]), 30.0F);
    EXPECT_EQ(value_of(taken[1]), 10.0F + static_cast<float>(m));
    EXPECT_FALSE(taken[2]);
  }
}

TEST_F(Channels, KnowWhenNothingIsThere) {
  Channel channel(message(), 2, nullptr, nullptr);
  Tensors taken(3);
  try {
    channel.take(1, taken);
    FAIL() << "nothing was thrown";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::Internal);
    EXPECT_THAT(error.what(), HasSubstr("micro-batch 1"));
  }
}

TEST_F(Channels, SendWhatWasGivenAndZerosForTheRest) {
  Channel channel(message(), 1, &out_, nullptr);
  EXPECT_TRUE(channel.sends());
  Tensors given = {Tensor(), tensor(1.0F), tensor(3.0F)};
  channel.put(0, given);
  channel.send(0, *device_);
  ASSERT_EQ(out_.messages.size(), 1U);
  EXPECT_EQ(value_of(out_.messages[0][0]), 0.0F);
  EXPECT_EQ(value_of(out_.messages[0][1]), 3.0F);
  channel.reserve(5);
  EXPECT_EQ(out_.reserved, std::pair(size_t{2}, 5));
}

// One message ahead: it arrives while the stage computes.
TEST_F(Channels, AnnounceTheNextMessageWhenOneHasCome) {
  Channel channel(message(), 3, nullptr, &in_);
  for (float first : {1.0F, 2.0F, 3.0F}) in_.arriving.push_back({tensor(first), tensor(-first)});
  EXPECT_FALSE(channel.sends());
  channel.begin(3);
  EXPECT_EQ(in_.expected(), 1);
  for (int m = 0; m < 3; ++m) {
    channel.receive(m);
    EXPECT_EQ(in_.expected(), m < 2 ? 1 : 0);
    Tensors taken(2);
    channel.take(m, taken);
    EXPECT_EQ(value_of(taken[1]), static_cast<float>(m + 1));
    EXPECT_EQ(value_of(taken[0]), -static_cast<float>(m + 1));
  }
  EXPECT_EQ(in_.most_expected, 1);
  EXPECT_THAT(in_.asked, ElementsAre(2, 2, 2, 2, 2, 2));
  channel.begin(0);
  EXPECT_EQ(in_.all_expected, 3) << "nothing is announced that does not come";
}

// 1 + 2^-9 has one bit more than bf16 holds, 1 + 2^-7 all that it holds.
TEST_F(Channels, MayBeNarrow) {
  NarrowSendLink send(out_, *device_);
  Tensor whole = device_->zeros({3}, DType::I32, Purpose::Activations);
  const std::vector<Tensor> message = {tensor(1 + 0x1p-7F), tensor(1 + 0x1p-9F), whole};
  send.send(message);
  ASSERT_EQ(out_.messages.size(), 1U);
  const std::vector<Tensor>& sent = out_.messages[0];
  EXPECT_EQ(sent[0].dtype(), DType::BF16);
  EXPECT_EQ(sent[2].raw(), whole.raw()) << "of another type, sent as it is";

  NarrowReceiveLink receive(in_, *device_);
  const TensorSpec two{Shape{2}, DType::F32};
  const std::vector<TensorSpec> specs = {two, two, {Shape{3}, DType::I32}};
  receive.expect(specs);
  EXPECT_EQ(in_.types, (std::vector{DType::BF16, DType::BF16, DType::I32}));
  in_.arriving.push_back(sent);
  std::vector<Tensor> received(3);
  receive.receive(received);
  EXPECT_EQ(received[0].dtype(), DType::F32);
  EXPECT_EQ(value_of(received[0]), 1 + 0x1p-7F);
  EXPECT_EQ(value_of(received[1]), 1.0F);
  EXPECT_EQ(received[2].raw(), whole.raw());
}

}  // namespace
}  // namespace penstock
