// runtime/network/models/amoebanet/amoebanet.h -- the cells of AmoebaNet-D and -B (Real et al.
// 2019), the image networks of the GPipe paper: which operations each cell has, and the making of a
// Cell layer (runtime/network/layers/library/cell.h) from that. amoebanet.cpp strings the cells
// together. Private to this folder.
//
// In a cell s0 and s1 are its two inputs, and s2 to s6 are sums of two operations on earlier
// states.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "runtime/network/layers/library/cell.h"
#include "runtime/network/layers/library/norm.h"
#include "runtime/network/layers/library/pointwise.h"

namespace penstock::amoeba {

// The operations of a cell. Each convolution is a ReLU, the convolution and a batch norm; some
// operations are several of these in a row.
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

// An operation, and the number of the state that it reads: 1 for s1.
struct Term {
  Op op;
  int state;
};
// A cell as the architecture search found it: the two terms of each of the sums s2 to s6, and the
// numbers of the states that are put side by side as the output.
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

// How a cell makes s1 of its second input, p, which comes from two cells before it and so may have
// other channels or another size than the cell needs.
enum class Previous : uint8_t {
  AsIs,
  Projected,  // by a 1x1 convolution, to the cell's filters
  Halved,     // projected, and halved in height and width: the cell between was a reduction
};
// The place of a cell in the network, as far as its layers depend on it.
struct CellShape {
  int64_t current = 0, previous = 0;  // channels of the two inputs
  int64_t filters = 0;                // channels of each state that is computed
  Previous form = Previous::AsIs;
  bool reduce = false;  // a reduction cell: operands that read s0 or s1 have stride 2
  bool last = false;    // no cell follows
};
// The Cell layer for that genotype; names of its parameters begin with `name`.
[[nodiscard]] std::unique_ptr<Layer> make_cell(const std::string& name, const Genotype& genotype,
                                               const CellShape& shape, const Style& style);

// Appends a convolution without bias from `in` to `out` channels, called "<name>.conv", and a batch
// norm, called "<name>.norm", to `layers`.
void add_convolution(Layers& layers, const std::string& name, int64_t in, int64_t out,
                     const Window& window, const BatchNorm::Options& norm);

}  // namespace penstock::amoeba
