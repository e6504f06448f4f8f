import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { commandArguments } from "../../scripts/support/childProcess.ts";

type ServiceAddress = { url: string; key: string };

/** The settings of the bridge, as in a client's configuration file. */
const environment = ({ url, key }: ServiceAddress) => ({ COUNTERSIGN_API_KEY: key, COUNTERSIGN_URL: url });

/** Connects the official client, which starts the bridge. */
export async function clientOverBridge(where: ServiceAddress, client = new Client({ name: "test", version: "1" })) {
  const env = { ...(process.env as Record<string, string>), ...environment(where) };
  await client.connect(new StdioClientTransport({ command: process.execPath, args: commandArguments("mcp"), env }));
  return client;
}

/** Starts the bridge as a plain client sees it: a program that exchanges lines of JSON. */
export async function startedBridge(where: ServiceAddress) {
  const child = spawn(process.execPath, commandArguments("mcp"), {
    env: { ...process.env, ...environment(where) },
  });
  const ended = once(child, "exit").then(([code]) => code as number);
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  let said = "";
  child.stderr.on("data", (chunk) => {
    said += chunk;
  });
  return {
    ended,
    /** Returns its standard error so far. */
    said: () => said,
    say: (message: unknown) =>
      child.stdin.write(`${typeof message === "string" ? message : JSON.stringify(message)}\n`),
    /** Returns the next line of standard output; undefined at its end. */
    async hear(): Promise<any> {
      const { done, value } = await lines.next();
      return done ? undefined : JSON.parse(value);
    },
    end: () => child.stdin.end(),
  };
}
