#include "engine/base/plain_text.h"

namespace berth {

namespace {

// The character that the text begins with, which is `length` bytes of UTF-8.
char32_t character_at(std::string_view text, std::size_t length) {
  constexpr unsigned kFirstBits[] = {0, 0x7f, 0x1f, 0x0f, 0x07};
  char32_t character = static_cast<unsigned char>(text[0]) & kFirstBits[length];
  for (std::size_t i = 1; i < length; ++i) character = character << 6 | (static_cast<unsigned char>(text[i]) & 0x3f);
  return character;
}

}  // namespace

std::size_t utf8_length(std::string_view text) {
  const auto byte = [&](std::size_t at) { return at < text.size() ? static_cast<unsigned char>(text[at]) : 0u; };
  const unsigned first = byte(0);
  if (first < 0x80) return text.empty() ? 0 : 1;
  if (first < 0xc2 || first > 0xf4) return 0;
  const unsigned least = first == 0xe0 ? 0xa0 : first == 0xf0 ? 0x90 : 0x80;
  const unsigned most = first == 0xed ? 0x9f : first == 0xf4 ? 0x8f : 0xbf;
  if (byte(1) < least || byte(1) > most) return 0;
  const std::size_t length = first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
  for (std::size_t at = 2; at < length; ++at) {
    if ((byte(at) & 0xc0) != 0x80) return 0;
  }
  return length;
}

bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    const std::size_t length = utf8_length(text);
    if (length == 0) return false;
    text.remove_prefix(length);
  }
  return true;
}

bool turns_direction(char32_t character) {
  return character == 0x061C || character == 0x200E || character == 0x200F || character == 0x2028 ||
         character == 0x2029 || (character >= 0x202A && character <= 0x202E) ||
         (character >= 0x2066 && character <= 0x2069);
}

bool is_unseen(char32_t character) {
  const bool is_control = character < 0x20 || (character >= 0x7F && character <= 0x9F);
  const bool has_no_width = (character >= 0x200B && character <= 0x200F) ||
                            (character >= 0x2060 && character <= 0x2064) || character == 0xFEFF;
  return is_control || has_no_width || turns_direction(character);
}

bool has_unseen(std::string_view text) {
  while (!text.empty()) {
    const std::size_t length = utf8_length(text);
    if (length > 0 && is_unseen(character_at(text, length))) return true;
    text.remove_prefix(length == 0 ? 1 : length);
  }
  return false;
}

std::string_view without_byte_order_mark(std::string_view text) {
  constexpr std::string_view kMark = "\xEF\xBB\xBF";
  if (text.starts_with(kMark)) text.remove_prefix(kMark.size());
  return text;
}

std::string plain_line(std::string_view text, std::size_t most) {
  constexpr std::string_view kCut = "...";
  std::string line;
  std::size_t fits = 0;  // how much of it leaves room for the mark
  while (!text.empty()) {
    const std::size_t length = utf8_length(text);
    const char first = text.front();
    if (line.size() <= most - kCut.size()) fits = line.size();
    if (length > 1 && is_unseen(character_at(text, length))) {
      line += '?';
    } else if (length > 1) {
      line += text.substr(0, length);
    } else if (first == '\n' || first == '\t' || first == '\r') {
      line += ' ';
    } else {
      line += length == 0 || static_cast<unsigned char>(first) < 32 || first == 127 ? '?' : first;
    }
    if (line.size() > most) return line.substr(0, fits).append(kCut);
    text.remove_prefix(length == 0 ? 1 : length);
  }
  return line;
}

}  // namespace berth
