"""tasks/get, tasks/list, tasks/cancel, tasks/result, tasks/update, and how a task is told to its client.

Source: MCP 2025-11-25, basic/utilities/tasks; the extension `io.modelcontextprotocol/tasks` of 2026-07-28. What the two
spell differently stands in `described`; a request sees the tasks of its own revision only. The rows are in `methods`.
"""

from __future__ import annotations

import time

from scorpio.limits import CALL_TASK_LIST_MAX, CALL_TASK_POLL_MS, SUBSCRIPTIONS_MAX
from scorpio.protocol.content import shaped
from scorpio.protocol.errors import INVALID_PARAMS, METHOD_NOT_FOUND, MISSING_CLIENT_CAPABILITY, ProtocolError
from scorpio.protocol.meta import TASKS, has_extension
from scorpio.protocol.revisions import TASKS_CORE, TASKS_EXTENSION
from scorpio.server import questions, subscriptions

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from scorpio.protocol.messages import Request, RequestId
    from scorpio.protocol.meta import RequestMeta
    from scorpio.server.peer import Peer
    from scorpio.server.server import Server
    from scorpio.server.tasks import Task

STATUS_METHODS = {TASKS_CORE: "notifications/tasks/status", TASKS_EXTENSION: "notifications/tasks"}


# -- the methods


def get_task(server: Server, request: Request, meta: RequestMeta, peer: Peer) -> bytes:
    task = _task(server, request, meta, peer)
    with task.lock:
        return _with_outcome(server, task, server.encode_result(described(task), task.revision))


def list_tasks(server: Server, request: Request, meta: RequestMeta, peer: Peer) -> bytes:
    _require_tasks(request, meta)
    cursor = request.params.get("cursor")
    if cursor is not None and not (type(cursor) is str and cursor.isascii() and cursor.isdigit() and len(cursor) < 20):
        raise ProtocolError(INVALID_PARAMS, "Unknown cursor: send the nextCursor of the page before")
    tasks = server.tasks.after(peer.owner, int(cursor or 0), meta.revision)
    page = tasks[:CALL_TASK_LIST_MAX]
    result: dict[str, Any] = {"tasks": [described(task) for task in page]}
    if len(tasks) > len(page):
        result["nextCursor"] = str(page[-1].number)
    return server.encode(result)


def cancel_task(server: Server, request: Request, meta: RequestMeta, peer: Peer) -> bytes:
    task = _task(server, request, meta, peer)
    cancelled = task.cancel("Cancelled by the client.")
    if meta.revision.tasks == TASKS_EXTENSION:
        return server.encode_result({}, meta.revision)
    if not cancelled:
        raise ProtocolError(INVALID_PARAMS, f"Task {task.id} is over ({task.status}) and cannot be cancelled")
    return server.encode(described(task))


def task_result(server: Server, request: Request, meta: RequestMeta, peer: Peer) -> bytes | None:
    """At once where there is one; else the answer leaves when the task is over, and its questions before."""
    task = _task(server, request, meta, peer)
    if task.ended:
        return outcome(server, task)
    from scorpio.server.result_call import ResultCall

    ResultCall(server, peer, request, meta, task).start()
    return None


def update_task(server: Server, request: Request, meta: RequestMeta, peer: Peer) -> bytes:
    task = _task(server, request, meta, peer)
    responses = request.params.get("inputResponses")
    if type(responses) is not dict:
        raise ProtocolError(INVALID_PARAMS, "inputResponses must be an object of key to response")
    asked = dict(task.questions)
    given = {key: answer for key, answer in responses.items() if key in asked}  # others are over, or never were
    for key, answer in given.items():
        fault = questions.fault(asked[key][0], answer) if type(answer) is dict else "the response must be an object"
        if fault:
            raise ProtocolError(INVALID_PARAMS, f"inputResponses/{key}: {fault}")
    for key, answer in given.items():
        task.answer(key, answer)
    return server.encode_result({}, meta.revision)


def _task(server: Server, request: Request, meta: RequestMeta, peer: Peer) -> Task:
    _require_tasks(request, meta)
    id_ = request.params.get("taskId")
    if type(id_) is not str:
        raise ProtocolError(INVALID_PARAMS, f"{request.method} needs a taskId that is a string")
    task = server.tasks.find(peer.owner, id_, meta.revision)
    if task is None:
        raise ProtocolError(INVALID_PARAMS, f"There is no task {id_[:64]}, or not any longer")
    return task


def _require_tasks(request: Request, meta: RequestMeta) -> None:
    if not meta.revision.tasks:
        raise ProtocolError(METHOD_NOT_FOUND, f"{request.method} does not exist in {meta.revision.name}")
    if meta.revision.tasks == TASKS_EXTENSION and not has_extension(meta.client_capabilities, TASKS):
        raise missing_extension()


