// runtime/data/datasets/tuning/chat.h -- writes conversations as text by the chat template of a
// network (ChatTemplate), and finds the bytes of that text that are answers to learn
// (render_answers()).
//
// A chat template is a program in the language Jinja that comes with a Hugging Face folder. For the
// messages user "2 + 2?" and assistant "4" one may write
//   <|user|>2 + 2?<|end|><|assistant|>4<|end|>
// In training the loss counts only the answer, here the bytes "4<|end|>". What the template writes
// in front of an answer, here "<|assistant|>", is called the generation prompt: a network that
// chats is given the conversation so far and that, and goes on.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace penstock {

struct ChatMessage {
  std::string role, content;  // the role is "system", "user", "assistant", "tool" or another
  bool learnt = true;         // of an assistant's message: whether it is an answer to learn
};

// What a conversation gives its template besides the messages, as texts of JSON; empty: nothing.
struct ChatExtras {
  std::string tools;     // a list, which the template reads as the variable `tools`
  std::string keywords;  // an object; the template reads each member as the variable of that name
};

// A conversation as text, and where in it the answers are.
struct ChatText {
  std::string text;
  struct Answer {
    size_t begin = 0, end = 0;  // bytes [begin, end) of `text`
  };
  std::vector<Answer> answers;  // in order
  // True: `answers` lacks earlier answers, since the template writes them in another way once later
  // messages follow (it may leave out the thoughts of earlier turns).
  bool only_last = false;
  // True: some answer begins within its generation prompt, since the template ends that prompt with
  // something, such as "<think>", that it does not write for a turn that is over.
  bool opened = false;
};

class ChatTemplate {
 public:
  virtual ~ChatTemplate() = default;
  // The text of the conversation, as apply_chat_template(tokenize=False) of the library
  // transformers writes it; with `add_generation_prompt` the generation prompt of the next answer
  // ends it. Throws Error(Input) naming the template and its line where the template refuses the
  // messages (with the template's own words), uses what is not supported, or takes more memory or
  // work than jinja::Budget allows.
  [[nodiscard]] virtual std::string render(const std::vector<ChatMessage>& messages,
                                           bool add_generation_prompt,
                                           const ChatExtras& extras) const = 0;
  [[nodiscard]] std::string render(const std::vector<ChatMessage>& messages,
                                   bool add_generation_prompt) const {
    return render(messages, add_generation_prompt, {});
  }
  // ---- what the source of the template has, whether or not it is reached
  // Whether it reads a variable of this name, such as "tools".
  [[nodiscard]] virtual bool names(const std::string& name) const = 0;
  // Whether one of its string literals contains `text`, such as the name of a role.
  [[nodiscard]] virtual bool says(const std::string& text) const = 0;
  // Whether one of its string literals is exactly `role`.
  [[nodiscard]] virtual bool knows_role(const std::string& role) const = 0;
};

// Prepares messages for render() and checks that the template knows their roles. If the template
// does not say "developer", that role becomes "system" and `renamed` is set to true, else `renamed`
// stays as it is. Throws Error(Input) for a role that is none of system, user, assistant and tool
// and that the template does not know, and for a role whose messages the template would leave out.
[[nodiscard]] std::vector<ChatMessage> with_known_roles(const ChatTemplate& chat,
                                                        std::vector<ChatMessage> messages,
                                                        const ChatExtras& extras, bool& renamed);

// Writes the whole conversation as text and finds the answers in it: the assistant's messages from
// index `first` on with ChatMessage::learnt. The bytes of an answer are its content and what ends
// its turn: what comes behind the generation prompt, as far as this prompt stands in the
// conversation. Throws Error(Input), as render() does.
[[nodiscard]] ChatText render_answers(const ChatTemplate& chat,
                                      const std::vector<ChatMessage>& messages, size_t first,
                                      const ChatExtras& extras = {});

}  // namespace penstock
