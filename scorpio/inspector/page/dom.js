// Elements from JavaScript, never from strings of markup: what a server says stays text.

/** An element: properties by name, `on` handlers, `data` attributes, children that are nodes or text. */
export function h(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties ?? {})) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "class") element.className = value;
    else if (name in element && name !== "list" && name !== "form") element[name] = value;
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== false));
  return element;
}

/** Puts `children` in the place of all that `element` holds. */
export function fill(element, ...children) {
  element.replaceChildren(...children.flat().filter((child) => child !== null && child !== undefined));
  return element;
}

/** A value as indented JSON in a block that can be scrolled with the keyboard. */
export function json(value) {
  return h("pre", { tabIndex: 0, class: "json" }, JSON.stringify(value, null, 2) ?? "undefined");
}

let count = 0;

/** An id no other element has. */
export function uniqueId(word) {
  count += 1;
  return `${word}-${count}`;
}
