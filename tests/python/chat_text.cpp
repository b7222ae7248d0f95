// tests/python/chat_text.cpp -- conversations as the chat template of a folder writes them, for
// tests that compare them with transformers: `chat_text FOLDER [DATE] < conversations.json`. On
// standard input {"conversations": [{"messages": [...], "prompt": false, "tools": [...],
// "keywords": {...}}, ...]}, of which the last two may be left out; on standard output, for each, a
// line of JSON: {"text": ...} or {"error": ...}.
#include <cstdio>
#include <iostream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "kernels/error.h"
#include "runtime/data/datasets/tuning/chat_template.h"

namespace {

using nlohmann::ordered_json;

ordered_json answer_to(const penstock::ChatTemplate& chat, const ordered_json& conversation) {
  std::vector<penstock::ChatMessage> messages;
  for (const ordered_json& message : conversation["messages"]) {
    messages.push_back({message["role"], message["content"]});
  }
  penstock::ChatExtras extras;
  if (conversation.contains("tools")) extras.tools = conversation["tools"].dump();
  if (conversation.contains("keywords")) extras.keywords = conversation["keywords"].dump();
  try {
    return {{"text", chat.render(messages, conversation["prompt"], extras)}};
  } catch (const penstock::Error& error) {
    return {{"error", error.what()}};
  }
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 2 && count != 3) return 2;
  try {
    const auto chat = penstock::open_chat_template(arguments[1], count == 3 ? arguments[2] : "");
    const std::string text(std::istreambuf_iterator<char>(std::cin), {});
    const ordered_json given = ordered_json::parse(text);
    for (const ordered_json& one : given["conversations"]) {
      std::cout << answer_to(*chat, one).dump() << "\n";
    }
  } catch (const penstock::Error& error) {
    std::cerr << error.what() << "\n";
    return 1;
  }
  return 0;
}
