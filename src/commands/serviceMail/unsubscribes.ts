import { createHash } from "node:crypto";
import { mailboxOf } from "#src/mail/out/quota/notificationQuota.ts";
import type { Dependencies } from "../dependencies.ts";
import type { Cause } from "../handle.ts";
import {
  readUnsubscribeToken,
  type Unsubscribable,
  type UnsubscribeToken,
  unsubscribeToken,
} from "./unsubscribeTokens.ts";

/** Returns the stream id of a mailbox in a workspace. All spellings of an address have the same id. */
const mailboxHash = ({ workspaceId, address }: Unsubscribable): string =>
  createHash("sha256")
    .update(JSON.stringify([workspaceId, mailboxOf(address)]))
    .digest("hex");

/** True if the mailbox unsubscribed from this workspace's notification mail. */
export async function isUnsubscribed(deps: Pick<Dependencies, "serviceMails">, mail: Unsubscribable): Promise<boolean> {
  return (await deps.serviceMails.load(mailboxHash(mail))).state.stopped;
}

/** Lifetime of a link in milliseconds. A link of a newer mail, or a new link requested on the page, expires later. */
const lifetimeMs = 90 * 86_400_000;

/** Creates the token for a mail sent now. Throws Unavailable. */
export async function newUnsubscribeToken(
  deps: Pick<Dependencies, "serviceMails" | "keyRing" | "clock">,
  mail: Unsubscribable,
): Promise<string> {
  const { series } = (await deps.serviceMails.load(mailboxHash(mail))).state;
  const expiresAt = Math.floor((deps.clock.now().getTime() + lifetimeMs) / 1000);
  return unsubscribeToken(deps.keyRing, { ...mail, series, expiresAt });
}

/** Invalidates a mailbox's links after one was found in a mail to an identity, where an agent may read it. Throws Unavailable. */
export async function closeUnsubscribeLinks(
  deps: Pick<Dependencies, "serviceMails">,
  { workspaceId, address, series }: UnsubscribeToken,
  cause: Cause,
): Promise<void> {
  const command = { type: "CloseStopLinks", workspaceId, address, series } as const;
  await deps.serviceMails.handle(mailboxHash(command), command, { ...cause, workspaceId });
}

/** An unsubscribe link as its page shows it. `workspaceName`: text chosen by the workspace. `standing`: says if the link still works. */
export type UnsubscribeLink = Unsubscribable & {
  workspaceName: string;
  stopped: boolean;
  standing: "valid" | "expired" | "closed";
};

/** The action of the page's button. */
export type UnsubscribeChange = "stop" | "resume" | "renew";

/** The person who pressed the button, as far as HTTP knows. */
type LinkCaller = { ip: string | undefined; userAgent: string | undefined; requestId: string | undefined };

/**
 * Reads and changes unsubscriptions for the pages behind the links. The token is the permission. All functions throw
 * Unavailable while the event log is unreachable.
 */
export type UnsubscribeLinks = {
  /** Returns undefined for a token that was never issued, or whose key is gone from the ring. */
  find(token: string): Promise<UnsubscribeLink | undefined>;
  /**
   * Unsubscribes ("stop"), subscribes again ("resume"), or has a new link mailed to the address ("renew"). An invalid link allows only
   * "renew", a valid one only the others. Repetition has no further effect. Returns undefined for a token that was never issued.
   */
  change(token: string, to: UnsubscribeChange, by: LinkCaller): Promise<UnsubscribeLink | undefined>;
};

const commands = { stop: "StopServiceMail", resume: "ResumeServiceMail" } as const;

export const unsubscribeLinks = (deps: Dependencies): UnsubscribeLinks => {
  async function find(token: string): Promise<UnsubscribeLink | undefined> {
    const read = readUnsubscribeToken(deps.keyRing, token);
    if (!read) return undefined;
    const { series, expiresAt, ...mail } = read;
    const { stopped, series: current } = (await deps.serviceMails.load(mailboxHash(mail))).state;
    const { state: workspace } = await deps.workspaces.load(mail.workspaceId);
    const isExpired = expiresAt * 1000 <= deps.clock.now().getTime();
    const standing = series !== current ? "closed" : isExpired ? "expired" : "valid";
    return { ...mail, workspaceName: workspace.name, stopped, standing };
  }

  return {
    find,
    async change(token, to, by) {
      const link = await find(token);
      if (!link || (to === "renew") === (link.standing === "valid")) return link;
      const { workspaceId, address } = link;
      const command =
        to === "renew"
          ? ({ type: "RequestStopLink", workspaceId, address, at: deps.clock.now().toISOString() } as const)
          : { type: commands[to], workspaceId, address };
      const { state } = await deps.serviceMails.handle(mailboxHash(link), command, causeOf(deps, link, by));
      return { ...link, stopped: state.stopped };
    },
  };
};

function causeOf(deps: Dependencies, { workspaceId, address }: Unsubscribable, by: LinkCaller): Cause {
  const { ip, userAgent, requestId = deps.ids.uuid() } = by;
  const actor = {
    kind: "email_link",
    id: address,
    ...(ip && { ip }),
    ...(userAgent && { userAgent }),
    requestId,
  } as const;
  return { actor, workspaceId, correlationId: requestId, causationId: requestId };
}
