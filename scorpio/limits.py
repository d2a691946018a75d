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

# -- commands

COMMANDS_RUNNING_MAX = 64
"""Commands at the same time; further ones queue. Each costs a supervisor, a shell and a log file."""

TASKS_RUNNING_MAX = 64
"""Background tasks running at the same time."""

TASKS_KEPT_DAYS = 7
"""Records and logs of finished tasks stay this long."""

TASKS_KEPT_MAX = 200
"""Finished tasks kept, the newest first."""

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

# -- images

IMAGE_FILE_BYTES_MAX = 50 * 1024 * 1024
"""Largest image file that is read; a 50 MB photograph is already far more than any model sees."""

IMAGE_PIXELS_MAX = 50_000_000
"""Largest image that is decoded, by its header: 200 MB as RGBA, which fits the decoder's memory twice."""

IMAGE_SIDE_PIXELS_MAX = 2000
"""Longest side that is sent: the Anthropic API refuses more in a request with many images."""

IMAGE_BASE64_BYTES_MAX = 5_000_000
"""Largest image as it is sent: the Anthropic API refuses above 5 MiB, and the rest of the answer needs room too."""

IMAGE_DECODE_S_MAX = 10
"""Processor time, and separately wall time, of one decoder process; 50 megapixels take it about 2 s."""

IMAGE_DECODER_BYTES_MAX = 512 * 1024 * 1024
"""Address space of one decoder process: 50 megapixels of RGBA PNG take 485 MiB, of WebP 790 MiB (refused)."""

IMAGE_DECODERS_RUNNING_MAX = 2
"""Decoder processes at the same time; further images queue, so that a burst cannot take the machine's memory."""

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

# -- skills

TOOL_DESCRIPTION_BYTES_MAX = 2000
"""Longest description of a tool, the catalogue of skills in it included: Claude Code cuts there."""

SKILL_FILE_BYTES_MAX = 1024 * 1024
"""Largest SKILL.md: some 250,000 tokens, more than a model takes; real ones have 2 to 20 KB."""

SKILL_HEAD_BYTES_MAX = 64 * 1024
"""Read of each SKILL.md for the catalogue; front matter has 0.1 to 2 KB."""

SKILLS_MAX = 512
"""Skills in one catalogue. Looking at that many for changes takes about 3 ms."""

SKILL_ENTRIES_MAX = 4096
"""Entries looked at in one directory of skills, whatever they are."""

SKILL_NAME_CHARS_MAX = 64
"""Source: the Agent Skills format."""

SKILL_DESCRIPTION_CHARS_MAX = 2048
"""Of a description as it is kept; the Agent Skills format allows 1,024."""

SKILL_ARGUMENT_NAMES_MAX = 32
"""Names that `arguments` of a front matter may declare; further ones are ignored."""

SKILL_ARGUMENTS_BYTES_MAX = 64 * 1024
"""Longest arguments of one invocation: half of what one variable of a command's environment holds."""

SKILL_TEXT_CHARS_MAX = 2 * 1024 * 1024
"""Longest text of a skill once arguments are put in: 1 MiB of `$ARGUMENTS` would become 6 GB."""

SKILL_FILES_SHOWN_MAX = 100
"""Files named in the answer; more are counted."""

SKILL_FILES_WALKED_MAX = 2000
"""Entries looked at for that."""

SKILL_PROJECTS_KEPT_MAX = 8
"""Catalogues kept where one server serves clients in several projects."""

SKILL_COMMANDS_MAX = 16
"""Commands run for one invocation where SKILL_EXEC is on."""

SKILL_COMMANDS_MS_MAX = 30_000
"""For all of them together: what Bash gives one command."""

SKILL_COMMAND_CHARS_MAX = 10_000
"""Output of one of them in the text."""

# -- questions to the user

QUESTIONS_JSON_CHARS_MAX = 64 * 1024
"""Longest text with questions that is parsed; ten questions with twenty described options each take 30,000."""

QUESTIONS_MAX = 10
"""Questions of one call; a person who is asked more stops reading."""

QUESTION_OPTIONS_MAX = 20
"""Options of one question: more do not fit on a screen of 24 lines."""

QUESTION_CHARS_MAX = 2000
"""Longest text of a question."""

OPTION_LABEL_CHARS_MAX = 200
"""Longest label of an option: it is what the answer says, and stands on a line or two."""

OPTION_DESCRIPTION_CHARS_MAX = 1000
"""Longest description of an option."""

QUESTION_FAULTS_SHOWN_MAX = 20
"""Faults told at once; a thousand wrong questions need one look at the form, not a thousand lines."""

TYPED_ANSWER_CHARS_MAX = 4000
"""Longest answer a person may type or paste into a dialog; longer text belongs in a file."""

INSTANT_ANSWER_MS = 300
"""A refusal sooner than this is a client's, not a person's: nobody reads a form and declines it in 0.3 s."""

DIALOG_START_S_MAX = 10
"""For a dialog of ours to stand on the screen; a terminal or tmux that hangs is given up then."""

DIALOG_CLOSE_MS_MAX = 1000
"""For a dialog to put the terminal back before it is killed; it takes 2 ms."""

DIALOG_DEAF_MS = 400
"""Keys that arrive this soon after a dialog appears were meant for what was there before."""
