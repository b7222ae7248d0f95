#include "runtime/data/datasets/tuning/chat.h"

#include <algorithm>
#include <array>
#include <set>

#include "kernels/error.h"
#include "runtime/system/files/json.h"

namespace penstock {
namespace {

// Returns how many bytes both texts have in common at the beginning. Only whole characters count.
size_t common_bytes(std::string_view a, std::string_view b) {
  auto bytes = static_cast<size_t>(std::ranges::mismatch(a, b).in1 - a.begin());
  const auto inside = [&](std::string_view text) {
    return bytes < text.size() && (static_cast<uint8_t>(text[bytes]) & 0xC0U) == 0x80U;
  };
  while (bytes > 0 && (inside(a) || inside(b))) --bytes;
  return bytes;
}

constexpr std::array<std::string_view, 4> kUsualRoles = {"system", "user", "assistant", "tool"};

// Refuses a message that the chat template does not write. A template that tests for some roles by
// name can leave out messages of all other roles.
void refuse_unwritten(const ChatTemplate& chat, const std::vector<ChatMessage>& messages,
                      size_t index, const ChatExtras& extras) {
  std::vector<ChatMessage> changed = messages;
  changed[index].content += "x";
  if (chat.render(changed, false, extras) != chat.render(messages, false, extras)) return;
  fail_input("message " + std::to_string(index + 1) + " has the role " +
             penstock::quoted(messages[index].role) +
             ", and the chat template writes nothing of it: it would be lost");
}

}  // namespace

std::vector<ChatMessage> with_known_roles(const ChatTemplate& chat,
                                          std::vector<ChatMessage> messages,
                                          const ChatExtras& extras, bool& renamed) {
  for (size_t i = 0; i < messages.size(); ++i) {
    std::string& role = messages[i].role;
    if (role == "developer") {
      const bool own = chat.says(role);
      if (!own) role = "system";
      renamed |= !own;
      continue;
    }
    if (std::ranges::find(kUsualRoles, role) != kUsualRoles.end() || chat.knows_role(role))
      continue;
    fail_input("message " + std::to_string(i + 1) + " has the role " + penstock::quoted(role) +
               ", which neither Penstock nor the chat template knows: roles are system, user, "
               "assistant (human, gpt, model and developer are taken for them), tool, and those "
               "that the template names");
  }
  std::set<std::string> looked_at = {"user", "assistant"};
  for (size_t i = 0; i < messages.size(); ++i) {
    if (!looked_at.insert(messages[i].role).second || chat.knows_role(messages[i].role)) continue;
    refuse_unwritten(chat, messages, i, extras);
  }
  return messages;
}

ChatText render_answers(const ChatTemplate& chat, const std::vector<ChatMessage>& messages,
                        size_t first, const ChatExtras& extras) {
  ChatText whole;
  whole.text = chat.render(messages, false, extras);
  for (size_t i = messages.size(); i-- > first;) {
    if (messages[i].role != "assistant" || !messages[i].learnt) continue;
    const std::vector<ChatMessage> before(messages.begin(),
                                          messages.begin() + static_cast<std::ptrdiff_t>(i));
    std::vector<ChatMessage> with = before;
    with.push_back(messages[i]);
    const std::string prompt = chat.render(before, true, extras);
    const std::string answered = chat.render(with, false, extras);
    const size_t begin = common_bytes(prompt, answered);
    bool as_it_stands = whole.text.starts_with(answered);
    if (as_it_stands && begin < prompt.size()) {
      // `prompt` and `answered` may differ only in what the template adds to open an answer. If
      // they differ in an earlier turn, the answer does not stand in the whole text as it is.
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
