import { randomUUID } from "node:crypto";
import { expect } from "chai";
import type { NewIdentity } from "#src/commands/identities/identities.ts";
import { asking, type HttpAnswer } from "../asking.ts";
import { type Identity, type InProcess, mail as plainMail, startInProcess, until } from "../inProcess.ts";
import { draftOf, type StoryContent } from "./draft.ts";

/** A workspace with an identity, as its agent sees it: a customer's mail arrives, the agent answers it with a draft. */
export type StoryTenant = Awaited<ReturnType<typeof openTenant>>;
/** A customer's mail on its thread. `id`: its Message-ID, without brackets. `basis`: the ids that a draft which answers it has. */
export type StoryMail = {
  id: string;
  threadId: string;
  messageId: string;
  identity: Identity;
  basis: { thread_id: string; identity_id: string; based_on_message_id: string };
};

/** A customer's mail. `raw` replaces all of it; `inReplyTo` puts it on the thread of the mails that it answers. */
export type CustomerMail = {
  to?: Identity;
  id?: string;
  from?: string;
  subject?: string;
  text?: string;
  inReplyTo?: StoryMail | string | readonly string[];
  /** More header lines, such as "List-Id: <talk.example.com>". */
  headers?: readonly string[];
  raw?: string | Buffer;
  /** Overrides the SMTP sender and the sending server. */
  envelope?: { from?: string; ip?: string; helo?: string };
};

type InProcessOptions = NonNullable<Parameters<typeof startInProcess>[1]>;

/** Starts the service in this process, with one tenant. `identity`: the settings of the tenant's identity. */
export async function startStory(
  environment: Record<string, string> = {},
  { identity = {}, ...options }: InProcessOptions & { identity?: Partial<NewIdentity> } = {},
) {
  const service = await startInProcess(environment, options);
  return { service, tenant: await openTenant(service, identity) };
}

/** Makes a workspace with an identity. `identity`: its settings; `scopes`: those of its key, by default every scope. */
export async function openTenant(
  service: InProcess,
  identity: Partial<NewIdentity> = {},
  options: { scopes?: readonly string[] } = {},
) {
  const workspace = await service.workspace(options);
  return tenantOf(service, { ...workspace, identity: await service.identity(workspace.id, identity) });
}

type Workspace = Awaited<ReturnType<InProcess["workspace"]>> & { identity: Identity };

/** Returns what the agent of a workspace that a test made can do. */
export function tenantOf(service: InProcess, workspace: Workspace) {
  const { ask, id: workspaceId, identity } = workspace;

  /** Submits a draft that answers the mail; returns whatever the service answers. */
  const submit = (answered: Pick<StoryMail, "basis">, content: StoryContent = {}): Promise<HttpAnswer> => {
    const hasBody = "body_text" in content || "body_html" in content;
    const json = { ...answered.basis, ...(hasBody ? {} : { body_text: "On its way." }), ...content };
    return ask("POST /v1/drafts", { json });
  };

  /** Reads a thread with its messages and drafts. */
  const thread = async (of: { threadId: string } | string): Promise<any> =>
    (await ask(`GET /v1/threads/${typeof of === "string" ? of : of.threadId}`)).json;

  return {
    ...workspace,
    submit,
    /** Returns the same tenant, whose agent has another key. */
    withKey: (key: string) => tenantOf(service, { ...workspace, key, ask: asking(service.url, key) }),
    /** Makes one more identity. */
    newIdentity: (settings: Partial<NewIdentity> = {}) => service.identity(workspaceId, settings),
    /** Delivers a customer's mail to the tenant's identity, or to another, and waits until it is on its thread. */
    mail: (sent: CustomerMail = {}) => receive(service, { to: identity, ...sent }),
    /** Submits a draft that answers the mail, and requires that it is accepted. */
    async draft(answered: Pick<StoryMail, "basis">, content?: StoryContent) {
      const answer = await submit(answered, content);
      expect(answer.status, answer.text).to.equal(201);
      return draftOf(service, ask, answer.json);
    },
    /** Returns a draft that was submitted in another way, such as by POST /v1/emails/reply. */
    draftWithId: async (id: string) => draftOf(service, ask, (await ask(`GET /v1/drafts/${id}`)).json),
    thread,
    /** Waits until the condition holds for a thread's newest message; returns the message. */
    async lastMessage(of: { threadId: string } | string, isSo: (message: any) => boolean = () => true): Promise<any> {
      const newest = async () => (await thread(of)).messages.at(-1);
      await until(async () => isSo(await newest()));
      return newest();
    },
  };
}

async function receive(service: InProcess, sent: CustomerMail & { to: Identity }): Promise<StoryMail> {
  const { to: identity, raw, headers = [], envelope = {}, inReplyTo, ...letter } = sent;
  const newId = `${randomUUID()}@customer.example`;
  const answered = typeof inReplyTo === "object" && "threadId" in inReplyTo ? inReplyTo.id : inReplyTo;
  const written = plainMail({ id: newId, to: identity.address, inReplyTo: answered, ...letter });
  const mime = raw ?? written.replace("MIME-Version:", () => [...headers, "MIME-Version:"].join("\r\n"));
  const head = (name: string) => new RegExp(`^${name}:.*?([^\\s<]+@[^\\s>]+)`, "im").exec(mime.toString("latin1"))?.[1];
  const id = head("Message-ID") as string;
  const from = head("From");
  await service.deliver(identity.address, mime, { ...(from === undefined ? {} : { from }), ...envelope });
  const { rows } = await service.database.reads.ofAll.query<{ id: string; thread_id: string }>(
    "select id, thread_id from read.messages where identity_id = $1 and rfc_message_id = $2",
    [identity.id, `<${id}>`],
  );
  const message = rows[0];
  if (!message) throw new Error(`the mail ${id} is on no thread`);
  const basis = { thread_id: message.thread_id, identity_id: identity.id, based_on_message_id: message.id };
  return { id, threadId: message.thread_id, messageId: message.id, identity, basis };
}
