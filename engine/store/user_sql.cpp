#include "engine/store/user_sql.h"

#include <sqlite3.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <unordered_set>

#include "engine/base/out_of_memory.h"

namespace berth {

namespace {

constexpr std::size_t kNone = std::string_view::npos;

// Within a character of UTF-8.
bool continues(char byte) { return (static_cast<unsigned char>(byte) & 0xc0) == 0x80; }

// Two-way search, linear also where std::search is not.
std::size_t position_of(std::string_view text, std::string_view what, std::size_t from) {
  if (what.empty()) return from;
  const void* const found = memmem(text.data() + from, text.size() - from, what.data(), what.size());
  return found == nullptr ? kNone : static_cast<std::size_t>(static_cast<const char*>(found) - text.data());
}

// False when memory ran out. NULL is nothing.
bool text_of(sqlite3_value* value, std::string_view& text) {
  const unsigned char* const bytes = sqlite3_value_text(value);
  if (bytes == nullptr) return false;
  text = {reinterpret_cast<const char*>(bytes), static_cast<std::size_t>(sqlite3_value_bytes(value))};
  return true;
}

bool is_null(sqlite3_value* value) { return sqlite3_value_type(value) == SQLITE_NULL; }

void instr(sqlite3_context* context, int, sqlite3_value** values) {
  if (is_null(values[0]) || is_null(values[1])) return;
  const bool are_blobs = sqlite3_value_type(values[0]) == SQLITE_BLOB && sqlite3_value_type(values[1]) == SQLITE_BLOB;
  std::string_view text;
  std::string_view what;
  if (are_blobs) {
    const auto bytes = [](sqlite3_value* value) {
      const auto* const data = static_cast<const char*>(sqlite3_value_blob(value));
      return std::string_view(data, data == nullptr ? 0 : static_cast<std::size_t>(sqlite3_value_bytes(value)));
    };
    text = bytes(values[0]);
    what = bytes(values[1]);
  } else if (!text_of(values[0], text) || !text_of(values[1], what)) {
    return sqlite3_result_error_nomem(context);
  }
  // What begins within a character is found at most at the beginning of the text.
  const bool begins_within = !are_blobs && !what.empty() && continues(what.front());
  const std::size_t at = begins_within ? (text.starts_with(what) ? 0 : kNone) : position_of(text, what, 0);
  if (at == kNone) return sqlite3_result_int(context, 0);
  std::int64_t number = 1;
  for (std::size_t i = 1; i <= at; ++i) number += are_blobs || !continues(text[i]) ? 1 : 0;
  sqlite3_result_int64(context, number);
}

void replace(sqlite3_context* context, int, sqlite3_value** values) {
  if (is_null(values[0]) || is_null(values[1])) return;
  std::string_view text;
  std::string_view what;
  std::string_view by;
  if (!text_of(values[0], text) || !text_of(values[1], what)) return sqlite3_result_error_nomem(context);
  if (what.empty() || what.front() == '\0') return sqlite3_result_value(context, values[0]);
  if (is_null(values[2])) return;
  if (!text_of(values[2], by)) return sqlite3_result_error_nomem(context);
  const auto most =
      static_cast<std::size_t>(sqlite3_limit(sqlite3_context_db_handle(context), SQLITE_LIMIT_LENGTH, -1));
  bool is_too_big = false;
  const bool has_memory = has_memory_for([&] {
    std::string made;
    std::size_t from = 0;
    for (std::size_t at = position_of(text, what, 0); at != kNone && !is_too_big; at = position_of(text, what, from)) {
      made.append(text.substr(from, at - from)).append(by);
      from = at + what.size();
      is_too_big = made.size() > most;
    }
    made.append(text.substr(from));
    if (made.size() > most) is_too_big = true;
    if (!is_too_big) sqlite3_result_text64(context, made.data(), made.size(), SQLITE_TRANSIENT, SQLITE_UTF8);
  });
  if (!has_memory) return sqlite3_result_error_nomem(context);
  if (is_too_big) sqlite3_result_error_toobig(context);
}

// The characters that a text has. What is no UTF-8 is in none.
class Characters {
 public:
  explicit Characters(std::string_view text) {
    while (!text.empty()) {
      std::size_t size = 1;
      if (static_cast<unsigned char>(text.front()) >= 0xc0) {
        while (size < text.size() && continues(text[size])) ++size;
      }
      if (size <= kMostSize) codes_.insert(code_of(text.substr(0, size)));
      text.remove_prefix(size);
    }
  }
  // How many bytes one of them takes at the beginning of the text; 0 = none of them is there.
  std::size_t at_begin(std::string_view text) const {
    for (std::size_t size = 1; size <= std::min(kMostSize, text.size()); ++size) {
      if (codes_.contains(code_of(text.substr(0, size)))) return size;
    }
    return 0;
  }
  std::size_t at_end(std::string_view text) const {
    for (std::size_t size = 1; size <= std::min(kMostSize, text.size()); ++size) {
      if (codes_.contains(code_of(text.substr(text.size() - size)))) return size;
    }
    return 0;
  }

