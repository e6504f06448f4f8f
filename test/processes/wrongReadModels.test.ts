import { randomUUID } from "node:crypto";
import { expect } from "chai";
import { submitDraft } from "#src/commands/drafts/submitDraft.ts";
import { operator } from "#test/support/cause.ts";
import { until } from "#test/support/inProcess.ts";
import { ann, claim, proof, trusted, useRules } from "./rulesWorld.ts";

const manual = [{ type: "set_approval_mode", mode: "manual" }];
const auto = [{ type: "set_approval_mode", mode: "auto" }];
const skip = [{ type: "skip_approval" }];

type Rules = ReturnType<typeof useRules>;
type World = Awaited<ReturnType<Rules["world"]>>;

/** An error in a read model, and rules for which it would matter. */
type Wrong = {
  what: string;
  /** The draft's status at the end; the read model's error must not change it. */
  ends: "sent" | "pending";
  switchOn?: boolean;
  said?: typeof proof;
  rules(world: World): Promise<unknown>;
  sql: string;
};

const switchedOff = async (world: World) => {
  const rule = await world.rule("draft.created", manual);
  await world.ask(`PATCH /v1/rules/${rule.id}`, { json: { status: "inactive" } });
};
const ofTrusted = (world: World) => world.rule("draft.created", skip, { conditions: trusted });
const ofMessage = (world: World) => world.rule("email.received", auto, { conditions: trusted });

const wrongs: Wrong[] = [
  {
    ...{ what: "that a rule is inactive which asks for a person", ends: "pending", switchOn: true },
    rules: (world) => world.rule("draft.created", manual),
    sql: "update read.rules set status = 'inactive' where workspace_id = $1",
  },
  {
    ...{ what: "that a rule of the message is deleted which asks for a person", ends: "pending", switchOn: true },
    rules: (world) => world.rule("email.received", manual),
    sql: "update read.rules set deleted_at = now() where workspace_id = $1",
  },
  {
    ...{ what: "that a rule is active which would ask for a person", ends: "sent", switchOn: true },
    rules: switchedOff,
    sql: "update read.rules set status = 'active' where workspace_id = $1",
  },
  {
    ...{ what: "that a rule is gone which grants", ends: "sent", rules: ofTrusted },
    sql: "update read.rules set deleted_at = now() where workspace_id = $1",
  },
  {
    ...{ what: "that a forgery is proven", ends: "pending", said: claim, rules: ofTrusted },
    sql: `update read.messages set authentication = '${JSON.stringify(proof)}' where workspace_id = $1`,
  },
  {
    ...{ what: "that a rule of a forgery grants", ends: "pending", said: claim, rules: ofMessage },
    sql: `update read.messages set authentication = '${JSON.stringify(proof)}' where workspace_id = $1`,
  },
  {
    ...{ what: "that nothing is known of a proven mail", ends: "sent", rules: ofTrusted },
    sql: "update read.messages set authentication = null, classification = 'list' where workspace_id = $1",
  },
  {
    ...{ what: "that somebody else wrote, who was blocked", ends: "sent", rules: ofMessage },
    sql: "update read.messages set from_email = 'eve@evil.example', from_blocked_contact = true where workspace_id = $1",
  },
  {
    ...{ what: "that a machine wrote where a rule asks for a person", ends: "pending", switchOn: true },
    rules: (world) => world.rule("email.received", manual, { conditions: trusted }),
    sql: "update read.messages set classification = 'auto_reply', from_blocked_contact = true where workspace_id = $1",
  },
];

describe("wrong or lagging read models [d14 grants]", () => {
  const rules = useRules();

  const stateOf = async (id: string) => (await rules.service.deps.drafts.load(id)).state;
  const settled = (id: string) =>
    until(async () => {
      const { status, rulesApplied } = await stateOf(id);
      return status === "sent" || (status === "pending" && rulesApplied);
    });

  async function worldOf({ switchOn = false, rules: made, said = proof }: Omit<Wrong, "what" | "ends" | "sql">) {
    rules.say(said);
    const world = await rules.world({ autoApproveReplies: switchOn });
    await world.contact("trusted");
    await made(world);
    return { world, received: await world.mail() };
  }

  /** Submits a draft as a key does, without waiting for the read models. */
  const submit = async (world: World, { thread, message }: { thread: any; message: any }): Promise<string> => {
    const asked = {
      ...{ workspaceId: world.id, threadId: thread.id, identityId: world.identity.id, basedOnMessageId: message.id },
      ...{ bodyText: "Soon.", bodyHtml: null, subjectOverride: null, cc: [], bcc: [], rationale: null },
      ...{ metadata: null, attachments: [] },
    };
    return (await submitDraft(rules.service.deps, asked, { ...operator(world.id), correlationId: randomUUID() }))
      .draftId;
  };

  for (const wrong of wrongs) {
    it(`a draft ends as without it if a read model wrongly says ${wrong.what}`, async () => {
      const { world, received } = await worldOf(wrong);
      await rules.service.caughtUp();
      const { rowCount } = await rules.service.database.owner.query(wrong.sql, [world.id]);
      expect(rowCount).to.be.above(0);
      const draftId = await submit(world, received);
      await settled(draftId);
      const draft = await stateOf(draftId);
      expect(draft.status).to.equal(wrong.ends);
      const { to } = draft.stored.content!;
      expect(to).to.deep.equal([ann]);
    });
  }

  it("a draft becomes stale by the customer's next mail although a read model calls its message the newest", async () => {
    const { world, received } = await worldOf({ switchOn: false, rules: async () => undefined });
    await rules.service.caughtUp();
    await rules.service.database.owner.query("update read.messages set filing_number = 999 where workspace_id = $1", [
      world.id,
    ]);
    const draftId = await submit(world, received);
    await world.mail({ inReplyTo: received.rfcId });
    const { status, json } = await world.ask(`POST /v1/drafts/${draftId}/send`);
    expect([status, json.error]).to.deep.equal([409, "stale_draft"]);
  });

  it("drafts approved by rules, a setting or a person are sent while the read models stand still", async () => {
    const bySwitch = await worldOf({ switchOn: true, rules: (world) => world.rule("email.received", skip) });
    const byRule = await worldOf({ rules: ofTrusted });
    const ofMail = await worldOf({ rules: ofMessage });
    const byPerson = await worldOf({ rules: async () => undefined });
    await rules.service.caughtUp();
    const decided = await submit(byPerson.world, byPerson.received);
    const at = async () =>
      (await rules.service.database.query("select name, position from work.checkpoints order by name")).rows;
    await rules.service.caughtUp();
    const still = await rules.service.database.pool.connect();
    try {
      await still.query("begin");
      await still.query("select 1 from work.checkpoints for update");
      const before = await at();
      const drafts: string[] = [];
      for (const { world, received } of [bySwitch, byRule, ofMail]) drafts.push(await submit(world, received));
      const approve = { type: "ApproveDraft", ifVersion: null, contentSha256: null, tokenSha256: null } as const;
      const person = { ...operator(byPerson.world.id), actor: { kind: "email_link", id: "approver" } } as const;
      await rules.service.deps.drafts.handle(decided, { ...approve, sendRequested: true }, person);
      for (const draftId of [...drafts, decided]) await until(async () => (await stateOf(draftId)).status === "sent");
      expect(await at()).to.deep.equal(before);
    } finally {
      await still.query("rollback");
      still.release();
    }
  });
});
