#include "runtime/data/tuning/chat.h"

#include <algorithm>

namespace penstock {
namespace {

// How many bytes of whole characters both begin with.
size_t common_bytes(std::string_view a, std::string_view b) {
  auto bytes = static_cast<size_t>(std::ranges::mismatch(a, b).in1 - a.begin());
  const auto inside = [&](std::string_view text) {
    return bytes < text.size() && (static_cast<uint8_t>(text[bytes]) & 0xC0U) == 0x80U;
  };
  while (bytes > 0 && (inside(a) || inside(b))) --bytes;
  return bytes;
}

}  // namespace

ChatText render_answers(const ChatTemplate& chat, const std::vector<ChatMessage>& messages,
                        size_t first, const ChatExtras& extras) {
  ChatText whole;
  whole.text = chat.render(messages, false, extras);
  for (size_t i = messages.size(); i-- > first;) {
    if (messages[i].role != "assistant") continue;
    const std::vector<ChatMessage> before(messages.begin(),
                                          messages.begin() + static_cast<std::ptrdiff_t>(i));
    std::vector<ChatMessage> with = before;
    with.push_back(messages[i]);
    const std::string prompt = chat.render(before, true, extras);
    const std::string answered = chat.render(with, false, extras);
    const size_t begin = common_bytes(prompt, answered);
    bool as_it_stands = whole.text.starts_with(answered);
    if (as_it_stands && begin < prompt.size()) {
      // What differs must be what the template opens for the answer, and none of the turns before.
      as_it_stands = begin >= common_bytes(chat.render(before, false, extras), prompt);
      whole.opened |= as_it_stands;
    }
    if (!as_it_stands) {
      whole.only_last = true;
      break;
    }
    whole.answers.insert(whole.answers.begin(), {begin, answered.size()});
  }
  return whole;
}

}  // namespace penstock
