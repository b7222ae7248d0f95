// runtime/data/datasets/tuning/message_form.h -- one message of a conversation, as people write it.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "runtime/data/datasets/tuning/chat.h"

namespace penstock {

// What messages are written with, and what of them was taken for something else.
struct MessageForm {
  const char* role = "role";  // ShareGPT: "from" and "value"
  const char* text = "content";
  bool renamed = false;  // a role was written in another way: "human", "gpt", "User"
  bool parts = false;    // a content was a list of one text: [{"type": "text", "text": "..."}]
};

// `where` names file, line and message. Keys that are null say nothing. "weight", as in OpenAI's
// files, is 1, or 0 where an answer is not to be learnt. Throws Error(Data) where it is no object
// or lacks role or text, Error(Input) for what else it has, such as "tool_calls" or an image.
[[nodiscard]] ChatMessage message_of(const nlohmann::json& value, const std::string& where,
                                     MessageForm& form);

}  // namespace penstock
