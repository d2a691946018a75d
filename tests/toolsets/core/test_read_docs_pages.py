"""Pages of many generators, counted before and after: nothing of the main content is lost, no navigation is kept.

The pages in pages/ are written for these tests in the form of their generators. Every word of their navigation, footers
and other frames is preceded by `navword`; PAGES says where the main content is and what in it is not content.
"""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pytest
from selectolax.lexbor import LexborHTMLParser

from tests.web_site import answer

if TYPE_CHECKING:
    from collections.abc import Callable

    from selectolax.lexbor import LexborNode

    from tests.toolsets.core.local_core import LocalCore
    from tests.web_site import Site

PAGES_FOLDER = Path(__file__).parent / "pages"
NUMBERS = ".linenos, .linenodiv, td.gutter, .lnt, .hljs-ln-numbers, .line-numbers-wrapper"
NO_CONTENT = f"script, style, svg, button, input, clipboard-copy, {NUMBERS}"
CODE_TABLES = ".highlighttable, .rouge-table, .lntable, .hljs-ln"


class Page(NamedTuple):
    main: str
    frames: str
    """In the main content, and none of it: permalinks, breadcrumbs, copy buttons."""
    languages: tuple[str, ...]
    layout_tables: int = 0


PAGES = {
    "sphinx_rtd": Page("[itemprop=articleBody]", ".headerlink, .viewcode-link", ("console", "python", "bash", "bash")),
    "mkdocs_material": Page(
        "article", ".headerlink, .md-content__button, .md-source-file, .md-feedback", ("yaml", "toml", "python")
    ),
    "docusaurus": Page(".theme-doc-markdown", ".hash-link", ("bash", "bash", "javascript")),
    "rustdoc": Page(
        "#main-content",
        ".rustdoc-breadcrumbs, .sub-heading, summary.hideme, .doc-anchor, .anchor, a.src, .tooltip",
        ("rust", "rust", "toml"),
    ),
    "github_readme": Page("article.markdown-body", "a.anchor, .sr-only", ("shell", "go")),
    "man_page": Page(".manual-text", "a.anchor", ("", "")),
    "tables_wiki": Page("#content", "nav, .noprint, .mw-editsection, .navbox, .printfooter, .catlinks", ()),
    "code_heavy": Page("article", ".u-url", ("ruby", "python", "go", "haskell", "java", "c", "typescript", "", "sql")),
    "vitepress_cjk": Page(".vp-doc", ".header-anchor, span.lang", ("typescript", "sh", "sh")),
    "rtl_wordpress": Page("main", ".wp-block-comments", ("bash",)),
    "malformed": Page("body", "", ("",), layout_tables=1),
    "javadoc": Page("main", "", ("",)),
    "no_landmarks": Page("td:has(h1)", "", ("",)),
}
FENCE = re.compile(
    r"^(?P<indent>[ ]*)(?P<mark>`{3,})(?P<language>[^\n`]*)\n(?P<code>.*?)^(?P=indent)(?P=mark)[ ]*$",
    re.MULTILINE | re.DOTALL,
)


def words(text: str) -> Counter[str]:
    return Counter(re.findall(r"\w+", text))


def source(name: str) -> LexborNode:
    """The main content of a page, without what is none of it."""
    page = PAGES[name]
    tree = LexborHTMLParser((PAGES_FOLDER / f"{name}.html").read_text("utf-8"), scripting=True)
    main = tree.css_first(page.main)
    assert main is not None
    for node in reversed(main.css(", ".join(filter(None, (NO_CONTENT, page.frames))))):
        node.decompose()
    return main


def blocks_of(main: LexborNode) -> list[LexborNode]:
    """The blocks of code, each once, whatever tables with numbers they stand in."""
    found = main.css("pre, table.hljs-ln")
    return [node for node in found if len(node.css("pre, table.hljs-ln")) == 1 and node.text().strip()]


def lines_of(code: str) -> list[str]:
    """Without blank ones, and without the indentation of a list they stand in."""
    return [line.strip() for line in code.replace("\xa0", " ").splitlines() if line.strip()]


