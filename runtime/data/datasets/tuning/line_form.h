// runtime/data/datasets/tuning/line_form.h -- content_of(): reads one line of a file of data.kind =
// "jsonl" (data for fine-tuning), whichever of the known forms it has, as a LineContent.
//
// The forms of our own, which are those of the library TRL, and what of them the loss counts:
//   {"text": "..."}                                    all of it
//   {"prompt": "...", "completion": "..."}             the completion
//   {"prompt": "...", "choices": ["...", ...], "answer": 0}   the choice that is the answer
//   {"messages": [{"role": "user", "content": "..."}, ...]}   what the assistant says
//   {"prompt": [messages], "completion": [messages]}   what the assistant says in the completion
// Foreign forms, and as which of ours each is read:
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
  Kind kind = Kind::Text;                 // says which of the members below count
  Foreign foreign = Foreign::None;        // the foreign form that the line has
  std::string text = {};                  // Text
  std::string prompt = {};                // Completion, Choices
  std::vector<std::string> choices = {};  // Choices: all; Completion: the completion, alone
  size_t answer = 0;                      // index of the right one in `choices`
  // Conversation:
  std::vector<ChatMessage> messages = {};
  size_t first = 0;        // messages from this index on may be answers; those before are a prompt
  ChatExtras extras = {};  // what the template is given besides messages
  bool renamed = false;    // a role had another name, such as "human" for "user"
  bool parts = false;      // a message had a list of one text as its content
};

// Reads a line; `where` names file and line in messages. Throws Error(Data) if the line is no JSON
// object or has none of the forms, Error(Input) if it has two of them or something that is not
// supported.
[[nodiscard]] LineContent content_of(std::string_view line, const std::string& where);

}  // namespace penstock
