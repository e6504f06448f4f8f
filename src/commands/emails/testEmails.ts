import type { Dependencies } from "../dependencies.ts";
import type { Cause } from "../handle.ts";
import type { DirectlySent } from "./directSends.ts";
import { loadIdentity, openByMail } from "./emails.ts";

/**
 * Sends a test mail from an identity, by the same path as any other and counted like it. Its draft's id is the task's.
 * Throws Rejected identity_not_active, and whatever refuses a send.
 */
export async function sendTestEmail(
  deps: Dependencies,
  { workspaceId, identityId, recipient }: { workspaceId: string; identityId: string; recipient: string },
  cause: Cause,
): Promise<DirectlySent> {
  const identity = await loadIdentity(deps, workspaceId, identityId);
  const letter = {
    to: [recipient],
    cc: [],
    bcc: [],
    subject: `Test email from ${identity.emailAddress}`,
    bodyText: `This is a test: ${identity.emailAddress} can send email. You do not need to do anything.`,
    bodyHtml: null,
    attachments: [],
    metadata: null,
  };
  return openByMail(deps, { ...letter, kind: "test_email", identity, workspaceId, identityId }, cause);
}
