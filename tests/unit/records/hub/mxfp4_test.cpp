// Experts of gpt-oss: matrices that are turned in files, and in MXFP4.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "runtime/records/hub/weights.h"
#include "tests/unit/records/hub/folders.h"

namespace penstock {
namespace {

using testing::AllOf;
using testing::HasSubstr;

constexpr const char* kTheirs = "model.layers.0.mlp.experts.gate_up_proj";
constexpr int64_t kExperts = 3, kHidden = 5, kWidth = 64, kBlocks = kWidth / 32;

// Tensors of bytes.
struct Bytes {
  std::string name;
  std::vector<int64_t> shape;
  std::string bytes;
};

void put_bytes(const std::string& path, const std::vector<Bytes>& tensors) {
  SafetensorsHeader header;
  for (const Bytes& tensor : tensors) {
    header.tensors.push_back({tensor.name, "U8", tensor.shape, 0, tensor.bytes.size()});
  }
  std::string all = encode_safetensors_header(header);
  for (const TensorInfo& info : header.tensors) {  // in the order of the file
    for (const Bytes& tensor : tensors) all += tensor.name == info.name ? tensor.bytes : "";
  }
  put(path, all);
}

class ExpertColumns : public testing::Test {
 protected:
  [[nodiscard]] HubWeights open() const {
    return HubWeights(here_ / ".", hub_family("gpt_oss"), 2);
  }
  [[nodiscard]] std::vector<float> read(const HubTensor& tensor, DType kept = DType::F32) {
    UpdateDevice device(true);
    Tensor to = device.empty(Shape(tensor.shape), kept, Purpose::Parameters);
    open().read(tensor.name, to, device);
    return floats_of(to);
  }
  [[nodiscard]] std::string refused(ErrorKind kind) {
    return refusal(kind, [&] { open().check(network_, false); });
  }
  // Scales around 1, of which each is another, and all sixteen numbers.
  [[nodiscard]] std::vector<Bytes> packed() const {
    std::string blocks, scales;
    for (int64_t i = 0; i < kExperts * 2 * kHidden * kBlocks; ++i) {
      scales += static_cast<char>(120 + i % 17);
      for (int64_t j = 0; j < 16; ++j) blocks += static_cast<char>((7 * i + 19 * j) % 256);
    }
    return {{std::string(kTheirs) + "_blocks", {kExperts, 2 * kHidden, kBlocks, 16}, blocks},
            {std::string(kTheirs) + "_scales", {kExperts, 2 * kHidden, kBlocks}, scales}};
  }

