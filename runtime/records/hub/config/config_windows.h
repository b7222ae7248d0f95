// runtime/records/hub/config/config_windows.h -- reads from a config.json which layers use
// sliding-window attention, in which a token sees only the last so many tokens.
//
// Mistral uses one window in all layers. Qwen uses it in the layers that the member layer_types
// names or, without that member, in those from the number max_window_layers on. Gemma 2 and 3,
// OLMo 3 and EXAONE 4 use it in all but every so many-th layer, Ministral in all that layer_types
// names. SmolLM3 has layers without rotary positions besides. The
// other families have no window. config_json.cpp calls one of the functions, by family.
#pragma once

#include "runtime/network/models/config.h"
#include "runtime/records/hub/config/config_fields.h"

namespace penstock {

// The functions read members of `fields` and throw Error(Input) for bad values and where
// layer_types contradicts the rest of the file.

// The check for families without windows: throws if layer_types gives any layer a window.
void refuse_windows(ConfigFields& fields);
// Sets model.window, in tokens, for all layers; 0: no window.
void read_mistral_window(ConfigFields& fields, ModelConfig& model);
// Sets model.window and, if only some layers have it, model.window_layers. model.layers must be
// set.
void read_qwen_window(ConfigFields& fields, ModelConfig& model);
// Sets model.window and, if only some layers have it, model.window_layers: those of layer_types or,
// without that member, all but every `pattern`-th. model.layers must be set.
void read_window_pattern(ConfigFields& fields, int64_t pattern, ModelConfig& model);
// The same, where a sliding_window of null means that no layer has a window; `pattern` 0: without
// layer_types all have it.
void read_windows_or_none(ConfigFields& fields, int64_t pattern, ModelConfig& model);
// Throws if layer_types says another thing than that all layers have model.window, or none has one.
void refuse_other_windows(ConfigFields& fields, const ModelConfig& model);
// Sets both as dots.llm1 has them: Qwen's, without a member that switches windows off.
void read_dots_window(ConfigFields& fields, ModelConfig& model);
// Sets model.window, in tokens, for all layers, as Phi-3 has it; 0: no window.
void read_phi3_window(ConfigFields& fields, ModelConfig& model);
// Sets model.rotary_layers if only some layers have rotary positions, model.positions = "none" if
// none has them, and the window as read_qwen_window() does. model.layers must be set.
void read_smollm3_layers(ConfigFields& fields, ModelConfig& model);

}  // namespace penstock
