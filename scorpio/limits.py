"""Every bound of the program: name, unit, reason.

Holds no logic. A bound that a user may change is a default here and a key in `settings.py`.
"""

# -- protocol and transports

FRAME_BYTES_MAX = 32 * 1024 * 1024
"""Longest line on stdio. A 10 MiB image as base64 fits twice; the official TypeScript SDK ends the session at 10 MB."""

READ_BYTES = 64 * 1024
"""One read of stdin: the size of a Linux pipe, so a full pipe is taken in one call."""

QUEUED_BYTES_MAX = 8 * 1024 * 1024
"""Answers kept for a client that does not read; past it stdin is not read. Peers without it grew by 114 to 206 MB."""

RUNNING_CALLS_MAX = 256
"""Slow calls one peer may have in progress; further ones fail at once. A model rarely starts more than 20."""

ENDING_CALLS_MAX = 32
"""Further calls for tools that end what others have begun: or nobody could make room."""

UNADDRESSED_ERRORS_PER_S_MAX = 20
"""Errors with id null a second, so that two peers that answer each other cannot storm (rust-sdk issue 938)."""

ASK_ROUNDS_MAX = 16
"""Questions one call may put to the user, one after the other; a handler that asks for ever is a bug."""

ASK_WAIT_S = 600.0
"""How long a person is waited for: ten minutes, as long as `requestState` lives; then the call says so."""

TOOLSET_PREFIX_CHARS_MAX = 64
"""Before the names of a toolset's tools: MCP allows 128 characters in all, and clients add a prefix of their own."""

LISTENS_MAX = 64
"""Open `subscriptions/listen` streams of one peer; a client needs one."""

SUBSCRIPTIONS_MAX = 1024
"""Resource URIs one peer may subscribe to."""

COMPLETION_VALUES_MAX = 100
"""Values in one completion answer. Source: MCP 2025-11-25, server/utilities/completion."""

PROGRESS_EVERY_S = 5.0
"""Longest silence of a call that brought a progress token: clients that reset their timeout on progress wait 10 s."""

# -- HTTP

HTTP_HEAD_BYTES_MAX = 16 * 1024
"""Request line and headers of one request; browsers and proxies send 1 to 4 KiB."""

HTTP_BODY_BYTES_MAX = 4 * 1024 * 1024
"""One POST: the official SDKs take as much, and the largest arguments, a screenshot in base64, fit."""

HTTP_HEAD_S_MAX = 5.0
"""From the connection or the first byte of a request to the end of its headers; they come in one packet."""

HTTP_BODY_S_MAX = 20.0
"""From the headers to the end of the body: 4 MiB over a line of 2 Mbit/s."""

HTTP_STALL_S_MAX = 30.0
"""A client that takes none of what is written for this long is gone, or wants to look so."""

HTTP_IDLE_S_MAX = 60.0
"""A connection that is kept without a request; clients keep theirs for 4 to 60 s."""

HTTP_LINGER_S_MAX = 2.0
"""After a refusal, what the client still sends is read and dropped for so long: else a reset overtakes the answer."""

HTTP_CONNECTIONS_MAX = 1024
"""Connections at the same time; as many descriptors as a process may have on most systems, less those of commands."""

HTTP_DESCRIPTORS_KEPT = 128
"""Of the descriptors this process may have, those that connections may not take: commands, files, the state."""

HTTP_PIPELINED_MAX = 16
"""Requests that wait on one connection for the answer to the one before; then it is not read."""

HTTP_STREAM_QUEUED_BYTES_MAX = 1024 * 1024
"""Events queued for a client that does not read, beside the one that is written; then its connection is closed."""

HTTP_HINTS_QUEUED_BYTES_MAX = 256 * 1024
"""As above for progress and log messages, which are dropped instead."""

HTTP_KEEP_ALIVE_S = 15.0
"""Longest silence of an event stream, then a comment is sent: proxies and clients close after 30 to 60 s."""

