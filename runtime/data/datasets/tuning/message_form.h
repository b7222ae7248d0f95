// runtime/data/datasets/tuning/message_form.h -- message_of(): reads one message of a conversation
// from JSON, with the names of keys and roles that different programs write. The roles themselves
// are those of chat.cpp.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "runtime/data/datasets/tuning/chat.h"

namespace penstock {

// The keys that the messages of a conversation have, set by the caller; and what message_of()
// found, which it sets to true and never back to false.
struct MessageForm {
  const char* role = "role";     // the key of the role; ShareGPT: "from"
  const char* text = "content";  // the key of the text; ShareGPT: "value"
  bool renamed = false;  // found: a role with another name, such as "human", "gpt" or "User"
  bool parts = false;  // found: a list of one text, [{"type": "text", "text": "..."}], as the text
};

// Whether a member that is not read is no loss: null, an empty text, or an empty list or object, as
// programs write keys that they have nothing for.
[[nodiscard]] bool says_nothing(const nlohmann::json& value);

// Reads the message `value`; `where` names file, line and message in errors. "human" becomes the
// role "user", "gpt" and "model" become "assistant". The key "weight", as in OpenAI's files, is 1,
// or 0 for an answer that is not to be learnt; null is no weight. Other members are passed over
// where they say nothing. Throws Error(Data) if `value` is no object or lacks role or text,
// Error(Input) if it has something else, such as "tool_calls" or an image.
[[nodiscard]] ChatMessage message_of(const nlohmann::json& value, const std::string& where,
                                     MessageForm& form);

}  // namespace penstock
