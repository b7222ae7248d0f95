// tests/python/chat_text.cpp -- conversations as the chat template of a folder writes them, for
// tests that compare them with transformers: `chat_text FOLDER < conversations.json`. On standard
// input
// {"conversations": [{"messages": [...], "prompt": false}, ...]}; on standard output, for each, a
// line of JSON: {"text": ...} or {"error": ...}.
#include <cstdio>
#include <iostream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "kernels/error.h"
#include "runtime/data/tuning/chat_template.h"

namespace {

nlohmann::json answer_to(const penstock::ChatTemplate& chat, const nlohmann::json& conversation) {
  std::vector<penstock::ChatMessage> messages;
  for (const nlohmann::json& message : conversation["messages"]) {
    messages.push_back({message["role"], message["content"]});
  }
  try {
    return {{"text", chat.render(messages, conversation["prompt"])}};
  } catch (const penstock::Error& error) {
    return {{"error", error.what()}};
  }
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 2) return 2;
  try {
    const auto chat = penstock::open_chat_template(arguments[1]);
    const std::string text(std::istreambuf_iterator<char>(std::cin), {});
    const nlohmann::json given = nlohmann::json::parse(text);
    for (const nlohmann::json& one : given["conversations"]) {
      std::cout << answer_to(*chat, one).dump() << "\n";
    }
  } catch (const penstock::Error& error) {
    std::cerr << error.what() << "\n";
    return 1;
  }
  return 0;
}
