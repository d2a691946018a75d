// The official TypeScript SDK, line 1, through its low-level server: nothing but what every server of it pays.
// Serves the tools of the JSON file it is given; every call adds two numbers.
import { readFileSync } from "node:fs";
import { Server } from "@modelcontextprotocol/sdk/server/index.js";
import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js";
import { CallToolRequestSchema, ListToolsRequestSchema } from "@modelcontextprotocol/sdk/types.js";

const tools = JSON.parse(readFileSync(process.argv[2], "utf8"));
const server = new Server({ name: "typescript-1", version: "1" }, { capabilities: { tools: {} } });

server.setRequestHandler(ListToolsRequestSchema, async () => ({ tools }));
server.setRequestHandler(CallToolRequestSchema, async ({ params }) => {
  const { a, b } = params.arguments;
  return { content: [{ type: "text", text: `${a} + ${b} = ${a + b}` }] };
});

process.stdin.on("end", () => process.exit(0));
await server.connect(new StdioServerTransport());
