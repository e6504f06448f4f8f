import { expect } from "chai";
import type { ChatPerson } from "#src/channels/approvalDecisions.ts";
import { approvalDecisions } from "#src/commands/approvals/approvalLinks.ts";
import { pauseInstallation } from "#src/commands/installation.ts";
import { removeMember } from "#src/commands/members/members.ts";
import type { RouteCall } from "#src/http/framework/inProcess.ts";
import type { SessionPrincipal } from "#src/http/framework/principal.ts";
import type { RouteLine } from "#src/http/framework/route.ts";
import { askingAs, personOf } from "#test/attacks/console/askAs.ts";
import { operator } from "#test/support/cause.ts";
import { chatDouble } from "#test/support/chatDouble.ts";
import { EventStoreDbStandIn } from "#test/support/eventStoreDbStandIn/standIn.ts";
import { describeInFull, inFull } from "#test/support/full.ts";
import { type Identity, type InProcess, startInProcess, until } from "#test/support/inProcess.ts";
import { type SmtpRelay, startSmtpRelay } from "#test/support/smtpRelay.ts";
import type { StoryDraft } from "#test/support/story/draft.ts";
import { openTenant, type StoryMail, type StoryTenant } from "#test/support/story/story.ts";

const channel = { type: "telegram" as const, config: { bot_token: `123:${"a".repeat(35)}`, chat_id: "-100" } };
const ada: ChatPerson = { kind: "telegram", id: "7", name: "Ada" };

/** A workspace with two members who may approve, and the drafts in it. */
type Place = { workspace: StoryTenant; people: SessionPrincipal[] };
type Way = "a key" | "a setting" | "a link" | "a chat" | "a person" | "two people";
type Sent = { way: Way; identity: Identity; mail: StoryMail; draft: StoryDraft; draftId: string };

/** A change in a workspace, whose approvals it concerns, and how their drafts end: before they are queued, and before a retry. */
type Change = {
  what: string;
  happen(place: Place, drafts: readonly Sent[]): Promise<unknown>;
  ways: readonly Way[];
  queued: string;
  sending: string;
};

const everybody: readonly Way[] = ["a key", "a setting", "a link", "a chat", "a person", "two people"];
const identities =
  (settings: object) =>
  async ({ workspace }: Place, drafts: readonly Sent[]) => {
    for (const { identity } of drafts) {
      const { status, text } = await workspace.ask(`PATCH /v1/identities/${identity.id}`, { json: settings });
      expect(status, text).to.equal(200);
    }
  };

const changes: readonly Change[] = [
  {
    what: "the member who approved is removed",
    happen: ({ workspace, people }) => {
      const memberId = people[0]!.memberId;
      return removeMember(service.deps, { workspaceId: workspace.id, memberId }, operator(workspace.id));
    },
    ways: ["a person", "two people"],
    queued: "pending",
    sending: "failed approval_withdrawn",
  },
  {
    what: "the account of who approved is disabled",
    happen: ({ workspace, people }) =>
      service.deps.users.handle(people[0]!.user.id, { type: "DisableUser" }, operator(workspace.id)),
    ways: ["a person", "two people"],
    queued: "pending",
    sending: "failed approval_withdrawn",
  },
  {
    what: "a person has to approve by now",
    happen: ({ workspace }) => workspace.ask("PATCH /v1/workspaces/me", { json: { require_human_approval: true } }),
    ways: ["a key", "a setting"],
    queued: "pending",
    sending: "failed approval_withdrawn",
  },
  {
    what: "the setting is off",
    happen: identities({ auto_approve_replies: false }),
    ways: ["a setting"],
    queued: "pending",
    sending: "failed approval_withdrawn",
  },
  {
    what: "the identity is disabled",
    happen: identities({ status: "disabled" }),
    ways: everybody,
    queued: "approved identity_not_active",
    sending: "sending",
  },
  {
    what: "the customer has written again",
    happen: ({ workspace }, drafts) =>
      Promise.all(drafts.map(({ identity, mail }) => workspace.mail({ to: identity, inReplyTo: mail }))),
    ways: everybody,
    queued: "stale",
    sending: "stale",
  },
];

