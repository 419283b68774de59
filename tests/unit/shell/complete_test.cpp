#include "shell/complete.h"

#include <gtest/gtest.h>

#include "engine/base/text.h"
#include "tests/unit/shell/example_commands.h"

namespace berth {
namespace {

// "|" in the text is the cursor.
Completion complete(std::string text) {
  const std::size_t cursor = text.find('|');
  text.erase(cursor, 1);
  return complete_at(example::table(), text, cursor);
}

std::string print(const Completion& completion) {
  std::vector<std::string> parts = completion.words;
  for (const std::string& kind : completion.kinds) parts.push_back("<" + kind + ">");
  for (const std::string& expected : completion.expected) parts.push_back("(" + expected + ")");
  return join(parts, " ");
}

struct CompleteCase {
  const char* text;
  const char* candidates;
};

TEST(Complete, StatementsFromTheGrammar) {
  const CompleteCase cases[] = {
      {"|", "CREATE DROP SHOW SUBMIT SIMULATE APPLY SET SELECT HELP .mode .read"},
      {"CRE|", "CREATE DROP SHOW SUBMIT SIMULATE APPLY SET SELECT HELP .mode .read"},
      {"CREATE |", "NODE NODES"},
      {"create node |", "TYPE (a node name or range)"},
      {"CREATE NODES a TYPE |", "<node_type>"},
      {"CREATE NODES a TYPE b |", "IN RACK"},
      {"CREATE NODES a TYPE b IN |", "POOL"},
      {"CREATE NODES a TYPE b IN POOL p|", "<pool>"},
      {"CREATE NODES a |", ", TYPE"},
      {"CREATE NODE TYPE x |", "WITH"},
      {"CREATE NODE TYPE x WITH |", "("},
      {"CREATE NODE TYPE x WITH (|", "cpu memory model boot link spare weight"},
      {"CREATE NODE TYPE x WITH (bo|", "cpu memory model boot link spare weight"},
      {"CREATE NODE TYPE x WITH (boot |", "="},
      {"CREATE NODE TYPE x WITH (boot = |", "(a duration)"},
      {"CREATE NODE TYPE x WITH (link = |", "none nvlink pcie"},
      {"CREATE NODE TYPE x WITH (spare = |", "true false"},
      {"CREATE NODE TYPE x WITH (model = |", "<device_model>"},
      {"CREATE NODE TYPE x WITH (boot = 5m |", ", )"},
      {"SHOW NODES |", "IN <node>"},
      {"SUBMIT JOB j IN QUEUE q TASKS (models = (A100, |", "<device_model>"},
      {"SIMULATE USING |", "<score_policy> <order_policy>"},
      {"SIMULATE USING fifo |", ", INTO +"},
      {"SHOW NODES; DROP |", "NODE"},
      {"SHOW NODES;\nDROP NODE |", "<node>"},
      {"DROP | ; SHOW NODES", "NODE"},
      {"NONSENSE |", ""},
      {"DROP NODE a |", ""},
      {"DROP /* |", ""},
      {"-- DROP |", "CREATE DROP SHOW SUBMIT SIMULATE APPLY SET SELECT HELP .mode .read"},
      {".mode |", "table csv json"},
      {".read |", "<file>"},
      {"HELP |", "CREATE DROP SHOW SUBMIT SIMULATE APPLY SET SELECT HELP .mode .read"},
      {"HELP CREATE |", "NODE NODES"},
      {"help create no|", "NODE NODES"},
      {"SHOW NODES\n  IN |", "POOL"},
  };
  for (const CompleteCase& test : cases) EXPECT_EQ(print(complete(test.text)), test.candidates) << test.text;
}

std::string kinds_only(const Completion& completion) { return join(completion.kinds, " "); }

TEST(Complete, SqlTablesAndColumns) {
  const CompleteCase cases[] = {
      {"SELECT |", "column"},
      {"SELECT * FROM |", "table"},
      {"SELECT * FROM no|", "table"},
      {"SELECT * FROM nodes, |", "table"},
      {"SELECT * FROM nodes JOIN |", "table"},
      {"SELECT * FROM nodes WHERE |", "column:nodes"},
      {"SELECT | FROM nodes", "column:nodes"},
      {"SELECT * FROM nodes n, jobs AS j WHERE n.|", "column:nodes"},
      {"SELECT * FROM nodes n, jobs AS j WHERE j.na|", "column:jobs"},
      {"SELECT * FROM nodes n, jobs AS j ORDER BY |", "column:jobs column:nodes"},
      {"SELECT 'FROM |", ""},
      {"SELECT (SELECT count(*) FROM |", "table"},
      {"SELECT count(|) FROM rounds;", "column:rounds"},
  };
  for (const CompleteCase& test : cases) EXPECT_EQ(kinds_only(complete(test.text)), test.candidates) << test.text;
  const std::vector<std::string> words = complete("SELECT * FROM nodes WHE|").words;
  EXPECT_NE(std::find(words.begin(), words.end(), "WHERE"), words.end());
}

TEST(Complete, ReplacesWhatIsTyped) {
  const Completion in_word = complete("SHOW NODES; CREATE NO| x");
  EXPECT_EQ(in_word.begin, 19U);
  EXPECT_EQ(in_word.end, 21U);
  const Completion at_blank = complete("CREATE |");
  EXPECT_EQ(at_blank.begin, 7U);
  EXPECT_EQ(at_blank.end, 7U);
  const Completion column = complete("SELECT n.na| FROM nodes n");
  EXPECT_EQ(column.begin, 9U);
  EXPECT_EQ(column.end, 11U);
}

std::vector<std::string> some_names(std::string_view kind, std::string_view) {
  if (kind == "node") return {"train001", "train002", "infer 1", "Type"};
  if (kind == "file") return {"a b.csv", "nodes.csv"};
  return {};
}

std::vector<std::string> listed(std::string text) {
  const std::size_t cursor = text.find('|');
  text.erase(cursor, 1);
  return candidates(complete_at(example::table(), text, cursor), text, some_names);
}

TEST(Complete, CandidatesAreReadyToInsert) {
  using Words = std::vector<std::string>;
  EXPECT_EQ(listed("cre|"), Words{"create"});
  EXPECT_EQ(listed("CRE|"), Words{"CREATE"});
  EXPECT_EQ(listed("Cre|"), Words{"CREATE"});
  EXPECT_EQ(listed("DROP NODE tr|"), (Words{"train001", "train002"}));
  EXPECT_EQ(listed("DROP NODE TR|"), (Words{"train001", "train002"}));
  EXPECT_EQ(listed("DROP NODE inf|"), Words{"\"infer 1\""});
  EXPECT_EQ(listed("DROP NODE 'inf|"), Words{"'infer 1'"});
  EXPECT_EQ(listed(".read n|"), Words{"nodes.csv"});
  EXPECT_EQ(listed("DROP NODE zz|"), Words{});
}

}  // namespace
}  // namespace berth
