// runtime/data/tuning/tuning_line.h -- one line of data.kind = "jsonl" as tokens.
//
//   {"text": "..."}                                    loss on all of it
//   {"prompt": "...", "completion": "..."}             loss on the completion
//   {"prompt": "...", "choices": ["...", ...], "answer": 0}   on the choice that is the answer
//   {"messages": [{"role": "user", "content": "..."}, ...]}   on what the assistant says
//   {"prompt": [messages], "completion": [messages]}   on what the assistant says in the completion
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/data/text/tokenizer.h"
#include "runtime/data/tuning/chat.h"

namespace penstock {

struct TuningSample {
  std::vector<int32_t> ids;
  std::vector<uint8_t> answer;  // of each id: whether to predict it counts
  bool only_last = false;       // see ChatText
};

// What a line asks of a network: to write the answer, or to find one of several texts the most
// probable.
struct TuningQuestion {
  std::vector<TuningSample> texts;       // the answer behind its prompt; or each choice likewise,
                                         // without what ends a text. None: nothing is asked
  int64_t answer = -1;                   // which choice is right; -1: there are none
  std::vector<int64_t> characters = {};  // of each choice, blanks at its beginning left out
};

class TuningLines {
 public:
  // `chat` may be null: lines with messages are then refused. Both outlive this.
  TuningLines(const Tokenizer& tokenizer, const ChatTemplate* chat)
      : tokenizer_(tokenizer), chat_(chat) {}

  // `where` names file and line. Throws Error(Data) where the line is no JSON object or of none of
  // these forms, Error(Input) where the template refuses its messages.
  [[nodiscard]] TuningSample read(std::string_view line, const std::string& where) const;
  // Of the same line. Texts that are to be learnt as they are ask nothing.
  [[nodiscard]] TuningQuestion ask(std::string_view line, const std::string& where) const;

 private:
  [[nodiscard]] TuningSample plain(const std::string& text) const;
  [[nodiscard]] TuningSample answered(const std::string& prompt, const std::string& completion,
                                      bool ends = true) const;
  [[nodiscard]] TuningSample conversation(const std::vector<ChatMessage>& messages, size_t first,
                                          const std::string& where) const;
  void append_end(std::vector<int32_t>& ids) const;

  const Tokenizer& tokenizer_;
  const ChatTemplate* chat_;
};

}  // namespace penstock
