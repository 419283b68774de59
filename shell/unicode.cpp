#include "shell/unicode.h"

#include <algorithm>
#include <array>
#include <cstdint>

#include "engine/base/plain_text.h"

namespace berth {

namespace {

struct CodeRange {
  char32_t first;
  char32_t last;
};

// Sorted. Marks that sit on the character before them, and characters that show nothing.
constexpr std::array kZeroWidth = {
    CodeRange{0x0300, 0x036F},   CodeRange{0x0483, 0x0489},   CodeRange{0x0591, 0x05BD},   CodeRange{0x05BF, 0x05BF},
    CodeRange{0x05C1, 0x05C2},   CodeRange{0x05C4, 0x05C5},   CodeRange{0x05C7, 0x05C7},   CodeRange{0x0610, 0x061A},
    CodeRange{0x064B, 0x065F},   CodeRange{0x0670, 0x0670},   CodeRange{0x06D6, 0x06DC},   CodeRange{0x06DF, 0x06E4},
    CodeRange{0x06E7, 0x06E8},   CodeRange{0x06EA, 0x06ED},   CodeRange{0x0711, 0x0711},   CodeRange{0x0730, 0x074A},
    CodeRange{0x07A6, 0x07B0},   CodeRange{0x07EB, 0x07F3},   CodeRange{0x0816, 0x082D},   CodeRange{0x0859, 0x085B},
    CodeRange{0x08D3, 0x0902},   CodeRange{0x093A, 0x093A},   CodeRange{0x093C, 0x093C},   CodeRange{0x0941, 0x0948},
    CodeRange{0x094D, 0x094D},   CodeRange{0x0951, 0x0957},   CodeRange{0x0962, 0x0963},   CodeRange{0x0981, 0x0981},
    CodeRange{0x09BC, 0x09BC},   CodeRange{0x09C1, 0x09C4},   CodeRange{0x09CD, 0x09CD},   CodeRange{0x0A01, 0x0A02},
    CodeRange{0x0A3C, 0x0A51},   CodeRange{0x0A70, 0x0A71},   CodeRange{0x0ABC, 0x0ABC},   CodeRange{0x0AC1, 0x0AC8},
    CodeRange{0x0B3C, 0x0B3C},   CodeRange{0x0BCD, 0x0BCD},   CodeRange{0x0C3E, 0x0C40},   CodeRange{0x0CBC, 0x0CBC},
    CodeRange{0x0D4D, 0x0D4D},   CodeRange{0x0E31, 0x0E31},   CodeRange{0x0E34, 0x0E3A},   CodeRange{0x0E47, 0x0E4E},
    CodeRange{0x0EB1, 0x0EB1},   CodeRange{0x0EB4, 0x0EBC},   CodeRange{0x0EC8, 0x0ECD},   CodeRange{0x0F18, 0x0F19},
    CodeRange{0x0F71, 0x0F7E},   CodeRange{0x0F80, 0x0F84},   CodeRange{0x102D, 0x1030},   CodeRange{0x1160, 0x11FF},
    CodeRange{0x135D, 0x135F},   CodeRange{0x17B4, 0x17B5},   CodeRange{0x17B7, 0x17BD},   CodeRange{0x17C9, 0x17D3},
    CodeRange{0x180B, 0x180E},   CodeRange{0x1AB0, 0x1ACE},   CodeRange{0x1DC0, 0x1DFF},   CodeRange{0x200B, 0x200F},
    CodeRange{0x202A, 0x202E},   CodeRange{0x2060, 0x2064},   CodeRange{0x2066, 0x206F},   CodeRange{0x20D0, 0x20F0},
    CodeRange{0x2DE0, 0x2DFF},   CodeRange{0x302A, 0x302D},   CodeRange{0x3099, 0x309A},   CodeRange{0xA66F, 0xA672},
    CodeRange{0xA69E, 0xA69F},   CodeRange{0xA8E0, 0xA8F1},   CodeRange{0xFB1E, 0xFB1E},   CodeRange{0xFE00, 0xFE0F},
    CodeRange{0xFE20, 0xFE2F},   CodeRange{0xFEFF, 0xFEFF},   CodeRange{0x1D165, 0x1D169}, CodeRange{0x1F3FB, 0x1F3FF},
    CodeRange{0xE0001, 0xE007F}, CodeRange{0xE0100, 0xE01EF},
};

// Sorted. East Asian wide and full-width characters, and emoji shown as pictures.
constexpr std::array kDoubleWidth = {
    CodeRange{0x1100, 0x115F},   CodeRange{0x231A, 0x231B},   CodeRange{0x2329, 0x232A},   CodeRange{0x23E9, 0x23EC},
    CodeRange{0x23F0, 0x23F0},   CodeRange{0x23F3, 0x23F3},   CodeRange{0x25FD, 0x25FE},   CodeRange{0x2614, 0x2615},
    CodeRange{0x2648, 0x2653},   CodeRange{0x267F, 0x267F},   CodeRange{0x2693, 0x2693},   CodeRange{0x26A1, 0x26A1},
    CodeRange{0x26AA, 0x26AB},   CodeRange{0x26BD, 0x26BE},   CodeRange{0x26C4, 0x26C5},   CodeRange{0x26CE, 0x26CE},
    CodeRange{0x26D4, 0x26D4},   CodeRange{0x26EA, 0x26EA},   CodeRange{0x26F2, 0x26F3},   CodeRange{0x26F5, 0x26F5},
    CodeRange{0x26FA, 0x26FA},   CodeRange{0x26FD, 0x26FD},   CodeRange{0x2705, 0x2705},   CodeRange{0x270A, 0x270B},
    CodeRange{0x2728, 0x2728},   CodeRange{0x274C, 0x274C},   CodeRange{0x274E, 0x274E},   CodeRange{0x2753, 0x2755},
    CodeRange{0x2757, 0x2757},   CodeRange{0x2795, 0x2797},   CodeRange{0x27B0, 0x27B0},   CodeRange{0x27BF, 0x27BF},
    CodeRange{0x2B1B, 0x2B1C},   CodeRange{0x2B50, 0x2B50},   CodeRange{0x2B55, 0x2B55},   CodeRange{0x2E80, 0x303E},
    CodeRange{0x3041, 0x33FF},   CodeRange{0x3400, 0x4DBF},   CodeRange{0x4E00, 0xA4CF},   CodeRange{0xA960, 0xA97F},
    CodeRange{0xAC00, 0xD7A3},   CodeRange{0xF900, 0xFAFF},   CodeRange{0xFE10, 0xFE19},   CodeRange{0xFE30, 0xFE6F},
    CodeRange{0xFF01, 0xFF60},   CodeRange{0xFFE0, 0xFFE6},   CodeRange{0x16FE0, 0x18CFF}, CodeRange{0x1AFF0, 0x1B2FF},
    CodeRange{0x1F004, 0x1F004}, CodeRange{0x1F0CF, 0x1F0CF}, CodeRange{0x1F18E, 0x1F18E}, CodeRange{0x1F191, 0x1F19A},
    CodeRange{0x1F200, 0x1F320}, CodeRange{0x1F32D, 0x1F335}, CodeRange{0x1F337, 0x1F37C}, CodeRange{0x1F37E, 0x1F393},
    CodeRange{0x1F3A0, 0x1F3CA}, CodeRange{0x1F3CF, 0x1F3D3}, CodeRange{0x1F3E0, 0x1F3F0}, CodeRange{0x1F3F4, 0x1F3F4},
    CodeRange{0x1F3F8, 0x1F3FA}, CodeRange{0x1F400, 0x1F43E}, CodeRange{0x1F440, 0x1F440}, CodeRange{0x1F442, 0x1F4FC},
    CodeRange{0x1F4FF, 0x1F53D}, CodeRange{0x1F54B, 0x1F54E}, CodeRange{0x1F550, 0x1F567}, CodeRange{0x1F57A, 0x1F57A},
    CodeRange{0x1F595, 0x1F596}, CodeRange{0x1F5A4, 0x1F5A4}, CodeRange{0x1F5FB, 0x1F64F}, CodeRange{0x1F680, 0x1F6C5},
    CodeRange{0x1F6CC, 0x1F6CC}, CodeRange{0x1F6D0, 0x1F6D2}, CodeRange{0x1F6D5, 0x1F6D7}, CodeRange{0x1F6DD, 0x1F6DF},
    CodeRange{0x1F6EB, 0x1F6EC}, CodeRange{0x1F6F4, 0x1F6FC}, CodeRange{0x1F7E0, 0x1F7EB}, CodeRange{0x1F90C, 0x1F93A},
    CodeRange{0x1F93C, 0x1F945}, CodeRange{0x1F947, 0x1F9FF}, CodeRange{0x1FA70, 0x1FAFF}, CodeRange{0x20000, 0x3FFFD},
};

template <std::size_t kSize>
constexpr bool in_ranges(const std::array<CodeRange, kSize>& ranges, char32_t value) {
  const auto after = std::upper_bound(ranges.begin(), ranges.end(), value,
                                      [](char32_t wanted, const CodeRange& range) { return wanted < range.first; });
  return after != ranges.begin() && value <= std::prev(after)->last;
}

bool is_control(char32_t value) { return value < 0x20 || (value >= 0x7F && value < 0xA0); }

std::string hexadecimal(std::uint32_t value, int digits) {
  std::string text;
  for (int shift = 4 * (digits - 1); shift >= 0; shift -= 4) text += "0123456789abcdef"[(value >> shift) & 15U];
  return text;
}

std::string escaped_control(char32_t value) {
  switch (value) {
    case '\n': return "\\n";
    case '\t': return "\\t";
    case '\r': return "\\r";
    default: return "\\x" + hexadecimal(static_cast<std::uint32_t>(value), 2);
  }
}

std::string blanks(int count) { return std::string(static_cast<std::size_t>(std::max(0, count)), ' '); }

// The bytes of the longest beginning that takes at most `width` columns, marks on its last character included.
std::size_t bytes_within(std::string_view text, int width) {
  std::size_t i = 0;
  int used = 0;
  while (i < text.size()) {
    const CodePoint point = decode_utf8(text.substr(i));
    const int columns = point.valid ? code_point_width(point.value) : 1;
    if (used + columns > width) break;
    used += columns;
    i += point.length;
  }
  return i;
}

}  // namespace

CodePoint decode_utf8(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<std::uint32_t>(static_cast<unsigned char>(text[i])); };
  const std::size_t length = utf8_length(text);
  if (length <= 1) return {byte(0), 1, length == 1};
  std::uint32_t value = byte(0) & (0xFFU >> (length + 1));
  for (std::size_t i = 1; i < length; ++i) value = (value << 6) | (byte(i) & 0x3FU);
  return {value, length, true};
}

