// runtime/data/templates/functions/methods.h -- what texts, lists and mappings can be asked to do,
// as in Python.
#pragma once

#include <string>

#include "runtime/data/templates/functions/arguments.h"

namespace penstock::jinja {

// Whether Python has a method of this name there, whether it is supported or not.
[[nodiscard]] bool has_method(const Value& of, const std::string& name);

// of.name(...). Throws naming what is not supported; nothing changes a value.
[[nodiscard]] Value call_method(Budget& budget, const Value& of, const std::string& name,
                                const Arguments& with);

// The same for the methods of a text.
[[nodiscard]] Value call_text_method(Budget& budget, const Value& of, const std::string& name,
                                     const Arguments& with);

// The work of looking for `what` everywhere in `text`, at worst.
[[nodiscard]] inline uint64_t search_work(std::string_view text, std::string_view what) {
  return text.size() * (4 + what.size() / 16);
}

// `text` without the characters at its ends that are in `which`; null: white space of Unicode.
[[nodiscard]] std::string_view stripped(std::string_view text, const std::string* which, bool left,
                                        bool right);
// The text with `from` replaced, at most `most` times; below 0: all.
[[nodiscard]] Value replaced(Budget& budget, std::string_view text, std::string_view from,
                             std::string_view to, int64_t most);
// The lines of a text as str.splitlines() has them, without what ends them.
[[nodiscard]] std::vector<std::string_view> lines_of(std::string_view text, bool with_ends = false);

}  // namespace penstock::jinja
