import { approveDraft } from "#src/commands/drafts/drafts.ts";
import { approveByPerson } from "#src/commands/drafts/signedInDecisions.ts";
import { fileInbox } from "#src/commands/inbound/filing/fileInbox.ts";
import { pauseInstallation, resumeInstallation } from "#src/commands/installation.ts";
import type { SendCheck } from "#src/commands/sends/sendChecks.ts";
import type { Draft } from "#streams/draft/draft.ts";
import { linkVoter } from "#streams/draft/quorum.ts";
import type { Actor } from "#streams/event.ts";
import { first, later, requireHuman, send } from "./sendSoundness.ts";
import { ann, beginningOf, bob, cause, identityId, refusal, workspaceId } from "./sendWorld.ts";
import { createStandingWorld, isTrusted, openStandingWorld, type StandingWorld, skip } from "./standingWorld.ts";

type Do = (world: StandingWorld) => Promise<unknown>;

/** A way to approve a draft. `sends`: the draft is not sent until a key asks for it. */
type Way = {
  setUp?: Do;
  autoApproved?: true;
  approve?: (world: StandingWorld, draftId: string) => Promise<unknown>;
  sends?: true;
};

const press = (who: Pick<Actor, "kind" | "id">, voter: string) => (world: StandingWorld, draftId: string) => {
  const shown = { ifVersion: 1, contentSha256: null, tokenSha256: `of ${who.id}` };
  const voting = { voter, place: null, required: 1, keysCount: true };
  const command = { type: "ApproveDraft", ...shown, sendRequested: true, voting } as const;
  return world.elsewhere().drafts.handle(draftId, command, { ...cause, actor: who });
};
const named = { workspaceId, ifVersion: 1 };
const byPerson = (who: typeof ann) => (world: StandingWorld, draftId: string) =>
  approveByPerson(world.node, { ...named, draftId }, who);
const ofTwo: Do = (world) => world.changeIdentity({ approvalsRequired: 2 });

const allWays = {
  "a key": { approve: (world, draftId) => approveDraft(world.node, { ...named, draftId }, cause), sends: true },
  "a rule": { setUp: (world) => world.rule({ conditions: isTrusted, actions: [skip] }) },
  "a setting": { autoApproved: true },
  "a link": { approve: press({ kind: "email_link", id: "zoe@people.example" }, "mailbox:zoe@people.example") },
  "a chat": { approve: press({ kind: "telegram", id: "7" }, linkVoter("telegram -100")) },
  "a signed-in person": { approve: byPerson(ann) },
  "two signed-in people": {
    setUp: ofTwo,
    approve: async (world, draftId) => {
      await byPerson(ann)(world, draftId);
      await byPerson(bob)(world, draftId);
    },
  },
} satisfies Record<string, Way>;
type WayName = keyof typeof allWays;

export const ways = Object.keys(allWays) as WayName[];
const people: WayName[] = ["a signed-in person", "two signed-in people"];
const nobody: WayName[] = ["a rule", "a setting"];

/** Moments of a change: before the claim, before and after connecting, before the first byte (also 5 s later), before a retry. */
export const moments = ["queued", "connected", "started", "first byte", "late first byte", "queued again"] as const;
export type Cell = { way: WayName; moment: (typeof moments)[number] };

/** A draft's final status with the code that holds or failed it. A send by key that was refused leaves it `held null`. */
type End = "pending" | `held ${string}` | `failed ${string}` | "stale" | "sending" | "sent";

/**
 * A change that makes the answer "no". `ways`: the approvals it concerns, by default all. `undone`: ends it; then the draft is sent, by a
 * key's request if it has to be requested again.
 */
export type Question = { change: Do; ways?: WayName[]; end: (cell: Cell) => End; undone?: Do };

/** The draft becomes pending while it is approved, and fails once it is being sent. */
const withdrawn: Question["end"] = ({ moment }) => (moment === "queued" ? "pending" : "failed approval_withdrawn");

