import { type Client, until } from "../support/client.ts";
import { type JudgedInstallation, judgeInbound, judgeReadModels, judgeSends, ruleFaults, said } from "./evidence.ts";
import type { Load } from "./load.ts";
import { allOf, inParallel } from "./proof.ts";

type Settling = { client: Client; load: Pick<Load, "acknowledged" | "drafts"> };

/** Milliseconds, longer than all short bounds together: recovery of claims, cut-off, confirmation and two retries. */
const settlesWithinMs = 60_000;
/** States of a draft that changes by itself: an approved one is sent, unless something delays it. */
const underWay: readonly string[] = ["approved", "sending"];

/**
 * Checks the state after an interrupted load: every mail is filed once, no draft is between two states, no claim is left, each draft was
 * handed over once.
 */
export async function settle(
  judged: JudgedInstallation,
  { client, load: { acknowledged, drafts } }: Settling,
): Promise<void> {
  const { installation, report } = judged;
  const within = (what: string, look: () => Promise<boolean>): Promise<unknown> =>
    until(what, look, settlesWithinMs).catch((error) => report.violation(error.message));

  await within("every mail filed", async () => {
    const [row] = await installation.rows<{ left: number }>(
      `select ((select count(*) from es.events where type = 'MailReceived')
         - count(*) filter (where disposition = 'duplicate' or filed_position is not null))::int as left from read.inbound`,
    );
    return row?.left === 0;
  });
  const ends: Record<string, number> = {};
  await inParallel(drafts, 4, async (id) => {
    let status = "";
    await within(`the end of draft ${id}`, async () => {
      ({ status } = await client.ask(`GET /v1/drafts/${id}`));
      return !underWay.includes(status);
    });
    ends[status] = (ends[status] ?? 0) + 1;
  });
  report.figure("drafts by end", said(ends));
  await within(
    "no claim left of a draft that is not sent",
    async () => (await installation.rows(looseClaims)).length === 0,
  );
  const good = await judgeInbound(judged, acknowledged);
  allOf(report, "acknowledged mails, each filed once", { good, of: acknowledged.length });
  report.figure("replies handed over, each once", await judgeSends(judged));
  const twice = await installation.rows<{ rationale: string }>(
    "select rationale from read.drafts where rationale is not null group by 1 having count(*) > 1",
  );
  for (const { rationale } of twice) report.violation(`one submission made two drafts: ${rationale}`);
  await judgeReadModels(judged);
}

/** Waits for rules, which process a mail once its sender checks are done, which may wait for DNS. */
export async function settleRules({ installation, report }: JudgedInstallation): Promise<void> {
  const isDone = async () => (await ruleFaults(installation)).length === 0;
  await until("every mail walked by rules", isDone, settlesWithinMs).catch(() => {});
  for (const fault of await ruleFaults(installation)) report.violation(fault);
}

/** Finds claims that no later claim replaced, that were not given back, and whose draft is unsent. */
const looseClaims = `select 1 from es.events claimed join read.drafts drafts on drafts.id = (claimed.data ->> 'draftId')::uuid
  where claimed.type = 'SendClaimed' and drafts.status in ('pending', 'approved', 'rejected', 'stale')
    and not exists (select from es.events later where later.type in ('SendClaimReleased', 'SendClaimed')
      and later.position > claimed.position
      and (later.data ->> 'attemptId' = claimed.data ->> 'attemptId' or later.data ->> 'replaces' = claimed.data ->> 'attemptId'))`;
