import { AsyncLocalStorage } from "node:async_hooks";
import { setTimeout as sleep } from "node:timers/promises";
import { submitDraft } from "#src/commands/drafts/submitDraft.ts";
import { createStreamServices } from "#src/commands/handle.ts";
import { composeBeside } from "#test/support/besideService.ts";
import { operator } from "#test/support/cause.ts";
import { until } from "../support/client.ts";
import { ask, type Conversation } from "./conversation.ts";
import { type Escalated, fates, judgeEscalations } from "./escalationFates.ts";
import { inParallel, type Proof } from "./proof.ts";
import { openSender, type Sender } from "./sender.ts";
import { openTenant, type Tenant } from "./tenant.ts";
import { openWorld } from "./world.ts";

const delayMinutes = 60;
const perThread = 10;
/** The time of all comes within so long; before that, each has so long to be submitted and decided. */
const dueWithinMs = 10_000;
const settleMs = 15_000;
const perDraftMs = 150;
const waitMs = 180_000;

/**
 * An hour passes for every draft in the seconds of the proof: it is submitted by a clock an hour ago, through the clock port. What the instances
 * do when the time comes is theirs, and by their own clocks.
 */
export const escalations: Proof = {
  name: "escalations",
  title:
    "drafts that nobody decides about, before two instances, one killed while their time comes: each escalated once, or never",
  unit: "drafts",
  full: 1_000,
  checked: 200,
  sample: 45,
  async run(size, report) {
    const world = await openWorld({ SECRETS_KEYS: `soak:${Buffer.alloc(32, 5).toString("base64")}` });
    const beside = composeBeside({
      ownerUrl: world.env.DATABASE_OWNER_URL as string,
      serviceUrl: world.env.DATABASE_URL as string,
    });
    const given = new AsyncLocalStorage<Date>();
    const clock = { ...beside.deps.clock, now: () => given.getStore() ?? beside.deps.clock.now() };
    const earlier = { ...beside.deps, clock, ...createStreamServices({ ...beside.deps, clock }) };
    let sender: Sender | undefined;
    try {
      const [victim, survivor] = [await world.start(), await world.start()];
      sender = await openSender(survivor.smtpPort);
      const tenants = await openTenants(beside, survivor);
      const threads = new Map<Tenant, Conversation[]>();
      for (const tenant of new Set(Object.values(tenants))) threads.set(tenant, await openThreads(tenant, size));

      const began = Date.now();
      const dueFrom = began + settleMs + size * perDraftMs;
      const drafts: Escalated[] = [];
      const order = Array.from({ length: size }, (_, n) => n).sort(
        (a, b) => leavesFirst(fateOf(a)) - leavesFirst(fateOf(b)),
      );
      let leaving = order.filter((n) => fateOf(n).of === "leaving").length;
      await inParallel(order, 6, async (n) => {
        const fate = fateOf(n);
        const tenant = tenants[fate.of];
        const { client, workspaceId } = tenant;
        const dueAt = dueFrom + Math.round((dueWithinMs * n) / size);
        const conversations = threads.get(tenant)!;
        const request = requestOf(tenant, conversations[n % conversations.length]!);
        const submittedAt = new Date(dueAt - delayMinutes * 60_000);
        const cause = operator(workspaceId);
        const { draftId, position } = await given.run(submittedAt, () => submitDraft(earlier, request, cause));
        const draft: Escalated = { draftId, fate, dueAt, settledAt: null };
        drafts.push(draft);
        await fate.meanwhile?.({ draftId, position, client, deps: beside.deps, cause: operator(workspaceId) });
        if (fate.meanwhile) draft.settledAt = Date.now();
        if (fate.of === "leaving" && --leaving === 0) {
          await client.ask(`DELETE /v1/identities/${tenant.identity.id}`);
          for (const each of drafts) if (each.fate.of === "leaving") each.settledAt = Date.now();
        }
        report.progress(drafts.length, size, "submitted");
      });
      report.figure("submitted and decided before their time, s", ((Date.now() - began) / 1000).toFixed(1));
      if (Date.now() > dueFrom)
        report.figure("note", "the machine was so slow that some were due before they were decided");

      const racing = drafts.map(async ({ draftId, fate, dueAt }, n) => {
        if (!fate.atItsTime) return;
        await sleep(Math.max(0, dueAt + 200 * ((n % 11) - 1) - Date.now()));
        const cause = operator(tenants[fate.of].workspaceId);
        await fate.atItsTime({ draftId, position: 0, client: tenants[fate.of].client, deps: beside.deps, cause });
      });
      const expected = drafts.filter(({ fate }) => fate.escalates === "once").length;
      const happened = async () =>
        (await world.rows<{ n: number }>("select count(*)::int as n from es.events where type = 'DraftEscalated'"))[0]!
          .n;
      // From the time on at which they are due: a quick machine has submitted thousands long before.
      const third = Math.max(0, dueFrom - Date.now()) + waitMs;
      await until("a third of the escalations", async () => (await happened()) >= expected / 3, third);
      await victim.kill("SIGKILL");
      report.figure(
        "escalated when one was killed",
        `${await happened()} of ${expected} that have to be, and some that may`,
      );
      await Promise.all(racing);
      const ids = drafts.filter(({ fate }) => fate.escalates === "once").map(({ draftId }) => `draft-${draftId}`);
      await until("the escalations", async () => (await toldAbout(ids)) >= ids.length, waitMs).catch(() => {});
      // Nothing is left to happen: every timer is gone but those of versions whose hour has only begun.
      await until("the end of the timers", async () => (await timersDue()) === 0, waitMs);
      await judgeEscalations(world, report, drafts);

      async function toldAbout(streams: readonly string[]): Promise<number> {
        const sql = `select count(distinct stream_id)::int as n from es.events
          where type = 'ApproversAsked' and data -> 'channel' ->> 'slot' = 'secondary' and stream_id = any($1)`;
        return (await world.rows<{ n: number }>(sql, [streams]))[0]!.n;
      }
      async function timersDue(): Promise<number> {
        const sql = `select count(*)::int as n from work.items
          where process = 'escalateUnanswered' and timer is not null and due_at < now() + interval '30 minutes'`;
        return (await world.rows<{ n: number }>(sql))[0]!.n;
      }
      async function openThreads(tenant: Tenant, of: number): Promise<Conversation[]> {
        const count = Math.ceil(of / fates.length / perThread) + 1;
        const opened: Conversation[] = [];
        for (let n = 0; n < count; n++) opened.push(await ask(world, tenant.identity, (sender as Sender).send));
        return opened;
      }
    } finally {
      sender?.close();
      await beside.close();
      await world.close();
    }
  },
};

