#include "shell/help.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "engine/base/text.h"
#include "shell/families.h"
#include "shell/syntax.h"
#include "shell/unicode.h"

namespace berth {

namespace {

constexpr std::size_t kMostInFull = 3;  // more statements than this are listed, not printed in full

using Words = std::vector<std::string>;

// The keywords a statement begins with: several when it begins with alternatives or with words that may be left out.
struct Lead {
  Words words;
  bool open = true;   // more keywords may be appended
  bool plain = true;  // without words that may be left out
};

bool has_only_keywords(const SyntaxNode& node) {
  if (node.type == SyntaxNode::Type::kKeyword) return true;
  const bool container = node.type == SyntaxNode::Type::kSequence || node.type == SyntaxNode::Type::kAlternatives ||
                         node.type == SyntaxNode::Type::kOptional;
  return container && std::all_of(node.children.begin(), node.children.end(), has_only_keywords);
}

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
      case SyntaxNode::Type::kOptional:
        if (has_only_keywords(node)) {
          longer.push_back(lead);
          std::vector<Lead> grown{std::move(lead)};
          for (const SyntaxNode& child : node.children) grown = append_leads(std::move(grown), child);
          for (Lead& with : grown) with.plain = false;
          std::move(grown.begin(), grown.end(), std::back_inserter(longer));
          break;
        }
        [[fallthrough]];
      default: lead.open = false; longer.push_back(std::move(lead));
    }
  }
  return longer;
}

std::vector<Lead> all_leads(const CommandRow& row) {
  const Result<SyntaxNode> tree = parse_syntax(row.syntax);
  return tree.ok() ? append_leads({Lead{}}, *tree) : std::vector<Lead>();
}

std::vector<Words> leads_of(const CommandRow& row) {
  std::vector<Words> words;
  for (Lead& lead : all_leads(row)) words.push_back(std::move(lead.words));
  return words;
}

// "CREATE NODE(S)", ".quit | .exit".
std::string short_name(const CommandRow& row) {
  Words names;
  for (const Lead& lead : all_leads(row)) {
    const std::string name = join(lead.words, " ");
    if (!lead.plain || (!names.empty() && name == names.back())) continue;
    if (!names.empty() && name == names.back() + "S") {
      names.back() += "(S)";
    } else {
      names.push_back(name);
    }
  }
  return join(names, " | ");
}

