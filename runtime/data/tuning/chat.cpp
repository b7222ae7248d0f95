#include "runtime/data/tuning/chat.h"

namespace penstock {

ChatText render_answers(const ChatTemplate& chat, const std::vector<ChatMessage>& messages,
                        size_t first) {
  ChatText whole;
  whole.text = chat.render(messages, false);
  for (size_t i = messages.size(); i-- > first;) {
    if (messages[i].role != "assistant") continue;
    const std::vector<ChatMessage> before(messages.begin(),
                                          messages.begin() + static_cast<std::ptrdiff_t>(i));
    std::vector<ChatMessage> with = before;
    with.push_back(messages[i]);
    const std::string prompt = chat.render(before, true);
    const std::string answered = chat.render(with, false);
    const bool as_it_stands =
        answered.starts_with(prompt) && std::string_view(whole.text).starts_with(answered);
    if (!as_it_stands) {
      whole.only_last = true;
      break;
    }
    whole.answers.insert(whole.answers.begin(), {prompt.size(), answered.size()});
  }
  return whole;
}

}  // namespace penstock
