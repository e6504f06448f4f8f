import { expect } from "chai";
import { approvalDecisions } from "#src/commands/approvals/approvalLinks.ts";
import { createStreamServices } from "#src/commands/handle.ts";
import { createReception } from "#src/commands/inbound/receiveMail.ts";
import { createKeyRing, newRingKey } from "#src/platform/secrets/keyRing.ts";
import { barrier } from "#test/http/framework/support.ts";
import { isAskedAbout } from "#test/support/approvalMail.ts";
import { sized } from "#test/support/full.ts";
import { type Identity, type InProcess, mail, startInProcess, until, type Workspace } from "#test/support/inProcess.ts";

type Choice = "approve" | "reject";

/** Number of concurrent guesses of a code. */
const guessers = sized(24, 100);

/** Attacks with an approval link, and by an agent that tries to approve its own drafts. */
describe("attacks on approvals", () => {
  const oldKey = newRingKey("old");
  const logged: string[] = [];
  let service: InProcess;
  let tenant: Workspace;
  let identity: Identity;
  let basedOn: { thread_id: string; based_on_message_id: string; identity_id: string };

  before(async () => {
    service = await startInProcess(
      { SECRETS_KEYS: oldKey, LOG_LEVEL: "debug" },
      { log: (line: string) => logged.push(line) },
    );
    tenant = await service.workspace();
    identity = await service.identity(tenant.id, {
      approvalChannel: { type: "email", config: { to: "boss@example.com" } },
      requireHumanApproval: true,
    });
    await service.deliver(identity.address, mail({ id: "q@customer.example", to: identity.address }));
    const thread = (await tenant.ask("GET /v1/threads")).json.data[0];
    const { messages } = (await tenant.ask(`GET /v1/threads/${thread.id}`)).json;
    basedOn = { thread_id: thread.id, based_on_message_id: messages[0].id, identity_id: identity.id };
  });

  after(() => service.stop());

  const draft = async (): Promise<any> =>
    (await tenant.ask("POST /v1/drafts", { json: { ...basedOn, body_text: `Hello ${Math.random()}` } })).json;
  const draftNow = async (id: string) => {
    await service.caughtUp();
    return (await tenant.ask(`GET /v1/drafts/${id}`)).json;
  };
  const statusOf = async (id: string) => (await draftNow(id)).status;

  const caught = () => service.outbox.newest(500);

  /** Returns the links of the newest approval mail that contains these words. */
  async function links(words: string): Promise<Record<Choice, string>> {
    let text = "";
    await until(async () => {
      text = (await caught()).find((each) => isAskedAbout(each.text, words))?.text ?? "";
      return text !== "";
    });
    const of = (choice: Choice) =>
      service.url + new URL(new RegExp(`http\\S+/a/[\\w-]+\\?d=${choice}`).exec(text)![0]).pathname;
    return { approve: of("approve"), reject: of("reject") };
  }

  const newestLinks = links;

  async function asked() {
    const made = await draft();
    const words = made.body_text as string;
    return { id: made.id as string, version: made.version as number, words, links: await links(words) };
  }

  const nonceOf = (page: string, choice: Choice | "undo"): string => {
    const form = page.split("<form").find((part) => part.includes(`value="${choice}"`)) ?? "";
    return /name="nonce" value="([^"]*)"/.exec(form)?.[1] ?? "";
  };
  const openPage = async (link: string) => (await fetch(link)).text();
  const press = async (link: string, fields: Record<string, string>) => {
    const response = await fetch(link, { method: "POST", body: new URLSearchParams(fields) });
    return { status: response.status, page: await response.text() };
  };

  describe("an approval link", () => {
    it("an approval link opens the page of its own decision, whatever is added to its address", async () => {
      const { links } = await asked();
      expect(await openPage(`${links.reject}?d=approve`)).to.include("<h1>Reject this reply?</h1>");
      expect(await openPage(`${links.approve}?d=reject`)).to.include("<h1>Send this reply?</h1>");
    });

    it("an approval link refuses a nonce of the other link, the other button, another draft or an earlier version", async () => {
      const [one, two] = [await asked(), await asked()];
      const page = await openPage(one.links.approve);
      const sister = nonceOf(await openPage(one.links.reject), "approve");
      const stranger = nonceOf(await openPage(two.links.approve), "approve");
      for (const nonce of [
        sister,
        nonceOf(page, "reject"),
        stranger,
        "",
        "1.x",
        `9${"9".repeat(14)}.${"A".repeat(43)}`,
      ]) {
        expect((await press(one.links.approve, { decision: "approve", nonce })).status).to.equal(403);
      }
      await tenant.ask(`PATCH /v1/drafts/${one.id}`, { json: { body_text: "Something else entirely" } });
      const late = await press(one.links.approve, { decision: "approve", nonce: nonceOf(page, "approve") });
      expect([late.status, await statusOf(one.id)]).to.deep.equal([409, "pending"]);
      expect(late.page).to.include("This draft changed");
    });

    it("an approval link decides once; a repeated press and the other link show the outcome [5 links without a key]", async () => {
      const { id, links } = await asked();
      const fields = { decision: "reject", nonce: nonceOf(await openPage(links.reject), "reject"), reason: "no" };
      const late = { decision: "approve", nonce: nonceOf(await openPage(links.approve), "approve") };
      expect((await press(links.reject, fields)).page).to.include("<h1>Rejected</h1>");
      expect((await press(links.reject, fields)).page).to.include("Already rejected");
      expect((await press(links.approve, late)).page).to.include("Already rejected");
      expect(await statusOf(id)).to.equal("rejected");
    });

    it("an approval link changes nothing for HEAD, guessed tokens, other form types and forms of 1 MB", async () => {
      const { id, links } = await asked();
      const nonce = nonceOf(await openPage(links.approve), "approve");
      expect((await fetch(links.approve, { method: "HEAD" })).status).to.equal(200);
      expect((await press(`${service.url}/a/${"A".repeat(43)}`, { decision: "approve", nonce })).status).to.equal(404);
      for (const [type, body, status] of [
        ["application/json", JSON.stringify({ decision: "approve", nonce }), 422],
        ["text/plain", `decision=approve&nonce=${nonce}`, 422],
        ["multipart/form-data; boundary=b", `--b\r\n\r\n${nonce}`, 422],
        ["application/x-www-form-urlencoded", `decision=approve&decision=reject&nonce=${nonce}`, 422],
        ["application/x-www-form-urlencoded", `__proto__[decision]=approve&nonce=${nonce}`, 422],
        ["application/x-www-form-urlencoded", `decision=approve&nonce=${nonce}&x=${"x".repeat(1_000_000)}`, 413],
      ] as const) {
        const response = await fetch(links.approve, { method: "POST", body, headers: { "content-type": type } });
        expect([type, response.status]).to.deep.equal([type, status]);
        expect(await response.text()).not.to.match(/ at \S+\.ts|node_modules/);
      }
      expect(await statusOf(id)).to.equal("pending");
    });

    it("an approval link undoes only the approval that it gave, within its time and once", async () => {
      const { id, links } = await asked();
      const approve = async () =>
        press(links.approve, { decision: "approve", nonce: nonceOf(await openPage(links.approve), "approve") });
      const undoOf = (page: string) => ({ decision: "undo", nonce: nonceOf(page, "undo") });
      const { page } = await approve();
      const own = undoOf(page);
      expect([own.nonce === "", (await draftNow(id)).undo_until === null]).to.deep.equal([false, false]);
      const stored = async () => (await service.store.read(`draft-${id}`)).map(({ type }) => type);
      const before = await stored();
      // A scanner follows every link of the page, and opens its address with all fields of its form.
      const hrefs = [...page.matchAll(/href="([^"]*)"/g)].map(([, href]) => new URL(href!, links.approve));
      const url = new URL(links.approve);
      for (const each of [...hrefs, new URL(`?${new URLSearchParams(own)}`, url)])
        if (each.origin === url.origin) await fetch(each);
      // The other link of the same mail, with its own page and with the nonce of this one.
      const sister = await openPage(links.reject);
      expect(sister).to.include("Already approved").and.not.to.include("Undo");
      expect((await press(links.reject, own)).status).to.equal(403);
      expect((await press(links.approve, { ...own, nonce: "" })).status).to.equal(403);
      expect(await stored()).to.deep.equal(before);

      expect((await press(links.approve, own)).page).to.include("<h1>Your approval is undone</h1>");
      expect((await press(links.approve, own)).status).to.equal(200);
      expect((await stored()).filter((type) => type === "DraftReturnedToPending")).to.have.length(1);
      service.clock.advance(10_000);
      expect(await statusOf(id)).to.equal("pending");

      const again = undoOf((await approve()).page);
      service.clock.advance(10_000);
      await until(async () => (await statusOf(id)) === "sent");
      const late = await press(links.approve, again);
      expect([late.status, late.page.includes("The approval could not be undone")]).to.deep.equal([409, true]);
      expect(await openPage(links.approve))
        .to.include("Already approved and sent")
        .and.not.to.include("Undo the");
      expect(await statusOf(id)).to.equal("sent");
    });

    it("an approval by another link is not undone, not even by a valid press", async () => {
      const { id, links } = await asked();
      const page = (
        await press(links.approve, { decision: "approve", nonce: nonceOf(await openPage(links.approve), "approve") })
      ).page;
      const undo = { decision: "undo", nonce: nonceOf(page, "undo") };
      await press(links.approve, undo);
      await press(links.reject, { decision: "approve", nonce: nonceOf(await openPage(links.reject), "approve") });
      expect((await press(links.approve, undo)).status).to.equal(409);
      service.clock.advance(10_000);
      await until(async () => (await statusOf(id)) === "sent");
    });

    it("an expired approval link decides nothing", async () => {
      const { id, links } = await asked();
      const fields = { decision: "approve", nonce: nonceOf(await openPage(links.approve), "approve") };
      const { clock } = service.deps;
      const { now } = clock;
      clock.now = () => new Date(now().getTime() + 73 * 3_600_000);
      try {
        expect((await press(links.approve, fields)).status).to.equal(410);
        expect((await fetch(links.reject)).status).to.equal(410);
      } finally {
        clock.now = now;
      }
      expect(await statusOf(id)).to.equal("pending");
    });

    describe("attachments by an approval link", () => {
      const pdf = Buffer.from("%PDF-1.7\n");
      const script = Buffer.from("alert(1)");
      const attachments = [
        { filename: 'a "b" — ünï.pdf', content_type: "application/pdf", content: pdf.toString("base64") },
        { filename: "page.html", content_type: "text/html", content: script.toString("base64") },
      ];
      const withFiles = async () => {
        const body_text = `With files ${Math.random()}`;
        const { json } = await tenant.ask("POST /v1/drafts", { json: { ...basedOn, body_text, attachments } });
        return { id: json.id as string, links: await links(body_text) };
      };
      const fetched = async (url: string, init?: RequestInit) => {
        const { status, headers, ...response } = await fetch(url, init).then(async (answer) => ({
          status: answer.status,
          headers: answer.headers,
          body: Buffer.from(await answer.arrayBuffer()),
        }));
        return { status, headers, ...response };
      };

      it("an approval page's attachment links return the draft's files in their order and change nothing", async () => {
        const { id, links } = await withFiles();
        const page = await openPage(links.approve);
        expect(page).to.include("a &quot;b&quot; — ünï.pdf").and.to.include("It opens in a browser");
        const addresses = [...page.matchAll(/<a [^>]*href="([^"]+)" download/g)].map(([, href]) =>
          new URL(href!, links.approve).toString(),
        );
        expect(addresses).to.deep.equal([`${links.approve}/attachments/1`, `${links.approve}/attachments/2`]);
        const [one, two] = [await fetched(addresses[0]!), await fetched(addresses[1]!)];
        expect([one.status, one.body, two.status, two.body]).to.deep.equal([200, pdf, 200, script]);
        expect(Object.fromEntries(two.headers)).to.include({
          "content-type": "application/octet-stream",
          "content-disposition": `attachment; filename="page.html"; filename*=UTF-8''page.html`,
          "content-security-policy": "default-src 'none'; sandbox",
          "cache-control": "no-store",
          "x-content-type-options": "nosniff",
          "referrer-policy": "no-referrer",
          "content-length": "8",
        });
        expect(one.headers.get("content-disposition")).to.equal(
          `attachment; filename="a _b_ _ u_ni_.pdf"; filename*=UTF-8''a%20_b_%20%E2%80%94%20%C3%BCn%C3%AF.pdf`,
        );
        const head = await fetched(addresses[1]!, { method: "HEAD" });
        expect([head.status, head.body.length, head.headers.get("content-length")]).to.deep.equal([200, 0, "8"]);
        const done = (await service.deps.store.read(`draft-${id}`)).filter(
          ({ metadata }) => metadata.actor.kind === "email_link",
        );
        expect([await statusOf(id), done]).to.deep.equal(["pending", []]);
      });

      it("an approval link returns no other attachments than the draft's, and only for GET and HEAD", async () => {
        const { links } = await withFiles();
        for (const n of ["0", "3", "01", "1x", "-1", "1.0", "99999999999", "%00", "__proto__"]) {
          const { status, body } = await fetched(`${links.approve}/attachments/${n}`);
          expect([n, status]).to.deep.equal([n, 404]);
          expect(body.toString()).to.include("Page not found");
        }
        for (const method of ["POST", "PUT", "DELETE"]) {
          expect((await fetched(`${links.approve}/attachments/1`, { method })).status).to.equal(405);
        }
        expect((await fetched(`${service.url}/a/${"A".repeat(43)}/attachments/1`)).status).to.equal(404);
        const plain = await asked();
        expect((await fetched(`${plain.links.approve}/attachments/1`)).status).to.equal(404);
      });

      it("an approval link returns attachments after a decision, but not once it has expired or the draft was edited", async () => {
        const { id, links } = await withFiles();
        const nonce = nonceOf(await openPage(links.reject), "reject");
        await press(links.reject, { decision: "reject", nonce });
        const file = `${links.reject}/attachments/1`;
        expect((await fetched(file)).body).to.deep.equal(pdf);
        const { clock } = service.deps;
        const { now } = clock;
        clock.now = () => new Date(now().getTime() + 73 * 3_600_000);
        try {
          const late = await fetched(file);
          expect([late.status === 200, late.body.includes(pdf)]).to.deep.equal([false, false]);
        } finally {
          clock.now = now;
        }
        expect(await statusOf(id)).to.equal("rejected");
        const edited = await withFiles();
        await tenant.ask(`PATCH /v1/drafts/${edited.id}`, { json: { body_text: "Something else" } });
        const old = await fetched(`${edited.links.approve}/attachments/1`);
        expect([old.status, old.body.includes(pdf)]).to.deep.equal([409, false]);
      });
    });

    it("an approval link works only while its channel is the identity's and decides in that channel's name", async () => {
      const { id, links } = await asked();
      const fields = { decision: "approve", nonce: nonceOf(await openPage(links.approve), "approve") };
      const channel = (to: string) => ({ json: { approval_channel: { type: "email", config: { to } } } });
      await tenant.ask(`PATCH /v1/identities/${identity.id}`, channel("successor@example.com"));
      expect((await press(links.approve, fields)).status).to.equal(410);
      expect(await statusOf(id)).to.equal("pending");
      await tenant.ask(`PATCH /v1/identities/${identity.id}`, channel("boss@example.com"));
      await press(links.approve, fields);
      expect((await draftNow(id)).decided_by).to.include({
        id: "boss@example.com",
        version: 1,
      });
    });
  });

  describe("an approval link with a confirmation code", () => {
    const setCode = (on: boolean) => tenant.ask(`PATCH /v1/identities/${identity.id}`, { json: { confirm_code: on } });
    before(async () => {
      expect((await setCode(true)).json.confirm_code).to.equal(true);
    });
    after(() => setCode(false));

    async function askedWithCode() {
      const { id, links: both, words } = await asked();
      const text = (await caught()).find((each) => isAskedAbout(each.text, words))!.text;
      return { id, links: both, words, code: codeIn(text) };
    }
    const codeIn = (text: string) => /CODE: (\d{4})\n/.exec(text)?.[1] as string;
    const otherThan = (code: string, by = 1) => String((Number(code) + by) % 10_000).padStart(4, "0");
    const pressWith = async (link: string, decision: Choice, code?: string) =>
      press(link, { decision, nonce: nonceOf(await openPage(link), decision), ...(code !== undefined && { code }) });

    it("a scanner that presses either button without the confirmation code decides nothing", async () => {
      const { id, links, code } = await askedWithCode();
      for (const choice of ["approve", "reject"] as const) {
        for (const typed of [undefined, "", " "]) {
          const { status, page } = await pressWith(links[choice], choice, typed);
          expect([status, page.includes("Please type the four digits")]).to.deep.equal([422, true]);
        }
      }
      const history = (await tenant.ask(`GET /v1/drafts/${id}/history`)).json.data.map(({ type }: any) => type);
      expect(history).not.to.include("ConfirmCodeRefused");
      expect(await statusOf(id)).to.equal("pending");
      const spaced = `${code.slice(0, 2)} ${code.slice(2)} `;
      expect((await pressWith(links.reject, "reject", spaced)).page).to.include("<h1>Rejected</h1>");
    });

    it("a confirmation code is in its mail's text, and in no page, answer, log line or event", async () => {
      const { ids } = service.deps;
      const { random } = ids;
      ids.random = (bytes) => (bytes === 2 ? Buffer.from([0x1e, 0xdb]) : random(bytes));
      try {
        const { id, links, words } = await askedWithCode();
        const shown = /(?<![\w-])7899(?![\w-])/;
        const mails = (await caught()).filter(({ text }) => isAskedAbout(text, words));
        for (const { text, html, subject } of mails) {
          for (const form of [text, html ?? ""]) expect(form.match(new RegExp(shown, "g"))).to.have.length(1);
          expect(subject).not.to.match(shown);
          expect(text.match(/http\S+/g)?.join(" ")).not.to.match(shown);
        }
        const wrong = await pressWith(links.approve, "approve", "7898");
        expect([wrong.status, wrong.page.includes("4 tries left")]).to.deep.equal([403, true]);
        const approved = await pressWith(links.approve, "approve", "7899");
        expect(approved.status).to.equal(200);
        await service.caughtUp();
        const answers = await Promise.all(
          [`drafts/${id}`, `drafts/${id}/history`, `drafts/${id}/content`, "events?limit=100"].map(async (path) => {
            const { status, text } = await tenant.ask(`GET /v1/${path}`);
            expect(status, path).to.equal(200);
            return text;
          }),
        );
        const events = await service.store.read(`draft-${id}`);
        expect(events.map(({ type }) => type)).to.include.members(["ConfirmCodeRefused", "DraftApproved"]);
        const request = events.find(({ type }) => type === "ApproversAsked")!.data;
        expect(request.confirmCode).to.match(/^[0-9a-f]{64}$/);
        expect(logged).not.to.be.empty;
        const pages = [await openPage(links.approve), wrong.page, approved.page];
        for (const text of [...answers, ...pages, ...logged, JSON.stringify(events)]) expect(text).not.to.match(shown);
        expect(answers.join()).not.to.include(request.confirmCode);
      } finally {
        ids.random = random;
      }
    });

    it("five wrong confirmation codes on both pages together close the links, and the right code is refused afterwards", async () => {
      const { id, links, words, code } = await askedWithCode();
      const nonce = nonceOf(await openPage(links.approve), "approve");
      for (const [choice, left] of [
        ["approve", "4 tries"],
        ["reject", "3 tries"],
        ["reject", "2 tries"],
        ["approve", "one try"],
      ] as const) {
        const { status, page } = await pressWith(links[choice], choice, otherThan(code, left.length));
        expect([status, page.includes(`${left} left`)], left).to.deep.equal([403, true]);
      }
      const fifth = await pressWith(links.reject, "reject", otherThan(code));
      const late = await press(links.approve, { decision: "approve", nonce, code });
      for (const { status, page } of [fifth, late]) {
        expect([status, page.includes("Five wrong codes")]).to.deep.equal([410, true]);
      }
      for (const link of [links.approve, links.reject]) expect(await openPage(link)).not.to.include("<form");
      expect(await statusOf(id)).to.equal("pending");

      const mailsOf = async () => (await caught()).filter(({ text }) => isAskedAbout(text, words));
      await until(async () => (await mailsOf()).length === 2);
      const anew = await newestLinks(words);
      expect(anew.approve).not.to.equal(links.approve);
      const newCode = codeIn((await mailsOf()).find(({ text }) => text.includes(new URL(anew.approve).pathname))!.text);
      expect((await pressWith(anew.reject, "reject", newCode)).page).to.include("<h1>Rejected</h1>");
    });

    it(`${guessers} concurrent guesses of a confirmation code on two instances get five tries, and a late right one fails`, async () => {
      const { id, links, code } = await askedWithCode();
      const token = new URL(links.approve).pathname.slice(3);
      const { deps } = service;
      const gate = barrier();
      let waiting = 0;
      /** Makes an instance that judges no guess before all guesses have read the same state. */
      const instance = () => {
        const { drafts } = createStreamServices({ store: deps.store, clock: deps.clock, ids: deps.ids });
        const handle: typeof drafts.handle = async (...call) => {
          if (++waiting === guessers) gate.open();
          await gate.opened;
          return drafts.handle(...call);
        };
        return approvalDecisions({ ...deps, drafts: { ...drafts, handle } });
      };
      const instances = [instance(), instance()];
      const guess = (n: number, typed: string) => {
        const decision = n % 3 === 0 ? ("reject" as const) : ("approve" as const);
        const caller = { reason: undefined, ip: undefined, userAgent: undefined, requestId: undefined };
        return instances[n % 2]!.decide({ token, decision, code: typed, ...caller });
      };
      const wrong = Array.from({ length: guessers - 1 }, (_, n) => guess(n, otherThan(code, n + 1)));
      // The right code is judged after all wrong ones of its instance.
      await until(async () => waiting === guessers - 1);
      const results = await Promise.all([...wrong, guess(guessers - 1, code)]);
      const kinds = results.map(({ kind }) => kind).sort();
      expect(kinds).to.deep.equal([...Array(guessers - 4).fill("closed"), ...Array(4).fill("code_wrong")]);
      expect(results.flatMap((each) => ("triesLeft" in each ? [each.triesLeft] : [])).sort()).to.deep.equal([
        1, 2, 3, 4,
      ]);
      const types = (await service.store.read(`draft-${id}`)).map(({ type }) => type);
      expect(types.filter((type) => type === "ConfirmCodeRefused")).to.have.length(5);
      expect(types.filter((type) => type === "ApprovalLinkClosed")).to.have.length(1);
      expect(await statusOf(id)).to.equal("pending");
    });

    it("a confirmation code is accepted as long as its key is in the key ring", async () => {
      const { links, code } = await askedWithCode();
      const token = new URL(links.approve).pathname.slice(3);
      const decide = (...keys: string[]) =>
        approvalDecisions({ ...service.deps, keyRing: createKeyRing(keys.join(",")) }).decide({
          ...{ token, decision: "reject", code, reason: "no" },
          ...{ ip: undefined, userAgent: undefined, requestId: undefined },
        });
      const young = newRingKey("young");
      expect(await decide(young)).to.deep.equal({ kind: "code_wrong", triesLeft: 4 });
      expect(await decide(young, oldKey)).to.deep.equal({ kind: "rejected" });
    });

    it("an approval link asks for a code if it was sent with one, whatever the identity's setting is now", async () => {
      const asking = await askedWithCode();
      await setCode(false);
      const plain = await asked();
      await setCode(true);
      expect((await pressWith(asking.links.reject, "reject")).status).to.equal(422);
      expect(await openPage(plain.links.reject)).not.to.include("one-time-code");
      expect((await pressWith(plain.links.reject, "reject")).page).to.include("<h1>Rejected</h1>");
      expect([await statusOf(asking.id), await statusOf(plain.id)]).to.deep.equal(["pending", "rejected"]);
    });
  });

  describe("an agent against approvals", () => {
    let agent: string;
    before(async () => {
      const scopes = [
        "read:threads",
        "write:drafts",
        "write:emails",
        "read:identities",
        "write:identities",
        "read:audit",
      ];
      agent = await tenant.keyOf(scopes);
    });
    const ask = (line: string, json?: unknown) => tenant.ask(line, { json, key: agent });

    it("an agent can neither approve nor send a draft that needs human approval", async () => {
      const { id } = await draft();
      for (const verb of ["approve", "send"]) {
        const { status, json } = await ask(`POST /v1/drafts/${id}/${verb}`);
        expect([status, json.error]).to.deep.equal([422, "human_approval_required"]);
      }
      expect(await statusOf(id)).to.equal("pending");
    });

    it("an agent cannot loosen the identity's approval rules or become its approver", async () => {
      const email = (to: string) => ({ type: "email", config: { to } });
      const path = `PATCH /v1/identities/${identity.id}`;
      for (const change of [
        { require_human_approval: false },
        { approval_channel: null },
        { approval_channel: email("agent@elsewhere.example") },
        { secondary_approval_channel: email("agent@elsewhere.example") },
        { require_human_approval: false, display_name: "x" },
      ]) {
        expect((await ask(path, change)).json.error, JSON.stringify(change)).to.equal("insufficient_scope");
      }
      const [local, host] = identity.address.split("@") as [string, string];
      for (const to of [
        identity.address,
        `${local}+x@${host}`,
        identity.address.toUpperCase(),
        `nobody@${host}`,
        `approvals@${host}`,
        service.deps.settings.approvalsFrom,
      ]) {
        for (const field of ["approval_channel", "secondary_approval_channel"]) {
          const { status, json } = await tenant.ask(path, { json: { [field]: email(to) } });
          expect([status, json.error], to).to.deep.equal([422, "invalid_request"]);
        }
      }
      expect((await ask(path, { auto_approve_replies: true })).status).to.equal(200);
      expect((await draft()).status).to.equal("pending");
    });

    it("an agent finds no approval link in histories, contents or approvers' replies", async () => {
      const { id, links } = await asked();
      const token = new URL(links.approve).pathname.slice(3);
      const { resolve, accept } = createReception(service.deps);
      const address = service.deps.settings.approvalsFrom;
      const recipient = (await resolve(address))!;
      const { messageId } = (await caught()).find(({ text }) => text.includes(token))!;
      const raw = Buffer.from(
        mail({ id: "re@boss", inReplyTo: messageId.slice(1, -1), text: `OK!\r\n> ${links.approve}` }),
      );
      await accept({
        recipients: [{ recipient, address }],
        from: "boss@example.com",
        raw,
        remote: { ip: "192.0.2.1", helo: "x" },
      });
      await service.caughtUp();
      const entry = (await ask("GET /v1/inbound")).json.data[0];
      expect(entry.disposition).to.equal("approval_reply");
      const answers = await Promise.all(
        [
          `/v1/inbound/${entry.id}`,
          `/v1/inbound/${entry.id}/raw`,
          `/v1/drafts/${id}/history`,
          `/v1/drafts/${id}`,
          `/v1/drafts/${id}/content`,
        ].map((path) => ask(`GET ${path}`)),
      );
      for (const { text } of answers) expect(text).not.to.include(token);
      expect(answers[1]!.json.error).to.equal("insufficient_scope");
      expect((await tenant.ask(`GET /v1/inbound/${entry.id}/raw`)).bytes.equals(raw)).to.equal(true);
    });

    it("an agent cannot change an approved draft; a change of the signature makes it pending again", async () => {
      const paused = { json: { sending_paused: true } };
      await tenant.ask("PATCH /v1/workspaces/me", paused);
      const { id, links } = await asked();
      await press(links.approve, { decision: "approve", nonce: nonceOf(await openPage(links.approve), "approve") });
      // A press does not wait for the read models.
      await until(async () => (await statusOf(id)) === "approved");
      const edit = await ask(`PATCH /v1/drafts/${id}`, { body_text: "I quit" });
      expect([edit.status, edit.json.error]).to.deep.equal([422, "invalid_status"]);
      const moved = await ask(`PATCH /v1/identities/${identity.id}`, { reply_to_email: "agent@elsewhere.example" });
      expect([moved.status, moved.json.error]).to.deep.equal([401, "insufficient_scope"]);
      await ask(`PATCH /v1/identities/${identity.id}`, { signature_text: "I quit" });
      await tenant.ask("PATCH /v1/workspaces/me", { json: { sending_paused: false } });
      await until(async () => (await statusOf(id)) === "pending");
      const { json } = await tenant.ask(`GET /v1/drafts/${id}`);
      expect([json.version, json.sent_at]).to.deep.equal([2, null]);
    });
  });
});
