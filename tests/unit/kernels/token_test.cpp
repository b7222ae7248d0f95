// tests/unit/kernels/token_test.cpp -- embedding and cross-entropy against double loops.
#include <gmock/gmock.h>

#include "tests/unit/kernels/loops_reference.h"

namespace penstock {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class TokenTest : public FloatingTest {
 protected:
  std::unique_ptr<TokenOps> ops_ = cpu_token_ops(cpu_.context);
};

// The message of the Error(Input) that `f` throws; empty when it throws none.
template <class F>
std::string refusal(const F& f) {
  try {
    f();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::Input);
    return error.what();
  }
  return "";
}

TEST_P(TokenTest, EmbeddingForward) {
  const Tensor table = cpu_.random({5, 21}, DType::F32, 1);
  const Tensor ids = cpu_.of({4, 0, 2, 2, 1, 4}, {2, 3}, DType::I32);
  Tensor y = poisoned({2, 3, 21});
  ops_->embedding_forward(y, ids, table);
  Numbers expected;
  for (const double id : doubles_of(ids)) {
    for (size_t c = 0; c < 21; ++c) {
      expected.push_back(doubles_of(table)[static_cast<size_t>(id) * 21 + c]);
    }
  }
  expect_close(y, expected, "y");
  // A frozen table may be of the type of y: then it has been rounded before.
  const Tensor rounded = cpu_.of(doubles_of(table), {5, 21}, y.dtype());
  Tensor again = poisoned({2, 3, 21});
  ops_->embedding_forward(again, ids, rounded);
  EXPECT_EQ(std::memcmp(again.raw(), y.raw(), y.size_bytes()), 0);
}

TEST_P(TokenTest, EmbeddingBackwardAddsRowsInOrder) {
  const Tensor ids = cpu_.of({4, 0, 2, 2, 1, 4}, {6}, DType::I32);
  const Tensor g = random({6, 21}, 1);
  Tensor dtable = cpu_.random({5, 21}, DType::F32, 2);
  std::vector<float> expected(dtable.data<float>(), dtable.data<float>() + 105);
  ops_->embedding_backward(dtable, ids, g);
  for (size_t r = 0; r < 6; ++r) {
    const auto id = static_cast<size_t>(doubles_of(ids)[r]);
    for (size_t c = 0; c < 21; ++c) {
      expected[id * 21 + c] += static_cast<float>(doubles_of(g)[r * 21 + c]);
    }
  }
  EXPECT_EQ(std::memcmp(dtable.raw(), expected.data(), dtable.size_bytes()), 0);
}

TEST_P(TokenTest, IdsOutsideOfTheTableAreNamed) {
  const Tensor table = cpu_.random({5, 3}, DType::F32, 1);
  Tensor y = poisoned({4, 3});
  Tensor dtable = cpu_.random({5, 3}, DType::F32, 1);
  for (const double bad : {5.0, -1.0}) {
    const Tensor ids = cpu_.of({1, 2, bad, 3}, {4}, DType::I32);
    const std::string value = std::to_string(static_cast<int>(bad));
    EXPECT_THAT(refusal([&] { ops_->embedding_forward(y, ids, table); }),
                AllOf(HasSubstr("id " + value), HasSubstr("row 2")));
    EXPECT_THAT(refusal([&] { ops_->embedding_backward(dtable, ids, y); }),
                AllOf(HasSubstr("id " + value), HasSubstr("row 2")));
  }
}

struct Loss {
  double sum = 0.0;
  double hits = 0.0;
  double counted = 0.0;
  Numbers logsumexp;
};

