import { openMailer } from "#test/mail/in/smtpSender.ts";
import { operator } from "#test/support/cause.ts";
import type { RunningInstance } from "#test/support/installation.ts";
import { askQuestion, submit, type Tenant } from "#test/support/tenant.ts";
import { until } from "../support/client.ts";
import type { JudgedInstallation } from "./evidence.ts";
import { inParallel } from "./proof.ts";

const atOnce = 8;
/** Timeout in milliseconds for proofs of full size, on a busy machine. */
export const waitMs = 1_800_000;

/**
 * Submits drafts of a tenant over REST, each for a separate question: an answered one needs confirmation to be answered again.
 * `approved`: a person approves them for sending. Returns their ids.
 */
export async function submitMany(
  { installation, report }: JudgedInstallation,
  { tenant, instance, approved = false }: { tenant: Tenant; instance: RunningInstance; approved?: boolean },
  size: number,
): Promise<string[]> {
  const approve = { type: "ApproveDraft", ifVersion: null, contentSha256: null, sendRequested: true } as const;
  const ids: string[] = [];
  await installation.withCommands(({ drafts }) =>
    inParallel(Array.from({ length: size }), atOnce, async () => {
      // A mailer has one connection, and sends one mail at a time.
      const mailer = await openMailer(instance.smtpPort);
      const question = await askQuestion(installation, tenant, { mailer });
      mailer.close();
      const { id } = await submit(tenant.at(instance), question);
      if (approved) await drafts.handle(id, { ...approve, tokenSha256: "a person's" }, operator(tenant.workspaceId));
      ids.push(id);
      report.progress(ids.length, size, approved ? "approved" : "submitted");
    }),
  );
  return ids;
}

/** Waits until each of these drafts has an event of one of the types. */
export const untilAll = (
  { installation, report }: JudgedInstallation,
  { types, drafts, within = waitMs }: { types: readonly string[]; drafts: readonly string[]; within?: number },
): Promise<unknown> =>
  until(
    `${types.join(" or ")} of ${drafts.length} drafts`,
    async () => {
      const sql =
        "select count(distinct stream_id)::int as n from es.events where type = any($1) and stream_id = any($2)";
      const [row] = await installation.rows<{ n: number }>(sql, [types, drafts.map((id) => `draft-${id}`)]);
      report.progress(row!.n, drafts.length, types[0]);
      return row!.n >= drafts.length;
    },
    within,
  );

/** The possible ends of an approved draft. */
export const ends = ["DraftSent", "DraftFailed", "DraftMarkedStale"];
