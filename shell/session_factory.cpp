#include "shell/session_factory.h"

namespace berth {

Result<std::unique_ptr<Session>> open_session(const SessionOptions& options) {
  auto session = std::make_unique<Session>();
  session->database = options.database;
  session->read_only = options.read_only;
  return session;
}

}  // namespace berth
