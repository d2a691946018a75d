// How many characters a reader sees once the page has nothing to do, or, where there are few, once it has changed.
(function settled(enough, waitMs) {
  "use strict";
  const LARGE = 3000;
  const seen = () => {
    const body = document.body;
    if (!body) return 0;
    const elements = body.getElementsByTagName("*");
    if (elements.length > LARGE) return enough;
    let count = body.innerText.trim().length;
    for (const element of elements)
      if (element.shadowRoot) for (const child of element.shadowRoot.children) count += (child.innerText || "").trim().length;
    return count;
  };
  return new Promise((resolve) => {
    const idle = () => requestIdleCallback(() => resolve(seen()), { timeout: 200 });
    if (!waitMs) return idle();
    const observer = new MutationObserver(done);
    const timer = setTimeout(done, waitMs);
    function done() {
      observer.disconnect();
      clearTimeout(timer);
      idle();
    }
    observer.observe(document.documentElement, { childList: true, subtree: true, characterData: true });
  });
})
