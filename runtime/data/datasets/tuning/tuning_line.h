// runtime/data/datasets/tuning/tuning_line.h -- TuningLines: makes tokens of a line of data.kind =
// "jsonl", as a sample to learn or as a question to ask.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/data/datasets/tuning/chat.h"
#include "runtime/data/datasets/tuning/line_form.h"
#include "runtime/data/tokenizer/tokenizer.h"

namespace penstock {

// What a line lacks in which there is nothing to learn. The values are written to files.
enum class Lacks : uint8_t {
  Answer,     // there is no answer (in messages: none of the assistant)
  Weight,     // all answers have the weight 0
  Text,       // the answer comes to no token
  Prediction  // the sample has one token, which nothing predicts, or none
};

struct TuningSample {
  std::vector<int32_t> ids;
  std::vector<uint8_t> answer;  // by id: 1 where the loss counts its prediction
  Lacks lacks = Lacks::Answer;  // why no prediction counts, where none does
  bool only_last = false;       // earlier answers do not count: the template writes them otherwise
  bool opened = false;          // an answer begins within the generation prompt
  bool plain = false;           // no token ends the text, since the tokenizer knows none
  bool renamed = false;         // a role was written in another way ("human")
  bool parts = false;           // a content was a list of one text
  LineContent::Foreign foreign = LineContent::Foreign::None;
};

// What a line asks of a network: to write the answer, or to find one of several texts the most
// probable.
struct TuningQuestion {
  // Prompt and answer; or prompt and choice for each choice, without the token that ends a text.
  // Empty: nothing is asked.
  std::vector<TuningSample> texts;
  int64_t answer = -1;                   // the number of the right choice; -1: there are no choices
  std::vector<int64_t> characters = {};  // by choice, blanks at its beginning not counted
};

// Whether the prediction of any token counts; nothing predicts the first one.
[[nodiscard]] bool any_counts(const TuningSample& sample);

class TuningLines {
 public:
  // `chat` may be null: lines with messages are then refused. Both outlive this.
  TuningLines(const Tokenizer& tokenizer, const ChatTemplate* chat)
      : tokenizer_(tokenizer), chat_(chat) {}

  // The sample of a line; `where` names file and line. Throws as content_of() does, and
  // Error(Input) where the template refuses the messages, or does not read the line's tools or
  // keywords.
  [[nodiscard]] TuningSample read(std::string_view line, const std::string& where) const;
  // The question of a line; a line {"text": ...} asks nothing. Throws as read().
  [[nodiscard]] TuningQuestion ask(std::string_view line, const std::string& where) const;

 private:
  [[nodiscard]] TuningSample sample_of(const LineContent& content, const std::string& where) const;
  [[nodiscard]] TuningSample plain(const std::string& text) const;
  [[nodiscard]] TuningSample answered(const std::string& prompt, const std::string& completion,
                                      bool ends = true) const;
  [[nodiscard]] TuningSample conversation(const LineContent& content,
                                          const std::string& where) const;
  void check_extras(const ChatExtras& extras, const std::string& where) const;
  void append_end(std::vector<int32_t>& ids) const;

  const Tokenizer& tokenizer_;
  const ChatTemplate* chat_;
};

}  // namespace penstock