Loss cross_entropy(const Numbers& logits, const Numbers& labels, double smoothing, double clip) {
  Loss loss;
  const size_t classes = logits.size() / labels.size();
  for (size_t r = 0; r < labels.size(); ++r) {
    double sum = 0.0;
    double exponentials = 0.0;
    size_t best = 0;
    const auto z = [&](size_t c) {
      const double x = logits[r * classes + c];
      return clip > 0.0 ? std::clamp(x, -clip, clip) : x;
    };
    for (size_t c = 0; c < classes; ++c) {
      sum += z(c);
      exponentials += std::exp(z(c) - z(0));
      if (logits[r * classes + c] > logits[r * classes + best]) best = c;
    }
    loss.logsumexp.push_back(z(0) + std::log(exponentials));
    if (labels[r] < 0.0) continue;
    const auto label = static_cast<size_t>(labels[r]);
    loss.sum += loss.logsumexp[r] - (1.0 - smoothing) * z(label) -
                smoothing / static_cast<double>(classes) * sum;
    loss.hits += best == label ? 1.0 : 0.0;
    loss.counted += 1.0;
  }
  return loss;
}

TEST_P(TokenTest, CrossEntropyForward) {
  for (const int64_t classes : {2, 37, 1024, 2500}) {
    const Tensor logits = random({5, classes}, static_cast<uint64_t>(classes), -6.0, 6.0);
    const Tensor labels = cpu_.of({1, -1, 0, static_cast<double>(classes - 1), 1}, {5}, DType::I32);
    for (const CrossEntropyOptions& options :
         {CrossEntropyOptions{}, CrossEntropyOptions{0.1F, 0.0F},
          CrossEntropyOptions{0.1F, 2.5F}}) {
      Tensor result = cpu_.poisoned({3}, DType::F64);
      Tensor logsumexp = cpu_.poisoned({5}, DType::F32);
      ops_->cross_entropy_forward(result, logsumexp, logits, labels, options, 0);
      const Loss expected = cross_entropy(doubles_of(logits), doubles_of(labels),
                                          double{options.label_smoothing}, double{options.clip});
      expect_close(result, {expected.sum, expected.hits, expected.counted}, 1e-5, "result");
      expect_close(logsumexp, expected.logsumexp, 1e-5, "logsumexp");
    }
  }
}

// The largest logit in the second block of the one-pass sum, and logits that overflow e^x.
TEST_P(TokenTest, CrossEntropyOfLargeAndLateLogits) {
  Numbers values(3000, -90.0);
  values[10] = 100.0;
  values[2000] = 300.0;
  const Tensor logits = cpu_.of(values, {1, 3000}, GetParam());
  const Tensor label = cpu_.of({2000}, {1}, DType::I32);
  Tensor result = cpu_.poisoned({3}, DType::F64);
  Tensor logsumexp = cpu_.poisoned({1}, DType::F32);
  ops_->cross_entropy_forward(result, logsumexp, logits, label, {}, 0);
  expect_close(result, {0.0, 1.0, 1.0}, 1e-5, "result");
  expect_close(logsumexp, {doubles_of(logits)[2000]}, 1e-5, "logsumexp");
}

// A masked class is one that nobody wants: its logit is -infinity. Some, and a whole block of the
// one-pass sum, which then knows no largest logit.
TEST_P(TokenTest, MaskedLogitsCountForNothing) {
  for (const size_t masked : {size_t{3}, size_t{1024}, size_t{2048}}) {
    Numbers values(masked + 5, -HUGE_VAL);
    Numbers visible;
    for (size_t i = 0; i < 5; ++i) visible.push_back(values[masked + i] = 0.5 * double(i));
    const int64_t classes = std::ssize(values);
    const Tensor logits = cpu_.of(values, {1, classes}, GetParam());
    const Tensor label = cpu_.of({double(masked + 2)}, {1}, DType::I32);
    Tensor result = cpu_.poisoned({3}, DType::F64);
    Tensor logsumexp = cpu_.poisoned({1}, DType::F32);
    Tensor dlogits = poisoned({1, classes});
    ops_->cross_entropy_forward(result, logsumexp, logits, label, {}, 0);
    ops_->cross_entropy_backward(dlogits, logits, label, logsumexp, 1.0F, {}, 0);
    const Loss expected = cross_entropy(visible, {2.0}, 0.0, 0.0);
    expect_close(result, {expected.sum, 0.0, 1.0}, 1e-5, "result");
    expect_close(logsumexp, expected.logsumexp, 1e-5, "logsumexp");
    Numbers gradient(values.size(), 0.0);
    for (size_t i = 0; i < 5; ++i) {
      gradient[masked + i] = std::exp(visible[i] - expected.logsumexp[0]) - (i == 2 ? 1.0 : 0.0);
    }
    expect_close(dlogits, gradient, "dlogits");
  }
}

