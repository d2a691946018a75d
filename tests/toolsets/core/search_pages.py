"""Pages of every engine, written for these tests in the form the engines' own have: results, none, a wall, a new form.

Each results page holds three hits whose addresses are wrapped as that engine wraps them, one advert, and what else
stands on such a page (navigation, related searches, cards), which no parser may take for a result.
"""

from __future__ import annotations

import base64
import html
import json
from collections.abc import Callable, Sequence
from urllib.parse import quote

Item = tuple[str, str, str]
"""(title, address, text)."""

ITEMS: tuple[Item, ...] = (
    ("Sockets & <streams>", "https://docs.example.org/sockets?lang=en", "All of it, from bind to close."),
    ("非同期ソケット入門", "https://例え.jp/ソケット", "ソケットを使う前に知っておくこと。"),
    ("Sockets in one page", "https://www.example.net/one/", "Short — and complete."),
)
ADVERT: Item = ("Buy sockets now", "https://shop.example.com/sockets", "Sockets from 1 €.")
SHOWN = (
    "https://docs.example.org/sockets?lang=en",
    "https://xn--r8jz45g.jp/ソケット",
    "https://www.example.net/one/",
)
"""The items' addresses as an answer has them."""


class Pages:
    """What one engine may answer."""

    def __init__(
        self,
        results: Callable[[Sequence[Item], Item], str],
        *,
        empty: str,
        blocked: str,
        changed: str,
    ) -> None:
        self._results = results
        self.empty = empty
        self.blocked = blocked
        self.changed = changed

    def results(self, items: Sequence[Item] = ITEMS, advert: Item = ADVERT) -> str:
        return self._results(items, advert)


def _page(title: str, body: str) -> str:
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{title}</title>'
        f"<style>.x{{color:red}}</style></head><body><nav><a href='/'>Home</a><a href='/images?q=x'>Images</a></nav>"
        f"{body}<footer><a href='https://policies.example.com/privacy'>Privacy</a></footer></body></html>"
    )


def _e(text: str) -> str:
    return html.escape(text)


CHANGED = _page(
    "sockets - Search",
    '<main><section class="n1"><div role="listitem" data-r="1"><div class="t">Sockets</div>'
    '<div class="u">docs.example.org</div></div></section></main>',
)
"""A page of results as an engine may make it tomorrow: results for a person, none that a selector knows."""


def _duckduckgo(items: Sequence[Item], advert: Item) -> str:
    def result(item: Item, kind: str, href: str) -> str:
        title, _, text = item
        return (
            f'<div class="result results_links results_links_deep {kind}"><div class="links_main links_deep '
            f'result__body"><h2 class="result__title"><a rel="nofollow" class="result__a" href="{_e(href)}">'
            f'{_e(title)}</a></h2><div class="result__extras"><a class="result__url" href="{_e(href)}">site</a></div>'
            f'<a class="result__snippet" href="{_e(href)}">{_e(text)}</a></div></div>'
        )

    organic = "".join(
        result(item, "web-result", f"//duckduckgo.com/l/?uddg={quote(item[1], safe='')}&rut=0123abcd") for item in items
    )
    ad = f"https://duckduckgo.com/y.js?ad_domain=shop.example.com&ad_provider=bingv7aa&u3={quote(advert[1], safe='')}"
    return _page(
        "sockets at DuckDuckGo",
        f'<div id="links" class="results">{result(advert, "result--ad result--ad--small", ad)}{organic}'
        '<div class="nav-link"><form action="/html/" method="post"><input name="vqd" value="4-1"></form></div></div>',
    )


def _bing(items: Sequence[Item], advert: Item) -> str:
    def wrapped(url: str) -> str:
        code = base64.urlsafe_b64encode(url.encode()).decode().rstrip("=")
        return f"https://www.bing.com/ck/a?!&&p=0f1e2d&ptn=3&ver=2&hsh=4&u=a1{code}&ntb=1"

    organic = "".join(
        f'<li class="b_algo" data-id><div class="b_tpcn"><a class="tilk" href="{_e(wrapped(url))}"><cite>site</cite>'
        f'</a></div><h2><a href="{_e(wrapped(url))}" h="ID=SERP,5">{_e(title)}</a></h2><div class="b_caption">'
        f'<p class="b_lineclamp2"><span class="algoSlug_icon">Web</span>{_e(text)}</p></div></li>'
        for title, url, text in items
    )
    ad = f"https://www.bing.com/aclick?ld=e8x&u={quote(advert[1], safe='')}"
    return _page(
        "sockets - Search",
        f'<main><ol id="b_results"><li class="b_ad"><ul><li><h2><a href="{_e(ad)}">{_e(advert[0])}</a></h2></li></ul>'
        f'</li><li class="b_algo b_ad"><h2><a href="{_e(ad)}">{_e(advert[0])}</a></h2></li>{organic}'
        '<li class="b_ans"><h2><a href="/search?q=related">Related searches</a></h2></li>'
        '<li class="b_pag"><a href="/search?q=sockets&first=11">2</a></li></ol></main>',
    )


