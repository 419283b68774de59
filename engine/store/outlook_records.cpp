#include "engine/store/outlook_records.h"

namespace berth {

Status write_outlook(Database& db, std::span<const QueueOutlook> outlook) {
  if (outlook.empty()) return {};
  BERTH_ASSIGN(const std::int64_t last_look,
               db.integer("SELECT coalesce((SELECT value FROM meta WHERE key = 'borrowing_at'), 0)"));
  BERTH_ASSIGN(Statement update,
               db.prepare("UPDATE standings SET fair_share = ?3, starving_since = iif(?4 < 0, NULL, "
                          "coalesce(starving_since, max(?4, ?5))) WHERE queue_id = ?1 AND resource = ?2 "
                          "AND (fair_share IS NOT ?3 OR (starving_since IS NULL) <> (?4 < 0))"));
  for (const QueueOutlook& each : outlook) {
    BERTH_TRY(update.run(each.queue, each.resource, each.fair_share, each.starves_since, last_look));
  }
  return {};
}

}  // namespace berth
