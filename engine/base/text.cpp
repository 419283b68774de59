#include "engine/base/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <chrono>
#include <limits>

namespace berth {

namespace {

constexpr std::int64_t kMostInteger = std::numeric_limits<std::int64_t>::max();
// Moments of the years 0 to 9999, which can be printed.
constexpr std::int64_t kFirstMoment = -62167219200;
constexpr std::int64_t kLastMoment = 253402300799;

bool is_digit(char c) { return c >= '0' && c <= '9'; }

Status not_a(std::string_view text, std::string_view expected) {
  return Status(Code::kInvalid, fmt::format("'{}' is not {}", text, expected));
}

struct Unit {
  std::string_view name;
  std::int64_t scale;
};

// Splits "40GiB" into the number and the unit; the unit may be missing.
std::pair<std::string_view, std::string_view> split_unit(std::string_view text) {
  std::size_t end = 0;
  while (end < text.size() && (is_digit(text[end]) || text[end] == '.' || (end == 0 && text[end] == '-'))) ++end;
  return {text.substr(0, end), trim(text.substr(end))};
}

Result<std::int64_t> read_with_unit(std::string_view text, std::initializer_list<Unit> units, std::int64_t plain_scale,
                                    std::string_view expected) {
  const auto [number, unit] = split_unit(trim(text));
  if (number.empty()) return not_a(text, expected);
  std::int64_t scale = plain_scale;
  if (!unit.empty()) {
    const auto* found = std::find_if(units.begin(), units.end(), [u = unit](const Unit& candidate) {
      return equals_ignoring_case(candidate.name, u);
    });
    if (found == units.end()) return not_a(text, expected);
    scale = found->scale;
  }
  Result<std::int64_t> value = read_scaled(number, scale);
  if (!value.ok()) return not_a(text, expected);
  return value;
}

}  // namespace

Result<std::int64_t> read_scaled(std::string_view text, std::int64_t scale, bool allow_negative) {
  const std::string_view whole_text = text;
  const bool negative = !text.empty() && text.front() == '-';
  if (negative) text.remove_prefix(1);
  if (negative && !allow_negative) return not_a(whole_text, "a number of at least 0");
  std::int64_t value = 0;
  std::size_t digits = 0;
  std::size_t i = 0;
  for (; i < text.size() && is_digit(text[i]); ++i, ++digits) {
    if (value > (kMostInteger - 9) / 10) return not_a(whole_text, "a number in range");
    value = value * 10 + (text[i] - '0');
  }
  if (value > kMostInteger / scale) return not_a(whole_text, "a number in range");
  value *= scale;
  if (i < text.size() && text[i] == '.') {
    std::int64_t numerator = 0;
    std::int64_t denominator = 1;
    std::string_view fraction = text.substr(i + 1);
    digits += fraction.size();
    i = text.size();
    while (!fraction.empty() && fraction.back() == '0') fraction.remove_suffix(1);
    for (const char c : fraction) {
      if (!is_digit(c)) return not_a(whole_text, "a number");
      if (denominator > 100000000) return not_a(whole_text, "a number with at most 9 decimals");
      numerator = numerator * 10 + (c - '0');
      denominator *= 10;
    }
    if (numerator * scale % denominator != 0) return not_a(whole_text, "a whole amount of the smallest unit");
    const std::int64_t part = numerator * scale / denominator;
    if (value > kMostInteger - part) return not_a(whole_text, "a number in range");
    value += part;
  }
  if (digits == 0 || i != text.size()) return not_a(whole_text, "a number");
  return negative ? -value : value;
}

Result<std::int64_t> read_integer(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || text.empty()) return not_a(text, "a whole number");
  return value;
}

