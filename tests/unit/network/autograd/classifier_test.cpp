// classifier_loss(): in pieces it is the loss and the gradient of all logits at once, in each of
// the ways that a backward can run.
#include "runtime/network/autograd/logit_rows.h"
#include "tests/unit/network/autograd/gradients.h"

namespace penstock {
namespace {

// What a backward leaves, in this order: the result, the gradients of x (if wanted), weight, bias.
using Left = std::vector<Bits>;

class ClassifierLossTest : public AutogradTest {
 protected:
  static constexpr int64_t kRows = 7;
  static constexpr int64_t kWidth = 4;
  static constexpr int64_t kClasses = 5;
  static constexpr float kScale = 0.25F;

  ClassifierLossTest()
      : labels_(integers({kRows}, {2, -1, 0, 4, 3, -100, 1})), x_(random({1, kRows, kWidth}, 3)) {}

  // The loss without a tape.
  [[nodiscard]] std::vector<double> evaluated(ClassifierLossOptions options, int64_t rows) {
    options.rows_at_once = rows;
    Tape off(device());
    const Tensor result = classifier_loss(off, {x_, -1}, weight_, bias_, labels_, kScale, options);
    EXPECT_TRUE(off.empty());
    return numbers(result);
  }
  [[nodiscard]] Left trained(ClassifierLossOptions options, int64_t rows, bool halves,
                             bool tracked = true) {
    options.rows_at_once = rows;
    for (Parameter& p : parameters_) device().pointwise().fill(p.gradient, kBefore);
    Tape tape(device());
    tape.set_recording(true);
    const Variable x = tape.output(x_, tracked);
    const Tensor result = classifier_loss(tape, x, weight_, bias_, labels_, kScale, options);
    tape.set_recording(false);
    tape.backward(halves ? Halves::Input : Halves::Both);
    const std::vector<double> told = numbers(result);
    Left left = {Bits(told.begin(), told.end())};
    if (tracked) left.push_back(bits_of(tape.take_gradient(x.slot)));
    if (halves) tape.backward(Halves::Weight);
    EXPECT_TRUE(tape.empty());
    for (Parameter& p : parameters_) left.push_back(bits_of(p.gradient));
    return left;
  }
  static std::vector<double> numbers(const Tensor& result) {
    const auto values = result.span<double>();
    return {values.begin(), values.end()};
  }
  static void expect_same(const Left& a, const Left& b, const std::string& what) {
    ASSERT_EQ(a.size(), b.size()) << what;
    for (size_t i = 0; i < a.size(); ++i) EXPECT_TRUE(same_bits(a[i], b[i])) << what << ", " << i;
  }

