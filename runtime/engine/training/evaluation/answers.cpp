#include "runtime/engine/training/evaluation/answers.h"

#include <algorithm>
#include <cmath>

#include "kernels/error.h"

namespace penstock {
namespace {

constexpr const char* kLabels = "labels";

// Adds the tokens of one micro-batch to the scores of their texts. The micro-batch's first row is
// row `first_row` of all rows.
void look_at_texts(const Questions& questions, int64_t first_row, std::span<const int32_t> labels,
                   std::span<const float> logits, int64_t rows, int64_t vocabulary,
                   std::span<TextScore> scores) {
  const size_t classes = logits.size() / labels.size();
  const size_t context = labels.size() / static_cast<size_t>(rows);
  const int64_t last = std::min(rows, questions.rows.size() - first_row);
  for (int64_t row = 0; row < last; ++row) {
    size_t at = static_cast<size_t>(row) * context;
    for (const int64_t text : questions.rows.row(first_row + row)) {
      const auto t = static_cast<size_t>(text);
      const size_t end = at + static_cast<size_t>(questions.lengths[t]);
      for (; at < end; ++at) {
        if (labels[at] < 0) continue;
        add_token(logits.subspan(at * classes, classes), labels[at], vocabulary, scores[t]);
      }
    }
  }
}

}  // namespace

void add_token(std::span<const float> logits, int32_t label, int64_t vocabulary, TextScore& score) {
  const auto right = static_cast<size_t>(label);
  const double wanted = logits[right];
  const double most = *std::ranges::max_element(logits);
  double sum = 0.0;
  for (const float logit : logits) sum += std::exp(static_cast<double>(logit) - most);
  score.log_probability += wanted - most - std::log(sum);
  const auto known = std::min(logits.size(), static_cast<size_t>(vocabulary));
  const auto chosen = std::ranges::max_element(logits.first(known)) - logits.begin();
  if (static_cast<size_t>(chosen) != right) score.greedy = false;
}

AnswerScores score_answers(const Config& config, DataSource& source, Pipeline& pipeline,
                           const Station& station, const SayLine& say) {
  std::vector<TextScore> scores(static_cast<size_t>(source.facts().question_texts));
  const Questions* questions = source.questions();
  if (source.facts().validation_samples > 0) {
    PassWatch watch;
    watch.look = [&](int64_t first, const Batch& batch, std::span<const float> logits) {
      if (questions == nullptr) fail_internal("the rank of the loss knows no questions");
      const Tensor& labels = batch.field(kLabels);
      look_at_texts(*questions, first, labels.span<const int32_t>(), logits, labels.dim(0),
                    source.facts().vocabulary, scores);
    };
    if (say) watch.went_on = told_now_and_then(source.facts().validation_samples, say);
    (void)pass_over_validation(config, source, pipeline, station, watch);
  }
  // Each text is in one row, and one rank has looked at that row. The other ranks add zeros, so the
  // sums are exact.
  std::vector<double> numbers;
  for (const TextScore& one : scores) {
    numbers.push_back(one.log_probability);
    numbers.push_back(one.greedy ? 0.0 : 1.0);
  }
  station.network.world().sum(numbers);
  if (station.session.rank() != 0) return {};
  for (size_t i = 0; i < scores.size(); ++i) {
    scores[i] = {numbers[2 * i], numbers[2 * i + 1] == 0.0};
  }
  return score(*questions, scores);
}

}  // namespace penstock
