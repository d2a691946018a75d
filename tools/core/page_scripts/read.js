// Reads the document it runs in, in a world of its own: what the page's scripts have changed there cannot reach it.
//
// Marks what a reader does not see, and answers the document as HTML. The page is not used again afterwards.
(function read(charsMax) {
  "use strict";
  const MARK = "data-scorpio-hidden";
  const PANELS = "[role=tabpanel], .tab-pane, .tabbed-block, .sd-tab-content, .tab-content > *, [data-tab-panel], .blocks > div";
  const TABS = "[role=tablist], [role=tab], .nav-tabs, .tabbed-labels, .sd-tab-label, input[type=radio]";
  const LANDMARKS = "main, [role=main], article, .markdown-body, .document, #content, #main-content, .md-content";
  const SKIPPED = new Set(["SCRIPT", "STYLE", "TEMPLATE", "NOSCRIPT", "LINK", "META", "BR", "WBR", "HR", "PRE"]);
  const PICTURES = "img, video, picture, canvas, svg";
  const LANDMARK_CHARS_MIN = 250;
  const roots = [];
  const backgrounds = new WeakMap();

  // A click on a tab that is there would show it.
  function isReachable(element) {
    if (!element.matches(PANELS)) return false;
    let above = element.parentElement;
    for (let step = 0; above && above !== document.body && step < 4; step++, above = above.parentElement)
      if (above.querySelector(TABS)) return true;
    return false;
  }

  function isClipped(element, style) {
    if (style.position !== "absolute" && style.position !== "fixed") return false;
    if (/^rect\((0|1)px,? (0|1)px,? (0|1)px,? (0|1)px\)$/.test(style.clip)) return true;
    if (/^inset\((50|100)%/.test(style.clipPath)) return true;
    const box = element.getBoundingClientRect();
    if (box.width <= 1 && box.height <= 1 && style.overflow !== "visible") return true;
    return (box.width > 0 || box.height > 0) && (box.right + scrollX <= 0 || box.bottom + scrollY <= 0);
  }

  function isHidden(element, style) {
    if (style.display === "none" || parseFloat(style.opacity) < 0.02) return true;
    if (style.visibility !== "visible") {
      const inner = element.getElementsByTagName("*");
      for (let index = 0; index < Math.min(inner.length, 300); index++)
        if (getComputedStyle(inner[index]).visibility === "visible") return false;
      return true;
    }
    return isClipped(element, style);
  }

  function channels(color) {
    const found = /^rgba?\((\d+), (\d+), (\d+)(?:, ([\d.]+))?\)$/.exec(color);
    return found && { rgb: found.slice(1, 4).join(), alpha: found[4] === undefined ? 1 : parseFloat(found[4]) };
  }

  // The colour behind an element, or "" where a picture or something unknown is.
  function background(element) {
    if (backgrounds.has(element)) return backgrounds.get(element);
    const style = getComputedStyle(element);
    const own = channels(style.backgroundColor);
    let behind = "";
    if (style.backgroundImage === "none" && own) {
      if (own.alpha > 0.5) behind = own.rgb;
      else if (element.parentElement) behind = background(element.parentElement);
      else behind = style.colorScheme.includes("dark") ? "" : "255,255,255";
    }
    backgrounds.set(element, behind);
    return behind;
  }

  // Text in the colour of what is behind it, unless something that cannot be judged may lie between.
  function isCamouflaged(element, colour) {
    if (background(element) !== colour.rgb) return false;
    for (let step = 0, above = element; above && step < 6; step++, above = above.parentElement) {
      if (getComputedStyle(above, "::before").content !== "none") return false;
      if (getComputedStyle(above, "::after").content !== "none") return false;
      if (step < 4 && above !== document.body && above.querySelector(PICTURES)) return false;
    }
    return true;
  }

  function hasInvisibleText(element, style) {
    if (parseFloat(style.fontSize) < 2 || parseFloat(style.textIndent) < -500) return true;
    const colour = channels(style.webkitTextFillColor || style.color);
    if (!colour || style.backgroundClip.includes("text")) return false;
    return colour.alpha < 0.02 || isCamouflaged(element, colour);
  }

  function mark(first) {
    const open = [first];
    while (open.length) {
      const element = open.pop();
      if (SKIPPED.has(element.tagName)) continue;
      const style = getComputedStyle(element);
      if (element !== document.body && isHidden(element, style) && !isReachable(element)) {
        element.setAttribute(MARK, "");
        continue;
      }
      if (element.tagName.toLowerCase() === "svg") continue;
      const texts = [...element.childNodes].filter((node) => node.nodeType === 3 && node.data.trim());
      if (texts.length && hasInvisibleText(element, style)) for (const text of texts) text.data = "";
      if (element.shadowRoot) {
        roots.push(element.shadowRoot);
        open.push(...element.shadowRoot.children);
      }
      open.push(...element.children);
    }
  }

  // What components keep in their shadows becomes part of the document: parsers that are no browsers drop templates.
  function withShadows() {
    for (const template of document.querySelectorAll("template")) template.remove();
    for (const root of roots) for (const template of root.querySelectorAll("template")) template.remove();
    const html = top.getHTML({ serializableShadowRoots: true, shadowRoots: roots });
    return html.replace(/<template shadowrootmode=[^>]*>/g, "<div>").replaceAll("</template>", "</div>");
  }

  const top = document.documentElement;
  if (document.body) mark(document.body);
  const html = roots.length ? withShadows() : top ? top.outerHTML : "";
  if (html.length > charsMax) return { tooLarge: html.length };
  const landmark = [...document.querySelectorAll(LANDMARKS)].some(
    (element) => element.textContent.trim().length >= LANDMARK_CHARS_MIN,
  );
  return { html, landmark, url: location.href };
})
