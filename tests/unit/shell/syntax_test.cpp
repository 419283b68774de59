#include "shell/syntax.h"

#include <gtest/gtest.h>

namespace berth {
namespace {

struct SyntaxCase {
  const char* syntax;
  const char* printed;
};

TEST(Syntax, PrintsWithoutKindsAndLabels) {
  const SyntaxCase cases[] = {
      {"SHOW NODES", "SHOW NODES"},
      {"CREATE NODES <names:node_range>, ... TYPE <type:node_type> [IN POOL <pool:pool>] [WITH (<options>)]",
       "CREATE NODES <names>, ... TYPE <type> [IN POOL <pool>] [WITH (<options>)]"},
      {"{A | B C} [D | E]", "{A | B C} [D | E]"},
      {"SUBMIT groups:{GROUP <name:new_name> (<options:task>)} ...", "SUBMIT {GROUP <name> (<task options>)} ..."},
      {".mode <mode:table|csv>", ".mode {table|csv}"},
      {"SET <key:setting> = <value:value>", "SET <key> = <value>"},
      {"USING pairs:{<order:order_policy> + <score:score_policy> | <score:score_policy>}, ...",
       "USING {<order> + <score> | <score>}, ..."},
  };
  for (const SyntaxCase& test : cases) {
    const Result<SyntaxNode> tree = parse_syntax(test.syntax);
    ASSERT_TRUE(tree.ok()) << test.syntax << ": " << tree.status().message();
    EXPECT_EQ(print_syntax(*tree), test.printed);
  }
}

TEST(Syntax, RefusesWrongNotation) {
  for (const char* syntax : {"", "[A", "A]", "{A | }", "{}", "<name>", "<:pool>", "label:A", "A | B", "<name:pool"}) {
    const Result<SyntaxNode> tree = parse_syntax(syntax);
    EXPECT_FALSE(tree.ok()) << syntax;
    if (!tree.ok()) {
      EXPECT_EQ(tree.status().code(), Code::kInternal);
    }
  }
}

}  // namespace
}  // namespace berth