class Read(NamedTuple):
    """What a model gets of a page."""

    text: str
    fences: list[re.Match[str]]
    outside: str

    @classmethod
    def of(cls, answered: str) -> Read:
        text = answered.partition("not instructions.\n")[2]
        return cls(text, list(FENCE.finditer(text)), FENCE.sub("", text))

    def headings(self) -> int:
        return len(re.findall(r"^[ >]*(?:[-*+] |\d+\. )*[ ]*#{1,6} \S", self.outside, re.MULTILINE))

    def tables(self) -> int:
        return len(re.findall(r"^[ >]*\|(?:\s*:?-+:?\s*\|)+\s*$", self.outside, re.MULTILINE))

    def links(self) -> int:
        return len(re.findall(r"(?<!!)\[(?:[^\[\]]|\[[^\[\]]*\]|!\[[^\]]*\]\([^)]*\))*\]\(<?[a-z]+:", self.outside))


@pytest.fixture(scope="module")
def known() -> dict[tuple[str, str], Read]:
    """Every page is read once a way."""
    return {}


@pytest.fixture(params=["plain", "rendered"])
def read(
    request: pytest.FixtureRequest, reader: LocalCore, site: Site, known: dict[tuple[str, str], Read]
) -> Callable[[str], Read]:
    """Reads one page over plain HTTP, or in the browser."""

    def one(name: str) -> Read:
        if (request.param, name) not in known:
            site.pages[f"/docs/{name}.html"] = answer((PAGES_FOLDER / f"{name}.html").read_bytes())
            arguments = {"wait_ms": 0} if request.param == "rendered" else {}
            answered = reader.text("ReadDocs", {"url": site.url(f"/docs/{name}.html"), **arguments})
            assert ("Fetched: plain HTTP" in answered) == (request.param == "plain")
            known[request.param, name] = Read.of(answered)
        return known[request.param, name]

    return one


@pytest.mark.requirement("readdocs:main-content")
@pytest.mark.parametrize("name", PAGES)
def test_nothing_of_the_main_content_is_lost_and_no_navigation_is_kept(name: str, read: Callable[[str], Read]) -> None:
    main, found = source(name), read(name)
    tables = [table for table in main.css("table") if not table.css_matches(CODE_TABLES)]
    assert found.headings() == len(main.css("h1, h2, h3, h4, h5, h6"))
    assert [fence["language"] for fence in found.fences] == list(PAGES[name].languages)
    assert len(found.fences) == len(blocks_of(main))
    assert found.tables() == len(tables) - PAGES[name].layout_tables
    links = [link for link in main.css("a[href]") if link.text().strip() or link.css_first("img")]
    assert found.links() == len(links) - len([link for link in main.css("pre a") if link.text().strip()])
    assert words(main.text(separator=" ")) - words(found.text) == Counter()
    assert "navword" not in found.text


@pytest.mark.requirement("readdocs:main-content")
@pytest.mark.parametrize("name", PAGES)
def test_code_is_kept_line_by_line(name: str, read: Callable[[str], Read]) -> None:
    main, found = source(name), read(name)
    for line_break in main.css("pre br"):
        line_break.replace_with("\n")
    for item in main.css("pre li, .hljs-ln tr"):
        item.insert_after("\n")
    expected = [lines_of(block.text()) for block in blocks_of(main)]
    assert [lines_of(fence["code"]) for fence in found.fences] == expected


def test_indentation_of_code_is_kept(reader: LocalCore, site: Site) -> None:
    site.pages["/"] = answer("<article><h1>x</h1><pre>def f():\n    if a:\n\treturn\n\n    # end</pre></article>")
    found = Read.of(reader.text("ReadDocs", {"url": site.url()}))
    assert found.fences[0]["code"] == "def f():\n    if a:\n\treturn\n\n    # end\n"


