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

class TuningLines {
 public:
  // `chat` may be null: lines with messages are then refused. Both outlive this.
  TuningLines(const Tokenizer& tokenizer, const ChatTemplate* chat)
      : tokenizer_(tokenizer), chat_(chat) {}

  // `where` names file and line. Throws Error(Data) where the line is no JSON object or of none of
  // these forms, Error(Input) where the template refuses its messages.
  [[nodiscard]] TuningSample read(std::string_view line, const std::string& where) const;

 private:
  [[nodiscard]] TuningSample plain(const std::string& text) const;
  [[nodiscard]] TuningSample answered(const std::string& prompt,
                                      const std::string& completion) const;
  [[nodiscard]] TuningSample conversation(const std::vector<ChatMessage>& messages, size_t first,
                                          const std::string& where) const;
  void append_end(std::vector<int32_t>& ids) const;

  const Tokenizer& tokenizer_;
  const ChatTemplate* chat_;
};

}  // namespace penstock