HTTP_SESSIONS_MAX = 512
"""Sessions of the legacy era; a client has one."""

HTTP_SESSION_IDLE_S_MAX = 1800
"""A session without a request, a stream or a call for so long has ended: half an hour, as long as a meeting break."""

HTTP_SESSION_SPARE_S = 60.0
"""Where all sessions are taken, one that was not used for this long gives way to a new client."""

HTTP_EVENTS_MAX = 256
"""Events of one session that are kept for a client that comes back; the newest answer is always among them."""

HTTP_EVENTS_BYTES_MAX = 1024 * 1024
"""As above, in bytes."""

HTTP_EVENTS_TOTAL_BYTES_MAX = 64 * 1024 * 1024
"""As above, of all sessions together; then the session that has most loses its oldest ones."""

HTTP_RETRY_MS = 1000
"""How long a client should wait before it comes back to a stream: the default of the official SDKs."""

HTTP_PRIME_AFTER_MS = 250
"""A call that lasts longer becomes a stream that can be resumed, where the revision knows how to say so."""

HTTP_STOP_MS_MAX = 300
"""When the server ends, time for calls in progress to finish."""

START_AFTER_MS = 500
"""Toolsets that begin without a call do so when the first answer is out, or after this long without a message."""

# -- ends of life

DRAIN_MS_MAX = 1000
"""After the end of input, time for calls in progress to finish, so that `printf … | scorpio` gets its answers."""

GRACE_TIMEOUT_MS = 1500
"""TERM to KILL when a command's time is up or KillBgTask is called: a dev server needs about a second to close."""

GRACE_CANCEL_MS = 500
"""TERM to KILL after `notifications/cancelled`: the user waits for it."""

GRACE_END_MS = 300
"""TERM to KILL when the server ends: everything is gone 2 s after the client, drain included."""

FLUSH_MS_MAX = 300
"""At the end, time for a client to read what is queued."""

STALL_MS_MAX = 1000
"""After the end of input a client that reads is waited for, until it has taken nothing for this long."""

CLOSE_MS_MAX = 500
"""For the state to be closed; what hangs longer is a disk that went away."""

END_MS_MAX = 2000
"""The end as a whole, where something else has begun it: what a client waits before it kills (MCP Python SDK)."""

# -- calls that are tasks

CALL_TASKS_MAX = 256
"""Tasks of one owner, working or kept for their results: as many as calls in progress."""

CALL_TASK_BEGIN_MS = 250
"""A call that may be a task is one after this long, where the server decides: most commands end within 30 ms, and a
client that was given a task for them would look for the result half a second later."""

CALL_TASK_POLL_MS = 500
"""How often a client is advised to look: half a second late is not felt after a wait, and a look costs 10 us."""

CALL_TASK_ASK_MS = 1000
"""For a client to look twice and send the tasks/result by which a core task asks; else its session is asked."""

CALL_TASK_TTL_MS_DEFAULT = 3_600_000
"""How long a task lives where the client does not say: an hour, six times the longest wait for a person."""

CALL_TASK_TTL_MS_MIN = 1000
"""A shorter life would be over before the client looks twice."""

CALL_TASK_TTL_MS_MAX = 86_400_000
"""A day; what must be kept longer belongs in a file."""

CALL_TASK_RESULTS_BYTES_MAX = 64 * 1024 * 1024
"""Results kept for one owner: six images of the largest size."""

CALL_TASK_MESSAGE_CHARS_MAX = 1000
"""Longest status message: some ten lines, the last ones of what a command printed."""

CALL_TASK_TOLD_EVERY_S = 1.0
"""Between two notifications that differ in the message only; a handler may report a thousand times a second."""

CLIENT_TASK_POLL_MS_MIN = 100
"""How often a client is asked for a task of its own at most, whatever it advises."""

CLIENT_TASK_POLL_MS_MAX = 5000
"""And at least: a person who has answered should not wait longer for the effect."""

