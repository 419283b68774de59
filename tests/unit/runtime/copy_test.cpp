// A copy of a database does not drive the original's work.
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <set>

#include "engine/runtime/executors.h"
#include "engine/runtime/round_driver.h"
#include "engine/runtime/sync.h"
#include "engine/store/database_home.h"
#include "engine/store/snapshot_file.h"
#include "tests/unit/store/store_fixture.h"

namespace berth::test {
namespace {

class Copy : public StoreTest {
 protected:
  void SetUp() override {
    StoreTest::SetUp();
    copy_ = path() + ".copy";
    Database db = open();
    fill(db);
    EXPECT_OK(change(db, [](Change& c) {
      ExecutorRecord executor;
      executor.name = "here";
      executor.type = "local";
      return create_executor(c, executor);
    }));
    for (const char* name : {"first", "second"}) {
      JobRequest request = job(name, {group(1, 1)});
      request.command.command = "true";
      submit(db, request);
    }
    EXPECT_OK(save_snapshot(db, copy_));
  }

  std::unique_ptr<Runtime> runtime(const std::string& file) {
    return must_have(Runtime::open({.database = file, .actor = "tester", .env = &env_, .seed = {}}));
  }
  static Status sync(Runtime& runtime) { return run_sync(runtime, true).status(); }

