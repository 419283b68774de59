// A .test file: statements as an admin types them, and what they must answer.
//
//   # name: pools                       the first three lines: name, purpose, group (its folder)
//   # purpose: create, rename, drop
//   # group: cluster
//
//   statement ok                        runs; with lines after ----: its notes contain each of them
//   CREATE POOL a
//
//   statement error                     fails; what is printed contains each line after ----
//   CREATE POOL a
//   ----
//   a pool 'a' exists
//
//   statement findings                  runs and reports findings (exit code 4)
//   CHECK
//
//   query [rowsort]                     the rows programs get, as CSV without header, NULL as NULL
//   SELECT name FROM pools
//   ----
//   a
//
//   output [contains]                   what is printed in table mode: exactly, or containing each line
//   HELP CREATE POOL
//   ----
//   CREATE POOL <name>
//
//   round [n] | advance 30m | restart [read_only] | seed 42 | include other.inc | require NAME | skip MODE because ...
//   loop i 1 3 ... endloop              with ${i}; foreach x a b c ... endloop
//
// A body ends at ---- or an empty line, expected lines at an empty line (a line "<empty>" stands for one). ${DIR} is
// the file's folder, ${TMP} an empty folder, ${ACTOR} who changes things, ${SHARED} the public traces (require shared).
// Lines that begin with # are comments.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "engine/base/status.h"

namespace berth::test {

struct TestStep {
  enum class Type : std::uint8_t {
    kStatementOk,
    kStatementError,
    kStatementFindings,
    kQuery,
    kOutput,
    kRound,
    kAdvance,
    kRestart,
    kSeed,
    kInclude,
    kRequire,
    kSkip,
    kLoop,  // over `words`, variable `text`
  };
  Type type = Type::kStatementOk;
  std::size_t line = 0;   // of the directive, from 1
  std::string text;       // statement, or the directive's argument
  bool sorted = false;    // query rowsort
  bool contains = false;  // output contains
  std::vector<std::string> expected;
  std::size_t expected_begin = 0;  // lines after ----, [begin, end), from 1; 0 = there is no ----
  std::size_t expected_end = 0;
  std::vector<std::string> words;  // what a loop runs over
  std::vector<TestStep> body;      // of a loop
};

struct TestFile {
  std::string name;
  std::string purpose;
  std::string group;
  std::vector<TestStep> steps;
};

// kInvalid with the line. `is_include`: a file without the three first lines.
Result<TestFile> parse_test_file(std::string_view text, bool is_include);

}  // namespace berth::test
