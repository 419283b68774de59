#include "shell/error_report.h"

#include <algorithm>

#include "shell/lexer.h"
#include "shell/unicode.h"

namespace berth {

namespace {

constexpr int kMostColumns = 100;  // of the quoted line; longer ones are cut around the word

std::string one_line(std::string_view text) {
  std::string line(text);
  std::replace(line.begin(), line.end(), '\t', ' ');
  return escape_controls(line);
}

struct QuotedLine {
  std::string before;
  std::string word;
  std::string after;
};

QuotedLine quote_line(std::string_view text, Span span) {
  const std::size_t at = std::min(span.offset, text.size());
  const std::size_t newline_before = at == 0 ? std::string_view::npos : text.rfind('\n', at - 1);
  const std::size_t begin = newline_before == std::string_view::npos ? 0 : newline_before + 1;
  const std::size_t end = std::min(text.find('\n', at), text.size());
  const std::size_t word_end = std::min(at + span.length, end);
  return {one_line(text.substr(begin, at - begin)), one_line(text.substr(at, word_end - at)),
          one_line(text.substr(word_end, end - word_end))};
}

// Drops whole characters from the front until at most `width` columns remain.
std::string keep_end(const std::string& text, int width) {
  int left = display_width(text);
  if (left <= width) return text;
  std::string_view end = text;
  while (!end.empty() && left > width - 3) {
    const CodePoint point = decode_utf8(end);
    left -= point.valid ? code_point_width(point.value) : 1;
    end.remove_prefix(point.length);
  }
  return "..." + std::string(end);
}

std::string caret_lines(std::string_view text, Span span) {
  QuotedLine line = quote_line(text, span);
  line.before = keep_end(line.before, kMostColumns * 2 / 3);
  line.word = truncate_to_width(line.word, kMostColumns, false);
  const int room = std::max(0, kMostColumns - display_width(line.before) - display_width(line.word));
  line.after = truncate_to_width(line.after, room, false);
  const int marks = std::max(1, display_width(line.word));
  return "  " + line.before + line.word + line.after + "\n  " +
         std::string(static_cast<std::size_t>(display_width(line.before)), ' ') + "^" +
         std::string(static_cast<std::size_t>(marks - 1), '~') + "\n";
}

}  // namespace

std::string describe_error(const Status& status, const Source& source, std::size_t offset, bool color) {
  const std::size_t at = offset + (status.span() ? status.span()->offset : 0);
  std::string text = color ? "\x1b[1;31merror:\x1b[0m " : "error: ";
  text += escape_controls(status.message());
  const std::string line = "line " + std::to_string(source.first_line + line_of(source.text, at) - 1);
  if (!source.name.empty()) {
    text += " (" + escape_controls(source.name) + ", " + line + ")";
  } else if (source.show_line) {
    text += " (" + line + ")";
  }
  text += "\n";
  if (status.span()) text += caret_lines(source.text, {at, status.span()->length});
  if (!status.hint().empty()) text += "  " + escape_controls(status.hint()) + "\n";
  return text;
}

}  // namespace berth
