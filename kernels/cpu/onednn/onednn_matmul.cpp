// kernels/cpu/onednn/onednn_matmul.cpp -- matrix products by oneDNN, from operands where
// plan_operands() says.
#include <algorithm>

#include "kernels/checks.h"
#include "kernels/cpu/onednn/onednn_state.h"
#include "kernels/cpu/tiles.h"
#include "kernels/cpu/weight_forms.h"
#include "kernels/parallel.h"

namespace penstock {
namespace {

int64_t elements_of_c(const MatmulPlan& plan) {
  return plan.batch * plan.m * plan.n;
}

// Returns a weight in bf16, of which a copy is kept for later products, or made for this call
// alone. The library's blocked layouts are not used. These layouts are up to 8 % faster in fp32 (27
// % if rows are a multiple of 4 KiB long), but cost 8 bytes a parameter, and with one or two
// micro-batches it takes more time to make them than they save.
Tensor narrowed(OneDnn::State& state, Weight& weight, bool keep) {
  const Tensor& value = weight.value();
  return form_of(
      weight, kNarrowedForm, keep, [&] { return state.scratch(value.elements(), DType::BF16); },
      [&](const Tensor& form) {
        narrow(state, form.data<bfloat16>(), value.data<float>(), value.elements());
      });
}

// Some of the rows, or of the columns, of a matrix.
struct Stretch {
  int64_t first, size;
  bool operator==(const Stretch&) const = default;
};

// Calls f(part) for each part of an extent, in ascending order.
template <class F>
void for_parts(int64_t extent, int64_t size, const F& f) {
  for (int64_t first = 0; first < extent; first += size) {
    f(Stretch{first, std::min(size, extent - first)});
  }
}

MatrixStrides dense(int64_t rows, int64_t columns) {
  return {rows * columns, columns, 1};
}

// The matrices of a batch that a product reads or writes, and the copy of a part of them, if it has
// one.
class Operand {
 public:
  Operand(OneDnn::State& state, int64_t batch, const OperandCopy& copy,
          const MatrixStrides& strides, DType type, const void* data)
      : state_(state), batch_(batch), copy_(copy), strides_(strides), type_(type), data_(data) {
    if (copy.made()) memory_ = state.scratch(copy.elements, copy.type());
  }

  // Returns where the product finds that part. Copies it, unless it is what the copy holds.
  const void* read(const Stretch& rows, const Stretch& columns) {
    if (!copy_.made()) return at(rows, columns);
    if (rows == rows_ && columns == columns_) return memory_.raw();
    hold(rows, columns);
    state_.count_copies(batch_ * rows.size * columns.size, type_, copy_.type());
    if (copy_.form == Form::ByRows) {
      copy_to_rows(static_cast<const bfloat16*>(at(rows, columns)));
      return memory_.raw();
    }
    with_element_type(type_, "a product", [&]<class T>(T) {
      const T* from = static_cast<const T*>(at(rows, columns));
      if (copy_.form == Form::Tiles) {
        copy_to_tiles(state_.threads, memory_.data<bfloat16>(), from, rows.size, columns.size);
      } else {
        float* to = memory_.data<float>();
        for_each([=](int64_t i, int64_t j) { to[j] = static_cast<float>(from[i]); });
      }
    });
    return memory_.raw();
  }
  // Returns where the product puts that part of its result: an fp32 sum in the copy, which begins
  // with the numbers that are there where `load` is true.
  void* write(const Stretch& rows, const Stretch& columns, bool load) {
    if (!copy_.made()) return const_cast<void*>(at(rows, columns));
    if (load) return const_cast<void*>(read(rows, columns));
    hold(rows, columns);
    return memory_.raw();
  }
  // Rounds the copy, if there is one, to the part that it holds.
  void store() {
    if (!copy_.made()) return;
    state_.count_copies(batch_ * rows_.size * columns_.size, copy_.type(), type_);
    auto* to = static_cast<bfloat16*>(const_cast<void*>(at(rows_, columns_)));
    const float* from = memory_.data<float>();
    for_each([=](int64_t i, int64_t j) { to[i] = bfloat16(from[j]); });
  }

