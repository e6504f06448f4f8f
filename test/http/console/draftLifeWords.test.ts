import { expect } from "chai";
import { parseDocument } from "htmlparser2";
import { applyToDraft, type DraftRow } from "#projections/drafts/queries.ts";
import { type LetterToRead, readableLetter } from "#src/channels/readableLetter.ts";
import { explainDraft } from "#src/commands/drafts/life/explain.ts";
import { foldLife } from "#src/commands/drafts/life/fold.ts";
import type { LifeEvent } from "#src/commands/drafts/life/lifeEvents.ts";
import { toPlainText } from "#src/commands/drafts/life/phrases.ts";
import { html } from "#src/html/html.ts";
import { sanitise } from "#src/html/sanitise.ts";
import { changesView, letterSection } from "#src/http/console/drafts/letterView.ts";
import { draftPage, lifePage } from "#src/http/console/drafts/lifePage.ts";
import { listPage } from "#src/http/console/drafts/listPage.ts";
import { headOf, mimeView } from "#src/http/console/drafts/mimeView.ts";
import { printPage } from "#src/http/console/drafts/printPage.ts";
import { stepPage } from "#src/http/console/drafts/stepPage.ts";
import { stepsOf } from "#src/http/console/drafts/steps.ts";
import { fromWire, lifeOfDraft } from "#src/http/console/drafts/wire.ts";
import { presentDraft } from "#src/http/present/drafts.ts";
import { presentHistoryEntry } from "#src/http/present/histories.ts";
import { unreadableMail } from "#src/mail/in/parsedMail.ts";
import type { DraftEvent } from "#streams/draft/events.ts";
import type { Recorded } from "#streams/event.ts";
import { history } from "#test/support/draftLife.ts";
import { approvedBy, leaves, lives } from "#test/support/draftLives.ts";
import { edited, submitted } from "#test/support/examples/drafts.ts";
import { memoryBlobs } from "#test/support/memoryBlobs.ts";

const draftId = "0199aaaa-0000-7000-8000-000000000001";
const reader = { zone: "UTC", mayDecide: true };
const proof = { is: "unsigned" } as const;
const blobs = memoryBlobs();

const recorded = ({ type, data, at, actor, position }: LifeEvent): Recorded => ({
  ...{ id: `event-${position}`, stream: `draft-${draftId}`, revision: position, position, schemaVersion: 1 },
  ...{ type, data: data as unknown as Record<string, unknown> },
  metadata: { workspaceId: "w", actor, correlationId: "c", causationId: "c", at },
});

const overTheWire = (events: readonly LifeEvent[]): Promise<LifeEvent[]> =>
  Promise.all(
    events.map(async (event) =>
      fromWire(JSON.parse(JSON.stringify(await presentHistoryEntry(blobs, recorded(event))))),
    ),
  );

/** The draft as the read model has it after these events. */
async function wireDraft(events: readonly LifeEvent[]) {
  let row: DraftRow | undefined;
  for (const event of events) {
    if (!/^Delivery|^SendClaim/.test(event.type)) row = applyToDraft(row, recorded(event) as Recorded<DraftEvent>);
  }
  const stale = events.find(({ type }) => type === "DraftMarkedStale");
  const newer = (stale?.data as { newMessageId?: string } | undefined)?.newMessageId ?? null;
  const draft = await presentDraft(blobs, {
    ...(row as DraftRow),
    newer_message_id: newer,
    answered_meanwhile: null,
    judged_warnings: [],
    approvals_required_now: 1,
    assignee: null,
  });
  return JSON.parse(JSON.stringify(draft)) as Awaited<ReturnType<typeof presentDraft>>;
}

const told = (events: readonly LifeEvent[]) => toPlainText(explainDraft(foldLife(events)));

