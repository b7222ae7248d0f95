// launch/program/options/option_table.cpp -- the table itself. Checks that span several keys are in
// settings.cpp, and in runtime/planning/blueprint/blueprint.cpp (settings.h says which where).
#include "launch/program/options/option_table.h"

#include "kernels/device_model.h"
#include "launch/program/options/option_rows.h"
#include "runtime/planning/schedule/generators/known_schedules.h"
#include "runtime/planning/schedule/recipe.h"

namespace penstock {
namespace {

// Larger sizes are taken for typing errors and refused. Products of the sizes that are allowed stay
// far inside 64 bits.
constexpr double kMostRanks = 65536;
constexpr double kMostSamples = 1 << 30;

AllowedValues any() {
  return {};
}
AllowedValues at_least(double minimum) {
  return {.minimum = minimum};
}
AllowedValues above(double minimum) {
  return {.minimum = minimum, .minimum_excluded = true};
}
AllowedValues between(double minimum, double maximum) {
  return {.minimum = minimum, .maximum = maximum};
}
AllowedValues share() {  // from 0 to below 1
  return {.minimum = 0, .maximum = 1, .maximum_excluded = true};
}
AllowedValues one_of(std::vector<std::string> choices) {
  return {.choices = std::move(choices)};
}

// clang-format off
void add_model(std::vector<Option>& table) {
  using M = ModelConfig;
  OptionRows rows(table, "model", &Config::model);
  rows.add("kind", &M::kind, "NAME", one_of({"transformer-lm", "decoder", "transformer-nmt", "amoebanet-d", "amoebanet-b", "resnet", "unet", "mlp", "sequential", "own"}), "the network; own: one that a program brings");
  rows.add("from", &M::from, "DIR", any(), "a Hugging Face folder (config.json, safetensors): the keys of this section follow from it, but for dropout and a shorter context, and its weights are what training starts from");
  rows.add("layers", &M::layers, "N", between(1, 1e6), "transformers, mlp: blocks; amoebanet: normal cells, 3n; unet: levels; sequential: a list of tables, [[model.layers]]");
  rows.add("decoder_layers", &M::decoder_layers, "N", between(0, 1e6), "transformer-nmt: blocks of the decoder; 0: layers");
  rows.add("width", &M::width, "N", between(0, 1e6), "transformers: per position, 0: 128; resnet: first channels, 0: by form");
  rows.add("heads", &M::heads, "N", between(1, 1e6), "transformers: attention heads; transformer-lm: a divisor of width");
  rows.add("head_width", &M::head_width, "N", between(0, 1e6), "of an attention head; transformer-nmt, 0: 64; decoder, 0: width / heads");
  rows.add("hidden", &M::hidden, "N", between(0, 1e7), "feed-forward width; 0: 4 x width");
  rows.add("context", &M::context, "N", between(1, 1e7), "transformers: sequence length");
  rows.add("vocabulary", &M::vocabulary, "N", between(0, 1e9), "transformers: tokens; 0: what the data has");
  rows.add("activation", &M::activation, "NAME", one_of({"relu", "gelu", "gelu-tanh", "silu"}), "of the feed-forward layers");
  rows.add("positions", &M::positions, "NAME", one_of({"sinusoidal", "learned", "rotary", "none"}), "transformers: position embedding; decoder: also rotary, and none");
  rows.add("attention_bias", &M::attention_bias, "", any(), "transformers: biases in attention; decoder: of queries, keys and values");
  rows.add("bias", &M::bias, "", any(), "biases in feed-forward layers, experts and softmax (which has none in a decoder)");
  rows.add("final_norm", &M::final_norm, "", any(), "transformers: a norm at the end of encoder and decoder");
  rows.add("tied_embedding", &M::tied_embedding, "", any(), "transformers: the softmax matrix is the embedding table, one parameter");
  rows.add("depth_scaled_init", &M::depth_scaled_init, "", any(), "scale feed-forward weights down by depth");
  rows.add("dropout", &M::dropout, "P", share(), "share of activations set to zero in training");
  rows.add("label_smoothing", &M::label_smoothing, "P", share(), "share of the target spread over all classes");
  rows.add("logit_clip", &M::logit_clip, "X", at_least(0), "bound on the logits; 0: none");
  rows.add("logit_z_loss", &M::logit_z_loss, "X", at_least(0), "weight of the loss that keeps logits small (log^2 of the softmax's sum), in training; 0: none");
  rows.add("kv_heads", &M::kv_heads, "N", between(0, 1e6), "decoder: heads of keys and values, a divisor of heads; 0: heads");
  rows.add("gated", &M::gated, "", any(), "decoder: feed-forward layers are out(activation(gate(x)) * in(x))");
  rows.add("norm", &M::norm, "NAME", one_of({"layer", "rms"}), "decoder: what its norms are");
  rows.add("norm_bias", &M::norm_bias, "", any(), "decoder: layer norms have biases");
  rows.add("rotary_base", &M::rotary_base, "X", above(1), "decoder: of rotary positions");
  rows.add("rotary_scaling", &M::rotary_scaling, "NAME", one_of({"none", "linear", "llama3", "yarn", "longrope", "dynamic"}), "decoder: how rotary positions reach past the context they were trained for");
  rows.add("rotary_factor", &M::rotary_factor, "X", at_least(1), "decoder: linear: places are divided by it; llama3, yarn: those of slow pairs; dynamic: the base grows by it; longrope: rotary_attention_factor follows from it");
  rows.add("rotary_low", &M::rotary_low, "X", above(0), "decoder: llama3's low_freq_factor, yarn's beta_slow");
  rows.add("rotary_high", &M::rotary_high, "X", at_least(0), "decoder: llama3's high_freq_factor, yarn's beta_fast, above rotary_low; 0: 4 for llama3, 32 for yarn");
  rows.add("rotary_truncate", &M::rotary_truncate, "", any(), "decoder: yarn's bounds between slow and quick pairs are whole numbers");
  rows.add("rotary_original", &M::rotary_original, "N", between(1, 1e9), "decoder: the context before scaling: original_max_position_embeddings of llama3, yarn and longrope, max_position_embeddings of dynamic");
  rows.add("rotary_attention_factor", &M::rotary_attention_factor, "X", at_least(0), "decoder: cosines and sines are multiplied by it (yarn, longrope); 0: yarn 0.1 ln(rotary_factor) + 1, longrope sqrt(1 + ln(rotary_factor) / ln(rotary_original))");
  rows.add("rotary_short", &M::rotary_short, "X,..", above(0), "decoder: longrope's short_factor, a number for each pair of a head: used where model.context is at most rotary_original");
  rows.add("rotary_long", &M::rotary_long, "X,..", above(0), "decoder: longrope's long_factor, used where model.context is above rotary_original");
  rows.add("rotary_width", &M::rotary_width, "N", between(0, 1e6), "decoder: leading elements of each head that rotary positions turn; 0: all of them");
  rows.add("rotary_pairs", &M::rotary_pairs, "NAME", one_of({"halves", "neighbours"}), "decoder: which of these are turned together: element c and the one half of them further, or 2c and 2c + 1");
  rows.add("rotary_layers", &M::rotary_layers, "N,..", between(0, 1e6), "decoder: the layers that have rotary positions, counted from 0, ascending; the others have none; empty: all of them have them");
  rows.add("window_rotary_base", &M::window_rotary_base, "X", at_least(0), "decoder: base of rotary positions, without scaling, in layers that have the window; 0: as in the others");
  rows.add("output_bias", &M::output_bias, "", any(), "decoder: a bias in the layer that ends attention");
  rows.add("query_key_norm", &M::query_key_norm, "", any(), "decoder: RMS norms of queries and keys");
  rows.add("query_key_norm_over", &M::query_key_norm_over, "NAME", one_of({"head", "projection"}), "decoder: query_key_norm is over each head, or over all heads as one");
  rows.add("norm_zero_centered", &M::norm_zero_centered, "", any(), "decoder: RMS norms multiply by 1 + weight, and weights start at 0");
  rows.add("norm_place", &M::norm_place, "NAME", one_of({"before", "after", "both"}), "decoder: the side of attention and feed-forward layers on which their norm stands");
  rows.add("parallel_branches", &M::parallel_branches, "", any(), "decoder: attention and feed-forward layers of a block read the same input, and both results are added to it; a block is one layer then");
  rows.add("shared_norm", &M::shared_norm, "", any(), "decoder: with parallel_branches, both read one norm");
  rows.add("embedding_scale", &M::embedding_scale, "X", above(0), "decoder: vectors of tokens are multiplied by it");
  rows.add("residual_scale", &M::residual_scale, "X", above(0), "decoder: what attention and feed-forward layers add is multiplied by it");
  rows.add("attention_scale", &M::attention_scale, "X", at_least(0), "decoder: scores of attention are multiplied by it; 0: by 1 / sqrt(width of a head)");
  rows.add("logit_scale", &M::logit_scale, "X", above(0), "decoder: logits are multiplied by it");
  rows.add("attention_sinks", &M::attention_sinks, "", any(), "decoder: a trained number for each head takes part in the softmax of attention, as the score of a key without a value");
  rows.add("attention_softcap", &M::attention_softcap, "X", at_least(0), "decoder: a score of attention s becomes X tanh(s / X); 0: it stays");
  rows.add("logit_softcap", &M::logit_softcap, "X", at_least(0), "decoder: a logit l becomes X tanh(l / X); 0: it stays");
  rows.add("window", &M::window, "N", between(0, 1e7), "decoder: a position sees itself and the window - 1 before it; 0: all before it");
  rows.add("window_layers", &M::window_layers, "N,..", between(0, 1e6), "decoder: the layers that have the window, counted from 0, ascending; the others see all; empty: all of them have it");
  rows.add("experts", &M::experts, "N", between(0, 65535), "decoder: feed-forward layers are mixtures of so many experts, which are gated; 0: no mixtures");
  rows.add("experts_per_token", &M::experts_per_token, "N", between(1, 65535), "decoder: experts to which each token goes");
  rows.add("expert_width", &M::expert_width, "N", between(0, 1e7), "decoder: feed-forward width of each expert; 0: hidden");
  rows.add("expert_gate_limit", &M::expert_gate_limit, "X", at_least(0), "decoder: gates of experts are (u + 1) c sigmoid(1.702 c) with activation silu, where c is gate(x), at most X, and u is in(x), within -X and X; 0: they are as those of gated");
  rows.add("shared_expert_width", &M::shared_expert_width, "N", between(0, 1e7), "decoder: feed-forward width of an expert that has all tokens; 0: there is none");
  rows.add("shared_expert_gate", &M::shared_expert_gate, "", any(), "decoder: the shared expert's result is multiplied by the sigmoid of a linear layer");
  rows.add("router", &M::router, "NAME", one_of({"softmax", "sigmoid"}), "decoder: what makes the experts' scores of the router's logits");
  rows.add("router_normalised", &M::router_normalised, "", any(), "decoder: the scores of a token's experts are divided by their sum");
  rows.add("router_scale", &M::router_scale, "X", above(0), "decoder: the weights of a token's experts are multiplied by it");
  rows.add("router_bias", &M::router_bias, "", any(), "decoder: the router adds a bias to its logits");
  rows.add("router_correction", &M::router_correction, "", any(), "decoder: a number for each expert is added to its scores where experts are chosen, and not to their weights");
  rows.add("balance_rate", &M::balance_rate, "X", at_least(0), "decoder: by how much a step moves router_correction towards an even load, without a loss; 0: not at all");
  rows.add("expert_groups", &M::expert_groups, "N", between(1, 64), "decoder: groups of neighbours that the experts are in");
  rows.add("groups_per_token", &M::groups_per_token, "N", between(1, 64), "decoder: groups to whose experts a token goes: those whose two best scores have the largest sums");
  rows.add("balance_loss", &M::balance_loss, "X", at_least(0), "decoder: weight of the loss that evens out the load of experts, by layer and micro-batch; 0: none");
  rows.add("router_z_loss", &M::router_z_loss, "X", at_least(0), "decoder: weight of the loss that keeps the logits of routers small; 0: none");
  rows.add("dense_layers", &M::dense_layers, "N,..", between(0, 1e6), "decoder: the layers without experts in a network of experts, counted from 0, ascending");
}

// Keys of other networks than transformers.
void add_other_models(std::vector<Option>& table) {
  using M = ModelConfig;
  OptionRows rows(table, "model", &Config::model);
  rows.add("depth", &M::depth, "N", between(1, 1e5), "resnet: 6n+2 (cifar); 18, 34, 50, 101 or 152 (imagenet)");
  rows.add("form", &M::form, "NAME", one_of({"cifar", "imagenet", "simplified"}), "resnet: for small or for large images; unet: simplified: as torchgpipe's benchmark has it");
  rows.add("filters", &M::filters, "N", between(1, 1e6), "amoebanet: of the first third of its cells, a multiple of 8; unet: of the first level");
  rows.add("convolutions", &M::convolutions, "N", between(1, 1e4), "unet, form simplified: of each level");
  rows.add("stem", &M::stem, "NAME", one_of({"auto", "wide", "narrow", "small"}), "amoebanet: auto: the paper's (d: wide, b: narrow); small: for 32 x 32 pixels");
  rows.add("auxiliary_weight", &M::auxiliary_weight, "X", at_least(0), "amoebanet: of a second loss after two thirds of the cells; 0: none");
  rows.add("drop_path", &M::drop_path, "P", share(), "amoebanet: share of a cell's operations left out in training, by sample");
  rows.add("drop_path_ramp", &M::drop_path_ramp, "N", between(0, 1e15), "amoebanet: steps over which drop_path grows from 0");
  rows.add("norm_decay", &M::norm_decay, "X", share(), "amoebanet, resnet, unet: of the moving averages of batch norm");
  rows.add("norm_epsilon", &M::norm_epsilon, "X", above(0), "amoebanet, resnet, unet: of batch norm; decoder: of its norms");
  rows.add("norm_replicas", &M::norm_replicas, "", any(), "batch norm normalises over the micro-batches of one index of all replicas, as if they were one");
  rows.add("image", &M::image, "C,H,W", between(1, 1e6), "amoebanet, resnet, unet, mlp, sequential: channels, height, width");
  rows.add("input", &M::input, "N,..", between(1, 1e9), "mlp, sequential: features; empty: an image");
  rows.add("classes", &M::classes, "N", between(0, 1e9), "of a classifier; 0, and of images and masks if it is not given: what the data has");
  rows.add("per_pixel", &M::per_pixel, "", any(), "unet, sequential: a class for each pixel, not one for the image");
  rows.add("hidden_layers", &M::hidden_layers, "N,..", between(1, 1e7), "mlp: widths; empty: `layers` times `hidden`");
}

void add_lora(std::vector<Option>& table) {
  using L = LoraConfig;
  OptionRows rows(table, "lora", [](auto& config) -> auto& { return config.model.lora; });
  rows.add("rank", &L::rank, "R", between(0, 1e6), "transformer-lm, decoder: train adapters of this rank beside the matrices of targets, and, unless optimizer.freeze says otherwise, nothing else; 0: no adapters");
  rows.add("alpha", &L::alpha, "X", above(0), "what an adapter adds is multiplied by alpha / rank");
  rows.add("dropout", &L::dropout, "P", share(), "share of what goes into an adapter that is set to zero in training");
  rows.add("targets", &L::targets, "NAME,..", any(), "which matrices: query, key, value, output of attention, gate, up, down of the feed-forward layers, or all-linear; of a mixture attention's, router, and experts, which is the matrices of all experts").repeats = true;
  rows.add("from", &L::from, "DIR", any(), "a folder of adapters as peft writes it: rank, alpha and targets follow from it, and its adapters are what training starts from");
}

void add_data(std::vector<Option>& table) {
  using D = DataConfig;
  OptionRows rows(table, "data", &Config::data);
  rows.add("kind", &D::kind, "NAME", one_of({"text", "tokens", "jsonl", "parallel", "images", "masks", "synthetic"}), "what the samples are; jsonl: texts, prompts with completions, or conversations, one a line; parallel: sentences and their translations; masks: images with a class for each pixel");
  rows.add("train", &D::train, "PATH", any(), "a file, folder or archive; tokens: also a pattern, like train_*.bin; parallel: of both sides, with {language} (and {pair}) in the name");
  rows.add("validation", &D::validation, "SHARE|PATH", any(), "a share split off the end of train, or a path; empty: none").accepts_number = true;
  rows.add("shuffle", &D::shuffle, "", any(), "a new order in every epoch");
  rows.add("tokenizer", &D::tokenizer, "NAME", one_of({"characters", "sentencepiece", "folder"}), "text: bytes, word pieces, or what the tokenizer of a Hugging Face folder makes of it; jsonl: folder");
  rows.add("vocabulary", &D::vocabulary, "PATH", any(), "word pieces: a SentencePiece .model; empty: trained on the text. folder: the folder; empty: model.from");
  rows.add("vocabulary_size", &D::vocabulary_size, "N", between(8, 1e7), "word pieces: how many are trained");
  rows.add("packed", &D::packed, "", any(), "jsonl: several samples a row, which the network keeps apart; off: one, padded");
  rows.add("too_long", &D::too_long, "NAME", one_of({"cut", "leave-out"}), "jsonl: what becomes of samples that are longer than model.context");
  rows.add("date", &D::date, "YYYY-MM-DD", any(), "jsonl: what chat templates that write today's date take for it; empty: the one they know");
  rows.add("pairs", &D::pairs, "FROM-TO,..", any(), "parallel: language pairs, like en-de,en-fr");
  rows.add("temperature", &D::temperature, "T", at_least(1), "parallel: a pair of n sentences gets a share proportional to n^(1/T)");
  rows.add("longest", &D::longest, "N", between(0, 1e7), "parallel: pieces of a sentence, longer ones are left out; 0: what fits model.context");
  rows.add("leave_out", &D::leave_out, "CLASS,..", any(), "images: classes to leave out; the others are numbered in the order of their names").repeats = true;
  rows.add("ignore", &D::ignore, "N", between(-1, 255), "masks: pixels of this number are no target; -1: every pixel is one");
  rows.add("crop_padding", &D::crop_padding, "N", between(0, 4096), "images, masks: pixels added around before a random crop");
  rows.add("flip", &D::flip, "", any(), "images, masks: mirror at random");
  rows.add("cutout", &D::cutout, "N", between(0, 4096), "images, masks: side of a square set to the mean; 0: off");
  rows.add("mean", &D::mean, "X,..", any(), "images, masks: of each channel, pixels in [0, 1]; empty: 0.5");
  rows.add("std", &D::std, "X,..", above(0), "images, masks: deviation of each channel; empty: 0.25");
  rows.add("samples", &D::samples, "N", between(0, 1e15), "synthetic: per epoch; 0: 2^20");
  rows.add("on_damage", &D::on_damage, "NAME", one_of({"replace", "stop"}), "images that cannot be decoded: put the next of the class in its place, or end the run");
  rows.add("damage_limit", &D::damage_limit, "X", between(0, 1), "replace: the share of the images that a rank may find damaged; more end the run");
  rows.add("unpack_limit", &D::unpack_limit, "N", between(0, 1e6), "compressed files: so many times its size may come out of one, and 4 MiB; 0: any amount");
  rows.add("prefetch", &D::prefetch, "N", between(1, 1024), "mini-batches read ahead");
  rows.add("threads", &D::threads, "N", between(0, 1024), "that read ahead, on each rank; 0: one for each core that run.threads leaves, 1 to 8");
}

void add_optimizer(std::vector<Option>& table) {
  using O = OptimizerConfig;
  OptionRows rows(table, "optimizer", &Config::optimizer);
  rows.add("kind", &O::kind, "NAME", one_of({"sgd", "rmsprop", "adam", "adamw", "lion", "muon", "adafactor"}), "the update rule; muon: momentum made orthogonal for matrices, adamw for the rest");
  rows.add("learning_rate", &O::learning_rate, "X", at_least(0), "its peak");
  rows.add("schedule", &O::schedule, "NAME", one_of({"constant", "cosine", "linear", "wsd", "inverse-sqrt", "exponential"}), "of the learning rate, after the warm-up");
  rows.add("warmup_steps", &O::warmup_steps, "N", between(0, 1e15), "linear from 0");
  rows.add("decay_steps", &O::decay_steps, "N", between(0, 1e15), "cosine, linear: where it ends (0: the run's steps); wsd: how many at the end decay (0: a tenth); exponential: period");
  rows.add("decay_rate", &O::decay_rate, "X", above(0), "exponential: factor per decay_steps");
  rows.add("minimum_rate", &O::minimum_rate, "X", between(0, 1), "cosine, linear, wsd: the floor, which the last step has, as a share of learning_rate");
  rows.add("weight_decay", &O::weight_decay, "X", at_least(0), "of all but biases and norms; decoupled (adamw, lion, muon, adafactor) or added to the gradient");
  rows.add("decay_all", &O::decay_all, "", any(), "biases and norms too");
  rows.add("no_decay", &O::no_decay, "NAME,..", any(), "parts of the names of further parameters that are not decayed");
  rows.add("clip_norm", &O::clip_norm, "X", at_least(0), "bound on the norm of the gradient; 0: none");
  rows.add("momentum", &O::momentum, "X", share(), "sgd, rmsprop, muon (0.95 is usual)");
  rows.add("nesterov", &O::nesterov, "", any(), "sgd: look ahead (muon always does)");
  rows.add("beta1", &O::beta1, "X", share(), "adam, lion: decay of the mean; muon: of what adamw updates, as beta2 and epsilon");
  rows.add("beta2", &O::beta2, "X", share(), "adam: decay of the square; lion: of the mean that is kept (0.99 is usual)");
  rows.add("rms_decay", &O::rms_decay, "X", share(), "rmsprop: decay of the mean of squares, which starts at 1 (TensorFlow's form)");
  rows.add("epsilon", &O::epsilon, "X", above(0), "keeps divisions finite");
  rows.add("adamw_for", &O::adamw_for, "PATTERN,..", any(), "muon: matrices that adamw updates, by name, as it does biases and norms").repeats = true;
  rows.add("adamw_rate", &O::adamw_rate, "X", at_least(0), "muon: the peak of the learning rate of all that adamw updates; 0: learning_rate");
  rows.add("freeze", "freeze", &O::freeze, "PATTERN,..", any(), "parameters that keep their weights, by name: 'blocks.*'; a pattern that begins with ! takes names out again, the last that fits decides. Empty with lora.rank: all but the adapters ('!*': none)").repeats = true;
  rows.add("moving_average", &O::moving_average, "X", share(), "decay of the averaged weights used in evaluation; 0: off");
  rows.add("barrier", &O::barrier, "", any(), "false: a stage updates before all have agreed on the norm and the loss, and takes it back where the gradient is clipped or not finite: the same bits, without the wait; for zb-h2 and zb-v");
  rows.add("sharded", &O::sharded, "NAME", one_of({"auto", "true", "false"}), "each replica keeps the optimizer's state, and the averages, of its share of the weights alone; auto: where D > 1. The same bits, the same checkpoints");
}

std::vector<std::string> known_or_searched() {
  std::vector<std::string> names = schedule_names();
  names.emplace_back(kSearched);
  return names;
}

void add_pipeline(std::vector<Option>& table) {
  using P = PipelineConfig;
  OptionRows rows(table, "pipeline", &Config::pipeline);
  rows.add("stages", "stages", &P::stages, "K", between(1, kMostRanks), "parts of the network, one rank each (see chunks)");
  rows.add("replicas", "replicas", &P::replicas, "D", between(1, kMostRanks), "pipelines side by side; K x D ranks in all");
  rows.add("micro_batches", "micro-batches", &P::micro_batches, "M", between(1, kMostRanks), "per replica and step");
  rows.add("micro_batch_size", "micro-batch-size", &P::micro_batch_size, "b", between(1, kMostSamples), "samples; a step takes D x M x b");
  rows.add("mini_batch", "mini-batch", &P::mini_batch, "B", between(0, 4e18), "D x M x b: gives M, or is checked; 0: what follows");
  rows.add("schedule", "schedule", &P::schedule, "NAME", {.choices = known_or_searched(), .or_file = ".csv"}, "order of forwards and backwards; searched: found for the run's own costs");
  rows.add("chunks", &P::chunks, "V", between(0, kMostRanks), "stages per rank; 0: what the schedule has; K / V ranks a replica");
  rows.add("stage_ranks", "stage-ranks", &P::stage_ranks, "N,..", between(0, kMostRanks), "the rank of each stage, both counted from 0, where ranks do not all hold equally many: 0,0,1,2,2 are five stages on three ranks; for searched, looped-bfs and CSV files; empty: the schedule places them");
  rows.add("warm_up", "warm-up", &P::warm_up, "W", between(0, kMostRanks), "1f1b and zb-h1: forwards that the first rank runs ahead beyond the usual, and the others in proportion: memory of as many micro-batches, for slow links and smaller bubbles");
  rows.add("recompute", "recompute", &P::recompute, "MODE", one_of({"none", "stage", "layer"}), "what is computed again instead of kept");
  rows.add("kept_stages", "kept-stages", &P::kept_stages, "N,..", between(0, kMostRanks), "recompute = stage: the stages, counted from 0, that keep their activations all the same");
  rows.add("split", "split", &P::split, "N,..", between(1, 1e6), "layers of each stage; empty: balanced by cost");
  rows.add("auto", &P::automatic, "", any(), "choose all of this for the same mini-batch, but for what the command line says: see penstock plan");
  rows.add("profile", &P::profile, "PATH", any(), "times measured by penstock profile, for split, auto and predictions; empty: counted");
  rows.add("devices", "devices", &P::devices, "PATH", any(), "a file of what each rank computes on, where ranks are unlike, for split, auto and predictions; measured: the ranks time products when they start; empty: all alike");
  rows.add("placement", "placement", &P::placement, "NAME", one_of({"stages", "replicas"}), "which neighbours share a node");
  rows.add("reduction", "reduction", &P::reduction, "NAME", one_of({"fast", "exact"}), "exact: gradients of micro-batches are added up in pairs, to the same bits for every D; M must be a power of two if D > 1; takes log2 M times their memory");
  rows.add("wire", "wire", &P::wire, "TYPE", one_of({"full", "bf16"}), "of activations and gradients between ranks. bf16: those in fp32 travel in half the bytes, rounded to 8 significant bits, so that results depend on where the network is cut; of a bf16 run, and of sums over replicas, nothing changes");
  rows.add("link", "link", &P::link, "NAME", one_of({"auto", "nccl", "mpi-staged", "mpi-cuda", "mpi"}), "by what tensors travel between ranks; auto: nccl where every rank has a GPU of its own");
}

void add_init(std::vector<Option>& table) {
  using I = InitConfig;
  OptionRows rows(table, "init", &Config::init);
  rows.add("from", "init", &I::from, "PATH", any(), "a run directory or checkpoint whose weights to start from, where names agree; empty: random ones");
  rows.add("skip", &I::skip, "PATTERN,..", any(), "tensors that start afresh all the same, by name: 'classifier.*'").repeats = true;
}

void add_checkpoint(std::vector<Option>& table) {
  using C = CheckpointConfig;
  OptionRows rows(table, "checkpoint", &Config::checkpoint);
  rows.add("every", &C::every, "N", between(0, 1e15), "steps from one to the next; 0: by the clock");
  rows.add("minutes", &C::minutes, "T", between(0, 1e7), "from one to the next, where every is 0; 0: only at the end");
  rows.add("keep", &C::keep, "N", at_least(0), "how many of them, the newest; 0: all");
  rows.add("keep_every", &C::keep_every, "N", between(0, 1e15), "steps: the first of every so many stays for ever; 0: none");
  rows.add("best", &C::best, "NAME", one_of({"none", "loss", "accuracy"}), "keep the checkpoint that is the best by this figure of evaluations, whatever keep says: one is written after each evaluation that beats all before (--checkpoint best, checkpoints/best)");
  rows.add("last", &C::last, "", any(), "one when the run ends; off for runs that only measure");
  rows.add("on_error", &C::on_error, "NAME", one_of({"stop", "continue"}), "what a run does that cannot write one: a full disk");
  rows.add("partner", &C::partner, "", any(), "after each step a copy of what every rank keeps in its host's memory and in that of a rank on another host, while the next step runs: --resume auto goes on from there, so that a killed rank or host costs a step");
  rows.add("partner_every", &C::partner_every, "N", between(1, 1e15), "partner: steps from one copy to the next, and so what a failure costs at most");
  rows.add("partner_dir", &C::partner_dir, "DIR", any(), "partner: where copies are, on every host: a directory in memory, from the root, that is there");
}

void add_run(std::vector<Option>& table) {
  using R = RunConfig;
  OptionRows rows(table, "run", &Config::run);
  rows.add("steps", "steps", &R::steps, "N", between(0, 1e15), "of the optimizer; 0: as many as epochs come to");
  rows.add("epochs", "epochs", &R::epochs, "E", between(0, 1e9), "passes over the training set, in place of steps; the last step is filled up with samples of the next one; 0: steps says how long");
  rows.add("seed", "seed", &R::seed, "S", between(0, 9e15), "of weights, dropout and data order");
  rows.add("out", "out", &R::out, "DIR", any(), "the run directory, relative to the working directory; empty: runs/<run file>-<number>, and runs/latest leads to the newest");
  rows.add("resume", "resume", &R::resume, "auto|never|PATH", any(), "auto: go on from the newest checkpoint of the run directory, or start where there is none; PATH: from that checkpoint, or the newest of that run directory");
  rows.add("overwrite", "overwrite", &R::overwrite, "", any(), "replace the results of an earlier run in the run directory");
  rows.add("time_limit", "time-limit", &R::time_limit, "MINUTES|[D-]HH:MM:SS", any(), "stop in time before it, with a checkpoint and exit code 75; auto: when the batch job ends (Slurm, PBS); none").accepts_number = true;
  rows.add("device", "device", &R::device, "NAME", one_of({"cpu", "cuda", "auto"}), "auto: cuda where there is one");
  rows.add("allow_gpu_sharing", "allow-gpu-sharing", &R::allow_gpu_sharing, "", any(), "let several ranks compute on one GPU");
  rows.add("graphs", &R::graphs, "", any(), "cuda: replay each instruction as a CUDA graph, which saves the time to launch its kernels");
  rows.add("spare_processors", &R::spare_processors, "N", between(0, 64), "cuda: multiprocessors that matrix products leave to messages by nccl; bits depend on it, so keep it the same for every K");
  rows.add("wait_limit", &R::wait_limit, "SECONDS", between(0, 1e6), "for which no rank goes on, in an op or a message, before the run is ended with exit code 4 and a line about each rank; six times that in step 1 and in checkpoints; 0: for ever");
  rows.add("audit", &R::audit, "N", at_least(0), "every N steps each rank executes what one of its micro-batches did a second time, where it waits anyway, and compares the bits, those of its weights and of the optimizer's state included: finds processors and memory that are silently wrong. 0: never");
  rows.add("on_corruption", &R::on_corruption, "POLICY", one_of({"stop", "retry", "exclude"}), "when an audit finds other bits. stop: the run ends with exit code 3, after a checkpoint of the state before the step where that is sound; retry: the step is taken again and two executions that agree decide; exclude: exit code 75, with the host in the file excluded_hosts of the run directory, which supervise.sh leaves out");
  rows.add("on_nonfinite", &R::on_nonfinite, "POLICY", one_of({"stop", "skip"}), "when the loss or the gradient of a step is not finite. stop: the state before the step is saved and the run ends with exit code 6; skip: the step changes nothing, but more than 10 in a row end the run like stop");
  rows.add("replan", &R::replan, "WHEN", one_of({"never", "ask", "auto"}), "split the layers over the stages in another way while the run goes on, by the times of its last steps, without a restart or the disk; changes no result. ask: when there is a file replan in the run directory; auto: also when a rank is found slow and the steps left save more than it costs; never");
  rows.add("threads", "threads", &R::threads, "N", between(0, 4096), "per rank; 0: the host's cores shared by its ranks, but no more than OMP_NUM_THREADS");
  rows.add("bind", &R::bind, "HOW", one_of({"auto", "none", "split"}), "of ranks to cores, with memory beside them. auto: where the launcher gave a rank cores of its own; split: cores that ranks share are divided, which wants a host without other jobs; none: never. Changes no result");
  rows.add("precision", "precision", &R::precision, "NAME", one_of({"fp32", "bf16"}), "of the computation; weights are kept in fp32, but frozen matrices in this type");
  rows.add("peak_tflops", &R::peak_tflops, "X", between(0, 1e9), "what mfu is a share of, TFLOP/s of a rank; 0: the published dense peak of a GPU, else what its clock says; of a processor what was measured");
  rows.add("measure_processor", &R::measure_processor, "", any(), "measure what this processor does, in the first few runs, half a second each, kept in the user's cache: for forecasts and mfu without a profile; false: take what is usual");
  rows.add("eval_every", "eval-every", &R::eval_every, "N", between(0, 1e15), "steps; 0: only at the end");
  rows.add("patience", &R::patience, "N", between(0, 1e9), "end the run, with a checkpoint and exit code 0, after N evaluations in a row that are not better than the best by checkpoint.best; 0: never");
  rows.add("eval_batch", &R::eval_batch, "N", between(0, kMostSamples), "samples of an evaluation micro-batch; 0: micro_batch_size");
  rows.add("log_every", "log-every", &R::log_every, "N", between(1, 1e15), "steps between plain log lines");
  rows.add("trace", &R::trace, "N", between(0, 1000), "steps after the warm-up recorded in trace.json, for chrome://tracing and Perfetto; 0: none");
  rows.add("tensorboard", "tensorboard", &R::tensorboard, "", any(), "write the figures of metrics.jsonl for TensorBoard, too, to DIR/tensorboard");
  rows.add("expert_rows", &R::expert_rows, "", any(), "metrics.jsonl has the rows of each expert in every step, beside the largest and the least share of each mixture");
  rows.add("dry_run", "dry-run", &R::dry_run, "", any(), "everything but the arithmetic: real ranks, messages and data, times by a virtual clock; trains nothing, and writes only to DIR.dry-run beside the run directory");
  rows.add("dry_run_model", "dry-run-model", &R::dry_run_model, "NAME", one_of(device_model_names()), "the device that a dry run stands for; cpu: this machine's; a profile (pipeline.profile) corrects its times");
}
// clang-format on

std::vector<Option> make_table() {
  std::vector<Option> table;
  add_model(table);
  add_other_models(table);
  add_lora(table);
  add_data(table);
  add_optimizer(table);
  add_pipeline(table);
  add_init(table);
  add_checkpoint(table);
  add_run(table);
  return table;
}

}  // namespace

const std::vector<Option>& option_table() {
  static const std::vector<Option> table = make_table();
  return table;
}

}  // namespace penstock
