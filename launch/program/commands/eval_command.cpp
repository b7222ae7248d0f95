// launch/program/commands/eval_command.cpp -- `penstock eval`: how good a checkpoint is on the
// validation data.
#include <fmt/format.h>

#include <boost/program_options.hpp>
#include <cmath>
#include <nlohmann/json.hpp>

#include "launch/program/commands/commands.h"
#include "launch/program/failure.h"
#include "launch/program/help/flag.h"
#include "launch/program/output.h"
#include "launch/program/runs/trained_run.h"
#include "launch/program/setup.h"
#include "launch/version.h"
#include "runtime/data/share.h"
#include "runtime/data/text/text_file.h"
#include "runtime/data/translation/language_pair.h"
#include "runtime/scores/bleu.h"
#include "runtime/training/evaluation.h"

namespace penstock {
namespace {

struct PairScore {
  std::string pair;
  Bleu bleu;
};

std::vector<std::string> lines_of(const std::string& path) {
  std::vector<std::string> lines;
  for_each_line(path, [&](std::string_view line) { lines.emplace_back(line); });
  return lines;
}

// Every language pair's validation text, translated. Needs it as files: a share of the training
// text has none.
std::vector<PairScore> translation_scores(const TrainedRun& run, const UseOptions& options) {
  const DataConfig& data = run.config.data;
  std::vector<PairScore> scores;
  if (data.kind != "parallel" || share_of(data.validation)) return scores;
  Collective& world = run.network->world();
  Rounds rounds(run.config, *run.pipeline, run.blueprint->model, *run.network, *run.device,
                options.cache);
  for (const LanguagePair& pair : language_pairs(data.pairs)) {
    TranslationOptions how = options.translation;
    how.target = pair.target;
    Translator translator(run.config, how, rounds);
    std::vector<std::string> sentences, references;
    if (world.rank() == 0) {
      sentences = lines_of(corpus_path(data.validation, pair, pair.source));
      references = lines_of(corpus_path(data.validation, pair, pair.target));
    }
    const std::vector<std::string> translations = translator.translate(sentences);
    PairScore& score = scores.emplace_back(PairScore{pair.name, {}});
    for (size_t i = 0; i < translations.size(); ++i) score.bleu.add(translations[i], references[i]);
  }
  return scores;
}

std::string as_json(const Evaluation& result, const std::vector<PairScore>& scores,
                    const std::string& checkpoint) {
  nlohmann::ordered_json json = {
      {"checkpoint", checkpoint},        {"targets", result.sums.targets},
      {"loss", result.sums.mean()},      {"perplexity", std::exp(result.sums.mean())},
      {"top_1", result.sums.accuracy()}, {"top_5", result.top_five()}};
  for (const PairScore& score : scores) json["bleu"][score.pair] = score.bleu.score();
  if (!scores.empty()) json["bleu_signature"] = bleu_signature(kVersion);
  return json.dump() + "\n";
}

std::string as_text(const Evaluation& result, const std::vector<PairScore>& scores,
                    const std::string& checkpoint) {
  std::string text = fmt::format(
      "{}: {:.0f} targets, loss {:.4f}, perplexity {:.3f}, top-1 {:.2f} %, top-5 {:.2f} %\n",
      checkpoint, result.sums.targets, result.sums.mean(), std::exp(result.sums.mean()),
      100.0 * result.sums.accuracy(), 100.0 * result.top_five());
  for (const PairScore& score : scores) {
    text += fmt::format("BLEU {} {}\n", score.pair, score.bleu.text());
  }
  if (!scores.empty()) text += bleu_signature(kVersion) + "\n";
  return text;
}

void add_eval_options(CommandOptions& options, UseOptions& use) {
  add_checkpoint_option(options, use);
  add_beam_options(options, use);
  add_cache_option(options, use, "words");
  options.add_options()("json", flag(use.json), "for programs");
}

}  // namespace

int eval_command(Session& session, const Arguments& arguments, const ModelMaker& models) {
  const UseOptions options =
      on_every_rank([&] { return read_use_options(eval_form(), add_eval_options, arguments); });
  const TrainedRun run(session, options, models, true);
  run.use(session, [&] {
    const Evaluation result = evaluate(run.config, *run.source, *run.pipeline, run.blueprint->model,
                                       {session, *run.network, run.grid, *run.device});
    const std::vector<PairScore> scores = translation_scores(run, options);
    if (session.rank() == 0) {
      write_answer((options.json ? as_json : as_text)(result, scores, run.checkpoint));
    }
  });
  return 0;
}

const CommandForm& eval_form() {
  static const CommandForm form{
      .name = "eval",
      .operand = "RUNFILE.toml",
      .summary = "how good a trained network is, on the validation data",
      .about =
          R"(Loss, perplexity, top-1 and top-5 accuracy of a trained network on data.validation; of a translation
network also BLEU of its translations, for every language pair. The run file is best the run.toml
of the run directory; any number of stages and replicas will do.
)",
      .needs_ranks = true};
  return form;
}

CommandOptions eval_command_options() {
  CommandOptions options;
  UseOptions unused;
  add_eval_options(options, unused);
  return options;
}

}  // namespace penstock
