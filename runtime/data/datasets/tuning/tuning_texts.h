// runtime/data/datasets/tuning/tuning_texts.h -- TuningTexts: all samples of one file of data.kind
// = "jsonl" (data for fine-tuning) as tokens, with counts of lines that were left out or read in a
// special way; TuningFolder: the tokenizer and chat template that make them.
//
// The tokens of a line depend on the line and on the tokenizer's folder alone, and are kept in a
// file beside the run (runtime/data/tokens/token_cache.h). Which of them a run uses depends on
// model.context and data.too_long as well, and is decided each time.
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
  // Each token as one number: 2 * id, plus 1 if the loss counts its prediction.
  std::shared_ptr<const TokenSource> tokens = {};
  // One entry for each sample. A sample has one token more than positions, since behind its last
  // token nothing is predicted.
  std::vector<int64_t> begins = {};   // the index of its first token in `tokens`
  std::vector<int32_t> lengths = {};  // positions that it takes in a row, at most the context
  std::vector<int64_t> numbers = {};  // the number of its line among those not blank, from 0
  int64_t lines = 0;                  // lines that are not blank
  int64_t cut = 0;                    // samples that were longer than the context and are cut off
  // Counts of lines that are left out, by the reason.
  int64_t too_long = 0;        // longer than the context, with data.too_long = "leave-out"
  int64_t beyond_context = 0;  // the answer begins behind the context
  int64_t rewritten = 0;  // no answer stays as it is in the text of the whole conversation (chat.h)
  std::array<int64_t, 4> lacking = {};  // nothing to learn; index: Lacks (tuning_line.h)
  // Counts of samples.
  int64_t only_last = 0;  // conversations whose earlier answers do not count (ChatText::only_last)
  int64_t opened = 0;     // conversations with ChatText::opened
  // Counts of lines, left out or not.
  int64_t renamed = 0;  // with a role of another name, such as "human"
  int64_t parts = 0;    // with a list of one text as a content
  int64_t shared_gpt = 0, alpaca = 0, responses = 0;  // in the foreign forms (line_form.h)
  bool array = false;                                 // the file is a JSON array
  bool no_end = false;  // texts and completions end with no token, for the tokenizer has none
  // What a user should know of the tokenizer, and why tokens could not be kept in a file; may be
  // empty.
  std::string note = {};

  [[nodiscard]] int64_t size() const { return static_cast<int64_t>(lengths.size()); }
};

// What a user should know of the lines, made of these counts, as one text: "; 3 lines left out:
// ..."; empty: nothing.
[[nodiscard]] std::string remarks_on(const TuningTexts& texts, const DataConfig& config);

// The tokenizer and the chat template of the Hugging Face folder config.vocabulary, which turn
// files into samples.
class TuningFolder {
 public:
  // `config` must outlive this object. Throws Error(Input) if it names no folder or the folder
  // needs what is not supported, Error(Data) if a file of it is damaged, Error(Resource) if this
  // program was built without the part for tokenizers.
  explicit TuningFolder(const DataConfig& config);

  [[nodiscard]] int64_t vocabulary() const { return tokenizer_->size(); }
  [[nodiscard]] const TuningLines& lines() const { return lines_; }
  // All samples of the file at `path`, for rows of `context` positions. Throws Error(Data) or
  // Error(Input) as for_each_tuning_line() and TuningLines::read() do, and Error(Input) if no
  // sample is left.
  [[nodiscard]] TuningTexts texts(const std::string& path, int64_t context) const;

 private:
  const DataConfig& config_;
  std::unique_ptr<Tokenizer> tokenizer_;
  std::unique_ptr<ChatTemplate> chat_;
  TuningLines lines_;
};

}  // namespace penstock