describe("the words of a draft's history", () => {
  it("the changes between two versions say that only line breaks differ, and not if they are not shown in full", () => {
    const same = (text: string) => ({ change: "same", text }) as const;
    const view = (from: string | null, to: string | null) =>
      changesView({ changes: [{ field: "body_text", from, to, lines: [same("a"), same("b")] }], truncated: false }, 1);
    expect(view("a\nb", "a\nb\n").markup).to.include("Only line breaks differ.").and.not.include("…");
    expect(view(null, null).markup).to.include("…").and.not.include("Only line breaks differ.");
  });

  it("the summary is the same from the API's history as from the log", async () => {
    for (const [name, [events, sentence]] of Object.entries(lives)) {
      expect(told(await overTheWire(events)), name).to.equal(sentence);
    }
  });

  it("the summary from the draft alone claims no more than the draft's history does", async () => {
    for (const [name, [events]] of Object.entries(lives)) {
      for (const [index] of events.entries()) {
        const until = events.slice(0, index + 1);
        const phrases = explainDraft(lifeOfDraft(await wireDraft(until)));
        const [here, there] = [toPlainText(phrases), told(until)];
        const about = `${name}, up to ${events[index]!.type}: ${here} / ${there}`;
        for (const phrase of phrases.filter((phrase) => typeof phrase !== "string")) {
          const value = Object.values(phrase)[0] as string;
          // The read model's own words about late evidence.
          if (!value.startsWith("the provider's later word")) expect(JSON.stringify(until), about).to.include(value);
        }
        if (here.startsWith("Not sent")) expect(there, about).to.match(/^Not sent/);
        if (here.startsWith("Sent")) expect(there, about).to.match(/^(Sent|Caught)/);
      }
    }
  });

  it("every event of a draft is a step with the draft's version at that time", () => {
    for (const [name, [events]] of Object.entries(lives)) {
      const steps = stepsOf(events);
      expect(
        steps.map(({ n }) => n),
        name,
      ).to.deep.equal(events.map((_, index) => index + 1));
      for (const { what, version, life } of steps) {
        expect(toPlainText(what).length, name).to.be.above(5);
        expect(version.version, name).to.equal(life.version);
      }
    }
  });

  it("the history page says plainly that hashes differ: of the queued, the handed-over or the approved content", async () => {
    const [sentEvents] = lives["sent by the link of an approval mail"]!;
    const draft = await wireDraft(sentEvents);
    const page = (events: LifeEvent[]) =>
      lifePage(reader, { draft, steps: stepsOf(events), isWhole: true }, { letter: html``, proof }).markup.replace(
        /<[^>]+>/g,
        " ",
      );
    const changed = (type: string) =>
      sentEvents.map((event) =>
        event.type === type ? ({ ...event, data: { ...event.data, contentSha256: "other" } } as LifeEvent) : event,
      );
    for (const type of ["DraftQueued", "DeliveryStarted", "DraftApproved"]) {
      expect(page(changed(type)), type).to.include("No: these hashes are not the same.");
    }
    // In these examples no hash is the content's own.
    expect(page(sentEvents)).to.include("No: these hashes are not the same.");
  });

  it("the view of a sent mail says that the stored bytes are not those that were handed over", () => {
    const parsed = unreadableMail("no");
    const page = mimeView({
      messageId: draftId,
      raw: Buffer.from("Subject: a\r\n\r\nb"),
      parsed,
      asHtml: null,
      recorded: "0".repeat(64),
    });
    expect(page.markup).to.include("These are not the bytes that were handed over.");
  });

  it("the header reader unfolds folded fields and shows a header without a colon", () => {
    expect(headOf(Buffer.from("A: 1\r\n 2\r\nB:3\r\n\r\nC: 4"))).to.deep.equal([
      { name: "A", value: "1 2" },
      { name: "B", value: "3" },
    ]);
    expect(headOf(Buffer.from("no colon"))).to.deep.equal([{ name: "", value: "no colon" }]);
  });

  describe("history pages with hostile words in every field", () => {
    const hostile = [
      "<script>alert(1)</script>",
      `"><img src=x onerror=alert(1)>`,
      "'--></style></title></textarea></iframe><svg/onload=alert(1)>",
      '<a href="javascript:alert(1)">press</a>',
      "&lt;b&gt;&#60;b&#62;<!--",
      "]]><x:y/> \u202e\u0000\u001b[31m\u2066 {{1}}",
    ];
    const mails = history(
      submitted({ rationale: "why" }),
      edited(2, { rationale: "why not" }),
      approvedBy({ kind: "email_link", id: "a@b.example", channel: "email", ip: "192.0.2.1", userAgent: "agent" }),
      ...leaves,
    );
    /** Each event is shown at least once with each kind of actor. */
    const seen = new Set<string>();
    const all = [mails, ...Object.values(lives).map(([events]) => events)].filter((events) => {
      const before = seen.size;
      for (const { type, actor } of events) seen.add(`${type} ${actor.kind} ${actor.channel}`);
      return seen.size > before;
    });

    it("hostile words change no element and no attribute of a draft's history pages", async () => {
      let compared = 0;
      for (const events of all) {
        const plain = await pagesOf(replaced(events, (n) => `word ${n}`));
        const pages = await pagesOf(replaced(events, (n) => `${hostile[n % hostile.length]} ${n}`));
        for (const [index, page] of pages.entries()) {
          expect(skeleton(page).join("\n")).to.equal(skeleton(plain[index]!).join("\n"));
          compared += 1;
        }
      }
      expect(compared).to.be.above(100);
    });

    it("history pages show the HTML of a draft only in sandboxed frames", async () => {
      const body_html = hostile.join("<p>");
      const [first, ...rest] = mails as [Extract<LifeEvent, { type: "DraftSubmitted" }>, ...LifeEvent[]];
      const content = { ...first.data.content!, body_html, signature_html: body_html };
      const pages = await pagesOf([{ ...first, data: { ...first.data, content } }, ...rest]);
      for (const page of pages) {
        const names = new Set(skeleton(page).map((element) => element.split(" ")[0]));
        for (const name of ["script", "img", "svg", "style", "title", "textarea"])
          expect([...names]).not.to.include(name);
        expect(page).not.to.match(/<iframe(?![^>]* sandbox="")/);
      }
    });

    /** Returns all pages about a draft with these events. */
    async function pagesOf(events: readonly LifeEvent[]): Promise<string[]> {
      const draft = { ...(await wireDraft(events)), id: draftId, thread_id: draftId, status: foldLife(events).status };
      const steps = stepsOf(events);
      const walk = { draft, steps, isWhole: true };
      const last = steps.at(-1)!;
      const { content } = last.version;
      const raw = Buffer.from(`Subject: ${content.subject}\r\nX-A: ${content.to[0]}\r\n\r\n${content.body_text}`);
      const attachment = {
        filename: content.subject,
        contentType: content.subject,
        bytes: raw,
        contentId: null,
        inline: false,
      };
      const parsed = {
        ...unreadableMail(""),
        unreadable: null,
        bodyText: content.body_text,
        attachments: [attachment],
      };
      const asHtml = parsed.bodyHtml === null ? null : sanitise(parsed.bodyHtml);
      const read = async (given: LetterToRead) => readableLetter(given);
      const letter = await letterSection(read, last.version);
      const handedOver = { messageId: draftId, raw, parsed, asHtml, recorded: "a" };
      const workspace = { id: draftId, name: content.subject };
      const printed = { workspace, at: "2026-11-21T10:00:00.000Z", by: content.subject, url: "http://x", zone: "UTC" };
      const identities = [{ id: draftId, email_address: content.from.address }];
      const drafts = { data: [draft], total: 1, next_cursor: content.subject, identities };
      const said = content.subject;
      const filter = { status: said, identity_id: said, thread_id: said, warning_kind: said };
      const refused = {
        status: 422,
        code: "invalid_request",
        message: content.subject,
        field: undefined,
        details: {},
        retryAfter: undefined,
      };
      return [
        lifePage(reader, walk, { letter, proof }),
        lifePage(reader, { ...walk, isWhole: false }, { letter, proof }),
        stepPage(reader, walk, { step: last, letter, handedOver }),
        printPage(walk, printed, {
          letter: await letterSection(read, last.version, { frames: false }),
          handedOver,
          proof,
        }),
        draftPage(reader, draft, letter),
        listPage(reader, { drafts, filter, refused }),
      ].map(({ markup }) => markup);
    }
  });
});

