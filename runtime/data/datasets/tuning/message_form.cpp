#include "runtime/data/datasets/tuning/message_form.h"

#include <array>
#include <utility>

#include "kernels/error.h"
#include "runtime/system/files/json.h"

namespace penstock {
namespace {

using nlohmann::json;

// Returns the role under the name that templates use. Other programs say "human", "gpt" or "model",
// or use capital letters. Any other role is returned as it is. "developer" is not renamed, because
// some templates know it.
std::string usual_role(std::string role, bool& renamed) {
  std::string lower = role;
  for (char& c : lower) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  constexpr std::array<std::pair<std::string_view, std::string_view>, 8> kUsual = {
      {{"human", "user"},
       {"gpt", "assistant"},
       {"model", "assistant"},
       {"user", "user"},
       {"assistant", "assistant"},
       {"system", "system"},
       {"developer", "developer"},
       {"tool", "tool"}}};
  for (const auto& [name, usual] : kUsual) {
    if (name != lower) continue;
    renamed |= usual != role;
    return std::string(usual);
  }
  return role;
}

// Returns the text of a content that is a list of one text. Refuses a list of several texts,
// because programs disagree on what to put between the texts.
std::string text_of_parts(const json& parts, const std::string& where) {
  for (const json& part : parts) {
    const json type = part.is_object() && part.contains("type") ? part["type"] : json("");
    if (type == "text") continue;
    fail_input(where + " has a part of the type " +
               quoted(type.is_string() ? type.get<std::string>() : "") +
               ", and networks of words read texts alone");
  }
  if (parts.size() != 1) {
    fail_input(where + " has a content of " + std::to_string(parts.size()) +
               " parts: write one text, with what is to stand between them");
  }
  return json_text(parts[0], "text", where);
}

bool weighs(const json& weight, const std::string& where) {
  const double number = weight.is_number() ? weight.get<double>() : -1.0;
  if (number == 0.0) return false;
  if (number == 1.0) return true;
  fail_input(where + " has a \"weight\" that is neither 0 nor 1: an answer is learnt or it is not");
}

}  // namespace

bool says_nothing(const json& value) {
  // json::empty() is true of null, [] and {}, and of no text.
  return value.is_string() ? value.get_ref<const std::string&>().empty() : value.empty();
}

ChatMessage message_of(const json& value, const std::string& where, MessageForm& form) {
  if (!value.is_object()) {
    fail_data(where + " is no object with " + quoted(form.role) + " and " + quoted(form.text));
  }
  ChatMessage message;
  for (const auto& [key, given] : value.items()) {
    if (key == form.role || key == form.text || given.is_null()) continue;
    if (key != "weight") {
      if (says_nothing(given)) continue;
      fail_input(where + " has " + quoted(key) + ", and only " + quoted(form.role) + ", " +
                 quoted(form.text) + " and \"weight\" are read");
    }
    message.learnt = weighs(given, where);
  }
  for (const char* key : {form.role, form.text}) {
    const auto found = value.find(key);
    const bool parts = key == form.text && found != value.end() && found->is_array();
    if (parts || (found != value.end() && found->is_string())) continue;
    fail_data(where + " has no " + quoted(key) + " that is a text");
  }
  message.role = usual_role(value.at(form.role).get<std::string>(), form.renamed);
  const json& content = value.at(form.text);
  form.parts |= content.is_array();
  message.content = content.is_array() ? text_of_parts(content, where) : content.get<std::string>();
  return message;
}

}  // namespace penstock
