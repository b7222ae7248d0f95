// The format: sentencepiece_model.proto of the library; the table: a double-array trie of
// Darts-clone (github.com/s-yata/darts-clone), of which the units that lead on or hold a value are
// checked.
#include "runtime/data/tokenizer/piece_model.h"

#include <bit>
#include <cmath>
#include <functional>
#include <optional>

#include "kernels/error.h"

namespace penstock {
namespace {

using ProtoBytes = std::span<const uint8_t>;

// Holds a field of a message: its number, and its content in bytes. A field that is a varint has a
// value instead of bytes.
struct ProtoField {
  uint64_t number = 0;
  int type = 0;
  ProtoBytes content = {};
  uint64_t value = 0;
};

enum ProtoType : int { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };

uint32_t word_at(ProtoBytes bytes, size_t at) {
  uint32_t word = 0;
  for (size_t i = 0; i < 4; ++i) word |= uint32_t{bytes[at + i]} << (8 * i);
  return word;
}

class ModelCheck {
 public:
  ModelCheck(ProtoBytes whole, const std::string& path) : whole_(whole), path_(path) {}

  [[nodiscard]] std::vector<bool> user_defined() const {
    constexpr uint64_t kUserDefined = 4;  // SentencePiece's number for such a piece
    std::vector<bool> all;
    for_fields(whole_, [&](const ProtoField& field) {
      if (field.number != 1 || field.type != kBytes) return;
      all.push_back(false);
      for_fields(field.content, [&](const ProtoField& inner) {
        if (inner.number == 3 && inner.type == kVarint) all.back() = inner.value == kUserDefined;
      });
    });
    return all;
  }

  void model() const {
    for_fields(whole_, [&](const ProtoField& field) {
      if (field.type != kBytes) return;
      if (field.number == 1) for_fields(field.content, [&](const ProtoField& f) { piece(f); });
      if (field.number == 3 || field.number == 5) {
        for_fields(field.content, [&](const ProtoField& f) { normalizer(f); });
      }
    });
  }

 private:
  [[noreturn]] void refuse(ProtoBytes at, const std::string& why) const {
    fail_data(path_ + ", byte " + std::to_string(at.data() - whole_.data()) +
              ": it is no SentencePiece model (" + why +
              "): give a .model file, or none to train one");
  }

  uint64_t varint(ProtoBytes& bytes) const {
    const ProtoBytes start = bytes;
    uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      if (bytes.empty()) refuse(start, "it is cut off");
      const uint8_t byte = bytes.front();
      bytes = bytes.subspan(1);
      value |= uint64_t{byte & 0x7FU} << shift;
      if ((byte & 0x80U) == 0) return value;
    }
    refuse(start, "a number is too long");
  }

  void for_fields(ProtoBytes message, const std::function<void(const ProtoField&)>& use) const {
    while (!message.empty()) {
      const ProtoBytes start = message;
      const uint64_t tag = varint(message);
      ProtoField field{tag >> 3, static_cast<int>(tag & 7)};
      std::optional<uint64_t> length;
      if (field.type == kVarint) {
        field.value = varint(message);
        length = 0;
      } else if (field.type == kBytes) {
        length = varint(message);
      } else if (field.type == kFixed64 || field.type == kFixed32) {
        length = field.type == kFixed64 ? 8 : 4;
      }
      if (!length) refuse(start, "a field is of an unknown type");
      if (*length > message.size()) refuse(start, "it is cut off");
      field.content = message.first(*length);
      message = message.subspan(*length);
      use(field);
    }
  }

  void piece(const ProtoField& field) const {
    if (field.number != 2 || field.type != kFixed32) return;
    const auto score = std::bit_cast<float>(word_at(field.content, 0));
    if (!std::isfinite(score)) refuse(field.content, "a piece has no finite score");
  }

  // Checks the rules by which characters are normalised. The rules consist of the length of a trie
  // in bytes, the units of the trie, and texts that each end with a 0.
  void normalizer(const ProtoField& field) const {
    if (field.number != 2 || field.type != kBytes || field.content.empty()) return;
    const ProtoBytes rules = field.content;
    const uint64_t trie_bytes = rules.size() < 4 ? 0 : word_at(rules, 0);
    if (trie_bytes == 0 || trie_bytes % 4 != 0 || trie_bytes >= rules.size() - 4 ||
        rules.back() != 0) {
      refuse(rules, "its normalisation rules are damaged");
    }
    check_trie(rules.subspan(4, trie_bytes), rules.size() - 4 - trie_bytes);
  }

  // Checks that no unit leads out of the trie or the texts. A unit leads to a block of 256 units,
  // which its offset names. If bit 8 of the unit is set, the first unit of that block holds a place
  // in the texts. Units with the highest bit set hold such a place and lead nowhere; the root,
  // which is the first unit, leads on in any case.
  void check_trie(ProtoBytes trie, uint64_t text_bytes) const {
    const uint64_t units = trie.size() / 4;
    for (uint64_t i = 0; i < units; ++i) {
      const uint32_t unit = word_at(trie, 4 * i);
      if (i > 0 && (unit >> 31) != 0) continue;
      const uint64_t first = i ^ (uint64_t{unit >> 10} << ((unit & 0x200U) >> 6));
      const bool leads_out = (first | 0xFFU) >= units;
      const bool has_value = (unit & 0x100U) != 0;
      if (leads_out || (has_value && (word_at(trie, 4 * first) & 0x7FFFFFFFU) >= text_bytes)) {
        refuse(trie.subspan(4 * i), "its normalisation rules lead out of themselves");
      }
    }
  }

  ProtoBytes whole_;
  const std::string& path_;
};

}  // namespace

void check_piece_model(std::span<const uint8_t> bytes, const std::string& path) {
  ModelCheck(bytes, path).model();
}

std::vector<bool> user_defined_pieces(std::span<const uint8_t> bytes, const std::string& path) {
  return ModelCheck(bytes, path).user_defined();
}

}  // namespace penstock
