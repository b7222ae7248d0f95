// launch/program/options/layer_places.h -- sends, beside the configuration, the lines of the user's
// file in which the layers of `[[model.layers]]` stand, so that errors on all ranks name lines that
// the user knows.
//
// Rank 0 sends the configuration to the other ranks as the text of a run file of its own, which has
// other lines.
#pragma once

#include <string>
#include <vector>

#include "runtime/network/models/config.h"

namespace penstock {

// Called on rank 0: returns the places (LayerConfig::where, "run.toml:12") of all layers, those
// inside others too, as text with a line for each.
[[nodiscard]] std::string places_of(const std::vector<LayerConfig>& layers);
// Called on the other ranks: sets the places of `layers` to `places`, which places_of() gave for
// the same layers on rank 0. Throws Error(Internal) if there are fewer lines than layers.
void set_places(std::vector<LayerConfig>& layers, const std::string& places);

}  // namespace penstock
