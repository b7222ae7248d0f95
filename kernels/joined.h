// kernels/joined.h -- joined(): a list as one text, for messages: "a, b, c".
#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace penstock {

// Returns the elements of the list one after another as a text, with `between` between them.
// `text_of` gives the text of an element; it may be a pointer to a member. Without it the elements
// must be texts.
template <class List, class TextOf = std::identity>
[[nodiscard]] std::string joined(const List& list, std::string_view between,
                                 const TextOf& text_of = {}) {
  std::string all;
  bool is_first = true;
  for (const auto& element : list) {
    if (!is_first) all += between;
    all += std::invoke(text_of, element);
    is_first = false;
  }
  return all;
}

}  // namespace penstock
