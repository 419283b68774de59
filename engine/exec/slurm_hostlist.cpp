#include "engine/exec/slurm_hostlist.h"

#include <fmt/format.h>

#include <charconv>

#include "engine/base/text.h"

namespace berth {

namespace {

Status bad_hostlist(std::string_view text, std::string_view what) {
  return Status(Code::kInvalid, fmt::format("node list '{}': {}", text, what));
}

Result<std::size_t> read_hostlist_number(std::string_view digits) {
  std::size_t value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (digits.empty() || error != std::errc() || end != digits.data() + digits.size())
    return bad_hostlist(digits, "expected a number");
  return value;
}

// "1-3,07" to {"1", "2", "3", "07"}.
Result<std::vector<std::string>> expand_numbers(std::string_view list, std::size_t most) {
  std::vector<std::string> numbers;
  for (const std::string_view range : split(list, ',')) {
    const std::size_t dash = range.find('-');
    const std::string_view low = range.substr(0, dash);
    BERTH_ASSIGN(const std::size_t first, read_hostlist_number(low));
    std::size_t last = first;
    if (dash != std::string_view::npos) {
      BERTH_ASSIGN(last, read_hostlist_number(range.substr(dash + 1)));
    }
    if (last < first) return bad_hostlist(range, "the range runs backwards");
    if (last - first >= most || numbers.size() + (last - first) >= most) return bad_hostlist(list, "too many names");
    for (std::size_t i = first; i <= last; ++i) numbers.push_back(fmt::format("{:0{}}", i, low.size()));
  }
  return numbers;
}

// One name pattern, without commas outside of brackets, appended to `names`.
Status expand_pattern(std::string_view pattern, std::size_t most, std::vector<std::string>& names) {
  std::vector<std::string> heads = {""};
  while (!pattern.empty()) {
    const std::size_t open = pattern.find('[');
    for (std::string& head : heads) head += pattern.substr(0, open);
    if (open == std::string_view::npos) break;
    const std::size_t close = pattern.find(']', open);
    if (close == std::string_view::npos) return bad_hostlist(pattern, "']' is missing");
    BERTH_ASSIGN(const std::vector<std::string> numbers,
                 expand_numbers(pattern.substr(open + 1, close - open - 1), most));
    if (heads.size() * numbers.size() + names.size() > most) return bad_hostlist(pattern, "too many names");
    std::vector<std::string> longer;
    longer.reserve(heads.size() * numbers.size());
    for (const std::string& head : heads)
      for (const std::string& number : numbers) longer.push_back(head + number);
    heads = std::move(longer);
    pattern.remove_prefix(close + 1);
  }
  names.insert(names.end(), heads.begin(), heads.end());
  return names.size() > most ? bad_hostlist(names.back(), "too many names") : Status();
}

}  // namespace

Result<std::vector<std::string>> expand_slurm_hostlist(std::string_view text, std::size_t most) {
  std::vector<std::string> names;
  text = trim(text);
  if (text.empty() || text == "(null)" || text == "None" || text == "None assigned") return names;
  std::size_t begin = 0;
  int depth = 0;
  for (std::size_t i = 0; i <= text.size(); ++i) {
    const char c = i < text.size() ? text[i] : ',';
    if (c == '[') ++depth;
    if (c == ']' && --depth < 0) return bad_hostlist(text, "']' without its '['");
    if (c != ',' || (depth > 0 && i < text.size())) continue;
    if (i == begin) return bad_hostlist(text, "an empty name");
    BERTH_TRY(expand_pattern(text.substr(begin, i - begin), most, names));
    begin = i + 1;
  }
  return names;
}

}  // namespace berth
