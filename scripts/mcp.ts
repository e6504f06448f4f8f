import { parseArgs } from "node:util";
import { Misuse, runCommand } from "./support/command.ts";
import { startBridge } from "./support/mcpBridge.ts";

const usage = `For MCP clients that start a program and speak to it on its standard input and output: passes their messages on to /mcp of a running
service, and its answers back. Ends when standard input ends.

  npm run -s mcp -- [--key svc_live_…] [--url http://localhost:8080]

Without --key the key is read from COUNTERSIGN_API_KEY, where no list of processes shows it; without --url the address from COUNTERSIGN_URL.`;

const defaultUrl = "http://localhost:8080";

await runCommand(usage, async () => {
  const { values } = parseArgs({ options: { key: { type: "string" }, url: { type: "string" } } });
  const key = values.key ?? process.env.COUNTERSIGN_API_KEY ?? "";
  const url = values.url ?? process.env.COUNTERSIGN_URL ?? defaultUrl;
  if (!/^svc_live_[\w-]+$/.test(key)) throw new Misuse("Give an API key: svc_live_…, by --key or COUNTERSIGN_API_KEY.");
  if (!/^https?:$/.test(URL.canParse(url) ? new URL(url).protocol : ""))
    throw new Misuse("--url takes the address of the service, such as http://localhost:8080.");
  await startBridge({ key, url: new URL("/mcp", url), log: (message) => console.error(message) });
});
