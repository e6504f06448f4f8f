import { type Client, until } from "../support/client.ts";
import { judgeInbound, judgeReadModels, judgeSends, judgeSubmissions, ruleFaults } from "./evidence.ts";
import type { Load } from "./load.ts";
import { allOf, inParallel, type Report } from "./proof.ts";
import type { World } from "./world.ts";

type Settling = { client: Client; load: Pick<Load, "acknowledged" | "drafts">; ruled?: boolean };

/** Longer than all short bounds together: recovery of claims, cut-off, confirmation and two retries. */
const settlesWithinMs = 60_000;
/** What is approved leaves by itself, where nothing holds it up. */
const underWay: readonly string[] = ["approved", "sending"];

/**
 * What was interrupted comes to its end: every mail filed, nothing held by a draft that is over, no draft between two states. `ruled`: a rule is there
 * for every mail.
 */
export async function settle(
  world: World,
  { client, load: { acknowledged, drafts }, ruled = false }: Settling,
  report: Report,
): Promise<void> {
  const isFiled = async () => {
    const [row] = await world.rows<{ left: string }>(
      `select (select count(*) from es.events where type = 'MailReceived')
         - count(*) filter (where disposition = 'duplicate' or filed_position is not null) as left from read.inbound`,
    );
    return Number(row?.left) === 0;
  };
  await until("every mail filed", isFiled, settlesWithinMs).catch((error) => report.violation(String(error)));
  const ends: Record<string, number> = {};
  const deadline = performance.now() + settlesWithinMs;
  await inParallel(drafts, 4, async (id) => {
    let status = "not answered";
    const over = async () => {
      ({ status } = await client.ask(`GET /v1/drafts/${id}`));
      return !underWay.includes(status);
    };
    const leftMs = Math.max(0, deadline - performance.now());
    await until(`the end of draft ${id}`, over, leftMs).catch(() => report.violation(`draft ${id} is still ${status}`));
    ends[status] = (ends[status] ?? 0) + 1;
  });
  await until(
    "no claim left of a draft that is not being sent",
    async () => (await looseClaims(world)).length === 0,
    30_000,
  ).catch(async () => report.violation(`claims left: ${JSON.stringify(await looseClaims(world))}`));
  allOf(report, "acknowledged mails, each filed once", {
    good: await judgeInbound(world, acknowledged, report),
    of: acknowledged.length,
  });
  report.figure(
    "drafts by end",
    Object.entries(ends)
      .map(([status, n]) => `${n} ${status}`)
      .join(", "),
  );
  const { left, acknowledgedBeforeClaim } = await judgeSends(world, report);
  report.figure("replies that left, each once", left);
  if (acknowledgedBeforeClaim > 0)
    report.violation(`${acknowledgedBeforeClaim} left although a reply was acknowledged before their claim`);
  await judgeSubmissions(world, report);
  if (ruled) await judgeRules(world, report);
  report.figure("read model rows equal to a replay", await judgeReadModels(world, report));
}

/** Rules walk a mail once it is known what it proves, which may wait for DNS. */
async function judgeRules(world: World, report: Report): Promise<void> {
  const isDone = async () => (await ruleFaults(world)).faults.length === 0;
  await until("every mail walked by rules", isDone, settlesWithinMs).catch(() => {});
  const { faults, mails } = await ruleFaults(world);
  for (const fault of faults) report.violation(fault);
  report.figure("mails that rules walked, once each", mails);
}

/** Claims that no later claim replaced, that were not given back, and whose draft is unsent. */
const looseClaims = (world: World): Promise<{ draft: string; status: string }[]> =>
  world.rows(
    `select claimed.data ->> 'draftId' as draft, drafts.status
     from es.events claimed join read.drafts drafts on drafts.id = (claimed.data ->> 'draftId')::uuid
     where claimed.type = 'SendClaimed' and drafts.status in ('pending', 'approved', 'rejected', 'stale')
       and not exists (select from es.events later where later.type in ('SendClaimReleased', 'SendClaimed')
         and later.position > claimed.position
         and (later.data ->> 'attemptId' = claimed.data ->> 'attemptId' or later.data ->> 'replaces' = claimed.data ->> 'attemptId'))`,
  );
