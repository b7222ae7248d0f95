#include "runtime/data/datasets/tuning/tuning_texts.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "kernels/error.h"
#include "runtime/data/datasets/tuning/chat_template.h"
#include "runtime/data/tokenizer/hub/hub_tokenizer.h"
#include "runtime/data/tokens/in_order.h"
#include "runtime/data/tokens/token_cache.h"

namespace penstock {
namespace {

// A kept sample begins with one number before its tokens. The number is the sum of these flags,
// kForm times the sample's form, and kLacks times what the sample lacks. It is below kMostKept
// (tokens/token_cache.cpp).
enum Kept : int32_t {
  kOnlyLast = 1,
  kOpened = 2,
  kRenamed = 4,
  kForm = 8,
  kArray = 32,
  kPlain = 64,
  kParts = 128,
  kLacks = 256
};

std::vector<int32_t> kept_form(const TuningSample& sample, bool in_array) {
  std::vector<int32_t> kept = {(sample.only_last ? kOnlyLast : 0) + (sample.opened ? kOpened : 0) +
                               (sample.renamed ? kRenamed : 0) + (in_array ? kArray : 0) +
                               (sample.plain ? kPlain : 0) + (sample.parts ? kParts : 0) +
                               kForm * static_cast<int32_t>(sample.foreign) +
                               kLacks * static_cast<int32_t>(sample.lacks)};
  for (size_t i = 0; i < sample.ids.size(); ++i) {
    kept.push_back(2 * sample.ids[i] + sample.answer[i]);
  }
  return kept;
}

// Returns whether a kept sample has a token that counts and is predicted. Index 0 holds the flags,
// and index 1 the first token, which nothing predicts.
bool any_kept_counts(std::span<const int32_t> kept) {
  return std::any_of(kept.begin() + std::min<std::ptrdiff_t>(2, std::ssize(kept)), kept.end(),
                     [](int32_t token) { return token % 2 == 1; });
}

void count_form(int32_t first, TuningTexts& texts) {
  const auto foreign = static_cast<LineContent::Foreign>(first / kForm % 4);
  texts.responses += foreign == LineContent::Foreign::Response ? 1 : 0;
  texts.shared_gpt += foreign == LineContent::Foreign::ShareGpt ? 1 : 0;
  texts.alpaca += foreign == LineContent::Foreign::Alpaca ? 1 : 0;
  texts.renamed += (first & kRenamed) != 0 ? 1 : 0;
  texts.parts += (first & kParts) != 0 ? 1 : 0;
  texts.array |= (first & kArray) != 0;
}

// Adds the sample that is kept in [begin, end) of texts.tokens to `texts`, cut to the length of a
// row. If the sample is left out instead, it is counted by the reason for that.
void take_kept(int64_t begin, int64_t end, int64_t context, bool leaves_out, TuningTexts& texts) {
  std::vector<int32_t> kept(static_cast<size_t>(std::min(end - begin, context + 2)));
  texts.tokens->read(begin, kept);
  const int64_t number = texts.lines++;
  const int32_t first = kept[0];
  count_form(first, texts);
  const bool long_one = end - begin > context + 2;
  if (long_one && leaves_out) {
    ++texts.too_long;
    return;
  }
  if (!any_kept_counts(kept)) {
    std::vector<int32_t> whole(static_cast<size_t>(end - begin));
    texts.tokens->read(begin, whole);
    if (any_kept_counts(whole)) {
      ++texts.beyond_context;
    } else {
      const auto lacks = static_cast<size_t>(first / kLacks) % texts.lacking.size();
      ++((first & kOnlyLast) != 0 ? texts.rewritten : texts.lacking[lacks]);
    }
    return;
  }
  if (long_one) ++texts.cut;
  texts.only_last += (first & kOnlyLast) != 0 ? 1 : 0;
  texts.opened += (first & kOpened) != 0 ? 1 : 0;
  texts.no_end |= (first & kPlain) != 0;
  texts.begins.push_back(begin + 1);
  texts.lengths.push_back(static_cast<int32_t>(kept.size()) - 2);
  texts.numbers.push_back(number);
}

std::string counted(int64_t n, const char* what) {
  return std::to_string(n) + " " + what + (n == 1 ? "" : "s");
}

size_t index_of(Lacks lacks) {
  return static_cast<size_t>(lacks);
}

// Returns a text with the number of lines left out for each reason, for example "2 without an
// answer (...), 1 longer than model.context (...)".
std::string left_out(const TuningTexts& texts) {
  std::string reasons;
  const auto add = [&](int64_t n, const char* why) {
    if (n > 0) reasons += (reasons.empty() ? "" : ", ") + std::to_string(n) + " " + why;
  };
  add(texts.lacking[index_of(Lacks::Answer)],
      "without an answer (of the assistant, where they are messages)");
  add(texts.beyond_context, "whose answer begins behind model.context");
  add(texts.too_long, "longer than model.context (data.too_long)");
  add(texts.rewritten,
      "whose answer, or what stands before it, the chat template writes anew once it is given");
  add(texts.lacking[index_of(Lacks::Weight)], "whose answers have the weight 0");
  add(texts.lacking[index_of(Lacks::Text)], "whose answer comes to no token");
  add(texts.lacking[index_of(Lacks::Prediction)],
      "of fewer than two tokens, of which nothing predicts the first");
  return reasons;
}

const DataConfig& with_folder(const DataConfig& config) {
  if (config.tokenizer == "folder" && !config.vocabulary.empty()) return config;
  fail_input(
      "data.kind = \"jsonl\" needs the tokenizer of a folder: give model.from, or "
      "data.tokenizer = \"folder\" and the folder as data.vocabulary");
}

}  // namespace

std::string remarks_on(const TuningTexts& texts, const DataConfig& config) {
  std::string all;
  const auto remark = [&](int64_t n, const char* what, const std::string& rest) {
    if (n > 0) all += "; " + counted(n, what) + " " + rest;
  };
  const int64_t gone = std::accumulate(texts.lacking.begin(), texts.lacking.end(),
                                       texts.beyond_context + texts.too_long + texts.rewritten);
  if (texts.array) all += "; the file is a JSON array, of which each element is taken for a line";
  remark(texts.shared_gpt, "line", "in ShareGPT's form (from, value), taken for messages");
  remark(texts.alpaca, "line",
         "in Alpaca's form, taken for messages: the user's instruction and input, the assistant's "
         "output");
  remark(texts.responses, "line", "with \"response\", taken for \"completion\"");
  remark(texts.renamed, "line",
         "with roles of other names: human is taken for user, gpt and model for assistant, "
         "developer for system where the template does not know it");
  remark(texts.parts, "line", "with a content that is a list of one text, taken for the text");
  remark(texts.cut, "line", "cut off at the context");
  remark(gone, "line", "left out: " + left_out(texts));
  remark(texts.only_last, "conversation",
         "of which only the last answer counts, for the template rewrites earlier turns");
  remark(texts.opened, "conversation",
         "whose answer begins before the end of the generation prompt: the template opens it with "
         "what it does not show in history, such as a thought");
  if (texts.no_end) {
    all +=
        "; no end-of-text token is known, so texts and completions end without one: name it as "
        "eos_token in " +
        config.vocabulary + "/tokenizer_config.json";
  }
  return all;
}

TuningFolder::TuningFolder(const DataConfig& config)
    : config_(with_folder(config)),
      tokenizer_(open_hub_tokenizer(config.vocabulary)),
      chat_(open_chat_template(config.vocabulary, config.date)),
      lines_(*tokenizer_, chat_.get()) {}

TuningTexts TuningFolder::texts(const std::string& path, int64_t context) const {
  using InTurn = InOrder<KeptLine, std::vector<int32_t>>;
  const auto read = [&](const InTurn::Give& give) {
    for_each_tuning_line(path, config_.unpack_limit,
                         [&](std::string_view line, const std::string& where) {
                           give({std::string(line), where}, line.size());
                         });
  };
  const auto make = [&](const KeptLine& line) {
    const bool in_array = line.where.starts_with(path + ", element ");
    return kept_form(lines_.read(line.text, line.where), in_array);
  };
  const auto cut = [&](const KeepLine& keep) {
    InTurn::run(config_.cut_threads, read, make, keep);
  };
  TextInPieces kept = samples_by_tokenizer(path, config_, *tokenizer_, cut);
  TuningTexts texts;
  texts.tokens = std::move(kept.tokens);
  texts.note = tokenizer_->note();
  if (!kept.note.empty()) texts.note += (texts.note.empty() ? "" : "; ") + kept.note;
  for (size_t i = 0; i + 1 < kept.starts.size(); ++i) {
    if (kept.starts[i] == kept.starts[i + 1]) continue;  // Penstock writes no empty sample
    take_kept(kept.starts[i], kept.starts[i + 1], context, config_.too_long == "leave-out", texts);
  }
  if (texts.lines == 0) fail_input(path + " has no lines: give one JSON object a line");
  if (texts.size() == 0) {
    fail_input(path + ": none of its " + counted(texts.lines, "line") + " is left, with " +
               "model.context = " + std::to_string(context) + ": " + left_out(texts));
  }
  return texts;
}

}  // namespace penstock