  std::string copy_;
  ManualEnv env_{Seconds(1800000000)};
};

TEST_F(Copy, RoundsGoOnAndNobodyIsTold) {
  const auto copy = runtime(copy_);
  EXPECT_ERROR(sync(*copy), Code::kConflict, "is a copy of");
  const RoundReport round = must_have(run_round(*copy, {}));
  EXPECT_EQ(round.applied.started_jobs, 2);
  EXPECT_EQ(round.dispatched.refusal.code(), Code::kConflict);
  EXPECT_EQ(round.dispatched.launches, 0);
  EXPECT_EQ(must_have(copy->db().integer("SELECT count(*) FROM outbox")), 2);
  EXPECT_FALSE(std::filesystem::exists(copy_ + ".executors"));
}

TEST_F(Copy, AFileThatWasMovedOrRestoredIsNone) {
  const std::string moved = path() + ".moved";
  std::filesystem::rename(path(), moved);
  EXPECT_OK(check_home(runtime(moved)->db(), env_.now()));
  // Moved means remembered anew: a copy where it was before is a copy.
  std::filesystem::copy_file(moved, path());
  EXPECT_ERROR(check_home(runtime(path())->db(), env_.now()), Code::kConflict, moved);
  // Restored where it is.
  std::filesystem::rename(path(), moved);
  EXPECT_OK(check_home(runtime(moved)->db(), env_.now()));
}

TEST_F(Copy, OfAFileThatWasMovedAndTheCopyInItsPlaceOneDrives) {
  const std::string moved = path() + ".moved";
  std::filesystem::rename(path(), moved);
  std::filesystem::copy_file(moved, path());
  EXPECT_ERROR(check_home(runtime(moved)->db(), env_.now()), Code::kConflict, "a copy of it drives the work there");
  EXPECT_OK(check_home(runtime(path())->db(), env_.now()));
  EXPECT_ERROR(sync(*runtime(moved)), Code::kConflict, "was moved from");
  // What else lies there is no copy of it.
  std::filesystem::remove(path());
  std::ofstream(path()) << "something else, but of more than a page's header and so on, with words and no pages at all";
  EXPECT_OK(check_home(runtime(moved)->db(), env_.now()));
}

// Each copy gets a tag of its own with its first executor.
TEST_F(Copy, FilesThatWereCopiedBeforeTheirFirstExecutorHaveTagsOfTheirOwn) {
  const std::string files[] = {path("template.db"), path("test.db")};
  {
    Database db = open("template.db");
    fill(db);
    EXPECT_OK(save_snapshot(db, path("before.db")));
  }
  std::filesystem::copy_file(files[0], files[1]);
  std::set<std::string> tags = {must_have(database_tag(runtime(files[0])->db()))};
  for (const std::string& file : files) {
    const auto each = runtime(file);
    for (const char* name : {"first", "second"}) {
      EXPECT_OK(each->change([&](Change& c) {
                      ExecutorRecord executor;
                      executor.name = name;
                      executor.type = "local";
                      return create_executor(c, executor);
                    })
                    .status());
      tags.insert(must_have(database_tag(each->db())));
    }
    // A snapshot from before is still its own.
    const std::string tag = must_have(database_tag(each->db()));
    EXPECT_OK(load_snapshot(each->db(), path("before.db"), "tester", env_.now()).status());
    EXPECT_EQ(must_have(database_tag(each->db())), tag);
    EXPECT_OK(check_home(each->db(), env_.now()));
  }
  EXPECT_EQ(tags.size(), 3u);
}

// As a session that was opened before sees it.
TEST_F(Copy, AFileThatIsReplacedWhileItIsOpenTakesNothingMore) {
  const auto before = runtime(path());
  EXPECT_OK(before->check_writable());
  std::filesystem::rename(copy_, path());
  EXPECT_ERROR(before->check_writable(), Code::kConflict, "was replaced");
  EXPECT_ERROR(sync(*before), Code::kConflict, "was replaced");
  EXPECT_ERROR(run_round(*before, {}), Code::kConflict, "was replaced");
  EXPECT_ERROR(before->change([](Change& c) { return add_pool(c, "late"); }), Code::kConflict, "was replaced");
  std::filesystem::remove(path());
  EXPECT_ERROR(before->check_writable(), Code::kConflict, "was replaced");
}

// What was committed lies in the log as long as somebody has the file open.
TEST_F(Copy, WhatWasCommittedBeforeTheFileWasMovedStays) {
  const std::string moved = path() + ".moved";
  for (const char* how : {"used under its new name", "put back", "put back, used there meanwhile"}) {
    SCOPED_TRACE(how);
    {
      const auto before = runtime(path());
      const auto another = runtime(path());
      EXPECT_OK(check_home(before->db(), env_.now()));
      EXPECT_OK(before->change([&](Change& c) { return add_pool(c, how); }));
      std::filesystem::rename(path(), moved);
      const bool is_used = how == std::string("put back, used there meanwhile");
      if (is_used) std::ofstream(moved + "-wal") << "another process's";
      EXPECT_ERROR(before->check_writable(), Code::kConflict, "was replaced");
      EXPECT_ERROR(another->check_writable(), Code::kConflict, "was replaced");
      EXPECT_EQ(std::filesystem::exists(path() + "-wal"), is_used);
      std::filesystem::remove(moved + "-wal");
    }
    if (how != std::string("used under its new name")) std::filesystem::rename(moved, path());
    {
      const auto after = runtime(std::filesystem::exists(path()) ? path() : moved);
      EXPECT_EQ(must_have(after->db().integer("SELECT count(*) FROM pools WHERE name = '" + std::string(how) + "'")),
                1);
      EXPECT_EQ(must_have(after->db().text("PRAGMA integrity_check")), "ok");
    }
    if (!std::filesystem::exists(path())) std::filesystem::rename(moved, path());
  }
}

TEST_F(Copy, TheSamePathOnAnotherHostOrDeviceIsACopy) {
  const auto original = runtime(path());
  EXPECT_OK(check_home(original->db(), env_.now()));
  const auto recorded_elsewhere = [&](const char* changes) {
    EXPECT_OK(record_home(original->db()));
    EXPECT_OK(original->db().execute(changes));
    return check_home(original->db(), env_.now()).status();
  };
  constexpr const char* kHost = "UPDATE meta SET value = 'gpu02' WHERE key = 'home_host';";
  constexpr const char* kMachine = "UPDATE meta SET value = 'cafe' WHERE key = 'home_machine';";
  constexpr const char* kBoot = "UPDATE meta SET value = 'earlier' WHERE key = 'home_boot';";
  constexpr const char* kDevice = "UPDATE meta SET value = '0' WHERE key = 'home_device';";
  constexpr const char* kInode = "UPDATE meta SET value = '0' WHERE key = 'home_inode';";
  constexpr const char* kPath = "UPDATE meta SET value = '/elsewhere/berth.db' WHERE key = 'home_path';";
  const auto all = [](std::initializer_list<const char*> parts) {
    std::string script;
    for (const char* part : parts) script += part;
    return script;
  };
  // Another host; it says which. So does a copied machine (same name, other id; other name, same id).
  EXPECT_ERROR(recorded_elsewhere(all({kHost, kMachine, kBoot}).c_str()), Code::kConflict, "on host gpu02");
  EXPECT_ERROR(recorded_elsewhere(all({kHost, kBoot}).c_str()), Code::kConflict, "is a copy of");
  EXPECT_ERROR(recorded_elsewhere(all({kMachine, kBoot}).c_str()), Code::kConflict, "is a copy of");
  // A container that was started anew under another name has the same file; a copy in another one has not.
  EXPECT_OK(recorded_elsewhere(kHost));
  EXPECT_ERROR(recorded_elsewhere(all({kHost, kInode}).c_str()), Code::kConflict, "is a copy of");
  // The same number of an inode on another device.
  EXPECT_ERROR(recorded_elsewhere(kDevice), Code::kConflict, "is a copy of");
  EXPECT_ERROR(recorded_elsewhere(all({kPath, kDevice}).c_str()), Code::kConflict, "is a copy of");
  // Devices have other numbers after a boot; a file that was replaced has another inode.
  EXPECT_OK(recorded_elsewhere(all({kDevice, kBoot}).c_str()));
  EXPECT_OK(recorded_elsewhere(kInode));
  EXPECT_OK(recorded_elsewhere(kPath));
}

TEST_F(Copy, ARestoredFileBeginsANewGeneration) {
  const auto generation = [](Runtime& r) {
    return must_have(r.db().integer("SELECT coalesce((SELECT value FROM meta WHERE key = 'generation'), 0)"));
  };
  const auto last_job = [](Runtime& r) {
    return must_have(r.db().integer("SELECT seq FROM sqlite_sequence WHERE name = 'jobs'"));
  };
  const std::string untold = path() + ".untold";
  const std::string told = path() + ".told";
  {
    const auto original = runtime(path());
    std::filesystem::copy_file(copy_, untold);
    EXPECT_OK(check_home(original->db(), env_.now()));
    EXPECT_OK(move_mark(original->db()));
    EXPECT_EQ(must_have(check_home(original->db(), env_.now())), Restoration::kNone);
    EXPECT_OK(save_snapshot(original->db(), told));
    EXPECT_OK(original
                  ->change([](Change& c) {
                    JobRequest request = StoreTest::job("third", {group(1, 1)});
                    return submit_job(c, request).status();
                  })
                  .status());
    EXPECT_OK(move_mark(original->db()));
  }
  // Over the same file and in its place; from before the first mark and from one.
  std::set<std::int64_t> generations = {0};
  for (const std::string& backup : {untold, told, told}) {
    std::filesystem::copy_file(backup, path(), std::filesystem::copy_options::overwrite_existing);
    {
      const auto restored = runtime(path());
      EXPECT_TRUE(generations.insert(generation(*restored)).second) << backup;
      EXPECT_EQ(last_job(*restored), 3) << "the third job's number is not given again";
      EXPECT_EQ(must_have(check_home(restored->db(), env_.now())), Restoration::kNone) << "noticed as it was opened";
      EXPECT_OK(move_mark(restored->db()));
    }
    std::filesystem::copy_file(backup, path() + ".new", std::filesystem::copy_options::overwrite_existing);
    std::filesystem::rename(path() + ".new", path());
    const auto restored = runtime(path());
    EXPECT_TRUE(generations.insert(generation(*restored)).second) << backup;
    EXPECT_TRUE(must_have(check_state(restored->db(), 10)).empty());
    EXPECT_OK(move_mark(restored->db()));
  }
  // Opened anew it is as it was.
  EXPECT_TRUE(generations.contains(generation(*runtime(path()))));
}

TEST_F(Copy, ASnapshotThatIsLoadedBeginsANewGeneration) {
  const auto original = runtime(path());
  EXPECT_OK(check_home(original->db(), env_.now()));
  EXPECT_OK(move_mark(original->db()));
  EXPECT_OK(load_snapshot(original->db(), copy_, "tester", env_.now()).status());
  EXPECT_GT(must_have(original->db().integer("SELECT value FROM meta WHERE key = 'generation'")), 0);
  EXPECT_EQ(must_have(check_home(original->db(), env_.now())), Restoration::kNone);
}

// Both become paths.
TEST_F(Copy, ATagOrNameThatLeadsElsewhereIsRefused) {
  const auto original = runtime(path());
  Database& db = original->db();
  const std::string tag = must_have(database_tag(db));
  const auto expect_refused = [&](const std::string& sql, std::string_view words) {
    std::filesystem::remove(path("bad.db"));
    EXPECT_OK(save_snapshot(db, path("bad.db")));
    {
      Database bad = must_have(Database::open(path("bad.db"), Access::kReadWrite));
      EXPECT_OK(bad.execute(sql));
    }
    EXPECT_ERROR(load_snapshot(db, path("bad.db"), "tester", env_.now()), Code::kCorrupt, words);
  };
  expect_refused("UPDATE meta SET value = '../../x' WHERE key = 'tag'", "no tag that can name a file");
  expect_refused("DELETE FROM meta WHERE key = 'tag'", "no tag that can name a file");
  expect_refused("UPDATE executors SET name = '../../x'", "no folder can be called after it");
  EXPECT_OK(db.execute("UPDATE meta SET value = '../../x' WHERE key = 'tag'"));
  EXPECT_ERROR(database_tag(db), Code::kCorrupt, "cannot name a file");
  EXPECT_ERROR(move_mark(db), Code::kCorrupt, "cannot name a file");
  EXPECT_EQ(must_have(db.text("SELECT value FROM meta WHERE key = 'tag'")), "../../x");
  Statement put = must_have(db.prepare("UPDATE meta SET value = ?1 WHERE key = 'tag'"));
  EXPECT_OK(put.run(tag));
  EXPECT_OK(db.execute("UPDATE executors SET name = '../x'"));
  EXPECT_ERROR(reach_executor(*original, "../x"), Code::kInvalid, "cannot name an executor");
  EXPECT_FALSE(std::filesystem::exists(path() + ".executors/../x"));
}

// A crash between the mark in the database and the one in the folder is no restoration.
TEST_F(Copy, AMarkThatWasHalfMovedIsNone) {
  const auto original = runtime(path());
  const std::string mark = executors_folder(original->db()) + "/.mark-" + must_have(database_tag(original->db()));
  EXPECT_OK(move_mark(original->db()));
  for (int i = 0; i < 3; ++i) {
    std::filesystem::create_hard_link(mark, path() + ".before");
    EXPECT_OK(move_mark(original->db()));
    std::filesystem::rename(path() + ".before", mark);
    EXPECT_EQ(must_have(check_home(original->db(), env_.now())), Restoration::kNone);
  }
}

// As a backup of the whole directory puts back: the words agree, but the file is another one.
TEST_F(Copy, AFolderThatWasRestoredWithTheFileIsNoticed) {
  const auto original = runtime(path());
  const std::string mark = executors_folder(original->db()) + "/.mark-" + must_have(database_tag(original->db()));
  EXPECT_OK(check_home(original->db(), env_.now()));
  EXPECT_OK(move_mark(original->db()));
  EXPECT_EQ(must_have(check_home(original->db(), env_.now())), Restoration::kNone);
  std::filesystem::copy_file(mark, path() + ".backup");
  std::filesystem::rename(path() + ".backup", mark);
  EXPECT_EQ(must_have(check_home(original->db(), env_.now())), Restoration::kNoticed);
  EXPECT_EQ(must_have(check_home(original->db(), env_.now())), Restoration::kNone);
}

// What another user has made there is neither read nor written, nor waited for.
TEST_F(Copy, AFolderOfSomebodyElseIsRefused) {
  const auto original = runtime(path());
  const std::string folder = executors_folder(original->db());
  const std::string mark = folder + "/.mark-" + must_have(database_tag(original->db()));
  const std::string prey = path() + ".prey";
  std::ofstream(prey) << "whole";
  const auto expect_refused = [&](std::string_view words) {
    EXPECT_ERROR(sync(*original), Code::kUnavailable, words);
    EXPECT_ERROR(move_mark(original->db()), Code::kUnavailable, words);
    const RoundReport round = must_have(run_round(*original, {}));
    EXPECT_EQ(round.dispatched.launches, 0);
    EXPECT_EQ(round.dispatched.refusal.code(), Code::kUnavailable);
  };
  std::filesystem::create_directory(folder);
  std::filesystem::permissions(folder, std::filesystem::perms::all);
  expect_refused("others may write to it");
  std::filesystem::permissions(folder, std::filesystem::perms::owner_all);
  std::filesystem::create_symlink(prey, mark);
  EXPECT_FALSE(move_mark(original->db()).ok());
  std::filesystem::remove(mark);
  ASSERT_EQ(mkfifo(mark.c_str(), 0600), 0);
  expect_refused("is not a file");
  std::filesystem::remove(mark);
  EXPECT_EQ(file_content(prey), "whole");
  if (geteuid() == 0) {
    ASSERT_EQ(chown(folder.c_str(), 1234, 1234), 0);
    expect_refused("belongs to another user (number 1234)");
    ASSERT_EQ(chown(folder.c_str(), 0, 0), 0);
  }
  EXPECT_OK(check_home(original->db(), env_.now()));
  EXPECT_OK(move_mark(original->db()));
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder), {}), 1);  // the mark, no draft of it
}

