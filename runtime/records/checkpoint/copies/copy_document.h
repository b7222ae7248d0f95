// runtime/records/checkpoint/copies/copy_document.h -- CopyDocument: the file copy.json, which says
// whose state, and of which step, is in the file copy.safetensors beside it.
//
// With the option checkpoint.partner each rank copies its state after a step to the memory of two
// hosts (copy_slot.h), so that a run can go on after a crash without a checkpoint on disk.
// Parameters that never change (frozen ones) are copied once, to a file of their own.
#pragma once

#include <cstdint>
#include <string>

#include "runtime/records/checkpoint/manifest.h"

namespace penstock {

struct CopyDocument {
  int64_t attempt = 0;         // the start of the run (1, 2, ...) that wrote the copy
  int rank = 0, ranks = 1;     // whose state it is, and how many ranks the run has
  bool is_frozen = false;      // the file has what no step changes; state.step does not matter
  bool needs_frozen = false;   // the rank also has a frozen copy, without which this one is no use
  FileDigest file = {};        // size and checksum of copy.safetensors
  CheckpointState state = {};  // step, configuration, ... as in a checkpoint's state.json
  bool operator==(const CopyDocument&) const = default;
};
// The text of copy.json.
[[nodiscard]] std::string encode_copy(const CopyDocument& document);
// Reads that text. `file` is its path, for messages. Throws Error(Data) naming `file` and the key
// that is wrong.
[[nodiscard]] CopyDocument parse_copy(const std::string& text, const std::string& file);

}  // namespace penstock
