import { createHash } from "node:crypto";
import { open } from "node:fs/promises";
import { parseArgs } from "node:util";
import { draftHistory } from "#src/commands/drafts/draftHistories.ts";
import { explainFromLog } from "#src/commands/drafts/life/explainFromLog.ts";
import { toPlainText } from "#src/commands/drafts/life/phrases.ts";
import { isUuid } from "#src/commands/ids.ts";
import { readWholeLog } from "#src/eventStore/eventStore.ts";
import { visibleLine } from "#src/html/visible.ts";
import { canonicalJson } from "#src/mail/out/content.ts";
import { StartError } from "#src/platform/startError.ts";
import type { Recorded } from "#streams/event.ts";
import { witnessLines } from "./support/auditTrees.ts";
import { Misuse, runCommand } from "./support/command.ts";
import { withComposition } from "./support/operatorCommand.ts";
import { terminalJson } from "./support/terminalJson.ts";

const usage = `For auditors: what happened, read from the event log itself.

  npm run audit -- draft ID [--at TIME]          why a draft was sent, or why not, in one sentence,
                                                 then its history in words; up to TIME if given
  npm run -s audit -- export --workspace ID      every event of a workspace, one JSON line each, hash-chained
                                                 (-s keeps npm's own lines out of the file)
  npm run audit -- verify FILE                   checks such an export: no event was changed, removed or added
  npm run -s audit -- witness-lines [--workspace ID]
                                                 what a witness of AUDIT_WITNESSES has to know of each audit tree,
                                                 or of a workspace's`;

/** First hash of an export's chain. Each line's hash covers the previous line's hash and the event. */
const chainStart = "0".repeat(64);
const link = (previous: string, event: unknown): string =>
  createHash("sha256").update(previous).update(canonicalJson(event)).digest("hex");

async function tellDraft(id: string, at: string | undefined): Promise<void> {
  if (!isUuid(id)) throw new Misuse("draft: expected a draft id.");
  const until = at === undefined ? Number.POSITIVE_INFINITY : Date.parse(at);
  if (Number.isNaN(until)) throw new Misuse("--at: expected a time such as 2026-01-31T12:00:00Z.");
  const { told, answer } = await withComposition(async ({ deps }) => {
    const history = await draftHistory(deps, id.toLowerCase());
    const told = history.filter((event) => Date.parse(event.metadata.at) <= until);
    return { told, answer: told.length > 0 ? toPlainText(await explainFromLog(deps, told)) : "" };
  });
  if (told.length === 0) throw new StartError("This draft does not exist, or did not exist yet at that time.");
  console.log(`${answer}\n`);
  for (const event of told) console.log(sentence(event));
}

const sentence = ({ type, data, metadata, position, stream, revision }: Recorded): string => {
  const { kind, id, name, channel, ip } = metadata.actor;
  // Names and reasons were written by others: a terminal obeys control characters. In a chat, people choose their own display names, so
  // the id identifies them.
  const who = name === undefined || name === id ? id : `${name} (${id})`;
  const by = [`by ${kind} ${visibleLine(who)}`, channel && channel !== kind && `through ${channel}`, ip && `from ${ip}`]
    .filter(Boolean)
    .join(" ");
  const facts = Object.entries(data)
    .filter(([field, value]) => told.includes(field) && value !== null && value !== "")
    .map(([field, value]) => `${field} ${visibleLine(inWords(value))}`);
  const words = type.replace(/(?<=[a-z])(?=[A-Z])/g, " ").toLowerCase();
  return `${metadata.at}  #${position}  ${words}, ${by}${facts.length > 0 ? ` (${facts.join(", ")})` : ""}  [${stream} @${revision}]`;
};

/** Describes a channel by its slot, its type and its address. */
const inWords = (value: unknown): string =>
  typeof value === "object" && value !== null ? Object.values(value).flat().join(" ") : String(value);

/** The facts of an event that answer an auditor's questions; contents are not shown on the terminal. */
const told = [
  "channel",
  "bundled",
  "version",
  "contentSha256",
  "reason",
  "because",
  "attemptId",
  "replaces",
  "code",
  "message",
  "response",
  "newMessageId",
  "sendRequested",
  "autoApproved",
  "rfcMessageId",
  "mimeSha256",
  "outcome",
  "evidence",
  "error",
  "final",
  "provider",
  "changedFields",
  "voter",
  "required",
  "quorum",
];

async function exportWorkspace(workspaceId: string | undefined): Promise<void> {
  if (workspaceId === undefined || !isUuid(workspaceId)) throw new Misuse("--workspace: expected a workspace id.");
  await withComposition(async ({ store }) => {
    let chain = chainStart;
    let count = 0;
    for await (const { events } of readWholeLog(store)) {
      for (const event of events.filter(({ metadata }) => metadata.workspaceId === workspaceId.toLowerCase())) {
        chain = link(chain, event);
        count += 1;
        process.stdout.write(`${terminalJson({ event, chain })}\n`);
      }
    }
    process.stderr.write(`${count} events exported. Keep the last hash apart from the file: ${chain}\n`);
  });
}

async function verifyFile(file: string | undefined): Promise<void> {
  if (file === undefined) throw new Misuse("verify: expected a file name.");
  let chain = chainStart;
  let count = 0;
  for await (const line of linesOf(file)) {
    count += 1;
    const { event, chain: claimed } = entryOf(line, count);
    chain = link(chain, event);
    if (chain !== claimed)
      throw new StartError(
        `Line ${count} (position ${event?.position}) does not match the lines before it: the file was altered.`,
      );
  }
  console.log(`${count} events, chain unbroken; the last hash is ${chain}`);
}

function entryOf(line: string, number: number): { event: Recorded; chain: string } {
  try {
    return JSON.parse(line);
  } catch {
    throw new StartError(
      `Line ${number} is not a line of an export. Create the file with: npm run -s audit -- export … > FILE`,
    );
  }
}

/** Yields the lines of a file, which must exist. */
async function* linesOf(file: string): AsyncGenerator<string> {
  const input = await open(file).catch((error: Error) => {
    throw new StartError(`The file cannot be read: ${error.message}.`);
  });
  yield* input.readLines();
}

await runCommand(usage, async () => {
  const options = { at: { type: "string" }, workspace: { type: "string" } } as const;
  const { values, positionals } = parseArgs({ options, allowPositionals: true });
  const [command, subject] = positionals;
  if (command === "draft") await tellDraft(subject ?? "", values.at);
  else if (command === "export") await exportWorkspace(values.workspace);
  else if (command === "verify") await verifyFile(subject);
  else if (command === "witness-lines")
    await withComposition(async ({ deps }) => console.log(await witnessLines(deps, values.workspace)));
  else throw new Misuse(command === undefined ? "Give a command." : `Unknown command: ${command}.`);
});
