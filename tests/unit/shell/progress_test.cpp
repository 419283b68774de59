#include "shell/progress.h"

#include <gtest/gtest.h>

#include "tests/unit/shell/text_file.h"

namespace berth {
namespace {

TEST(Progress, TellsShareAndTimeLeft) {
  EXPECT_EQ(progress_line("simulate", 50, 100, 10, 80), "simulate  [###############---------------]  50 %  10s left");
  EXPECT_EQ(progress_line("simulate", 0, 100, 10, 80), "simulate  [------------------------------]   0 %");
  EXPECT_EQ(progress_line("import", 1213, 0, 3, 80), "import  1,213  3s");
  EXPECT_LT(progress_line("a very long description", 50, 100, 10, 30).size(), 30U);
}

TEST(Progress, ShortWorkDrawsNothing) {
  test::TextFile screen;
  TerminalProgress progress(screen.stream(), 80);
  for (int i = 0; i < 100; ++i) progress.report("work", i, 100);
  progress.finish();
  EXPECT_EQ(screen.text(), "");
}

}  // namespace
}  // namespace berth
