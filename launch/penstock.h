// launch/penstock.h -- the one header of a program with a network of its own.
//
// Derive a layer from UnaryLayer (or Layer), list layers in a Sequential, and hand both functions
// of a ModelMaker to run_program(): the result is `penstock` with model.kind = "own" added, all
// commands, options and schedules included. launch/examples/own_network.cpp is such a program.
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
