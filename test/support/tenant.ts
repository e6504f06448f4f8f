import { randomUUID } from "node:crypto";
import { createApiKey } from "#src/commands/apiKeys.ts";
import { createWorkspace } from "#src/commands/workspaces.ts";
import { allScopes } from "#src/http/framework/keys/scopes.ts";
import type { Mailer } from "#test/mail/in/smtpSender.ts";
import { type Client, createClient, until } from "../../scripts/support/client.ts";
import { operator } from "./cause.ts";
import { mail } from "./inProcess.ts";
import type { Installation, RunningInstance } from "./installation.ts";

/** A workspace of an installation: its agent, and one identity on the sandbox domain. */
export type Tenant = {
  workspaceId: string;
  key: string;
  identity: { id: string; email_address: string };
  /** A client for the agent at this instance. */
  at(instance: Pick<RunningInstance, "url" | "smtpPort">): Client;
};

/** Opens a tenant on the plan `pro`. `settings`: its identity's, in the form of POST /v1/identities; without them it has no approvers. */
export async function openTenant(
  { withCommands }: Installation,
  instance: RunningInstance,
  settings: Record<string, unknown> = {},
): Promise<Tenant> {
  const { workspaceId, key } = await withCommands(async (deps) => {
    const made = await createWorkspace(deps, { name: "Tenant", plan: "pro", betaOverride: true }, operator());
    const cause = operator(made.workspaceId);
    const { key, position } = await createApiKey(deps, { ...made, name: "agent", scopes: allScopes }, cause);
    await until("the tenant's key", () => deps.projected(position));
    return { workspaceId: made.workspaceId, key };
  });
  const at: Tenant["at"] = ({ url, smtpPort }) => createClient({ url, smtpPort, apiKey: key });
  const identity = await at(instance).identity({ approval_channel: undefined, ...settings });
  return { workspaceId, key, identity, at };
}

export const customer = "ann@customer.example";
export const approver = "approver@example.com";

/** The settings of an identity whose approver is asked by mail. */
export const askedByMail = { approval_channel: { type: "email", config: { to: approver } } };

/** A customer's mail on its thread, ready to be answered. `id`: its Message-ID, without brackets. */
export type Question = { id: string; threadId: string; messageId: string; identityId: string };

type CustomerLetter = { mailer: Mailer; inReplyTo?: readonly string[]; text?: string };

/**
 * Sends a customer's mail; resolves with its Message-ID, without brackets, once it is acknowledged. `inReplyTo`: the ids of the mails
 * that it answers.
 */
export async function sendMail({ identity }: Tenant, { mailer, inReplyTo, text }: CustomerLetter): Promise<string> {
  const id = `${randomUUID()}@customer.example`;
  const raw = Buffer.from(mail({ id, to: identity.email_address, inReplyTo, text }));
  const told = await mailer.send(raw, identity.email_address);
  if (!told.startsWith("250")) throw new Error(`a mail was refused: ${told}`);
  return id;
}

/** Sends a customer's mail, and waits until it can be read. */
export async function askQuestion(
  installation: Installation,
  tenant: Tenant,
  letter: CustomerLetter,
): Promise<Question> {
  const id = await sendMail(tenant, letter);
  const identityId = tenant.identity.id;
  const found = await until(`${id} on its thread`, async () => {
    const sql = `select id as "messageId", thread_id as "threadId" from read.messages where identity_id = $1 and rfc_message_id = $2`;
    return (await installation.rows<Pick<Question, "messageId" | "threadId">>(sql, [identityId, `<${id}>`]))[0];
  });
  return { ...found, id, identityId };
}

/** Submits a draft that answers the question; resolves with the draft. */
export const submit = (
  client: Client,
  { threadId, messageId, identityId }: Omit<Question, "id">,
  text = "Here it is.",
) =>
  client.ask("POST /v1/drafts", {
    thread_id: threadId,
    identity_id: identityId,
    based_on_message_id: messageId,
    body_text: text,
  });

const finalStates = ["sent", "failed", "stale", "rejected"];

/** Waits for a draft's final status; resolves with the draft. */
export const endOf = (client: Client, draftId: string, timeoutMs = 60_000): Promise<{ id: string; status: string }> =>
  until(
    `the end of draft ${draftId}`,
    async () => {
      const draft = await client.ask(`GET /v1/drafts/${draftId}`);
      return finalStates.includes(draft.status) && draft;
    },
    timeoutMs,
  );
