#include "launch/program/commands/chat_prompts.h"

#include <fmt/format.h>

#include <cstdio>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "launch/program/commands/text_writer.h"
#include "launch/program/failure.h"
#include "launch/program/output.h"
#include "runtime/data/datasets/tuning/chat_template.h"
#include "runtime/data/datasets/tuning/message_form.h"
#include "runtime/data/tokenizer/vocabulary.h"
#include "runtime/system/files/json.h"

namespace penstock {
namespace {

// Holds what is needed to write conversations: the same on every rank.
struct Chat {
  Chat(const TrainedRun& run, const UseOptions& options) : writer(run, options) {
    on_every_rank([&] {
      const DataConfig& data = run.config.data;
      if (!uses_folder(data)) {
        fail_input(
            "--chat needs the chat template of a Hugging Face folder, and this network's "
            "words come from none");
      }
      form = open_chat_template(data.vocabulary, data.date);
      if (form == nullptr) {
        fail_input(data.vocabulary +
                   " has no chat template, which --chat needs: without it a "
                   "prompt is taken as it stands");
      }
      if (const std::optional<int32_t> end = end_of_turn()) writer.end_at(*end);
    });
  }

  // Returns the special token, such as <|im_end|>, that the template writes behind an answer, if it
  // writes one. A folder possibly names that token nowhere else.
  [[nodiscard]] std::optional<int32_t> end_of_turn() const {
    const std::vector<ChatMessage> asked = {{"user", "x"}};
    const std::string answer = "penstock";
    const std::string all = form->render({asked[0], {"assistant", answer}}, false);
    const size_t at = all.rfind(answer);
    if (at == std::string::npos) return std::nullopt;
    const auto ids = writer.tokenizer().encode(all.substr(at + answer.size()));
    if (ids.empty() || !writer.tokenizer().decode_shown({ids.data(), 1}).empty()) {
      return std::nullopt;
    }
    return ids.front();
  }
  // Returns the prompt of a conversation; none of its tokens is shown. `where` says in errors where
  // the messages come from; it can be empty.
  [[nodiscard]] Prompt prompt(const std::vector<ChatMessage>& messages,
                              const std::string& where = {}) const {
    Prompt prompt{writer.tokenizer().encode(written(messages, where))};
    if (prompt.tokens.empty()) prompt.tokens.push_back(writer.tokenizer().start());
    prompt.hidden = prompt.tokens.size();
    writer.warn_of_loss(prompt, "the conversation");
    return prompt;
  }

  TextWriter writer;
  std::unique_ptr<ChatTemplate> form;

 private:
  [[nodiscard]] std::string written(const std::vector<ChatMessage>& messages,
                                    const std::string& where) const {
    try {
      bool renamed = false;
      const auto known = with_known_roles(*form, messages, {}, renamed);
      if (renamed) {
        tell("note: developer is taken for system, for the chat template does not know it");
      }
      return form->render(known, true);
    } catch (const Error& refusal) {
      if (where.empty()) throw;
      throw Error(refusal.kind(), where + ": " + refusal.what());
    }
  }
};

std::vector<ChatMessage> begun(const UseOptions& options) {
  std::vector<ChatMessage> messages;
  if (!options.system.empty()) messages.push_back({"system", options.system});
  return messages;
}

}  // namespace

std::vector<ChatMessage> read_messages(const std::string& file) {
  constexpr int64_t kMostBytes = int64_t{1} << 26;
  std::string text(without_mark(read_text(file, kMostBytes, FileOwner::User)));
  const size_t first = text.find_first_not_of(" \t\r\n");
  if (first != std::string::npos && text[first] == '[') text = "{\"messages\":" + text + "}";
  const nlohmann::json document = parse_json(text, file);
  const auto list = document.find("messages");
  if (list == document.end() || !list->is_array() || list->empty()) {
    fail_input(file +
               " has no list of \"messages\": {\"messages\": [{\"role\": \"user\", "
               "\"content\": \"...\"}]}");
  }
  for (const auto& [key, unused] : document.items()) {
    if (key == "messages") continue;
    fail_input(file + " has " + quoted(key) +
               " beside the messages, which generate does not give to the template: leave it out");
  }
  std::vector<ChatMessage> messages;
  MessageForm form;
  for (const nlohmann::json& one : *list) {
    const std::string where = fmt::format("{}: message {}", file, messages.size() + 1);
    messages.push_back(message_of(one, where, form));
  }
  if (form.renamed) {
    tell(fmt::format("note: {}: roles are called system, user and assistant", file));
  }
  if (form.parts) {
    tell(fmt::format("note: {}: a content that is a list of one text is taken for it", file));
  }
  if (messages.back().role == "assistant") {
    fail_input(file +
               ": the last message is the assistant's, so there is nothing to answer: end "
               "with one of the user");
  }
  return messages;
}

void answer_conversations(const TrainedRun& run, const UseOptions& options,
                          const std::vector<std::string>& prompts) {
  Chat chat(run, options);
  std::vector<Prompt> read;
  (void)on_first_rank(run.network->world(), [&] {
    for (const std::string& prompt : prompts) {
      std::vector<ChatMessage> messages = begun(options);
      messages.push_back({"user", prompt});
      read.push_back(chat.prompt(messages));
    }
    for (const std::string& file : options.messages) {
      std::vector<ChatMessage> messages = read_messages(file);
      if (!options.system.empty()) {
        if (messages.front().role == "system") {
          fail_input(file + " begins with a message of the system, and --system is another");
        }
        messages.insert(messages.begin(), {"system", options.system});
      }
      read.push_back(chat.prompt(messages, file));
    }
    return std::string();
  });
  (void)chat.writer.write(read);
}

void converse(const TrainedRun& run, const UseOptions& options) {
  if (options.generation.samples != 1) fail_input("--samples: an exchange has one answer a turn");
  Chat chat(run, options);
  std::vector<ChatMessage> messages = begun(options);
  for (std::string line;;) {
    fmt::print(stderr, "> ");
    (void)std::fflush(stderr);
    if (!std::getline(std::cin, line)) break;
    if (line.empty()) continue;
    messages.push_back({"user", line});
    const std::string answer = chat.writer.write({chat.prompt(messages)}, false);
    messages.push_back({"assistant", answer});
  }
  fmt::print(stderr, "\n");
}

}  // namespace penstock
