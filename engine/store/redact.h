// SNAPSHOT SAVE ... REDACTED: a database without names, fit to be shown to strangers.
//
// Whatever people called something - nodes, racks, pools, queues, jobs, users, tags - becomes a label such as
// "node-3f2a91c0": random, the same for the same name throughout the file, remembered nowhere. What may say anything at
// all - commands, environments, paths, images, details, reasons - goes. Numbers, times, states and the shape of
// everything stay, and so do device models and resources; so rounds can be replayed from it. Left out: the history of
// the tables, assertions, simulations, what was learned of durations, and every table that redact.cpp does not know.
// Executors become simulated ones. The file is made anew, so that nothing of what was is left between its pages.
#pragma once

#include "engine/store/sqlite.h"

namespace berth {

// In place: give it a copy.
Status redact_database(Database& db);

}  // namespace berth
