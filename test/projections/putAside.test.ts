import { expect } from "chai";
import { inbound } from "#projections/inbound/projector.ts";
import type { Recorded } from "#streams/event.ts";
import { handOverReason } from "#streams/filing/events.ts";
import { filingDecision } from "#test/support/examples/filingDecision.ts";
import { inboundMessage, mailReceived } from "#test/support/examples/index.ts";
import { makeTables, project, unseenTables } from "#test/support/projecting.ts";

const uuid = (n: number): string => `0193a0aa-0000-7000-8000-${String(n).padStart(12, "0")}`;
const [workspaceId, thread, ours] = [uuid(100), uuid(1), uuid(2)];
const ids = { references: [], identityId: uuid(200), workspaceId, rawSha256: "raw" };
const at = "2026-11-01T12:00:00.000Z";
const ann = { kind: "session", id: "u1", name: "Ann" };

type NewEvent = Pick<Recorded, "stream" | "type" | "data">;

const received = (n: number): NewEvent => ({
  stream: "inbox-i",
  type: "MailReceived",
  data: { ...mailReceived({ ...ids, number: n }), deliveryId: uuid(n) },
});
const decided = (n: number, different = {}): NewEvent => ({
  stream: "filing-i",
  type: "FilingDecided",
  data: filingDecision(n, { deliveryId: uuid(n), messageId: uuid(1_000 + n), threadId: thread, ...different }),
});
const message = (n: number, different = {}): NewEvent => ({
  stream: `thread-${thread}`,
  type: "MessageReceived",
  data: inboundMessage(n, { deliveryId: uuid(n), messageId: uuid(1_000 + n), ...different }),
});
const reaction = (n: number): NewEvent => ({
  stream: `thread-${thread}`,
  type: "ReactionReceived",
  data: {
    deliveryId: uuid(n),
    messageId: ours,
    number: n,
    identityId: uuid(200),
    emoji: "👍",
    from: "a@x.example",
    at,
  },
});
const filedByHand = (n: number): NewEvent => ({
  stream: `thread-${thread}`,
  type: "MessageFiledByHand",
  data: { messageId: uuid(1_000 + n), number: n, identityId: uuid(200), received: { threadId: thread, revision: 1 } },
});

/** Each kind of mail, with what its row says in the end. */
const mails: [NewEvent[], { put_aside: string | null; emoji?: string; by?: string }][] = [
  [[received(11), decided(11), message(11)], { put_aside: null }],
  [[received(12), decided(12, { disposition: "own_copy", messageId: ours })], { put_aside: "own_copy" }],
  [
    [
      ...[received(13), decided(13, { disposition: "own_copy", messageId: ours })],
      ...[decided(13, { byHand: true, kind: "filed_by_hand" }), message(13, { kind: "filed_by_hand" })],
    ],
    { put_aside: "own_copy", by: "Ann" },
  ],
  [
    [received(14), decided(14, { disposition: "reaction", messageId: ours, emoji: "👍" }), reaction(14)],
    { put_aside: "reaction", emoji: "👍" },
  ],
  [
    [
      ...[received(15), decided(15, { disposition: "reaction", messageId: ours, emoji: "👍" }), reaction(15)],
      ...[decided(15, { byHand: true, kind: "filed_by_hand" }), message(15, { kind: "filed_by_hand" })],
    ],
    { put_aside: "reaction", emoji: "👍", by: "Ann" },
  ],
  [
    [received(16), decided(16), message(16, { classification: "auto_reply" }), filedByHand(16)],
    { put_aside: "automatic_reply", by: "Ann" },
  ],
  [[received(17), decided(17), message(17, { classification: "bounce" })], { put_aside: "report" }],
  [
    [
      received(18),
      decided(18, { kind: "colleague", reviewReason: handOverReason }),
      message(18, { kind: "colleague", sentBy: uuid(201) }),
      filedByHand(18),
    ],
    { put_aside: "hand_over", by: "Ann" },
  ],
  [
    [
      ...[received(19), decided(19, { kind: "colleague", reviewReason: "a mail with more than one sender" })],
      message(19, { kind: "colleague", sentBy: uuid(201) }),
    ],
    { put_aside: "colleague" },
  ],
  // A held mail has nothing to show before its release.
  [[received(20), decided(20, { disposition: "held_over_quota" })], { put_aside: null }],
  [
    [
      ...[received(21), decided(21, { disposition: "held_over_quota" }), decided(21)],
      message(21, { classification: "auto_reply" }),
    ],
    { put_aside: "automatic_reply" },
  ],
  [
    [
      received(22),
      decided(22, { disposition: "quarantined" }),
      message(22, { classification: "auto_reply", quarantined: true }),
    ],
    { put_aside: null },
  ],
  [[received(23), decided(23, { disposition: "duplicate", messageId: ours })], { put_aside: null }],
  [[received(24), decided(24, { kind: "altered_copy" }), message(24, { kind: "altered_copy" })], { put_aside: null }],
];

describe("mail put aside in the ledger", () => {
  const unseen = unseenTables();

  const ledger = (size: number) =>
    unseen(async (tx) => {
      await makeTables(inbound, tx);
      const events = mails.flatMap(([all]) => all);
      const log = events.map((event, index) => ({
        ...{ ...event, id: uuid(5_000 + index), revision: index, position: index + 1, schemaVersion: 1 },
        metadata: { workspaceId, actor: ann, correlationId: "test", causationId: "test", at },
      })) as Recorded[];
      for (let from = 0; from < log.length; from += size) await project(inbound, tx, log.slice(from, from + size));
      const { rows } = await tx.query("select put_aside, reaction, filed_by from inbound order by id");
      return rows;
    });

  for (const size of [1, 2, 3, 5, 100])
    it(`each kind of mail is put aside for its reason, and keeps it when it is filed by hand, in batches of ${size}`, async () => {
      const rows = await ledger(size);
      for (const [n, [, { put_aside, emoji, by }]] of mails.entries()) {
        expect(rows[n], `mail ${n}`).to.deep.equal({
          put_aside,
          reaction: emoji === undefined ? null : { emoji, from: "a@x.example" },
          filed_by: by === undefined ? null : { ...ann, at },
        });
      }
    });
});
