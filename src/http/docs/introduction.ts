import { readFileSync } from "node:fs";
import { statuses } from "../framework/errors.ts";
import { namedScopes, scopes } from "../framework/keys/scopes.ts";
import { errorMeanings } from "./errorMeanings.ts";
import { eventKinds } from "./eventKinds.ts";
import { historyTypes } from "./historyTypes.ts";

/** The front of the OpenAPI document, in Markdown: what an agent's author reads first. Its tables are made from what they tell of. */
export function introduction(): string {
  const parts: Record<string, string> = {
    scopes: table(
      ["scope", "may"],
      Object.entries(scopes).map(([name, may]) => [code(name), may]),
    ),
    named: namedScopes.map(code).join(", "),
    errors: table(
      ["status", "error", "what it means"],
      Object.entries(errorMeanings).map(([name, means]) => [statusesOf(name), code(name), means]),
    ),
    history: table(
      ["type", "what happened"],
      Object.entries(historyTypes).map(([type, says]) => [code(type), says]),
    ),
    kinds: table(
      ["kind", "when", "`data`"],
      Object.entries(eventKinds).map(([kind, { when, data }]) => [code(kind), when, data.map(code).join(", ")]),
    ),
  };
  const text = readFileSync(new URL("introduction.md", import.meta.url), "utf8");
  return text.replaceAll(/\{\{(\w+)\}\}/g, (_, name) => parts[name] as string);
}

/** invalid_request has two: 409 where the name is taken. */
const statusesOf = (error: string): string =>
  error === "invalid_request" ? "422, 409" : String(statuses[error as keyof typeof statuses]);

const code = (text: string): string => `\`${text}\``;

const table = (head: string[], lines: string[][]): string =>
  [head, head.map(() => "---"), ...lines].map((cells) => `| ${cells.join(" | ")} |`).join("\n");
