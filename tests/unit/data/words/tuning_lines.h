// tests/unit/data/words/tuning_lines.h -- opens lines of data.kind = "jsonl" with a small tokenizer
// and a chat template, for tests of the labels that they become and of the notes on them.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "runtime/data/tokenizer/hub/hub_tokenizer.h"
#include "tests/unit/data/fixtures.h"

namespace penstock::test {

inline const std::string kFolder = std::string(PENSTOCK_WORDS) + "/llama3";

class Tuning : public testing::Test {
 protected:
  TemporaryFolder files_;
  DataConfig config_{.kind = "jsonl",
                     .train = files_ / "train.jsonl",
                     .tokenizer = "folder",
                     .vocabulary = files_ / "folder"};

  void SetUp() override {
    write_file(files_ / "folder/tokenizer.json", read_file(kFolder + "/tokenizer.json"));
    write_file(files_ / "folder/tokenizer_config.json",
               R"({"bos_token": "<|begin_of_text|>", "eos_token": "<|end_of_text|>"})");
    write_file(files_ / "folder/chat_template.jinja",
               "{% for m in messages %}<|start_header_id|>{{ m.role }}<|end_header_id|>"
               "{{ m.content }}<|eot_id|>{% endfor %}{% if add_generation_prompt %}"
               "<|start_header_id|>assistant<|end_header_id|>{% endif %}");
  }
  Datasets open(const std::string& lines, int64_t context) {
    write_file(config_.train, lines);
    SampleShape shape;
    shape.context = context;
    return open_datasets(config_, shape, 3);
  }
  // The labels of a row as text, with "." for each ignored one.
  std::string answers(const Dataset& set, int64_t row) {
    const auto tokenizer = open_hub_tokenizer(kFolder);
    std::string text;
    for (const int32_t label : read_text(set, row).labels) {
      text += label < 0 ? "." : tokenizer->decode(std::span(&label, 1));
    }
    return text;
  }
  // The labels of a training row as text, without ignored ones at either end.
  std::string said_in(const Datasets& sets, int64_t row) {
    std::string text = answers(*sets.train, row);
    text.erase(0, text.find_first_not_of('.'));
    return text.substr(0, text.find_last_not_of('.') + 1);
  }
  // The labels of the first of these lines, one line a row, and the note on all of them.
  std::pair<std::string, std::string> learnt(const std::string& lines) {
    config_.packed = false;
    config_.shuffle = false;
    const Datasets sets = open(lines, 60);
    return {said_in(sets, 0), sets.note};
  }
};

}  // namespace penstock::test