def missing_extension() -> ProtocolError:
    required: dict[str, Any] = {"requiredCapabilities": {"extensions": {TASKS: {}}}}
    return ProtocolError(MISSING_CLIENT_CAPABILITY, f"Client capability required: extension {TASKS}", required)


# -- a task on the wire


def described(task: Task) -> dict[str, Any]:
    """The task in the words of its revision, without its result."""
    said = {"statusMessage": message} if (message := task.message) else {}
    shape: dict[str, Any] = {"taskId": task.id, "status": task.status, **said}
    shape |= {"createdAt": _instant(task.created_unix_s), "lastUpdatedAt": _instant(task.updated_unix_s)}
    if task.revision.tasks == TASKS_CORE:
        return shape | {"ttl": task.ttl_ms, "pollInterval": CALL_TASK_POLL_MS}
    shape |= {"ttlMs": task.ttl_ms, "pollIntervalMs": CALL_TASK_POLL_MS}
    if task.questions:
        asked = task.questions.items()
        shape["inputRequests"] = {key: {"method": method, "params": params} for key, (method, params) in asked}
    if task.error is not None and task.status == "failed":
        shape["error"] = {"code": task.error.code, "message": task.error.message}
        if task.error.data is not None:
            shape["error"]["data"] = task.error.data
    return shape


def created(server: Server, task: Task) -> bytes:
    """The result that a task is begun with."""
    if task.revision.tasks == TASKS_CORE:
        return server.encode({"task": described(task)})
    return server.encode_result({"resultType": "task", **described(task)}, task.revision)


def outcome(server: Server, task: Task) -> bytes:
    """The encoded result of a task that is over. Raises its ProtocolError where it has none."""
    with task.lock:
        error = task.error
        if error is not None:
            task.fetched = True
            raise ProtocolError(error.code, error.message, error.data)
        return _fetched(server, task)


def _with_outcome(server: Server, task: Task, encoded: bytes) -> bytes:
    """Extension: the result of the call, written into an object that has been encoded. With the lock held."""
    if task.revision.tasks != TASKS_EXTENSION:
        return encoded
    if task.result is None:
        task.fetched = task.ended
        return encoded
    return b'%b,"result":%b}' % (encoded[:-1], _fetched(server, task))


def _fetched(server: Server, task: Task) -> bytes:
    """The result, in which the first to fetch it finds what toolsets want to tell its client."""
    assert task.result is not None
    if not task.fetched:
        task.fetched = True
        news = [block for t in server.features.telling for block in server.state(t).after_result(task.owner)]
        if news:
            import orjson

            value = orjson.loads(task.result)
            value["content"] += shaped(news, task.revision)
            task.result = server.encode(value)
    return task.result


def _instant(unix_s: float) -> str:
    whole = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(unix_s))
    return f"{whole}.{int(unix_s * 1000) % 1000:03d}Z"


# -- news of a task


def tell(server: Server, peer: Peer, task: Task) -> None:
    """Send the task as it is now: in core to the client that began it, in the extension to those who listen to it.

    With the lock of the task held.
    """
    if task.revision.tasks == TASKS_CORE:
        send = peer.notify if task.ended or task.questions else peer.hint
        send(STATUS_METHODS[TASKS_CORE], server.encode(described(task)))
        return
    for listener in tuple(server.peers):
        if listener.owner == task.owner and listener.listens:
            for id_, wanted in tuple(listener.listens.items()):
                if task.id in wanted.get("taskIds", ()):
                    _tell_listener(server, listener, id_, task)


def watched(server: Server, wanted: Any, meta: RequestMeta, peer: Peer) -> list[Task]:
    """The tasks of `taskIds` in a subscription that are this client's. Raises ProtocolError."""
    if not has_extension(meta.client_capabilities, TASKS):
        raise missing_extension()
    if type(wanted) is not list or not all(type(id_) is str for id_ in wanted):
        raise ProtocolError(INVALID_PARAMS, "taskIds must be an array of strings")
    if len(wanted) > SUBSCRIPTIONS_MAX:
        raise ProtocolError(INVALID_PARAMS, f"taskIds has more than {SUBSCRIPTIONS_MAX} tasks")
    found = (server.tasks.find(peer.owner, id_, meta.revision) for id_ in dict.fromkeys(wanted))
    return [task for task in found if task is not None]


def tell_beginner(server: Server, peer: Peer, id_: RequestId, tasks: list[Task]) -> None:
    """What happened before the subscription was there: a task that has ended meanwhile would be silent for ever."""
    for task in tasks:
        with task.lock:
            if task.ended or task.questions:
                _tell_listener(server, peer, id_, task)


def _tell_listener(server: Server, peer: Peer, id_: RequestId, task: Task) -> None:
    params = server.encode(described(task) | subscriptions.tag(id_))
    peer.notify(STATUS_METHODS[TASKS_EXTENSION], _with_outcome(server, task, params))
