import { execFileSync } from "node:child_process";
import { nodeArguments } from "../support/childProcess.ts";
import { approvalLink, type Client, createClient, until } from "../support/client.ts";
import { ask, endOf, submit } from "./conversation.ts";
import { judgeReadModels, judgeSends } from "./evidence.ts";
import { allOf, type Proof, type Report } from "./proof.ts";
import { openSender } from "./sender.ts";
import { openWorld, type Reached, type World } from "./world.ts";

const cap = 50;
const parallel = 200;

export const races: Proof = {
  name: "races",
  title: "approve∥reject, send∥send, edit∥approve link, 200 sends at cap − 5, revoke∥200 requests",
  unit: "rounds of each pair",
  full: 200,
  checked: 8,
  sample: 2,
  async run(size, report) {
    const world = await openWorld({}, { here: size <= races.sample });
    const instance = await world.reach();
    const client = world.client(instance);
    const sender = await openSender(instance.smtpPort);
    const identity = await client.identity();
    const newDraft = async () => submit(client, await ask(world, identity, sender.send));
    const pairs = { approveReject, sendSend, editApproveLink };
    try {
      for (const [name, race] of Object.entries(pairs)) {
        let good = 0;
        for (let round = 0; round < size; round++) {
          if (await race({ world, client, report, draft: await newDraft() })) good += 1;
          report.progress(round + 1, size, name);
        }
        allOf(report, name, { good, of: size });
      }
      const rounds =
        size < 3 ? { rounds: 1, inFlight: 60, ofDrafts: 3 } : { rounds: Math.max(2, Math.round(size / 10)) };
      await revoke({ world, client, newDraft, report, ...rounds, url: instance.url });
      // The suite shows the cap in three places more.
      if (size > 2)
        await sendsAtTheCap({ world, instance, send: sender.send, report, parallel: Math.min(parallel, size * 5) });
      const { left } = await judgeSends(world, report);
      report.figure("left, each looked at in its history", left);
      // Nothing is killed here: a sample leaves that to those where something is.
      if (size > races.sample) report.figure("read model rows equal to a replay", await judgeReadModels(world, report));
    } finally {
      sender.close();
      await world.close();
    }
  },
};

type Draft = { id: string; version: number; status: string };
type Round = { world: World; client: Client; report: Report; draft: Draft };

/** A rejection holds, before an approval or after it; an approval after a rejection is refused. */
async function approveReject({ world, client, report, draft }: Round): Promise<boolean> {
  const [approved, rejected] = await Promise.all([
    client.api(`POST /v1/drafts/${draft.id}/approve`),
    client.api(`POST /v1/drafts/${draft.id}/reject`, { reason: "no" }),
  ]);
  const { status } = await client.ask(`GET /v1/drafts/${draft.id}`);
  const approvals = await count(world, draft.id, ["DraftApproved"]);
  const rejections = await count(world, draft.id, ["DraftRejected"]);
  const asTold = approvals === (approved.status === 200 ? 1 : 0) && [200, 422].includes(approved.status);
  const good = asTold && rejected.status === 200 && status === "rejected" && rejections === 1;
  if (!good) report.violation(`approve∥reject of ${draft.id}: ${approved.status}, ${rejected.status}, ${status}`);
  return good;
}

/** It is queued once and leaves once, whatever both are told. */
async function sendSend({ world, client, report, draft }: Round): Promise<boolean> {
  const answers = await Promise.all([1, 2].map(() => client.api(`POST /v1/drafts/${draft.id}/send`)));
  const statuses = answers.map(({ status }) => status).sort();
  const end = await endOf(client, draft.id);
  const queued = await count(world, draft.id, ["DraftQueued"]);
  const one = statuses.join() === "202,422" && end.status === "sent" && queued === 1;
  if (!one) report.violation(`send∥send of ${draft.id}: ${statuses}, ${end.status}, queued ${queued} times`);
  return one;
}

/** Either the approved version leaves as it was shown, or the edit came first and nothing does. */
async function editApproveLink({ world, client, report, draft }: Round): Promise<boolean> {
  const mail = await until("the approval mail", async () => {
    const { data } = await client.ask(`GET /v1/drafts/${draft.id}/history?limit=100`);
    if (!data.some(({ type }: { type: string }) => type === "ApproversNotified")) return undefined;
    return (
      (await client.outbox()).filter(({ text }) => text.includes(draft.id)).at(-1) ?? (await client.outbox()).at(-1)
    );
  });
  const [edited, pressed] = await Promise.all([
    client.api(`PATCH /v1/drafts/${draft.id}`, { body_text: "Edited." }),
    client.press(approvalLink(mail, "approve"), "approve"),
  ]);
  const approvals = await count(world, draft.id, ["DraftApproved"]);
  if (edited.status === 200) {
    const now = await client.ask(`GET /v1/drafts/${draft.id}`);
    const unsent = now.status === "pending" && approvals === 0 && pressed.status !== 200;
    if (!unsent)
      report.violation(
        `edit∥link of ${draft.id}: edited, pressed ${pressed.status}, ${now.status}, ${approvals} approvals`,
      );
    // A mailbox with more than 30 open requests is asked about several in one mail: none is left open.
    await client.ask(`POST /v1/drafts/${draft.id}/reject`, { reason: "no" });
    return unsent;
  }
  const end = await endOf(client, draft.id);
  const asShown = edited.status === 422 && pressed.status === 200 && end.status === "sent" && approvals === 1;
  if (!asShown)
    report.violation(
      `edit∥link of ${draft.id}: edit ${edited.status}, pressed ${pressed.status}, ${end.status}, ${approvals} approvals`,
    );
  return asShown;
}

