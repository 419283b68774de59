#include "shell/help.h"

#include <algorithm>

#include "engine/base/text.h"
#include "shell/syntax.h"
#include "shell/unicode.h"

namespace berth {

namespace {

constexpr std::size_t kMostInFull = 3;  // more statements than this are listed, not printed in full

using Words = std::vector<std::string>;

// The keywords a statement begins with: several when it begins with alternatives. `open`: more keywords may be
// appended.
struct Lead {
  Words words;
  bool open = true;
};

std::vector<Lead> append_leads(std::vector<Lead> leads, const SyntaxNode& node) {
  std::vector<Lead> longer;
  for (Lead& lead : leads) {
    if (!lead.open) {
      longer.push_back(std::move(lead));
      continue;
    }
    switch (node.type) {
      case SyntaxNode::Type::kKeyword:
        lead.words.push_back(node.text);
        longer.push_back(std::move(lead));
        break;
      case SyntaxNode::Type::kSequence: {
        std::vector<Lead> grown{std::move(lead)};
        for (const SyntaxNode& child : node.children) grown = append_leads(std::move(grown), child);
        std::move(grown.begin(), grown.end(), std::back_inserter(longer));
        break;
      }
      case SyntaxNode::Type::kAlternatives:
        for (const SyntaxNode& child : node.children) {
          std::vector<Lead> grown = append_leads({lead}, child);
          std::move(grown.begin(), grown.end(), std::back_inserter(longer));
        }
        break;
      default: lead.open = false; longer.push_back(std::move(lead));
    }
  }
  return longer;
}

std::vector<Words> leads_of(const CommandRow& row) {
  const Result<SyntaxNode> tree = parse_syntax(row.syntax);
  if (!tree.ok()) return {};
  std::vector<Words> words;
  for (Lead& lead : append_leads({Lead{}}, *tree)) words.push_back(std::move(lead.words));
  return words;
}

std::string short_name(const CommandRow& row) {
  Words names;
  for (const Words& lead : leads_of(row)) names.push_back(join(lead, " "));
  return join(names, " | ");
}

bool begins_with(const Words& lead, const Words& wanted) {
  return lead.size() >= wanted.size() &&
         std::equal(wanted.begin(), wanted.end(), lead.begin(),
                    [](const std::string& a, const std::string& b) { return equals_ignoring_case(a, b); });
}

struct ArgumentHelp {
  std::string name;
  std::string sentence;
};

void collect_arguments(const SyntaxNode& node, std::vector<ArgumentHelp>& found) {
  if (node.type == SyntaxNode::Type::kArgument && node.kind.find('|') == std::string::npos) {
    const KindRow* kind = find_kind(node.kind);
    const bool known =
        std::any_of(found.begin(), found.end(), [&](const ArgumentHelp& other) { return other.name == node.text; });
    if (kind != nullptr && !known) found.push_back({node.text, std::string(kind->sentence)});
  }
  for (const SyntaxNode& child : node.children) collect_arguments(child, found);
}

std::string shown_type(const OptionRow& option) {
  std::string type(option.kind);
  std::replace(type.begin(), type.end(), '_', ' ');
  if (option.kind.find('|') != std::string_view::npos) type = join(Words{std::string(option.kind)}, " ");
  return option.many ? type + " or (" + type + ", ...)" : type;
}

std::string shown_limits(const OptionRow& option) {
  std::string text;
  if (option.required) text += "required; ";
  if (!option.default_value.empty()) text += "default " + std::string(option.default_value) + "; ";
  if (!option.minimum.empty() && !option.maximum.empty()) {
    text += std::string(option.minimum) + " to " + std::string(option.maximum) + "; ";
  } else if (!option.minimum.empty()) {
    text += "at least " + std::string(option.minimum) + "; ";
  } else if (!option.maximum.empty()) {
    text += "at most " + std::string(option.maximum) + "; ";
  }
  if (!text.empty()) text.resize(text.size() - 2);
  return text;
}

int widest(const std::vector<ArgumentHelp>& entries) {
  int width = 0;
  for (const ArgumentHelp& entry : entries) width = std::max(width, display_width(entry.name));
  return width;
}

std::string two_columns(const std::vector<ArgumentHelp>& entries, std::string_view indent, int width) {
  std::string text;
  for (const ArgumentHelp& entry : entries)
    text += std::string(indent) + pad_right(entry.name, width) + "  " + entry.sentence + "\n";
  return text;
}

std::string option_section(const CommandRow& row) {
  std::string text;
  std::string set = "\n";  // no set is called that
  for (const OptionRow& option : row.options) {
    if (option.set != set) {
      set = std::string(option.set);
      text += "\n  " + (set.empty() ? std::string("options") : set + " options") + "\n";
    }
    const std::string limits = shown_limits(option);
    text += "    " + std::string(option.name) + " = " + shown_type(option) +
            (limits.empty() ? "" : "  (" + limits + ")") + "\n";
    text += "        " + std::string(option.sentence) + "\n";
  }
  return text;
}

std::string full_text(const CommandRow& row) {
  std::string text = shown_syntax(row.syntax) + "\n  " + std::string(row.summary) + "\n";
  if (!row.details.empty()) text += "  " + std::string(row.details) + "\n";
  std::vector<ArgumentHelp> arguments;
  if (const Result<SyntaxNode> tree = parse_syntax(row.syntax); tree.ok()) collect_arguments(*tree, arguments);
  if (!arguments.empty()) text += "\n" + two_columns(arguments, "    ", widest(arguments));
  text += option_section(row);
  return text + "\n  example\n    " + std::string(row.example) + (row.example.starts_with('.') ? "\n" : ";\n");
}

std::string_view effect_name(Effect effect) {
  switch (effect) {
    case Effect::kReads: return "reads";
    case Effect::kChanges: return "changes";
    case Effect::kTerminal: return "terminal";
  }
  return "reads";
}

ResultTable as_table(const std::vector<const CommandRow*>& rows) {
  ResultTable table{"", {{"statement"}, {"family"}, {"effect"}, {"syntax"}, {"summary"}, {"example"}}, {}};
  for (const CommandRow* row : rows) {
    table.rows.push_back({short_name(*row), std::string(row->family), std::string(effect_name(row->effect)),
                          shown_syntax(row->syntax), std::string(row->summary), std::string(row->example)});
  }
  return table;
}

std::string listing(const std::vector<const CommandRow*>& rows) {
  std::vector<ArgumentHelp> entries;
  for (const CommandRow* row : rows) entries.push_back({short_name(*row), std::string(row->summary)});
  const int width = std::min(widest(entries), 32);
  std::string text;
  std::string_view family;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (rows[i]->family != family) text += (i == 0 ? "" : "\n") + std::string(family = rows[i]->family) + "\n";
    text += two_columns({entries[i]}, "  ", width);
  }
  return text;
}

Output as_output(const std::vector<const CommandRow*>& rows, std::string text) {
  Output output;
  output.add(as_table(rows), Audience::kPrograms);
  output.add_chart(std::move(text));
  return output;
}

Status unknown_words(const CommandTable& table, std::span<const Value> words) {
  std::vector<std::string> known;
  for (const CommandRow* row : table.rows()) {
    known.emplace_back(row->family);
    for (const Words& lead : leads_of(*row)) {
      if (!lead.empty()) known.push_back(join(lead, " "));
      known.insert(known.end(), lead.begin(), lead.end());
    }
  }
  Words typed;
  for (const Value& word : words) typed.push_back(word.text);
  const std::string asked = join(typed, " ");
  std::string hint = suggest(asked, known);
  // One wrong word among right ones: name the nearest for that word.
  for (std::size_t i = 0; hint.empty() && i < typed.size(); ++i) hint = suggest(typed[i], known);
  const Span span{words.front().span.offset,
                  words.back().span.offset + words.back().span.length - words.front().span.offset};
  return Status(Code::kNotFound, "no statement begins with '" + asked + "'",
                hint.empty() ? "HELP lists the statements" : hint)
      .at(span);
}

}  // namespace

