"""The worker process: a document as bytes, or a page that a browser has rendered, becomes text for a model.

Opens no file and no connection. A question and an answer are one line of JSON, a newline, and bytes.
"""

from __future__ import annotations

import json

from scorpio.worker_process import serve
from tools.core.limits import PAGE_WORKER_BYTES_MAX, PAGE_WORKER_S_MAX

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, NoReturn

    from tools.core.read_docs.page import Page

MEMORY = f"needs more than {PAGE_WORKER_BYTES_MAX >> 20} MB of memory to be read"


def main() -> NoReturn:
    import selectolax.lexbor  # noqa: F401  # ahead of the first question, which is still being fetched

    from tools.core.read_docs import main_content, markdown  # noqa: F401

    serve(_answer, address_space_bytes=PAGE_WORKER_BYTES_MAX, processor_s=PAGE_WORKER_S_MAX)


def _answer(question: bytes) -> bytes:
    line, _, body = question.partition(b"\n")
    del question
    asked = json.loads(line)
    try:
        answer, text = _KINDS[asked["kind"]](asked, body)
    except MemoryError:
        answer, text = {"failure": MEMORY}, ""
    except RecursionError:
        answer, text = {"failure": "is nested too deep to be read"}, ""
    return json.dumps(answer).encode() + b"\n" + text.encode("utf-8", "replace")


def _page(asked: dict[str, Any], body: bytes) -> tuple[dict[str, Any], str]:
    from tools.core.read_docs.charsets import decoded
    from tools.core.read_docs.invisible import escaped
    from tools.core.read_docs.markdown import plain
    from tools.core.read_docs.page import Page
    from tools.core.read_docs.page_html import stripped

    rendered = asked["rendered"]
    end = asked.get("html_bytes", len(body))
    html, charset = (body[:end].decode("utf-8"), "") if rendered else decoded(body, asked["content_type"])
    page = Page(html, asked["url"], rendered=rendered)
    answer = {
        "title": page.title,
        "charset": charset,
        "refresh": page.refresh,
        "needs_scripts": not rendered and page.needs_scripts(),
        "chars": page.text_length(),
    }
    if page.tree.body is None:
        return answer, ""
    if asked["format"] == "html":
        return answer, escaped(stripped(page))
    if asked["format"] == "text":
        return answer, escaped(plain(page.tree.body))
    return answer, escaped(_markdown(page, body[end:].decode("utf-8")))


def _markdown(page: Page, article: str) -> str:
    """`article`: what Readability took for the main content; "" where nobody asked it."""
    from tools.core.read_docs.code_blocks import plain_code
    from tools.core.read_docs.main_content import frames_only_lost, main_content
    from tools.core.read_docs.markdown import markdown
    from tools.core.read_docs.page import Page

    assert page.tree.body is not None
    plain_code(page, page.tree.body)
    container = main_content(page)
    if article:
        other = Page(article, page.base, rendered=True)
        if other.tree.body is not None:
            plain_code(other, other.tree.body)
            if frames_only_lost(other.tree.body, container):
                return markdown(other, other.tree.body)
    return markdown(page, container)


def _text(asked: dict[str, Any], body: bytes) -> tuple[dict[str, Any], str]:
    from tools.core.read_docs.charsets import decoded
    from tools.core.read_docs.invisible import escaped

    text, charset = decoded(body, asked["content_type"])
    return {"title": "", "charset": charset, "notes": []}, escaped(text)


def _pdf(asked: dict[str, Any], body: bytes) -> tuple[dict[str, Any], str]:
    from tools.core.read_docs.invisible import escaped
    from tools.core.read_docs.pdf import Unreadable, text_of

    try:
        title, text, notes = text_of(body)
    except Unreadable as reason:
        return {"failure": str(reason)}, ""
    return {"title": title, "charset": "", "notes": notes}, escaped(text)


_KINDS = {"page": _page, "text": _text, "pdf": _pdf}


if __name__ == "__main__":
    main()