/**
 * Five are left under the cap: five of all leave, the others are told 402, and nothing stays reserved. In a workspace of its own, whose
 * lifetime has sent nothing yet; its limits hold once its drafts are made.
 */
async function sendsAtTheCap(race: {
  world: World;
  instance: Reached;
  send: Parameters<typeof ask>[2];
  report: Report;
  parallel: number;
}): Promise<void> {
  const { world, instance, send, report, parallel } = race;
  const made = await workspaceCommand(world, "create", "--name", "Cap", "--plan", "builder_pack", "--beta");
  const { workspace_id: workspaceId, api_key: apiKey } = JSON.parse(made);
  const client = createClient({ ...instance, apiKey });
  await until("the new key", async () => (await client.api("GET /v1/workspaces/me")).status === 200);
  const identity = await client.identity();
  const newDraft = async () => submit(client, await ask(world, identity, send));
  const drafts: Draft[] = [];
  for (let n = 0; n < parallel + cap - 5; n++) {
    drafts.push(await newDraft());
    report.progress(n + 1, parallel + cap - 5, "drafts for the cap");
  }
  await workspaceCommand(world, "set-plan", "--workspace", workspaceId, "--beta", "false");
  for (const draft of drafts.splice(0, cap - 5)) await client.ask(`POST /v1/drafts/${draft.id}/send`);
  const answers = await Promise.all(drafts.map(({ id }) => client.api(`POST /v1/drafts/${id}/send`)));
  const told = (status: number) => answers.filter((answer) => answer.status === status).length;
  allOf(report, `${drafts.length} sends at cap − 5: 202`, { good: told(202), of: 5 });
  allOf(report, `${drafts.length} sends at cap − 5: 402 plan_limit_reached`, {
    good: told(402),
    of: drafts.length - 5,
  });
  const [quota] = await world.rows<{ held: string }>(
    `select count(*) as held from (
       select data ->> 'reservationId' as id from es.events where stream_id = $1 group by 1
       having bool_or(type = 'QuotaReserved') and not bool_or(type = 'QuotaReleased')) reserved`,
    [`quota-${workspaceId}-lifetime`],
  );
  allOf(report, "reservations held at the cap", { good: Number(quota?.held), of: cap });
}

async function workspaceCommand(world: World, ...words: string[]): Promise<string> {
  const program = await nodeArguments("scripts/workspace.ts");
  return execFileSync(process.execPath, [...program, ...words], {
    env: { ...process.env, ...world.env },
    encoding: "utf8",
  });
}

/** Once DELETE has answered, every later answer is 401 and nothing more is appended under the key. */
async function revoke(race: {
  world: World;
  client: Client;
  newDraft: () => Promise<Draft>;
  report: Report;
  rounds: number;
  inFlight?: number;
  ofDrafts?: number;
  url: string;
}): Promise<void> {
  const { world, client, newDraft, report, rounds, inFlight = parallel, ofDrafts = 10, url } = race;
  let good = 0;
  for (let round = 0; round < rounds; round++) {
    const drafts: Draft[] = [];
    for (let n = 0; n < ofDrafts; n++) drafts.push(await newDraft());
    const { id, key } = await client.ask("POST /v1/api-keys", { name: `round ${round}` });
    let revokedAt = Number.POSITIVE_INFINITY;
    let late = 0;
    const patch = async (n: number): Promise<void> => {
      const response = await fetch(`${url}/v1/drafts/${drafts[n % drafts.length]?.id}`, {
        method: "PATCH",
        headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
        body: JSON.stringify({ rationale: `${round}.${n}` }),
      });
      await response.arrayBuffer();
      if (performance.now() > revokedAt && response.status !== 401) late += 1;
    };
    const requests = Promise.all(Array.from({ length: inFlight }, (_, n) => patch(n)));
    await new Promise((resolve) => setTimeout(resolve, round * 10));
    await client.ask(`DELETE /v1/api-keys/${id}`);
    revokedAt = performance.now();
    const [before] = await caused(world, id);
    await requests;
    const [afterwards] = await caused(world, id);
    if (before?.events === afterwards?.events && late === 0) good += 1;
    else
      report.violation(
        `revoked key ${id}: ${late} late answers, ${before?.events} events at the answer, ${afterwards?.events} later`,
      );
    report.progress(round + 1, rounds, "revoke∥200 requests");
  }
  allOf(report, "revoke∥200 requests in flight", { good, of: rounds });
}

const caused = (world: World, keyId: string) =>
  world.rows<{ events: string }>("select count(*) as events from es.events where metadata -> 'actor' ->> 'id' = $1", [
    keyId,
  ]);

async function count(world: World, draftId: string, types: string[]): Promise<number> {
  const [row] = await world.rows<{ n: string }>(
    "select count(*) as n from es.events where stream_id = $1 and type = any($2)",
    [`draft-${draftId}`, types],
  );
  return Number(row?.n);
}