void append_utf8(std::string& text, char32_t value) {
  const auto put = [&text](std::uint32_t byte) { text.push_back(static_cast<char>(byte)); };
  const auto code = static_cast<std::uint32_t>(value);
  if (code < 0x80) {
    put(code);
  } else if (code < 0x800) {
    put(0xC0 | (code >> 6));
    put(0x80 | (code & 0x3F));
  } else if (code < 0x10000) {
    put(0xE0 | (code >> 12));
    put(0x80 | ((code >> 6) & 0x3F));
    put(0x80 | (code & 0x3F));
  } else {
    put(0xF0 | (code >> 18));
    put(0x80 | ((code >> 12) & 0x3F));
    put(0x80 | ((code >> 6) & 0x3F));
    put(0x80 | (code & 0x3F));
  }
}

int code_point_width(char32_t value) {
  if (value < 0x300) return is_control(value) || value == 0xAD ? 0 : 1;
  if (in_ranges(kZeroWidth, value)) return 0;
  return in_ranges(kDoubleWidth, value) ? 2 : 1;
}

int display_width(std::string_view text) {
  int width = 0;
  while (!text.empty()) {
    const CodePoint point = decode_utf8(text);
    width += point.valid ? code_point_width(point.value) : 1;
    text.remove_prefix(point.length);
  }
  return width;
}

