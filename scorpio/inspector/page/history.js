// The list of all messages, newest first, each unfolding to its JSON.

import { h, json } from "./dom.js";

const SHOWN_MAX = 500; // messages kept; the oldest go
const UNFOLDED_CHARS_MAX = 200_000; // of one message; a longer one is cut when it is shown

export class History {
  constructor(list, onlyNotifications, clear) {
    this.list = list;
    this.names = new Map(); // id of a request -> its method
    onlyNotifications.addEventListener("change", () => list.classList.toggle("only-notifications", onlyNotifications.checked));
    clear.addEventListener("click", () => list.replaceChildren());
  }

  add(direction, message) {
    const details = h("details", {}, h("summary", {}, h("span", { class: `way ${direction}` }, { sent: "→", received: "←", broken: "✗" }[direction]),
      ` ${this.title(direction, message)} `, h("time", {}, new Date().toLocaleTimeString())));
    details.addEventListener("toggle", () => {
      if (details.open && details.childElementCount === 1) details.append(shown(message));
    });
    const notification = direction === "received" && message.method !== undefined && message.id === undefined;
    this.list.prepend(h("li", { class: notification ? "notification" : "exchange" }, details));
    while (this.list.childElementCount > SHOWN_MAX) this.list.lastElementChild.remove();
  }

  title(direction, message) {
    if (direction === "broken") return "not JSON";
    if (message.method !== undefined) {
      if (message.id !== undefined) this.names.set(`${direction} ${message.id}`, message.method);
      return message.id === undefined ? message.method : `${message.method} #${message.id}`;
    }
    const asked = this.names.get(`${direction === "sent" ? "received" : "sent"} ${message.id}`) ?? "answer";
    return `${asked} #${message.id}${message.error ? ` error ${message.error.code}` : ""}`;
  }
}

function shown(message) {
  const text = JSON.stringify(message, null, 2) ?? String(message);
  if (text.length <= UNFOLDED_CHARS_MAX) return json(message);
  return h("pre", { class: "json", tabIndex: 0 }, `${text.slice(0, UNFOLDED_CHARS_MAX)}\n… ${text.length - UNFOLDED_CHARS_MAX} more characters`);
}
