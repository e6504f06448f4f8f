import { randomUUID } from "node:crypto";
import { ask, type Conversation, endOf, filed, type Identity, mailOf, submit } from "./conversation.ts";
import { judgeInbound, judgeReadModels, judgeSends } from "./evidence.ts";
import { allOf, type Proof } from "./proof.ts";
import { openSender, type Sender } from "./sender.ts";
import { openWorld } from "./world.ts";

export const stale: Proof = {
  name: "stale",
  title: "send right after the 250 of a reply; send and reply at the same moment",
  unit: "rounds of each",
  full: 1000,
  checked: 25,
  sample: 5,
  async run(size, report) {
    const world = await openWorld({}, { here: size <= stale.sample });
    const instance = await world.reach();
    const client = world.client(instance);
    const acknowledged: string[] = [];
    let identity: Identity = await client.identity();
    const sender: Sender = await openSender(instance.smtpPort);

    async function reply(conversation: Conversation): Promise<number> {
      const id = `${randomUUID()}@soak.example`;
      const { email_address } = conversation.identity;
      const told = await sender.send(
        mailOf({ id, to: email_address, inReplyTo: conversation.rfcMessageId }),
        email_address,
      );
      if (!told.startsWith("250")) throw new Error(`the reply was refused: ${told}`);
      acknowledged.push(`<${id}>`);
      return performance.now();
    }
    const newDraft = async () => {
      const conversation = await ask(world, identity, sender.send);
      acknowledged.push(conversation.rfcMessageId);
      return { conversation, draft: await submit(client, conversation) };
    };

    try {
      const distances = size < allDistances.length ? sampledDistances : allDistances;
      let refused = 0;
      for (let round = 0; round < size; round++) {
        const { conversation, draft } = await newDraft();
        await reply(conversation);
        const { status, body } = await client.api(`POST /v1/drafts/${draft.id}/send`);
        if (status === 409 && body.error === "stale_draft" && body.new_message_id) refused += 1;
        else
          report.violation(`sent after an acknowledged reply: ${draft.id} answered ${status} ${JSON.stringify(body)}`);
        report.progress(round + 1, size, "send after the reply's 250");
      }
      allOf(report, "send after the reply's 250: 409 stale_draft", { good: refused, of: size });

      identity = await client.identity();
      const ends = { sent: 0, stale: 0, other: 0 };
      for (let round = 0; round < size; round++) {
        const { conversation, draft } = await newDraft();
        // A little apart, this way and that, so that every interleaving has its turn.
        const apart = distances[round % distances.length]!;
        const [, answer] = await Promise.all([
          after(apart, () => reply(conversation)),
          after(-apart, () => client.api(`POST /v1/drafts/${draft.id}/send`)),
        ]);
        // What was queued is judged once more right before its hand-over: the reply may have come in between.
        const expected = { 202: ["sent", "stale"], 409: ["stale"] }[answer.status] ?? [];
        const end = await endOf(client, draft.id);
        if (!expected.includes(end.status))
          report.violation(`draft ${draft.id} was answered ${answer.status} and ended ${end.status}`);
        ends[end.status === "sent" || end.status === "stale" ? end.status : "other"] += 1;
        report.progress(round + 1, size, "send and reply at the same moment");
      }
      report.figure("send and reply at the same moment", `${ends.sent} sent, ${ends.stale} stale, ${ends.other} other`);
      await filed(world, identity, acknowledged.at(-1) as string);
      const { left, acknowledgedBeforeClaim } = await judgeSends(world, report);
      report.figure("left, each looked at in its history", left);
      report.figure("left with a reply acknowledged before the claim", acknowledgedBeforeClaim);
      if (acknowledgedBeforeClaim > 0)
        report.violation(`${acknowledgedBeforeClaim} left although a reply was acknowledged before their claim`);
      if (left !== ends.sent) report.violation(`${left} left, ${ends.sent} are sent`);
      allOf(report, "acknowledged and filed", {
        good: await judgeInbound(world, acknowledged, report),
        of: acknowledged.length,
      });
      if (size >= this.checked)
        report.figure("read model rows equal to a replay", await judgeReadModels(world, report));
    } finally {
      sender.close();
      await world.close();
    }
  },
};

/** How far apart the two are, in ms: what is negative lets the send begin. */
const allDistances = [-5, -4, -3, -2, -1, 0, 1, 2, 3, 4, 5];
const sampledDistances = [-5, -1, 0, 1, 5];

const after = async <T>(ms: number, work: () => Promise<T>): Promise<T> => {
  if (ms > 0) await new Promise((resolve) => setTimeout(resolve, ms));
  return work();
};
