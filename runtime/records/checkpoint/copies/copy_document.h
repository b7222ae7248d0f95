// runtime/records/checkpoint/copies/copy_document.h -- CopyDocument: copy.json, which says what is
// in the copy beside it.
#pragma once

#include <cstdint>
#include <string>

#include "runtime/records/checkpoint/manifest.h"

namespace penstock {

struct CopyDocument {
  int64_t attempt = 0;        // the run's attempt that wrote the copy
  int rank = 0, ranks = 1;    // the rank whose state it is; copies of all ranks are a checkpoint
  bool is_frozen = false;     // it has what no step changes, and so belongs to every step
  bool needs_frozen = false;  // the rest of the rank's state is in a frozen copy
  FileDigest file = {};
  CheckpointState state = {};
  bool operator==(const CopyDocument&) const = default;
};
[[nodiscard]] std::string encode_copy(const CopyDocument& document);
// Throws Error(Data) naming `file` and the key.
[[nodiscard]] CopyDocument parse_copy(const std::string& text, const std::string& file);

}  // namespace penstock
