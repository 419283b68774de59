// SNAPSHOT SAVE and LOAD: the whole database as one file, and back.
//
// A saved file is itself a Berth database (mode 0600), written beside its name and renamed when complete. Loading
// validates the file first (Berth's, not newer, intact, keeps every promise), migrates a private copy when it is old,
// then replaces the present content in one step under the write lock; on any failure the present content stays. The
// state version goes on from the higher of both, so that no plan made before can be applied after.
#pragma once

#include <string>

#include "engine/store/change.h"
#include "engine/store/sqlite.h"

namespace berth {

enum class Redaction { kNone, kNames };  // kNames: see redact.h
// kExists when `file` exists and `replace` is false.
Status save_snapshot(Database& db, const std::string& file, bool replace = false,
                     Redaction redaction = Redaction::kNone);
// The new state version.
Result<std::int64_t> load_snapshot(Database& db, const std::string& file, const Author& author, Seconds now);

}  // namespace berth
