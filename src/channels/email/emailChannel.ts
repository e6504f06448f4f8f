import type { Channel, ChannelAnswer, ChannelRequest, QuotaRoom } from "../channel.ts";
import { renderBundleMail } from "./bundleMail.ts";
import { renderApprovalMail } from "./renderApprovalMail.ts";

/** Sends an approval request: `mail` as rendered, for the request's workspace and draft. */
type Send = (
  request: Pick<ChannelRequest, "workspaceId" | "origin">,
  mail: { to: string; subject: string; text: string; html: string },
) => Promise<{ sent: true } | { sent: false; error: string; again: boolean; inMs?: number }>;

/** Takes a place in the quota for a request to that address. */
type TakeRoom = (request: { workspaceId: string; to: string; attemptId: string }) => Promise<QuotaRoom>;

/** Asks approvers by mail; they decide by its links. */
export const emailChannel = (send: Send, takeRoom: TakeRoom): Channel => ({
  takeRoom: ({ channel, workspaceId, attemptId }) =>
    takeRoom({ workspaceId, to: channel.config.to as string, attemptId }),
  async ask({ channel, view, links, confirmCode, workspaceId, origin }): Promise<ChannelAnswer> {
    const mail = { to: channel.config.to as string, ...renderApprovalMail(view.card, links, confirmCode) };
    const { sent, ...why } = await send({ workspaceId, origin }, mail);
    return { reached: sent, ...why } as ChannelAnswer;
  },
  async askTogether({ workspaceId, origin, ...bundle }): Promise<ChannelAnswer> {
    const mail = { to: bundle.channel.config.to as string, ...renderBundleMail(bundle) };
    const { sent, ...why } = await send({ workspaceId, origin }, mail);
    return { reached: sent, ...why } as ChannelAnswer;
  },
});
