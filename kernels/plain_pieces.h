// kernels/plain_pieces.h -- PlainPieces: makes text that comes in pieces safe for a terminal.
// Header only.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "kernels/plain_text.h"

namespace penstock {

// Does to a text that comes in pieces what plain_text() does to a whole one, and keeps ends of
// lines. The bytes of a character that is cut at the end of a piece are held until the rest of it
// comes.
class PlainPieces {
 public:
  // Returns what was held and `piece`, made safe, without the bytes that are now held.
  [[nodiscard]] std::string next(std::string_view piece) {
    held_ += piece;
    const size_t begun = begun_bytes();
    const std::string_view whole = std::string_view(held_).substr(0, held_.size() - begun);
    std::string plain = plain_text(whole, true);
    held_.erase(0, whole.size());
    return plain;
  }
  [[nodiscard]] std::string rest() {  // what is held, once nothing more comes
    return plain_text(std::exchange(held_, {}), true);
  }

 private:
  // The number of bytes at the end that begin a character in UTF-8 whose other bytes are missing.
  [[nodiscard]] size_t begun_bytes() const {
    for (size_t n = 1; n <= 3 && n <= held_.size(); ++n) {
      const auto byte = static_cast<unsigned char>(held_[held_.size() - n]);
      if (byte < 0x80) return 0;
      if (byte < 0xc0) continue;
      const size_t wanted = byte >= 0xf0 ? 4 : (byte >= 0xe0 ? 3 : 2);
      return wanted > n ? n : 0;
    }
    return 0;
  }

  std::string held_;
};

}  // namespace penstock
