// A word as byte pairs (Sennrich et al. 2016): its characters, or its bytes, merged by rules.
#include <algorithm>
#include <array>
#include <utility>

#include "kernels/error.h"
#include "runtime/data/tokenizer/models/merges.h"
#include "runtime/data/tokenizer/models/word_model.h"
#include "runtime/data/tokenizer/steps/byte_alphabet.h"
#include "runtime/data/tokenizer/utf8.h"
#include "runtime/system/files/json.h"

namespace penstock {
namespace {

class BytePairs final : public WordModel {
 public:
  BytePairs(const WordModelData& data, const std::string& where)
      : byte_level_(data.byte_level),
        ignore_merges_(data.ignore_merges),
        fuse_unknown_(data.fuse_unknown),
        unknown_(data.unknown) {
    ByText<int32_t> written;
    for (const auto& [word, id] : data.vocabulary) {
      written.emplace(word, id);
      const std::optional<std::string> bytes = byte_level_ ? bytes_of_word(word) : word;
      if (bytes) words_.emplace(*bytes, id);
    }
    single_.fill(-1);
    for (const auto& [word, id] : words_) {
      if (word.size() == 1) single_[static_cast<uint8_t>(word.front())] = id;
    }
    if (byte_level_) check_bytes(where);
    if (data.byte_fallback) fallback_.emplace(written);
    take_merges(data, written, where);
  }

 private:
  void check_bytes(const std::string& where) const {
    for (size_t byte = 0; byte < single_.size(); ++byte) {
      if (single_[byte] >= 0) continue;
      fail_input(where + ": its vocabulary has no word for the byte " + std::to_string(byte) +
                 ", and of byte-level vocabularies only those that have all 256 are supported");
    }
  }

  void take_merges(const WordModelData& data, const ByText<int32_t>& ids,
                   const std::string& where) {
    for (const auto& merge : data.merges) {
      const auto id_of = [&](const std::string& word) {
        const auto found = ids.find(word);
        if (found != ids.end()) return found->second;
        fail_data(where + ": the merge of " + quoted(merge.first) + " and " + quoted(merge.second) +
                  " needs " + quoted(word) + ", which its vocabulary has not");
      };
      merges_.add(id_of(merge.first), id_of(merge.second), id_of(merge.first + merge.second));
    }
    tell_neighbours(data, ids);
  }

  // Returns the symbols that a word can consist of before it is merged.
  [[nodiscard]] std::vector<int32_t> first_symbols() const {
    std::vector<int32_t> symbols(single_.begin(), single_.end());
    for (const auto& [word, id] : words_) {
      size_t ignored = 0;
      const bool is_character = !word.empty() && character_bytes(word, 0, ignored) == word.size();
      if (!byte_level_ && is_character) symbols.push_back(id);
    }
    for (int byte = 0; fallback_ && byte < 256; ++byte) {
      const char c = static_cast<char>(byte);
      (void)fallback_->append({&c, 1}, symbols);
    }
    if (unknown_) symbols.push_back(*unknown_);
    return symbols;
  }

  // Tells Merges which first symbols (symbols of a word before it is merged) a rule can bring
  // together: the last one of the rule's left side and the first one of its right side. If a symbol
  // can be made in two ways that begin or end with different first symbols, Merges is told nothing
  // at all.
  void tell_neighbours(const WordModelData& data, const ByText<int32_t>& ids) {
    struct Ends {
      int32_t first = 0, last = 0;
      bool operator==(const Ends&) const = default;
    };
    std::unordered_map<int32_t, Ends> ends;
    for (const int32_t id : first_symbols()) ends.insert_or_assign(id, Ends{id, id});
    // The rules are sorted by length. So a rule comes behind the rules that make its two sides.
    std::vector<const std::pair<std::string, std::string>*> rules;
    for (const auto& merge : data.merges) rules.push_back(&merge);
    std::ranges::stable_sort(
        rules, {}, [](const auto* merge) { return merge->first.size() + merge->second.size(); });
    std::vector<std::pair<int32_t, int32_t>> joins;
    for (const auto* merge : rules) {
      const auto left = ends.find(ids.find(merge->first)->second);
      const auto right = ends.find(ids.find(merge->second)->second);
      if (left == ends.end() || right == ends.end()) continue;  // the rule never applies
      joins.emplace_back(left->second.last, right->second.first);
      const Ends made{left->second.first, right->second.last};
      const int32_t merged = ids.find(merge->first + merge->second)->second;
      if (!(ends.emplace(merged, made).first->second == made)) return;
    }
    for (const auto& [left, right] : joins) merges_.may_join(left, right);
  }

  [[nodiscard]] int32_t find(std::string_view unit) const {
    if (unit.size() == 1) return single_[static_cast<uint8_t>(unit.front())];
    const auto found = words_.find(unit);
    return found == words_.end() ? -1 : found->second;
  }

  // Returns the symbols of a word before it is merged. What the vocabulary lacks becomes fallback
  // bytes or the unknown symbol. If the model has neither, it is left out. As in the `tokenizers`
  // package, the unknown symbol is put right before the next known symbol, and so behind fallback
  // bytes that come in between.
  [[nodiscard]] std::vector<int32_t> symbols_of(std::string_view word) const {
    std::vector<int32_t> symbols;
    symbols.reserve(word.size());
    bool waiting = false;
    const auto put_unknown = [&] {
      if (waiting) symbols.push_back(*unknown_);
      waiting = false;
    };
    for (size_t at = 0; at < word.size();) {
      const std::string_view unit = word.substr(at, byte_level_ ? 1 : utf8_at(word, at).bytes);
      at += unit.size();
      if (const int32_t id = find(unit); id >= 0) {
        put_unknown();
        symbols.push_back(id);
      } else if (!(fallback_ && fallback_->append(unit, symbols)) && unknown_) {
        if (!fuse_unknown_) put_unknown();
        waiting = true;
      }
    }
    put_unknown();
    return symbols;
  }

  [[nodiscard]] std::vector<int32_t> ids_of(std::string_view word) const override {
    if (ignore_merges_) {
      if (const auto whole = words_.find(word); whole != words_.end()) return {whole->second};
    }
    std::vector<int32_t> symbols = symbols_of(word);
    merges_.apply(symbols);
    return symbols;
  }

  bool byte_level_, ignore_merges_, fuse_unknown_;
  std::optional<int32_t> unknown_;
  ByText<int32_t> words_;            // ids of words, by their bytes in a text
  std::array<int32_t, 256> single_;  // ids of words of one byte; -1 if there is none
  std::optional<ByteFallback> fallback_;
  Merges merges_;
};

}  // namespace

std::unique_ptr<WordModel> make_byte_pairs(const WordModelData& data, const std::string& where) {
  return std::make_unique<BytePairs>(data, where);
}

}  // namespace penstock