def _brave(items: Sequence[Item], advert: Item) -> str:
    def snippet(item: Item, kind: str) -> str:
        title, url, text = item
        return (
            f'<div class="snippet svelte-jmfu5f" data-pos="0" data-type="{kind}"><div class="result-wrapper">'
            f'<div class="result-content"><a href="{_e(url)}" class="svelte-14r20fy l1"><div class="site-name-wrapper">'
            f'<cite class="snippet-url">site</cite></div><div class="title search-snippet-title line-clamp-1">'
            f'{_e(title)}</div></a><div class="generic-snippet"><div class="content t-primary">{_e(text)}</div></div>'
            "</div></div></div>"
        )

    return _page(
        "sockets - Brave Search",
        f'<div id="results">{snippet(advert, "ad")}{"".join(snippet(item, "web") for item in items)}'
        '<div class="snippet standalone" id="faq"><a href="https://faq.example.com/"><div class="title">FAQ</div></a>'
        '</div><div class="snippet standalone" id="search-elsewhere">Search elsewhere</div></div>',
    )


def _google(items: Sequence[Item], advert: Item) -> str:
    """As telephones without scripts get it."""
    organic = "".join(
        f'<div class="ezO2md"><div><a class="fuLhoc ZWRArf" href="/url?q={quote(url, safe="/:")}&amp;sa=U&amp;ved=2ah">'
        f'<span class="CVA68e qXLe6d fuLhoc ZWRArf">{_e(title)}</span><span class="qXLe6d dXDvrc">site</span></a></div>'
        f'<div><span class="qXLe6d FrIlee"><span class="fYyStc">{_e(text)}</span></span></div></div>'
        for title, url, text in items
    )
    return _page(
        "sockets - Google Search",
        f'<div id="tads"><div data-text-ad="1"><a href="/aclk?sa=l&amp;adurl={quote(advert[1])}"><h3>{_e(advert[0])}'
        f'</h3></a></div></div><div id="main">{organic}<div class="ezO2md"><a href="/search?q=sockets+python">'
        '<span class="CVA68e">sockets python</span></a></div></div>',
    )


def google_with_scripts(items: Sequence[Item] = ITEMS, advert: Item = ADVERT) -> str:
    """As browsers get it once its scripts have run."""
    organic = "".join(
        f'<div class="MjjYud"><div class="wHYlTd tF2Cxc" data-hveid="C" data-ved="2"><div class="yuRUbf"><span>'
        f'<a class="zReHs" href="{_e(url)}"><h3 class="LC20lb MBeuO DKV0Md">{_e(title)}</h3><cite>site</cite></a>'
        f'</span></div><div data-sncf="1"><div class="VwiC3b">{_e(text)}</div></div></div></div>'
        for title, url, text in items
    )
    return _page(
        "sockets - Google Search",
        f'<div id="tads"><div class="uEierd" data-text-ad="1"><a href="{_e(advert[1])}"><h3>{_e(advert[0])}</h3></a>'
        f'</div></div><div id="rso">{organic}</div><div id="botstuff"><a href="/search?q=more"><h3>More</h3></a></div>',
    )


def _mojeek(items: Sequence[Item], advert: Item) -> str:
    organic = "".join(
        f'<li class="r{n}"><a class="ob" href="{_e(url)}"><p class="i"><span class="url">site</span></p></a>'
        f'<h2><a class="title" href="{_e(url)}">{_e(title)}</a></h2><p class="s">{_e(text)}</p>'
        f'<p class="more"><a href="/search?q=site%3Ax">See more results</a></p></li>'
        for n, (title, url, text) in enumerate(items, 1)
    )
    ad = f'<li class="ad"><h2><a class="title" href="{_e(advert[1])}">{_e(advert[0])}</a></h2></li>'
    return _page(
        "sockets - Mojeek Search",
        f'<div class="results"><ul class="results-standard">{ad}{organic}</ul></div>'
        '<ul class="infobox"><li><h2><a href="https://info.example.com/">Box</a></h2></li></ul>',
    )