const fateOf = (n: number) => fates[n % fates.length]!;
/** Their identity can be deleted once all of them are there. */
const leavesFirst = ({ of }: { of: string }): number => (of === "leaving" ? 0 : 1);

/** Whose identity it is of: one that is asked for, one without a second channel, one that is deleted meanwhile, one whose workspace is paused. */
async function openTenants(
  beside: ReturnType<typeof composeBeside>,
  instance: Parameters<typeof openTenant>[1],
): Promise<Record<"usual" | "single" | "leaving" | "paused", Tenant>> {
  const asked = (to: string) => ({ type: "email", config: { to } });
  const both = {
    approval_channel: asked("first@approvers.example"),
    secondary_approval_channel: asked("second@approvers.example"),
    escalation_delay_minutes: delayMinutes,
  };
  const open = (name: string, settings: Record<string, unknown> = both): Promise<Tenant> =>
    openTenant(beside, instance, { name, ...settings });
  const paused = await open("Paused");
  await paused.client.ask("PATCH /v1/workspaces/me", { sending_paused: true });
  return {
    usual: await open("Usual"),
    single: await open("Single", { approval_channel: both.approval_channel }),
    leaving: await open("Leaving"),
    paused,
  };
}

const requestOf = ({ workspaceId, identity }: Tenant, { threadId, messageId }: Conversation) => ({
  ...{ workspaceId, threadId, identityId: identity.id, basedOnMessageId: messageId, bodyText: "Tomorrow." },
  ...{ bodyHtml: null, subjectOverride: null, rationale: null, metadata: null },
  ...{ cc: [], bcc: [], attachments: [] },
});
