// runtime/network/models/amoebanet.h -- AmoebaNet's cells (Real et al. 2019) as GPipe ran them: the
// operations and the states that they read, and the making of a cell from them. Private to this
// room.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "runtime/network/layers/library/cell.h"
#include "runtime/network/layers/library/norm.h"
#include "runtime/network/layers/library/pointwise.h"

namespace penstock::amoeba {

// The operations of a cell. A convolution is (ReLU, convolution, batch norm), once or several
// times.
enum class Op : uint8_t {
  Identity,
  Conv1x1,
  Conv3x3,  // in a bottleneck: 1x1, 3x3, 1x1
  Conv7x7,  // in a bottleneck: 1x1, 1x7, 7x1, 1x1
  Sep3x3,   // depthwise and 1x1, twice
  Sep5x5,   // depthwise and 1x1, twice
  Max2x2,
  Max3x3,
  Average3x3,
};

// An operation and the number of the state that it reads (Cell numbers them).
struct Term {
  Op op;
  int state;
};
// A cell as the architecture search found it: the two terms of each sum, s2 to s6, and the states
// that make the output.
struct Genotype {
  std::array<std::array<Term, 2>, 5> sums;
  std::vector<int> outputs;
};
// The two kinds of cells of an AmoebaNet; a reduction halves height and width.
struct Genotypes {
  Genotype normal, reduction;
};
// AmoebaNet-D and AmoebaNet-B.
[[nodiscard]] const Genotypes& genotypes_d();
[[nodiscard]] const Genotypes& genotypes_b();

// The options that all cells of a network share.
struct Style {
  BatchNorm::Options norm;
  DropPath::Options drop_path;
};

// How a cell makes s1 of its second input, the output of the cell before the one before it.
enum class Previous : uint8_t {
  AsIs,
  Projected,  // by a 1x1 convolution, to the cell's filters
  Halved,     // projected, and halved in height and width: the cell between was a reduction
};
struct CellShape {
  int64_t current = 0, previous = 0;  // channels of the two inputs
  int64_t filters = 0;                // channels of each state that is computed
  Previous form = Previous::AsIs;
  bool reduce = false;  // operands that read s0 or s1 have stride 2
  bool last = false;    // no cell follows
};
// The cell of that genotype; names of its parameters begin with `name`.
[[nodiscard]] std::unique_ptr<Layer> make_cell(const std::string& name, const Genotype& genotype,
                                               const CellShape& shape, const Style& style);

// A convolution without bias, `in` to `out` channels, and its batch norm: `name`.conv, `name`.norm.
void add_convolution(Layers& layers, const std::string& name, int64_t in, int64_t out,
                     const Window& window, const BatchNorm::Options& norm);

}  // namespace penstock::amoeba
