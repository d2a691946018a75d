// MCP over Streamable HTTP, both eras, from a browser. Knows nothing of the page: it reports through `hooks`.
//
// hooks: message(direction, message), ask(request) -> result, notification(message), state(text), lost(reason)

export const MODERN = "2026-07-28";
const LEGACY_NEWEST = "2025-11-25";
const META = "io.modelcontextprotocol/";
const CLIENT = { name: "scorpio-inspector", title: "scorpio inspector", version: "1" };
const CAPABILITIES = {
  elicitation: { form: {}, url: {} },
  sampling: {},
  roots: { listChanged: true },
};
const NAMED = {
  "tools/call": "name",
  "prompts/get": "name",
  "resources/read": "uri",
  "tasks/get": "taskId",
  "tasks/update": "taskId",
  "tasks/cancel": "taskId",
};
const ROUNDS_MAX = 20; // of questions within one call; a server that asks on for ever is stopped
const POLL_MS_MAX = 10_000; // between two looks at a task, whatever the server proposes
const RETRY_MS = 1000; // before a stream that broke is opened again, where the server says nothing else
const EVENT_CHARS_MAX = 64 * 1024 * 1024; // of one event

/** An error answer of the server: `code`, `message`, `data`. */
export class RpcError extends Error {
  constructor({ code, message, data }) {
    super(message);
    this.code = code;
    this.data = data;
  }
}

export class Connection {
  constructor({ url, token, headers, era, hooks }) {
    this.url = url;
    this.hooks = hooks;
    this.era = era;
    this.revision = era === "auto" ? MODERN : era;
    this.baseHeaders = { ...headers };
    if (token) this.baseHeaders.Authorization = `Bearer ${token}`;
    this.session = null;
    this.nextId = 1;
    this.waiting = new Map(); // id -> {resolve, reject, progress}
    this.subscribed = new Set();
    this.logLevel = "info";
    this.parameterHeaders = new Map(); // tool -> [path, header name][]
    this.ended = new AbortController();
    this.listening = null;
    this.roots = [];
  }

  get modern() {
    return this.revision === MODERN;
  }

  /** Discover or initialize; resolves with the server's own words. Rejects with a sentence. */
  async connect() {
    if (this.era === "auto" || this.modern) {
      try {
        this.server = await this.request("server/discover", {});
        this.listen();
        return this.server;
      } catch (error) {
        if (this.era !== "auto" || !(error instanceof RpcError)) throw error;
        this.revision = LEGACY_NEWEST;
      }
    }
    const result = await this.request("initialize", {
      protocolVersion: this.revision,
      capabilities: CAPABILITIES,
      clientInfo: CLIENT,
    });
    this.revision = result.protocolVersion;
    this.server = result;
    await this.notify("notifications/initialized", {});
    this.readStream();
    return result;
  }

  /** Ends the session; the server forgets it. */
  async close() {
    this.ended.abort();
    this.listening?.abort();
    for (const { reject } of this.waiting.values()) reject(new Error("The connection was closed."));
    this.waiting.clear();
    if (this.session) {
      await fetch(this.url, { method: "DELETE", headers: this.headers() }).catch(() => {});
    }
  }

  /**
   * One request; resolves with its result. `progress(params)` hears of progress, `signal` cancels. Questions that the
   * server asks in between are put to `hooks.ask`.
   */
  async request(method, params, { signal, progress } = {}) {
    let sent = params;
    for (let round = 0; round < ROUNDS_MAX; round += 1) {
      const result = await this.once(method, sent, { signal, progress });
      if (result?.resultType === "task") return this.followed(result, { signal, progress });
      if (result?.resultType !== "input_required") return result;
      sent = { ...params, inputResponses: await this.answers(result.inputRequests, signal) };
      if (result.requestState !== undefined) sent.requestState = result.requestState;
    }
    throw new Error(`The server asked ${ROUNDS_MAX} times and gave no answer.`);
  }

