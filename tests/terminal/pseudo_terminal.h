// The real program on a pseudo-terminal, with every wait bounded.
//
//   PseudoTerminal shell(program, {"--db", file}, {{"PAGER", "cat"}});
//   shell.expect("berth> ");  shell.type("HELP;\n");  EXPECT_EQ(shell.leave(), 0);
//
// expect() waits until the text appears in what the program has written since the last expected text (escape sequences
// removed); when it does not come in time the test fails with what came instead.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <map>
#include <string>
#include <vector>

namespace berth::test {

class PseudoTerminal {
 public:
  using Environment = std::map<std::string, std::string>;

  struct Size {
    int columns = 100;
    int lines = 30;
  };

  PseudoTerminal(const std::string& program, const std::vector<std::string>& arguments, const Environment& environment)
      : PseudoTerminal(program, arguments, environment, Size()) {}
  PseudoTerminal(const std::string& program, const std::vector<std::string>& arguments, const Environment& environment,
                 Size size);
  ~PseudoTerminal();
  PseudoTerminal(const PseudoTerminal&) = delete;
  PseudoTerminal& operator=(const PseudoTerminal&) = delete;

  void type(const std::string& keys);
  // Waits for `text`; false (and a test failure) when it does not come.
  bool expect(const std::string& text);
  // Nothing of the kind comes within a short while.
  bool stays_without(const std::string& text);
  // Waits for the program's end: its exit code, -1 when it had to be killed.
  int wait_for_end();

  // All that was written, escape sequences included.
  const std::string& raw() const { return raw_; }

 private:
  // Reads what there is, waiting at most so long. False at the end of the program's output.
  bool read_more(std::chrono::milliseconds wait);
  std::string plain_from(std::size_t begin) const;

  pid_t child_ = -1;
  int terminal_ = -1;
  std::string raw_;
  std::size_t seen_ = 0;  // of the plain text
};

// Without colours, cursor movements and other escape sequences.
std::string without_escapes(const std::string& text);

}  // namespace berth::test
