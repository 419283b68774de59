#include "shell/result.h"

#include <fmt/format.h>

namespace berth {

Status check_shape(const Output& output) {
  for (const Part& part : output.parts) {
    const auto* const table = std::get_if<ResultTable>(&part.content);
    if (table == nullptr) continue;
    for (std::size_t i = 0; i < table->rows.size(); ++i) {
      if (table->rows[i].size() == table->columns.size()) continue;
      return Status(Code::kInternal,
                    fmt::format("row {} of table '{}' has {} cells for {} columns", i + 1, table->title,
                                table->rows[i].size(), table->columns.size()),
                    "what the statement changed is done; only its answer cannot be shown");
    }
  }
  return {};
}

}  // namespace berth
