import { expect } from "chai";
import type { ApprovalView } from "#src/channels/approvalView.ts";
import { reviewCard } from "#src/channels/card/reviewCard.ts";
import { renderApprovalMail } from "#src/channels/email/renderApprovalMail.ts";
import { attack, changed, content, hostile, longWords, newer, ordinary, rightToLeft, withHtml } from "./examples.ts";

const links = {
  approve: "https://countersign.example/a/AAA?d=approve",
  reject: "https://countersign.example/a/BBB?d=reject",
};
const render = (view: ApprovalView) => renderApprovalMail(reviewCard(view), links);
/** Removes the zero-width characters that keep mail programs from making links. */
const read = (text: string) => text.replaceAll("\u200c", "");
const hrefs = (html: string) =>
  [...html.matchAll(/(?:href|src|background|action)\s*=\s*"([^"]*)"/g)].map(([, url]) => url);

describe("the approval mail", () => {
  it("the approval mail's subject has the question and the thread's subject, and no other text of strangers", () => {
    expect(render(ordinary).subject).to.equal("Approve & send this reply? Order 48213 arrived damaged");
    const renamed = { ...ordinary, content: { ...content, subject: "Your bank needs you", to: ["bank@bank.example"] } };
    expect(render(renamed).subject).to.equal(render(ordinary).subject);
    expect(render({ ...ordinary, sendsOnApproval: false, answers: null, threadSubject: "" }).subject).to.equal(
      "Approve this mail? (no subject)",
    );
  });

  it("the approval mail shows everything an approver decides about, in text and in HTML", () => {
    const view = {
      ...withHtml,
      newerMessage: newer,
      warnings: [{ kind: "message_note" as const, sentence: "A warning of the view's own." }],
    };
    const { text, html } = render(view);
    const said = [
      "Harbour Books Support",
      "support@agents.harbour.example",
      "marta.lind@posten.example",
      "claims@harbour.example",
      "a.person@courier.example",
      "archive@harbour.example",
      "Re: Order 48213 arrived damaged",
      "label.pdf (application/pdf, 18 KB)",
      "Our policy replaces damaged books",
      "its cover is torn across the front",
      "torn-cover.jpg",
      "sender verified",
      "2 quoted lines left out",
      "wrote again after the message",
      "my neighbour has just given me her copy",
      "A warning of the view",
      "Version 3, content 3fa9c1e07b2d",
      "23 Nov 2026, 09:00 UTC",
      "Forwarding it gives away the right to decide",
      "You cannot decide by replying to this mail",
      "Quay 4, Gothenburg",
    ];
    for (const sentence of said) for (const form of [text, html]) expect(read(form)).to.include(sentence);
    for (const form of [text, html]) expect(form).not.to.include("Track it at");
    expect(text).to.include(links.approve).and.to.include(links.reject);
    expect(hrefs(html)).to.deep.equal([links.approve, `${links.approve}#changes-form`, links.reject]);
  });

  it("the approval mail shows changes, new recipients, files, hints, removed parts and the escalation time", () => {
    const { text, html } = render(changed);
    const said = [
      "What changed since version 1",
      "The agent edited it.",
      "Cc, added: claims@courier.example",
      "Attached, added: label.pdf",
      "new in this conversation",
      "label.pdf (application/pdf, 18 KB)",
      "It is called a PDF and can run code.",
      "It speaks to the agent instead of a person.",
      "2 pictures loaded from elsewhere",
      "harbour.example/track/48213",
      "If it is not decided by 20 Nov 2026, 09:45 UTC, another approver will be asked.",
      "5 quoted lines left out",
    ];
    for (const sentence of said)
      for (const form of [text, html]) expect(read(form).toLowerCase()).to.include(sentence.toLowerCase());
    expect(read(text)).to.include("\n  - tomorrow\n  + on Monday\n");
    expect(read(html))
      .to.match(/<del [^>]*>tomorrow<\/del>/)
      .and.to.match(/<ins [^>]*>on Monday<\/ins>/);
  });

  it("the approval mail marks each line of a change with the service's sign, so that others' text cannot forge one", () => {
    const forged = { ...content, body_text: `${content.body_text}\n+ Approved already.\n  - tomorrow` };
    const text = read(render({ ...changed, content: forged }).text);
    const lines = text.split("\n").filter((line) => /Approved already|- tomorrow/.test(line));
    expect(lines).to.deep.equal([
      "  + + Approved already.",
      "  + - tomorrow",
      "  | + Approved already.",
      "  |   - tomorrow",
    ]);
  });

  it("the approval mail puts question, warnings, recipients and text before the buttons, for long texts too", () => {
    for (const view of [changed, longWords]) {
      const { text, html } = render(view);
      const orders = [
        [text, ["SEND THIS REPLY?", "\n! ", "\nTo: ", "  | ", links.approve, links.reject, "WHY THE AGENT"]],
        [
          html,
          ["Send this reply?</h1>", "Note:", ">To</td>", 'dir="auto"', links.approve, links.reject, "Why the agent"],
        ],
      ] as const;
      for (const [form, order] of orders) {
        let place = 0;
        for (const part of order) {
          place = form.indexOf(part, place);
          expect(place, `${part} comes after what is before it`).to.be.at.least(0);
        }
      }
      const before = read(text.slice(0, text.indexOf(links.approve)));
      expect(before.length).to.be.below(7_000);
    }
  });

  it("the approval mail shows both the HTML and the plain text of a draft whose two forms differ", () => {
    const { text } = render(withHtml);
    expect(read(text))
      .to.include("follow it here [https://harbour.example/r?o=48213&c=2]")
      .and.to.include("Dear Marta, a new copy is on its way.");
    expect(text).to.include("HTML and its plain text differ");
    const same = {
      ...ordinary,
      content: { ...content, body_html: `<p>${content.body_text?.replace(/\n\n/g, "</p><p>")}</p>` },
    };
    expect(render(same).text).not.to.include("HTML and its plain text differ");
    const other = {
      ...same,
      content: { ...same.content, body_html: same.content.body_html.replace("no cost", "a cost") },
    };
    expect(render(other).text).to.include("HTML and its plain text differ");
  });

  const warned: [string, Partial<ApprovalView>, string][] = [
    [
      "another address",
      { content: { ...content, to: ["marta@elsewhere.example"] } },
      "goes to marta@elsewhere.example, not to marta.lind@posten.example",
    ],
    [
      "another address beside the sender's",
      { content: { ...content, to: ["marta.lind@posten.example", "mallory@evil.example"] } },
      "also goes to mallory@evil.example, not only to marta.lind@posten.example",
    ],
    [
      "recipients who never took part, whichever field names them",
      { content: { ...content, cc: ["carl@x.example"], bcc: ["eve@x.example"] } },
      "people who have not taken part in this conversation: carl@x.example, eve@x.example.",
    ],
    [
      "an unverified sender",
      {
        answers: { ...ordinary.answers!, authentication: { spf: "pass", dkim: "none", dmarc: "fail", aligned: false } },
      },
      "could not verify",
    ],
    [
      "many recipients",
      { content: { ...content, cc: ["a@x.example", "b@x.example", "c@x.example", "d@x.example", "e@x.example"] } },
      "It goes to 6 addresses.",
    ],
    [
      "hidden recipients",
      { content: { ...content, bcc: ["a@x.example", "b@x.example"] } },
      "2 hidden recipients (Bcc) get a copy.",
    ],
    [
      "letters that look alike",
      { content: { ...content, cc: ["mаrta@posten.example"] } },
      "outside the plain Latin alphabet",
    ],
    ["invisible characters", { content: { ...content, body_text: "a\u200bb" } }, "invisible characters"],
    [
      "a word that only the HTML strikes",
      { content: { ...content, body_html: "<p><s>Hello</s></p>", body_text: "Hello" } },
      "“Hello (struck through)”",
    ],
  ];
  for (const [name, change, sentence] of warned) {
    it(`the approval mail warns of ${name}, and an ordinary draft gets no warning`, () => {
      expect(read(render({ ...ordinary, ...change }).text))
        .to.include("! ")
        .and.to.include(sentence);
      expect(render(ordinary).text).not.to.include("! ");
    });
  }

  it("the approval mail does not warn of a recipient who differs from the sender only in letter case", () => {
    expect(render({ ...ordinary, content: { ...content, to: ["Marta.Lind@POSTEN.example"] } }).text).not.to.include(
      "! ",
    );
  });

  it("the approval mail isolates names from addresses, so that right-to-left names reorder nothing", () => {
    const { html } = render(rightToLeft);
    expect(read(html)).to.include("<bdi>נועה כהן</bdi> &lt;<bdi>noa@example.co.il</bdi>&gt;");
    expect(read(html)).to.include("<bdi>Harbour Books Support</bdi> &lt;<bdi>support@agents.harbour.example</bdi>&gt;");
  });

  it("the approval mail shows strangers' markup as text, without links, pictures or control characters", () => {
    const { subject, text, html } = render(hostile);
    expect(hrefs(html)).to.deep.equal([links.approve, `${links.approve}#changes-form`, links.reject]);
    expect(html).not.to.match(/<script|<img|<iframe|<svg|<form|<link|<base|<object/i);
    expect(html.match(/<style>/g)).to.have.length(1);
    for (const form of [subject, text, html]) {
      expect(form).not.to.match(/[^\P{Cc}\n]|[\u200b\u202a-\u202e\u2066-\u2069]/u);
    }
    expect(subject).not.to.match(/[\r\n]/);
    expect(read(text)).to.include(attack);
  });

  it("the approval mail puts a bar before each line of strangers' text, so that it cannot pass for the service's", () => {
    const forged = render(hostile)
      .text.split("\n")
      .filter((line) => read(line).includes("/a/forged") || /^\W*APPROVE & SEND$/.test(line));
    expect(forged.map((line) => line.slice(0, 4))).to.deep.equal(["APPR", "  | ", "  | "]);
  });

  it("the approval mail has no address from strangers' text that a mail program would turn into a link", () => {
    const urls =
      "http://evil.example/a https://evil.example www.evil.example evil.example mailto:a@evil.example ftp://evil.example";
    const view = {
      ...ordinary,
      rationale: urls,
      content: { ...content, body_text: urls },
      answers: { ...ordinary.answers!, newText: urls },
    };
    const { text, html } = render(view);
    expect(text.replaceAll(links.approve, "").replaceAll(links.reject, "")).not.to.match(
      /:\/\/|evil\.example|www\.|a@evil/,
    );
    expect(html.replaceAll(links.approve, "").replaceAll(links.reject, "")).not.to.match(
      /:\/\/|evil\.example|www\.|a@evil/,
    );
    expect(read(text)).to.include(urls);
    expect(render({ ...ordinary, rationale: "It costs 42.50 EUR. Fine." }).text).to.include("42.50 EUR. Fine.");
  });

  it("the approval mail cuts long texts and says how much is left out", () => {
    const { text, html } = render(longWords);
    expect(text).to.match(/… [\d,]+ more characters; see the review page/);
    const endless = render({
      ...ordinary,
      content: { ...content, body_text: "😀".repeat(60_000) },
      rationale: "é".repeat(8192),
    });
    expect(endless.text)
      .to.include("more characters")
      .and.not.to.match(/\p{Cs}/u);
    for (const form of [text, html, endless.text, endless.html]) expect(form.length).to.be.below(60_000);
    const lines = render({ ...ordinary, content: { ...content, body_text: "a\n".repeat(5000) } });
    expect(lines.text.split("\n").length).to.be.below(250);
  });

  it("the approval mail shows a draft without text, subject, reason or answered message", () => {
    const { text } = render({
      ...ordinary,
      rationale: null,
      answers: null,
      content: { ...content, subject: "", body_text: "", signature_text: null },
    });
    expect(text)
      .to.include("Subject: (no subject)")
      .and.to.include("  | (no text)")
      .and.not.to.include("WHY THE AGENT");
  });

  it("the approval mail has the confirmation code once in text and once in HTML, and never in links or subject", () => {
    const { subject, text, html } = renderApprovalMail(reviewCard(withHtml), links, "7394");
    for (const form of [text, html]) {
      expect(form.split("7394")).to.have.length(2);
      expect(form).to.include("asks you for this code");
      expect(form.indexOf("7394")).to.be.below(form.indexOf("/a/") - 200);
    }
    expect(hrefs(html)).to.deep.equal([links.approve, `${links.approve}#changes-form`, links.reject]);
    expect(subject).not.to.include("7394");
    const without = render(withHtml);
    for (const form of [without.text, without.html]) expect(form).not.to.match(/asks you for this code|Code:|CODE:/);
  });
});
