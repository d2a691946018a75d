// The official TypeScript SDK, line 2, through its low-level server and its own HTTP entry, on node:http.
// Serves the tools of the JSON file it is given; every call adds two numbers. Prints its port.
import { createServer } from "node:http";
import { readFileSync } from "node:fs";
import { toNodeHandler } from "@modelcontextprotocol/node";
import { Server, createMcpHandler } from "@modelcontextprotocol/server";

const tools = JSON.parse(readFileSync(process.argv[2], "utf8"));

const handler = createMcpHandler(() => {
  const server = new Server({ name: "typescript-2", version: "1" }, { capabilities: { tools: {} } });
  server.setRequestHandler("tools/list", async () => ({ tools }));
  server.setRequestHandler("tools/call", async ({ params }) => {
    const { a, b } = params.arguments;
    return { content: [{ type: "text", text: `${a} + ${b} = ${a + b}` }] };
  });
  return server;
});

const listening = createServer(toNodeHandler(handler)).listen(0, "127.0.0.1", () => {
  console.log(listening.address().port);
});
process.stdin.on("end", () => process.exit(0)).resume();
