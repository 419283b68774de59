#include "engine/runtime/cordons.h"

#include <map>

#include "engine/runtime/node_watch.h"
#include "engine/store/drain_records.h"
#include "engine/store/journal.h"

namespace berth {

namespace {

// What the system has and the tables do not say, or the other way round.
struct Difference {
  std::map<std::string, std::vector<std::string>> to_set;  // nodes, by reason
  std::vector<std::string> to_lift;
};

class CordonMender {
 public:
  CordonMender(Runtime& runtime, LiveExecutor& live, SyncReport& report)
      : runtime_(runtime), live_(live), report_(report) {}

  Status mend(const Observation& seen) {
    // As the statements since then have it.
    BERTH_ASSIGN(drains_, read_drains(runtime_.db()));
    BERTH_ASSIGN(const Difference difference, compare(seen));
    for (const auto& [reason, nodes] : difference.to_set) BERTH_TRY(tell(nodes, true, reason));
    return tell(difference.to_lift, false, "");
  }

 private:
  Result<Difference> compare(const Observation& seen) {
    Difference difference;
    for (const NodeObservation& node : seen.nodes) {
      const auto drain = drains_.find(node.node);
      if (drain == drains_.end()) {
        if (node.has_our_cordon) difference.to_lift.push_back(node.node);
      } else if (node.has_our_cordon) {
        // Told before a crash, or by hand in our words.
        if (!drain->second.told_at) BERTH_TRY(note_drain_told(runtime_.db(), drain->second.node, runtime_.now()));
      } else if (node.is_cordoned) {
        BERTH_TRY(take_in(node.node, {DeliveryState::kRefused, "", node.detail}, true, drain->second.reason));
      } else if (node.is_ready) {  // nothing is put on one that is not
        difference.to_set[drain->second.reason].push_back(node.node);
      }
    }
    return difference;
  }

  Status tell(const std::vector<std::string>& nodes, bool is_cordoned, const std::string& reason) {
    if (nodes.empty()) return {};
    const Result<std::vector<Delivery>> answers = live_.executor->cordon(nodes, is_cordoned, reason);
    BERTH_TRY(answers.status());
    for (std::size_t i = 0; i < nodes.size() && i < answers->size(); ++i)
      BERTH_TRY(take_in(nodes[i], (*answers)[i], is_cordoned, reason));
    return {};
  }

  Status take_in(const std::string& node, const Delivery& answer, bool is_cordoned, const std::string& reason) {
    BERTH_ASSIGN(Transaction transaction, Transaction::begin_write(runtime_.db()));
    BERTH_TRY(runtime_.check_right());
    BERTH_TRY(write_answer(node, answer, is_cordoned, reason));
    return transaction.commit();
  }

  Status write_answer(const std::string& node, const Delivery& answer, bool is_cordoned, const std::string& reason) {
    const std::string wanted = is_cordoned ? "cordoned by Berth" : "not cordoned by Berth";
    if (answer.state != DeliveryState::kDone)
      return note({"cordon", node, wanted, answer.detail,
                   answer.state == DeliveryState::kRefused ? "left as it is" : "tried again"});
    BERTH_TRY(journal(is_cordoned ? "cordon node" : "uncordon node", node, reason));
    const auto drain = drains_.find(node);
    if (!is_cordoned || drain == drains_.end()) return {};
    if (drain->second.told_at) BERTH_TRY(note({"cordon", node, wanted, "not cordoned", "cordoned again"}));
    return note_drain_told(runtime_.db(), drain->second.node, runtime_.now());
  }

  // What lasts is said once.
  Status note(const Drift& drift) {
    BERTH_ASSIGN(const bool is_new, is_news(runtime_.db(), live_.record, drift));
    if (!is_new) return {};
    ++report_.drifts;
    return note_drift(runtime_, live_.record, drift);
  }

  Status journal(std::string_view kind, const std::string& node, const std::string& reason) {
    const std::string detail = reason.empty() ? live_.record.name : live_.record.name + ": " + reason;
    return write_event(runtime_.db(), runtime_.now(), kind, node, detail);
  }

  Runtime& runtime_;
  LiveExecutor& live_;
  SyncReport& report_;
  std::map<std::string, Drain> drains_;
};

}  // namespace

Status mend_cordons(Runtime& runtime, LiveExecutor& live, const Observation& seen, SyncReport& report) {
  return live.executor->has_cordons() ? CordonMender(runtime, live, report).mend(seen) : Status();
}

}  // namespace berth
