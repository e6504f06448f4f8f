import { randomUUID } from "node:crypto";
import { assignDraft } from "#src/commands/drafts/assignDraft.ts";
import { Rejected } from "#streams/decider.ts";
import { operator } from "#test/support/cause.ts";
import { deskOf } from "#test/support/desk.ts";
import { type InProcess, mail as plainMail } from "#test/support/inProcess.ts";
import { openTenantOn } from "#test/support/story/plan.ts";
import type { StoryMail } from "#test/support/story/story.ts";
import type { Random } from "../support/random.ts";

type Tenant = Awaited<ReturnType<typeof openTenantOn>>;

/** A workspace whose history is being made: what can be changed next. */
type Making = {
  service: InProcess;
  tenant: Tenant;
  random: Random;
  mails: StoryMail[];
  drafts: string[];
  identities: string[];
  rules: string[];
  people: { userId: string; memberId: string }[];
};

/** Changes a workspace at random, one change after the other, by the calls that agents, customers and operators make. */
export async function makeHistory(
  service: InProcess,
  { random, changes, onProgress }: { random: Random; changes: number; onProgress: (done: number) => void },
): Promise<Tenant> {
  const tenant = await openTenantOn(service, { plan: "pro" }, { threadHistoryDepth: 3 });
  const making: Making = { service, tenant, random, mails: [], drafts: [], identities: [], rules: [], people: [] };
  for (const role of ["approver", "owner"] as const) {
    const { user } = await deskOf(service, tenant.id, { role });
    making.people.push({ userId: user.id, memberId: user.memberId });
  }
  await newMail(making);
  let left: Change[] = [];
  for (let done = 0; done < changes; done++) {
    if (left.length === 0) left = [...kinds];
    const [change] = left.splice(random.below(left.length), 1);
    await change?.(making);
    service.clock.advance(random.pick([0, 1, 1_000, 3_600_000]));
    onProgress(done);
  }
  await service.filed();
  return tenant;
}

type Change = (making: Making) => Promise<unknown>;

const newMail: Change = async ({ tenant, mails, random }) => mails.push(await tenant.mail({ subject: random.word() }));

const answer: Change = async ({ tenant, mails, random }) => {
  const inReplyTo = random.pick(mails);
  mails.push(await tenant.mail({ inReplyTo, subject: "Re: it", text: `${random.word()} \u{1F4E6}` }));
};

/** A mail that answers mails of two threads merges these. A draft waits on each of them. */
const mergingMail: Change = async (making) => {
  const { tenant, mails, random } = making;
  for (let n = 0; n < 2; n++) {
    await newMail(making);
    if (random.chance(0.5)) await submitOn(making, mails.at(-1) as StoryMail);
  }
  const [one, two] = [mails.at(-1 - random.below(2)), random.pick(mails)] as [StoryMail, StoryMail];
  mails.push(await tenant.mail({ inReplyTo: [one.id, two.id], subject: "Re: both" }));
};

/** Mail for a disabled identity is held; it is released when the identity is enabled. */
const heldMail: Change = async ({ service, tenant, mails, random }) => {
  const line = `PATCH /v1/identities/${tenant.identity.id}`;
  await tenant.ask(line, { json: { status: "disabled" } });
  const inReplyTo = random.chance(0.5) ? random.pick(mails).id : undefined;
  const to = tenant.identity.address;
  await service.deliver(to, plainMail({ id: `${randomUUID()}@customer.example`, to, inReplyTo }));
  service.clock.advance(1_000);
  await tenant.ask(line, { json: { status: "active" } });
  await service.filed();
};

const submitOn = async ({ tenant, drafts, random }: Making, mail: StoryMail): Promise<void> => {
  const { status, json } = await tenant.submit(mail, { body_text: random.word() });
  if (status === 201) drafts.push(json.id);
};

const submit: Change = (making) => submitOn(making, making.random.pick(making.mails));

/** A change of a draft; it is refused if the draft does not allow it any more, which is a part of the history too. */
const ofDraft =
  (line: string, json?: () => object): Change =>
  async ({ tenant, drafts, random }) => {
    if (drafts.length === 0) return;
    const [method, action] = line.split(" ");
    const id = random.chance(0.7) ? drafts.at(-1) : random.pick(drafts);
    await tenant.ask(`${method} /v1/drafts/${id}${action ? `/${action}` : ""}`, json && { json: json() });
  };

