#include "kernels/counting/tally.h"

#include <algorithm>
#include <vector>

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

Tally::WeightRead Tally::read(Weight& weight, DType dtype, FilterUse use, int groups) {
  const Tensor& value = weight.value();
  const auto value_bytes = static_cast<double>(value.size_bytes());
  if (value.dtype() == DType::BF16) {
    if (!model_.emulates_bf16) return {value_bytes, {}};
    const bool forward = use != FilterUse::InputGradient;
    const int64_t k = forward ? value.dim(1) : value.dim(0);
    convert(static_cast<double>(value.elements()));
    return {2 * value_bytes,
            scratch(k * piece_columns(k, forward ? value.dim(0) : value.dim(1)), DType::F32)};
  }
  const bool packs =
      model_.packs_filters && weight.shape().rank() == 4 && use != FilterUse::Product;
  if (model_.emulates_bf16) dtype = DType::F32;
  if (!packs && dtype == DType::F32) return {value_bytes, {}};
  const auto copy = [&] {
    const int64_t elements =
        packs ? packed_elements(weight.shape(), groups, dtype, use, model_.filter_blocks)
              : weight.shape().elements();
    const size_t size_bytes = static_cast<size_t>(elements) * size_of(dtype);
    return Tensor(memory_.take(size_bytes, Purpose::Workspace), Shape{elements}, dtype);
  };
  if (packs && weight.is_read_once()) {
    Tensor made = copy();
    pass(0, {&value, &made});
    const auto size_bytes = static_cast<double>(made.size_bytes());
    return {size_bytes, std::move(made)};
  }
  const uint64_t key = packs && use == FilterUse::InputGradient ? 2 : 1;
  Weight::Packing& packing = weight.packing(key);
  if (!packing.packed) packing.packed = copy();
  if (packing.version != weight.version()) {
    pass(0, {&value, &packing.packed});
    packing.version = weight.version();
  }
  return {static_cast<double>(packing.packed.size_bytes()), {}};
}

Tensor Tally::scratch(int64_t elements, DType dtype) {
  if (!model_.packs_filters) return {};
  const size_t size_bytes = static_cast<size_t>(elements) * size_of(dtype);
  return {memory_.take(size_bytes, Purpose::Workspace), Shape{elements}, dtype};
}

Tensor Tally::workspace(int64_t size_bytes) {
  return {memory_.take(static_cast<size_t>(size_bytes), Purpose::Workspace), Shape{size_bytes},
          DType::U8};
}

Tensor Tally::widened(const Tensor& tensor) {
  if (!model_.emulates_bf16 || tensor.dtype() != DType::BF16) return {};
  convert(static_cast<double>(tensor.elements()));
  return scratch(tensor.elements(), DType::F32);
}

void Tally::convert(double elements) {
  constexpr double kBoth = 2 + 4;  // bytes of a number in bf16 and in fp32
  add(0, model_.pass_rate(), kBoth * elements);
}

Tally::WeightRead Tally::read_linear(LinearProduct product, Weight& weight, int64_t rows,
                                     DType dtype) {
  const Tensor& value = weight.value();
  const Linear linear{rows, value.dim(1), value.dim(0), dtype, value.dtype()};
  if (tiles(product, linear)) return {static_cast<double>(value.size_bytes()), {}};
  const bool alone =
      product == LinearProduct::Forward && tiles(LinearProduct::InputGradient, linear);
  if (alone && weight.is_read_once() && value.dtype() == DType::F32) {
    Tensor made = scratch(value.elements(), dtype);
    pass(0, {&value, &made});
    const auto size_bytes = static_cast<double>(made.size_bytes());
    return {size_bytes, std::move(made)};
  }
  const bool forward = product == LinearProduct::Forward;
  const bool filter = weight.shape().rank() == 4;
  return read(weight, dtype,
              filter    ? FilterUse::Product
              : forward ? FilterUse::Forward
                        : FilterUse::InputGradient);
}

