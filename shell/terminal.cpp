#include "shell/terminal.h"

#include <poll.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <clocale>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>
#include <system_error>
// readline's headers need stdio before them.
#include <readline/history.h>
#include <readline/readline.h>

#include "engine/base/folder.h"
#include "engine/base/text.h"
#include "shell/complete.h"
#include "shell/error_report.h"
#include "shell/families.h"
#include "shell/history.h"
#include "shell/interrupt.h"
#include "shell/printer.h"
#include "shell/script.h"

namespace berth {

namespace {

constexpr const char* kPrompt = "berth> ";
constexpr const char* kMorePrompt = "  ...> ";
constexpr int kMostHistory = 10000;
constexpr std::size_t kMostListed = 200;

enum class LineEnd : std::uint8_t { kLine, kEndOfInput, kInterrupted };

// readline calls plain functions; this is what they work on. One terminal per process.
struct TerminalState {
  Session* session = nullptr;
  std::string history;  // the file; empty = none
  std::string pending;  // lines of the statement before the current one
  std::string line;
  LineEnd end = LineEnd::kLine;
  bool done = false;
  bool completes = false;  // not while a question is answered
};
TerminalState terminal;

void on_line(char* line) {
  terminal.done = true;
  terminal.end = line == nullptr ? LineEnd::kEndOfInput : LineEnd::kLine;
  terminal.line = line == nullptr ? "" : line;
  std::free(line);
  rl_callback_handler_remove();
}

void drop_typed_line() {
  rl_free_line_state();
  rl_callback_sigcleanup();
  rl_callback_handler_remove();
  std::fputs("^C\n", rl_outstream);
  std::fflush(rl_outstream);
  terminal.end = LineEnd::kInterrupted;
  terminal.done = true;
}

constexpr int kMillisecondsBetweenLooks = 200;

LineEnd read_line(const char* prompt) {
  terminal.done = false;
  rl_callback_handler_install(prompt, on_line);
  while (!terminal.done) {
    pollfd input{STDIN_FILENO, POLLIN, 0};
    // Not for ever: an interrupt that comes just before poll() would go unseen until the next key.
    const int ready = poll(&input, 1, kMillisecondsBetweenLooks);
    if (terminal.session->interrupt->exchange(false)) {
      drop_typed_line();
    } else if (ready > 0) {
      rl_callback_read_char();
    } else if (ready < 0 && errno != EINTR) {
      on_line(nullptr);
    }
  }
  return terminal.end;
}

// ---- completion -----------------------------------------------------------------------------------------------------

std::vector<std::string> list_files(std::string_view prefix) {
  const std::size_t slash = prefix.rfind('/');
  const std::string folder(slash == std::string_view::npos ? "" : prefix.substr(0, slash + 1));
  std::vector<std::string> files;
  const Result<std::vector<std::string>> names = names_in(folder.empty() ? "." : folder);
  if (!names.ok()) return files;
  for (const std::string& name : *names) {
    std::error_code ignored;
    if (!name.starts_with('.'))
      files.push_back(folder + name + (std::filesystem::is_directory(folder + name, ignored) ? "/" : ""));
  }
  return files;
}

std::vector<std::string> names_for_completion(std::string_view kind, std::string_view prefix) {
  if (kind == "file") return list_files(prefix);
  if (terminal.session->names) return terminal.session->names(kind, prefix);
  return {};
}

std::string common_beginning(const std::vector<std::string>& words) {
  std::string common = words.front();
  for (const std::string& word : words) {
    std::size_t same = 0;
    while (same < common.size() && same < word.size() && common[same] == word[same]) ++same;
    common.resize(same);
  }
  while (!common.empty() && (static_cast<unsigned char>(common.back()) & 0xC0U) == 0x80U) common.pop_back();
  return common;
}

void replace_typed(std::size_t begin, const std::string& word) {
  rl_begin_undo_group();
  rl_delete_text(static_cast<int>(begin), rl_point);
  rl_point = static_cast<int>(begin);
  rl_insert_text(word.c_str());
  rl_end_undo_group();
}

void list_words(const std::vector<std::string>& words) {
  std::vector<char*> matches;
  std::size_t longest = 0;
  std::vector<std::string> shown(words.begin(),
                                 words.begin() + static_cast<std::ptrdiff_t>(std::min(words.size(), kMostListed)));
  matches.push_back(shown.front().data());
  for (std::string& word : shown) {
    matches.push_back(word.data());
    longest = std::max(longest, word.size());
  }
  matches.push_back(nullptr);
  rl_display_match_list(matches.data(), static_cast<int>(shown.size()), static_cast<int>(longest));
  if (words.size() > shown.size()) std::fprintf(rl_outstream, "and %zu more\n", words.size() - shown.size());
  rl_forced_update_display();
}

void tell_expected(const Completion& completion) {
  if (completion.expected.empty()) {
    rl_ding();
    return;
  }
  std::fprintf(rl_outstream, "\n(%s)\n", join(completion.expected, " or ").c_str());
  rl_on_new_line();
  rl_forced_update_display();
}

int complete_typed(int, int) {
  if (!terminal.completes) return rl_insert(1, '\t');
  const std::string text = terminal.pending + rl_line_buffer;
  const std::size_t cursor = terminal.pending.size() + static_cast<std::size_t>(rl_point);
  const Completion completion = complete_at(command_table(), text, cursor);
  const std::vector<std::string> words = candidates(completion, text, names_for_completion);
  if (words.empty() || completion.begin < terminal.pending.size()) {
    tell_expected(completion);
    return 0;
  }
  const std::size_t begin = completion.begin - terminal.pending.size();
  const std::string typed = text.substr(completion.begin, cursor - completion.begin);
  const std::string common = common_beginning(words);
  if (words.size() == 1) {
    const bool goes_on = common.ends_with('(') || common.ends_with("/") || common.ends_with("/'");
    replace_typed(begin, goes_on ? common : common + " ");
  } else if (common.size() > typed.size()) {
    replace_typed(begin, common);
  } else {
    list_words(words);
  }
  return 0;
}

// ---- the loop -------------------------------------------------------------------------------------------------------

bool ask(std::string_view question) {
  terminal.completes = false;
  const LineEnd end = read_line((std::string(question) + " [y/N] ").c_str());
  terminal.completes = true;
  return end == LineEnd::kLine &&
         (equals_ignoring_case(trim(terminal.line), "y") || equals_ignoring_case(trim(terminal.line), "yes"));
}

void update_size(Display& display) {
  winsize size = {};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return;
  display.width = size.ws_col;
  display.height = size.ws_row;
}

void remember(std::string_view typed) {
  const std::string entry = history_entry(typed);
  const HIST_ENTRY* last = history_length > 0 ? history_get(history_base + history_length - 1) : nullptr;
  if (trim(entry).empty() || (last != nullptr && entry == last->line)) return;
  add_history(entry.c_str());
  if (!terminal.history.empty()) append_to_history(terminal.history, entry);
}

void run_typed(Session& session, std::string& text) {
  const StatementList list = split_statements(text);
  const Source source{"", text, 1, false};
  if (!list.statements.empty())
    remember(trim(std::string_view(text).substr(0, list.rest.empty() ? text.size() : list.rest_offset)));
  for (const StatementText& statement : list.statements) {
    session.interrupt->store(false);
    update_size(session.display);
    if (is_failure(run_statement(session, source, statement)) || session.quit) {
      session.interrupt->store(false);
      text.clear();
      return;
    }
  }
  session.interrupt->store(false);
  text = std::string(list.rest.empty() ? std::string_view() : std::string_view(text).substr(list.rest_offset));
}

void start_readline() {
  rl_readline_name = "berth";
  rl_catch_signals = 0;
  rl_change_environment = 0;
  rl_initialize();
  rl_bind_key('\t', complete_typed);
  // Standard output is for data alone.
  if (isatty(STDOUT_FILENO) == 0) rl_outstream = stderr;
}

// Each statement is appended as it is typed, so that several shells share one file.
void start_history() {
  using_history();
  stifle_history(kMostHistory);
  terminal.history = history_file();
  if (terminal.history.empty()) return;
  history_truncate_file(terminal.history.c_str(), kMostHistory);
  read_history(terminal.history.c_str());
  for (int i = 0; i < history_length; ++i) {
    const HIST_ENTRY* entry = history_get(history_base + i);
    if (entry != nullptr && std::strchr(entry->line, '\r') != nullptr)
      free_history_entry(replace_history_entry(i, entry_of_line(entry->line).c_str(), nullptr));
  }
}

}  // namespace

void run_terminal(Session& session) {
  terminal.session = &session;
  session.confirm = ask;
  start_readline();
  start_history();
  while (!session.quit) {
    terminal.completes = true;
    switch (read_line(terminal.pending.empty() ? kPrompt : kMorePrompt)) {
      case LineEnd::kLine:
        terminal.pending += terminal.line + "\n";
        run_typed(session, terminal.pending);
        break;
      case LineEnd::kInterrupted: terminal.pending.clear(); break;
      case LineEnd::kEndOfInput:
        std::fputs("\n", rl_outstream);
        session.quit = true;
        break;
    }
  }
}

}  // namespace berth
