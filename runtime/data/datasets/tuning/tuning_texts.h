// runtime/data/datasets/tuning/tuning_texts.h -- all samples of a file of data.kind = "jsonl".
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
  // One entry a sample, which has one token more than positions.
  std::vector<int64_t> begins = {};   // in `tokens`
  std::vector<int32_t> lengths = {};  // positions that it takes in a row, at most the context
  std::vector<int64_t> numbers = {};  // which of the lines it is, from 0 on
  int64_t lines = 0;                  // lines that are not blank
  int64_t cut = 0;                    // samples that were longer than the context
  // Lines left out, by the reason.
  int64_t too_long = 0;        // data.too_long = "leave-out"
  int64_t beyond_context = 0;  // the answer begins behind the context
  int64_t rewritten = 0;       // the template writes the answer, or what is before it, anew
  std::array<int64_t, 4> lacking = {};  // by Lacks
  // Counts of all lines.
  int64_t only_last = 0;  // conversations of which only the last answer counts
  int64_t opened = 0;     // those with an answer that begins within what the template opens it by
  int64_t renamed = 0;    // those with roles of other names
  int64_t parts = 0;      // those with a content that is a list of one text
  int64_t shared_gpt = 0, alpaca = 0, responses = 0;  // lines in foreign forms
  bool array = false;                                 // the file is a JSON array
  bool no_end = false;  // texts and completions end with no token, for none is known
  // What is to be said of the tokenizer, and of texts that should be kept and cannot be; may be
  // empty.
  std::string note = {};

  [[nodiscard]] int64_t size() const { return static_cast<int64_t>(lengths.size()); }
};

// "3 left out without an answer", with what else is to be known of the lines; empty: nothing.
[[nodiscard]] std::string remarks_on(const TuningTexts& texts, const DataConfig& config);

// The tokenizer and the chat template of the folder data.vocabulary, and lines by them.
class TuningFolder {
 public:
  // `config` must outlive this. Throws Error(Input) where it names no folder, and as
  // open_hub_tokenizer() and open_chat_template().
  explicit TuningFolder(const DataConfig& config);

  [[nodiscard]] int64_t vocabulary() const { return tokenizer_->size(); }
  [[nodiscard]] const TuningLines& lines() const { return lines_; }
  // Throws as TuningLines::read(), and Error(Input) where no sample is left.
  [[nodiscard]] TuningTexts texts(const std::string& path, int64_t context) const;

 private:
  const DataConfig& config_;
  std::unique_ptr<Tokenizer> tokenizer_;
  std::unique_ptr<ChatTemplate> chat_;
  TuningLines lines_;
};

}  // namespace penstock
