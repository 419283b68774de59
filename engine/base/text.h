// Reading and printing amounts, and helping with misspelt names.
//
// Text goes to integers directly, never through double: "0.5" GPU is 500, "0.0005" is an error, not 0. Every reader
// takes the whole text or fails with what it expected.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "engine/base/status.h"
#include "engine/base/units.h"

namespace berth {

// A decimal number times `scale`, exact: ("1.5", 1000) = 1500. Not negative unless `allow_negative`.
Result<std::int64_t> read_scaled(std::string_view text, std::int64_t scale, bool allow_negative = false);
Result<std::int64_t> read_integer(std::string_view text);

Result<MilliGpu> read_gpu(std::string_view text);      // "2", "0.5", "500m" (milli), "1/4"
Result<MilliCpu> read_cpu(std::string_view text);      // "8" cores, "0.5", "500m"
Result<MiB> read_memory(std::string_view text);        // "40GiB", "512MiB", "2TiB", "40G" (= GiB), "1024" (MiB)
Result<Seconds> read_duration(std::string_view text);  // "90m", "2h", "1d12h", "45s", "30" (seconds)
Result<Seconds> read_time(
    std::string_view text);  // "2026-12-01", "2026-12-01 08:00[:00]", "...T08:00:00Z", Unix seconds

std::string print_gpu(MilliGpu amount);       // "2", "0.5"
std::string print_cpu(MilliCpu amount);       // "8", "0.5"
std::string print_memory(MiB amount);         // "40GiB", "1.5GiB", "512MiB": exact, reads back to the same amount
std::string print_duration(Seconds amount);   // "1h 30m", "45s", "2d 4h"
std::string print_time(Seconds moment);       // "2026-12-01 08:00:00" UTC
std::string print_count(std::int64_t value);  // "1,213"
std::string print_counted(std::int64_t count, std::string_view noun);  // "1 node", "64 nodes", "2 classes", "3 entries"

// Case-insensitive edit distance with transpositions counted once.
std::size_t edit_distance(std::string_view a, std::string_view b);
// The name nearest to `word`, if it is near enough to be a likely slip (about a third of its letters); otherwise the
// shortest of several words (a_b_c) of which `word` is one; otherwise empty.
std::string nearest_name(std::string_view word, const std::vector<std::string>& names);
// "did you mean 'train'?" or empty.
std::string suggest(std::string_view word, const std::vector<std::string>& names);

bool equals_ignoring_case(std::string_view a, std::string_view b);
std::string to_lower(std::string_view text);
std::string to_upper(std::string_view text);
std::string_view trim(std::string_view text);
std::vector<std::string_view> split(std::string_view text, char separator);
std::string join(const std::vector<std::string>& parts, std::string_view separator);
// "a, b and 3 more"; all of them when there are at most `most`.
std::string join_some(const std::vector<std::string>& names, std::size_t most);

// "train[001-064]" to 64 names, "a,b[1-3]" to four; a plain name is itself. At most `most` names.
Result<std::vector<std::string>> expand_range(std::string_view pattern, std::size_t most = 200000);

// Device sets as text: bit mask 0b1011 is "0-1,3"; empty mask is "".
std::string print_device_mask(std::uint64_t mask);
Result<std::uint64_t> read_device_mask(std::string_view text);

}  // namespace berth
