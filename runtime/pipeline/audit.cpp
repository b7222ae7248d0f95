#include "runtime/pipeline/audit.h"

#include <algorithm>
#include <array>

#include "kernels/philox.h"

namespace penstock {
namespace {

// What is compared, in the order in which it is made: a difference spreads to what follows.
struct Part {
  Checksums CellSums::*sums;
  Op op;
  const char* what;
};
constexpr std::array<Part, 5> kParts = {
    Part{&CellSums::inputs, Op::Forward, "what it was given"},
    Part{&CellSums::outputs, Op::Forward, "what it made"},
    Part{&CellSums::output_gradients, Op::Backward, "the gradients that it was given"},
    Part{&CellSums::gradients, Op::BackwardWeight, "the gradient"},
    Part{&CellSums::input_gradients, Op::BackwardInput, "the gradients of its inputs"}};

std::vector<uint64_t> in_a_row(const CellSums& sums) {
  std::vector<uint64_t> row;
  for (const Part& part : kParts) {
    const std::vector<uint64_t> some = (sums.*part.sums).read();
    row.insert(row.end(), some.begin(), some.end());
  }
  return row;
}

}  // namespace

Audit::Audit(const std::vector<Instruction>& program, int position, Device& device)
    : cells_(audited_cells(program)), position_(position), first_(device), second_(device) {
  const auto any = [&](Op op) {
    return std::ranges::any_of(program, [op](const Instruction& i) { return i.op == op; });
  };
  halves_apart_ = any(Op::BackwardInput);
}

void Audit::begin(uint64_t seed, int64_t step) {
  end();
  if (cells_.empty()) return;
  const RandomStream stream = random_stream(seed, hash_name("audit"), static_cast<uint64_t>(step),
                                            static_cast<uint64_t>(position_));
  const std::array<uint32_t, 4> words = philox(stream, 0);
  const uint64_t drawn = uint64_t{words[0]} << 32 | words[1];
  cell_ = cells_[drawn % cells_.size()];
  first_.clear();
  second_.clear();
}

void Audit::end() {
  cell_.reset();
  batch_ = {};
  inputs_.clear();
  output_gradients_.clear();
}

void Audit::before_forward(const Tensors& inputs, const Batch& batch) {
  batch_ = batch;
  inputs_ = inputs;
  for (const Tensor& input : inputs) first_.inputs.add(input);
}

void Audit::after_forward(const Stage& stage, const Tensors& outputs) {
  for (const Tensor& output : outputs) first_.outputs.add(output);
  const Tensor& loss = stage.losses(cell_->micro_batch).loss;
  if (loss) first_.outputs.add(loss);
}

void Audit::before_input_half(const Tensors& output_gradients) {
  output_gradients_ = output_gradients;
  for (const Tensor& gradient : output_gradients) first_.output_gradients.add(gradient);
}

void Audit::after_input_half(const Tensors& input_gradients) {
  for (const Tensor& gradient : input_gradients) first_.input_gradients.add(gradient);
}

void Audit::repeat(Stage& stage, const Pass& pass) {
  const MicroBatch batch{.pass = pass,
                         .index = cell_->micro_batch,
                         .field_names = &batch_.names,
                         .fields = &batch_.tensors};
  for (const Tensor& input : inputs_) second_.inputs.add(input);
  for (const Tensor& gradient : output_gradients_) second_.output_gradients.add(gradient);
  stage.repeat(batch, inputs_, output_gradients_, second_);
  batch_ = {};
  inputs_.clear();
  output_gradients_.clear();
}

std::optional<AuditFinding> Audit::finding() const {
  if (!cell_) return std::nullopt;
  for (const Part& part : kParts) {
    const std::vector<uint64_t> first = (first_.*part.sums).read();
    const std::vector<uint64_t> second = (second_.*part.sums).read();
    const auto [a, b] = std::ranges::mismatch(first, second);
    if (a == first.end() && b == second.end()) continue;
    const auto at = static_cast<size_t>(a - first.begin());
    const bool is_half = part.op == Op::BackwardInput || part.op == Op::BackwardWeight;
    const Op op = is_half && !halves_apart_ ? Op::Backward : part.op;
    AuditFinding finding{.instruction = text({op, cell_->stage, cell_->micro_batch}),
                         .what = part.what,
                         .first = a == first.end() ? 0 : *a,
                         .second = b == second.end() ? 0 : *b};
    if (part.sums == &CellSums::gradients && at < first_.names.size()) {
      finding.what += " of '" + *first_.names[at] + "'";
    }
    return finding;
  }
  return std::nullopt;
}

std::vector<uint64_t> Audit::first_sums() const {
  return in_a_row(first_);
}
std::vector<uint64_t> Audit::second_sums() const {
  return in_a_row(second_);
}

}  // namespace penstock
