// The page: connection form, tabs, and what each tab does with the connection.

import { Connection } from "./connection.js";
import { block, resource } from "./content.js";
import { fill, h, json, uniqueId } from "./dom.js";
import { formFor } from "./form.js";
import { History } from "./history.js";
import { ask } from "./questions.js";

const LEVELS = ["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"];
const PAGES_MAX = 100; // of one list; a server whose cursors go in a circle is not followed for ever

const $ = (id) => document.getElementById(id);
const history = new History($("history"), $("only-notifications"), $("clear-history"));
let connection = null;

// -- tabs

const panels = {};
for (const name of ["Tools", "Prompts", "Resources", "Server"]) {
  const tab = h("button", { type: "button", role: "tab", id: `tab-${name}`, "aria-controls": `panel-${name}`, onclick: () => show(name) }, name);
  const panel = h("section", { role: "tabpanel", id: `panel-${name}`, "aria-labelledby": `tab-${name}`, tabIndex: 0 });
  $("tabs").append(tab);
  $("panels").append(panel);
  panels[name] = panel;
}
$("tabs").addEventListener("keydown", (event) => {
  const tabs = [...$("tabs").children];
  const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
  if (step === undefined) return;
  const next = tabs[(tabs.indexOf(document.activeElement) + step + tabs.length) % tabs.length];
  next.focus();
  next.click();
});

function show(name) {
  for (const tab of $("tabs").children) {
    const chosen = tab.id === `tab-${name}`;
    tab.setAttribute("aria-selected", String(chosen));
    tab.tabIndex = chosen ? 0 : -1;
  }
  for (const [each, panel] of Object.entries(panels)) panel.hidden = each !== name;
}

// -- connection

function say(text, isError = false) {
  fill($("state"), text.split(" ").flatMap((word) => [h("span", { class: word.length < 24 ? "whole" : "" }, word), " "]).slice(0, -1));
  $("state").classList.toggle("error", isError);
}

$("connect").addEventListener("submit", async (event) => {
  event.preventDefault();
  const form = new FormData(event.target);
  const headers = {};
  for (const line of form.get("headers").split("\n").filter((each) => each.trim())) {
    const colon = line.indexOf(":");
    if (colon < 1) {
      say(`${JSON.stringify(line)} is no header. Write Name: value.`, true);
      return;
    }
    headers[line.slice(0, colon).trim()] = line.slice(colon + 1).trim();
  }
  $("connect-button").disabled = true;
  say("Connecting…");
  await connection?.close();
  connection = new Connection({ url: "/mcp", token: form.get("token"), headers, era: form.get("era"), hooks: hooks() });
  try {
    const server = await connection.connect();
    const info = server.serverInfo ?? server._meta?.["io.modelcontextprotocol/serverInfo"] ?? {};
    say(`Connected to ${info.title ?? info.name ?? "a server"} ${info.version ?? ""}, protocol ${connection.revision}.`);
    $("connect-button").textContent = "Connect again";
    showServer(server);
    await Promise.all([listTools(), listPrompts(), listResources()]);
  } catch (error) {
    say(error.message, true);
  } finally {
    $("connect-button").disabled = false;
  }
});

function hooks() {
  return {
    message: (direction, message) => history.add(direction, message),
    ask: (request, signal) => ask(request, signal, connection.roots, $("questions")),
    lost: (reason) => say(reason, true),
    notification: ({ method, params }) => {
      if (method === "notifications/tools/list_changed") listTools();
      else if (method === "notifications/prompts/list_changed") listPrompts();
      else if (method === "notifications/resources/list_changed") listResources();
      else if (method === "notifications/resources/updated") updated(params.uri);
      else if (method === "notifications/message") logged(params);
    },
  };
}

/** All pages of a list; the empty list where the server has none. */
async function all(method, key) {
  const found = [];
  let cursor;
  try {
    for (let page = 0; page < PAGES_MAX; page += 1) {
      const result = await connection.request(method, cursor === undefined ? {} : { cursor });
      found.push(...result[key]);
      cursor = result.nextCursor;
      if (cursor === undefined) break;
    }
  } catch (error) {
    say(`${method}: ${error.message}`, true);
  }
  return found;
}