 private:
  static constexpr std::size_t kMostSize = 4;
  static std::uint64_t code_of(std::string_view character) {
    std::uint64_t code = 1;  // so that the lengths differ
    for (const char byte : character) code = code << 8 | static_cast<unsigned char>(byte);
    return code;
  }
  std::unordered_set<std::uint64_t> codes_;
};

enum class Side : std::uintptr_t { kLeft = 1, kRight = 2, kBoth = 3 };

void trim_characters(sqlite3_context* context, int, sqlite3_value** values) {
  if (is_null(values[0]) || is_null(values[1])) return;
  std::string_view text;
  std::string_view which;
  if (!text_of(values[0], text) || !text_of(values[1], which)) return sqlite3_result_error_nomem(context);
  const auto sides = reinterpret_cast<std::uintptr_t>(sqlite3_user_data(context));
  const bool has_memory = has_memory_for([&] {
    const Characters characters(which);
    if ((sides & static_cast<std::uintptr_t>(Side::kLeft)) != 0) {
      while (const std::size_t size = characters.at_begin(text)) text.remove_prefix(size);
    }
    if ((sides & static_cast<std::uintptr_t>(Side::kRight)) != 0) {
      while (const std::size_t size = characters.at_end(text)) text.remove_suffix(size);
    }
    sqlite3_result_text64(context, text.data(), text.size(), SQLITE_TRANSIENT, SQLITE_UTF8);
  });
  if (!has_memory) sqlite3_result_error_nomem(context);
}

// How many characters the %c of a format repeat: SQLite counts to it even where the text cannot be that long.
std::int64_t repeated_characters(std::string_view format, std::span<sqlite3_value*> values) {
  constexpr std::int64_t kMany = INT32_MAX;
  std::int64_t sum = 0;
  std::size_t next = 0;
  const auto take = [&] {
    const std::size_t number = next++;
    if (number >= values.size()) return std::int64_t{0};
    // As SQLite casts it.
    return std::abs(std::int64_t{static_cast<std::int32_t>(sqlite3_value_int64(values[number]))});
  };
  for (std::size_t i = 0; i < format.size(); ++i) {
    if (format[i] != '%') continue;
    bool is_precise = false;
    std::int64_t precision = 0;
    while (++i < format.size() && std::string_view("-+ #!,.*l0123456789").find(format[i]) != kNone) {
      if (format[i] == '.') is_precise = true;
      if (format[i] == '*') {
        const std::int64_t given = take();
        if (is_precise) precision = given;
      } else if (is_precise && format[i] >= '0' && format[i] <= '9') {
        precision = std::min(precision * 10 + (format[i] - '0'), kMany);
      }
    }
    if (i == format.size()) break;
    if (format[i] == 'c') sum += precision;
    if (format[i] != '%') ++next;
  }
  return sum;
}

// SQLite's own functions, which a connection that has ours has no more.
class OwnConnection {
 public:
  OwnConnection() = default;
  OwnConnection(const OwnConnection&) = delete;
  OwnConnection& operator=(const OwnConnection&) = delete;
  ~OwnConnection() {
    for (const auto& [count, statement] : calls_) sqlite3_finalize(statement);
    sqlite3_close(connection_);
  }