TEST_P(TokenTest, EqualLogitsCountForTheFirstClassOnly) {
  const Tensor logits = cpu_.of(Numbers(40, 0.5), {4, 10}, GetParam());
  const Tensor labels = cpu_.of({0, 1, 5, 9}, {4}, DType::I32);
  Tensor result = cpu_.poisoned({3}, DType::F64);
  Tensor logsumexp = cpu_.poisoned({4}, DType::F32);
  ops_->cross_entropy_forward(result, logsumexp, logits, labels, {}, 0);
  EXPECT_EQ(doubles_of(result)[1], 1.0);
}

TEST_P(TokenTest, CrossEntropyBackward) {
  const int64_t classes = 23;
  const Tensor logits = random({4, classes}, 1, -3.0, 3.0);
  const Tensor labels = cpu_.of({3, -1, 22, 0}, {4}, DType::I32);
  for (const CrossEntropyOptions& options :
       {CrossEntropyOptions{}, CrossEntropyOptions{0.1F, 0.0F}, CrossEntropyOptions{0.1F, 2.003F},
        CrossEntropyOptions{0.1F, 2.003F, 0.05F}}) {
    Tensor result = cpu_.poisoned({3}, DType::F64);
    Tensor logsumexp = cpu_.poisoned({4}, DType::F32);
    ops_->cross_entropy_forward(result, logsumexp, logits, labels, options, 0);
    Tensor dlogits = poisoned({4, classes});
    ops_->cross_entropy_backward(dlogits, logits, labels, logsumexp, 0.5F, options, 0);
    const Numbers expected = central_differences(
        [&](const Numbers& v) {
          const Loss loss = cross_entropy(v, doubles_of(labels), double{options.label_smoothing},
                                          double{options.clip});
          double squares = 0.0;
          for (size_t r = 0; r < 4; ++r) {
            if (doubles_of(labels)[r] >= 0.0) squares += loss.logsumexp[r] * loss.logsumexp[r];
          }
          return 0.5 * (loss.sum + double{options.z} * squares);
        },
        doubles_of(logits));
    expect_close(dlogits, expected, "dlogits");
    Tensor in_place = cpu_.of(doubles_of(logits), {4, classes}, GetParam());
    ops_->cross_entropy_backward(in_place, in_place, labels, logsumexp, 0.5F, options, 0);
    expect_same_bits({in_place}, {dlogits}, "in place");
  }
}

// Pieces of the rows, one after another, give the bits of all rows at once: the losses are added in
// the same order.
TEST_P(TokenTest, CrossEntropyOfPiecesOfTheRows) {
  constexpr int64_t kRows = 7;
  constexpr int64_t kClasses = 1100;
  const CrossEntropyOptions options = {.label_smoothing = 0.1F, .clip = 4.0F};
  const Tensor logits = random({kRows, kClasses}, 1);
  const Tensor labels = cpu_.of({3, 1099, -1, 0, 77, 5, 900}, {kRows}, DType::I32);
  Tensor result = cpu_.poisoned({3}, DType::F64);
  Tensor logsumexp = cpu_.poisoned({kRows}, DType::F32);
  Tensor dlogits = poisoned({kRows, kClasses});
  ops_->cross_entropy_forward(result, logsumexp, logits, labels, options, 0);
  ops_->cross_entropy_backward(dlogits, logits, labels, logsumexp, 0.5F, options, 0);
  Tensor sum = cpu_.poisoned({3}, DType::F64);
  Tensor of_rows = cpu_.poisoned({kRows}, DType::F32);
  Tensor gradient = poisoned({kRows, kClasses});
  for (const int64_t first : {0, 3, 6}) {
    const Shape shape = {std::min<int64_t>(3, kRows - first), kClasses};
    const Tensor piece = logits.view(first * kClasses, shape);
    Tensor part = gradient.view(first * kClasses, shape);
    ops_->cross_entropy_forward(sum, of_rows, piece, labels, options, first);
    ops_->cross_entropy_backward(part, piece, labels, of_rows, 0.5F, options, first);
  }
  EXPECT_EQ(std::memcmp(sum.raw(), result.raw(), result.size_bytes()), 0);
  EXPECT_EQ(std::memcmp(of_rows.raw(), logsumexp.raw(), logsumexp.size_bytes()), 0);
  EXPECT_EQ(std::memcmp(gradient.raw(), dlogits.raw(), dlogits.size_bytes()), 0);
  try {
    ops_->cross_entropy_forward(sum, of_rows, logits, labels, options, 1);
    ADD_FAILURE();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::Internal);
    EXPECT_THAT(error.what(), HasSubstr("from row 1 on is no part of 7 rows"));
  }
}

