// runtime/records/checkpoint/copies/copy_layout.h -- lay_out(): decides where in a file each tensor
// of one rank's state lies, before the state is copied there after a step; pieces_in(): finds the
// tensors in such a file again.
//
// The file is a safetensors file in a host's memory (copy_slot.h). A piece is a tensor, or, where
// replicas share a tensor, this rank's range of its elements. The metadata of the file say of which
// tensor and layer each piece is, so that the copies of all ranks together can be read like a
// checkpoint: they hold each element once.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/records/checkpoint/checkpoint.h"
#include "runtime/records/checkpoint/format/safetensors.h"

namespace penstock {

// A piece that is to be copied.
struct CopiedPiece {
  // The rank's live tensor, which shares its memory with training; a range is a 1-d tensor.
  NamedTensor named;
  std::string part;   // "model" (a weight or buffer) | "optimizer" (its state)
  int64_t layer = 0;  // numbered over the whole network
  Shape whole = {};   // the shape of the whole tensor
  int64_t first = 0;  // the element of the whole tensor that the piece begins with
};

// How the file looks.
struct CopyLayout {
  struct Place {
    uint64_t begin = 0;  // where it begins, in bytes from the start of the data
    Tensor tensor;       // the live tensor that is to be copied there
  };
  std::string header;         // the bytes of the file before the data
  std::vector<Place> places;  // in the order of the data, without gaps
  uint64_t data_bytes = 0;    // of all places
};
// Lays the pieces out one after another. Copies no numbers.
[[nodiscard]] CopyLayout lay_out(const std::vector<CopiedPiece>& pieces);

// A piece in a file; the members mean the same as those of CopiedPiece.
struct StoredPiece {
  std::string name, part;
  DType dtype = DType::F32;
  int64_t layer = 0;
  std::vector<int64_t> whole;
  int64_t first = 0, elements = 0;
};
// The pieces in a file. Throws Error(Data) naming the file if its metadata do not say for every
// tensor where in the network it belongs.
[[nodiscard]] std::vector<StoredPiece> pieces_in(const SafetensorsFile& file);

}  // namespace penstock
