// What counts, and what ends a text, is as in TRL's SFTTrainer: a text and a completion get the
// end-of-sequence token, the tokens of a prompt are those of the prompt alone, and all that follows
// them counts.
#include "runtime/data/datasets/tuning/tuning_line.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "kernels/error.h"
#include "runtime/system/files/json.h"

namespace penstock {
namespace {

using nlohmann::json;

size_t common_prefix(const std::vector<int32_t>& a, const std::vector<int32_t>& b) {
  return static_cast<size_t>(std::ranges::mismatch(a, b).in1 - a.begin());
}

// Returns how many characters a choice has without its leading blanks. lm-evaluation-harness counts
// in this way, because it adds the blank before a choice itself.
int64_t characters_of(std::string_view choice) {
  const size_t first = choice.find_first_not_of(' ');
  if (first != std::string_view::npos) choice.remove_prefix(first);
  return std::ranges::count_if(choice, [](char c) { return (c & 0xC0) != 0x80; });
}

// Returns what a line lacks if none of its tokens counts in the loss.
Lacks lack_of(const LineContent& content, const TuningSample& sample) {
  if (content.kind == LineContent::Kind::Conversation) {
    const auto begin = content.messages.begin() + static_cast<std::ptrdiff_t>(content.first);
    const auto answers = [](const ChatMessage& message) { return message.role == "assistant"; };
    const auto learnt = [&](const ChatMessage& message) {
      return answers(message) && message.learnt;
    };
    if (std::none_of(begin, content.messages.end(), answers)) return Lacks::Answer;
    return std::any_of(begin, content.messages.end(), learnt) ? Lacks::Text : Lacks::Weight;
  }
  const bool is_text = content.kind == LineContent::Kind::Text;
  if (!is_text && content.choices[content.answer].empty()) return Lacks::Answer;
  return sample.ids.size() < 2 ? Lacks::Prediction : Lacks::Text;
}

}  // namespace

bool any_counts(const TuningSample& sample) {
  return std::any_of(sample.answer.begin() + (sample.answer.empty() ? 0 : 1), sample.answer.end(),
                     [](uint8_t counts) { return counts != 0; });
}

TuningSample TuningLines::sample_of(const LineContent& content, const std::string& where) const {
  TuningSample sample;
  switch (content.kind) {
    case LineContent::Kind::Text:
      sample = plain(content.text);
      break;
    case LineContent::Kind::Completion:
    case LineContent::Kind::Choices:
      sample = answered(content.prompt, content.choices[content.answer]);
      break;
    case LineContent::Kind::Conversation:
      sample = conversation(content, where);
      break;
  }
  sample.plain = content.kind != LineContent::Kind::Conversation && tokenizer_.special().end < 0;
  sample.foreign = content.foreign;
  sample.renamed |= content.renamed;
  sample.parts = content.parts;
  if (!any_counts(sample)) sample.lacks = lack_of(content, sample);
  return sample;
}

TuningSample TuningLines::read(std::string_view line, const std::string& where) const {
  return sample_of(content_of(line, where), where);
}

TuningQuestion TuningLines::ask(std::string_view line, const std::string& where) const {
  const LineContent content = content_of(line, where);
  TuningQuestion question;
  if (content.kind == LineContent::Kind::Choices) {
    question.answer = static_cast<int64_t>(content.answer);
    for (const std::string& choice : content.choices) {
      question.texts.push_back(answered(content.prompt, choice, false));
      question.characters.push_back(characters_of(choice));
    }
  } else if (content.kind != LineContent::Kind::Text) {
    question.texts.push_back(sample_of(content, where));
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
  // One token can be both the end of the prompt and the beginning of the completion. Such a token
  // counts as completion.
  const size_t begin = common_prefix(tokenizer_.encode_whole(prompt), sample.ids);
  sample.answer.assign(sample.ids.size(), 1);
  std::fill_n(sample.answer.begin(), begin, uint8_t{0});
  return sample;
}

void TuningLines::check_extras(const ChatExtras& extras, const std::string& where) const {
  const auto refuse_unread = [&](const std::string& name, const std::string& what) {
    if (chat_->names(name)) return;
    fail_input(where + ": the line has " + what +
               ", and the chat template reads nothing of that name: it would be lost");
  };
  if (!extras.tools.empty()) refuse_unread("tools", "\"tools\"");
  if (extras.keywords.empty()) return;
  const json keywords = json::parse(extras.keywords);
  for (const auto& [name, value] : keywords.items()) {
    for (const char* own : {"messages", "tools", "add_generation_prompt"}) {
      if (name == own) fail_input(where + ": \"chat_template_kwargs\" has " + quoted(name));
    }
    refuse_unread(name, quoted(name) + " in \"chat_template_kwargs\"");
  }
}

TuningSample TuningLines::conversation(const LineContent& content, const std::string& where) const {
  if (chat_ == nullptr) {
    fail_input(where + ": the line has messages, and the folder of the tokenizer no chat template");
  }
  check_extras(content.extras, where);
  TuningSample sample;
  ChatText chat;
  try {
    const std::vector<ChatMessage> messages =
        with_known_roles(*chat_, content.messages, content.extras, sample.renamed);
    chat = render_answers(*chat_, messages, content.first, content.extras);
  } catch (const Error& refusal) {
    throw Error(refusal.kind(), where + ": " + refusal.what());
  }
  sample.ids = tokenizer_.encode(chat.text);
  sample.only_last = chat.only_last;
  sample.opened = chat.opened;
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
