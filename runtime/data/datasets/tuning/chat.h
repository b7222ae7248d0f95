// runtime/data/datasets/tuning/chat.h -- conversations as a folder's chat template writes them.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace penstock {

struct ChatMessage {
  std::string role, content;
  bool learnt = true;  // of the assistant: whether what it says here is an answer to learn
};

// What a template may take besides messages, as JSON; empty: nothing.
struct ChatExtras {
  std::string tools;     // a list: `tools`
  std::string keywords;  // an object whose members are names of the template's
};

// A text, and which of its bytes an answer wrote.
struct ChatText {
  std::string text;
  struct Answer {
    size_t begin = 0, end = 0;
  };
  std::vector<Answer> answers;
  bool only_last = false;  // the template writes earlier turns anew: only the last answer is told
  bool opened = false;     // answers begin before the end of what stands there when it is the
                           // assistant's turn: the template opens there what history does not show
};

class ChatTemplate {
 public:
  virtual ~ChatTemplate() = default;
  // Renders as transformers' apply_chat_template(tokenize=False) does. Throws Error(Input) naming
  // the template and the line: with its own words where it refuses the messages, or where it needs
  // what is not supported, or more memory and work than templates/budget.h has.
  [[nodiscard]] virtual std::string render(const std::vector<ChatMessage>& messages,
                                           bool add_generation_prompt,
                                           const ChatExtras& extras) const = 0;
  [[nodiscard]] std::string render(const std::vector<ChatMessage>& messages,
                                   bool add_generation_prompt) const {
    return render(messages, add_generation_prompt, {});
  }
  // Whether the template reads something of this name, such as "tools".
  [[nodiscard]] virtual bool names(const std::string& name) const = 0;
  // Whether a text in its expressions has this in it, such as the name of a role.
  [[nodiscard]] virtual bool says(const std::string& text) const = 0;
  // Whether one of those texts is this role and nothing else.
  [[nodiscard]] virtual bool knows_role(const std::string& role) const = 0;
};

// The messages as the template is given them: "developer" is "system" where it does not say that
// name itself, and `renamed` is then set. Throws Error(Input) for a role that is neither one of
// system, user, assistant and tool nor one that the template knows, and for one of whose messages
// the template writes nothing.
[[nodiscard]] std::vector<ChatMessage> with_known_roles(const ChatTemplate& chat,
                                                        std::vector<ChatMessage> messages,
                                                        const ChatExtras& extras, bool& renamed);

// The whole conversation as a text. Answers are the messages of the assistant from `first` on that
// are to be learnt. An answer's bytes are what it adds to the text that is there when its turn
// begins (the generation prompt), as far as the conversation goes on with that text: its content
// and what ends the turn.
[[nodiscard]] ChatText render_answers(const ChatTemplate& chat,
                                      const std::vector<ChatMessage>& messages, size_t first,
                                      const ChatExtras& extras = {});

}  // namespace penstock
