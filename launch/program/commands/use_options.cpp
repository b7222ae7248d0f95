#include "launch/program/commands/use_options.h"

#include <boost/program_options.hpp>
#include <cmath>

#include "kernels/error.h"

namespace penstock {

namespace po = boost::program_options;

void add_checkpoint_option(CommandOptions& options, UseOptions& use) {
  options.add_options()("checkpoint", po::value(&use.checkpoint)->value_name("DIR|best"),
                        "which one; best: what checkpoint.best has kept [the newest of run.out]");
}

void add_beam_options(CommandOptions& options, UseOptions& use) {
  const auto beams = [&use](int count) {
    if (count < 1) fail_input("--beam must be at least 1, not " + std::to_string(count));
    use.of_translations.emplace_back("--beam");
  };
  const auto penalty = [&use](double exponent) {
    if (!std::isfinite(exponent)) fail_input("--length-penalty must be a finite number");
    use.of_translations.emplace_back("--length-penalty");
  };
  options.add_options()("beam", po::value(&use.translation.beams)->notifier(beams)->value_name("N"),
                        "translations are searched with N rows for each sentence; 1: greedy [1]")(
      "length-penalty",
      po::value(&use.translation.length_penalty)->notifier(penalty)->value_name("A"),
      "((5 + length) / 6)^A [0.6]");
}

void add_cache_option(CommandOptions& options, UseOptions& use, const std::string& what) {
  const auto set = [&use](const std::string& text) {
    if (text != "on" && text != "off") fail_input("--cache must be on or off, not '" + text + "'");
    use.cache = text == "on";
    use.of_translations.emplace_back("--cache");
  };
  const std::string help =
      "keep the keys and values of the " + what + " before; off: compute them again [on]";
  options.add_options()("cache", po::value<std::string>()->notifier(set)->value_name("on|off"),
                        help.c_str());
}

UseOptions read_use_options(const CommandForm& form, CommandOptions (*into)(UseOptions&),
                            const Arguments& arguments) {
  UseOptions use;
  use.rest = read_options(form, into(use), arguments);
  return use;
}

}  // namespace penstock
