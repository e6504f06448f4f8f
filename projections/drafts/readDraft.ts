import type { JudgedWarning } from "#streams/draft/warnings.ts";
import { type AnsweredMeanwhile, answerSql } from "./answers.ts";
import { assigneeSql, type StoredAssignee } from "./assignee.ts";
import { newerMessageId } from "./newerMessage.ts";
import { type DraftRow, draftColumns } from "./row.ts";
import { judgedWarningsSql } from "./warnings.ts";

/** SQL for the number of approvals its identity requires now. */
const approvalsRequiredNow = `coalesce((select i.approvals_required from identities i where i.id = drafts.identity_id), 1)
  as approvals_required_now`;

export type ReadDraft = DraftRow & {
  newer_message_id: string | null;
  answered_meanwhile: AnsweredMeanwhile | null;
  approvals_required_now: number;
  /** The member who takes care of it; null if nobody does, or it is decided. */
  assignee: StoredAssignee | null;
  /** Warnings that are judged when it is read. */
  judged_warnings: JudgedWarning[];
};

/** SQL for the columns of a ReadDraft, from the table `drafts`. */
export const readColumns = `${draftColumns.map((column) => `drafts.${column}`).join(", ")}, ${newerMessageId} as newer_message_id,
  ${answerSql("'infinity'")} as answered_meanwhile, ${approvalsRequiredNow}, ${assigneeSql} as assignee, ${judgedWarningsSql} as judged_warnings`;
