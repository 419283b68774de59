// Broken statements: examples cut, mixed and sprinkled with odd characters. Nothing may crash, every error must point
// into the statement, and what splitting finds must be in the text.
#include <gtest/gtest.h>

#include <algorithm>
#include <new>

#include "engine/base/env.h"
#include "engine/base/text.h"
#include "shell/complete.h"
#include "shell/error_report.h"
#include "shell/families.h"

namespace berth {
namespace {

constexpr int kRounds = 4000;
constexpr std::uint64_t kSeed = 20260101;

std::string broken_statement(Random& random) {
  static constexpr std::string_view kPieces[] = {
      "'",  "\"", ";", "--",   "/*", "*/", "(",  ")",   ",",    "=",      "[",    "]",
      "\n", " ",  ".", "\xff", "节", "0",  "-1", "1/4", "WITH", "CREATE", "\x1b", std::string_view("\0", 1)};
  const std::vector<const CommandRow*>& rows = command_table().rows();
  std::string text(rows[random.below(rows.size())]->example);
  for (std::uint64_t change = random.below(4); change > 0; --change) {
    const std::size_t at = random.below(text.size() + 1);
    switch (random.below(4)) {
      case 0: text.insert(at, kPieces[random.below(std::size(kPieces))]); break;
      case 1: text.erase(at, 1 + random.below(5)); break;
      case 2: text.resize(at); break;
      default: text.insert(at, rows[random.below(rows.size())]->example); break;
    }
  }
  return text;
}

TEST(Robustness, BrokenStatementsAreErrorsWithAPlace) {
  Random random(kSeed);
  for (int i = 0; i < kRounds; ++i) {
    const std::string text = broken_statement(random);
    const Result<CommandTable::Call> call = command_table().parse(text);
    if (call.ok()) continue;
    const Status status = call.status();
    ASSERT_FALSE(status.message().empty());
    ASSERT_EQ(status.code(), Code::kInvalid) << text;
    if (status.span()) {
      ASSERT_LE(status.span()->offset, text.size()) << text;
    }
    const std::string report = describe_error(status, {"", text, 1, false}, 0, false);
    ASSERT_EQ(report.find('\x1b'), std::string::npos) << text;
  }
}

TEST(Robustness, SplittingLosesNothing) {
  Random random(kSeed + 1);
  for (int i = 0; i < kRounds; ++i) {
    const std::string text = broken_statement(random) + ";" + broken_statement(random);
    const StatementList list = split_statements(text);
    std::size_t after = 0;
    for (const StatementText& statement : list.statements) {
      ASSERT_GE(statement.offset, after) << text;
      ASSERT_EQ(text.substr(statement.offset, statement.text.size()), statement.text) << text;
      ASSERT_EQ(statement.line, line_of(text, statement.offset)) << text;
      after = statement.offset + statement.text.size();
    }
    if (!list.rest.empty()) {
      ASSERT_GE(list.rest_offset, after) << text;
    }
  }
}

TEST(Robustness, TokensLieInOrderInsideTheText) {
  Random random(kSeed + 2);
  for (int i = 0; i < kRounds; ++i) {
    const std::string text = broken_statement(random);
    std::size_t after = 0;
    for (const Token& token : lex(text).tokens) {
      ASSERT_GE(token.span.offset, after) << text;
      ASSERT_GT(token.span.length, 0U) << text;
      after = token.span.offset + token.span.length;
      ASSERT_LE(after, text.size()) << text;
    }
  }
}

TEST(Robustness, CompletionReplacesTextUpToTheCursor) {
  Random random(kSeed + 3);
  for (int i = 0; i < kRounds; ++i) {
    const std::string text = broken_statement(random);
    const std::size_t cursor = random.below(text.size() + 1);
    const Completion completion = complete_at(command_table(), text, cursor);
    ASSERT_LE(completion.begin, completion.end) << text << " at " << cursor;
    ASSERT_EQ(completion.end, cursor) << text;
    (void)candidates(completion, text, nullptr);
  }
}

// What completion offers is what the grammar takes: typing a statement word by word, each word is among the offers.
TEST(Robustness, EveryKeywordOfAnExampleIsOffered) {
  for (const CommandRow* row : command_table().rows()) {
    if (row->family == "sql" || row->example.starts_with("HELP") || row->example.starts_with(".help")) continue;
    const std::string text(row->example);
    for (const Token& token : lex(text).tokens) {
      if (!token.is_bare_word() || token.text != to_upper(token.text) || token.text.size() < 2) continue;
      const Completion completion = complete_at(command_table(), text, token.span.offset);
      const bool offered =
          std::find(completion.words.begin(), completion.words.end(), token.text) != completion.words.end();
      EXPECT_TRUE(offered || !completion.kinds.empty() || !completion.expected.empty()) << text << ": " << token.text;
    }
  }
}

Result<Output> run_out_of_memory(Session&, const Arguments&) { throw std::bad_alloc(); }
Result<Output> ask_for_too_much(Session&, const Arguments&) {
  std::string text;
  text.reserve(text.max_size());
  return Output::note(text);
}

// Not the end of the program: the next statement runs.
TEST(Robustness, AStatementThatMemoryDoesNotSufficeForFails) {
  static constexpr CommandRow kRows[] = {
      {.family = "test",
       .syntax = "EAT",
       .effect = Effect::kReads,
       .handler = run_out_of_memory,
       .summary = "Eats.",
       .example = "EAT"},
      {.family = "test",
       .syntax = "BITE",
       .effect = Effect::kReads,
       .handler = ask_for_too_much,
       .summary = "Bites.",
       .example = "BITE"},
  };
  const std::span<const CommandRow> families[] = {kRows};
  const Result<CommandTable> table = CommandTable::build(families);
  ASSERT_TRUE(table.ok()) << table.status().message();
  Session session;
  session.commands = &*table;
  for (const char* statement : {"EAT", "BITE"}) {
    const Result<Output> output = execute(session, statement);
    ASSERT_FALSE(output.ok());
    EXPECT_EQ(output.status().code(), Code::kUnavailable);
    EXPECT_NE(output.status().message().find("memory"), std::string::npos);
  }
}

// Each group once had the text of the whole statement.
TEST(Robustness, GroupsShareTheTextOfTheirStatement) {
  std::string text = "SUBMIT JOB many IN QUEUE nlp GROUP g (tasks = 1)";
  for (int i = 0; i < 8000; ++i) text += ", GROUP g" + std::to_string(i) + " (tasks = 1)";
  const Result<CommandTable::Call> call = command_table().parse(text);
  ASSERT_TRUE(call.ok()) << call.status().message();
  const std::vector<Arguments>& groups = call->arguments.groups("groups");
  ASSERT_EQ(groups.size(), 8001u);
  for (const Arguments& group : groups) ASSERT_EQ(&group.statement(), &call->arguments.statement());
}

}  // namespace
}  // namespace berth
