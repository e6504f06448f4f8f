import { mkdirSync } from "node:fs";
import { approvalDecisions } from "#src/commands/approvals/approvalLinks.ts";
import { axeFindings, complaintsOf, openWindow, startBrowser } from "#test/support/browser.ts";
import { deskOf } from "#test/support/desk.ts";
import { mail, startInProcess, until } from "#test/support/inProcess.ts";

it("shots", async function () {
  this.timeout(180_000);
  mkdirSync("/tmp/life", { recursive: true });
  const service = await startInProcess();
  const workspace = await service.workspace();
  const identity = await service.identity(workspace.id, { approvalChannel: { type: "email", config: { to: "boss@approvers.example" } } });
  await service.deliver(identity.address, mail({ id: "a@x.example", to: identity.address }));
  const thread = (await workspace.ask("GET /v1/threads?limit=1")).json.data[0];
  const { json: messages } = await workspace.ask(`GET /v1/threads/${thread.id}/messages`);
  const ids = { thread_id: thread.id, identity_id: identity.id, based_on_message_id: messages.data[0].id };
  const { json: draft } = await workspace.ask("POST /v1/drafts", { json: { ...ids, body_text: "Hello Ann,\n\nit left yesterday.\n\nRegards", body_html: "<p>Hello <b>Ann</b>,</p><p>it left yesterday.</p><p>Regards</p>", rationale: "The tracking page says so." } });
  await workspace.ask(`PATCH /v1/drafts/${draft.id}`, { json: { body_text: "Hello Ann,\n\nit leaves tomorrow.\n\nRegards", body_html: "<p>Hello <b>Ann</b>,</p><p>it leaves tomorrow.</p><p>Regards</p>", cc: ["c@x.example"] } });
  await until(async () => { const d = (await workspace.ask(`GET /v1/drafts/${draft.id}`)).json; return d.notification_status.state === "sent" && d.version === 2; });
  const text = (await service.outbox.newest(5)).find(({ envelope }) => envelope.to.includes("boss@approvers.example"))!.text;
  await approvalDecisions(service.deps).decide({ token: /\/a\/([\w-]+)\?d=approve/.exec(text)![1]!, decision: "approve", by: undefined, reason: undefined, ip: "192.0.2.9", userAgent: "A Browser/1.0", requestId: undefined });
  await until(async () => (await workspace.ask(`GET /v1/drafts/${draft.id}`)).json.status === "sent");
  const { json: other } = await workspace.ask("POST /v1/drafts", { json: { ...ids, body_text: "Another" } });
  const desk = await deskOf(service, workspace.id, { role: "owner", name: "Joan Owner" });
  const approver = await deskOf(service, workspace.id, { role: "approver" });
  const { json: history } = await workspace.ask(`GET /v1/drafts/${draft.id}/history?limit=100`);
  const n = history.data.findIndex(({ type }: any) => type === "DeliveryStarted") + 1;
  const browser = await startBrowser();
  for (const look of [{ size: "desktop", colours: "light" }, { size: "narrow", colours: "dark" }] as const) {
    const context = await openWindow(browser, look);
    for (const [who, paths] of [[desk, { list: "/drafts", life: `/drafts/${draft.id}`, step: `/drafts/${draft.id}/at/${n}`, edit: `/drafts/${draft.id}/at/2`, print: `/drafts/${draft.id}/print` }], [approver, { approver: `/drafts/${other.id}` }]] as const) {
      await context.clearCookies();
      await context.addCookies([...who.cookies].map(([name, value]) => ({ name, value, url: service.url })));
      for (const [name, path] of Object.entries(paths)) {
        const page = await context.newPage();
        const complaints = complaintsOf(page);
        await page.goto(service.url + path);
        await page.screenshot({ path: `/tmp/life/${name}-${look.size}.png`, fullPage: true });
        const wide = await page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth");
        console.log(name, look.size, "sideways", wide, complaints, await axeFindings(page));
        if (name === "print" && look.size === "desktop") await page.pdf({ path: "/tmp/life/print.pdf" });
        await page.close();
      }
    }
    await context.close();
  }
  await browser.close();
  await service.stop();
});
