import { draftById } from "#projections/drafts/queries.ts";
import { asSentence } from "#src/html/asSentence.ts";
import type { ConsoleDependencies } from "../dependencies.ts";
import { type ConsoleAnswer, seeOther } from "../framework/page.ts";
import type { PageContext, PageRefusal } from "../framework/pageContext.ts";
import { reviewPage } from "./page.ts";
import { nextDraftIn, type ReviewQuery, readReviewQuery, reviewPath } from "./reviewQuery.ts";

/** The version that the form was shown for; undefined if it names none. */
export function versionOf({ form }: PageContext): number | undefined {
  const version = Number(form.get("version"));
  return Number.isInteger(version) && version > 0 ? version : undefined;
}

/** The page after a draft's form: the next draft, if the form names one. */
export const queryAfterDecision = ({ form }: PageContext): ReviewQuery => ({
  ...readReviewQuery(form),
  draft: nextDraftIn(form),
});

/**
 * `work`: the person's decision about a draft. If done, redirects to the next draft; if refused, shows the draft as it is now and why
 * nothing was done.
 */
export async function decide(
  deps: ConsoleDependencies,
  context: PageContext,
  {
    work,
    ...typed
  }: {
    work: (call: { params: { id: string }; ifMatch: number }) => Promise<unknown>;
    reason?: string;
    changes?: string;
  },
): Promise<ConsoleAnswer> {
  const id = context.params.id ?? "";
  const version = versionOf(context);
  if (version === undefined) return seeOther(reviewPath({ ...queryAfterDecision(context), draft: id }));
  const refused = await context.attempt(() => work({ params: { id }, ifMatch: version }));
  if (!refused || (await isOwnDecision(deps, context, refused)))
    return seeOther(reviewPath({ ...queryAfterDecision(context), decided: id }));
  if (refused.code === "not_found") return reviewPage(deps, context, { place: { draft: id } });
  const notDone = { sentence: sentenceOf(refused), ...typed, status: refused.status, since: version };
  return reviewPage(deps, context, { place: { ...queryAfterDecision(context), draft: id }, notDone });
}

/** True if this person's own earlier click of the same button has decided. */
async function isOwnDecision(
  { reads, store, projected }: ConsoleDependencies,
  { principal, params, path }: PageContext,
  { code }: PageRefusal,
): Promise<boolean> {
  if (code !== "invalid_status") return false;
  // The first click may have been recorded a moment ago: wait for the read model.
  await projected(await store.head(), { of: ["drafts"] });
  const row = await draftById(reads, principal.workspaceId, params.id ?? "");
  const by = row?.decided_by;
  const meant = path.endsWith("/reject") ? "reject" : "approve";
  return by?.kind === "session" && by.id === principal.user.id && by.decision === meant;
}

/** Explains why nothing was decided; the page itself shows who decided before. */
export function sentenceOf({ code, message }: PageRefusal): string {
  switch (code) {
    case "version_mismatch":
    case "content_changed":
      return "The draft changed while you were reading. This is the new version, with the changes marked. Decide again.";
    case "stale_draft":
      return "A newer message has arrived, so it was not sent. The agent is notified, and can write a new draft.";
    case "changes_requested":
      return "Another approver has asked for changes, so nobody can approve this version now.";
    case "invalid_status":
      return "Someone else got there first. See below.";
    default:
      return asSentence(message);
  }
}
