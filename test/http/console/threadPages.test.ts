import { expect } from "chai";
import { Parser } from "htmlparser2";
import PostalMime from "postal-mime";
import type { Markup } from "#src/html/html.ts";
import { sanitise } from "#src/html/sanitise.ts";
import { pageLinksFrom } from "#src/http/console/framework/pageLinks.ts";
import { threadsPage } from "#src/http/console/threads/listPage.ts";
import { type MessageViewOptions, messageViews } from "#src/http/console/threads/messageView.ts";
import { nothingWritten, type ReplyView } from "#src/http/console/threads/replyForm.ts";
import { sourcePage } from "#src/http/console/threads/sourcePage.ts";
import { type ThreadView, threadPage } from "#src/http/console/threads/threadPage.ts";
import type { ThreadsView } from "#src/http/console/threads/threadsView.ts";
import { timeline } from "#src/http/console/threads/timeline.ts";
import { whyUnanswered } from "#src/http/console/threads/whyUnanswered.ts";
import type { WireMessage } from "#src/http/present/messages.ts";
import { namesOfKind } from "#src/http/present/messageWords.ts";
import { parseMail } from "#src/mail/in/parseMail.ts";
import { faultsOf, markOf, payload } from "#test/attacks/words/hostile.ts";
import { corpus, fixture, fixtureNames, hasCorpus } from "#test/mail/in/mails.ts";
import { sized } from "#test/support/full.ts";
import {
  draftId,
  hostileEverywhere,
  messageIds,
  plainWords,
  threadId,
  type Words,
  wireDraft,
  wireMessage,
  wireThread,
} from "./threadExamples.ts";

const reader = { zone: "Europe/Berlin", formToken: "token", userId: "u1" };
const nowhere = { newest: null, newer: null, older: null };

const listOf = (words: Words, change: Partial<ThreadsView> = {}): ThreadsView => ({
  filters: {},
  identities: [{ id: "i1", display_name: words.name, email_address: words.address }],
  refused: undefined,
  list: {
    threads: [
      {
        thread: wireThread(words, { needs_review: true, priority: "urgent" }),
        line: {
          thread_id: threadId,
          direction: "inbound",
          line: words.text,
          has_attachments: true,
          sender_email: words.address,
          sender_name: words.name,
        },
        identity: { id: "i1", display_name: words.name, email_address: words.address },
      },
    ],
    total: 1,
    isCapped: false,
    ways: nowhere,
  },
  path: "/threads",
  maySeeIdentities: true,
  ...change,
});

const replyTo = (words: Words, change: Partial<ReplyView> = {}): ReplyView => ({
  threadId,
  preview: {
    messageId: messageIds[0],
    from: { name: words.name, address: "support@agents.example" },
    to: [words.address],
    leftOut: [],
    everybody: [words.address],
  },
  isHeld: false,
  canSend: "yes",
  written: nothingWritten,
  isOvertaken: false,
  refused: undefined,
  once: "once",
  ...change,
});

const newest: MessageViewOptions = { open: new Set([messageIds[2]]), html: null, whole: null };