Result<MilliGpu> read_gpu(std::string_view text) {
  constexpr std::string_view kExpected = "an amount of GPU such as 2, 0.5, 1/4 or 500m";
  if (const std::size_t slash = text.find('/'); slash != std::string_view::npos) {
    const Result<std::int64_t> top = read_integer(trim(text.substr(0, slash)));
    const Result<std::int64_t> bottom = read_integer(trim(text.substr(slash + 1)));
    if (!top.ok() || !bottom.ok() || *top < 0 || *bottom <= 0 || *top > 1000000) return not_a(text, kExpected);
    if (*top * 1000 % *bottom != 0) return not_a(text, "a whole number of thousandths of a GPU");
    return MilliGpu(*top * 1000 / *bottom);
  }
  BERTH_ASSIGN(const std::int64_t milli, read_with_unit(text, {{"m", 1}}, 1000, kExpected));
  return MilliGpu(milli);
}

Result<MilliCpu> read_cpu(std::string_view text) {
  BERTH_ASSIGN(const std::int64_t milli,
               read_with_unit(text, {{"m", 1}}, 1000, "a number of CPU cores such as 8, 0.5 or 500m"));
  return MilliCpu(milli);
}

Result<MiB> read_memory(std::string_view text) {
  constexpr std::int64_t kGi = 1024;
  const std::string_view unit = split_unit(trim(text)).second;
  for (const std::string_view decimal : {"MB", "GB", "TB"}) {
    if (!equals_ignoring_case(unit, decimal)) continue;
    return Status(Code::kInvalid, fmt::format("'{}' is not a whole number of MiB: {} counts in thousands", text, unit),
                  fmt::format("write {0}iB, which counts in 1024s: 40{0}iB", decimal.front()));
  }
  BERTH_ASSIGN(const std::int64_t mib, read_with_unit(text,
                                                      {{"MiB", 1},
                                                       {"M", 1},
                                                       {"Mi", 1},
                                                       {"GiB", kGi},
                                                       {"G", kGi},
                                                       {"Gi", kGi},
                                                       {"TiB", kGi * kGi},
                                                       {"T", kGi * kGi},
                                                       {"Ti", kGi * kGi}},
                                                      1, "an amount of memory such as 40GiB, 512MiB or 2TiB"));
  return MiB(mib);
}

Result<Seconds> read_duration(std::string_view text) {
  constexpr std::string_view kExpected = "a duration such as 90m, 2h, 1d12h or 45s";
  std::string_view rest = trim(text);
  if (rest.empty()) return not_a(text, kExpected);
  std::int64_t total = 0;
  while (!rest.empty()) {
    std::size_t end = 0;
    while (end < rest.size() && (is_digit(rest[end]) || rest[end] == '.')) ++end;
    std::size_t unit_end = end;
    while (unit_end < rest.size() && std::isalpha(static_cast<unsigned char>(rest[unit_end])) != 0) ++unit_end;
    if (end == 0) return not_a(text, kExpected);
    const Result<std::int64_t> part =
        read_with_unit(rest.substr(0, unit_end),
                       {{"s", 1}, {"m", 60}, {"min", 60}, {"h", 3600}, {"d", 86400}, {"w", 604800}}, 1, kExpected);
    if (!part.ok() || *part > kMostInteger - total) return not_a(text, kExpected);
    total += *part;
    rest = trim(rest.substr(unit_end));
  }
  return Seconds(total);
}

Result<Seconds> read_time(std::string_view text) {
  constexpr std::string_view kExpected = "a moment such as '2026-12-01 08:00' (UTC) or Unix seconds";
  text = trim(text);
  const std::string_view original = text;
  if (const Result<std::int64_t> unix_time = read_integer(text); unix_time.ok()) {
    if (*unix_time < kFirstMoment || *unix_time > kLastMoment) return not_a(original, kExpected);
    return Seconds(*unix_time);
  }
  std::array<int, 6> fields{};  // year month day hour minute second
  constexpr std::string_view kLayout = "0000-00-00 00:00:00";
  if (!text.empty() && (text.back() == 'Z' || text.back() == 'z')) text.remove_suffix(1);
  if (text.size() != 10 && text.size() != 16 && text.size() != 19) return not_a(original, kExpected);
  std::size_t field = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (kLayout[i] == '0') {
      if (!is_digit(text[i])) return not_a(original, kExpected);
      fields[field] = fields[field] * 10 + (text[i] - '0');
    } else {
      if (text[i] != kLayout[i] && !(i == 10 && text[i] == 'T')) return not_a(original, kExpected);
      ++field;
    }
  }
  using namespace std::chrono;
  const year_month_day date{year(fields[0]), month(static_cast<unsigned>(fields[1])),
                            day(static_cast<unsigned>(fields[2]))};
  if (!date.ok() || fields[3] > 23 || fields[4] > 59 || fields[5] > 59) return not_a(original, kExpected);
  const auto moment = sys_days(date) + hours(fields[3]) + minutes(fields[4]) + seconds(fields[5]);
  return Seconds(duration_cast<seconds>(moment.time_since_epoch()).count());
}

