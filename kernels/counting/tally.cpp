#include "kernels/counting/tally.h"

#include <algorithm>
#include <vector>

#include "kernels/cpu/bias_gradient.h"
#include "kernels/cpu/image/packed_filters.h"
#include "kernels/cpu/weight_forms.h"
#include "kernels/cuda/dense/row_pieces.h"

namespace penstock {
namespace {

double bytes_of(Tally::Operands operands) {
  double bytes = 0;
  for (const Tensor* operand : operands) {
    if (operand != nullptr) bytes += static_cast<double>(operand->size_bytes());
  }
  return bytes;
}

}  // namespace

void Tally::add(double flops, double rate, double bytes) {
  ++count_.ops;
  count_.flops += flops;
  count_.bytes += bytes;
  const double seconds =
      std::max(flops / rate, bytes / model_.memory_rate()) + model_.op_overhead_s;
  count_.seconds += seconds;
  if (spent_) spent_(seconds);
}

void Tally::product(ProductKind kind, double flops, DType dtype, Operands operands,
                    double more_bytes) {
  std::vector<Tensor> wide;  // an op holds all its widened operands at the same time
  for (const Tensor* operand : operands) {
    if (operand == nullptr) continue;
    wide.push_back(widened(*operand));
    // A widened copy has twice as many bytes as its operand, so the operand's bytes are added once
    // more.
    if (wide.back()) more_bytes += static_cast<double>(operand->size_bytes());
  }
  product_as_is(kind, flops, dtype, operands, more_bytes);
}

void Tally::product_as_is(ProductKind kind, double flops, DType dtype, Operands operands,
                          double more_bytes) {
  add(flops, model_.products(dtype).rate(kind), bytes_of(operands) + more_bytes);
}

void Tally::pass(double flops, Operands operands) {
  add(flops, model_.pass_rate(), bytes_of(operands));
}

void Tally::bias_gradient(const Tensor& dbias, const Tensor& g) {
  const Tensor partial = scratch(partial_sums(g.shape()), DType::F32);
  pass(elements(g), {&g, &dbias, &dbias});
}

void Tally::multiply(const MatmulPlan& plan, Weight* b, Operands others) {
  const OperandPlan operands =
      plan_operands(plan, operand_facts(b != nullptr && b->is_read_once()));
  std::vector<Tensor> held;
  double bytes = bytes_of(others);
  const auto touch = [&](const OperandCopy& operand, DType type, int64_t elements) {
    const DType read_as = operand.made() ? operand.type() : type;
    bytes += static_cast<double>(elements) * static_cast<double>(size_of(read_as));
    if (!operand.made()) return;
    const auto allocate = [&] { return workspace(operand.elements, read_as); };
    const auto make = [&](const Tensor&) {
      copy(static_cast<double>(operand.copied), type, read_as);
    };
    if (operand.kept) {
      (void)form_of(*b, kNarrowedForm, true, allocate, make);
    } else {
      held.push_back(allocate());
      make(held.back());
    }
  };
  touch(operands.a, plan.a_type, plan.batch * plan.m * plan.k);
  touch(operands.b, plan.b_type, plan.batch * plan.k * plan.n);
  touch(operands.c, plan.c_type, plan.batch * plan.m * plan.n * (plan.accumulate ? 2 : 1));
  if (model_.own_memory) {
    held.push_back(copied_rows(plan));
  } else if (plan.linear && model_.operand_copies != OperandCopies::PaddedRows &&
             operands.b.form != Form::Tiles) {
    held.push_back(library_scratch(plan));
  }
  const double flops = 2.0 * static_cast<double>(plan.batch * plan.m) *
                       static_cast<double>(plan.n) * static_cast<double>(plan.k);
  add(flops, model_.products(plan.a_type).rate(ProductKind::Linear), bytes);
}

Tally::WeightRead Tally::read(Weight& weight, DType dtype) {
  const Tensor& value = weight.value();
  if (model_.emulates_bf16) dtype = DType::F32;
  if (dtype == value.dtype()) return {static_cast<double>(value.size_bytes()), {}};
  return read_copy(weight, kNarrowedForm, true,
                   value.elements() * static_cast<int64_t>(size_of(dtype)));
}

Tally::WeightRead Tally::read_filter(Weight& weight, const ConvolutionPlan& plan, FilterUse use) {
  if (!model_.packs_filters) return read(weight, plan.type);
  const FilterForm form = form_of_filter(plan, use);
  if (form.number == 0) return {static_cast<double>(form.size_bytes), {}};
  return read_copy(weight, form.number, !weight.is_read_once(), form.size_bytes);
}

Tensor Tally::filter_gradient(const ConvolutionPlan& plan) {
  return scratch(form_of_filter(plan, FilterUse::WeightGradient).size_bytes, DType::U8);
}

Tally::WeightRead Tally::read_copy(Weight& weight, uint64_t key, bool keep, int64_t size_bytes) {
  const Tensor& value = weight.value();
  Tensor form = form_of(
      weight, key, keep, [&] { return workspace(size_bytes, DType::U8); },
      [&](const Tensor& made) {
        pass(0, {&value, &made});
        count_.copied += bytes_of({&value, &made});
      });
  return {static_cast<double>(size_bytes), keep ? Tensor{} : std::move(form)};
}

FilterForm Tally::form_of_filter(ConvolutionPlan plan, FilterUse use) const {
  if (model_.emulates_bf16) plan.type = DType::F32;
  if (model_.at_hand) {
    if (const auto form = filter_form(plan, use, model_.threads)) return *form;
  }
  const Window& window = plan.window;
  const Shape filter{plan.out, plan.in / plan.groups, window.kernel_h, window.kernel_w};
  const int64_t elements =
      packed_elements(filter, plan.groups, plan.type, use, model_.filter_blocks);
  const DType type = use == FilterUse::WeightGradient ? DType::F32 : plan.type;
  // The library's forms are numbered from 1 on.
  return {elements * static_cast<int64_t>(size_of(type)), UINT64_MAX - static_cast<uint64_t>(use)};
}

Tensor Tally::scratch(int64_t elements, DType dtype) {
  return model_.packs_filters ? workspace(elements, dtype) : Tensor{};
}

Tensor Tally::workspace(int64_t elements, DType dtype) {
  const size_t size_bytes = static_cast<size_t>(elements) * size_of(dtype);
  return {memory_.take(size_bytes, Purpose::Workspace), Shape{elements}, dtype};
}

Tensor Tally::widened(const Tensor& tensor) {
  if (!model_.emulates_bf16 || tensor.dtype() != DType::BF16) return {};
  convert(static_cast<double>(tensor.elements()));
  return scratch(tensor.elements(), DType::F32);
}

void Tally::convert(double elements) {
  copy(elements, DType::BF16, DType::F32);
}

void Tally::copy(double elements, DType from, DType to) {
  const double bytes = elements * static_cast<double>(size_of(from) + size_of(to));
  count_.copied += bytes;
  add(0, model_.pass_rate(), bytes);
}

Tensor Tally::copied_rows(const MatmulPlan& plan) {
  if (!plan.linear) return {};
  const bool of_weight = plan.linear == LinearProduct::WeightGradient;
  const int64_t rows = of_weight ? plan.k : plan.m;
  const int64_t out = of_weight ? plan.m : plan.linear == LinearProduct::Forward ? plan.n : plan.k;
  const RowPieces pieces = row_pieces(rows, out, plan.a_type);
  const bool as_it_is = !of_weight && plan.b_type == plan.a_type;
  if (pieces.rows == 0 || as_it_is) return {};
  copy(static_cast<double>(rows) * static_cast<double>(pieces.columns), plan.a_type, plan.a_type);
  return workspace(pieces.elements(), plan.a_type);
}

Tensor Tally::library_scratch(const MatmulPlan& plan) {
  constexpr int64_t kColumns = 64;  // of the second operand, copied at a time
  constexpr int64_t kDepth = 512;   // numbers that are added up at a time
  constexpr int64_t kApart = 16;    // lines are a little apart, against conflicts in caches
  const DType copied = model_.emulates_bf16 ? DType::F32 : plan.a_type;
  if (plan.linear != LinearProduct::WeightGradient) {
    return scratch(model_.threads * kColumns * (std::min(plan.k, 2 * kDepth) + kApart), copied);
  }
  // The first operand lies transposed and is copied, too. A sum over more than kDepth rows of a
  // batch is made in memory of its own.
  const int64_t lines = std::min<int64_t>(plan.m, 256);
  const int64_t copies = (kColumns + lines) * (std::min(plan.k, kDepth) + kApart);
  const int64_t sums = plan.k > kDepth ? lines * std::min<int64_t>(plan.n, 1024) : 0;
  const auto bytes = copies * static_cast<int64_t>(size_of(copied)) + sums * 4;
  return scratch(model_.threads * bytes / 4, DType::F32);
}

}  // namespace penstock
