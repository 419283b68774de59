// Values to compact bytes and back, by one description for both directions.
//
// A struct says what it is made of once - `template <class A> void fields(A& a, Thing& x) { a(x.id, x.name); }`, taking
// const Things, too - and both archives follow it, so what is written and what is read cannot drift apart. Integers are
// varints (zigzag where they may be negative), doubles their eight bytes, low byte first. A reader that runs out of
// bytes or meets a value that its type cannot hold stays failed and yields nothing more.
#pragma once

#include <bit>
#include <concepts>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <type_traits>

#include "engine/base/units.h"

namespace berth {

// The highest value of an enum that is written: `template <> inline constexpr Enum kLastOf<Enum> = Enum::kThat;`
template <class Enum>
inline constexpr Enum kLastOf = Enum::must_be_specialised;

template <class T>
concept Sequence = requires(T list) {
  list.resize(1);
  list.begin();
}
&&!std::same_as<std::remove_cv_t<T>, std::string>;

class ByteWriter {
 public:
  template <class... Values>
  void operator()(const Values&... values) {
    (put(values), ...);
  }
  void reserve(std::size_t bytes) { bytes_.reserve(bytes); }
  const std::string& bytes() const { return bytes_; }
  std::string take() { return std::move(bytes_); }

  // One byte where it is as a new T is.
  template <class T>
  void sparse(const T& value) {
    const bool is_plain = value == T();
    put(is_plain);
    if (!is_plain) put(value);
  }

  void put_varint(std::uint64_t value) {
    char bytes[10];
    std::size_t size = 0;
    for (; value >= 0x80; value >>= 7) bytes[size++] = static_cast<char>((value & 0x7F) | 0x80);
    bytes[size++] = static_cast<char>(value);
    bytes_.append(bytes, size);
  }

 private:
  template <class T>
  void put(const T& value) {
    if constexpr (std::is_enum_v<T>) {
      put_varint(static_cast<std::uint64_t>(value));
    } else if constexpr (std::signed_integral<T>) {
      const auto wide = static_cast<std::int64_t>(value);
      put_varint((static_cast<std::uint64_t>(wide) << 1) ^ static_cast<std::uint64_t>(wide >> 63));
    } else if constexpr (std::unsigned_integral<T>) {
      put_varint(value);
    } else if constexpr (std::same_as<T, double>) {
      const auto bits = std::bit_cast<std::uint64_t>(value);
      for (int shift = 0; shift < 64; shift += 8) bytes_ += static_cast<char>((bits >> shift) & 0xFF);
    } else if constexpr (std::same_as<T, std::string>) {
      put_varint(value.size());
      bytes_ += value;
    } else if constexpr (requires { value.value(); }) {
      put(value.value());
    } else if constexpr (Sequence<T>) {
      put_varint(value.size());
      for (const auto& each : value) put(each);
    } else {
      fields(*this, value);
    }
  }
  std::string bytes_;
};

class ByteReader {
 public:
  explicit ByteReader(std::string_view bytes) : bytes_(bytes) {}

  template <class... Values>
  void operator()(Values&... values) {
    (get(values), ...);
  }
  bool ok() const { return ok_; }
  bool at_end() const { return bytes_.empty(); }

  template <class T>
  void sparse(T& value) {
    bool is_plain = false;
    get(is_plain);
    value = T();
    if (!is_plain) get(value);
  }

  std::uint64_t get_varint() {
    std::uint64_t value = 0;
    for (int shift = 0; shift < 64 && !bytes_.empty(); shift += 7) {
      const auto byte = static_cast<std::uint8_t>(bytes_.front());
      bytes_.remove_prefix(1);
      if (shift == 63 && byte > 1) break;
      value |= static_cast<std::uint64_t>(byte & 0x7F) << shift;
      if (byte < 0x80) return value;
    }
    fail();
    return 0;
  }

 private:
  void fail() {
    ok_ = false;
    bytes_ = {};
  }

  template <class T>
  void get(T& value) {
    if constexpr (std::is_enum_v<T>) {
      const std::uint64_t number = get_varint();
      if (number > static_cast<std::uint64_t>(kLastOf<T>)) return fail();
      value = static_cast<T>(number);
    } else if constexpr (std::same_as<T, bool>) {
      const std::uint64_t number = get_varint();
      if (number > 1) return fail();
      value = number == 1;
    } else if constexpr (std::signed_integral<T>) {
      const std::uint64_t zigzag = get_varint();
      const auto number = static_cast<std::int64_t>((zigzag >> 1) ^ (~(zigzag & 1) + 1));
      if (number < std::numeric_limits<T>::min() || number > std::numeric_limits<T>::max()) return fail();
      value = static_cast<T>(number);
    } else if constexpr (std::unsigned_integral<T>) {
      const std::uint64_t number = get_varint();
      if (number > std::numeric_limits<T>::max()) return fail();
      value = static_cast<T>(number);
    } else if constexpr (std::same_as<T, double>) {
      if (bytes_.size() < 8) return fail();
      std::uint64_t bits = 0;
      for (std::size_t i = 0; i < 8; ++i) bits |= std::uint64_t{static_cast<std::uint8_t>(bytes_[i])} << (8 * i);
      bytes_.remove_prefix(8);
      value = std::bit_cast<double>(bits);
    } else if constexpr (std::same_as<T, std::string>) {
      const std::uint64_t size = get_varint();
      if (size > bytes_.size()) return fail();
      value = bytes_.substr(0, size);
      bytes_.remove_prefix(size);
    } else if constexpr (requires { value.value(); }) {
      std::int64_t number = 0;
      get(number);
      value = T(number);
    } else if constexpr (Sequence<T>) {
      const std::uint64_t size = get_varint();
      if (size > bytes_.size()) return fail();  // every element takes a byte at least
      value.resize(size);
      for (auto& each : value) get(each);
    } else {
      fields(*this, value);
    }
  }
  std::string_view bytes_;
  bool ok_ = true;
};

}  // namespace berth
