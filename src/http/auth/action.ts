import type { Static, TObject, TSchema } from "typebox";
import type { SignedIn } from "#src/commands/users/signIn.ts";
import type { RequestOrigin } from "#src/commands/users/users.ts";
import type { MarkupValue } from "#src/html/html.ts";
import type { Session } from "#src/platform/accounts/sessions.ts";
import type { ErrorCode } from "../framework/errors.ts";
import { type Route, route } from "../framework/route.ts";
import type { AuthClass } from "./limits.ts";

/** State of a refused form that is shown again: the values typed, without passwords, and why it was refused. */
export type FormState = {
  values: URLSearchParams;
  refused?: { message: string; field?: string | undefined } | undefined;
  /** CSRF token for forms of a signed-in person. */
  formToken: string;
};

/** A page with a form. */
export type FormPage = { title: string; main: MarkupValue };

/** Result of an action. `next`: the path that a form redirects to. */
export type AuthOutcome = {
  json: unknown;
  next: string;
  /** Session cookie to set: of a new session, or of the same session under a new token; null deletes the cookie. */
  token?: string | null;
  /** Sessions that ended: no request under them may be answered any more. */
  ended?: readonly string[];
};

export type AuthCall<Body> = {
  body: Body;
  by: RequestOrigin;
  /** The browser's session, which may belong to another person than the action is about. */
  session: Session | undefined;
  /** The path that the form wants to continue at, always within this service; undefined if it names none. */
  next: string | undefined;
  /** Runs work that reveals whether a password of this account is right, under the account's limit of wrong guesses. */
  guarding<T>(account: string, work: () => Promise<T>): Promise<T>;
};

type Options<B extends TObject> = {
  /** Requests of one class are counted together per IP address. */
  limit: AuthClass;
  summary: string;
  description?: string;
  body: B;
  answers: TSchema;
  status?: 200 | 201 | 202;
  errors?: readonly ErrorCode[];
};

/** One action of /auth: as JSON, and as a form if it has a page to show it on. */
export type AuthAction = {
  /** Used for the documentation, and to check bodies and answers. */
  route: Route;
  limit: AuthClass;
  needsSession: boolean;
  /** True if the action runs under the browser's session, if there is one. Exception: a form with a password, because it creates a user. */
  orSession: boolean;
  form: ((state: FormState) => FormPage | Promise<FormPage>) | undefined;
  handler(call: AuthCall<any>, who: SignedIn): Promise<AuthOutcome>;
};

const declared = (
  line: `POST /auth/${string}` | `GET /auth/${string}`,
  { limit: _, ...options }: Options<TObject>,
): Route =>
  route(line, { ...options, scope: null, limit: "auth" }, async () => {
    throw new Error(`${line} is answered by src/http/auth/serve.ts`);
  });

/** Declares an action that needs no session. */
export const authAction = <const B extends TObject>(
  line: `POST /auth/${string}`,
  { form, orSession = false, ...options }: Options<B> & { form: AuthAction["form"]; orSession?: boolean },
  handler: (call: AuthCall<Static<B>>) => Promise<AuthOutcome>,
): AuthAction => ({
  ...{ route: declared(line, options), limit: options.limit, needsSession: false, orSession, form, handler },
});

/** Declares an action for signed-in people. */
export const signedInAction = <const B extends TObject>(
  line: `POST /auth/${string}` | `GET /auth/${string}`,
  { form, ...options }: Options<B> & { form: AuthAction["form"] },
  handler: (call: AuthCall<Static<B>>, who: SignedIn) => Promise<AuthOutcome>,
): AuthAction => ({
  ...{ route: declared(line, options), limit: options.limit, needsSession: true, orSession: false, form, handler },
});
