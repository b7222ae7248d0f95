// runtime/data/tokenizer/piece_model.h -- a look at a SentencePiece model before the library gets
// it: the library follows the numbers in one of its tables without asking where they lead.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace penstock {

// Throws Error(Data) naming `path` and the byte when this is no protocol buffer, when a piece has
// no finite score, or when the table that characters are normalised by leads out of itself.
void check_piece_model(std::span<const uint8_t> bytes, const std::string& path);

// Whether each piece, by id, is user-defined (found in a text before it is cut), which the library
// does not tell. Throws as check_piece_model().
[[nodiscard]] std::vector<bool> user_defined_pieces(std::span<const uint8_t> bytes,
                                                    const std::string& path);

}  // namespace penstock
