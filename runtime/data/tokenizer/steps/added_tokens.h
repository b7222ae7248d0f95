// runtime/data/tokenizer/steps/added_tokens.h -- AddedTokens: finds the added tokens, such as
// "<s>", in a text: texts that become one id each and that nothing else cuts.
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
  // `tokens`: those to look for. A token whose text (AddedToken::content) is empty is never found;
  // of several with the same text the first counts. `where` names the tokenizer's file in error
  // messages.
  AddedTokens(std::vector<AddedToken> tokens, const std::string& where);

  // Divides the text, which is valid UTF-8, into parts and calls take(stretch, id) for each, from
  // left to right. A part is either a stretch without added tokens, which is not empty, and `id` is
  // nullopt; or an added token, with the white space that belongs to it (AddedToken::left, right),
  // and `id` is its id. Of several tokens that match at a place the longest counts. A token with
  // AddedToken::single_word that stands beside a character of a word is left in its stretch.
  using Take = std::function<void(std::string_view stretch, std::optional<int32_t> id)>;
  void for_each_part(std::string_view text, const Take& take) const;

 private:
  [[nodiscard]] const AddedToken* longest_at(std::string_view text, size_t at) const;
  // Whether a character of a word stands right before byte `begin` or at byte `end`.
  [[nodiscard]] bool inside_word(std::string_view text, size_t begin, size_t end) const;

  std::vector<AddedToken> tokens_;                           // longest first, then as they came
  std::array<std::vector<const AddedToken*>, 256> by_byte_;  // by first byte, longest first
  std::optional<Expression> word_;  // one character of a word, where a token asks for it
};

}  // namespace penstock
