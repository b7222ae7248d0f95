// launch/program/trained_run.h -- a trained network, ready to be used: what `eval`, `translate` and
// `generate` start from.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "launch/program/commands/commands.h"
#include "runtime/blueprint/blueprint.h"
#include "runtime/decoding/generator.h"
#include "runtime/decoding/translator.h"
#include "runtime/pipeline/pipeline.h"
#include "runtime/training/data_source.h"

namespace penstock {

// The options of the command line that are no keys of the run file.
struct UseOptions {
  std::string checkpoint;  // empty: the newest of run.out
  std::string reference;
  bool json = false;
  bool cache = true;  // Rounds
  TranslationOptions translation;
  GenerationOptions generation;
  std::vector<std::string> prompts;
  Arguments rest;
};
// Takes those options that `accepted` names; the rest is for the run file's keys. Throws
// Error(Input).
[[nodiscard]] UseOptions use_options(const Arguments& arguments,
                                     std::span<const std::string_view> accepted);

using CountTexts = std::function<size_t()>;

struct TrainedRun {
  // Collective. `with_data`: the data are opened as well, and the network is made for them.
  // `count` (may be empty) is called on rank 0 alone, once the run file and the checkpoint have
  // been found good: it may wait for standard input. No more micro-batches than so many texts of
  // `width` rows fill; 0: as the run file says.
  TrainedRun(Session& session, const UseOptions& options, const ModelMaker& models, bool with_data,
             const CountTexts& count = {}, int width = 1);

  // Collective. Does `work` to its last message; what it throws names this rank, if there are
  // several.
  void use(const Session& session, const std::function<void()>& work) const;

  Config config;
  Grid grid;
  std::string checkpoint;
  std::unique_ptr<Device> device;
  std::unique_ptr<Network> network;
  std::unique_ptr<DataSource> source;  // null without data
  std::unique_ptr<Blueprint> blueprint;
  std::unique_ptr<Pipeline> pipeline;
};

}  // namespace penstock