/** A list to choose from on the left, what was chosen on the right. */
function chooser(panel, items, name, open) {
  const place = h("div", { class: "chosen" });
  const filter = h("input", { type: "search", placeholder: `${items.length} to filter`, "aria-label": "Filter" });
  const rows = items.map((item) => {
    const button = h("button", { type: "button", onclick: () => {
      for (const other of rows) other.firstChild.removeAttribute("aria-current");
      button.setAttribute("aria-current", "true");
      fill(place, open(item));
    } }, name(item), item.title && item.title !== name(item) ? h("span", { class: "hint" }, item.title) : null);
    return h("li", {}, button);
  });
  filter.addEventListener("input", () => {
    const wanted = filter.value.toLowerCase();
    items.forEach((item, index) => {
      rows[index].hidden = !`${name(item)} ${item.title ?? ""} ${item.description ?? ""}`.toLowerCase().includes(wanted);
    });
  });
  const list = items.length > 0 ? h("ul", { class: "chooser" }, rows) : h("p", { class: "hint" }, "The server has none.");
  fill(panel, h("div", { class: "pair" }, h("div", { class: "list" }, items.length > 8 ? filter : null, list), place));
  return rows;
}

// -- calls

/** Buttons to send and to cancel, progress, and a place for the result. `send({signal, progress})` gives an element. */
function runner(label, send) {
  const result = h("div", { class: "result", role: "region", "aria-label": "Result", "aria-live": "polite" });
  const bar = h("progress", { hidden: true });
  const said = h("span", { class: "hint" });
  const start = h("button", { type: "submit" }, label);
  const stop = h("button", { type: "button", hidden: true }, "Cancel");
  let cancel = null;
  stop.addEventListener("click", () => cancel?.abort());
  const run = async () => {
    cancel = new AbortController();
    const started = performance.now();
    start.disabled = true;
    stop.hidden = false;
    said.textContent = "";
    fill(result);
    const progress = ({ progress: done, total, message }) => {
      bar.hidden = false;
      if (total) {
        bar.max = total;
        bar.value = done;
      } else bar.removeAttribute("value");
      said.textContent = [message, total ? `${done} of ${total}` : done].filter((each) => each !== undefined).join(" · ");
    };
    try {
      const shown = await send({ signal: cancel.signal, progress });
      fill(result, shown, h("p", { class: "hint" }, `${Math.round(performance.now() - started)} ms`));
    } catch (error) {
      const data = error.data === undefined ? null : json(error.data);
      const code = error.code === undefined || error.name === "AbortError" ? "" : ` (${error.code})`;
      fill(result, h("p", { class: "error" }, `${error.message}${code}`), data);
    } finally {
      start.disabled = false;
      stop.hidden = true;
      bar.hidden = true;
      bar.removeAttribute("value");
      said.textContent = "";
    }
  };
  const element = h("div", {}, h("div", { class: "bar" }, start, stop, bar, said), result);
  return { element, run };
}

/** A form; Ctrl-Enter sends it from its many-lined fields too. */
function submitted(run, ...children) {
  return h("form", {
    novalidate: true,
    onsubmit: (event) => {
      event.preventDefault();
      run();
    },
    onkeydown: (event) => {
      if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return;
      event.preventDefault();
      event.currentTarget.requestSubmit();
    },
  }, ...children);
}

async function listTools() {
  const tools = await all("tools/list", "tools");
  connection.learn(tools);
  chooser(panels.Tools, tools, (tool) => tool.name, (tool) => {
    const form = formFor(tool.inputSchema);
    const support = tool.execution?.taskSupport;
    const asTask = h("input", { type: "checkbox", checked: support === "required", disabled: support === "required" });
    const { element, run } = runner("Call", async (options) => {
      const params = { name: tool.name, arguments: form.value() ?? {} };
      if (asTask.checked && !connection.modern) return showTask(await connection.request("tools/call", { ...params, task: {} }, options), options);
      return called(await connection.request("tools/call", params, options));
    });
    const offered = !connection.modern && (support === "optional" || support === "required");
    const marks = Object.entries(tool.annotations ?? {}).filter(([, value]) => typeof value === "boolean");
    return [
      h("h2", {}, tool.title ?? tool.annotations?.title ?? tool.name),
      h("p", { class: "description" }, tool.description ?? ""),
      marks.length > 0 ? h("p", { class: "hint" }, marks.map(([key, value]) => `${key}: ${value}`).join(" · ")) : null,
      submitted(run, form.element, offered ? h("label", { class: "inline" }, asTask, " as a task") : null, element),
      h("details", {}, h("summary", {}, "Schema"), json(tool)),
    ].filter(Boolean);
  });
}

function called(result) {
  if (result.task) return json(result);
  return h("div", { class: result.isError ? "failed" : "" },
    result.isError ? h("p", { class: "error" }, "The tool reports an error:") : null,
    (result.content ?? []).map((each) => block(each, openResource)),
    result.structuredContent === undefined ? null : [h("h3", {}, "Structured"), json(result.structuredContent)],
    result._meta === undefined ? null : h("details", {}, h("summary", {}, "_meta"), json(result._meta)));
}