namespace {

// value / 10^decimals with trailing zeros dropped.
std::string print_decimal(std::int64_t value, int decimals) {
  std::int64_t scale = 1;
  for (int i = 0; i < decimals; ++i) scale *= 10;
  const bool negative = value < 0;
  const std::uint64_t magnitude = negative ? 0 - static_cast<std::uint64_t>(value) : static_cast<std::uint64_t>(value);
  const std::uint64_t divisor = static_cast<std::uint64_t>(scale);
  std::string text = fmt::format("{}{}", negative ? "-" : "", magnitude / divisor);
  if (magnitude % divisor != 0) {
    std::string fraction = fmt::format("{:0{}}", magnitude % divisor, decimals);
    fraction.erase(fraction.find_last_not_of('0') + 1);
    text += "." + fraction;
  }
  return text;
}

}  // namespace

std::string print_gpu(MilliGpu amount) { return print_decimal(amount.value(), 3); }
std::string print_cpu(MilliCpu amount) { return print_decimal(amount.value(), 3); }

std::string print_memory(MiB amount) {
  constexpr std::int64_t kGi = 1024;
  const std::int64_t value = amount.value();
  for (const Unit unit : {Unit{"TiB", kGi * kGi}, Unit{"GiB", kGi}}) {
    // Quarters are exact in two decimals; anything finer is printed in the next smaller unit.
    if (value >= unit.scale && value % (unit.scale / 4) == 0) {
      return print_decimal(value / (unit.scale / 4) * 25, 2) + std::string(unit.name);
    }
  }
  return fmt::format("{}MiB", value);
}

std::string print_duration(Seconds amount) {
  std::int64_t rest = amount.value();
  const std::string sign = rest < 0 ? "-" : "";
  if (rest < 0) rest = -rest;
  std::string text;
  int parts = 0;
  for (const Unit unit : {Unit{"d", 86400}, Unit{"h", 3600}, Unit{"m", 60}, Unit{"s", 1}}) {
    const std::int64_t count = rest / unit.scale;
    rest %= unit.scale;
    if (count == 0 || parts == 2) continue;
    text += fmt::format("{}{}{}", parts == 0 ? "" : " ", count, unit.name);
    ++parts;
  }
  return text.empty() ? "0s" : sign + text;
}

std::string print_time(Seconds moment) {
  using namespace std::chrono;
  const sys_seconds point{seconds(moment.value())};
  const sys_days days = floor<std::chrono::days>(point);
  const year_month_day date{days};
  const hh_mm_ss time{point - days};
  return fmt::format("{:04}-{:02}-{:02} {:02}:{:02}:{:02}", static_cast<int>(date.year()),
                     static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()), time.hours().count(),
                     time.minutes().count(), time.seconds().count());
}

std::string print_count(std::int64_t value) {
  std::string digits = fmt::format("{}", value);
  const std::size_t first = value < 0 ? 1 : 0;
  for (std::size_t i = digits.size(); i > first + 3; i -= 3)
    digits.insert(i - 3, 1, ',');  // GCC 12 warns wrongly about insert of text
  return digits;
}

