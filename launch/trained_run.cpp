// launch/trained_run.cpp -- see trained_run.h.
#include "launch/trained_run.h"

#include <fmt/format.h>

#include <charconv>

#include "launch/device_choice.h"
#include "launch/failure.h"
#include "launch/setup.h"
#include "runtime/data/vocabulary.h"
#include "runtime/engine/trained_weights.h"

namespace penstock {
namespace {

template <class Number>
Number number(const std::string& option, const std::string& text) {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) {
    fail_input(fmt::format("{} must be a number, not '{}'", option, text));
  }
  return value;
}

}  // namespace

UseOptions use_options(const Arguments& arguments) {
  UseOptions options;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const std::string& name = arguments[i];
    const auto value = [&]() -> const std::string& {
      if (i + 1 == arguments.size()) fail_input(name + " needs a value");
      return arguments[++i];
    };
    if (name == "--checkpoint") {
      options.checkpoint = value();
    } else if (name == "--reference") {
      options.reference = value();
    } else if (name == "--to") {
      options.translation.target = value();
    } else if (name == "--beam") {
      options.translation.beams = number<int>(name, value());
    } else if (name == "--length-penalty") {
      options.translation.length_penalty = number<double>(name, value());
    } else if (name == "--json") {
      options.json = true;
    } else {
      options.rest.push_back(name);
    }
  }
  return options;
}

TrainedRun::TrainedRun(Session& session, const UseOptions& options, const ModelMaker& models,
                       bool with_data) {
  DeviceChoice choice;
  {
    const std::unique_ptr<Network> all = starting_network(session);
    Collective& world = all->world();
    config = with_vocabulary(world, shared_config(world, options.rest, true));
    const ThreadPlan plan = shared_threads(world, session, config.run.threads);
    config.run.threads = plan.threads;
    choice = choose_device(world, session, config.run.device);
    refuse_sharing(choice, config.run);
    agree(world, fmt::format("rank {} (host {})", session.rank(), session.host()),
          [&] { device = open_device(choice, plan.threads, config.run); });
    checkpoint = on_first_rank(world, [&] {
      return options.checkpoint.empty() ? newest_checkpoint(config.run.out) : options.checkpoint;
    });
    grid = grid_of(config, session.ranks());
  }
  const LinkPlan links =
      on_every_rank([&] { return plan_links(config.pipeline.link, choice.ranks, grid); });
  network = make_mpi_network(session, grid, links);
  if (with_data) source = std::make_unique<DataSource>(config, models, network->world());
  blueprint = std::make_unique<Blueprint>(on_every_rank([&] {
    const int64_t vocabulary = source ? source->facts().vocabulary : known_vocabulary(config.data);
    return draw_up(config, models, vocabulary, source ? source->facts().classes : 0);
  }));
  pipeline = std::make_unique<Pipeline>(config, *blueprint, grid, *network, *device);
  if (source) source->open(pipeline->fields());
  agree(network->world(), name_of_rank(session, grid),
        [&] { load_weights(checkpoint, *pipeline, *device); });
}

}  // namespace penstock