// After a single launch, too.
TEST_F(Copy, AFileThatWasMovedWithoutItsFolderSaysSo) {
  {
    const auto original = runtime(path());
    EXPECT_OK(check_home(original->db(), env_.now()));
    EXPECT_OK(move_mark(original->db()));
  }
  const std::string moved = path() + ".moved";
  std::filesystem::rename(path(), moved);
  EXPECT_ERROR(check_home(runtime(moved)->db(), env_.now()), Code::kConflict, moved + ".executors");
  EXPECT_ERROR(sync(*runtime(moved)), Code::kConflict, "is missing or empty");
  EXPECT_ERROR(reach_executor(*runtime(moved), "here"), Code::kConflict, "is missing or empty");
  EXPECT_FALSE(std::filesystem::exists(moved + ".executors"));
  std::filesystem::create_directory(moved + ".executors");
  EXPECT_ERROR(sync(*runtime(moved)), Code::kConflict, "is missing or empty");
  std::filesystem::remove(moved + ".executors");
  std::filesystem::rename(path() + ".executors", moved + ".executors");
  EXPECT_EQ(must_have(check_home(runtime(moved)->db(), env_.now())), Restoration::kNone);
  std::filesystem::remove_all(moved + ".executors");
  const auto alone = runtime(moved);
  EXPECT_ERROR(check_home(alone->db(), env_.now()), Code::kConflict, "is missing or empty");
  EXPECT_OK(adopt_home(alone->db()));
  EXPECT_EQ(must_have(check_home(alone->db(), env_.now())), Restoration::kNone);
  std::filesystem::remove_all(moved + ".executors");
  EXPECT_ERROR(check_home(alone->db(), env_.now()), Code::kConflict, "is missing or empty");
}

