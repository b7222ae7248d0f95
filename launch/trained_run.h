// launch/trained_run.h -- a trained network, ready to be used: what `eval` and `translate` start
// from.
#pragma once

#include <memory>
#include <string>

#include "launch/commands.h"
#include "runtime/engine/blueprint.h"
#include "runtime/engine/data_source.h"
#include "runtime/engine/pipeline.h"
#include "runtime/engine/translator.h"

namespace penstock {

// The options of the command line that are no keys of the run file.
struct UseOptions {
  std::string checkpoint;  // empty: the newest of run.out
  std::string reference;
  bool json = false;
  TranslationOptions translation;
  Arguments rest;
};
// Takes --checkpoint, --json, --to, --beam, --length-penalty and --reference. Throws Error(Input).
[[nodiscard]] UseOptions use_options(const Arguments& arguments);

struct TrainedRun {
  // Collective. `with_data`: the data are opened as well, and the network is made for them.
  TrainedRun(Session& session, const UseOptions& options, const ModelMaker& models, bool with_data);

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
