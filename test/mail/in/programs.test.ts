import { expect } from "chai";
import { readHeaders } from "#src/mail/in/headers.ts";
import { mail } from "./mails.ts";

type Form = { headers: string[]; envelopeFrom?: string; body?: string };
/** Whose mail it is as far as its bytes show it; `listed`: the class is list. */
type Read = "customer" | "program" | "automatic" | "report" | "listed customer" | "listed program";

/** Forms of web forms, notifications, autoresponders and list servers, as their programs write them. */
describe("the mail of programs [d5 classification]", () => {
  function read({ headers, envelopeFrom, body = "I want to order ten pieces." }: Form): Read {
    const from = headers.some((line) => line.startsWith("From:")) ? [] : ["From: carla@customer.example"];
    const signs = readHeaders(mail([...from, ...headers], body), envelopeFrom);
    if (signs.isReport || signs.classification === "bounce") return "report";
    if (signs.classification === "auto_reply") return "automatic";
    const kind = signs.generated ? "program" : "customer";
    return signs.classification === "list" ? `listed ${kind}` : kind;
  }

  const answers = "In-Reply-To: <our-answer@ours.example>";
  const generated = "Auto-Submitted: auto-generated";
  const form = ["From: Shop <form@shop.example>", "Reply-To: carla@customer.example"];

  const forms: Record<string, [Form, Read]> = {
    "the form of a shop": [{ headers: [...form, "Subject: New inquiry", generated] }, "program"],
    "Contact Form 7 of WordPress": [
      {
        headers: [
          ...form,
          'Subject: Acme "Order"',
          "X-WPCF7-Content-Type: text/plain",
          "X-Mailer: PHPMailer 6.9.1",
          "Precedence: bulk",
        ],
      },
      "program",
    ],
    "a form sent by PHP with no return path": [
      { headers: [...form, "X-PHP-Originating-Script: 33:form.php"], envelopeFrom: "" },
      "program",
    ],
    "a form with no return path about a delivery": [
      { headers: [...form, "Subject: Delivery problem with order 7"], envelopeFrom: "" },
      "program",
    ],
    "a form with no return path or Reply-To about a delivery": [
      { headers: ["Subject: Contact: delivery status of my parcel"], envelopeFrom: "" },
      "program",
    ],
    "a person at a courier who writes about a delivery": [
      { headers: ["From: Mail Delivery Service <jo@courier.example>", "Subject: Undelivered parcel 7"] },
      "customer",
    ],
    "a form of a courier with no return path": [
      {
        headers: ["From: Mail Delivery Service <jo@courier.example>", "Subject: Undelivered parcel 7"],
        envelopeFrom: "",
      },
      "program",
    ],
    "a form about a car, in German": [{ headers: [...form, "Subject: Auto: Anfrage", generated] }, "program"],
    "a form service with an unsubscribe link": [
      {
        headers: [
          ...form,
          "List-Unsubscribe: <https://forms.example/u>",
          "Precedence: bulk",
          "X-Auto-Response-Suppress: All",
        ],
      },
      "listed program",
    ],
    "a form that answers its own first mail": [{ headers: [...form, generated, answers] }, "program"],
    "a form with the address of the identity": [
      { headers: ["From: agent@ours.example", "Reply-To: carla@customer.example"] },
      "customer",
    ],
    "a notification of an issue tracker": [
      {
        headers: [
          "From: Bob (Tracker) <tracker@work.example>",
          generated,
          "Precedence: bulk",
          "X-JIRA-FingerPrint: 1",
          answers,
        ],
      },
      "program",
    ],
    "a notification of a help desk": [
      {
        headers: [
          "From: Acme Support <support@desk.example>",
          generated,
          "X-Auto-Response-Suppress: All",
          "X-Mailer: Desk",
        ],
      },
      "program",
    ],
    "a notification of a code forge": [
      {
        headers: [
          "List-ID: acme/app <app.acme.forge.example>",
          "List-Post: <mailto:reply+1@forge.example>",
          "Precedence: list",
          "X-Auto-Response-Suppress: All",
        ],
      },
      "listed customer",
    ],
    cron: [
      {
        headers: [
          "From: root@host.example (Cron Daemon)",
          "Subject: Cron <root@host> backup",
          "X-Cron-Env: <SHELL=/bin/sh>",
          generated,
        ],
      },
      "program",
    ],
    "a monitor": [
      {
        headers: [
          "From: monitor@host.example",
          "Subject: PROBLEM: disk full",
          "Auto-Submitted: auto-notified",
          "Precedence: bulk",
        ],
      },
      "program",
    ],
    "a newsletter": [
      { headers: ["List-Unsubscribe: <https://news.example/u>", "Precedence: bulk", "Feedback-ID: 1:news"] },
      "listed program",
    ],
    junk: [{ headers: ["Precedence: junk"] }, "program"],
    "bulk, in capitals with a comment": [{ headers: ["Precedence: BULK (newsletter)"] }, "program"],
    "bulk in an answer": [{ headers: ["Precedence: bulk", answers] }, "program"],
    "first class": [{ headers: ["Precedence: first-class"] }, "customer"],
    "special delivery": [{ headers: ["Precedence: special-delivery"] }, "customer"],
    "the precedence of lists": [{ headers: ["Precedence: list"] }, "listed customer"],
    "a field that denies it": [
      { headers: ["Auto-Submitted: no", "X-Autoreply: no", "X-Autogenerated: no"] },
      "customer",
    ],
    "mail that iCloud moved into a folder before its rule forwarded it": [
      { headers: ["X-Apple-Action: MOVE_TO_FOLDER/INBOX", "X-Apple-MoveToFolder: INBOX"] },
      "customer",
    ],
    "mail that CommuniGate's rule redirected": [{ headers: ["X-Autogenerated: Redirect"] }, "customer"],
    "mail that CommuniGate mirrored": [{ headers: ["X-Autogenerated: Mirror"] }, "customer"],
    "mail that an Exchange rule redirected": [
      { headers: ["X-MS-Exchange-Inbox-Rules-Loop: info@corp.example"] },
      "customer",
    ],
    "a person whose company suppresses replies": [
      { headers: ["X-Auto-Response-Suppress: DR, OOF, AutoReply", answers, "Subject: Re: Order"] },
      "customer",
    ],

    "RFC 3834": [{ headers: ["Auto-Submitted: auto-replied"] }, "automatic"],
    "RFC 3834 with parameters": [
      { headers: ['Auto-Submitted: Auto-Replied; owner-email="c@customer.example"'] },
      "automatic",
    ],
    "a sieve's vacation": [
      { headers: ["Auto-Submitted: auto-replied (vacation)", "Subject: Auto: Order", answers] },
      "automatic",
    ],
    "a vacation notice of which a server left the subject": [
      { headers: ["Precedence: bulk", "Subject: Auto: Order", answers] },
      "automatic",
    ],
    "Gmail's vacation": [
      { headers: ["Precedence: bulk", "X-Autoreply: yes", "Auto-Submitted: auto-replied"] },
      "automatic",
    ],
    "iCloud's vacation": [{ headers: ["X-Apple-Action: VACATION", answers] }, "automatic"],
    "cPanel's autoresponder": [
      { headers: ["X-Autorespond: Order", "Precedence: auto_reply", "X-Precedence: auto_reply"] },
      "automatic",
    ],
    BoxTrapper: [{ headers: ["X-Precedence: auto_reply"] }, "automatic"],
    "CommuniGate's vacation": [{ headers: ["X-Autogenerated: Reply"] }, "automatic"],
    "Domain Technologie Control": [{ headers: ["X-AutoReply-From: carla@customer.example"] }, "automatic"],
    "Domain Technologie Control, its other field": [{ headers: ["X-Mail-Autoreply: yes"] }, "automatic"],
    Mailtraq: [{ headers: ["X-POST-MessageClass: 9; Autoresponder"] }, "automatic"],
    "Exchange's notice": [
      { headers: ["Subject: Automatische Antwort: Order", generated, "X-Auto-Response-Suppress: All", answers] },
      "automatic",
    ],
    "Exchange's notice without a mark, to its subject": [
      { headers: ["Subject: Out of Office: Order", "X-Auto-Response-Suppress: All", answers] },
      "automatic",
    ],
    "a subject of a notice alone": [{ headers: ["Subject: Out of Office: Order"] }, "customer"],

    "Mailman's held post": [
      {
        headers: [
          "From: talk-bounces@lists.example",
          "List-Id: <talk.lists.example>",
          "X-List-Administrivia: yes",
          "Precedence: bulk",
        ],
      },
      "automatic",
    ],
    "Mailman's held post, of the owner": [
      { headers: ["From: talk-owner@lists.example", "List-Id: <talk.lists.example>"] },
      "automatic",
    ],
    "Mailman's confirmation": [
      { headers: ["From: talk-confirm+0123abcd@lists.example", "List-Id: <talk.lists.example>"] },
      "automatic",
    ],
    "Mailman's result of a command": [
      { headers: ["From: talk-request@lists.example", "List-Id: <talk.lists.example>"] },
      "automatic",
    ],
    "Mailman's welcome of an announcing list": [
      { headers: ["From: talk-request@lists.example", "List-Id: <talk.lists.example>", "List-Post: NO"] },
      "automatic",
    ],
    "a post to a list": [
      { headers: ["List-Id: <talk.lists.example>", "List-Post: <mailto:talk@lists.example>", "Precedence: bulk"] },
      "listed customer",
    ],
    "a post whose sender the list rewrote": [
      {
        headers: [
          "From: Carla via Talk <talk-bounces@lists.example>",
          "List-Id: <talk.lists.example>",
          "List-Post: <mailto:talk@lists.example>",
        ],
      },
      "listed customer",
    ],
    "a person at an address like a list's": [{ headers: ["From: shop-owner@customer.example"] }, "customer"],
    "a list of a person at an address like a server's": [
      { headers: ["From: owner@customer.example", "List-Id: <talk.lists.example>"] },
      "listed customer",
    ],

    "a list of a person at an address like another list's server": [
      { headers: ["From: pet-owner@customer.example", "List-Id: Talk about all <talk.lists.example>"] },
      "listed customer",
    ],

    "a bounce without the form of a report": [
      { headers: ["From: robot@mx.example", "Subject: Undeliverable: Order"], envelopeFrom: "" },
      "report",
    ],
    "a bounce with a Reply-To that answers": [
      {
        headers: ["From: robot@mx.example", "Reply-To: postmaster@mx.example", "Subject: Delivery failure", answers],
        envelopeFrom: "",
      },
      "report",
    ],
    "a bounce with a Reply-To that encloses": [
      {
        headers: ["From: robot@mx.example", "Reply-To: postmaster@mx.example", "Subject: Delivery failure"],
        envelopeFrom: "",
        body: "It failed.\r\n\r\nMessage-ID: <our-answer@ours.example>\r\n",
      },
      "report",
    ],
  };
  for (const [name, [given, expected]] of Object.entries(forms))
    it(`${name}: ${expected}`, () => {
      expect(read(given)).to.equal(expected);
    });
});
