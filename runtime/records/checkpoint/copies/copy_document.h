// runtime/records/checkpoint/copies/copy_document.h -- copy.json: what is in the file beside it.
#pragma once

#include <cstdint>
#include <string>

#include "runtime/records/checkpoint/manifest.h"

namespace penstock {

struct CopyDocument {
  int64_t attempt = 0;        // of the run: the one that wrote it
  int rank = 0, ranks = 1;    // whose copy it is; those of all ranks together are a checkpoint
  bool is_frozen = false;     // it has what no step changes, and so belongs to any step
  bool needs_frozen = false;  // a frozen copy has the rest of what its rank keeps
  FileDigest file = {};
  CheckpointState state = {};
  bool operator==(const CopyDocument&) const = default;
};
[[nodiscard]] std::string encode_copy(const CopyDocument& document);
// Throws Error(Data) naming `file` and the key.
[[nodiscard]] CopyDocument parse_copy(const std::string& text, const std::string& file);

}  // namespace penstock
