// The main content as Readability finds it, for a page that does not say where it is. Follows read.js in its world.
(function article() {
  "use strict";
  const copy = document.cloneNode(true);
  for (const element of copy.querySelectorAll("[data-scorpio-hidden]")) element.remove();
  const found = new Readability(copy, { keepClasses: true, charThreshold: 200 }).parse();
  return found ? found.content : "";
})
