// runtime/data/datasets/tuning/chat_template.h -- makes a ChatTemplate of a folder's Jinja
// template, which is run as it stands.
#pragma once

#include <memory>
#include <string>

#include "runtime/data/datasets/tuning/chat.h"

namespace penstock {

// What templates are given besides messages.
struct ChatSpecials {
  std::string begin, end, padding;  // the texts of the tokens; empty: not defined
  std::string date = {};  // today's, "2024-07-26"; empty: templates write a date of their own
};

// Parses a template; `where` names it in messages. Throws Error(Input) for what is not supported,
// Error(Data) for what is no template.
[[nodiscard]] std::unique_ptr<ChatTemplate> make_chat_template(const std::string& text,
                                                               const ChatSpecials& specials,
                                                               const std::string& where);

// The chat template of a folder (tokenizer_config.json, chat_template.jinja); null where it has
// none. `date`: today's, or empty.
[[nodiscard]] std::unique_ptr<ChatTemplate> open_chat_template(const std::string& folder,
                                                               const std::string& date = {});

}  // namespace penstock
