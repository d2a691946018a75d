// What a server asks in the middle of a call: a dialog for elicitation and sampling; roots are answered from the page.

import { formFor } from "./form.js";
import { h, json, uniqueId } from "./dom.js";
import { block } from "./content.js";

const DEAF_MS = 400; // an Enter this soon after a dialog appears was meant for what was there before

/** The result for one request of the server, from the person. Rejects with `signal`, and with -32601 for the unknown. */
export async function ask(request, signal, roots, holder) {
  const { method, params = {} } = request;
  if (method === "roots/list") return { roots };
  if (method === "elicitation/create") {
    return params.mode === "url" ? openAddress(params, signal, holder) : fillForm(params, signal, holder);
  }
  if (method === "sampling/createMessage") return playModel(params, signal, holder);
  const error = new Error(`The inspector does not know ${method}.`);
  error.code = -32601;
  throw error;
}

function fillForm(params, signal, holder) {
  const form = formFor(params.requestedSchema ?? { type: "object", properties: {} });
  return dialog("The server asks", holder, signal, (done, fail) => [
    h("p", { class: "asked" }, params.message ?? ""),
    form.element,
    h("div", { class: "bar" },
      h("button", { type: "submit", onclick: () => {
        try {
          done({ action: "accept", content: form.value() ?? {} });
        } catch (error) {
          fail(error.message);
        }
      } }, "Send"),
      h("button", { type: "button", onclick: () => done({ action: "decline" }) }, "Decline"),
      h("button", { type: "button", onclick: () => done({ action: "cancel" }) }, "Cancel"),
    ),
  ], { action: "cancel" });
}

function openAddress(params, signal, holder) {
  const safe = /^https?:\/\//i.test(params.url ?? "");
  return dialog("The server asks you to open an address", holder, signal, (done) => [
    h("p", { class: "asked" }, params.message ?? ""),
    h("p", {}, h("code", {}, params.url ?? "")),
    safe ? null : h("p", { class: "error" }, "This is no web address; it is not opened."),
    h("div", { class: "bar" },
      h("button", { type: "submit", disabled: !safe, onclick: () => {
        window.open(params.url, "_blank", "noopener,noreferrer");
        done({ action: "accept" });
      } }, "Open in a new tab"),
      h("button", { type: "button", onclick: () => done({ action: "decline" }) }, "Decline"),
      h("button", { type: "button", onclick: () => done({ action: "cancel" }) }, "Cancel"),
    ),
  ], { action: "cancel" });
}

function playModel(params, signal, holder) {
  const id = uniqueId("sampled");
  const text = h("textarea", { rows: 6, id });
  const { messages = [], ...rest } = params;
  return dialog("The server asks your model", holder, signal, (done, fail) => [
    params.systemPrompt ? h("p", { class: "hint" }, params.systemPrompt) : null,
    messages.map(({ role, content }) => h("section", {}, h("h3", {}, role),
      (Array.isArray(content) ? content : [content]).map((each) => block(each, () => {})))),
    h("details", {}, h("summary", {}, "Parameters"), json(rest)),
    h("label", { htmlFor: id }, "You are the model. Its answer:"),
    text,
    h("div", { class: "bar" },
      h("button", { type: "submit", onclick: () => done({
        role: "assistant",
        model: "a person at the inspector",
        stopReason: "endTurn",
        content: { type: "text", text: text.value },
      }) }, "Send"),
      h("button", { type: "button", onclick: () => {
        const refusal = new Error("The person at the inspector refused.");
        refusal.code = -1;
        fail(refusal);
      } }, "Refuse"),
    ),
  ]);
}

/** A modal dialog; `build(done, fail)` makes its content. Escape gives `closed`, or refuses where there is none. */
function dialog(title, holder, signal, build, closed) {
  return new Promise((resolve, reject) => {
    const id = uniqueId("dialog");
    const fault = h("p", { class: "error", role: "alert" });
    const finish = (settle, value) => {
      signal?.removeEventListener("abort", aborted);
      element.close();
      element.remove();
      settle(value);
    };
    const aborted = () => finish(reject, new DOMException("Cancelled.", "AbortError"));
    const done = (result) => finish(resolve, result);
    const fail = (reason) => {
      if (reason instanceof Error) finish(reject, reason);
      else fault.textContent = reason;
    };
    const opened = performance.now();
    const form = h("form", {
      method: "dialog",
      onsubmit: (event) => event.preventDefault(),
      onkeydown: (event) => {
        if (event.key === "Enter" && performance.now() - opened < DEAF_MS) event.preventDefault();
      },
    },
      h("h2", { id }, title), build(done, fail), fault);
    const element = h("dialog", { "aria-labelledby": id, oncancel: (event) => {
      event.preventDefault();
      if (closed) done(closed);
      else fail(Object.assign(new Error("The person at the inspector refused."), { code: -1 }));
    } }, form);
    holder.append(element);
    signal?.addEventListener("abort", aborted, { once: true });
    element.showModal();
  });
}