  // SELECT printf(?, ?, ...); nullptr = no memory.
  sqlite3_stmt* printf_of(int count) {
    if (connection_ == nullptr && sqlite3_open(":memory:", &connection_) != SQLITE_OK) return nullptr;
    sqlite3_stmt*& statement = calls_[count];
    if (statement != nullptr) return statement;
    std::string sql = "SELECT printf(";
    for (int i = 0; i < count; ++i) sql += i == 0 ? "?" : ", ?";
    sql += ")";
    return sqlite3_prepare_v2(connection_, sql.c_str(), -1, &statement, nullptr) == SQLITE_OK ? statement : nullptr;
  }
  void set_most(int bytes) { sqlite3_limit(connection_, SQLITE_LIMIT_LENGTH, bytes); }

 private:
  sqlite3* connection_ = nullptr;
  std::map<int, sqlite3_stmt*> calls_;
};

void print_formatted(sqlite3_context* context, int count, sqlite3_value** values) {
  if (count == 0 || is_null(values[0])) return;
  std::string_view format;
  if (!text_of(values[0], format)) return sqlite3_result_error_nomem(context);
  const int most = sqlite3_limit(sqlite3_context_db_handle(context), SQLITE_LIMIT_LENGTH, -1);
  const std::span<sqlite3_value*> others(values + 1, static_cast<std::size_t>(count - 1));
  if (repeated_characters(format, others) > most) return sqlite3_result_error_toobig(context);
  auto* const own = static_cast<OwnConnection*>(sqlite3_user_data(context));
  sqlite3_stmt* statement = nullptr;
  if (!has_memory_for([&] { statement = own->printf_of(count); }) || statement == nullptr)
    return sqlite3_result_error_nomem(context);
  own->set_most(most);
  for (int i = 0; i < count; ++i) sqlite3_bind_value(statement, i + 1, values[i]);
  if (sqlite3_step(statement) == SQLITE_ROW) {
    sqlite3_value* const made = sqlite3_column_value(statement, 0);
    // It says nothing of what became too long.
    if (sqlite3_value_type(made) == SQLITE_NULL && !format.empty()) {
      sqlite3_result_error_toobig(context);
    } else {
      sqlite3_result_value(context, made);
    }
  } else {
    sqlite3_result_error_nomem(context);
  }
  sqlite3_reset(statement);
  sqlite3_clear_bindings(statement);
}

void refuse_patch(sqlite3_context* context, int, sqlite3_value**) {
  sqlite3_result_error(context, "json_patch() is not to be had here: on large texts it does not end", -1);
}

}  // namespace

Status add_linear_functions(sqlite3* connection) {
  struct Row {
    const char* name;
    int arguments;
    void (*function)(sqlite3_context*, int, sqlite3_value**);
    Side side = Side::kBoth;
  };
  constexpr Row kRows[] = {{"instr", 2, instr},
                           {"replace", 3, replace},
                           {"trim", 2, trim_characters},
                           {"ltrim", 2, trim_characters, Side::kLeft},
                           {"rtrim", 2, trim_characters, Side::kRight},
                           {"json_patch", 2, refuse_patch}};
  for (const Row& row : kRows) {
    const int code = sqlite3_create_function(connection, row.name, row.arguments,
                                             SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_INNOCUOUS,
                                             reinterpret_cast<void*>(row.side), row.function, nullptr, nullptr);
    if (code != SQLITE_OK) return Status(Code::kInternal, "SQLite takes no functions: " + std::string(row.name));
  }
  for (const char* name : {"printf", "format"}) {
    const int code = sqlite3_create_function_v2(
        connection, name, -1, SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_INNOCUOUS, new OwnConnection, print_formatted,
        nullptr, nullptr, [](void* own) { delete static_cast<OwnConnection*>(own); });
    if (code != SQLITE_OK) return Status(Code::kInternal, "SQLite takes no functions: " + std::string(name));
  }
  return {};
}

UserSqlLimits::UserSqlLimits(Database& db)
    : db_(db),
      bytes_before_(sqlite3_limit(db.handle(), SQLITE_LIMIT_LENGTH, kMostBytes)),
      pattern_before_(sqlite3_limit(db.handle(), SQLITE_LIMIT_LIKE_PATTERN_LENGTH, kMostPattern)) {}

UserSqlLimits::~UserSqlLimits() {
  sqlite3_limit(db_.handle(), SQLITE_LIMIT_LENGTH, bytes_before_);
  sqlite3_limit(db_.handle(), SQLITE_LIMIT_LIKE_PATTERN_LENGTH, pattern_before_);
}

}  // namespace berth