  async answers(asked, signal) {
    const responses = {};
    for (const [key, question] of Object.entries(asked ?? {})) responses[key] = await this.hooks.ask(question, signal);
    return responses;
  }

  /** The result of a call that the server made a task of (extension io.modelcontextprotocol/tasks). */
  async followed(created, { signal, progress }) {
    const { taskId } = created;
    const answered = new Set();
    let task = created;
    const cancel = () => this.once("tasks/cancel", { taskId }, {}).catch(() => {});
    signal?.addEventListener("abort", cancel, { once: true });
    try {
      for (;;) {
        if (task.status === "completed" && task.result) return task.result;
        if (["completed", "failed", "cancelled"].includes(task.status)) {
          throw new RpcError(task.error ?? { code: -32603, message: task.statusMessage ?? `The task is ${task.status}.` });
        }
        progress?.({ message: `task ${task.status}${task.statusMessage ? `: ${task.statusMessage}` : ""}` });
        const asked = Object.entries(task.inputRequests ?? {}).filter(([key]) => !answered.has(key));
        if (asked.length > 0) {
          const inputResponses = await this.answers(Object.fromEntries(asked), signal);
          for (const [key] of asked) answered.add(key);
          await this.once("tasks/update", { taskId, inputResponses }, {});
        }
        await pause(Math.min(task.pollIntervalMs ?? RETRY_MS, POLL_MS_MAX), signal ?? this.ended.signal);
        task = await this.once("tasks/get", { taskId }, {});
      }
    } finally {
      signal?.removeEventListener("abort", cancel);
    }
  }

  async notify(method, params) {
    await this.post({ jsonrpc: "2.0", method, params });
  }

  async subscribe(uri, wanted) {
    if (wanted) this.subscribed.add(uri);
    else this.subscribed.delete(uri);
    if (this.modern) this.listen();
    else await this.request(wanted ? "resources/subscribe" : "resources/unsubscribe", { uri });
  }

  async setLogLevel(level) {
    this.logLevel = level;
    if (!this.modern) await this.request("logging/setLevel", { level });
  }

  /** Which arguments of a tool travel in a header too: properties that the schema marks with `x-mcp-header`. */
  learn(tools) {
    for (const tool of tools) {
      const found = [];
      const walk = (schema, path) => {
        for (const [name, property] of Object.entries(schema?.properties ?? {})) {
          if (typeof property?.["x-mcp-header"] === "string") found.push([[...path, name], property["x-mcp-header"]]);
          walk(property, [...path, name]);
        }
      };
      walk(tool.inputSchema, []);
      if (found.length > 0) this.parameterHeaders.set(tool.name, found);
    }
  }

  // -- one round

  async once(method, params, { signal, progress }) {
    const id = this.nextId;
    this.nextId += 1;
    const meta = { ...params._meta };
    if (progress) meta.progressToken = `p${id}`;
    if (this.modern) {
      meta[`${META}protocolVersion`] = MODERN;
      meta[`${META}clientInfo`] = CLIENT;
      meta[`${META}clientCapabilities`] = { ...CAPABILITIES, extensions: { [`${META}tasks`]: {} } };
      meta[`${META}logLevel`] = this.logLevel;
    }
    const whole = Object.keys(meta).length > 0 ? { ...params, _meta: meta } : params;
    const answered = new Promise((resolve, reject) => {
      this.waiting.set(id, { resolve, reject, progress, token: meta.progressToken });
    });
    answered.catch(() => {}); // it is awaited below, after the request has left
    const stop = new AbortController();
    const cancelled = () => {
      this.waiting.get(id)?.reject(new DOMException("Cancelled.", "AbortError"));
      this.waiting.delete(id);
      if (!this.modern && method !== "initialize") {
        this.notify("notifications/cancelled", { requestId: id, reason: "cancelled in the inspector" }).catch(() => {});
      }
      stop.abort(); // modern: this is the cancel
    };
    if (signal?.aborted) cancelled();
    signal?.addEventListener("abort", cancelled, { once: true });
    try {
      await this.post({ jsonrpc: "2.0", id, method, params: whole }, stop.signal);
      return await answered;
    } catch (error) {
      if (signal?.aborted) throw new DOMException("Cancelled.", "AbortError");
      throw error;
    } finally {
      signal?.removeEventListener("abort", cancelled);
      this.waiting.delete(id);
    }
  }