std::string escape_controls(std::string_view text) {
  std::string safe;
  safe.reserve(text.size());
  while (!text.empty()) {
    const CodePoint point = decode_utf8(text);
    if (!point.valid || is_control(point.value)) {
      safe += escaped_control(point.value);
    } else if (is_unseen(point.value)) {
      safe += "\\u" + hexadecimal(static_cast<std::uint32_t>(point.value), 4);
    } else {
      safe += text.substr(0, point.length);
    }
    text.remove_prefix(point.length);
  }
  return safe;
}

std::string escape_controls_in_lines(std::string_view text) {
  std::string safe;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find_first_of("\n\r\t", begin), text.size());
    safe += escape_controls(text.substr(begin, end - begin));
    // A carriage return alone begins a line anew, as progress bars do.
    const bool is_line_end = end < text.size() && text[end] == '\r';
    if (end < text.size()) safe += is_line_end ? '\n' : text[end];
    begin = end + (text.substr(end, 2) == "\r\n" ? 2 : 1);
  }
  return safe;
}

std::string truncate_to_width(std::string_view text, int width, bool unicode) {
  if (display_width(text) <= width) return std::string(text);
  const std::string_view ellipsis = unicode ? "…" : "...";
  const int room = width - display_width(ellipsis);
  if (room < 0) return std::string(text.substr(0, bytes_within(text, std::max(0, width))));
  return std::string(text.substr(0, bytes_within(text, room))) + std::string(ellipsis);
}

std::string pad_right(std::string_view text, int width) {
  return std::string(text) + blanks(width - display_width(text));
}
std::string pad_left(std::string_view text, int width) {
  return blanks(width - display_width(text)) + std::string(text);
}

std::vector<std::string> wrap_text(std::string_view text, int width) {
  std::vector<std::string> lines;
  width = std::max(width, 2);
  // Of each line looked for once: one may fill many rows.
  std::size_t end = std::min(text.find('\n'), text.size());
  const auto drop = [&](std::size_t bytes) {
    text.remove_prefix(bytes);
    end -= bytes;
  };
  while (!text.empty()) {
    std::size_t cut = bytes_within(text.substr(0, end), width);
    if (cut < end) {
      const std::size_t blank = text.rfind(' ', cut);
      if (blank != std::string_view::npos && blank > 0) cut = blank;
    }
    std::string_view line = text.substr(0, cut);
    while (!line.empty() && line.back() == ' ') line.remove_suffix(1);
    lines.emplace_back(line);
    const bool is_line_end = cut == end;
    drop(cut);
    if (is_line_end) {
      if (!text.empty()) text.remove_prefix(1);
      end = std::min(text.find('\n'), text.size());
    }
    while (!text.empty() && text.front() == ' ') drop(1);
  }
  if (lines.empty()) lines.emplace_back();
  return lines;
}

}  // namespace berth
