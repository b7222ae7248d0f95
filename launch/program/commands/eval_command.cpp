// launch/program/commands/eval_command.cpp -- `penstock eval`: how good a checkpoint is on the
// validation data.
#include <fmt/format.h>

#include <boost/program_options.hpp>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>

#include "kernels/joined.h"
#include "launch/program/commands/commands.h"
#include "launch/program/commands/confusion.h"
#include "launch/program/commands/overlap.h"
#include "launch/program/failure.h"
#include "launch/program/help/flag.h"
#include "launch/program/output.h"
#include "launch/program/runs/trained_run.h"
#include "launch/program/setup.h"
#include "launch/version.h"
#include "runtime/data/datasets/share.h"
#include "runtime/data/datasets/translation/language_pair.h"
#include "runtime/data/scores/bleu.h"
#include "runtime/data/tokens/text_file.h"
#include "runtime/engine/training/evaluation/answers.h"
#include "runtime/network/layers/library/loss.h"
#include "runtime/records/telemetry/units.h"
#include "runtime/system/files/json.h"

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

// Why the validation text is not translated; empty: it is. A share of the training text has no
// files of its own, whose lines are the references.
std::string why_no_translations(const DataConfig& data) {
  if (data.kind != "parallel") return "data.kind is " + data.kind;
  if (!share_of(data.validation)) return "";
  return "data.validation = " + data.validation +
         " is a share of the training text; name files of sentences as data.validation";
}

// Refuses options that nothing would read.
void refuse_beams(const UseOptions& options, const DataConfig& data) {
  const std::string why = why_no_translations(data);
  if (options.of_translations.empty() || why.empty()) return;
  fail_input("eval: " + joined(options.of_translations, ", ") +
             " is for translations, which are scored by BLEU, and there are none here: " + why);
}

// Translates the validation text of every language pair, where it is in files.
std::vector<PairScore> translation_scores(const TrainedRun& run, const UseOptions& options,
                                          const SayLine& say) {
  const DataConfig& data = run.config.data;
  std::vector<PairScore> scores;
  if (const std::string why = why_no_translations(data); !why.empty()) {
    if (say && data.kind == "parallel") say("note: no BLEU: " + why);
    return scores;
  }
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

// The scores of answers for data.kind = "jsonl", on rank 0; nothing for other data.
std::optional<AnswerScores> answer_scores(const TrainedRun& run, const ModelMaker& models,
                                          const Session& session, const SayLine& say) {
  if (run.config.data.kind != "jsonl") return std::nullopt;
  Config asked = run.config;
  asked.data.questions = true;
  DataSource source(asked, models, run.network->world());
  source.open(run.pipeline->reads().fields);
  return score_answers(asked, source, *run.pipeline, {session, *run.network, run.grid, *run.device},
                       say);
}

// What there is to say of a checkpoint.
struct EvalResult {
  std::string checkpoint;
  Evaluation loss;
  std::vector<PairScore> translations;
  std::optional<AnswerScores> answers;
  // The number of classes of a classifier, and their names by label where they are known.
  int64_t classes = 0;
  std::vector<std::string> class_names;
  bool confusion = false;          // which class is taken for which was asked for
  std::optional<Overlap> overlap;  // of a network that tells a class for each pixel
};

constexpr int64_t kFewestForTopFive = 6;  // of five or fewer each is among the five

// The number of classes of a classifier; 0: the network writes words.
int64_t classes_of(const TrainedRun& run) {
  const ModelInput& input = run.blueprint->input;
  if (input.field == "tokens" || input.field == "source_tokens") return 0;
  const auto* last = dynamic_cast<const ClassifierLoss*>(run.blueprint->model.layers.back().get());
  return last == nullptr ? 0 : last->classes();
}

// The names of classes by label; numbers where the data name none.
std::vector<std::string> class_names(const TrainedRun& run, int64_t classes) {
  std::vector<std::string> names = run.source->class_names();
  for (int64_t c = std::ssize(names); c < classes; ++c) names.push_back(std::to_string(c));
  return names;
}

double share_in(int64_t part, int64_t whole) {
  return static_cast<double>(part) / static_cast<double>(std::max<int64_t>(whole, 1));
}

void add_answers(const AnswerScores& scores, nlohmann::ordered_json& json) {
  if (scores.answers > 0) {
    json["answers"] = scores.answers;
    json["exact_match"] = share_in(scores.exact, scores.answers);
  }
  if (scores.questions > 0) {
    json["questions"] = scores.questions;
    json["acc"] = share_in(scores.right, scores.questions);
    json["acc_norm"] = share_in(scores.right_by_length, scores.questions);
  }
  const int64_t left_out = scores.too_long + scores.without_token;
  if (left_out > 0) json["questions_left_out"] = left_out;
}

std::string answers_text(const AnswerScores& scores) {
  std::string text;
  if (scores.answers > 0) {
    text +=
        fmt::format("exact match {:.2f} % of {}\n", 100.0 * share_in(scores.exact, scores.answers),
                    amount_text(scores.answers, "answer"));
  }
  if (scores.questions > 0) {
    text += fmt::format("acc {:.2f} %, acc_norm {:.2f} % of {} with choices\n",
                        100.0 * share_in(scores.right, scores.questions),
                        100.0 * share_in(scores.right_by_length, scores.questions),
                        amount_text(scores.questions, "question"));
  }
  if (scores.too_long > 0) {
    text += fmt::format("{} left out, longer than model.context\n", scores.too_long);
  }
  if (scores.without_token > 0) {
    text += fmt::format("{} left out, with an answer or a choice that comes to no token\n",
                        scores.without_token);
  }
  return text;
}

// The counts of a matrix by row; they are summed over ranks as doubles.
std::vector<std::vector<int64_t>> matrix_of(const std::vector<double>& counts, size_t columns) {
  std::vector<std::vector<int64_t>> rows(counts.size() / columns);
  for (size_t i = 0; i < counts.size(); ++i) rows[i / columns].push_back(std::llround(counts[i]));
  return rows;
}

std::string as_json(const EvalResult& all) {
  const Evaluation& result = all.loss;
  nlohmann::ordered_json json = {{"checkpoint", all.checkpoint},
                                 {"targets", std::llround(result.sums.targets)},
                                 {"loss", result.sums.mean()}};
  if (all.classes == 0) json["perplexity"] = std::exp(result.sums.mean());
  json["top_1"] = result.sums.accuracy();
  if (all.classes == 0 || all.classes >= kFewestForTopFive) json["top_5"] = result.top_five();
  if (all.overlap) add_overlap(*all.overlap, json);
  if (all.confusion) {
    json["classes"] = all.class_names;
    json["confusion"] = matrix_of(result.confusion, static_cast<size_t>(all.classes));
  }
  for (const PairScore& score : all.translations) json["bleu"][score.pair] = score.bleu.score();
  if (!all.translations.empty()) json["bleu_signature"] = bleu_signature(kVersion);
  if (all.answers) add_answers(*all.answers, json);
  return shown_json(json) + "\n";
}

std::string as_text(const EvalResult& all) {
  const Evaluation& result = all.loss;
  const double accuracy = 100.0 * result.sums.accuracy();
  const double top_five = 100.0 * result.top_five();
  std::string text =
      fmt::format("{}: {}, loss {:.4f}", all.checkpoint,
                  amount_text(std::llround(result.sums.targets), "target"), result.sums.mean());
  if (all.classes == 0) {
    text += fmt::format(", perplexity {:.3f}, top-1 {:.2f} %, top-5 {:.2f} %\n",
                        std::exp(result.sums.mean()), accuracy, top_five);
  } else {
    text += fmt::format(", accuracy {:.2f} %", accuracy);
    if (all.classes >= kFewestForTopFive) text += fmt::format(", top-5 {:.2f} %", top_five);
    text += "\n";
  }
  if (all.overlap) text += overlap_text(all.class_names, *all.overlap);
  if (all.confusion) text += confusion_text(all.class_names, result.confusion);
  for (const PairScore& score : all.translations) {
    text += fmt::format("BLEU {} {}\n", score.pair, score.bleu.text());
  }
  if (!all.translations.empty()) text += bleu_signature(kVersion) + "\n";
  if (all.answers) text += answers_text(*all.answers);
  return text;
}

CommandOptions eval_options_into(UseOptions& use) {
  CommandOptions options;
  add_checkpoint_option(options, use);
  add_beam_options(options, use);
  add_cache_option(options, use, "words");
  options.add_options()("confusion", flag(use.confusion),
                        "of a network that tells classes: which is taken for which")(
      "json", flag(use.json), "for programs");
  return options;
}

}  // namespace

