// The official TypeScript client, put through what a client does. Prints one JSON object of what it saw.
//
//     node typescript_client.mjs CLIENT_MODULE URL http|sse legacy|auto|modern [TOKEN]
const [, , module, url, way, mode, token] = process.argv;
const { Client, SSEClientTransport, StreamableHTTPClientTransport } = await import(module);

const said = {};
const errors = [];
const negotiation = mode === "modern" ? { pin: "2026-07-28" } : mode;
const client = new Client(
  { name: "typescript", version: "1" },
  { capabilities: { elicitation: {}, sampling: {}, roots: {} }, versionNegotiation: { mode: negotiation } },
);
client.onerror = (error) => errors.push(String(error));
client.setRequestHandler("elicitation/create", async () => ({ action: "accept", content: { name: "Ada", ok: true } }));
client.setRequestHandler("sampling/createMessage", async () => ({
  role: "assistant",
  model: "test",
  content: { type: "text", text: "Paris." },
}));
client.setRequestHandler("roots/list", async () => ({ roots: [{ uri: "file:///project" }] }));

const updated = new Promise((resolve) => {
  client.setNotificationHandler("notifications/resources/updated", ({ params }) => resolve(params.uri));
});
const changed = new Promise((resolve) => {
  client.setNotificationHandler("notifications/tools/list_changed", () => resolve(true));
});

const options = token ? { requestInit: { headers: { Authorization: `Bearer ${token}` } } } : {};
const Transport = way === "sse" ? SSEClientTransport : StreamableHTTPClientTransport;
const transport = new Transport(new URL(url), options);
await client.connect(transport);

const text = async (name, args, options) => (await client.callTool({ name, arguments: args }, options)).content[0].text;
const code = async (promise) => promise.then(() => "no error", (error) => error.code);

said.version = client.getNegotiatedProtocolVersion?.() ?? client.getServerVersion()?.version;
said.session = typeof transport.sessionId === "string";
said.tools = (await client.listTools()).tools.map((tool) => tool.name);
said.sum = await text("sum", { a: 3, b: 4 });
said.header = await text("test_header_parameter", { region: "žluť and space " });
said.unknown_tool = await code(client.callTool({ name: "nope" }));
said.missing_resource = await code(client.readResource({ uri: "test://nothing" }));
said.prompt = (await client.getPrompt({ name: "test_prompt_with_arguments", arguments: { arg1: "a", arg2: "b" } })).messages.length;
said.resource = (await client.readResource({ uri: "test://static-text" })).contents[0].mimeType;

const progress = [];
await client.callTool({ name: "test_tool_with_progress" }, { onprogress: (step) => progress.push(step.progress) });
said.progress = progress;

said.elicitation = await text("test_input_required_result_elicitation", {});
said.several = await text("test_input_required_result_multiple_inputs", {});

const numbers = Array.from({ length: 100 }, (_, number) => number);
said.many = (await Promise.all(numbers.map((number) => text("sum", { a: number, b: 1 })))).every(
  (answer, number) => answer === `${number} + 1 = ${number + 1}`,
);

const stop = new AbortController();
const slow = text("test_slow", { ms: 60000, steps: 1000 }, { signal: stop.signal, onprogress: () => stop.abort() });
said.aborted = await slow.then(() => false, () => true);
do said.counts = await text("test_counts");
while (!said.counts.endsWith("cancelled 1"));

if (said.version === "2026-07-28") {
  const listening = await client.listen({ resourceSubscriptions: ["test://watched-resource"], toolsListChanged: true });
  await text("test_trigger_resource_change", { uri: "test://watched-resource" });
  said.updated = await updated;
  await text("test_trigger_tool_change");
  said.changed = await changed;
  await listening.close();
} else {
  await client.subscribeResource({ uri: "test://watched-resource" });
  await text("test_trigger_resource_change", { uri: "test://watched-resource" });
  said.updated = await updated;
  await text("test_trigger_tool_change");
  said.changed = await changed;
  said.reconnection = await text("test_reconnection");
}
if (transport.terminateSession && said.session) await transport.terminateSession();
await client.close();
said.errors = errors;
console.log(JSON.stringify(said));
process.exit(0);