TEST_P(TokenTest, LabelsBeyondTheClassesAreNamed) {
  const Tensor logits = random({3, 7}, 1);
  const Tensor labels = cpu_.of({0, 7, 1}, {3}, DType::I32);
  Tensor result = cpu_.poisoned({3}, DType::F64);
  Tensor logsumexp = cpu_.poisoned({3}, DType::F32);
  Tensor dlogits = poisoned({3, 7});
  EXPECT_THAT(
      refusal([&] { ops_->cross_entropy_forward(result, logsumexp, logits, labels, {}, 0); }),
      AllOf(HasSubstr("label 7"), HasSubstr("row 1")));
  EXPECT_THAT(refusal([&] {
                ops_->cross_entropy_backward(dlogits, logits, labels, logsumexp, 1.0F, {}, 0);
              }),
              AllOf(HasSubstr("label 7"), HasSubstr("row 1")));
  // The row is that of all rows.
  const Tensor piece = random({2, 7}, 1);
  EXPECT_THAT(
      refusal([&] { ops_->cross_entropy_forward(result, logsumexp, piece, labels, {}, 1); }),
      AllOf(HasSubstr("label 7"), HasSubstr("row 1")));
}

TEST_P(TokenTest, RepeatsToTheBit) {
  const DType type = GetParam();
  expect_repeatable([type](TestCpu& cpu, int64_t shift) {
    const auto ops = cpu_token_ops(cpu.context);
    const int64_t rows = 60;
    const int64_t classes = 1111;
    const Tensor logits = cpu.random({rows, classes}, type, 1, -5.0, 5.0, shift);
    const Tensor labels = cpu.random({rows}, DType::I32, 2, 0.0, 1111.0, shift);
    Tensor result = cpu.poisoned({3}, DType::F64, shift);
    Tensor logsumexp = cpu.poisoned({rows}, DType::F32, shift);
    Tensor dlogits = cpu.poisoned({rows, classes}, type, shift);
    const CrossEntropyOptions options{0.1F, 4.0F};
    ops->cross_entropy_forward(result, logsumexp, logits, labels, options, 0);
    ops->cross_entropy_backward(dlogits, logits, labels, logsumexp, 1.0F, options, 0);
    Tensor dtable = cpu.random({1111, 300}, DType::F32, 3, -1.0, 1.0, shift);
    const Tensor ids = cpu.random({400}, DType::I32, 4, 0.0, 20.0, shift);
    Tensor embedded = cpu.poisoned({400, 300}, type, shift);
    ops->embedding_forward(embedded, ids, dtable);
    ops->embedding_backward(dtable, ids, cpu.random({400, 300}, type, 5, -1.0, 1.0, shift));
    return std::vector<Tensor>{result, logsumexp, dlogits, embedded, dtable};
  });
}

INSTANTIATE_TEST_SUITE_P(Types, TokenTest, ::testing::Values(DType::F32, DType::BF16),
                         floating_name);

}  // namespace
}  // namespace penstock
