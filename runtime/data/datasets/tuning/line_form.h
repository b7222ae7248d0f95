// runtime/data/datasets/tuning/line_form.h -- LineContent: what a line of data.kind = "jsonl" says,
// whichever of these forms it has.
//
// Our own forms, which are those of TRL, and what the loss counts:
//   {"text": "..."}                                    all of it
//   {"prompt": "...", "completion": "..."}             the completion
//   {"prompt": "...", "choices": ["...", ...], "answer": 0}   the choice that is the answer
//   {"messages": [{"role": "user", "content": "..."}, ...]}   what the assistant says
//   {"prompt": [messages], "completion": [messages]}   what the assistant says in the completion
// Forms that others write, and which of ours each is taken for:
//   {"prompt": ..., "response": ...}                   prompt and completion
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
  std::vector<std::string> choices = {};  // Choices: all; Completion: the completion alone
  size_t answer = 0;                      // the right one of `choices`
  // Conversation:
  std::vector<ChatMessage> messages = {};
  size_t first = 0;        // messages from this one on may be answers
  ChatExtras extras = {};  // tools and keywords of the template
  bool renamed = false;    // a role was written in another way ("human")
  bool parts = false;      // a content was a list of one text
};

// Reads a line; `where` names file and line. Throws Error(Data) where the line is no JSON object or
// has none of the forms, Error(Input) where it has two of them or says what is not supported.
[[nodiscard]] LineContent content_of(std::string_view line, const std::string& where);

}  // namespace penstock
