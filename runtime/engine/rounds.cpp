#include "runtime/engine/rounds.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "kernels/ops/pointwise.h"

namespace penstock {
namespace {

// Ids in a text and back: their number, then they, four bytes each.
void put(std::string& text, const std::vector<int32_t>& ids) {
  const auto size = static_cast<int32_t>(ids.size());
  text.append(reinterpret_cast<const char*>(&size), sizeof(size));
  text.append(reinterpret_cast<const char*>(ids.data()), ids.size() * sizeof(int32_t));
}

std::vector<int32_t> take(const std::string& text, size_t& at) {
  int32_t size = 0;
  std::memcpy(&size, text.data() + at, sizeof(size));
  at += sizeof(size);
  std::vector<int32_t> ids(static_cast<size_t>(size));
  std::memcpy(ids.data(), text.data() + at, ids.size() * sizeof(int32_t));
  at += ids.size() * sizeof(int32_t);
  return ids;
}

Shape field_shape(const std::string& name, int64_t batch, int64_t context) {
  if (name == "source_lengths") return {batch};
  return {batch, context};
}

}  // namespace

Rounds::Rounds(const Config& config, Pipeline& pipeline, const Sequential& model, Network& network,
               Device& device)
    : pipeline_(pipeline),
      network_(network),
      device_(device),
      batch_(config.run.eval_batch > 0 ? config.run.eval_batch : config.pipeline.micro_batch_size),
      context_(config.model.context),
      micro_batches_(config.pipeline.micro_batches),
      replicas_(config.pipeline.replicas),
      seed_(config.run.seed),
      host_(host_memory_source()),
      classifier_(dynamic_cast<ClassifierLoss*>(model.layers.back().get())) {
  if (classifier_ == nullptr) fail_internal("words are chosen by a classifier, and there is none");
  const std::vector<std::string> names = pipeline.fields();
  Memory& memory = device.host_addressable() ? host_ : device.host_memory();
  for (int m = 0; m < micro_batches_; ++m) {
    Batch& batch = batches_.emplace_back();
    batch.names = names;
    batch.samples = batch_;
    for (const std::string& name : names) {
      const Shape shape = field_shape(name, batch_, context_);
      const size_t bytes = static_cast<size_t>(shape.elements()) * sizeof(int32_t);
      batch.tensors.emplace_back(memory.take(bytes, Purpose::Workspace), shape, DType::I32);
    }
  }
  logits_.resize(static_cast<size_t>(micro_batches_));
  const int64_t first = int64_t{network.replicas().rank()} * micro_batches_;
  classifier_->set_observer([this, first](const Context& context, const Tensor& logits) {
    logits_[static_cast<size_t>(context.micro_batch - first)] = logits;
  });
}

Rounds::~Rounds() {
  classifier_->set_observer({});
}

int64_t Rounds::most_rows() const {
  return batch_ * micro_batches_ * replicas_;
}

std::vector<Rounds::Row> Rounds::share(const std::vector<Row>& rows) {
  std::string text;
  for (const Row& row : rows) {
    put(text, row.source);
    put(text, row.words);
    text.append(reinterpret_cast<const char*>(&row.draw), sizeof(row.draw));
  }
  text = network_.world().broadcast(text, 0);
  std::vector<Row> all;
  for (size_t at = 0; at < text.size();) {
    Row& row = all.emplace_back();
    row.source = take(text, at);
    row.words = take(text, at);
    std::memcpy(&row.draw, text.data() + at, sizeof(row.draw));
    at += sizeof(row.draw);
  }
  return all;
}

// This replica's share of the rows; places that are left over hold nothing.
void Rounds::fill(const std::vector<Row>& rows) {
  const int64_t first = int64_t{network_.replicas().rank()} * micro_batches_ * batch_;
  for (size_t m = 0; m < batches_.size(); ++m) {
    for (size_t f = 0; f < batches_[m].names.size(); ++f) {
      const std::string& name = batches_[m].names[f];
      const std::span<int32_t> field = batches_[m].tensors[f].span<int32_t>();
      std::ranges::fill(field, name == "labels" ? -1 : 0);
      for (int64_t j = 0; j < batch_; ++j) {
        const auto r = static_cast<size_t>(first + static_cast<int64_t>(m) * batch_ + j);
        if (r >= rows.size() || name == "labels") continue;
        if (name == "source_lengths") {
          field[static_cast<size_t>(j)] = static_cast<int32_t>(rows[r].source.size());
        } else {
          const std::vector<int32_t>& ids =
              name == "source_tokens" ? rows[r].source : rows[r].words;
          std::ranges::copy(ids, field.begin() + j * context_);
        }
      }
    }
  }
}

// `row` counts those of this replica.
std::vector<float> Rounds::logits_of(size_t row, const Row& content) const {
  const auto batch = static_cast<size_t>(batch_);
  const Tensor& logits = logits_[row / batch];
  const int64_t classes = logits.shape().back();
  const int64_t position = std::ssize(content.words) - 1;
  const int64_t place = (static_cast<int64_t>(row % batch) * context_ + position) * classes;
  Tensor wide = device_.empty({classes}, DType::F32, Purpose::Workspace);
  device_.pointwise().copy(wide, logits.view(place, {classes}));
  std::vector<float> values(static_cast<size_t>(classes));
  device_.copy_to_host(values.data(), wide, wide.size_bytes());
  if (std::ranges::any_of(values, [](float value) { return std::isnan(value); })) {
    fail_input(
        "the network's logits are not numbers: its training has diverged, take an earlier "
        "--checkpoint");
  }
  return values;
}

// The choices for this replica's rows, where its logits are.
void Rounds::look(const std::vector<Row>& rows, int count, const Choose& choose,
                  std::span<double> found) {
  const int64_t first = int64_t{network_.replicas().rank()} * micro_batches_ * batch_;
  const int64_t last = std::min(std::ssize(rows), first + micro_batches_ * batch_);
  for (int64_t r = first; r < last; ++r) {
    const Row& row = rows[static_cast<size_t>(r)];
    const std::vector<float> values = logits_of(static_cast<size_t>(r - first), row);
    std::vector<Candidate> chosen = choose(values, row.draw);
    chosen.resize(static_cast<size_t>(count), {0, -std::numeric_limits<double>::infinity()});
    double* to = found.data() + r * count * 2;
    for (const Candidate& candidate : chosen) {
      *to++ = candidate.word;
      *to++ = candidate.log_probability;
    }
  }
}

std::vector<std::vector<Candidate>> Rounds::next(const std::vector<Row>& rows, int count,
                                                 const Choose& choose) {
  const std::vector<Row> all = share(rows);
  if (all.empty()) return {};
  if (static_cast<int64_t>(all.size()) > most_rows()) fail_internal("a round of too many rows");
  fill(all);
  StepInput input;
  input.training = false;
  input.seed = seed_;
  input.first_micro_batch = int64_t{network_.replicas().rank()} * micro_batches_;
  input.batches = batches_;
  pipeline_.run(input);
  // Every number is non-zero on one rank only, so the sum is exact.
  std::vector<double> found(all.size() * static_cast<size_t>(count) * 2);
  if (pipeline_.has_loss()) look(all, count, choose, found);
  for (Tensor& logits : logits_) logits.reset();
  network_.world().sum(found);
  std::vector<std::vector<Candidate>> candidates(all.size());
  for (size_t i = 0; i < found.size(); i += 2) {
    candidates[i / 2 / static_cast<size_t>(count)].push_back(
        {static_cast<int32_t>(found[i]), found[i + 1]});
  }
  return candidates;
}

}  // namespace penstock
