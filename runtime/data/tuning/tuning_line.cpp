// What counts, and what ends a text, is as in TRL's SFTTrainer: a text and a completion get the
// end-of-sequence token, the tokens of a prompt are those of the prompt alone, and all that follows
// them counts.
#include "runtime/data/tuning/tuning_line.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "kernels/error.h"
#include "runtime/files/json.h"

namespace penstock {
namespace {

using nlohmann::json;

size_t common_prefix(const std::vector<int32_t>& a, const std::vector<int32_t>& b) {
  return static_cast<size_t>(std::ranges::mismatch(a, b).in1 - a.begin());
}

std::vector<ChatMessage> messages_in(const json& list, const char* key, const std::string& where) {
  std::vector<ChatMessage> messages;
  if (!list.is_array()) {
    fail_data(where + ": " + penstock::quoted(key) + " is no list of messages");
  }
  for (const json& one : list) {
    if (!one.is_object()) fail_data(where + ": a message is no object");
    for (const auto& [name, value] : one.items()) {
      if (name == "role" || name == "content" || value.is_null()) continue;
      fail_input(where + ": a message has " + penstock::quoted(name) +
                 ", and only \"role\" and \"content\" are supported");
    }
    messages.push_back({json_text(one, "role", where), json_text(one, "content", where)});
  }
  return messages;
}

bool has_choices(const json& line) {
  return line.contains("prompt") && line.contains("choices") && !line.contains("messages") &&
         !line.contains("completion");
}

struct Choices {
  std::vector<std::string> texts;
  size_t answer = 0;
};

Choices choices_in(const json& line, const std::string& where) {
  Choices choices;
  const json& list = line["choices"];
  choices.answer = json_count(line, "answer", where);
  if (list.is_array()) {
    for (const json& one : list) {
      if (!one.is_string()) break;
      choices.texts.push_back(one.get<std::string>());
    }
  }
  if (choices.texts.size() != list.size() || choices.answer >= choices.texts.size()) {
    fail_data(where + ": \"answer\" does not name one of the texts of \"choices\", from 0 on");
  }
  return choices;
}

// As lm-evaluation-harness counts a choice, which puts the blank before it by itself.
int64_t characters_of(std::string_view choice) {
  const size_t first = choice.find_first_not_of(' ');
  if (first != std::string_view::npos) choice.remove_prefix(first);
  return std::ranges::count_if(choice, [](char c) { return (c & 0xC0) != 0x80; });
}

}  // namespace

TuningSample TuningLines::read(std::string_view line, const std::string& where) const {
  const json value = parse_json(line, where);
  if (value.contains("messages")) {
    return conversation(messages_in(value["messages"], "messages", where), 0, where);
  }
  const bool prompted = value.contains("prompt");
  if (prompted && value.contains("completion")) {
    if (value["prompt"].is_array() || value["completion"].is_array()) {
      std::vector<ChatMessage> messages = messages_in(value["prompt"], "prompt", where);
      const size_t first = messages.size();
      const std::vector<ChatMessage> rest = messages_in(value["completion"], "completion", where);
      messages.insert(messages.end(), rest.begin(), rest.end());
      return conversation(messages, first, where);
    }
    return answered(json_text(value, "prompt", where), json_text(value, "completion", where));
  }
  if (has_choices(value)) {
    const Choices choices = choices_in(value, where);
    return answered(json_text(value, "prompt", where), choices.texts[choices.answer]);
  }
  if (value.contains("text")) return plain(json_text(value, "text", where));
  fail_data(where +
            ": the line has neither \"text\", nor \"prompt\" and \"completion\", nor \"messages\"");
}

TuningQuestion TuningLines::ask(std::string_view line, const std::string& where) const {
  const json value = parse_json(line, where);
  TuningQuestion question;
  if (has_choices(value)) {
    const Choices choices = choices_in(value, where);
    const std::string prompt = json_text(value, "prompt", where);
    question.answer = static_cast<int64_t>(choices.answer);
    for (const std::string& choice : choices.texts) {
      question.texts.push_back(answered(prompt, choice, false));
      question.characters.push_back(characters_of(choice));
    }
  } else if (value.contains("messages") ||
             (value.contains("prompt") && value.contains("completion"))) {
    question.texts.push_back(read(line, where));
  }
  return question;
}

void TuningLines::append_end(std::vector<int32_t>& ids) const {
  const int32_t end = tokenizer_.special().end;
  if (end >= 0 && (ids.empty() || ids.back() != end)) ids.push_back(end);
}

TuningSample TuningLines::plain(const std::string& text) const {
  TuningSample sample{tokenizer_.encode_whole(text), {}};
  append_end(sample.ids);
  sample.answer.assign(sample.ids.size(), 1);
  return sample;
}

TuningSample TuningLines::answered(const std::string& prompt, const std::string& completion,
                                   bool ends) const {
  TuningSample sample{tokenizer_.encode_whole(prompt + completion), {}};
  if (ends) append_end(sample.ids);
  // Where prompt and completion melt into one token, the completion begins with it.
  const size_t begin = common_prefix(tokenizer_.encode_whole(prompt), sample.ids);
  sample.answer.assign(sample.ids.size(), 1);
  std::fill_n(sample.answer.begin(), begin, uint8_t{0});
  return sample;
}

TuningSample TuningLines::conversation(const std::vector<ChatMessage>& messages, size_t first,
                                       const std::string& where) const {
  if (chat_ == nullptr) {
    fail_input(where + ": the line has messages, and the folder of the tokenizer no chat template");
  }
  ChatText chat;
  try {
    chat = render_answers(*chat_, messages, first);
  } catch (const Error& refusal) {
    throw Error(refusal.kind(), where + ": " + refusal.what());
  }
  TuningSample sample{tokenizer_.encode(chat.text), {}, chat.only_last};
  sample.answer.assign(sample.ids.size(), 0);
  const std::string_view text = chat.text;
  const auto tokens_before = [&](size_t byte) {
    return common_prefix(tokenizer_.encode(text.substr(0, byte)), sample.ids);
  };
  for (const ChatText::Answer& answer : chat.answers) {
    const size_t begin = tokens_before(answer.begin);
    const size_t end = answer.end == text.size() ? sample.ids.size() : tokens_before(answer.end);
    for (size_t i = begin; i < end; ++i) sample.answer[i] = 1;
  }
  return sample;
}

}  // namespace penstock
