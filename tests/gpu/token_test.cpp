// Embedding tables and the cross-entropy on a GPU beside the CPU's.
#include <cmath>
#include <cstring>
#include <limits>

#include "kernels/error.h"
#include "tests/gpu/compare.h"

namespace penstock {
namespace {

class GpuToken : public GpuFloatTest {
 protected:
  DType type_ = GetParam();
  TokenOps& gpu_ = gpu().token();
  TokenOps& cpu_ = cpu().token();
};
PENSTOCK_FLOAT_TYPES(GpuToken);

// How ids repeat decides how the backward sums.
Twin ids_below(int64_t count, int64_t rows, uint64_t seed) {
  return random({count}, DType::I32, seed, 0.0, static_cast<double>(rows));
}

TEST_P(GpuToken, EmbeddingForward) {
  struct Case {
    int64_t count, rows, width;
  };
  for (const Case c : {Case{1, 1, 1}, Case{5, 3, 7}, Case{33, 1000, 768}, Case{0, 4, 8},
                       Case{9, 50257, 12}, Case{3, 4, 4097}}) {
    for (const int64_t shift : {0, 1}) {
      const Twin ids = ids_below(c.count, c.rows, 1);
      const Twin table = random({c.rows, c.width}, DType::F32, 2);
      Twin y = poisoned({c.count, c.width}, type_, shift);
      gpu_.embedding_forward(y.gpu, ids.gpu, table.gpu);
      cpu_.embedding_forward(y.cpu, ids.cpu, table.cpu);
      expect_close(y, "rows of " + std::to_string(c.width));
      // A frozen table may be of the type of y: then it has been rounded before.
      Twin rounded = poisoned({c.rows, c.width}, type_);
      gpu().pointwise().copy(rounded.gpu, table.gpu);
      Twin again = poisoned({c.count, c.width}, type_, shift);
      gpu_.embedding_forward(again.gpu, ids.gpu, rounded.gpu);
      EXPECT_EQ(values_of(gpu(), again.gpu), values_of(gpu(), y.gpu));
    }
  }
}

// In ascending order of positions, as the CPU: fp32 sums are equal to the bit.
TEST_P(GpuToken, PlacesInPackedRows) {
  const Twin starts = from_values({0, 0, 2, 3, 0, 1, 1, 1}, {2, 4}, DType::I32);
  Twin places = from_values(std::vector<double>(8, -1.0), {2, 4}, DType::I32);
  gpu().token().packed_places(places.gpu, starts.gpu);
  cpu().token().packed_places(places.cpu, starts.cpu);
  expect_close(places.gpu, {0, 1, 0, 0, 0, 0, 1, 2}, 0.0, "places on the GPU");
  expect_close(places, "places");
}

TEST_P(GpuToken, EmbeddingBackwardAddsInOrder) {
  struct Case {
    int64_t count, rows, width;
  };
  for (const Case c :
       {Case{1, 1, 1}, Case{300, 1, 8}, Case{511, 40, 7}, Case{512, 50257, 12}, Case{2000, 30, 130},
        Case{1700, 5000, 16}, Case{0, 4, 8}, Case{9, 3, 768}, Case{1024, 9, 4}, Case{1025, 9, 4},
        Case{40, 7, 264}, Case{12345, 50257, 2}, Case{33000, 7, 1}}) {
    for (const int64_t shift : {0, 1}) {
      const std::string what = std::to_string(c.count) + " ids below " + std::to_string(c.rows);
      const Twin ids = ids_below(c.count, c.rows, 1);
      const Twin g = random({c.count, c.width}, type_, 2, -1.0, 1.0, shift);
      Twin dtable = random({c.rows, c.width}, DType::F32, 3, -1.0, 1.0, shift);
      gpu_.embedding_backward(dtable.gpu, ids.gpu, g.gpu);
      cpu_.embedding_backward(dtable.cpu, ids.cpu, g.cpu);
      expect_close(dtable, 0.0, what);
    }
  }
}

void expect_input_error(const std::string& what) {
  try {
    gpu().synchronize();
    ADD_FAILURE() << "no error: " << what;
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::Input);
    EXPECT_NE(std::string(error.what()).find(what), std::string::npos) << error.what();
  }
  gpu().synchronize();  // it is told once
}

TEST_P(GpuToken, AnIdOutsideTheTableIsTold) {
  const Twin table = random({4, 8}, DType::F32, 1);
  for (const double bad : {-1.0, 4.0, 2147483647.0, -2147483648.0}) {
    const Twin ids = from_values({0.0, bad, 3.0}, {3}, DType::I32);
    Twin y = poisoned({3, 8}, type_);
    gpu_.embedding_forward(y.gpu, ids.gpu, table.gpu);
    expect_input_error("token id " + std::to_string(static_cast<int32_t>(bad)));
    const Twin g = random({3, 8}, type_, 2);
    Twin dtable = random({4, 8}, DType::F32, 3);
    gpu_.embedding_backward(dtable.gpu, ids.gpu, g.gpu);
    expect_input_error("token id " + std::to_string(static_cast<int32_t>(bad)));
    // Everyone else got their share.
    Twin rest = random({4, 8}, DType::F32, 3);
    const Twin good_ids = from_values({0.0, 3.0}, {2}, DType::I32);
    const std::vector<double> all = values_of(gpu(), g.gpu);
    std::vector<double> kept(all.begin(), all.begin() + 8);
    kept.insert(kept.end(), all.begin() + 16, all.end());
    const Twin good_g = from_values(kept, {2, 8}, type_);
    cpu_.embedding_backward(rest.cpu, good_ids.cpu, good_g.cpu);
    expect_close(dtable.gpu, values_of(cpu(), rest.cpu), 0.0, "dtable");
  }
}

struct Rows {
  int64_t rows, classes;
  int64_t shift;
};
constexpr Rows kRows[] = {{1, 1, 0},    {5, 7, 0},     {40, 10, 1},  {3, 768, 0}, {70, 1000, 0},
                          {3, 4097, 0}, {3, 50257, 0}, {2, 4096, 1}, {0, 10, 0},  {300, 9, 0}};

// Both halves beside the CPU's.
void compare_losses(DType type, const Rows& shape, const CrossEntropyOptions& options) {
  const std::string what = std::to_string(shape.rows) + " x " + std::to_string(shape.classes) +
                           ", smoothing " + std::to_string(options.label_smoothing) + ", clip " +
                           std::to_string(options.clip);
  const Twin logits = random({shape.rows, shape.classes}, type, 1, -6.0, 6.0, shape.shift);
  // Some negative: ignored.
  const Twin labels = random({shape.rows}, DType::I32, 2, -0.3 * static_cast<double>(shape.classes),
                             static_cast<double>(shape.classes));
  Twin result = poisoned({3}, DType::F64);
  Twin logsumexp = poisoned({shape.rows}, DType::F32);
  gpu().token().cross_entropy_forward(result.gpu, logsumexp.gpu, logits.gpu, labels.gpu, options,
                                      0);
  cpu().token().cross_entropy_forward(result.cpu, logsumexp.cpu, logits.cpu, labels.cpu, options,
                                      0);
  expect_close(result, "result of " + what);
  expect_close(logsumexp, "logsumexp of " + what);
  Twin dlogits = poisoned({shape.rows, shape.classes}, type, shape.shift);
  gpu().token().cross_entropy_backward(dlogits.gpu, logits.gpu, labels.gpu, logsumexp.gpu, 0.25F,
                                       options, 0);
  cpu().token().cross_entropy_backward(dlogits.cpu, logits.cpu, labels.cpu, logsumexp.cpu, 0.25F,
                                       options, 0);
  expect_close(dlogits, "dlogits of " + what);
  Tensor in_place = logits.gpu;
  gpu().token().cross_entropy_backward(in_place, logits.gpu, labels.gpu, logsumexp.gpu, 0.25F,
                                       options, 0);
  EXPECT_EQ(bytes_of(in_place), bytes_of(dlogits.gpu)) << "in place, " << what;
}

TEST_P(GpuToken, CrossEntropy) {
  for (const Rows& shape : kRows) {
    for (const float smoothing : {0.0F, 0.1F}) {
      for (const float clip : {0.0F, 4.0F}) compare_losses(type_, shape, {smoothing, clip});
      compare_losses(type_, shape, {.label_smoothing = smoothing, .z = 0.01F});
    }
  }
}

// Pieces of the rows, one after another: the result is a sum over them.
TEST_P(GpuToken, CrossEntropyOfPiecesOfTheRows) {
  constexpr int64_t kAll = 7;
  constexpr int64_t kClasses = 2500;
  const CrossEntropyOptions options = {.label_smoothing = 0.1F, .clip = 4.0F};
  const Twin logits = random({kAll, kClasses}, type_, 1, -6.0, 6.0);
  const Twin labels = from_values({3.0, 2499.0, -1.0, 0.0, 77.0, 5.0, 900.0}, {kAll}, DType::I32);
  Twin result = poisoned({3}, DType::F64);
  Twin logsumexp = poisoned({kAll}, DType::F32);
  Twin dlogits = poisoned({kAll, kClasses}, type_);
  for (const int64_t first : {0, 3, 6}) {
    const Shape shape = {std::min<int64_t>(3, kAll - first), kClasses};
    const Tensor piece = logits.gpu.view(first * kClasses, shape);
    Tensor part = dlogits.gpu.view(first * kClasses, shape);
    gpu_.cross_entropy_forward(result.gpu, logsumexp.gpu, piece, labels.gpu, options, first);
    gpu_.cross_entropy_backward(part, piece, labels.gpu, logsumexp.gpu, 0.5F, options, first);
  }
  cpu_.cross_entropy_forward(result.cpu, logsumexp.cpu, logits.cpu, labels.cpu, options, 0);
  cpu_.cross_entropy_backward(dlogits.cpu, logits.cpu, labels.cpu, logsumexp.cpu, 0.5F, options, 0);
  expect_close(result, "result");
  expect_close(logsumexp, "logsumexp");
  expect_close(dlogits, "dlogits");
}

TEST_P(GpuToken, TheFirstOfEqualLargestLogitsCounts) {
  for (const int64_t classes : {20, 5000}) {
    std::vector<double> row(static_cast<size_t>(classes), 0.5);
    for (const int64_t at : {5, 6, 14, 19}) row[static_cast<size_t>(at)] = 3.0;
    for (const double label : {5.0, 6.0, 14.0, 0.0}) {
      const Twin logits = from_values(row, {1, classes}, type_);
      const Twin labels = from_values({label}, {1}, DType::I32);
      Twin result = poisoned({3}, DType::F64);
      Twin logsumexp = poisoned({1}, DType::F32);
      // Clipped all are equal; the count is of the logits as they were.
      gpu_.cross_entropy_forward(result.gpu, logsumexp.gpu, logits.gpu, labels.gpu, {0.0F, 0.25F},
                                 0);
      cpu_.cross_entropy_forward(result.cpu, logsumexp.cpu, logits.cpu, labels.cpu, {0.0F, 0.25F},
                                 0);
      expect_close(result, "label " + std::to_string(label));
      EXPECT_EQ(values_of(gpu(), result.gpu)[1], label == 5.0 ? 1.0 : 0.0);
    }
  }
}

TEST_P(GpuToken, ALargeLogitAnywhereInTheRow) {
  for (const int64_t at : {0, 1, 4000, 5000}) {
    std::vector<double> row(5001, -80.0);
    row[static_cast<size_t>(at)] = 80.0;
    const Twin logits = from_values(row, {1, 5001}, type_);
    const Twin labels = from_values({static_cast<double>(at)}, {1}, DType::I32);
    Twin result = poisoned({3}, DType::F64);
    Twin logsumexp = poisoned({1}, DType::F32);
    gpu_.cross_entropy_forward(result.gpu, logsumexp.gpu, logits.gpu, labels.gpu, {}, 0);
    EXPECT_NEAR(values_of(gpu(), logsumexp.gpu)[0], 80.0, 1e-4) << at;
    EXPECT_EQ(values_of(gpu(), result.gpu)[1], 1.0) << at;
  }
}

TEST_P(GpuToken, ANaNIsNotLost) {
  std::vector<double> row(5001, 1.0);
  row[77] = std::numeric_limits<double>::quiet_NaN();
  const Twin logits = from_values(row, {1, 5001}, type_);
  const Twin labels = from_values({3.0}, {1}, DType::I32);
  Twin result = poisoned({3}, DType::F64);
  Twin logsumexp = poisoned({1}, DType::F32);
  gpu_.cross_entropy_forward(result.gpu, logsumexp.gpu, logits.gpu, labels.gpu, {}, 0);
  EXPECT_TRUE(std::isnan(values_of(gpu(), result.gpu)[0]));
}

// Padding of a vocabulary may be masked so: the CPU's exponentials of a whole block of such are
// NaN.
TEST_P(GpuToken, LogitsOfMinusInfinityCountForNothing) {
  const double low = -std::numeric_limits<double>::infinity();
  std::vector<double> row(5001, low);
  row[4000] = 2.0;
  row[4001] = 2.0;
  const Twin logits = from_values(row, {1, 5001}, type_);
  const Twin labels = from_values({-1.0}, {1}, DType::I32);
  Twin result = poisoned({3}, DType::F64);
  Twin logsumexp = poisoned({1}, DType::F32);
  gpu_.cross_entropy_forward(result.gpu, logsumexp.gpu, logits.gpu, labels.gpu, {}, 0);
  EXPECT_NEAR(values_of(gpu(), logsumexp.gpu)[0], 2.0 + std::log(2.0), 1e-5);
}

TEST_P(GpuToken, ALabelBeyondTheClassesIsTold) {
  for (const int64_t classes : {10, 3000}) {
    const Twin logits = random({3, classes}, type_, 1);
    const Twin labels = from_values({1.0, static_cast<double>(classes), 2.0}, {3}, DType::I32);
    Twin result = poisoned({3}, DType::F64);
    Twin logsumexp = poisoned({3}, DType::F32);
    Twin dlogits = poisoned({3, classes}, type_);
    gpu_.cross_entropy_forward(result.gpu, logsumexp.gpu, logits.gpu, labels.gpu, {}, 0);
    expect_input_error("label " + std::to_string(classes));
    gpu_.cross_entropy_backward(dlogits.gpu, logits.gpu, labels.gpu, logsumexp.gpu, 1.0F, {}, 0);
    expect_input_error("label " + std::to_string(classes));
  }
}

TEST_P(GpuToken, CrossEntropyDependsOnShapesNotOnAddresses) {
  const auto run = [&](int64_t shift) {
    const Twin logits = random({5, 5003}, type_, 1, -6.0, 6.0, shift);
    const Twin labels = random({5}, DType::I32, 2, 0.0, 5003.0);
    Twin result = poisoned({3}, DType::F64);
    Twin logsumexp = poisoned({5}, DType::F32);
    Twin dlogits = poisoned({5, 5003}, type_, shift);
    gpu_.cross_entropy_forward(result.gpu, logsumexp.gpu, logits.gpu, labels.gpu, {0.1F, 0.0F}, 0);
    gpu_.cross_entropy_backward(dlogits.gpu, logits.gpu, labels.gpu, logsumexp.gpu, 1.0F, {}, 0);
    return std::vector{bytes_of(result.gpu), bytes_of(logsumexp.gpu), bytes_of(dlogits.gpu)};
  };
  EXPECT_EQ(run(0), run(1));
  EXPECT_EQ(run(0), run(0));
}

}  // namespace
}  // namespace penstock
