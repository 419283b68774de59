// Of which tables the history keeps what was replaced, of which it needs not, and of which it does not.
//
// Tables to which rows are only added tell the past themselves; what is worked with, or could be computed again, has
// none. A table that is not listed is kept.
#pragma once

#include <string_view>

namespace berth {

enum class Keeping {
  kChanges,   // what was replaced is kept
  kRowsTell,  // rows are only added: those of then are the ones that `detail` is true of
  kNothing,   // `detail` says why
};

struct TableKeeping {
  std::string_view table;  // '*' at the end: all that begin so
  Keeping keeping = Keeping::kChanges;
  // kRowsTell: a condition with ?1 for the state version and ?2 for the time. kNothing: a sentence.
  std::string_view detail = {};
};

TableKeeping keeping_of(std::string_view table);

}  // namespace berth
