#include "engine/sim/csv.h"

#include <array>

#include "tests/unit/sim/temporary_file.h"

namespace berth {
namespace {

using test::TemporaryFile;

constexpr std::array<CsvColumn, 3> kColumns = {{{"name", true}, {"cpu", true}, {"note"}}};

// Rows as "name/cpu/note;", bad ones as "!reason;" - all of them, since reading goes on after a bad row.
std::string rows_of(std::string_view text) {
  const TemporaryFile file(text, "t.csv");
  Result<CsvReader> csv = CsvReader::open(file.path(), kColumns);
  if (!csv.ok()) {
    return "header: " + file.without_folder(csv.status().message()) +
           (csv.status().hint().empty() ? "" : " (" + csv.status().hint() + ")");
  }
  std::string rows;
  for (;;) {
    const Result<bool> more = csv->next();
    if (!more.ok()) {
      rows += "!" + file.without_folder(more.status().message()) + ";";
      continue;
    }
    if (!*more) return rows;
    rows += std::string(csv->text(0)) + "/" + std::string(csv->text(1)) + "/" + std::string(csv->text(2)) + ";";
  }
}

struct Case {
  std::string_view text;
  std::string_view rows;
};

TEST(Csv, Rows) {
  const Case cases[] = {
      {"name,cpu\na,1\nb,2\n", "a/1/;b/2/;"},
      {"note,cpu,name\nx,1,a\n", "a/1/x;"},
      {"name,cpu,note\n\n  \na,1,\n", "a/1/;"},
      {"\"name\",cpu,note\n\"a,\"\"b\"\"\",1,\"two\nlines\"\n", "a,\"b\"/1/two\nlines;"},
      {"name,cpu\na,1,2\nb,2\n", "!t.csv:2: 3 fields, but the header has 2;b/2/;"},
      {"name,cpu\na\n", "!t.csv:2: 1 fields, but the header has 2;"},
      {"name,cpu\na\"b,1\nc,2\n", "!t.csv:2:2: a quote inside a field that is not quoted;c/2/;"},
      {"name,cpu\n\"a\"b,1\nc,2\n", "!t.csv:2:4: text after a closing quote;c/2/;"},
      {"name,cpu\nc,\"2\n3", "!t.csv:2:3: the quote opened here is never closed;"},
      {"", "header: t.csv: the file is empty; a header row was expected"},
      {"name,note\n", "header: t.csv:1: required column 'cpu' is missing"},
      {"name,cpu,nota\n", "header: t.csv:1:10: unknown column 'nota' (did you mean 'note'?)"},
      {"name,cpu,zzz\n", "header: t.csv:1:10: unknown column 'zzz' (the columns are name, cpu, note)"},
      {"name,cpu,cpu\n", "header: t.csv:1:10: column 'cpu' is given twice"},
  };
  for (const Case& one : cases) EXPECT_EQ(rows_of(one.text), one.rows) << one.text;
}

TEST(Csv, ValuesNameTheirPlace) {
  const TemporaryFile file("cpu,name\n8,a\nmany,b\n", "t.csv");
  Result<CsvReader> csv = CsvReader::open(file.path(), kColumns);
  ASSERT_TRUE(csv.ok());
  ASSERT_TRUE(*csv->next());
  EXPECT_EQ(csv->value(1, read_cpu).ok() ? csv->value(1, read_cpu)->value() : -1, 8000);
  EXPECT_EQ(
      csv->value_or(2, read_integer, std::int64_t{7}).ok() ? *csv->value_or(2, read_integer, std::int64_t{7}) : -1, 7);
  ASSERT_TRUE(*csv->next());
  const auto bad = csv->value(1, read_cpu);
  EXPECT_EQ(bad.status().code(), Code::kInvalid);
  EXPECT_TRUE(file.without_folder(bad.status().message()).starts_with("t.csv:3:1: cpu: 'many' is not"))
      << bad.status().message();
}

TEST(Csv, FieldsAreQuotedWhereTheyMustBe) {
  EXPECT_EQ(csv_field("plain text"), "plain text");
  EXPECT_EQ(csv_field("a,b"), "\"a,b\"");
  EXPECT_EQ(csv_field("say \"x\""), "\"say \"\"x\"\"\"");
  EXPECT_EQ(csv_field(" padded"), "\" padded\"");
}

}  // namespace
}  // namespace berth
