"""Bounds of the core tools, each with its unit in the name and its reason below. See scorpio/limits.py."""

from __future__ import annotations

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

# -- callbacks

CALLBACK_SLOTS_MAX = 8
"""Callbacks of one owner at a time. From scorpiox."""

CALLBACK_MESSAGE_CHARS_MAX = 2048
"""Longest message of a callback: it is told again with each fire. From scorpiox."""

CALLBACK_DELAY_S_MAX = 3600
"""Longest delay of a callback, from the seed."""

CALLBACK_REPEATS_DEFAULT = 20
"""From scorpiox: one that was forgotten ends by itself."""

CALLBACK_REPEATS_MAX = 1_000_000
"""Most fires that are counted, eleven days at one a second; who wants more wants them for ever (-1)."""

CALLBACK_IDLE_S = 0.5
"""No call for this long is idle: a model that works calls again sooner."""

CALLBACK_LATE_S = 10.0
"""A fire later than this says so: the machine slept, or no server ran."""

CALLBACK_LOOK_S = 5.0
"""Longest sleep while a callback waits: the kernel's timeouts stand still while the machine sleeps."""

TIDINGS_WAITING_MAX = 20
"""Fires of one owner's callbacks that wait to be told; a further one is counted with an earlier one of its callback."""

TIDINGS_KEPT_DAYS = 7
"""As long as finished tasks: what was not told by then, and callbacks that no server came to claim, are dropped."""

TOLD_BUSY_S = 0.1
"""How long an answer waits for the database before it goes out without what else was to be told; the next takes it."""

TASK_OUTPUT_CHARS_MAX = 256 * 1024
"""Of a background task's log as a resource: a client shows it or hands it to a model, and neither takes megabytes."""

TASK_OUTPUT_UPDATES_S = 2.0
"""Between two announcements that a running task has printed something."""

# -- web search

SEARCH_ENGINE_MS_MAX = 6000
"""For one engine's answer, redirects included; a slow engine takes 1 to 3 s, one that refuses may hang for ever."""

SEARCH_MS_MAX = 10_000
"""For a whole search: the slowest engine's time, and room for reading its page on a busy machine."""

SEARCH_READ_MS_MAX = 1000
"""For reading one page in its process; real ones take 0.5 to 8 ms, a page made to be slow takes minutes."""

SEARCH_BODY_BYTES_MAX = 2 * 1024 * 1024
"""Read of one answer, unpacked; the largest result page on record has 550 KB. The rest of a longer one is left."""

SEARCH_READER_BYTES_MAX = 512 * 1024 * 1024
"""Address space of the process that reads the pages; a page of 2 MiB takes up to 160 MB as a tree."""

SEARCH_READER_S_MAX = 10
"""Processor time of that process: as long as a search lasts."""

SEARCH_REDIRECTS_MAX = 5
"""Redirects of one engine's request; the longest known way, a cookie that is set by one, takes 3."""

SEARCHES_RUNNING_MAX = 4
"""Searches at the same time, each of eleven requests; further ones queue."""

SEARCH_QUERY_BYTES_MAX = 1024
"""Longest query as UTF-8. Engines cut or refuse above 128 to 2048 characters."""

SEARCH_RESULTS_MAX = 15
"""Results in one answer: about 1,500 tokens."""

SEARCH_HITS_MAX = 30
"""Taken of one engine; pages have 7 to 20."""

SEARCH_TITLE_CHARS_MAX = 200
"""Of a result's title; engines themselves cut at about 70."""

SEARCH_SNIPPET_CHARS_MAX = 400
"""Of a result's text; engines themselves cut at 150 to 320."""

SEARCH_URL_CHARS_MAX = 2048
"""A result with a longer address is left out; it is a tracking link, or made to fill the answer."""

SEARCH_REST_S_MAX = 600
"""How long an engine that asked for rest (Retry-After, backoff) is left alone at most; then it is asked again."""

# -- pages

PAGE_WORKER_BYTES_MAX = 1536 * 1024 * 1024
"""Address space of the process that takes pages apart: a tree of 10 MB of HTML takes some 400 MB, and copies of it."""

PAGE_WORKER_S_MAX = 15
"""Its processor time for one page; 10 MB of HTML take about 5 s."""

PAGE_ANSWER_BYTES_MAX = 64 * 1024 * 1024
"""What it may answer; tables with long links become longer as markdown than they were."""

BROWSER_START_S_MAX = 15
"""For a browser to answer; it takes 0.2 s on an idle machine and 3 s on one that does ten other things."""

BROWSER_IDLE_S = 120.0
"""A browser that had no tab for so long is closed: it holds some 300 MB, and a model reads a page in a minute."""

BROWSER_LOG_BYTES_MAX = 64 * 1024 * 1024
"""What a browser may write to stderr in its life; past it it is ended."""

TAB_CLOSE_S_MAX = 2.0
"""For a tab to go; it takes 10 ms."""

TAB_EMPTY_AFTER_S = 0.03
"""After its page was read, unless it is wanted before: emptying it takes a processor that the answer needs first."""

TAB_EMPTY_WAIT_S_MAX = 0.5
"""For the tab of the last page to be empty, which takes 20 ms; a fresh one takes 200."""

TAB_PAGES_MAX = 100
"""Pages of one site in one tab, one after the other; then its process, and what it has lost of its memory, goes."""

TABS_MAX = 4
"""Tabs with a page at the same time, each some 100 MB; further calls queue."""

PAGE_TEXT_CHARS_ENOUGH = 200
"""A page with scripts and less text than this is taken for an empty frame that scripts fill."""

PAGE_TOTAL_S_MAX = 30.0
"""For one page, from the call to its answer: what clients wait for a tool at the least."""

PAGE_CONVERT_S = 3.0
"""Of those, kept for reading and converting what has been loaded; 10 MB of HTML take longer, and are refused then."""

PAGE_LOAD_S_MAX = 12.0
"""For the load event; a page whose pictures or trackers hang is read without them."""

PAGE_QUIET_S_MAX = 6.0
"""After the load event, for requests in progress to end; some are never meant to."""

PAGE_THIN_S_MAX = 3.0
"""After that, for a page that shows next to nothing to show something."""

PAGE_WAIT_MS_MAX = 30_000
"""Longest `wait_ms`, from the seed's contract; what is left of the whole time bounds it too."""

PAGE_WORKERS_MAX = 2
"""Processes that convert pages at the same time: as many as a small machine has processors."""

PAGE_WORKERS_IDLE_S = 120.0
"""One that had nothing to do for so long is ended; starting another takes 0.1 s."""

PAGE_CACHE_S = 15 * 60.0
"""How long a page is answered from memory: models read a page again when their context was cut."""

PAGE_CACHE_CHARS_MAX = 8 * 1024 * 1024
"""Of all kept pages together."""

PAGE_FILES_KEPT_MAX = 200
"""Files of pages that were longer than an answer, the newest."""