std::string print_counted(std::int64_t count, std::string_view noun) {
  if (count == 1) return fmt::format("{} {}", print_count(count), noun);
  const bool is_of_vowel = noun.size() > 1 && std::string_view("aeiou").find(noun[noun.size() - 2]) != noun.npos;
  if (noun.ends_with("y") && !is_of_vowel)
    return fmt::format("{} {}ies", print_count(count), noun.substr(0, noun.size() - 1));
  return fmt::format("{} {}{}", print_count(count), noun, noun.ends_with("s") ? "es" : "s");
}

std::size_t edit_distance(std::string_view a, std::string_view b) {
  const std::string x = to_lower(a);
  const std::string y = to_lower(b);
  std::vector<std::size_t> before_last(y.size() + 1);
  std::vector<std::size_t> last(y.size() + 1);
  std::vector<std::size_t> row(y.size() + 1);
  for (std::size_t j = 0; j <= y.size(); ++j) last[j] = j;
  for (std::size_t i = 1; i <= x.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= y.size(); ++j) {
      const std::size_t replace = last[j - 1] + (x[i - 1] == y[j - 1] ? 0 : 1);
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, replace});
      if (i > 1 && j > 1 && x[i - 1] == y[j - 2] && x[i - 2] == y[j - 1])
        row[j] = std::min(row[j], before_last[j - 2] + 1);
    }
    std::swap(before_last, last);
    std::swap(last, row);
  }
  return last[y.size()];
}

std::string nearest_name(std::string_view word, const std::vector<std::string>& names) {
  // The distance takes the product of both lengths; nobody mistypes a text as long as this.
  constexpr std::size_t kLongestWord = 256;
  std::string best;
  if (word.size() > kLongestWord) return best;
  std::size_t best_distance = std::max<std::size_t>(1, word.size() / 3) + 1;
  for (const std::string& name : names) {
    if (name.size() > word.size() + best_distance || word.size() > name.size() + best_distance) continue;
    const std::size_t distance = edit_distance(word, name);
    // As far as the longer one is long: nothing of it is in the other.
    if (distance < best_distance && distance < std::max(word.size(), name.size())) {
      best_distance = distance;
      best = name;
    }
  }
  if (!best.empty()) return best;
  for (const std::string& name : names) {
    const auto is_the_word = [&](std::string_view part) { return equals_ignoring_case(part, word); };
    if ((best.empty() || name.size() < best.size()) && std::ranges::any_of(split(name, '_'), is_the_word)) best = name;
  }
  return best;
}

std::string suggest(std::string_view word, const std::vector<std::string>& names) {
  const std::string name = nearest_name(word, names);
  return name.empty() ? std::string() : fmt::format("did you mean '{}'?", name);
}

bool equals_ignoring_case(std::string_view a, std::string_view b) {
  return a.size() == b.size() && std::equal(a.begin(), a.end(), b.begin(), [](char x, char y) {
           return std::tolower(static_cast<unsigned char>(x)) == std::tolower(static_cast<unsigned char>(y));
         });
}