/** A call that became a task (2025-11-25): waited for by `tasks/result`, cancelled by `tasks/cancel`. */
async function showTask(created, { signal, progress }) {
  const { taskId } = created.task;
  progress({ message: `task ${taskId}: ${created.task.status}`, progress: 0 });
  const cancel = () => connection.request("tasks/cancel", { taskId }).catch(() => {});
  signal.addEventListener("abort", cancel, { once: true });
  try {
    return called(await connection.request("tasks/result", { taskId }, { signal }));
  } finally {
    signal.removeEventListener("abort", cancel);
  }
}

async function listPrompts() {
  const prompts = await all("prompts/list", "prompts");
  chooser(panels.Prompts, prompts, (prompt) => prompt.name, (prompt) => {
    const fields = (prompt.arguments ?? []).map((argument) => completed(argument, { type: "ref/prompt", name: prompt.name }));
    const { element, run } = runner("Get", async (options) => {
      const given = {};
      for (const { argument, control } of fields) if (control.value !== "") given[argument.name] = control.value;
      const result = await connection.request("prompts/get", { name: prompt.name, arguments: given }, options);
      return h("div", {}, result.description ? h("p", {}, result.description) : null,
        result.messages.map(({ role, content }) => h("section", {}, h("h3", {}, role), block(content, openResource))));
    });
    for (const each of fields) each.others = () => Object.fromEntries(fields.filter((other) => other !== each && other.control.value !== "").map((other) => [other.argument.name, other.control.value]));
    return [
      h("h2", {}, prompt.title ?? prompt.name),
      h("p", { class: "description" }, prompt.description ?? ""),
      submitted(run, fields.map(({ element: field }) => field), element),
    ];
  });
}

/** An input whose values the server completes. */
function completed(argument, ref) {
  const id = uniqueId("argument");
  const values = h("datalist", { id: `${id}-values` });
  const control = h("input", { id, required: argument.required === true, autocomplete: "off", spellcheck: false });
  control.setAttribute("list", values.id);
  const each = { argument, control, others: () => ({}) };
  let asked = 0;
  control.addEventListener("input", async () => {
    asked += 1;
    const turn = asked;
    const params = { ref, argument: { name: argument.name, value: control.value } };
    if (Object.keys(each.others()).length > 0) params.context = { arguments: each.others() };
    const result = await connection.request("completion/complete", params).catch(() => null);
    if (result && turn === asked) fill(values, result.completion.values.map((value) => h("option", { value })));
  });
  each.element = h("div", { class: "field" },
    h("label", { htmlFor: id }, argument.title ?? argument.name, argument.required ? h("abbr", { title: "required", class: "required" }, "*") : null),
    control, values, argument.description ? h("span", { class: "hint" }, argument.description) : null);
  return each;
}

// -- resources

let openResource = () => {};
const opened = new Map(); // uri -> {mark, read}

async function listResources() {
  const [resources, templates] = [await all("resources/list", "resources"), await all("resources/templates/list", "resourceTemplates")];
  const items = [...resources, ...templates];
  const place = panels.Resources;
  const rows = chooser(place, items, (item) => item.uri ?? item.uriTemplate, (item) => (item.uri ? viewed(item.uri, item) : filledIn(item)));
  openResource = (uri) => {
    show("Resources");
    const row = rows[items.findIndex((item) => item.uri === uri)];
    if (row) row.firstChild.click();
    else fill(place.querySelector(".chosen"), viewed(uri, {}));
  };
}

function viewed(uri, item) {
  const mark = h("p", { class: "hint", role: "status" });
  const { element, run } = runner("Read", async (options) => {
    mark.textContent = "";
    const result = await connection.request("resources/read", { uri }, options);
    return h("div", {}, result.contents.map(resource));
  });
  const box = h("input", { type: "checkbox", checked: connection.subscribed.has(uri) });
  box.addEventListener("change", async () => {
    try {
      await connection.subscribe(uri, box.checked);
    } catch (error) {
      box.checked = !box.checked;
      mark.textContent = error.message;
    }
  });
  opened.set(uri, { mark, run });
  const subscribable = connection.server.capabilities?.resources?.subscribe === true || connection.modern;
  return [
    h("h2", {}, item.title ?? item.name ?? uri),
    h("p", { class: "hint" }, h("code", {}, uri), item.mimeType ? ` ${item.mimeType}` : ""),
    item.description ? h("p", { class: "description" }, item.description) : null,
    submitted(run, subscribable ? h("label", { class: "inline" }, box, " subscribe") : null, element),
    mark,
  ].filter(Boolean);
}