Tensor Tally::copies(LinearProduct product, const Linear& linear) {
  if (model_.own_memory) {  // on a GPU: kernels/cuda/dense copies each row once
    const RowPieces pieces = row_pieces(linear.rows, linear.out, linear.dtype);
    const bool as_it_is = product != LinearProduct::WeightGradient && linear.weight == linear.dtype;
    if (pieces.rows == 0 || as_it_is) return {};
    add(0, model_.pass_rate(),
        4 * static_cast<double>(linear.rows) * static_cast<double>(pieces.columns));
    return workspace(pieces.elements() * static_cast<int64_t>(size_of(linear.dtype)));
  }
  if (model_.operand_copies == OperandCopies::PaddedRows) return padded(product, linear);
  return tiles(product, linear) ? tiled(product, linear) : library_scratch(product, linear);
}

Tensor Tally::library_scratch(LinearProduct product, const Linear& linear) {
  constexpr int64_t kColumns = 64;  // of the second operand, copied at a time
  constexpr int64_t kDepth = 512;   // numbers that are added up at a time
  const auto& [rows, in, out, dtype, weight] = linear;
  const DType copied = model_.emulates_bf16 ? DType::F32 : dtype;
  constexpr int64_t kApart = 16;  // lines of copies are a little apart, against conflicts in caches
  if (product != LinearProduct::WeightGradient) {
    const int64_t depth = product == LinearProduct::Forward ? in : out;
    return scratch(model_.threads * kColumns * (std::min(depth, 2 * kDepth) + kApart), copied);
  }
  // The first operand lies transposed and is copied, too. A sum over more than kDepth rows of a
  // batch is made in memory of its own.
  const int64_t lines = std::min<int64_t>(out, 256);
  const int64_t copies = (kColumns + lines) * (std::min(rows, kDepth) + kApart);
  const int64_t sums = rows > kDepth ? lines * std::min<int64_t>(in, 1024) : 0;
  const auto bytes = copies * static_cast<int64_t>(size_of(copied)) + sums * 4;
  return scratch(model_.threads * bytes / 4, DType::F32);
}

bool Tally::tiles(LinearProduct product, const Linear& linear) const {
  return model_.operand_copies == OperandCopies::Tiles && linear.dtype == DType::BF16 &&
         reads_tiles(product, linear.rows, linear.in, linear.out);
}

Tensor Tally::tiled(LinearProduct product, const Linear& linear) {
  const bool of_weight = product == LinearProduct::WeightGradient;
  const int64_t m = of_weight ? linear.out : linear.rows;
  const int64_t k = of_weight ? linear.rows : linear.out;
  const TiledScratch held = tiled_scratch(m, linear.in, k, !of_weight, !of_weight);
  const auto b_bytes = static_cast<double>(of_weight ? 2 : size_of(linear.weight)) + 2;
  const auto size = [](int64_t rows, int64_t columns) {
    return static_cast<double>(rows) * static_cast<double>(columns);
  };
  add(0, model_.pass_rate(), (held.a > 0 ? 4 * size(m, k) : 0) + b_bytes * size(k, linear.in));
  return workspace(2 * (held.a + held.b) + 4 * held.sum);
}

Tensor Tally::padded(LinearProduct product, const Linear& linear) {
  const auto& [rows, in, out, dtype, weight] = linear;
  const PaddedOperands operands = padded_operands(product, rows, in, out);
  int64_t elements = 0;
  const auto copy = [&](bool pads, int64_t lines, int64_t length, DType type) {
    if (!pads) return;
    const bool is_wide = model_.emulates_bf16 && type == DType::BF16;
    // A widened operand is copied densely anyway. Padding only makes that copy longer, so only the
    // padding is counted.
    elements += lines * (is_wide ? kRowPadding : length + kRowPadding);
    if (!is_wide)
      add(0, model_.pass_rate(), 2.0 * sizeof(float) * static_cast<double>(lines * length));
  };
  if (product == LinearProduct::WeightGradient) {
    copy(operands.a, rows, out, dtype);
    copy(operands.b, rows, in, dtype);
  } else {
    copy(operands.b, out, in, weight);
  }
  return elements == 0 ? Tensor{} : scratch(elements, DType::F32);
}

Tensor Tally::bias_scratch(const Tensor& g) {
  constexpr int64_t kRows = 512;
  return scratch((g.shape().rows() + kRows - 1) / kRows * g.shape().back(), DType::F32);
}

}  // namespace penstock
