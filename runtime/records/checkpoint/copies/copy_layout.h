// runtime/records/checkpoint/copies/copy_layout.h -- the file that holds a copy of one rank's
// state: a safetensors file whose metadata say where in the network each piece belongs. A piece is
// a tensor, or the rank's range of one that replicas share out; the copies of all ranks together
// have each element of a checkpoint once.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/records/checkpoint/checkpoint.h"
#include "runtime/records/checkpoint/format/safetensors.h"

namespace penstock {

struct CopiedPiece {
  NamedTensor named;  // the tensor that training changes, no copy; 1-d where it is a range
  std::string part;   // "model" | "optimizer"
  int64_t layer = 0;
  Shape whole = {};   // shape of the whole tensor
  int64_t first = 0;  // the element of the whole tensor that the piece begins with
};

struct CopyLayout {
  struct Place {
    uint64_t begin = 0;  // bytes, from the start of the data
    Tensor tensor;       // what is copied there
  };
  std::string header;         // all of the file in front of the data
  std::vector<Place> places;  // in the order of the data, without gaps
  uint64_t data_bytes = 0;
};
// Lays the pieces out one after another in a file.
[[nodiscard]] CopyLayout lay_out(const std::vector<CopiedPiece>& pieces);

// A piece as a file has it; the members mean what those of CopiedPiece do.
struct StoredPiece {
  std::string name, part;
  DType dtype = DType::F32;
  int64_t layer = 0;
  std::vector<int64_t> whole;
  int64_t first = 0, elements = 0;
};
// The pieces in a file. Throws Error(Data) naming the file where its metadata do not place them.
[[nodiscard]] std::vector<StoredPiece> pieces_in(const SafetensorsFile& file);

}  // namespace penstock
