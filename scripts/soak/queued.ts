import { queueSend } from "#src/commands/sends/queueSend.ts";
import { operator } from "#test/support/cause.ts";
import { openInstallation } from "#test/support/installation.ts";
import { openTenant } from "#test/support/tenant.ts";
import { until } from "../support/client.ts";
import { judgeEnds, judgeSends } from "./evidence.ts";
import { submitMany, untilAll, waitMs } from "./many.ts";
import { inParallel, type Proof } from "./proof.ts";

const connections = 10;

export const queued: Proof = {
  name: "queued",
  title: `drafts queued while the service was stopped, ${connections} connections to a relay that takes 100 ms: all are sent once`,
  unit: "drafts",
  full: 2_000,
  checked: 100,
  sample: 20,
  async run({ size, report }) {
    const installation = await openInstallation({
      here: size <= queued.sample,
      env: { SMTP_CONNECTIONS: String(connections), HAND_OVER_SECONDS: "60" },
      relay: { connections, answersAfterMs: { dot: 100 } },
    });
    const judged = { installation, report };
    const { relay, rows } = installation;
    try {
      const instance = await installation.run();
      const tenant = await openTenant(installation, instance);
      const drafts = await submitMany(judged, { tenant, instance }, size);
      await instance.stop();
      await installation.withCommands((deps) =>
        inParallel(drafts, 8, async (draftId, n) => {
          await queueSend(deps, { draftId, kind: "api_key" }, operator(tenant.workspaceId));
          report.progress(n + 1, size, "queued");
        }),
      );
      await installation.run();
      const began = performance.now();
      await untilAll(judged, { types: ["DraftSent"], drafts });
      report.figure("drafts sent a second", Math.round((size * 1_000) / (performance.now() - began)));
      const inThreads = async () => (await rows("select 1 from es.events where type = 'MessageSent'")).length >= size;
      await until("all in their threads", inThreads, waitMs);
      report.figure("most connections at once", relay.mostAtOnce);
      await judgeEnds(judged, drafts);
      await judgeSends(judged);
      const again = (await rows("select 1 from es.events where type = 'DraftRequeued'")).length;
      report.figure("drafts queued again", again);
      if (again > size / 100) report.violation(`${again} drafts were queued again for nothing`);
    } finally {
      await installation.close();
    }
  },
};
