/** Refusals that a browser is answered with a page, or led elsewhere for. */

/** The browser brings no living session. */
export class SignedOut extends Error {
  override readonly name = "SignedOut";
}

/** Signed in, and a member of no workspace: removed, or not yet invited. */
export class NoWorkspace extends Error {
  override readonly name = "NoWorkspace";
}

/** A form arrived that no page of this session has sent. */
export class NotOwnForm extends Error {
  override readonly name = "NotOwnForm";
}

/** The status with which Express refused a body that it could not read; undefined if the error is not about a body. */
export function unreadableStatus(error: unknown): number | undefined {
  const { status } = Object(error) as { status?: unknown };
  return typeof status === "number" && status >= 400 && status < 500 ? status : undefined;
}
