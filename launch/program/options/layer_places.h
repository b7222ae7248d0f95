// launch/program/options/layer_places.h -- where the layers of a run stand in the user's file: kept
// while the configuration travels between ranks as a run file of its own, whose lines nobody has
// seen.
#pragma once

#include <string>
#include <vector>

#include "runtime/network/models/config.h"

namespace penstock {

// The places (LayerConfig::where) of all layers, inner ones too, a line each.
[[nodiscard]] std::string places_of(const std::vector<LayerConfig>& layers);
// Sets the places of the same layers.
void set_places(std::vector<LayerConfig>& layers, const std::string& places);

}  // namespace penstock
