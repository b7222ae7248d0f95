#include "runtime/data/tokenizer/steps/added_tokens.h"

#include <algorithm>

#include "runtime/data/tokenizer/utf8.h"

namespace penstock {

AddedTokens::AddedTokens(std::vector<AddedToken> tokens, const std::string& where)
    : tokens_(std::move(tokens)) {
  std::erase_if(tokens_, [](const AddedToken& token) { return token.content.empty(); });
  std::ranges::stable_sort(tokens_, [](const AddedToken& a, const AddedToken& b) {
    return a.content.size() > b.content.size();
  });
  for (const AddedToken& token : tokens_) {
    by_byte_[static_cast<uint8_t>(token.content.front())].push_back(&token);
    if (token.single_word && !word_)
      word_.emplace(Pattern{kWordCharacter, Pattern::Kind::Ours}, where);
  }
}

const AddedToken* AddedTokens::longest_at(std::string_view text, size_t at) const {
  for (const AddedToken* token : by_byte_[static_cast<uint8_t>(text[at])]) {
    if (text.substr(at).starts_with(token->content)) return token;
  }
  return nullptr;
}

bool AddedTokens::inside_word(std::string_view text, size_t begin, size_t end) const {
  const auto is_word = [&](size_t at) {
    bool found = false;
    word_->for_each_match(text.substr(at, utf8_at(text, at).bytes),
                          [&](size_t, size_t) { found = true; });
    return found;
  };
  return (begin > 0 && is_word(character_before(text, begin))) ||
         (end < text.size() && is_word(end));
}

void AddedTokens::for_each_part(std::string_view text, const Take& take) const {
  size_t done = 0;
  const auto take_before = [&](size_t end) {
    if (done < end) take(text.substr(done, end - done), std::nullopt);
  };
  if (!tokens_.empty()) {
    for (size_t at = 0; at < text.size();) {
      const AddedToken* const token = longest_at(text, at);
      if (token == nullptr) {
        ++at;
        continue;
      }
      size_t begin = at;
      size_t end = at + token->content.size();
      at = end;  // the search goes on here, even if the token does not count
      if (token->single_word && inside_word(text, begin, end)) continue;
      if (token->left) begin = std::max(space_begin(text, begin), done);
      if (token->right) end = space_end(text, end);
      take_before(begin);
      take(text.substr(begin, end - begin), token->id);
      done = end;
    }
  }
  take_before(text.size());
}

}  // namespace penstock
