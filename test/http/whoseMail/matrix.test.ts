import { readFileSync } from "node:fs";
import { expect } from "chai";
import { type MailKind, mailEffects } from "#streams/inbox/mailKinds.ts";
import type { InProcess } from "#test/support/inProcess.ts";
import { openTenant, type StoryMail, type StoryTenant, startStory } from "#test/support/story/story.ts";
import { messageWithId, returning, sentBy } from "./returning.ts";

type Row = Record<string, string>;

/** The rows of the table in src/mailKinds.md, by the names of its columns. */
function rowsOfTable(): Row[] {
  const lines = readFileSync(new URL("../../../src/mailKinds.md", import.meta.url), "utf8").split("\n");
  const [head, , ...rows] = lines
    .filter((line) => line.startsWith("|"))
    .map((line) =>
      line
        .split("|")
        .map((cell) => cell.trim())
        .slice(1, -1),
    );
  return rows.map((row) => Object.fromEntries((head as string[]).map((name, n) => [name, row[n] as string])));
}

/** A mail of a row. `answers`: true if it answers our mail; `raw`: all of it. */
type Sample = {
  from?: string;
  headers?: string[];
  subject?: string;
  body?: string;
  answers?: true;
  null?: true;
  type?: string;
};

const automatic: Record<string, Sample> = {
  none: {},
  "a post to a list": {
    headers: ["List-Id: <talk.lists.example>", "List-Post: <mailto:talk@lists.example>", "Precedence: bulk"],
  },
  "Auto-Submitted: auto-generated": { headers: ["Auto-Submitted: auto-generated"] },
  "Precedence: junk": { headers: ["Precedence: junk"] },
  "Precedence: bulk": { headers: ["Precedence: bulk"] },
  "an empty return path": { null: true },
  "an empty return path, in answer to ours": { null: true, answers: true },
  "Auto-Submitted: auto-replied": { headers: ['Auto-Submitted: auto-replied; owner-email="a@b.example"'] },
  "X-Autoreply": { headers: ["X-Autoreply: yes"] },
  "Precedence: bulk, and the subject of an automatic reply": {
    headers: ["Precedence: bulk"],
    subject: "Out of Office: away",
  },
  "X-Loop of the sender, in answer to ours": { headers: ["X-Loop: carla@customer.example"], answers: true },
  "X-Loop of the sender": { headers: ["X-Loop: carla@customer.example"] },
  "a notice of a list's server": {
    from: "shop-bounces@lists.example",
    headers: ["List-Id: <shop.lists.example>", "Precedence: bulk"],
  },
};

