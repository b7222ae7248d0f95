// runtime/data/datasets/tuning/tuning_line.h -- one line of data.kind = "jsonl" (line_form.h) as
// tokens.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/data/datasets/tuning/chat.h"
#include "runtime/data/datasets/tuning/line_form.h"
#include "runtime/data/tokenizer/tokenizer.h"

namespace penstock {

// Why there is nothing to learn in a line. Kept in files (tuning_texts.cpp).
enum class Lacks : uint8_t {
  Answer,     // there is none (in messages: none of the assistant)
  Weight,     // all answers have the weight 0
  Text,       // the answer comes to no token
  Prediction  // the sample has one token, which nothing predicts, or none
};

struct TuningSample {
  std::vector<int32_t> ids;
  std::vector<uint8_t> answer;  // of each id: whether to predict it counts
  Lacks lacks = Lacks::Answer;  // why nothing counts, where no predicted token does
  bool only_last = false;       // see ChatText
  bool opened = false;          // likewise
  bool plain = false;           // no token ends it, since none is known
  bool renamed = false;         // see LineContent
  bool parts = false;           // likewise
  LineContent::Foreign foreign = LineContent::Foreign::None;
};

// What a line asks of a network: to write the answer, or to find one of several texts the most
// probable.
struct TuningQuestion {
  std::vector<TuningSample> texts;       // the answer behind its prompt; or each choice likewise,
                                         // without what ends a text. None: nothing is asked
  int64_t answer = -1;                   // which choice is right; -1: there are none
  std::vector<int64_t> characters = {};  // of each choice, blanks at its beginning left out
};

// Whether anything of it is predicted and counts: nothing predicts the first token.
[[nodiscard]] bool any_counts(const TuningSample& sample);

class TuningLines {
 public:
  // `chat` may be null: lines with messages are then refused. Both outlive this.
  TuningLines(const Tokenizer& tokenizer, const ChatTemplate* chat)
      : tokenizer_(tokenizer), chat_(chat) {}

  // `where` names file and line. Throws as content_of() does, and Error(Input) where the template
  // refuses the messages, or does not read what stands beside them.
  [[nodiscard]] TuningSample read(std::string_view line, const std::string& where) const;
  // The question of the same line. Texts that are to be learnt as they are ask nothing. Throws as
  // read().
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
