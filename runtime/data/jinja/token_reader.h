// runtime/data/jinja/token_reader.h -- the tokens of a template one after the other, and the nodes
// that are made of them.
#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "kernels/error.h"
#include "runtime/data/jinja/lexer.h"
#include "runtime/data/jinja/parser.h"
#include "runtime/files/json.h"

namespace penstock::jinja {

using NodePtr = std::unique_ptr<Node>;

class TokenReader {
 protected:
  // `where` names the template in messages, and outlives this.
  TokenReader(std::string_view text, const std::string& where)
      : tokens_(tokens_of(text, where)), where_(where) {}

  // Counts how deep the parser stands.
  class Deeper {
   public:
    explicit Deeper(TokenReader& reader) : depth_(reader.depth_) {
      if (++depth_ > kDeepest) reader.fail("parts nested too deeply");
    }
    ~Deeper() { --depth_; }
    Deeper(const Deeper&) = delete;
    Deeper& operator=(const Deeper&) = delete;

   private:
    int& depth_;
  };

  [[noreturn]] void fail(const std::string& what) const {
    fail_data(where_ + ", line " + std::to_string(now().line) + ": " + what);
  }
  [[noreturn]] void unsupported(const std::string& what) const {
    fail_input(where_ + ", line " + std::to_string(now().line) + ": " + what +
               " is not supported in chat templates");
  }
  [[nodiscard]] const Token& now() const { return tokens_[at_]; }
  [[nodiscard]] const Token& ahead() const {
    return tokens_[std::min(at_ + 1, tokens_.size() - 1)];
  }
  [[nodiscard]] static bool says(const Token& token, const char* text) {
    return (token.kind == Token::Kind::Name || token.kind == Token::Kind::Sign) &&
           token.text == text;
  }
  [[nodiscard]] bool is(const char* text) const { return says(now(), text); }
  bool take(const char* text) {
    if (!is(text)) return false;
    ++at_;
    return true;
  }
  void want(const char* text) {
    if (!take(text)) fail("'" + std::string(text) + "' is missing");
  }
  std::string name() {
    if (now().kind != Token::Kind::Name) fail("a name is missing");
    return tokens_[at_++].text;
  }
  template <class... Parts>
  NodePtr node(Node::Kind kind, std::string text, Parts... parts) const {
    auto made = std::make_unique<Node>();
    made->kind = kind;
    made->line = now().line;
    made->text = std::move(text);
    (adopt(*made, std::move(parts)), ...);
    return made;
  }
  void adopt(Node& node, NodePtr part) const {
    if (part) node.depth = std::max(node.depth, part->depth + 1);
    if (node.depth > kDeepest) fail("parts nested too deeply");
    node.parts.push_back(std::move(part));
  }

  static constexpr int kDeepest = 200;  // open parts of a template, which take room on the stack

  std::vector<Token> tokens_;
  const std::string& where_;
  size_t at_ = 0;
  int depth_ = 0;
};

}  // namespace penstock::jinja
