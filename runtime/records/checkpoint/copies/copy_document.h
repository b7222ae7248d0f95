// runtime/records/checkpoint/copies/copy_document.h -- copy.json: what is in the file beside it.
#pragma once

#include <cstdint>
#include <string>

#include "runtime/records/checkpoint/manifest.h"

namespace penstock {

struct CopyDocument {
  int64_t attempt = 0;        // of the run, that wrote it
  int rank = 0, ranks = 1;    // whose it is, of how many: together they have all of a checkpoint
  bool is_frozen = false;     // what no step changes; then of any step
  bool needs_frozen = false;  // it is the rest of what its rank keeps
  FileDigest file = {};
  CheckpointState state = {};
  bool operator==(const CopyDocument&) const = default;
};
[[nodiscard]] std::string encode_copy(const CopyDocument& document);
// Throws Error(Data) naming `file` and the key.
[[nodiscard]] CopyDocument parse_copy(const std::string& text, const std::string& file);

}  // namespace penstock
