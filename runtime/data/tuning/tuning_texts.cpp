#include "runtime/data/tuning/tuning_texts.h"

#include <algorithm>
#include <utility>

#include "kernels/error.h"
#include "runtime/data/folder/hub_tokenizer.h"
#include "runtime/data/text/text_file.h"
#include "runtime/data/tokens/token_cache.h"
#include "runtime/data/tuning/chat_template.h"

namespace penstock {
namespace {

// A sample as it is kept: whether only its last answer counts, and its tokens, however many.
std::vector<int32_t> kept_form(const TuningSample& sample) {
  std::vector<int32_t> kept = {sample.only_last ? 1 : 0};
  for (size_t i = 0; i < sample.ids.size(); ++i) {
    kept.push_back(2 * sample.ids[i] + sample.answer[i]);
  }
  return kept;
}

// The kept sample in [begin, end) of texts.tokens, as far as it enters a row.
void take_kept(int64_t begin, int64_t end, int64_t context, bool leaves_out, TuningTexts& texts) {
  std::vector<int32_t> kept(static_cast<size_t>(std::min(end - begin, context + 2)));
  texts.tokens->read(begin, kept);
  const int64_t number = texts.lines++;
  const bool long_one = end - begin > context + 2;
  // Nothing predicts the first token.
  const bool counts = std::any_of(kept.begin() + std::min<std::ptrdiff_t>(2, std::ssize(kept)),
                                  kept.end(), [](int32_t token) { return token % 2 == 1; });
  if (!counts || (long_one && leaves_out)) {
    ++texts.left_out;
    return;
  }
  if (long_one) ++texts.cut;
  texts.only_last += kept[0];
  texts.begins.push_back(begin + 1);
  texts.lengths.push_back(static_cast<int32_t>(kept.size()) - 2);
  texts.numbers.push_back(number);
}

const DataConfig& with_folder(const DataConfig& config) {
  if (config.tokenizer == "folder" && !config.vocabulary.empty()) return config;
  fail_input(
      "data.kind = \"jsonl\" needs the tokenizer of a folder: give model.from, or "
      "data.tokenizer = \"folder\" and the folder as data.vocabulary");
}

}  // namespace

void for_each_tuning_line(
    const std::string& path, int64_t unpack_limit,
    const std::function<void(std::string_view line, const std::string& where)>& take) {
  int64_t number = 0;
  const auto look = [&](std::string_view line) {
    ++number;
    if (line.find_first_not_of(" \t\r") == std::string_view::npos) return;
    take(line, path + ", line " + std::to_string(number));
  };
  for_each_line(path, look, unpack_limit);
}

TuningFolder::TuningFolder(const DataConfig& config)
    : config_(with_folder(config)),
      tokenizer_(open_hub_tokenizer(config.vocabulary)),
      chat_(open_chat_template(config.vocabulary, config.date)),
      lines_(*tokenizer_, chat_.get()) {}

TuningTexts TuningFolder::texts(const std::string& path, int64_t context) const {
  const auto cut = [&](const KeepLine& keep) {
    for_each_tuning_line(path, config_.unpack_limit,
                         [&](std::string_view line, const std::string& where) {
                           keep(kept_form(lines_.read(line, where)));
                         });
  };
  TextInPieces kept = samples_by_tokenizer(path, config_, *tokenizer_, cut);
  TuningTexts texts;
  texts.tokens = std::move(kept.tokens);
  texts.note = std::move(kept.note);
  for (size_t i = 0; i + 1 < kept.starts.size(); ++i) {
    if (kept.starts[i] == kept.starts[i + 1]) continue;  // of no file of ours
    take_kept(kept.starts[i], kept.starts[i + 1], context, config_.too_long == "leave-out", texts);
  }
  if (texts.size() == 0) {
    fail_input(path + ": none of its " + std::to_string(texts.lines) +
               (texts.lines == 1 ? " line" : " lines") +
               " has an answer within model.context = " + std::to_string(context));
  }
  return texts;
}

}  // namespace penstock