TEST_F(Copy, TheFolderOfAnExecutorAloneIsMissed) {
  const auto original = runtime(path());
  EXPECT_OK(check_home(original->db(), env_.now()));
  EXPECT_OK(move_mark(original->db()));
  const std::string folder = path() + ".executors/here";
  const auto unreachable = [&] {
    const SyncOutcome outcome = must_have(run_sync(*original, true));
    return outcome.seen.unreachable.empty() ? std::string() : outcome.seen.unreachable.front();
  };
  EXPECT_OK(run_round(*original));
  EXPECT_EQ(unreachable(), "");  // the executor was told nothing yet, so Berth makes the folder
  EXPECT_OK(original->db().execute("UPDATE run_tasks SET phase = 'running'"));
  std::filesystem::remove_all(folder);
  EXPECT_THAT(unreachable(), testing::HasSubstr("here: its folder '" + folder + "' is missing"));
  EXPECT_FALSE(std::filesystem::exists(folder));
  EXPECT_GT(must_have(original->db().integer("SELECT count(*) FROM run_tasks WHERE phase = 'running'")), 0);
  EXPECT_OK(original->change(adopt_database).status());
  EXPECT_EQ(unreachable(), "");
}

TEST_F(Copy, OneThatIsAdoptedDrivesTheWork) {
  const auto copy = runtime(copy_);
  EXPECT_OK(adopt_home(copy->db()));
  EXPECT_GT(must_have(copy->db().integer("SELECT value FROM meta WHERE key = 'generation'")), 0);
  EXPECT_OK(check_home(copy->db(), env_.now()));
  EXPECT_EQ(must_have(database_tag(copy->db())), must_have(database_tag(runtime(path())->db())));
}

