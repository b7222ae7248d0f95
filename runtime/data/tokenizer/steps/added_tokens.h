// runtime/data/tokenizer/steps/added_tokens.h -- AddedTokens: finds the texts that become one id in
// a text.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/data/tokenizer/hub/tokenizer_json.h"
#include "runtime/data/tokenizer/steps/expression.h"

namespace penstock {

class AddedTokens {
 public:
  // `where` names the file for messages. What is empty, which a normaliser may have made of a
  // token, is never found.
  AddedTokens(std::vector<AddedToken> tokens, const std::string& where);

  // The whole text, from left to right: a stretch without any of them, and no id, or one of them
  // (its text may be longer than the token: white space) and its id. Of several that match at a
  // place the longest counts.
  using Take = std::function<void(std::string_view stretch, std::optional<int32_t> id)>;
  void for_each_part(std::string_view text, const Take& take) const;

 private:
  [[nodiscard]] const AddedToken* longest_at(std::string_view text, size_t at) const;
  // Whether a letter, digit or the like is right before or behind.
  [[nodiscard]] bool inside_word(std::string_view text, size_t begin, size_t end) const;

  std::vector<AddedToken> tokens_;                           // longest first, then as they came
  std::array<std::vector<const AddedToken*>, 256> by_byte_;  // the first; in that order
  std::optional<Expression> word_;  // one character of a word, where a token asks for it
};

}  // namespace penstock
