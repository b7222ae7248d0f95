// launch/program/options/layer_places.h -- the lines of the user's file in which the layers of a
// run stand. They travel beside the configuration, which rank 0 sends to the others as a run file
// of its own, whose lines the user has never seen.
#pragma once

#include <string>
#include <vector>

#include "runtime/network/models/config.h"

namespace penstock {

// The places (LayerConfig::where) of all layers, inner ones too, as text, a line each.
[[nodiscard]] std::string places_of(const std::vector<LayerConfig>& layers);
// Sets the places of all layers to what places_of() gave for equal layers.
void set_places(std::vector<LayerConfig>& layers, const std::string& places);

}  // namespace penstock