// "EXPLAIN JOB ... ON NODE ...": tells statements with the same beginning apart.
std::string long_name(const CommandRow& row) {
  const Result<SyntaxNode> tree = parse_syntax(row.syntax);
  Words words;
  for (const SyntaxNode& child : tree.ok() ? tree->children : std::vector<SyntaxNode>()) {
    if (child.type == SyntaxNode::Type::kOptional) continue;
    const std::string word = child.type == SyntaxNode::Type::kKeyword ? child.text
                             : has_only_keywords(child)               ? print_syntax(child)
                                                                      : "...";
    if (words.empty() || word != words.back()) words.push_back(word);
  }
  return join(words, " ");
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

// `start`, then the sentence, broken so that its lines stand below one another from column `indent` on.
std::string hanging(std::string start, int indent, std::string_view sentence, int width) {
  const std::string blanks(static_cast<std::size_t>(indent), ' ');
  std::string text = pad_right(start, indent);
  std::string gap;
  for (const std::string& line : wrap_text(sentence, std::max(30, width - indent))) {
    text += gap + line + "\n";
    gap = blanks;
  }
  return text;
}

std::string two_columns(const std::vector<ArgumentHelp>& entries, int indent, int first_width, int width) {
  const std::string blanks(static_cast<std::size_t>(indent), ' ');
  std::string text;
  for (const ArgumentHelp& entry : entries) {
    std::string start = blanks + entry.name;
    const bool fits = display_width(entry.name) <= first_width;
    if (!fits) text += std::exchange(start, "") + "\n";
    text += hanging(std::move(start), indent + first_width + 2, entry.sentence, width);
  }
  return text;
}

bool reads_the_same(const OptionRow& a, const OptionRow& b) {
  return a.name == b.name && a.kind == b.kind && a.default_value == b.default_value && a.minimum == b.minimum &&
         a.maximum == b.maximum && a.sentence == b.sentence && a.many == b.many && a.required == b.required;
}

// What an earlier set has told already is only named.
std::string option_section(const CommandRow& row, int width) {
  std::string text;
  std::string set = "\n";  // no set is called that
  Words told;              // of this set, elsewhere
  const auto end_set = [&] {
    if (!told.empty()) text += hanging("    ", 4, join(told, ", ") + ": as above", width);
    told.clear();
  };
  for (auto at = row.options.begin(); at != row.options.end(); ++at) {
    const OptionRow& option = *at;
    if (option.set != set) {
      end_set();
      set = std::string(option.set);
      text += "\n  " + (set.empty() ? std::string("options") : set + " options") + "\n";
    }
    const auto same = [&](const OptionRow& other) { return other.set != option.set && reads_the_same(other, option); };
    if (std::any_of(row.options.begin(), at, same)) {
      told.emplace_back(option.name);
      continue;
    }
    const std::string limits = shown_limits(option);
    text += "    " + std::string(option.name) + " = " + shown_type(option) +
            (limits.empty() ? "" : "  (" + limits + ")") + "\n";
    text += hanging("", 8, option.sentence, width);
  }
  end_set();
  return text;
}

// What the options' amounts may look like, and the unit of a bare number: once for each kind.
std::string value_section(const CommandRow& row, int width) {
  std::vector<ArgumentHelp> kinds;
  for (const OptionRow& option : row.options) {
    const KindRow* kind = option.kind.find('|') == std::string_view::npos ? find_kind(option.kind) : nullptr;
    if (kind == nullptr || kind->tokens != TokenClass::kAmount || kind->type == ValueType::kInteger ||
        kind->type == ValueType::kReal) {
      continue;
    }
    std::string name(kind->name);
    std::ranges::replace(name, '_', ' ');  // as with the option
    if (std::ranges::find(kinds, name, &ArgumentHelp::name) != kinds.end()) continue;
    kinds.push_back({std::move(name), std::string(kind->sentence)});
  }
  return kinds.empty() ? std::string() : "\n  values\n" + two_columns(kinds, 4, widest(kinds), width);
}

std::string full_text(const CommandRow& row, int width) {
  std::string text = shown_syntax(row.syntax) + "\n" + hanging("", 2, row.summary, width);
  if (!row.details.empty()) text += hanging("", 2, row.details, width);
  std::vector<ArgumentHelp> arguments;
  if (const Result<SyntaxNode> tree = parse_syntax(row.syntax); tree.ok()) collect_arguments(*tree, arguments);
  if (!arguments.empty()) text += "\n" + two_columns(arguments, 4, widest(arguments), width);
  text += option_section(row, width) + value_section(row, width);
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

using Rows = std::vector<const CommandRow*>;

// The short name, or the long one where several rows have the same.
std::string shown_name(const CommandRow& row, const Rows& among) {
  const std::string name = short_name(row);
  const auto same =
      std::count_if(among.begin(), among.end(), [&](const CommandRow* other) { return short_name(*other) == name; });
  return same > 1 ? long_name(row) : name;
}

ResultTable as_table(const Rows& rows) {
  ResultTable table{"", {{"statement"}, {"family"}, {"effect"}, {"syntax"}, {"summary"}, {"example"}}, {}};
  for (const CommandRow* row : rows) {
    table.rows.push_back({shown_name(*row, rows), std::string(row->family), std::string(effect_name(row->effect)),
                          shown_syntax(row->syntax), std::string(row->summary), std::string(row->example)});
  }
  return table;
}

// Each family in one place, where its first statement is.
Rows by_family(Rows rows) {
  std::vector<std::string_view> families;
  for (const CommandRow* row : rows) {
    if (std::ranges::find(families, row->family) == families.end()) families.push_back(row->family);
  }
  std::ranges::stable_sort(
      rows, {}, [&](const CommandRow* row) { return std::ranges::find(families, row->family) - families.begin(); });
  return rows;
}

std::string listing(const Rows& unsorted, int width) {
  constexpr int kNameColumn = 28;
  const Rows rows = by_family(unsorted);
  std::vector<ArgumentHelp> entries;
  for (const CommandRow* row : rows) entries.push_back({shown_name(*row, rows), std::string(row->summary)});
  const int name_width = std::min(widest(entries), kNameColumn);
  std::string text;
  std::string_view family;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (rows[i]->family != family) text += (i == 0 ? "" : "\n") + std::string(family = rows[i]->family) + "\n";
    text += two_columns({entries[i]}, 2, name_width, width);
  }
  return text;
}

Output as_output(const Rows& rows, std::string text) {
  Output output;
  output.add(as_table(rows), Audience::kPrograms);
  output.add_chart(std::move(text));
  return output;
}

Status unknown_words(const CommandTable& table, std::span<const Value> words) {
  std::vector<std::string> known;
  for (const CommandRow* row : table.listed_rows()) {
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

void collect_keywords(const SyntaxNode& node, Words& words) {
  if (node.type == SyntaxNode::Type::kKeyword) words.push_back(node.text);
  for (const SyntaxNode& child : node.children) collect_keywords(child, words);
}

// Has the words somewhere: as keywords, as the family or as an option.
bool mentions(const CommandRow& row, const Words& wanted) {
  Words known{std::string(row.family)};
  if (const Result<SyntaxNode> tree = parse_syntax(row.syntax); tree.ok()) collect_keywords(*tree, known);
  for (const OptionRow& option : row.options) known.emplace_back(option.name);
  return std::all_of(wanted.begin(), wanted.end(), [&](const std::string& word) {
    return std::any_of(known.begin(), known.end(),
                       [&](const std::string& other) { return equals_ignoring_case(word, other); });
  });
}

// Rows by how well they answer: begun by exactly the words, by more, or having them elsewhere.
struct Found {
  Rows exact;
  Rows longer;
  Rows elsewhere;
};

Found find_rows(const CommandTable& table, const Words& wanted) {
  Found found;
  for (const CommandRow* row : table.listed_rows()) {
    const std::vector<Words> leads = leads_of(*row);
    const auto begins = [&](const Words& lead) { return begins_with(lead, wanted); };
    const auto same = [&](const Words& lead) { return lead.size() == wanted.size() && begins(lead); };
    if (std::any_of(leads.begin(), leads.end(), same)) {
      found.exact.push_back(row);
    } else if (std::any_of(leads.begin(), leads.end(), begins)) {
      found.longer.push_back(row);
    } else if (mentions(*row, wanted)) {
      found.elsewhere.push_back(row);
    }
  }
  return found;
}

// HELP PLAN <a statement>: that statement's, where PLAN may stand before it.
std::optional<Output> help_on_plan_of(const CommandTable& table, const Words& wanted, int width) {
  if (wanted.size() < 2 || !equals_ignoring_case(wanted.front(), "PLAN")) return std::nullopt;
  Found found = find_rows(table, Words(wanted.begin() + 1, wanted.end()));
  Rows& rows = found.exact.empty() ? found.longer : found.exact;
  std::erase_if(rows, [](const CommandRow* row) { return !is_plannable(*row); });
  if (rows.empty()) return std::nullopt;
  std::string text =
      "PLAN before this statement shows what the next round would do differently after it: HELP PLAN.\n\n";
  text += rows.size() <= kMostInFull ? "" : listing(rows, width);
  for (std::size_t i = 0; i < rows.size() && rows.size() <= kMostInFull; ++i)
    text += (i == 0 ? "" : "\n") + full_text(*rows[i], width);
  return as_output(rows, std::move(text));
}

}  // namespace

std::string shown_syntax(std::string_view syntax) {
  const Result<SyntaxNode> tree = parse_syntax(syntax);
  return tree.ok() ? print_syntax(*tree) : std::string(syntax);
}

Output help_overview(const CommandTable& table, int width) {
  const Rows rows = table.listed_rows();
  return as_output(rows, listing(rows, width) +
                             "\nHELP with the first words of a statement tells all about it: HELP CREATE NODES\n");
}

Result<Output> help_on(const CommandTable& table, std::span<const Value> words, int width) {
  Words wanted;
  for (const Value& word : words) wanted.push_back(word.text);
  const Found found = find_rows(table, wanted);
  if (found.exact.empty() && found.longer.empty()) {
    if (std::optional<Output> planned = help_on_plan_of(table, wanted, width)) return *std::move(planned);
    if (found.elsewhere.empty()) return unknown_words(table, words);
    return as_output(found.elsewhere, listing(found.elsewhere, width));
  }
  const Rows& in_full = found.exact.empty() && found.longer.size() <= kMostInFull ? found.longer : found.exact;
  std::string text;
  for (const CommandRow* row : in_full) text += (text.empty() ? "" : "\n") + full_text(*row, width);
  Rows all = found.exact;
  all.insert(all.end(), found.longer.begin(), found.longer.end());
  if (in_full.size() < all.size()) text += (text.empty() ? "" : "\n") + listing(found.longer, width);
  return as_output(all, std::move(text));
}

}  // namespace berth
