#include "runtime/engine/pipeline/audit/audit.h"

#include <algorithm>
#include <array>

#include "kernels/ops/pointwise.h"
#include "kernels/philox.h"

namespace penstock {
namespace {

// These are the parts of a micro-batch's work that are compared, in the order in which they are
// made. The first part that differs is reported: a difference spreads to the parts that follow.
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

Audit::Audit(const std::vector<Instruction>& program, int position, int micro_batches,
             Device& device, Collective* replicas)
    : cells_(audited_cells(program)),
      position_(position),
      micro_batches_(micro_batches),
      device_(device),
      replicas_(replicas),
      first_(device),
      second_(device),
      neighbours_(device) {
  halves_apart_ =
      std::ranges::any_of(program, [](const Instruction& i) { return i.op == Op::BackwardInput; });
}

void Audit::begin(uint64_t seed, int64_t step) {
  end();
  if (cells_.empty()) return;
  const RandomStream stream = random_stream(seed, hash_name("audit"), static_cast<uint64_t>(step),
                                            static_cast<uint64_t>(position_));
  const std::array<uint32_t, 4> words = philox(stream, 0);
  const uint64_t drawn = uint64_t{words[0]} << 32 | words[1];
  cell_ = cells_[drawn % cells_.size()];
  for (CellSums* sums : {&first_, &second_, &neighbours_}) sums->clear();
  neighbours_first_.clear();
}

void Audit::end() {
  cell_.reset();
  work_ = {};
}

void Audit::before_forward(Stage& stage, const Tensors& inputs, const Batch& batch) {
  work_.batch = batch;
  work_.inputs.assign(inputs.begin(), inputs.end());
  for (const Tensor& input : inputs) first_.inputs.add(input);
  stage.record_forward(first_);
}

void Audit::before_input_half(const Tensors& output_gradients) {
  work_.output_gradients.assign(output_gradients.begin(), output_gradients.end());
  for (const Tensor& gradient : output_gradients) first_.output_gradients.add(gradient);
}

void Audit::after_input_half(const Tensors& input_gradients) {
  for (const Tensor& gradient : input_gradients) first_.input_gradients.add(gradient);
}

void Audit::do_again(Stage& stage, const Pass& pass, const AuditedWork& work, CellSums& sums) {
  const MicroBatch batch{.pass = pass,
                         .index = cell_->micro_batch,
                         .field_names = &work.batch.names,
                         .fields = &work.batch.tensors};
  for (const Tensor& input : work.inputs) sums.inputs.add(input);
  for (const Tensor& gradient : work.output_gradients) sums.output_gradients.add(gradient);
  stage.repeat(batch, Tensors(work.inputs.begin(), work.inputs.end()),
               Tensors(work.output_gradients.begin(), work.output_gradients.end()), sums);
}

void Audit::repeat(Stage& stage, const Pass& pass) {
  AuditedWork neighbour;
  KeptGradients& before = stage.weights().gradients().copy();
  if (replicas_ != nullptr) {
    work_.before = before;  // the same memory: it is sent before anything is added to it
    work_.sums = in_a_row(first_);
    neighbour = pass_on(work_, *replicas_, device_);
  }
  do_again(stage, pass, work_, second_);
  work_ = {};
  if (replicas_ == nullptr) return;
  if (before.values) device_.pointwise().copy(before.values, neighbour.before.values);
  if (before.step_sums) device_.pointwise().copy(before.step_sums, neighbour.before.step_sums);
  before.stale = neighbour.before.stale;
  // Random numbers depend on the micro-batch's index among those of all replicas, so the pass
  // counts from the neighbour's first index.
  const int rank = replicas_->rank();
  const int previous = (rank + replicas_->size() - 1) % replicas_->size();
  Pass as_neighbour = pass;
  as_neighbour.first_micro_batch += int64_t{previous - rank} * micro_batches_;
  do_again(stage, as_neighbour, neighbour, neighbours_);
  neighbours_first_ = std::move(neighbour.sums);
}

std::optional<AuditFinding> Audit::difference(const std::vector<uint64_t>& first,
                                              const CellSums& second) const {
  size_t begin = 0;
  for (const Part& part : kParts) {
    const std::vector<uint64_t> again = (second.*part.sums).read();
    for (size_t i = 0; i < again.size(); ++i) {
      const uint64_t was = begin + i < first.size() ? first[begin + i] : 0;
      if (was == again[i]) continue;
      const bool is_half = part.op == Op::BackwardInput || part.op == Op::BackwardWeight;
      const Op op = is_half && !halves_apart_ ? Op::Backward : part.op;
      AuditFinding finding{.instruction = text({op, cell_->stage, cell_->micro_batch}),
                           .what = part.what,
                           .first = was,
                           .second = again[i]};
      if (part.sums == &CellSums::gradients) finding.what += " of '" + *second.names[i] + "'";
      return finding;
    }
    begin += again.size();
  }
  return std::nullopt;
}

std::optional<AuditFinding> Audit::finding() const {
  if (!cell_) return std::nullopt;
  if (auto own = difference(in_a_row(first_), second_)) return own;
  if (replicas_ == nullptr) return std::nullopt;
  auto other = difference(neighbours_first_, neighbours_);
  if (other) other->replica = (replicas_->rank() + replicas_->size() - 1) % replicas_->size();
  return other;
}

std::vector<uint64_t> Audit::first_sums() const {
  return in_a_row(first_);
}
std::vector<uint64_t> Audit::second_sums() const {
  return in_a_row(second_);
}

}  // namespace penstock