def startpage_script(boxes: list[dict[str, object]]) -> str:
    """The page with its results in the script that makes it."""
    props = {"render": {"presenter": {"regions": {"mainline": boxes}}}, "translations": {"all": 'a }) "b"'}}
    return _page(
        "Startpage Search Results",
        f'<div id="root"></div><script>if (typeof UIStartpage.AppSerpWeb === "undefined") {{}}\n'
        f"ReactDOM.hydrateRoot(rootNode, React.createElement(UIStartpage.AppSerpWeb, {json.dumps(props)}))</script>",
    )


def _startpage(items: Sequence[Item], advert: Item) -> str:
    results = [
        {"title": _e(title).replace("ockets", "<b>ockets</b>"), "clickUrl": url, "description": _e(text)}
        for title, url, text in items
    ]
    ad = {"title": advert[0], "clickUrl": advert[1], "description": advert[2]}
    return startpage_script(
        [
            {"display_type": "spellsuggest-google", "results": []},
            {"display_type": "ads-google-top", "results": [ad]},
            {"display_type": "web-google", "results": results},
            {"display_type": "related-google"},
        ]
    )


def startpage_boxes(items: Sequence[Item] = ITEMS) -> str:
    """The page with its results in boxes, as it is shown."""
    organic = "".join(
        f'<div class="result css-o7i03b"><div class="upper"><a class="wgl-site-title" href="{_e(url)}">site</a></div>'
        f'<a class="result-title result-link css-1" href="{_e(url)}"><h2 class="wgl-title">{_e(title)}</h2></a>'
        f'<p class="description css-2">{_e(text)}</p><a href="https://eu-browse.startpage.com/av/proxy?ep=4b">Visit in '
        "Anonymous View</a></div>"
        for title, url, text in items
    )
    return _page("Startpage Search Results", f'<section class="w-gl">{organic}</section>')


def _yahoo(items: Sequence[Item], advert: Item) -> str:
    def result(item: Item, box: str) -> str:
        title, url, text = item
        href = f"https://r.search.yahoo.com/_ylt=Aw;_ylu=Y2/RV=2/RE=17/RO=10/RU={quote(url, safe='')}/RK=2/RS=x-"
        return (
            f'<li><div class="{box}"><div class="compTitle options-toggle"><a class="d-ib" href="{_e(href)}">'
            f'<div class="thmb"><span>https://site › path</span></div><h3 class="title"><span>{_e(title)}</span></h3>'
            f'</a></div><div class="compText aAbs"><p>{_e(text)}</p></div></div></li>'
        )

    return _page(
        "sockets - Yahoo Search Results",
        f'<div id="main"><ol class="searchCenterTopAds">{result(advert, "dd ads")}</ol>'
        f'<ol class="searchCenterMiddle">{"".join(result(item, "dd algo algo-sr relsrch Sr") for item in items)}</ol>'
        '<div class="AlsoTry"><a href="/search?p=more">more</a></div></div>',
    )


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def _mwmbl(items: Sequence[Item], advert: Item) -> str:
    def runs(text: str) -> list[dict[str, object]]:
        return [{"value": text[:4], "is_bold": True}, {"value": text[4:], "is_bold": False}]

    return _json(
        [{"url": url, "title": runs(title), "extract": runs(text), "source": "mwmbl"} for title, url, text in items]
    )


def _wikipedia(items: Sequence[Item], advert: Item) -> str:
    pages = [
        {"pageid": 9 - n, "ns": 0, "title": title, "index": n, "fullurl": url, "extract": text}
        for n, (title, url, text) in enumerate(items, 1)
    ]
    return _json({"batchcomplete": True, "query": {"pages": pages[::-1]}})


def _stackexchange(items: Sequence[Item], advert: Item) -> str:
    questions = [
        {
            "question_id": n,
            "title": _e(title),
            "link": url,
            "score": 7,
            "answer_count": 1,
            "accepted_answer_id": 4,
            "is_answered": True,
            "tags": ["sockets", "python"],
        }
        for n, (title, url, _) in enumerate(items)
    ]
    return _json({"items": questions, "has_more": True, "quota_max": 300, "quota_remaining": 299})


def _hackernews(items: Sequence[Item], advert: Item) -> str:
    stories = [
        {"objectID": f"4{n}", "title": title, "url": url, "points": 12, "num_comments": 3, "story_text": None}
        for n, (title, url, _) in enumerate(items)
    ]
    return _json({"hits": stories, "nbHits": 3, "page": 0})


def _searxng(items: Sequence[Item], advert: Item) -> str:
    results = [
        {"url": url, "title": title, "content": text, "engine": "brave", "engines": ["brave"], "category": "general"}
        for title, url, text in items
    ]
    return _json({"query": "sockets", "results": results, "answers": [], "unresponsive_engines": []})


