#include "engine/store/as_of.h"

#include <fmt/format.h>

#include <algorithm>

#include "engine/base/text.h"
#include "engine/store/past_tables.h"
#include "engine/store/sql_text.h"

namespace berth {

namespace {

constexpr std::size_t kMostAttached = 8;  // SQLite takes ten

Span span_of(const SqlWord& word) { return {word.begin, word.end - word.begin}; }

Status not_a_call(const SqlWord& word) {
  return Status(Code::kInvalid, "as_of takes a table and a moment, both written out",
                "as_of('jobs', '2026-11-01 09:00'), as_of('nodes', '90m ago'), as_of('queues', 'version 12')")
      .at(span_of(word));
}

// Opens what only reads for the time that it lives.
class Opening {
 public:
  explicit Opening(Database& db) : db_(db) { db_.allow_everything(); }
  Opening(const Opening&) = delete;
  Opening& operator=(const Opening&) = delete;
  ~Opening() { db_.allow_only_reading(); }

 private:
  Database& db_;
};

}  // namespace

Result<std::vector<AsOfCall>> find_as_of(std::string_view sql) {
  std::vector<AsOfCall> calls;
  const std::vector<SqlWord> words = sql_words(sql);
  for (std::size_t i = 0; i + 1 < words.size(); ++i) {
    const bool begins =
        words[i].type == SqlWord::Type::kWord && equals_ignoring_case(words[i].text, "as_of") && words[i + 1].is('(');
    if (!begins) continue;
    const bool is_complete = i + 5 < words.size() && words[i + 2].type != SqlWord::Type::kSymbol &&
                             words[i + 3].is(',') && words[i + 4].type == SqlWord::Type::kString &&
                             words[i + 5].is(')');
    if (!is_complete) return not_a_call(words[i]);
    const SqlWord& relation = words[i + 2];
    const SqlWord& moment = words[i + 4];
    calls.push_back({{words[i].begin, words[i + 5].end - words[i].begin},
                     to_lower(relation.text),
                     span_of(relation),
                     moment.text,
                     span_of(moment)});
    i += 5;
  }
  return calls;
}

Status PastQueries::detach(std::size_t index) {
  BERTH_TRY(db_->execute("DETACH " + attached_[index].schema));
  attached_.erase(attached_.begin() + static_cast<std::ptrdiff_t>(index));
  return {};
}

Result<std::string> PastQueries::schema_for(const Moment& moment, const std::vector<std::string>& relations,
                                            std::int64_t use) {
  Attached wanted{"", moment, relations, use};
  for (std::size_t i = 0; i < attached_.size(); ++i) {
    Attached& present = attached_[i];
    if (!(present.moment == moment)) continue;
    present.last_use = use;
    if (std::ranges::includes(present.relations, relations)) return present.schema;
    std::ranges::set_union(present.relations, relations, std::back_inserter(wanted.relations));
    std::ranges::sort(wanted.relations);
    wanted.relations.erase(std::unique(wanted.relations.begin(), wanted.relations.end()), wanted.relations.end());
    BERTH_TRY(detach(i));
    break;
  }
  if (attached_.size() >= kMostAttached) {
    const auto oldest = std::ranges::min_element(attached_, {}, &Attached::last_use);
    if (oldest->last_use == use)
      return Status(Code::kInvalid, fmt::format("more than {} moments in one statement", kMostAttached));
    BERTH_TRY(detach(static_cast<std::size_t>(oldest - attached_.begin())));
  }
  BERTH_ASSIGN(MemoryImage image, past_tables(*db_, moment, wanted.relations));
  wanted.schema = fmt::format("as_of_{}", ++made_);
  BERTH_TRY(std::move(image).attach(*db_, wanted.schema));
  attached_.push_back(std::move(wanted));
  return attached_.back().schema;
}

// The SELECT with each call replaced by the table it stands for.
Result<std::string> PastQueries::rewritten(std::string_view sql, const std::vector<AsOfCall>& calls, Seconds now) {
  const Opening opening(*db_);
  const std::int64_t use = ++uses_;
  std::vector<Moment> moments;
  for (const AsOfCall& call : calls) {
    Result<Moment> moment = read_moment(*db_, call.moment, now);
    if (!moment.ok()) return std::move(moment).status().at(call.moment_span);
    moments.push_back(*moment);
  }
  std::string text(sql);
  for (std::size_t i = 0; i < calls.size(); ++i) {
    std::vector<std::string> relations;  // all of that moment
    for (std::size_t j = 0; j < calls.size(); ++j) {
      if (moments[j] == moments[i]) relations.push_back(calls[j].relation);
    }
    std::ranges::sort(relations);
    relations.erase(std::unique(relations.begin(), relations.end()), relations.end());
    Result<std::string> schema = schema_for(moments[i], relations, use);
    if (!schema.ok()) return std::move(schema).status().at(calls[i].relation_span);
    std::string table = *schema + "." + sql_name(calls[i].relation);
    if (table.size() > calls[i].span.length) return Status(Code::kInternal, "as_of: a name is too long");
    table.resize(calls[i].span.length, ' ');
    text.replace(calls[i].span.offset, calls[i].span.length, table);
  }
  return text;
}

Result<Statement> PastQueries::prepare(std::string_view sql, Seconds now) {
  BERTH_ASSIGN(const std::vector<AsOfCall> calls, find_as_of(sql));
  if (calls.empty()) return db_->prepare(sql);
  BERTH_ASSIGN(const std::string text, rewritten(sql, calls, now));
  return db_->prepare(text);
}

}  // namespace berth
