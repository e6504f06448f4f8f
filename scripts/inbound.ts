import { writeFile } from "node:fs/promises";
import { parseArgs } from "node:util";
import { isUuid } from "#src/commands/ids.ts";
import type { Composition } from "#src/compose.ts";
import { readWholeLog } from "#src/eventStore/eventStore.ts";
import type { Recorded } from "#streams/event.ts";
import { type StrayMailEvent, strayMailStream } from "#streams/strayMail/events.ts";
import { Misuse, runCommand } from "./support/command.ts";
import { withComposition } from "./support/operatorCommand.ts";
import { terminalJson } from "./support/terminalJson.ts";

const usage = `Mail that a provider had accepted for us and that is in no inbox: posts that could not be read, and mail to addresses that nobody has.
Mail to postmaster is here too, however it came.
Works beside a running service.

  npm run inbound -- list [--workspace ID]    one JSON line each, oldest first; with --workspace the mail on its domains alone
  npm run inbound -- raw ID FILE              writes the bytes into a new file: of a post the whole body, of a mail the mail`;

const category = "strayMail";

async function list({ store }: Composition, workspaceId: string | undefined): Promise<void> {
  let listed = 0;
  for await (const { events } of readWholeLog(store, [category]))
    for (const event of events as Recorded<StrayMailEvent>[]) {
      const entry = shown(event);
      if (workspaceId !== undefined && entry.workspace_id !== workspaceId) continue;
      console.log(terminalJson(entry));
      listed++;
    }
  // Standard output is only for the lines of JSON.
  if (listed === 0) console.error("no such mail");
}

/** Formats an event in the terms of the ledger that workspaces see. */
function shown({ type, data, metadata }: Recorded<StrayMailEvent>) {
  const { deliveryId: id, envelope, sizeBytes: size_bytes } = data;
  const entry = { id, received_at: metadata.at, sender_ip: metadata.actor.ip ?? null, envelope, size_bytes };
  if (type === "PostQuarantined")
    return {
      ...entry,
      workspace_id: null,
      disposition: "quarantined",
      reason: data.reason,
      content_type: data.contentType,
    };
  const { from, subject, messageId } = data.headers;
  const mail = { from: from?.address ?? null, subject, rfc_message_id: messageId };
  const reason = "no identity has this address";
  return { ...entry, workspace_id: data.workspaceId, disposition: "unknown_recipient", reason, ...mail };
}

async function raw({ store, deps }: Composition, { id, file }: { id: string; file: string }): Promise<void> {
  const event = (await store.readLast(strayMailStream(id))) as Recorded<StrayMailEvent> | undefined;
  if (!event) throw new Misuse(`There is no entry ${id}.`);
  const bytes = await deps.blobs.get(event.data.rawSha256);
  if (!bytes) throw new Error(`the stored bytes of ${id} are missing`);
  await writeFile(file, bytes, { flag: "wx" });
}

await runCommand(usage, async () => {
  const { values, positionals } = parseArgs({ options: { workspace: { type: "string" } }, allowPositionals: true });
  const [command = "", id, file, ...rest] = positionals;
  const { workspace } = values;
  if (workspace !== undefined && (!isUuid(workspace) || command !== "list"))
    throw new Misuse("--workspace takes an id, with list.");
  if (command === "list" && id === undefined) return withComposition((composition) => list(composition, workspace));
  if (command === "raw" && id !== undefined && isUuid(id) && file !== undefined && rest.length === 0)
    return withComposition((composition) => raw(composition, { id, file }));
  throw new Misuse("Give a command.");
});
