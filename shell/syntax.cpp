#include "shell/syntax.h"

#include <utility>

namespace berth {

namespace {

bool is_keyword_character(char c) { return (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_'; }
bool is_label_character(char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_'; }

// A cursor over the notation: sequence := (element postfix?)*, alternatives := sequence ('|' sequence)*.
class SyntaxParser {
 public:
  explicit SyntaxParser(std::string_view text) : text_(text) {}

  Result<SyntaxNode> parse() {
    BERTH_ASSIGN(SyntaxNode tree, parse_sequence());
    if (!at_end()) return wrong("unexpected '" + std::string(1, peek()) + "'");
    return tree;
  }

 private:
  bool at_end() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
    return at_ == text_.size();
  }
  char peek() { return at_end() ? '\0' : text_[at_]; }
  bool eat(std::string_view what) {
    if (at_end() || text_.substr(at_, what.size()) != what) return false;
    at_ += what.size();
    return true;
  }
  bool eat_comma_repeat() {
    const std::size_t before = at_;
    if (eat(",") && eat("...")) return true;
    at_ = before;
    return false;
  }
  template <class Accept>
  std::string take_while(Accept accept) {
    const std::size_t begin = at_;
    while (at_ < text_.size() && accept(text_[at_])) ++at_;
    return std::string(text_.substr(begin, at_ - begin));
  }
  Status wrong(std::string_view why) const {
    return Status(Code::kInternal,
                  "syntax '" + std::string(text_) + "': " + std::string(why) + " at " + std::to_string(at_));
  }

  Result<SyntaxNode> parse_sequence() {
    SyntaxNode sequence;
    while (!at_end() && peek() != ']' && peek() != '}' && peek() != '|') {
      BERTH_ASSIGN(SyntaxNode element, parse_element());
      sequence.children.push_back(with_repeat(std::move(element)));
    }
    if (sequence.children.empty()) return wrong("nothing");
    return sequence;
  }

  SyntaxNode with_repeat(SyntaxNode element) {
    const bool commas = eat_comma_repeat();
    if (!commas && !eat("...")) return element;
    SyntaxNode repeat{SyntaxNode::Type::kRepeat, {}, {}, commas, {}};
    repeat.children.push_back(std::move(element));
    return repeat;
  }

  Result<SyntaxNode> parse_alternatives(std::string_view close) {
    SyntaxNode alternatives{SyntaxNode::Type::kAlternatives, {}, {}, false, {}};
    do {
      BERTH_ASSIGN(SyntaxNode sequence, parse_sequence());
      alternatives.children.push_back(std::move(sequence));
    } while (eat("|"));
    if (!eat(close)) return wrong("'" + std::string(close) + "' is missing");
    return alternatives.children.size() == 1 ? std::move(alternatives.children.front()) : std::move(alternatives);
  }

  Result<SyntaxNode> parse_element() {
    const char c = peek();
    if (c == '[') return parse_optional();
    if (c == '{') {
      eat("{");
      return parse_alternatives("}");
    }
    if (c == '<') return parse_argument();
    if (is_keyword_character(c) || c == '.') return parse_keyword();
    if (is_label_character(c)) return parse_group();
    SyntaxNode symbol{SyntaxNode::Type::kSymbol, std::string(1, c), {}, false, {}};
    ++at_;
    return symbol;
  }

  Result<SyntaxNode> parse_optional() {
    eat("[");
    SyntaxNode optional{SyntaxNode::Type::kOptional, {}, {}, false, {}};
    BERTH_ASSIGN(SyntaxNode content, parse_alternatives("]"));
    optional.children.push_back(std::move(content));
    return optional;
  }

  Result<SyntaxNode> parse_keyword() {
    const bool dotted = eat(".");
    std::string word =
        take_while([dotted](char c) { return is_keyword_character(c) || (dotted && is_label_character(c)); });
    if (word.empty()) return wrong("a word is missing");
    return SyntaxNode{SyntaxNode::Type::kKeyword, (dotted ? "." : "") + word, {}, false, {}};
  }

  Result<SyntaxNode> parse_group() {
    SyntaxNode group{SyntaxNode::Type::kGroup, take_while(is_label_character), {}, false, {}};
    if (!eat(":") || !eat("{")) return wrong("a group is written label:{ ... }");
    BERTH_ASSIGN(SyntaxNode content, parse_alternatives("}"));
    group.children.push_back(std::move(content));
    return group;
  }

  Result<SyntaxNode> parse_argument() {
    eat("<");
    std::string name = take_while(is_label_character);
    std::string kind;
    if (eat(":")) kind = take_while([](char c) { return c != '>'; });
    if (name.empty() || !eat(">")) return wrong("an argument is written <name:kind>");
    if (name == "options") return SyntaxNode{SyntaxNode::Type::kOptions, std::move(kind), {}, false, {}};
    if (kind.empty()) return wrong("argument <" + name + "> has no kind");
    return SyntaxNode{SyntaxNode::Type::kArgument, std::move(name), std::move(kind), false, {}};
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

std::string print_children(const SyntaxNode& node, std::string_view separator) {
  std::string text;
  for (const SyntaxNode& child : node.children) {
    const std::string printed = print_syntax(child);
    const bool tight = text.empty() || text.back() == '(' || printed == ")" || printed == ",";
    if (!text.empty() && !tight) text += separator;
    text += printed;
  }
  return text;
}

}  // namespace

Result<SyntaxNode> parse_syntax(std::string_view syntax) { return SyntaxParser(syntax).parse(); }

std::string print_syntax(const SyntaxNode& node) {
  switch (node.type) {
    case SyntaxNode::Type::kSequence: return print_children(node, " ");
    case SyntaxNode::Type::kAlternatives: return "{" + print_children(node, " | ") + "}";
    case SyntaxNode::Type::kOptional: {
      const SyntaxNode& content = node.children.front();
      const bool choice = content.type == SyntaxNode::Type::kAlternatives;
      return "[" + (choice ? print_children(content, " | ") : print_syntax(content)) + "]";
    }
    case SyntaxNode::Type::kRepeat: return print_syntax(node.children.front()) + (node.commas ? ", ..." : " ...");
    case SyntaxNode::Type::kGroup: {
      const std::string content = print_syntax(node.children.front());
      return content.starts_with('{') ? content : "{" + content + "}";
    }
    case SyntaxNode::Type::kKeyword:
    case SyntaxNode::Type::kSymbol: return node.text;
    case SyntaxNode::Type::kArgument:
      return node.kind.find('|') == std::string::npos ? "<" + node.text + ">" : "{" + node.kind + "}";
    case SyntaxNode::Type::kOptions: return node.text.empty() ? "<options>" : "<" + node.text + " options>";
  }
  return {};
}

}  // namespace berth
