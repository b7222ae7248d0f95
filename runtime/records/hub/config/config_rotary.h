// runtime/records/hub/config/config_rotary.h -- reads from a config.json how rotary positions turn
// heads: their base, the share of a head that is turned, and the scaling for longer contexts.
//
// transformers 5 has all of that in `rope_parameters`, where layers differ in an object for each
// kind of layer. Older versions have `rope_theta` and `rope_scaling`, whose type may be called
// "type".
#pragma once

#include "runtime/network/models/config.h"
#include "runtime/records/hub/config/config_fields.h"

namespace penstock {

// How much of a head rotary positions turn: all of it, or the share that a family may choose.
enum class RotaryShare : uint8_t { All, Chosen };

// The functions read members of `fields`, set the keys of the model that begin with "rotary", and
// model.positions = "rotary". What config.json leaves out stays as it is in the model.
// model.context and model.head_width must be set. They throw Error(Input) for scalings that are not
// supported.

// This is for families whose layers turn heads alike. `unsaid_share`: that of a file that says
// none.
void read_rotary(ConfigFields& fields, RotaryShare share, ModelConfig& model,
                 double unsaid_share = 1.0);
// This is for families whose layers with a window have rotary positions of their own, which are not
// scaled. It sets model.window_rotary_base too.
void read_rotary_by_layer(ConfigFields& fields, ModelConfig& model);

}  // namespace penstock
