#include "shell/arguments.h"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <utility>

#include "engine/base/text.h"

namespace berth {

namespace {

const std::vector<Value> kNoValues;
const Value kNoValue;

const Value* with_text(const std::vector<Value>& values, std::string_view text) {
  const auto found =
      std::ranges::find_if(values, [&](const Value& value) { return equals_ignoring_case(value.text, text); });
  return text.empty() || found == values.end() ? nullptr : &*found;
}

const Value* of_field(const std::vector<Value>& values, std::string_view text) {
  return text.empty() && !values.empty() ? &values.front() : with_text(values, text);
}

}  // namespace

bool Options::given(std::string_view name) const {
  const auto entry = entries_.find(name);
  assert(entry != entries_.end() && "the row has no such option");
  return entry != entries_.end() && entry->second.given;
}

bool Options::has(std::string_view name) const { return !list(name).empty(); }

const Value& Options::value(std::string_view name) const {
  const std::vector<Value>& values = list(name);
  assert(!values.empty() && "ask has() first: the option has no default");
  return values.empty() ? kNoValue : values.front();
}

const std::vector<Value>& Options::list(std::string_view name) const {
  const auto entry = entries_.find(name);
  assert(entry != entries_.end() && "the row has no such option");
  return entry == entries_.end() ? kNoValues : entry->second.values;
}

std::string Options::text_or(std::string_view name, std::string_view other) const {
  return has(name) ? text(name) : std::string(other);
}

Status Options::fail(std::string_view name, Code code, std::string message, std::string hint) const {
  Status status(code, std::move(message), std::move(hint));
  return given(name) ? std::move(status).at(value(name).span) : status;
}

const Value* Options::find(const Subject& subject, bool by_field) const {
  for (const auto& [name, entry] : entries_) {
    if (!entry.given || (by_field && name != subject.field)) continue;
    const Value* const found =
        by_field ? of_field(entry.values, subject.value) : with_text(entry.values, subject.value);
    if (found != nullptr) return found;
  }
  return nullptr;
}

bool Arguments::has(std::string_view name) const {
  assert((!declared_ || declared_->contains(name)) && "the syntax has no such argument");
  return values_.contains(name) || groups_.contains(name);
}

const Value& Arguments::value(std::string_view name) const {
  const std::vector<Value>& values = list(name);
  assert(!values.empty() && "ask has() first: the argument is optional");
  return values.empty() ? kNoValue : values.front();
}

const std::vector<Value>& Arguments::list(std::string_view name) const {
  assert((!declared_ || declared_->contains(name)) && "the syntax has no such argument");
  const auto found = values_.find(name);
  return found == values_.end() ? kNoValues : found->second;
}

std::string Arguments::text_or(std::string_view name, std::string_view other) const {
  return has(name) ? text(name) : std::string(other);
}

const Options& Arguments::options(std::string_view set) const {
  static const Options none;
  const auto found = options_.find(set);
  assert(found != options_.end() && "the syntax has no such option set");
  return found == options_.end() ? none : found->second;
}

const std::vector<Arguments>& Arguments::groups(std::string_view label) const {
  static const std::vector<Arguments> none;
  assert((!declared_ || declared_->contains(label)) && "the syntax has no such group");
  const auto found = groups_.find(label);
  return found == groups_.end() ? none : found->second;
}

std::string Arguments::spoken() const {
  const std::string_view typed = *statement_;
  std::string spoken;
  std::size_t done = 0;
  for (const Span& secret : secrets_) {
    const std::string_view value = typed.substr(secret.offset, secret.length);
    const std::size_t equals = value.find('=');
    if (equals == std::string_view::npos) continue;
    const std::string_view quote = value.starts_with('\'') || value.starts_with('"') ? value.substr(0, 1) : "";
    spoken += fmt::format("{}{}***{}", typed.substr(done, secret.offset - done), value.substr(0, equals + 1), quote);
    done = secret.offset + secret.length;
  }
  return spoken.append(typed.substr(done));
}

Status Arguments::fail(std::string_view name, Code code, std::string message, std::string hint) const {
  return Status(code, std::move(message), std::move(hint)).at(span(name));
}

const Value* Arguments::find(const Subject& subject, bool by_field) const {
  for (const auto& [label, groups] : groups_) {
    for (std::size_t i = 0; i < groups.size(); ++i) {
      if (subject.part && subject.part != i) continue;
      if (const Value* const found = groups[i].find(subject, by_field); found != nullptr) return found;
    }
  }
  for (const auto& [name, values] : values_) {
    if (by_field && name != subject.field) continue;
    const Value* const found = by_field ? of_field(values, subject.value) : with_text(values, subject.value);
    if (found != nullptr) return found;
  }
  for (const auto& [set, options] : options_) {
    if (const Value* const found = options.find(subject, by_field); found != nullptr) return found;
  }
  return nullptr;
}

Status Arguments::point(Status status, std::string_view otherwise) const {
  if (status.ok() || status.span()) return status;
  const Value* found = find(status.subject(), true);
  if (found == nullptr) found = find(status.subject(), false);
  if (found == nullptr && otherwise.empty()) return status;
  return std::move(status).at(found != nullptr ? found->span : span(otherwise));
}

}  // namespace berth
