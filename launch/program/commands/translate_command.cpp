// launch/program/commands/translate_command.cpp -- `penstock translate`: standard input to standard
// output.
#include <fmt/format.h>

#include <algorithm>
#include <boost/program_options.hpp>

#include "launch/program/commands/commands.h"
#include "launch/program/commands/input_lines.h"
#include "launch/program/failure.h"
#include "launch/program/output.h"
#include "launch/program/runs/trained_run.h"
#include "launch/program/setup.h"
#include "launch/version.h"
#include "runtime/data/scores/bleu.h"
#include "runtime/data/tokens/text_file.h"
#include "runtime/records/telemetry/units.h"

namespace penstock {
namespace {

std::string sentences_were(int64_t count) {
  return amount_text(count, "sentence") + (count == 1 ? " was" : " were");
}

// The lines of the file of right translations, of which there must be `count`.
std::vector<std::string> references(const std::string& file, int64_t count) {
  std::vector<std::string> wanted;
  for_each_line(file, [&](std::string_view line) { wanted.emplace_back(line); });
  if (std::ssize(wanted) != count) {
    fail_input(fmt::format("{} has {}, and {} given", file, amount_text(std::ssize(wanted), "line"),
                           sentences_were(count)));
  }
  return wanted;
}

void print_bleu(const std::vector<std::string>& translations,
                const std::vector<std::string>& wanted) {
  Bleu bleu;
  for (size_t i = 0; i < wanted.size(); ++i) bleu.add(translations[i], wanted[i]);
  fmt::print(stderr, "BLEU {}\n{}\n", bleu.text(), bleu_signature(kVersion));
}

// `wanted`: the right translations, on rank 0; empty where none were given.
void translate_input(const TrainedRun& run, const UseOptions& options,
                     const std::vector<std::string>& sentences,
                     const std::vector<std::string>& wanted) {
  Collective& world = run.network->world();
  Rounds rounds(run.config, *run.pipeline, run.blueprint->model, *run.network, *run.device,
                options.cache);
  std::unique_ptr<Translator> translator;
  on_every_rank([&] {
    if (run.blueprint->input.field != "source_tokens") {
      fail_input("this network does not translate: model.kind is " + run.config.model.kind);
    }
    translator = std::make_unique<Translator>(run.config, options.translation, rounds);
  });
  const auto show = [](const std::string& translation) { answer("{}\n", translation); };
  const std::vector<std::string> translations = translator->translate(sentences, show);
  (void)on_first_rank(world, [&] {
    if (translator->cut() > 0) {
      fmt::print(stderr, "penstock: warning: {} longer than model.context = {} and lost the end\n",
                 sentences_were(translator->cut()), run.config.model.context);
    }
    if (!options.reference.empty()) print_bleu(translations, wanted);
    return std::string();
  });
}

CommandOptions translate_options_into(UseOptions& use) {
  CommandOptions options;
  namespace po = boost::program_options;
  options.add_options()("to", po::value(&use.translation.target)->value_name("LANGUAGE"),
                        "one of data.pairs; may be left out where there is one");
  add_checkpoint_option(options, use);
  add_beam_options(options, use);
  add_cache_option(options, use, "words");
  options.add_options()("reference", po::value(&use.reference)->value_name("FILE"),
                        "print the BLEU score of the translations to standard error");
  return options;
}

}  // namespace

int translate_command(Session& session, const Arguments& arguments, const ModelMaker& models) {
  const UseOptions options = on_every_rank(
      [&] { return read_use_options(translate_form(), translate_options_into, arguments); });
  std::vector<std::string> sentences, wanted;
  const auto read = [&] {
    sentences = lines_of_input();
    if (!options.reference.empty()) wanted = references(options.reference, std::ssize(sentences));
    return sentences.size();
  };
  const TrainedRun run(session, options, models, false, read,
                       std::max(1, options.translation.beams));
  run.use(session, [&] { translate_input(run, options, sentences, wanted); });
  return 0;
}

const CommandForm& translate_form() {
  static const CommandForm form{
      .name = "translate",
      .operand = "RUNFILE.toml",
      .summary = "sentences of standard input, with a trained network",
      .about =
          R"(Translates standard input line by line with a trained network, to standard output. The run file is
best the run.toml of the run directory; any number of stages and replicas will do.
)",
      .needs_ranks = true,
      .options = unread(translate_options_into)};
  return form;
}

}  // namespace penstock
