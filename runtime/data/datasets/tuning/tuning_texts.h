// runtime/data/datasets/tuning/tuning_texts.h -- TuningTexts: all samples of a file of data.kind =
// "jsonl"; TuningFolder: the tokenizer and chat template that make them.
//
// The tokens of a line depend on the line and the folder alone, and are kept beside the run
// (tokens/token_cache.h); which of them enter a row depends on the run.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/data/config.h"
#include "runtime/data/datasets/tuning/chat.h"
#include "runtime/data/datasets/tuning/tuning_file.h"
#include "runtime/data/datasets/tuning/tuning_line.h"
#include "runtime/data/tokenizer/tokenizer.h"
#include "runtime/data/tokens/token_source.h"

namespace penstock {

struct TuningTexts {
  std::shared_ptr<const TokenSource> tokens = {};  // twice each id, plus 1 where the token counts
  // One entry for each sample; a sample has one token more than it has positions.
  std::vector<int64_t> begins = {};   // where it begins in `tokens`
  std::vector<int32_t> lengths = {};  // positions that it takes in a row, at most the context
  std::vector<int64_t> numbers = {};  // the number of its line, from 0 on
  int64_t lines = 0;                  // lines that are not blank
  int64_t cut = 0;                    // samples that were longer than the context
  // Counts of lines left out, by the reason.
  int64_t too_long = 0;        // data.too_long = "leave-out"
  int64_t beyond_context = 0;  // the answer begins behind the context
  int64_t rewritten = 0;       // the template changes the answer, or what is before it, afterwards
  std::array<int64_t, 4> lacking = {};  // nothing to learn, by Lacks
  // Counts of samples, then of all lines.
  int64_t only_last = 0;  // conversations whose earlier answers do not count
  int64_t opened = 0;     // conversations with an answer that begins within the generation prompt
  int64_t renamed = 0;    // lines with a role that was written in another way ("human")
  int64_t parts = 0;      // lines with a content that is a list of one text
  int64_t shared_gpt = 0, alpaca = 0, responses = 0;  // lines in foreign forms
  bool array = false;                                 // the file is a JSON array
  bool no_end = false;  // texts and completions end with no token, for none is known
  // A note on the tokenizer, and on why tokens could not be kept beside the run; may be empty.
  std::string note = {};

  [[nodiscard]] int64_t size() const { return static_cast<int64_t>(lengths.size()); }
};

// What a user should know of the lines: "3 left out without an answer", ...; empty: nothing.
[[nodiscard]] std::string remarks_on(const TuningTexts& texts, const DataConfig& config);

// The tokenizer and the chat template of the folder data.vocabulary, and the lines that they cut.
class TuningFolder {
 public:
  // `config` must outlive this. Throws Error(Input) where it names no folder, and as
  // open_hub_tokenizer() and open_chat_template().
  explicit TuningFolder(const DataConfig& config);

  [[nodiscard]] int64_t vocabulary() const { return tokenizer_->size(); }
  [[nodiscard]] const TuningLines& lines() const { return lines_; }
  // All samples of the file. Throws as TuningLines::read(), and Error(Input) where none is left.
  [[nodiscard]] TuningTexts texts(const std::string& path, int64_t context) const;

 private:
  const DataConfig& config_;
  std::unique_ptr<Tokenizer> tokenizer_;
  std::unique_ptr<ChatTemplate> chat_;
  TuningLines lines_;
};

}  // namespace penstock
