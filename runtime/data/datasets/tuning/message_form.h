// runtime/data/datasets/tuning/message_form.h -- reads one message of a conversation, as people
// write it: other names of its keys and roles are recognised in message_form.cpp.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "runtime/data/datasets/tuning/chat.h"

namespace penstock {

// The keys that messages have; and flags, which message_of() sets but never clears, of forms other
// than ours that it met.
struct MessageForm {
  const char* role = "role";     // ShareGPT: "from"
  const char* text = "content";  // ShareGPT: "value"
  bool renamed = false;          // a role was written in another way: "human", "gpt", "User"
  bool parts = false;  // a content was a list of one text: [{"type": "text", "text": "..."}]
};

// Reads a message; `where` names file, line and message. Members that are null are passed over.
// "weight", as in OpenAI's files, is 1, or 0 where an answer is not to be learnt. Throws
// Error(Data) where `value` is no object or lacks role or text, Error(Input) where it has something
// else, such as "tool_calls" or an image.
[[nodiscard]] ChatMessage message_of(const nlohmann::json& value, const std::string& where,
                                     MessageForm& form);

}  // namespace penstock
