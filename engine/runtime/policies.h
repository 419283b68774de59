// Policies in Lua: from files into the database, from there into snapshots; and what becomes of a round when one fails.
//
// A text is loaded and checked before it is stored, so what is stored can be loaded. A policy that fails in a round is
// left out of it: the order before it, or else the built-in default, plans the whole round anew, and the round's record
// says so.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "engine/lua/policy_script.h"
#include "engine/round/schedule.h"
#include "engine/runtime/runtime.h"
#include "engine/sim/simulation.h"
#include "engine/store/policy_records.h"

namespace berth {

// The text of a script; kUnavailable when it cannot be read, kInvalid when it is no text, or too long.
Result<std::string> read_policy_file(const std::string& path);

// Reads and checks a file; kUnavailable when it cannot be read, kInvalid with file and line.
Status create_policy(Change& change, const std::string& name, const std::string& file);
// The new version, and the knobs that were set and are no longer declared.
struct AlteredPolicy {
  std::int64_t version = 0;
  std::vector<std::string> forgotten_knobs;
};
Result<AlteredPolicy> alter_policy(Change& change, const std::string& name, const std::string& file);
using KnobSetting = std::pair<std::string, std::string>;  // name, value
// kNotFound with the nearest knob, kInvalid for a value outside its range; `failed` says which of them it was.
Status set_policy_knobs(Change& change, const std::string& name, const std::vector<KnobSetting>& settings,
                        std::size_t& failed);

// Policies whose files have changed get a new version where the text is good; where not, the old one stays and an
// event says why, once. What happened, a sentence each.
Result<std::vector<std::string>> reload_policies(Runtime& runtime);

// The scripts of the database, for simulations: what names may mean, and what they are.
struct SimulatedScripts {
  ScriptNames names;
  ScriptPolicies policies;
};
Result<SimulatedScripts> simulated_scripts(Runtime& runtime);

// The scripts that the snapshot's policies name, and who makes them.
Status add_scripts(Database& db, Snapshot& snapshot);

// Puts others in the place of policies that failed, and says which: for the order of the settings the one that was set
// before it, else the built-in defaults.
Status replace_failed(Database& db, std::vector<PolicyFailure>& failures, Snapshot& snapshot);
// "policy night failed, priority stood in: night:3: ..."
std::string describe(const PolicyFailure& failure);
// An event for each, unless one has said the same since the policy was altered.
Status note_failures(Runtime& runtime, const std::vector<PolicyFailure>& failures);
// Plans with the snapshot's scripts, if it has any, and replaces those that fail until none does: what a round would
// really plan with.
Status replace_failing_scripts(Database& db, Snapshot& snapshot, const std::atomic<bool>* interrupted);

}  // namespace berth