CLIENT_TASK_POLL_MS_DEFAULT = 1000
"""Where it advises nothing: what the reference server does."""

CLIENT_TASK_STEPS_MAX = 100
"""Changes of one such task that a handler is told, the first ones."""

CALL_TASK_LIST_MAX = 100
"""Tasks in one page of tasks/list: 25 KB."""

# -- commands

COMMANDS_RUNNING_MAX = 64
"""Commands at the same time; further ones queue. Each costs a supervisor, a shell and a log file."""

TASKS_RUNNING_MAX = 64
"""Background tasks running at the same time."""

TASKS_KEPT_DAYS = 7
"""Records and logs of finished tasks stay this long."""

TASKS_KEPT_MAX = 200
"""Finished tasks kept, the newest first."""

LOGS_KEPT_BYTES_MAX = 4 * 1024 * 1024 * 1024
"""Of finished tasks and of Bash together, the newest first: 200 tasks may print a gigabyte each."""

LOGS_FRESH_S = 3600
"""Younger logs stay whatever they hold: their paths have just been named, and Bash may be writing one."""

ARGUMENT_BYTES_MAX = 128 * 1024
"""Longest single exec argument on Linux (MAX_ARG_STRLEN); a longer command goes through a file."""

OUTPUT_CHARS_MAX = 30_000
"""Characters of output in one answer: what Claude Code keeps of a Bash result."""

BASH_TIMEOUT_MS_DEFAULT = 30_000
"""From the seed."""

BASH_MAX_TIMEOUT_MS_DEFAULT = 600_000
"""Longest timeout of Bash unless `BASH_MAX_TIMEOUT_MS` says otherwise; longer work belongs in BackgroundBash."""

BASH_MAX_OUTPUT_BYTES_DEFAULT = 1024 * 1024 * 1024
"""A log that grows past this ends its command, before it fills the disk."""

TASK_START_WAIT_MS = 100
"""BackgroundBash waits this long for an early death, so that a typo is told at once."""

ROOTS_WAIT_S = 1.0
"""How long the first call waits for the client's roots: a client that declared them answers in milliseconds."""

# -- the supervisor of a command

SETTLE_MS = 25
"""After the shell ended, time for helpers that are dying already before they count as left behind."""

KILL_STUCK_MS = 2000
"""What outlives SIGKILL this long is another user's or hangs in the kernel: the caller is told, not kept waiting."""

JOB_BYTES_MAX = 2 * 1024 * 1024
"""A command with its arguments and environment: what Linux takes with a stack of 8 MiB; supervisor.c has it too."""

SPARE_AFTER_MS = 50
"""After a command's start the supervisor of the next one is started ahead; sooner it would slow this command down."""

LOGIN_PATH_MS = 2000
"""For the login shell to tell its PATH; start files that load version tools take 0.2 to 1 s."""

# -- the database and its tasks

DATABASE_BUSY_S = 5.0
"""How long a transaction waits for those of other processes; eight that wrote at once kept each other for under 1 s."""

DATABASE_CHECK_BYTES_MAX = 64 * 1024 * 1024
"""A larger file is not read through once when it is opened; 64 MB take about 0.4 s."""

TASK_NAME_CHARS_MAX = 200
"""Longest name of a task: two lines of a terminal."""

TASK_STEP_CHARS_MAX = 1000
"""Longest step of a task: it is told again in every list."""

TASK_TEXT_CHARS_MAX = 200_000
"""Longest text of one call before it is taken apart; as many steps as a task may have, at 100 characters each."""

TASK_STEPS_MAX = 2000
"""Steps of one task; a plan that needs more is several tasks."""

TASKS_OPEN_MAX = 1000
"""Open tasks of one project; nobody reads a longer list."""

TASKS_DONE_KEPT_MAX = 10_000
"""Completed tasks kept of one project, the newest: 30 a day for a year."""

TASK_LIST_CHARS_MAX = 20_000
"""One page of TaskManager's list: 5,000 tokens, or 500 short steps."""

