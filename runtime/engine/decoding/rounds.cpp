#include "runtime/engine/decoding/rounds.h"

#include <algorithm>
#include <limits>

#include "kernels/memory/host_memory.h"
#include "kernels/ops/pointwise.h"
#include "runtime/engine/training/evaluation/evaluation.h"
#include "runtime/records/telemetry/units.h"

namespace penstock {
namespace {

Shape field_shape(const std::string& name, int64_t batch, int64_t positions) {
  if (name == "source_lengths" || name == kSeen || name == kPlaces) return {batch};
  return {batch, positions};
}

}  // namespace

Rounds::Rounds(const Config& config, Pipeline& pipeline, const Sequential& model, Network& network,
               Device& device, bool cache)
    : pipeline_(pipeline),
      network_(network),
      device_(device),
      batch_(config.run.eval_batch > 0 ? config.run.eval_batch : config.pipeline.micro_batch_size),
      context_(config.model.context),
      micro_batches_(config.pipeline.micro_batches),
      replicas_(config.pipeline.replicas),
      first_micro_batch_(int64_t{network.replicas().rank()} * micro_batches_),
      seed_(config.run.seed),
      host_(host_memory_source()),
      known_(config.model.kind == "transformer-lm" || config.model.kind == "decoder" ||
             config.model.kind == "transformer-nmt"),
      classifier_(dynamic_cast<const ClassifierLoss*>(model.layers.back().get())),
      logits_(static_cast<size_t>(micro_batches_)) {
  if (classifier_ == nullptr) fail_internal("words are chosen by a classifier, and there is none");
  if (cache && known_) prepare_cache();
  keep_logits_ = [this](int micro_batch, const Tensor& logits) {
    logits_[static_cast<size_t>(micro_batch)] = logits;
  };
}

Rounds::Cut Rounds::make_cut(bool one_position, int64_t positions,
                             const std::vector<std::string>& names) {
  Cut cut{one_position, positions, {}};
  Memory& memory = device_.host_addressable() ? host_ : device_.host_memory();
  for (int m = 0; m < micro_batches_; ++m) {
    Batch& batch = cut.batches.emplace_back();
    batch.names = names;
    batch.samples = batch_;
    for (const std::string& name : names) {
      const Shape shape = field_shape(name, batch_, cut.positions);
      const size_t bytes = static_cast<size_t>(shape.elements()) * sizeof(int32_t);
      batch.tensors.emplace_back(memory.take(bytes, Purpose::Workspace), shape, DType::I32);
    }
  }
  return cut;
}

int64_t Rounds::positions_of(const Row& row) const {
  return known_ ? whole_positions(row, context_) : context_;
}

Rounds::Cut& Rounds::whole_cut(int64_t positions) {
  const auto found = whole_.find(positions);
  if (found != whole_.end()) return found->second;
  if (positions < context_) pipeline_.prepare_positions(positions);
  return whole_.emplace(positions, make_cut(false, positions, pipeline_.reads().fields))
      .first->second;
}

void Rounds::count_cache() {
  for (const auto& stage : pipeline_.stages()) {
    cache_bytes_ += stage->facts().past_bytes * context_ * rows_of_replica();
  }
  const int64_t has =
      device_.host_addressable() ? host_memory_bytes() : device_.model().memory_bytes;
  const int64_t left = has - device_.memory().use().total_current;
  if (cache_bytes_ <= left) return;
  fail_resource("the keys and values of " + std::to_string(rows_of_replica()) + " rows of " +
                std::to_string(context_) + " positions take " + bytes_text(cache_bytes_) +
                ", and of the memory of " + device_.description() + " " + bytes_text(left) +
                " are left: use more stages, a smaller run.eval_batch (" + std::to_string(batch_) +
                " now) or --cache off");
}

void Rounds::prepare_cache() {
  count_cache();
  std::vector<std::string> names = pipeline_.reads().fields;
  names.insert(names.end(), {kPositions, kSeen, kPlaces});
  one_ = make_cut(true, 1, names);
  pipeline_.prepare_one_position();
  past_.emplace(context_);
}

// Moves the past (keys and values) of this replica's rows: from[r] is the place of the row that row
// r continues. Nothing is moved if from[r] is r, or if it is -1 (row r continues no row).
void Rounds::move_past(std::span<const int64_t> from) {
  std::vector<Past::Move> moves;
  const int64_t last = std::min(std::ssize(from), first_row() + rows_of_replica());
  for (int64_t r = first_row(); r < last; ++r) {
    const int64_t origin = from[static_cast<size_t>(r)];
    if (origin >= 0 && origin != r) moves.push_back({origin - first_row(), r - first_row()});
  }
  past_->move_rows(device_, moves, first_micro_batch_, batch_);
}

// Returns what the stages need to know about each micro-batch, in the order of the micro-batches.
// The list is empty without a cache.
std::vector<Decoding> Rounds::decoding(const Cut& cut, const Share& share) {
  std::vector<Decoding> all;
  if (!past_) return all;
  for (int m = 0; m < micro_batches_; ++m) {
    Decoding& decoding = all.emplace_back();
    decoding.past = &*past_;
    decoding.one_position = cut.one_position;
    for (int64_t j = 0; j < batch_; ++j) {
      const auto r = static_cast<size_t>(first_row() + m * batch_ + j);
      if (r < share.rows.size() && share.wanted[r] != 0) decoding.fresh.push_back(j);
    }
  }
  return all;
}

// Fills the batches with this replica's rows of `share`. What the rows do not fill is 0, and all
// labels are -1.
void Rounds::fill(Cut& cut, const Share& share) const {
  for (size_t m = 0; m < cut.batches.size(); ++m) {
    for (size_t f = 0; f < cut.batches[m].names.size(); ++f) {
      const std::string& name = cut.batches[m].names[f];
      const std::span<int32_t> field = cut.batches[m].tensors[f].span<int32_t>();
      std::ranges::fill(field, name == "labels" ? -1 : 0);
      for (int64_t j = 0; j < batch_; ++j) {
        const auto r = static_cast<size_t>(first_row() + static_cast<int64_t>(m) * batch_ + j);
        const Row* row = r < share.rows.size() && share.wanted[r] != 0 ? &share.rows[r] : nullptr;
        const auto at = static_cast<size_t>(j);
        const auto seen = static_cast<int32_t>(row != nullptr ? row->words.size() : 0);
        if (name == kPlaces) {  // each row has a place of its own, an empty one too
          field[at] = static_cast<int32_t>(j * context_) + std::max(seen - 1, 0);
        }
        // "starts" stays 0: a row holds one sample, which begins at position 0.
        if (row == nullptr || name == "labels" || name == "starts" || name == kPlaces) continue;
        if (name == "source_lengths") {
          field[at] = static_cast<int32_t>(row->source.size());
        } else if (name == kPositions) {
          field[at] = seen - 1;
        } else if (name == kSeen) {
          field[at] = seen;
        } else if (!cut.one_position) {
          std::ranges::copy(name == "source_tokens" ? row->source : row->words,
                            field.begin() + j * cut.positions);
        } else if (name != "source_tokens") {
          field[at] = row->words.back();
        }
      }
    }
  }
}

void Rounds::run(Cut& cut, const Share& share) {
  fill(cut, share);
  const std::vector<Decoding> decoding = this->decoding(cut, share);
  StepInput input;
  input.pass.training = false;
  input.pass.seed = seed_;
  input.pass.first_micro_batch = first_micro_batch_;
  input.pass.logits = &keep_logits_;
  input.batches = cut.batches;
  input.decoding = decoding;
  if (!cut.one_position && cut.positions < context_) input.positions = cut.positions;
  device_.memory().order_cache();
  pipeline_.run(input);
}

// Returns the logits of the word that follows `content`, which is this replica's row number `row`.
std::vector<float> Rounds::logits_of(const Cut& cut, int64_t row, const Row& content) const {
  const Tensor& logits = logits_[static_cast<size_t>(row / batch_)];
  const int64_t position = cut.one_position ? 0 : std::ssize(content.words) - 1;
  const int64_t place = (row % batch_ * cut.positions + position) * classes();
  Tensor wide = device_.empty({classes()}, DType::F32, Purpose::Workspace);
  device_.pointwise().copy(wide, logits.view(place, {classes()}));
  std::vector<float> values(static_cast<size_t>(classes()));
  device_.copy_to_host(values.data(), wide, wide.size_bytes());
  refuse_no_numbers(values);
  return values;
}

// Chooses `count` words for each wanted row of this replica, and writes the words and their log
// probabilities to `found`. Only the rank that has the logits calls this.
void Rounds::look(const Cut& cut, const Share& share, int count, const Choose& choose,
                  std::span<double> found) {
  const int64_t last = std::min(std::ssize(share.rows), first_row() + rows_of_replica());
  for (int64_t r = first_row(); r < last; ++r) {
    if (share.wanted[static_cast<size_t>(r)] == 0) continue;
    const Row& row = share.rows[static_cast<size_t>(r)];
    std::vector<NextWord> chosen = choose(logits_of(cut, r - first_row(), row), row);
    chosen.resize(static_cast<size_t>(count), {0, -std::numeric_limits<double>::infinity()});
    double* to = found.data() + r * count * 2;
    for (const NextWord& candidate : chosen) {
      *to++ = candidate.word;
      *to++ = candidate.log_probability;
    }
  }
}

void Rounds::choose_words(Cut& cut, const Share& share, int count, const Choose& choose,
                          std::span<double> found) {
  run(cut, share);
  if (pipeline_.loss_stage() != nullptr) look(cut, share, count, choose, found);
  for (Tensor& logits : logits_) logits.reset();
}

std::vector<std::vector<NextWord>> Rounds::next(const std::vector<Row>& rows, int count,
                                                const Choose& choose) {
  const std::vector<Row> listed = decode(network_.world().broadcast(encode(rows), 0));
  if (listed.empty()) {
    before_.clear();
    return {};
  }
  std::vector<Row> all = by_place(listed, replicas_ * rows_of_replica());
  std::vector<int64_t> from(all.size(), -1);
  if (past_) {
    from = origins(before_, all, rows_of_replica());
    move_past(from);
  }
  Share grown{all, {}};
  std::map<int64_t, Share> fresh;  // by the number of positions of the pass
  for (size_t r = 0; r < all.size(); ++r) {
    grown.wanted.push_back(from[r] >= 0 ? 1 : 0);
    if (from[r] >= 0 || all[r].words.empty()) continue;
    Share& share = fresh[positions_of(all[r])];
    share.rows = all;
    share.wanted.resize(all.size());
    share.wanted[r] = 1;
  }
  // Each number is zero on all ranks but one, so the sum is exact.
  std::vector<double> found(all.size() * static_cast<size_t>(count) * 2);
  // The rows that grow by one position come first: their pass writes the past of all rows. The
  // passes over whole rows then overwrite the past of the rows that they compute.
  if (std::ranges::count(grown.wanted, 1) > 0) choose_words(one_, grown, count, choose, found);
  for (const auto& [positions, share] : fresh) {
    choose_words(whole_cut(positions), share, count, choose, found);
  }
  before_ = std::move(all);
  network_.world().sum(found);
  std::vector<std::vector<NextWord>> candidates;
  for (const Row& row : listed) {
    const double* of_row = found.data() + row.place * count * 2;
    std::vector<NextWord>& chosen = candidates.emplace_back();
    for (const double* one = of_row; one != of_row + int64_t{count} * 2; one += 2) {
      chosen.push_back({static_cast<int32_t>(one[0]), one[1]});
    }
  }
  return candidates;
}

}  // namespace penstock