CHALLENGE = _page("Just a moment...", '<div id="challenge-running"></div><div class="cf-turnstile"></div>')
CHANGED_JSON = _json({"data": {"entries": [{"name": "Sockets", "href": "https://docs.example.org/sockets"}]}})

PAGES = {
    "duckduckgo": Pages(
        _duckduckgo,
        empty=_page(
            "x at DuckDuckGo",
            '<div id="links" class="results"><div class="result results_links result--no-result">'
            '<div class="no-results">No results.</div></div></div>',
        ),
        blocked=_page(
            "DuckDuckGo",
            '<form id="challenge-form" action="//duckduckgo.com/anomaly.js?sv=html" method="POST"><div '
            'class="anomaly-modal__title">Unfortunately, bots use DuckDuckGo too.</div></form>',
        ),
        changed=CHANGED,
    ),
    "bing": Pages(
        _bing,
        empty=_page(
            "x - Search", '<ol id="b_results"><li class="b_no"><h1>There are no results for <b>x</b></h1></li></ol>'
        ),
        blocked=_page("x - Search", '<div class="captcha"><div class="captcha_header">One last step</div></div>'),
        changed=CHANGED,
    ),
    "brave": Pages(
        _brave,
        empty=_page("x - Brave Search", "<main><div>Not many great matches came back for your search.</div></main>"),
        blocked=_page(
            "Captcha - Brave Search", '<form action="/captcha"><h1>We need to confirm you\'re human</h1></form>'
        ),
        changed=CHANGED,
    ),
    "google": Pages(
        _google,
        empty=_page(
            "x - Google Search",
            '<div id="topstuff"></div><div class="mnr-c"><p role="heading">Your search - <em>x</em> - did not match '
            "any documents.</p></div>",
        ),
        blocked=(
            '<html><head><title>https://www.google.com/search?q=x</title></head><body><form id="captcha-form" '
            'action="index" method="post"><div id="recaptcha" class="g-recaptcha" data-sitekey="6L"></div></form>'
            "Our systems have detected unusual traffic from your computer network.</body></html>"
        ),
        changed=CHANGED,
    ),
    "mojeek": Pages(
        _mojeek,
        empty=_page("x - Mojeek Search", '<div class="results"><p>No pages found matching: <b>x</b></p></div>'),
        blocked=_page("Mojeek", "<h1>Sorry</h1><p>Your network appears to be sending automated queries.</p>"),
        changed=CHANGED,
    ),
    "startpage": Pages(
        _startpage,
        empty=startpage_script([{"display_type": "notice-noresults-empty", "results": [{}]}]),
        blocked=_page(
            "Making sure you&#39;re not a bot!",
            '<script id="anubis_challenge" type="application/json">{"rules":{"difficulty":4}}</script><h1>…</h1>',
        ),
        changed=startpage_script([{"display_type": "web-other", "results": [{"name": "Sockets"}]}]),
    ),
    "yahoo": Pages(
        _yahoo,
        empty=_page(
            "x - Yahoo Search Results",
            '<ol class="reg"><li class="first last"><div class="dd zrp"><div class="compText"><p>We did not find '
            "results for: <b>x</b>.</p></div></div></li></ol>",
        ),
        blocked=_page("Yahoo", '<form action="/challenge"><div class="g-recaptcha" data-sitekey="6L"></div></form>'),
        changed=CHANGED,
    ),
    "mwmbl": Pages(_mwmbl, empty="[]", blocked=CHALLENGE, changed=CHANGED_JSON),
    "wikipedia": Pages(
        _wikipedia,
        empty=_json({"batchcomplete": True}),
        blocked=_json({"error": {"code": "ratelimited", "info": "You've exceeded your rate limit."}}),
        changed=CHANGED_JSON,
    ),
    "stackexchange": Pages(
        _stackexchange,
        empty=_json({"items": [], "has_more": False, "quota_remaining": 299}),
        blocked=_json({"error_id": 502, "error_name": "throttle_violation", "error_message": "too many requests"}),
        changed=CHANGED_JSON,
    ),
    "hackernews": Pages(_hackernews, empty=_json({"hits": [], "nbHits": 0}), blocked=CHALLENGE, changed=CHANGED_JSON),
    "searxng": Pages(
        _searxng,
        empty=_json({"query": "x", "results": [], "unresponsive_engines": []}),
        blocked=CHALLENGE,
        changed=CHANGED_JSON,
    ),
}
