#include "runtime/data/jinja/builtins.h"

#include <algorithm>
#include <string_view>

#include "kernels/error.h"
#include "runtime/data/words/utf8.h"
#include "runtime/files/json.h"

namespace penstock::jinja {
namespace {

[[noreturn]] void unsupported(const std::string& kind, const std::string& name) {
  fail_input("the chat template uses the " + kind + " " + penstock::quoted(name) +
             " in a way that is not supported");
}

// What Python's str.strip() takes away: white space, and the separators 0x1C to 0x1F.
bool is_python_space(char32_t c) {
  return (c >= 0x09 && c <= 0x0D) || (c >= 0x1C && c <= 0x20) || c == 0x85 || c == 0xA0 ||
         c == 0x1680 || (c >= 0x2000 && c <= 0x200A) || c == 0x2028 || c == 0x2029 || c == 0x202F ||
         c == 0x205F || c == 0x3000;
}

bool only_ascii(const std::string& text) {
  return std::ranges::all_of(text, [](char c) { return static_cast<int8_t>(c) >= 0; });
}

std::string in_case(const std::string& name, std::string text, bool upper) {
  if (!only_ascii(text)) unsupported("case of letters beyond ASCII in", name);
  for (char& c : text) {
    if (upper && c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
    if (!upper && c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return text;
}

int64_t length_of(const Value& of) {
  if (of.list() != nullptr) return static_cast<int64_t>(of.list()->size());
  if (of.map() != nullptr) return static_cast<int64_t>(of.map()->size());
  if (of.text() == nullptr) unsupported("filter", "length");
  return std::ranges::count_if(*of.text(),
                               [](char c) { return (static_cast<uint8_t>(c) & 0xC0U) != 0x80U; });
}

List split(const std::string& text, const std::string& by) {
  List parts;
  size_t at = 0;
  for (size_t end = text.find(by); end != std::string::npos; end = text.find(by, at)) {
    parts.emplace_back(text.substr(at, end - at));
    at = end + by.size();
  }
  parts.emplace_back(text.substr(at));
  return parts;
}

std::string replaced(const std::string& text, const std::string& from, const std::string& to) {
  std::string all;
  size_t at = 0;
  for (size_t end = text.find(from); end != std::string::npos; end = text.find(from, at)) {
    all.append(text, at, end - at).append(to);
    at = end + from.size();
  }
  return all.append(text, at);
}

// The messages whose member is equal to something: selectattr("role", "equalto", "user").
Value selected(const Value& of, const Arguments& with, bool wanted) {
  const bool known = of.list() != nullptr && with.values.size() == 3 &&
                     with.values[0].text() != nullptr && with.values[1].text() != nullptr &&
                     (*with.values[1].text() == "equalto" || *with.values[1].text() == "==" ||
                      *with.values[1].text() == "eq");
  if (!known) unsupported("filter", "selectattr");
  List kept;
  for (const Value& one : *of.list()) {
    if (one.map() == nullptr) unsupported("filter", "selectattr");
    const bool equal = member_of(*one.map(), *with.values[0].text()).equals(with.values[2]);
    if (equal == wanted) kept.push_back(one);
  }
  return kept;
}

Value end_of(const Value& of, bool last) {
  if (of.list() == nullptr) unsupported("filter", last ? "last" : "first");
  if (of.list()->empty()) return {};
  return last ? of.list()->back() : of.list()->front();
}

Value text_method(const std::string& text, const std::string& name, const Arguments& with) {
  const auto argument = [&](size_t i) -> const std::string& {
    if (with.values.size() <= i || with.values[i].text() == nullptr) unsupported("method", name);
    return *with.values[i].text();
  };
  if (name == "strip" || name == "lstrip" || name == "rstrip") {
    const std::string which = with.values.empty() ? std::string() : argument(0);
    return stripped(text, which, name != "rstrip", name != "lstrip");
  }
  if (name == "startswith") return text.starts_with(argument(0));
  if (name == "endswith") return text.ends_with(argument(0));
  if (name == "upper" || name == "lower") return in_case(name, text, name == "upper");
  if (name == "split" && with.values.size() == 1 && !argument(0).empty()) {
    return split(text, argument(0));
  }
  if (name == "replace" && with.values.size() == 2 && !argument(0).empty()) {
    return replaced(text, argument(0), argument(1));
  }
  unsupported("method", name);
}

}  // namespace

std::string stripped(const std::string& text, const std::string& which, bool left, bool right) {
  if (!only_ascii(which)) unsupported("characters of", "strip");
  const auto goes = [&](char32_t c) {
    if (which.empty()) return is_python_space(c);
    return c < 0x80 && which.find(static_cast<char>(c)) != std::string::npos;
  };
  size_t begin = 0;
  size_t end = text.size();
  while (left && begin < end) {
    const Utf8Character character = utf8_at(text, begin);
    if (!goes(character.code)) break;
    begin += character.bytes;
  }
  while (right && end > begin) {
    size_t at = end - 1;
    while (at > begin && (static_cast<uint8_t>(text[at]) & 0xC0U) == 0x80U) --at;
    if (!goes(utf8_at(text, at).code)) break;
    end = at;
  }
  return text.substr(begin, end - begin);
}

Value apply_filter(const std::string& name, const Value& of, const Arguments& with) {
  if (name == "selectattr" || name == "rejectattr") return selected(of, with, name[0] == 's');
  if (name == "default" || name == "d") {
    if (with.values.empty() || with.values.size() > 2) unsupported("filter", name);
    const bool false_too = with.values.size() == 2 && with.values[1].truth();
    return of.undefined() || (false_too && !of.truth()) ? with.values[0] : of;
  }
  if (name == "replace" && of.text() != nullptr) return text_method(*of.text(), name, with);
  if (!with.values.empty() || !with.named.empty()) unsupported("filter", name);
  if (name == "trim") return stripped(of.shown(), "", true, true);
  if (name == "length" || name == "count") return length_of(of);
  if (name == "first" || name == "last") return end_of(of, name == "last");
  if (name == "list" && of.list() != nullptr) return of;
  if (name == "string" && of.list() == nullptr && of.map() == nullptr) return of.shown();
  if ((name == "upper" || name == "lower") && of.text() != nullptr) {
    return in_case(name, *of.text(), name == "upper");
  }
  unsupported("filter", name);
}

bool passes_test(const std::string& name, const Value& of, const Arguments& with) {
  if (name == "equalto" || name == "eq") {
    if (with.values.size() != 1) unsupported("test", name);
    return of.equals(with.values[0]);
  }
  if (!with.values.empty()) unsupported("test", name);
  if (name == "defined") return !of.undefined();
  if (name == "undefined") return of.undefined();
  if (name == "none") return of.none();
  if (name == "string") return of.text() != nullptr;
  if (name == "mapping") return of.map() != nullptr;
  if (name == "boolean") return of.boolean() != nullptr;
  if (name == "integer") return of.number() != nullptr;
  if (name == "number") return of.number() != nullptr || of.boolean() != nullptr;
  if (name == "true") return of.boolean() != nullptr && *of.boolean();
  if (name == "false") return of.boolean() != nullptr && !*of.boolean();
  if (name == "iterable") {
    return of.list() != nullptr || of.text() != nullptr || of.map() != nullptr || of.undefined();
  }
  if (name == "sequence") {
    return of.list() != nullptr || of.text() != nullptr || of.map() != nullptr || of.undefined();
  }
  unsupported("test", name);
}

Value call_method(const Value& of, const std::string& name, const Arguments& with) {
  if (!with.named.empty()) unsupported("method", name);
  if (of.text() != nullptr) return text_method(*of.text(), name, with);
  if (of.map() != nullptr && name == "get" && !with.values.empty() && with.values.size() <= 2 &&
      with.values[0].text() != nullptr) {
    Value found = member_of(*of.map(), *with.values[0].text());
    if (!found.undefined()) return found;
    return with.values.size() == 2 ? with.values[1] : Value(None());
  }
  unsupported("method", name);
}

}  // namespace penstock::jinja