std::string shown_syntax(std::string_view syntax) {
  const Result<SyntaxNode> tree = parse_syntax(syntax);
  return tree.ok() ? print_syntax(*tree) : std::string(syntax);
}

Output help_overview(const CommandTable& table) {
  return as_output(
      table.rows(),
      listing(table.rows()) + "\nHELP with the first words of a statement tells all about it: HELP CREATE NODES\n");
}

Result<Output> help_on(const CommandTable& table, std::span<const Value> words) {
  Words wanted;
  for (const Value& word : words) wanted.push_back(word.text);
  std::vector<const CommandRow*> exact;
  std::vector<const CommandRow*> longer;
  std::vector<const CommandRow*> family;
  for (const CommandRow* row : table.rows()) {
    const std::vector<Words> leads = leads_of(*row);
    const auto same = [&](const Words& lead) { return lead.size() == wanted.size() && begins_with(lead, wanted); };
    if (std::any_of(leads.begin(), leads.end(), same)) {
      exact.push_back(row);
    } else if (std::any_of(leads.begin(), leads.end(), [&](const Words& lead) { return begins_with(lead, wanted); })) {
      longer.push_back(row);
    }
    if (equals_ignoring_case(row->family, join(wanted, " "))) family.push_back(row);
  }
  if (exact.empty() && longer.empty()) {
    if (family.empty()) return unknown_words(table, words);
    return as_output(family, listing(family));
  }
  std::vector<const CommandRow*> in_full = exact.empty() && longer.size() <= kMostInFull ? longer : exact;
  std::string text;
  for (const CommandRow* row : in_full) text += (text.empty() ? "" : "\n") + full_text(*row);
  std::vector<const CommandRow*> all = exact;
  all.insert(all.end(), longer.begin(), longer.end());
  if (in_full.size() < all.size()) text += (text.empty() ? "" : "\n") + listing(longer);
  return as_output(all, std::move(text));
}

}  // namespace berth
