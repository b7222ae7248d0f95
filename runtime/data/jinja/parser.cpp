#include "runtime/data/jinja/parser.h"

#include <algorithm>
#include <initializer_list>

#include "kernels/error.h"
#include "runtime/data/jinja/expressions.h"
#include "runtime/files/json.h"

namespace penstock::jinja {
namespace {

using Kind = Node::Kind;

class Parser : private ExpressionReader {
 public:
  Parser(std::string_view text, const std::string& where) : ExpressionReader(text, where) {}

  NodePtr run() {
    NodePtr whole = block({});
    if (now().kind != Token::Kind::End) fail("a tag that ends nothing");
    return whole;
  }

 private:
  void end_tag() {
    if (now().kind != Token::Kind::TagEnd) fail("the tag goes on where it should end");
    ++at_;
  }
  [[nodiscard]] bool tag_is(const char* text) const {
    return now().kind == Token::Kind::TagBegin && ahead().kind == Token::Kind::Name &&
           ahead().text == text;
  }

  // Up to a tag of these names, which is left.
  NodePtr block(std::initializer_list<const char*> ends) {
    const Deeper deeper(*this);
    NodePtr all = node(Kind::Block, "");
    while (now().kind != Token::Kind::End) {
      if (std::ranges::any_of(ends, [&](const char* end) { return tag_is(end); })) return all;
      if (now().kind == Token::Kind::Text) {
        adopt(*all, node(Kind::Text, now().text));
        ++at_;
      } else if (now().kind == Token::Kind::WriteBegin) {
        ++at_;
        adopt(*all, node(Kind::Write, "", expression()));
        if (now().kind != Token::Kind::WriteEnd) fail("an expression goes on where it should end");
        ++at_;
      } else if (ends.size() == 0 && ahead().text.starts_with("end")) {
        return all;
      } else {
        ++at_;
        adopt(*all, statement());
      }
    }
    if (ends.size() > 0) fail("'" + std::string(*(ends.end() - 1)) + "' is missing");
    return all;
  }

  NodePtr statement() {
    const std::string what = name();
    if (what == "if") return condition();
    if (what == "for") return loop();
    if (what == "set") return assignment();
    if (what == "break" || what == "continue") {
      end_tag();
      return node(what == "break" ? Kind::Break : Kind::Continue, "");
    }
    if (what == "generation") {  // marks what the assistant says: written as it is
      end_tag();
      NodePtr body = block({"endgeneration"});
      at_ += 2;
      end_tag();
      return body;
    }
    fail_input(where_ + ", line " + std::to_string(now().line) + ": the tag " +
               penstock::quoted(what) + " is not supported in chat templates");
  }

  NodePtr condition() {
    const Deeper deeper(*this);
    NodePtr test = expression();
    end_tag();
    NodePtr then = block({"elif", "else", "endif"});
    ++at_;
    const std::string next = name();
    NodePtr otherwise;
    if (next == "elif") {
      otherwise = condition();
    } else if (next == "else") {
      end_tag();
      otherwise = block({"endif"});
      at_ += 2;
      end_tag();
    } else {
      end_tag();
    }
    return node(Kind::If, "", std::move(test), std::move(then), std::move(otherwise));
  }

  NodePtr loop() {
    std::vector<std::string> names = {name()};
    while (take(",")) names.push_back(name());
    want("in");
    NodePtr of = either_or();
    NodePtr only_if = take("if") ? expression() : nullptr;
    end_tag();
    NodePtr body = block({"else", "endfor"});
    ++at_;
    NodePtr otherwise;
    if (name() == "else") {
      end_tag();
      otherwise = block({"endfor"});
      at_ += 2;
    }
    end_tag();
    NodePtr made = node(Kind::For, "", std::move(of), std::move(only_if), std::move(body),
                        std::move(otherwise));
    made->names = std::move(names);
    return made;
  }

  NodePtr assignment() {
    NodePtr made = node(Kind::Set, name());
    if (take(".")) made->names.push_back(name());
    want("=");
    adopt(*made, expression());
    end_tag();
    return made;
  }
};

}  // namespace

std::unique_ptr<Node> parse_template(std::string_view text, const std::string& where) {
  constexpr size_t kLongest = size_t{1} << 18;
  if (text.size() > kLongest) fail_input(where + ": the chat template is longer than 256 KiB");
  return Parser(text, where).run();
}

}  // namespace penstock::jinja
