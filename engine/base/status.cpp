#include "engine/base/status.h"

namespace berth {

std::string_view code_name(Code code) {
  switch (code) {
    case Code::kOk: return "ok";
    case Code::kInvalid: return "invalid";
    case Code::kNotFound: return "not_found";
    case Code::kExists: return "exists";
    case Code::kConflict: return "conflict";
    case Code::kBusy: return "busy";
    case Code::kInfeasible: return "infeasible";
    case Code::kUnavailable: return "unavailable";
    case Code::kCorrupt: return "corrupt";
    case Code::kInterrupted: return "interrupted";
    case Code::kInternal: return "internal";
  }
  return "internal";
}

Status::Status(Code code, std::string message, std::string hint)
    : detail_(std::make_unique<Detail>(Detail{code, std::move(message), std::move(hint)})) {}

namespace {
const std::string& empty_text() {
  static const std::string empty;
  return empty;
}
}  // namespace

const std::string& Status::message() const { return detail_ ? detail_->message : empty_text(); }
const std::string& Status::hint() const { return detail_ ? detail_->hint : empty_text(); }

const Subject& Status::subject() const {
  static const Subject none;
  return detail_ ? detail_->subject : none;
}

Status Status::prefixed(std::string_view context) && {
  if (detail_) detail_->message = std::string(context) + ": " + detail_->message;
  return std::move(*this);
}

Status Status::at(Span span) && {
  if (detail_ && !detail_->span) detail_->span = span;
  return std::move(*this);
}

Status Status::with_hint(std::string hint) && {
  if (detail_ && detail_->hint.empty()) detail_->hint = std::move(hint);
  return std::move(*this);
}

Status Status::about(std::string_view field, std::string_view value) && {
  if (!detail_) return std::move(*this);
  if (detail_->subject.field.empty()) detail_->subject.field = field;
  if (detail_->subject.value.empty()) detail_->subject.value = value;
  return std::move(*this);
}

Status Status::in_option(std::string_view option) && {
  return std::move(*this).prefixed("option '" + std::string(option) + "'").about(option);
}

Status Status::in_part(std::size_t part) && {
  if (detail_ && !detail_->subject.part) detail_->subject.part = part;
  return std::move(*this);
}

}  // namespace berth
