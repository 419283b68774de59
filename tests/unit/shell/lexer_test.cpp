#include "shell/lexer.h"

#include <gtest/gtest.h>

namespace berth {
namespace {

// "word:train number:40GiB string:a b symbol:,"
std::string print(const Lexed& lexed) {
  constexpr const char* kNames[] = {"word", "name", "number", "string", "symbol"};
  std::string text;
  for (const Token& token : lexed.tokens) {
    text += (text.empty() ? "" : " ") + std::string(kNames[static_cast<std::size_t>(token.kind)]) + ":" + token.text;
  }
  return text;
}

struct LexCase {
  const char* text;
  const char* tokens;
};

TEST(Lexer, SplitsTextIntoTokens) {
  const LexCase cases[] = {
      {"", ""},
      {"  \n\t ", ""},
      {"CREATE NODES", "word:CREATE word:NODES"},
      {"train[001-064]", "word:train[001-064]"},
      {"a[1-4],b[1,3-5]", "word:a[1-4] symbol:, word:b[1,3-5]"},
      {"n[x]", "word:n symbol:[ word:x symbol:]"},
      {"rack.a-1 lua:night_scale", "word:rack.a-1 word:lua:night_scale"},
      {"a- b. c:", "word:a symbol:- word:b symbol:. word:c symbol::"},
      {"40GiB 0.5 1/4 90m 1d12h", "number:40GiB number:0.5 number:1/4 number:90m number:1d12h"},
      {"2026-12-01T08:00:00Z", "number:2026-12-01T08:00:00Z"},
      {"-3 a -3.5", "number:-3 word:a number:-3.5"},
      {"a/b", "word:a symbol:/ word:b"},
      {"'it''s' ''", "string:it's string:"},
      {"\"a \"\"b\"\"\"", "name:a \"b\""},
      {"a--comment\nb", "word:a word:b"},
      {"-- only", ""},
      {"a /* b */ c", "word:a word:c"},
      {"(a=1,b<=2)", "symbol:( word:a symbol:= number:1 symbol:, word:b symbol:<= number:2 symbol:)"},
      {"größe 名前", "word:größe word:名前"},
      {"fifo + berth", "word:fifo symbol:+ word:berth"},
      {"HELP .mode", "word:HELP word:.mode"},
      {".output /tmp/a b.csv 'c d'", "word:.output word:/tmp/a word:b.csv string:c d"},
      {".width 20 -1 - a", "word:.width number:20 number:-1 word:- word:a"},
  };
  for (const LexCase& test : cases) {
    const Lexed lexed = lex(test.text);
    EXPECT_EQ(print(lexed), test.tokens) << test.text;
    EXPECT_TRUE(lexed.status().ok()) << test.text;
  }
}

TEST(Lexer, TokensKnowTheirBytes) {
  const std::string text = " SET  \"ab\"='ü' ";
  const Lexed lexed = lex(text);
  ASSERT_EQ(lexed.tokens.size(), 4U);
  std::vector<std::string> raw;
  for (const Token& token : lexed.tokens) raw.push_back(text.substr(token.span.offset, token.span.length));
  EXPECT_EQ(raw, (std::vector<std::string>{"SET", "\"ab\"", "=", "'ü'"}));
}

TEST(Lexer, TellsWhatDoesNotEnd) {
  struct OpenCase {
    const char* text;
    OpenEnd open;
    std::size_t offset;
  };
  const OpenCase cases[] = {{"a 'b", OpenEnd::kString, 2},
                            {"a 'b''", OpenEnd::kString, 2},
                            {"\"b;", OpenEnd::kQuotedName, 0},
                            {"a /* b", OpenEnd::kComment, 2},
                            {"'a' -- 'b", OpenEnd::kNone, 0}};
  for (const OpenCase& test : cases) {
    const Lexed lexed = lex(test.text);
    EXPECT_EQ(lexed.open, test.open) << test.text;
    EXPECT_EQ(lexed.status().ok(), test.open == OpenEnd::kNone) << test.text;
    if (test.open != OpenEnd::kNone) {
      EXPECT_EQ(lexed.status().span()->offset, test.offset) << test.text;
    }
  }
}

// Statements separated by "|", then what is left; "!" when that is inside a string or comment.
std::string print(const StatementList& list) {
  std::string text;
  for (const StatementText& statement : list.statements)
    text += std::string(statement.text) + "@" + std::to_string(statement.line) + "|";
  return text + std::string(list.rest) + (list.rest_is_open ? "!" : "");
}

TEST(Splitter, FindsStatementsAndWhatIsLeft) {
  const LexCase cases[] = {
      {"", ""},
      {"a", "a"},
      {"a;", "a@1|"},
      {"a; b ;c", "a@1|b@1|c"},
      {";;;a;;", "a@1|"},
      {"a ';' b;", "a ';' b@1|"},
      {"a \";\" b;", "a \";\" b@1|"},
      {"a -- ; no\n;b", "a -- ; no@1|b"},
      {"a /* ; */ b;", "a /* ; */ b@1|"},
      {"\n\na\n b;\n\nc;", "a\n b@3|c@6|"},
      {"-- first\na; -- after\n", "a@2|"},
      {"a 'b;\n", "a 'b;!"},
      {"a; /* b", "a@1|/* b!"},
      {".mode json\na;", ".mode json@1|a@2|"},
      {".mode json;\na;", ".mode json@1|a@2|"},
      {".mode", ".mode@1|"},
      {"a; .mode csv\nb", "a@1|.mode csv@1|b"},
      {"a\n.mode csv\n;", "a\n.mode csv@1|"},
  };
  for (const LexCase& test : cases) EXPECT_EQ(print(split_statements(test.text)), test.tokens) << test.text;
}

TEST(Splitter, OffsetsPointIntoTheText) {
  const std::string text = "  a;\n b c ;  d";
  const StatementList list = split_statements(text);
  ASSERT_EQ(list.statements.size(), 2U);
  EXPECT_EQ(list.statements[1].offset, 6U);
  EXPECT_EQ(text.substr(list.statements[1].offset, 3), "b c");
  EXPECT_EQ(list.rest_offset, 13U);
  EXPECT_EQ(list.rest_line, 2U);
}

}  // namespace
}  // namespace berth