function updated(uri) {
  const view = opened.get(uri);
  if (!view) return;
  view.mark.textContent = `Changed at ${new Date().toLocaleTimeString()}; read it again.`;
}

/** A template: a field a variable, then the resource. */
function filledIn(template) {
  const names = [...template.uriTemplate.matchAll(/\{[+#./;?&]?([\w.,*:]+)\}/g)].flatMap(([, inside]) => inside.split(",")).map((name) => name.replace(/[*:].*/, ""));
  const fields = names.map((name) => completed({ name, required: true }, { type: "ref/resource", uri: template.uriTemplate }));
  const place = h("div", {});
  const open = () => {
    const given = new Map(fields.map(({ argument, control }) => [argument.name, control.value]));
    const uri = template.uriTemplate.replace(/\{([+#./;?&]?)([\w.,*:]+)\}/g, (_, operator, inside) => {
      const prefix = { "#": "#", ".": ".", "/": "/" }[operator] ?? "";
      const encode = operator === "+" || operator === "#" ? encodeURI : encodeURIComponent;
      const parts = inside.split(",").map((name) => encode(given.get(name.replace(/[*:].*/, "")) ?? ""));
      return prefix + parts.join(",");
    });
    const view = viewed(uri, template);
    fill(place, view);
    opened.get(uri).run();
  };
  return [
    h("h2", {}, template.title ?? template.name),
    h("p", { class: "hint" }, h("code", {}, template.uriTemplate)),
    template.description ? h("p", { class: "description" }, template.description) : null,
    submitted(open, fields.map(({ element }) => element), h("button", { type: "submit" }, "Fill in")),
    place,
  ].filter(Boolean);
}

// -- the server itself

let logList = h("ol", { class: "log" });
const LOG_LINES_MAX = 500;

function showServer(server) {
  logList = h("ol", { class: "log", tabIndex: 0, "aria-label": "Log of the server, newest first" });
  const level = h("select", { id: "log-level", onchange: async () => {
    await connection.setLogLevel(level.value).catch((error) => say(error.message, true));
  } }, LEVELS.map((each) => h("option", { selected: each === connection.logLevel }, each)));
  const roots = h("textarea", { id: "roots", rows: 3, spellcheck: false, placeholder: "file:///home/me/project" });
  roots.value = connection.roots.map(({ uri }) => uri).join("\n");
  roots.addEventListener("change", async () => {
    connection.roots = roots.value.split("\n").filter((line) => line.trim()).map((line) => ({ uri: line.trim() }));
    if (!connection.modern) await connection.notify("notifications/roots/list_changed", {}).catch((error) => say(error.message, true));
  });
  const ping = runner("Ping", async (options) => {
    await connection.request(connection.modern ? "server/discover" : "ping", {}, options);
    return h("p", {}, "It answers.");
  });
  const method = h("input", { id: "raw-method", value: "tools/list", spellcheck: false });
  const params = h("textarea", { id: "raw-params", rows: 3, class: "code", spellcheck: false });
  params.value = "{}";
  const raw = runner("Send", async (options) => json(await connection.request(method.value, JSON.parse(params.value || "{}"), options)));
  fill(panels.Server,
    server.instructions ? [h("h2", {}, "Instructions"), h("pre", { class: "text", tabIndex: 0 }, server.instructions)] : null,
    h("h2", {}, "Capabilities"), json(server),
    h("h2", {}, "Roots"), h("label", { htmlFor: "roots" }, "What the server is told when it asks, an address a line"), roots,
    h("h2", {}, "Alive?"), submitted(ping.run, ping.element),
    h("h2", {}, "Any method"),
    submitted(raw.run, h("label", { htmlFor: "raw-method" }, "Method"), method, h("label", { htmlFor: "raw-params" }, "Parameters"), params, raw.element),
    h("h2", {}, "Log"), h("label", { htmlFor: "log-level" }, "From level "), level, logList);
}

function logged({ level, logger, data }) {
  const text = typeof data === "string" ? data : JSON.stringify(data);
  logList.prepend(h("li", { class: `level-${level}` }, `${level} ${logger ? `${logger}: ` : ""}${text}`));
  while (logList.childElementCount > LOG_LINES_MAX) logList.lastElementChild.remove();
}

show("Tools");
$("connect").requestSubmit();
