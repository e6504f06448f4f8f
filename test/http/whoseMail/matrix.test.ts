import { randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import { expect } from "chai";
import { replyPreview } from "#src/commands/emails/replyPreview.ts";
import { type MailKind, mailEffects } from "#streams/inbox/mailKinds.ts";
import { type Identity, type InProcess, until } from "#test/support/inProcess.ts";
import { openTenant, type StoryMail, type StoryTenant, startStory } from "#test/support/story/story.ts";
import { authenticated, eventsAbout, returning, sentBy } from "./returning.ts";

type Row = Record<string, string>;

const carla = "carla@customer.example";
const forwarder = "info@corp.example";

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

/** What was seen of a row's mail. `message`: undefined if it is none. */
type Seen = { entry: any; message: any; effects: Record<string, string> };

describe("whose mail it is [d5 classification]", () => {
  const rows = rowsOfTable();
  let service: InProcess;
  let tenant: StoryTenant;
  let other: StoryTenant;
  let colleague: Identity;
  let granting: Identity;
  let seen: Seen[];

  before(async () => {
    ({ service, tenant } = await startStory({ AUTO_ANSWERS_PER_ADDRESS: "off" }));
    other = await openTenant(service);
    colleague = await tenant.newIdentity();
    granting = await tenant.newIdentity({ autoApproveReplies: true });
    const filed = await Promise.all(rows.map(fileRow));
    await service.caughtUp();
    const changed = await tenant.ask(`PATCH /v1/identities/${tenant.identity.id}`, {
      json: { auto_approve_replies: true },
    });
    expect(changed.status, changed.text).to.equal(200);
    seen = await Promise.all(filed.map(async (row) => ({ ...row, effects: await effectsOf(row) })));
  });
  after(() => service.stop());

  /** One mail to the tenant's identity and to whoever answers it; returns the first one's message and the answer as it left. */
  async function answeredMail(row: Row, subject: string): Promise<{ asked: StoryMail; sent: string; ours: string }> {
    const letter = { id: `${randomUUID()}@customer.example`, from: carla, subject };
    const asked = await tenant.mail(letter);
    const { of, identity } = {
      "the identity itself": { of: tenant, identity: tenant.identity },
      "another identity of the workspace": { of: tenant, identity: row.sign?.includes("grant") ? granting : colleague },
      "an identity of another workspace": { of: other, identity: other.identity },
    }[row.sender as string] ?? { of: tenant, identity: tenant.identity };
    if (identity !== tenant.identity) await (await tenant.draft(asked)).sendNow();
    const basis = identity === tenant.identity ? asked : await of.mail({ ...letter, to: identity });
    const cc = [forwarder, colleague.address, granting.address].filter((address) => address !== identity.address);
    const draft = await of.draft(basis, { body_text: "It arrives tomorrow.\nYours", cc });
    if (identity !== granting) await draft.send();
    await draft.becomes("sent");
    const sent = await sentBy(service, draft.id);
    return { asked, sent, ours: /^Message-ID:\s*<([^>]+)>/im.exec(sent)![1] as string };
  }

  type Filed = { asked: StoryMail; entry: any; message: any };

  /** Delivers the mail of a row to a thread on which we answered. */
  async function fileRow(row: Row, index: number): Promise<Filed> {
    const subject = `Order ${index}.`;
    const { asked, sent, ours } = await answeredMail(row, subject);
    const { raw, from } = mailOf(row, { asked, sent, ours, subject });
    const tagged = tenant.identity.address.replace("@", `+row-${index}@`);
    await service.deliver(tagged, raw, { from });
    const { data } = (await tenant.ask(`GET /v1/inbound?limit=100&identity_id=${tenant.identity.id}`)).json;
    const entry = data.find(({ envelope }: any) => envelope.to === tagged);
    if (row.sign === "filed by hand") {
      expect((await tenant.ask(`POST /v1/inbound/${entry.id}/file`)).status).to.equal(200);
      // Its sender was authenticated before; its event follows the second time.
      await until(async () => (await eventsAbout(tenant, asked)).length === 2);
    }
    const isMessage = entry.disposition === "threaded";
    const message = isMessage ? await authenticated(service, tenant, entry.message_id) : undefined;
    return { asked, entry, message };
  }

  const yesNo = (is: boolean): string => (is ? "yes" : "no");

  /** Tries what the table says of a mail. Its answers are the last thing that is tried, because they are sent. */
  async function effectsOf({ asked, entry, message }: Filed): Promise<Record<string, string>> {
    const { status } = await tenant.thread(asked);
    const { data: events } = (await tenant.ask("GET /v1/events?types=email.received&limit=100")).json;
    const late = (await tenant.submit(asked)).json;
    const about = { workspaceId: tenant.id, messageId: entry.message_id };
    const left = message === undefined ? "" : (await replyPreview(service.deps, about))!.leftOut.join(" ");
    const hosted = [colleague, granting].some(({ address }) => left.includes(address));
    const basis = message && { ...asked.basis, based_on_message_id: message.id };
    const answer = message && (await tenant.draft({ basis }));
    if (answer && answer.json.auto_approved !== true) await answer.send();
    await answer?.becomes("sent");
    const again = message && (await tenant.submit({ basis }));
    return {
      "email.received": yesNo(events.some(({ data }: any) => data.message_id === message?.id)),
      "makes stale": yesNo(late.stale_warning && late.newer_message_id === message?.id),
      "opens the thread": yesNo(status === "open"),
      grant: yesNo(answer?.json.auto_approved === true),
      machine: yesNo(again?.outcome === "422 loop_guarded"),
      "reply to all leaves out":
        [hosted ? "ours" : [], left.includes(forwarder) ? "forwarder" : []].flat().join(", ") || "–",
    };
  }

  for (const [index, { sender, sign, kind, ...effects }] of rows.entries())
    it(`mail from ${sender} with the sign “${sign}” is ${kind}, with the effects of its row`, () => {
      const { entry, message, effects: was } = seen[index] as Seen;
      expect(message?.kind ?? entry.disposition).to.equal(kind);
      expect(was).to.deep.equal(effects);
      if (message) expect(message.generated).to.equal(kind === "program");
    });

  it("every kind of mail has a row, and the effects of its rows are those that the code has", () => {
    expect(new Set(rows.map(({ kind }) => kind))).to.deep.equal(new Set(Object.keys(mailEffects)));
    for (const { kind, ...row } of rows) {
      const { fires, makesStale, opens, mayBeGranted, isMachine } = mailEffects[kind as MailKind];
      expect(row, kind).to.include({
        "email.received": yesNo(fires),
        "makes stale": yesNo(makesStale),
        "opens the thread": yesNo(opens),
        grant: yesNo(mayBeGranted),
        machine: yesNo(isMachine),
      });
    }
  });

  /** Returns the mail of a row, and its envelope sender. */
  function mailOf({ sender, sign }: Row, { asked, sent, ours, subject }: Scene): { raw: string; from: string } {
    if (sender === "outside, with an address of ours")
      return { raw: rawOf({ from: colleague.address }, asked.id, subject), from: carla };
    if (sender === "outside") {
      const samples = { ...automatic, ...aboutOurs(ours), "filed by hand": automatic["X-Autoreply"] as Sample };
      const sample = samples[sign as keyof typeof samples];
      if (!sample) throw new Error(`no mail is known with the sign ${sign}`);
      return { raw: rawOf(sample, sample.answers ? ours : asked.id, subject), from: sample.null ? "" : carla };
    }
    const headers = trace;
    // A gateway puts its user's words above ours, and leaves our Message-ID.
    if (sign === "other words") {
      const gateway = { headers: [...headers, `From: ${carla}`], without: ["From"] };
      return { raw: returning(sent, { ...gateway, text: (text) => `Please cancel it.\r\n\r\n${text}` }), from: carla };
    }
    if (sign === "our words above a rule and a footer")
      return {
        raw: returning(sent, { headers, text: (text) => `${text}\r\n____\r\nThe footer of a list.\r\n` }),
        from: carla,
      };
    return { raw: `${[...headers, sent].join("\r\n")}`, from: carla };
  }

  /** A mail that was forwarded here, with a colleague and the forwarding address among its recipients. */
  function rawOf({ headers = [], subject = "Re:", body, from, type }: Sample, answered: string, about: string): string {
    return [
      ...trace,
      `Message-ID: <${randomUUID()}@customer.example>`,
      `From: ${from ?? carla}`,
      `To: ${tenant.identity.address}`,
      `Cc: ${forwarder}, ${colleague.address}, ${granting.address}`,
      `Subject: ${subject} ${about}`,
      `In-Reply-To: <${answered}>`,
      ...headers,
      "MIME-Version: 1.0",
      `Content-Type: ${type ?? "text/plain"}`,
      "",
      body ?? "Where is it?\r\n",
    ].join("\r\n");
  }
});

type Scene = { asked: StoryMail; sent: string; ours: string; subject: string };

const trace = [`Delivered-To: ${forwarder}`, "Received: by mx.corp.example"];

const part = (type: string, ...lines: string[]): string =>
  ["--b", `Content-Type: ${type}`, "", ...lines, ""].join("\r\n");
const multipart = (type: string, ...parts: string[]): { type: string; body: string } => ({
  type: `multipart/${type}; boundary="b"`,
  body: [...parts, "--b--", ""].join("\r\n"),
});

/** Mail about a mail of ours with this Message-ID. */
function aboutOurs(ours: string): Record<string, Sample> {
  const report = (action: string): Sample => ({
    ...{ null: true, answers: true },
    ...multipart(
      "report; report-type=delivery-status",
      part("message/delivery-status", `Final-Recipient: rfc822; ${carla}`, `Action: ${action}`, "Status: 4.0.0"),
      part("text/rfc822-headers", `Message-ID: <${ours}>`, "From: a@ours.example"),
    ),
  });
  const notification = (disposition: string): Sample => ({
    answers: true,
    ...multipart(
      "report; report-type=disposition-notification",
      part(
        "message/disposition-notification",
        `Final-Recipient: rfc822; ${carla}`,
        `Original-Message-ID: <${ours}>`,
        `Disposition: ${disposition}`,
      ),
    ),
  });
  const reaction = (words: string): Sample => ({
    answers: true,
    from: `Carla <${carla}>`,
    ...multipart(
      "alternative",
      part("text/plain; charset=utf-8", "👍", "", words),
      part("text/vnd.google.email-reaction+json", '{"version":1,"emoji":"👍"}'),
    ),
  });
  return {
    "a bounce": report("failed"),
    "a report of a delay": report("delayed"),
    "a receipt": notification("manual-action/MDN-sent-manually; displayed"),
    "a rejection by rules": notification("automatic-action/MDN-sent-automatically; deleted"),
    "a reaction to ours": reaction("Carla reacted via Gmail"),
    "a reaction with words": reaction("Please cancel it."),
  };
}