/** Assigns a draft to a member who may decide, or to nobody. */
const assign: Change = async ({ service, tenant, drafts, people, random }) => {
  const draftId = drafts.at(-1);
  const userId = random.pick([...people.map((person) => person.userId), null]);
  if (!draftId) return;
  await assignDraft(service.deps, { workspaceId: tenant.id, draftId, userId }, operator(tenant.id)).catch((error) => {
    if (!(error instanceof Rejected)) throw error;
  });
};

/** The first member may decide, or only read. */
const changeRole: Change = async ({ service, tenant, people, random }) => {
  const { memberId } = people[0] as Making["people"][number];
  const role = random.pick(["approver", "auditor"] as const);
  const command = { type: "ChangeRole", memberId, role, by: "operator" } as const;
  await service.deps.members.handle(tenant.id, command, operator(tenant.id));
};

const changeThread: Change = ({ tenant, mails, random }) => {
  const json = random.pick([
    { status: random.pick(["open", "waiting", "closed"]) },
    { priority: random.pick(["low", "normal", "high", "urgent"]) },
    { needs_review: random.chance(0.5) },
  ]);
  return tenant.ask(`PATCH /v1/threads/${random.pick(mails).threadId}`, { json });
};

const newIdentity: Change = async ({ tenant, identities, random }) => {
  const { id } = await tenant.newIdentity({ displayName: random.word() });
  identities.push(id);
};

const changeIdentity: Change = ({ tenant, identities, random }) => {
  const json = random.pick([
    { display_name: random.word() },
    { thread_history_depth: 1 + random.below(6) },
    { approvals_required: 1 + random.below(3) },
    { signature_text: random.word(), signature_html: `<p>${random.word()}</p>` },
    {
      approval_channel: {
        type: "telegram",
        config: { bot_token: `1:${random.word().padEnd(30, "x")}`, chat_id: "-7" },
      },
    },
    { approval_channel: null },
  ]);
  return tenant.ask(`PATCH /v1/identities/${random.pick([tenant.identity.id, ...identities])}`, { json });
};

const deleteIdentity: Change = async ({ tenant, identities }) => {
  const id = identities.pop();
  if (id) await tenant.ask(`DELETE /v1/identities/${id}`);
};

const newRule: Change = async ({ tenant, rules, random }) => {
  const slack = { webhook_url: `https://hooks.slack.com/services/${random.word()}` };
  const { json } = await tenant.ask("POST /v1/rules", {
    json: {
      name: random.word(),
      trigger_event: "email.received",
      conditions: { operator: "AND", conditions: [{ field: "message.subject", op: "equals", value: random.word() }] },
      actions: [
        random.pick<object>([
          { type: "set_priority", priority: "high" },
          { type: "notify_channel", channel: "slack", config: slack },
        ]),
      ],
      priority: random.below(5),
    },
  });
  if (json?.id) rules.push(json.id);
};

const changeRule: Change = async ({ tenant, rules, random }) => {
  if (rules.length === 0) return;
  const json = random.pick([
    { name: random.word() },
    { priority: random.below(5) },
    { status: random.pick(["active", "inactive"]) },
  ]);
  await tenant.ask(`PATCH /v1/rules/${random.pick(rules)}`, { json });
};

const deleteRule: Change = async ({ tenant, rules }) => {
  const id = rules.shift();
  if (id) await tenant.ask(`DELETE /v1/rules/${id}`);
};

const changePlan: Change = ({ tenant, random }) =>
  tenant.changePlan({ plan: random.pick(["pro", "agency", "builder_pack"]), betaOverride: random.chance(0.8) });

const passMonth: Change = async ({ service }) => service.clock.advance(20 * 86_400_000);

/** The kinds of changes. Each round makes all of them, in another order. */
const kinds: readonly Change[] = [
  ...[newMail, answer, answer, mergingMail, mergingMail, heldMail, submit, submit],
  ...[ofDraft("PATCH", () => ({ body_text: randomUUID() })), ofDraft("POST approve"), ofDraft("POST send")],
  ...[ofDraft("POST send"), ofDraft("POST reject", () => ({ reason: "no" }))],
  ...[assign, assign, changeRole],
  ofDraft("POST request-changes", () => ({ text: "Shorter, please." })),
  ...[changeThread, changeThread, newIdentity, changeIdentity, changeIdentity, deleteIdentity],
  ...[newRule, changeRule, deleteRule, changePlan, passMonth],
];
