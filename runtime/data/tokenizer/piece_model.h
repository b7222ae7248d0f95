// runtime/data/tokenizer/piece_model.h -- check_piece_model(): checks the bytes of a SentencePiece
// .model file before the library reads them, since the library follows the offsets in one of the
// file's tables without checking that they stay inside it.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace penstock {

// Throws Error(Data) naming `path` and the byte if `bytes` are no protocol buffer, if a piece has
// no finite score, or if an offset in the table by which characters are normalised leads out of the
// table.
void check_piece_model(std::span<const uint8_t> bytes, const std::string& path);

// For each piece, by id, whether it is user-defined (VocabularyPiece in pieces.h), which the
// library does not tell. Throws Error(Data), as check_piece_model() does.
[[nodiscard]] std::vector<bool> user_defined_pieces(std::span<const uint8_t> bytes,
                                                    const std::string& path);

}  // namespace penstock