 private:
  [[nodiscard]] const void* at(const Stretch& rows, const Stretch& columns) const {
    const int64_t first = rows.first * strides_[1] + columns.first * strides_[2];
    return static_cast<const std::byte*>(data_) + first * static_cast<int64_t>(size_of(type_));
  }
  void hold(const Stretch& rows, const Stretch& columns) {
    rows_ = rows;
    columns_ = columns;
  }
  // Calls body(i, j) for each element of the part, number i from at() on and number j of an fp32
  // copy. The loop is vectorised if the elements of a line lie side by side.
  template <class Body>
  void for_each(const Body& body) {
    const bool swaps = by_columns(strides_);
    const int64_t lines = swaps ? columns_.size : rows_.size;
    const int64_t length = swaps ? rows_.size : columns_.size;
    const int64_t next_line = strides_[swaps ? 2 : 1];
    const int64_t next = strides_[swaps ? 1 : 2];
    share_out(state_.threads, batch_ * lines, [&](int64_t first, int64_t last) {
      for (int64_t line = first; line < last; ++line) {
        const int64_t start = line / lines * strides_[0] + line % lines * next_line;
        const int64_t to = line * (length + copy_.padding);
        if (next == 1) {
#pragma GCC ivdep
          for (int64_t i = 0; i < length; ++i) body(start + i, to + i);
        } else {
          for (int64_t i = 0; i < length; ++i) body(start + i * next, to + i);
        }
      }
    });
  }
  void copy_to_rows(const bfloat16* from) {
    auto* to = memory_.data<bfloat16>();
    if (by_columns(strides_)) {
      copy_transposed(state_.threads, to, from, columns_.size, rows_.size, strides_[2]);
    } else {
      copy_rows(state_.threads, to, from, rows_.size, columns_.size, strides_[1]);
    }
  }

