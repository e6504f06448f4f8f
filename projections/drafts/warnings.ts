import { isJudged, type JudgedWarning, type ListedWarning } from "#streams/draft/warnings.ts";
import { answerSql } from "./answers.ts";
import { newerMessageId } from "./newerMessage.ts";

/** SQL conditions of the warnings that are judged when a draft is read. The cheap part is first. */
const judged: Record<JudgedWarning, string> = {
  answered_meanwhile: `drafts.status = 'pending' and ${answerSql("'infinity'")} is not null`,
  newer_message: `drafts.status = 'pending' and ${newerMessageId} is not null`,
  other_draft: `drafts.status = 'pending' and exists (select from drafts other where other.thread_id = drafts.thread_id
    and other.based_on_message_id = drafts.based_on_message_id and other.status = 'pending' and other.id <> drafts.id)`,
  // No EXISTS: the planner may hash one, which reads the messages of all workspaces for one page.
  unproven_sender: `coalesce((select m.authentication ->> 'aligned' = 'false' from messages m
    where m.id = drafts.based_on_message_id), false)`,
};

const cases = Object.entries(judged).map(([kind, condition]) => `case when ${condition} then '${kind}' end`);

/** SQL for the judged warnings that apply to a draft now, as text[]. */
export const judgedWarningsSql = `array_remove(array[${cases.join(", ")}], null)`;

/** SQL for all listed warnings of a draft, as text[]. */
export const listedWarningsSql = `(drafts.version_warnings || ${judgedWarningsSql})`;

/** SQL condition: the draft has a warning of the kind in the parameter `{n}`. */
export const warningCondition = (kind: ListedWarning): string =>
  isJudged(kind)
    ? `{n}::text is not null and ${judged[kind]}`
    : "version_warnings <> '{}' and {n}::text = any(version_warnings)";
