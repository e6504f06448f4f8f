import { randomUUID } from "node:crypto";
import { expect } from "chai";
import fc from "fast-check";
import { messageById, positionOfMessage } from "#projections/messages/queries.ts";
import {
  findAuthentication,
  MailNotFound,
  mailAnsweredBy,
  readFiledMail,
  textOfMail,
} from "#src/commands/threads/answeredMail.ts";
import type { Authentication } from "#streams/thread/events.ts";
import { claim, proof, useRules } from "#test/processes/rulesWorld.ts";
import { sized } from "#test/support/full.ts";
import { mail } from "#test/support/inProcess.ts";

/** An inbound mail: the senders it names, the earlier mails it answers (two of them merge threads), and the proof of its sender. */
type Mail = { from: string; fields: string[]; answers: number[]; said: Authentication; large: boolean };

const mails: fc.Arbitrary<Mail[]> = fc.array(
  fc.record({
    from: fc.constantFrom("ann@customer.example", "eve@evil.example", "list@lists.example"),
    fields: fc.subarray([
      "Cc: Carl <carl@customer.example>, dora@customer.example",
      "Reply-To: sales@customer.example",
      "List-Id: <all.lists.example>",
      "Auto-Submitted: auto-replied",
    ]),
    answers: fc.subarray([0, 1, 2, 3, 4], { maxLength: 2 }),
    said: fc.constantFrom(proof, claim, { ...proof, covers: ["cc"] as "cc"[] }),
    large: fc.integer({ min: 0, max: 9 }).map((n) => n === 0),
  }),
  { minLength: 5, maxLength: 5 },
);

const mailOf = (given: Partial<Mail>): Mail => ({
  ...{ from: "ann@customer.example", fields: [], answers: [], said: proof, large: false },
  ...given,
});
/** One mail of each kind, the third of which merges the threads of the first two, because generated mails may lack a kind. */
const each: Mail[] = [
  mailOf({ large: true }),
  mailOf({ from: "eve@evil.example", said: claim }),
  mailOf({ answers: [0, 1] }),
  mailOf({ from: "list@lists.example", fields: ["List-Id: <all.lists.example>"] }),
  mailOf({ fields: ["Auto-Submitted: auto-replied"], answers: [1] }),
];

describe("the mail that an answer belongs to", () => {
  const rules = useRules();
  const seen = { proven: 0, merged: 0, lists: 0 };

  it("the log gives the same answered mail as caught-up read models, wherever its thread was merged to", async () => {
    const { service } = rules;
    await fc.assert(
      fc.asyncProperty(mails, async (coming) => {
        const world = await rules.world();
        const ids: string[] = [];
        for (const { from, fields, answers, said, large } of coming) {
          rules.say(said);
          const id = `${randomUUID()}@customer.example`;
          const references = answers.filter((nth) => nth < ids.length).map((nth) => `<${ids[nth]}>`);
          const named = references.length === 0 ? [] : [`References: ${references.join(" ")}`];
          const raw = mail({
            ...{ id, to: world.identity.address, from: [from, ...fields, ...named].join("\r\n") },
            text: large ? "much ".repeat(120_000) : "Where is it?",
          });
          await service.deliver(world.identity.address, raw);
          ids.push(id);
        }
        await world.judged();
        await service.caughtUp();
        const { rows } = await service.database.owner.query<{ id: string }>(
          "select id from read.messages where workspace_id = $1",
          [world.id],
        );
        expect(rows).to.have.length(coming.length);
        for (const { id: messageId } of rows) await isAsShown({ workspaceId: world.id, messageId });
      }),
      { numRuns: sized(3, 40), examples: [[each]] },
    );
    for (const [what, times] of Object.entries(seen)) expect(times, what).to.be.above(0);
  });

  async function isAsShown({ workspaceId, messageId }: { workspaceId: string; messageId: string }): Promise<void> {
    const { deps } = rules.service;
    const row = (await messageById(deps.reads, workspaceId, messageId))!;
    const place = (await positionOfMessage(deps.reads, workspaceId, messageId))!;
    const found = (await readFiledMail(deps, place, { workspaceId, messageId }))!;
    expect({
      ...{ identity_id: found.identityId, filing_number: found.number, classification: found.classification },
      ...{ from_email: found.from?.address ?? "", to_emails: found.to, cc_emails: found.cc, reply_to: found.replyTo },
      ...{ subject: found.subject, from_blocked_contact: found.fromBlockedContact ?? false },
      ...{ rfc_message_id: found.rfcMessageId, reference_ids: found.references },
      authentication: (await findAuthentication(deps, found)).said?.data.authentication ?? null,
    }).to.deep.equal({
      ...{ identity_id: row.identity_id, filing_number: row.filing_number, classification: row.classification },
      ...{ from_email: row.from_email, to_emails: row.to_emails, cc_emails: row.cc_emails, reply_to: row.reply_to },
      ...{ subject: row.subject, from_blocked_contact: row.from_blocked_contact },
      ...{ rfc_message_id: row.rfc_message_id, reference_ids: row.reference_ids },
      authentication: row.authentication,
    });
    const body = { text: row.body_text, html: null, extracted: "" };
    expect(await textOfMail(deps, found)).to.equal(await textOfMail(deps, { body, bodyBlob: row.body_blob }));
    expect(await mailAnsweredBy(deps, { workspaceId, basedOnMessageId: messageId, answers: place })).to.deep.equal(
      found,
    );
    if (row.authentication?.aligned) seen.proven += 1;
    if (row.thread_id !== place.threadId) seen.merged += 1;
    if (row.classification === "list") seen.lists += 1;
  }

  it("a mail is not found under another id, in another workspace, or at another event", async () => {
    const { deps } = rules.service;
    const world = await rules.world();
    const { message } = await world.mail();
    const place = (await positionOfMessage(deps.reads, world.id, message.id))!;
    const named = { workspaceId: world.id, messageId: message.id };
    expect((await readFiledMail(deps, place, named))?.messageId).to.equal(message.id);
    expect(await readFiledMail(deps, place, { ...named, messageId: randomUUID() })).to.equal(undefined);
    expect(await readFiledMail(deps, place, { ...named, workspaceId: randomUUID() })).to.equal(undefined);
    expect(await readFiledMail(deps, { ...place, revision: place.revision - 1 }, named)).to.equal(undefined);
    const draft = { workspaceId: world.id, basedOnMessageId: message.id };
    for (const answers of [{ ...place, revision: 0 }, null]) {
      const refusal = await mailAnsweredBy(deps, { ...draft, answers }).catch((error) => error);
      expect(refusal).to.be.instanceOf(MailNotFound);
    }
  });
});
