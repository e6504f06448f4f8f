import type { ApprovalRequest, Channel } from "../channel.ts";
import { renderApprovalMail } from "./renderApprovalMail.ts";

/** A mail of the service's own. Null if it was taken, else why not, in words. */
type Send = (
  origin: ApprovalRequest["origin"],
  mail: { to: string; subject: string; text: string; html: string },
) => Promise<string | null>;

/** Approvers behind a mailbox: the links of a mail decide. */
export const emailChannel = (send: Send): Channel => ({
  async ask({ channel, view, links, confirmCode, origin }) {
    const error = await send(origin, {
      to: channel.config.to as string,
      ...renderApprovalMail(view, links, confirmCode),
    });
    return error === null ? { reached: true } : { reached: false, error, again: true };
  },
});
