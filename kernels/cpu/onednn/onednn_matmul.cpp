// kernels/cpu/onednn/onednn_matmul.cpp -- matrix products by oneDNN.
#include <algorithm>
#include <utility>

#include "kernels/cpu/loops/row_padding.h"
#include "kernels/cpu/loops/weight_pieces.h"
#include "kernels/cpu/onednn/onednn_state.h"
#include "kernels/parallel.h"

namespace penstock {
namespace {

int64_t elements_of_c(const MatmulPlan& plan) {
  return plan.batch * plan.m * plan.n;
}

// Returns the form of a weight that a product reads: the value itself if it has that type, else a
// bf16 copy. The copy is kept for later products, or made for this call alone if nothing else reads
// it. The library's blocked layouts are not used. These layouts are up to 8 % faster in fp32 (27 %
// if rows are a multiple of 4 KiB long), but cost 8 bytes a parameter, and with one or two
// micro-batches it takes more time to make them than they save.
Tensor as_type(OneDnn::State& state, Weight& weight, DType type, bool alone) {
  const Tensor& value = weight.value();
  if (type == value.dtype()) return value;
  const auto narrowed = [&](Tensor copy) {
    narrow(copy.data<bfloat16>(), value.data<float>(), value.elements(), state.threads);
    return copy;
  };
  if (alone && weight.is_read_once()) return narrowed(state.scratch(value.elements(), type));
  constexpr uint64_t kNarrowed = 0;  // differs from the keys of Packing's layouts
  Weight::Packing& packing = weight.packing(kNarrowed);
  if (!packing.packed) packing.packed = state.scratch(value.elements(), type);
  if (packing.version != weight.version()) {
    packing.packed = narrowed(packing.packed);
    packing.version = weight.version();
  }
  return packing.packed;
}

// Calls body(offset in strided memory, offset in a copy [batch, rows, columns + padding]) for each
// element. The loop is vectorised if the columns lie side by side.
template <class Body>
void for_each_element(const MatmulPlan& plan, int64_t rows, int64_t columns,
                      const MatrixStrides& strides, int64_t padding, int threads, Body body) {
  const int64_t lines = plan.batch * rows;
  share_out(threads, lines, [&](int64_t first, int64_t last) {
    for (int64_t line = first; line < last; ++line) {
      const int64_t start = line / rows * strides[0] + line % rows * strides[1];
      const int64_t to = line * (columns + padding);
      if (strides[2] == 1) {
#pragma GCC ivdep
        for (int64_t j = 0; j < columns; ++j) body(start + j, to + j);
      } else {
        for (int64_t j = 0; j < columns; ++j) body(start + j * strides[2], to + j);
      }
    }
  });
}

MatrixStrides dense(int64_t rows, int64_t columns) {
  return {rows * columns, columns, 1};
}

// Describes an operand. If the library cannot read the operand in place, a copy is made: to widen
// bf16 numbers that the CPU cannot multiply, or to pad the rows.
struct Operand {
  int64_t rows, columns;
  MatrixStrides& strides;
  DType& type;
  bool& pad;

  [[nodiscard]] bool copied() const { return type == DType::BF16 || pad; }
  [[nodiscard]] bool by_columns() const { return strides[1] == 1 && strides[2] != 1; }
  [[nodiscard]] int64_t padding() const { return pad ? kRowPadding : 0; }
  // A line is a row or a column, whichever is contiguous. lines() is the number of lines, length()
  // the length of each line.
  [[nodiscard]] int64_t lines() const { return by_columns() ? columns : rows; }
  [[nodiscard]] int64_t length() const { return by_columns() ? rows : columns; }
  // Makes this object describe the copy instead of the operand. The copy is dense by rows, or by
  // columns if the lines are columns.
  void becomes_copy() {
    const bool swaps = by_columns();
    strides = dense(lines(), length() + padding());
    if (swaps) std::swap(strides[1], strides[2]);
    type = DType::F32;
    pad = false;
  }
};

Operand operand_a(MatmulPlan& plan) {
  return {plan.m, plan.k, plan.a, plan.a_type, plan.pad_a};
}
Operand operand_b(MatmulPlan& plan) {
  return {plan.k, plan.n, plan.b, plan.b_type, plan.pad_b};
}

// Copies an operand if that is needed, keeps the copy, and points `data` at the copy.
class Copy {
 public:
  Copy(OneDnn::State& state, const MatmulPlan& plan, Operand operand, const void*& data) {
    if (!operand.copied()) return;
    const int64_t lines = operand.lines();
    const int64_t length = operand.length();
    const int64_t padding = operand.padding();
    scratch_ = state.scratch(plan.batch * lines * (length + padding), DType::F32);
    MatrixStrides order = operand.strides;
    if (operand.by_columns()) std::swap(order[1], order[2]);
    float* to = scratch_.data<float>();
    const auto copy_from = [&](auto* from) {
      for_each_element(plan, lines, length, order, padding, state.threads,
                       [=](int64_t at, int64_t i) { to[i] = static_cast<float>(from[at]); });
    };
    if (operand.type == DType::BF16) {
      copy_from(static_cast<const bfloat16*>(data));
    } else {
      copy_from(static_cast<const float*>(data));
    }
    operand.becomes_copy();
    data = to;
  }

