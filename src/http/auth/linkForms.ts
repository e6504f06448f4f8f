import type { Dependencies } from "#src/commands/dependencies.ts";
import { findInvited } from "#src/commands/users/invitations.ts";
import { Rejected } from "#streams/decider.ts";
import type { FormPage, FormState } from "./action.ts";
import * as pages from "./pages.ts";

type Linked = { email: string };
type LinkPage = (state: FormState, link: { token: string; email: string }) => FormPage;

/** The form behind a mailed link, shown again after it was refused. */
export function linkForm(kind: keyof typeof again, find: (token: string) => Promise<Linked>, shownAs: LinkPage) {
  return (state: FormState) => linkPage(state.values.get("token") ?? "", { kind, find, shownAs, state });
}

const again = {
  confirm: ["/sign-up", "Ask for a new one"],
  reset: ["/forgot", "Ask for a new one"],
  email: ["/settings/profile", "To your profile"],
  invitation: ["/sign-in", "To sign in"],
} as const;

/** Where a link is looked up, and how its page looks. */
export type LinkShown = {
  kind: keyof typeof again;
  find: (token: string) => Promise<Linked>;
  shownAs: LinkPage;
  state?: FormState;
};

/**
 * A page behind a mailed link, which shows and never uses it; or why the link is not good. `countBad` counts one that is not; throws Rejected
 * rate_limited.
 */
export async function linkPage(
  token: string,
  { kind, find, shownAs, state = pages.empty }: LinkShown,
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

/** What is wrong with a link; whatever else is wrong passes. */
function faultOf(error: unknown): string {
  if (error instanceof Rejected && error.details.field === "token") return error.message.replace(/^token: /, "");
  throw error;
}
