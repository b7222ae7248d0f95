// runtime/data/tuning/chat.h -- conversations as a folder's chat template writes them.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace penstock {

struct ChatMessage {
  std::string role, content;
};

// A text, and which of its bytes an answer wrote.
struct ChatText {
  std::string text;
  struct Answer {
    size_t begin = 0, end = 0;
  };
  std::vector<Answer> answers;
  bool only_last = false;  // the template writes earlier turns anew: only the last answer is told
};

class ChatTemplate {
 public:
  virtual ~ChatTemplate() = default;
  // As transformers' apply_chat_template(tokenize=False). Throws Error(Input) with the template's
  // own words where it refuses the messages, or where it needs what is not supported.
  [[nodiscard]] virtual std::string render(const std::vector<ChatMessage>& messages,
                                           bool add_generation_prompt) const = 0;
};

// The whole conversation. An answer is what the messages of the assistant from `first` on add to
// what stands there when it is the assistant's turn: the content and what ends the turn.
[[nodiscard]] ChatText render_answers(const ChatTemplate& chat,
                                      const std::vector<ChatMessage>& messages, size_t first);

}  // namespace penstock
