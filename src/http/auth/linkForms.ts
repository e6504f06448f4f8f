import type { Dependencies } from "#src/commands/dependencies.ts";
import { findInvited } from "#src/commands/users/invitations.ts";
import { Rejected } from "#streams/decider.ts";
import type { FormPage, FormState } from "./action.ts";
import * as pages from "./pages.ts";

type LinkTarget = { email: string };
type LinkPage = (state: FormState, link: { token: string; email: string }) => FormPage;

/** Returns a function that shows the form behind a mailed link again after a refusal. */
export function linkForm(kind: keyof typeof again, find: (token: string) => Promise<LinkTarget>, shownAs: LinkPage) {
  return (state: FormState) => linkPage(state.values.get("token") ?? "", { kind, find, shownAs, state });
}

const again = {
  confirm: ["/sign-up", "Ask for a new one"],
  reset: ["/forgot", "Ask for a new one"],
  email: ["/settings/profile", "To your profile"],
  invitation: ["/sign-in", "To sign in"],
} as const;

/** Describes how a link is looked up and shown. */
export type ShownLinkPage = {
  kind: keyof typeof again;
  find: (token: string) => Promise<LinkTarget>;
  shownAs: LinkPage;
  state?: FormState;
};

/**
 * Shows the page behind a mailed link, without using the link; or why the link is invalid. `countBad` counts an invalid link; throws
 * Rejected rate_limited.
 */
export async function linkPage(
  token: string,
  { kind, find, shownAs, state = pages.empty }: ShownLinkPage,
  countBad?: () => Promise<void>,
): Promise<FormPage> {
  try {
    return shownAs(state, { token, ...(await find(token)) });
  } catch (error) {
    const fault = faultOf(error);
    await countBad?.();
    return pages.badLink(fault, again[kind]);
  }
}

export async function invitationPage(
  deps: Dependencies,
  { state, token, signedInAs }: { state: FormState; token: string; signedInAs?: string | undefined },
  countBad?: () => Promise<void>,
): Promise<FormPage> {
  try {
    const { workspaceName, role, email, hasAccount } = await findInvited(deps, token);
    return pages.invitation(state, { token, workspaceName, role, email, hasAccount, signedInAs });
  } catch (error) {
    const fault = faultOf(error);
    await countBad?.();
    return pages.badLink(fault, again.invitation);
  }
}

/** The sentence for an invalid link; rethrows other errors. */
function faultOf(error: unknown): string {
  if (error instanceof Rejected && error.details.field === "token") return error.message.replace(/^token: /, "");
  throw error;
}
