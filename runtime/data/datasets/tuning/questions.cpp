#include "runtime/data/datasets/tuning/questions.h"

#include <algorithm>
#include <utility>

#include "kernels/error.h"
#include "runtime/data/datasets/share.h"
#include "runtime/data/datasets/tuning/tuning_set.h"
#include "runtime/data/tokens/in_order.h"

namespace penstock {
namespace {

// Collects the texts of the questions, one question after another.
class QuestionTexts {
 public:
  QuestionTexts(int64_t vocabulary, int64_t context)
      : context_(context), tokens_(PackedTokens(2 * vocabulary)) {}

  void take(const TuningQuestion& question) {
    const auto most = static_cast<size_t>(context_) + 1;
    if (question.texts.empty()) return;
    const auto is_long = [&](const TuningSample& text) { return text.ids.size() > most; };
    const auto is_told = [](const TuningSample& text) { return any_counts(text); };
    if (std::ranges::any_of(question.texts, is_long)) {
      ++questions_.too_long;
      return;
    }
    if (!std::ranges::all_of(question.texts, is_told)) {
      ++questions_.without_token;
      return;
    }
    questions_.all.push_back({static_cast<int64_t>(questions_.lengths.size()),
                              std::ssize(question.texts), question.answer});
    for (size_t i = 0; i < question.texts.size(); ++i) {
      append(question.texts[i]);
      questions_.characters.push_back(question.answer < 0 ? 0 : question.characters[i]);
    }
  }

  // Returns the texts of all questions as a validation set of rows.
  Datasets sets(const std::string& path, bool packed, int64_t vocabulary) {
    questions_.rows = packed ? pack_rows(questions_.lengths, context_, 0, false)
                             : single_rows(std::ssize(questions_.lengths));
    texts_.tokens = tokens_in_memory(path, std::move(tokens_), "token");
    texts_.lengths = questions_.lengths;
    const auto texts = std::make_shared<const TuningTexts>(std::move(texts_));
    Datasets sets;
    sets.vocabulary = vocabulary;
    sets.train = std::make_shared<TuningSet>(texts, single_rows(0), context_, packed);
    if (!questions_.all.empty()) {
      sets.validation = std::make_shared<TuningSet>(texts, questions_.rows, context_, packed);
    }
    sets.questions = std::make_shared<const Questions>(std::move(questions_));
    return sets;
  }

 private:
  void append(const TuningSample& text) {
    texts_.begins.push_back(static_cast<int64_t>(tokens_.size()));
    std::vector<int32_t> kept;
    for (size_t i = 0; i < text.ids.size(); ++i) kept.push_back(2 * text.ids[i] + text.answer[i]);
    tokens_.append(kept);
    questions_.lengths.push_back(static_cast<int32_t>(text.ids.size()) - 1);
  }

  int64_t context_;
  PackedTokens tokens_;
  TuningTexts texts_;
  Questions questions_;
};

// Returns the place of the largest value. If several are equal, the first place is returned.
template <class Value>
int64_t largest(int64_t count, const Value& value) {
  int64_t best = 0;
  for (int64_t i = 1; i < count; ++i) {
    if (value(i) > value(best)) best = i;
  }
  return best;
}

}  // namespace

AnswerScores score(const Questions& questions, std::span<const TextScore> scores) {
  AnswerScores all;
  all.too_long = questions.too_long;
  all.without_token = questions.without_token;
  for (const Question& question : questions.all) {
    const auto of = scores.subspan(static_cast<size_t>(question.first));
    if (question.answer < 0) {
      ++all.answers;
      all.exact += of[0].greedy ? 1 : 0;
      continue;
    }
    const auto likely = [&](int64_t i) { return of[static_cast<size_t>(i)].log_probability; };
    const auto by_length = [&](int64_t i) {
      const int64_t characters = questions.characters[static_cast<size_t>(question.first + i)];
      return likely(i) / static_cast<double>(std::max<int64_t>(characters, 1));
    };
    ++all.questions;
    all.right += largest(question.texts, likely) == question.answer ? 1 : 0;
    all.right_by_length += largest(question.texts, by_length) == question.answer ? 1 : 0;
  }
  return all;
}

Datasets open_questions(const DataConfig& config, int64_t context) {
  const TuningFolder folder(config);
  const bool share = share_of(config.validation).has_value();
  const std::string& path = share ? config.train : config.validation;
  const TuningTexts texts = folder.texts(path, context);
  const int64_t first = share ? training_end(config, texts.size()) : 0;
  QuestionTexts questions(folder.vocabulary(), context);
  using Lines = InOrder<KeptLine, TuningQuestion>;
  const auto read = [&](const Lines::Give& give) {
    int64_t number = 0;
    size_t next = static_cast<size_t>(first);
    const auto choose = [&](std::string_view line, const std::string& where) {
      if (next < texts.numbers.size() && texts.numbers[next] == number) {
        give({std::string(line), where}, line.size());
        ++next;
      }
      ++number;
    };
    for_each_tuning_line(path, config.unpack_limit, choose);
  };
  const auto make = [&](const KeptLine& line) { return folder.lines().ask(line.text, line.where); };
  Lines::run(config.cut_threads, read, make,
             [&](const TuningQuestion& question) { questions.take(question); });
  return questions.sets(path, config.packed, folder.vocabulary());
}

}  // namespace penstock
