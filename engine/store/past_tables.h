// Tables and views as they were at a moment, as a database in memory.
//
// The tables have today's columns and indices; a column that came later reads as its default. Views are made over them
// from their own texts, in which "now" is the time asked for, as it is in the view dates_at. Only the tables that are
// read are filled: the present rows are copied, and what was replaced since is put back.
#pragma once

#include <string>
#include <vector>

#include "engine/store/history.h"

namespace berth {

// A database file in memory, to be attached once.
class MemoryImage {
 public:
  MemoryImage(unsigned char* bytes, std::int64_t size) : bytes_(bytes), size_(size) {}
  MemoryImage(MemoryImage&& other) noexcept : bytes_(std::exchange(other.bytes_, nullptr)), size_(other.size_) {}
  MemoryImage& operator=(MemoryImage&&) = delete;
  ~MemoryImage();
  std::int64_t size() const { return size_; }
  // As `schema` of this connection, read-only.
  Status attach(Database& db, const std::string& schema) &&;

 private:
  unsigned char* bytes_;
  std::int64_t size_;
};

// What these tables and views need. kNotFound: no such table or view (with the nearest), or no history of a table.
// Reads in one transaction.
Result<MemoryImage> past_tables(Database& db, const Moment& moment, const std::vector<std::string>& relations);

}  // namespace berth
