import { parseArgs } from "node:util";
import { draftHistory } from "#src/commands/drafts/draftHistories.ts";
import { explainFromLog } from "#src/commands/drafts/life/explainFromLog.ts";
import { toPlainText } from "#src/commands/drafts/life/phrases.ts";
import { isUuid } from "#src/commands/ids.ts";
import { visibleLine } from "#src/html/visible.ts";
import { StartError } from "#src/platform/startError.ts";
import type { Recorded } from "#streams/event.ts";
import { beginEpochs, proofInWords, witnessLines } from "./support/auditTrees.ts";
import { Misuse, runCommand } from "./support/command.ts";
import { withComposition } from "./support/operatorCommand.ts";
import { verifyEvidence } from "./support/verifyEvidence.ts";

const usage = `For auditors: what happened, read from the event log itself.

  npm run audit -- draft ID [--at TIME]          why a draft was sent, or why not, in one sentence,
                                                 then its history in words, up to TIME if given, and the signed
                                                 head of the audit tree that proves it
  npm run audit -- verify FILE|FOLDER [--expect CHECKPOINT] [--key KEY]
                                                 checks evidence of a draft, or an export (a ZIP archive or the folder
                                                 with its files), with the head or the public key that you kept
  npm run -s audit -- witness-lines [--workspace ID]
                                                 what a witness of AUDIT_WITNESSES has to know of each audit tree,
                                                 or of a workspace's
  npm run audit -- new-epoch --workspace ID|--tree ID|--all --reason TEXT
                                                 after a restore: signs heads again of trees that do not continue
                                                 their signed heads; auditors see TEXT`;

async function tellDraft(id: string, at: string | undefined): Promise<void> {
  if (!isUuid(id)) throw new Misuse("draft: expected a draft id.");
  const until = at === undefined ? Number.POSITIVE_INFINITY : Date.parse(at);
  if (Number.isNaN(until)) throw new Misuse("--at: expected a time such as 2026-01-31T12:00:00Z.");
  const { told, answer, proof } = await withComposition(async ({ deps }) => {
    const history = await draftHistory(deps, id.toLowerCase());
    const told = history.filter((event) => Date.parse(event.metadata.at) <= until);
    if (told.length === 0) return { told, answer: "", proof: "" };
    return { told, answer: toPlainText(await explainFromLog(deps, told)), proof: await proofInWords(deps, told) };
  });
  if (told.length === 0) throw new StartError("This draft does not exist, or did not exist yet at that time.");
  console.log(`${answer}\n`);
  for (const event of told) console.log(sentence(event));
  console.log(`\n${proof}`);
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

await runCommand(usage, async () => {
  const text = { type: "string" } as const;
  const options = {
    at: text,
    workspace: text,
    expect: text,
    key: text,
    tree: text,
    all: { type: "boolean" },
    reason: text,
  } as const;
  const { values, positionals } = parseArgs({ options, allowPositionals: true });
  const [command, subject] = positionals;
  if (command === "draft") await tellDraft(subject ?? "", values.at);
  else if (command === "verify") await verifyEvidence(subject, values);
  else if (command === "witness-lines")
    await withComposition(async ({ deps }) => console.log(await witnessLines(deps, values.workspace)));
  else if (command === "new-epoch")
    await withComposition(async ({ deps }) => {
      for await (const sentence of beginEpochs(deps, values, values.reason)) console.log(sentence);
    });
  else throw new Misuse(command === undefined ? "Give a command." : `Unknown command: ${command}.`);
});
