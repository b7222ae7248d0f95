// runtime/data/datasets/translation/language_pair.h -- how [data] names the files of parallel text
// (sentences and their translations): a list of language pairs and one pattern of paths.
//
// Example: data.pairs = ["en-de", "en-fr"] and data.train = "{pair}/train.{language}.gz" mean the
// files en-de/train.en.gz, en-de/train.de.gz, en-fr/train.en.gz and en-fr/train.fr.gz.
#pragma once

#include <algorithm>
#include <boost/algorithm/string/replace.hpp>
#include <string>
#include <utility>
#include <vector>

#include "kernels/error.h"

namespace penstock {

struct LanguagePair {
  std::string name;            // "en-de"
  std::string source, target;  // the languages from and to which is translated: "en", "de"
  // The special piece that, in front of a source sentence, tells a network the target language:
  // "<2de>".
  [[nodiscard]] std::string tag() const { return "<2" + target + ">"; }
};

// The pairs of data.pairs, given as `names`. Throws Error(Input) naming the key when the list is
// empty, or an entry is not written source-target, stands there twice, or translates a language
// into itself.
[[nodiscard]] inline std::vector<LanguagePair> language_pairs(
    const std::vector<std::string>& names) {
  std::vector<LanguagePair> pairs;
  for (const std::string& name : names) {
    const size_t dash = name.find('-');
    if (dash == 0 || dash == std::string::npos || dash + 1 == name.size() ||
        name.find_first_of("-<>, /", dash + 1) != std::string::npos) {
      fail_input("data.pairs: '" + name +
                 "' is not written source-target: for example [\"en-de\", \"en-fr\"]");
    }
    LanguagePair pair = {name, name.substr(0, dash), name.substr(dash + 1)};
    if (pair.source == pair.target) {
      fail_input("data.pairs: '" + name + "' translates a language into itself: leave it out");
    }
    const auto same = [&name](const LanguagePair& other) { return other.name == name; };
    if (std::ranges::any_of(pairs, same)) {
      fail_input("data.pairs has '" + name +
                 "' twice: leave one out; data.temperature says how "
                 "often each pair is read");
    }
    pairs.push_back(std::move(pair));
  }
  if (pairs.empty()) {
    fail_input("data.pairs is missing: data.kind = \"parallel\" needs it, like [\"en-de\"]");
  }
  return pairs;
}

// `path` with {language} replaced by `language` and {pair} by the pair's name. Throws Error(Input)
// where it has no {language}.
[[nodiscard]] inline std::string corpus_path(std::string path, const LanguagePair& pair,
                                             const std::string& language) {
  if (path.find("{language}") == std::string::npos) {
    fail_input("'" + path + "' names one file, and a language pair has two: write {language} " +
               "where their names differ, like train.{language}.gz");
  }
  boost::replace_all(path, "{language}", language);
  boost::replace_all(path, "{pair}", pair.name);
  return path;
}

}  // namespace penstock
