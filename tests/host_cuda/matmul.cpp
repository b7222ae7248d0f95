#include "tests/host_cuda/matmul.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

namespace penstock::host_cuda {
namespace {

bool has(const Matmul& p, uint32_t bits) {
  return (p.epilogue & bits) == bits;
}

constexpr uint32_t kAux = 128;       // the epilogue reads or writes the auxiliary matrix
constexpr uint32_t kOutputSum = 16;  // *_BGRAD: sums of d along its rows

// The tanh form, and its derivative.
constexpr float kRootTwoOverPi = 0.7978845608028654F;
constexpr float kCubic = 0.044715F;

float gelu(float x) {
  return 0.5F * x * (1 + std::tanh(kRootTwoOverPi * (x + kCubic * x * x * x)));
}

float gelu_derivative(float x) {
  const float t = std::tanh(kRootTwoOverPi * (x + kCubic * x * x * x));
  return 0.5F * (1 + t) + 0.5F * x * (1 - t * t) * kRootTwoOverPi * (1 + 3 * kCubic * x * x);
}

// One batch of a matrix as floats, column after column.
std::vector<float> unpacked_matrix(const Matrix& m, const void* data, int64_t batch, bool tf32) {
  std::vector<float> values(static_cast<size_t>(m.rows * m.columns));
  for (int64_t j = 0; j < m.columns; ++j) {
    for (int64_t i = 0; i < m.rows; ++i) {
      const float value = load(m.type, data, i * m.by_row + j * m.by_column + batch * m.by_batch);
      values[static_cast<size_t>(j * m.rows + i)] = tf32 ? as_tf32(value) : value;
    }
  }
  return values;
}

// sums[m] = the column j of a b.
void multiply_column(const std::vector<float>& a, const float* b, int64_t m, int64_t k,
                     std::vector<float>& sums) {
  std::fill(sums.begin(), sums.end(), 0.0F);
  float* const sum = sums.data();
  int64_t l = 0;
  for (; l + 4 <= k; l += 4) {
    const float* const first = a.data() + l * m;
    const float b0 = b[l], b1 = b[l + 1], b2 = b[l + 2], b3 = b[l + 3];
    for (int64_t i = 0; i < m; ++i) {
      sum[i] = (((sum[i] + first[i] * b0) + first[m + i] * b1) + first[2 * m + i] * b2) +
               first[3 * m + i] * b3;
    }
  }
  for (; l < k; ++l) {
    const float* const column = a.data() + l * m;
    for (int64_t i = 0; i < m; ++i) sum[i] += column[i] * b[l];
  }
}

// What the epilogue makes of element (i, j), and what it leaves in aux.
float finished(const Matmul& p, float x, int64_t batch, int64_t i, int64_t j) {
  const int64_t at = i + j * p.aux_ld + batch * p.aux.by_batch;
  if (has(p, CUBLASLT_EPILOGUE_BIAS))
    x += load(p.bias.type, p.bias.data, i + batch * p.bias.by_batch);
  if (has(p, CUBLASLT_EPILOGUE_DGELU)) return x * gelu_derivative(load(p.aux.type, p.aux.data, at));
  auto* const bits = static_cast<uint8_t*>(p.aux.data);
  const auto bit = static_cast<uint8_t>(1U << at % 8);
  if (has(p, CUBLASLT_EPILOGUE_DRELU)) return (bits[at / 8] & bit) != 0 ? x : 0;
  if (has(p, CUBLASLT_EPILOGUE_GELU)) {
    if (has(p, kAux)) store(p.aux.type, p.aux.data, at, x);
    return gelu(x);
  }
  if (has(p, CUBLASLT_EPILOGUE_RELU)) {
    if (has(p, kAux)) {
      bits[at / 8] = static_cast<uint8_t>(x > 0 ? bits[at / 8] | bit : bits[at / 8] & ~bit);
    }
    return x > 0 || x != x ? x : 0;
  }
  return x;
}

// The sums over k of a along its rows, or of b along its columns.
void sum_operands(const Matmul& p, const std::vector<float>& a, const std::vector<float>& b,
                  int64_t batch) {
  const int64_t m = p.d.rows, n = p.d.columns, k = p.a.columns;
  const int64_t first = batch * p.bias.by_batch;
  if (has(p, CUBLASLT_EPILOGUE_BGRADA)) {
    for (int64_t i = 0; i < m; ++i) {
      float sum = 0;
      for (int64_t l = 0; l < k; ++l) sum += a[static_cast<size_t>(l * m + i)];
      store(p.bias.type, p.bias.data, first + i, sum);
    }
  }
  if (has(p, CUBLASLT_EPILOGUE_BGRADB)) {
    for (int64_t j = 0; j < n; ++j) {
      float sum = 0;
      for (int64_t l = 0; l < k; ++l) sum += b[static_cast<size_t>(j * k + l)];
      store(p.bias.type, p.bias.data, first + j, sum);
    }
  }
}

void multiply_batch(const Matmul& p, int64_t batch) {
  const int64_t m = p.d.rows, n = p.d.columns, k = p.a.columns;
  const std::vector<float> a = unpacked_matrix(p.a, p.a_data, batch, p.tf32);
  const std::vector<float> b = unpacked_matrix(p.b, p.b_data, batch, p.tf32);
  std::vector<float> sums(static_cast<size_t>(m)), row_sums(static_cast<size_t>(m));
  for (int64_t j = 0; j < n; ++j) {
    multiply_column(a, b.data() + j * k, m, k, sums);
    for (int64_t i = 0; i < m; ++i) {
      float x = p.alpha * sums[static_cast<size_t>(i)];
      if (p.beta != 0) {  // c is not read when beta is zero
        x += p.beta *
             load(p.c.type, p.c_data, i * p.c.by_row + j * p.c.by_column + batch * p.c.by_batch);
      }
      x = finished(p, x, batch, i, j);
      row_sums[static_cast<size_t>(i)] += x;
      store(p.d.type, p.d_data, i * p.d.by_row + j * p.d.by_column + batch * p.d.by_batch, x);
    }
  }
  sum_operands(p, a, b, batch);
  if (!has(p, kOutputSum)) return;
  for (int64_t i = 0; i < m; ++i) {
    store(p.bias.type, p.bias.data, i + batch * p.bias.by_batch, row_sums[static_cast<size_t>(i)]);
  }
}

}  // namespace

size_t Matrix::extent(int64_t batch) const {
  const int64_t last = (rows - 1) * by_row + (columns - 1) * by_column + (batch - 1) * by_batch;
  return static_cast<size_t>(last + 1) * size_of(type);
}

void multiply(const Matmul& product) {
  // Whatever else is kept in the workspace meanwhile is lost, as on a GPU.
  if (product.workspace_bytes > 0) std::memset(product.workspace, 0xff, product.workspace_bytes);
  for (int64_t batch = 0; batch < product.batch; ++batch) multiply_batch(product, batch);
}

}  // namespace penstock::host_cuda