  headers(message) {
    const headers = { ...this.baseHeaders };
    if (this.session) headers["Mcp-Session-Id"] = this.session;
    if (message?.method !== "initialize") headers["MCP-Protocol-Version"] = this.revision;
    if (this.modern && message?.method) {
      headers["Mcp-Method"] = headerValue(message.method);
      const named = NAMED[message.method];
      if (named) headers["Mcp-Name"] = headerValue(String(message.params[named] ?? ""));
      if (message.method === "tools/call") Object.assign(headers, this.parametersOf(message.params));
    }
    return headers;
  }

  parametersOf({ name, arguments: given }) {
    const headers = {};
    for (const [path, header] of this.parameterHeaders.get(name) ?? []) {
      const value = path.reduce((node, key) => node?.[key], given ?? {});
      if (["string", "number", "boolean"].includes(typeof value)) headers[`Mcp-Param-${header}`] = headerValue(String(value));
    }
    return headers;
  }

  async post(message, signal) {
    this.hooks.message("sent", message);
    let response;
    try {
      response = await fetch(this.url, {
        method: "POST",
        headers: {
          ...this.headers(message),
          "Content-Type": "application/json",
          Accept: "application/json, text/event-stream",
        },
        body: JSON.stringify(message),
        signal: signal ?? this.ended.signal,
      });
    } catch (error) {
      if (error.name === "AbortError") throw error;
      throw new Error(`The server at ${this.url} does not answer (${error.message}).`);
    }
    this.session = response.headers.get("Mcp-Session-Id") ?? this.session;
    const type = response.headers.get("Content-Type") ?? "";
    if (type.startsWith("text/event-stream")) {
      await this.readEvents(response, message);
      return;
    }
    const text = await response.text();
    if (type.startsWith("application/json") && text) {
      this.receiveAny(text);
      if (response.ok || (message.id !== undefined && !this.waiting.has(message.id))) return;
    }
    if (!response.ok) {
      throw new Error(`HTTP ${response.status}: ${text.slice(0, 300) || response.statusText}`);
    }
  }

  /** The events of an answer. Without the answer at its end, a legacy stream is taken up again where it broke. */
  async readEvents(response, message) {
    const place = { id: null, retryMs: RETRY_MS };
    let lost = null;
    try {
      await this.events(response, place);
    } catch (error) {
      if (error.name === "AbortError") throw error;
      lost = error;
    }
    while (message.id !== undefined && this.waiting.has(message.id)) {
      if (this.modern || place.id === null || this.ended.signal.aborted) {
        throw new Error(lost ? `The stream broke: ${lost.message}` : "The stream ended without an answer.");
      }
      await pause(place.retryMs, this.ended.signal);
      const again = await fetch(this.url, {
        headers: { ...this.headers(), Accept: "text/event-stream", "Last-Event-ID": place.id },
        signal: this.ended.signal,
      });
      if (!again.ok) throw new Error(`HTTP ${again.status} when the stream was taken up again.`);
      await this.events(again, place).catch((error) => {
        lost = error;
      });
    }
  }

  async events(response, place) {
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
    let held = "";
    for (;;) {
      const { value, done } = await reader.read();
      if (done) return;
      held += value;
      if (held.length > EVENT_CHARS_MAX) throw new Error("an event is too long");
      const blocks = held.split(/\r\n\r\n|\n\n|\r\r/);
      held = blocks.pop();
      for (const block of blocks) this.receiveEvent(block, place);
    }
  }