int eval_command(Session& session, const Arguments& arguments, const ModelMaker& models) {
  const UseOptions options =
      on_every_rank([&] { return read_use_options(eval_form(), eval_options_into, arguments); });
  const TrainedRun run(session, options, models, true);
  run.use(session, [&] {
    SayLine say;
    if (session.rank() == 0) {
      say = [](const std::string& line) { tell(line); };
    }
    EvalResult result;
    result.checkpoint = run.checkpoint;
    result.classes = classes_of(run);
    result.class_names = class_names(run, result.classes);
    on_every_rank([&] {
      refuse_beams(options, run.config.data);
      if (options.confusion && result.classes == 0) {
        fail_input("--confusion is for networks that tell classes, and this one writes words");
      }
    });
    result.confusion = options.confusion;
    const bool tells_pixels = run.blueprint->input.label_per_pixel;
    result.loss = evaluate(run.config, *run.source, *run.pipeline, run.blueprint->model,
                           {session, *run.network, run.grid, *run.device}, say,
                           options.confusion || tells_pixels ? result.classes : 0);
    if (tells_pixels) result.overlap = overlap_of(result.loss.confusion, result.classes);
    result.translations = translation_scores(run, options, say);
    result.answers = answer_scores(run, models, session, say);
    if (session.rank() == 0)
      write_answer(fit_for_output((options.json ? as_json : as_text)(result)));
  });
  return 0;
}

const CommandForm& eval_form() {
  static const CommandForm form{
      .name = "eval",
      .operand = "RUNFILE.toml",
      .summary = "how good a trained network is, on the validation data",
      .about =
          R"(Loss, perplexity, top-1 and top-5 accuracy of a trained network on data.validation; of a network
that tells classes loss and accuracy (top-5 where there are more than five), and with --confusion
which class is taken for which; of one that tells the class of each pixel also intersection over
union (IoU); of a translation network also BLEU of its translations, for every language pair, where
data.validation names files; of lines of JSON (data.kind = "jsonl") how many answers greedy choice
writes exactly, and how often the right one of several choices is the most probable (acc) and the
most probable by the character (acc_norm). The run file is best the run.toml of the run directory;
any number of stages and replicas will do.
)",
      .needs_ranks = true,
      .options = unread(eval_options_into)};
  return form;
}

}  // namespace penstock