describe("whose mail it is [d5 classification]", () => {
  let service: InProcess;
  let tenant: StoryTenant;
  let colleague: Awaited<ReturnType<StoryTenant["newIdentity"]>>;
  let asked: StoryMail;
  let ours: string;
  const own: Record<string, string> = {};

  before(async () => {
    ({ service, tenant } = await startStory({ AUTO_ANSWERS_PER_ADDRESS: "off" }));
    colleague = await tenant.newIdentity();
    asked = await tenant.mail({ from: "carla@customer.example" });
    own["the identity itself"] = await answered(tenant, asked);
    ours = /^Message-ID:\s*<([^>]+)>/im.exec(own["the identity itself"])![1] as string;
    own["another identity of the workspace"] = await answered(tenant, await tenant.mail({ to: colleague }));
    const granting = await tenant.newIdentity({ autoApproveReplies: true });
    const granted = await tenant.draft(await tenant.mail({ to: granting }));
    await granted.becomes("sent");
    own.granted = await sentBy(service, granted.id);
    const other = await openTenant(service);
    own["an identity of another workspace"] = await answered(other, await other.mail());
  });
  after(() => service.stop());

  async function answered(of: StoryTenant, mail: StoryMail): Promise<string> {
    const draft = await of.draft(mail, { body_text: "It arrives tomorrow.\nYours" });
    await draft.sendNow();
    return sentBy(service, draft.id);
  }

  const part = (type: string, ...lines: string[]): string =>
    [`--b`, `Content-Type: ${type}`, "", ...lines, ""].join("\r\n");
  const multipart = (type: string, ...parts: string[]): { type: string; body: string } => ({
    type: `multipart/${type}; boundary="b"`,
    body: [...parts, "--b--", ""].join("\r\n"),
  });
  const enclosed = () => part("text/rfc822-headers", `Message-ID: <${ours}>`, "From: a@ours.example");
  const report = (action: string) => ({
    null: true as const,
    ...multipart(
      "report; report-type=delivery-status",
      part(
        "message/delivery-status",
        "Final-Recipient: rfc822; carla@customer.example",
        `Action: ${action}`,
        "Status: 4.0.0",
      ),
      enclosed(),
    ),
  });
  const notification = (disposition: string) => ({
    ...multipart(
      "report; report-type=disposition-notification",
      part(
        "message/disposition-notification",
        "Final-Recipient: rfc822; carla@customer.example",
        `Original-Message-ID: <${ours}>`,
        `Disposition: ${disposition}`,
      ),
    ),
  });
  const reaction = (words: string) => ({
    answers: true as const,
    from: "Carla <carla@customer.example>",
    ...multipart(
      "alternative",
      part("text/plain; charset=utf-8", "👍", "", words),
      part("text/vnd.google.email-reaction+json", '{"version":1,"emoji":"👍"}'),
    ),
  });
  const reports = (): Record<string, Sample> => ({
    "a bounce": report("failed"),
    "a report of a delay": report("delayed"),
    "a receipt": notification("manual-action/MDN-sent-manually; displayed"),
    "a rejection by rules": notification("automatic-action/MDN-sent-automatically; deleted"),
    "a reaction to ours": reaction("Carla reacted via Gmail"),
    "a reaction with words": reaction("Please cancel it."),
  });

  function rawOf({
    headers = [],
    subject = "Hello",
    body = "Where is it?\r\n",
    from = "carla@customer.example",
    answers,
    type = "text/plain",
  }: Sample): string {
    const reply = answers ? [`In-Reply-To: <${ours}>`, `References: <${ours}>`] : [];
    const head = [
      `Message-ID: <${Math.random().toString(36).slice(2)}@customer.example>`,
      `From: ${from}`,
      `Subject: ${subject}`,
      ...reply,
      ...headers,
    ];
    return [...head, "MIME-Version: 1.0", `Content-Type: ${type}`, "", body].join("\r\n");
  }

  /** Returns the mail of a row, and its envelope sender. */
  function mailOf({ sender, sign }: Row): { raw: string; from: string } {
    const from = "carla@customer.example";
    if (sender === "outside, with an address of ours") return { raw: rawOf({ from: colleague.address }), from };
    if (sender === "outside") {
      const sample = { ...automatic, ...reports(), "filed by hand": automatic["X-Autoreply"] as Sample }[
        sign as string
      ];
      if (!sample) throw new Error(`no mail is known with the sign ${sign}`);
      return { raw: rawOf(sample), from: sample.null ? "" : from };
    }
    const sent = own[sign === "our words, approved by a grant" ? "granted" : (sender as string)] as string;
    if (sign === "other words")
      return { raw: returning(sent, { text: (text) => `Please cancel it.\r\n\r\n${text}` }), from };
    if (sign === "our words above a rule and a footer")
      return { raw: returning(sent, { text: (text) => `${text}\r\n____\r\nThe footer of a list.\r\n` }), from };
    return { raw: sent, from };
  }

  /** Delivers the mail of a row; returns the ledger's entry and its message, if it is one. */
  async function filed(row: Row): Promise<{ entry: any; message: any }> {
    const { raw, from } = mailOf(row);
    await service.deliver(tenant.identity.address, raw, { from });
    const newest = async () => (await tenant.ask("GET /v1/inbound?limit=1")).json.data[0];
    const entry = await newest();
    if (row.sign === "filed by hand")
      expect((await tenant.ask(`POST /v1/inbound/${entry.id}/file`)).status).to.equal(200);
    const isMessage = entry.disposition === "threaded";
    return { entry, message: isMessage ? await messageWithId(service, tenant, entry.message_id) : undefined };
  }

  const yesNo = (is: boolean): string => (is ? "yes" : "no");

  for (const row of rowsOfTable())
    it(`mail from ${row.sender} with the sign “${row.sign}” is ${row.kind}, with the effects of its row`, async () => {
      const kind = row.kind as MailKind;
      const { entry, message } = await filed(row);
      expect(message?.kind ?? entry.disposition).to.equal(kind);
      const { fires, makesStale, opens, mayBeGranted, isMachine } = mailEffects[kind];
      expect(row).to.include({
        "email.received": yesNo(fires),
        "makes stale": yesNo(makesStale),
        "opens the thread": yesNo(opens),
        grant: yesNo(mayBeGranted),
        machine: yesNo(isMachine),
      });
      const left = message === undefined ? "–" : message.classification === "list" ? "ours" : "ours, forwarder";
      expect(row["reply to all leaves out"]).to.equal(left);
      if (message) expect(message.generated).to.equal(kind === "program");
    });

  it("every kind of mail has a row", () => {
    expect(new Set(rowsOfTable().map(({ kind }) => kind))).to.deep.equal(new Set(Object.keys(mailEffects)));
  });
});