/** Changes that are tried over HTTP in a full run alone; in memory they are tried at every moment. */
const rarer: readonly Change[] = [
  {
    what: "the member who approved may only read",
    happen: ({ workspace, people }) => {
      const command = { type: "ChangeRole", memberId: people[0]!.memberId, role: "auditor", by: "operator" } as const;
      return service.deps.members.handle(workspace.id, command, operator(workspace.id));
    },
    ways: ["a person", "two people"],
    queued: "pending",
    sending: "failed approval_withdrawn",
  },
  {
    what: "two have to approve by now",
    happen: identities({ approvals_required: 2 }),
    ways: ["a setting"],
    queued: "pending",
    sending: "failed approval_withdrawn",
  },
  {
    what: "the identity is deleted",
    happen: ({ workspace }, drafts) =>
      Promise.all(drafts.map(({ identity }) => workspace.ask(`DELETE /v1/identities/${identity.id}`))),
    ways: everybody,
    queued: "approved identity_not_active",
    sending: "failed identity_deleted",
  },
  {
    what: "the operator has paused everything",
    happen: () => pauseInstallation(service.deps, null, operator(null)),
    ways: everybody,
    queued: "approved sending_paused",
    sending: "sending",
  },
];

const telegram = chatDouble("telegram");
let service: InProcess;
let relay: SmtpRelay;
let routes: ReturnType<typeof askingAs>;

async function place(): Promise<Place> {
  const workspace = await openTenant(service);
  const people: SessionPrincipal[] = [];
  for (const role of ["approver", "approver", "owner"] as const) {
    const { user: one, ...person } = personOf(workspace.id, role);
    const user = { ...one, email: `${one.id}@people.example` };
    const join = { type: "JoinMember", memberId: person.memberId, userId: user.id, email: user.email, role } as const;
    const registered = { type: "RegisterUser", email: user.email, name: user.name } as const;
    await service.deps.users.handle(user.id, registered, operator(workspace.id));
    await service.deps.members.handle(workspace.id, join, operator(workspace.id));
    people.push({ ...person, user });
  }
  const { revision } = await service.deps.members.load(workspace.id);
  const guard = { stream: `member-${workspace.id}`, revision };
  return { workspace, people: people.map((person) => ({ ...person, guard })) };
}

/** A draft that was approved in this way, with the intent to send it; a key's is only approved. */
async function approved({ workspace, people }: Place, way: Way): Promise<Sent> {
  const identity = await workspace.newIdentity({
    approvalChannel: channel,
    autoApproveReplies: way === "a setting",
    approvalsRequired: way === "two people" ? 2 : 1,
  });
  const mail = await workspace.mail({ to: identity });
  const draft = await workspace.draft(mail);
  const draftId = draft.id;
  if (way === "a key") await draft.approve();
  // Waits until the approvers are asked: otherwise a person could approve before, and the request after a lapse would be the first.
  if (way !== "a key" && way !== "a setting") await until(async () => telegram.askedAbout(draftId).length > 0);
  if (way === "a link" || way === "a chat") {
    await service.caughtUp();
    const { tokens } = telegram.askedAbout(draftId)[0]!;
    const nobody = { reason: undefined, ip: undefined, userAgent: undefined, requestId: undefined };
    const by = way === "a chat" ? ada : undefined;
    await approvalDecisions(service.deps).decide({ token: tokens.approve, decision: "approve", by, ...nobody });
  }
  const count = way === "two people" ? 2 : way === "a person" ? 1 : 0;
  for (const person of people.slice(0, count)) {
    const call: RouteCall = { params: { id: draftId }, ifMatch: 1 };
    const told = await routes.askAs(person, "POST /v1/drafts/:id/approve" as RouteLine, call);
    expect(told.status, JSON.stringify(told.json)).to.equal(200);
  }
  return { way, identity, mail, draft, draftId };
}

