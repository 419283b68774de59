// How a call says that it failed.
//
// An error is a value: a code chosen by what the caller should do next, a sentence for a person, and optionally a hint
// (the nearest match, the next step), what it is about, and the place in the text that was being read. Context is added
// on the way up with prefixed(). Exceptions do not cross a folder; running out of memory ends the process.
//
// Only people read the sentence. Code that must point at what is wrong asks for the subject.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

namespace berth {

enum class Code {
  kOk,
  kInvalid,      // the input is wrong: change it
  kNotFound,     // a named thing does not exist: name another
  kExists,       // a thing of that name exists already
  kConflict,     // the state forbids it (in use, moved since): look again, then retry
  kBusy,         // somebody else holds what is needed: wait, then retry
  kInfeasible,   // it can never be placed on this cluster
  kUnavailable,  // the outside failed: a file, a disk, a missing part
  kCorrupt,      // stored data break a promise
  kInterrupted,  // the user or a deadline stopped it
  kInternal,     // our own bug
};

std::string_view code_name(Code code);

// A stretch of the text being read: byte offset and length.
struct Span {
  std::size_t offset = 0;
  std::size_t length = 0;
};

// What is wrong: a field of the record or statement ("queue", "gpu_memory"), its value as given, and in which of the
// record's parts (task groups) it stands. What is empty is not known.
struct Subject {
  std::string field = {};
  std::string value = {};
  std::optional<std::size_t> part = {};
};

class [[nodiscard]] Status {
 public:
  Status() = default;
  Status(Code code, std::string message, std::string hint = {});

  Status(const Status& other) : detail_(other.detail_ ? std::make_unique<Detail>(*other.detail_) : nullptr) {}
  Status& operator=(const Status& other) {
    if (this != &other) detail_ = other.detail_ ? std::make_unique<Detail>(*other.detail_) : nullptr;
    return *this;
  }
  Status(Status&&) = default;
  Status& operator=(Status&&) = default;

  bool ok() const { return detail_ == nullptr; }
  Code code() const { return detail_ ? detail_->code : Code::kOk; }
  // Empty when ok.
  const std::string& message() const;
  const std::string& hint() const;
  std::optional<Span> span() const { return detail_ ? detail_->span : std::nullopt; }
  // Empty when ok.
  const Subject& subject() const;

  // "context: message"; ok stays ok.
  Status prefixed(std::string_view context) &&;
  // Marks the word of the statement that the error is about; an inner mark is kept.
  Status at(Span span) &&;
  Status with_hint(std::string hint) &&;
  // Names the subject; what is known of it already is kept.
  Status about(std::string_view field, std::string_view value = {}) &&;
  Status in_part(std::size_t part) &&;
  // "option 'x': message", about that option.
  Status in_option(std::string_view option) &&;

 private:
  struct Detail {
    Code code;
    std::string message;
    std::string hint;
    std::optional<Span> span = {};
    Subject subject = {};
  };
  std::unique_ptr<Detail> detail_;
};

// A value, or why there is none.
template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : content_(std::in_place_index<0>, std::move(value)) {}       // NOLINT(google-explicit-constructor)
  Result(Status error) : content_(std::in_place_index<1>, std::move(error)) {}  // NOLINT(google-explicit-constructor)

  bool ok() const { return content_.index() == 0; }
  Status status() const& { return ok() ? Status() : std::get<1>(content_); }
  Status status() && { return ok() ? Status() : std::move(std::get<1>(content_)); }

  T& operator*() & { return std::get<0>(content_); }
  const T& operator*() const& { return std::get<0>(content_); }
  T&& operator*() && { return std::get<0>(std::move(content_)); }
  T* operator->() { return &std::get<0>(content_); }
  const T* operator->() const { return &std::get<0>(content_); }

 private:
  std::variant<T, Status> content_;
};

}  // namespace berth

#define BERTH_CONCAT_INNER(a, b) a##b
#define BERTH_CONCAT(a, b) BERTH_CONCAT_INNER(a, b)

// Returns the error of a Status expression to the caller.
#define BERTH_TRY(expression)                                                \
  do {                                                                       \
    if (::berth::Status berth_status_ = (expression); !berth_status_.ok()) { \
      return berth_status_;                                                  \
    }                                                                        \
  } while (false)

// BERTH_ASSIGN(auto x, call()): binds the value of a Result, or returns its error.
#define BERTH_ASSIGN(declaration, expression) \
  BERTH_ASSIGN_INNER(BERTH_CONCAT(berth_result_, __COUNTER__), declaration, expression)
#define BERTH_ASSIGN_INNER(name, declaration, expression) \
  auto name = (expression);                               \
  if (!name.ok()) return std::move(name).status();        \
  declaration = *std::move(name)
