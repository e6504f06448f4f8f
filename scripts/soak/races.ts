import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { type Mailer, openMailer } from "#test/mail/in/smtpSender.ts";
import { type Installation, openInstallation } from "#test/support/installation.ts";
import { textOf } from "#test/support/smtpRelay.ts";
import {
  approver,
  askedByMail,
  askQuestion,
  endOf,
  openTenant,
  type Question,
  sendMail,
  submit,
  type Tenant,
} from "#test/support/tenant.ts";
import { approvalLink, type Client, until } from "../support/client.ts";
import { createRandom, type Random } from "../support/random.ts";
import { judgeReadModels, judgeSends } from "./evidence.ts";
import { allOf, type Proof } from "./proof.ts";

type Race = {
  installation: Installation;
  tenant: Tenant;
  client: Client;
  mailer: Mailer;
  random: Random;
  question: Question;
  draft: { id: string; body_text: string };
};

/** Pairs of concurrent requests about a new draft. Each returns the outcome if it must never happen. */
const pairs: Record<string, (race: Race) => Promise<string | undefined>> = {
  /** A rejection is valid, before or after an approval; an approval after a rejection is refused. */
  async "approve∥reject"({ installation, client, draft }) {
    const [approved, rejected] = await Promise.all([
      client.api(`POST /v1/drafts/${draft.id}/approve`),
      client.api(`POST /v1/drafts/${draft.id}/reject`, { reason: "no" }),
    ]);
    const { status } = await client.ask(`GET /v1/drafts/${draft.id}`);
    const approvals = await count(installation, draft.id, "DraftApproved");
    const rejections = await count(installation, draft.id, "DraftRejected");
    const asTold = approvals === (approved.status === 200 ? 1 : 0) && [200, 422].includes(approved.status);
    if (asTold && rejected.status === 200 && status === "rejected" && rejections === 1) return undefined;
    return `${approved.status}, ${rejected.status}, ${approvals} approvals, ${rejections} rejections, ${status}`;
  },

  /** The draft is queued once. */
  async "send∥send"({ installation, client, draft }) {
    const answers = await Promise.all([1, 2].map(() => client.api(`POST /v1/drafts/${draft.id}/send`)));
    const statuses = answers.map(({ status }) => status).sort();
    const end = await endOf(client, draft.id);
    const queued = await count(installation, draft.id, "DraftQueued");
    if (statuses.join() === "202,422" && end.status === "sent" && queued === 1) return undefined;
    return `${statuses}, ${end.status}, queued ${queued} times`;
  },

  /** Either the approved version is sent as shown, or the edit came first and nothing is sent. */
  async "edit∥approve link"({ installation, client, draft }) {
    const asking = await until("the approval mail", async () =>
      installation.relay.mails.find((mail) => mail.to.includes(approver) && textOf(mail).includes(draft.body_text)),
    );
    const [edited, pressed] = await Promise.all([
      client.api(`PATCH /v1/drafts/${draft.id}`, { body_text: "Edited." }),
      client.press(approvalLink({ text: textOf(asking) }, "approve"), "approve"),
    ]);
    const approvals = await count(installation, draft.id, "DraftApproved");
    if (edited.status === 200) {
      const { status } = await client.ask(`GET /v1/drafts/${draft.id}`);
      // Approvers with many open requests get one mail about all of them, so none is left open.
      await client.ask(`POST /v1/drafts/${draft.id}/reject`, { reason: "no" });
      if (status === "pending" && approvals === 0 && pressed.status !== 200) return undefined;
      return `edited, pressed ${pressed.status}, ${status}, ${approvals} approvals`;
    }
    const end = await endOf(client, draft.id);
    if (edited.status === 422 && pressed.status === 200 && end.status === "sent" && approvals === 1) return undefined;
    return `edited ${edited.status}, pressed ${pressed.status}, ${end.status}, ${approvals} approvals`;
  },

  /** A reply that was acknowledged before the send is never overlooked. */
  async "reply then send"({ tenant, client, mailer, question, draft }) {
    await sendMail(tenant, { mailer, inReplyTo: [question.id] });
    const { status, body } = await client.api(`POST /v1/drafts/${draft.id}/send`);
    if (status === 409 && body.error === "stale_draft" && body.new_message_id) return undefined;
    return `sent after a reply was acknowledged: ${status} ${JSON.stringify(body)}`;
  },

  /** Both begin a little apart, so that every interleaving occurs. A queued draft is checked again right before its hand-over. */
  async "reply∥send"({ tenant, client, mailer, random, question, draft }) {
    const [replyMs, sendMs] = [random.below(6), random.below(6)];
    const [answer] = await Promise.all([
      sleep(sendMs).then(() => client.api(`POST /v1/drafts/${draft.id}/send`)),
      sleep(replyMs).then(() => sendMail(tenant, { mailer, inReplyTo: [question.id] })),
    ]);
    const allowed = { 202: ["sent", "stale"], 409: ["stale"] }[answer.status] ?? [];
    const end = await endOf(client, draft.id);
    return allowed.includes(end.status) ? undefined : `answered ${answer.status}, ended ${end.status}`;
  },
};

export const races: Proof = {
  name: "races",
  title: `${Object.keys(pairs).join(", ")}: one of the two is valid, and nothing is sent that must not be`,
  unit: "rounds of each pair",
  full: 200,
  checked: 10,
  sample: 2,
  async run({ size, seed, report }) {
    const installation = await openInstallation({ here: size <= races.sample });
    const judged = { installation, report };
    const random = createRandom(seed);
    try {
      const instance = await installation.run();
      const tenant = await openTenant(installation, instance, askedByMail);
      const client = tenant.at(instance);
      const mailer = await openMailer(instance.smtpPort);
      for (const [name, race] of Object.entries(pairs)) {
        let good = 0;
        for (let round = 0; round < size; round++) {
          const question = await askQuestion(installation, tenant, { mailer });
          const draft = await submit(client, question, `Here it is: ${randomUUID()}`);
          const fault = await race({ installation, tenant, client, mailer, random, question, draft });
          if (fault === undefined) good += 1;
          else report.violation(`${name} of draft ${draft.id}: ${fault}`);
          report.progress(round + 1, size, name);
        }
        allOf(report, name, { good, of: size });
      }
      mailer.close();
      report.figure("handed over, each looked at in its history", await judgeSends(judged));
      // No instance is killed here: in a sample, the proofs that kill instances compare the read models.
      if (size > races.sample) await judgeReadModels(judged);
    } finally {
      await installation.close();
    }
  },
};

async function count(installation: Installation, draftId: string, type: string): Promise<number> {
  const sql = "select count(*)::int as n from es.events where stream_id = $1 and type = $2";
  return (await installation.rows<{ n: number }>(sql, [`draft-${draftId}`, type]))[0]!.n;
}
