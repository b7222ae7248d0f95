// runtime/data/datasets/tuning/chat_template.h -- makes a ChatTemplate (chat.h) of a template in
// the language Jinja, or opens that of a Hugging Face folder. The template is interpreted as it
// stands (runtime/data/templates/).
#pragma once

#include <memory>
#include <string>

#include "runtime/data/datasets/tuning/chat.h"

namespace penstock {

// What a template may write besides the messages.
struct ChatSpecials {
  // The texts of the special tokens, which templates read as bos_token, eos_token and pad_token;
  // empty: not defined.
  std::string begin, end, padding;
  // Today's, "2024-07-26"; empty: there is none, and templates write a date of their own.
  std::string date = {};
};

// Parses the source `text` of a template; `where` names the template in messages. Throws
// Error(Input) for what is not supported and for a `date` that is none, Error(Data) for what is no
// template.
[[nodiscard]] std::unique_ptr<ChatTemplate> make_chat_template(const std::string& text,
                                                               const ChatSpecials& specials,
                                                               const std::string& where);

// The chat template of a Hugging Face folder, from chat_template.jinja or tokenizer_config.json;
// null where the folder has none. `date`: as ChatSpecials::date. Throws as make_chat_template()
// does, Error(Data) for a damaged tokenizer_config.json, and Error(Input) for a key in it that is
// not supported (read_folder_settings() in runtime/data/tokenizer/hub/folder_settings.h).
[[nodiscard]] std::unique_ptr<ChatTemplate> open_chat_template(const std::string& folder,
                                                               const std::string& date = {});

}  // namespace penstock
