// launch/penstock.h -- the one header that a program includes to train a network of its own with
// Penstock.
//
// Write layers as classes derived from UnaryLayer (or Layer), list them in a Sequential, and give
// run_program() a ModelMaker, a pair of functions of which one describes the network's inputs and
// the other builds it. The result is the program `penstock` with model.kind = "own" added, and all
// its commands, options and schedules. launch/examples/own_network.cpp is such a program.
#pragma once

#include "launch/program/program.h"                    // IWYU pragma: export
#include "runtime/network/layers/container.h"          // IWYU pragma: export
#include "runtime/network/layers/library/attention.h"  // IWYU pragma: export
#include "runtime/network/layers/library/embedding.h"  // IWYU pragma: export
#include "runtime/network/layers/library/image.h"      // IWYU pragma: export
#include "runtime/network/layers/library/linear.h"     // IWYU pragma: export
#include "runtime/network/layers/library/loss.h"       // IWYU pragma: export
#include "runtime/network/layers/library/norm.h"       // IWYU pragma: export
#include "runtime/network/layers/library/pointwise.h"  // IWYU pragma: export
#include "runtime/network/models/models.h"             // IWYU pragma: export
