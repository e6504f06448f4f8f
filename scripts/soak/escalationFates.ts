import type { Dependencies } from "#src/commands/dependencies.ts";
import type { Cause } from "#src/commands/handle.ts";
import type { Client } from "../support/client.ts";
import type { Report } from "./proof.ts";
import type { World } from "./world.ts";

/** `position`: of its submission. */
type Acting = { draftId: string; position: number; client: Client; deps: Dependencies; cause: Cause };

/** What becomes of a draft that waits for a decision, and whether the second channel has to be asked. */
export type Fate = {
  name: string;
  of: "usual" | "single" | "leaving" | "paused";
  escalates: "once" | "never" | "once or never";
  /** Well before its time. */
  meanwhile?(acting: Acting): Promise<unknown>;
  /** In the moment when its time comes. */
  atItsTime?(acting: Acting): Promise<unknown>;
};

export type Escalated = {
  draftId: string;
  fate: Fate;
  /** These in milliseconds since 1970; null where nothing has to be done in time. */
  dueAt: number;
  settledAt: number | null;
};

const approve = ({ deps, draftId, cause }: Acting) => {
  const decided = { ifVersion: null, contentSha256: null, sendRequested: false, tokenSha256: null } as const;
  return deps.drafts.handle(draftId, { type: "ApproveDraft", ...decided }, cause);
};
const reject = ({ deps, draftId, cause }: Acting) => {
  const decided = { reason: null, ifVersion: null, tokenSha256: null } as const;
  return deps.drafts.handle(draftId, { type: "RejectDraft", ...decided }, cause);
};
const edit = async ({ deps, client, draftId, position }: Acting) => {
  if (!(await deps.projected(position))) throw new Error("the read models did not catch up");
  await client.ask(`PATCH /v1/drafts/${draftId}`, { body_text: "On Friday." });
};

export const fates: readonly Fate[] = [
  { name: "nobody answers", of: "usual", escalates: "once" },
  { name: "approved in time", of: "usual", escalates: "never", meanwhile: approve },
  { name: "nobody answers, and nobody else is to be asked", of: "single", escalates: "never" },
  { name: "rejected in time", of: "usual", escalates: "never", meanwhile: reject },
  { name: "sending is paused", of: "paused", escalates: "once" },
  { name: "edited in time: the hour begins again", of: "usual", escalates: "never", meanwhile: edit },
  { name: "its identity is deleted in time", of: "leaving", escalates: "never" },
  { name: "nobody answers, a second one", of: "usual", escalates: "once" },
  { name: "approved when its time comes", of: "usual", escalates: "once or never", atItsTime: approve },
];

const ends = ["DraftApproved", "DraftRejected", "DraftFailed", "DraftMarkedStale"];

type Stored = { stream: string; type: string; at: string; revision: number };

/** Holds each draft's stream against its fate: escalated so often, and never after its end. */
export async function judgeEscalations(world: World, report: Report, drafts: readonly Escalated[]): Promise<void> {
  const sql = `select stream_id as stream, type, revision::int as revision, metadata ->> 'at' as at from es.events
    where stream_id like 'draft-%' order by stream_id, revision`;
  const streams = new Map<string, Stored[]>();
  for (const event of await world.rows<Stored>(sql)) {
    streams.set(event.stream, [...(streams.get(event.stream) ?? []), event]);
  }
  let late = 0;
  const counts = new Map<string, { drafts: number; escalated: number }>();
  for (const { draftId, fate, dueAt, settledAt } of drafts) {
    const events = streams.get(`draft-${draftId}`) ?? [];
    const escalated = events.filter(({ type }) => type === "DraftEscalated");
    const end = events.find(({ type }) => ends.includes(type) || type === "DraftEdited");
    // On a machine that was too slow what had to come in time came late: then either is right, in its order.
    const isLate = fate.escalates === "never" && settledAt !== null && settledAt >= dueAt;
    if (isLate) late += 1;
    const allowed = { once: [1], never: isLate ? [0, 1] : [0], "once or never": [0, 1] }[fate.escalates];
    const count = counts.get(fate.name) ?? { drafts: 0, escalated: 0 };
    counts.set(fate.name, { drafts: count.drafts + 1, escalated: count.escalated + escalated.length });
    if (!allowed.includes(escalated.length))
      report.violation(`draft ${draftId} (${fate.name}) was escalated ${escalated.length} times`);
    if (end && escalated.some(({ revision }) => revision > end.revision))
      report.violation(`draft ${draftId} (${fate.name}) was escalated after ${end.type}`);
    if (escalated.some(({ at }) => Date.parse(at) < dueAt))
      report.violation(`draft ${draftId} (${fate.name}) was escalated before its time`);
    if ((fate.meanwhile || fate.atItsTime) && !end) report.violation(`draft ${draftId} (${fate.name}) has no end`);
  }
  for (const [name, count] of counts) report.figure(name, `${count.escalated} of ${count.drafts} escalated`);
  report.figure("decided too late by a slow machine, and held to the order alone", late);
  await judgeQuestions(world, report, streams);
}

/** Who is asked in the second place is asked once for each escalation, in one mail. */
async function judgeQuestions(world: World, report: Report, streams: ReadonlyMap<string, Stored[]>): Promise<void> {
  const escalated = [...streams.values()].flat().filter(({ type }) => type === "DraftEscalated").length;
  const asked = await world.rows<{ stream: string; n: number }>(
    `select stream_id as stream, count(*)::int as n from es.events
     where type = 'ApproversAsked' and data -> 'channel' ->> 'slot' = 'secondary' group by 1`,
  );
  for (const { stream, n } of asked) if (n > 1) report.violation(`${stream}: the second channel was asked ${n} times`);
  const [mails = { n: 0, again: 0 }] = await world.rows<{ n: number; again: number }>(
    `select count(distinct message_id)::int as n, (count(*) - count(distinct message_id))::int as again
     from work.outbox where envelope -> 'to' ? 'second@approvers.example'`,
  );
  report.figure("escalations", escalated);
  report.figure(
    "questions to the second channel",
    `${asked.length}, in ${mails.n} mails (${mails.again} handed over again)`,
  );
}
