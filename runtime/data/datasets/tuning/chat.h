// runtime/data/datasets/tuning/chat.h -- ChatTemplate, which writes conversations as text; and
// render_answers(), which tells the bytes of that text that are answers to learn.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace penstock {

struct ChatMessage {
  std::string role, content;
  bool learnt = true;  // of the assistant's messages: whether this is an answer to learn
};

// What a conversation gives its template besides messages, as JSON; empty: nothing.
struct ChatExtras {
  std::string tools;     // a list, which the template reads as `tools`
  std::string keywords;  // an object, whose members the template reads by their names
};

// A conversation as text, and where in it the answers are.
struct ChatText {
  std::string text;
  struct Answer {
    size_t begin = 0, end = 0;  // bytes of `text`
  };
  std::vector<Answer> answers;
  // `answers` lacks earlier ones: the template writes them otherwise once later turns follow.
  bool only_last = false;
  // Some answer begins within the generation prompt: the template ends that prompt with what it
  // does not write for turns that are over, such as "<think>".
  bool opened = false;
};

class ChatTemplate {
 public:
  virtual ~ChatTemplate() = default;
  // Renders as transformers' apply_chat_template(tokenize=False) does. Throws Error(Input) naming
  // the template and the line where it refuses the messages (with its own words), needs what is not
  // supported, or takes more memory or work than jinja::Budget allows.
  [[nodiscard]] virtual std::string render(const std::vector<ChatMessage>& messages,
                                           bool add_generation_prompt,
                                           const ChatExtras& extras) const = 0;
  [[nodiscard]] std::string render(const std::vector<ChatMessage>& messages,
                                   bool add_generation_prompt) const {
    return render(messages, add_generation_prompt, {});
  }
  // Whether the template reads a variable of this name, such as "tools".
  [[nodiscard]] virtual bool names(const std::string& name) const = 0;
  // Whether `text`, such as the name of a role, is in a text literal of the template's expressions.
  [[nodiscard]] virtual bool says(const std::string& text) const = 0;
  // Whether a text literal of the template's expressions is this role and nothing else.
  [[nodiscard]] virtual bool knows_role(const std::string& role) const = 0;
};

// The messages as the template is given them: the role "developer" becomes "system", and `renamed`
// is set, where the template does not say "developer". Throws Error(Input) for a role that is none
// of system, user, assistant and tool and that the template does not know, and for a role whose
// messages the template would leave out.
[[nodiscard]] std::vector<ChatMessage> with_known_roles(const ChatTemplate& chat,
                                                        std::vector<ChatMessage> messages,
                                                        const ChatExtras& extras, bool& renamed);

// Renders the whole conversation. Answers are the assistant's messages from `first` on that are to
// be learnt. An answer's bytes are what its message adds to the generation prompt (the text that is
// there when its turn begins, as far as it stays in the conversation): its content and what ends
// the turn.
[[nodiscard]] ChatText render_answers(const ChatTemplate& chat,
                                      const std::vector<ChatMessage>& messages, size_t first,
                                      const ChatExtras& extras = {});

}  // namespace penstock