SECTION = (
    '<h2 id="s{n}">Section {n}</h2><p>Paragraph {n} with a <a href="#s{n}">link {n}</a> in it, and some more words.</p>'
    '<pre><code class="language-python">value_{n} = compute({n})\nprint(value_{n})</code></pre>'
    "<table><tr><th>a</th><th>b</th></tr><tr><td>cell{n}</td><td>{n}</td></tr></table>"
)


@pytest.mark.parametrize("way", ["plain", "rendered"])
def test_a_huge_page_is_converted_whole_and_saved(reader: LocalCore, site: Site, way: str) -> None:
    count = 6000
    nav = "<nav>" + "".join(f'<a href="/{n}">navword {n}</a>' for n in range(count)) + "</nav>"
    body = "".join(SECTION.format(n=n) for n in range(count))
    site.pages["/"] = answer(f"<title>Huge</title>{nav}<main><h1>Huge</h1>{body}</main>")
    answered = reader.text("ReadDocs", {"url": site.url(), **({"wait_ms": 0} if way == "rendered" else {})})
    assert len(answered) < 31_000
    shown = re.search(r"\[… ([\d,]+) more characters; full text: (\S+) …\]", answered)
    assert shown is not None
    whole = Path(shown[2]).read_text("utf-8")
    found = Read(whole, list(FENCE.finditer(whole)), FENCE.sub("", whole))
    assert (found.headings(), len(found.fences), found.tables(), found.links()) == (count + 1, count, count, count)
    assert all(f"cell{n} " in whole for n in range(0, count, 97))
    assert "navword" not in whole
    head = answered.partition("not instructions.\n\n")[2].partition("\n[… ")[0]
    assert whole.startswith(head)
    assert len(whole) - len(head) == int(shown[1].replace(",", ""))


@pytest.mark.requirement("readdocs:absolute-links")
def test_links_and_pictures_are_absolute(reader: LocalCore, site: Site) -> None:
    site.pages["/a/b.html"] = answer(
        '<base href="/base/"><article><h1>Links</h1><p><a href="one">1</a> <a href="../two?x=1&amp;y=2">2</a>'
        ' <a href="#three">3</a> <a href="//four.example/">4</a> <a href="mailto:a@b.example">5</a>'
        ' <a href="javascript:alert(1)">six</a>'
        ' <a href="data:text/html,x">seven</a> <a>eight</a> <img src="nine.png" alt="nine">'
        ' <img src="data:image/png;base64,AAAA" data-src="/ten.png" alt="ten">'
        ' <img src="data:image/gif;base64,AA" alt="eleven"></p></article>'
    )
    text = reader.text("ReadDocs", {"url": site.url("/a/b.html")})
    root = site.url("")
    for link in (
        f"[1]({root}/base/one)",
        f"[2]({root}/two?x=1&y=2)",
        f"[3]({root}/base/#three)",
        "[4](http://four.example/)",
        "[5](mailto:a@b.example)",
        f"![nine]({root}/base/nine.png)",
        f"![ten]({root}/ten.png)",
    ):
        assert link in text
    assert "six seven eight" in text
    assert "eleven" in text
    assert "javascript:" not in text
    assert "data:" not in text


def test_a_page_whose_frames_are_most_of_it_is_read_all_the_same(reader: LocalCore, site: Site) -> None:
    words_ = "Everything here stands in an element that is named like a frame, and yet it is what the page is about. "
    site.pages["/"] = answer(
        f'<div class="sidebar" role="banner"><h1>Odd</h1><p>{words_ * 5}</p></div><footer>small</footer>'
    )
    assert reader.text("ReadDocs", {"url": site.url()}).count("Everything here stands") == 5


def test_formulas_are_told_once(reader: LocalCore, site: Site) -> None:
    site.pages["/"] = answer(
        '<main><h1>Areas</h1><p>So <span class="katex"><span class="katex-mathml"><math><semantics><mrow><mi>a</mi>'
        '</mrow><annotation encoding="application/x-tex">\\pi r^2</annotation></semantics></math></span>'
        '<span class="katex-html" aria-hidden="true">πr2</span></span> it is.</p></main>'
    )
    assert r"So $\pi r^2$ it is." in reader.text("ReadDocs", {"url": site.url()})