const endOf = async ({ draft }: Sent): Promise<string> => {
  const { status, failure_code, held_code } = await draft.read();
  const code = status === "approved" ? held_code : failure_code;
  return code ? `${status} ${code}` : status;
};
const statusOf = async ({ draftId }: Sent) => (await service.deps.drafts.load(draftId)).state.status;
const pause = ({ workspace }: Place, sending_paused: boolean) =>
  workspace.ask("PATCH /v1/workspaces/me", { json: { sending_paused } });
const takenFrom = ({ identity }: Sent) => relay.mails.filter(({ content }) => content.includes(identity.address));

/** Requires that the draft ends so, that the relay took no mail of it, and that its card says why, unless the draft waits. */
async function expectRest(sent: Sent, end: string) {
  const told = `approved by ${sent.way}`;
  const known = sent.way === "a key" && end.startsWith("approved") ? "approved" : end;
  await until(async () => known.split(" ", 1)[0] === (await statusOf(sent)), 20_000).catch(() => undefined);
  if (known.startsWith("approved ")) await until(async () => (await endOf(sent)) === known);
  await service.caughtUp();
  expect(await endOf(sent), told).to.equal(known);
  expect(takenFrom(sent), told).to.deep.equal([]);
  if (end.startsWith("approved") || end === "sending") return;
  if (sent.way === "a key" || sent.way === "a setting") return;
  const { draftId } = sent;
  const says = /Not approved any more|Not sent|Stopped/;
  await until(async () =>
    end === "pending" ? telegram.askedAbout(draftId).length > 1 : says.test(telegram.saidOn(draftId) ?? ""),
  );
}

function cells(openLog: () => Promise<{ url: string } | undefined>): void {
  before(async () => {
    const log = await openLog();
    relay = await startSmtpRelay();
    service = await startInProcess(
      {
        MAIL_PROVIDER: "smtp",
        SMTP_URL: relay.url,
        SMTP_RETRY_SECONDS: "600",
        ...(log && { EVENT_STORE_URL: log.url }),
      },
      { channels: { telegram: telegram.channel } },
    );
    routes = askingAs(service);
  });
  after(async () => {
    await routes.close();
    await service.stop();
    await relay.close();
  });

  for (const change of inFull ? [...changes, ...rarer] : changes)
    it(`an approved draft is not sent once ${change.what}`, async () => {
      const [held, sending] = [await place(), await place()];
      await pause(held, true);
      relay.setFaults({ at: "RCPT", how: "451 4.7.1 later", times: 1_000 });
      const [waiting, later] = await Promise.all(
        [held, sending].map((each) => Promise.all(change.ways.map((way) => approved(each, way)))),
      );
      for (const { way, draft } of later!) if (way === "a key") await draft.ask("POST send");
      service.clock.advance(10_000);
      await until(async () => (await Promise.all(later!.map(statusOf))).every((status) => status === "sending"));
      const deliveries = async ({ draftId }: Sent) =>
        (await service.deps.drafts.load(draftId)).state.attemptId as string;
      await until(async () => {
        const attempts = await Promise.all(later!.map(deliveries));
        const states = await Promise.all(attempts.map((id) => service.deps.deliveries.load(id)));
        return states.every(({ state }) => state.phase === "refused");
      });
      await Promise.all([change.happen(held, waiting!), change.happen(sending, later!)]);
      relay.setFaults();
      await pause(held, false);
      for (const { way, draft } of waiting!) if (way === "a key") await draft.ask("POST send");
      service.clock.advance(700_000);
      for (const sent of waiting!) await expectRest(sent, change.queued);
      for (const sent of later!) await expectRest(sent, change.sending);
    });
}

describe("what was approved while sending was paused, or waits for a relay that said later", () =>
  cells(async () => undefined));

describeInFull("what was approved, with the event log in EventStoreDB (stand-in),", () => {
  const standIn = new EventStoreDbStandIn();
  cells(() => standIn.start());
  after(() => standIn.stop());
});