TEST_F(Copy, AForkTouchesNothingAndStartsAgain) {
  const auto copy = runtime(copy_);
  const std::string tag = must_have(database_tag(copy->db()));
  must_have(run_round(*copy, {}));
  EXPECT_OK(copy->db().execute("UPDATE run_tasks SET phase = 'running' WHERE run_id = 1"));
  EXPECT_OK(copy->change([](Change& c) { return fork_database(c); }).status());
  EXPECT_NE(must_have(database_tag(copy->db())), tag);
  const auto count = [&](const char* sql) { return must_have(copy->db().integer(sql)); };
  EXPECT_EQ(count("SELECT count(*) FROM outbox"), 0);
  EXPECT_EQ(count("SELECT count(*) FROM allocations"), 0);
  EXPECT_EQ(count("SELECT count(*) FROM executors WHERE type <> 'simulated'"), 0);
  EXPECT_EQ(count("SELECT count(*) FROM jobs WHERE state = 'pending' AND losses = 0"), 2);
  EXPECT_EQ(count("SELECT count(*) FROM runs WHERE state = 'lost'"), 2);
  EXPECT_OK(sync(*copy));
  EXPECT_EQ(must_have(run_round(*copy, {})).dispatched.launches, 2);
  EXPECT_TRUE(must_have(check_state(copy->db(), 10)).empty());
  // The original is as it was.
  EXPECT_OK(check_home(runtime(path())->db(), env_.now()));
}

}  // namespace
}  // namespace berth::test