/** A question asked less than 5 s before is not asked again for the first byte. */
const unlessJustAsked =
  (end: Question["end"]): Question["end"] =>
  (cell) =>
    cell.moment === "first byte" ? "sent" : end(cell);

const onlyWhenQueued =
  (end: Question["end"]): Question["end"] =>
  (cell) =>
    cell.moment === "queued" ? end(cell) : "sent";

/** While approved the draft is held with this code; while being sent it waits. A key is refused, which changes nothing. */
const held = (code: string, sending: End = "sending") =>
  unlessJustAsked(({ moment, way }) => {
    if (moment !== "queued") return sending;
    return way === "a key" ? "held null" : `held ${code}`;
  });

const paused =
  (sendingPaused: boolean): Do =>
  (world) =>
    world.pause(sendingPaused);
const onAnn =
  (command: { type: "RemoveMember" } | { type: "ChangeRole"; role: "auditor" }): Do =>
  ({ elsewhere }) =>
    elsewhere().members.handle(workspaceId, { memberId: "member-ann", by: "operator", ...command }, cause);
const fillQuota: Do = async ({ elsewhere }) => {
  const reservationIds = Array.from({ length: 50 }, (_, n) => `other ${n}`);
  const command = { type: "ReserveThoseThatFit", reservationIds, cap: 50, elsewhere: 0 } as const;
  await elsewhere().quotas.handle(`quota-${workspaceId}-lifetime`, command, cause);
};
const ruleOf = ({ log }: StandingWorld): string => log.all.find(({ type }) => type === "RuleCreated")!.stream.slice(5);
const writeAgain: Do = async (world) => {
  await world.acknowledge(2, [first]);
  await fileInbox(world.createNode(), identityId, cause);
};

export const questions: Record<string, Question> = {
  "the workspace has paused sending": { change: paused(true), end: held("sending_paused"), undone: paused(false) },
  "the operator has paused everything": {
    change: ({ elsewhere }) => pauseInstallation(elsewhere(), null, cause),
    end: held("sending_paused"),
    undone: ({ elsewhere }) => resumeInstallation(elsewhere(), null, cause),
  },
  "the identity is disabled": {
    change: (world) => world.changeIdentity({ status: "disabled" }),
    end: held("identity_not_active"),
    undone: (world) => world.changeIdentity({ status: "active" }),
  },
  "the identity is deleted": {
    change: ({ elsewhere }) =>
      elsewhere().identities.handle(identityId, { type: "DeleteIdentity", mayLoosen: true }, cause),
    end: held("identity_not_active", "failed identity_deleted"),
  },
  "the plan has no mail left": {
    change: fillQuota,
    end: onlyWhenQueued(held("plan_limit_reached")),
    undone: ({ elsewhere }) =>
      elsewhere().workspaces.handle(workspaceId, { type: "SetPlan", betaOverride: true }, cause),
  },
  "the customer has written again": { change: writeAgain, end: unlessJustAsked(() => "stale") },
  "the customer has written again, and the mail is not filed": {
    change: (world) => world.acknowledge(2, [first]),
    end: unlessJustAsked(() => "stale"),
  },
  "replies go to another address": {
    change: (world) => world.changeIdentity({ replyToEmail: "other@agents.localhost" }),
    end: onlyWhenQueued(() => "pending"),
  },
  "the approver is removed": { change: onAnn({ type: "RemoveMember" }), ways: people, end: withdrawn },
  "the approver may only read": {
    change: onAnn({ type: "ChangeRole", role: "auditor" }),
    ways: people,
    end: withdrawn,
  },
  "the approver is disabled by the operator": {
    change: ({ elsewhere }) => elsewhere().users.handle("ann", { type: "DisableUser" }, cause),
    ways: people,
    end: withdrawn,
  },
  "a person has to approve now": { change: requireHuman, ways: ["a key", ...nobody], end: withdrawn },
  "two have to approve now": { change: ofTwo, ways: nobody, end: withdrawn },
  "the rule is gone": { change: (world) => world.deleteRule(ruleOf(world)), ways: ["a rule"], end: withdrawn },
  "the rule approves nothing more": {
    change: (world) => world.changeRule(ruleOf(world), { actions: [] }),
    ways: ["a rule"],
    end: withdrawn,
  },
  "the setting is off": {
    change: (world) => world.changeIdentity({ autoApproveReplies: false }),
    ways: ["a setting"],
    end: withdrawn,
  },
};

