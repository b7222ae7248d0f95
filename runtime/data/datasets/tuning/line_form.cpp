#include "runtime/data/datasets/tuning/line_form.h"

#include <algorithm>
#include <initializer_list>
#include <nlohmann/json.hpp>

#include "kernels/error.h"
#include "runtime/data/datasets/tuning/message_form.h"
#include "runtime/system/files/json.h"

namespace penstock {
namespace {

using nlohmann::json;

// This is how deep the values of a line may be nested. A line can hold schemas of tools, which are
// nested.
constexpr size_t kMostLevelsOfLines = 64;

bool has(const json& line, const char* key) {
  const auto found = line.find(key);
  return found != line.end() && !found->is_null();
}
bool has_key_of(const json& line, std::initializer_list<const char*> keys) {
  return std::ranges::any_of(keys, [&](const char* key) { return has(line, key); });
}

void append_messages(LineContent& content, const json& list, const char* key, MessageForm form,
                     const std::string& where) {
  if (!list.is_array()) {
    fail_data(where + ": " + penstock::quoted(key) + " is no list of messages");
  }
  for (size_t i = 0; i < list.size(); ++i) {
    const std::string place = where + ": message " + std::to_string(i + 1);
    content.messages.push_back(message_of(list[i], place, form));
  }
  content.renamed |= form.renamed;
  content.parts |= form.parts;
}

// Takes the tools, keywords and system text that stand beside the messages. Refuses other keys that
// have content, because that content would be lost.
void take_extras(LineContent& content, const json& line, std::string_view text,
                 const std::string& where) {
  for (const char* key :
       {"functions", "documents", "history", "image", "images", "videos", "audios"}) {
    if (!has(line, key) || says_nothing(line[key])) continue;
    fail_input(where + ": the line has " + penstock::quoted(key) +
               " beside its messages, which is not supported");
  }
  if (has(line, "system")) {
    if (content.foreign == LineContent::Foreign::None) {
      fail_input(where + ": \"system\" stands beside the messages: make it the first of them");
    }
    const std::string system = json_text(line, "system", where);
    if (!system.empty()) content.messages.insert(content.messages.begin(), {"system", system});
  }
  // A template writes keys in the order of the line. Only ordered_json keeps that order.
  const auto kept = [&](const char* key) {
    return nlohmann::ordered_json::parse(text)[key].dump();
  };
  if (has(line, "tools") && !line["tools"].empty()) {
    if (!line["tools"].is_array()) fail_data(where + ": \"tools\" is no list");
    content.extras.tools = kept("tools");
  }
  if (has(line, "chat_template_kwargs") && !line["chat_template_kwargs"].empty()) {
    if (!line["chat_template_kwargs"].is_object()) {
      fail_data(where + ": \"chat_template_kwargs\" is no object");
    }
    content.extras.keywords = kept("chat_template_kwargs");
  }
}

void take_choices(LineContent& content, const json& line, const std::string& where) {
  const json& list = line["choices"];
  content.kind = LineContent::Kind::Choices;
  content.prompt = json_text(line, "prompt", where);
  content.answer = json_count(line, "answer", where);
  if (list.is_array()) {
    for (const json& one : list) {
      if (!one.is_string()) break;
      content.choices.push_back(one.get<std::string>());
      if (!content.choices.back().empty()) continue;
      fail_data(where +
                ": a text of \"choices\" is empty, and nothing is always the most probable");
    }
  }
  if (content.choices.size() != list.size() || content.answer >= content.choices.size()) {
    fail_data(where + ": \"answer\" does not name one of the texts of \"choices\", from 0 on");
  }
}

void take_prompted(LineContent& content, const json& line, std::string_view text,
                   const std::string& where) {
  const std::string keys = has(line, "response") ? "response" : "completion";
  if (keys == "response") content.foreign = LineContent::Foreign::Response;
  const json& prompt = line["prompt"];
  const json& completion = line[keys];
  if (!prompt.is_array() && !completion.is_array()) {
    content.kind = LineContent::Kind::Completion;
    content.prompt = json_text(line, "prompt", where);
    content.choices = {json_text(line, keys.c_str(), where)};
    return;
  }
  content.kind = LineContent::Kind::Conversation;
  append_messages(content, prompt, "prompt", {}, where);
  const size_t asked = content.messages.size();
  append_messages(content, completion, keys.c_str(), {}, where);
  take_extras(content, line, text, where);
  content.first = asked;
}

void take_alpaca(LineContent& content, const json& line, std::string_view text,
                 const std::string& where) {
  content.kind = LineContent::Kind::Conversation;
  content.foreign = LineContent::Foreign::Alpaca;
  std::string asked = json_text(line, "instruction", where);
  for (const char* key : {"input", "context"}) {
    if (!has(line, key)) continue;
    const std::string more = json_text(line, key, where);
    if (!more.empty()) asked += "\n" + more;
  }
  const char* const answer = has(line, "output") ? "output" : "response";
  content.messages = {{"user", asked}, {"assistant", json_text(line, answer, where)}};
  take_extras(content, line, text, where);
}

// Returns the names as a list in words, for example "a", "b" and "c".
std::string keys_listed(const std::vector<std::string>& names) {
  std::string all;
  for (size_t i = 0; i < names.size(); ++i) {
    if (i > 0) all += i + 1 < names.size() ? ", " : " and ";
    all += penstock::quoted(names[i]);
  }
  return all;
}

[[noreturn]] void fail_without_form(const json& line, const std::string& where) {
  std::vector<std::string> keys;
  for (const auto& [key, value] : line.items()) {
    if (keys.size() < 8) keys.push_back(key);
  }
  fail_data(where +
            ": the line has neither \"text\", nor \"prompt\" and \"completion\", nor "
            "\"messages\", but " +
            (keys.empty() ? "nothing" : keys_listed(keys)) +
            ": docs/data.md has the forms that are known");
}

void refuse_two_forms(const json& line, const std::string& where) {
  std::vector<std::string> forms;
  for (const char* key : {"text", "messages", "conversations", "instruction", "prompt"}) {
    if (has(line, key)) forms.emplace_back(key);
  }
  std::vector<std::string> answers;
  for (const char* key : {"completion", "response", "choices", "output"}) {
    if (has(line, key)) answers.emplace_back(key);
  }
  if (has(line, "prompt") || has(line, "instruction")) {
    if (answers.size() > 1) forms = std::move(answers);
  } else if (!forms.empty()) {
    forms.insert(forms.end(), answers.begin(), answers.end());
  }
  if (forms.size() < 2) return;
  fail_input(where + ": the line has " + keys_listed(forms) +
             ", and each says what is to be learnt: leave one of them");
}

// Returns whether NaN or Infinity stands in the line outside of texts, as json.dumps() of Python
// writes it, though JSON has neither.
bool has_no_number(std::string_view line) {
  bool in_text = false;
  for (size_t i = 0; i < line.size(); ++i) {
    if (in_text && line[i] == '\\') {
      ++i;
    } else if (line[i] == '"') {
      in_text = !in_text;
    } else if (!in_text) {
      const std::string_view rest = line.substr(i);
      if (rest.starts_with("NaN") || rest.starts_with("Infinity")) return true;
    }
  }
  return false;
}

// Returns whether the line looks like the first of a table: names or values between commas.
bool looks_like_table(std::string_view line) {
  return line.find_first_of(",;\t") != std::string_view::npos &&
         line.find_first_of("{[") == std::string_view::npos;
}

// Parses as parse_json() does. If the line is a dictionary of Python, or an object over several
// lines, or has what JSON has no word for, the error also says how a line should be written.
json parsed_line(std::string_view line, const std::string& where) {
  try {
    return parse_json(line, where, kMostJsonValues, kMostLevelsOfLines);
  } catch (const Error& error) {
    const char* const cure =
        has_no_number(line)
            ? " (NaN and Infinity are no JSON: leave the key out or give null, and write lines "
              "with json.dumps(..., allow_nan=False) of Python, which stops at them)"
            : " (a line is one JSON object, as json.dumps() of Python writes it)";
    if (where.ends_with(", line 1") && looks_like_table(line)) {
      fail_data(
          where +
          ": the line is no JSON, and looks like one of a table (CSV), which pandas makes lines "
          "of JSON: `read_csv(...).to_json(..., orient=\"records\", lines=True)`; plain text is "
          "read by data.kind = \"text\"");
    }
    throw Error(error.kind(), error.what() + std::string(cure));
  }
}

}  // namespace

LineContent content_of(std::string_view line, const std::string& where) {
  const json value = parsed_line(line, where);
  if (has(value, "chosen") || has(value, "rejected")) {
    fail_input(where +
               ": \"chosen\" and \"rejected\" are a pair to choose from (DPO), which is not "
               "supported: to learn the better one, write it as \"completion\"");
  }
  refuse_two_forms(value, where);
  // The label of a plain text or of a choice says something else, which nobody needs here.
  if (has(value, "label") && !has(value, "text") && !has(value, "choices")) {
    fail_input(where +
               ": \"label\" says whether the answer is a good one (KTO), which is not supported: "
               "keep the good ones, without it");
  }
  LineContent content;
  if (has(value, "messages") || has(value, "conversations")) {
    content.kind = LineContent::Kind::Conversation;
    const char* const key = has(value, "messages") ? "messages" : "conversations";
    const json& list = value[key];
    const bool foreign =
        list.is_array() && !list.empty() && list[0].is_object() && list[0].contains("from");
    if (foreign) content.foreign = LineContent::Foreign::ShareGpt;
    append_messages(content, list, key,
                    foreign ? MessageForm{.role = "from", .text = "value"} : MessageForm{}, where);
    take_extras(content, value, line, where);
    return content;
  }
  if (has(value, "instruction") && has_key_of(value, {"output", "response"})) {
    take_alpaca(content, value, line, where);
    return content;
  }
  const bool completed = value.contains("completion") || has(value, "response");
  if (has(value, "prompt") && completed) {
    take_prompted(content, value, line, where);
  } else if (has(value, "prompt") && has(value, "choices")) {
    take_choices(content, value, where);
  } else if (value.contains("text")) {
    content.text = json_text(value, "text", where);
  } else {
    fail_without_form(value, where);
  }
  for (const char* key : {"tools", "chat_template_kwargs"}) {
    if (content.kind == LineContent::Kind::Conversation || !has(value, key)) continue;
    fail_input(where + ": the line has " + penstock::quoted(key) +
               ", which only a chat template reads, and no messages");
  }
  return content;
}

}  // namespace penstock
