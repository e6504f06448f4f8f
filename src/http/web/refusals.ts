/** Refusals that are answered with a page or a redirect. */

/** The browser has no valid session. */
export class SignedOut extends Error {
  override readonly name = "SignedOut";
}

/** The person is signed in but a member of no workspace: removed, or not yet invited. */
export class NoWorkspace extends Error {
  override readonly name = "NoWorkspace";
}

/** The form was not served by a page of this session. */
export class NotOwnForm extends Error {
  override readonly name = "NotOwnForm";
}

/** The status with which Express refused an unreadable body; undefined for other errors. */
export function unreadableStatus(error: unknown): number | undefined {
  const { status } = Object(error) as { status?: unknown };
  return typeof status === "number" && status >= 400 && status < 500 ? status : undefined;
}
