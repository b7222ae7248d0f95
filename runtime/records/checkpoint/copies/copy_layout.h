// runtime/records/checkpoint/copies/copy_layout.h -- what is in a copy of what one rank keeps: a
// safetensors file whose metadata say where in the network each piece belongs. A piece is a tensor,
// or this rank's range of one that replicas share out; the copies of all ranks together have each
// element of a checkpoint once.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/records/checkpoint/checkpoint.h"
#include "runtime/records/checkpoint/format/safetensors.h"

namespace penstock {

struct CopiedPiece {
  NamedTensor named;  // live; 1-d where it is a range
  std::string part;   // "model" | "optimizer"
  int64_t layer = 0;
  Shape whole = {};   // of the tensor that it is of
  int64_t first = 0;  // the element of it that the piece begins with
};

struct CopyLayout {
  struct Place {
    uint64_t begin = 0;  // bytes, from the start of the data
    Tensor tensor;       // live
  };
  std::string header;         // of the file: all in front of the data
  std::vector<Place> places;  // in the order of the data, without gaps
  uint64_t data_bytes = 0;
};
[[nodiscard]] CopyLayout lay_out(const std::vector<CopiedPiece>& pieces);

// The same, as a file has it.
struct StoredPiece {
  std::string name, part;
  DType dtype = DType::F32;
  int64_t layer = 0;
  std::vector<int64_t> whole;
  int64_t first = 0, elements = 0;
};
// Throws Error(Data) naming the file, where its metadata say no such thing.
[[nodiscard]] std::vector<StoredPiece> pieces_in(const SafetensorsFile& file);

}  // namespace penstock
