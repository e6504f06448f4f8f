import { expect } from "chai";
import { firstOwnerLink } from "#src/commands/members/invitations.ts";
import { browserAt, type DeskPage } from "#test/support/desk.ts";
import { type InProcess, mail, startInProcess, until, type Workspace } from "#test/support/inProcess.ts";
import { formsOf } from "../../attacks/console/pages.ts";

const password = "a long enough secret";

/** Two people at their browsers, without script: everything by the links and forms that the pages themselves show. */
describe("the console from invitation to sent mail, without script", () => {
  let service: InProcess;
  let workspace: Workspace;
  before(async () => {
    service = await startInProcess();
    workspace = await service.workspace();
  });
  after(() => service?.stop());

  type Browser = ReturnType<typeof browserAt>;

  /** A link as it stands in a mail, for a service that listens elsewhere. */
  const pathOf = (link: string) => link.slice(service.deps.settings.publicUrl.length);

  /** Fills the form that leads to `action` as a person would, presses the button called `press`, and follows where it leads. */
  async function fill(
    browser: Browser,
    seen: DeskPage,
    {
      action,
      fields = {},
      press = {},
    }: { action: RegExp; fields?: Record<string, string>; press?: Record<string, string> },
  ): Promise<DeskPage> {
    const form = formsOf(seen.text).find((each) => action.test(each.action));
    expect(form, `${seen.status} ${seen.page}`).to.not.equal(undefined);
    for (const name of Object.keys(fields)) expect(seen.text, "the form has the field").to.contain(`name="${name}"`);
    const own = Object.fromEntries(form?.fields ?? []);
    const sent = await browser.post(form?.action as string, { ...own, ...fields, ...press });
    expect(sent.status, sent.page).to.equal(303);
    return follow(browser, sent);
  }

  async function follow(browser: Browser, { location }: DeskPage): Promise<DeskPage> {
    const seen = await browser.get(location as string);
    return seen.status === 303 ? follow(browser, seen) : seen;
  }

  it("two people set up an identity, edit and approve a draft without script, and the history names the approver", async () => {
    // The operator's link makes Ada the first owner, under the address that she names.
    const ada = browserAt(service.url);
    const link = (await firstOwnerLink(service.deps, workspace.id)) as string;
    const fields = { email: "ada@people.example", name: "Ada Owner", password };
    const inside = await fill(ada, await ada.get(pathOf(link)), { action: /invitations\/accept/, fields });
    expect(inside.status).to.equal(200);
    expect(inside.page).to.contain("Ada Owner").and.contain("owner");

    // She signs out, and in again.
    const out = await fill(ada, inside, { action: /sign-out/ });
    expect((await ada.get("/review")).location).to.match(/^\/sign-in/);
    const back = await fill(ada, out, { action: /sign-in/, fields: { email: "ADA@people.example", password } });
    expect(back.page).to.contain("Ada Owner");

    // An address for the agent, on the sandbox domain.
    const made = await fill(ada, await ada.get("/identities/new"), {
      action: /^\/identities\/new/,
      fields: { local_part: "support", display_name: "Support" },
    });
    expect(made.page).to.contain("support@");
    await service.caughtUp();
    const [identity] = (await workspace.ask("GET /v1/identities")).json.data;

    // A customer writes; the agent drafts.
    const address = identity.email_address as string;
    await service.deliver(address, mail({ id: "parcel@customer.example", to: address, subject: "My parcel" }));
    const [thread] = (await workspace.ask("GET /v1/threads")).json.data;
    const [message] = (await workspace.ask(`GET /v1/threads/${thread.id}/messages`)).json.data;
    const json = {
      thread_id: thread.id,
      identity_id: identity.id,
      based_on_message_id: message.id,
      body_text: "It comes today.",
    };
    const draft = (await workspace.ask("POST /v1/drafts", { json })).json;
    await service.caughtUp();

    // Ben may only approve. He is invited, comes in by the link of the mail, edits and approves.
    const members = await fill(ada, await ada.get("/settings/members/invite"), {
      action: /members\/invite/,
      fields: { email: "ben@people.example", role: "approver" },
    });
    expect(members.page).to.contain("ben@people.example");
    let mailed = "";
    await until(async () => {
      const mails = (await (await fetch(`${service.url}/outbox.json`)).json()) as { to: string[]; text: string }[];
      const text = mails.findLast(({ to }) => to.includes("ben@people.example"))?.text ?? "";
      mailed = /https?:\/\/\S+\/invitation\S+/.exec(text)?.[0] ?? "";
      return mailed !== "";
    });
    const ben = browserAt(service.url);
    const queue = await fill(ben, await ben.get(pathOf(mailed)), {
      action: /invitations\/accept/,
      fields: { name: "Ben Approver", password },
    });
    expect(queue.page).to.contain("Ben Approver").and.contain("It comes today.");
    expect(queue.text).not.to.contain("/settings/keys/new");
    const edited = await fill(ben, await ben.get(`/review/${draft.id}/edit`), {
      action: /\/edit$/,
      fields: { text: "It comes tomorrow.\r\nSorry." },
      press: { act: "approve" },
    });
    expect(edited.page).to.contain("There are no drafts to review.");

    // The reply is sent once, with Ben's text, when the time to undo is over.
    await until(async () => {
      service.clock.advance(5_000);
      return (await workspace.ask(`GET /v1/drafts/${draft.id}`)).json.status === "sent";
    });
    const left = (await (await fetch(`${service.url}/outbox.json`)).json()) as { to: string[]; text: string }[];
    const toCustomer = left.filter(({ to }) => to.includes("ann@customer.example"));
    expect(toCustomer.map(({ text }) => /It comes tomorrow\.\s+Sorry\./.test(text))).to.deep.equal([true]);

    // The history says it to Ada: who, what, why.
    await service.caughtUp();
    const life = await ada.get(`/drafts/${draft.id}`);
    expect(life.page).to.contain("Ben Approver").and.contain("It comes tomorrow.");
    const { data } = (await workspace.ask(`GET /v1/drafts/${draft.id}/history?limit=100`)).json;
    const approved = data.find(({ type }: { type: string }) => type === "DraftApproved");
    expect(approved.actor).to.include({ kind: "session", name: "Ben Approver" });
    expect(approved.data.version).to.equal(2);
    const shown = await ada.get(`/threads/${thread.id}`);
    expect(shown.page).to.contain("Where is it?").and.contain("It comes tomorrow.");
    // Actions that Ben may not take are neither offered nor carried out.
    expect((await ben.get("/settings/keys")).status).to.equal(403);
  });
});
