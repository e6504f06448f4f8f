import { isWordSql } from "#streams/inbox/mailKinds.ts";

/** SQL for the newest message from a person after the one the draft answers, which would make a send be refused. */
export const newerMessageId = `(select w.id from (
    (select m.id, m.filing_number from messages m where m.thread_id = drafts.thread_id
       and m.filing_number > drafts.based_on_number and ${isWordSql("m.kind")}
     order by m.filing_number desc limit 1)
    union all
    (select h.id, h.filing_number from held_messages h where h.thread_id = drafts.thread_id
       and h.filing_number > drafts.based_on_number order by h.filing_number desc limit 1)
  ) w order by w.filing_number desc limit 1)`;