  receiveEvent(block, place) {
    const data = [];
    for (const line of block.split(/\r\n|\n|\r/)) {
      const colon = line.indexOf(":");
      const name = colon < 0 ? line : line.slice(0, colon);
      const value = colon < 0 ? "" : line.slice(colon + 1).replace(/^ /, "");
      if (name === "data") data.push(value);
      else if (name === "id") place.id = value;
      else if (name === "retry" && /^\d+$/.test(value)) place.retryMs = Number(value);
    }
    const text = data.join("\n");
    if (text) this.receiveAny(text);
  }

  // -- what arrives

  receiveAny(text) {
    let value;
    try {
      value = JSON.parse(text);
    } catch {
      this.hooks.message("broken", text);
      return;
    }
    for (const message of Array.isArray(value) ? value : [value]) this.receive(message);
  }

  receive(message) {
    this.hooks.message("received", message);
    if (message.method === undefined) {
      const waiting = this.waiting.get(message.id);
      this.waiting.delete(message.id);
      if (message.error) waiting?.reject(new RpcError(message.error));
      else waiting?.resolve(message.result);
    } else if (message.id === undefined) {
      this.noticed(message);
    } else {
      this.answer(message);
    }
  }

  noticed(message) {
    if (message.method === "notifications/progress") {
      for (const { progress, token } of this.waiting.values()) {
        if (progress && token === message.params?.progressToken) progress(message.params);
      }
    }
    this.hooks.notification(message);
  }

  async answer(request) {
    let reply;
    try {
      const result = request.method === "ping" ? {} : await this.hooks.ask(request);
      reply = { jsonrpc: "2.0", id: request.id, result };
    } catch (error) {
      reply = { jsonrpc: "2.0", id: request.id, error: { code: error.code ?? -32603, message: error.message } };
    }
    await this.post(reply).catch((error) => this.hooks.lost(error.message));
  }

  // -- what the server says by itself

  /** Legacy: the stream that carries what belongs to no request. A server may have none. */
  async readStream() {
    const place = { id: null, retryMs: RETRY_MS };
    while (!this.ended.signal.aborted) {
      try {
        const headers = { ...this.headers(), Accept: "text/event-stream" };
        if (place.id !== null) headers["Last-Event-ID"] = place.id;
        const response = await fetch(this.url, { headers, signal: this.ended.signal });
        if (response.status === 405) return;
        if (response.status === 404) {
          this.hooks.lost("The server has ended the session. Connect again.");
          return;
        }
        if (response.ok) await this.events(response, place);
      } catch (error) {
        if (error.name === "AbortError") return;
      }
      await pause(place.retryMs, this.ended.signal).catch(() => {});
    }
  }

  /** Modern: one stream for all that is subscribed; a change replaces it. */
  async listen() {
    this.listening?.abort();
    const stop = new AbortController();
    this.listening = stop;
    const notifications = { toolsListChanged: true, promptsListChanged: true, resourcesListChanged: true };
    if (this.subscribed.size > 0) notifications.resourceSubscriptions = [...this.subscribed];
    while (!stop.signal.aborted && !this.ended.signal.aborted) {
      try {
        await this.once("subscriptions/listen", { notifications }, { signal: stop.signal });
        return; // the server ends, deliberately
      } catch (error) {
        if (error.name === "AbortError") return;
        if (error instanceof RpcError) {
          this.hooks.lost(`The server sends no notifications: ${error.message}`);
          return;
        }
      }
      await pause(RETRY_MS, stop.signal).catch(() => {});
    }
  }
}

/** A value as a header can carry it; what ASCII cannot say is base64 (MCP 2026-07-28, transports). */
function headerValue(text) {
  const plain = /^[\x20-\x7e]*$/.test(text) && text === text.trim() && !/^=\?base64\?.*\?=$/.test(text);
  if (plain) return text;
  const bytes = new TextEncoder().encode(text);
  return `=?base64?${btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(""))}?=`;
}

function pause(milliseconds, signal) {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, milliseconds);
    signal.addEventListener("abort", () => {
      clearTimeout(timer);
      reject(new DOMException("Cancelled.", "AbortError"));
    }, { once: true });
  });
}