std::string to_lower(std::string_view text) {
  std::string result(text);
  std::transform(result.begin(), result.end(), result.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return result;
}

std::string to_upper(std::string_view text) {
  std::string result(text);
  std::transform(result.begin(), result.end(), result.begin(),
                 [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  return result;
}

std::string_view trim(std::string_view text) {
  constexpr std::string_view kBlank = " \t\r\n";
  const std::size_t first = text.find_first_not_of(kBlank);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kBlank) - first + 1);
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  std::size_t start = 0;
  while (true) {
    const std::size_t end = text.find(separator, start);
    parts.push_back(text.substr(start, end - start));
    if (end == std::string_view::npos) return parts;
    start = end + 1;
  }
}

std::string join(const std::vector<std::string>& parts, std::string_view separator) {
  return fmt::format("{}", fmt::join(parts, separator));
}

std::string join_some(const std::vector<std::string>& names, std::size_t most) {
  if (names.size() <= most) return join(names, ", ");
  const std::vector<std::string> first(names.begin(), names.begin() + static_cast<std::ptrdiff_t>(most));
  return fmt::format("{} and {} more", join(first, ", "), names.size() - most);
}

namespace {

// With two numbers in each they are about as many names as one list may have.
constexpr int kMostRanges = 17;

// One element of a range list, appended to `names`: "rack1-[01-16]-n[1-4]" expands every bracket.
Status expand_element(std::string_view pattern, std::size_t most, std::vector<std::string>& names) {
  const std::size_t open = pattern.find('[');
  if (open == std::string_view::npos) {
    if (pattern.empty() || pattern.find(']') != std::string_view::npos)
      return not_a(pattern, "a name or a range such as train[001-064]");
    if (names.size() >= most)
      return Status(Code::kInvalid,
                    fmt::format("more than {} names in one range", print_count(static_cast<std::int64_t>(most))));
    names.emplace_back(pattern);
    return {};
  }
  const std::size_t close = pattern.find(']', open);
  if (close == std::string_view::npos)
    return Status(Code::kInvalid, fmt::format("'{}' has a '[' without ']'", pattern));
  for (const std::string_view item : split(pattern.substr(open + 1, close - open - 1), ',')) {
    const std::size_t dash = item.find('-');
    const std::string_view low_text = trim(item.substr(0, dash));
    const std::string_view high_text = dash == std::string_view::npos ? low_text : trim(item.substr(dash + 1));
    const Result<std::int64_t> low = read_integer(low_text);
    const Result<std::int64_t> high = read_integer(high_text);
    if (!low.ok() || !high.ok() || *low < 0 || *high < *low) {
      return Status(Code::kInvalid, fmt::format("'[{}]' is not a range of numbers such as [001-064]", item));
    }
    for (std::int64_t number = *low; number <= *high; ++number) {
      const std::string digits = fmt::format("{:0{}}", number, low_text.size());
      BERTH_TRY(expand_element(fmt::format("{}{}{}", pattern.substr(0, open), digits, pattern.substr(close + 1)), most,
                               names));
    }
  }
  return {};
}

}  // namespace

Result<std::vector<std::string>> expand_range(std::string_view pattern, std::size_t most) {
  std::vector<std::string> names;
  int depth = 0;
  std::size_t start = 0;
  int ranges = 0;  // of one element
  for (std::size_t i = 0; i <= pattern.size(); ++i) {
    if (i < pattern.size() && pattern[i] == '[') {
      ++depth;
      if (++ranges > kMostRanges)
        return Status(Code::kInvalid, fmt::format("more than {} ranges in one name", kMostRanges));
    }
    if (i < pattern.size() && pattern[i] == ']') --depth;
    if (i == pattern.size() || (pattern[i] == ',' && depth == 0)) {
      BERTH_TRY(expand_element(trim(pattern.substr(start, i - start)), most, names));
      start = i + 1;
      ranges = 0;
    }
  }
  return names;
}

std::string print_device_mask(std::uint64_t mask) {
  std::string text;
  for (int first = 0; first < 64; ++first) {
    if (((mask >> first) & 1) == 0) continue;
    int last = first;
    while (last + 1 < 64 && ((mask >> (last + 1)) & 1) != 0) ++last;
    if (!text.empty()) text += ",";
    text += first == last ? fmt::format("{}", first) : fmt::format("{}-{}", first, last);
    first = last;
  }
  return text;
}

Result<std::uint64_t> read_device_mask(std::string_view text) {
  std::uint64_t mask = 0;
  if (trim(text).empty()) return mask;
  for (const std::string_view item : split(text, ',')) {
    const std::size_t dash = item.find('-');
    const Result<std::int64_t> first = read_integer(trim(item.substr(0, dash)));
    const Result<std::int64_t> last =
        dash == std::string_view::npos ? first : read_integer(trim(item.substr(dash + 1)));
    if (!first.ok() || !last.ok() || *first < 0 || *last < *first || *last > 63)
      return not_a(text, "a set of devices such as 0-3,5");
    for (std::int64_t i = *first; i <= *last; ++i) mask |= std::uint64_t{1} << i;
  }
  return mask;
}

}  // namespace berth