/** Makes a world in which drafts are approved in this way. */
export async function worldOf(name: WayName): Promise<StandingWorld> {
  const way: Way = allWays[name];
  const options = { deliveries: 1 };
  const beginning = await beginningOf(`approved by ${name}`, async () => {
    const world = await createStandingWorld(options);
    const registered = { type: "RegisterUser", email: "ann@people.example", name: "Ann" } as const;
    await world.elsewhere().users.handle("ann", registered, cause);
    await way.setUp?.(world);
    await world.contact("trusted");
    await world.authenticate();
    return world;
  });
  return openStandingWorld(options, beginning);
}

/** Submits a draft and brings it to just before this moment: approved in this way, queued, or being handed over. */
export async function standingAt(world: StandingWorld, name: WayName, moment: SendCheck["moment"]): Promise<string> {
  const way: Way = allWays[name];
  const { processes } = world.node;
  processes.splice(0, processes.length, ...processes.filter(({ name }) => name !== "deliver"));
  const draftId = await world.submit({ autoApproved: way.autoApproved ?? false });
  if (moment === "approved") return draftId;
  await way.approve?.(world, draftId);
  if (moment === "queued") return draftId;
  if (way.sends) await send(world, draftId);
  await world.drain();
  await world.advance(10_000);
  const { attemptId, threadId, version, contentSha256 } = await world.state.draft(draftId);
  if (!moment.endsWith("first byte")) return draftId;
  const mail = {
    provider: "outbox",
    rfcMessageId: "<1@x.example>",
    mimeSha256: "hash",
    instanceId: "test",
    fence: "1",
  };
  const started = { draftId, threadId, version, contentSha256, ...mail };
  await world.elsewhere().deliveries.handle(attemptId as string, { type: "StartDelivery", started }, cause);
  return draftId;
}

/** Submits a draft that is approved and sent in this way, makes the change at this moment, and runs all work. */
export async function changedAt(world: StandingWorld, { way: name, moment }: Cell, change: Do): Promise<string> {
  const way: Way = allWays[name];
  let changing: Promise<unknown> | undefined;
  const once = () => {
    changing ??= change(world);
    return changing;
  };
  if (moment === "started") world.onConnect(once);
  if (moment === "first byte") world.onWrite(once);
  if (moment === "late first byte")
    world.onWrite(() => {
      if (changing === undefined) world.sleepThrough(6_000);
      return once();
    });
  if (moment === "queued again") world.answer(later);
  const { processes } = world.node;
  const all = [...processes];
  const idle = moment === "queued" ? "sendApproved" : moment === "connected" ? "deliver" : "";
  processes.splice(0, processes.length, ...all.filter(({ name }) => name !== idle));
  const draftId = await world.submit({ autoApproved: way.autoApproved ?? false });
  await way.approve?.(world, draftId);
  if (moment === "queued") await once();
  if (way.sends) await refusal(send(world, draftId));
  await world.drain();
  const isRefused = () => world.log.all.some(({ type }) => type === "DeliveryRefused");
  if (!isRefused()) await world.advance(10_000);
  if (moment === "connected" || isRefused()) await once();
  processes.splice(0, processes.length, ...all);
  world.replayAll();
  await world.run();
  return draftId;
}

export const endOf = ({ status, held, failureCode }: Draft): string => {
  if (status === "approved") return `held ${held}`;
  return status === "failed" ? `failed ${failureCode}` : status;
};
