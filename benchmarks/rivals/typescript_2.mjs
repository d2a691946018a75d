// The official TypeScript SDK, line 2, through its low-level server and its own stdio entry.
// Serves the tools of the JSON file it is given; every call adds two numbers.
import { readFileSync } from "node:fs";
import { Server } from "@modelcontextprotocol/server";
import { serveStdio } from "@modelcontextprotocol/server/stdio";

const tools = JSON.parse(readFileSync(process.argv[2], "utf8"));

serveStdio(() => {
  const server = new Server({ name: "typescript-2", version: "1" }, { capabilities: { tools: {} } });
  server.setRequestHandler("tools/list", async () => ({ tools }));
  server.setRequestHandler("tools/call", async ({ params }) => {
    const { a, b } = params.arguments;
    return { content: [{ type: "text", text: `${a} + ${b} = ${a + b}` }] };
  });
  return server;
});
