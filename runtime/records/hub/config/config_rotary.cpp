#include "runtime/records/hub/config/config_rotary.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "runtime/system/files/json.h"

namespace penstock {
namespace {

using nlohmann::json;

constexpr const char* kShare = "partial_rotary_factor";

void set_share(const ConfigFields& fields, double share, ModelConfig& model) {
  if (share > 1.0) fields.refuse(kShare, "must be at most 1");
  const auto width = static_cast<int64_t>(static_cast<double>(model.head_width) * share);
  if (width < 2 || width % 2 != 0) {
    fields.refuse(kShare, "makes " + std::to_string(width) + " of the " +
                              std::to_string(model.head_width) +
                              " elements of a head, which are no pairs to be turned");
  }
  model.rotary_width = width == model.head_width ? 0 : width;
}

// Returns whether the member says a share.
bool read_share(ConfigFields& fields, RotaryShare share, ModelConfig& model) {
  const bool said = fields.has(kShare);
  if (share == RotaryShare::All) {
    fields.must_be(kShare, 1.0);
  } else if (said) {
    set_share(fields, fields.number(kShare), model);
  }
  return said;
}

void read_factor(ConfigFields& fields, ModelConfig& model) {
  model.rotary_factor = fields.number("factor");
  if (model.rotary_factor < 1.0) fields.refuse("factor", "must be at least 1");
}

// The context before scaling. `outside`: what stands beside the scaling in config.json, which goes
// before, as in transformers; 0: nothing.
int64_t original_context(ConfigFields& fields, int64_t outside) {
  constexpr const char* kOriginal = "original_max_position_embeddings";
  const int64_t inside = outside > 0 ? fields.whole(kOriginal, outside) : fields.whole(kOriginal);
  return outside > 0 ? outside : inside;
}

void read_llama3(ConfigFields& fields, int64_t outside, ModelConfig& model) {
  read_factor(fields, model);
  model.rotary_low = fields.number("low_freq_factor");
  model.rotary_high = fields.number("high_freq_factor");
  model.rotary_original = original_context(fields, outside);
  if (model.rotary_high <= model.rotary_low) {
    fields.refuse("high_freq_factor", "must be above low_freq_factor");
  }
}

// DeepSeek's form of yarn's attention factor is a quotient of two, of which each has a number.
double quotient_of_scales(double factor, double above, double below) {
  const auto scale = [factor](double by) {
    return factor <= 1.0 ? 1.0 : 0.1 * by * std::log(factor) + 1.0;
  };
  return scale(above) / scale(below);
}

void read_yarn(ConfigFields& fields, int64_t outside, ModelConfig& model) {
  read_factor(fields, model);
  model.rotary_low = fields.number("beta_slow", 1.0);
  model.rotary_high = fields.number("beta_fast", 32.0);
  model.rotary_original = original_context(fields, outside);
  if (model.rotary_high <= model.rotary_low) fields.refuse("beta_fast", "must be above beta_slow");
  model.rotary_truncate = fields.flag("truncate", true);
  const bool quotient = fields.has("mscale") && fields.has("mscale_all_dim");
  const double above = fields.number("mscale", 1.0);
  const double below = fields.number("mscale_all_dim", 1.0);
  if (quotient) {
    model.rotary_attention_factor = quotient_of_scales(model.rotary_factor, above, below);
  }
  model.rotary_attention_factor = fields.number("attention_factor", model.rotary_attention_factor);
}

std::vector<double> factors_of_pairs(ConfigFields& fields, const char* key, int64_t pairs) {
  const json* list = fields.any(key);
  if (list == nullptr) fields.refuse(key, "is missing");
  std::vector<double> factors;
  const bool fits = list->is_array() && std::ssize(*list) == pairs;
  for (const json& factor : fits ? *list : json::array()) {
    const bool usable = factor.is_number() && std::isfinite(factor.get<double>());
    factors.push_back(usable ? factor.get<double>() : 0.0);
  }
  for (const double factor : factors) {
    if (factor <= 0.0) fields.refuse(key, "has something else than numbers above 0");
  }
  if (!fits) {
    fields.refuse(key, "must have a number for each of the " + std::to_string(pairs) +
                           " pairs of a head that rotary positions turn");
  }
  return factors;
}

void read_longrope(ConfigFields& fields, int64_t outside, ModelConfig& model) {
  const int64_t turned = model.rotary_width > 0 ? model.rotary_width : model.head_width;
  model.rotary_short = factors_of_pairs(fields, "short_factor", turned / 2);
  model.rotary_long = factors_of_pairs(fields, "long_factor", turned / 2);
  model.rotary_original = original_context(fields, outside);
  const double growth =
      static_cast<double>(model.context) / static_cast<double>(model.rotary_original);
  model.rotary_factor = std::max(1.0, fields.number("factor", growth));
  model.rotary_attention_factor = fields.number("attention_factor", 0.0);
}

void read_scaling(const json& scaling, const std::string& where, RotaryShare share, int64_t outside,
                  ModelConfig& model) {
  ConfigFields fields(scaling, where);
  for (const char* key : {"rope_theta", "rope_type"}) {
    if (fields.is_null(key)) fields.refuse(key, "is null: it has a value, or is not there");
  }
  if (fields.has("type") && fields.has("rope_type")) fields.must_be("type", scaling["rope_type"]);
  const std::string said = fields.text(fields.has("rope_type") ? "rope_type" : "type", "default");
  // The first folders of Phi call it su.
  const std::string type = said == "su" && outside > 0 ? "longrope" : said;
  model.rotary_base = fields.number("rope_theta", model.rotary_base);
  (void)read_share(fields, share, model);
  if (type == "linear") {
    read_factor(fields, model);
  } else if (type == "llama3") {
    read_llama3(fields, outside, model);
  } else if (type == "yarn") {
    read_yarn(fields, outside, model);
  } else if (type == "longrope") {
    read_longrope(fields, outside, model);
  } else if (type == "dynamic") {
    read_factor(fields, model);
    model.rotary_original = model.context;
  } else if (type != "default") {
    fields.refuse("rope_type", "is " + quoted(type) +
                                   ": only default, linear, llama3, yarn, longrope and dynamic "
                                   "are supported");
  }
  if (type != "default") model.rotary_scaling = type;
  fields.refuse_rest(leaves_all_as_it_is);
}

// Reads the rotary positions of layers that have a window, which are not scaled.
void read_window_rotary(const json& said, const std::string& where, ModelConfig& model) {
  ConfigFields fields(said, where);
  fields.must_be("rope_type", "default");
  fields.must_be(kShare, 1.0);
  model.window_rotary_base = fields.number("rope_theta", model.window_rotary_base);
  fields.refuse_rest(leaves_all_as_it_is);
}

const json* object_of(ConfigFields& fields, const char* key) {
  const json* value = fields.any(key);
  if (value != nullptr && !value->is_object()) fields.refuse(key, "must be an object");
  return value;
}

}  // namespace

void read_rotary(ConfigFields& fields, RotaryShare share, ModelConfig& model, double unsaid_share) {
  model.positions = "rotary";
  bool has_share = read_share(fields, share, model);
  model.rotary_base = fields.number("rope_theta", model.rotary_base);
  const bool has_theta = fields.has("rope_theta");
  const double theta = model.rotary_base;
  constexpr const char* kOriginal = "original_max_position_embeddings";
  const int64_t outside = fields.has(kOriginal) ? fields.whole(kOriginal) : 0;
  for (const char* key : {"rope_scaling", "rope_parameters"}) {
    const json* scaling = object_of(fields, key);
    if (scaling == nullptr) continue;
    if (model.rotary_scaling != "none") fields.refuse(key, "says again what rope_scaling does");
    has_share = has_share || scaling->contains(kShare);
    if (!has_share) set_share(fields, unsaid_share, model);  // before factors of pairs are read
    read_scaling(*scaling, fields.where() + ", " + key, share, outside, model);
  }
  if (!has_share) set_share(fields, unsaid_share, model);
  if (has_theta && model.rotary_base != theta) {
    fields.refuse("rope_theta", "is not that of rope_parameters");
  }
}

void read_rotary_by_layer(ConfigFields& fields, ModelConfig& model) {
  model.positions = "rotary";
  model.rotary_base = fields.number("rope_theta", model.rotary_base);
  model.window_rotary_base = fields.number("rope_local_base_freq", model.window_rotary_base);
  if (const json* scaling = object_of(fields, "rope_scaling")) {
    read_scaling(*scaling, fields.where() + ", rope_scaling", RotaryShare::All, 0, model);
  }
  const json* kinds = object_of(fields, "rope_parameters");
  if (kinds == nullptr) return;
  const std::string where = fields.where() + ", rope_parameters";
  ConfigFields inner(*kinds, where);
  if (const json* full = object_of(inner, "full_attention")) {
    if (model.rotary_scaling != "none") {
      fields.refuse("rope_parameters", "says again what rope_scaling does");
    }
    read_scaling(*full, where + ", full_attention", RotaryShare::All, 0, model);
  }
  if (const json* windowed = object_of(inner, "sliding_attention")) {
    read_window_rotary(*windowed, where + ", sliding_attention", model);
  }
  inner.refuse_rest(asks_for_nothing);
}

}  // namespace penstock
