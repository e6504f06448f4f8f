import { composeBeside } from "#test/support/besideService.ts";
import { operator } from "#test/support/cause.ts";
import { startSmtpRelay } from "#test/support/smtpRelay.ts";
import { until } from "../support/client.ts";
import type { Instance } from "../support/instance.ts";
import { ask, type Conversation, submit } from "./conversation.ts";
import { inParallel, type Proof } from "./proof.ts";
import { openSender } from "./sender.ts";
import { openTenant } from "./tenant.ts";
import { openWorld } from "./world.ts";

const perThread = 20;
const waitMs = 600_000;

/** Everything that was approved while its workspace was paused leaves once when the pause ends, and nobody else waits for it. */
export const backlog: Proof = {
  name: "backlog",
  title: "drafts approved during a pause: another workspace sends beside them, and all leave once when the pause ends",
  unit: "drafts",
  full: 2_000,
  checked: 200,
  sample: 20,
  async run(size, report) {
    // It allows fewer connections than the service has at once by default.
    const relay = await startSmtpRelay([], { connections: 5 });
    const world = await openWorld({ MAIL_PROVIDER: "smtp", SMTP_URL: relay.url }, { here: size <= backlog.sample });
    const beside = composeBeside({
      ownerUrl: world.env.DATABASE_OWNER_URL as string,
      serviceUrl: world.env.DATABASE_URL as string,
    });
    try {
      const instance = await world.reach();
      const client = world.client(instance);
      const { id: workspaceId } = await client.ask("GET /v1/workspaces/me");
      const identity = await client.identity({ approval_channel: undefined });
      const single = await another(beside, instance);
      const count = async (type: string): Promise<number> =>
        (await world.rows<{ n: number }>("select count(*)::int as n from es.events where type = $1", [type]))[0]!.n;

      const sender = await openSender(instance.smtpPort);
      const threads: Conversation[] = [];
      for (let n = 0; n < Math.ceil(size / perThread); n++) threads.push(await ask(world, identity, sender.send));
      sender.close();
      await client.ask("PATCH /v1/workspaces/me", { sending_paused: true });
      const approve = { type: "ApproveDraft", ifVersion: null, contentSha256: null, sendRequested: true } as const;
      let approved = 0;
      await inParallel(Array.from({ length: size }), 8, async (_, n) => {
        const { id } = await submit(client, threads[n % threads.length]!);
        await beside.deps.drafts.handle(id, { ...approve, tokenSha256: "a person's" }, operator(workspaceId));
        report.progress(++approved, size, "approved");
      });
      report.figure("another's mail out beside a paused backlog, ms", await single(relay));

      const began = performance.now();
      await client.ask("PATCH /v1/workspaces/me", { sending_paused: false });
      report.figure("another's mail out while the backlog leaves, ms", await single(relay));
      await until(
        "the end of the backlog",
        async () => {
          const sent = await count("DraftSent");
          report.progress(sent, size, "sent");
          return sent >= size + 2;
        },
        waitMs,
      );
      const seconds = (performance.now() - began) / 1000;
      report.figure("drafts sent a second", Math.round(size / seconds));
      const again = await count("DraftRequeued");
      report.figure("drafts queued again", again);
      const copies = relay.mails.length;
      report.figure("mails at the relay", `${copies} of ${size + 2}`);
      report.figure("connections refused", relay.refusedConnections);
      if (copies !== size + 2) report.violation(`${size + 2} mails were approved, and the relay took ${copies}`);
      if (again > size / 100) report.violation(`${again} drafts were queued again for nothing`);
    } finally {
      await beside.close();
      await world.close();
      await relay.close();
    }
  },
};

type Relay = { mails: readonly { to: string[] }[] };

/** Another workspace's agent: sends one mail, and answers after how many milliseconds the relay has it. */
async function another(
  beside: ReturnType<typeof composeBeside>,
  instance: Pick<Instance, "url" | "smtpPort">,
): Promise<(relay: Relay) => Promise<number>> {
  const { client, identity } = await openTenant(beside, instance, { name: "Single", can_send_cold: true });
  let mails = 0;
  return async (relay) => {
    const to = `single${++mails}@soak.example`;
    const began = performance.now();
    await client.ask("POST /v1/emails/send", { identity_id: identity.id, to: [to], subject: "One", body_text: "One." });
    await until("the single mail", async () => relay.mails.some((mail) => mail.to.includes(to)), waitMs);
    return Math.round(performance.now() - began);
  };
}