  OneDnn::State& state_;
  int64_t batch_;
  const OperandCopy& copy_;
  const MatrixStrides& strides_;
  DType type_;
  const void* data_;
  Tensor memory_;
  Stretch rows_{}, columns_{};  // that the copy holds
};

// Returns the strides of a copy [rows, columns] of a matrix with those strides.
MatrixStrides strides_of(const OperandCopy& copy, const MatrixStrides& strides, int64_t rows,
                         int64_t columns) {
  if (copy.form != Form::Wide || !by_columns(strides)) return dense(rows, columns + copy.padding);
  const int64_t line = rows + copy.padding;
  return {columns * line, 1, line};
}

// Returns what the library multiplies in a part of the product.
MatmulPlan part_of(const MatmulPlan& plan, const OperandPlan& operands, int64_t m, int64_t n,
                   int64_t k) {
  MatmulPlan part = plan;
  part.m = m;
  part.n = n;
  part.k = k;
  part.linear.reset();
  const auto from_copy = [](const OperandCopy& copy, MatrixStrides& strides, DType& type,
                            int64_t rows, int64_t columns) {
    if (!copy.made()) return;
    strides = strides_of(copy, strides, rows, columns);
    type = copy.type();
  };
  from_copy(operands.a, part.a, part.a_type, m, k);
  from_copy(operands.b, part.b, part.b_type, k, n);
  from_copy(operands.c, part.c, part.c_type, m, n);
  part.b_in_tiles = operands.b.form == Form::Tiles;
  return part;
}

PreparedProduct make_product(OneDnn::State& state, const MatmulPlan& plan) {
  return {state, plan};
}

void require_dense_result(const MatmulPlan& plan) {
  const MatrixStrides whole = dense(plan.m, plan.n);
  if (plan.c[1] != whole[1] || plan.c[2] != 1 || (plan.batch > 1 && plan.c[0] != whole[0])) {
    fail_internal(text(plan) + " has a tanh over a result that is not dense");
  }
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
  zero.linear.reset();
  const int64_t elements = plan.batch * std::max(plan.m, plan.n);
  const std::vector<float> zeros(static_cast<size_t>(elements), 0.0F);
  dnn.matmul(zero, c, zeros.data(), zeros.data(), bias);
}

}  // namespace

size_t PlanHash::operator()(const MatmulPlan& p) const {
  return hash_fields(1, p.batch, p.m, p.n, p.k, p.a[0], p.a[1], p.a[2], p.b[0], p.b[1], p.b[2],
                     p.c[0], p.c[1], p.c[2], p.a_type, p.b_type, p.c_type,
                     std::bit_cast<uint32_t>(p.scale), p.accumulate, p.bias, p.b_in_tiles, p.fused);
}

void OneDnn::matmul(const MatmulPlan& plan, void* c, const void* a, const void* b,
                    const float* bias) {
  matmul(plan, plan_operands(plan, state_->operand_facts()), c, a, b, bias);
}

void OneDnn::matmul(const MatmulPlan& plan, void* c, const void* a, Weight& b, const float* bias) {
  const OperandPlan operands = plan_operands(plan, state_->operand_facts(b.is_read_once()));
  if (operands.b.form != Form::Narrow) {
    return matmul(plan, operands, c, a, b.value().raw(), bias);
  }
  MatmulPlan rounded = plan;
  rounded.b_type = DType::BF16;
  const Tensor form = narrowed(*state_, b, operands.b.kept);
  matmul(rounded, c, a, form.raw(), bias);
}

void OneDnn::matmul(const MatmulPlan& plan, const OperandPlan& operands, void* c, const void* a,
                    const void* b, const float* bias) {
  if (elements_of_c(plan) == 0) return;
  if (operands.b.form == Form::Narrow) fail_internal(text(plan) + " rounds what is no weight");
  if (plan.fused == Fused::Tanh) {
    // The tanh is a pass of its own: inside a product the last bit of a tanh would depend on the
    // code that the library chooses.
    require_dense_result(plan);
    MatmulPlan plain = plan;
    plain.fused = Fused::None;
    matmul(plain, operands, c, a, b, bias);
    return activation_forward(c, c, elements_of_c(plan), plan.c_type, Activation::Tanh);
  }
  if (plan.k == 0) return empty_product(*this, plan, c, bias);
  Operand from_a(*state_, plan.batch, operands.a, plan.a, plan.a_type, a);
  Operand from_b(*state_, plan.batch, operands.b, plan.b, plan.b_type, b);
  Operand to_c(*state_, plan.batch, operands.c, plan.c, plan.c_type, c);
  const auto multiply = [&](const Stretch& m, const Stretch& n, const Stretch& k, void* result) {
    const void* rows = from_a.read(m, k);
    const void* columns = from_b.read(k, n);
    MatmulPlan part = part_of(plan, operands, m.size, n.size, k.size);
    part.accumulate = plan.accumulate || k.first > 0;
    state_->entry(state_->products, part, make_product)
        .run(*state_, result, rows, columns, plan.bias ? bias + n.first : nullptr);
  };
  for_parts(plan.n, operands.n_part, [&](const Stretch& n) {
    if (operands.c.made()) {
      for_parts(plan.m, operands.m_part, [&](const Stretch& m) {
        void* sum = to_c.write(m, n, plan.accumulate);
        for_parts(plan.k, operands.k_part, [&](const Stretch& k) { multiply(m, n, k, sum); });
        to_c.store();
      });
    } else {
      for_parts(plan.k, operands.k_part, [&](const Stretch& k) {
        for_parts(plan.m, operands.m_part,
                  [&](const Stretch& m) { multiply(m, n, k, to_c.write(m, n, false)); });
      });
    }
  });
}

void OneDnn::prepare(const MatmulPlan& plan) {
  if (elements_of_c(plan) == 0 || plan.k == 0) return;
  const OperandPlan operands = plan_operands(plan, state_->operand_facts());
  (void)state_->entry(state_->products,
                      part_of(plan, operands, operands.m_part, operands.n_part, operands.k_part),
                      make_product);
}

Tensor OneDnn::value_as(Weight& weight, DType type) {
  return type == weight.value().dtype() ? weight.value() : narrowed(*state_, weight, true);
}

}  // namespace penstock
