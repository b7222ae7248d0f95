// runtime/data/datasets/tuning/line_form.h -- what a line of data.kind = "jsonl" says, in whatever
// form.
//
// Our own forms, which are those of TRL:
//   {"text": "..."}                                    loss on all of it
//   {"prompt": "...", "completion": "..."}             loss on the completion
//   {"prompt": "...", "choices": ["...", ...], "answer": 0}   on the choice that is the answer
//   {"messages": [{"role": "user", "content": "..."}, ...]}   on what the assistant says
//   {"prompt": [messages], "completion": [messages]}   on what the assistant says in the completion
// and those that others write, which are taken for one of them:
//   {"prompt": ..., "response": ...}                   completion
//   {"conversations": [{"from": "human", "value": "..."}, ...]}   ShareGPT: messages
//   {"instruction": "...", "input": "...", "output": "..."}   Alpaca: a user and an assistant
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/data/datasets/tuning/chat.h"

namespace penstock {

struct LineContent {
  enum class Kind : uint8_t { Text, Completion, Choices, Conversation };
  enum class Foreign : uint8_t { None, Response, ShareGpt, Alpaca };
  Kind kind = Kind::Text;
  Foreign foreign = Foreign::None;
  std::string text = {};                  // Text
  std::string prompt = {};                // Completion, Choices
  std::vector<std::string> choices = {};  // the completion, or the choices
  size_t answer = 0;                      // of the choices
  std::vector<ChatMessage> messages = {};
  size_t first = 0;        // messages from here on may be answers
  ChatExtras extras = {};  // Conversation
  bool renamed = false;    // see MessageForm
  bool parts = false;      // likewise
};

// `where` names file and line. Throws Error(Data) where the line is no JSON object or has none of
// the forms, Error(Input) where it has two of them or says what is not supported.
[[nodiscard]] LineContent content_of(std::string_view line, const std::string& where);

}  // namespace penstock
