#include "launch/program/options/readers.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <vector>

#include "kernels/error.h"

namespace penstock {
namespace {

Switch of_kind(std::vector<std::string> kinds) {
  return {"model.kind", std::move(kinds)};
}
Switch of_data(std::vector<std::string> kinds) {
  return {"data.kind", std::move(kinds)};
}
Switch by(std::vector<std::string> kinds) {
  return {"optimizer.kind", std::move(kinds)};
}
Switch with_schedule(std::vector<std::string> schedules) {
  return {"optimizer.schedule", std::move(schedules)};
}
Switch with(std::string key, std::vector<std::string> values) {
  return {std::move(key), std::move(values)};
}
Switch not_with(std::string key, std::string value) {
  return {std::move(key), {std::move(value)}, true};
}

std::vector<Readers> readers_of_networks() {
  const Switch transformer = of_kind({"transformer-lm", "decoder", "transformer-nmt"});
  return {
      {"model", {"decoder_layers"}, {of_kind({"transformer-nmt"})}},
      {"model", {"heads", "attention_bias", "final_norm", "tied_embedding"}, {transformer}},
      {"model", {"depth_scaled_init"}, {transformer}},
      {"model", {"head_width"}, {of_kind({"decoder", "transformer-nmt"})}},
      {"model", {"layers", "hidden"}, {transformer}},
      {"model", {"layers", "hidden"}, {of_kind({"mlp"}), with("model.hidden_layers", {""})}},
      {"model", {"layers"}, {of_kind({"amoebanet-d", "amoebanet-b", "unet", "sequential"})}},
      {"model", {"width"}, {of_kind({"transformer-lm", "decoder", "transformer-nmt", "resnet"})}},
      {"model",
       {"context", "vocabulary", "positions"},
       {of_kind({"transformer-lm", "decoder", "transformer-nmt", "sequential"})}},
      {"model",
       {"activation", "bias"},
       {of_kind({"transformer-lm", "decoder", "transformer-nmt", "mlp"})}},
      {"model",
       {"dropout"},
       {of_kind({"transformer-lm", "decoder", "transformer-nmt", "amoebanet-d", "amoebanet-b",
                 "mlp", "sequential"})}},
  };
}

std::vector<Readers> readers_of_decoders() {
  const Switch decoder = of_kind({"decoder"});
  const Switch rotary = with("model.positions", {"rotary"});
  const Switch experts = not_with("model.experts", "0");
  return {
      {"model", {"kv_heads", "gated", "norm", "norm_zero_centered", "norm_place"}, {decoder}},
      {"model", {"output_bias", "query_key_norm", "parallel_branches", "shared_norm"}, {decoder}},
      {"model", {"embedding_scale", "residual_scale", "attention_scale"}, {decoder}},
      {"model",
       {"logit_scale", "attention_softcap", "logit_softcap", "attention_sinks"},
       {decoder}},
      {"model", {"window", "window_layers", "rotary_layers", "dense_layers"}, {decoder}},
      {"model", {"norm_bias"}, {decoder, with("model.norm", {"layer"})}},
      {"model", {"query_key_norm_over"}, {decoder, with("model.query_key_norm", {"true"})}},
      {"model",
       {"rotary_base", "rotary_scaling", "rotary_width", "rotary_pairs"},
       {decoder, rotary}},
      {"model", {"rotary_factor"}, {decoder, rotary, not_with("model.rotary_scaling", "none")}},
      {"model",
       {"rotary_low", "rotary_high"},
       {decoder, rotary, with("model.rotary_scaling", {"llama3", "yarn"})}},
      {"model", {"rotary_truncate"}, {decoder, rotary, with("model.rotary_scaling", {"yarn"})}},
      {"model",
       {"rotary_original"},
       {decoder, rotary, with("model.rotary_scaling", {"llama3", "yarn", "longrope", "dynamic"})}},
      {"model",
       {"rotary_attention_factor"},
       {decoder, rotary, with("model.rotary_scaling", {"yarn", "longrope"})}},
      {"model",
       {"rotary_short", "rotary_long"},
       {decoder, rotary, with("model.rotary_scaling", {"longrope"})}},
      {"model", {"window_rotary_base"}, {decoder, rotary, not_with("model.window", "0")}},

      {"model", {"experts"}, {decoder}},
      {"model", {"experts_per_token", "expert_width", "shared_expert_width"}, {decoder, experts}},
      {"model", {"shared_expert_gate", "router", "router_normalised"}, {decoder, experts}},
      {"model", {"router_scale", "router_bias", "router_correction"}, {decoder, experts}},
      {"model", {"balance_rate", "balance_loss", "router_z_loss"}, {decoder, experts}},
      {"model", {"expert_groups", "groups_per_token", "expert_gate_limit"}, {decoder, experts}},
      {"run", {"expert_rows"}, {decoder, experts}},
      {"run", {"expert_rows"}, {of_kind({"sequential", "own"})}},
  };
}

std::vector<Readers> readers_of_image_networks() {
  return {
      {"model", {"depth"}, {of_kind({"resnet"})}},
      {"model", {"form"}, {of_kind({"resnet", "unet"})}},
      {"model", {"filters"}, {of_kind({"amoebanet-d", "amoebanet-b", "unet"})}},
      {"model", {"convolutions"}, {of_kind({"unet"}), with("model.form", {"simplified"})}},
      {"model",
       {"stem", "auxiliary_weight", "drop_path", "drop_path_ramp"},
       {of_kind({"amoebanet-d", "amoebanet-b"})}},
      {"model", {"norm_decay"}, {of_kind({"amoebanet-d", "amoebanet-b", "resnet", "unet"})}},
      {"model",
       {"norm_epsilon"},
       {of_kind({"amoebanet-d", "amoebanet-b", "resnet", "unet", "decoder"})}},
      {"model",
       {"norm_replicas"},
       {of_kind({"amoebanet-d", "amoebanet-b", "resnet", "unet", "sequential"})}},
      {"model", {"image"}, {of_kind({"amoebanet-d", "amoebanet-b", "resnet", "unet"})}},
      {"model", {"image"}, {of_kind({"mlp", "sequential"}), with("model.input", {""})}},
      {"model", {"input"}, {of_kind({"mlp", "sequential"})}},
      {"model", {"hidden_layers"}, {of_kind({"mlp"})}},
      {"model",
       {"classes"},
       {of_kind({"amoebanet-d", "amoebanet-b", "resnet", "unet", "mlp", "sequential"})}},

      {"model", {"per_pixel"}, {of_kind({"unet", "sequential"})}},
  };
}

std::vector<Readers> readers_of_adapters_and_data() {
  return {
      {"lora",
       {"rank", "alpha", "dropout", "targets", "from"},
       {of_kind({"transformer-lm", "decoder"})}},
      {"data", {"train", "unpack_limit"}, {not_with("data.kind", "synthetic")}},
      {"data", {"tokenizer"}, {of_data({"text", "jsonl"})}},
      {"data", {"tokenizer"}, {of_data({"parallel"}), with("data.tokenizer", {"sentencepiece"})}},
      {"data", {"vocabulary"}, {of_data({"jsonl", "parallel"})}},
      {"data", {"vocabulary"}, {of_data({"text"}), not_with("data.tokenizer", "characters")}},
      {"data", {"vocabulary", "date"}, {not_with("model.from", "")}},
      {"data", {"vocabulary_size"}, {of_data({"parallel"}), with("data.vocabulary", {""})}},
      {"data",
       {"vocabulary_size"},
       {of_data({"text"}), with("data.tokenizer", {"sentencepiece"}),
        with("data.vocabulary", {""})}},
      {"data", {"packed", "too_long", "date"}, {of_data({"jsonl"})}},
      {"data", {"pairs", "temperature", "longest"}, {of_data({"parallel"})}},
      {"data", {"leave_out", "on_damage"}, {of_data({"images"})}},
      {"data", {"damage_limit"}, {of_data({"images"}), with("data.on_damage", {"replace"})}},
      {"data", {"ignore"}, {of_data({"masks"})}},
      {"data", {"crop_padding", "flip", "cutout", "mean", "std"}, {of_data({"images", "masks"})}},
      {"data", {"samples"}, {of_data({"synthetic"})}},
  };
}

std::vector<Readers> readers_of_runs() {
  return {
      {"run", {"on_corruption"}, {not_with("run.audit", "0")}},
      {"pipeline", {"kept_stages"}, {with("pipeline.recompute", {"stage"})}},
      {"checkpoint", {"partner_every"}, {with("checkpoint.partner", {"true"})}},
  };
}

std::vector<Readers> readers_of_optimizers() {
  return {
      {"optimizer", {"momentum"}, {by({"sgd", "rmsprop", "muon"})}},
      {"optimizer", {"nesterov"}, {by({"sgd"})}},
      {"optimizer", {"beta1", "beta2"}, {by({"adam", "adamw", "lion", "muon"})}},
      {"optimizer", {"rms_decay"}, {by({"rmsprop"})}},
      {"optimizer", {"epsilon"}, {by({"rmsprop", "adam", "adamw", "muon"})}},
      {"optimizer", {"adamw_for", "adamw_rate"}, {by({"muon"})}},
      {"optimizer", {"decay_steps"}, {with_schedule({"cosine", "linear", "wsd", "exponential"})}},
      {"optimizer", {"decay_rate"}, {with_schedule({"exponential"})}},
      {"optimizer", {"minimum_rate"}, {with_schedule({"cosine", "linear", "wsd"})}},
  };
}

// The rows in which the key stands.
std::vector<Readers> readers_of(const Option& option) {
  std::vector<Readers> found;
  std::ranges::copy_if(readers_table(), std::back_inserter(found), [&](const Readers& readers) {
    return readers.section == option.section &&
           std::ranges::find(readers.keys, option.key) != readers.keys.end();
  });
  return found;
}

std::string written_value(const std::string& key, const Config& config) {
  const Option* option = find_option(key);
  if (option == nullptr) fail_internal("there is no key " + key);
  return text_of(option->get(config));
}

bool holds(const Switch& given, const Config& config) {
  const bool has =
      std::ranges::find(given.values, written_value(given.key, config)) != given.values.end();
  return has != given.other_than;
}

bool hold(const Readers& readers, const Config& config) {
  return std::ranges::all_of(readers.switches,
                             [&](const Switch& given) { return holds(given, config); });
}

std::string or_empty(const std::string& value) {
  return value.empty() ? "empty" : value;
}

std::string condition(const Switch& given) {
  std::vector<std::string> values;
  for (const std::string& value : given.values) values.push_back(or_empty(value));
  return fmt::format("{} is {}{}", given.key, given.other_than ? "not " : "",
                     fmt::join(values, " or "));
}

// What keeps the key from being read: "model.kind is resnet".
std::string obstacles(const Option& option, const Config& config) {
  std::vector<std::string> texts;
  for (const Readers& readers : readers_of(option)) {
    for (const Switch& given : readers.switches) {
      if (holds(given, config)) continue;
      const std::string text = given.key + " is " + or_empty(written_value(given.key, config));
      if (std::ranges::find(texts, text) == texts.end()) texts.push_back(text);
    }
  }
  return fmt::format("{}", fmt::join(texts, " and "));
}

// Whether the run file says the key, and by itself reads it, or has it from the program.
bool is_read_by_file(const Settings& settings, const Option& option) {
  const std::string& origin = settings.origins.at(option.name());
  if (!settings.in_file || !origin.starts_with(settings.run_file.string() + ":")) return false;
  return settings.made_by_program || is_read(option, *settings.in_file);
}

}  // namespace

const std::vector<Readers>& readers_table() {
  static const std::vector<Readers> table = [] {
    std::vector<Readers> all;
    for (const auto& part :
         {readers_of_networks(), readers_of_decoders(), readers_of_image_networks(),
          readers_of_adapters_and_data(), readers_of_optimizers(), readers_of_runs()}) {
      all.insert(all.end(), part.begin(), part.end());
    }
    return all;
  }();
  return table;
}

bool is_read(const Option& option, const Config& config) {
  if (option.section == "model" && config.model.kind == "own") return true;
  const std::vector<Readers> rows = readers_of(option);
  return rows.empty() ||
         std::ranges::any_of(rows, [&](const Readers& row) { return hold(row, config); });
}

std::string read_where(const Option& option) {
  std::vector<std::string> rows;
  for (const Readers& readers : readers_of(option)) {
    std::vector<std::string> switches;
    for (const Switch& given : readers.switches) switches.push_back(condition(given));
    rows.push_back(fmt::format("{}", fmt::join(switches, " and ")));
  }
  return fmt::format("{}", fmt::join(rows, ", or "));
}

void check_read(const Settings& settings) {
  // A run file may keep it for the dry runs of every now and then; on a command line it is meant.
  if (settings.on_command_line("run.dry_run_model") && !settings.config.run.dry_run) {
    fail_input(fmt::format("{}: 'run.dry_run_model' is read only by a dry run: add --dry-run",
                           settings.place_of("run.dry_run_model")));
  }
  for (const Option& option : option_table()) {
    const std::string name = option.name();
    if (!settings.given(name) || option.get(settings.config) == default_of(option)) continue;
    if (is_read(option, settings.config) || is_read_by_file(settings, option)) continue;
    fail_input(fmt::format("{}: '{}' is read only where {}, and here {}: leave it out",
                           settings.place_of(name), name, read_where(option),
                           obstacles(option, settings.config)));
  }
}

}  // namespace penstock
