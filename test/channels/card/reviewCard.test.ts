import { expect } from "chai";
import type { ApprovalView, PreviousVersion } from "#src/channels/approvalView.ts";
import { reviewCard } from "#src/channels/card/reviewCard.ts";
import { hasUnseen } from "#src/html/visible.ts";
import { sized } from "#test/support/full.ts";
import { content, hostile, newer, ordinary, withHtml } from "../email/examples.ts";

const card = (change: Partial<ApprovalView> = {}) => reviewCard({ ...ordinary, ...change });
const letter = (change: Partial<ApprovalView["content"]>, more: Partial<ApprovalView> = {}) =>
  card({ ...more, content: { ...content, ...change } }).letter;
const theirs = ordinary.answers!.newText;
const quotedLines = theirs
  .split("\n")
  .map((line) => `> ${line}`.trimEnd())
  .join("\n");

describe("the review card", () => {
  describe("the card's first sentence", () => {
    const approvals = { required: 2, given: [] };
    const lead = (change: Partial<ApprovalView>) => card(change).lead.replace(/^.*?\)\. /, "");

    it("the review card says that nothing is sent before the decision where human approval is required", () => {
      expect(lead({ humanRequired: true })).to.equal("Nothing is sent before you decide.");
      expect(lead({ humanRequired: true, approvals })).to.equal("Nothing is sent before 2 approvers have approved it.");
    });

    it("the review card says that an API key or a rule may send first where human approval is not required", () => {
      expect(lead({ humanRequired: false })).to.equal(
        "Nothing is sent before you decide, unless a program with an API key or a rule sends it first.",
      );
      expect(lead({ humanRequired: false, approvals })).to.equal(
        "Nothing is sent before 2 approvers have approved it; programs with an API key can be one of them.",
      );
    });
  });

  describe("the card's recipients", () => {
    it("the review card marks exactly the recipients who never took part, in every field", () => {
      const { fields } = letter({
        to: ["MARTA.lind@posten.example", "a@x.example"],
        cc: ["b@x.example"],
        bcc: ["c@x.example"],
      });
      const marked = fields.flatMap(({ label, values }) =>
        values.map(({ text, mark }) => [label, text, mark !== null]),
      );
      expect(marked.slice(1, 5)).to.deep.equal([
        ["To", "MARTA.lind@posten.example", false],
        ["To", "a@x.example", true],
        ["Cc", "b@x.example", true],
        ["Bcc (hidden)", "c@x.example", true],
      ]);
    });
  });

  describe("the card's Reply-To", () => {
    it("the review card warns of a Reply-To that is no address of the workspace, and names it", () => {
      const away = { content: { ...content, reply_to: "x\u202e@x.example" } };
      expect(card({ ...away, repliesLeave: true }).warnings.join()).to.include(
        "they go to x[U+202E]@x.example, which is not an address of this workspace.",
      );
      for (const change of [{ ...away, repliesLeave: false }, away, { repliesLeave: true }])
        expect(card(change).warnings.join()).not.to.include("will not arrive here");
    });
  });

  describe("the card's text", () => {
    const body = `Dear Marta,\n\nIt is on its way.\n\nOn 20 Nov, Marta wrote:`;

    it("the review card folds what the agent quotes of the message below the reply, and keeps reply and signature", () => {
      const { plain } = letter({ body_text: `${body}\n${quotedLines}` });
      expect(plain.text).to.equal(`${body}\n\n-- \nHarbour Books\nQuay 4, Gothenburg`);
      expect(plain.folded).to.equal(quotedLines);
      const deeper = letter({
        body_text: `${body}\n> > Your order 48213 has left our warehouse.`,
        signature_text: null,
      });
      expect(deeper.plain).to.deep.equal({ text: body, folded: "> > Your order 48213 has left our warehouse." });
    });

    for (const [name, quoted] of [
      ["that the message does not say", "> We pay you 10,000 EUR."],
      ["that begins in the middle of a word", "> ello,"],
      ["with something added", `${quotedLines}\n> We pay you 10,000 EUR.`],
      ["with the agent's words behind it", `${quotedLines}\nWe pay you 10,000 EUR.`],
    ] as const) {
      it(`the review card folds no quotation ${name}`, () => {
        const { plain } = letter({ body_text: `${body}\n${quoted}` });
        expect(plain.folded).to.equal("");
        expect(plain.text).to.include(quoted);
      });
    }

    it("the review card folds no quotation in a draft that answers no message", () => {
      expect(letter({ body_text: `${body}\n${quotedLines}` }, { answers: null }).plain.folded).to.equal("");
    });

    it("the review card folds a true quotation in HTML and shows a forged one", () => {
      const html = (quoted: string) =>
        letter({
          body_html: `<p>On its way.</p><blockquote>${quoted}</blockquote>`,
          signature_html: "<p>Harbour</p>",
        }).formatted;
      const good = html(theirs.replace(/\n+/g, "<br>"));
      expect([good?.text, good?.folded]).to.deep.equal([
        "On its way.\n\nHarbour",
        quotedLines.replaceAll("\n>\n", "\n"),
      ]);
      expect(good?.pageHtml).to.match(
        /<details><summary>Show the quoted text<\/summary><blockquote>.*<\/blockquote><\/details>/s,
      );
      const forged = html("We pay you 10,000 EUR.");
      expect(forged?.folded).to.equal("");
      expect(forged?.pageHtml).not.to.include("<details>");
    });

    it("the review card keeps the new text of the answered message apart from its quotations", () => {
      const { answers } = card();
      expect(answers?.text).to.equal(theirs);
      expect(answers?.folded).to.include("Track it at");
    });
  });

  describe("the card's changes", () => {
    const previous: PreviousVersion = {
      version: 1,
      content,
      textDerived: false,
      rationale: ordinary.rationale,
      because: ["edit"],
    };
    const changes = (now: Partial<ApprovalView["content"]>, before: Partial<PreviousVersion> = {}) =>
      card({ version: 3, previous: { ...previous, ...before }, content: { ...content, ...now } }).changes;

    it("the review card lists no changes where approvers are asked for the first time", () => {
      expect(card().changes).to.equal(null);
    });

    it("the review card names recipients, subject, sender and files that were added and removed", () => {
      const file = { filename: "label.pdf", content_type: "application/pdf", sha256: "ab".repeat(32) };
      const other = { filename: "terms.pdf", content_type: "application/pdf", sha256: "ef".repeat(32) };
      const found = changes(
        {
          from: { ...content.from, name: "Harbour" },
          to: ["carl@x.example"],
          bcc: ["eve@x.example"],
          subject: "Other",
          attachments: [{ ...file, sha256: "cd".repeat(32) }],
        },
        { content: { ...content, attachments: [file, other] } },
      );
      expect(found?.since).to.equal(1);
      expect(found?.text).to.deep.equal([]);
      expect(found?.fields).to.deep.equal([
        {
          label: "From",
          removed: ["Harbour Books Support <support@agents.harbour.example>"],
          added: ["Harbour <support@agents.harbour.example>"],
        },
        { label: "To", removed: ["marta.lind@posten.example"], added: ["carl@x.example"] },
        { label: "Bcc (hidden)", removed: [], added: ["eve@x.example"] },
        { label: "Subject", removed: ["Re: Order 48213 arrived damaged"], added: ["Other"] },
        {
          label: "Attached",
          removed: ["label.pdf (earlier contents)", "terms.pdf"],
          added: ["label.pdf (new contents)"],
        },
      ]);
    });

    it("the review card shows the changed words of the text with a little context", () => {
      const text = content.body_text?.replace("tomorrow", "on Monday") ?? "";
      const pieces = changes({ body_text: text })?.text ?? [];
      expect(pieces.filter(({ kind }) => kind !== "same")).to.deep.equal([
        { kind: "removed", text: "tomorrow" },
        { kind: "added", text: "on Monday" },
      ]);
      expect(pieces[0]?.text).to.match(/^….*leaves our warehouse $/s);
      expect(pieces.map((piece) => piece.text).join("").length).to.be.below(200);
    });

    it("the review card joins the words of a changed passage and leaves out text that is only quoted", () => {
      const text = `Send it back to us, please.\n\nOn 20 Nov, Marta wrote:\n${quotedLines}`;
      const found = changes(
        { body_text: text, signature_text: null },
        { content: { ...content, body_text: "Keep it with you, please.", signature_text: null } },
      );
      const shown = found?.text.map(({ kind, text }) => `${kind}: ${text}`).join("|");
      expect(shown).to.equal(
        "removed: Keep it with you, please.|added: Send it back to us, please.\n\nOn 20 Nov, Marta wrote:",
      );
    });

    it("the review card says who made the new version and why", () => {
      expect(changes({ signature_text: "New" }, { because: ["identity_changed"] })?.sentences.join()).to.include(
        "The service made a new version because the identity changed",
      );
      expect(changes({ body_text: "x" })?.sentences).to.include("The agent edited it.");
      const unknown = changes({ body_text: "x" }, { because: [undefined, "of_later"] as never });
      expect(unknown?.sentences.join(" ")).not.to.match(/undefined|of_later|agent edited/);
    });

    it("the review card says that nothing, only the agent's reason or only the look of the HTML changed", () => {
      expect(changes({})?.sentences).to.include("The mail to be sent is the same.");
      expect(changes({}, { rationale: "Another" })?.sentences).to.include("The agent's reason changed.");
      const html = { ...content, body_html: "<p>Hello</p>" };
      const look = changes({ ...html, body_html: "<p><b>Hello</b></p>" }, { content: html });
      expect(look?.sentences).to.include("The words are the same. The look of the HTML changed.");
      expect(look?.sentences).not.to.include("The mail to be sent is the same.");
    });

    describe("changes besides the visible text", () => {
      const html = { ...content, body_html: "<p>Hello</p>", body_text: "Hello", signature_text: null };
      const quote = (quoted: string) => ({ ...content, body_text: `It is on its way.\n\n${quoted}` });
      const [first = "", last = ""] = [quotedLines.split("\n")[0], quotedLines.split("\n").at(-1)];
      const file = { filename: "a.txt", content_type: "text/plain", sha256: "ab".repeat(32) };
      const plainToo = "The plain-text version, which programs without HTML show, changed too.";
      for (const [name, now, before, told] of [
        ["in its plain text besides HTML", { ...html, body_text: "Pay 900 EUR" }, html, plainToo],
        ["in its signature besides HTML", { ...html, signature_text: "Pay 900 EUR" }, html, plainToo],
        ["in its quotation", quote(last), quote(first), "The quoted text below it changed."],
        [
          "in the message it is tied to",
          { in_reply_to: "<other@x.example>" },
          content,
          "Only technical details changed, or the order of recipients or files.",
        ],
      ] as const) {
        it(`the review card does not call a draft the same that changed ${name}`, () => {
          const found = changes(now, { content: before });
          expect(found?.sentences).to.include(told);
          expect(found?.sentences.join()).not.to.include("The mail to be sent is the same");
        });
      }

      it("the review card shows a changed type of an attached file", () => {
        const found = changes(
          { attachments: [{ ...file, content_type: "text/html" }] },
          { content: { ...content, attachments: [file] } },
        );
        expect(found?.fields).to.deep.equal([
          {
            label: "Attached",
            removed: ["a.txt (declared as text/plain)"],
            added: ["a.txt (declared as text/html)"],
          },
        ]);
      });

      it("the review card compares the words of HTML that is nested deeper than any stored HTML", () => {
        const deep = (word: string) => ({ ...content, body_html: `${"<b>".repeat(600)}${word}` });
        const found = changes(deep("one"), { content: deep("two") });
        expect(found?.text.map(({ text }) => text)).to.include.members(["one", "two"]);
      });
    });

    it("the review card says that most of a text is new, and compares long texts line by line", () => {
      const words = (from: number, count: number) =>
        Array.from({ length: count }, (_, n) => `word${from + n}`).join(" ");
      const anew = changes({ body_text: words(9_000, 1_500) }, { content: { ...content, body_text: words(0, 1_500) } });
      expect(anew?.sentences).to.include("Most of its text is new: read all of it.");
      expect(anew?.text).to.deep.equal([]);
      const lines = Array.from({ length: sized(2_000, 20_000) }, (_, n) => `This is the line with the number ${n}.`);
      const long = { ...content, body_text: lines.join("\n") };
      const one = changes({ body_text: lines.toSpliced(7, 1, "Another line.").join("\n") }, { content: long });
      expect(one?.text.filter(({ kind }) => kind !== "same").map(({ text }) => text)).to.deep.equal([
        "This is the line with the number 7.\n",
        "Another line.\n",
      ]);
    });
  });

  describe("the card's sender", () => {
    const sentences = (authentication: NonNullable<ApprovalView["answers"]>["authentication"]) =>
      card({ answers: { ...ordinary.answers!, authentication } }).answers?.proof.sentences.join(" ");
    const passed = { spf: "pass", dkim: "pass", dmarc: "pass", aligned: true };

    it("the review card says what is proven of the sender and which address fields that covers", () => {
      expect(sentences({ ...passed, covers: ["to", "reply_to"] })).to.equal(
        "The sender is verified (SPF pass, DKIM pass, DMARC pass). From, To and Reply-To are proven. Cc is not.",
      );
      expect(sentences(passed)).to.include("From is proven. To, Cc and Reply-To are not.");
      expect(sentences({ ...passed, dmarc: "fail", aligned: false })).to.match(/^We cannot verify the sender/);
      expect(sentences(null)).to.equal("The sender has not been checked yet.");
    });
  });

  describe("the card's links", () => {
    const links = (html: string) => letter({ body_html: html, body_text: "x" }).links;
    const link = (href: string, text: string) => links(`<p><a href="${href}">${text}</a></p>`)[0];

    for (const [name, href, text, names] of [
      ["another host", "https://evil.example/x", "https://bank.example/login", "bank.example"],
      ["another host without a scheme", "https://evil.example/", "see www.bank.example now", "bank.example"],
      ["another host, however it is written", "https://evil.example/", "BANK.com", "bank.com"],
      ["a mailbox elsewhere", "mailto:pay@evil.example", "pay@bank.example", "bank.example"],
      ["a host before the real one", "https://bank.com@evil.example/", "here", "bank.com"],
      ["letters that look alike", "https://bаnk.com/", "bank.com", "bank.com"],
      ["another customer of one hosting company", "https://evil.github.io/", "bank.github.io", "bank.github.io"],
    ] as const) {
      it(`the review card warns of a link that names ${name}`, () => {
        expect(link(href, text)?.names).to.equal(names);
        const warned = card({ content: { ...content, body_html: `<a href="${href}">${text}</a>`, body_text: text } });
        expect(warned.warnings.join()).to.include("Links lead to other places than they name").and.to.include(names);
      });
    }

    for (const [name, href, text] of [
      ["its own host", "https://www.bank.example/login", "bank.example"],
      ["another host of the same owner", "https://track.bank.example/1", "www.bank.example"],
      ["a word with a dot", "https://nodejs.org/", "the node.js guide"],
      ["no host", "https://bank.example/", "Click here. Now."],
      ["an amount", "https://bank.example/", "42.50 EUR"],
      ["a number to call", "tel:+4631123", "+46 31 123"],
    ] as const) {
      it(`the review card does not warn of a link that names ${name}`, () => {
        expect(link(href, text)?.names).to.equal(null);
      });
    }

    it("the review card finds a host before the real one in a plain-text link, also with a port between", () => {
      for (const text of ["https://bank.com@evil.example/a", "https://bank.com:443@evil.example/a"]) {
        const found = letter({ body_text: `See ${text} please` }).links;
        expect(found.map(({ names, host }) => [names, host]).find(([names]) => names)).to.deep.equal([
          "bank.com",
          "evil.example",
        ]);
      }
      expect(letter({ body_text: "See https://shop.example:8443/a" }).links[0]?.host).to.equal("shop.example");
    });

    it("the review card lists each link of HTML and plain text once, misleading ones first", () => {
      const found = letter({
        body_html: `<p><a href="https://harbour.example/a">here</a> <a href="https://harbour.example/a">here</a> <a href="https://evil.example/">bank.com</a></p>`,
        body_text: "here www.harbour.example/b and mail help@harbour.example or https://harbour.example/a",
      }).links;
      expect(found.map(({ text, target }) => [text, target])).to.deep.equal([
        ["bank.com", "https://evil.example/"],
        ["here", "https://harbour.example/a"],
        [null, "www.harbour.example/b"],
        [null, "mailto:help@harbour.example"],
      ]);
      expect(letter({ body_text: "No link. None at all." }).links).to.deep.equal([]);
    });

    it("malformed link targets do not make the review card fail", () => {
      for (const href of ["https://%zz@[::1", "https://a%ff@b.example", "mailto:", "//", "http://", "tel:"]) {
        expect(() => link(href, "x.example"), href).not.to.throw();
      }
    });
  });

  it("the review card says in words what was removed from the HTML", () => {
    const removed = [
      { what: "image:remote", count: 2 },
      { what: "element:script", count: 1 },
      { what: "attribute:onclick", count: 1_200 },
      { what: "style:position", count: 3 },
      { what: "link:javascript", count: 1 },
      { what: "link:relative", count: 1 },
      { what: "comment", count: 1 },
      { what: "of_later", count: 2 },
    ];
    expect(card({ htmlRemoved: removed }).letter.removed).to.deep.equal([
      "2 pictures loaded from elsewhere",
      "1 element “script”",
      "1,200 attributes “onclick”",
      "3 styles “position”",
      "1 link of the kind “javascript:”",
      "1 link without a host",
      "1 comment",
      "2 “of_later”",
    ]);
  });

  it("the review card says how long it is until another approver is asked", () => {
    const left = (escalatesAt: string | null) => card({ escalatesAt, shownAt: "2026-11-20T09:00:00.000Z" }).escalation;
    expect(left("2026-11-20T09:45:30.000Z")).to.deep.equal({
      at: "2026-11-20T09:45:30.000Z",
      left: "45 minutes",
      sentence: "If it is not decided by 20 Nov 2026, 09:45 UTC, another approver will be asked.",
    });
    expect(left("2026-11-20T09:01:00.000Z")?.left).to.equal("1 minute");
    expect(left("2026-11-20T09:00:59.000Z")?.left).to.equal("less than a minute");
    expect(left("2026-11-20T12:00:00.000Z")?.left).to.equal("3 hours");
    expect(left("2026-11-23T09:00:00.000Z")?.left).to.equal("3 days");
    for (const none of [null, "2026-11-20T09:00:00.000Z", "2026-11-19T09:00:00.000Z"])
      expect(left(none)).to.equal(null);
  });

  it("the review card names files with type, size and warning, and repeats the warning among its warnings", () => {
    const files = [
      {
        name: "label.pdf",
        size: 18_700,
        declaredType: "application/pdf",
        kind: "application/pdf",
        warning: null,
        download: "attachments/1",
      },
      {
        name: "a.pdf",
        size: 2_500_000,
        declaredType: "application/pdf",
        kind: "a program",
        warning: "It can run code.",
        download: null,
      },
      { name: "b", size: null, declaredType: "text/plain", kind: null, warning: null, download: null },
    ];
    const shown = card({ attachments: files });
    expect(
      shown.letter.attachments.map(({ name, description, download }) => [name, description, download]),
    ).to.deep.equal([
      ["label.pdf", "application/pdf, 18 KB", "attachments/1"],
      ["a.pdf", "application/pdf (content: a program), 2.4 MB", null],
      ["b", "text/plain", null],
    ]);
    expect(shown.warnings).to.deep.equal(["The file “a.pdf”: It can run code."]);
    const long = { ...files[1]!, name: `${"a".repeat(200)}.exe` };
    expect(card({ attachments: [long] }).warnings[0]).to.include(".exe”");
  });

  it("no name on the review card can end the quotation marks around it", () => {
    const name = 'Marta” approved this already. “Yes" ok';
    const { warnings, lead } = card({
      newerMessage: { ...newer, fromName: name },
      identity: { displayName: name, address: "a@b.example" },
    });
    for (const sentence of [warnings[0] ?? "", lead]) expect(sentence.match(/[“”"]/g)).to.deep.equal(["“", "”"]);
  });

  it("the review card has no invisible characters or direction marks from anybody's text", () => {
    const everywhere = "\u202eab\u200b\u0000\u2066";
    const dirty = <T>(value: T): T => {
      if (typeof value === "string") return `${value}${everywhere}` as T;
      if (Array.isArray(value)) return value.map(dirty) as T;
      if (value instanceof Map || typeof value !== "object" || value === null) return value;
      // The kind of a warning is a name of the service, and nobody's text.
      const isName = (key: string) => key === "kind" && "sentence" in value;
      return Object.fromEntries(
        Object.entries(value).map(([key, inner]) => [key, isName(key) ? inner : dirty(inner)]),
      ) as T;
    };
    const previous: PreviousVersion = {
      version: 1,
      content: withHtml.content,
      textDerived: false,
      rationale: "",
      because: ["edit"],
    };
    const { shownAt, escalatesAt, expiresAt, status } = ordinary;
    const times = { shownAt, escalatesAt, expiresAt, status, contentSha256: "" };
    for (const view of [ordinary, withHtml, hostile]) {
      const made = reviewCard({ ...dirty({ ...view, previous, newerMessage: newer }), ...times });
      const texts: [string, string][] = [];
      const collect = (value: unknown, path: string): void => {
        if (typeof value === "string") texts.push([path, value]);
        else if (typeof value === "object" && value !== null && !(value instanceof Map))
          for (const [key, inner] of Object.entries(value)) collect(inner, `${path}.${key}`);
      };
      collect(made, "");
      const seen = texts.filter(([path]) => !/At$|\.download$/.test(path));
      expect(seen.length).to.be.above(30);
      expect(seen.filter(([, text]) => hasUnseen(text)).map(([path]) => path)).to.deep.equal([]);
    }
  });
});
