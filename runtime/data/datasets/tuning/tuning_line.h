// runtime/data/datasets/tuning/tuning_line.h -- TuningLines: turns a line of data.kind = "jsonl"
// (data for fine-tuning) into tokens, each with a mark whether the loss counts it: as a sample to
// learn (read()), or as a question to ask (ask()).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/data/datasets/tuning/chat.h"
#include "runtime/data/datasets/tuning/line_form.h"
#include "runtime/data/tokenizer/tokenizer.h"

namespace penstock {

// Why there is nothing to learn in a line. The token cache keeps these values in files, so they
// must not change.
enum class Lacks : uint8_t {
  Answer,     // it has no answer (a conversation: no message of the assistant)
  Weight,     // all its answers have the weight 0
  Text,       // its answer makes no token
  Prediction  // the sample has one token, before which there is none to predict it from, or none
};

struct TuningSample {
  std::vector<int32_t> ids;     // the tokens
  std::vector<uint8_t> answer;  // for each token 1 if the loss counts its prediction, else 0
  Lacks lacks = Lacks::Answer;  // has a meaning only where any_counts() is false
  // What the user is told of the line, beside its place in the file.
  bool only_last = false;  // earlier answers are not learnt (ChatText::only_last, chat.h)
  bool opened = false;     // an answer begins within its generation prompt (ChatText::opened)
  bool plain = false;      // no token ends the text, since the tokenizer has none for it
  bool renamed = false;    // a role had another name, such as "human" for "user"
  bool parts = false;      // a message had a list of one text as its content
  // The form of other programs that the line has, such as ShareGPT's.
  LineContent::Foreign foreign = LineContent::Foreign::None;
};

// What a line asks of a network: to write the answer, or to find the right one of several choices
// the most probable.
struct TuningQuestion {
  // Without choices one text, prompt and answer; with choices for each of them the prompt and that
  // choice, without a token that ends the text. Empty: the line asks nothing.
  std::vector<TuningSample> texts;
  int64_t answer = -1;                   // the index of the right choice; -1: there are no choices
  std::vector<int64_t> characters = {};  // of each choice, spaces at its beginning not counted
};

// Whether the loss counts the prediction of any token. The first token is never predicted.
[[nodiscard]] bool any_counts(const TuningSample& sample);

class TuningLines {
 public:
  // `chat`: the chat template for conversations; null: there is none, and lines with messages are
  // refused. Both must outlive this object.
  TuningLines(const Tokenizer& tokenizer, const ChatTemplate* chat)
      : tokenizer_(tokenizer), chat_(chat) {}

  // The sample of a line; `where` names file and line in messages. May be called by several
  // threads. Throws Error(Data) if the line has none of the forms (content_of() in line_form.h);
  // Error(Input) for what is not supported, or if the template refuses the messages or would not
  // read the line's tools or keywords.
  [[nodiscard]] TuningSample read(std::string_view line, const std::string& where) const;
  // The question of a line; a line {"text": ...} asks nothing. Threads and errors as for read().
  [[nodiscard]] TuningQuestion ask(std::string_view line, const std::string& where) const;

 private:
  [[nodiscard]] TuningSample sample_of(const LineContent& content, const std::string& where) const;
  [[nodiscard]] TuningSample plain(const std::string& text) const;
  [[nodiscard]] TuningSample answered(const std::string& prompt, const std::string& completion,
                                      bool ends = true) const;
  [[nodiscard]] TuningSample conversation(const LineContent& content,
                                          const std::string& where) const;
  void check_extras(const ChatExtras& extras, const std::string& where) const;
  void append_end(std::vector<int32_t>& ids) const;

  const Tokenizer& tokenizer_;
  const ChatTemplate* chat_;
};

}  // namespace penstock
