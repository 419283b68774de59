#include "engine/sim/text_file.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "engine/base/file_bytes.h"

namespace berth {

namespace {

constexpr std::size_t kTextFileBlock = std::size_t{1} << 16;

gzFile as_gzip(void* file) { return static_cast<gzFile>(file); }

}  // namespace

void TextFile::Closer::operator()(void* file) const { gzclose(as_gzip(file)); }

Result<TextFile> TextFile::open(const std::string& path) {
  TextFile opened(path == "-" ? "(standard input)" : path);
  if (path != "-") BERTH_TRY(check_is_no_open_database(path));
  errno = 0;
  gzFile file = path == "-" ? gzdopen(dup(STDIN_FILENO), "rb") : gzopen(path.c_str(), "rb");
  if (file == nullptr) {
    return Status(Code::kUnavailable, fmt::format("cannot open '{}': {}", path, std::strerror(errno ? errno : ENOMEM)))
        .about("file", path);
  }
  opened.file_.reset(file);
  struct stat about {};
  if (path != "-" && stat(path.c_str(), &about) == 0 && S_ISDIR(about.st_mode)) {
    return Status(Code::kUnavailable, fmt::format("cannot read '{}': it is a directory", path)).about("file", path);
  }
  gzbuffer(file, static_cast<unsigned>(kTextFileBlock));
  return opened;
}

// Moves the unread part to the front and reads one block behind it.
Status TextFile::fill() {
  std::copy(buffer_.begin() + static_cast<std::ptrdiff_t>(begin_), buffer_.begin() + static_cast<std::ptrdiff_t>(end_),
            buffer_.begin());
  end_ -= begin_;
  begin_ = 0;
  if (buffer_.size() < end_ + kTextFileBlock) buffer_.resize(end_ + kTextFileBlock);
  const int got = gzread(as_gzip(file_.get()), buffer_.data() + end_, static_cast<unsigned>(kTextFileBlock));
  int problem = Z_OK;
  const char* message = gzerror(as_gzip(file_.get()), &problem);
  if (problem == Z_ERRNO) {
    return Status(Code::kUnavailable, fmt::format("{}: cannot be read: {}", path_, std::strerror(errno)))
        .about("file", path_);
  }
  if (got < 0 || (problem != Z_OK && problem != Z_STREAM_END)) {
    return Status(Code::kCorrupt,
                  fmt::format("{}: damaged or truncated gzip file after line {}: {}", path_, line_, message))
        .about("file", path_);
  }
  end_ += static_cast<std::size_t>(got);
  at_end_ = got == 0;
  return {};
}

Result<bool> TextFile::next(std::string_view& line) {
  std::size_t searched = 0;
  std::size_t length = 0;
  for (;;) {
    const std::string_view unread(buffer_.data() + begin_, end_ - begin_);
    const std::size_t newline = unread.find('\n', searched);
    if (newline != std::string_view::npos) {
      length = newline;
      break;
    }
    searched = unread.size();
    if (searched > kMaxLine) {
      return Status(Code::kCorrupt,
                    fmt::format("{}: line {} is longer than {} bytes: not a text table", path_, line_ + 1, kMaxLine))
          .about("file", path_);
    }
    if (at_end_) {
      if (unread.empty()) return false;
      length = unread.size();
      break;
    }
    BERTH_TRY(fill());
  }
  line = std::string_view(buffer_.data() + begin_, length);
  begin_ = std::min(begin_ + length + 1, end_);
  ++line_;
  if (line_ == 1 && line.starts_with("\xEF\xBB\xBF")) line.remove_prefix(3);
  had_return_ = line.ends_with('\r');
  if (had_return_) line.remove_suffix(1);
  return true;
}

std::string TextFile::place(std::int64_t line, std::size_t column) const {
  return column == 0 ? fmt::format("{}:{}", path_, line) : fmt::format("{}:{}:{}", path_, line, column);
}

}  // namespace berth