/** A question, our answer, the next question, a rejected draft and a held mark. */
function threadOf(
  words: Words,
  { wishes = newest, ...change }: Partial<ThreadView> & { wishes?: MessageViewOptions } = {},
): ThreadView {
  const messages = messageViews(
    [
      wireMessage(words, { created_at: "2026-11-20T08:00:00.000Z" }),
      wireMessage(words, {
        id: messageIds[1],
        direction: "outbound",
        classification: null,
        authentication: null,
        delivery_status: "delivered",
        recipients: [
          {
            address: words.address,
            status: "bounced",
            code: words.name,
            text: words.text,
            at: "2026-11-20T09:01:00.000Z",
          },
        ],
        reactions: [{ emoji: words.name, from: words.address, at: "2026-11-20T09:02:00.000Z" }],
        draft_id: draftId,
        in_reply_to: "<one@customer.example>",
        body_text: `Here it is.\n\n> ${words.text.split("\n").join("\n> ")}`,
        created_at: "2026-11-20T09:00:00.000Z",
      }),
      wireMessage(words, { id: messageIds[2], authentication: null, created_at: "2026-11-20T10:00:00.000Z" }),
    ],
    wishes,
  );
  const drafts = [
    wireDraft(words, {
      status: "rejected",
      reason: words.text,
      decided_by: { decision: "reject", kind: "session", id: "u1", name: words.name, version: 1, content_sha256: "" },
      created_at: "2026-11-20T10:05:00.000Z",
    }),
  ];
  const held = [
    {
      id: "00000000-0000-7000-8000-000000000099",
      filing_number: 9,
      from_email: words.address,
      from_name: words.name,
      received_at: new Date("2026-11-20T11:00:00.000Z"),
    },
  ];
  return {
    thread: wireThread(words),
    identity: { id: "i1", display_name: words.name, email_address: words.address, status: "active" },
    why: whyUnanswered({
      identityId: "i1",
      identityStatus: "active",
      newestWord: {
        messageId: messageIds[2],
        at: "2026-11-20T10:00:00.000Z",
        kind: "customer",
        isBounce: false,
        isHandedOver: false,
        fromBlockedContact: false,
        held: null,
      },
      answeredAt: "2026-11-20T09:00:00.000Z",
      drafts,
    }),
    entries: timeline({ messages, drafts, held }, { from: null, until: null }),
    ways: nowhere,
    hasMoreDrafts: false,
    neighbours: { newer: null, older: "00000000-0000-7000-8000-000000000031" },
    reply: replyTo(words, {
      written: { body_text: words.text, reply_all: true, cc: words.address, bcc: words.address },
    }),
    mayChange: true,
    refused: undefined,
    path: `/threads/${threadId}`,
    addressFor: (wish, id) => `/threads/${threadId}?${wish}=${id}#message-${id}`,
    ...change,
  };
}

/** Elements that depend on the text: a warning, or a folded part. */
const dependOnWords = ["p", "details", "summary", "div"];

/** Elements in their order. */
function elementsOf(page: string): string[] {
  const found: string[] = [];
  const parser = new Parser({ onopentagname: (name) => void found.push(name) });
  parser.end(page);
  return found.filter((name) => !dependOnWords.includes(name));
}

const wordsOf = (page: Markup): string =>
  page.markup
    .replace(/<[^>]+>/g, " ")
    .replace(/\s+/g, " ")
    .trim();

/** Expects the same elements as for plain text: hostile text adds no element. */
function expectOnlyOurs(pageOf: (words: Words) => Markup, words: Words): void {
  const page = pageOf(words).markup;
  expect(faultsOf({ kind: "html", content: page })).to.deep.equal([]);
  const plain = { ...plainWords, ...sameShape(words) };
  expect(elementsOf(withoutFrames(page))).to.deep.equal(elementsOf(withoutFrames(pageOf(plain).markup)));
}

/** Replaces absent texts, because the page omits the part of a text that a mail does not have. */
const sameShape = (words: Words): Partial<Words> =>
  Object.fromEntries(Object.entries(words).filter(([, value]) => value.trim() === ""));

const withoutFrames = (page: string): string => page.replace(/<iframe[^>]*>/g, "<iframe>");