  TemporaryFolder here_;
  std::string file_ = here_ / "model.safetensors";
  std::vector<HubTensor> network_ = {{"blocks.0.experts.gate.weight", {kExperts, kHidden, kWidth}},
                                     {"blocks.0.experts.in.weight", {kExperts, kHidden, kWidth}}};
};

TEST_F(ExpertColumns, TakeTurnsInAMatrixAndInABias) {
  const std::string bias = std::string(kTheirs) + "_bias";
  put_tensors(file_, {{kTheirs, {kExperts, kWidth, 2 * kHidden}}, {bias, {kExperts, 2 * kHidden}}});
  network_.push_back({"blocks.0.experts.gate.bias", {kExperts, kHidden}});
  network_.push_back({"blocks.0.experts.in.bias", {kExperts, kHidden}});
  open().check(network_, false);
  for (int64_t part = 0; part < 2; ++part) {
    const auto weight = read(network_[static_cast<size_t>(part)]);
    const auto of_bias = read(network_[static_cast<size_t>(part) + 2]);
    for (int64_t e = 0; e < kExperts; ++e) {
      for (int64_t out = 0; out < kHidden; ++out) {
        const int64_t row = e * kHidden + out;
        EXPECT_EQ(of_bias[static_cast<size_t>(row)], number_at(1, 2 * row + part));
        for (int64_t in = 0; in < kWidth; ++in) {
          EXPECT_EQ(weight[static_cast<size_t>(row * kWidth + in)],
                    number_at(0, ((e * kWidth + in) * kHidden + out) * 2 + part));
        }
      }
    }
  }
}

TEST_F(ExpertColumns, InMxfp4AreTheirNumbersTimesTheirScales) {
  const std::vector<Bytes> theirs = packed();
  put_bytes(file_, theirs);
  open().check(network_, false);
  const double numbers[] = {0, 0.5, 1, 1.5, 2, 3, 4, 6};
  for (const DType kept : {DType::F32, DType::BF16}) {
    for (int64_t part = 0; part < 2; ++part) {
      const auto ours = read(network_[static_cast<size_t>(part)], kept);
      for (int64_t i = 0; i < kExperts * kHidden * kWidth; ++i) {
        const int64_t row = i / kWidth * 2 + part;  // of theirs, over all experts
        const int64_t column = i % kWidth;
        const auto at = static_cast<size_t>((row * kWidth + column) / 2);
        const int pair = static_cast<uint8_t>(theirs[0].bytes[at]);
        const int four = column % 2 == 0 ? pair % 16 : pair / 16;
        const int scale = theirs[1].bytes[static_cast<size_t>(row * kBlocks + column / 32)];
        const double number = (four < 8 ? 1.0 : -1.0) * numbers[four % 8];
        ASSERT_EQ(ours[static_cast<size_t>(i)],
                  static_cast<float>(number * std::exp2(static_cast<uint8_t>(scale) - 127)))
            << part << ' ' << i;
      }
    }
  }
}

TEST_F(ExpertColumns, InMxfp4AreRefusedByFileAndTensor) {
  const std::string blocks = std::string(kTheirs) + "_blocks";
  const std::string scales = std::string(kTheirs) + "_scales";
  std::vector<Bytes> theirs = packed();
  put_bytes(file_, {theirs[0]});
  EXPECT_THAT(refused(ErrorKind::Data), HasSubstr("has no tensor \"" + scales));
  put_bytes(file_, {theirs[1]});
  EXPECT_THAT(refused(ErrorKind::Data), HasSubstr("has no tensor \"" + std::string(kTheirs)));
  theirs[1].shape = {kExperts, 2 * kHidden * kBlocks};
  put_bytes(file_, theirs);
  EXPECT_THAT(refused(ErrorKind::Input),
              AllOf(HasSubstr("model.safetensors: tensor \"" + scales + "\" is [3, 20]"),
                    HasSubstr("makes it [3, 10, 2]")));
  theirs = packed();
  theirs[0].shape = {kExperts, 2 * kHidden, 2 * kBlocks, 8};
  put_bytes(file_, theirs);
  EXPECT_THAT(refused(ErrorKind::Input),
              AllOf(HasSubstr("tensor \"" + blocks), HasSubstr("makes it [3, 10, 2, 16]")));
  put_tensors(file_, {{blocks, packed()[0].shape}, {scales, packed()[1].shape}});
  EXPECT_THAT(refused(ErrorKind::Input), HasSubstr("is of type F32, but MXFP4 is kept as U8"));
  put_bytes(file_, packed());
  network_[0].shape = network_[1].shape = {kExperts, kHidden, 40};
  EXPECT_THAT(refused(ErrorKind::Input), HasSubstr("do not divide the 40 columns"));
}

TEST_F(ExpertColumns, InMxfp4HaveScalesThatGiveNumbers) {
  for (const int scale : {255, 254, 252}) {
    std::vector<Bytes> theirs = packed();
    theirs[1].bytes.back() = static_cast<char>(scale);  // of a row of `in`
    put_bytes(file_, theirs);
    open().check(network_, false);
    EXPECT_NO_THROW((void)read(network_[0])) << scale;
    if (scale == 252) {
      EXPECT_NO_THROW((void)read(network_[1]));
      continue;
    }
    EXPECT_THAT(refusal(ErrorKind::Data, [&] { (void)read(network_[1]); }),
                AllOf(HasSubstr("model.safetensors: tensor \"" + std::string(kTheirs) + "_scales"),
                      HasSubstr("a scale of " + std::to_string(scale))));
  }
}

}  // namespace
}  // namespace penstock