TASK_LIST_TAIL_TASKS = 15
"""Open tasks named in the list at the end of each answer, beside the current one."""

TASK_LIST_TAIL_STEPS = 25
"""Steps of a task shown in the list at the end of each answer, around the next one."""

# -- callbacks

CLIENT_FILE_BYTES_MAX = 64 * 1024 * 1024
"""Longest configuration file of a client that is edited; Claude Code's holds its history too and has reached 10 MB."""

# -- files that are fetched to be compressed

GZIP_FETCH_BYTES_MAX_DEFAULT = 10 * 1024 * 1024
"""From the reference server: `GZIP_MAX_FETCH_SIZE`."""

GZIP_FETCH_MS_MAX_DEFAULT = 30_000
"""From the reference server: `GZIP_MAX_FETCH_TIME_MILLIS`."""

# -- the sandbox and plan mode

SANDBOX_PROBE_MS = 5000
"""For the command that tries a sandbox; it takes some 5 ms."""

PLAN_GOAL_CHARS_MAX = 2000
"""Longest goal: a paragraph. What is longer belongs in the plan."""

PLAN_FILE_BYTES_MAX = 1024 * 1024
"""Largest plan that is taken; real ones have 2 to 20 KB."""

PLAN_ADOPT_S = 5.0
"""From its first look, how long a server takes over plan modes of servers that have ended: a client that restarts its
server may start the new one before the old one is gone, which takes END_MS_MAX."""

# -- fetching from the web

URL_CHARS_MAX = 8192
"""Longest URL taken; servers refuse longer ones, and models write ones of 200."""

FETCH_BYTES_MAX = 10 * 1024 * 1024
"""Largest body of one page, after decoding."""

FETCH_ERROR_BYTES_MAX = 64 * 1024
"""Read of the body of an answer that is an error; a sentence of it is shown."""

FETCH_HEADER_BYTES_MAX = 64 * 1024
"""Status line and headers of one answer; servers send 0.5 to 4 KB, and Chromium takes 256 KB."""

FETCH_REDIRECTS_MAX = 5
"""Redirects followed; sites need one or two."""

FETCH_ADDRESSES_MAX = 16
"""Addresses of one name that are judged and tried."""

RESOLVE_S_MAX = 10.0
"""For a resolver to answer: two tries of 5 s, which is its own default."""

CONNECT_S_MAX = 8.0
"""For one address to accept a connection."""

CONNECT_NEXT_S = 2.5
"""The same while there are other addresses to try."""

TLS_HANDSHAKE_S_MAX = 10.0
"""For a TLS handshake; slow ones take 1 s."""

PROXY_CONNECTIONS_MAX = 128
"""Connections of one browser tab at the same time; Chromium opens at most 32 through a proxy."""

PROXY_BYTES_MAX = 64 * 1024 * 1024
"""What one page may load with everything that belongs to it; large ones load 10 MB, most of it images."""

# -- skills as resources

SKILL_FOLDER_FILES_MAX = 512
"""Files of one skill that is served. Source: extension io.modelcontextprotocol/skills, "Limits"."""

SKILL_FOLDER_BYTES_MAX = 16 * 1024 * 1024
"""Of all of them together. Source: as above; every host takes as much, and need not take more."""

SKILL_FOLDER_FILE_BYTES_MAX = 7 * 1024 * 1024
"""Of one of them: 9.8 MB as base64, and the official TypeScript SDK ends a session at 10 MB in one message."""

SKILL_FOLDER_ENTRIES_MAX = 4096
"""Entries looked at in one skill's folder, whatever they are."""

SKILL_FRONT_MATTER_BYTES_MAX = 64 * 1024
"""Front matter that is given to hosts; real ones have 0.1 to 2 KB."""

SKILLS_PAGE_BYTES_MAX = 1024 * 1024
"""One page of `skills/list`, about; a skill with ten files takes some 2 KB."""