describe("pages of conversations", () => {
  describe("the list of conversations", () => {
    it("the list shows a conversation's sender, subject, newest words and status, and links to it", () => {
      const page = threadsPage(listOf(plainWords), reader);
      expect(wordsOf(page)).to.match(/Ann Example.*My order.*Where is it\?.*Open Needs review Urgent Attachment/);
      expect(page.markup).to.contain(`href="/threads/${threadId}"`);
      expect(wordsOf(page)).to.contain("1 conversation");
    });

    it("the list of conversations shows times in the reader's zone, with UTC as their title", () => {
      expect(threadsPage(listOf(plainWords), reader).markup).to.match(
        /<time datetime="2026-11-20T10:00:00.000Z" title="20 Nov 2026, 10:00 UTC">20 Nov 2026, 11:00/,
      );
    });

    it("an empty list of conversations says what to do, both without any mail and without a match", () => {
      const list = { threads: [], total: 0, isCapped: false, ways: nowhere };
      expect(wordsOf(threadsPage(listOf(plainWords, { list }), reader))).to.contain(
        "Write a mail to ann@customer.example",
      );
      expect(wordsOf(threadsPage(listOf(plainWords, { list, identities: [] }), reader))).to.contain(
        "create an identity",
      );
      const filtered = threadsPage(listOf(plainWords, { list, filters: { q: "nothing" } }), reader);
      expect(wordsOf(filtered)).to.contain("No conversation matches");
    });

    it("a refused filter of the list of conversations is shown at its field, with what was typed", () => {
      const refused = { message: "from_date: expected a date", field: "from_date" };
      const page = threadsPage(
        listOf(plainWords, { refused, list: undefined, filters: { from_date: "yesterday", status: "opne" } }),
        reader,
      ).markup;
      expect(page).to.match(/id="from_date"[^>]*value="yesterday"[^>]*aria-describedby="[^"]*from_date-error"/);
      expect(page).to.contain('<option value="opne" selected>');
    });
  });

  describe("the links to older and newer pages", () => {
    const ways = (query: string, next: string | null = "n") =>
      pageLinksFrom("/threads", { query: new URLSearchParams(query), next, kept: new URLSearchParams("q=a") });

    it("the links of a page lead to older pages, and back through the pages that were visited", () => {
      expect(ways("")).to.deep.equal({ newest: null, newer: null, older: "/threads?q=a&cursor=n" });
      expect(ways("cursor=n", "m")).to.deep.equal({
        newest: "/threads?q=a",
        newer: "/threads?q=a",
        older: "/threads?q=a&cursor=m&trail=n",
      });
      expect(ways("cursor=m&trail=n", null)).to.deep.equal({
        newest: "/threads?q=a",
        newer: "/threads?q=a&cursor=n",
        older: null,
      });
    });

    it("the links of a page remember at most eight earlier pages", () => {
      const long = Array.from({ length: 30 }, (_, n) => `c${n}`).join(".");
      expect(
        new URLSearchParams(ways(`cursor=x&trail=${long}`).older!.split("?")[1]).get("trail")!.split("."),
      ).to.have.length(8);
    });
  });

  describe("the page of a conversation", () => {
    const page = threadPage(threadOf(plainWords), reader);

    it("a conversation shows its newest message unfolded, and folds the older ones", () => {
      const open = (id: string) => new RegExp(`id="letter-${id}"([^>]*)>`).exec(page.markup)?.[1];
      expect(open(messageIds[2])).to.contain("open");
      expect(open(messageIds[0])).not.to.contain("open");
    });

    it("a conversation shows drafts and held mail in the order of time", () => {
      const order = [...page.markup.matchAll(/<li class="(message|draft|held)/g)].map(([, kind]) => kind);
      expect(order).to.deep.equal(["message", "message", "message", "draft", "held"]);
      expect(wordsOf(page)).to.contain("Rejected by “Ann Example”: “Where is it?”");
      expect(page.markup).to.contain(`href="/drafts/${draftId}"`);
    });

    it("a conversation omits a sent draft in favour of its message, and each page shows the drafts of its time span", () => {
      const entries = (span: { from: string | null; until: string | null }) =>
        timeline(
          { messages: [], drafts: [wireDraft(plainWords), wireDraft(plainWords, { status: "sent" })], held: [] },
          span,
        );
      expect(entries({ from: null, until: null })).to.have.length(1);
      expect(entries({ from: "2026-11-20T10:01:00.001Z", until: null })).to.have.length(0);
      expect(entries({ from: null, until: "2026-11-20T10:01:00.000Z" })).to.have.length(0);
    });

    it("a conversation offers to undo a recent approval only to the reader who gave it", () => {
      const by = (id: string) =>
        wireDraft(plainWords, {
          status: "approved",
          undo_until: "2026-11-20T10:05:10.000Z",
          decided_by: { decision: "approve", kind: "session", id, version: 1, content_sha256: "" },
        });
      const undo = (id: string) =>
        threadPage(threadOf(plainWords, { entries: [{ kind: "draft", at: "", draft: by(id) }] }), reader).markup;
      expect(undo("u1")).to.match(
        new RegExp(`action="/threads/${threadId}/undo"[^]*name="draft_id" value="${draftId}"`),
      );
      expect(undo("u2")).not.to.contain("/undo");
    });

    it("a conversation folds the quoted text of a reply if it repeats an earlier message", () => {
      expect(page.markup.match(/class="quoted"/g)).to.have.length(1);
      const quoting = messageViews(
        ["Old.", "New.\n\n> Old.", "New.\n\n> Other."].map((text) => wireMessage({ ...plainWords, text })),
        newest,
      );
      expect(quoting.map(({ written, quoted }) => [written.text, quoted.text])).to.deep.equal([
        ["Old.", ""],
        ["New.", "> Old."],
        ["New.\n\n> Other.", ""],
      ]);
    });

    it("a conversation says in words what is known of the sender, the mail and its delivery", () => {
      expect(wordsOf(page)).to.contain("The sender is verified (SPF pass, DKIM pass, DMARC pass).");
      expect(wordsOf(page)).to.contain("The sender has not been checked yet.");
      expect(wordsOf(page)).to.contain("Delivered");
      const [view] = messageViews(
        [
          wireMessage(plainWords, {
            classification: "auto_reply",
            kind: "automatic_reply",
            from_blocked_contact: true,
            authentication: { spf: "fail", dkim: "none", dmarc: "fail", aligned: false },
          }),
        ],
        newest,
      );
      const odd = threadPage(threadOf(plainWords, { entries: [{ kind: "message", at: "", view: view! }] }), reader);
      expect(wordsOf(odd)).to.contain("Automatic reply Blocked sender Sender not verified");
      expect(wordsOf(odd)).to.contain("This message may be forged");
    });

    /** Words of the article of a mail of ours. */
    const ofOurs = (change: Parameters<typeof wireMessage>[1]): string => {
      const sent = { direction: "outbound", kind: null, classification: null, authentication: null } as const;
      const [view] = messageViews([wireMessage(plainWords, { ...sent, delivery_status: "sent", ...change })], newest);
      const entries = [{ kind: "message" as const, at: "", view: view! }];
      return wordsOf(threadPage(threadOf(plainWords, { entries, why: undefined }), reader));
    };
    const at = "2026-11-20T09:01:00.000Z";
    const to = (n: number, status: WireMessage["recipients"][number]["status"], more = {}) => ({
      ...{ address: `r${n}@customer.example`, status, code: null, text: null, at },
      ...more,
    });

    it("a mail of ours says of how many recipients something was reported, and what", () => {
      const mixed = ofOurs({
        recipients: [
          to(1, "delayed", { code: "4.4.1", text: "no route" }),
          to(2, "complained"),
          to(3, "failed", { text: "on the suppression list" }),
          to(4, "bounced", { code: "5.1.1", text: `no such user ${"x".repeat(600)}` }),
          to(5, "delivered"),
          to(6, "sent"),
        ],
      });
      expect(mixed).to.include("Not delivered to 2 of 6 recipients");
      expect(mixed).to.include("Delivery problems with 4 of 6 recipients");
      expect(mixed).to.match(/r1@customer\.example : not delivered yet: the server tries again \( 4\.4\.1 \), \d/);
      expect(mixed).to.match(/r2@customer\.example : reported it as spam, \d/);
      expect(mixed).to.match(
        /r3@customer\.example : will not be delivered, .* The server said: “ on the suppression list ”/,
      );
      expect(mixed).to.match(/r4@customer\.example : could not be delivered .* no such user x{480,490}…/);
      expect(mixed).to.include("No problem reported for the other 2.");
    });

    it("a mail of ours that arrived, that waits, or that was never sent says nothing of single recipients", () => {
      for (const change of [
        { recipients: [] },
        { recipients: [to(1, "sent"), to(2, "delivered")] },
        { delivery_status: "failed" as const, recipients: [to(1, "failed", { at: null })] },
      ])
        expect(ofOurs(change)).not.to.match(/Delivery problems|Not delivered to/);
      const all = ofOurs({ delivery_status: "bounced", recipients: [to(1, "bounced")] });
      expect(all)
        .to.include("Bounced: it could not be delivered")
        .and.include("Delivery problems with 1 of 1 recipient");
      expect(all).not.to.match(/Not delivered to|No problem/);
    });

    it("of many recipients and reactions the first are shown and the others are counted", () => {
      const many = ofOurs({
        recipients: Array.from({ length: 70 }, (_, n) => to(n, "bounced")),
        reactions: Array.from({ length: 70 }, (_, n) => ({ emoji: n < 60 ? "👍" : "🎉", from: `r${n}@x.example`, at })),
      });
      expect(many).to.include("Delivery problems with 70 of 70 recipients").and.include("and 20 others");
      expect(many)
        .to.include("Reactions: 👍 🎉")
        .and.include("70 reactions 🎉 r69@x.example")
        .and.include("and 20 earlier ones");
      expect(many).not.to.include("r70@").and.not.include("👍 r19@");
    });

    it("a received message is named by its kind, and by its class where that says more", () => {
      const named = ([kind, classification]: [WireMessage["kind"], WireMessage["classification"]]) =>
        namesOfKind({ kind, classification }).join(", ");
      const kinds: [WireMessage["kind"], WireMessage["classification"], string][] = [
        ["customer", "person", ""],
        ["customer", "list", "Mailing list"],
        ["colleague", "list", "Colleague, Mailing list"],
        ["report", "bounce", "Bounce"],
        ["report", "auto_reply", "Report"],
        ["automatic_reply", "auto_reply", "Automatic reply"],
        ["filed_by_hand", "person", "Filed by hand"],
        [null, null, ""],
      ];
      for (const [kind, classification, expected] of kinds) expect(named([kind, classification])).to.equal(expected);
    });

    it("a refresh replaces a message that may be filed by hand, and leaves other received ones alone", () => {
      const kept = (kind: WireMessage["kind"]): boolean => {
        const [view] = messageViews([wireMessage(plainWords, { kind })], newest);
        const entries = [{ kind: "message" as const, at: "", view: view! }];
        return threadPage(threadOf(plainWords, { entries }), reader).markup.includes("hx-preserve");
      };
      expect((["customer", "program", "filed_by_hand"] as const).map(kept)).to.deep.equal([true, true, true]);
      expect((["automatic_reply", "report", "colleague"] as const).map(kept)).to.deep.equal([false, false, false]);
    });

    it("a conversation warns of dangerous files, and offers files only as downloads", () => {
      const words = { ...plainWords, filename: "invoice.pdf.exe" };
      const files = threadPage(threadOf(words), reader);
      expect(wordsOf(files)).to.contain("It is a program: it runs when it is opened.");
      expect(files.markup).to.match(/<a class="press" href="\/messages\/[^"]+\/attachments\/a-1" download>/);
    });

    it("a conversation shows text first, and HTML on request in a sandboxed frame", () => {
      expect(page.markup).not.to.contain("<iframe");
      const words = {
        ...plainWords,
        html: "<p onclick=x>Hi <script>alert(1)</script><img src=https://t.example/x></p>",
      };
      const asked = threadPage(
        threadOf(words, { wishes: { ...newest, html: { id: messageIds[2], sanitised: sanitise(words.html) } } }),
        reader,
      ).markup;
      const [frame] = asked.match(/<iframe[^>]*>/g) ?? [];
      expect(frame)
        .to.match(/sandbox=""/)
        .and.not.to.match(/script|onclick|t\.example/);
    });

    it("a conversation shows the first 20,000 characters of a very long message, and all of it on request", () => {
      const words = { ...plainWords, text: "x".repeat(50_000) };
      const longestRun = (page: string) => Math.max(...(page.match(/x+/g) ?? []).map(({ length }) => length));
      const short = threadPage(threadOf(words, { reply: null }), reader).markup;
      expect(short).to.contain("Show all of it (30,000 more characters)");
      expect(longestRun(short)).to.equal(20_000);
      const whole = threadPage(threadOf(words, { wishes: { ...newest, whole: messageIds[2] } }), reader).markup;
      expect(longestRun(whole)).to.equal(50_000);
    });

    it("a conversation says at its top why it was not answered", () => {
      expect(wordsOf(page)).to.contain("Not answered yet: “Ann Example” rejected the draft");
      expect(threadPage(threadOf(plainWords, { why: undefined }), reader).markup).not.to.contain('id="why"');
    });

    it("a merged conversation says that it was merged into another one", () => {
      const merged = wireThread(plainWords, { merged_into: "00000000-0000-7000-8000-000000000041" });
      expect(wordsOf(threadPage(threadOf(plainWords, { thread: merged }), reader))).to.contain(
        "was merged into another one",
      );
    });

    it("a conversation offers no form to a member who may only read", () => {
      const read = threadPage(threadOf(plainWords, { mayChange: false, reply: null }), reader).markup;
      expect(read).not.to.match(/<form|<textarea|<button/);
    });
  });

  describe("the reply form of a conversation", () => {
    const pageOf = (change: Partial<ReplyView>) =>
      threadPage(threadOf(plainWords, { reply: replyTo(plainWords, change) }), reader);

    it("the reply form names the sender, the recipients and the message that it answers", () => {
      const page = pageOf({});
      expect(wordsOf(page)).to.match(
        /From Ann Example &lt; support@agents\.example &gt; To ann@customer\.example Reply to all adds/,
      );
      expect(page.markup).to.contain(`name="based_on_message_id" value="${messageIds[0]}"`);
    });

    it("the reply form keeps the written text when a newer message arrived, and says so", () => {
      const page = pageOf({ isOvertaken: true, written: { ...nothingWritten, body_text: "\nMy words" } });
      expect(wordsOf(page)).to.contain("Nothing was sent: a newer message arrived while you were writing.");
      expect(page.markup).to.match(/<textarea[^>]*>\n\nMy words<\/textarea>/);
    });

    it("the reply form says why a reply is not possible", () => {
      expect(wordsOf(pageOf({ preview: undefined }))).to.contain(
        "There is no message in this conversation to reply to",
      );
      expect(wordsOf(pageOf({ canSend: "identity_deleted" }))).to.contain("identity of this conversation was deleted");
      expect(wordsOf(pageOf({ isHeld: true }))).to.contain("A newer message is held");
    });
  });

  describe("pages with hostile words", () => {
    const source = (words: Words): Markup =>
      sourcePage({ messageId: messageIds[0], threadId, subject: words.subject, bytes: Buffer.from(words.text) });
    const everything = (words: Words): Markup =>
      threadPage(
        threadOf(words, { wishes: { ...newest, html: { id: messageIds[0], sanitised: sanitise(words.html ?? "") } } }),
        reader,
      );
    const list = (words: Words): Markup =>
      threadsPage(listOf(words, { filters: { q: words.text, contact: words.name } }), reader);

    const hostile: Record<string, string> = {
      "markup, bidi and terminal codes": payload(markOf(7), { several: true }),
      "10,000 characters without a space": "W".repeat(10_000),
      "zero width everywhere": "a\u200bb\u200d\ufeffc\u2060".repeat(50),
      "a name from right to left": "\u202eexe.fdp \u05e9\u05dc\u05d5\u05dd \u0627\u0644\u0633\u0644\u0627\u0645",
      "ends of our elements":
        '</textarea></pre></details></li></bdi></section></main><form action="https://evil.example">',
      "quotes and brackets": `"'\`<>&;{{x}}\${x}]]>--><!--`,
    };
    for (const [name, word] of Object.entries(hostile)) {
      it(`hostile words add no element to the pages of conversations: ${name}`, () => {
        for (const pageOf of [list, everything, source]) expectOnlyOurs(pageOf, hostileEverywhere(word));
      });
    }

    const limits = { maxTextBytes: 200_000, maxHtmlBytes: 400_000, maxAttachments: 100 };
    async function wordsOfMail(raw: Buffer): Promise<Words> {
      const parsed = await parseMail(raw, limits as Parameters<typeof parseMail>[1]);
      const email = await PostalMime.parse(raw).catch(() => undefined);
      return {
        name: email?.from?.name ?? "",
        address: email?.from?.address ?? "",
        subject: email?.subject ?? "",
        text: parsed.bodyText ?? "",
        html: parsed.bodyHtml ?? "",
        filename: parsed.attachments[0]?.filename || "x",
      };
    }

    it("real mails add no element or script of theirs to the pages of conversations", async () => {
      const mails = fixtureNames().map(fixture);
      const every = sized(12, 1);
      if (hasCorpus("mime"))
        mails.push(
          ...corpus("mime")
            .map(({ raw }) => raw)
            .filter((raw, n) => n % every === 0 && raw.length < 200_000),
        );
      for (const raw of mails) {
        const words = await wordsOfMail(raw);
        for (const pageOf of [list, everything]) {
          expect(faultsOf({ kind: "html", content: pageOf(words).markup })).to.deep.equal([]);
        }
        const text = raw.toString("latin1");
        expect(faultsOf({ kind: "html", content: source({ ...words, text }).markup })).to.deep.equal([]);
      }
    });
  });
});
