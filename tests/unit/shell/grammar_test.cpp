#include "shell/grammar.h"

#include <gtest/gtest.h>

#include "tests/unit/shell/example_commands.h"

namespace berth {
namespace {

std::string syntax_of(std::string_view statement) {
  const Result<CommandTable::Call> call = example::table().parse(statement);
  return call.ok() ? std::string(call->row->syntax.substr(0, 11)) : "error: " + call.status().message();
}

TEST(Grammar, FindsTheRow) {
  EXPECT_EQ(syntax_of("CREATE NODE TYPE a100x8"), "CREATE NODE");
  EXPECT_EQ(syntax_of("create nodes a[1-4], b TYPE t IN POOL p RACK 'r 1'"), "CREATE {NOD");
  EXPECT_EQ(syntax_of("CREATE NODE n1 TYPE t"), "CREATE {NOD");
  EXPECT_EQ(syntax_of("SHOW NODES"), "SHOW NODES ");
  EXPECT_EQ(syntax_of("SHOW NODES IN POOL p"), "SHOW NODES ");
  EXPECT_EQ(syntax_of("SELECT count(*), 'a;b' || x FROM nodes WHERE a <> 3 % 2"), "SELECT <que");
  EXPECT_EQ(syntax_of(".mode CSV"), ".mode [<mod");
  EXPECT_EQ(syntax_of("  HELP create node -- comment"), "HELP [<word");
}

TEST(Grammar, AKeywordIsANameOnlyInQuotes) {
  const Result<CommandTable::Call> call = example::table().parse("SHOW NODES \"in\" IN POOL 'pool'");
  ASSERT_TRUE(call.ok()) << call.status().message();
  EXPECT_EQ(call->arguments.text("name"), "in");
  EXPECT_EQ(call->arguments.text("pool"), "pool");
  EXPECT_EQ(syntax_of("SHOW NODES in"), "error: the statement ends too early: expected POOL");
}

struct ErrorCase {
  const char* statement;
  const char* marked;  // the text under the caret
  const char* message;
  const char* hint;
};

TEST(Grammar, ErrorsPointAtTheWordAndNameTheNearest) {
  const ErrorCase cases[] = {
      {"CRATE NODES", "CRATE", "unknown statement 'CRATE'", "did you mean 'CREATE'?"},
      {"xyzzy", "xyzzy", "unknown statement 'xyzzy'", "HELP lists the statements"},
      {"CREATE NDOES a TYPE b", "NDOES", "unexpected 'NDOES': expected NODE or NODES", "did you mean 'NODES'?"},
      {"CREATE NODES a TYP b", "TYP", "unexpected 'TYP': expected ',' or TYPE", "did you mean 'TYPE'?"},
      {"CREATE NODES a TYPE b IN POL p", "POL", "unexpected 'POL': expected POOL", "did you mean 'POOL'?"},
      {"CREATE NODES a TYPE b c", "c", "unexpected 'c': expected IN, RACK or the end of the statement", ""},
      {"CREATE NODES a TYPE b RACK r IN POOL p", "IN", "unexpected 'IN': expected the end of the statement",
       "IN POOL p stands before RACK"},
      {"CREATE NODES a", "", "the statement ends too early: expected ',' or TYPE", ""},
      {"CREATE NODES", "", "the statement ends too early: expected a node name or range", ""},
      {"CREATE NODES , a", ",", "unexpected ',': expected a node name or range", ""},
      {"CREATE NODE TYPE a WITH (cpux = 3)", "cpux", "unknown option 'cpux'", "did you mean 'cpu'?"},
      {"CREATE NODE TYPE a WITH (zzzzz = 3)", "zzzzz", "unknown option 'zzzzz'",
       "options: cpu, memory, model, boot, link, spare, weight"},
      {"CREATE NODE TYPE a WITH (cpu = many)", "many", "option 'cpu' takes a number of CPU cores, found 'many'", ""},
      {"CREATE NODE TYPE a WITH (cpu = 3, cpu = 4)", "cpu", "option 'cpu' is given twice", ""},
      {"CREATE NODE TYPE a WITH (cpu = 600)", "600", "option 'cpu' must be at most 512, found '600'", ""},
      {"CREATE NODE TYPE a WITH (cpu = 0.1)", "0.1", "option 'cpu' must be at least 0.5, found '0.1'", ""},
      {"CREATE NODE TYPE a WITH (weight = -1)", "-1", "option 'weight' must be at least 0, found '-1'", ""},
      {"CREATE NODE TYPE a WITH (link = nvlnk)", "nvlnk", "option 'link' takes none, nvlink or pcie, found 'nvlnk'",
       "did you mean 'nvlink'?"},
      {"CREATE NODE TYPE a WITH (spare = perhaps)", "perhaps", "option 'spare' takes true or false, found 'perhaps'",
       ""},
      {"CREATE NODE TYPE a WITH (cpu 3)", "3", "unexpected '3': expected '='", ""},
      {"CREATE NODE TYPE a WITH (cpu = 3", "", "the statement ends too early: expected ',' or ')'", ""},
      {"SUBMIT JOB a IN QUEUE q TASKS (count = 2)", "", "option 'gpu' is missing",
       "add WITH (gpu = ...): GPUs of a task."},
      {"APPLY PLAN x", "x", "unexpected 'x': expected an integer", ""},
      {"DROP NODE a b", "b", "unexpected 'b': expected the end of the statement", ""},
      {".mode cvs", "cvs", "unexpected 'cvs': expected table, csv, json or the end of the statement",
       "did you mean 'csv'?"},
      {"SELECT", "", "the statement ends too early: expected SQL", ""},
      {"SET a = 'b", "'b", "this string does not end", "write ' at its end; '' stands for a quote inside"},
  };
  for (const ErrorCase& test : cases) {
    const std::string statement = test.statement;
    const Result<CommandTable::Call> call = example::table().parse(statement);
    ASSERT_FALSE(call.ok()) << statement;
    const Status status = call.status();
    EXPECT_EQ(status.code(), Code::kInvalid);
    EXPECT_EQ(status.message(), test.message) << statement;
    EXPECT_EQ(status.hint(), test.hint) << statement;
    ASSERT_TRUE(status.span().has_value()) << statement;
    const Span span = *status.span();
    ASSERT_LE(span.offset, statement.size()) << statement;
    EXPECT_EQ(statement.substr(span.offset, span.length), test.marked) << statement;
  }
}

TEST(Grammar, ValuesSayWhatIsWrongWithThem) {
  const Status status = example::table().parse("CREATE NODE TYPE a WITH (boot = 5q)").status();
  EXPECT_EQ(status.span()->offset, 32U);
  EXPECT_TRUE(status.message().starts_with("option 'boot': ")) << status.message();
}

TEST(Grammar, EmptyStatementsAreRefused) {
  EXPECT_FALSE(example::table().parse("").ok());
  EXPECT_FALSE(example::table().parse("-- nothing").ok());
}

TEST(Grammar, RefusesWrongRows) {
  const OptionRow wrong_default{.name = "a", .kind = "integer", .default_value = "x", .sentence = ""};
  const OptionRow no_kind{.name = "a", .kind = "nothing", .default_value = "", .sentence = ""};
  const OptionRow twice[] = {{.name = "a", .kind = "integer", .default_value = "", .sentence = ""},
                             {.name = "a", .kind = "real", .default_value = "", .sentence = ""}};
  EXPECT_FALSE(Grammar().add(0, "A (<options>)", {&wrong_default, 1}).ok());
  EXPECT_FALSE(Grammar().add(0, "A (<options>)", {&no_kind, 1}).ok());
  EXPECT_FALSE(Grammar().add(0, "A (<options>)", twice).ok());
  EXPECT_FALSE(Grammar().add(0, "A (<options>)", {}).ok());
  EXPECT_FALSE(Grammar().add(0, "A <x:nothing>", {}).ok());
  EXPECT_FALSE(Grammar().add(0, "A g:{B h:{C}}", {}).ok());
}

TEST(Grammar, KnowsWhichRowsOverlap) {
  Grammar grammar;
  const char* rows[] = {"DROP NODE <n:node>",
                        "DROP NODE TYPE <t:node_type>",
                        "DROP {NODE | NODES} <n:node>, ...",
                        "EXPLAIN JOB <j:job> [ON NODE <n:node>]",
                        "EXPLAIN PLAN <p:plan>",
                        "PLAN <s:statement>",
                        "PLAN SCHEDULE",
                        "SET <a:text> = 3",
                        "SET <a:text> = <v:value>",
                        "SHOW <w:a|b>",
                        "SHOW <w:c|b>",
                        "SHOW <w:c|d>"};
  for (int i = 0; i < static_cast<int>(std::size(rows)); ++i) ASSERT_TRUE(grammar.add(i, rows[i], {}).ok());
  EXPECT_FALSE(grammar.rows_overlap(0, 1));
  EXPECT_TRUE(grammar.rows_overlap(0, 2));
  EXPECT_FALSE(grammar.rows_overlap(3, 4));
  EXPECT_FALSE(grammar.rows_overlap(5, 6));
  EXPECT_TRUE(grammar.rows_overlap(9, 10));
  EXPECT_FALSE(grammar.rows_overlap(9, 11));
  EXPECT_TRUE(grammar.rows_overlap(7, 7));
}

}  // namespace
}  // namespace berth