  Parameter& weight_ = parameter({kClasses, kWidth}, 1);
  Parameter* bias_ = &parameter({kClasses}, 2);
  Tensor labels_, x_;
};

const std::vector<ClassifierLossOptions> kWays = {
    {},
    {.loss = {.label_smoothing = 0.1F}},
    {.loss = {.label_smoothing = 0.1F, .clip = 1.0F}},
    {.loss = {.label_smoothing = 0.1F}, .softcap = 0.75F}};

TEST_F(ClassifierLossTest, InPiecesIsTheDerivativeOfTheLoss) {
  for (const ClassifierLossOptions& options : kWays) {
    for (const int64_t rows : {1, 3}) {
      const Left left = trained(options, rows, false);
      const auto loss = [&] { return double{kScale} * evaluated(options, rows)[0]; };
      ASSERT_EQ(left.size(), 4U);
      EXPECT_LE(difference_error(left[1], 0.0, x_, nullptr, loss), kTolerance);
      EXPECT_LE(difference_error(left[2], kBefore, weight_.weight.value(), &weight_.weight, loss),
                kTolerance);
      EXPECT_LE(difference_error(left[3], kBefore, bias_->weight.value(), &bias_->weight, loss),
                kTolerance);
    }
  }
}

TEST_F(ClassifierLossTest, TellsTheLossOfAllRows) {
  for (const ClassifierLossOptions& options : kWays) {
    const std::vector<double> whole = evaluated(options, kRows);
    EXPECT_EQ(whole[2], 5.0);
    for (const int64_t rows : {1, 3, 6}) {
      const std::vector<double> pieces = evaluated(options, rows);
      EXPECT_NEAR(pieces[0], whole[0], 1e-5);
      EXPECT_EQ(pieces[1], whole[1]);
      EXPECT_EQ(pieces[2], whole[2]);
      const Bits told = trained(options, rows, false)[0];
      for (size_t i = 0; i < 3; ++i) EXPECT_EQ(told[i], static_cast<float>(pieces[i]));
    }
  }
}

TEST_F(ClassifierLossTest, OnePieceHasTheBitsOfTheTwoFunctions) {
  const CrossEntropyOptions loss = {.label_smoothing = 0.1F, .z = 0.05F};
  for (const float softcap : {0.0F, 0.75F}) {
    const Left one = trained({.loss = loss, .softcap = softcap}, kRows, false);
    Tape tape(device());
    tape.set_recording(true);
    for (Parameter& p : parameters_) device().pointwise().fill(p.gradient, kBefore);
    const Variable x = tape.output(x_, true);
    const Fused f = softcap > 0.0F ? Fused::Tanh : Fused::None;
    Variable logits = linear(tape, x, weight_, bias_, f);
    if (softcap > 0.0F) logits = scale(tape, logits, softcap);
    const std::vector<double> told = numbers(cross_entropy(tape, logits, labels_, kScale, loss));
    tape.backward(Halves::Both);
    expect_same(one,
                {Bits(told.begin(), told.end()), bits_of(tape.take_gradient(x.slot)),
                 bits_of(weight_.gradient), bits_of(bias_->gradient)},
                "one piece");
  }
}

TEST_F(ClassifierLossTest, HalvesApartHaveTheSameBits) {
  for (const ClassifierLossOptions& options : kWays) {
    for (const int64_t rows : {1, 3, 6}) {
      expect_same(trained(options, rows, false), trained(options, rows, true), "halves");
    }
  }
}

// What is frozen or unwanted is left out, and changes nothing else.
TEST_F(ClassifierLossTest, LeavesOutWhatNobodyWants) {
  const Left all = trained({}, 3, false);
  const Bits untouched(all[2].size(), kBefore);
  for (const bool halves : {false, true}) {
    expect_same(trained({}, 3, halves, false), {all[0], all[2], all[3]}, "no gradient of x");
    weight_.frozen = true;
    expect_same(trained({}, 3, halves), {all[0], all[1], untouched, all[3]}, "frozen weight");
    bias_->frozen = true;
    expect_same(trained({}, 3, halves), {all[0], all[1], untouched, Bits(all[3].size(), kBefore)},
                "all frozen");
    // Nothing is differentiated, so no backward would bring the loss.
    expect_same(trained({}, 3, halves, false), {all[0], untouched, Bits(all[3].size(), kBefore)},
                "nothing trained");
    weight_.frozen = bias_->frozen = false;
  }
}

// A stale gradient is overwritten by the first piece and added to by the others.
TEST_F(ClassifierLossTest, OverwritesAStaleGradient) {
  const Left fresh = trained({}, 3, false);
  weight_.stale = bias_->stale = true;
  const Left left = trained({}, 3, false);
  EXPECT_FALSE(weight_.stale);
  for (size_t p : {size_t{2}, size_t{3}}) {
    for (size_t i = 0; i < left[p].size(); ++i) {
      EXPECT_NEAR(left[p][i], fresh[p][i] - kBefore, 1e-6);
    }
  }
}

TEST_F(ClassifierLossTest, ReadsItsInputOnly) {
  const Bits before = bits_of(x_);
  (void)trained({}, 3, false);
  (void)trained({}, 3, true);
  EXPECT_TRUE(same_bits(bits_of(x_), before));
}

TEST_F(ClassifierLossTest, WithoutABias) {
  bias_ = nullptr;
  const Left left = trained({}, 3, false);
  const auto loss = [&] { return double{kScale} * evaluated({}, 3)[0]; };
  EXPECT_LE(difference_error(left[2], kBefore, weight_.weight.value(), &weight_.weight, loss),
            kTolerance);
  expect_same(left, trained({}, 3, true), "halves");
}

TEST(LogitRows, AreAllOrPiecesOfWholeGroups) {
  EXPECT_EQ(logit_rows_at_once(0, 151936), 0);
  EXPECT_EQ(logit_rows_at_once(4096, 4096), 4096);  // 64 MiB in fp32
  EXPECT_EQ(logit_rows_at_once(4097, 4096), 2112);  // two pieces, of whole groups of 64
  EXPECT_EQ(logit_rows_at_once(512, 262144), 512);
  EXPECT_EQ(logit_rows_at_once(520, 262144), 320);
  EXPECT_EQ(logit_rows_at_once(4096, 151936), 512);
  EXPECT_EQ(logit_rows_at_once(4096, 32000), 512);
  EXPECT_EQ(logit_rows_at_once(int64_t{1} << 20, 2), int64_t{1} << 20);
}

}  // namespace
}  // namespace penstock