 private:
  Tensor scratch_;
};

PreparedProduct make_product(OneDnn::State& state, const MatmulPlan& plan) {
  return {state, plan};
}

bool has_bf16(const MatmulPlan& plan) {
  return plan.a_type == DType::BF16 || plan.b_type == DType::BF16 || plan.c_type == DType::BF16;
}

bool must_emulate(const OneDnn::State& state, const MatmulPlan& plan) {
  return has_bf16(plan) && !state.native_bf16;
}

// Calls run(plan, result) with an fp32 result, and then rounds that result to c. If c is fp32
// itself, run() writes to c directly.
template <class Run>
void round_result(OneDnn::State& state, const MatmulPlan& plan, void* c, Run run) {
  if (plan.c_type != DType::BF16) return run(plan, c);
  MatmulPlan wide = plan;
  const Tensor wide_c = state.scratch(elements_of_c(plan), DType::F32);
  wide.c = dense(plan.m, plan.n);
  wide.c_type = DType::F32;
  auto* wide_data = wide_c.data<float>();
  auto* narrow_data = static_cast<bfloat16*>(c);
  auto for_each = [&](auto body) {
    for_each_element(plan, plan.m, plan.n, plan.c, 0, state.threads, body);
  };
  if (plan.accumulate) {
    for_each([=](int64_t at, int64_t i) { wide_data[i] = static_cast<float>(narrow_data[at]); });
  }
  run(wide, wide_data);
  for_each([=](int64_t at, int64_t i) { narrow_data[at] = bfloat16(wide_data[i]); });
}

// Calls multiply(plan), with a plan without the tanh, and then computes tanh in a pass of its own.
// Inside a product the last bit of a tanh would depend on the code that the library chooses.
template <class Multiply>
void product_then_tanh(OneDnn& dnn, MatmulPlan plan, void* c, const Multiply& multiply) {
  const MatrixStrides whole = dense(plan.m, plan.n);
  if (plan.c[1] != whole[1] || plan.c[2] != 1 || (plan.batch > 1 && plan.c[0] != whole[0])) {
    fail_internal(text(plan) + " has a tanh over a result that is not dense");
  }
  plan.fused = Fused::None;
  multiply(plan);
  dnn.activation_forward(c, c, elements_of_c(plan), plan.c_type, Activation::Tanh);
}

// Computes a product without terms (k = 0), c = f(bias + (accumulate ? c : 0)), as a product with
// one term of zeros. It is rare, so its speed does not matter.
void empty_product(OneDnn& dnn, const MatmulPlan& plan, void* c, const float* bias) {
  if (plan.accumulate && !plan.bias && plan.fused == Fused::None) return;
  MatmulPlan zero = plan;
  zero.k = 1;
  zero.a = dense(plan.m, 1);
  zero.b = dense(1, plan.n);
  zero.a_type = zero.b_type = plan.c_type;
  const int64_t elements = plan.batch * std::max(plan.m, plan.n);
  const std::vector<float> zeros(static_cast<size_t>(elements), 0.0F);
  dnn.matmul(zero, c, zeros.data(), zeros.data(), bias);
}

}  // namespace

size_t PlanHash::operator()(const MatmulPlan& p) const {
  return hash_fields(1, p.batch, p.m, p.n, p.k, p.a[0], p.a[1], p.a[2], p.b[0], p.b[1], p.b[2],
                     p.c[0], p.c[1], p.c[2], p.a_type, p.b_type, p.c_type,
                     std::bit_cast<uint32_t>(p.scale), p.accumulate, p.bias, p.pad_a, p.pad_b,
                     p.tiles, p.fused);
}

void OneDnn::matmul(const MatmulPlan& plan, void* c, const void* a, const void* b,
                    const float* bias) {
  if (elements_of_c(plan) == 0) return;
  if (plan.fused == Fused::Tanh) {
    return product_then_tanh(*this, plan, c,
                             [&](const MatmulPlan& plain) { matmul(plain, c, a, b, bias); });
  }
  if (plan.k == 0) return empty_product(*this, plan, c, bias);
  if (plan.tiles == Tiles::Copied) return tiled_matmul(plan, c, a, b);
  if (must_emulate(*state_, plan) || plan.pad_a || plan.pad_b) {
    MatmulPlan copied = plan;
    const Copy copy_a(*state_, plan, operand_a(copied), a);
    const Copy copy_b(*state_, plan, operand_b(copied), b);
    return round_result(*state_, copied, c, [&](const MatmulPlan& wide, void* wide_c) {
      matmul(wide, wide_c, a, b, bias);
    });
  }
  state_->entry(state_->products, plan, make_product).run(*state_, c, a, b, bias);
}

void OneDnn::prepare(const MatmulPlan& plan) {
  if (elements_of_c(plan) == 0 || plan.k == 0) return;
  MatmulPlan typed = plan;
  const bool emulated = must_emulate(*state_, plan);
  for (Operand operand : {operand_a(typed), operand_b(typed)}) {
    if (operand.pad || (emulated && operand.copied())) operand.becomes_copy();
  }
  if (emulated && plan.c_type == DType::BF16) {
    typed.c = dense(plan.m, plan.n);
    typed.c_type = DType::F32;
  }
  (void)state_->entry(state_->products, typed, make_product);
}

void OneDnn::matmul(const MatmulPlan& plan, void* c, const void* a, Weight& b, const float* bias) {
  MatmulPlan typed = plan;
  if (plan.tiles == Tiles::Copied) {
    typed.b_type = b.value().dtype();
    return matmul(typed, c, a, b.value().raw(), bias);
  }
  typed.b_alone = false;  // the library's plan does not depend on it
  const bool emulated = must_emulate(*state_, plan);
  if (emulated && b.value().dtype() == DType::BF16) return widened_matmul(plan, c, a, b, bias);
  if (emulated) typed.b_type = DType::F32;
  const Tensor value = as_type(*state_, b, typed.b_type, plan.b_alone);
  matmul(typed, c, a, value.raw(), bias);
}

Tensor OneDnn::value_as(Weight& weight, DType type) {
  return as_type(*state_, weight, type, false);
}

// Multiplies by b piece by piece. A piece is some columns of b, which are first copied to fp32.
void OneDnn::widened_matmul(const MatmulPlan& plan, void* c, const void* a, const Weight& b,
                            const float* bias) {
  const auto* value = static_cast<const bfloat16*>(b.value().raw());
  const int64_t most = piece_columns(plan.k, plan.n);
  if (most >= plan.n) return matmul(plan, c, a, value, bias);
  if (plan.fused == Fused::Tanh) {
    return product_then_tanh(
        *this, plan, c, [&](const MatmulPlan& plain) { widened_matmul(plain, c, a, b, bias); });
  }
  MatmulPlan piece = plan;
  const Copy copy_a(*state_, plan, operand_a(piece), a);
  auto* result = static_cast<std::byte*>(c);
  for (int64_t first = 0; first < plan.n; first += most) {
    piece.n = std::min(most, plan.n - first);
    const auto at = static_cast<size_t>(first * plan.c[2]) * size_of(plan.c_type);
    matmul(piece, result + at, a, value + first * plan.b[2], plan.bias ? bias + first : nullptr);
  }
}

}  // namespace penstock
