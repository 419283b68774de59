// The interactive shell: prompt, editing, history, completion, questions. The only file that uses readline.
//
// Statements may span lines; the prompt shows when more is awaited. Ctrl-C drops what was typed, or cancels the running
// statement; Ctrl-D on an empty line leaves.
#pragma once

#include "shell/session.h"

namespace berth {

// Until the user leaves. The session's printer and interrupt flag are set; its confirm and width are set here.
void run_terminal(Session& session);

}  // namespace berth