/** Fields of an event with the service's own words: all others contain text by others, or ids. */
const ours = [
  "kind",
  "mode",
  "outcome",
  "slot",
  "at",
  "sentAt",
  "sendAfter",
  "expiresAt",
  "voter",
  "voters",
  "withdrawn",
  "warnings",
];

/** The events with every text that others may have written replaced; each place gets its own. */
function replaced(events: readonly LifeEvent[], word: (n: number) => string): LifeEvent[] {
  let n = 0;
  const walk = (value: unknown, name: string, type: string): unknown => {
    if (ours.includes(name)) return value;
    if (name === "because" && ["DraftEdited", "ApprovalLinkClosed"].includes(type)) return value;
    // Keeps the ids that link one event to another, and the kind of a channel, which decides its label.
    if (["notificationId", "type", "provider"].includes(name)) return value;
    if (typeof value === "string") return word(n++);
    if (Array.isArray(value)) return value.map((each) => walk(each, name, type));
    if (typeof value !== "object" || value === null) return value;
    return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, walk(each, key, type)]));
  };
  return events.map((event) => ({
    ...event,
    data: walk(event.data, "", event.type),
    actor: walk(event.actor, "", event.type),
  })) as LifeEvent[];
}

/** The elements of a page in their order, each with the names of its attributes. */
function skeleton(page: string): string[] {
  const found: string[] = [];
  const visit = (node: any): void => {
    if (node.type === "tag" || node.type === "script" || node.type === "style")
      found.push([node.name, ...Object.keys(node.attribs).sort()].join(" "));
    else if (node.type !== "text" && node.type !== "root") found.push(node.type);
    for (const child of node.children ?? []) visit(child);
  };
  visit(parseDocument(page));
  return found;
}
